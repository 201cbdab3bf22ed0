"""How far a network is on a label's side while it learns it, epoch by epoch: what aum, aumc and waum are made of."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import torch

from ...core.answers import Answers
from ...core.errors import BadCall
from ...core.items import Items
from ...core.names import Names
from ...core.scores import Scores
from ...nn.batches import Batch
from ...nn.lesson import Lesson
from ...nn.loop import fit
from ...nn.nets import Crowd
from . import _rows

NO_ITEM = "not defined because the task is no item the network learnt from"
ONE_CLASS = "not defined because there is one class only"


def everything(items: Items) -> Items:
    """The items without a split: nothing is held out, for every item is to have a score."""
    return replace(items, split=pl.DataFrame({"task": [], "split": []}, schema={"task": pl.String, "split": pl.String}))


def check(name: str, alpha: float, top: int, classes: int) -> None:
    if not 0 <= alpha < 1:
        raise BadCall(f"{name}: alpha is {alpha}; expected a share from 0 to below 1")
    if classes > 1 and not 1 <= top < classes:
        raise BadCall(f"{name}: top is {top}; expected 1 to {classes - 1}, fewer than there are classes")


def margins(values: torch.Tensor, label: torch.Tensor, margin: str, top: int) -> torch.Tensor:
    """[n] from values [n, K]: that of the label minus the one after the `top` largest (yang), or minus the largest of the
    others (pleiss)."""
    own = values.gather(1, label[:, None])[:, 0]
    if margin == "yang":
        return own - values.topk(top + 1, dim=1).values[:, top]
    return own - values.scatter(1, label[:, None], -torch.inf).amax(dim=1)


@dataclass
class Watch:
    """Cross-entropy with the answers that keeps, as it goes, the margin of each, and what is thought of its worker there."""

    on: str  # logits or probs
    margin: str
    top: int
    total: np.ndarray  # [N] sum of margins over epochs
    times: np.ndarray  # [N] epochs
    trust: np.ndarray  # [N] sum over k of p[k] confusions[w, k, k], of the last epoch
    diagonal: np.ndarray | None = None  # [W, K]
    worker: int | None = None  # whose answers alone count

    def __call__(self, model: Crowd, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        seen = model(batch.x)
        mine = slice(None) if self.worker is None else batch.worker == self.worker
        at, label, weight = batch.at[mine], batch.label[mine], batch.weight[mine]
        self.note(seen.logits.detach()[at].double(), label, batch.worker[mine], batch.place[mine].cpu().numpy())
        missed = -seen.log_probs[at].gather(1, label[:, None])[:, 0]
        return (missed * weight).sum(), weight.sum()

    def note(self, logits: torch.Tensor, label: torch.Tensor, worker: torch.Tensor, place: np.ndarray) -> None:
        probs = logits.softmax(-1)
        found = margins(logits if self.on == "logits" else probs, label, self.margin, self.top)
        self.total[place] += found.cpu().numpy()
        self.times[place] += 1
        if self.diagonal is not None:
            self.trust[place] = (probs.cpu().numpy() * self.diagonal[worker.cpu().numpy()]).sum(axis=1)

    @property
    def mean(self) -> np.ndarray:
        """[N] over epochs."""
        return self.total / np.maximum(self.times, 1)


def watched(lesson: Lesson, networks: str = "stacked", **how: Any) -> Watch:
    """Train on all answers at once, or a network anew on each worker's own."""
    n = len(lesson.votes.label)
    watch = Watch(total=np.zeros(n), times=np.zeros(n, np.int64), trust=np.ones(n), **how)
    if networks == "stacked":
        taught(lesson, watch)
        return watch
    item = items_of(lesson)
    kept = np.isin(item, lesson.rows)
    order = np.flatnonzero(kept)[np.argsort(lesson.votes.worker[kept], kind="stable")]
    workers, first = np.unique(lesson.votes.worker[order], return_index=True)
    for worker, places in zip(workers.tolist(), np.split(order, first[1:]), strict=True):
        watch.worker = worker
        taught(replace(lesson, rows=np.unique(item[places])), watch)
    return watch


def taught(lesson: Lesson, watch: Watch) -> None:
    """From the same start each time: what was learnt before is not there any more."""
    body, how = copy.deepcopy(lesson.encoded.body), replace(lesson.how, calibrate=False)
    fresh = replace(lesson, how=how, encoded=replace(lesson.encoded, body=body))
    fit(fresh.build(Crowd), watch, fresh.batches(fresh.rows), None, fresh.how)


def items_of(lesson: Lesson) -> np.ndarray:
    """[N] the item each answer is about."""
    return np.repeat(np.arange(len(lesson.ids)), lesson.votes.n)


def shared(lesson: Lesson, value: np.ndarray, weight: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """[items] sum of value x weight of its answers over the sum of `whole`; NaN where that is nothing."""
    item, n = items_of(lesson), len(lesson.ids)
    over, under = np.bincount(item, value * weight, n), np.bincount(item, whole, n)
    return np.where(under > 0, over / np.where(under > 0, under, 1), np.nan)


def lowest(value: np.ndarray, alpha: float) -> np.ndarray:
    """Those not above the alpha quantile of the values; none where alpha is 0 or all are equal."""
    known = value[~np.isnan(value)]
    if not alpha or not len(known) or known.min() == known.max():
        return np.zeros(len(value), bool)
    return value <= np.quantile(known, alpha)


def too_hard(ids: Names, cut: np.ndarray) -> str:
    """Lines `index task`, as `train --path-remove` takes them."""
    return "".join(f"{i} {ids[i]}\n" for i in np.flatnonzero(cut).tolist())


def of_tasks(
    answers: Answers, score: str, ids: Names, value: np.ndarray, cut: np.ndarray, alpha: float, said: Any
) -> Scores:
    """A row a task, from values [items]."""
    at = ids.code(answers.tasks, missing=-1)
    value, hard = (np.append(x, y)[at] for x, y in ((value, np.nan), (cut, False)))
    said = np.full(len(at), said, object) if isinstance(said, str) else said
    notes = [
        "; ".join(
            part
            for part in (text, f"too hard: among the lowest {alpha:g}" if low else "", "no interval: one run")
            if part
        )
        for text, low in zip(said, hard, strict=True)
    ]
    return _rows.of_tasks(answers, score, value, None, None, notes, [(np.isnan(value), NO_ITEM)])


def nothing(answers: Answers, score: str) -> Scores:
    """One class: there is nothing to be ahead of."""
    rows = len(answers.tasks)
    return _rows.of_tasks(answers, score, np.full(rows, np.nan), None, None, "", [(np.ones(rows, bool), ONE_CLASS)])


def answer_table(answers: Answers, lesson: Lesson, name: str, value: np.ndarray) -> pl.DataFrame:
    """task, worker, label and a number for each answer about an item."""
    assert answers.workers is not None
    columns = {"task": (lesson.ids, items_of(lesson)), "worker": (answers.workers, lesson.votes.worker)}
    columns["label"] = (answers.classes, lesson.votes.label)
    texts = {key: np.array(names.to_list(), object)[codes].tolist() for key, (names, codes) in columns.items()}
    return pl.DataFrame(texts | {name: value}, schema_overrides=dict.fromkeys(texts, pl.String))
