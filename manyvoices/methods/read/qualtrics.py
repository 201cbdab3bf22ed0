"""Qualtrics: responses as CSV, with three header rows.

    StartDate,...,ResponseId,RecipientLastName,...,Q1,Q2,1_Q3,2_Q3
    Start Date,...,Response ID,Recipient Last Name,...,Is this rude? ...,...
    {"ImportId":"startDate"},...,{"ImportId":"_recordId"},...,{"ImportId":"QID1"},...

- The table is wide: a row is a worker (`ResponseId`), a column a task, its text the item. Which columns are tasks is
  told by their ImportId (`QID...`); `--columns PATTERN` chooses among them.
- Columns of a loop (`1_Q3`, `2_Q3`, ...) are answers to one question, Q3, about tasks 1, 2, ...: with several such
  questions, or with other columns beside, each is a question; the columns outside loops are the question `columns`.
- Previews, tests and spam are dropped and counted.
- IP, names, e-mail addresses and places are never kept, nor is the free data beside the questions. With an embedded
  `PROLIFIC_PID` the workers are called by it, so that Prolific's demographic export beside the file can join.
- The time for the whole survey is an attribute of the worker, `duration`, and no time of an answer. Where the loop has a
  timing question (`1_Q5_Page Submit`), its time until the page was left is kept as `seconds`.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import polars as pl

from ...core.dataset import Raw
from ...core.errors import BadCall, BadInput
from ._columns import Kept
from ._export import a_file, finish, need, nothing, ordinal, pick
from ._table import Table, glance, read_table
from ._text import cautious

EXPECTED = 'three header rows: names, texts, {"ImportId": ...}; and a column ResponseId'
LOOP = re.compile(r"(\d+)_(.+)", re.DOTALL)
PAGE = re.compile(r"(\d+)_.+_Page Submit", re.DOTALL)
REST = "columns"
NOT_REAL = {
    "1": "survey previews",
    "survey preview": "survey previews",
    "2": "survey tests",
    "survey test": "survey tests",
    "8": "spam",
    "spam": "spam",
    "9": "survey previews",
    "12": "spam",
    "possible spam": "spam",
}
DURATION = "Duration (in seconds)"


@cautious
def recognise(path: Path) -> float:
    """Import ids in the third row."""
    if path.is_dir():
        return 0.0
    rows = glance(path)
    return 0.95 if len(rows) > 2 and sum('"ImportId"' in text for text in rows[2]) * 2 > len(rows[2]) else 0.0


def qualtrics(path: Path, *, question: str | None = None, columns: str | None = None) -> Raw:
    """Read the responses to a survey.

    Parameters
    ----------
    question
        Which question to read, where tasks were asked about in a loop.
    columns
        Regular expression: only columns whose whole name it matches are tasks.
    """
    table, texts, asked = _read(path, columns)
    name, _ = pick(question, list(asked), "rows", table.path)
    frame, dropped = table.frame, {}
    worker = frame["ResponseId"]
    pid = next(
        (one for one in frame.columns if one.lower() in ("prolific_pid", "prolific_id", "prolificid", "prolificpid")),
        None,
    )
    notes = list(table.notes)
    if pid is not None and frame[pid].null_count() < frame.height:
        worker, notes = frame[pid], [*notes, f"workers are called by {pid}"]
    real = pl.repeat(True, frame.height, dtype=pl.Boolean, eager=True)
    untimed = pl.Series(values=[None] * frame.height, dtype=pl.String)
    if "Status" in frame.columns:
        status = (
            frame["Status"]
            .str.strip_chars()
            .str.to_lowercase()
            .replace_strict(NOT_REAL, default=None, return_dtype=pl.String)
        )
        dropped = {why: int(n) for why, n in status.drop_nulls().value_counts().sort(status.name).rows()}
        real = status.is_null()
    cells, pages = [], _pages(frame.columns) if name != REST else {}
    for task, column in asked[name].items():
        parts = [
            pl.int_range(frame.height, eager=True).alias("at"),
            pl.repeat(task, frame.height, dtype=pl.String, eager=True).alias("task"),
            worker.alias("worker"),
            frame[column].alias("label"),
            frame[pages[task]].alias("seconds") if task in pages else untimed.alias("seconds"),
        ]
        cells.append(pl.DataFrame(parts).filter(real))
    rows = pl.concat(cells).sort("at", maintain_order=True)
    items = {task: {"text": texts[column]} for task, column in asked[name].items() if texts[column]}
    people = None
    if DURATION in frame.columns:
        people = pl.DataFrame([worker.alias("worker"), frame[DURATION].alias("duration")]).filter(real)
        people = people.drop_nulls("worker").unique("worker", keep="first", maintain_order=True)
    scale = "ordinal" if ordinal(rows["label"].drop_nulls().unique()) else None
    return finish(
        "qualtrics",
        table.path,
        rows,
        table.where,
        question=name,
        scale=scale,
        items=items,
        notes=notes,
        dropped=dropped,
        workers=people,
    )


def _pages(columns: list[str]) -> dict[str, str]:
    """Number in the loop -> the column with the time of its page, where there is one such page."""
    found = [(part[1], name) for name in columns if (part := PAGE.fullmatch(name))]
    times = Counter(number for number, _ in found)
    return {number: name for number, name in found if times[number] == 1}


def questions(path: Path) -> list[str]:
    """What `--question` may be; nothing where one question only is asked."""
    asked = _read(path, None)[2]
    return list(asked) if len(asked) > 1 else []


def _read(path: Path, pattern: str | None) -> tuple[Table, dict[str, str | None], dict[str, dict[str, str]]]:
    """The responses, what each column asks, and question -> task -> column."""
    table = read_table(a_file(path))
    frame = table.frame
    need(frame.columns, ("ResponseId",), table.path, EXPECTED)
    if frame.height < 2 or not any('"ImportId"' in (text or "") for text in frame.row(1)):
        raise BadInput("no import ids in the third row", file=table.path, line=3, expected=EXPECTED)
    texts, ids = (dict(zip(frame.columns, frame.row(row), strict=True)) for row in (0, 1))
    names = [
        name
        for name in frame.columns
        if re.search(r'"(?:\d+_)?QID', ids[name] or "")
        and not name.endswith(("_First Click", "_Last Click", "_Page Submit", "_Click Count"))
    ]
    if pattern is not None:
        try:
            names = [name for name in names if re.fullmatch(pattern, name)]
        except re.error as error:
            raise BadCall(f"columns {pattern!r}: no regular expression ({error})") from None
    asked: dict[str, dict[str, str]] = {}
    loops: dict[str, list[str]] = {}
    for name in names:
        if found := LOOP.fullmatch(name):
            loops.setdefault(found[2], []).append(found[1])
    for name in names:
        found = LOOP.fullmatch(name)
        loop = found is not None and len(loops[found[2]]) > 1
        asked.setdefault(found[2] if loop else REST, {})[found[1] if loop else name] = name
    if not asked or frame.height == 2:
        raise (
            nothing(table.path, {})
            if asked
            else BadInput("no column is a question", file=table.path, expected=EXPECTED)
        )
    rest = pl.int_range(2, frame.height, eager=True)
    body = Table(table.path, frame[2:], Kept(table.where, rest), table.notes, table.nested)
    return body, texts, asked
