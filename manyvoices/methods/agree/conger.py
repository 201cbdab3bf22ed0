"""Conger's kappa: Cohen's kappa for any number of workers, each with class shares of their own.

    observed = mean over tasks with m > 1 answers of the agreement w[i, j] of two of them
    chance   = mean over pairs of different workers of  sum over i, j of w[i, j] r[i] c[j],  their class shares r and c
    value    = (observed - chance) / (1 - chance)
    of class = the same with two classes: k and all others

A worker's shares come from all their answers, and every worker counts the same in chance, however few the answers
are: in a crowd where most answer little, look at fleiss and alpha too. For two workers who answer every task it is
Cohen's kappa. Small data have a bootstrap interval; where workers times classes make that dear, it is the
infinitesimal jackknife over tasks.

Family: agreement
Needs: classes, workers
Reference: Conger (1980), doi:10.1037/0033-2909.88.2.322.
Also: conger_kappa, generalized_cohen
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.answers import Answers, Shard
from ...core.fold import by_task, by_worker, whole
from ...core.scores import Scores, joined, one
from ...kernels import resample
from . import _counts, _pairs
from ._ask import Weighted
from ._counts import Chance, Distance, coefficient, distance
from ._lacks import lacks

CELLS = 4_000_000  # groups of tasks times workers times classes: up to these many the whole coefficient is resampled


def conger(answers: Answers, *, ask: Weighted = Weighted()) -> Scores:
    """Observed agreement from the votes of each task, chance from the habits of each worker."""
    if why := lacks(answers, "conger"):
        return one("conger", why)
    K, W = len(answers.classes), len(answers.workers)
    d = distance(ask.weights, K)
    group, groups, units = resample.groups(answers, 2 + 2 * K, ask.seed)
    few = groups * W * K <= CELLS
    each = 2 <= K <= _counts.MANY
    look = Look(d, group, groups, "task", "all", each, few, W)
    found = answers.fold(step, look)
    rows = []
    if (found.habits.sum(axis=1) > 0).sum() < 2:
        rows.append(one("conger", "not defined because only one worker answered"))
    elif not found.several:
        rows.append(one("conger", "not defined because no task has two answers"))
    else:
        rows.append(dataset_and_classes(answers, found, look, units, ask))
    if ask.pairs:
        rows.append(_pairs.rows(answers, "conger", d, Chance("own"), ask.min_common))
    return joined(rows)


@dataclass
class Look(_counts.Look):
    few: bool = whole()  # keep each group's habits of the workers apart
    workers: int = whole()


@dataclass
class Sums:
    sums: np.ndarray = whole()  # as in _counts
    habits: np.ndarray = by_worker()  # [W, K]
    apart: np.ndarray | None = whole()  # [G, W * K] the habits by group
    said: np.ndarray = whole()
    several: int = whole()


def step(shard: Shard, params: Look) -> Sums:
    from scipy.sparse import csr_array

    seen = _counts.step(shard, params)
    apart = None
    if params.few:
        place = shard.workers[shard.worker].astype(np.int64) * shard.classes + shard.label
        where = (params.group[shard.task], place)
        apart = csr_array(
            (shard.weighted(None), where), shape=(params.groups, params.workers * shard.classes)
        ).toarray()
    return Sums(seen.sums, shard.per_habit(), apart, seen.said, seen.several)


@dataclass(frozen=True)
class Values:
    """Values of the data set and of each class from sums [B, 2 + 2K] and habits [B, W * K] beside them."""

    distance: Distance
    each: bool

    def __call__(self, both: np.ndarray) -> np.ndarray:
        K = self.distance.classes
        cut = 2 + (2 if self.each else 1) * K
        weight = np.where(both[:, 0] > 0, both[:, 0], np.nan)
        room, rooms = self.chance(both[:, cut:].reshape(len(both), -1, K))
        overall = coefficient(both[:, 1] / weight, room)[:, None]
        if not self.each:
            return overall
        return np.concatenate([overall, coefficient(both[:, 2 + K : cut] / weight[:, None], rooms)], axis=1)

    def chance(self, habits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distance to expect of two different workers [B], and that of each class against the rest [B, K]."""
        n = habits.sum(axis=2, keepdims=True)
        p = habits / np.where(n > 0, n, 1)
        R = (n > 0).sum(axis=1)  # [B, 1]
        total, square = p.sum(axis=1), (p**2).sum(axis=1)
        couples = np.where(R > 1, R * (R - 1), np.nan)
        room = (self.distance.apart(total, total) - self.distance.apart(p, p).sum(axis=1)) / couples[:, 0]
        return room, 2 * total / R - 2 * (total**2 - square) / couples


