"""Spam score: how much a worker's answers depend on what is true. Up is better.

    spam_score[w] = 1 / (K (K - 1)) * sum over k < k' and l of (P(w says l | k) - P(w says l | k'))^2

0 where all rows of the worker's table are equal, so that the answers say nothing about the task; 1 for a perfect table, and
for one that only swaps the classes. The tables are those of `trace`; with empty_row=zero a class not met has an empty row. Few
answers make unequal rows by chance, so the interval begins 1.96 standard deviations below the score less its expected excess;
it ends where that of a Beta distribution ends with the mean and variance of the score under Dirichlet rows (counts plus 1 / K,
an answer counting as far as the others' answers tell the truth of its task).
There is none for a worker with fewer than three answers to one of the classes.

Family: confusion tables
Needs: workers, classes
Reference: Raykar and Yu (2012), Eliminating spammers and ranking annotators for crowdsourced labeling tasks, JMLR 13.
Also: spammer_score, raykar_yu
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...core.scores import Scores
from ...kernels.skills import between, normal_interval
from . import _rows, _tables

FEW = 3
NONE = f"no interval: fewer than {FEW} answers to a class"


def spam_score(
    answers: Answers,
    *,
    empty_row: Literal["uniform", "zero"] = "uniform",
    ds: Consensus | None = None,
    consensus: Consensus | None = None,
) -> Scores:
    """Compare the rows of each worker's table.

    Parameters
    ----------
    empty_row
        What stands for a class the worker has not met: uniform (what the fit has, else 1 / K each) or zero.
    """
    fit = consensus or ds
    counts = _tables.expected(answers, fit)
    found, met = _tables.shares(counts, fit, empty_row)
    value = apart(found)
    mass = counts.sum(axis=2)
    known = _tables.worth(answers, fit, found, mass) / np.maximum(mass, 1e-9)
    mean, excess, variance = chance(counts * known[:, :, None])
    low = np.clip(normal_interval(value - excess, variance)[0], 0, value)
    high = np.maximum(between(mean, variance)[1], value)
    few = (mass < FEW)[:, met.any(axis=0)].any(axis=1)  # of the classes that anybody met
    low[few] = high[few] = np.nan
    notes = [
        "; ".join(part for part in (text, NONE if short else "") if part)
        for text, short in zip(_tables.notes(met, empty_row), few.tolist(), strict=True)
    ]
    one = np.full(len(value), counts.shape[1] < 2)
    why = [(one, "not defined because there is one class only")]
    return _rows.of_workers(answers, "spam_score", value, low, high, notes, why)


def apart(rows: np.ndarray) -> np.ndarray:
    """Squared distances of all pairs of rows [W, K, K], as K sum of squares minus the square of the sum: [W]."""
    K = rows.shape[1]
    return (K * (rows**2).sum(axis=(1, 2)) - (rows.sum(axis=1) ** 2).sum(axis=1)) / max(K * (K - 1), 1)


def chance(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of the score, its excess over that of the mean rows, and its variance, rows being Dirichlet (counts plus 1 / K): [W].

    The score is a quadratic form m'Am of the rows, which are independent with covariances C: its excess is tr(AC), its
    variance 2 tr(ACAC) + 4 m'ACAm.
    """
    W, K, _ = counts.shape
    weight = counts + 1 / max(K, 1)
    mass = weight.sum(axis=2, keepdims=True)
    mean, over = weight / mass, mass[:, :, 0] + 1
    scale = 1 / max(K * (K - 1), 1)
    square = (mean**2).sum(axis=2)
    excess = scale * (K - 1) * ((1 - square) / over).sum(axis=1)
    variance = np.zeros(W)
    pull = scale * (K * mean - mean.sum(axis=1, keepdims=True))  # A m
    along = (pull**2 * mean).sum(axis=2) - (pull * mean).sum(axis=2) ** 2
    variance += 4 * (along / over).sum(axis=1)
    for k in range(K):  # tr(C_k C_j) for all j at once
        dot = mean[:, k] / over[:, k, None]
        cross = np.einsum("wl,wjl->wj", dot, mean)
        cubic = np.einsum("wl,wjl->wj", dot * mean[:, k], mean) + np.einsum("wl,wjl->wj", dot, mean**2)
        inner = np.einsum("wl,wjl->wj", mean[:, k], mean)
        traces = (cross - cubic + inner**2 / over[:, k, None]) / over
        factor = np.full(K, scale**2)
        factor[k] *= (K - 1) ** 2
        variance += 2 * traces @ factor
    return apart(mean) + excess, excess, variance
