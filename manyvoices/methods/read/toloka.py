"""Toloka: the assignments of a pool as TSV.

    INPUT:text  OUTPUT:result  GOLDEN:result  HINT:text  ASSIGNMENT:task_id  ASSIGNMENT:worker_id  ...

- The task is `ASSIGNMENT:task_id`, which the usual export lacks: then it is the values of the INPUT columns, joined by
  ` | ` where there are several.
- Several `OUTPUT:` columns are several questions; a JSON list in a cell is several labels.
- What stands in `GOLDEN:` is the truth of that task; the answers to control tasks stay answers.
- Assignments that are rejected, skipped, expired or still active are dropped and counted.
- The time from `started` to `submitted` is kept as `seconds`; lines without content between task suites are skipped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl

from ...core.dataset import Raw
from ...core.errors import BadInput
from ._export import a_file, as_lists, content, finish, need, pick, seconds
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
    began, ended = (f"ASSIGNMENT:{name}" for name in ("started", "submitted"))
    if began not in frame.columns or ended not in frame.columns:
        return []
    taken = [seconds(*pair) for pair in zip(frame[began], frame[ended], strict=True)]
    return [pl.Series("seconds", taken, dtype=pl.String), frame[ended].alias("time")]


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
    return dict(pairs.rows())


def _items(frame: pl.DataFrame, task: pl.Series) -> dict[str, dict]:
    names = _inputs(frame)
    table = pl.DataFrame([task.alias("task"), *(frame[name].alias(name) for name in names)])
    table = table.drop_nulls("task").unique("task", keep="first", maintain_order=True)
    return {
        task: content(dict(zip((name[6:] for name in names), values, strict=True)))
        for task, *values in table.iter_rows()
    }
