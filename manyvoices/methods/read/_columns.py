"""Which column is what, by its usual names or as told; long tables as answers, and the tables beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
from polars import selectors

from ...core.dataset import Raw
from ...core.errors import BadCall, BadInput, Unknown
from ...core.labels import shortened
from ._people import beside
from ._table import TABLE, CsvLine, Table, Where, read_table
from ._text import short

SPELLINGS = {  # the commonest first
    "task": (
        "task",
        "task_id",
        "taskid",
        "item",
        "item_id",
        "itemid",
        "example",
        "example_id",
        "instance",
        "instance_id",
        "sample",
        "sample_id",
        "unit",
        "unit_id",
        "object",
        "object_id",
        "document",
        "document_id",
        "doc_id",
        "text_id",
        "comment_id",
        "image_id",
        "question_id",
        "id",
    ),
    "worker": (
        "worker",
        "worker_id",
        "workerid",
        "annotator",
        "annotator_id",
        "annotatorid",
        "rater",
        "rater_id",
        "performer",
        "performer_id",
        "user",
        "user_id",
        "userid",
        "username",
        "coder",
        "coder_id",
        "judge",
        "judge_id",
        "labeler",
        "labeler_id",
        "labeller",
        "labeller_id",
        "participant",
        "participant_id",
    ),
    "label": (
        "label",
        "answer",
        "annotation",
        "class",
        "rating",
        "response",
        "judgment",
        "judgement",
        "vote",
        "category",
        "choice",
        "value",
    ),
    "truth": ("label", "truth", "true_label", "gold", "gold_label", "ground_truth", "answer", "class"),
    "count": ("count", "n", "votes", "n_votes"),
    "split": ("split",),
}


def find(columns: Sequence[str], role: str) -> str | None:
    """The column that goes by one of the usual names of its role; case, spaces, dots and dashes do not matter."""
    plain = {re.sub(r"[\s.-]+", "_", name.strip().lower()): name for name in reversed(columns)}
    return next((plain[name] for name in SPELLINGS[role] if name in plain), None)


def answers(
    table: Table,
    format: str,
    *,
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    question: str | None = None,
) -> Raw:
    """The answers of a long table: columns named, rows without a task or a worker dropped and counted."""
    frame, where = table.frame, table.where
    roles = _roles(table, task, worker, label)
    others = [name for name in frame.columns if name not in roles.values()]
    for role, name in roles.items():
        if name in table.nested:
            row, value = table.nested[name]
            at, by_line = where(row)[1], where.unit == "line"
            raise BadInput(
                f"the {role}{'' if by_line else f' in {where.unit} {at}'} is a list or an object, {short(value)}",
                file=table.path,
                line=at if by_line else None,
                value=value,
                expected="text or a number; --from hf reads files with lists of answers, and explode makes them rows of a frame",
            )
    if not frame.height:
        raise BadInput("no rows below the header", file=table.path, expected=TABLE)

    # New names first: a method of a column called `^x$` takes its name for a pattern.
    rows = pl.DataFrame(
        [frame[name].alias(role) for role, name in roles.items()]
        + [frame[name].alias(_free(name, others)) for name in others]
    )
    for role in roles:
        if (rows[role] == "").any():
            rows = rows.with_columns(pl.when(pl.col(role) != "").then(pl.col(role)))
    keep, about = pl.repeat(True, rows.height, dtype=pl.Boolean, eager=True), {}
    dropped: dict[str, int] = {}
    if "question" in others and _several(rows):
        question = choose(question, rows["question"].drop_nulls().unique().to_list(), table.path)
        keep, about = (rows["question"] == question).fill_null(False), {"question": question}
        if rows["question"].null_count():
            dropped["no question"] = rows["question"].null_count()
        rows = rows.drop("question")
    elif question is not None:
        raise Unknown.name("question", question, [])
    for role in [role for role in ("task", "worker") if role in roles]:
        lacking = rows[role].is_null() & keep
        if lacking.any():
            dropped[f"no {role}"] = int(lacking.sum())
            keep = keep & ~lacking
    if not keep.all():
        rows, where = rows.filter(keep), Kept(where, keep.arg_true())
    if not rows.height:
        raise BadInput("no row has both a task and a worker", file=table.path, expected=TABLE)
    notes = list(table.notes)
    if "count" in roles:
        rows = _counted(rows, where)
    elif "worker" not in roles:
        notes.append(f"{table.path.name}: no column names the workers")
    return beside(Raw(format=format, rows=rows, about=about, notes=notes, dropped=dropped, where=where), table.path)


def _roles(table: Table, task: str | None, worker: str | None, label: str | None) -> dict[str, str]:
    """Role -> column, where no column plays two roles."""
    given, columns = {"task": task, "worker": worker, "label": label}, table.frame.columns
    named = [name for name in given.values() if name is not None]
    if len(set(named)) < len(named):
        raise BadCall(f"--task, --worker and --label name different columns; given: {', '.join(named)}")
    roles: dict[str, str] = {}
    for role, name in given.items():
        if name is not None and name not in columns and name.strip() not in columns:
            raise BadInput(
                f"no column {short(name)} for the {role}; columns found: {listed(columns)}",
                file=table.path,
                value=name,
                expected=f"one of these after --{role}",
            )
        free = [c for c in columns if c not in roles.values() and c not in given.values()]
        found = find(free, role) if name is None else name if name in columns else name.strip()
        if found is not None:
            roles[role] = found
    count = None if "worker" in roles else find([c for c in columns if c not in roles.values()], "count")
    if count is not None:
        roles["count"] = count
    for role in given:
        if role in roles or (role == "worker" and (count is not None or of_nobody(columns))):
            continue
        raise BadInput(
            f"no column for the {role}; columns found: {listed(columns)}",
            file=table.path,
            line=table.where(-1)[1] if isinstance(table.where, CsvLine) else None,  # the header stands above row 0
            value=listed(columns),
            expected=f"{', '.join(SPELLINGS[role][:5])}, ..., or the column's name after --{role}",
        )
    return roles


def of_nobody(columns: Sequence[str]) -> bool:
    """Whether a table without workers is one of labels and no more, or what `predict` writes."""
    return len(columns) == 2 or {"task", "split", "label", "prob"} <= set(columns)


def rows_of(data: Raw, format: str, *, named: bool = False) -> pl.DataFrame:
    """The answers, for a format that holds nothing else, and perhaps (`named`) only those of workers."""
    if data.rows is None:
        raise BadCall(f"there are no answers to write, and {format} holds nothing else; native holds items too")
    if named and "worker" not in data.rows.columns:
        raise BadCall(f"{format} needs to know who gave an answer, and these answers name nobody; long holds them")
    return one_by_one(data.rows)


def one_by_one(rows: pl.DataFrame) -> pl.DataFrame:
    """Answers of workers that were counted together stand singly again."""
    if not {"worker", "count"} <= set(rows.columns):
        return rows
    return rows.filter(pl.col("count") > 0).select(pl.exclude("count").repeat_by("count")).explode(selectors.all())


def one_a_pair(rows: pl.DataFrame, format: str) -> pl.DataFrame:
    """Task, worker, label, for a format that has one place for a worker's answer to a task."""
    rows = rows.select("task", "worker", "label").drop_nulls("label")
    again = rows.select("task", "worker").is_duplicated()
    if again.any():
        task, worker = rows.row(again.arg_max())[:2]
        raise BadCall(
            f"worker {worker!r} answered task {task!r} more than once; {format} has room for one answer, long for all"
        )
    return rows


