"""Batches of items with everybody's answers: an item is encoded once however many people answered it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from ..core.answers import Answers
from ..core.names import Names
from .training import Training


@dataclass
class Batch:
    x: Any  # B items, as the encoder's net takes them
    row: torch.Tensor  # [B] which items
    at: torch.Tensor  # [n] which of the B items was answered
    worker: torch.Tensor  # [n]
    label: torch.Tensor  # [n] class codes, or numbers
    weight: torch.Tensor  # [n]
    place: torch.Tensor  # [n] which of all answers
    target: torch.Tensor | None = None  # [B, K] labels to learn, where there are any
    everybody: torch.Tensor | None = None  # the workers of all processes' parts of this batch, where there are others

    @property
    def crowd(self) -> torch.Tensor:
        """The batch's workers, each once; of all processes."""
        return (self.worker if self.everybody is None else self.everybody).unique()


class Source(Protocol):
    """Items as tensors, by row."""

    def __len__(self) -> int: ...

    def __call__(self, rows: np.ndarray, rng: np.random.Generator | None) -> Any:
        """B items; with a generator, changed at random as training images may be."""


@dataclass(frozen=True, eq=False)
class Votes:
    """The answers of each item, one behind the other."""

    start: np.ndarray  # [items + 1]
    worker: np.ndarray  # [N]
    label: np.ndarray  # [N]
    weight: np.ndarray  # [N] float32

    @classmethod
    def of(cls, answers: Answers, ids: Names) -> Votes:
        """Answers about these items, in their order; answers about other tasks are left out."""
        task, worker, label = answers.rows()
        item = ids.code(answers.tasks, missing=-1)[task]
        count = answers.repeated()
        weight = np.ones(len(task), np.float32) if count is None else count.astype(np.float32)
        held = np.flatnonzero(item >= 0)
        order = held[np.argsort(item[held], kind="stable")]
        start = np.zeros(len(ids) + 1, np.int64)
        np.cumsum(np.bincount(item[order], minlength=len(ids)), out=start[1:])
        kind = np.float32 if label.dtype.kind == "f" else np.int64
        return cls(start, worker[order].astype(np.int64), label[order].astype(kind), weight[order])

    @property
    def n(self) -> np.ndarray:
        return np.diff(self.start)

    def about(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places of the answers about some items, and which of the items each is about."""
        n = self.start[rows + 1] - self.start[rows]
        at = np.repeat(np.arange(len(rows)), n)
        first = np.repeat(self.start[rows] - np.concatenate([[0], n.cumsum()[:-1]]), n)
        return first + np.arange(len(at)), at


def nobody(items: int) -> Votes:
    return Votes(np.zeros(items + 1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))


@dataclass(frozen=True, eq=False)
class Batches:
    """The items in `rows` with their answers, so many at a time."""

    source: Source
    votes: Votes
    rows: np.ndarray
    size: int
    device: torch.device
    target: np.ndarray | None = None  # [items, K]

    def __len__(self) -> int:
        return len(self.cuts(1)) - 1

    def cuts(self, world: int) -> list[int]:
        """Where batches begin; a last batch of one item, or too few for all processes, is joined to the one before."""
        n, size = len(self.rows), self.size * world
        found = [*range(0, n, size), n]
        if len(found) > 2 and found[-1] - found[-2] < max(2, world):
            del found[-2]
        return found

    def in_order(self) -> Iterator[Batch]:
        cuts = self.cuts(1)
        for a, b in itertools.pairwise(cuts):
            yield self.of(self.rows[a:b], None)

    def shuffled(self, how: Training, epoch: int, rank: int = 0, world: int = 1) -> Iterator[Batch]:
        """One epoch in an order drawn from seed and epoch; of each batch a process takes its share."""
        order = np.random.default_rng(how.stream("order", epoch)).permutation(self.rows)
        change = np.random.default_rng(how.stream("augment", epoch, rank))
        cuts = self.cuts(world)
        for a, b in itertools.pairwise(cuts):
            batch = self.of(order[a:b][rank::world], change)
            if world > 1:
                place, _ = self.votes.about(order[a:b])
                batch.everybody = torch.from_numpy(self.votes.worker[place]).to(self.device)
            yield batch

    def of(self, rows: np.ndarray, change: np.random.Generator | None) -> Batch:
        place, at = self.votes.about(rows)

        def tensor(array: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(self.device, non_blocking=True)

        return Batch(
            moved(self.source(rows, change), self.device),
            tensor(rows),
            tensor(at),
            tensor(self.votes.worker[place]),
            tensor(self.votes.label[place]),
            tensor(self.votes.weight[place]),
            tensor(place),
            None if self.target is None else tensor(self.target[rows]),
        )


def moved(x: Any, device: torch.device) -> Any:
    return x.to(device) if isinstance(x, torch.Tensor) else type(x)(moved(part, device) for part in x)
