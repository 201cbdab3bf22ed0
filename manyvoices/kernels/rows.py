"""Rows of small tables [n, K]. K is small, so a loop over columns beats numpy's reduction along a short axis tenfold."""

from __future__ import annotations

import numpy as np

TINY = 1e-300


def row_max(table: np.ndarray) -> np.ndarray:
    if table.shape[1] > 64:
        return table.max(axis=1)
    best = table[:, 0].copy()
    for column in table.T[1:]:
        np.maximum(best, column, out=best)
    return best


def row_sum(table: np.ndarray) -> np.ndarray:
    return np.einsum("nk->n", table)


def column_sums(table: np.ndarray) -> np.ndarray:
    """Sum over rows, one column at a time; no BLAS, whose threads would add in another order on another machine."""
    return table.sum(axis=0) if table.shape[1] > 16 else np.array([column.sum() for column in table.T])


def normalise(table: np.ndarray, axis: int = -1) -> np.ndarray:
    """Sums to one along an axis; where there is nothing to share out, uniform."""
    total = table.sum(axis=axis, keepdims=True)
    if (total > 0).all():
        return table / total  # keeps how the table is laid out in memory
    return np.where(total > 0, table / np.where(total > 0, total, 1), 1 / max(table.shape[axis], 1))


def softmax_logsum(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Softmax of each row [n, K] and log of the sum it divided by [n]. Works in the memory it is given."""
    best = None
    if logits.size and not (logits.min() > -600 and logits.max() < 600):  # else no exponential can under- or overflow
        best = row_max(logits)
        logits -= best[:, None]
    probs = np.exp(logits, out=logits)
    total = row_sum(probs)
    probs /= total[:, None]
    return probs, np.log(total) if best is None else np.log(total) + best


def log(p: np.ndarray) -> np.ndarray:
    """Natural log that stays finite at zero."""
    return np.log(np.maximum(p, TINY))


def entropy(probs: np.ndarray) -> float:
    """Sum over all rows of -p log p."""
    return float(-(probs * log(probs)).sum())
