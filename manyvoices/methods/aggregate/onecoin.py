"""One-coin Dawid-Skene: one accuracy per worker, errors spread evenly over the other classes.

    prior[k] = P(true class is k), free or uniform
    right[w] = P(worker w says the true class);  another class: (1 - right[w]) / (K - 1)
    trace    = log-likelihood + smoothing * sum of log P over each worker's K possible answers, which no step lowers

A symmetric error with a free prior can drift to one class where classes are few and workers weak; `prior=uniform` cannot.

Family: Dawid-Skene
Needs: workers
Reference: Zhang, Chen, Zhou and Jordan (2014), Spectral methods meet EM, arXiv:1406.3824.
Also: OneCoinDawidSkene, one_coin, MultinomialBinary; iterations=n_iter, maxiter; tol=epsilon
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.answers import Answers
from ...core.channels import Coins
from ...core.consensus import Consensus
from ...core.errors import BadInput
from ...kernels import coins, skills
from ...kernels.em import check, iterate
from ...kernels.rows import log, normalise
from ...kernels.starts import known_workers
from ...kernels.tables import Start


def onecoin(
    answers: Answers,
    *,
    tol: float = 1e-6,
    iterations: int = 100,
    smoothing: float = 0.01,
    prior: Literal["free", "uniform"] = "free",
    gold: np.ndarray | None = None,
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
        Pseudo-count added to each of the K possible answers of a worker.
    prior
        How common the classes are: free (estimated) or uniform.
    """
    check(smoothing=smoothing)
    classes = len(answers.classes)
    update = m_step(smoothing, prior, answers.per_worker(), gold)
    sums = answers.fold(coins.start, Start(gold))
    params = update(sums, None)
    if start is not None:
        who, order = known_workers(answers, start)
        if not isinstance(start.channel, Coins) or start.prior is None:
            raise BadInput("the result to start from has no accuracies: use one that onecoin made")
        params = params_of(start.channel.of(start.channel.right, who), start.prior[order], classes, gold, smoothing)
    params, sums, trace, converged = iterate(
        answers,
        coins.step,
        update,
        params,
        tol=tol,
        iterations=iterations,
        holds="log-likelihood, penalised by smoothing" if smoothing else "log-likelihood",
    )
    right = np.exp(params.base[:, 0] + params.gain[:, 0])
    probs = answers.fold(coins.beliefs, params).probs
    return Consensus.of(
        answers,
        probs=probs,
        channel=Coins(right),
        prior=np.exp(params.log_prior),
        skill=skills.of_beliefs(answers, probs, right, value=right),
        trace=trace,
        converged=converged,
    )


def m_step(smoothing: float, prior: str, n: np.ndarray, gold: np.ndarray | None):
    def update(sums: coins.Counts, _) -> coins.Coins:
        classes = len(sums.prior)
        hits = sums.right.sum(axis=1)
        right = np.where(
            n + smoothing > 0, (hits + smoothing) / np.where(n + smoothing > 0, n + classes * smoothing, 1), 1 / classes
        )
        share = normalise(sums.prior) if prior == "free" else np.full(classes, 1 / classes)
        return params_of(right, share, classes, gold, smoothing)

    return update


def params_of(
    right: np.ndarray, prior: np.ndarray, classes: int, gold: np.ndarray | None, smoothing: float
) -> coins.Coins:
    """Logs of the two probabilities as rows of the coin kernel; with one class everybody is right."""
    hit = log(right if classes > 1 else np.ones_like(right))
    miss = log((1 - right) / (classes - 1)) if classes > 1 else np.zeros_like(right)
    rows = (len(right), classes)
    penalty = smoothing * float(hit.sum() + (classes - 1) * miss.sum()) if smoothing else 0.0
    return coins.Coins(
        np.broadcast_to(miss[:, None], rows), np.broadcast_to((hit - miss)[:, None], rows), log(prior), gold, penalty
    )
