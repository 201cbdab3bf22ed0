"""Wide table: one row is one task, one column is one worker, and the cells are the answers.

    task,anna,ben,carl
    1,cat,dog,
    2,dog,,dog

CSV in any of the usual separators, gzipped or not, or Parquet. The first column holds the tasks, whatever it is called; all
others are workers.

- An empty cell is no answer. `-1` is a label like any other; `--missing -1` says otherwise.
- Workers' ids are column names, kept exactly, spaces included. A column without a name is dropped and its answers counted.
- A task with no answer at all stays a task, a worker with none stays a worker.
- The same task in two rows gives its workers two answers each.
- Writing needs at most one answer a worker and task, and refuses tables of more than 100 million cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from ...core.dataset import Raw
from ...core.errors import BadCall, BadInput
from ...core.names import in_order
from ._columns import find, rows_of
from ._table import TABLE, Where, glance, read_table, write_table
from ._text import cautious, writing

CELLS = 100_000_000


@cautious
def recognise(path: Path) -> float:
    """A key column, then columns that share few short values. Anything with the columns of a long table is left to `long`."""
    if path.is_dir():
        return 0.0
    columns, *rows = glance(path) or [[]]
    rows = [row for row in rows if len(row) == len(columns)]
    if len(columns) < 3 or len(rows) < 2 or any(find(columns[1:], role) for role in ("worker", "label")):
        return 0.0
    tasks = [row[0] for row in rows]
    answers = [{cell for cell in cells if cell} for cells in list(zip(*rows, strict=True))[1:]]
    answers = [cells for cells in answers if cells]
    seen = set().union(*answers)
    cells = sum(bool(cell) for row in rows for cell in row[1:])
    if len(set(tasks)) < len(tasks) or not all(tasks) or len(answers) < 2 or max(map(len, seen)) > 60:
        return 0.0
    sharing = sum(any(own & other for other in answers if other is not own) for own in answers[:50]) / len(answers[:50])
    if len(seen) * 2 > cells + 2 or sharing < 0.8:
        return 0.0
    return 0.4 if find(columns[:1], "task") or not columns[0] else 0.3


def wide(path: Path) -> Raw:
    """Read a matrix of tasks and workers."""
    path = Path(path)
    if path.is_dir():
        raise BadInput("a folder", file=path, expected="a file")
    table = read_table(path, strip=False)
    task, *workers = table.frame.columns
    nested = next((name for name in workers if name in table.nested), None)
    if nested is not None:
        raise BadInput(f"worker {nested!r} answers with a list or an object", file=path, expected="text or numbers")
    if not table.frame.height:
        raise BadInput("no rows below the header", file=path, expected=TABLE)
    frame, dropped = table.frame, {}
    lacking = frame[task].is_null()
    if lacking.any():
        answers = frame.filter(lacking).select(workers)
        dropped["no task"] = answers.width * answers.height - sum(answers.null_count().row(0))
    if "" in workers:
        workers.remove("")
        dropped["no worker"] = frame.filter(~lacking)[""].count()
    number = "_" * (1 + max(map(len, frame.columns)))  # a name no column has
    cells = (frame.with_row_index(number).filter(~lacking).unpivot(on=workers, index=[number, task], variable_name=number + "w",
                                                                   value_name=number + "l").drop_nulls(number + "l"))
    cells = cells.sort(number, maintain_order=True)
    rows = cells.select(pl.col(task).alias("task"), pl.col(number + "w").alias("worker"), pl.col(number + "l").alias("label"))
    asked, answered = set(frame[task].drop_nulls()), set(rows["task"].unique())
    active = set(rows["worker"].unique())
    return Raw(format="wide", rows=rows, tasks=in_order(asked - answered),
               worker_ids=[name for name in workers if name not in active], notes=table.notes,
               dropped={reason: count for reason, count in dropped.items() if count}, where=Cell(table.where, cells[number].to_numpy()))


@dataclass(frozen=True, slots=True)
class Cell:
    """Answer number -> the row of the matrix it stands in."""

    where: Where
    rows: np.ndarray

    def __call__(self, answer: int) -> tuple[Path, int | None]:
        return self.where(int(self.rows[answer]))


def write(data: Raw, out: Path) -> list[Path]:
    """A matrix with all tasks and workers, in the form the suffix asks for."""
    out, rows = Path(out), rows_of(data, "wide")
    if "worker" not in rows.columns:
        raise BadCall("a wide table has a column for each worker, and these answers name none; long holds them")
    rows = rows.select("task", "worker", "label").drop_nulls("label")
    again = rows.select("task", "worker").is_duplicated()
    if again.any():
        task, worker = rows.row(again.arg_max())[:2]
        raise BadCall(f"worker {worker!r} answered task {task!r} more than once; a wide table holds one answer, long holds all")
    tasks = in_order({*rows["task"].unique(), *data.tasks})
    workers = in_order({*rows["worker"].unique(), *data.worker_ids})
    if len(tasks) * len(workers) > CELLS:
        raise BadCall(f"{len(tasks)} tasks x {len(workers)} workers are too many cells for a wide table; long holds the answers only")
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
        write_table(frame.with_columns(missing).select(key, *workers), new(out.name), out.name)
    return [out]
