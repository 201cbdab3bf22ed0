"""Hugging Face data sets: one row an answer, lists of answers in a row, or counts; JSON, JSON lines, Parquet, CSV, npy.

    long         comment_id, annotator_id, score, ...                          one row an answer
    parallel     annotator_ids: [3, 7], human_labels: [0, 1]                   two lists of one length
    anonymous    annotator_labels: ["neutral", "entailment"]                   nobody is named
    counts       label_counts: {"yes": 3, "no": 1}, or a column for each label
    array        counts.npy, a row a task and a column a class                  tasks and classes are 0, 1, ...

Lists and counts are found by the usual names of their columns, and GoEmotions, measuring-hate-speech and DICES by the
columns only they have. Otherwise `--map FILE.toml` says what is what:

    task = "comment_id"
    worker = "annotator_id"
    label = "toxicity"                  # a column, or a list of columns with 0 and 1 (counts where nobody is named)
    question = ["respect", "insult"]    # several columns, each a question; or one column that names the question

- Without a column for the task, rows are tasks 1, 2, ... with a note.
- Lists without workers and counts name nobody: only methods that count votes can use them.
- Other lists of that length in every row are kept as notes; what begins with `annotator_`, `rater_` or `worker_` and is the same
  in all rows of a worker is kept as the workers' attributes. Names, mails and places are not kept.
- Soft labels alone (shares that sum to one) are no counts and are refused.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from ...core.dataset import Raw
from ...core.errors import BadCall, BadInput
from ._columns import answers, find
from ._export import Export, a_file, as_lists, content, finish, need, nothing, pick
from ._people import private
from ._table import Record, Table, glance, is_array, read_table
from ._text import as_text, cautious, decode_json, short

WORKERS = (
    "annotator_ids",
    "annotators",
    "worker_ids",
    "workers",
    "rater_ids",
    "raters",
    "user_ids",
    "users",
    "annotator_id",
    "worker_id",
    "annotator",
    "worker",
    "rater_id",
)
LABELS = ("annotator_labels", "human_labels", "annotations", "labels", "ratings", "answers", "votes", "label")
COUNTS = ("label_counts", "label_count", "counts", "votes", "labels", "label", "annotations", "human_labels")
IDS = ("uid", "pairid", "pair_id", "key", "captionid", "idx", "index")
CONTENT = (
    "text",
    "comment",
    "sentence",
    "sentence1",
    "sentence2",
    "premise",
    "hypothesis",
    "text1",
    "text2",
    "question1",
    "question2",
    "context",
    "response",
    "image",
    "image_url",
    "audio",
    "url",
    "title",
    "prompt",
)
KEYS = ("task", "worker", "label", "question")
KNOWN = {  # well-known sets in long form: columns only they have; task, worker; all labels or all questions
    "GoEmotions": (("id", "rater_id", "example_very_unclear"), "id", "rater_id", "label", "[a-z]+"),
    "measuring-hate-speech": (
        ("comment_id", "annotator_id", "hate_speech_score"),
        "comment_id",
        "annotator_id",
        "question",
        "sentiment|respect|insult|humiliate|status|dehumanize|violence|genocide|attack_defend|hatespeech",
    ),
    "DICES": (("item_id", "rater_id", "Q_overall"), "item_id", "rater_id", "question", r"Q\d*_.+"),
}


@cautious
def recognise(path: Path) -> float:
    """Columns of lists and of counts with their usual names. Any other table only if no reader knows it: with a map."""
    if path.is_dir():
        return 0.0
    if is_array(path):
        return 0.55
    columns, *rows = glance(path) or [[]]
    if not rows:
        return 0.0
    if _known(columns):
        return 0.9
    cells = {name: [row[at] for row in rows if at < len(row) and row[at]] for at, name in enumerate(columns)}
    lists, objects = (
        {
            name
            for name, found in cells.items()
            if found and all(text[0] == sign and text[-1] in "]}" for text in found[:20])
        }
        for sign in "[{"
    )
    label = _named(lists, LABELS)
    if label and _named(lists - {label}, WORKERS):
        return 0.75
    if label and "Comments" not in columns and not find(columns, "worker"):
        return 0.55 if label not in ("label", "labels", "annotations") else 0.45
    if any(_are_numbers(text) for name in COUNTS if name in objects for text in cells[name][:3]):
        return 0.55
    return 0.0 if (find(columns, "task") and find(columns, "label")) or len(columns) < 2 else 0.01


def _known(columns: list[str]) -> str | None:
    return next((name for name, (own, *_) in KNOWN.items() if set(own) <= set(columns)), None)


def _named(columns: set[str], names: tuple[str, ...]) -> str | None:
    plain = {re.sub(r"[\s.-]+", "_", name.strip().lower()): name for name in sorted(columns)}
    return next((plain[name] for name in names if name in plain), None)


def _are_numbers(text: str) -> bool:
    """Counts, or shares: of those the reader says best why they are none."""
    value = _value(text)
    return (
        isinstance(value, dict)
        and bool(value)
        and all(
            isinstance(n, str | int | None) and re.fullmatch(r"\d*\.?\d+(e-?\d+)?", str(n or 0)) for n in value.values()
        )
    )


def hf(
    path: Path, *, map: str | None = None, question: str | None = None, multilabel: Literal["rows", "binary"] = "rows"
) -> Raw:
    """Read a data set.

    Parameters
    ----------
    map
        TOML file with the keys task, worker, label, question: which column is what.
    question
        Which question to read, where the map names several.
    multilabel
        rows: one row for each label of an answer; binary: each label is a question to be answered yes or no.
    """
    if is_array(a_file(path)):
        return _array(path, map, question, multilabel)
    table = read_table(path)
    roles = _roles(table, map)
    if roles is None:
        if question is not None:
            return answers(table, "hf", question=question)
        return answers(table, "hf")
    return _read(table, roles, question, multilabel)


def questions(path: Path, *, map: str | None = None) -> list[str]:
    """What `--question` may be; nothing where one question only is asked."""
    if is_array(a_file(path)):
        return []
    table = read_table(path)
    asked = _questions(table, _roles(table, map) or {})
    return asked if len(asked) > 1 else []


# Which column is what ------------------------------------------------------------------------------------------------


def _roles(table: Table, map: str | None) -> dict[str, Any] | None:
    if map is not None:
        return _mapped(table, Path(map))
    frame = table.frame
    if name := _known(frame.columns):
        own, task, worker, role, pattern = KNOWN[name]
        plain = [
            one for one in frame.columns if re.fullmatch(pattern, one) and one not in own[:2] and one not in CONTENT
        ]
        marks = {"0", "1", "0.0", "1.0", None}
        asked = [one for one in plain if role == "question" or set(frame[one].unique()) <= marks]
        if asked:
            return {"task": task, "worker": worker, role: asked}
    shapes = {name: _shape(frame[name]) for name in frame.columns}
    lists = {name for name, shape in shapes.items() if shape is list}
    task = find([name for name in frame.columns if shapes[name] is None], "task") or _named(
        {n for n in frame.columns if shapes[n] is None}, IDS
    )
    task = task or _only_id(frame, shapes)
    label = _named(lists, LABELS)
    if label:
        return {"task": task, "label": label, "worker": _named(lists - {label}, WORKERS)}
    for name in COUNTS:
        if shapes.get(name) is dict:
            return {"task": task, "label": name}
    return None


def _only_id(frame: pl.DataFrame, shapes: dict[str, type | None]) -> str | None:
    """The one column that is called something with id and differs in every row."""
    named = [
        name for name in frame.columns if shapes[name] is None and re.search(r"(?i)(^|[_.\s-])id$|[a-z]I[Dd]$", name)
    ]
    ids = [name for name in named if frame[name].n_unique() == frame.height and not frame[name].null_count()]
    return ids[0] if len(ids) == 1 else None


def _mapped(table: Table, file: Path) -> dict[str, Any]:
    expected = "task, worker, label and question, each a column (label and question also a list of columns)"
    try:
        roles = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise BadInput(
            f"cannot be read ({str(getattr(error, 'strerror', None) or error).splitlines()[0]})",
            file=file,
            expected=f"TOML with {expected}",
        ) from None
    for key, value in roles.items():
        many = (
            key in ("label", "question")
            and isinstance(value, list)
            and value
            and all(isinstance(name, str) for name in value)
        )
        if key not in KEYS or not (isinstance(value, str) or many):
            raise BadInput(f"{key} = {value!r}", file=file, value=str(value), expected=expected)
        need(
            table.frame.columns,
            [value] if isinstance(value, str) else value,
            table.path,
            f"the columns named in {file.name}",
        )
    if "label" not in roles and not isinstance(roles.get("question"), list):
        raise BadInput("no label", file=file, expected=expected)
    used = [name for value in roles.values() for name in ([value] if isinstance(value, str) else value)]
    if len(set(used)) < len(used):
        raise BadInput("a column has two roles", file=file, expected=expected)
    return roles


def _shape(column: pl.Series) -> type | None:
    """Lists or objects, if all cells that are filled are; a column of plain text is neither."""
    if column.dtype != pl.String:
        return list
    first = column.drop_nulls()
    if not len(first) or first[0][:1] not in ("[", "{"):
        return None
    sign = first[0][0]
    return {"[": list, "{": dict}[sign] if first.str.starts_with(sign).all() else None


def _value(text: str | None) -> Any:
    """A cell as JSON, or as Python prints lists; nothing else is read into it."""
    if text is None:
        return None
    try:
        return decode_json(text, Path("cell"), "")[0]
    except BadInput:
        pass
    try:
        return ast.literal_eval(text) if len(text) < 100_000 else text
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


# Reading -------------------------------------------------------------------------------------------------------------


def _questions(table: Table, roles: dict[str, Any]) -> list[str]:
    asked = roles.get("question")
    if isinstance(asked, list):
        return asked
    if isinstance(asked, str):
        return sorted(table.frame[asked].drop_nulls().unique())
    return [roles["label"]] if isinstance(roles.get("label"), str) else ["label"]


def _read(table: Table, roles: dict[str, Any], question: str | None, multilabel: str) -> Raw:
    names = _questions(table, roles)
    if not names:
        raise nothing(table.path, {})
    name, asked = pick(question, names, multilabel, table.path)
    column = name if isinstance(roles.get("question"), list) else roles["label"]
    notes, frame = list(table.notes), table.frame
    task = (
        frame[roles["task"]]
        if roles.get("task")
        else pl.Series(values=[str(row + 1) for row in range(frame.height)], dtype=pl.String)
    )
    if not roles.get("task"):
        notes.append("no column for the task: rows are tasks 1, 2, ...")
    keep = pl.repeat(True, frame.height, dtype=pl.Boolean, eager=True)
    if isinstance(roles.get("question"), str):
        keep = frame[roles["question"]].eq(name).fill_null(False)
    worker = roles.get("worker")
    shape = None if isinstance(column, list) else _shape(frame[column])
    if isinstance(column, list) and worker is None:
        return _counts(
            table,
            task,
            [{label: frame[label][at] for label in column} for at in range(frame.height)],
            keep,
            name,
            roles,
            notes,
        )
    if shape is dict:
        return _counts(table, task, [_value(text) for text in frame[column]], keep, name, roles, notes)
    if shape is list and (worker is None or _shape(frame[worker]) is list):
        return (
            _lists(table, task, column, worker, keep, name, roles, notes).raw(None, multilabel)
            if asked is None
            else _lists(table, task, column, worker, keep, name, roles, notes).raw(asked, multilabel)
        )
    label = _indicators(table, column) if isinstance(column, list) else as_lists(frame[column])
    others = _others(table, roles, worker is not None)
    rows = [pl.int_range(frame.height, eager=True).alias("at"), task.alias("task"), label.alias("label")]
    rows[2:2] = [frame[worker].alias("worker")] if worker else []
    rows += [
        frame[one].alias(one if one not in ("at", "task", "worker", "label", "count") else f"{one}_")
        for one in others["notes"]
    ]
    raw = finish(
        "hf",
        table.path,
        pl.DataFrame(rows).filter(keep),
        table.where,
        question=name,
        multilabel=multilabel,
        asked=asked,
        items=_items(frame, task, others["items"]),
        notes=notes,
        workers=_workers(frame, worker, others["workers"]) if worker else None,
    )
    return raw


def _others(table: Table, roles: dict[str, Any], named: bool) -> dict[str, list[str]]:
    """What the columns without a role are: content of items, attributes of workers, notes on answers."""
    used = {name for value in roles.values() if value for name in ([value] if isinstance(value, str) else value)}
    found: dict[str, list[str]] = {"items": [], "workers": [], "notes": []}
    for name in table.frame.columns:
        if name in used or table.frame[name].dtype != pl.String:
            continue
        if name.lower() in CONTENT:
            found["items"].append(name)
        elif not private(name):
            found[
                "workers" if named and name.lower().startswith(("annotator_", "rater_", "worker_")) else "notes"
            ].append(name)
    return found


def _items(frame: pl.DataFrame, task: pl.Series, names: list[str]) -> dict[str, dict]:
    if not names:
        return {}
    table = pl.DataFrame([task.alias("task"), *(frame[name].alias(f"{at}") for at, name in enumerate(names))])
    table = table.drop_nulls("task").unique("task", keep="first", maintain_order=True)
    return {id: content(dict(zip(names, values, strict=True))) for id, *values in table.iter_rows()}


def _workers(frame: pl.DataFrame, worker: str, names: list[str]) -> pl.DataFrame | None:
    kept = []
    for name in names:
        pairs = pl.DataFrame([frame[worker].alias("worker"), frame[name].alias("value")]).drop_nulls().unique()
        if pairs.height and not pairs["worker"].is_duplicated().any():
            kept.append(name)
    if not kept:
        return None
    table = pl.DataFrame(
        [
            frame[worker].alias("worker"),
            *(
                frame[name].alias(re.sub(r"^(annotator|rater|worker)_", "", name))
                for name in kept
                if re.sub(r"^(annotator|rater|worker)_", "", name) not in ("", "worker")
            ),
        ]
    )
    return table.drop_nulls("worker").unique("worker", keep="first", maintain_order=True)


def _indicators(table: Table, columns: list[str]) -> pl.Series:
    """Columns of 0 and 1 as lists of labels."""
    frame, said = table.frame, []
    plain = frame.select(
        pl.col(columns).replace({"1.0": "1", "0.0": "0", "true": "1", "false": "0", "True": "1", "False": "0"})
    )
    for at, values in enumerate(plain.rows()):
        if any(value not in ("0", "1", None) for value in values):
            wrong = next(i for i, value in enumerate(values) if value not in ("0", "1", None))
            raise BadInput(
                f"{columns[wrong]} is {short(values[wrong])}",
                file=table.path,
                line=table.where(at)[1],
                value=values[wrong],
                expected="0 or 1 in each column of a list of labels",
            )
        said.append(
            None
            if all(value is None for value in values)
            else [name for name, value in zip(columns, values, strict=True) if value == "1"]
        )
    return pl.Series("label", said, dtype=pl.List(pl.String))


def _lists(
    table: Table,
    task: pl.Series,
    column: str,
    worker: str | None,
    keep: pl.Series,
    name: str,
    roles: dict[str, Any],
    notes: list[str],
) -> Export:
    frame = table.frame
    export = Export("hf", table.path, table.where, named=worker is not None, notes=notes)
    further = [
        one
        for one in frame.columns
        if one not in (column, worker)
        and _shape(frame[one]) is list
        and frame[one].dtype == pl.String
        and not private(one)
    ]
    shows = [
        one
        for one in frame.columns
        if one not in (column, worker, roles.get("task"), *further) and _shape(frame[one]) is None and not private(one)
    ]
    export.items = _items(frame, task, shows)
    said = {int(at): _listed(frame[column][at], table, at, column) for at in keep.arg_true()}
    lists = {one: {at: _value(frame[one][at]) for at in said} for one in further}
    beside = {  # of one length by chance in some rows is not beside
        one: values
        for one, values in lists.items()
        if all(values[at] is None or (isinstance(values[at], list) and len(values[at]) == len(said[at])) for at in said)
    }
    for at, labels in said.items():
        people = [None] * len(labels) if worker is None else _listed(frame[worker][at], table, at, worker)
        if len(people) != len(labels):
            raise BadInput(
                f"{len(labels)} in {column} and {len(people)} in {worker}",
                file=table.path,
                line=table.where(at)[1],
                expected="a worker for each label",
            )
        for place, (person, label) in enumerate(zip(people, labels, strict=True)):
            own = {
                f"{one}_" if one in ("task", "worker", "label", "count", "at") else one: str(values[at][place])
                for one, values in beside.items()
                if values[at] is not None and not isinstance(values[at][place], dict | list | None)
            }
            export.add(
                name, at, task[at], _scalar(person, table, at, worker or column), _said(label, table, at, column), **own
            )
    if worker is None:
        notes.append(f"{column} lists labels of people who are not named")
    return export


def _listed(text: str | None, table: Table, at: int, column: str) -> list[Any]:
    value = _value(text)
    if value is not None and not isinstance(value, list | tuple):
        raise BadInput(
            f"{column} is {short(text)}", file=table.path, line=table.where(at)[1], value=text, expected="a list"
        )
    return list(value or ())


def _scalar(value: Any, table: Table, at: int, column: str) -> str | None:
    try:
        return as_text(value)
    except TypeError:
        raise BadInput(
            f"{column} holds {str(value)[:60]!r}",
            file=table.path,
            line=table.where(at)[1],
            value=str(value)[:200],
            expected="texts or numbers",
        ) from None


def _said(value: Any, table: Table, at: int, column: str) -> list[str] | None:
    values = value if isinstance(value, list) else [value]
    labels = [text for text in (_scalar(one, table, at, column) for one in values) if text is not None]
    return labels if labels or isinstance(value, list) else None


def _counts(
    table: Table, task: pl.Series, said: list[Any], keep: pl.Series, name: str, roles: dict[str, Any], notes: list[str]
) -> Raw:
    frame, rows = table.frame, []
    for at in keep.arg_true():
        counts = said[at]
        if counts is not None and not isinstance(counts, dict):
            raise BadInput(
                f"{name} is {str(counts)[:60]!r}", file=table.path, line=table.where(at)[1], expected="{label: count}"
            )
        for label, number in (counts or {}).items():
            text = re.sub(r"\.0+$", "", str(0 if number is None else number))
            if not re.fullmatch(r"\d{1,15}", text):
                soft = re.fullmatch(r"0?\.\d+(e-?\d+)?|\d+(\.\d+)?e-\d+", text)
                raise BadInput(
                    f"the count of {short(str(label))} is {short(text)}",
                    file=table.path,
                    line=table.where(at)[1],
                    value=text,
                    expected="whole numbers" + ("; soft labels are shares, not votes" if soft else ""),
                )
            rows.append((int(at), task[int(at)], str(label), int(text)))
    shape = {"at": pl.Int64, "task": pl.String, "label": pl.String, "count": pl.Int64}
    used = {roles.get("task"), *(roles["label"] if isinstance(roles.get("label"), list) else [roles.get("label")])}
    shows = [
        one
        for one in frame.columns
        if one not in used and frame[one].dtype == pl.String and _shape(frame[one]) is None and not private(one)
    ]
    return finish(
        "hf",
        table.path,
        pl.DataFrame(rows, schema=shape, orient="row"),
        table.where,
        question=name,
        items=_items(frame, task, shows),
        notes=notes,
    )


def _array(path: Path, map: str | None, question: str | None, multilabel: str) -> Raw:
    """A matrix of counts, as cifar10h-counts.npy is one."""
    if map is not None:
        raise BadCall(f"{path} has no columns with names: leave --map out")
    name, asked = pick(question, ["label"], multilabel, path)
    expected = "counts [tasks, classes]"
    try:
        counts = np.load(path, mmap_mode="r", allow_pickle=False)  # of the length its header states, or an error
    except (ValueError, OSError, EOFError, OverflowError) as error:
        raise BadInput(f"not a readable npy file ({error})", file=path, expected=expected) from None
    if counts.ndim != 2 or counts.dtype.kind not in "iuf" or not counts.size:
        raise BadInput(f"{counts.dtype} {list(counts.shape)}", file=path, expected=expected)
    T, K = counts.shape
    wrong = ~((counts >= 0) & (counts < 2**53) & (counts == np.floor(counts)))
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        soft = 0 < (value := counts[row, column].item()) < 1
        raise BadInput(
            f"the count of class {column} for task {row} is {value}",
            file=path,
            value=value,
            expected="whole numbers" + ("; soft labels are shares, not votes" if soft else ""),
        )
    tasks, classes = (pl.Series([str(at) for at in range(n)]) for n in (T, K))
    at = np.repeat(np.arange(T), K)
    rows = {
        "at": at,
        "task": tasks[at],
        "label": classes[np.tile(np.arange(K), T)],
        "count": counts.astype(np.int64).ravel(),
    }
    return finish(
        "hf",
        path,
        pl.DataFrame(rows),
        Record(path),
        question=name,
        multilabel=multilabel,
        asked=asked,
        notes=[f"{path.name}: rows are tasks 0, 1, ..., columns are classes 0, 1, ..."],
    )
