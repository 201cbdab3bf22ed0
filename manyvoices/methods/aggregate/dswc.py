"""Dawid-Skene with worker clusters: workers share one of L confusion tables, by variational inference.

    prior[k] = P(true class is k);  share[l] = P(a worker is in cluster l)
    tables[l, k, m] = P(a worker of cluster l says m | true class is k)
    beliefs about truth (theta) and clusters (phi) are updated from the same old pair, then the parameters
    trace = evidence lower bound

Stops when the bound rises by less than `tol` in total; a fall does not stop it. If all tasks end in one class the fit starts
again from disturbed vote shares. Each worker is reported with the table of its likeliest cluster.

Family: Dawid-Skene
Needs: workers
Reference: Imamura, Sato and Sugiyama (2018), Analysis of minimax error rate for crowdsourcing and its application to worker
    clustering model, arXiv:1802.04551.
Also: DSWC, dawid_skene_clust, DawidSkeneClust; clusters=L, n_clusters; iterations=n_iter, maxiter; tol=epsilon
"""

from __future__ import annotations

import numpy as np

from ...core import channels
from ...core.answers import Answers
from ...core.consensus import Consensus, Trace
from ...core.errors import BadCall
from ...kernels import em, tables
from ...kernels.rows import normalise

DELTA = 1e-10  # added to every cell of the answers and inside every log, as published


def dswc(
    answers: Answers,
    *,
    clusters: int | None = None,
    tol: float = 1e-4,
    iterations: int = 10_000,
    restarts: int = 100,
    seed: int = 0,
) -> Consensus:
    """Sort the workers into clusters by the weight of their vote-share confusions, then iterate.

    Parameters
    ----------
    clusters
        Number of worker clusters, at most the number of workers; if not given 5, or one for each of fewer
        workers.
    tol
        Stop when the bound rises by less than this in total.
    iterations
        Rounds at most.
    restarts
        How often to start again when all tasks end in one class.
    seed
        For the disturbed starts.
    """
    em.check(tol=tol, iterations=iterations, restarts=restarts)
    able, held = int((answers.per_worker() > 0).sum()), answers.per_task() > 0
    clusters = min(5, max(able, 1)) if clusters is None else clusters
    if not 1 <= clusters <= max(able, 1):
        raise BadCall(f"clusters is {clusters}: give 1 to {able}, the number of workers with answers")
    tables.room(answers)
    rng, disturbed = np.random.default_rng(seed), None
    for _ in range(restarts + 1):
        found = fit(answers, clusters, tol, iterations, disturbed)
        if len(answers.classes) <= 1 or len(np.unique(found.codes[held])) > 1 or held.sum() <= 1:
            break
        disturbed = normalise(answers.counts())
        disturbed[held] = normalise(np.clip(disturbed[held] + rng.normal(0, 0.1, disturbed[held].shape), 0, 1))
    return found


def fit(answers: Answers, clusters: int, tol: float, iterations: int, disturbed: np.ndarray | None) -> Consensus:
    n, tasks, converged = answers.per_worker(), int((answers.per_task() > 0).sum()), False
    busy = np.flatnonzero(n)  # workers without answers are in no cluster
    sums = answers.fold(tables.mixed_start, tables.Start(None, disturbed))
    counts = padded(sums)[busy]  # [W, K, K] under the beliefs of this round
    group = grouped(normalise(counts), clusters)
    shown = np.stack(
        [clusters / max(len(busy), 1) * normalise(counts)[group == c].sum(axis=0) for c in range(clusters)]
    )
    member = np.eye(clusters)[group]  # phi [W, L]
    prior, share = sums.prior / max(tasks, 1), shares_of(member)
    values: list[float] = []
    for turn in range(iterations):
        logs = np.log(shown + DELTA)
        # theta is asked of the old phi, phi of the counts that the old theta gave
        per_worker = np.einsum("wc,ckm->wkm", member, logs)
        everybody = np.zeros((len(n), *shown.shape[1:]))
        everybody[busy] = per_worker
        params = tables.Tables(everybody, np.log(prior + DELTA) + DELTA * per_worker.sum(axis=(0, 2)))
        fits = np.einsum("wkm,ckm->wc", counts, logs) + np.log(share + DELTA)
        sums = answers.fold(tables.mixed, params)
        counts, member = padded(sums)[busy], np.exp(fits - fits.max(axis=1, keepdims=True))
        member /= member.sum(axis=1, keepdims=True)
        together = np.einsum("wc,wkm->ckm", member, counts)
        shown, prior, share = normalise(together), sums.prior / max(tasks, 1), shares_of(member)
        values.append(
            float(
                (together * np.log(shown + DELTA)).sum()
                + (sums.prior * np.log(prior + DELTA)).sum()
                + (member * np.log(share + DELTA)).sum()
                + sums.entropy
                - (member * np.log(member + DELTA)).sum()
            )
        )
        em.tell("evidence lower bound", turn + 1, iterations, values[-1])
        if turn and 0 <= values[-1] - values[-2] < tol:
            converged = True
            break
    of = np.full(len(n), share.argmax())  # a worker without answers is shown in the largest cluster
    of[busy] = member.argmax(axis=1)
    note = [f"cluster {c + 1} of {clusters}" if m else "" for c, m in zip(of, n, strict=True)]
    return tables.believe(
        answers,
        params,
        shown[of],
        normalise(sums.prior),
        channel=channels.Tables(np.ascontiguousarray(shown), of),
        note=note,
        trace=Trace(tuple(values), "evidence lower bound"),
        converged=converged,
    )


def shares_of(member: np.ndarray) -> np.ndarray:
    return member.mean(axis=0) if len(member) else np.full(member.shape[1], 1 / member.shape[1])


def padded(sums: tables.Counts) -> np.ndarray:
    """Expected counts of answers that have DELTA added in every cell of every task and worker."""
    return sums.counts + DELTA * sums.prior[:, None]


def grouped(confusions: np.ndarray, clusters: int) -> np.ndarray:
    """[W] cluster of each worker: by nuclear norm, the largest first, in equal parts."""
    order = (
        np.argsort(-np.linalg.norm(confusions, "nuc", axis=(1, 2)), kind="stable") if len(confusions) else np.arange(0)
    )
    group = np.empty(len(order), np.int64)
    edges = [len(order) * c // clusters for c in range(clusters + 1)]
    for c in range(clusters):
        group[order[edges[c] : edges[c + 1]]] = c
    return group
