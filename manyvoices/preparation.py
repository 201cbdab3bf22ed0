"""A long CSV of any size to a coded store, in three passes of bounded memory: names, codes, order.

1. which tasks, workers and labels there are;
2. every row as one 64-bit number (task, worker, label), put in a scratch file of its range of tasks;
3. each file sorted, cut into shards, written as blocks.

What needs more than one row at a time (other formats, repeats by order, numbers, notes) is read in memory and stored then.
"""

from __future__ import annotations

import codecs
import csv
import logging
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .core.answers import Answers, Packing, cuts, shard_of
from .core.coding import Rules, classes_of, cleaned, hashed_id, left_out
from .core.dataset import Dataset, Raw
from .core.errors import BadInput, ManyVoicesError
from .core.names import Names, in_order
from .engines.disk import Writer, scratch, stored
from .methods.read._table import rows_in
from .methods.read._text import READABLE

log = logging.getLogger("manyvoices")
BATCH, BUCKET, PIECE = 1_000_000, 8_000_000, 16 << 20
LARGE = 64 << 20  # below this the plain reader needs little memory


def prepared(
    source: Path, format: str | None, read: Callable[[], Dataset], rules: Rules, options: dict[str, Any]
) -> Dataset:
    """A data set whose answers live on disk."""
    columns = streamable(source, format, rules, options)
    data = None if columns is None else streamed(source, columns, rules)
    if data is not None:
        return data
    data = read()
    return data if data.answers is None else replace(data, answers=stored(data.answers))


def streamable(source: Path, format: str | None, rules: Rules, options: dict[str, Any]) -> dict[str, str] | None:
    """Role -> column in the order of the file, if it is a large plain CSV with nothing but task, worker and label."""
    from .methods.read._columns import find

    if (
        not os.path.isfile(source)
        or not os.access(source, os.R_OK)  # the reader says so
        or source.suffix != ".csv"
        or source.stat().st_size < LARGE
        or rules.repeats != "all"
        or rules.scale == "interval"
    ):
        return None
    with source.open("rb") as file:
        header = file.readline(1 << 16)
    try:
        names = next(csv.reader([header.decode("utf-8")]), [])
    except (UnicodeDecodeError, csv.Error):
        return None
    given = {name: value for name, value in options.items() if value is not None}
    if (
        format not in (None, "long")
        or not given.keys() <= {"task", "worker", "label"}
        or names != [n.strip() for n in names]
    ):
        return None
    found = {given.get(role) or find(names, role): role for role in ("task", "worker", "label")}
    if len(names) != 3 or found.keys() != set(names) or not is_plain(source):
        return None
    return {found[name]: name for name in names}


