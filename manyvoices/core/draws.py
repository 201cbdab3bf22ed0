"""Draws: what every interval from resampled tasks has in common."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import BadCall


@dataclass(frozen=True)
class Draws:
    """Tasks are drawn again with replacement, and what comes out of them spreads as the value does.

    Parameters
    ----------
    bootstrap
        How often tasks are drawn again for the interval; 0 for none.
    seed
        For these draws.
    """

    bootstrap: int = 1000
    seed: int = 0

    def __post_init__(self):
        for name in ("bootstrap", "seed"):
            if getattr(self, name) < 0:
                raise BadCall(f"{name} is {getattr(self, name)}: give 0 or more")
