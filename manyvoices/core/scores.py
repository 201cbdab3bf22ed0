"""Scores: one number per worker, task, class, pair or method, with its interval or the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .names import Names

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("score", "of", "name", "other", "group", "value", "low", "high", "n", "note")


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Columns of the table; a column that is one text holds for every row. An undefined value is NaN here and empty outside."""

    score: str | Sequence[str]
    of: str | Sequence[str]
    name: Names | Sequence[str]
    value: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    n: np.ndarray | None = None
    note: str | Sequence[str] = ""
    other: str | Sequence[str] = ""
    group: str | Sequence[str] = ""

    def __post_init__(self):
        for column in (self.value, self.low, self.high, self.n):
            if column is not None:
                column.setflags(write=False)

    def __len__(self) -> int:
        return len(self.name)

    def to_polars(self) -> pl.DataFrame:
        import polars as pl

        rows = len(self)
        return pl.DataFrame({name: _column(pl, name, getattr(self, name), rows) for name in COLUMNS})

    def to_pandas(self):
        return self.to_polars().to_pandas()


def _column(pl, name: str, given: Any, rows: int):
    if name in ("value", "low", "high"):
        given = np.full(rows, np.nan) if given is None else np.asarray(given, float)
        return pl.Series(name, given).fill_nan(None)
    if name == "n":
        return pl.Series(name, [None] * rows if given is None else np.asarray(given), pl.Int64)
    texts = [given] * rows if isinstance(given, str) else given.to_list() if isinstance(given, Names) else list(given)
    return pl.Series(name, texts, pl.String)
