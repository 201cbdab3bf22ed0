"""What every coefficient can be asked for besides its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...core.draws import Draws
from ...core.errors import BadCall


@dataclass(frozen=True)
class Ask(Draws):
    """Rows of pairs, and intervals.

    Parameters
    ----------
    pairs
        Also a row for each pair of workers, with an analytic interval; the command line gives them unasked where there
        are at most 30 workers, or with --min-common.
    min_common
        Only pairs of workers with at least this many tasks in common.
    """

    pairs: bool = False
    min_common: int = 10

    def __post_init__(self):
        super().__post_init__()
        if self.min_common < 1:
            raise BadCall(f"min_common is {self.min_common}: give 1 or more")


@dataclass(frozen=True)
class Weighted(Ask):
    """The same of a coefficient for which classes may be near one another.

    Parameters
    ----------
    weights
        How near misses count: none (not at all), linear or quadratic in the places of the classes.
    """

    weights: Literal["none", "linear", "quadratic"] = "none"

    @property
    def note(self) -> str:
        return "" if self.weights == "none" else f"weights: {self.weights}"
