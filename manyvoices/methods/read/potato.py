"""Potato: its export as tables, or the folders of its users as they are.

    annotations.parquet              instance_id, user_id, a column per schema (with items.parquet beside)
    annotated_instances.csv, .tsv    instance_id, user, a column per schema and label: schema.label (or schema:::label)
    annotations.jsonl                {"instance_id", "user_id", "labels": {schema: {label: value}}} a line
    USER/user_state.json             "instance_id_to_label_to_value"

- Every schema is a question. Several chosen labels are several labels of one answer; Likert scales, numbers from a
  column of floats, are whole numbers on an ordinal scale.
- In the other forms a chosen label is a filled cell; a schema with one field only (a text box, a slider) answers
  with what stands in it.
- Spans (`spans.parquet`) are no labels of a task and not read. Surveys before and after the task are not read.
- A state knows how long somebody looked at an instance: kept as `seconds`, and the end of that time as `when`.
- In a folder annotations.parquet is read, else the CSV or the lines, else the users' states.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import polars as pl

from ...core.dataset import Raw
from ...core.errors import BadInput
from ._columns import listed
from ._export import Export, Places, content, listed_cell, ordinal, scalar, shown, spelled, whole
from ._table import Table, glance, is_parquet, read_records, read_table
from ._text import Number, cautious, head, parse_json, short

STATE = "instance_id_to_label_to_value"
TABLES = (
    "annotations.parquet",
    "annotated_instances.csv",
    "annotated_instances.tsv",
    "annotations.csv",
    "annotations.tsv",
    "annotations.jsonl",
)
USERS = ("user_id", "user", "annotator", "username")
NOT_ASKED = ("instance_id", "displayed_text", "text", "timestamp", "time", *USERS)
BESIDE = re.compile(
    r"annotator_origin(_detail)?|engine_(request|purpose)|span_annotations|.+\._(spans|room|room_id)", re.DOTALL
)
SPENT = re.compile(r"Time spent: (\d{1,6})d (\d{1,6})h (\d{1,6})m (\d{1,6})s")
EXPECTED = "instance_id, user_id and a column per schema; or folders with user_state.json"
Said = tuple[str, str | None, str | None, dict[str, Any], int, dict[str, str | None]]
PART = re.compile(r"(.+?)(?::::|\.)(.+)", re.DOTALL)


@cautious
def recognise(path: Path) -> float:
    """The first two columns of its Parquet, columns schema.label in its CSV, or what only its states have."""
    if path.is_dir():
        table = next((path / name for name in TABLES if (path / name).is_file()), None)
        if table is not None and _like_table(table):
            return 0.92
        return 0.92 if any(STATE in head(file)[0] for file in _states(path)[:1]) else 0.0
    if path.suffix == ".json" or path.name == "user_state.json":
        return 0.95 if f'"{STATE}"' in head(path)[0] else 0.0
    return 0.7 if _like_table(path) else 0.0


def _like_table(path: Path) -> bool:
    columns = (glance(path) or [[]])[0]
    if "instance_id" not in columns or not set(columns) & set(USERS) or len(columns) < 3:
        return False
    if _of_lines(path):
        return "labels" in columns
    if is_parquet(path):
        return {"instance_id", "user_id"} <= set(columns) and not {"start", "end"} <= set(columns)
    return any(PART.fullmatch(name) for name in columns)


def potato(path: Path, *, question: str | None = None, multilabel: Literal["rows", "binary"] = "rows") -> Raw:
    """Read an export, or the folders of the users.

    Parameters
    ----------
    question
        Which schema to read.
    multilabel
        rows: one row for each label of an answer; binary: each label is a question to be answered yes or no.
    """
    return _read(Path(path)).raw(question, multilabel)


def questions(path: Path, *, multilabel: str = "rows") -> list[str]:
    """What `--question` may be; nothing where one question only is asked."""
    return _read(Path(path)).questions(multilabel)


def _read(path: Path) -> Export:
    file = path
    if path.is_dir():
        found = next((path / name for name in TABLES if (path / name).is_file()), None)
        if found is None:
            states = _states(path)
            if not states:
                raise BadInput("no annotations", file=path, expected=EXPECTED)
            return _from_states(path, states)
        file = found
    elif path.is_file() and path.suffix == ".json":
        return _from_states(path, [path])
    if file.is_file() and _of_lines(file):
        return _from_lines(file)
    table = read_table(file)
    user = next((name for name in USERS if name in table.frame.columns), None)
    if "instance_id" not in table.frame.columns or user is None:
        raise BadInput(f"columns found: {listed(table.frame.columns)}", file=file, expected=EXPECTED)
    export = Export("potato", file, table.where, notes=list(table.notes))
    asked = [name for name in table.frame.columns if name not in NOT_ASKED and not BESIDE.fullmatch(name)]
    if is_parquet(file):
        _columns(export, table, user, asked)
    else:
        parted = {part[1] for name in asked if (part := PART.fullmatch(name))}
        _fields(export, table, user, [name for name in asked if name not in parted])  # those: Potato's own summary
    _with_items(export, table, file)
    return _scaled(export)


def _columns(export: Export, table: Table, user: str, asked: list[str]) -> None:
    """A column a schema: texts, floats, or lists."""
    kinds = pl.read_parquet_schema(table.path)
    for name in asked:
        if table.frame[name].dtype != pl.String:
            continue
        many = kinds[name].is_nested()
        for at, (task, worker, text) in enumerate(
            zip(table.frame["instance_id"], table.frame[user], table.frame[name], strict=True)
        ):
            labels = (
                None
                if text is None
                else listed_cell(text)
                if many
                else [whole(text) if kinds[name].is_float() else text]
            )
            export.add(name, at, task, worker, labels)


def _fields(export: Export, table: Table, user: str, asked: list[str]) -> None:
    """A column a label, filled where it was chosen."""
    schemas: dict[str, dict[str, str]] = {}
    for name in asked:
        part = PART.fullmatch(name)
        schemas.setdefault(part[1] if part else name, {})[part[2] if part else name] = name
    for schema, fields in schemas.items():
        plain = len(fields) == 1 and not _flags(table.frame[next(iter(fields.values()))], next(iter(fields)))
        for at, row in enumerate(table.frame.select("instance_id", user, *fields.values()).rows()):
            values = dict(zip(fields, row[2:], strict=True))
            export.add(schema, at, row[0], row[1], _chosen(values.items(), plain))


def _flags(values: Iterable[Any], field: str) -> bool:
    """Whether a field says no more than that it was chosen."""
    return {str(value).lower() for value in values if value is not None} <= {
        "true",
        "false",
        "1",
        "1.0",
        "on",
        field.lower(),
    }


def _chosen(values: Iterable[tuple[str, Any]], plain: bool) -> list[str] | None:
    found = [
        (field, value) for field, value in values if value not in (None, "", False) and str(value).lower() != "false"
    ]
    if not found:
        return None
    return [label for _, value in found if (label := shown(value))] if plain else [field for field, _ in found]


def _with_items(export: Export, table: Table, file: Path) -> None:
    beside = file.with_name("items.parquet")
    if beside.is_file() and beside != file:
        items = read_table(beside)
        export.notes += items.notes
        if "instance_id" in items.frame.columns:
            for row in items.frame.iter_rows(named=True):
                if row["instance_id"] is not None:
                    export.items[row["instance_id"]] = content(row, leave=("instance_id",))
            return
    text = next((name for name in ("displayed_text", "text") if name in table.frame.columns), None)
    if text:
        for task, shows in table.frame.select("instance_id", text).rows():
            if task is not None and shows is not None:
                export.items.setdefault(task, {"text": shows})


def _scaled(export: Export) -> Export:
    for name, said in export.said.items():
        if ordinal(label for row in said for label in row[3] or ()):
            export.scale[name] = "ordinal"
    return export


# Lines of JSON -------------------------------------------------------------------------------------------------------


def _of_lines(file: Path) -> bool:
    """What is wrong with a file that is no text, its reader says better."""
    return not is_parquet(file) and cautious(lambda file: head(file)[0].lstrip()[:1] == "{")(file) > 0


def _from_lines(file: Path) -> Export:
    records = read_records(file, EXPECTED)
    export = Export("potato", file, records.where, notes=list(records.notes))
    found: list[Said] = []
    for at, record in enumerate(records.rows):
        task, *people = (scalar(record.get(key), f"{key} of record {at + 1}", file) for key in ("instance_id", *USERS))
        if not isinstance(labels := record.get("labels"), dict):
            raise BadInput(f"labels are {str(labels)[:60]}", file=file, line=records.where(at)[1], expected=EXPECTED)
        for schema, fields in labels.items():
            chosen = {str(label): True for label in fields} if isinstance(fields, list) else {schema: fields}
            found.append(
                (schema, task, next(filter(None, people), None), fields if isinstance(fields, dict) else chosen, at, {})
            )
    return _gathered(export, found)


# The states of users -------------------------------------------------------------------------------------------------


def _states(folder: Path) -> list[Path]:
    return (
        sorted(folder.glob("*/user_state.json"))
        or sorted(folder.glob("*/*/user_state.json"))
        or sorted(folder.glob("user_state.json"))
    )


def _from_states(path: Path, files: list[Path]) -> Export:
    places: list[tuple[Path, int | None]] = []
    export = Export("potato", path, Places(places))
    found: list[Said] = []
    for file in files:
        state, notes = parse_json(file, f'{{"user_id", "{STATE}"}}')
        export.notes += notes
        if not isinstance(state, dict) or not isinstance(state.get(STATE), dict):
            raise BadInput(f"no {STATE}", file=file, expected=f'{{"user_id", "{STATE}"}}')
        user = state.get("user_id")
        worker = user if isinstance(user, str) and user else file.resolve().parent.name
        for number, (task, said) in enumerate(state[STATE].items(), 1):
            places.append((file, number))
            schemas: dict[str, dict[str, Any]] = {}
            for schema, field, value in _pairs(said, file, number):
                schemas.setdefault(schema, {})[field] = value
            spent = _spent(state, task)
            found += [(schema, task, worker, fields, len(places) - 1, spent) for schema, fields in schemas.items()]
    return _gathered(export, found)


def _spent(state: dict[str, Any], task: str) -> dict[str, str | None]:
    """Seconds looked at a task, and until when; of what is not said, nothing."""
    about = state.get("instance_id_to_behavioral_data")
    about = about.get(task) if isinstance(about, dict) else None
    if not isinstance(about, dict):
        return {}
    taken, ended = (about.get(key) for key in ("total_time_ms", "session_end"))
    found: dict[str, str | None] = {"when": str(ended) if isinstance(ended, Number) else None}
    if isinstance(taken, Number):
        found["seconds"] = spelled(float(taken) / 1000)
    elif part := SPENT.search(str(about.get("time_string"))):
        days, hours, minutes, seconds = map(int, part.groups())
        found["seconds"] = str(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    return found


def _gathered(export: Export, found: list[Said]) -> Export:
    fields: dict[str, set[str]] = {}
    for schema, _, _, values, _, _ in found:
        fields.setdefault(schema, set()).update(values)
    plain = {
        schema
        for schema, names in fields.items()
        if len(names) == 1
        and not _flags(
            (value for s, _, _, values, *_ in found if s == schema for value in values.values()), next(iter(names))
        )
    }
    for schema, task, worker, values, at, spent in found:
        export.add(schema, at, task, worker, _chosen(values.items(), schema in plain), **spent)
    return _scaled(export)


def _pairs(said: Any, file: Path, number: int) -> Iterable[tuple[str, str, Any]]:
    """Schema, field and value, from pairs [{schema, name}, value] or from {schema: {field: value}}."""
    if isinstance(said, dict):
        for schema, fields in said.items():
            for field, value in (fields if isinstance(fields, dict) else {schema: fields}).items():
                yield schema, field, value
        return
    for pair in said if isinstance(said, list) else [None]:
        label = pair[0] if isinstance(pair, list) and len(pair) == 2 else None
        if (
            not isinstance(label, dict)
            or not isinstance(label.get("schema"), str)
            or (name := shown(label.get("name"))) is None
        ):
            raise BadInput(
                f"an answer is {short(pair)}", file=file, line=number, expected='[{"schema", "name"}, value]'
            )
        yield label["schema"], name, pair[1]
