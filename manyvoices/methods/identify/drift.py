"""Drift: whether a worker becomes better or worse from their first to their last answer.

    u        = place of the answer in w's own time, from 0 (first) to 1 (last); answers at one moment share a place
    agreed   ~ sure * (a + drift[w] * (u - 1/2))           least squares weighted by 1 / sure; see `accuracy` for agreed and sure
    numbers  : |y - mean of the others' answers| ~ a + drift[w] * (u - 1/2), where up is farther from the others

Needs a column `when` with the answers (numbers or dates). For classes, drift is the change of accuracy from first to last:
-0.2 is twenty points lost. What the answers are held against is chosen as for `accuracy`. Interval: Student's t with
standard errors that allow for unequal spread (corrected for leverage, HC3); the note gives the p value of no drift. From ten
answers at five moments or more. Harder tasks that come later look like drift too.

Family: times
Needs: workers
Reference: textbook (weighted least squares); MacKinnon and White (1985), doi:10.1016/0304-4076(85)90158-7, for the errors.
Also: trend, fatigue
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.answers import Answers, Shard
from ...core.consensus import Consensus
from ...core.scores import Scores
from ...kernels import numbers
from . import _rows
from ._others import beside
from ._rowwise import Columns, sorted_by
from ._yardstick import NOTHING, chosen, held, single_class

LEAST, MOMENTS = 10, 5


def drift(
    answers: Answers,
    *,
    when: np.ndarray,
    against: Literal["auto", "truth", "gold", "consensus"] = "auto",
    truth: np.ndarray | None = None,
    gold: np.ndarray | None = None,
    table: np.ndarray | None = None,
    consensus: Consensus | None = None,
) -> Scores:
    """Fit a line to each worker's answers in their own order.

    Parameters
    ----------
    against
        What is held to be true: truth, gold, consensus, or auto (what is handed over, else truth, else consensus).
    """
    if answers.scale == "interval":
        nothing, note, alone = "not defined because nobody else answered this worker's tasks", FARTHER, False
        found = answers.fold(distances)
    else:
        kind, yardstick, note = chosen(against, truth, gold, table, consensus)
        nothing, alone = NOTHING[kind], single_class(answers, kind)
        found = answers.fold(rated, yardstick)
    worker, agreed, sure, known = found.together()
    place, moments = places(worker, np.where(known, when, np.nan), len(answers.workers))
    use = ~np.isnan(place)
    n = np.bincount(worker[use], minlength=len(answers.workers))
    slope, error, df = lines(worker[use], agreed[use], sure[use], place[use], len(n))
    low, high, p = tested(slope, error, df)
    some = np.bincount(worker[known], minlength=len(n)) > 0
    why = [
        (np.full(len(n), alone), "not defined because there is one class only"),
        (~some, nothing),
        (n == 0, "not defined because no answer of this worker has a time"),
        (n < LEAST, f"not defined because fewer than {LEAST} answers with a time can be judged"),
        (moments < MOMENTS, f"not defined because these answers come from fewer than {MOMENTS} moments"),
        (np.isnan(slope), "not defined because the others' answers decide nothing"),
    ]
    notes = [f"p = {x:.2g}, {note}" if x == x else f"no interval: no answer differs, {note}" for x in p.tolist()]
    return _rows.of_workers(answers, "drift", slope, low, high, notes, why, n=n)


FARTHER = "change of the distance to the others' mean, above 0: farther off"


def rated(shard: Shard, params) -> Columns:
    found = held(shard, params)
    return Columns(((shard.workers[shard.worker], found.agreed, found.sure, found.known),))


def distances(shard: Shard, _) -> Columns:
    found = beside(shard, numbers.values(shard))
    ones = np.ones(len(shard.worker))
    return Columns(((shard.workers[shard.worker], np.abs(found.difference), ones, found.company > 0),))


def places(worker: np.ndarray, when: np.ndarray, W: int) -> tuple[np.ndarray, np.ndarray]:
    """Place of each answer in its worker's time, 0 to 1, NaN without a time; and each worker's number of moments."""
    place = np.full(len(when), np.nan)
    timed = np.flatnonzero(~np.isnan(when))
    order = timed[sorted_by(when[timed], worker[timed], W)]
    who, time = worker[order], when[order]
    new = np.ones(len(order), bool)
    new[1:] = (who[1:] != who[:-1]) | (time[1:] != time[:-1])
    moment = np.cumsum(new) - 1
    size = np.bincount(moment, minlength=1)
    first = (np.cumsum(size) - size)[moment] if len(order) else np.zeros(0)
    n = np.bincount(who, minlength=W)
    start = (np.cumsum(n) - n)[who]
    rank = first - start + (size[moment] - 1) / 2 if len(order) else np.zeros(0)
    place[order] = rank / np.maximum(n[who] - 1, 1)
    return place, np.bincount(who[new], minlength=W)


def lines(worker: np.ndarray, y: np.ndarray, weight: np.ndarray, u: np.ndarray, W: int):
    """Slope, its robust standard error and degrees of freedom, by worker, of y ~ weight (a + slope u)."""

    def total(x: np.ndarray) -> np.ndarray:
        return np.bincount(worker, x, minlength=W)

    mass = total(weight)
    sure = np.where(mass > 1e-9, mass, 1.0)
    middle = total(weight * u) / sure
    v = u - middle[worker]
    across = total(weight * v * v)
    has = (mass > 1e-9) & (across > 1e-9)
    wide = np.where(has, across, 1.0)
    slope, level = total(v * y) / wide, total(y) / sure
    rest = y - weight * (level[worker] + slope[worker] * v)
    lever = weight * (1 / sure[worker] + v * v / wide[worker])
    rest /= np.maximum(1 - lever, 0.1)
    error = np.sqrt(total((v * rest) ** 2)) / wide
    return np.where(has, slope, np.nan), np.where(has, error, np.nan), total(np.ones(len(u))) - 2


def tested(slope: np.ndarray, error: np.ndarray, df: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """95 % interval and the p value of slope 0; nothing where there is no spread."""
    from scipy.special import stdtr, stdtrit

    error, df = np.where(error > 1e-12, error, np.nan), np.maximum(df, 1)
    reach = stdtrit(df, 0.975) * error
    return slope - reach, slope + reach, 2 * stdtr(df, -np.abs(slope / error))
