"""Pairs of workers: their joint tables on the tasks both answered, as the list of cells that are not empty.

A task weighs one in the table of a pair; who answered it several times has that one shared among those answers. Work
goes with the pairs of answers to the same task, memory with the pairs of workers who have enough tasks in common.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ...core.answers import Answers, Shard
from ...core.fold import by_task, by_worker, whole
from ...core.scores import Scores, joined, one, table
from ...kernels import resample
from ...kernels.resample import normal
from . import _counts
from ._ask import Ask
from ._lacks import lacks

CHUNK = 1 << 20  # pairs of answers looked at in one go
FEW = 20_000  # pairs of answers: up to these many a mean over pairs is resampled itself
MANY = 200  # classes: above this many there is no row for each


# sums by key ----------------------------------------------------------------------------------------------------------


class Pile:
    """Sums of rows [n, c] by whole-number key, put together with +. Sorted anew whenever what was added outgrows it."""

    def __init__(self, parts: list[tuple[np.ndarray, np.ndarray]]):
        self.parts = parts

    def __add__(self, other: Pile) -> Pile:
        parts = self.parts + other.parts
        if sum(len(key) for key, _ in parts[1:]) > max(len(parts[0][0]), CHUNK):
            parts = [summed(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))]
        return Pile(parts)

    def settled(self) -> tuple[np.ndarray, np.ndarray]:
        return summed(*(np.concatenate(columns) for columns in zip(*self.parts, strict=True)))


def summed(key: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not len(key):
        return key, x
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    return key[first], np.add.reduceat(x[order], first, axis=0)


# pairs of answers -----------------------------------------------------------------------------------------------------


def met(shard: Shard, busy: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Rows x and y of two busy workers about one task, the lower worker first, and what the pair of answers weighs."""
    said = np.flatnonzero(busy[shard.worker])
    task, worker = shard.task[said], shard.worker[said]
    count = np.ones(len(said)) if shard.count is None else shard.count[said].astype(float)
    first = np.flatnonzero(np.concatenate([[True], (task[1:] != task[:-1]) | (worker[1:] != worker[:-1])]))[: len(said)]
    share = count / np.repeat(np.add.reduceat(count, first), np.diff([*first, len(said)])) if len(said) else count
    stop = np.searchsorted(task, task, side="right")
    after = stop - np.arange(len(said)) - 1
    total = np.concatenate([[0], after.cumsum()])
    a = 0
    while a < len(said):
        b = max(a + 1, int(np.searchsorted(total, total[a] + CHUNK, side="right")) - 1)
        x = np.repeat(np.arange(a, b), after[a:b])
        y = x + 1 + np.arange(len(x)) - np.repeat(total[a:b] - total[a], after[a:b])
        two = worker[x] != worker[y]
        x, y = x[two], y[two]
        yield said[x], said[y], share[x] * share[y]
        a = b


@dataclass
class Busy:
    busy: np.ndarray = by_worker()  # [W] answered enough tasks to share so many with somebody
    workers: int = whole()


@dataclass
class Common:
    common: Pile = whole()  # pair of workers -> tasks in common


def common(shard: Shard, params: Busy) -> Common:
    parts = [(key_of(shard, x, y, params.workers), weight) for x, y, weight in met(shard, params.busy)]
    return Common(Pile([summed(*part) for part in parts] or [(np.zeros(0, np.int64), np.zeros(0))]))


def key_of(shard: Shard, x: np.ndarray, y: np.ndarray, workers: int) -> np.ndarray:
    who = shard.workers.astype(np.int64)
    return who[shard.worker[x]] * workers + who[shard.worker[y]]


@dataclass
class Kept:
    busy: np.ndarray = by_worker()
    workers: int = whole()
    key: np.ndarray = whole()  # [P] pairs with enough common tasks, ascending
    met: float = whole()  # times two of them meet
    group: np.ndarray | None = by_task(default=None)  # resampling group of each task, where tables are kept apart by it


