"""Answers as numbers: coordinates whose squared distance is a metric's disagreement, and their sums by task and pair.

    interval  v                                    (a - b)^2, up to a factor
    ordinal   rank of v among all answers          (ranks between a and b, ends halved)^2, up to a factor
    circular  (cos, sin)(2 pi v / steps) / 2       sin(pi (a - b) / steps)^2
    ratio     sqrt(2 h) s v exp(-s v), s = e^(jh)  ((a - b) / (a + b))^2
    bipolar   sqrt(2 h s) x exp(-s x), x from      (a - b)^2 / ((a + b - 2 low) (2 high - a - b)), up to a factor
              either end

Ratio because 4ab / (a + b)^2 is the integral over s of 4 s ab exp(-s (a + b)), here a sum over steps of h in log s; bipolar
because it is the sum over both ends of (a - b)^2 / (a + b) = a + b - 4ab / (a + b), and 1 / (a + b) that of exp(-s (a + b)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.answers import Answers, Shard
from ...core.fold import by_task, whole
from ...core.names import Names
from ...kernels import resample
from ...kernels.numbers import values
from . import _pairs
from ._pairs import Kept, Pile, met_kept, summed


def numbers_of(classes: Names | Sequence[str]) -> np.ndarray | None:
    """The classes as the numbers their names are, if all are."""
    try:
        found = np.array([float(name) for name in classes])
    except ValueError:
        return None
    return found if np.isfinite(found).all() else None


@dataclass(frozen=True)
class Coordinates:
    """Numbers [n] to points [n, q]."""

    metric: str
    low: float = 0.0
    high: float = 1.0
    steps: float = 1.0
    known: np.ndarray | None = None  # distinct values, ascending
    rank: np.ndarray | None = None  # and the middle rank of each, as a share

    def __call__(self, v: np.ndarray) -> np.ndarray:
        if self.metric == "ordinal":
            place = np.minimum(np.searchsorted(self.known, v), max(len(self.known) - 1, 0))
            return self.rank[place][:, None] if len(self.known) else np.zeros((len(v), 1))
        if self.metric == "circular":
            angle = 2 * np.pi / self.steps * v
            return np.stack([np.cos(angle), np.sin(angle)], axis=1) / 2
        if self.metric == "ratio":
            zero = v == 0
            top = np.log(20 / max(self.low, TINY))
            s = np.exp(np.arange(np.log(1e-8 / max(self.high, TINY)), top + STEP, STEP))
            reach = v[:, None] * s
            return np.concatenate([np.sqrt(2 * STEP) * reach * np.exp(-reach), zero[:, None] / np.sqrt(2)], axis=1)
        if self.metric == "bipolar":
            span = max(self.high - self.low, TINY)
            return np.concatenate([apart(x / span) for x in (v - self.low, self.high - v)], axis=1)
        return ((v - (self.low + self.high) / 2) / max(self.high - self.low, TINY))[:, None]


STEP = 0.3
TINY = float(np.finfo(float).tiny)


def apart(x: np.ndarray) -> np.ndarray:
    """Points whose squared distance is (a - b)^2 / (a + b), for numbers from 0 to 1."""
    least = x[x > 0].min(initial=1.0)
    s = np.exp(np.arange(np.log(1e-13), np.log(20 / least) + STEP, STEP))
    reach = x[:, None] * s
    return np.sqrt(2 * STEP * s) * x[:, None] * np.exp(-reach)


def ranks(known: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Middle rank of each value, as a share of all."""
    return (n.cumsum() - n / 2 - n.sum() / 2) / max(n.sum(), 1)


# what there is --------------------------------------------------------------------------------------------------------


@dataclass
class Range:
    ends: Ends = whole()
    several: int = whole()  # tasks with several answers
    said: Pile | None = whole()  # value -> answers about such tasks


@dataclass
class Wanted:
    histogram: bool = whole()


class Ends:
    """Least and greatest, and the least above zero."""

    def __init__(self, low: float, high: float, positive: float):
        self.low, self.high, self.positive = low, high, positive

    def __add__(self, other: Ends) -> Ends:
        return Ends(min(self.low, other.low), max(self.high, other.high), min(self.positive, other.positive))


def look(shard: Shard, params: Wanted) -> Range:
    v, several = values(shard), shard.per_task() > 1
    above = v[v > 0]
    ends = Ends(float(v.min(initial=np.inf)), float(v.max(initial=-np.inf)), float(above.min(initial=np.inf)))
    said = None
    if params.histogram:
        held = shard.of_task(several)
        said = Pile([summed(v[held] + 0.0, shard.weighted(None)[held])])
    return Range(ends, int(several.sum()), said)


# sums by group of tasks -----------------------------------------------------------------------------------------------


@dataclass
class Look:
    at: Coordinates = whole()
    group: np.ndarray = by_task()
    groups: int = whole()


@dataclass
class Sums:
    sums: np.ndarray = whole()  # [G, 3 + q]: answers in tasks with several, disagreement, squares, coordinates


def step(shard: Shard, params: Look) -> Sums:
    m = shard.per_task()
    several = m > 1
    points = params.at(values(shard))
    columns = np.empty((shard.size, 3 + points.shape[1]))
    columns[:, 0] = m
    columns[:, 1:3] = 0
    for q, x in enumerate(points.T):
        total = shard.per_task(x)
        apart = shard.per_task((x - shard.of_task(total / np.maximum(m, 1))) ** 2)
        columns[:, 1] += 2 * m / np.maximum(m - 1, 1) * apart
        columns[:, 2] += shard.per_task(x**2)
        columns[:, 3 + q] = total
    columns *= several[:, None]
    return Sums(resample.grouped(columns, params.group, params.groups))


