"""Channels: how a fitted method thinks a worker's answer comes about. Each gives P(worker says l about the task).

A channel is a few arrays, so it is saved with the consensus and can start another fit. Worker -1 is one nobody has seen:
it answers like the average of the known ones.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np


class Channel(Protocol):
    def says(self, probs: np.ndarray, task: np.ndarray, worker: np.ndarray) -> np.ndarray:
        """[n, K] from the beliefs [n, K] about the tasks of n pairs."""

    def confusions(self, classes: int) -> np.ndarray | None:
        """[W, K, K], where the channel is a table per worker and does not depend on the task."""


@dataclass(frozen=True, eq=False)
class Tables:
    """confusions[w, k, l] = P(worker w says l | truth k); with `of`, worker w uses table of[w] (pooled, clusters)."""

    tables: np.ndarray           # [M, K, K]
    of: np.ndarray | None = None  # [W]

    def says(self, probs, task, worker):
        of = worker if self.of is None else np.append(self.of, -1)[worker]
        everybody = self.tables if self.of is None else self.tables[self.of]
        tables = np.concatenate([self.tables, everybody.mean(axis=0, keepdims=True)])
        return np.einsum("nk,nkl->nl", probs, tables[of])

    def confusions(self, classes):
        return self.tables if self.of is None else self.tables[self.of]


@dataclass(frozen=True, eq=False)
class Coins:
    """Worker w is right with probability right[w]; an error hits each other class alike."""

    right: np.ndarray  # [W]

    def says(self, probs, task, worker):
        classes = probs.shape[1]
        right = np.append(self.right, self.right.mean() if len(self.right) else 1.0)[worker][:, None]
        return probs if classes == 1 else probs * right + (1 - probs) * (1 - right) / (classes - 1)

    def confusions(self, classes):
        wrong = (1 - self.right) / max(classes - 1, 1)
        tables = np.repeat(wrong[:, None], classes * classes, axis=1).reshape(-1, classes, classes)
        tables[:, np.arange(classes), np.arange(classes)] = self.right[:, None] if classes > 1 else 1.0
        return tables


@dataclass(frozen=True, eq=False)
class Spam:
    """Worker w knows with probability known[w]; else draws a label from habit[w]."""

    known: np.ndarray  # [W]
    habit: np.ndarray  # [W, K]

    def says(self, probs, task, worker):
        known = np.append(self.known, self.known.mean())[worker][:, None]
        habit = np.concatenate([self.habit, self.habit.mean(axis=0, keepdims=True)])[worker]
        return known * probs + (1 - known) * habit

    def confusions(self, classes):
        return self.known[:, None, None] * np.eye(classes) + ((1 - self.known)[:, None] * self.habit)[:, None, :]


@dataclass(frozen=True, eq=False)
class Ability:
    """Worker w is right about task i with probability sigma(ability[w] * exp(ease[i])); errors hit other classes alike."""

    ability: np.ndarray  # [W]
    ease: np.ndarray     # [T]

    def says(self, probs, task, worker):
        classes = probs.shape[1]
        ability = np.append(self.ability, self.ability.mean())[worker]
        right = 1 / (1 + np.exp(-np.clip(ability * np.exp(self.ease[task]), -500, 500)))[:, None]
        return probs if classes == 1 else probs * right + (1 - probs) * (1 - right) / (classes - 1)

    def confusions(self, classes):
        return None


@dataclass(frozen=True, eq=False)
class Shares:
    """Everybody answers like the votes on the task: what a method believes that has no model of its workers."""

    votes: np.ndarray  # [T, K], smoothed by one vote spread over the classes

    def says(self, probs, task, worker):
        return self.votes[task]

    def confusions(self, classes):
        return None


@dataclass(frozen=True, eq=False)
class Steps:
    """An ordered label: the class whose thresholds enclose scale[w] * z + bias[w] + noise[w] * N(0, 1), z ~ N(mean, var) of the task."""

    thresholds: np.ndarray  # [K - 1]
    mean: np.ndarray        # [T]
    var: np.ndarray         # [T]
    bias: np.ndarray        # [W]
    scale: np.ndarray       # [W]
    noise: np.ndarray       # [W]

    def says(self, probs, task, worker):
        from scipy.special import ndtr

        bias = np.append(self.bias, self.bias.mean())[worker]
        scale = np.append(self.scale, self.scale.mean())[worker]
        noise = np.append(self.noise, self.noise.mean())[worker]
        place = bias + scale * self.mean[task]
        spread = np.sqrt(noise**2 + scale**2 * self.var[task])
        below = ndtr((self.thresholds - place[:, None]) / spread[:, None])
        edges = np.concatenate([np.zeros((len(below), 1)), below, np.ones((len(below), 1))], axis=1)
        return np.diff(edges, axis=1)

    def confusions(self, classes):
        return None


@dataclass(frozen=True, eq=False)
class Line:
    """A number: bias[w] + scale[w] * z + noise[w] * N(0, 1), z ~ N(mean, var) of the task. `says` gives its mean and sd: [n, 2]."""

    mean: np.ndarray   # [T]
    var: np.ndarray    # [T]
    bias: np.ndarray   # [W]
    scale: np.ndarray  # [W]
    noise: np.ndarray  # [W]

    def says(self, probs, task, worker):
        bias = np.append(self.bias, self.bias.mean())[worker]
        scale = np.append(self.scale, self.scale.mean())[worker]
        noise = np.append(self.noise, self.noise.mean())[worker]
        return np.stack([bias + scale * self.mean[task], np.sqrt(noise**2 + scale**2 * self.var[task])], axis=1)

    def confusions(self, classes):
        return None


KINDS = {kind.__name__: kind for kind in (Tables, Coins, Spam, Ability, Shares, Steps, Line)}


def arrays(channel: Channel) -> dict[str, np.ndarray]:
    return {f.name: value for f in fields(channel) if (value := getattr(channel, f.name)) is not None}  # type: ignore[arg-type]
