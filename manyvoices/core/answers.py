"""Answers: who said what about which task, cut into shards of whole tasks over which every method folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from .errors import BadInput, ManyVoicesError
from .fold import Work, by_task, by_worker, total
from .names import Names

SCALES = ("nominal", "ordinal", "interval", "multilabel")
SHARD_TASKS, SHARD_ANSWERS = 25_000, 250_000


@dataclass(frozen=True, eq=False)
class Shard:
    """A block of whole tasks with codes of its own for the workers it meets, rows sorted by task, worker, label."""

    tasks: slice  # which tasks of the whole
    workers: np.ndarray  # [w] local worker code -> worker of the whole, ascending
    start: np.ndarray  # [t + 1] first row of each task
    worker: np.ndarray  # [n] local codes
    label: np.ndarray | None  # [n] class codes, or
    value: np.ndarray | None  # [n] numbers on an interval scale
    count: np.ndarray | None  # [n] how often the row was said; None = once
    classes: int

    def __post_init__(self):
        for f in fields(self):
            if isinstance(array := getattr(self, f.name), np.ndarray):
                array.setflags(write=False)

    def __getstate__(self):  # without what was only kept to save time
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state):
        self.__dict__.update(state)

    @property
    def size(self) -> int:
        return len(self.start) - 1

    @cached_property
    def said(self):
        """[t, w * K] sparse: how often each local worker said each class about each task."""
        from scipy.sparse import csr_array

        wide = len(self.workers) * self.classes > np.iinfo(np.int32).max
        column = self.worker.astype(np.int64 if wide else np.int32)
        column *= self.classes
        column += self.label
        data = ones(len(column)) if self.count is None else self.count.astype(float)
        return csr_array(
            (data, column, self.start.astype(column.dtype)), shape=(self.size, len(self.workers) * self.classes)
        )

    @cached_property
    def task(self) -> np.ndarray:
        """[n] local task of each row."""
        return np.repeat(np.arange(self.size, dtype=np.int32), np.diff(self.start))

    @cached_property
    def cell(self) -> np.ndarray:
        """[n] where each row stands in a flattened [t, K] table."""
        wide = self.size * self.classes > np.iinfo(np.int32).max
        return self.task.astype(np.int64 if wide else np.int32) * self.classes + self.label

    def of_worker(self, x: np.ndarray) -> np.ndarray:
        """What a row per worker says of each answer: [n]."""
        return x.take(self.worker, axis=0)

    def of_task(self, x: np.ndarray) -> np.ndarray:
        """What a row per task says of each answer: [n]."""
        return np.repeat(x, np.diff(self.start), axis=0)

    def at(self, table: np.ndarray) -> np.ndarray:
        """What a table [t, K] holds at each answer's task and class: [n]."""
        return table.ravel().take(self.cell)

    def tally(self, weight: np.ndarray | None = None) -> np.ndarray:
        """Sum of a weight [n] of each answer (or the number of answers) by task and class: [t, K]."""
        return spread(self.weighted(weight), self.label, self.start, self.classes)

    def per_task(self, x: np.ndarray | None = None) -> np.ndarray:
        """Sum of x [n] (or the number of answers) by task: [t]."""
        if x is None and self.count is None:
            return np.diff(self.start).astype(float)
        return spread(self.weighted(x), np.zeros(len(self.worker), np.int32), self.start, 1)[:, 0]

    def per_worker(self, x: np.ndarray | None = None) -> np.ndarray:
        """Sum of x [n] (or the number of answers) by worker: [w]."""
        return spread(self.weighted(x), self.worker, None, len(self.workers))[0]

    def per_habit(self, x: np.ndarray | None = None) -> np.ndarray:
        """Sum of x [n] (or the number of answers) by worker and class said: [w, K]."""
        return spread(self.weighted(x), self.said.indices, None, len(self.workers) * self.classes)[0].reshape(
            -1, self.classes
        )

    def weighted(self, x: np.ndarray | None) -> np.ndarray:
        """x counted as often as its row was said."""
        if self.count is None:
            return ones(len(self.worker)) if x is None else x
        return self.count.astype(float) if x is None else x * self.count

    def answered(self, x: np.ndarray) -> np.ndarray:
        """The rows of x [t, ...] for tasks that have answers: the others have beliefs but teach a fit nothing."""
        held = np.diff(self.start) > 0
        return x if held.all() else x[held]


