"""Shards in memory, worked on by threads: the sparse products of a step let go of the interpreter lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

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
        with ThreadPoolExecutor(self.threads) as pool:
            yield from in_order(pool, work, self.shards, ahead=2 * self.threads)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return np.empty(shape, dtype)


def in_order(pool, work: Callable, shards, ahead: int) -> Iterator[Any]:
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