def listed(columns: Sequence[str]) -> str:
    names = [shortened(" ".join(name.splitlines())) for name in columns[:20]]
    return ", ".join(names) + (f", ... ({len(columns)})" if len(columns) > 20 else "")


def _free(name: str, others: list[str]) -> str:
    """A further column may not pass for one of ours: it gets a line after its name."""
    taken = {"task", "worker", "label", "count"}
    while name in taken:
        taken, name = taken | set(others), f"{name}_"
    return name


def _several(rows: pl.DataFrame) -> bool:
    """A column `question` names questions if a task has several, or few serve many tasks; else it is a text."""
    pairs = rows.select("task", "question").drop_nulls().unique()
    names, tasks = pairs["question"].n_unique(), pairs["task"].n_unique()
    return names > 1 and (pairs.height > tasks or names * 5 <= tasks)


def questions_in(table: Table, task: str | None = None) -> list[str]:
    """What `--question` may be; nothing where one question only is asked."""
    frame, task = table.frame, task or find(table.frame.columns, "task")
    if task not in frame.columns or "question" not in frame.columns:
        return []
    pairs = pl.DataFrame([frame[task].alias("task"), frame["question"]])
    return sorted(pairs["question"].drop_nulls().unique()) if _several(pairs) else []


def choose(question: str | None, names: Sequence[str], path: Path) -> str:
    """One of several questions; not to choose is a wrong call, answered with the list of them."""
    if question is None:
        several = ", ".join(sorted(names))
        problem = BadCall(f"{path}: several questions: {several}; choose one with --question")
        problem.expected = several
        raise problem
    if question not in names:
        raise Unknown.name("question", question, names)
    return question


def _counted(rows: pl.DataFrame, where: Where) -> pl.DataFrame:
    counts = rows["count"].cast(pl.Int64, strict=False)
    bad = counts.is_null() | (counts < 0)
    if bad.any():
        row = bad.to_list().index(True)
        file, line = where(row)
        raise BadInput(
            f"the count is {short(rows['count'][row])}",
            file=file,
            line=line,
            value=rows["count"][row],
            expected="a whole number",
        )
    return rows.with_columns(counts)


@dataclass(frozen=True, slots=True)
class Kept:
    """Places of the rows that were kept."""

    where: Where
    rows: pl.Series

    @property
    def unit(self) -> str:
        return self.where.unit

    def __call__(self, row: int) -> tuple[Path, int | None]:
        return self.where(self.rows[row])


def side(path: Path, *roles: str) -> Table:
    """A table beside the answers: columns named by role, then the rest. Rows without an id go, with a note."""
    table = read_table(path)
    names: dict[str, str] = {}
    for role in roles:
        name = find([c for c in table.frame.columns if c not in names.values()], role)
        if name is None:
            raise BadInput(
                f"no column for the {role}; columns found: {listed(table.frame.columns)}",
                file=path,
                expected=f"the columns {', '.join(roles)}",
            )
        names["label" if role == "truth" else role] = name
    rest = [name for name in table.frame.columns if name not in names.values() and name not in names]
    frame = pl.DataFrame(
        [table.frame[name].alias(role) for role, name in names.items()] + [table.frame[name] for name in rest]
    )
    there = frame[roles[0]].is_not_null()
    if there.all():
        return replace(table, frame=frame)
    lacking = len(there) - there.sum()
    notes = [*table.notes, f"{path.name}: {lacking} row{'s' * (lacking > 1)} without a {roles[0]} left out"]
    return replace(table, frame=frame.filter(there), where=Kept(table.where, there.arg_true()), notes=notes)
