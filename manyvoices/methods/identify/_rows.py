"""The rows of a score: a value or the reason why there is none, and how its interval came about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.answers import Answers
from ...core.scores import Scores, table

UNANSWERED = "not defined because nobody answered this task"
IDLE = "not defined because this worker gave no answers"


def of_workers(answers: Answers, score: str, value, low, high, note, why=(), n: np.ndarray | None = None) -> Scores:
    """A row a worker. `why` lists (mask, reason) pairs; the first that holds leaves the row without a value."""
    own = answers.per_worker()
    return rows(
        score, "worker", answers.workers, value, low, high, own if n is None else n, note, [(own == 0, IDLE), *why]
    )


def of_tasks(answers: Answers, score: str, value, low, high, note, why=(), empty: bool = True) -> Scores:
    """A row a task; with `empty` a task without answers has no value."""
    n = answers.per_task()
    why = [(n == 0, UNANSWERED), *why] if empty else why
    return rows(score, "task", answers.tasks, value, low, high, n, note, why)


def rows(score: str, of: str, names: Sequence[str], value, low, high, n, note: Any, why) -> Scores:
    notes = np.full(len(names), note, object) if isinstance(note, str) else np.array(note, object)
    value, low, high = (np.full(len(names), np.nan) if x is None else np.array(x, float) for x in (value, low, high))
    for mask, reason in reversed(list(why)):
        notes[mask] = reason
        for column in (value, low, high):
            column[mask] = np.nan
    return table(
        score,
        of=[of] * len(names),
        names=list(names),
        value=value,
        low=low,
        high=high,
        n=np.asarray(n, np.int64),
        note=notes.tolist(),
    )
