"""Weighted Dawid-Skene: fit Dawid-Skene, then let each vote count by how well its worker knows that class.

    probs[t, k] = sum over those who said k of confusions[w, k, k], divided by the sum over all classes

Softer than `ds`: a class nobody said has no weight at all. A task whose votes all weigh nothing keeps its vote shares.

Family: Dawid-Skene
Needs: workers
Reference: Lefort, Charlier, Joly and Salmon (2022), Identify ambiguous tasks combining crowdsourced labels, arXiv:2209.15380.
Also: WDS, WeightedDawidSkene; iterations=n_iter, maxiter
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.answers import Answers, Shard
from ...core.consensus import Consensus
from ...core.fold import by_task, by_worker
from ...kernels import tables
from ...kernels.em import check
from ...kernels.rows import normalise


@dataclass
class Trust:
    diagonal: np.ndarray = by_worker()  # [W, K]


@dataclass
class Votes:
    probs: np.ndarray = by_task()


def vote(shard: Shard, params: Trust) -> Votes:
    weighted = shard.tally(params.diagonal.ravel().take(shard.said.indices))
    empty = weighted.sum(axis=1) == 0
    return Votes(np.where(empty[:, None], normalise(shard.tally()), normalise(weighted)))


def wds(
    answers: Answers,
    *,
    tol: float = 1e-6,
    iterations: int = 100,
    smoothing: float = 0.01,
    gold: np.ndarray | None = None,
) -> Consensus:
    """Dawid-Skene, then one weighted vote.

    Parameters
    ----------
    tol
        Stop when the log-likelihood per task rises by less than this.
    iterations
        Give up after this many EM steps.
    smoothing
        Pseudo-count added to every confusion cell.
    """
    check(smoothing=smoothing)

    fitted = tables.fit(
        answers,
        tables.free_tables(smoothing),
        gold=gold,
        tol=tol,
        iterations=iterations,
        holds="log-likelihood of the Dawid-Skene fit",
        monotone=False,
    )
    diagonal = np.einsum("wkk->wk", fitted.confusions)
    return replace(fitted, probs=answers.fold(vote, Trust(np.ascontiguousarray(diagonal))).probs)
