"""Intraclass correlation: the share of the variance of numbers that lies between tasks.

    form 1, each task asks workers of its own:   (MSR - MSW) / (MSR + (k - 1) MSW)
    form 2, agreement of workers drawn at random: (MSR - MSE) / (MSR + (k - 1) MSE + k (MSC - MSE) / n)
    form 3, consistency of just these workers:    (MSR - MSE) / (MSR + (k - 1) MSE)
    average of k answers instead of a single one: divided by MSR, or by MSR + (MSC - MSE) / n in form 2

n tasks, k workers; mean squares MSR between tasks, MSW within tasks, MSC between workers, MSE the rest. Form 1 takes
every task and uneven numbers of answers (k becomes their effective mean); its interval is exact where numbers are
even, else a bootstrap over tasks. Forms 2 and 3 use the tasks that all workers answered, repeated answers averaged,
and have the exact interval of normal errors. Negative values are shown as they are. Ordered classes count as the
numbers their names are, else 0, 1, 2, ...

Family: agreement
Needs: ordered
Reference: Shrout and Fleiss (1979), doi:10.1037/0033-2909.86.2.420.
Also: intraclass_correlation, ICC1[form='1'], ICC2[form='2'], ICC3[form='3'], ICC1k[form='1',unit='average'],
    ICC2k[form='2',unit='average'], ICC3k[form='3',unit='average']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...core.answers import Answers, Shard
from ...core.fold import by_task, by_worker, whole
from ...core.scores import Scores, joined, one, table
from ...kernels import resample
from ...kernels.numbers import values
from . import _numbers, _pairs
from ._ask import Ask
from ._lacks import lacks


def icc(
    answers: Answers,
    *,
    form: Literal["1", "2", "3"] = "1",
    unit: Literal["single", "average"] = "single",
    ask: Ask = Ask(),
) -> Scores:
    """Mean squares from sums by task and worker.

    Parameters
    ----------
    form
        Which workers: of its own for each task (1), drawn at random (2), just these (3).
    unit
        Reliability of a single answer, or of the average of a task's answers.
    """
    if why := lacks(answers, "icc") or (
        form != "1" and answers.workers is None and "not defined because these answers name nobody"
    ):
        return one("icc", why)
    scale = numbers(answers)
    note = f"ICC({form},{'1' if unit == 'single' else 'k'})" + ("" if scale.named else ", classes counted 0, 1, 2, ...")
    average = unit == "average"
    rows = [
        by_task_only(answers, scale, average, ask, note)
        if form == "1"
        else complete(answers, scale, form, average, note)
    ]
    if ask.pairs:
        rows.append(of_pairs(answers, scale, form, average, ask.min_common))
    return joined(rows)


SAME_MEAN = "not defined because all tasks have the same mean"


@dataclass(frozen=True)
class Numbers:
    """A shard's answers as numbers around a middle, divided by their range: what all forms leave unchanged."""

    middle: float
    reach: float
    classes: np.ndarray | None = None
    named: bool = True

    def __call__(self, v: np.ndarray) -> np.ndarray:
        return ((v if self.classes is None else self.classes[v.astype(np.int64)]) - self.middle) / self.reach


def numbers(answers: Answers) -> Numbers:
    if answers.scale == "interval":
        ends = answers.fold(_numbers.look, _numbers.Wanted(False)).ends
        return Numbers((ends.low + ends.high) / 2, max(ends.high - ends.low, np.finfo(float).tiny))
    found = _numbers.numbers_of(answers.classes)
    known = np.arange(len(answers.classes), dtype=float) if found is None else found
    return Numbers(
        float(known.min() + known.max()) / 2, max(float(np.ptp(known)), np.finfo(float).tiny), known, found is not None
    )


# form 1 ---------------------------------------------------------------------------------------------------------------


@dataclass
class Look:
    scale: Numbers = whole()
    group: np.ndarray | None = by_task(default=None)
    groups: int = whole(default=1)
    answered: np.ndarray | None = by_worker(default=None)
    workers: int = whole(default=0)


@dataclass
class Sums:
    sums: np.ndarray = (
        whole()
    )  # [G, 6]: tasks, answers, answers squared, sum, squares of means by answer, squares within
    even: Any = whole()  # least and greatest number of answers of a task


