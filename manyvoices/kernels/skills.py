"""How good a worker is, with an interval that allows for few answers and for a truth that is itself estimated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.answers import Answers, Shard
from ..core.fold import by_task, by_worker
from ..core.scores import Scores

LEVEL = 0.95
OWN_VOTE = "agreement with a vote that their own is part of"


@dataclass
class Believed:
    probs: np.ndarray = by_task()  # [T, K]


@dataclass
class Hits:
    right: np.ndarray = by_worker()  # [W] expected number of right answers
    doubt: np.ndarray = by_worker()  # [W] its variance, the truths being as uncertain as the beliefs say


def hits(shard: Shard, params: Believed) -> Hits:
    right = shard.at(params.probs)
    return Hits(shard.per_worker(right), shard.per_worker(right * (1 - right)))


def of_beliefs(
    answers: Answers,
    probs: np.ndarray,
    otherwise: np.ndarray,
    note: str | list[str] = "",
    value: np.ndarray | None = None,
) -> Scores:
    """The share of a worker's answers that are right under the beliefs, or another estimate of it in the same interval.

    The interval is a Beta distribution with the mean and variance of a share of n answers of which some are right only
    probably: p (1 - p) / (n + 2) + sum of h (1 - h) / (n + 1)^2 with h = P(the answer is right). A worker without answers
    has the value `otherwise` and no interval.
    """
    found, n = answers.fold(hits, Believed(probs)), answers.per_worker()
    value = np.where(n > 0, found.right / np.maximum(n, 1), otherwise) if value is None else value
    low, high = share_interval(found, n)
    known = n > 0
    low, high = np.minimum(low, value), np.maximum(high, value)
    return Scores(
        "skill", "worker", answers.workers, value, np.where(known, low, np.nan), np.where(known, high, np.nan), n, note
    )


def share_interval(found: Hits, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    share = (found.right + 0.5) / (n + 1)
    return between(share, share * (1 - share) / (n + 2) + found.doubt / (n + 1) ** 2)


def between(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The middle of a Beta distribution with this mean and variance, for what lies between 0 and 1."""
    from scipy.special import betaincinv

    mean = np.clip(mean, 1e-9, 1 - 1e-9)
    worth = np.maximum(mean * (1 - mean) / np.maximum(variance, 1e-12) - 1, 1e-3)
    a, b, tail = mean * worth, (1 - mean) * worth, (1 - LEVEL) / 2
    return betaincinv(a, b, tail), betaincinv(a, b, 1 - tail)


def of_shares(
    answers: Answers, right: np.ndarray, worth: np.ndarray | None = None, note: str | list[str] = ""
) -> Scores:
    """A share of agreeing answers, worth so many answers (by default all of the worker's)."""
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