def alphas(sums: np.ndarray) -> np.ndarray:
    """Krippendorff's alpha from sums [B, 3 + q]."""
    n, apart, square, total = sums[:, 0], sums[:, 1], sums[:, 2], sums[:, 3:]
    room = 2 * (n * square - np.einsum("bq,bq->b", total, total)) / (n * (n - 1))
    return (1 - apart / n / np.where(room > 1e-12 * square / n, room, np.nan))[:, None]


# pairs of workers -----------------------------------------------------------------------------------------------------


@dataclass
class KeptPoints(Kept):
    at: Any = whole(default=None)  # numbers [n] to points [n, q]
    own: Ranks | None = whole(default=None)  # ... or ranks among what the pair said
    first: np.ndarray | None = whole(default=None)  # [P, ...] what the second pass needs of the first


@dataclass(frozen=True)
class Ranks:
    """The middle rank of each value among the answers of each pair."""

    known: np.ndarray  # distinct values, ascending
    cell: np.ndarray  # (pair, value), ascending
    rank: np.ndarray

    @classmethod
    def of(cls, answers: Answers, kept: Kept, known: np.ndarray) -> Ranks:
        params = KeptPoints(kept.busy, kept.workers, kept.key, kept.met, own=cls(known, *np.zeros((2, 0))))
        cell, n = answers.fold(spoken, params).cells.settled()
        pair = cell // len(known)
        total = np.bincount(pair, n, minlength=len(kept.key))
        before = n.cumsum() - (total.cumsum() - total)[pair]
        return cls(known, cell, (before - n / 2) / total[pair] - 0.5)

    def cells(self, pair: np.ndarray, v: np.ndarray) -> np.ndarray:
        return pair.astype(np.int64) * len(self.known) + np.searchsorted(self.known, v)


@dataclass
class Spoken:
    cells: Pile = whole()  # (pair, value) -> answers


def spoken(shard: Shard, params: KeptPoints) -> Spoken:
    v, parts = values(shard), []
    assert params.own is not None
    for pair, x, y, weight in met_kept(shard, params):
        cell = np.concatenate([params.own.cells(pair, v[x]), params.own.cells(pair, v[y])])
        parts.append(summed(cell, np.tile(weight, 2)))
    return Spoken(Pile(parts or [(np.zeros(0, np.int64), np.zeros(0))]))


def met_points(shard: Shard, params: KeptPoints):
    """Pair of workers, the points of the first and of the second, weight."""
    v = values(shard)
    points = params.at(v) if params.own is None else None
    for pair, x, y, weight in met_kept(shard, params):
        if points is not None:
            yield pair, points[x], points[y], weight
        else:
            own = params.own
            a, b = (own.rank[np.searchsorted(own.cell, own.cells(pair, v[rows]))][:, None] for rows in (x, y))
            yield pair, a, b, weight


@dataclass
class Moments:
    moments: Pile = whole()  # pair -> tasks, squared distance, squares, first minus second, coordinates


def moments(shard: Shard, params: KeptPoints) -> Moments:
    parts = [(np.zeros(0, np.int64), np.zeros((0, 4 + params.at(np.zeros(1)).shape[1])))]
    for pair, a, b, weight in met_points(shard, params):
        columns = np.column_stack(
            [np.ones(len(a)), ((a - b) ** 2).sum(axis=1), (a**2 + b**2).sum(axis=1), a[:, 0] - b[:, 0], a + b]
        )
        parts.append(summed(pair.astype(np.int64), columns * weight[:, None]))
    return Moments(Pile(parts))


def pair_moments(answers: Answers, kept: Kept, at: Any, own: Ranks | None = None) -> np.ndarray:
    params = KeptPoints(kept.busy, kept.workers, kept.key, kept.met, None, at, own)
    return answers.fold(moments, params).moments.settled()[1]


@dataclass
class Squares:
    squares: Pile = whole()  # pair -> sum of squared effects


def squares(shard: Shard, params: KeptPoints) -> Squares:
    """Each common task's effect on its pair's alpha, squared. `first`: observed, room, its factor, mean points."""
    parts = []
    for pair, a, b, weight in met_points(shard, params):
        given = params.first[pair]
        observed, room, more, square, middle = given[:, 0], given[:, 1], given[:, 2], given[:, 3], given[:, 4:]
        moved = 2 * more * ((a**2 + b**2).sum(axis=1) / 2 - square - ((a + b - 2 * middle) * middle).sum(axis=1))
        effect = (-(((a - b) ** 2).sum(axis=1) - observed) + observed / room * moved) / room
        parts.append(summed(pair.astype(np.int64), weight * effect**2))
    return Squares(Pile(parts or [(np.zeros(0, np.int64), np.zeros(0))]))


def pair_alphas(answers: Answers, kept: Kept, at: Coordinates) -> _pairs.Worked:
    own = Ranks.of(answers, kept, at.known) if at.known is not None else None
    found = pair_moments(answers, kept, at, own)
    n = found[:, 0]
    more = 2 * n / (2 * n - 1)
    square, middle = found[:, 2] / (2 * n), found[:, 4:] / (2 * n)[:, None]
    observed, room = found[:, 1] / n, 2 * more * (square - (middle**2).sum(axis=1))
    room = np.where(room > 1e-12 * square, room, np.nan)
    params = KeptPoints(
        kept.busy,
        kept.workers,
        kept.key,
        kept.met,
        None,
        at,
        own,
        np.column_stack([observed, room, more, square, middle]),
    )
    error = np.sqrt(answers.fold(squares, params).squares.settled()[1]) / n
    nothing = np.zeros((len(n), 0))
    return _pairs.Worked(n, 1 - observed / room, error, np.zeros(0), nothing, None)
