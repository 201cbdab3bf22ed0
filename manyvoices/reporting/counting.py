"""What the report counts beside the verbs: who said what about tasks held to be what. Linear in answers, sparse in classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.answers import Answers, Shard
from ..core.fold import by_task, by_worker, whole

Cells = list[tuple[int, int, int]]  # consensus class, class said, how often


@dataclass
class Asked:
    code: np.ndarray = by_task()  # [T] class each task is held to be, -1 = none
    listed: np.ndarray = by_worker()  # [W] whose answers are counted one by one
    shown: np.ndarray = by_task()  # [T] tasks whose votes are wanted


@dataclass
class Found:
    clashes: Any = whole()  # [K, K] sparse: pairs of answers to the same task, one says k and one says l
    said: Any = whole()  # [K, K] sparse: answers l about tasks held to be k
    cells: list = whole()  # keys worker * K * K + held * K + said, and how often each
    votes: list = whole()  # task, class, how often


def look(shard: Shard, params: Asked) -> Found:
    from scipy.sparse import csr_array

    classes, weight = shard.classes, shard.weighted(None)
    votes = csr_array((weight, shard.label.astype(np.int64), shard.start), shape=(shard.size, classes), copy=True)
    votes.sum_duplicates()
    held = shard.of_task(params.code)
    judged = held >= 0
    said = csr_array((weight[judged], (held[judged], shard.label[judged])), shape=(classes, classes))
    mine = judged & shard.of_worker(params.listed)
    key = (shard.workers[shard.worker[mine]].astype(np.int64) * classes + held[mine]) * classes + shard.label[mine]
    wanted = shard.of_task(params.shown)
    task = shard.task[wanted].astype(np.int64) + shard.tasks.start
    return Found(
        votes.T @ votes,
        said,
        [totals(key, weight[mine])],
        [totals(task * classes + shard.label[wanted], weight[wanted])],
    )


def totals(key: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keys, at = np.unique(key, return_inverse=True)
    return keys, np.bincount(at, weights=weight, minlength=len(keys))


def gathered(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    return totals(np.concatenate([k for k, _ in parts]), np.concatenate([n for _, n in parts]))


@dataclass(frozen=True)
class Counts:
    clashes: Cells  # pairs of classes k < l, most frequent first
    said: Cells  # by consensus class and class said
    workers: dict[int, Cells]  # of each listed worker
    votes: dict[int, list[tuple[int, int]]]  # of each shown task: class and votes, most first


def counted(answers: Answers, code: np.ndarray, listed: np.ndarray, shown: np.ndarray) -> Counts:
    """`listed` are codes of workers, `shown` codes of tasks."""
    people = 1 if answers.workers is None else len(answers.workers)
    found = answers.fold(look, Asked(code, mask(people, listed), mask(len(answers.tasks), shown)))
    classes = len(answers.classes)
    workers: dict[int, Cells] = {}
    for key, n in zip(*(part.tolist() for part in gathered(found.cells)), strict=True):
        workers.setdefault(key // classes**2, []).append((key // classes % classes, key % classes, round(n)))
    votes: dict[int, list[tuple[int, int]]] = {}
    for key, n in zip(*(part.tolist() for part in gathered(found.votes)), strict=True):
        votes.setdefault(key // classes, []).append((key % classes, round(n)))
    for some in votes.values():
        some.sort(key=lambda vote: (-vote[1], vote[0]))
    clashes = [cell for cell in cells(found.clashes) if cell[0] < cell[1]]
    return Counts(sorted(clashes, key=lambda c: (-c[2], c)), cells(found.said), workers, votes)


def cells(table: Any) -> Cells:
    table = table.tocoo()
    return sorted((int(k), int(m), round(n)) for k, m, n in zip(table.row, table.col, table.data, strict=True) if n > 0)


def mask(size: int, chosen: np.ndarray) -> np.ndarray:
    found = np.zeros(size, bool)
    found[chosen] = True
    return found


# numbers instead of classes --------------------------------------------------------------------------------------------


@dataclass
class Wanted:
    shown: np.ndarray = by_task()


@dataclass
class Values:
    values: list = whole()  # task, value


def look_up(shard: Shard, params: Wanted) -> Values:
    wanted = shard.of_task(params.shown)
    return Values([(shard.task[wanted].astype(np.int64) + shard.tasks.start, shard.value[wanted])])


def values(answers: Answers, shown: np.ndarray) -> dict[int, list[float]]:
    """The numbers said about each shown task, ascending."""
    found = answers.fold(look_up, Wanted(mask(len(answers.tasks), shown)))
    said: dict[int, list[float]] = {}
    for task, value in found.values:
        for t, v in zip(task.tolist(), value.tolist(), strict=True):
            said.setdefault(t, []).append(v)
    return {task: sorted(some) for task, some in said.items()}
