"""Shards on disk: a sorted, coded Parquet store, streamed through the same steps with bounded memory.

    blocks/00000.answers.parquet     worker (local codes), label or value, and count where there is one: about 10^6 rows
    blocks/00000.tasks.parquet       n: answers of each task of the block
    blocks/00000.workers.parquet     shard, worker: which workers each shard of the block meets

Tasks are in order over all blocks and shards are cut as in memory, so every sum has the same bits.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..core.answers import Answers, Shard
from .memory import cores, in_order, pool

BLOCK_ANSWERS = 1_000_000
BIG = 64 << 20  # results above this many bytes live in a file too


@dataclass(frozen=True)
class Block:
    """Where one file of answers stands among the tasks."""

    number: int
    shards: tuple[slice, ...]  # tasks of each shard
    classes: int


class Disk:
    """The store of `Answers` over the blocks of a folder."""

    def __init__(self, folder: Path, blocks: Iterable[Block], threads: int | None = None):
        self.folder, self.blocks, self.threads = folder, tuple(blocks), threads or cores()

    def map(self, work: Callable[[Shard], Any]) -> Iterator[Any]:
        shards = (shard for block in self.blocks for shard in load(self.folder, block))
        if self.threads == 1:
            yield from map(work, shards)
            return
        yield from in_order(pool(self.threads), work, shards, ahead=self.threads + 1)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        if np.prod(shape, dtype=float) * np.dtype(dtype).itemsize < BIG:
            return np.empty(shape, dtype)
        with tempfile.NamedTemporaryFile(
            dir=self.folder
        ) as file:  # the name goes, the mapped bytes stay until they are let go
            return np.memmap(file, dtype, "w+", shape=shape)


def load(folder: Path, block: Block) -> Iterator[Shard]:
    import polars as pl

    def table(name: str):
        return pl.read_parquet(path_of(folder, block.number, name), memory_map=False)

    rows, workers = table("answers"), table("workers")
    count = {name: rows[name].to_numpy() for name in rows.columns}
    size = table("tasks")["n"].to_numpy()
    start = np.concatenate([[0], np.cumsum(size)])
    first = block.shards[0].start
    who, shard_of = workers["worker"].to_numpy(), workers["shard"].to_numpy()
    edges = np.searchsorted(shard_of, np.arange(len(block.shards) + 1))
    for tasks, (w0, w1) in zip(block.shards, pairwise(edges), strict=True):
        a, b = tasks.start - first, tasks.stop - first
        cut = slice(int(start[a]), int(start[b]))
        column = {name: array[cut] for name, array in count.items()}
        yield Shard(
            tasks=tasks,
            workers=who[w0:w1],
            start=(start[a : b + 1] - start[a]).astype(np.int32),
            worker=column["worker"],
            label=column.get("label"),
            value=column.get("value"),
            count=column.get("count"),
            classes=block.classes,
        )


class Writer:
    """Takes shards in task order and writes them as blocks."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.blocks: list[Block] = []
        self.waiting: list[Shard] = []
        (folder / "blocks").mkdir(parents=True, exist_ok=True)

    def add(self, shard: Shard) -> None:
        self.waiting.append(shard)
        if sum(len(s.worker) for s in self.waiting) >= BLOCK_ANSWERS:
            self.flush()

    def flush(self) -> None:
        import polars as pl

        if not self.waiting:
            return
        shards, number = self.waiting, len(self.blocks)
        wide = np.result_type(*(s.worker.dtype for s in shards))
        columns = {"worker": np.concatenate([s.worker.astype(wide) for s in shards])}
        for name in ("label", "value", "count"):
            if getattr(shards[0], name) is not None:
                columns[name] = np.concatenate([getattr(s, name) for s in shards])
        tables = {
            "answers": columns,
            "tasks": {"n": np.concatenate([np.diff(s.start) for s in shards])},
            "workers": {
                "shard": np.repeat(np.arange(len(shards)), [len(s.workers) for s in shards]),
                "worker": np.concatenate([s.workers for s in shards]),
            },
        }
        for name, table in tables.items():
            pl.DataFrame(table).write_parquet(path_of(self.folder, number, name), compression="lz4", statistics=False)
        self.blocks.append(Block(number, tuple(s.tasks for s in shards), shards[0].classes))
        self.waiting = []

    def store(self, threads: int | None = None) -> Disk:
        self.flush()
        return Disk(self.folder, self.blocks, threads)


def path_of(folder: Path, number: int, name: str) -> Path:
    return folder / "blocks" / f"{number:05d}.{name}.parquet"


def scratch() -> Path:
    """A folder that goes when the process ends; TMPDIR says where."""
    folder = Path(tempfile.mkdtemp(prefix="manyvoices-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def stored(answers: Answers, folder: Path | None = None, threads: int | None = None) -> Answers:
    """The same answers with their shards on disk."""
    writer = Writer(folder or scratch())
    for shard in answers.store.map(same):
        writer.add(shard)
    return replace(answers, store=writer.store(threads))


def same(shard: Shard) -> Shard:
    return shard
