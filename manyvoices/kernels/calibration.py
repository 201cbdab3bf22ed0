"""How far probabilities can be taken at their word, and the one number that brings them nearer to it.

    heated[i, k] ~ p[i, k] ** (1 / temperature)
    bin b of M equal bins of [0, 1], open on the left, closed on the right, by the probability of the best class
    ECE = sum over bins of  n[b] / n  |share right[b] - mean probability[b]|, once over all rows

A temperature leaves the order of the classes, so no label changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

BINS = 15
COLDEST, HOTTEST = 0.05, 20.0


def heated(log_probs: np.ndarray, temperature: float) -> np.ndarray:
    """Log-probabilities [n, K] at this temperature."""
    found = log_probs / temperature
    found = found - found.max(axis=1, keepdims=True)
    return found - np.log(np.exp(found).sum(axis=1, keepdims=True))


def fitted(value: Callable[[float], float]) -> float:
    """The temperature with the largest value. Where colder is better without end there is nothing to learn from (every
    row is predicted right), and it is 1."""
    from scipy.optimize import minimize_scalar

    grid = np.linspace(np.log(COLDEST), np.log(HOTTEST), 41)
    best = int(np.argmax([value(float(np.exp(t))) for t in grid]))
    if best == 0:
        return 1.0
    ends = grid[best - 1], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(lambda t: -value(float(np.exp(t))), bounds=ends, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


def reliability(
    prob: np.ndarray, right: np.ndarray, weight: np.ndarray | None = None, bins: int = BINS
) -> dict[str, Any]:
    """The numbers of a reliability diagram: a row a bin with anything in it, and the ECE. `prob` is the probability of the
    class predicted, `right` whether (or how probably) that is the one."""
    weight = np.ones(len(prob)) if weight is None else weight
    edges = np.linspace(0, 1, bins + 1)
    cell = np.searchsorted(edges[1:-1], prob, side="left")
    n, sure, hit = (np.bincount(cell, x, minlength=bins) for x in (weight, weight * prob, weight * right))
    rows = [
        {"from": float(edges[b]), "to": float(edges[b + 1]), "n": float(n[b])}
        | {"mean": float(sure[b] / n[b]), "right": float(hit[b] / n[b])}
        for b in np.flatnonzero(n)
    ]
    return {"ece": float(np.abs(hit - sure).sum() / max(n.sum(), 1e-300)), "n": float(n.sum()), "bins": rows}


def of_rows(log_probs: np.ndarray, right: np.ndarray, weight: np.ndarray | None = None) -> dict[str, Any]:
    """The same from log-probabilities and the probability of each class to be the one, both [n, K]."""
    best = log_probs.argmax(axis=1)
    at = np.arange(len(best))
    return reliability(np.exp(log_probs[at, best]), right[at, best], weight)
