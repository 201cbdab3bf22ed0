"""Confusion tables of workers from what a consensus believes: the M step of Dawid-Skene with any beliefs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.answers import Answers, Shard
from ...core.consensus import Consensus
from ...core.fold import by_task, by_worker
from ...kernels import tables

MET = 0.01  # a class of which fewer answers are expected was not met


@dataclass
class Believed:
    probs: np.ndarray = by_task()  # [T, K]
    weight: np.ndarray = by_task()  # [T] 0 where the consensus says nothing about the task


@dataclass
class Counts:
    counts: np.ndarray = by_worker()  # [W, K, K], truth, said


def step(shard: Shard, params: Believed) -> Counts:
    return Counts(np.ascontiguousarray(tables.expected(shard, params.probs * params.weight[:, None])))


def expected(answers: Answers, consensus: Consensus, weight: np.ndarray | float = 1.0) -> np.ndarray:
    """How many answers l of worker w are about tasks of class k, as far as believed: [W, K, K]."""
    tables.room(answers)
    return answers.fold(step, Believed(consensus.probs, (consensus.codes >= 0) * weight)).counts


def shares(counts: np.ndarray, empty_row: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the tables, those of classes not met uniform or zero, and which were met: [W, K, K], [W, K]."""
    mass = counts.sum(axis=2)
    met = mass >= MET
    blank = 0.0 if empty_row == "zero" else 1 / max(counts.shape[1], 1)
    return np.where(met[:, :, None], counts / np.where(met, mass, 1)[:, :, None], blank), met


def notes(met: np.ndarray, empty_row: str) -> list[str]:
    """How many classes a worker has not met, and how such a row was filled."""
    classes, seen = met.shape[1], met.sum(axis=1).tolist()
    filled = "taken as no answers" if empty_row == "zero" else "taken as guesses"
    return ["" if n == classes else f"{classes - n} of {classes} classes not met, {filled}" for n in seen]
