"""What the exports of labelling tools share: one question of several, lists of labels, people who stay unnamed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from ...core.dataset import Raw
from ...core.errors import BadCall, BadInput
from ...core.names import in_order, is_integer
from ._columns import Kept, choose, listed
from ._people import beside
from ._table import Where
from ._text import as_text, decode_json, plain, short, to_json

MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
SPLITS = {"train": "train", "dev": "dev", "val": "dev", "validation": "dev", "valid": "dev", "test": "test"}
BESIDE = (
    "image",
    "audio",
    "frames",
)  # in items, these are paths inside the folder of the data; an export has addresses
ORDER = ("task", "worker", "label")


# Gathering, answer by answer -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Export:
    """The answers of an export, question by question, before one question is chosen."""

    format: str
    path: Path
    where: Where
    named: bool = True  # False: nobody is named
    said: dict[str, list[tuple]] = field(default_factory=dict)  # question -> at, task, worker, labels, notes
    truth: dict[str, dict[str, str]] = field(default_factory=dict)  # question -> task -> label
    scale: dict[str, str] = field(default_factory=dict)  # question -> scale, where the tool tells
    items: dict[str, dict[str, str | None]] = field(default_factory=dict)  # task -> content
    notes: list[str] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)  # answers to all questions at once
    lost: dict[str, Counter[str]] = field(default_factory=dict)  # question -> the same of that question alone
    about: dict[str, Any] = field(default_factory=dict)

    def drop(self, question: str, reason: str) -> None:
        """An answer to one question that is none."""
        self.lost.setdefault(question, Counter())[reason] += 1

    def left_out(self, question: str | None = None) -> Counter[str]:
        """What was dropped of a question, and of those that have no other answers: nobody could ask for theirs."""
        lost = (of for name, of in self.lost.items() if name == question or name not in self.said)
        return sum(lost, self.dropped)

    def add(
        self,
        question: str,
        at: int,
        task: str | None,
        worker: str | None,
        labels: Sequence[str] | None,
        /,
        **notes: str | None,
    ) -> None:
        """An answer; no labels at all (None) is a missing answer, an empty list is none of the labels."""
        self.said.setdefault(question, []).append((at, task, worker, labels, notes))

    def questions(self, multilabel: str = "rows") -> list[str]:
        """What `--question` may be; nothing where one question only is asked."""
        names = in_order(self.said)
        if multilabel != "binary":
            return names if len(names) > 1 else []
        found = []
        for name in names:
            if not any(len(row[3] or ()) > 1 for row in self.said[name]):
                continue  # one label each: no question of yes and no
            labels = in_order({label for row in self.said[name] for label in row[3] or ()})
            found += [f"{name}: {label}" for label in labels] if len(names) > 1 else labels
        return found

    def raw(self, question: str | None = None, multilabel: str = "rows", *, mails: bool = False) -> Raw:
        """The answers to one question."""
        if not self.said:
            raise nothing(self.path, self.left_out())
        name, label = pick(question, in_order(self.said), multilabel, self.path)
        at, task, worker, labels, notes = zip(*self.said[name], strict=True)
        further = dict.fromkeys(key for note in notes for key in note)
        columns = [pl.Series("at", at, dtype=pl.Int64), pl.Series("task", task, dtype=pl.String)]
        columns += [pl.Series("worker", worker, dtype=pl.String)] if self.named else []
        columns.append(
            pl.Series("label", [None if said is None else list(said) for said in labels], pl.List(pl.String))
        )
        columns += [pl.Series(key, [note.get(key) for note in notes], dtype=pl.String) for key in further]
        truth = self.truth.get(name)
        return finish(
            self.format,
            self.path,
            pl.DataFrame(columns),
            self.where,
            question=name,
            multilabel=multilabel,
            asked=label,
            scale=self.scale.get(name),
            truth=truth,
            items=self.items,
            notes=self.notes,
            dropped=self.left_out(name),
            mails=mails,
            about=self.about,
        )


@dataclass(frozen=True, slots=True)
class Places:
    """Places of answers, where they lie in several files: file and number in it."""

    found: list[tuple[Path, int | None]]
    unit: ClassVar[str] = "record"

    def __call__(self, row: int) -> tuple[Path, int | None]:
        return self.found[row]


def nothing(path: Path, dropped: Mapping[str, int]) -> BadInput:
    why = ", ".join(f"{n} {reason}" for reason, n in dropped.items() if n)
    return BadInput(
        "no answers in it" + (f" ({why})" if why else ""), file=path, expected="labels that people gave to tasks"
    )


def pick(question: str | None, names: Sequence[str], multilabel: str, path: Path) -> tuple[str, str | None]:
    """The question, and with binary the label that is asked about."""
    if multilabel not in ("rows", "binary"):
        raise BadCall(f"multilabel {multilabel!r}: expected rows or binary")
    if multilabel == "binary":
        if len(names) == 1:
            return names[0], question
        for name in sorted(names, key=len, reverse=True):
            if question is not None and question.startswith(f"{name}: "):
                return name, question[len(name) + 2 :]
        raise BadCall(
            f"{path}: several questions: {', '.join(names)}; choose a question and one of its labels with "
            "--question 'NAME: LABEL'"
        )
    if len(names) == 1 and question in (None, names[0]):
        return names[0], None
    return choose(question, names, path), None


# One question as Raw -------------------------------------------------------------------------------------------------


def finish(
    format: str,
    path: Path,
    rows: pl.DataFrame,
    where: Where,
    *,
    question: str,
    multilabel: str = "rows",
    asked: str | None = None,
    scale: str | None = None,
    truth: Mapping[str, str] | None = None,
    items: Mapping[str, dict] | None = None,
    notes: Iterable[str] = (),
    dropped: Mapping[str, int] | None = None,
    mails: bool = False,
    about: Mapping[str, Any] | None = None,
    workers: pl.DataFrame | None = None,
) -> Raw:
    """Rows `at` (their place), task, worker where somebody is named, label (a text or a list of texts), and notes."""
    notes, dropped = list(notes), dict(dropped or {})
    texts = [name for name in rows.columns if rows.schema[name] == pl.String]
    rows = rows.with_columns(pl.when(pl.col(texts) != "").then(pl.col(texts))) if texts else rows
    for role in [role for role in ("task", "worker") if role in rows.columns]:
        lacking = rows[role].null_count()
        if lacking:
            dropped[f"no {role}"] = lacking
            rows = rows.filter(pl.col(role).is_not_null())
    if not rows.height:
        raise nothing(path, dropped)
    several = rows.schema["label"] != pl.String and bool((rows["label"].list.len() > 1).any())
    classes = together = None
    if multilabel == "binary":
        if not several:
            raise BadCall(f"{path}: answers have one label each; --multilabel binary is for several")
        asked = choose(asked, in_order(set(rows["label"].explode().drop_nulls())), path)
        yes = pl.col("label").list.contains(asked)
        rows = rows.with_columns(label=pl.when(yes).then(pl.lit("yes")).when(~yes).then(pl.lit("no")))
        truth, classes, scale = None, ["no", "yes"], "nominal"
        question = f"{question}: {asked}"
    elif rows.schema["label"] != pl.String:
        said = pl.col("label").list.unique(maintain_order=True)
        rows = rows.with_columns(label=pl.when(said.list.len() > 0).then(said))  # none of the labels: a missing one
        if several and "worker" in rows.columns:
            together = "answer"
            while together in rows.columns:
                together += "_"
            rows = rows.with_columns(pl.int_range(rows.height, eager=True).alias(together))
        rows = rows.explode("label") if several else rows.with_columns(pl.col("label").list.first())
        rows = rows.with_columns(pl.when(pl.col("label") != "").then(pl.col("label")))
        scale = "multilabel" if several else scale
    if "worker" in rows.columns and not mails:
        rows, note = without_mails(rows)
        notes += note
    known = {} if items is None else items
    answered = set(rows["task"].filter(rows["label"].is_not_null()))
    empty = [
        name for name in rows.columns if name not in (*ORDER, "at", together) and rows[name].null_count() == rows.height
    ]
    raw = Raw(
        format=format,
        rows=rows.drop("at", *empty),
        classes=classes,
        scale=scale or "nominal",
        together=together,
        notes=notes,
        tasks=[task for task in known if task not in answered],
        dropped={k: n for k, n in dropped.items() if n},
        about={**(about or {}), "question": question},
        workers=workers,
        where=Kept(where, rows["at"]),
    )
    return beside(_with_truth(_with_items(raw, known), truth or {}), path)


def without_mails(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Addresses of people become numbers, in the order of the addresses."""
    names = rows["worker"].unique().to_list()
    mails = sorted(name for name in names if MAIL.fullmatch(name.strip()))
    if not mails:
        return rows, []
    taken, mark = set(names), "mail_"
    while any(name.startswith(mark) for name in taken):
        mark = "_" + mark
    new = [f"{mark}{number}" for number in range(1, len(mails) + 1)]
    note = f"{len(mails)} workers go by an e-mail address, which is not kept: they are {mark}1, ... in its order"
    return rows.with_columns(pl.col("worker").replace(mails, new)), [note]


