"""Argilla 2: records as JSON, nested (`records.to_json`) or flat (`to_list(flatten=True)`, Hugging Face data sets).

    nested    [{"id", "fields": {...}, "responses": {question: [{"value", "user_id"}]}, ...}]
    flat      id, FIELD, ..., QUESTION.responses, QUESTION.responses.users, QUESTION.responses.status, ...

JSON, JSON lines or Parquet. The worker is `user_id`.

- Only submitted responses are answers: drafts and discarded ones are dropped and counted.
- The nested form has lost the status of the responses, so that drafts and discarded ones look submitted; a note says
  so, and the flat form keeps it.
- Ratings are an ordinal scale; a list of labels is several labels. Spans and rankings are no labels of a task and are
  dropped and counted. Suggestions are not read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from ...core.dataset import Raw
from ...core.errors import BadInput
from ._export import Export, a_file, content, labels_of, ordinal, scalar
from ._table import Records, glance, is_parquet, read_records
from ._text import Number, cautious, peek_json

EXPECTED = (
    '[{"fields", "responses": {question: [{"value", "user_id"}]}}], or columns QUESTION.responses and .responses.users'
)
ENDS = (".responses", ".responses.users", ".responses.status", ".suggestion", ".suggestion.score", ".suggestion.agent")
LOST = (
    "the status of the responses is lost in this form: drafts and discarded ones look submitted (the flat form, "
    "to_list(flatten=True), keeps it)"
)


@cautious
def recognise(path: Path) -> float:
    """Fields beside responses, or columns of responses with their users."""
    first = [record for _, record in peek_json(path, 3)] if path.is_file() and not is_parquet(path) else []
    if first and all(
        isinstance(record, dict)
        and isinstance(record.get("fields"), dict)
        and isinstance(record.get("responses"), dict)
        for record in first
    ):
        return 0.95
    columns = set((glance(path) or [[]])[0])
    return 0.95 if any(name.endswith(".responses") and f"{name}.users" in columns for name in columns) else 0.0


def argilla(path: Path, *, question: str | None = None, multilabel: Literal["rows", "binary"] = "rows") -> Raw:
    """Read the records of a data set.

    Parameters
    ----------
    question
        Which question of the data set to read.
    multilabel
        rows: one row for each label of an answer; binary: each label is a question to be answered yes or no.
    """
    return _read(path).raw(question, multilabel)


def questions(path: Path, *, multilabel: str = "rows") -> list[str]:
    """What `--question` may be; nothing where one question only is asked."""
    return _read(path).questions(multilabel)


def _read(path: Path) -> Export:
    records = read_records(a_file(path), EXPECTED)
    export = Export("argilla", records.path, records.where, notes=list(records.notes))
    nested = any(isinstance(record.get("responses"), dict) for record in records.rows)
    numbers: dict[str, bool] = {}
    for at, record in enumerate(records.rows):
        task = next(
            (
                text
                for key in ("id", "_server_id")
                if (text := scalar(record.get(key), f"{key} of record {at + 1}", records.path))
            ),
            None,
        )
        given = _nested(record, at, records) if nested else _flat(record, at, records)
        for name, value, user, status in given:
            if status is not None and status != "submitted":
                why = {"draft": "drafts", "discarded": "discarded responses"}.get(status, f"status {status}")
                export.drop(name, why)
                continue
            if (isinstance(value, list) and any(isinstance(part, dict | list) for part in value)) or isinstance(
                value, dict
            ):
                export.drop(name, "spans or rankings")
                continue
            labels = labels_of(value, f"the response to {name}", records.path)
            numbers[name] = numbers.get(name, True) and isinstance(value, Number | int | float | None)
            export.add(name, at, task, user, labels)
        if task:
            fields = record.get("fields") if nested else {key: value for key, value in record.items() if _is_field(key)}
            export.items.setdefault(task, content(fields if isinstance(fields, dict) else {}))
    export.scale |= {
        name: "ordinal"
        for name, only in numbers.items()
        if only and name in export.said and ordinal(label for row in export.said[name] for label in row[3] or ())
    }
    if nested and not any("status" in part for record in records.rows for part in _parts(record)):
        export.notes.append(LOST)
    elif not nested and not any(key.endswith(".responses.status") for record in records.rows for key in record):
        export.notes.append("no column with the status of the responses: drafts and discarded ones look submitted")
    return export


def _parts(record: dict[str, Any]) -> list[dict]:
    responses = record.get("responses")
    groups = responses.values() if isinstance(responses, dict) else ()
    return [part for group in groups if isinstance(group, list) for part in group if isinstance(part, dict)]


def _nested(record: dict[str, Any], at: int, records: Records) -> list[tuple[str, Any, str | None, str | None]]:
    found: list[tuple[str, Any, str | None, str | None]] = []
    responses = record.get("responses") or {}
    for name, group in responses.items() if isinstance(responses, dict) else ():
        for part in group if isinstance(group, list) else [group] if group else []:
            if not isinstance(part, dict):
                raise BadInput(
                    f"a response to {name} is {str(part)[:60]!r}",
                    file=records.path,
                    line=records.where(at)[1],
                    value=str(part),
                    expected='{"value", "user_id"}',
                )
            user, status = (
                scalar(part.get(key), f"{key} of record {at + 1}", records.path) for key in ("user_id", "status")
            )
            found.append((name, part.get("value"), user, status))
    return found


def _flat(record: dict[str, Any], at: int, records: Records) -> list[tuple[str, Any, str | None, str | None]]:
    found: list[tuple[str, Any, str | None, str | None]] = []
    for key, values in record.items():
        if not key.endswith(".responses") or values is None:
            continue
        users = record.get(f"{key}.users")
        status = record.get(f"{key}.status")
        values, users, status = (part if isinstance(part, list) else None for part in (values, users, status))
        if (
            values is None
            or users is None
            or len(users) != len(values)
            or (status is not None and len(status) != len(values))
        ):
            raise BadInput(
                f"{key}: responses, users and status do not go together",
                file=records.path,
                line=records.where(at)[1],
                value=str(record[key])[:200],
                expected="three lists of one length",
            )
        for place, value in enumerate(values):
            user = scalar(users[place], f"a user of record {at + 1}", records.path)
            found.append(
                (
                    key.removesuffix(".responses"),
                    value,
                    user,
                    None if status is None else scalar(status[place], f"a status of record {at + 1}", records.path),
                )
            )
    return found


def _is_field(name: str) -> bool:
    return (
        not name.endswith(ENDS)
        and not name.startswith(("metadata.", "vectors."))
        and name not in ("id", "_server_id", "status", "inserted_at", "updated_at", "metadata", "vectors")
    )
