"""Batches of items with everybody's answers: an item is encoded once however many people answered it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch

from ..core.answers import Answers
from ..core.names import Names
from .training import Training

AHEAD = 32  # batches


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

    def in_order(self, times: int = 1) -> Iterator[Batch]:
        """Without an order of its own; `times` as large, where nothing is kept for a gradient."""
        cuts = replace(self, size=self.size * times).cuts(1)
        yield from self.of([self.rows[a:b] for a, b in itertools.pairwise(cuts)], None)

    def shuffled(self, how: Training, epoch: int, rank: int = 0, world: int = 1) -> Iterator[Batch]:
        """One epoch in an order drawn from seed and epoch; of each batch a process takes its share."""
        order = np.random.default_rng(how.stream("order", epoch)).permutation(self.rows)
        change = np.random.default_rng(how.stream("augment", epoch, rank))
        whole = [order[a:b] for a, b in itertools.pairwise(self.cuts(world))]
        for batch, everybody in zip(self.of([rows[rank::world] for rows in whole], change), whole, strict=True):
            if world > 1:
                place, _ = self.votes.about(everybody)
                batch.everybody = torch.from_numpy(self.votes.worker[place]).to(self.device)
            yield batch

    def of(self, parts: list[np.ndarray], change: np.random.Generator | None) -> Iterator[Batch]:
        """A batch for each part. The answers of many are looked up at once: of a small batch that would be most of the work."""
        for a in range(0, len(parts), AHEAD):
            some = parts[a : a + AHEAD]
            rows, items = np.concatenate(some), [len(part) for part in some]
            place, at = self.votes.about(rows)
            first = np.cumsum([0, *items])
            n = np.diff(np.searchsorted(at, first))

            def cut(sizes: list[int], *arrays: np.ndarray) -> Iterator[tuple[torch.Tensor, ...]]:
                whole = (torch.from_numpy(np.ascontiguousarray(x)).to(self.device, non_blocking=True) for x in arrays)
                return zip(*(x.split(sizes) for x in whole), strict=True)

            votes, target = self.votes, [] if self.target is None else [self.target[rows]]
            said = votes.worker[place], votes.label[place], votes.weight[place], place
            answers = cut(n.tolist(), at - np.repeat(first[:-1], n), *said)
            for part, (row, *goal), own in zip(some, cut(items, rows, *target), answers, strict=True):
                yield Batch(moved(self.source(part, change), self.device), row, *own, *goal)


def moved(x: Any, device: torch.device) -> Any:
    return x.to(device) if isinstance(x, torch.Tensor) else type(x)(moved(part, device) for part in x)
