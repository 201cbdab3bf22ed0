"""Entropy: how much the answers to a task are spread over the classes. Up is more disagreement.

    entropy[t] = - sum over k of p[k] log p[k],  p[k] = share of the answers about t that say k      (natural logarithm)

0 where all say the same, log K where all classes are said alike. Few answers look more alike than people are, so with few
of them the interval reaches far up. Its ends are those of the entropy of Dirichlet distributions, exact mean and variance put
into a Beta distribution: below with the counts plus 1 / K each, above with the counts plus 1 each. It reaches up to log K
where the counts are like those of equal shares (Pearson's chi-square below its 97.5 % point).

Family: votes
Needs: classes
Reference: Shannon (1948); peerannot's entropy; moments by Wolpert and Wolf (1995), doi:10.1103/PhysRevE.52.6841.
Also: entropies, vote_entropy
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.answers import Answers, Shard
from ...core.fold import by_task
from ...core.scores import Scores
from ...kernels.rows import log, normalise
from ...kernels.skills import LEVEL, between
from . import _rows

FEW = 64  # classes up to which tasks are looked up by their sorted counts


@dataclass
class Spread:
    value: np.ndarray = by_task()  # [T]
    low: np.ndarray = by_task()  # [T] of the entropy of the class shares behind the answers
    high: np.ndarray = by_task()  # [T]


def step(shard: Shard, _) -> Spread:
    counts = shard.tally().astype(np.int64)
    if shard.classes <= FEW:  # most tasks look alike but for the names of the classes
        counts, like = np.unique(np.sort(counts, axis=1), axis=0, return_inverse=True)
        return Spread(*(x[like.ravel()] for x in around(counts)))
    return Spread(*around(counts))


def around(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entropy and its interval for rows of counts."""
    from scipy.special import chdtri

    p, K = normalise(counts.astype(float)), counts.shape[1]
    value, most = np.maximum(-(p * log(p)).sum(axis=1), 0), np.log(max(K, 2))
    ends = []
    for side, prior in ((0, 1 / max(K, 1)), (1, 1.0)):
        mean, variance = moments(counts, prior)
        ends.append(most * between(mean / most, variance / most**2)[side])
    even = counts.sum(axis=1) * (K * (p**2).sum(axis=1) - 1) <= chdtri(max(K - 1, 1), (1 - LEVEL) / 2)
    ends[1][even] = most  # which no quantile reaches
    return value, np.minimum(ends[0], value), np.maximum(ends[1], value)


def moments(counts: np.ndarray, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the entropy of Dirichlet(counts + prior), row by row."""
    from scipy.special import polygamma, psi

    alpha = counts + prior
    A = alpha.sum(axis=1)
    each = np.arange(counts.max(initial=0) + 1) + prior  # the functions of whole counts, looked up
    rest, tail = psi(A + 2)[:, None], polygamma(1, A + 2)
    mean = psi(A + 1) - (alpha * psi(each + 1)[counts]).sum(axis=1) / A
    # E of (p log p)_i (p log p)_j: products of two sums for different classes, a term of its own for the same
    first = alpha * (psi(each + 1)[counts] - rest)
    apart = first.sum(axis=1) ** 2 - (first**2).sum(axis=1) - (A**2 - (alpha**2).sum(axis=1)) * tail
    second = (psi(each + 2)[counts] - rest) ** 2 + polygamma(1, each + 2)[counts] - tail[:, None]
    same = (alpha * (alpha + 1) * second).sum(axis=1)
    return mean, np.maximum((apart + same) / (A * (A + 1)) - mean**2, 0)


def entropy(answers: Answers) -> Scores:
    """Count the votes of each task."""
    found = answers.fold(step)
    low, high = found.low, found.high
    notes = np.full(len(found.value), "", object)
    if len(answers.classes) < 2:
        low = high = np.zeros(len(found.value))
        notes[:] = "there is one class only"
    notes[answers.per_task() == 1] = "one answer"
    return _rows.of_tasks(answers, "entropy", found.value, low, high, notes)
