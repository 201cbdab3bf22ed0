"""Values out of sums over tasks, and their intervals: tasks are drawn again with replacement, the sums with them.

Up to a thousand tasks each is a group of its own; more are dealt at random into a thousand groups, which gives the
same spread. A value that noise can only push up (a norm, a sum of absolute differences) has its interval reflected:
where drawing again raises its square by so much, the square itself is taken to be raised by as much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores, joined, one, table
from ...kernels import resample

CELLS = 1_000_000  # groups x columns
WORK = 50_000_000  # answers x draws, where sums over tasks are not enough
LEAST = 200  # draws that are made all the same


def dealt(n: int, columns: int, seed: int) -> tuple[np.ndarray, int]:
    """The resampling group of each of n tasks, and how many groups there are."""
    most = int(np.clip(CELLS // max(columns, 1), 20, resample.GROUPS))
    if n <= most:
        return np.arange(n), max(n, 1)
    return np.random.default_rng([seed, 1]).permutation(n) % most, most


def of_rows(
    columns: np.ndarray, values: Callable[[np.ndarray], np.ndarray], draws: Draws, reflected: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """values(sums [b, d] -> [b, m]) of rows [n, d], one a task: value, low, high, and how the interval came about."""
    group, groups = dealt(len(columns), columns.shape[1], draws.seed)
    return of_groups(resample.grouped(columns, group, groups), len(columns), values, draws, reflected)


def of_groups(
    sums: np.ndarray, units: int, values: Callable[[np.ndarray], np.ndarray], draws: Draws, reflected: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    with np.errstate(invalid="ignore", divide="ignore"):
        value = values(sums.sum(axis=0)[None])[0]
    low, high, why = resample.bootstrap(sums, values, value, units, draws)
    return (value, *(mirrored(value, low, high, why) if reflected else (low, high, why)))


def mirrored(
    value: np.ndarray, low: np.ndarray, high: np.ndarray, why: list[str]
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The interval of a value from 0 that noise raises: reflected at the value, in squares, as these are what adds up."""
    said = [text.replace("interval: bootstrap", "interval: reflected bootstrap") for text in why]
    return np.sqrt(np.maximum(2 * value**2 - high**2, 0)), np.sqrt(np.maximum(2 * value**2 - low**2, value**2)), said


def drawn(
    values: Callable[[np.ndarray], np.ndarray],
    units: int,
    rows: int,
    draws: Draws,
    reflected: bool | Sequence[bool] = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """The same for values(weight of each task [units] -> [m]) that cost a look at all rows: fewer draws of many rows."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value = values(np.ones(units))
    m = len(value)
    low, high = np.full((2, m), np.nan)
    if draws.bootstrap == 0 or units < 2:
        none = "no interval asked for" if draws.bootstrap == 0 else "no interval: one task only"
        return value, low, high, [none] * m
    times = min(draws.bootstrap, max(WORK // max(rows, 1), LEAST))
    rng = np.random.default_rng([draws.seed, 2])
    found = np.empty((times, m))
    with np.errstate(invalid="ignore", divide="ignore"):
        for b in range(times):
            found[b] = values(np.bincount(rng.integers(units, size=units), minlength=units).astype(float))
    low, high = resample.quantiles(found, value)
    why = resample.reasons(found, value, f"interval: bootstrap over {units} tasks, {times} draws")
    turn = np.broadcast_to(np.asarray(reflected), (m,))
    if turn.any():
        other = mirrored(value, low, high, why)
        low, high = np.where(turn, other[0], low), np.where(turn, other[1], high)
        why = [b if t else a for t, a, b in zip(turn, why, other[2], strict=True)]
    return value, low, high, why


def mean(sums: np.ndarray) -> np.ndarray:
    """Of sums of (1, x): the mean of x."""
    return sums[:, 1:] / np.where(sums[:, :1] > 0, sums[:, :1], np.nan)


def mean_score(name: str, x: np.ndarray, note: str, draws: Draws) -> Scores:
    """The mean of one number a task."""
    value, low, high, why = of_rows(np.column_stack([np.ones(len(x)), x]), mean, draws)
    return dataset(name, value[0], low[0], high[0], len(x), remarks(note, why[0]))


def dataset(name: str, value: float, low: float, high: float, n: int, note: str) -> Scores:
    return table(
        name,
        of=["dataset"],
        names=[""],
        value=np.array([value], float),
        low=np.array([low], float),
        high=np.array([high], float),
        n=np.array([n]),
        note=[note],
    )


def several(names: Sequence[str], found: tuple, n: int, notes: Sequence[str]) -> Scores:
    """A row of the data set for each of several values."""
    value, low, high, why = found
    rows = [
        dataset(name, value[i], low[i], high[i], n, remarks(notes[i], why[i]))
        if np.isfinite(value[i])
        else one(name, notes[i])
        for i, name in enumerate(names)
    ]
    return joined(rows)


def remarks(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def left_out(n: int, why: str) -> str:
    return f"{n} {'task' if n == 1 else 'tasks'} {why} left out" if n else ""


def undefined(scored: Scored, *, classes: bool = False, probs: bool = False, order: bool = False) -> str:
    """Why there is nothing to score, or an empty text."""
    if not len(scored):
        return "not defined because no task is predicted"
    if classes and scored.scale == "interval":
        return "not defined because the labels are numbers; mae, rmse, pearson and spearman are for numbers"
    if classes and not len(scored.classes):
        return "not defined because there are no classes"
    if order and scored.scale == "multilabel":
        return "not defined because one answer may hold several labels"
    if probs and scored.probs is None:
        return "not defined because the predictions have no columns p:CLASS (aggregate --soft writes them)"
    return ""
