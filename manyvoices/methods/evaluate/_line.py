"""Correlation of two numbers a task, out of sums, so that its interval costs no second look at the tasks."""

from __future__ import annotations

import numpy as np

from ...core.draws import Draws
from ...core.scores import Scores, one
from ._sums import dataset, of_rows, remarks


def correlation(name: str, x: np.ndarray, y: np.ndarray, kind: str, note: str, draws: Draws) -> Scores:
    """Pearson's of x and y [n], or Spearman's: Pearson's of their ranks (which stay while tasks are drawn again)."""
    if len(x) < 2:
        return one(name, "not defined because fewer than two tasks are left")
    if kind == "spearman":
        from scipy.stats import rankdata

        x, y = rankdata(x.round(12)), rankdata(y.round(12))  # what is equal on paper shares a rank
    x, y = centred(x), centred(y)
    if not (x.any() and y.any()):
        return one(name, f"not defined because all tasks have the same {'value' if not x.any() else 'prediction'}")
    rows = np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y])
    value, low, high, why = of_rows(rows, pearson, draws)
    return dataset(name, value[0], low[0], high[0], len(x), remarks(note, why[0]))


def centred(x: np.ndarray) -> np.ndarray:
    """Mean 0, largest 1, and exactly 0 where all are the same to rounding: sums of squares then lose nothing."""
    if np.ptp(x) <= 1e-12 * max(np.abs(x).max(), 1e-300):
        return np.zeros(len(x))
    x = x - x.mean()
    return x / np.abs(x).max()


def pearson(sums: np.ndarray) -> np.ndarray:
    n, x, y, xx, yy, xy = (column[:, None] for column in sums.T)
    across, wide, tall = n * xy - x * y, n * xx - x * x, n * yy - y * y
    area = wide * tall
    return (across / np.sqrt(np.where((wide > 1e-9) & (tall > 1e-9), area, np.nan))).clip(-1, 1)
