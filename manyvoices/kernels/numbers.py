"""Labels as numbers: the values of an interval scale, or the places of ordered classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.answers import Answers, Shard
from ..core.channels import Line
from ..core.consensus import Consensus
from ..core.fold import by_task, whole


@dataclass
class Moments:
    n: np.ndarray = by_task()  # [T]
    total: np.ndarray = by_task()  # [T]
    square: float = whole()  # within tasks
    spare: float = whole()  # answers beyond the first of each task


def values(shard: Shard) -> np.ndarray:
    return shard.label.astype(float) if shard.value is None else shard.value


def moments(shard: Shard, _) -> Moments:
    value, n = values(shard), shard.per_task()
    total = shard.per_task(value)
    middle = total / np.maximum(n, 1)
    square = shard.weighted((value - shard.of_task(middle)) ** 2)
    return Moments(n, total, float(square.sum()), float(np.maximum(n - 1, 0).sum()))


def noise(found: Moments) -> float:
    return float(np.sqrt(found.square / found.spare)) if found.spare else np.nan


def result(answers: Answers, value: np.ndarray, found: Moments, reach: float) -> Consensus:
    """A consensus around one value a task, with the spread of a mean (or `reach` times that): classes or numbers."""
    spread = noise(found)
    sd = reach * (spread if np.isfinite(spread) else 0.0) / np.sqrt(np.maximum(found.n, 1))
    if answers.scale != "interval":
        chosen = np.clip(np.ceil(value - 0.5), 0, max(len(answers.classes) - 1, 0)).astype(np.int64)
        return Consensus.of(answers, probs=around_classes(value, sd, len(answers.classes)), chosen=chosen)
    wide = np.where(found.n > 0, 1.959963984540054 * sd if np.isfinite(spread) else np.nan, np.nan)
    workers = 1 if answers.workers is None else len(answers.workers)
    steady = spread if np.isfinite(spread) else 0.0
    channel = Line(value, sd**2, np.zeros(workers), np.ones(workers), np.full(workers, steady))
    return Consensus.of(answers, probs=None, value=value, low=value - wide, high=value + wide, channel=channel)


def around_classes(value: np.ndarray, sd: np.ndarray, classes: int) -> np.ndarray:
    """[T, K]: how much of Normal(value, sd^2) lies nearest to each class; halves go to the lower one."""
    from scipy.special import ndtr

    edges = np.arange(classes - 1) + 0.5
    below = ndtr((edges - value[:, None] + 1e-9) / np.maximum(sd, 1e-6)[:, None])
    return np.diff(np.concatenate([np.zeros((len(value), 1)), below, np.ones((len(value), 1))], axis=1), axis=1)
