"""What a prediction is held against: the truth, or on request the most frequent answer (of numbers, the mean answer)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.scored import Scored
from ._sums import left_out, remarks


@dataclass(frozen=True)
class Aim:
    right: np.ndarray  # [n] class or number
    known: np.ndarray  # [n]
    note: str = ""
    why: str = ""  # why there is nothing to hold against


def aim(scored: Scored, against: str) -> Aim:
    if against == "answers":
        return of_answers(scored)
    if scored.known.any():
        return Aim(scored.truth, scored.known, left_out(int((~scored.known).sum()), "of unknown truth"))
    if scored.counts is not None or scored.mean is not None:
        other = "mean answer" if scored.scale == "interval" else "most frequent answer"
        why = f"not defined because no truth is known (--against answers holds predictions against the {other})"
    else:
        why = "not defined because no truth is known"
    return Aim(scored.truth, scored.known, why=why)


def of_answers(scored: Scored) -> Aim:
    nothing = "not defined because no answers are known"
    if scored.scale == "interval":
        if scored.mean is None or not np.isfinite(scored.mean).any():
            return Aim(scored.truth, scored.known, why=nothing)
        known = np.isfinite(scored.mean)
        return Aim(scored.mean, known, remarks("against the mean answer", left_out(int((~known).sum()), "unanswered")))
    if scored.counts is None or not scored.counts.any():
        return Aim(scored.truth, scored.known, why=nothing)
    best = scored.counts.max(axis=1)
    alone = (best > 0) & ((scored.counts == best[:, None]).sum(axis=1) == 1)
    note = remarks(
        "against the most frequent answer",
        left_out(int((~alone & (best > 0)).sum()), "with a tie"),
        left_out(int((best == 0).sum()), "unanswered"),
    )
    why = "" if alone.any() else "not defined because every task has a tie"
    return Aim(np.where(alone, scored.counts.argmax(axis=1), -1), alone, note, why)
