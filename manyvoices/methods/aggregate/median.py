"""Median of ordered or interval labels.

    value[t] = middle of the numbers said about task t, the mean of the two middle ones where their number is even
    interval: +- 1.96 * 1.2533 noise / sqrt(n[t]), noise = standard deviation within tasks, pooled over all of them

On an ordinal scale the label is the class in the middle (the lower one of two).

Family: ordered labels
Needs: ordered
Reference: textbook.
Also: middle
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.answers import Answers, Shard
from ...core.consensus import Consensus
from ...core.fold import by_task
from ...kernels import numbers


@dataclass
class Middle:
    low: np.ndarray = by_task()
    high: np.ndarray = by_task()


def middle(shard: Shard, _) -> Middle:
    """The two middle values of each task, which are the same where their number is odd; NaN without answers."""
    value = numbers.values(shard)
    order = np.lexsort((value, shard.task))
    sums = np.concatenate([[0.0], np.cumsum(shard.weighted(np.ones(len(value)))[order])])  # answers up to each row
    before, n = sums[shard.start[:-1]], shard.per_task()
    place = lambda rank: np.searchsorted(sums[1:], before + rank, side="right")
    ranked = np.append(value[order], np.nan)
    low, high = place(np.maximum(np.ceil(n / 2) - 1, 0)), place(np.floor(n / 2))
    return Middle(*(np.where(n > 0, ranked[np.minimum(at, len(value))], np.nan) for at in (low, high)))


def median(answers: Answers) -> Consensus:
    """Take the middle of each task's numbers."""
    found, moments = answers.fold(middle), answers.fold(numbers.moments)
    usual = moments.total.sum() / max(moments.n.sum(), 1)
    value = found.low if answers.scale == "ordinal" else (found.low + found.high) / 2
    return numbers.result(answers, np.where(moments.n > 0, value, usual), moments, reach=1.2533)
