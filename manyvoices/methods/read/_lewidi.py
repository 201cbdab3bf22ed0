"""What the editions of LeWiDi share: an object of entries, one a task, in one file or a folder of splits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...core.dataset import Raw
from ...core.errors import BadInput
from ...core.names import in_order, is_integer
from ._columns import rows_of
from ._text import as_text, cautious, parse_json, peek_json, short

NAME = re.compile(r"(?P<set>.+?)_(?P<split>train|dev|val|test)(?P<rest>.*)\.json(\.gz)?", re.DOTALL)
PAIRS = {("context", "statement"): ("premise", "hypothesis"), ("question1", "question2"): ("question1", "question2")}
EXPECTED = '{id: {"text", "annotators", "annotations", "soft_label", "split", ...}}'
SPLITS = {"train": "train", "dev": "dev", "val": "dev", "test": "test"}


def looks(path: Path, kind: type) -> float:
    """How sure it is that a file, or a folder of splits, holds entries whose `annotations` are of this kind."""
    if path.is_dir():
        return 0.9 if any(looks(file, kind) for file in _splits(path)) else 0.0
    entries = [entry for key, entry in peek_json(path) if key is not None]
    fits = entries and all(
        isinstance(entry, dict)
        and isinstance(entry.get("annotations"), kind)
        and "annotators" in entry
        and ("soft_label" in entry or "annotation task" in entry)
        for entry in entries
    )
    return 0.95 if fits else 0.0


def _splits(folder: Path) -> list[Path]:
    found = [file for file in sorted(folder.iterdir()) if (name := NAME.fullmatch(file.name)) and not name["rest"]]
    return sorted(found, key=lambda file: list(SPLITS).index(_part(file, "split")))


def _part(file: Path, part: str) -> str:
    """The set, or the split, that the name of a file speaks of."""
    name = NAME.fullmatch(file.name)
    return name[part] if name else file.name.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Entry:
    """One task as the file has it."""

    file: Path
    number: int
    id: str
    task: str
    content: dict[str, Any]

    def bad(self, message: str, expected: str, value: Any = None) -> BadInput:
        return BadInput(f"entry {short(self.id)}: {message}", file=self.file, value=value, expected=expected)

    def get(self, key: str) -> dict[str, Any]:
        """A part that is an object, or empty."""
        found = self.content.get(key)
        return found if isinstance(found, dict) else {}

    def annotators(self) -> list[str]:
        listed = self.content.get("annotators")
        return [name.strip() for name in listed.split(",") if name.strip()] if isinstance(listed, str) else []


def load_entries(path: Path, kind: type) -> tuple[list[Entry], str, list[str]]:
    """The entries of a file, or of all splits in a folder; the name of the set; notes."""
    files = [path]
    if path.is_dir():
        files = [file for file in _splits(path) if cautious(lambda file: looks(file, kind))(file)]
        if not files:
            raise BadInput("no LeWiDi files", file=path, expected="NAME_train.json, NAME_dev.json or NAME_test.json")
    sets = {_part(file, "set") for file in files}
    if len(sets) > 1:
        raise BadInput(f"several data sets: {', '.join(sorted(sets))}", file=path, expected="the file or folder of one")
    entries, notes = [], []
    for file in files:
        value, said = parse_json(file, EXPECTED)
        notes += said
        if not isinstance(value, dict) or not value:
            raise BadInput(short(value), file=file, value=value, expected=EXPECTED)
        for number, (id, content) in enumerate(value.items(), 1):
            entry = Entry(file, number, id, id, content)
            if not isinstance(content, dict):
                raise entry.bad(short(content), EXPECTED)
            if not isinstance(content.get("annotations"), kind):
                raise entry.bad(
                    f"annotations are {short(content.get('annotations'))}",
                    '"0,1,..." in the order of annotators' if kind is str else "{annotator: label}",
                )
            entries.append(entry)
    if len({entry.id for entry in entries}) < len(entries):  # numbered anew in every split
        entries = [replace(entry, task=f"{_part(entry.file, 'split')}_{entry.id}") for entry in entries]
        notes.append("the splits use the same ids: tasks are called split_id")
    return entries, sets.pop(), notes


def main_question(entries: list[Entry]) -> str | None:
    return next((name for e in entries if isinstance(name := e.content.get("annotation task"), str)), None)


def raw_of(
    format: str,
    entries: list[Entry],
    answers: Callable[[Entry], Iterable[tuple[str, str | None, str | None]]],
    about: dict[str, Any],
    notes: list[str],
) -> Raw:
    """The entries as answers (worker, label, explanation), items and splits."""
    columns: tuple[list, ...] = ([], [], [], [])
    at, dropped = [], 0
    for place, entry in enumerate(entries):
        for worker, label, explanation in answers(entry):
            if not entry.id or not worker:
                dropped += 1
                continue
            for column, value in zip(columns, (entry.task, worker, label or None, explanation or None), strict=True):
                column.append(value)
            at.append(place)
    names = ("task", "worker", "label", "explanation")
    rows = pl.DataFrame(dict(zip(names, columns, strict=True)), schema=dict.fromkeys(names, pl.String))
    if not rows["explanation"].count():
        rows = rows.drop("explanation")
    asked = set(rows["task"])
    splits = [(e.task, SPLITS.get(str(e.content.get("split")))) for e in entries]
    where = Place([(entry.file, entry.number) for entry in entries], np.array(at, np.int64))
    return Raw(
        format=format,
        rows=rows,
        items=_items(entries),
        where=where,
        about=about,
        notes=notes,
        splits=pl.DataFrame(splits, schema={"task": pl.String, "split": pl.String}, orient="row").drop_nulls(),
        tasks=[e.task for e in entries if e.task not in asked],
        dropped={"no task or no worker": dropped} if dropped else {},
    )


@dataclass(frozen=True, slots=True)
class Place:
    """Answer number -> file and number of the entry."""

    entries: list[tuple[Path, int]]
    at: np.ndarray

    def __call__(self, answer: int) -> tuple[Path, int | None]:
        return self.entries[self.at[answer]]


def _items(entries: list[Entry]) -> pl.DataFrame:
    rows = [{"task": entry.task, **_content(entry), **_further(entry)} for entry in entries]
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame({n: [row.get(n) for row in rows] for n in names}, schema=dict.fromkeys(names, pl.String))


def _content(entry: Entry) -> dict[str, str | None]:
    """The text, or its two sides; a conversation is both one text and its parts."""
    text = entry.content.get("text")
    if isinstance(text, str) and text.startswith("{"):
        with suppress(ValueError, RecursionError):  # a text may happen to begin with a brace
            text = json.loads(text)
    if not isinstance(text, dict):
        return {"text": None if text is None else str(text)}
    parts = {name: value for name, value in text.items() if isinstance(value, str)}
    if len(parts) == 2:
        names = PAIRS.get(tuple(name.lower() for name in parts), ("text1", "text2"))
        return dict(zip(names, parts.values(), strict=True))
    whole = "\n".join(f"{name}: {value}" for name, value in parts.items())
    return {"text": whole, **{name: value for name, value in parts.items() if name not in ("task", "text")}}


def _further(entry: Entry) -> dict[str, str | None]:
    """Language, source, ...: plain values that do not speak of an annotator."""
    found = {"lang": entry.content.get("lang"), **entry.get("other_info")}
    apart = {"task", "text", "text1", "text2", "premise", "hypothesis", "question1", "question2", *entry.annotators()}
    return {
        name: str(as_text(value))
        for name, value in found.items()
        if isinstance(value, str | bool) and value != "" and name not in apart and "group" not in name.lower()
    }


def labels_of(raw: Raw) -> set[str]:
    return set() if raw.rows is None else set(raw.rows["label"].drop_nulls())


def classes_of(entries: Iterable[Entry], seen: set[str]) -> tuple[list[str] | None, str, list[str]]:
    """Classes as `soft_label` states them, spelled as in the answers; the scale; a note where the two do not fit."""
    stated = dict.fromkeys(key for entry in entries for key in entry.get("soft_label"))
    classes = list(dict.fromkeys(key if key in seen else _whole(key) for key in stated))
    notes = []
    if not seen <= set(classes):
        if classes:
            said = ", ".join(in_order(seen)[:20])
            notes.append(f"soft_label is about {', '.join(classes)}, answers are {said}: the answers count")
        classes = []
    every = classes or list(seen)
    return classes or None, "ordinal" if len(every) > 2 and all(map(is_integer, every)) else "nominal", notes


def _whole(key: str) -> str:
    """`0.0` as `0`."""
    return re.sub(r"^(-?\d+)\.0+$", r"\1", key)


def side_file(entries: list[Entry], ending: str) -> Path | None:
    """A file of the set that lies beside its splits."""
    file = entries[0].file.with_name(f"{_part(entries[0].file, 'set')}_{ending}")
    return file if file.is_file() else None


# Submissions ---------------------------------------------------------------------------------------------------------


def soft_labels(data: Raw, format: str) -> tuple[list[str], list[str], np.ndarray]:
    """Tasks, classes and [T, K] shares: the columns p:CLASS of predictions if there are any, else those of the answers.

    Where answers have several labels, a share is that of the workers who gave the label.
    """
    rows = rows_of(data, format).drop_nulls("label").with_columns(pl.col("label").cast(pl.String))
    tasks = in_order({*rows["task"]})
    if given := [name for name in rows.columns if name.startswith("p:")]:
        first = pl.DataFrame({"task": tasks}).join(rows.unique("task", keep="first"), on="task", how="left")
        return tasks, [name[2:] for name in given], first.select(pl.col(given).cast(pl.Float64)).to_numpy()
    classes = data.classes or in_order(set(rows["label"]))
    rows = rows if "count" in rows.columns else rows.with_columns(count=pl.lit(1))
    if data.scale == "multilabel" and "worker" in rows.columns:
        people = rows.group_by("task").agg(n=pl.col("worker").n_unique())
        rows = rows.unique(["task", "worker", "label"])
    else:
        people = rows.group_by("task").agg(n=pl.col("count").sum())
    votes = rows.group_by("task", "label").agg(pl.col("count").sum()).join(people, on="task")
    at = ({name: place for place, name in enumerate(names)} for names in (tasks, classes))
    task, label = (
        votes[role].replace_strict(places).to_numpy() for role, places in zip(("task", "label"), at, strict=True)
    )
    shares = np.zeros((len(tasks), len(classes)))
    shares[task, label] = (votes["count"] / votes["n"]).to_numpy()
    return tasks, classes, shares


def brief(share: float) -> str:
    """A share as the scorers read it: ten digits, none of them idle."""
    return f"{share:.10f}".rstrip("0").removesuffix(".")


def in_numbers(names: Iterable[str]) -> list[str]:
    """Ann2 before Ann10."""
    return sorted(
        names,
        key=lambda name: [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d{1,15})", name)],
    )
