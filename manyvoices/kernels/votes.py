"""Weighted votes: a weight per worker, a winner per task, and how often each worker agrees with the winners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.answers import Shard
from ..core.fold import by_task, by_worker, whole
from ..core.labels import draw
from ..core.names import Names
from .rows import normalise


@dataclass
class Weights:
    weight: np.ndarray = by_worker()  # [W]
    ids: np.ndarray | None = by_task(default=None)  # [T] a number from the task's name, for random ties
    ties: str = whole(default="lowest")


@dataclass
class Votes:
    probs: np.ndarray = by_task()  # [T, K]
    right: np.ndarray = by_worker()  # [W] answers that agree with the winner
    n: np.ndarray = by_worker()  # [W]


def step(shard: Shard, params: Weights) -> Votes:
    """Vote with the weights; count who agrees with the outcome."""
    probs = weighted_shares(shard, params.weight)
    winner = winners(probs, params.ties, params.ids)
    return Votes(probs, shard.per_worker(shard.at(winner)), shard.per_worker())


def weighted_shares(shard: Shard, weight: np.ndarray) -> np.ndarray:
    """Weighted votes as shares [t, K]. A vote with a negative weight speaks for all other classes alike."""
    votes = shard.tally(shard.of_worker(weight))
    lowest = votes.min(axis=1, initial=0.0)
    if lowest.any():
        votes -= lowest[:, None]
    votes = normalise(votes)
    empty = shard.per_task(np.abs(weight)[shard.worker]) < 1e-12  # nobody's vote weighs anything: all count alike
    if empty.any():
        votes[empty] = normalise(shard.tally())[empty]
    return votes


def winners(probs: np.ndarray, ties: str, ids: np.ndarray | None) -> np.ndarray:
    """One-hot winners [t, K]; tied classes share one vote with `all`, else one of them takes it."""
    best = (probs >= probs.max(axis=1, keepdims=True, initial=0.0) - 1e-9).astype(float)
    count = best.sum(axis=1)
    if ties == "all":
        return best / count[:, None]
    pick = (
        np.zeros(len(probs), np.int64)
        if ties == "lowest" or ids is None
        else (ids % np.maximum(count, 1)).astype(np.int64)
    )
    return best * (best.cumsum(axis=1) == pick[:, None] + 1)


def task_numbers(tasks: Names, ties: str, seed: int) -> np.ndarray | None:
    """[T] the number a random tie of each task is drawn by, the same that the label table draws by."""
    return np.array([draw(name, seed) for name in tasks], np.int64) if ties == "random" else None


@dataclass
class Outcome:
    chosen: np.ndarray = by_task()  # [T] class codes, -1 = none


@dataclass
class Agreement:
    right: np.ndarray = by_worker()  # [W] answers that equal the outcome


def agreement(shard: Shard, params: Outcome) -> Agreement:
    return Agreement(shard.per_worker((shard.of_task(params.chosen) == shard.label).astype(float)))