def spread(x: np.ndarray, column: np.ndarray, start: np.ndarray | None, width: int) -> np.ndarray:
    """Sum of x by row (those between two starts; None = one row) and column: a sparse matrix made dense, without the
    interpreter lock and in half the time of np.bincount."""
    from scipy.sparse import csr_array

    column = column if column.dtype in (np.int32, np.int64) else column.astype(np.int32)
    start = np.array([0, len(x)], column.dtype) if start is None else start.astype(column.dtype, copy=False)
    return csr_array((x.astype(float, copy=False), column, start), shape=(len(start) - 1, width)).toarray()


_ones = np.ones(0)


def ones(n: int) -> np.ndarray:
    """Ones shared by all shards: the data of a sparse matrix that only counts."""
    global _ones
    if len(_ones) < n:
        _ones = np.ones(max(n, SHARD_ANSWERS))
        _ones.setflags(write=False)
    return _ones[:n]


class Store(Protocol):
    """Where shards live. `map` gives work(shard) in shard order; everything else is built on it."""

    def map(self, work: Callable[[Shard], Any]) -> Iterator[Any]: ...

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray: ...


class Here:
    """Shards in this process, one after the other."""

    def __init__(self, shards: Iterable[Shard]):
        self.shards = tuple(shards)

    def map(self, work: Callable[[Shard], Any]) -> Iterator[Any]:
        return map(work, self.shards)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return np.empty(shape, dtype)


