"""Fast Dawid-Skene: Dawid-Skene whose E step keeps the best class alone, so it settles in a few steps.

    as `ds`, with one-hot beliefs in the M step; the beliefs of the last step are given soft

Family: Dawid-Skene
Needs: workers
Reference: Sinha, Rao and Balasubramanian (2018), Fast Dawid-Skene, arXiv:1803.02781.
Also: FastDawidSkene, fast_dawid_skene, FDS; iterations=n_iter, maxiter
"""

from __future__ import annotations

import numpy as np

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...kernels import hard, tables
from ...kernels.em import check


def fastds(
    answers: Answers,
    *,
    tol: float = 1e-6,
    iterations: int = 100,
    smoothing: float = 0.01,
    gold: np.ndarray | None = None,
) -> Consensus:
    """Start from the vote shares, then alternate hard E steps and M steps.

    Parameters
    ----------
    tol
        Stop when the log-likelihood per task changes by less than this.
    iterations
        Give up after this many steps.
    smoothing
        Pseudo-count added to every confusion cell.
    """
    check(smoothing=smoothing)
    return tables.fit(
        answers,
        hard.m_step(smoothing, switch=None),
        gold=gold,
        step=hard.step,
        tol=tol,
        iterations=iterations,
        holds="log-likelihood",
        monotone=False,
    )
