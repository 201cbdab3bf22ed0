"""What the editions of LeWiDi share: an object of entries, one a task, in one file or a folder of splits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...core.dataset import Raw
from ...core.errors import BadInput
from ...core.names import in_order, is_integer
from ._text import as_text, cautious, parse_json, peek_json, plain, short

NAME = re.compile(r"(?P<set>.+?)_(?P<split>train|dev|val|test)(?P<rest>.*)\.json(\.gz)?", re.DOTALL)
PAIRS = {("context", "statement"): ("premise", "hypothesis"), ("question1", "question2"): ("question1", "question2")}
EXPECTED = '{id: {"text", "annotators", "annotations", "soft_label", "split", ...}}'
SPLITS = {"train": "train", "dev": "dev", "val": "dev", "test": "test"}


def looks(path: Path, kind: type) -> float:
    """How sure it is that a file, or a folder of splits, holds entries whose `annotations` are of this kind."""
    if path.is_dir():
        return 0.9 if any(looks(file, kind) for file in _splits(path)) else 0.0
    entries = [entry for key, entry in peek_json(path) if key is not None]
    fits = entries and all(isinstance(entry, dict) and isinstance(entry.get("annotations"), kind) and "annotators" in entry
                           and ("soft_label" in entry or "annotation task" in entry) for entry in entries)
    return 0.95 if fits else 0.0


def _splits(folder: Path) -> list[Path]:
    found = [file for file in sorted(folder.iterdir()) if (name := NAME.fullmatch(file.name)) and not name["rest"]]
    return sorted(found, key=lambda file: list(SPLITS).index(NAME.fullmatch(file.name)["split"]))


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
    sets = {_set(file) for file in files}
    if len(sets) > 1:
        raise BadInput(f"several data sets: {', '.join(sorted(sets))}", file=path, expected="the file or folder of one")
    entries, notes = [], []
    for file in files:
        value, said = parse_json(file, EXPECTED)
        notes += said
        if not isinstance(value, dict) or not value:
            raise BadInput(short(plain(value)), file=file, value=value, expected=EXPECTED)
        for number, (id, content) in enumerate(value.items(), 1):
            entry = Entry(file, number, id, id, content)
            if not isinstance(content, dict):
                raise entry.bad(short(plain(content)), EXPECTED)
            if not isinstance(content.get("annotations"), kind):
                raise entry.bad(f"annotations are {short(plain(content.get('annotations')))}",
                                '"0,1,..." in the order of annotators' if kind is str else '{annotator: label}')
            entries.append(entry)
    if len({entry.id for entry in entries}) < len(entries):  # numbered anew in every split
        entries = [Entry(e.file, e.number, e.id, f"{NAME.fullmatch(e.file.name)['split']}_{e.id}", e.content) for e in entries]
        notes.append("the splits use the same ids: tasks are called split_id")
    return entries, sets.pop(), notes


def _set(file: Path) -> str:
    name = NAME.fullmatch(file.name)
    return name["set"] if name else file.name.partition(".")[0]


def raw_of(format: str, entries: list[Entry], answers: Callable[[Entry], Iterable[tuple[str, str | None, str | None]]],
           about: dict[str, Any], notes: list[str]) -> Raw:
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
    splits = [(e.task, SPLITS.get(e.content.get("split"))) for e in entries]
    items = [{"task": e.task, **_content(e), **_further(e)} for e in entries]
    return Raw(format=format, rows=rows, items=_table(items),
               splits=pl.DataFrame(splits, schema={"task": pl.String, "split": pl.String}, orient="row").drop_nulls(),
               tasks=[e.task for e in entries if e.task not in asked], about=about, notes=notes,
               dropped={"no task or no worker": dropped} if dropped else {}, where=Place(entries, np.array(at, np.int64)))


@dataclass(frozen=True, slots=True)
class Place:
    """Answer number -> file and number of the entry."""

    entries: list[Entry]
    at: np.ndarray

    def __call__(self, answer: int) -> tuple[Path, int | None]:
        entry = self.entries[self.at[answer]]
        return entry.file, entry.number


def _table(rows: list[dict[str, str | None]]) -> pl.DataFrame:
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in names}, schema=dict.fromkeys(names, pl.String))


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
    return {"text": "\n".join(f"{name}: {value}" for name, value in parts.items()), **{n: v for n, v in parts.items() if n != "task"}}


def _further(entry: Entry) -> dict[str, str | None]:
    """Language, source, ...: plain values that do not speak of an annotator."""
    people = set(entry.annotators())
    found = {"lang": entry.content.get("lang"), **entry.get("other_info")}
    return {name: str(as_text(value)) for name, value in found.items() if isinstance(value, str | bool) and value != ""
            and name not in people and name not in ("task", "text") and "group" not in name.lower()}


def classes_of(entries: Iterable[Entry], seen: set[str]) -> tuple[list[str] | None, str, list[str]]:
    """Classes as `soft_label` states them in the spelling of the answers, the scale, and a note where the two do not fit."""
    stated = dict.fromkeys(key for entry in entries for key in entry.get("soft_label"))
    classes = list(dict.fromkeys(key if key in seen else _whole(key) for key in stated))
    notes = []
    if not seen <= set(classes):
        if classes:
            notes.append(f"soft_label is about {', '.join(classes)}, answers are {', '.join(in_order(seen)[:20])}: the answers count")
        classes = []
    every = classes or list(seen)
    return classes or None, "ordinal" if len(every) > 2 and all(map(is_integer, every)) else "nominal", notes


def _whole(key: str) -> str:
    """`0.0` as `0`."""
    return re.sub(r"^(-?\d+)\.0+$", r"\1", key)


def side_file(entries: list[Entry], ending: str) -> Path | None:
    """A file of the set that lies beside its splits."""
    file = entries[0].file.with_name(f"{_set(entries[0].file)}_{ending}")
    return file if file.is_file() else None
