"""Wide table: one row is one task, one column is one worker, and the cells are the answers.

    task,anna,ben,carl
    1,cat,dog,
    2,dog,,dog

CSV in any of the usual separators, gzipped or not, or Parquet. The first column holds the tasks, whatever it is called;
all others are workers.

- An empty cell is no answer. `-1` is a label like any other; `--missing -1` says otherwise.
- Workers' ids are column names, kept exactly, spaces included. A column without a name is dropped, its answers counted.
- A task with no answer at all stays a task, a worker with none stays a worker.
- The same task in two rows gives its workers two answers each.
- Writing needs at most one answer a worker and task, and refuses tables of more than 100 million cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from polars.selectors import by_name

from ...core.dataset import Raw
from ...core.errors import BadCall, BadInput
from ...core.files import writing
from ...core.names import in_order
from ._columns import find, one_a_pair, rows_of
from ._table import TABLE, Where, glance, read_table, write_table
from ._text import cautious

CELLS = 100_000_000


@cautious
def recognise(path: Path) -> float:
    """A key column, then columns that share few short values. What `long` can read is left to it."""
    if path.is_dir():
        return 0.0
    columns, *rows = glance(path) or [[]]
    rows = [row for row in rows if len(row) == len(columns)]
    if len(columns) < 3 or len(rows) < 2 or any(find(columns[1:], role) for role in ("worker", "label")):
        return 0.0
    tasks, *workers = zip(*rows, strict=True)
    answers = [said for cells in workers[:200] if (said := {cell for cell in cells if cell})]
    if len(set(tasks)) < len(tasks) or not all(tasks) or len(answers) < 2 or _counts(rows):
        return 0.0
    seen = set().union(*answers)
    cells = sum(bool(cell) for row in rows for cell in row[1:])
    sharing = sum(any(own & other for other in answers if other is not own) for own in answers) / len(answers)
    if max(map(len, seen)) > 60 or len(seen) * 2 > cells + 2 or sharing < 0.5:
        return 0.0
    return 0.4 if find(columns[:1], "task") or not columns[0].strip() else 0.3


def _counts(rows: list[list[str]]) -> bool:
    """A table of votes a class is full of numbers, up to ten and more, and its rows have about the same sum."""
    if not all(cell.isascii() and cell.isdigit() for row in rows for cell in row[1:]):
        return False
    sums = [sum(map(int, row[1:])) for row in rows]
    return max(int(cell) for row in rows for cell in row[1:]) >= 10 and max(sums) <= 1.5 * min(sums)


def wide(path: Path) -> Raw:
    """Read a matrix of tasks and workers."""
    path = Path(path)
    if path.is_dir():
        raise BadInput("a folder", file=path, expected="a file")
    table = read_table(path, strip=False)
    if not table.frame.width:
        raise BadInput("no columns", file=path, expected=TABLE)
    task, *workers = table.frame.columns
    nested = next((name for name in workers if name in table.nested), None)
    if nested is not None:
        raise BadInput(f"worker {nested!r} answers with a list or an object", file=path, expected="text or numbers")
    if not table.frame.height:
        raise BadInput("no rows below the header", file=path, expected=TABLE)
    frame, dropped = table.frame.with_row_index(row := "_" * (1 + max(map(len, table.frame.columns)))), {}
    lacking = frame[task].is_null()
    if lacking.any():
        dropped["no task"] = sum(frame.filter(lacking)[workers].count().row(0))
        frame = frame.filter(~lacking)
    if "" in workers:
        workers.remove("")
        dropped["no worker"] = frame[""].count()
    names = by_name(*workers)  # a plain `^x$` would be taken for a pattern
    cells = frame.unpivot(on=names, index=by_name(row, task), variable_name=f"{row}w", value_name=f"{row}l")
    cells = cells.filter(cells[f"{row}l"].is_not_null()).sort(row, maintain_order=True)
    rows = pl.DataFrame([cells[task].alias("task"), cells[f"{row}w"].alias("worker"), cells[f"{row}l"].alias("label")])
    answered, active = set(rows["task"]), set(rows["worker"])
    return Raw(
        format="wide",
        rows=rows,
        tasks=[name for name in frame[task] if name not in answered],
        worker_ids=[name for name in workers if name not in active],
        notes=table.notes,
        dropped={reason: n for reason, n in dropped.items() if n},
        where=Cell(table.where, cells[row].to_numpy()),
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """Answer number -> the row of the matrix it stands in."""

    where: Where
    rows: np.ndarray

    def __call__(self, answer: int) -> tuple[Path, int | None]:
        return self.where(int(self.rows[answer]))


def write(data: Raw, out: Path) -> list[Path]:
    """A matrix with all tasks and workers, in the form the suffix asks for."""
    out, rows = Path(out), one_a_pair(rows_of(data, "wide", named=True), "a wide table")
    tasks = in_order({*rows["task"].unique(), *data.tasks})
    workers = in_order({*rows["worker"].unique(), *data.worker_ids})
    if len(tasks) * len(workers) > CELLS:
        raise BadCall(f"{len(tasks)} tasks x {len(workers)} workers are too many cells for a wide table; choose long")
    key = "task"
    while key in workers:
        key += "_"
    frame = pl.DataFrame({key: pl.Series(tasks, dtype=pl.String)})
    where = {name: at for at, name in enumerate(tasks)}
    for (worker,), said in rows.group_by("worker"):
        column = np.full(len(tasks), None, object)
        column[[where[task] for task in said["task"]]] = said["label"].to_list()
        frame = frame.with_columns(pl.Series(worker, column.tolist(), dtype=rows.schema["label"]))
    missing = [pl.lit(None, rows.schema["label"]).alias(name) for name in workers if name not in frame.columns]
    with writing(out.parent) as new:
        write_table(frame.with_columns(missing)[[key, *workers]], new(out.name), out.name)
    return [out]