@dataclass(frozen=True, eq=False)
class Answers:
    """N answers of W workers about T tasks in K classes. `workers` is None where only counts are known."""

    tasks: Names
    workers: Names | None
    classes: Names
    scale: str
    n: int
    store: Store

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[tuple[str, str, Any]],
        *,
        tasks: Iterable[str] = (),
        workers: Iterable[str] = (),
        classes: Iterable[str] | None = None,
        scale: str = "nominal",
    ) -> Answers:
        """From (task, worker, label) triples; names not in the rows may be stated besides."""
        task, worker, label = (
            (list(column) for column in zip(*rows, strict=True)) if (rows := list(rows)) else ([], [], [])
        )
        task_names, worker_names = Names.ordered([*task, *tasks]), Names.ordered([*worker, *workers])
        if scale == "interval":
            class_names, said = Names([]), np.array(label, float)
        else:
            class_names = Names.ordered(label) if classes is None else Names(classes)
            if len(set(class_names)) < len(class_names):
                raise BadInput("a class is stated twice", value=", ".join(class_names), expected="each class once")
            if (unknown := next((x for x in label if x not in class_names), None)) is not None:
                raise BadInput(f"label {unknown!r}", value=unknown, expected=f"one of {', '.join(class_names)}")
            said = class_names.code(label)
        return cls.from_codes(
            task_names.code(task),
            worker_names.code(worker),
            said,
            tasks=task_names,
            workers=worker_names,
            classes=class_names,
            scale=scale,
        )

    @classmethod
    def from_codes(
        cls,
        task: np.ndarray,
        worker: np.ndarray | None,
        label: np.ndarray,
        *,
        tasks: Names,
        workers: Names | None,
        classes: Names,
        scale: str = "nominal",
        count: np.ndarray | None = None,
    ) -> Answers:
        """From code arrays in any order; checked here and nowhere later."""
        if scale not in SCALES:
            raise ValueError(f"scale {scale!r} is not one of {', '.join(SCALES)}")
        worker = np.zeros(len(task), np.int32) if workers is None else worker
        known = max(1, len(workers)) if workers is not None else 1
        if len({len(task), len(worker), len(label), len(task if count is None else count)}) > 1:
            raise ValueError(
                f"{len(task)} tasks, {len(worker)} workers, {len(label)} labels: expected one of each per answer"
            )
        _check("task", task, len(tasks))
        _check("worker", worker, known)
        if scale == "interval":
            label = np.asarray(label, float)
            _finite(label)
        else:
            _check("label", label, len(classes))
        task, worker, label, count = _sorted(task, worker, label, count, len(tasks), known, len(classes))
        n = len(task) if count is None else int(count.sum())
        start = np.zeros(len(tasks) + 1, np.int64)
        np.cumsum(np.bincount(task, minlength=len(tasks)), out=start[1:])
        rows = [(a, b, slice(int(start[a]), int(start[b]))) for a, b in cuts(start)]
        shards = [
            shard_of(a, b, start, worker[r], label[r], None if count is None else count[r], known, len(classes))
            for a, b, r in rows
        ]
        return cls(tasks, workers, classes, scale, n, Here(shards))

    def fold(self, step: Callable, params: Any = None) -> Any:
        """step(shard, params) over all shards, put together as the fields of its result say (see fold.py)."""
        workers = 1 if self.workers is None else len(self.workers)
        return total(self.store.map(Work(step, params)), len(self.tasks), workers, self.store.empty)

    def counts(self) -> np.ndarray:
        """How often each class was said about each task: [T, K]."""
        return self.fold(_count).votes

    def per_task(self) -> np.ndarray:
        """Number of answers of each task: [T]."""
        return self._effort.tasks

    def per_worker(self) -> np.ndarray:
        """Number of answers of each worker: [W]."""
        return self._effort.workers

    @cached_property
    def _effort(self) -> _Effort:
        """Counted once: every method asks for it, and on disk it is a pass over everything."""
        found = self.fold(_effort)
        found.tasks.setflags(write=False)
        found.workers.setflags(write=False)
        return found

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """task, worker, label (or value) of every row, sorted by them. In memory only."""
        shards = self.shards()
        task = np.concatenate([s.task + s.tasks.start for s in shards])
        worker = np.concatenate([s.workers[s.worker] for s in shards])
        return task, worker, np.concatenate([s.value if s.label is None else s.label for s in shards])

    def repeated(self) -> np.ndarray | None:
        """How often each row of `rows()` was said; None = once each."""
        shards = self.shards()
        return None if shards[0].count is None else np.concatenate([s.count for s in shards])

    def shards(self) -> tuple[Shard, ...]:
        if not hasattr(self.store, "shards"):
            raise ManyVoicesError("the answers are not in memory: read them without --on to look at single rows")
        return self.store.shards

    def take(self, mask: np.ndarray) -> Answers:
        """The answers where the mask over `rows()` is true; tasks, workers and classes stay the same."""
        task, worker, label = (column[mask] for column in self.rows())
        count = self.repeated()
        kept = Answers.from_codes(
            task,
            worker,
            label,
            tasks=self.tasks,
            workers=self.workers,
            classes=self.classes,
            scale=self.scale,
            count=None if count is None else count[mask],
        )
        return replace(self, n=kept.n, store=kept.store)


@dataclass
class _Votes:
    votes: np.ndarray = by_task()


@dataclass
class _Effort:
    tasks: np.ndarray = by_task()
    workers: np.ndarray = by_worker()


def _count(shard: Shard, _) -> _Votes:
    return _Votes(shard.tally())


def _effort(shard: Shard, _) -> _Effort:
    return _Effort(shard.per_task().astype(np.int64), shard.per_worker().astype(np.int64))


