"""Amazon Mechanical Turk: the results of a batch as CSV.

    HITId, ..., WorkerId, AssignmentStatus, ..., SubmitTime, ..., WorkTimeInSeconds, ..., Input.*, Answer.*

- The task is `Input.id` where there is one, else the `HITId`.
- Several `Answer.*` columns are several questions; columns `Answer.q.LABEL` that hold nothing but true and false are one,
  `q`, and those that are true its labels. `Answer.taskAnswers`, JSON as crowd forms write it, is taken apart:
  a group of buttons is a question, several ticked boxes are several labels.
- Rejected assignments are dropped and counted.
- `WorkTimeInSeconds`, the time for the whole assignment, is kept as `seconds`, `SubmitTime` as `when`, the inputs as
  items. WorkerId is personal data: `--hash-workers` hides it. Nothing else about people is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import polars as pl

from ...core.dataset import Raw
from ...core.errors import BadInput
from ._export import Export, a_file, as_lists, cell, content, finish, labels_of, moment, need, nothing, pick
from ._table import Table, glance, read_table
from ._text import as_text, cautious, short

EXPECTED = "the CSV of a batch: HITId, WorkerId, AssignmentStatus, ..., Input.*, Answer.*"
JSON = "Answer.taskAnswers"


@cautious
def recognise(path: Path) -> float:
    """The names of the columns are Amazon's own."""
    columns = (glance(path) or [[]])[0]
    answers = any(name.startswith("Answer.") for name in columns)
    return 0.95 if {"HITId", "WorkerId"} <= set(columns) and answers else 0.0


def mturk(path: Path, *, question: str | None = None, multilabel: Literal["rows", "binary"] = "rows") -> Raw:
    """Read the results of a batch.

    Parameters
    ----------
    question
        Which question to read: the name of an answer, without `Answer.`.
    multilabel
        rows: one row for each label of an answer; binary: each label is a question to be answered yes or no.
    """
    table, asked = _read(path)
    frame, dropped = table.frame, {}
    if JSON in asked:
        return _forms(table).raw(question, multilabel)
    name, label = pick(question, list(asked), multilabel, table.path)
    columns = {
        "at": pl.int_range(frame.height, eager=True),
        "task": _task(frame),
        "worker": frame["WorkerId"],
        "label": as_lists(frame[asked[name][0]]) if len(asked[name]) == 1 else _pressed(frame, name, asked[name]),
        "seconds": _column(frame, "WorkTimeInSeconds"),
        "when": _when(frame),
    }
    rows = pl.DataFrame([column.alias(role) for role, column in columns.items()])
    rejected = _rejected(frame)
    if rejected.any():
        dropped, rows = {"rejected assignments": int(rejected.sum())}, rows.filter(~rejected)
    return finish(
        "mturk",
        table.path,
        rows,
        table.where,
        question=name,
        multilabel=multilabel,
        asked=label,
        items=_items(frame),
        notes=table.notes,
        dropped=dropped,
    )


def questions(path: Path) -> list[str]:
    """What `--question` may be; nothing where one question only is asked."""
    table, asked = _read(path)
    if JSON in asked:
        return _forms(table).questions()
    return list(asked) if len(asked) > 1 else []


def _read(path: Path) -> tuple[Table, dict[str, list[str]]]:
    """The table, and question -> its columns."""
    table = read_table(a_file(path))
    need(table.frame.columns, ("HITId", "WorkerId"), table.path, EXPECTED)
    names = [name for name in table.frame.columns if name.startswith("Answer.") and name != "Answer."]
    if not names:
        raise BadInput("no column Answer.*", file=table.path, expected=EXPECTED)
    if not table.frame.height:
        raise nothing(table.path, {})
    if names == [JSON]:
        return table, {JSON: names}
    groups: dict[str, list[str]] = {}
    for name in names:
        group = name.rpartition(".")[0]
        if group != "Answer" and _buttons(table.frame[name]):
            groups.setdefault(group, []).append(name)
    asked: dict[str, list[str]] = {}
    for name in names:
        group = name.rpartition(".")[0]
        together = len(groups.get(group, [])) > 1 and name in groups[group] and group not in names
        asked.setdefault(group[7:] if together else name[7:], []).append(name)
    return table, asked


