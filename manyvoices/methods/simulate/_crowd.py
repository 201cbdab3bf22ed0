"""What the strategies share: the crowd they return, dominant confusion matrices, the answers drawn task by task."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.errors import BadCall


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """Who said what, and the truth behind it: one row an answer, by task and then by worker, in codes."""

    task: np.ndarray  # [N] int32
    worker: np.ndarray  # [N] int32
    label: np.ndarray  # [N] int16
    truth: np.ndarray  # [T] int16
    confusions: np.ndarray  # [W, K, K], P(worker says l | truth is k)
    extra: dict[str, np.ndarray] = field(default_factory=dict)  # what else the strategy drew

    def __post_init__(self):
        for array in (self.task, self.worker, self.label, self.truth, self.confusions, *self.extra.values()):
            array.setflags(write=False)


@dataclass(frozen=True, slots=True)
class Size:
    """How large a crowd is, and how its tasks are dealt.

    Also: workers=n_worker; tasks=n_task; classes=n_classes; per_task=feedback; load=workerload; imbalance=imbalance_votes

    Parameters
    ----------
    workers
        How many people answer.
    tasks
        How many tasks they answer.
    classes
        How many classes a task can have, all equally likely.
    per_task
        Answers a task at most; everybody answers every task if it is not given, or None.
    imbalance
        Draw the number of answers of each task between one and what would be possible, instead of taking them all.
    load
        Answers a worker at most; None for no limit.
    seed
        Seed of the random generator. The draws come in peerannot's order, so its seeds give its data.
    """

    workers: int = 30
    tasks: int = 200
    classes: int = 5
    per_task: int | None = None
    imbalance: bool = False
    load: int | None = None
    seed: int = 0

    def __post_init__(self):
        whole("workers", self.workers, 1, 2**31 - 1)
        whole("tasks", self.tasks, 1, 2**31 - 1)
        whole("classes", self.classes, 2, 2**15 - 1)
        whole("seed", self.seed, 0, 2**64 - 1)
        for name, cap in (("per_task", self.per_task), ("load", self.load)):
            if cap is not None:
                whole(name, cap, 1, 2**31 - 1, " or None")


def begin(size: Size) -> tuple[np.random.Generator, np.ndarray]:
    """The generator, and the truth it draws first."""
    rng = np.random.default_rng(size.seed)
    return rng, rng.choice(size.classes, size=size.tasks)


def whole(name: str, value: Any, least: int, most: int, tail: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        raise BadCall(f"{name} is {value!r}; expected a whole number from {least} to {most}{tail}")


def between(name: str, value: Any, least: float, most: float) -> None:
    """Refuse what is not a finite number from least to most."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not (number and math.isfinite(value) and least <= value <= most):
        bound = f"of {least:g} or more" if most == math.inf else f"from {least:g} to {most:g}"
        raise BadCall(f"{name} is {value!r}; expected a number {bound}")


def rows(rng: np.random.Generator, workers: int, classes: int, concentration: float = 1.0) -> np.ndarray:
    """Confusion matrices [W, K, K] with every row from a symmetric Dirichlet."""
    return rng.dirichlet(np.full(classes, concentration), size=(workers, classes))


def dominant(matrices: np.ndarray) -> np.ndarray:
    """Swap the largest entry of every row with the one on the diagonal."""
    best = matrices.argmax(axis=2)[:, :, None]  # [W, K, 1]
    here = np.broadcast_to(np.arange(matrices.shape[1])[:, None], best.shape)
    at_best, at_here = (np.take_along_axis(matrices, at, axis=2) for at in (best, here))
    swapped = matrices.copy()
    np.put_along_axis(swapped, best, at_here, axis=2)
    np.put_along_axis(swapped, here, at_best, axis=2)
    return swapped


def cumulative(confusions: np.ndarray) -> np.ndarray:
    """Running sums of the rows; a uniform number u means the class that counts how many of them u has reached."""
    sums = confusions.cumsum(axis=2)
    return sums / sums[:, :, -1:]


def answer(
    rng: np.random.Generator,
    truth: np.ndarray,
    confusions: np.ndarray,
    size: Size,
    *,
    difficulty: np.ndarray | None = None,
    extra: dict | None = None,
) -> Crowd:
    """Task by task: how many answer, who of those with load left, what each of them says in the order drawn."""
    (workers, classes), load, per_task = confusions.shape[:2], size.load, size.per_task
    sums = cumulative(confusions)
    left = np.full(workers, len(truth) if load is None else load)
    cap = min(workers if per_task is None else per_task, len(truth) if load is None else load)
    said = []  # one [2, m] a task
    for number, true in enumerate(truth):
        free = np.flatnonzero(left)
        m = min(cap, len(free))
        if m == 0:
            raise BadCall(
                f"load is {load} and nobody is left for task {number}; expected load * workers to last for "
                f"{len(truth)} tasks, so raise load or workers, or lower per_task"
            )
        if size.imbalance:
            m = rng.choice(m) + 1
        who = rng.choice(free, size=m, replace=False)
        kind = "hard" if difficulty is None else difficulty[number]
        if kind == "easy":
            label = np.full(m, true)
        elif kind == "random":
            label = rng.choice(classes, size=m)
        else:
            label = (rng.random(m)[:, None] >= sums[who, true]).sum(axis=1)
        left[who] -= 1
        order = who.argsort()
        said.append(np.stack([who[order], label[order]]))
    both = np.concatenate(said, axis=1)
    task = np.repeat(np.arange(len(truth), dtype=np.int32), [s.shape[1] for s in said])
    return Crowd(
        task=task,
        worker=both[0].astype(np.int32),
        label=both[1].astype(np.int16),
        truth=truth.astype(np.int16),
        confusions=confusions,
        extra=extra or {},
    )
