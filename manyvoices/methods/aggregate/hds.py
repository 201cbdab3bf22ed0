"""Hierarchical Dawid-Skene: workers' confusion rows come from a population whose habits are estimated too.

    prior               ~ Dirichlet(mass)
    confusions[w, k, .] ~ Dirichlet(habits[k, .])         one table of habits for all workers
    habits[k, l]        ~ Gamma(shape, rate), a point estimate
    trace               = evidence lower bound + log hyper-prior, which no step lowers

A Dirichlet form of the hierarchical model of the R package rater, fitted by variational Bayes; workers with few answers
are drawn to what workers usually confuse. A worker without answers, or one nobody has seen, has the population's table.

Family: Dawid-Skene
Needs: workers
Reference: Paun et al. (2018), Comparing Bayesian models of annotation, doi:10.1162/tacl_a_00040
    (the hierarchical model; its form here is ours).
Also: HierarchicalDawidSkene; iterations=n_iter, maxiter
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, polygamma, psi, xlogy

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...core.fold import whole
from ...kernels import tables
from ...kernels.dirichlet import expected_log, kl
from ...kernels.em import positive
from ...kernels.rows import normalise


@dataclass
class Params(tables.Tables):
    habits: np.ndarray | None = whole(default=None)  # [K, K]


def hds(
    answers: Answers,
    *,
    tol: float = 1e-6,
    iterations: int = 200,
    mass: float = 1.0,
    shape: float = 2.0,
    rate: float = 1.0,
    learn_prior: bool = True,
    gold: np.ndarray | None = None,
) -> Consensus:
    """Start from the vote shares; each round updates the workers, then their common habits, then the beliefs.

    Parameters
    ----------
    tol
        Stop when the objective per task rises by less than this.
    iterations
        Give up after this many rounds.
    mass
        Prior count of each class.
    shape
        Shape of the Gamma prior on the habits.
    rate
        Rate of the Gamma prior on the habits.
    learn_prior
        Estimate the habits; without it they stay at 1/2 + 2 on the diagonal, which is `bcc`.
    """
    positive(mass=mass, shape=shape, rate=rate)
    classes = len(answers.classes)

    def update(sums: tables.Counts, params: Params | None) -> Params:
        habits = 0.5 + 2 * np.eye(classes) if params is None else params.habits
        nu, alpha = mass + sums.prior, habits + sums.counts
        logs = expected_log(alpha)
        if learn_prior:
            busy = sums.counts.any(axis=(1, 2))  # idle workers are as the habits say, whatever these become
            alpha, seen = alpha[busy], logs[busy]
            habits = best_habits(habits, seen.mean(axis=0), len(seen), shape, rate) if len(seen) else habits
        penalty = -kl(nu, np.full(classes, mass)) - kl(alpha, habits)
        if learn_prior:
            penalty += float((xlogy(shape, rate) - gammaln(shape) + (shape - 1) * np.log(habits) - rate * habits).sum())
        return Params(logs, expected_log(nu), penalty, habits=habits)

    population = np.full((classes, classes), 1 / max(classes, 1))

    def shown(params: Params, sums: tables.Counts):
        nonlocal population
        population = normalise(params.habits)
        alpha, nu = params.habits + sums.counts, mass + sums.prior
        return alpha / alpha.sum(axis=2, keepdims=True), nu / nu.sum()

    found = tables.fit(
        answers,
        update,
        gold=gold,
        tol=tol,
        iterations=iterations,
        shown=shown,
        holds="evidence lower bound and log hyper-prior" if learn_prior else "evidence lower bound",
    )
    return replace(found, channel=replace(found.channel, newcomer=population))  # type: ignore[type-var]


def best_habits(old: np.ndarray, logs: np.ndarray, workers: int, shape: float, rate: float) -> np.ndarray:
    """For each cell the root of workers (psi(S) - psi(a) + logs) + (shape - 1) / a - rate, S the row sums of `old`.

    The left side falls in a, so Newton in log a, kept inside a bracket, finds the one root.
    """
    level = psi(old.sum(axis=1, keepdims=True)) + logs
    below, above = np.full(old.shape, -30.0), np.full(old.shape, 30.0)
    x = np.log(old)
    for _ in range(100):
        a = np.exp(x)
        slope_at = workers * (level - psi(a)) + (shape - 1) / a - rate
        below, above = np.where(slope_at > 0, x, below), np.where(slope_at > 0, above, x)
        falls = -(workers * polygamma(1, a) + (shape - 1) / a**2) * a
        new = x - slope_at / falls
        new = np.where((new > below) & (new < above), new, (below + above) / 2)
        if np.abs(new - x).max(initial=0.0) < 1e-13:
            break
        x = new
    return np.exp(x)
