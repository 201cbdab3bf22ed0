"""Dawid-Skene: one confusion matrix per worker, by EM.

    prior[k]            = P(true class is k)
    confusions[w, k, l] = P(worker w says l | true class is k)
    trace               = log-likelihood + smoothing * sum of log confusions, which no step lowers

A row of a confusion matrix without any answers becomes uniform.

Family: Dawid-Skene
Needs: workers
Reference: Dawid and Skene (1979), doi:10.2307/2346806.
Also: DawidSkene, dawid_skene; iterations=n_iter, maxiter; tol=epsilon
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...core.answers import Answers, Shard
from ...core.consensus import Consensus
from ...core.fold import by_task
from ...kernels import tables
from ...kernels.em import check
from ...kernels.rows import log, normalise
from ...kernels.starts import first_tables, starting_beliefs


def ds(
    answers: Answers,
    *,
    tol: float = 1e-6,
    iterations: int = 100,
    smoothing: float = 0.01,
    init: Literal["votes", "majority", "random"] = "votes",
    empty_row: Literal["uniform", "zero"] = "uniform",
    compat: Literal["none", "peerannot"] = "none",
    seed: int = 0,
    gold: np.ndarray | None = None,
    labels: np.ndarray | None = None,
    start: Consensus | None = None,
) -> Consensus:
    """Start from the vote shares, then alternate E and M steps.

    Parameters
    ----------
    tol
        Stop when the log-likelihood per task rises by less than this.
    iterations
        Give up after this many EM steps.
    smoothing
        Pseudo-count added to every confusion cell.
    init
        Beliefs to start from: votes (vote shares), majority (the first best class alone) or random.
    empty_row
        What is reported for a class a worker never met, without smoothing: uniform or zero.
    compat
        peerannot: stop as it does, when log of the sum over tasks of their likelihoods changes by less than `tol` in all, and
        let a class a worker never met have no probability at all.
    seed
        For a random start.
    """
    check(smoothing=smoothing)
    how: dict[str, Any] = {
        "holds": "log-likelihood, penalised by smoothing" if smoothing else "log-likelihood",
        "tol": tol,
    }
    if compat == "peerannot":
        how = {"holds": "log of the sum of likelihoods", "tol": tol / max(int((answers.per_task() > 0).sum()), 1)}
        how |= {"monotone": False, "step": watched, "objective": log_of_sum}
    return tables.fit(
        answers,
        tables.free_tables(smoothing) if compat == "none" else closed_tables(smoothing),
        gold=gold,
        iterations=iterations,
        beliefs_at_start=starting_beliefs(answers, init, seed, labels),
        resume=None if start is None else lambda params: first_tables(answers, start, params),
        shown=with_full_rows if empty_row == "uniform" else without_empty_rows,
        **how,
    )


@dataclass
class Watched(tables.Counts):
    """The sums of a step with the log-likelihood of each task."""

    each: np.ndarray | None = by_task(default=None)


def watched(shard: Shard, params: tables.Tables) -> Watched:
    probs, evidence = tables.posterior(shard, params)
    return Watched(**vars(tables.sums(shard, probs, evidence)), each=np.where(shard.per_task() > 0, evidence, -np.inf))


def log_of_sum(sums: Watched, _) -> float:
    assert sums.each is not None
    best = sums.each.max(initial=-1e300)
    return float(best + np.log(np.maximum(np.exp(sums.each - best).sum(), 1e-300)))


def closed_tables(smoothing: float):
    """Rows without mass stay without: log of nearly nothing."""

    def update(sums: tables.Counts, _) -> tables.Tables:
        counts = sums.counts + smoothing
        total = counts.sum(axis=2, keepdims=True)
        return tables.Tables(log(counts / np.where(total > 0, total, 1)), log(normalise(sums.prior)))

    return update


def with_full_rows(params: tables.Tables, sums: tables.Counts):
    found, prior = tables.plainly(params, sums)
    return (found if (found.sum(axis=2) > 0.5).all() else normalise(found)), prior


def without_empty_rows(params: tables.Tables, sums: tables.Counts):
    """A class the worker never met has a uniform row; show zeros instead."""
    found, prior = tables.plainly(params, sums)
    return found * (sums.counts.sum(axis=2, keepdims=True) > 1e-6), prior
