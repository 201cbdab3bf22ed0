"""Toloka: the assignments of a pool as TSV.

    INPUT:text  OUTPUT:result  GOLDEN:result  HINT:text  ASSIGNMENT:task_id  ASSIGNMENT:worker_id  ...

- The task is `ASSIGNMENT:task_id`, which the usual export lacks: then it is the values of the INPUT columns, joined by
  ` | ` where there are several.
- Several `OUTPUT:` columns are several questions; a JSON list in a cell is several labels.
- What stands in `GOLDEN:` is the truth of that task; the answers to control tasks stay answers.
- Assignments that are rejected, skipped, expired or still active are dropped and counted.
- `submitted` is kept as `when`, the time from `started` to it as `seconds`: an assignment is a suite of tasks, so its time
  is divided by their number. Lines without content between suites are skipped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl

from ...core.dataset import Raw
from ...core.errors import BadInput
from ._export import a_file, as_lists, content, finish, listed_cell, need, nothing, pick, seconds
from ._table import Table, glance, read_table
from ._text import cautious

EXPECTED = "the columns INPUT:*, OUTPUT:* and ASSIGNMENT:worker_id"
NOT_DONE = ("REJECTED", "SKIPPED", "EXPIRED", "ACTIVE")


@cautious
def recognise(path: Path) -> float:
    """Columns in capitals before a colon."""
    columns = (glance(path) or [[]])[0]
    return 0.95 if all(any(name.startswith(part) for name in columns) for part in ("INPUT:", "OUTPUT:")) else 0.0


def toloka(path: Path, *, question: str | None = None, multilabel: Literal["rows", "binary"] = "rows") -> Raw:
    """Read the assignments of a pool.

    Parameters
    ----------
    question
        Which question to read: the name of an output, without `OUTPUT:`.
    multilabel
        rows: one row for each label of an answer; binary: each label is a question to be answered yes or no.
    """
    table, asked = _read(path)
    frame, dropped, notes = table.frame, {}, list(table.notes)
    name, label = pick(question, asked, multilabel, table.path)
    task = _task(frame, notes)
    rows = pl.DataFrame(
        [
            pl.int_range(frame.height, eager=True).alias("at"),
            task.alias("task"),
            frame["ASSIGNMENT:worker_id"].alias("worker"),
            as_lists(frame[f"OUTPUT:{name}"]).alias("label"),
            *_times(frame),
        ]
    )
    if "ASSIGNMENT:status" in frame.columns:
        status = frame["ASSIGNMENT:status"].str.strip_chars().str.to_uppercase()
        for state in NOT_DONE:
            dropped[f"{state.lower()} assignments"] = int(status.eq(state).sum())
        rows = rows.filter(~status.is_in(NOT_DONE).fill_null(False))
    return finish(
        "toloka",
        table.path,
        rows,
        table.where,
        question=name,
        multilabel=multilabel,
        asked=label,
        truth=_golden(frame, task, name, notes),
        items=_items(frame, task),
        notes=notes,
        dropped=dropped,
    )


def questions(path: Path) -> list[str]:
    """What `--question` may be; nothing where one question only is asked."""
    asked = _read(path)[1]
    return asked if len(asked) > 1 else []


def _read(path: Path) -> tuple[Table, list[str]]:
    table = read_table(a_file(path))
    need(table.frame.columns, ("ASSIGNMENT:worker_id",), table.path, EXPECTED)
    asked = [name[7:] for name in table.frame.columns if name.startswith("OUTPUT:") and name != "OUTPUT:"]
    if asked and not table.frame.height:
        raise nothing(table.path, {})
    if not asked or not any(name.startswith("INPUT:") for name in table.frame.columns):
        raise BadInput("no column OUTPUT:* or INPUT:*", file=table.path, expected=EXPECTED)
    return table, asked


def _inputs(frame: pl.DataFrame) -> list[str]:
    return [name for name in frame.columns if name.startswith("INPUT:")]


def _task(frame: pl.DataFrame, notes: list[str]) -> pl.Series:
    if "ASSIGNMENT:task_id" in frame.columns:
        return frame["ASSIGNMENT:task_id"]
    notes.append("no column ASSIGNMENT:task_id: tasks are called by their inputs")
    parts = [frame[name].fill_null("") for name in _inputs(frame)]
    task = parts[0]
    for part in parts[1:]:
        task = task + " | " + part
    nothing = pl.select(pl.all_horizontal([(part == "") for part in parts])).to_series()
    return task.set(nothing, None)


def _times(frame: pl.DataFrame) -> list[pl.Series]:
    worker, began, ended, assignment = (
        f"ASSIGNMENT:{name}" for name in ("worker_id", "started", "submitted", "assignment_id")
    )
    if ended not in frame.columns:
        return []
    when = frame[ended].alias("when")
    if began not in frame.columns:
        return [when]
    known = assignment in frame.columns and not frame[assignment].null_count()
    suite = [assignment] if known else [worker, began, ended]
    tasks = frame.select(pl.len().over(suite)).to_series()
    taken = [seconds(start, end, n) for start, end, n in zip(frame[began], frame[ended], tasks, strict=True)]
    return [pl.Series("seconds", taken, dtype=pl.String), when]


def _golden(frame: pl.DataFrame, task: pl.Series, name: str, notes: list[str]) -> dict[str, str]:
    if f"GOLDEN:{name}" not in frame.columns:
        return {}
    pairs = (
        pl.DataFrame([task.alias("task"), frame[f"GOLDEN:{name}"].alias("label")])
        .drop_nulls()
        .unique(maintain_order=True)
    )
    if len(again := pairs.filter(pairs["task"].is_duplicated())["task"].unique()):
        notes.append(f"{len(again)} control tasks have several right answers; they are left out of the truth")
        pairs = pairs.filter(~pairs["task"].is_in(again.implode()))
    right = {task: listed_cell(label) or [] for task, label in pairs.rows()}
    if many := sum(len(labels) > 1 for labels in right.values()):
        notes.append(f"{many} control tasks want several labels at once; they are left out of the truth")
    return {task: labels[0] for task, labels in right.items() if len(labels) == 1}


def _items(frame: pl.DataFrame, task: pl.Series) -> dict[str, dict]:
    names = _inputs(frame)
    table = pl.DataFrame([task.alias("task"), *(frame[name].alias(name) for name in names)])
    table = table.drop_nulls("task").unique("task", keep="first", maintain_order=True)
    return {
        task: content(dict(zip((name[6:] for name in names), values, strict=True)))
        for task, *values in table.iter_rows()
    }
