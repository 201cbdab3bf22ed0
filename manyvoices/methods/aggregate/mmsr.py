"""M-MSR: worker skills from a robust rank-one fit to how often pairs of workers agree, then a weighted vote.

    C[v, w]   = K / (K - 1) * (share of equal answers on common tasks) - 1 / (K - 1), about skill[v] * skill[w]
    skill     = scale of a rank-one fit |C| = u v' by trimmed means, which a few corrupted workers cannot move
    right[w]  = skill[w] (K - 1) / K + 1 / K
    weight[w] = log(right (K - 1) / (1 - right)); the votes are weighted by it

Memory goes with the pairs of workers who share a task; the need is computed first and refused above `max_memory`.

Family: spectral
Needs: workers
Reference: Ma and Olshevsky (2020), Adversarial crowdsourcing through robust rank-one matrix completion, NeurIPS.
Also: MMSR, M-MSR; iterations=n_iter, max_iter; tol=epsilon
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from ...core.answers import Answers, Shard
from ...core.channels import Coins
from ...core.consensus import Consensus, Trace
from ...core.errors import ManyVoicesError
from ...core.fold import by_task, by_worker, whole
from ...kernels import skills
from ...kernels.em import check, tell
from ...kernels.rows import normalise, softmax_logsum

MOVED = "movement of the rank-one fit"


@dataclass
class Pairs:
    common: Any = whole()  # sparse [W, W]: answers two workers gave to common tasks
    equal: Any = whole()  # sparse [W, W]: those that agree


@dataclass
class All:
    workers: int = whole()


@dataclass
class Weights:
    weight: np.ndarray = by_worker()


@dataclass
class Votes:
    probs: np.ndarray = by_task()


def pairs(shard: Shard, params: All) -> Pairs:
    """A sparse [w, t] product gives common tasks, a [w, t * K] product equal answers."""
    n, w = len(shard.worker), len(shard.workers)
    ones = np.ones(n) if shard.count is None else shard.count.astype(float)
    where = (shard.worker.astype(np.int64), shard.task)
    met = csr_array((ones, where), shape=(w, shard.size))
    said = csr_array((ones, (where[0], shard.cell)), shape=(w, shard.size * shard.classes))
    return Pairs(*(lifted(square, shard.workers, params.workers) for square in (met @ met.T, said @ said.T)))


def lifted(square, workers: np.ndarray, everybody: int):
    """From local codes to those of the whole."""
    square = square.tocoo()
    return coo_array((square.data, (workers[square.row], workers[square.col])), shape=(everybody, everybody)).tocsr()


def vote(shard: Shard, params: Weights) -> Votes:
    weight = shard.of_worker(params.weight)
    votes = softmax_logsum(shard.tally(weight))[0]
    empty = shard.per_task(np.abs(weight)) < 1e-12  # nobody who could be compared with another: all votes count alike
    return Votes(np.where(empty[:, None], normalise(shard.tally()), votes))


def mmsr(answers: Answers, *, tol: float = 1e-10, iterations: int = 10_000, max_memory: float = 8.0) -> Consensus:
    """Agreement of all pairs, a robust rank-one fit, a weighted vote.

    Parameters
    ----------
    tol
        Stop when the fitted matrix moves by less than this (Frobenius norm).
    iterations
        Rounds of trimmed means at most.
    max_memory
        Refuse above so many GB for the pairs of workers.
    """
    check(tol=tol, iterations=iterations)
    workers, classes = len(answers.workers), max(len(answers.classes), 2)
    effort = answers.per_task().astype(float)
    need = min(float((effort**2).sum()), float(workers) ** 2) * 60 / 1e9
    if need > max_memory:
        raise ManyVoicesError(
            f"pairs of {workers} workers who share a task need up to {need:.1f} GB, more than max_memory {max_memory:g}: "
            "raise it with --max-memory, or use wawa, glad or bcc"
        )
    met = answers.fold(pairs, All(workers))
    rows, cols, share = agreement(met, workers)
    agree = classes / (classes - 1) * share - 1 / (classes - 1)
    skill, trace, converged = rank_one(rows, cols, agree, workers, tol, iterations)
    n = max(int((effort > 0).sum()), 1)
    skill = np.clip(skill, -1 / (classes - 1) + 1 / np.sqrt(n), 1 - 1 / np.sqrt(n))
    right = np.clip(skill * (classes - 1) / classes + 1 / classes, 1e-6, 1 - 1e-6)
    weight = np.log(right * (classes - 1) / (1 - right))
    probs = answers.fold(vote, Weights(weight)).probs
    return Consensus.of(
        answers,
        probs=probs,
        channel=Coins(right),
        skill=skills.of_beliefs(answers, probs, right, value=right),
        trace=trace,
        converged=converged,
    )


def agreement(met: Pairs, workers: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs (v, w), v not w, that share a task, sorted by v then w, and their share of equal answers."""
    common, equal = met.common.tocsr(), met.equal.tocsr()
    common.sort_indices()
    rows = np.repeat(np.arange(workers), np.diff(common.indptr))
    cols = common.indices.astype(np.int64)
    aligned, found = np.zeros(len(cols)), equal.tocoo()  # equal answers are a subset of the common ones
    aligned[np.searchsorted(rows * workers + cols, found.row.astype(np.int64) * workers + found.col)] = found.data
    other = rows != cols
    return rows[other], cols[other], (aligned / common.data)[other]


