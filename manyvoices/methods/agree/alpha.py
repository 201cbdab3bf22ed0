"""Krippendorff's alpha: one minus observed over expected disagreement, for any number of workers and kind of label.

    alpha    = 1 - observed / expected
    observed = mean over answers in tasks with m > 1 of  d(a, b) averaged over the m - 1 other answers b
    expected = mean of d over all pairs of such answers, whatever their task
    d        = nominal   0 if equal, else 1
               ordinal   (answers between a and b, both ends halved)^2
               interval  (a - b)^2
               ratio     ((a - b) / (a + b))^2, for numbers from 0
               circular  sin(pi (a - b) / steps)^2, steps = length of the full circle (24 for hours)
               bipolar   (a - b)^2 / ((a + b - 2 least) (2 greatest - a - b)), ends of the stated or seen classes
    of class = nominal alpha with two classes: k and all others

Tasks with one answer are left out. Classes whose names are all numbers count as these numbers, others as 0, 1, 2, ...
(nominal and ordinal never ask). Each d is a squared distance between points, so sums of coordinates are enough and
the work is linear in answers; ratio has about eighty coordinates (an integral), exact to 12 digits, and bipolar,
which is for classes only, two hundred.

Family: agreement
Reference: Krippendorff (2004), Content Analysis; Krippendorff (2011), Computing Krippendorff's alpha-reliability.
Also: krippendorff, krippendorff_alpha
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ...core.answers import Answers
from ...core.errors import BadCall
from ...core.scores import Scores, joined, one, table
from ...kernels import resample
from . import _numbers, _pairs
from ._ask import Ask
from ._counts import Chance, Distance, Pooled, pooled, said
from ._lacks import ALIKE, lacks


def alpha(
    answers: Answers,
    *,
    metric: Literal["auto", "nominal", "ordinal", "interval", "ratio", "circular", "bipolar"] = "auto",
    steps: float | None = None,
    ask: Ask = Ask(),
) -> Scores:
    """Sums of coordinates by task.

    Parameters
    ----------
    metric
        How far two labels are apart; auto takes what the scale says.
    steps
        Length of the full circle, for circular.
    """
    if metric == "circular" and not (steps is not None and 0 < steps < np.inf):
        raise BadCall(
            f"steps is {steps}: circular needs the length of the full circle, such as 24 for hours or 360 for degrees"
        )
    if why := lacks(answers, "alpha"):
        return one("alpha", why)
    kind = metric if metric != "auto" else answers.scale
    note = f"metric: {kind}"
    if answers.scale == "interval":
        return of_numbers(answers, kind, steps or 1.0, note, ask)
    K = len(answers.classes)
    between: Any
    if kind == "nominal":
        space = between = Distance(K)
    elif kind == "ordinal":
        space = ranked(answers.fold(said).paired[None])
        space, between = Distance(K, points=space.points[0]), ranked
    else:
        number = _numbers.numbers_of(answers.classes)
        if number is None:
            number, note = np.arange(K, dtype=float), f"{note}, classes counted 0, 1, 2, ..."
        if kind == "ratio" and number.min(initial=0) < 0:
            return one("alpha", "not defined because ratio needs numbers from 0, and there are negative ones")
        above = number[number > 0] if kind == "ratio" else number
        low = above.min() if len(above) else 1.0
        at = _numbers.Coordinates(kind, low, number.max(), steps or 1.0)
        space = between = Distance(K, points=at(number).T)
    what = Pooled(space, Chance("pooled"), weigh="answer", margin="several", small=True)
    return pooled(answers, "alpha", what, ask, note=note, classes=kind == "nominal", between=between)


def ranked(counts: np.ndarray) -> Distance:
    """The ordinal distance where each class was said so often [P, K]."""
    total = np.maximum(counts.sum(axis=1), 1)[:, None]
    return Distance(counts.shape[1], points=((counts.cumsum(axis=1) - counts / 2) / total - 0.5)[:, None, :])


def of_numbers(answers: Answers, kind: str, steps: float, note: str, ask: Ask) -> Scores:
    """The same for labels that are numbers."""
    if kind in ("nominal", "bipolar"):
        return one("alpha", f"not defined because {kind} needs classes, and these labels are numbers")
    seen = answers.fold(_numbers.look, _numbers.Wanted(kind == "ordinal"))
    if kind == "ratio" and seen.ends.low < 0:
        return one("alpha", "not defined because ratio needs numbers from 0, and there are negative ones")
    if not seen.several:
        return one("alpha", "not defined because no task has two answers")
    known, rank = None, None
    if kind == "ordinal":
        known, n = seen.said.settled()
        rank = _numbers.ranks(known, n)
    low = seen.ends.positive if kind == "ratio" else seen.ends.low
    at = _numbers.Coordinates(kind, low if np.isfinite(low) else 1.0, seen.ends.high, steps, known, rank)
    group, groups, units = resample.groups(answers, 3 + at(np.zeros(1)).shape[1], ask.seed, least=2)
    found = answers.fold(_numbers.step, _numbers.Look(at, group, groups)).sums
    with np.errstate(invalid="ignore", divide="ignore"):
        value = _numbers.alphas(found.sum(axis=0)[None])[0]
        low_, high, why = resample.bootstrap(found, _numbers.alphas, value, units, ask)
    if np.isnan(value[0]):
        value, low_, high, why = np.ones(1), np.full(1, np.nan), np.full(1, np.nan), [ALIKE]
    rows = [
        table(
            "alpha",
            of=["dataset"],
            names=[""],
            value=value,
            low=low_,
            high=high,
            n=np.array([seen.several]),
            note=[f"{note}; {why[0]}"],
        )
    ]
    if ask.pairs:
        rows.append(pairs_of_numbers(answers, at, ask.min_common))
    return joined(rows)


def pairs_of_numbers(answers: Answers, at: _numbers.Coordinates, min_common: int) -> Scores:
    if answers.workers is None:
        return one("alpha", "not defined because these answers name nobody", of="pair")
    kept = _pairs.found_pairs(answers, min_common)
    if not len(kept.key):
        return one("alpha", _pairs.none_met(min_common), of="pair")
    with np.errstate(invalid="ignore", divide="ignore"):
        return _pairs.written(answers, "alpha", kept, _numbers.pair_alphas(answers, kept, at))
