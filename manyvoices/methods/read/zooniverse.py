"""Zooniverse: the classifications of a project as CSV with JSON in its cells.

    classification_id, user_name, user_id, user_ip, workflow_id, workflow_version, created_at, gold_standard, metadata,
    annotations ([{"task": "T0", "task_label", "value"}]), subject_data, subject_ids

- The task is `subject_ids`, in older exports the key of `subject_data`.
- The worker is `user_id`, for those not logged in the hash that stands for a name. Names and addresses are never kept;
  where there is nothing but names, workers are numbered.
- Several tasks of a workflow (T0, T1, ...) are several questions, and so are those of several workflows: `1234/T0`.
- A list of values is several labels; of a drop-down menu the option chosen is the label. Drawings and other marks are
  no labels of a subject and are dropped and counted.
- A gold standard becomes the truth and is no answer.
- The time between `started_at` and `finished_at` is kept as `seconds`, `created_at` as `when`, the version of the
  workflow as `workflow_version`; a note says where there are several, since a question may have changed between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from ...core.dataset import Raw
from ...core.errors import BadInput
from ._export import Export, a_file, cell, content, labels_of, moment, need, seconds
from ._table import Table, glance, read_table
from ._text import cautious, short

EXPECTED = "the columns classification_id, annotations and subject_ids"


@cautious
def recognise(path: Path) -> float:
    """Columns no other tool has."""
    columns = set((glance(path) or [[]])[0])
    return (
        0.95 if {"classification_id", "annotations"} <= columns and columns & {"subject_ids", "subject_data"} else 0.0
    )


def zooniverse(path: Path, *, question: str | None = None, multilabel: Literal["rows", "binary"] = "rows") -> Raw:
    """Read the classifications of a project.

    Parameters
    ----------
    question
        Which task of the workflow to read: T0, T1, ...
    multilabel
        rows: one row for each label of an answer; binary: each label is a question to be answered yes or no.
    """
    return _read(path).raw(question, multilabel)


def questions(path: Path, *, multilabel: str = "rows") -> list[str]:
    """What `--question` may be; nothing where one question only is asked."""
    return _read(path).questions(multilabel)


def _read(path: Path) -> Export:
    table = read_table(a_file(path))
    older = "subject_ids" not in table.frame.columns
    need(table.frame.columns, ("annotations", "subject_data" if older else "subject_ids"), table.path, EXPECTED)
    export = Export("zooniverse", table.path, table.where, notes=list(table.notes))
    flows = set(table.frame["workflow_id"].drop_nulls()) if "workflow_id" in table.frame.columns else set()
    names = _names(table)
    texts: dict[str, str] = {}
    versions: Counter[str] = Counter()
    for at, row in enumerate(table.frame.iter_rows(named=True)):
        task = ";".join(_object(row["subject_data"], table, at)) if older else row["subject_ids"]
        about = _object(row.get("metadata"), table, at)
        beside = {
            "seconds": seconds(_text(about, "started_at"), _text(about, "finished_at")),
            "when": moment(row.get("created_at")),
            "workflow_version": row.get("workflow_version"),
        }
        versions[f"{row.get('workflow_id') or ''} {row.get('workflow_version') or ''}".strip()] += 1
        gold = str(row.get("gold_standard")).strip().lower() in ("true", "t", "1")
        for name, text, value in _answers(row["annotations"], table, at):
            if len(flows) > 1:
                name = f"{row.get('workflow_id')}/{name}"
            if value is _marks:
                export.drop(name, "drawings and marks")
                continue
            labels = labels_of(value, f"the value of {name}", table.path)
            if gold:
                export.drop(name, "gold standard (now the truth)")
                if task and labels and len(labels) == 1:
                    export.truth.setdefault(name, {}).setdefault(task, labels[0])
                continue
            if text:
                texts.setdefault(name, text)
            export.add(name, at, task, row.get("user_id") or names.get(row.get("user_name")), labels, **beside)
        if task and task not in export.items:
            shows = _object(row.get("subject_data"), table, at).get(task)
            export.items[task] = content(
                {key: value for key, value in shows.items() if not key.startswith("#") and isinstance(value, str)}
                if isinstance(shows, dict)
                else {},
                leave=("retired",),
            )
    if len(versions) > 1:
        export.notes.append(
            f"{len(versions)} versions of the workflow: "
            + ", ".join(f"{name} ({n})" for name, n in versions.most_common(5))
            + "; a question may have changed between them"
        )
    export.about["questions"] = texts
    return export


_marks = object()


def _answers(text: str | None, table: Table, at: int) -> Iterator[tuple[str, str | None, Any]]:
    """Task of the workflow, its wording, and the value."""
    said = cell(text, table.where, at) or []
    waiting = list(said) if isinstance(said, list) else [said]
    while waiting:
        part = waiting.pop(0)
        if not isinstance(part, dict) or not isinstance(part.get("task"), str):
            file, line = table.where(at)
            raise BadInput(
                f"the annotations are {short(said)}", file=file, line=line, value=text, expected='[{"task", "value"}]'
            )
        value = part.get("value")
        if (
            isinstance(value, list)
            and value
            and all(isinstance(one, dict) and "task" in one and "value" in one for one in value)
        ):
            waiting[:0] = value  # several tasks on one page
            continue
        if (
            isinstance(value, list)
            and value
            and all(isinstance(one, dict) and isinstance(one.get("choice"), str) for one in value)
        ):
            value = [one["choice"] for one in value]  # a survey: what was seen
        elif isinstance(value, list) and value and all(isinstance(one, dict) and "option" in one for one in value):
            value = [one.get("label") or one.get("value") for one in value]  # drop-down menus
        elif isinstance(value, dict) or _nested(value):
            value = _marks
        label = part.get("task_label")
        yield part["task"], label if isinstance(label, str) else None, value


def _nested(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, dict | list) for one in value)


def _object(text: str | None, table: Table, at: int) -> dict[str, Any]:
    found = cell(text, table.where, at)
    return found if isinstance(found, dict) else {}


def _text(about: dict[str, Any], key: str) -> str | None:
    return about[key] if isinstance(about.get(key), str) else None


def _names(table: Table) -> dict[str | None, str]:
    """Those without an id: a hash stays, a name becomes a number in the order of the names."""
    if "user_name" not in table.frame.columns:
        return {}
    frame = table.frame
    lacking = (
        frame["user_name"] if "user_id" not in frame.columns else frame["user_name"].filter(frame["user_id"].is_null())
    )
    found = sorted(lacking.drop_nulls().unique())
    people = [name for name in found if not name.startswith("not-logged-in-")]
    return {name: name for name in found} | {name: f"user_{number}" for number, name in enumerate(people, 1)}
