"""The fold: parameters go to every shard, sums come back. Which rows of a table belong to a shard is said at the field.

    @dataclass
    class Params:
        log_confusions: np.ndarray = by_worker()     # a step sees the rows of its own workers only
        log_prior: np.ndarray = whole()              # ... all of it

    @dataclass
    class Sums:
        counts: np.ndarray = by_worker()             # scatter-added to the rows of the shard's workers
        probs: np.ndarray = by_task()                # put at the rows of the shard's tasks
        evidence: float = whole()                    # added up

What belongs to one task (a difficulty, a gold label) is a `by_task` field of the parameters and comes back as one of the
sums: no state lives between two folds, so a shard can run anywhere and be run again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields, replace
from typing import Any

import numpy as np


def by_worker(**more) -> Any:
    return field(metadata={"rows": "worker"}, **more)


def by_task(**more) -> Any:
    return field(metadata={"rows": "task"}, **more)


def whole(**more) -> Any:
    return field(metadata={"rows": "all"}, **more)


def local(params: Any, shard) -> Any:
    """The parameters as one shard sees them. A shard that meets everybody sees the tables themselves, not copies."""
    if params is None:
        return None
    own = {"worker": shard.workers, "task": shard.tasks}
    cut = {}
    for f in fields(params):
        rows = own.get(f.metadata["rows"])
        if rows is not None and (value := getattr(params, f.name)) is not None and not whole_of(rows, value):
            cut[f.name] = value[rows]
    return replace(params, **cut) if cut else params


def whole_of(rows: Any, table: np.ndarray) -> bool:
    """Whether these rows (ascending, each once) are all rows of the table."""
    return not isinstance(rows, slice) and len(rows) == len(table)


class Work:
    """What is sent to a shard: a top-level step and its parameters. Picklable, so it may run in another process."""

    def __init__(self, step: Callable, params: Any):
        self.step, self.params = step, params

    def __call__(self, shard):
        return shard.tasks, shard.workers, self.step(shard, local(self.params, shard))


def total(parts, tasks: int, workers: int, empty: Callable = np.empty) -> Any:
    """Put the parts of all shards together, in the order they come (shard order: the same bits on every engine)."""
    sums: dict[str, Any] = {}
    kind, rows = None, {}
    for task_rows, worker_rows, part in parts:
        if kind is None:
            kind = type(part)
            rows = {f.name: f.metadata["rows"] for f in fields(part)}
            for name, where in rows.items():
                piece = getattr(part, name)
                if piece is None or where == "all":
                    sums[name] = None
                elif where == "task":
                    sums[name] = empty((tasks, *piece.shape[1:]), piece.dtype)
                else:
                    sums[name] = np.zeros_like(
                        piece, shape=(workers, *piece.shape[1:])
                    )  # laid out in memory like the pieces
        for name, where in rows.items():
            piece = getattr(part, name)
            if piece is None:
                continue
            if where == "task":
                sums[name][task_rows] = piece
            elif where == "worker":
                if whole_of(worker_rows, sums[name]):
                    sums[name] += piece
                else:
                    sums[name][worker_rows] += piece  # a shard lists each of its workers once
            else:
                sums[name] = piece if sums[name] is None else sums[name] + piece
    return kind(**sums)
