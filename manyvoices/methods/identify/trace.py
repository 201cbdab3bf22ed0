"""Trace of confusion: the sum of a worker's chances of being right, over the classes.

    trace[w] = sum over k of P(w says k | truth k)        K is perfect, 1 is guessing, 0 is always wrong

The tables are those of the fit (of ds unless another is named). A consensus without a table for each worker has them
counted from its beliefs: each answer counts for each class as much as the task is believed to be of it. The worker's own vote
is part of the consensus. A class the worker has not met has the row the fit gives it (a guess, for ds) or, with
empty_row=zero, none; the note says how many there are. Interval: every P(w says k | truth k) has a Beta distribution (counts
plus 1/2), and the distances of its ends from the middle are added as squares, below and above (Zou and Donner 2008,
doi:10.1002/sim.3095). A count is what the answers tell, the truth of a task being as uncertain as everybody else's answers
leave it. That the beliefs may lean the wrong way altogether is not in it: of simulated workers it held
91 to 96 in 100 with ten answers a task, 85 to 90 with three to five and twenty to sixty a worker, 94 with five and 200.

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
from ...kernels.skills import beta_interval
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
    right = np.einsum("wkk->wk", found)
    low, high = beta_interval(right, _tables.worth(answers, fit, found, counts.sum(axis=2)))
    sure = ~met if empty_row == "zero" else np.zeros_like(met)
    below, above = (np.sqrt(np.where(sure, 0, (end - right) ** 2).sum(axis=1)) for end in (low, high))
    value = right.sum(axis=1)
    low, high = np.maximum(value - below, 0), np.minimum(value + above, right.shape[1])
    return _rows.of_workers(answers, "trace", value, low, high, _tables.notes(met, empty_row))
