"""Disagreement between answers, from counts of classes: what every coefficient but the intraclass correlation uses.

    apart(p, q)   = sum over classes i, j of p[i] q[j] d(i, j)
    inside a task = m / (m - 1) apart(n / m, n / m), the mean of d over its pairs of answers; n[k] of the m say k
    coefficient   = 1 - observed / chance

One pass over the shards gives sums by group of tasks; values and intervals come from these sums alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.answers import Answers, Shard
from ...core.fold import by_task, whole
from ...core.scores import Scores, joined, one, table
from ...kernels import resample
from . import _pairs
from ._ask import Ask
from ._lacks import ALIKE, lacks

MANY = 200  # classes: above this many there is no row for each


# distances between classes --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Distance:
    """d(i, j): 0 for a class and itself; 1 for any two, or their distance on a line, or squared distance of points."""

    classes: int
    line: bool = False
    points: np.ndarray | None = None  # [..., q, K]: q coordinates of each class

    def away(self, p: np.ndarray) -> np.ndarray:
        """Expected distance of each class from a draw from p [..., K]."""
        if self.points is not None:
            x, square = self.points, np.einsum("...qk,...qk->...k", self.points, self.points)
            middle = np.einsum("...k,...qk->...q", p, x)
            return (
                square * p.sum(axis=-1, keepdims=True)
                - 2 * np.einsum("...q,...qk->...k", middle, x)
                + np.einsum("...k,...k->...", p, square)[..., None]
            )
        if self.line:
            below = p.cumsum(axis=-1)[..., :-1]
            above = p.sum(axis=-1, keepdims=True) - below
            found = np.zeros(p.shape)
            found[..., 1:] += below.cumsum(axis=-1)
            found[..., :-1] += above[..., ::-1].cumsum(axis=-1)[..., ::-1]
            return found / max(self.classes - 1, 1)
        return p.sum(axis=-1, keepdims=True) - p

    def apart(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Expected distance of a draw from p and one from q, both [..., K]."""
        if self.points is None and not self.line:
            return p.sum(axis=-1) * q.sum(axis=-1) - np.einsum("...k,...k->...", p, q)
        return np.maximum(np.einsum("...k,...k->...", self.away(p), q), 0)

    def inside(self, share: np.ndarray) -> np.ndarray:
        """apart(p, p) of every row of a table [t, K]; exactly 0 where all answers are the same."""
        if self.points is not None:
            found = np.zeros(len(share))
            for x in self.points:
                middle = np.einsum("tk,k->t", share, x)
                found += 2 * np.einsum("tk,tk->t", share, (x - middle[:, None]) ** 2)
            found[share.max(axis=1, initial=0.0) >= 1] = 0
            return found
        if self.line:
            below = share.cumsum(axis=1)[:, :-1]
            return 2 * np.einsum("tk,tk->t", below, 1 - below).clip(0) / max(self.classes - 1, 1)
        return np.einsum("tk,tk->t", share, 1 - share)

    def between(self, i: np.ndarray, j: np.ndarray, row: np.ndarray | None = None) -> np.ndarray:
        """d(i, j); `row` says whose points count where they differ from pair to pair."""
        if self.points is not None:
            if self.points.ndim == 3:
                return ((self.points[row, :, i] - self.points[row, :, j]) ** 2).sum(axis=1)
            return ((self.points[:, i] - self.points[:, j]) ** 2).sum(axis=0)
        return np.abs(i.astype(float) - j) / max(self.classes - 1, 1) if self.line else (i != j).astype(float)


def distance(weights: str, classes: int) -> Distance:
    """What disagreement of two classes costs, by the name of the agreement weights: 1 - w."""
    if weights == "quadratic":
        return Distance(classes, points=np.arange(classes)[None, :] / max(classes - 1, 1))
    return Distance(classes, line=weights == "linear")


