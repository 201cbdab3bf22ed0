"""Intervals from resampled tasks, out of sums by group of tasks.

Up to a thousand tasks each is a group of its own, and drawing groups with replacement is the bootstrap over tasks.
More tasks are dealt at random into a thousand groups of equal size; drawing these gives the same spread (to 2 % of
it) for the price of a thousand tasks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core.answers import Answers
from ..core.draws import Draws

GROUPS, CELLS = 1_000, 20_000_000
LEVEL = 0.95
REACH = 1.959963984540054


def groups(answers: Answers, columns: int, seed: int, least: int = 1) -> tuple[np.ndarray, int, int]:
    """The group of each task [T], how many groups, and how many tasks count: those with at least so many answers."""
    counted = answers.per_task() >= least
    units = int(counted.sum())
    most = int(np.clip(CELLS // max(columns, 1), 20, GROUPS))
    group = np.zeros(len(counted), np.int32)
    if units <= most:
        group[counted] = np.arange(units)
        return group, max(units, 1), units
    group[counted] = np.random.default_rng([seed, 1]).permutation(units) % most
    return group, most, units


def grouped(columns: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """Sums of rows [t, d] by group: [G, d]."""
    from scipy.sparse import csr_array

    rows = len(group)
    return csr_array((np.ones(rows), (group, np.arange(rows))), shape=(groups, rows)) @ columns


def bootstrap(
    sums: np.ndarray, values: Callable[[np.ndarray], np.ndarray], value: np.ndarray, units: int, draws: Draws
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The middle 95 % of values(resampled sums) [m], and for each how its interval came about or why there is none."""
    from scipy.sparse import csr_array

    low, high = np.full((2, len(value)), np.nan)
    if draws.bootstrap == 0:
        return low, high, ["no interval asked for"] * len(value)
    if units < 2:
        return low, high, ["no interval: one task only"] * len(value)
    G = len(sums)
    sums = sums[np.lexsort(sums.T)]  # the names of tasks do not decide what is drawn
    rng = np.random.default_rng([draws.seed, 2])
    times = draws.bootstrap
    chunk = max(1, min(times, 4_000_000 // max(G, sums.shape[1])))
    found = np.empty((times, len(value)))
    with np.errstate(invalid="ignore", divide="ignore"):
        for a in range(0, times, chunk):
            some = min(chunk, times - a)
            drawn = rng.integers(G, size=(some, G), dtype=np.int32)
            drawn.sort(axis=1)
            weights = csr_array(
                (np.ones(some * G), drawn.ravel(), np.arange(some + 1, dtype=np.int32) * G), shape=(some, G)
            )
            found[a : a + some] = values(weights @ sums)
    how = (
        f"interval: bootstrap over {units} tasks"
        if units == G
        else f"interval: bootstrap over {G} random groups of the {units} tasks"
    )
    return *quantiles(found, value), [*reasons(found, value, how)]


def quantiles(found: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the middle 95 % of each column, widened to hold the value; none where draws are undefined or alike."""
    low, high = np.full((2, len(value)), np.nan)
    good = usable(found, value)
    if good.any():
        ends = np.nanquantile(found[:, good], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        low[good], high[good] = np.minimum(ends[0], value[good]), np.maximum(ends[1], value[good])
    return low, high


def usable(found: np.ndarray, value: np.ndarray) -> np.ndarray:
    known = np.isfinite(found)
    filled = np.where(known, found, value)
    return np.isfinite(value) & (known.mean(axis=0) > 0.5) & (np.ptp(filled, axis=0) > 1e-12)


def reasons(found: np.ndarray, value: np.ndarray, how: str) -> list[str]:
    good, many = usable(found, value), np.isfinite(found).mean(axis=0) > 0.5
    return [
        how
        if g
        else "no interval: too few tasks to resample"
        if not m
        else "no interval: no task differs from the others"
        for g, m in zip(good, many, strict=True)
    ]


def normal(
    value: np.ndarray, error: np.ndarray, least: float = -np.inf, most: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """value +- 1.96 standard errors, within what is possible; nothing where the error is 0 or unknown."""
    error = np.where(error > 1e-12, error, np.nan)
    return np.maximum(value - REACH * error, np.minimum(least, value)), np.minimum(
        value + REACH * error, np.maximum(most, value)
    )