def _check(kind: str, codes: np.ndarray, known: int) -> None:
    wrong = np.flatnonzero((codes < 0) | (codes >= known))
    if len(wrong):
        raise ValueError(f"answer {wrong[0]}: {kind} code {codes[wrong[0]]} is outside the {known} known")


def _finite(values: np.ndarray) -> None:
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise ValueError(f"answer {wrong[0]}: value {values[wrong[0]]} is not a finite number")


def _sorted(task, worker, label, count, tasks: int, workers: int, classes: int):
    """Rows by task, worker, label (or value), so that no order of input can show in a result."""
    if np.issubdtype(label.dtype, np.floating):
        order = np.lexsort((label, worker, task))
        return task[order], worker[order], label[order], None if count is None else count[order]
    packing = Packing(tasks, workers, classes)
    if not packing.fits:
        order = np.lexsort((label, worker, task))
        return task[order], worker[order], label[order], None if count is None else count[order]
    key = packing.pack(task, worker, label)
    if count is None:
        key.sort()
    else:
        order = np.lexsort((count, key))
        key, count = key[order], count[order]
    return *packing.unpack(key), count


class Packing:
    """A row (task, worker, label) as one number: sorting numbers is how rows are sorted."""

    def __init__(self, tasks: int, workers: int, classes: int):
        self.bits = [max(n - 1, 1).bit_length() for n in (tasks, workers, classes)]
        self.fits, self.classes = sum(self.bits) <= 63, classes

    def pack(self, task: np.ndarray, worker: np.ndarray, label: np.ndarray) -> np.ndarray:
        key = task.astype(np.int64)
        key <<= self.bits[1]
        key |= worker.astype(np.int64, copy=False)
        key <<= self.bits[2]
        key |= label.astype(np.int64, copy=False)
        return key

    def unpack(self, key: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        label = (key & ((1 << self.bits[2]) - 1)).astype(narrow(self.classes))
        key = key >> self.bits[2]
        worker = (key & ((1 << self.bits[1]) - 1)).astype(np.int32)
        key >>= self.bits[1]
        return key.astype(np.int32 if self.bits[0] < 32 else np.int64), worker, label


def narrow(n: int):
    """The smallest unsigned type for n codes."""
    return np.uint8 if n <= 1 << 8 else np.uint16 if n <= 1 << 16 else np.uint32


def cuts(start: np.ndarray) -> list[tuple[int, int]]:
    """Where shards begin and end: at most 20,000 tasks and, unless one task alone has more, 200,000 answers."""
    tasks, found, a = len(start) - 1, [], 0
    while a < tasks:
        full = int(np.searchsorted(start, start[a] + SHARD_ANSWERS, side="right")) - 1
        b = min(max(full, a + 1), a + SHARD_TASKS, tasks)
        found.append((a, b))
        a = b
    return found or [(0, 0)]


def shard_of(
    a: int,
    b: int,
    start: np.ndarray,
    worker: np.ndarray,
    label: np.ndarray,
    count: np.ndarray | None,
    workers: int,
    classes: int,
) -> Shard:
    """The shard of tasks a to b from their own sorted rows; `start` is that of all tasks."""
    who, local = local_codes(worker, workers)
    interval = np.issubdtype(label.dtype, np.floating)
    return Shard(
        tasks=slice(a, b),
        workers=who,
        start=(start[a : b + 1] - start[a]).astype(np.int32),
        worker=local,
        label=None if interval else label,
        value=label if interval else None,
        count=count,
        classes=classes,
    )


def local_codes(worker: np.ndarray, workers: int) -> tuple[np.ndarray, np.ndarray]:
    """The workers met, ascending, and each row's place among them."""
    seen = np.zeros(workers, bool)
    seen[worker] = True
    who = np.flatnonzero(seen).astype(np.int32)
    place = np.zeros(workers, narrow(max(len(who), 1)))
    place[who] = np.arange(len(who))
    return who, place[worker]
