"""Trace of confusion: the sum of a worker's chances of being right, over the classes.

    trace[w] = sum over k of P(w says k | truth k)        K is perfect, 1 is guessing, 0 is always wrong

The tables are those of the fit (of ds unless another is named). A consensus without a table for each worker has them
counted from its beliefs: each answer counts for each class as much as the task is believed to be of it. The worker's own vote
is part of the consensus. A class the worker has not met has the row the fit gives it (a guess, for ds) or, with
empty_row=zero, none; the note says how many there are. Interval: every P(w says k | truth k) has a Beta distribution (counts
plus 1/2, an answer to a task of class k by q counting q^2); the sum is given a Beta distribution with their mean and variance.
That the beliefs may lean the wrong way altogether, as they do from few answers a task, is not in it.

Family: confusion tables
Needs: workers, classes
Reference: peerannot's trace_confusion; Lefort, Charlier, Joly and Salmon (2024), Computo.
Also: trace_confusion, traces_confusion
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...core.scores import Scores
from ...kernels.skills import between
from . import _rows, _tables


def trace(
    answers: Answers,
    *,
    empty_row: Literal["uniform", "zero"] = "uniform",
    ds: Consensus | None = None,
    consensus: Consensus | None = None,
) -> Scores:
    """Add up the diagonal of each worker's table.

    Parameters
    ----------
    empty_row
        What stands for a class the worker has not met: uniform (what the fit has, else 1 / K each) or zero.
    """
    fit = consensus or ds
    counts = _tables.expected(answers, fit)
    found, met = _tables.shares(counts, fit, empty_row)
    K = counts.shape[1]
    value = np.einsum("wkk->w", found)
    sure = _tables.known(answers, fit, counts)
    right, mass = np.einsum("wkk->wk", sure), sure.sum(axis=2)
    mean = (right + 0.5) / (mass + 1)
    if empty_row == "zero":
        mean = np.where(met, mean, 0.0)
    variance = (mean * (1 - mean) / (mass + 2)).sum(axis=1) / max(K, 1) ** 2
    low, high = (K * end for end in between(mean.sum(axis=1) / max(K, 1), variance))
    return _rows.of_workers(
        answers, "trace", value, np.minimum(low, value), np.maximum(high, value), _tables.notes(met, empty_row)
    )