def rank_one(
    rows: np.ndarray, cols: np.ndarray, agree: np.ndarray, workers: int, tol: float, iterations: int
) -> tuple[np.ndarray, Trace, bool]:
    """Skills by alternating trimmed means over the observed pairs, signs from the leading eigenvector."""
    if not len(rows):
        return np.zeros(workers), Trace((), MOVED), True
    size, degree = np.abs(agree), np.bincount(rows, minlength=workers)
    trim = max(int(degree[degree > 0].min()) // 2 - 1, 0)
    groups = blocks(degree)
    u, v, moves, converged = np.ones(workers), np.ones(workers), [], False
    before = u[rows] * v[cols]
    for turn in range(iterations):
        u = trimmed_means(size, v[cols], u, groups, trim)
        v = trimmed_means(size, u[cols], v, groups, trim)
        now = u[rows] * v[cols]
        moved = length(now - before)
        moves.append(moved)
        tell(MOVED, turn + 1, iterations, moved)
        before = now
        if moved < tol:
            converged = True
            break
    known = degree > 0  # one who shares no task with anybody has skill 0
    scale = np.sqrt(length(u[known]) / max(length(v[known]), 1e-300))
    skill = np.where(known, u / max(scale, 1e-300) * signs(rows, cols, agree, known), 0.0)
    return skill if skill.sum() >= 0 else -skill, Trace(tuple(moves), MOVED), converged


def length(vector: np.ndarray) -> float:
    """Without BLAS, whose threads cost more than such a sum and add in an order of their own."""
    return float(np.sqrt(np.square(vector).sum()))


def blocks(degree: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Workers of like degree together, each with the places of its pairs [b, d], padded with the place after the last.

    At most twice the pairs in all, so that one sort along rows serves many workers.
    """
    start = np.concatenate([[0], np.cumsum(degree)])
    wide = np.where(degree > 0, 2 ** np.ceil(np.log2(np.maximum(degree, 1))), 0).astype(np.int64)
    found = []
    for width in np.unique(wide[wide > 0]):
        who = np.flatnonzero(wide == width)
        place = np.arange(degree[who].max())
        pairs = np.where(place < degree[who, None], start[who, None] + place, start[-1])
        found.append((who, pairs))
    return found


def trimmed_means(
    size: np.ndarray, other: np.ndarray, current: np.ndarray, groups: list[tuple[np.ndarray, np.ndarray]], trim: int
) -> np.ndarray:
    """For each worker the mean of size / other over its pairs, without the `trim` largest above and smallest below its value."""
    ratio = np.full(len(size) + 1, np.inf)
    np.divide(size, other, out=ratio[:-1], where=other > 1e-300)
    new = current.copy()
    for who, pairs in groups:
        mine = np.sort(ratio[pairs], axis=1)
        now, held = current[who, None], np.isfinite(mine)
        below = (mine < now).sum(axis=1)
        degree = (pairs < len(size)).sum(axis=1)
        above = degree - (mine <= now).sum(axis=1)
        place = np.arange(mine.shape[1])
        held &= (place >= np.minimum(trim, below)[:, None]) & (place < (degree - np.minimum(trim, above))[:, None])
        count = held.sum(axis=1)
        mean = np.where(held, mine, 0.0).sum(axis=1) / np.maximum(count, 1)
        new[who] = np.where(count > 0, mean, current[who])
    return new


def signs(rows: np.ndarray, cols: np.ndarray, agree: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Signs of the leading eigenvector of the agreements; of two workers who disagree nobody can say who is right."""
    workers = len(known)
    if known.sum() < 3:
        return np.ones(workers)
    matrix = csr_array((agree, (rows, cols)), shape=(workers, workers))
    vector, shift = known / np.sqrt(known.sum()), float(np.abs(matrix).sum(axis=1).max())
    for _ in range(200):  # power iteration on matrix + shift: the start favours workers who agree with the rest
        new = matrix @ vector + shift * vector
        if (size := length(new)) <= 1e-12 * shift:
            break
        new /= size
        if length(new - vector) < 1e-12:
            break
        vector = new
    return np.where(vector < 0, -1.0, 1.0)