def found_pairs(answers: Answers, min_common: int) -> Kept:
    """The pairs of workers with at least so many tasks in common."""
    W = len(answers.workers)
    busy = answers.per_worker() >= min_common
    key, tasks = answers.fold(common, Busy(busy, W)).common.settled()
    enough = np.rint(tasks) >= min_common
    return Kept(busy, W, key[enough], float(tasks[enough].sum()))


def met_kept(shard: Shard, params: Kept) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Pair of workers, rows x and y, weight: of the pairs that were kept."""
    if not len(params.key):
        return
    for x, y, weight in met(shard, params.busy):
        key = key_of(shard, x, y, params.workers)
        pair = np.minimum(np.searchsorted(params.key, key), len(params.key) - 1)
        held = params.key[pair] == key
        yield pair[held], x[held], y[held], weight[held]


# joint tables ---------------------------------------------------------------------------------------------------------


@dataclass
class Cells:
    cells: Pile = whole()  # (group if kept apart, pair, class, class) -> tasks
    tasks: int = whole()  # tasks with a pair that was kept


def cells(shard: Shard, params: Kept) -> Cells:
    K = shard.classes
    parts, seen = [], np.zeros(shard.size, bool)
    for pair, x, y, weight in met_kept(shard, params):
        seen[shard.task[x]] = True
        key = (
            pair.astype(np.int64)
            if params.group is None
            else params.group[shard.task[x]].astype(np.int64) * len(params.key) + pair
        )
        parts.append(summed((key * K + shard.label[x]) * K + shard.label[y], weight))
    return Cells(Pile(parts or [(np.zeros(0, np.int64), np.zeros(0))]), int(seen.sum()))


@dataclass(frozen=True)
class Tables:
    """Joint tables of P pairs, cell by cell: class i of the first worker, class j of the second."""

    pair: np.ndarray
    i: np.ndarray
    j: np.ndarray
    pairs: int
    classes: int

    @classmethod
    def at(cls, key: np.ndarray, pairs: int, classes: int) -> Tables:
        pair, rest = np.divmod(key, classes * classes)
        return cls(pair, *np.divmod(rest, classes), pairs, classes)

    def total(self, x: np.ndarray) -> np.ndarray:
        return np.bincount(self.pair, x, minlength=self.pairs)

    def by_class(self, code: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.bincount(self.pair * self.classes + code, x, minlength=self.pairs * self.classes).reshape(
            self.pairs, self.classes
        )


@dataclass(frozen=True)
class Worked:
    """The coefficient of every pair, and how it moves with each answer (first-order influences)."""

    n: np.ndarray  # [P] tasks in common
    value: np.ndarray  # [P]
    error: np.ndarray  # [P] standard error of the value
    influence: np.ndarray  # [cells] of one task in that cell, on its pair's value, times n
    each: np.ndarray  # [P, K or 0] the same coefficient for each class against the rest
    slopes: (
        tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None
    )  # [P, K] influence on it: always, if i, if j, if both


def worked(
    t: Tables, weight: np.ndarray, distance: Any, chance: Any, *, small: bool = False, each_class: bool = False
) -> Worked:
    """`distance` is one for all pairs or a function of their pooled counts [P, K]."""
    n = t.total(weight)
    over = np.where(n > 0, n, np.nan)
    r, c = t.by_class(t.i, weight) / over[:, None], t.by_class(t.j, weight) / over[:, None]
    d = distance((r + c) * over[:, None]) if callable(distance) else distance
    apart = d.between(t.i, t.j, t.pair)
    observed = t.total(weight * apart) / over
    expected, first, second = chance(d, r, c)
    more = 2 * over / (2 * over - 1) if small else np.ones(t.pairs)
    room = np.where(expected > 1e-12, expected * more, np.nan)
    middle = np.einsum("pk,pk->p", r, first) + np.einsum("pk,pk->p", c, second)
    moved = first[t.pair, t.i] + second[t.pair, t.j] - middle[t.pair]
    influence = (-(apart - observed[t.pair]) + (observed / room * more)[t.pair] * moved) / room[t.pair]
    value = 1 - observed / room
    error = np.sqrt(t.total(weight * influence**2) / over / over)
    each, slopes = np.zeros((t.pairs, 0)), None
    if each_class:
        same = t.i == t.j
        both = t.by_class(t.i, weight * same) / over[:, None]
        apart_each = r + c - 2 * both
        expected, first, second = chance.of_class(r, c)
        room = np.where(expected > 1e-12, expected * more[:, None], np.nan)
        room = np.where((r + c > 0) & (r + c < 2), room, np.nan)  # a class neither of them used, or no other
        each = 1 - apart_each / room
        tilt = apart_each / room**2 * more[:, None]
        slopes = (
            apart_each / room - tilt * (r * first + c * second),
            -1 / room + tilt * first,
            -1 / room + tilt * second,
            2 / room,
        )
    return Worked(n, value, error, influence, each, slopes)


# rows -----------------------------------------------------------------------------------------------------------------


def rows(answers: Answers, name: str, distance: Any, chance: Any, min_common: int, small: bool = False) -> Scores:
    """A row for each pair of workers with enough common tasks, with an interval from the first-order (delta) method."""
    if answers.workers is None:
        return one(name, "not defined because these answers name nobody", of="pair")
    kept = found_pairs(answers, min_common)
    if not len(kept.key):
        return one(name, none_met(min_common), of="pair")
    key, weight = answers.fold(cells, kept).cells.settled()
    with np.errstate(invalid="ignore", divide="ignore"):
        return written(
            answers,
            name,
            kept,
            worked(Tables.at(key, len(kept.key), len(answers.classes)), weight, distance, chance, small=small),
        )


def none_met(min_common: int) -> str:
    return f"not defined because no two workers have {min_common} tasks in common (--min-common)"


def written(answers: Answers, name: str, kept: Kept, w: Worked) -> Scores:
    a, b = np.divmod(kept.key, kept.workers)
    known = np.isfinite(w.value)
    value = np.where(known, w.value, 1.0)  # no room to disagree: both always say the same class
    low, high = normal(value, np.where(known, w.error, np.nan), least=-1.0)
    notes = np.where(
        known,
        np.where(w.error > 1e-12, "", "no interval: no task differs from the others"),
        "both always say one and the same class; no interval",
    )
    names = answers.workers.to_list()
    return table(
        name,
        of=["pair"] * len(a),
        names=[names[x] for x in a],
        other=[names[x] for x in b],
        value=value,
        low=low,
        high=high,
        n=np.rint(w.n).astype(np.int64),
        note=notes.tolist(),
    )


# the mean over pairs --------------------------------------------------------------------------------------------------


@dataclass
class Effects:
    busy: np.ndarray = by_worker()
    workers: int = whole()
    key: np.ndarray = whole()
    cell: np.ndarray = whole()  # cells of all tables, ascending
    influence: np.ndarray = whole()  # [cells] on the mean
    slopes: Any = whole()  # four [P, K] on the means of the classes, or None
    group: np.ndarray = by_task()
    groups: int = whole()


@dataclass
class Moved:
    moved: np.ndarray = whole()  # [G, 1 + K] what each group of tasks does to the means


def effects(shard: Shard, params: Effects) -> Moved:
    """First-order influence of every group of tasks, summed over its pairs of answers."""
    K, m = shard.classes, 1 if params.slopes is None else 1 + shard.classes
    found = np.zeros((params.groups, m))
    for pair, x, y, weight in met_kept(shard, params):  # type: ignore[arg-type]
        i, j = shard.label[x].astype(np.int64), shard.label[y].astype(np.int64)
        moved = np.empty((len(pair), m))
        moved[:, 0] = params.influence[np.searchsorted(params.cell, (pair.astype(np.int64) * K + i) * K + j)]
        if params.slopes is not None:
            always, first, second, both = params.slopes
            row = np.arange(len(pair))
            moved[:, 1:] = always[pair]
            moved[row, 1 + i] += first[pair, i]
            moved[row, 1 + j] += second[pair, j]
            same = np.flatnonzero(i == j)
            moved[same, 1 + i[same]] += both[pair[same], i[same]]
        group = params.group[shard.task[x]]
        found += np.stack([np.bincount(group, moved[:, k] * weight, minlength=params.groups) for k in range(m)], axis=1)
    return Moved(found)


def mean(answers: Answers, name: str, distance: Any, chance: Any, ask: Ask, *, note: str = "") -> Scores:
    """The mean of a two-worker coefficient over pairs, its classes, and if asked for the pairs themselves."""
    if lacking := lacks(answers, name):
        return one(name, lacking)
    kept = found_pairs(answers, ask.min_common)
    P, K = len(kept.key), len(answers.classes)
    if not P:
        parts = [one(name, none_met(ask.min_common))]
        return joined([*parts, one(name, none_met(ask.min_common), of="pair")] if ask.pairs else parts)
    each_class = 2 <= K <= MANY
    few = kept.met <= FEW
    group, groups, units = resample.groups(answers, 1 + K, ask.seed, least=2)
    found = answers.fold(cells, replace(kept, group=group) if few else kept)
    key, weight = found.cells.settled()
    with np.errstate(invalid="ignore", divide="ignore"):
        if few:
            where, apart = np.divmod(key, P * K * K)
            key, place = np.unique(apart, return_inverse=True)
            by_group = csr_array((weight, (where, place)), shape=(groups, len(key))).toarray()
            by_group, weight = by_group[by_group.any(axis=1)], by_group.sum(axis=0)
        t = Tables.at(key, P, K)
        w = worked(t, weight, distance, chance, each_class=each_class)
        value = means(w)
        if few:
            units = len(by_group) if units == groups else found.tasks
            low, high, why = resample.bootstrap(
                by_group,
                lambda drawn: np.array([means(worked(t, x, distance, chance, each_class=each_class)) for x in drawn]),
                value,
                units,
                ask,
            )
        else:
            low, high, why = jackknifed(answers, kept, key, w, value, group, groups, units, found.tasks, ask)
    pairs_said = f"mean over {P} pair{'s' * (P > 1)} of workers with {ask.min_common} or more common tasks"
    rows_ = [
        _counts.finished(
            answers,
            name,
            value,
            low,
            high,
            why,
            found.tasks,
            answers.fold(_counts.said).said,
            "; ".join(text for text in (note, pairs_said) if text),
        )
    ]
    if ask.pairs:
        rows_.append(written(answers, name, kept, w))
    return joined(rows_)


def means(w: Worked) -> np.ndarray:
    """Over pairs with common tasks. Without room to disagree a pair counts 1, nothing for a class it does not use."""
    value = np.where(np.isfinite(w.value), w.value, 1.0)[w.n > 0]
    return np.concatenate([[value.mean() if len(value) else np.nan], mean_of(w.each)])


def jackknifed(
    answers: Answers,
    kept: Kept,
    key: np.ndarray,
    w: Worked,
    value: np.ndarray,
    group: np.ndarray,
    groups: int,
    units: int,
    tasks: int,
    ask: Ask,
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Intervals of the means from each task's first-order effect on all its pairs, in one more pass."""
    P, K = len(kept.key), len(answers.classes)
    slopes = None
    if w.slopes is not None:
        known = np.isfinite(w.each)
        scale = known / np.maximum(known.sum(axis=0), 1) / w.n[:, None]
        slopes = tuple(np.where(known, slope, 0.0) * scale for slope in w.slopes)
    influence = np.where(np.isfinite(w.influence), w.influence, 0.0) / P / w.n[key // (K * K)]
    found = answers.fold(effects, Effects(kept.busy, kept.workers, kept.key, key, influence, slopes, group, groups))
    error = np.sqrt((found.moved**2).sum(axis=0) * groups / max(groups - 1, 1))
    if ask.bootstrap == 0:
        return np.full(len(value), np.nan), np.full(len(value), np.nan), ["no interval asked for"] * len(value)
    how = f"interval: infinitesimal jackknife over {tasks} tasks" + (
        "" if units == groups else f" in {groups} random groups"
    )
    return *normal(value, error, least=-1.0), [
        how if e > 1e-12 else "no interval: no task differs from the others" for e in error
    ]


def mean_of(each: np.ndarray) -> np.ndarray:
    """Mean of each column over the pairs for which it is defined."""
    known = np.isfinite(each)
    return np.where(known.any(axis=0), np.where(known, each, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1), np.nan)
