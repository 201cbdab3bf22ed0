"""Rows of Scores, and the reasons why a value is not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core import registry
from ...core.answers import Answers
from ...core.scores import COLUMNS, Scores

ALIKE = "all answers that can be compared are the same, so agreement cannot be told from chance; no interval"


def lacks(answers: Answers, name: str) -> str:
    """Why these answers have no such coefficient, as far as its page says what it needs."""
    needs = registry.about("agree", name).needs
    if answers.scale == "multilabel":
        return "not defined because one answer may hold several labels; ask about each label (--multilabel binary)"
    if "classes" in needs and answers.scale == "interval":
        return "not defined because the labels are numbers; alpha and icc are for numbers"
    if "ordered" in needs and answers.scale == "nominal":
        return "not defined because the classes have no order (--scale ordinal or interval)"
    if answers.n == 0:
        return "not defined because there are no answers"
    if "workers" in needs and answers.workers is None:
        return "not defined because these answers name nobody"
    return ""


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
            given = getattr(part, name)
            if name == "group" and groups is not None:
                given = [groups[at]] * len(part)
            columns[name].append(given if isinstance(given, np.ndarray) else list(given))
    for name, held in columns.items():
        columns[name] = (
            np.concatenate(held)
            if name in ("value", "low", "high", "n")
            else [text for piece in held for text in piece]
        )
    return Scores(**columns)
