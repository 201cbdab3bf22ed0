"""Community BCC: workers belong to a few communities, each with its own way of confusing classes.

    community[w]        ~ Categorical(uniform over M)
    confusions[w, k, .] ~ Dirichlet(habits[m, k, .]) for w in community m
    prior               ~ Dirichlet(mass)
    trace               = evidence lower bound after workers and class shares, before the new beliefs; no step lowers it

The habits are fixed: careful workers (1/2 + 8 on the diagonal), usual ones (0.7 + 2) and guessers (2 everywhere), or M of
them in steps between the first and the last. A Dirichlet form of the model, fitted by variational Bayes.

Family: Dawid-Skene
Needs: workers
Reference: Venanzi, Guiver, Kazai, Kohli and Shokouhi (2014), Community-based Bayesian
    aggregation models, doi:10.1145/2566486.2567989.
Also: CommunityBCC; iterations=n_iter, maxiter
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...kernels import tables
from ...kernels.dirichlet import expected_log, log_beta
from ...kernels.em import at_least_one, check, iterate, positive
from ...kernels.rows import normalise, softmax_logsum


def cbcc(
    answers: Answers,
    *,
    tol: float = 1e-6,
    iterations: int = 100,
    communities: int = 3,
    mass: float = 1.0,
    gold: np.ndarray | None = None,
) -> Consensus:
    """Start from the vote shares; each round updates who belongs where, then the beliefs.

    Parameters
    ----------
    tol
        Stop when the evidence lower bound per task rises by less than this.
    iterations
        Give up after this many rounds.
    communities
        How many communities there are, from careful to guessing.
    mass
        Prior count of each class.
    """
    check(tol=tol, iterations=iterations)
    at_least_one(communities=communities)
    positive(mass=mass)
    tables.room(answers, communities * len(answers.workers))
    habits = ways(communities, len(answers.classes))

    def evidence(sums: tables.Mixed) -> np.ndarray:
        """log evidence of each worker under each community [W, M]; its alphas are habits + counts."""
        fits = [(log_beta(h + sums.counts) - log_beta(h)).sum(axis=1) for h in habits]
        return np.stack(fits, axis=1) - np.log(communities)

    def bound(sums: tables.Mixed, _) -> float:
        nu = mass + sums.prior
        of_prior = log_beta(nu) - log_beta(np.full(len(nu), mass))
        return float(sums.entropy + of_prior + logsumexp(evidence(sums), axis=1).sum())

    def update(sums: tables.Mixed, _) -> tables.Tables:
        part = softmax_logsum(evidence(sums))[0]
        logs = sum(part[:, m, None, None] * expected_log(h + sums.counts) for m, h in enumerate(habits))
        return tables.Tables(logs, expected_log(mass + sums.prior), gold=gold)

    params = update(answers.fold(tables.mixed_start, tables.Start(gold)), None)
    params, sums, trace, converged = iterate(
        answers,
        tables.mixed,
        update,
        params,
        tol=tol,
        iterations=iterations,
        holds="evidence lower bound",
        objective=bound,
    )
    part = softmax_logsum(evidence(sums))[0]
    alphas = sum(part[:, m, None, None] * (h + sums.counts) for m, h in enumerate(habits))
    note = [f"community {m + 1} of {communities} ({p:.2f})" for m, p in zip(part.argmax(1), part.max(1), strict=True)]
    return tables.believe(
        answers, params, normalise(alphas), normalise(mass + sums.prior), note=note, trace=trace, converged=converged
    )


def ways(communities: int, classes: int) -> np.ndarray:
    """Habits [M, K, K] from careful to guessing, through the usual."""
    off, extra = np.array([0.5, 0.7, 2.0]), np.array([8.0, 2.0, 0.0])
    at = np.linspace(0, 2, communities) if communities > 1 else np.array([1.0])
    return np.interp(at, [0, 1, 2], off)[:, None, None] + np.interp(at, [0, 1, 2], extra)[:, None, None] * np.eye(
        classes
    )
