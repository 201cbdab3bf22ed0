"""How good a worker is, with an interval: Beta quantiles around the fitted value with the worth of the worker's answers."""

from __future__ import annotations

import numpy as np

from ..core.answers import Answers
from ..core.scores import Scores

LEVEL = 0.95


def of_tables(
    answers: Answers, counts: np.ndarray, tables: np.ndarray, prior: np.ndarray, note: str | list[str] = ""
) -> Scores:
    """P(the worker is right about a task drawn at random) = sum over k of prior[k] tables[w, k, k].

    The spread is that of a Dirichlet posterior of each row with Jeffreys' half a count a cell; that the truth is itself
    estimated is not in it.
    """
    diagonal = tables[:, range(len(prior)), range(len(prior))]  # [W, K]
    seen = counts.sum(axis=2)  # [W, K]
    smoothed = (counts[:, range(len(prior)), range(len(prior))] + 0.5) / (seen + 0.5 * len(prior))
    variance = (prior**2 * smoothed * (1 - smoothed) / (seen + 0.5 * len(prior) + 1)).sum(axis=1)
    middle = (prior * smoothed).sum(axis=1)
    worth = np.maximum(middle * (1 - middle) / np.maximum(variance, 1e-300) - 1, 0)
    return of_shares(answers, (prior * diagonal).sum(axis=1), worth, note)


def of_shares(
    answers: Answers, right: np.ndarray, worth: np.ndarray | None = None, note: str | list[str] = ""
) -> Scores:
    """A share of right answers, worth so many answers (by default all of the worker's)."""
    n = answers.per_worker()
    low, high = beta_interval(right, n if worth is None else worth)
    known = n > 0
    return Scores(
        "skill", "worker", answers.workers, right, np.where(known, low, np.nan), np.where(known, high, np.nan), n, note
    )


def beta_interval(share: np.ndarray, worth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles of Beta(share * worth + 1/2, (1 - share) * worth + 1/2), widened to hold the share itself."""
    from scipy.special import betaincinv

    share = np.clip(share, 0, 1)
    a, b = share * worth + 0.5, (1 - share) * worth + 0.5
    tail = (1 - LEVEL) / 2
    return np.minimum(betaincinv(a, b, tail), share), np.maximum(betaincinv(a, b, 1 - tail), share)


def normal_interval(value: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    reach = 1.959963984540054 * np.sqrt(variance)
    return value - reach, value + reach
