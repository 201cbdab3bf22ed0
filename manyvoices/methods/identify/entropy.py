"""Entropy: how much the answers to a task are spread over the classes. Up is more disagreement.

    entropy[t] = - sum over k of p[k] log p[k],  p[k] = share of the answers about t that say k      (natural logarithm)

0 where all say the same, log K where all classes are said alike. Few answers look more alike than people are, so with few
of them the interval reaches far up. Its ends are those of the entropy of Dirichlet distributions, exact mean and variance put
into a Beta distribution: below with the counts plus 1 / K each, above with the counts plus 1 each.

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
from ...kernels.skills import between
from . import _rows


@dataclass
class Spread:
    value: np.ndarray = by_task()  # [T]
    low: np.ndarray = by_task()  # [T] of the entropy of the class shares behind the answers
    high: np.ndarray = by_task()  # [T]


def step(shard: Shard, _) -> Spread:
    counts = shard.tally()
    p = normalise(counts)
    value, most = np.maximum(-(p * log(p)).sum(axis=1), 0), np.log(max(shard.classes, 2))
    ends = []
    for side, prior in ((0, 1 / max(shard.classes, 1)), (1, 1.0)):
        mean, variance = moments(counts + prior)
        ends.append(most * between(mean / most, variance / most**2)[side])
    return Spread(value, np.minimum(ends[0], value), np.maximum(ends[1], value))


def moments(alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the entropy of Dirichlet(alpha), row by row."""
    from scipy.special import polygamma, psi

    A = alpha.sum(axis=1)
    one, two = psi(alpha + 1), psi(A + 2)[:, None]
    mean = psi(A + 1) - (alpha * one).sum(axis=1) / A
    # E of (p log p)_i (p log p)_j: off the diagonal a product of sums, on it a term of its own
    first = one - two
    cross = alpha * first
    off = cross.sum(axis=1) ** 2 - (cross**2).sum(axis=1)
    pairs = alpha.sum(axis=1) ** 2 - (alpha**2).sum(axis=1)
    off -= pairs * polygamma(1, A + 2)
    second = psi(alpha + 2) - two
    on = (alpha * (alpha + 1) * (second**2 + polygamma(1, alpha + 2) - polygamma(1, A + 2)[:, None])).sum(axis=1)
    return mean, np.maximum((off + on) / (A * (A + 1)) - mean**2, 0)


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
