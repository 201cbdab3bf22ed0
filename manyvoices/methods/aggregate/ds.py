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

from typing import Literal

import numpy as np

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...kernels import tables
from ...kernels.em import check
from ...kernels.starts import first_tables, starting_beliefs


def ds(
    answers: Answers,
    *,
    tol: float = 1e-6,
    iterations: int = 100,
    smoothing: float = 0.01,
    init: Literal["votes", "majority", "random"] = "votes",
    empty_row: Literal["uniform", "zero"] = "uniform",
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
    seed
        For a random start.
    """
    check(smoothing=smoothing)
    return tables.fit(
        answers,
        tables.free_tables(smoothing),
        gold=gold,
        tol=tol,
        iterations=iterations,
        holds="log-likelihood, penalised by smoothing" if smoothing else "log-likelihood",
        beliefs_at_start=starting_beliefs(answers, init, seed, labels),
        resume=None if start is None else lambda params: first_tables(answers, start, params),
        shown=tables.plainly if empty_row == "uniform" else without_empty_rows,
    )


def without_empty_rows(params: tables.Tables, sums: tables.Counts):
    """A class the worker never met has a uniform row; show zeros instead."""
    found, prior = tables.plainly(params, sums)
    return found * (sums.counts.sum(axis=2, keepdims=True) > 1e-6), prior
