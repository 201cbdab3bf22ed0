"""Flat Dawid-Skene: an accuracy per worker (or worker and class), errors as common as the classes they name.

    right[w] (or right[w, k]) = P(worker w says the true class)
    confusions[w, k, l]       = (1 - right) prior[l] / (1 - prior[k]) for l other than k

The class shares also stand in the law of the errors, so the closed-form step below may lower the likelihood: its trace is
not marked monotone.

Family: Dawid-Skene
Needs: workers
Reference: peerannot's FlatSingleBinomial and FlatDiagonal.
Also: FlatSingleBinomial, FlatDiagonal[diagonal=True]; iterations=n_iter, maxiter; tol=epsilon
"""

from __future__ import annotations

import numpy as np

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...kernels import tables, tied
from ...kernels.em import check
from ...kernels.rows import log, normalise


def flat(
    answers: Answers,
    *,
    diagonal: bool = False,
    tol: float = 1e-6,
    iterations: int = 100,
    smoothing: float = 0.01,
    gold: np.ndarray | None = None,
) -> Consensus:
    """Start from the vote shares, then alternate E and M steps.

    Parameters
    ----------
    diagonal
        An accuracy for each class of a worker instead of one.
    tol
        Stop when the log-likelihood per task changes by less than this.
    iterations
        Give up after this many EM steps.
    smoothing
        Pseudo-count added to every confusion cell.
    """
    check(smoothing=smoothing)

    def update(sums: tables.Counts, _) -> tables.Tables:
        prior = normalise(sums.prior)
        return tables.Tables(
            log(tied.tables(sums.counts, prior, "flat_diagonal" if diagonal else "flat", smoothing)), log(prior)
        )

    return tables.fit(
        answers, update, gold=gold, tol=tol, iterations=iterations, holds="log-likelihood", monotone=False
    )
