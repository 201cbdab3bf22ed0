"""Speed: how long a worker takes for an answer, beside the others on the same tasks.

    ratio    = seconds of the answer / geometric mean of the others' seconds for the same task
    speed[w] = median of w's ratios          1 is as long as the others, 0.5 half as long

Needs a column `seconds` with the answers. Missing, unreadable and negative times are left out and counted in the note; zero
counts as half of the shortest time there is. The note says the median in seconds, and `too fast` where even the upper end of
the interval is below `fast`. Interval: order statistics of the ratios (no distribution assumed), from six answers.

Family: times
Needs: workers
Reference: textbook; the interval of a median by the binomial distribution.
Also: time, answer_time
"""

from __future__ import annotations

import numpy as np

from ...core.answers import Answers, Shard
from ...core.errors import BadCall
from ...core.scores import Scores
from . import _rows
from ._others import beside
from ._rowwise import Beside, Columns, firsts, sorted_by

LEAST = 6  # below, the whole range of the ratios does not hold the median with probability .95


def step(shard: Shard, params: Beside) -> Columns:
    seconds = params.of(shard)
    timed = seconds >= 0
    found = beside(shard, np.log(np.where(timed, np.maximum(seconds, params.more), 1.0)), timed)
    ratio = np.where(timed & (found.company > 0), found.difference, np.nan)
    return Columns(((shard.workers[shard.worker], seconds, ratio),))


def speed(answers: Answers, *, seconds: np.ndarray, fast: float = 0.3) -> Scores:
    """Compare times task by task.

    Parameters
    ----------
    fast
        A worker is too fast who surely takes less than this share of the others' time.
    """
    if not 0 < fast < 1:
        raise BadCall(f"fast is {fast}: give a share between 0 and 1")
    with np.errstate(invalid="ignore"):
        positive = seconds[(seconds > 0) & np.isfinite(seconds)]
    shortest = positive.min() / 2 if len(positive) else 1.0
    clean = np.where(np.isfinite(seconds), seconds, -1.0)
    W = len(answers.workers)
    worker, clean, ratio = answers.fold(step, Beside(clean, firsts(answers), shortest)).together()
    held = ~np.isnan(ratio)
    n = np.bincount(worker[held], minlength=W)
    value, low, high = (np.exp(x) for x in middles(worker[held], ratio[held], n))
    timed = clean >= 0
    usual = middles(worker[timed], clean[timed], np.bincount(worker[timed], minlength=W))[0]
    bad = np.bincount(worker[~timed], minlength=W)
    notes = [said(*row, fast) for row in zip(n.tolist(), usual.tolist(), high.tolist(), bad.tolist(), strict=True)]
    why = [
        (np.isnan(usual), "not defined because no answer of this worker has a time from 0"),
        (n == 0, "not defined because nobody else's time is known for this worker's tasks"),
    ]
    return _rows.of_workers(answers, "speed", value, low, high, notes, why, n=n)


def middles(worker: np.ndarray, x: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Median of each worker's numbers and the order statistics around it that hold the true one with probability .95."""
    from scipy.stats import binom

    x = np.append(x[sorted_by(x, worker, len(n))], np.nan)
    first = np.cumsum(n) - n
    last = len(x) - 1

    def at(rank: np.ndarray) -> np.ndarray:
        return x[np.where(n > 0, np.minimum(first + np.clip(rank, 0, np.maximum(n - 1, 0)), last), last)]

    cut = binom.ppf(0.025, np.maximum(n, 1), 0.5).astype(np.int64)  # P(fewer than so many below the median) <= .025
    low, high = at(np.maximum(cut - 1, 0)), at(n - np.maximum(cut, 1))
    few = n < LEAST
    return (at((n - 1) // 2) + at(n // 2)) / 2, np.where(few, np.nan, low), np.where(few, np.nan, high)


def said(n: int, usual: float, high: float, bad: int, fast: float) -> str:
    parts = [f"median {usual:.3g} s"]
    if high < fast:
        parts.append(f"too fast: surely less than {fast:.2g} of the others' time")
    if n < LEAST:
        parts.append(f"no interval: fewer than {LEAST} times to compare")
    if bad:
        parts.append(f"{bad} times missing or negative, left out")
    return "; ".join(parts)
