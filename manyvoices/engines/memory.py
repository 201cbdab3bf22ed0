"""Shards in memory, worked on by threads: the sparse products of a step let go of the interpreter lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from ..core.answers import Here, Shard


class Threads(Here):
    """The same shards as `Here`, a few of them at a time; results still come in shard order."""

    def __init__(self, shards: tuple[Shard, ...], threads: int | None = None):
        super().__init__(shards)
        self.threads = threads or cores()

    def map(self, work: Callable[[Shard], Any]) -> Iterator[Any]:
        if self.threads == 1 or len(self.shards) == 1:
            yield from map(work, self.shards)
            return
        yield from in_order(pool(self.threads), work, self.shards, ahead=2 * self.threads)


@cache
def pool(threads: int) -> ThreadPoolExecutor:
    """One pool for all folds: a fold may take less time than starting threads does."""
    return ThreadPoolExecutor(threads, thread_name_prefix="manyvoices")


def in_order(pool: ThreadPoolExecutor, work: Callable, shards: Iterable[Shard], ahead: int) -> Iterator[Any]:
    """Results in the order of the shards, at most `ahead` of them waiting, so that a slow sum holds back the workers."""
    waiting: deque = deque()
    for shard in shards:
        waiting.append(pool.submit(work, shard))
        if len(waiting) >= ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def cores() -> int:
    """Cores this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