def _buttons(column: pl.Series) -> bool:
    """Nothing but true and false, as a form says of each of its buttons."""
    said = set(column.drop_nulls().str.to_lowercase().unique())
    return bool(said) and said <= {"true", "false"}


def _pressed(frame: pl.DataFrame, name: str, columns: list[str]) -> pl.Series:
    """The buttons that are on, as labels; nothing where nothing is said of any."""
    on = pl.DataFrame([frame[one].str.to_lowercase().alias(one.removeprefix(f"Answer.{name}.")) for one in columns])
    said = [
        None
        if all(value is None for value in row)
        else [label for label, value in zip(on.columns, row, strict=True) if value == "true"]
        for row in on.rows()
    ]
    return pl.Series(said, dtype=pl.List(pl.String))


def _column(frame: pl.DataFrame, name: str) -> pl.Series:
    return frame[name] if name in frame.columns else pl.Series(values=[None] * frame.height, dtype=pl.String)


def _when(frame: pl.DataFrame) -> pl.Series:
    return pl.Series(values=list(map(moment, _column(frame, "SubmitTime"))), dtype=pl.String)


def _task(frame: pl.DataFrame) -> pl.Series:
    return frame["Input.id"] if "Input.id" in frame.columns else frame["HITId"]


def _rejected(frame: pl.DataFrame) -> pl.Series:
    return _column(frame, "AssignmentStatus").str.strip_chars().str.to_lowercase().eq("rejected").fill_null(False)


def _items(frame: pl.DataFrame) -> dict[str, dict]:
    inputs = [name for name in frame.columns if name.startswith("Input.") and name not in ("Input.", "Input.id")]
    if not inputs:
        return {}
    table = pl.DataFrame([_task(frame).alias("task"), *(frame[name].alias(name) for name in inputs)])
    table = table.drop_nulls("task").unique("task", keep="first", maintain_order=True)
    return {
        task: content(dict(zip((name[6:] for name in inputs), values, strict=True)))
        for task, *values in table.iter_rows()
    }


# Answers in one cell -------------------------------------------------------------------------------------------------


def _forms(table: Table) -> Export:
    frame, export = (
        table.frame,
        Export("mturk", table.path, table.where, notes=list(table.notes), items=_items(table.frame)),
    )
    columns = (
        _task(frame),
        frame["WorkerId"],
        frame[JSON],
        _column(frame, "WorkTimeInSeconds"),
        _when(frame),
        _rejected(frame),
    )
    for at, (task, worker, text, taken, when, rejected) in enumerate(zip(*columns, strict=True)):
        if rejected:
            export.dropped["rejected assignments"] += 1
            continue
        said = cell(text, table.where, at)
        forms = said if isinstance(said, list) else [said or {}]
        for form in forms:
            if not isinstance(form, dict):
                raise BadInput(
                    f"{JSON} is {short(said)}",
                    file=table.path,
                    line=table.where(at)[1],
                    value=text,
                    expected="[{question: answer}]",
                )
            for name, value in _flat(form, ""):
                export.add(
                    name,
                    at,
                    task,
                    worker,
                    labels_of(value, f"the answer to {name}", table.path),
                    seconds=taken,
                    when=when,
                )
    return export


def _flat(form: dict[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    """Questions and answers; an object of true and false is a group of buttons."""
    for name, value in form.items():
        name = f"{above}{name}"
        if isinstance(value, dict) and value and all(isinstance(on, bool) for on in value.values()):
            yield name, [label for label, on in value.items() if on]
        elif isinstance(value, dict) and set(value) == {"label"}:
            yield name, value["label"]
        elif isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        elif not isinstance(value, list) or not any(isinstance(part, dict | list) for part in value):
            yield name, value if isinstance(value, list) else as_text(value)