def _with_truth(raw: Raw, truth: Mapping[str, str]) -> Raw:
    if truth:
        raw = replace(
            raw,
            truth=pl.DataFrame(
                {"task": list(truth), "label": list(truth.values())}, schema={"task": pl.String, "label": pl.String}
            ),
        )
    return raw


def _with_items(raw: Raw, items: Mapping[str, dict]) -> Raw:
    names = dict.fromkeys(name for content in items.values() for name in content)
    if not names:
        return raw
    table = pl.DataFrame(
        [
            pl.Series("task", list(items), dtype=pl.String),
            *(pl.Series(n, [content.get(n) for content in items.values()], dtype=pl.String) for n in names),
        ]
    )
    if "split_" in names and set(table["split_"].drop_nulls()) <= SPLITS.keys():
        splits = table.select("task", split=pl.col("split_").replace(SPLITS)).drop_nulls()
        raw, table = replace(raw, splits=splits), table.drop("split_")
    return replace(raw, items=table)


# Content and cells ---------------------------------------------------------------------------------------------------


def content(record: Mapping[str, Any], leave: Iterable[str] = ()) -> dict[str, str | None]:
    """What a task shows, as text; addresses of pictures and sounds are not paths inside a folder."""
    found = {}
    for name, value in record.items():
        if name in leave or value is None or value == "":
            continue
        name = f"{name}_url" if name in BESIDE else f"{name}_" if name in ("task", "split") else name
        found[name or "_"] = shown(value)
    return found


