"""MACE: each worker either knows the answer or spams with a habit of their own.

    spam[w]     = P(worker w does not look), habit[w, l] = P(w says l | spams)
    P(w says l | truth k) = spam[w] habit[w, l] + (1 - spam[w]) [l = k];  P(true class is k) = 1 / K
    skill[w]    = competence = 1 - spam[w]
    trace       = log-likelihood (variational), or with fit=em log-likelihood penalised by the smoothing, which no step lowers

Several starts from noise of different seeds; the one with the highest log-likelihood is kept.

Family: spammer models
Needs: workers
Reference: Hovy, Berg-Kirkpatrick, Vaswani and Hovy (2013), Learning whom to trust with MACE, NAACL.
Also: MACE; iterations=n_iter; restarts=n_restarts; fit=method; noise=default_noise; seed=random_state
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.answers import Answers
from ...core.channels import Spam
from ...core.consensus import Consensus
from ...core.scores import Scores
from ...kernels import coins
from ...kernels.em import at_least_one, check, iterate, positive
from ...kernels.rows import log, normalise
from ...kernels.skills import Believed, hits, share_interval


def mace(
    answers: Answers,
    *,
    fit: Literal["vb", "em"] = "vb",
    restarts: int = 10,
    iterations: int = 50,
    tol: float = 1e-6,
    noise: float = 1.5,
    smoothing: float = 0.01,
    alpha: float = 0.5,
    beta: float = 0.5,
    habit: float = 10.0,
    seed: int = 0,
    gold: np.ndarray | None = None,
) -> Consensus:
    """Fit from several noisy starts and keep the best.

    Parameters
    ----------
    fit
        vb (variational, with the priors below) or em (with smoothing / K added to every count).
    restarts
        Number of starts.
    iterations
        Steps of each start at most.
    tol
        A start ends when its objective per task changes by less than this.
    noise
        A start draws every probability from uniform(1, 1 + noise) and normalises; 0 is the even start.
        What crowd-kit calls a noise of 0.5 draws up to 2.5, as 1.5 does here.
    smoothing
        Divided by K, the pseudo-count of fit=em.
    alpha
        Prior count of spamming, for fit=vb.
    beta
        Prior count of not spamming, for fit=vb.
    habit
        Prior count of each class in a habit, for fit=vb.
    seed
        Each start has its own stream drawn from this one.
    """
    at_least_one(restarts=restarts)
    check(noise=noise, smoothing=smoothing)
    positive(alpha=alpha, beta=beta, habit=habit)
    workers, classes = len(answers.workers), len(answers.classes)
    delta = smoothing / max(classes, 1)
    said = answers.fold(coins.habits).said

    def update(sums: coins.Counts, params: coins.Coins) -> coins.Coins:
        knew = sums.right * -np.expm1(-params.gain)  # P(did not spam | said the true class) = 1 - base / hit
        spammed = np.maximum(said - knew, 0)
        counts = np.stack([spammed.sum(axis=1), knew.sum(axis=1)], axis=1)
        if fit == "vb":
            return params_of(
                normalise(exp_psi(counts + np.array([alpha, beta]))), normalise(exp_psi(spammed + habit)), gold, 0.0
            )
        return params_of(normalise(counts + delta), normalise(spammed + delta), gold, delta)

    best, chosen, busy = -np.inf, None, answers.per_worker() > 0
    for rng in np.random.default_rng(seed).spawn(restarts):
        drawn = np.ones((workers, 2 + classes))
        drawn[busy] += noise * rng.random((int(busy.sum()), 2 + classes))  # idle workers take nothing from the stream
        first = params_of(normalise(drawn[:, :2]), normalise(drawn[:, 2:]), gold, delta if fit == "em" else 0.0)
        found = iterate(
            answers,
            coins.step,
            update,
            first,
            tol=tol,
            iterations=iterations,
            monotone=fit == "em",
            holds="log-likelihood" if fit == "vb" else "log-likelihood, penalised by smoothing",
        )
        if chosen is None or found[1].evidence > best:
            best, chosen = found[1].evidence, found
    params, _, trace, converged = chosen
    spam, habits = shares_of(params)
    probs = answers.fold(coins.beliefs, params).probs
    return Consensus.of(
        answers,
        probs=probs,
        channel=Spam(1 - spam, habits),
        skill=competence(answers, probs, spam, habits),
        prior=np.full(classes, 1 / max(classes, 1)),
        trace=trace,
        converged=converged,
    )


def competence(answers: Answers, probs: np.ndarray, spam: np.ndarray, habits: np.ndarray) -> Scores:
    """1 - spam, in the interval of the share of right answers less what the habit alone would get right."""
    n = answers.per_worker()
    lucky = habits @ normalise(probs[answers.per_task() > 0].sum(axis=0)) if len(probs) else np.zeros(len(n))
    ends = share_interval(answers.fold(hits, Believed(probs)), n)
    low, high = (np.clip((end - lucky) / np.maximum(1 - lucky, 1e-12), 0, 1) for end in ends)
    low, high = np.minimum(low, 1 - spam), np.maximum(high, 1 - spam)
    note = "competence: the share of answers not given by habit"
    return Scores(
        "skill",
        "worker",
        answers.workers,
        1 - spam,
        np.where(n > 0, low, np.nan),
        np.where(n > 0, high, np.nan),
        n,
        note,
    )


def params_of(spam: np.ndarray, habit: np.ndarray, gold: np.ndarray | None, delta: float) -> coins.Coins:
    """Rows of the coin kernel from P(spams, does not) [W, 2] and habits [W, K]."""
    classes = habit.shape[1]
    base = log(spam[:, :1]) + log(habit)
    hit = np.logaddexp(base, log(spam[:, 1:]))
    penalty = delta * float(log(spam).sum() + log(habit).sum()) if delta else 0.0
    return coins.Coins(base, hit - base, np.full(classes, -np.log(max(classes, 1))), gold, penalty)


def shares_of(params: coins.Coins) -> tuple[np.ndarray, np.ndarray]:
    """Back from the rows: P(spams) [W] and habits [W, K]."""
    joint = np.exp(params.base)
    spam = joint.sum(axis=1)
    return np.clip(spam, 0, 1), normalise(joint)


def exp_psi(counts: np.ndarray) -> np.ndarray:
    from scipy.special import psi

    return np.exp(psi(counts))
