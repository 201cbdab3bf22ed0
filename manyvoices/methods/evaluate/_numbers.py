"""Predicted numbers (or places in the order of the classes) beside the true ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.scored import Scored
from ._sums import left_out, remarks, undefined
from ._truth import aim


@dataclass(frozen=True)
class Lines:
    said: np.ndarray  # [n]
    true: np.ndarray  # [n]
    note: str = ""
    why: str = ""


def lines(scored: Scored, against: str) -> Lines:
    nothing = np.zeros(0)
    goal = aim(scored, against)
    if why := undefined(scored, order=True) or goal.why:
        return Lines(nothing, nothing, why=why)
    used = goal.known & scored.labelled
    if not used.any():
        return Lines(nothing, nothing, why="not defined because no task whose truth is known has a prediction")
    silent = left_out(int((goal.known & ~scored.labelled).sum()), "without a prediction")
    places = {
        "interval": "",
        "ordinal": "in steps from class to class",
        "nominal": "in steps from class to class as they are listed; nothing says that they have an order",
    }[scored.scale]
    said, true = scored.label[used].astype(float), goal.right[used].astype(float)
    return Lines(said, true, remarks(goal.note, silent, places))