def streamed(source: Path, columns: dict[str, str], rules: Rules) -> Dataset | None:
    """Nothing where no row is left: the careful reader says why."""
    lazy = pl.scan_csv(source, infer_schema=False).select(
        pl.when(pl.col(name) != "").then(pl.col(name)).alias(role) for role, name in columns.items()
    )
    dropped: dict[str, int] = {}
    messages: list[str] = []
    needed = [list(columns).index(role) for role in ("task", "worker")]
    told = lazy.filter(pl.col("task").is_not_null() & pl.col("worker").is_not_null())
    # asked only where a row stands, for a message
    raw = Raw("long", rows=told, where=lambda row: (source, line_of(source, row, needed)))  # type: ignore[arg-type]
    folder = scratch()
    log.info(
        "scratch space: up to %.1f GB in %s (TMPDIR chooses another place)", source.stat().st_size / 1e9, folder.parent
    )

    def batches() -> Iterator[pl.DataFrame]:
        dropped.clear()
        for rows in lazy.collect_batches(chunk_size=BATCH, maintain_order=False, engine="streaming"):
            rows = rows.filter(~pl.all_horizontal(pl.all().is_null()))  # an empty line
            for role in ("task", "worker"):
                rows = left_out(rows, pl.col(role).is_null(), f"no {role}", dropped)
            yield cleaned(rows, raw, rules, dropped)

    seen = {role: Distinct() for role in columns}
    try:
        for rows in batches():
            for role, names in seen.items():
                names.add(rows[role])
    except pl.exceptions.PolarsError:  # rows too short and too long make up for each other
        return None
    if not len(seen["task"].all()):
        return None
    tasks, workers = (Names(in_order(seen[role].all().to_list())) for role in ("task", "worker"))
    classes = classes_of(pl.DataFrame({"label": seen["label"].all()}), raw, rules, rules.scale or "nominal", messages)
    if rules.hash_workers and rules.hash_key is None:
        rules = replace(rules, hash_key=secrets.token_hex(32))
    packing = Packing(len(tasks), len(workers), len(classes))
    if not packing.fits:
        raise ManyVoicesError("tasks x workers x classes is more than 2^63; read it without --on disk")
    known, turn = workers, None
    if rules.hash_workers:
        shown = [hashed_id(name, rules.hash_key) for name in workers]
        workers = Names.ordered(shown)
        turn = workers.code(shown)
    enums = {"task": pl.Enum(tasks.to_list()), "worker": pl.Enum(known.to_list()), "label": pl.Enum(classes.to_list())}
    del seen

    size = np.zeros(len(tasks), np.int64)
    buckets = max(1, -(-source.stat().st_size // (12 * BUCKET)))
    width = -(-len(tasks) // buckets)
    paths = [folder / f"{i}.keys" for i in range(buckets)]
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("wb")) for path in paths]
        for rows in batches():
            task, worker, label = (
                rows[role].cast(enums[role]).to_physical().to_numpy() for role in ("task", "worker", "label")
            )
            worker = worker if turn is None else turn[worker]
            met, times = np.unique(task, return_counts=True)
            size[met] += times
            key = np.sort(packing.pack(task, worker, label))
            edges = np.searchsorted(packing.unpack(key)[0], np.arange(buckets + 1) * width)
            for file, (a, b) in zip(files, pairwise(edges), strict=True):
                key[a:b].tofile(file)

    writer, start = Writer(folder), np.concatenate([[0], np.cumsum(size)])
    keys, waiting = np.zeros(0, np.int64), iter(paths)
    for a, b in cuts(start):
        need = int(start[b] - start[a])
        while len(keys) < need:
            path = next(waiting)
            keys = np.concatenate([keys, np.sort(np.fromfile(path, np.int64))])
            path.unlink()
        _, worker, label = packing.unpack(keys[:need])
        writer.add(shard_of(a, b, start, worker, label, None, len(workers), len(classes)))
        keys = keys[need:]
    answers = Answers(tasks, workers, classes, rules.scale or "nominal", int(start[-1]), writer.store())
    return Dataset(answers, None, None, None, "long", {}, messages, {reason: n for reason, n in dropped.items() if n})


def is_plain(source: Path) -> bool:
    """Whether the fast reader sees in the file what the careful one sees, found out piece by piece.

    A row shorter than the header is filled up there without a word, and a zero byte is a letter: those are errors. Other
    encodings, a carriage return alone for the end of a line and unusual quotes are for the careful reader.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    begun, commas, lines, quoted, last = 0, 0, 0, False, b""
    with source.open("rb") as file:
        while piece := file.read(PIECE):
            if (at := piece.find(b"\0")) >= 0:
                line = 1 + lines + piece.count(b"\n", 0, at)
                raise BadInput(
                    f"not text (a zero byte at byte {begun + at})", file=source, line=line, expected=READABLE
                )
            try:
                if not piece.isascii() or decoder.getstate()[0]:
                    decoder.decode(piece)
            except UnicodeDecodeError:
                return False
            if b"\r" in piece or last == b"\r":
                both = last + piece if last == b"\r" else piece
                if both.count(b"\r") != both.count(b"\r\n") + both.endswith(b"\r"):
                    return False
            quoted = quoted or b'"' in piece
            commas, lines = commas + piece.count(b","), lines + piece.count(b"\n")
            begun, last = begun + len(piece), piece[-1:]
    if last == b"\r" or decoder.getstate()[0]:
        return False
    if quoted or commas != 2 * (lines + (last != b"\n")):
        for _ in rows_in(source, ",", 3):  # the first that does not fit is an error with its line
            pass
    return True


def line_of(source: Path, row: int, needed: list[int]) -> int | None:
    """The first physical line of a row, counted among those that have something in the columns needed."""
    with source.open(encoding="utf-8", newline="") as file:
        reader, line, seen = csv.reader(file), 1, -2  # the header makes it -1
        for fields in reader:
            seen += len(fields) == 3 and all(fields[column] for column in needed)
            if seen == row:
                return line
            line = reader.line_num + 1
    return None


class Distinct:
    """The different texts of many batches; merged when as many again are waiting, so the cost stays near one pass."""

    def __init__(self) -> None:
        self.merged = pl.Series(dtype=pl.String)
        self.waiting: list[pl.Series] = []

    def add(self, texts: pl.Series) -> None:
        self.waiting.append(texts.unique())
        if sum(map(len, self.waiting)) > len(self.merged):
            self.all()

    def all(self) -> pl.Series:
        self.merged, self.waiting = (
            pl.concat([self.merged.rename(""), *(s.rename("") for s in self.waiting)]).unique(),
            [],
        )
        return self.merged
