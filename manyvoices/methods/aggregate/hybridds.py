"""Hybrid Dawid-Skene: soft E steps until the class shares hardly move, hard ones from then on.

    as `ds` until every prior[k] changes by less than `switch` of itself, then as `fastds`

Family: Dawid-Skene
Needs: workers
Reference: Sinha, Rao and Balasubramanian (2018), Fast Dawid-Skene, arXiv:1803.02781.
Also: HybridDawidSkene, hybrid_dawid_skene, hybrid; iterations=n_iter, maxiter
"""

from __future__ import annotations

import numpy as np

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...kernels import hard, tables
from ...kernels.em import check


def hybridds(
    answers: Answers,
    *,
    tol: float = 1e-6,
    iterations: int = 100,
    smoothing: float = 0.01,
    switch: float = 5e-3,
    gold: np.ndarray | None = None,
) -> Consensus:
    """Start from the vote shares; soft steps, then hard ones.

    Parameters
    ----------
    tol
        Stop when the log-likelihood per task changes by less than this.
    iterations
        Give up after this many steps.
    smoothing
        Pseudo-count added to every confusion cell.
    switch
        Harden once no class share moves by more than this part of itself.
    """
    check(smoothing=smoothing, switch=switch)
    return tables.fit(
        answers,
        hard.m_step(smoothing, switch),
        gold=gold,
        step=hard.step,
        tol=tol,
        iterations=iterations,
        holds="log-likelihood",
        monotone=False,
    )
