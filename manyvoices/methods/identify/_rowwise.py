"""What came with each answer (its time), in the order of the rows, as a step sees it; and columns of rows put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.answers import Answers, Shard, narrow
from ...core.fold import by_task, whole


@dataclass
class Rows:
    size: np.ndarray = by_task()  # [T]


def size(shard: Shard, _) -> Rows:
    return Rows(np.diff(shard.start).astype(np.int64))


@dataclass
class Beside:
    column: np.ndarray = whole()  # [rows]
    first: np.ndarray = by_task()  # [T] first row of each task
    more: Any = whole(default=None)

    def of(self, shard: Shard) -> np.ndarray:
        a = int(self.first[0]) if shard.size else 0
        return self.column[a : a + len(shard.worker)]


def firsts(answers: Answers) -> np.ndarray:
    """The first row of each task."""
    n = answers.fold(size).size
    return np.cumsum(n) - n


@dataclass
class Columns:
    """Arrays by row of every shard, in shard order: for what needs all answers of a worker at once."""

    parts: tuple = whole()

    def together(self) -> list[np.ndarray]:
        return [np.concatenate(x) for x in zip(*self.parts, strict=True)] if self.parts else []


def sorted_by(x: np.ndarray, worker: np.ndarray, workers: int) -> np.ndarray:
    """The order by worker and, within, by x; a counting sort where the codes are narrow."""
    order = np.argsort(x)
    return order[np.argsort(worker[order].astype(narrow(workers)), kind="stable")]


def repeats(shard: Shard, _) -> Columns:
    said = shard.value if shard.label is None else shard.label
    same = np.zeros(len(said), bool)
    same[1:] = (shard.task[1:] == shard.task[:-1]) & (shard.worker[1:] == shard.worker[:-1]) & (said[1:] == said[:-1])
    return Columns(((same,),))


def alike(answers: Answers) -> np.ndarray:
    """[rows] whether a row says the same as the one before: the same worker about the same task."""
    found = answers.fold(repeats).together()
    return found[0] if found else np.zeros(0, bool)