def dataset_and_classes(answers: Answers, found: Sums, look: Look, units: int, ask: Weighted) -> Scores:
    values = Values(look.distance, look.each_class)
    with np.errstate(invalid="ignore", divide="ignore"):
        both = np.concatenate([found.sums.sum(axis=0), found.habits.ravel()])
        value = values(both[None])[0]
        if look.few:
            low, high, why = resample.bootstrap(np.hstack([found.sums, found.apart]), values, value, units, ask)
        else:
            low, high, why = jackknifed(answers, found, look, values, value, units, ask)
    return _counts.finished(answers, "conger", value, low, high, why, found.several, found.said, ask.note)


# the jackknife --------------------------------------------------------------------------------------------------------


@dataclass
class Effects:
    distance: Distance = whole()
    group: np.ndarray = by_task()
    groups: int = whole()
    each_class: bool = whole()
    answer: np.ndarray = by_worker()  # [W, K] what an answer adds to chance
    own: np.ndarray = by_worker()  # [W, K] ... to the chance of its own class
    always: np.ndarray = by_worker()  # [W, K] ... and to that of every class
    observed: np.ndarray = whole()  # [1 + K]
    room: np.ndarray = whole()  # [1 + K]
    tasks: float = whole()
    weigh: str = whole(default="task")
    margin: str = whole(default="all")


@dataclass
class Moved:
    moved: np.ndarray = whole()  # [G, 1 + K]


def effects(shard: Shard, params: Effects) -> Moved:
    """First-order effect of each group of tasks on the value and those of the classes."""
    from scipy.sparse import csr_array

    one_each = _counts.Look(params.distance, np.arange(shard.size), shard.size, "task", "all", params.each_class)
    columns = _counts.step(shard, one_each).sums  # a row for each task
    K = shard.classes
    apart = columns[:, [1, *range(2 + K, columns.shape[1])]]
    moved = -(apart - columns[:, :1] * params.observed) / params.tasks / params.room
    chance = np.empty(moved.shape)
    chance[:, 0] = shard.per_task(params.answer.ravel().take(shard.said.indices))
    if params.each_class:
        chance[:, 1:] = shard.tally(params.own.ravel().take(shard.said.indices))
        chance[:, 1:] += (
            csr_array(
                (shard.weighted(None), shard.worker.astype(np.int32), shard.start),
                shape=(shard.size, len(shard.workers)),
            )
            @ params.always
        )
    moved += params.observed / params.room**2 * chance
    return Moved(resample.grouped(np.where(np.isfinite(moved), moved, 0.0), params.group, params.groups))


def jackknifed(
    answers: Answers, found: Sums, look: Look, values: Values, value: np.ndarray, units: int, ask: Weighted
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    if ask.bootstrap == 0:
        nothing = np.full(len(value), np.nan)
        return nothing, nothing.copy(), ["no interval asked for"] * len(value)
    K = look.distance.classes
    n = np.maximum(found.habits.sum(axis=1, keepdims=True), 1)
    p = found.habits / n
    R = (found.habits.sum(axis=1) > 0).sum()
    total = p.sum(axis=0)
    slope = 2 * (look.distance.away(total) - look.distance.away(p)) / (R * (R - 1))  # of chance in p[w, k]
    answer = (slope - (p * slope).sum(axis=1, keepdims=True)) / n
    slope = 2 / R - 4 * (total - p) / (R * (R - 1))
    sums = found.sums.sum(axis=0)
    room, rooms = values.chance(found.habits[None])
    m = len(value) - 1
    effects_ = Effects(
        look.distance,
        look.group,
        look.groups,
        look.each_class,
        answer,
        slope / n,
        -slope * p / n,
        np.concatenate([[sums[1]], sums[2 + K :]]) / sums[0],
        np.concatenate([room, rooms[0, :m]]),
        sums[0],
    )
    moved = answers.fold(effects, effects_).moved
    error = np.sqrt((moved**2).sum(axis=0) * look.groups / max(look.groups - 1, 1))
    how = f"interval: infinitesimal jackknife over {units} tasks" + (
        "" if units == look.groups else f" in {look.groups} random groups"
    )
    return *resample.normal(value, error, least=-1.0), [
        how if e > 1e-12 else "no interval: no task differs from the others" for e in error
    ]
