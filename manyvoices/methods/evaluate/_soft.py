"""The spread of the answers beside the predicted probabilities, task by task.

    p = shares of the answers, (count[k] + a) / (m + a K);  q = predicted probabilities

Where one answer may hold several labels each label is a distribution of its own over no and yes, and a task counts
with the mean over its labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.draws import Draws
from ...core.errors import BadCall
from ...core.scored import Scored
from ...core.scores import Scores, one
from ._sums import left_out, mean_score, remarks, undefined


@dataclass(frozen=True)
class Spread:
    p: np.ndarray  # [n, L, K]: L distributions a task, one or one a label
    q: np.ndarray
    left: int = 0  # tasks without answers
    why: str = ""

    @property
    def note(self) -> str:
        return left_out(self.left, "without answers")


def spread(scored: Scored, smoothing: float = 0.0) -> Spread:
    if not 0 <= smoothing < np.inf:
        raise BadCall(f"smoothing is {smoothing}; expected 0 or more")
    nothing = np.zeros((0, 1, 1))
    if why := undefined(scored, classes=True, probs=True):
        return Spread(nothing, nothing, why=why)
    used = scored.voters > 0
    if scored.counts is None or not used.any():
        return Spread(nothing, nothing, why="not defined because no answers about these tasks are known")
    counts, voters, q = scored.counts[used].astype(float), scored.voters[used][:, None], scored.probs[used]
    options = 2 if scored.scale == "multilabel" else counts.shape[1]
    p = (counts + smoothing) / (voters + smoothing * options)
    left = int((~used).sum())
    if scored.scale == "multilabel":
        return Spread(np.stack([1 - p, p], axis=2), np.stack([1 - q, q], axis=2), left)
    return Spread(p[:, None], q[:, None], left)


def average(
    scored: Scored,
    name: str,
    distance: Callable[[np.ndarray, np.ndarray], np.ndarray],
    smoothing: float,
    draws: Draws,
    note: str = "",
) -> Scores:
    """The mean over tasks of distance(p, q), which works along the last axis."""
    both = spread(scored, smoothing)
    if both.why:
        return one(name, both.why)
    away = distance(both.p, both.q).mean(axis=1)
    return mean_score(name, away, remarks(both.note, note), draws)


def entropy(p: np.ndarray) -> np.ndarray:
    """In nats, along the last axis."""
    return -(p * np.log(np.where(p > 0, p, 1))).sum(axis=-1)


def divergence(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """KL(p || q) in nats, along the last axis; q must not be 0 where p is not."""
    inside = p > 0
    return (p * np.log(np.where(inside, p, 1) / np.where(inside, q, 1))).sum(axis=-1)


def halfway(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Jensen-Shannon divergence in bits."""
    m = (p + q) / 2
    return ((divergence(p, m) + divergence(q, m)) / (2 * np.log(2))).clip(0, 1)


def apart(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return np.abs(p - q).sum(axis=-1)


def carried(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Earth mover's distance along the order of the classes, a step costing 1."""
    return np.abs((p - q).cumsum(axis=-1)).sum(axis=-1)