def step(shard: Shard, params: Look) -> Sums:
    y, m = params.scale(values(shard)), shard.per_task()
    total = shard.per_task(y)
    mean = total / np.maximum(m, 1)
    within = shard.per_task((y - shard.of_task(mean)) ** 2)
    columns = np.column_stack([m > 0, m, m**2, total, total * mean, within])
    held = m[m > 0]
    return Sums(
        resample.grouped(columns, params.group, params.groups),
        _numbers.Ends(float(held.min(initial=np.inf)), float(held.max(initial=-np.inf)), np.inf),
    )


def mean_squares(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """MSR, MSW and the effective number of answers a task."""
    n, N, square, total, between, within = sums.T
    return (between - total**2 / N) / (n - 1), within / (N - n), (N - square / N) / (n - 1)


@dataclass(frozen=True)
class OneWay:
    average: bool

    def __call__(self, sums: np.ndarray) -> np.ndarray:
        msr, msw, k = mean_squares(sums)
        below = msr if self.average else msr + (k - 1) * msw
        return ((msr - msw) / np.where(below > 1e-15, below, np.nan))[:, None]


def by_task_only(answers: Answers, scale: Numbers, average: bool, ask: Ask, note: str) -> Scores:
    group, groups, units = resample.groups(answers, 6, ask.seed)
    found = answers.fold(step, Look(scale, group, groups))
    sums = found.sums.sum(axis=0)
    n, N = sums[:2]
    if n in (0, 1, N):
        return one("icc", f"not defined because {'there is one task only' if n < 2 else 'no task has two answers'}")
    ends: list[Any]
    with np.errstate(invalid="ignore", divide="ignore"):
        value = OneWay(average)(sums[None])[0]
        if np.isnan(value[0]):
            return one("icc", "not defined because all answers are the same" if sums[5] <= 1e-15 else SAME_MEAN)
        if found.even.low == found.even.high:
            msr, msw, k = (float(x[0]) for x in mean_squares(sums[None]))
            *ends, why = exact(msr, msw, int(n) - 1, int(n * (k - 1) + 0.5), round(k), average)
        else:
            *ends, (why,) = resample.bootstrap(found.sums, OneWay(average), value, units, ask)
    low, high = (np.reshape(np.array(end, float), 1) for end in ends)
    return table(
        "icc",
        of=["dataset"],
        names=[""],
        value=value,
        low=low,
        high=high,
        n=np.array([int(n)]),
        note=[f"{note}; {why}"],
    )


def exact(top: float, bottom: float, free: int, rest: int, k: int, average: bool) -> tuple[float, float, str]:
    """The interval of forms 1 and 3 for normal errors, from F = top / bottom."""
    if bottom <= 1e-15:
        return np.nan, np.nan, "no interval: answers about a task never differ"
    F = top / bottom
    ends = F / f_quantile(free, rest), F * f_quantile(rest, free)
    low, high = (1 - 1 / e if average else (e - 1) / (e + k - 1) for e in ends)
    return low, high, "interval: exact for normal errors"


def f_quantile(a: float, b: float) -> float:
    from scipy.special import fdtri

    return float(fdtri(a, b, (1 + resample.LEVEL) / 2))


# forms 2 and 3 --------------------------------------------------------------------------------------------------------


@dataclass
class Complete:
    tasks: int = whole()
    total: float = whole()  # sum over tasks of (sum of a row)^2
    square: float = whole()  # sum of squares
    worker: np.ndarray = by_worker()  # [W] sums of the columns


def complete_step(shard: Shard, params: Look) -> Complete:
    """Tasks that every worker who answers anything has answered."""
    y = params.scale(values(shard))
    count = np.ones(len(y)) if shard.count is None else shard.count.astype(float)
    task = shard.task
    if not len(y):
        return Complete(0, 0.0, 0.0, np.zeros(len(shard.workers)))
    first = np.flatnonzero(np.concatenate([[True], (task[1:] != task[:-1]) | (shard.worker[1:] != shard.worker[:-1])]))
    cell = np.add.reduceat(y * count, first) / np.add.reduceat(count, first)  # one number for a worker and a task
    of, who = task[first], shard.worker[first]
    full = np.bincount(of, minlength=shard.size) == params.workers
    kept = full[of]
    row = np.bincount(of[kept], cell[kept], minlength=shard.size)
    return Complete(
        int(full.sum()),
        float((row**2).sum()),
        float((cell[kept] ** 2).sum()),
        np.bincount(who[kept], cell[kept], minlength=len(shard.workers)),
    )


def complete(answers: Answers, scale: Numbers, form: str, average: bool, note: str) -> Scores:
    active = answers.per_worker() > 0
    k = int(active.sum())
    if k < 2:
        return one("icc", "not defined because only one worker answered")
    found = answers.fold(complete_step, Look(scale, workers=k))
    n = found.tasks
    if n < 2:
        return one("icc", f"not defined because {n} tasks are answered by all {k} workers, and 2 are needed")
    total = found.worker.sum()
    between = found.total / k - total**2 / (n * k)
    columns = (found.worker[active] ** 2).sum() / n - total**2 / (n * k)
    error = found.square - total**2 / (n * k) - between - columns
    value, low, high, why = two_way(
        between / (n - 1), columns / (k - 1), max(error, 0.0) / ((n - 1) * (k - 1)), n, k, form, average
    )
    tasks = int((answers.per_task() > 0).sum())
    some = "" if n == tasks else f", {n} of {tasks} tasks are answered by all {k} workers"
    return table(
        "icc",
        of=["dataset"],
        names=[""],
        value=np.array([value]),
        low=np.array([low]),
        high=np.array([high]),
        n=np.array([n]),
        note=[why if np.isnan(value) else f"{note}{some}; {why}"],
    )


def two_way(
    msr: float, msc: float, mse: float, n: int, k: int, form: str, average: bool
) -> tuple[float, float, float, str]:
    msr, msc, mse = (0.0 if x < 1e-14 else float(x) for x in (msr, msc, mse))
    more = (msc - mse) / n if form == "2" else 0.0
    below = msr + more if average else msr + (k - 1) * mse + k * more
    if below <= 0:
        return np.nan, np.nan, np.nan, SAME_MEAN
    value = (msr - mse) / below
    if mse == 0 or (form == "2" and msc == 0):
        why = "workers differ in nothing but a constant" if mse == 0 else "all workers have the same mean"
        return value, np.nan, np.nan, f"no interval: {why}"
    if form == "3":
        return value, *exact(msr, mse, n - 1, (n - 1) * (k - 1), k, average)
    rho = (msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n)
    a, b = k * rho * msc / mse, n * (1 + (k - 1) * rho) - k * rho
    v = (k - 1) * (n - 1) * (a + b) ** 2 / ((n - 1) * a**2 + b**2)
    rest, first, second = k * msc + (k * n - k - n) * mse, f_quantile(n - 1, v), f_quantile(v, n - 1)
    low, high = n * (msr - first * mse) / (first * rest + n * msr), n * (second * msr - mse) / (rest + n * second * msr)
    if average:
        low, high = (k * r / (1 + (k - 1) * r) for r in (low, high))
    if not np.isfinite([low, high]).all():
        return value, np.nan, np.nan, "no interval: too few tasks"
    return value, min(low, value), max(high, value), "interval: for normal errors (Satterthwaite)"


# pairs ----------------------------------------------------------------------------------------------------------------


def of_pairs(answers: Answers, scale: Numbers, form: str, average: bool, min_common: int) -> Scores:
    if answers.workers is None:
        return one("icc", "not defined because these answers name nobody", of="pair")
    kept = _pairs.found_pairs(answers, max(min_common, 2))
    if not len(kept.key):
        return one("icc", _pairs.none_met(min_common), of="pair")
    found = _numbers.pair_moments(answers, kept, At(scale))
    rows = []
    for n, apart, square, gap, total in found:
        between = (2 * square - apart) / 2 - total**2 / (2 * n)
        columns, within = gap**2 / (2 * n), apart / 2
        if form == "1":
            msr, msw = between / (n - 1), within / n
            below = msr if average else msr + msw
            if below <= 1e-15:
                rows.append((np.nan, np.nan, np.nan, "not defined because they never say anything else"))
                continue
            rows.append(((msr - msw) / below, *exact(msr, msw, n - 1, n, 2, average)))
        else:
            rows.append(two_way(between / (n - 1), columns, max(within - columns, 0.0) / (n - 1), n, 2, form, average))
    a, b = np.divmod(kept.key, kept.workers)
    names = answers.workers.to_list()
    value, low, high = np.array([row[:3] for row in rows], float).T.copy()
    notes = ["" if why.startswith("interval") else why for *_, why in rows]
    return table(
        "icc",
        of=["pair"] * len(a),
        names=[names[x] for x in a],
        other=[names[x] for x in b],
        value=value,
        low=low,
        high=high,
        n=np.rint(found[:, 0]).astype(np.int64),
        note=notes,
    )


@dataclass(frozen=True)
class At:
    """The numbers as points with one coordinate."""

    scale: Numbers

    def __call__(self, v: np.ndarray) -> np.ndarray:
        return self.scale(v)[:, None]
