"""Scores: one number per worker, task, class, pair or method, with its interval or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .names import Names

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("score", "of", "name", "other", "group", "value", "low", "high", "n", "note")
NUMBERS = ("value", "low", "high", "n")


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
    files: Mapping[str, Any] = field(default_factory=dict)  # tables and texts a method also made, by file name

    def __post_init__(self):
        for column in (self.value, self.low, self.high, self.n):
            if column is not None:
                column.setflags(write=False)

    def __len__(self) -> int:
        return len(self.name)

    def __str__(self) -> str:
        return str(self.to_polars())

    def column(self, name: str) -> Any:
        """One column at full length: a list of texts or an array of numbers."""
        given, rows = getattr(self, name), len(self)
        if name in NUMBERS:
            return (
                np.zeros(rows, np.int64)
                if given is None and name == "n"
                else np.full(rows, np.nan)
                if given is None
                else given
            )
        return [given] * rows if isinstance(given, str) else list(given)

    def where(self, mask: np.ndarray) -> Scores:
        """The rows a mask or list of places chooses."""
        at = np.arange(len(self))[mask]
        columns: dict[str, Any] = {name: self.column(name) for name in COLUMNS}
        kept: dict[str, Any] = {name: c[at] if name in NUMBERS else [c[i] for i in at] for name, c in columns.items()}
        return Scores(**kept)

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


def one(name: str, note: str, of: str = "dataset") -> Scores:
    """A row that says why there is no value."""
    return table(name, of=[of], names=[""], value=np.array([np.nan]), n=np.zeros(1, np.int64), note=[note])


def table(
    name: str,
    *,
    of: Sequence[str],
    names: Sequence[str],
    value: np.ndarray,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
    n: np.ndarray,
    note: Sequence[str],
    other: Sequence[str] | None = None,
) -> Scores:
    rows = len(value)
    missing = np.full(rows, np.nan)
    return Scores(
        [name] * rows,
        of,
        names,
        value,
        missing if low is None else low,
        missing.copy() if high is None else high,
        n,
        note,
        [""] * rows if other is None else other,
        [""] * rows,
    )


def joined(parts: Sequence[Scores], groups: Sequence[str] | None = None) -> Scores:
    """Tables one below the other; `groups` names the group each of them is about."""
    columns: dict[str, Any] = {name: [] for name in COLUMNS}
    for at, part in enumerate(parts):
        for name in COLUMNS:
            columns[name].append(part.column(name) if name != "group" or groups is None else [groups[at]] * len(part))
    for name, held in columns.items():
        columns[name] = np.concatenate(held) if name in NUMBERS and held else [text for piece in held for text in piece]
    return Scores(**columns, files={name: file for part in parts for name, file in part.files.items()})