# chance: expected distance of two workers who answer without looking --------------------------------------------------
#
# Each takes the shares r and c of two workers (or the pooled shares twice) and gives the distance to expect, and what
# an answer i of the first and j of the second would add to it, A[i] + B[j], up to a constant.


@dataclass(frozen=True)
class Chance:
    kind: str  # nothing, own, pooled, gwet, uniform

    def __call__(self, d: Distance, r: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self.kind == "own":
            return d.apart(r, c), d.away(c), d.away(r)
        m = (r + c) / 2
        if self.kind == "pooled":
            away = d.away(m)
            return d.apart(m, m), away, away
        nothing = np.zeros(m.shape)
        if self.kind == "gwet":
            every = d.classes * (d.classes - uniform(d) * d.classes)  # sum of all agreement weights
            scale = every / max(d.classes * (d.classes - 1), 1)
            return 1 - scale * np.einsum("...k,...k->...", m, 1 - m), scale * m, scale * m
        return np.full(m.shape[:-1], uniform(d) if self.kind == "uniform" else 1.0), nothing, nothing

    def of_class(self, r: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same for each class against the rest: r and c are its shares [..., K]."""
        m, nothing = (r + c) / 2, np.zeros(np.broadcast_shapes(r.shape, c.shape))
        if self.kind == "own":
            return r + c - 2 * r * c, 1 - 2 * c, 1 - 2 * r
        if self.kind == "pooled":
            return 2 * m * (1 - m), 1 - 2 * m, 1 - 2 * m
        if self.kind == "gwet":
            return 1 - 2 * m * (1 - m), 2 * m - 1, 2 * m - 1
        return nothing + (0.5 if self.kind == "uniform" else 1.0), nothing, nothing


def uniform(d: Distance) -> float:
    even = np.full(d.classes, 1 / max(d.classes, 1))
    return float(d.apart(even, even))


def coefficient(observed: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """1 - observed / chance, and nothing where chance leaves no room to disagree."""
    return 1 - observed / np.where(chance > 1e-12, chance, np.nan)


# sums over tasks ------------------------------------------------------------------------------------------------------


@dataclass
class Look:
    distance: Distance = whole()
    group: np.ndarray = by_task()  # [T] resampling group of each task
    groups: int = whole()
    weigh: str = whole()  # a task counts once, or once an answer
    margin: str = whole()  # class shares: all answers, several (tasks with several), shares (each task once)
    each_class: bool = whole()


@dataclass
class Sums:
    sums: np.ndarray = whole()  # [G, d]: weight, disagreement, margin [K], and of each class against the rest [K]
    said: np.ndarray = whole()  # [K] answers
    several: int = whole()  # tasks with several answers


@dataclass
class Said:
    said: np.ndarray = whole()  # [K] answers
    paired: np.ndarray = whole()  # [K] those about tasks with several


def said(shard: Shard, _) -> Said:
    votes = shard.tally()
    return Said(votes.sum(axis=0), votes[shard.per_task() > 1].sum(axis=0))


def step(shard: Shard, params: Look) -> Sums:
    votes = shard.tally()
    m = shard.per_task()
    several = m > 1
    share = votes / np.maximum(m, 1)[:, None]
    weight = several * (m if params.weigh == "answer" else 1.0)
    spread = weight * m / np.maximum(m - 1, 1)
    columns = np.empty((len(m), 2 + (2 if params.each_class else 1) * votes.shape[1]))
    columns[:, 0] = weight
    columns[:, 1] = spread * params.distance.inside(share)
    margin = columns[:, 2 : 2 + votes.shape[1]]
    if params.margin == "all":
        margin[:] = votes
    else:
        np.multiply(votes if params.margin == "several" else share, several[:, None], out=margin)
    if params.each_class:
        np.multiply(share * (1 - share), 2 * spread[:, None], out=columns[:, 2 + votes.shape[1] :])
    return Sums(resample.grouped(columns, params.group, params.groups), votes.sum(axis=0), int(several.sum()))


@dataclass(frozen=True)
class Pooled:
    """Values of the data set and of each class from sums [B, d]."""

    distance: Distance
    chance: Chance
    weigh: str = "task"
    margin: str = "all"
    specific: bool = False  # classes: of the others' answers where one said it, how many say it too
    small: bool = False  # chance draws two different answers

    def __call__(self, sums: np.ndarray) -> np.ndarray:
        K = self.distance.classes
        weight = np.where(sums[:, 0] > 0, sums[:, 0], np.nan)
        margin, classes = sums[:, 2 : 2 + K], sums[:, 2 + K :] / weight[:, None]
        total = margin.sum(axis=1)
        p = margin / np.where(total > 0, total, np.nan)[:, None]
        n = total / (total - 1) if self.small else 1.0
        overall = coefficient(sums[:, 1] / weight, n * self.chance(self.distance, p, p)[0])
        if not classes.shape[1]:
            return overall[:, None]
        if self.specific:
            overall, each = overall.clip(0), (1 - classes / 2 / np.where(p > 0, p, np.nan)).clip(0)
        else:
            each = coefficient(classes, np.reshape(n, (-1, 1)) * self.chance.of_class(p, p)[0])
        each = np.where((p > 0) & (p < 1) | self.specific, each, np.nan)
        return np.concatenate([overall[:, None], each], axis=1)


def pooled(
    answers: Answers, name: str, what: Pooled, ask: Ask, *, note: str = "", classes: bool = True, between: Any = None
) -> Scores:
    """Rows of the data set, its classes and, if asked for, pairs of workers (`between`: with another distance)."""
    if why := lacks(answers, name):
        return one(name, why)
    K = len(answers.classes)
    each_class = classes and 2 <= K <= MANY
    group, groups, units = resample.groups(answers, 2 + 2 * K, ask.seed, least=1 if what.margin == "all" else 2)
    found = answers.fold(step, Look(what.distance, group, groups, what.weigh, what.margin, each_class))
    rows = [dataset_and_classes(answers, name, what, found, units, ask, note)]
    if ask.pairs:
        rows.append(_pairs.rows(answers, name, between or what.distance, what.chance, ask.min_common, small=what.small))
    return joined(rows)


def dataset_and_classes(answers: Answers, name: str, what, found, units: int, ask: Ask, note: str) -> Scores:
    if not found.several:
        return one(name, "not defined because no task has two answers")
    with np.errstate(invalid="ignore", divide="ignore"):
        value = what(found.sums.sum(axis=0)[None])[0]
        low, high, why = resample.bootstrap(found.sums, what, value, units, ask)
    return finished(answers, name, value, low, high, why, found.several, found.said, note)


def finished(
    answers: Answers,
    name: str,
    value: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    why: list[str],
    tasks: int,
    said: np.ndarray,
    note: str,
) -> Scores:
    """The row of the data set and those of its classes, with the reasons where a value or an interval is not there."""
    value, low, high = value.copy(), low.copy(), high.copy()
    notes = list(why)
    if np.isnan(value[0]) or (said > 0).sum() == 1:  # no room to disagree, and nobody did
        value[0], low[0], high[0], notes[0] = 1.0, np.nan, np.nan, ALIKE
    notes[0] = "; ".join(text for text in (note, notes[0]) if text)
    for k in range(len(value) - 1):
        if said[k] == 0 or np.isnan(value[1 + k]):
            value[1 + k] = low[1 + k] = high[1 + k] = np.nan
            notes[1 + k] = (
                "not defined because nobody said it"
                if said[k] == 0
                else "not defined because every answer says it"
                if said[k] == said.sum()
                else "not defined because no task with two answers has it"
            )
    each = len(value) - 1
    return table(
        name,
        of=["dataset"] + ["class"] * each,
        names=["", *answers.classes[:each]],
        value=value,
        low=low,
        high=high,
        n=np.concatenate([[tasks], said[:each]]).astype(np.int64),
        note=notes,
    )
