"""What a reader hands over (Raw, text as it stood in the files) and what `read` returns (Dataset, coded and checked)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from .answers import Answers
    from .items import Items


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """One export as a reader found it. Nothing is coded, sorted or dropped for its value yet; a null is a missing answer.

    rows     task, worker, label as String columns in file order (label may be Float64 on an interval scale);
             `count` (Int64) where rows are counts; no worker column where the export names nobody. Further columns are notes.
    together a column of `rows`: rows of a worker and task that are equal in it are several labels of one answer.
    truth    task, label.
    items    task and its content columns (text, premise, hypothesis, image, ...).
    workers  worker and its attributes.
    tasks, worker_ids, classes: those stated besides the ones seen in the rows.
    where    row number of `rows` -> (file, line or record number, 1-based), for messages.
    """

    format: str
    rows: pl.DataFrame | None = None
    truth: pl.DataFrame | None = None
    items: pl.DataFrame | None = None
    workers: pl.DataFrame | None = None
    splits: pl.DataFrame | None = None
    tasks: list[str] = field(default_factory=list)
    worker_ids: list[str] = field(default_factory=list)
    classes: list[str] | None = None
    scale: str = "nominal"
    together: str | None = None
    abstain: tuple[str, ...] = ()
    arrays: Path | None = None
    about: dict = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    where: Callable[[int], tuple[Path, int | None]] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Answers, the items they are about, the people who gave them. Any of the three may be absent."""

    answers: Answers | None
    items: Items | None
    workers: pl.DataFrame | None  # worker and attributes
    notes: pl.DataFrame | None  # further columns of the answers, one row each in the order of `answers.rows()`
    format: str
    about: dict  # what the files say about themselves
    messages: list[str]  # what a user should know about the reading
    dropped: dict[str, int]  # reason -> number of rows

    def __repr__(self) -> str:
        """One line; `inspect` says more."""
        from .labels import many

        parts = []
        if (answers := self.answers) is not None:
            by = "" if answers.workers is None else f" of {many(len(answers.workers), 'worker')}"
            kind = "numbers" if answers.scale == "interval" else many(len(answers.classes), "class", "classes")
            parts.append(f"{many(answers.n, 'answer')}{by} about {many(len(answers.tasks), 'task')}, {kind}")
        if self.items is not None:
            parts.append(many(len(self.items.ids), "item"))
        return f"<Dataset ({self.format}): {'; '.join(parts) or 'empty'}>"
