"""Confusion tables of workers: those of the fit, or the M step of Dawid-Skene with the beliefs of any consensus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.answers import Answers, Shard
from ...core.channels import Tables
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


def known(answers: Answers, consensus: Consensus, counts: np.ndarray) -> np.ndarray:
    """The same counts as far as it is known which class they belong to: an answer to a task that is of class k by q tells
    q of an answer where k is known (Louis' information: q^2 instead of q). For intervals; [W, K, K]."""
    squared = answers.fold(step, Believed(consensus.probs**2, (consensus.codes >= 0) * 1.0)).counts.sum(axis=2)
    mass = counts.sum(axis=2)
    return counts * np.where(mass > 0, squared / np.where(mass > 0, mass, 1), 0.0)[:, :, None]


def shares(counts: np.ndarray, consensus: Consensus, empty_row: str) -> tuple[np.ndarray, np.ndarray]:
    """The table of each worker, and which classes they met: [W, K, K], [W, K].

    The tables of the fit where it has one for each worker, else the counts as shares, uniform for a class not met; with
    `zero` a class not met has no row.
    """
    mass, K = counts.sum(axis=2), counts.shape[1]
    met = mass >= MET
    channel = consensus.channel
    if isinstance(channel, Tables) and channel.table is None:
        found = channel.tables
    else:
        found = np.where(met[:, :, None], counts / np.where(met, mass, 1)[:, :, None], 1 / max(K, 1))
    return np.where(met[:, :, None], found, 0.0) if empty_row == "zero" else found, met


def notes(met: np.ndarray, empty_row: str) -> list[str]:
    """How many classes a worker has not met, and how such a row was filled."""
    classes, seen = met.shape[1], met.sum(axis=1).tolist()
    filled = "counted as nothing" if empty_row == "zero" else "taken as the fit has it"
    return ["" if n == classes else f"{classes - n} of {classes} classes not met, {filled}" for n in seen]
