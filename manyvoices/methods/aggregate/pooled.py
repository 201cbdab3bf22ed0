"""Pooled Dawid-Skene: all workers share one confusion table; only vote counts are needed.

    confusions[k, l] = P(anybody says l | true class is k), by EM
    errors: matrix (every cell free), diagonal (an accuracy a class), coin (one accuracy),
            flat_diagonal, flat (the same, errors as common as the classes they name)
    trace  = log-likelihood + smoothing * sum of log confusions

It corrects what everybody gets wrong alike and says how hard each class is; it cannot tell workers apart. The flat forms
keep the published closed-form step, with which the likelihood may fall.

Family: Dawid-Skene
Reference: peerannot's PooledMultinomial and its relatives.
Also: PooledMultinomial, PooledDiagonalMultinomial[errors=diagonal], PooledMultinomialBinary[errors=coin],
    PooledFlatSingleBinomial[errors=flat], PooledFlatDiagonal[errors=flat_diagonal]; iterations=n_iter, maxiter; tol=epsilon
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...core.answers import Answers, Shard
from ...core.channels import Tables
from ...core.consensus import Consensus
from ...core.fold import by_task, whole
from ...kernels import tied
from ...kernels.em import check, iterate
from ...kernels.rows import column_sums, log, normalise, softmax_logsum
from ...kernels.tables import Beliefs, Start, beginning, clamp


@dataclass
class Params:
    log_table: np.ndarray = whole()  # [K, K]
    log_prior: np.ndarray = whole()  # [K]
    gold: np.ndarray | None = by_task(default=None)
    penalty: float = whole(default=0.0)


@dataclass
class Counts:
    counts: np.ndarray = whole()  # [K, K]
    prior: np.ndarray = whole()  # [K]
    evidence: float = whole()


def posterior(shard: Shard, params: Params):
    logits = shard.tally() @ params.log_table.T + params.log_prior
    clamp(logits, params.gold)
    return softmax_logsum(logits)


def step(shard: Shard, params: Params) -> Counts:
    probs, evidence = posterior(shard, params)
    return Counts(probs.T @ shard.tally(), column_sums(shard.answered(probs)), float(shard.answered(evidence).sum()))


def begin(shard: Shard, params: Start) -> Counts:
    probs = beginning(shard, params)
    return Counts(probs.T @ shard.tally(), column_sums(shard.answered(probs)), 0.0)


def beliefs(shard: Shard, params: Params) -> Beliefs:
    return Beliefs(posterior(shard, params)[0])


def pooled(
    answers: Answers,
    *,
    errors: Literal["matrix", "diagonal", "coin", "flat", "flat_diagonal"] = "matrix",
    tol: float = 1e-6,
    iterations: int = 100,
    smoothing: float = 0.01,
    gold: np.ndarray | None = None,
) -> Consensus:
    """Start from the vote shares, then alternate E and M steps.

    Parameters
    ----------
    errors
        How the shared table is tied: matrix, diagonal, coin, flat or flat_diagonal.
    tol
        Stop when the log-likelihood per task rises by less than this.
    iterations
        Give up after this many EM steps.
    smoothing
        Pseudo-count added to every confusion cell.
    """
    check(smoothing=smoothing)

    def update(sums: Counts, _) -> Params:
        prior = normalise(sums.prior)
        found = tied.tables(sums.counts, prior, errors, smoothing)
        return Params(log(found), log(prior), gold, smoothing * float(log(found).sum()) if smoothing else 0.0)

    params = update(answers.fold(begin, Start(gold)), None)
    params, _, trace, converged = iterate(
        answers,
        step,
        update,
        params,
        tol=tol,
        iterations=iterations,
        monotone=False,
        holds="log-likelihood, penalised by smoothing" if smoothing else "log-likelihood",
    )
    everybody = np.zeros(1 if answers.workers is None else len(answers.workers), np.int64)
    return Consensus.of(
        answers,
        probs=answers.fold(beliefs, params).probs,
        channel=Tables(np.exp(params.log_table)[None], everybody),
        prior=np.exp(params.log_prior),
        trace=trace,
        converged=converged,
    )
