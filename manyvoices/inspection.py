"""What is in a data set, as a plain dict: what `manyvoices inspect` prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .core.answers import Shard
from .core.dataset import Dataset
from .core.fold import whole
from .core.labels import many

MEASURE = 10  # different numbers below which they may well be classes


@dataclass
class Sums:
    equal: float = whole()  # share of a task's pairs of answers that agree, added over tasks with several answers
    square: float = whole()  # the same, squared
    unanimous: int = whole()  # tasks with several answers that all agree
    several: int = whole()  # tasks with several answers
    again: int = whole()  # answers of a worker beyond the first to the same task


def look(shard: Shard, _) -> Sums:
    n = shard.per_task()
    again = (
        int(((shard.task[1:] == shard.task[:-1]) & (shard.worker[1:] == shard.worker[:-1])).sum())
        if len(shard.worker)
        else 0
    )
    if shard.label is None:
        return Sums(0.0, 0.0, 0, int((n > 1).sum()), again)
    votes, n = shard.tally()[n > 1], n[n > 1]
    equal = (votes * (votes - 1)).sum(axis=1) / (n * (n - 1))
    return Sums(float(equal.sum()), float((equal**2).sum()), int((equal == 1).sum()), len(n), again)


def agreement(sums: Sums) -> dict[str, float | None]:
    """The mean over tasks with its 95 % interval, which takes tasks that differ: `manyvoices agree` says more."""
    if not sums.several:
        return {"agreement": None, "agreement_low": None, "agreement_high": None}
    mean = sums.equal / sums.several
    variance = (sums.square / sums.several - mean**2) / max(sums.several - 1, 1)
    if sums.several < 2 or variance <= 1e-15:
        return {"agreement": mean, "agreement_low": None, "agreement_high": None}
    far = 1.96 * variance**0.5
    return {"agreement": mean, "agreement_low": max(mean - far, 0.0), "agreement_high": min(mean + far, 1.0)}


def inspected(data: Dataset) -> dict[str, Any]:
    found: dict[str, Any] = {"format": data.format}
    answers = data.answers
    if answers is not None:
        effort, sums = answers.per_task(), answers.fold(look)
        found |= {
            "scale": answers.scale,
            "tasks": len(answers.tasks),
            "tasks_answered": int((effort > 0).sum()),
            "workers": None if answers.workers is None else len(answers.workers),
            "answers": answers.n,
            "answers_per_task": spread(effort),
        }
        several = answers.scale == "multilabel"  # labels of one answer are neither repeats nor at odds
        if answers.workers is not None:
            found["answers_per_worker"] = spread(answers.per_worker())
            if several:
                found["several_labels"] = sums.again
            else:
                found["repeated_answers"] = sums.again
        if answers.scale != "interval":
            counts = answers.counts().sum(axis=0).astype(int)
            found["classes"] = {name: int(n) for name, n in zip(answers.classes, counts, strict=True)}
        if answers.scale == "nominal" and are_numbers(answers.classes.to_list(), answers.n):
            found["numbers_as_classes"] = len(answers.classes)
        if answers.scale not in ("interval", "multilabel"):
            found |= agreement(sums)
            found["unanimous_tasks"] = sums.unanimous
            found["tasks_with_several_answers"] = sums.several
    if data.items is not None:
        found["items"] = 0 if data.items.table is None else len(data.items.table)
        found["item_columns"] = [] if data.items.table is None else [c for c in data.items.table.columns if c != "task"]
        found["arrays"] = None if data.items.arrays is None else data.items.arrays.name
        found["truth"] = int((data.items.truth >= 0).sum())
        if answers is not None:
            found["truth_of_answered_tasks"] = sum(t is not None for t in data.items.truth_of(answers.tasks))
        if data.items.split is not None:
            found["split"] = {
                str(row["split"]): row["len"]
                for row in data.items.split.group_by("split").len().sort("split").to_dicts()
            }
    if data.workers is not None:
        found["worker_attributes"] = [c for c in data.workers.columns if c != "worker"]
    if data.notes is not None:
        found["notes"] = data.notes.columns
    return found | {"dropped": data.dropped, "messages": [*data.messages, *odd(found)]}


def spread(n: np.ndarray) -> dict[str, float]:
    if not len(n):
        return {"min": 0, "median": 0, "mean": 0.0, "max": 0}
    return {"min": int(n.min()), "median": float(np.median(n)), "mean": round(float(n.mean()), 3), "max": int(n.max())}


def are_numbers(classes: Sequence[str], answers: int) -> bool:
    """Whether what was read as names of classes is a measure: numbers, not all of them whole, that hardly ever come again
    (the codes of a catalogue do)."""
    if len(classes) < max(MEASURE, answers / 5):
        return False
    try:
        held = np.array([float(text) for text in classes])
    except ValueError:
        return False
    return bool(np.isfinite(held).all() and (held % 1 != 0).any())


def odd(found: dict[str, Any]) -> list[str]:
    """What a user may not expect of their own data."""
    said = []
    if found.get("answers_per_task", {}).get("max", 0) == 1 and found.get("answers"):
        said.append("no task has two answers: nothing here can tell workers apart")
    if found.get("scale") == "multilabel":
        said.append(
            "an answer may hold several labels and each label counts as an answer here; --multilabel binary asks about "
            "one label (--question), and then there is agreement"
        )
    if n := found.get("numbers_as_classes"):
        said.append(
            f"the labels are {n} different numbers, each taken as a class; --scale interval takes them as numbers"
        )
    if found.get("repeated_answers"):
        said.append(
            f"{many(found['repeated_answers'], 'answer')} beyond a worker's first to the same task; "
            "all count (--repeats last, first or error)"
        )
    if found.get("classes") and (unused := [name for name, n in found["classes"].items() if n == 0]):
        said.append(f"{len(unused)} stated classes are never used: {', '.join(unused[:5])}")
    if found.get("classes") and len(found["classes"]) == 1:
        said.append("only one class was ever said")
    if found.get("tasks", 0) > found.get("tasks_answered", 0):
        said.append(f"{found['tasks'] - found['tasks_answered']} tasks have no answers")
    return said
