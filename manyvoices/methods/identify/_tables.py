"""Confusion tables of workers: those of the fit, or the M step of Dawid-Skene with the beliefs of any consensus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from ...core.answers import Answers, Shard
from ...core.channels import Tables
from ...core.consensus import Consensus
from ...core.fold import by_task, by_worker
from ...kernels import leave_out, tables

MET = 0.01  # a class of which fewer answers are expected was not met
LEAST = 0.02  # no answer is taken to be rarer in what it tells about a table


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


@dataclass
class Doubted(leave_out.Others):
    right: np.ndarray | None = by_worker(default=None)  # [W, K] P(says k | truth k)
    wrong: np.ndarray | None = by_worker(default=None)  # [W, K] P(says k | another truth)
    probs: np.ndarray | None = by_task(default=None)  # [T, K] beliefs of a consensus without a model of its workers
    weight: np.ndarray | None = by_task(default=None)  # [T] 0 where the consensus says nothing about the task


@dataclass
class Information:
    """Fisher's information of the answers about P(says k | truth k) and P(says k | another truth)."""

    right: np.ndarray = by_worker()  # [W, K]
    both: np.ndarray = by_worker()  # [W, K]
    wrong: np.ndarray = by_worker()  # [W, K]


def information(shard: Shard, params: Doubted) -> Information:
    total = np.zeros((3, len(shard.workers), shard.classes))
    for part, cut in leave_out.pieces(shard, params):
        runs = leave_out.runs(part)
        worker = part.worker[runs.first]
        q = leave_out.believed(part, cut, runs) if cut.probs is None else cut.probs.take(runs.task, axis=0)
        said = q * cut.right.take(worker, axis=0) + (1 - q) * cut.wrong.take(worker, axis=0)
        weight = leave_out.sizes(part, runs)[0] * cut.weight.take(runs.task)
        of = csr_array((weight, worker, np.arange(len(worker) + 1)), shape=(len(worker), len(shard.workers))).T
        told = q / (said * (1 - said))
        total += of @ (told * q), of @ (told * (1 - q)), of @ ((1 - q) ** 2 / (said * (1 - said)))
    return Information(*total)


def worth(answers: Answers, consensus: Consensus, found: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """How many answers to tasks known to be of class k would tell as much of P(says k | truth k) as a worker's do: [W, K].

    The truth of a task is as uncertain as the others' answers leave it, and so is what the worker says of other classes:
    the inverse of what is left is the variance, found (1 - found) / worth.
    """
    K = found.shape[1]
    model = vars(leave_out.model_of(consensus))
    prior = np.full(K, 1 / max(K, 1)) if consensus.prior is None else consensus.prior
    right = np.einsum("wkk->wk", found)
    wrong = (np.einsum("k,wkl->wl", prior, found) - prior * right) / np.maximum(1 - prior, 1e-9)
    right, wrong = np.clip(right, LEAST, 1 - LEAST), np.clip(wrong, LEAST, 1 - LEAST)
    probs = consensus.probs if model["log_prior"] is None else None
    weight = (consensus.codes >= 0) * 1.0
    told = answers.fold(
        information, Doubted(**model | {"right": right, "wrong": wrong, "probs": probs, "weight": weight})
    )
    left = told.right - told.both**2 / np.maximum(told.wrong, 1e-9)
    return np.clip(right * (1 - right) * left, 0, mass)


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