def shown(value: Any) -> str | None:
    """Any value as text, what is nested as JSON."""
    try:
        return to_json(plain(value)) if isinstance(value, dict | list) else as_text(value)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def scalar(value: Any, what: str, path: Path, line: int | None = None) -> str | None:
    """The text of an id or a label."""
    try:
        return as_text(value)
    except TypeError:
        raise BadInput(
            f"{what} is {_short(value)}", file=path, line=line, value=str(value)[:200], expected="text or a number"
        ) from None


def labels_of(value: Any, what: str, path: Path, line: int | None = None) -> list[str] | None:
    """One label or a list of them; nothing said is missing."""
    if value is None or value == "":
        return None
    values = list(value) if isinstance(value, list | tuple) else [value]
    return [text for text in (scalar(value, what, path, line) for value in values) if text is not None]


def _short(value: Any) -> str:
    try:
        return short(value)
    except (TypeError, ValueError, RecursionError):
        return str(value)[:60]


def cell(text: str | None, where: Where, at: int) -> Any:
    """JSON in a cell; broken JSON is an error with the line."""
    if text is None:
        return None
    try:
        return decode_json(text, Path("cell"), "")[0]
    except BadInput as error:
        file, line = where(at)
        raise BadInput(
            f"{error.message}: {short(text)}", file=file, line=line, value=text[:200], expected="JSON in this cell"
        ) from None


def listed_cell(text: str | None) -> list[str] | None:
    """A cell that is a JSON list of labels, or one label as it stands."""
    if text is None:
        return None
    if text[:1] == "[" and text[-1:] == "]":
        try:
            value = decode_json(text, Path("cell"), "")[0]
            return [label for label in map(as_text, value) if label is not None]
        except (BadInput, TypeError):
            pass
    return [text]


def as_lists(column: pl.Series) -> pl.Series:
    """A column of labels, as lists where a cell holds a JSON list."""
    if not column.str.starts_with("[").any():
        return column
    return pl.Series(column.name, [listed_cell(text) for text in column.to_list()], dtype=pl.List(pl.String))


def whole(text: str) -> str:
    """`3.0`, as a column of floats has it, is 3."""
    return re.sub(r"^(-?\d+)\.0+$", r"\1", text)


def ordinal(labels: Iterable[str]) -> bool:
    """Whole numbers, more than two."""
    seen = set(labels)
    return len(seen) > 2 and all(map(is_integer, seen))


def seconds(start: str | None, end: str | None, parts: int = 1) -> str | None:
    """The time between two moments, if both are, for each of some equal parts."""
    try:
        began, ended = (
            datetime.fromisoformat(text.strip().replace(" UTC", "+00:00")) for text in (start or "", end or "")
        )
        taken = (ended - began).total_seconds()
    except (ValueError, TypeError, OverflowError):  # TypeError: one with a time zone, one without
        return None
    return spelled(taken / parts)


def spelled(taken: float) -> str:
    """Seconds as text, to a thousandth and no longer than they need be."""
    return f"{taken:.3f}".rstrip("0").rstrip(".")


MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
ZONES = {"UTC": "+00:00", "GMT": "+00:00", "PST": "-08:00", "PDT": "-07:00", "EST": "-05:00", "EDT": "-04:00"}
AMAZON = re.compile(r"\w{3} (\w{3}) +(\d{1,2}) (\d\d:\d\d:\d\d) ([A-Z]{3,4}) (\d{4})")
ZOONIVERSE = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?) UTC")


def moment(text: str | None) -> str | None:
    """A time as ISO writes it, from the ways the tools write it; any other text stays as it is."""
    if text is None:
        return None
    text = text.strip()
    if found := ZOONIVERSE.fullmatch(text):
        return f"{found[1]}T{found[2]}+00:00"
    found = AMAZON.fullmatch(text)
    if found is None or found[1] not in MONTHS:
        return text or None
    return f"{found[5]}-{MONTHS.index(found[1]) + 1:02}-{int(found[2]):02}T{found[3]}{ZONES.get(found[4], '')}"


def need(columns: Iterable[str], wanted: Iterable[str], path: Path, expected: str) -> None:
    columns = list(columns)
    lacking = [name for name in wanted if name not in columns]
    if lacking:
        raise BadInput(
            f"no column {short(lacking[0])}; columns found: {listed(columns)}",
            file=path,
            value=lacking[0],
            expected=expected,
        )


def a_file(path: Path, expected: str = "a file") -> Path:
    path = Path(path)
    if path.is_dir():
        raise BadInput("a folder", file=path, expected=expected)
    return path
