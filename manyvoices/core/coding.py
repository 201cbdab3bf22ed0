"""From text to codes: a Raw export becomes a Dataset, checked once, with every row left out counted by its reason."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from .answers import SCALES, Answers
from .dataset import Dataset, Raw
from .errors import BadCall, BadInput
from .items import Items
from .names import Names, in_order

MANY_CLASSES = 65_536
REPEATS = ("all", "last", "first", "error")


@dataclass(frozen=True)
class Rules:
    """How to read what stands in the rows."""

    classes: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()
    strict: bool = False
    repeats: str = "all"
    scale: str | None = None
    exclude_workers: tuple[str, ...] = ()
    map_labels: tuple[tuple[str, str | None], ...] = ()  # None: a missing label
    hash_workers: bool = False
    hash_key: str | None = None
    classes_limit: int = MANY_CLASSES

    def __post_init__(self):
        if self.repeats not in REPEATS:
            raise BadCall(f"repeats is {self.repeats!r}; expected one of {', '.join(REPEATS)}")
        if self.scale is not None and self.scale not in SCALES:
            raise BadCall(f"scale is {self.scale!r}; expected one of {', '.join(SCALES)}")
        if self.hash_key is not None and not self.hash_workers:
            raise BadCall("--hash-key is the key of --hash-workers: give both, or neither")


def coded(raw: Raw, rules: Rules) -> Dataset:
    """Apply the rules, code the names, sort the rows."""
    dropped, messages = dict(raw.dropped), list(raw.notes)
    scale = rules.scale or raw.scale
    if rules.hash_workers and rules.hash_key is None:
        rules = replace(rules, hash_key=secrets.token_hex(32))
    answers = notes = None
    if raw.rows is not None:
        answers, notes = answers_of(raw.rows, raw, rules, scale, dropped, messages)
    items = items_of(raw, answers, rules, messages)
    workers = raw.workers
    if workers is not None and rules.hash_workers:
        workers = hashed(workers, rules.hash_key)
    return Dataset(
        answers, items, workers, notes, raw.format, dict(raw.about), messages, {k: v for k, v in dropped.items() if v}
    )


def answers_of(
    rows: pl.DataFrame, raw: Raw, rules: Rules, scale: str, dropped: dict, messages: list
) -> tuple[Answers, pl.DataFrame | None]:
    total = len(rows)
    named = "worker" in rows.columns
    if (
        rules.exclude_workers
        and named
        and (unknown := sorted(set(rules.exclude_workers) - set(rows["worker"].unique().to_list())))
    ):
        messages.append(f"{len(unknown)} workers to exclude have no answers: {', '.join(unknown[:5])}")
    if rules.map_labels and not rows["label"].cast(pl.String).is_in([old for old, _ in rules.map_labels]).any():
        messages.append(
            f"nobody says a label that is to be renamed: {', '.join(old for old, _ in rules.map_labels[:5])}"
        )
    rows = cleaned(rows, raw, rules, dropped)
    if named:
        rows = one_each(rows, raw, rules, scale, dropped)
    if scale == "interval":
        rows = numbers(rows, raw)
        classes = Names([])
    else:
        rows = rows.with_columns(pl.col("label").cast(pl.String))
        classes = classes_of(rows, raw, rules, scale, messages)
    if total and not len(rows):
        messages.append("no answers are left")
    if named and rules.hash_workers:
        rows = hashed(rows, rules.hash_key)
    rows = counted(rows, raw)
    task_names, task = codes(rows["task"], raw.tasks)
    worker_names, worker = (
        codes(rows["worker"], () if rules.hash_workers else raw.worker_ids) if named else (None, None)
    )
    label = rows["label"].to_numpy() if scale == "interval" else coded_by(rows["label"], classes.to_list())
    count = rows["count"].cast(pl.Int64).to_numpy() if "count" in rows.columns else None
    if not named:
        messages.append("nobody is named in these answers: only methods that count votes can use them")
    answers = Answers.from_codes(
        task, worker, label, tasks=task_names, workers=worker_names, classes=classes, scale=scale, count=count
    )
    extra = [name for name in rows.columns if name not in ("task", "worker", "label", "count", raw.together)]
    if not extra:
        return answers, None
    order = np.lexsort((label, worker if worker is not None else np.zeros(len(rows)), task))
    return answers, pl.DataFrame([rows.get_column(name) for name in extra])[order]


def cleaned(rows: pl.DataFrame, raw: Raw, rules: Rules, dropped: dict) -> pl.DataFrame:
    """What can be said of each row by itself: excluded workers, missing labels, abstentions, other names for labels."""
    if rules.exclude_workers and "worker" in rows.columns:
        rows = left_out(rows, pl.col("worker").is_in(list(rules.exclude_workers)), "excluded workers", dropped)
    rows = without_missing(rows, raw, rules, dropped)
    if raw.abstain:
        rows = left_out(rows, pl.col("label").cast(pl.String).is_in(list(raw.abstain)), "abstentions", dropped)
    return mapped(rows, rules) if rows["label"].dtype == pl.String else rows


def mapped(rows: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """Labels under their other names; no name is a missing label."""
    if not rules.map_labels:
        return rows
    old, new = zip(*rules.map_labels, strict=True)
    return rows.with_columns(pl.col("label").cast(pl.String).replace(list(old), list(new)))


def left_out(rows: pl.DataFrame, mask: pl.Expr, reason: str, dropped: dict) -> pl.DataFrame:
    kept = rows.filter(~mask)
    dropped[reason] = dropped.get(reason, 0) + len(rows) - len(kept)
    return kept


def place(raw: Raw, row: int) -> dict:
    file, line = raw.where(row) if raw.where else (None, None)
    return {"file": file, "line": line}


def first_row(raw: Raw, mask: pl.Expr) -> int:
    """Where in the file a complaint begins."""
    rows = raw.rows.lazy().with_row_index("row at").filter(mask).select("row at").head(1)
    return rows.collect(engine="streaming").item()


def without_missing(rows: pl.DataFrame, raw: Raw, rules: Rules, dropped: dict) -> pl.DataFrame:
    absent = pl.col("label").is_null()
    if rows["label"].dtype.is_float():
        absent |= pl.col("label").is_nan()
    if missing := [*rules.missing, *(old for old, new in rules.map_labels if new is None)]:
        absent |= pl.col("label").cast(pl.String).is_in(missing)
    if rules.strict and rows.select(absent.any()).item():
        raise BadInput(
            "the label is missing", **place(raw, first_row(raw, absent)), expected="a label in every row (--strict)"
        )
    return left_out(rows, absent, "missing label", dropped)


def one_each(rows: pl.DataFrame, raw: Raw, rules: Rules, scale: str, dropped: dict) -> pl.DataFrame:
    """Several answers of a worker to a task, where an answer may be several rows."""
    if rules.repeats == "all":
        return rows
    pair, known = ["task", "worker"], raw.together
    if known is None and scale == "multilabel":
        known = "task"  # nothing tells answers apart: a worker's labels of a task were chosen together
    by = pair if known is None or known in pair else [*pair, known]
    one = rows if known is None else rows.unique(by, keep="first", maintain_order=True)
    distinct = one.select(pl.struct(pair).n_unique()).item()
    if rules.repeats == "error" and distinct != len(one):
        again = raw.rows.with_row_index("row at")
        again = again if known is None else again.unique(by, keep="first", maintain_order=True)
        again = again.filter(pl.struct(pair).is_duplicated())
        task, worker = again["task"][0], again["worker"][0]
        second = again.filter((pl.col("task") == task) & (pl.col("worker") == worker))["row at"][1]
        raise BadInput(
            f"worker {worker!r} answers task {task!r} again",
            **place(raw, int(second)),
            value=worker,
            expected="one answer each (or --repeats all, first or last)",
        )
    if rules.repeats in ("first", "last") and distinct != len(one):
        kept = one.unique(pair, keep=rules.repeats, maintain_order=True)  # type: ignore[arg-type]
        kept = kept if known is None else rows.join(kept, on=by, how="semi", maintain_order="left")
        dropped[f"repeated, not the {rules.repeats}"] = len(rows) - len(kept)
        return kept
    return rows


LARGEST = 1e100  # sums of squares of such numbers are still numbers


def numbers(rows: pl.DataFrame, raw: Raw) -> pl.DataFrame:
    if rows["label"].dtype.is_float():
        value = rows["label"]
    else:
        value = rows["label"].str.strip_chars().cast(pl.Float64, strict=False)
    wrong = ~(value.is_finite() & (value.abs() <= LARGEST)).fill_null(False)
    if wrong.any():
        text = str(rows["label"].filter(wrong)[0])
        large = "too large a number" if value.filter(wrong).is_finite()[0] else "not a number"
        raise BadInput(
            f"label {text!r} is {large}",
            **place(raw, first_row(raw, pl.col("label").cast(pl.String) == text)),
            value=text,
            expected=f"numbers up to {LARGEST:g} on an interval scale",
        )
    return rows.with_columns(label=value)


def classes_of(rows: pl.DataFrame, raw: Raw, rules: Rules, scale: str, messages: list) -> Names:
    seen = rows["label"].unique().to_list()
    renamed = dict(rules.map_labels)
    stated = (
        rules.classes
        if rules.classes is not None
        else raw.classes and [new for name in raw.classes if (new := renamed.get(name, name)) is not None]
    )
    if stated is not None:
        stated = list(dict.fromkeys(stated))
        if unknown := in_order(set(seen) - set(stated)):
            known = ", ".join(stated[:12]) + (", ..." if len(stated) > 12 else "")
            at = first_row(raw, pl.col("label").cast(pl.String) == unknown[0]) if not rules.map_labels else None
            raise BadInput(
                f"label {unknown[0]!r} is not one of the classes",
                **({} if at is None else place(raw, at)),
                value=unknown[0],
                expected=f"{known} (or --classes, --map-labels, --missing)",
            )
        return Names(
            stated if scale == "ordinal" else in_order(stated)
        )  # the order stated is what an ordinal scale means
    if len(seen) > rules.classes_limit:
        raise BadInput(
            f"{len(seen)} different labels",
            file=place(raw, 0)["file"],
            value=len(seen),
            expected=f"at most {rules.classes_limit}; is this the label column? "
            "(--label NAME, --scale interval, or --classes-limit N)",
        )
    if alike := spelled_alike(seen):
        messages.append(
            "labels that look like spellings of one another: "
            + "; ".join(" = ".join(map(repr, group)) for group in alike[:5])
            + " (one class each; join them with --map-labels)"
        )
    return Names.ordered(seen)


def spelled_alike(labels: Iterable[str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for label in labels:
        plain = unicodedata.normalize("NFKC", label).casefold().replace("_", " ")
        plain = re.sub(r"(?<=\w)-+(?=\w)", " ", plain)  # elsewhere it is a sign: -1 is not 1, nor A- an A
        key = " ".join(plain.split()).strip(" .,;:!?\"'")
        groups.setdefault(key or label, []).append(label)
    return sorted(sorted(group) for group in groups.values() if len(group) > 1)


def counted(rows: pl.DataFrame, raw: Raw) -> pl.DataFrame:
    """Counts are whole numbers; a row said no times is no row."""
    if "count" not in rows.columns:
        return rows
    number = rows["count"].cast(pl.Int64, strict=False)
    if (wrong := (number.is_null() | (number < 0)).fill_null(True)).any():
        text = str(rows["count"].filter(wrong)[0])
        raise BadInput(
            f"count {text!r}",
            **place(raw, first_row(raw, pl.col("count").cast(pl.String) == text)),
            value=text,
            expected="0, 1, 2, ...",
        )
    return rows.with_columns(count=number).filter(number > 0)


def codes(column: pl.Series, stated: Iterable[str]) -> tuple[Names, np.ndarray]:
    seen = column.unique().sort().to_list()  # sorted here, in threads, so that in_order has little left to do
    names = in_order({*seen, *stated} if stated else seen)
    return Names(names), coded_by(column, names)


def coded_by(column: pl.Series, names: list[str]) -> np.ndarray:
    return column.cast(pl.Enum(names)).to_physical().to_numpy()


def hashed(table: pl.DataFrame, key: str) -> pl.DataFrame:
    """Worker ids as a keyed hash; the same key gives the same ids again."""
    ids = pl.concat([table[name].cast(pl.String).rename("") for name in ("worker", "author") if name in table.columns])
    old = ids.unique().drop_nulls().to_list()
    new = [hashed_id(name, key) for name in old]
    named = [name for name in ("worker", "author") if name in table.columns]  # an author is a worker of the same crowd
    return table.with_columns(pl.col(name).replace(old, new) for name in named)


def hashed_id(name: str, key: str) -> str:
    return "h" + hmac.new(key.encode(), name.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:16]


def items_of(raw: Raw, answers: Answers | None, rules: Rules, messages: list) -> Items | None:
    tables = [table for table in (raw.items, raw.truth, raw.splits) if table is not None]
    if not tables and raw.arrays is None:
        return None
    ids = Names.ordered({task for table in tables for task in table["task"].unique().drop_nulls().to_list()})
    truth = np.full(len(ids), -1, np.int64)
    scale = rules.scale or raw.scale
    stated = None if answers is None else answers.classes
    if stated is None and (named := rules.classes or raw.classes):
        stated = Names(list(dict.fromkeys(named)) if scale == "ordinal" else in_order(set(named)))
    classes = Names([]) if stated is None else stated
    if raw.truth is not None:
        known = mapped(raw.truth.select("task", "label"), rules).drop_nulls().unique()
        several = known.filter(pl.col("task").is_duplicated())["task"].n_unique()
        if several:
            messages.append(f"{several} tasks have two truths and count as having none")
            known = known.filter(~pl.col("task").is_duplicated())
        said = known["label"].cast(pl.String)
        classes = classes.with_others(said.unique().to_list())
        truth[ids.code(known["task"].to_list())] = classes.code(said.to_list())
    splits = raw.splits
    if splits is None and raw.items is not None and "split" in raw.items.columns:
        parts = raw.items.select("task", pl.col("split").cast(pl.String)).drop_nulls()
        splits = parts if parts.height and parts["split"].is_in(["train", "dev", "test"]).all() else None
    folder = None if (given := raw.about.get("folder")) is None else Path(given)
    return Items(ids, classes, truth, raw.items, raw.arrays, splits, folder, scale, stated, rules.strict)
