"""Crowds with predictions about their tasks, and slow references for what `evaluate` says about them."""

from dataclasses import replace

import numpy as np
import polars as pl
from crowds import Crowd, crowd

from manyvoices.core.answers import Answers
from manyvoices.core.dataset import Dataset
from manyvoices.core.items import Items
from manyvoices.core.names import Names

SCALES = ("nominal", "ordinal", "interval", "multilabel")


def dataset(base: Crowd, scale: str = "nominal", truth=True, **more) -> Dataset:
    """The answers of a crowd and, as far as the mask says, their truth."""
    tasks, _, classes = base.sizes
    answers = base.answers(scale)
    known = np.broadcast_to(truth, tasks)
    names = Names.numbered(classes)
    items = Items(Names.numbered(tasks), names, np.where(known, base.truth, -1), None, None, more.get("split"))
    return Dataset(answers, items, more.get("workers"), more.get("notes"), "made", {}, [], {})


def table(base: Crowd, scale: str = "nominal", own: bool = False, soft: bool = True, seed: int = 0, sure: float = .9) -> pl.DataFrame:
    """Predictions of all tasks, or for everybody who answered: somewhat right, with probabilities."""
    rng = np.random.default_rng(seed)
    K = base.sizes[2]
    if own:
        pairs = np.unique(np.column_stack([base.task, base.worker]), axis=0)
        task, worker = pairs.T
    else:
        task, worker = np.arange(base.sizes[0]), None
    columns = {"task": task.astype(str)} | ({} if worker is None else {"worker": worker.astype(str)})
    if scale == "interval":
        return pl.DataFrame(columns | {"value": base.truth[task] + rng.normal(0, .5, len(task))})
    probs = rng.dirichlet(np.ones(K) * .7, len(task)) + sure * np.eye(K)[base.truth[task]]
    probs /= probs.sum(axis=1, keepdims=True)
    label = probs.argmax(axis=1)
    columns |= {"label": label.astype(str), "prob": probs.max(axis=1)}
    return pl.DataFrame(columns | ({f"p:{k}": probs[:, k] for k in range(K)} if soft else {}))


def small(rows, scale: str = "nominal", tasks: int = 3, workers: int = 3, classes: int = 2, truth=None) -> Crowd:
    """A crowd of given rows (task, worker, label)."""
    task, worker, label = (np.array(column, np.int64) for column in zip(*rows, strict=True)) if rows else (np.zeros(0, np.int64),) * 3
    base = crowd(0)
    truth = np.zeros(tasks, np.int64) if truth is None else np.asarray(truth)
    return replace(base, task=task, worker=worker, label=label, value=label.astype(float), sizes=(tasks, workers, classes), truth=truth)


def rows_of(found, score: str, of: str = "dataset") -> list[dict]:
    return [row for row in found.to_polars().to_dicts() if row["score"] == score and row["of"] == of]


def value(found, score: str) -> float:
    [row] = rows_of(found, score)
    return row["value"]


__all__ = ["SCALES", "Answers", "crowd", "dataset", "rows_of", "small", "table", "value"]
