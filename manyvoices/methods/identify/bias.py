"""Bias: how much higher or lower a worker answers than the others do on the same tasks.

    bias[w] = mean over w's answers y of  y - mean of the others' answers to the task

In units of the numbers; ordered classes count 0, 1, 2, ... so that 1 is one class. Answers to tasks that nobody else
answered do not count, and a worker's repeats are not among the others. Interval: Student's t around the mean, the
variance of w's differences being pulled a little (by four answers' worth) towards that of all workers, so that one answer has an
interval too. A bias is relative: where half of the workers lean one way, the other half lean the other.

Family: ordered labels
Needs: workers, ordered
Reference: textbook; the pooled variance after Smyth (2004), doi:10.2202/1544-6115.1027.
Also: shift, leaning
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.answers import Answers, Shard
from ...core.fold import by_worker
from ...core.scores import Scores
from ...kernels import numbers
from . import _rows
from ._others import beside

PULL = 4.0  # answers' worth of the variance of all workers
ALONE = "not defined because nobody else answered this worker's tasks"


@dataclass
class Sums:
    n: np.ndarray = by_worker()  # [W] answers with company
    total: np.ndarray = by_worker()  # [W] of the differences
    square: np.ndarray = by_worker()  # [W]


def step(shard: Shard, _) -> Sums:
    found = beside(shard, numbers.values(shard))
    d = found.difference
    return Sums(*(shard.per_worker(x) for x in ((found.company > 0).astype(float), d, d * d)))


def bias(answers: Answers) -> Scores:
    """Average the differences."""
    from scipy.special import stdtrit

    found = answers.fold(step)
    n = np.maximum(found.n, 1)
    value = found.total / n
    within = np.maximum(found.square - n * value**2, 0)
    free = np.maximum(found.n - 1, 0)
    usual = within.sum() / free.sum() if free.sum() else np.nan
    df = PULL + free
    variance = (PULL * usual + within) / df / n
    reach = stdtrit(df, 0.975) * np.sqrt(variance)
    unit = "" if answers.scale == "interval" else "in classes; "
    few = f"{unit}no interval: no worker has two answers to compare"
    note = f"{unit}above 0: higher than the others" if np.isfinite(usual) else few
    count = np.round(found.n).astype(np.int64)
    return _rows.of_workers(
        answers, "bias", value, value - reach, value + reach, note, [(found.n == 0, ALONE)], n=count
    )
