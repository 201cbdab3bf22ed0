"""Channels: how a fitted method thinks a worker's answer comes about. Each gives P(worker says l about the task).

A channel is a few arrays, so it is saved with the consensus and can start another fit. Worker -1 is one nobody has seen:
it answers like the average of those who have answered.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np


class Channel(Protocol):
    def says(self, probs: np.ndarray, task: np.ndarray, worker: np.ndarray) -> np.ndarray:
        """[n, K] from the beliefs [n, K] about the tasks of n pairs."""

    def of(self, rows: np.ndarray, worker: np.ndarray) -> np.ndarray:
        """The rows of these workers, -1 for one nobody has seen."""

    def confusions(self, classes: int) -> np.ndarray | None:
        """[W, K, K], where the channel is a table per worker and does not depend on the task."""


@dataclass(frozen=True, eq=False)
class Crowd:
    """What channels with rows of workers share. `known` [W] says who has answered; None = everybody has."""

    def __post_init__(self):
        for f in fields(self):
            if (array := getattr(self, f.name)) is not None:
                array.setflags(write=False)

    def of(self, rows: np.ndarray, worker: np.ndarray) -> np.ndarray:
        """The rows of these workers; for -1 the mean of those who have answered."""
        known = rows if self.known is None or not self.known.any() else rows[self.known]  # type: ignore[attr-defined]
        usual = known.mean(axis=0, keepdims=True) if len(known) else np.zeros((1, *rows.shape[1:]))
        return np.concatenate([rows, usual])[worker]


@dataclass(frozen=True, eq=False)
class Tables(Crowd):
    """confusions[w, k, l] = P(worker w says l | truth k); with `table`, worker w uses tables[table[w]] (pooled, clusters)."""

    tables: np.ndarray  # [M, K, K]
    table: np.ndarray | None = None  # [W]
    known: np.ndarray | None = None  # [W]
    newcomer: np.ndarray | None = None  # [K, K] of a worker nobody has seen, where a method has such a table

    def says(self, probs, task, worker):
        everybody = self.tables if self.table is None else self.tables[self.table]
        rows = self.of(everybody, worker)
        if self.newcomer is not None:
            rows[worker < 0] = self.newcomer
        return np.einsum("nk,nkl->nl", probs, rows)

    def confusions(self, classes):
        return self.tables if self.table is None else self.tables[self.table]


@dataclass(frozen=True, eq=False)
class Coins(Crowd):
    """Worker w is right with probability right[w]; an error hits each other class alike."""

    right: np.ndarray  # [W]
    known: np.ndarray | None = None

    def says(self, probs, task, worker):
        return hit_or_miss(probs, self.of(self.right, worker))

    def confusions(self, classes):
        wrong = (1 - self.right) / max(classes - 1, 1)
        tables = np.repeat(wrong[:, None], classes * classes, axis=1).reshape(-1, classes, classes)
        tables[:, np.arange(classes), np.arange(classes)] = self.right[:, None] if classes > 1 else 1.0
        return tables


def hit_or_miss(probs: np.ndarray, right: np.ndarray) -> np.ndarray:
    classes, right = probs.shape[1], right[:, None]
    return probs if classes == 1 else probs * right + (1 - probs) * (1 - right) / (classes - 1)


@dataclass(frozen=True, eq=False)
class Spam(Crowd):
    """Worker w knows with probability knows[w]; else draws a label from habit[w]."""

    knows: np.ndarray  # [W]
    habit: np.ndarray  # [W, K]
    known: np.ndarray | None = None

    def says(self, probs, task, worker):
        knows = self.of(self.knows, worker)[:, None]
        return knows * probs + (1 - knows) * self.of(self.habit, worker)

    def confusions(self, classes):
        return self.knows[:, None, None] * np.eye(classes) + ((1 - self.knows)[:, None] * self.habit)[:, None, :]


@dataclass(frozen=True, eq=False)
class Ability(Crowd):
    """Worker w is right about task i with probability sigma(ability[w] * exp(ease[i])); errors hit other classes alike."""

    ability: np.ndarray  # [W]
    ease: np.ndarray  # [T]
    known: np.ndarray | None = None

    def says(self, probs, task, worker):
        x = self.of(self.ability, worker) * np.exp(self.ease[task])
        return hit_or_miss(probs, 1 / (1 + np.exp(-np.clip(x, -500, 500))))

    def confusions(self, classes):
        return None


@dataclass(frozen=True, eq=False)
class Shares(Crowd):
    """Everybody answers like the votes on the task: what a method believes that has no model of its workers."""

    votes: np.ndarray  # [T, K], smoothed by one vote spread over the classes

    def says(self, probs, task, worker):
        return self.votes[task]

    def confusions(self, classes):
        return None


@dataclass(frozen=True, eq=False)
class Line(Crowd):
    """A number: bias[w] + scale[w] * z + noise[w] * N(0, 1), z ~ N(mean, var) of the task. `says` gives its mean and sd: [n, 2]."""

    mean: np.ndarray  # [T]
    var: np.ndarray  # [T]
    bias: np.ndarray  # [W]
    scale: np.ndarray  # [W]
    noise: np.ndarray  # [W]
    known: np.ndarray | None = None

    def says(self, probs, task, worker):
        bias, scale, noise = (self.of(rows, worker) for rows in (self.bias, self.scale, self.noise))
        return np.stack([bias + scale * self.mean[task], np.sqrt(noise**2 + scale**2 * self.var[task])], axis=1)

    def confusions(self, classes):
        return None


@dataclass(frozen=True, eq=False)
class Steps(Line):
    """An ordered label: the class whose thresholds enclose what `Line` would say."""

    thresholds: np.ndarray | None = None  # [K - 1]

    def says(self, probs, task, worker):
        from scipy.special import ndtr

        place, spread = super().says(probs, task, worker).T
        below = ndtr((self.thresholds - place[:, None]) / spread[:, None])
        edges = np.concatenate([np.zeros((len(below), 1)), below, np.ones((len(below), 1))], axis=1)
        return np.diff(edges, axis=1)


KINDS = {kind.__name__: kind for kind in (Tables, Coins, Spam, Ability, Shares, Line, Steps)}


def arrays(channel: Channel) -> dict[str, np.ndarray]:
    return {f.name: value for f in fields(channel) if (value := getattr(channel, f.name)) is not None}  # type: ignore[arg-type]
