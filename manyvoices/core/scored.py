"""Scored: predictions beside what is known about the same tasks, aligned once for every score of `evaluate`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from .names import Names


@dataclass(frozen=True, eq=False)
class Pairs:
    """m answers beside what was predicted for their task and worker. Codes of classes (-1 = nothing predicted), numbers
    on an interval scale (NaN = nothing), or sets of labels [m, K] where one answer may hold several."""

    task: np.ndarray  # [m] place among the scored tasks
    worker: np.ndarray  # [m]
    said: np.ndarray  # [m] or [m, K]
    guess: np.ndarray  # [m] or [m, K]
    held: np.ndarray  # [m] whether anything was predicted

    def __post_init__(self):
        lock(self)

    def __len__(self) -> int:
        return len(self.task)

    def only(self, mask: np.ndarray) -> Pairs:
        return Pairs(**{f.name: getattr(self, f.name)[mask] for f in fields(self)})


@dataclass(frozen=True, eq=False)
class Scored:
    """n tasks that were predicted; W workers; K classes, none on an interval scale."""

    tasks: Names
    classes: Names
    workers: Names | None
    scale: str
    label: np.ndarray  # [n] predicted class, -1 = none; of numbers [n] the predicted number, NaN = none
    prob: np.ndarray  # [n] probability of that label, NaN = unknown
    probs: np.ndarray | None  # [n, K]
    truth: np.ndarray  # [n] class, -1 = unknown; of numbers NaN = unknown
    counts: np.ndarray | None  # [n, K] how many answers say each class
    voters: np.ndarray  # [n] answers of each task; where an answer may hold several labels, workers
    mean: np.ndarray | None  # [n] mean answer on an interval scale, NaN = no answers
    pairs: Pairs | None  # every answer about these tasks beside its prediction
    guesses: Pairs | None  # every prediction that names a worker, also where that worker gave no answer
    unpredicted: int = 0  # tasks that were to be scored and have no prediction
    no_pairs: str = "no answers are known"  # why `pairs` is None

    def __post_init__(self):
        lock(self)

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def own(self) -> bool:
        """Whether the predictions speak of single workers."""
        return self.guesses is not None

    @cached_property
    def labelled(self) -> np.ndarray:
        """[n] whether there is a predicted label or number."""
        return np.isfinite(self.label) if self.scale == "interval" else self.label >= 0

    @cached_property
    def known(self) -> np.ndarray:
        """[n] whether the truth is known."""
        return np.isfinite(self.truth) if self.scale == "interval" else self.truth >= 0

    @property
    def ordered(self) -> bool:
        return self.scale in ("ordinal", "interval")


def lock(record) -> None:
    """No array of a record can be written to."""
    for f in fields(record):
        if isinstance(array := getattr(record, f.name), np.ndarray):
            array.setflags(write=False)
