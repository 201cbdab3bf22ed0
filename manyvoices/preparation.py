"""A long CSV of any size to a coded store, in three passes of bounded memory: names, codes, order.

1. which tasks, workers and labels there are;
2. every row as one 64-bit number (task, worker, label), put in a scratch file of its range of tasks;
3. each file sorted, cut into shards, written as blocks.

What needs more than one row at a time (other formats, repeats by order, numbers, notes) is read in memory and stored then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .core.answers import Answers, Packing, cuts, shard_of
from .core.coding import Rules, classes_of, cleaned
from .core.dataset import Dataset, Raw
from .core.errors import ManyVoicesError
from .core.names import Names, in_order
from .engines.disk import Writer, scratch, stored

log = logging.getLogger("manyvoices")
BATCH, BUCKET = 1_000_000, 8_000_000
LARGE = 64 << 20  # below this the plain reader needs little memory


def prepared(source: Path, read: Callable[[], Dataset], rules: Rules, options: dict[str, Any]) -> Dataset:
    """A data set whose answers live on disk."""
    columns = streamable(source, rules, options)
    if columns is None:
        data = read()
        return data if data.answers is None else replace(data, answers=stored(data.answers))
    return streamed(source, columns, rules)


def streamable(source: Path, rules: Rules, options: dict[str, Any]) -> dict[str, str] | None:
    """Columns by role if the file is a large plain CSV with nothing but task, worker and label."""
    from .methods.read._columns import find

    if (
        not source.is_file()
        or source.suffix != ".csv"
        or source.stat().st_size < LARGE
        or rules.repeats != "all"
        or rules.scale == "interval"
    ):
        return None
    with source.open("rb") as file:
        header = file.readline(1 << 16)
    try:
        names = [name.strip() for name in header.decode("utf-8").rstrip("\r\n").split(",")]
    except UnicodeDecodeError:
        return None
    found = {role: options.get(role) or find(names, role) for role in ("task", "worker", "label")}
    return found if len(names) == 3 and set(found.values()) == set(names) else None  # type: ignore[return-value]


def streamed(source: Path, columns: dict[str, str], rules: Rules) -> Dataset:
    lazy = pl.scan_csv(source, infer_schema=False).select(pl.col(name).alias(role) for role, name in columns.items())
    dropped: dict[str, int] = {}
    messages: list[str] = []
    raw = Raw("long", rows=pl.DataFrame(schema=dict.fromkeys(columns, pl.String)))
    folder = scratch()
    log.info(
        "scratch space: up to %.1f GB in %s (TMPDIR chooses another place)", source.stat().st_size / 1e9, folder.parent
    )

    def batches() -> Iterator[pl.DataFrame]:
        dropped.clear()
        for rows in lazy.collect_batches(chunk_size=BATCH, maintain_order=False, engine="streaming"):
            named = rows.filter(pl.col("task").is_not_null() & pl.col("worker").is_not_null())
            dropped["no task or worker"] = dropped.get("no task or worker", 0) + len(rows) - len(named)
            yield cleaned(named, raw, rules, dropped)

    seen = {role: Distinct() for role in columns}
    for rows in batches():
        for role, names in seen.items():
            names.add(rows[role])
    tasks, workers = (Names(in_order(seen[role].all().to_list())) for role in ("task", "worker"))
    classes = classes_of(pl.DataFrame({"label": seen["label"].all()}), raw, rules, rules.scale or "nominal", messages)
    packing = Packing(len(tasks), len(workers), len(classes))
    if not packing.fits:
        raise ManyVoicesError("tasks x workers x classes is more than 2^63; read it without --on disk")
    enums = {
        "task": pl.Enum(tasks.to_list()),
        "worker": pl.Enum(workers.to_list()),
        "label": pl.Enum(classes.to_list()),
    }
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
