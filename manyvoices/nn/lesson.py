"""A lesson: items with their answers, split and encoded, from which a method's network learns."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..core.answers import Answers
from ..core.content import Content, content_of
from ..core.errors import BadInput
from ..core.items import Items
from ..core.names import Names
from ..core.soft import Labels
from . import devices, encoders
from .batches import Batch, Batches, Votes, nobody
from .calibration import calibrated
from .loop import Loss, Run, fit
from .model import Learned
from .nets import Crowd, Net
from .training import Training

SPLITS = ("train", "dev", "test")
log = logging.getLogger("manyvoices")


@dataclass(frozen=True, eq=False)
class Lesson:
    how: Training
    ids: Names  # of the items
    split: np.ndarray  # [items] 0 train, 1 dev, 2 test
    encoded: encoders.Encoded
    votes: Votes
    classes: Names
    workers: Names | None
    scale: str
    rows: np.ndarray  # training items with answers (or targets)
    dev: np.ndarray  # ... and those held out
    target: np.ndarray | None = None  # [items, K]

    @classmethod
    def of(cls, items: Items, answers: Answers, how: Training) -> Lesson:
        """From everybody's answers about the training items; those to dev items choose the weights."""
        if answers.scale == "interval":
            raise BadInput("these labels are numbers", expected="classes (--scale nominal or ordinal)")
        if answers.workers is None:
            raise BadInput("these answers name nobody", expected="answers with workers; or labels and `train`")
        content = content_of(items)
        split = splits_of(items, content, how.seed)
        weight = balanced(answers.counts().sum(axis=0)) if how.class_weights == "balanced" else None
        votes = Votes.of(answers, content.ids, weight)
        rows, dev = (np.flatnonzero((split == code) & (votes.n > 0)) for code in (0, 1))
        tell(content, answers, votes, rows)
        encoded = encoders.encoded(content, how, rows)
        return cls(how, content.ids, split, encoded, votes, answers.classes, answers.workers, answers.scale, rows, dev)

    @classmethod
    def of_labels(cls, items: Items, labels: Labels, how: Training) -> Lesson:
        """From one label an item, hard or soft."""
        content = content_of(items)
        split = splits_of(items, content, how.seed)
        at = labels.tasks.code(content.ids, missing=-1)
        whole = np.zeros((len(content), len(labels.classes)), np.float32)
        whole[at >= 0] = labels.probs[at[at >= 0]]
        if how.class_weights == "balanced":
            whole *= balanced(whole.sum(axis=0))
        rows, dev = (np.flatnonzero((split == code) & (whole.sum(axis=1) > 0)) for code in (0, 1))
        if not len(rows):
            raise BadInput("no training item has a label", expected="the same task ids in labels and items")
        encoded = encoders.encoded(content, how, rows)
        votes = nobody(len(content))
        return cls(how, content.ids, split, encoded, votes, labels.classes, None, "nominal", rows, dev, whole)

    def build(self, kind: type[Crowd], **options: Any) -> Crowd:
        """The network of a method, its start drawn from the seed."""
        if self.how.calibrate and not len(self.dev):
            raise BadInput("--calibrate: no dev item has an answer or a label", expected="some among the dev items")
        with torch.random.fork_rng():
            torch.manual_seed(self.how.seed)
            net = Net(self.encoded.body, self.encoded.width, len(self.classes), self.how.hidden, self.how.dropout)
            model = kind(net, 0 if self.workers is None else len(self.workers), len(self.classes), **options)
        model.options = options  # type: ignore[assignment]
        return model

    def batches(self, rows: np.ndarray, target: np.ndarray | None = None) -> Batches:
        device = devices.device_of(self.how.device)
        return Batches(
            self.encoded.source, self.votes, rows, self.how.batch, device, self.target if target is None else target
        )

    def learn(
        self,
        model: Crowd,
        loss: Loss,
        *,
        score: Loss | None = None,
        between: Callable[[int], None] | None = None,
        train: Batches | None = None,
        after_step: Callable[[], None] | None = None,
    ) -> Learned:
        """Train it; what is handed back predicts."""
        train = self.batches(self.rows) if train is None else train
        dev = self.batches(self.dev) if len(self.dev) else None
        run = fit(model, loss, train, dev, self.how, score=score, between=between, after_step=after_step)
        return self.learned(model, run)

    def learned(self, model: Crowd, run: Run) -> Learned:
        job, _, method = type(model).__module__.rpartition("methods.")[2].partition(".")
        about = {
            "job": job,
            "method": method,
            "class": type(model).__name__,
            "options": getattr(model, "options", {}),
            "encoder": self.encoded.about,
            "hidden": self.how.hidden,
            "scale": self.scale,
            "epochs": run.epoch,
            "kept_epoch": run.best_epoch if self.how.keep == "best" and run.best_epoch else run.epoch,
        }
        found = Learned(model.eval(), self.classes, self.workers, about, run.metrics, (self.ids, self.split))
        return calibrated(self, found) if self.how.calibrate else found


def splits_of(items: Items, content: Content, seed: int) -> np.ndarray:
    """[items] 0 train, 1 dev, 2 test: as the data say, else 70, 15 and 15 per cent of the items."""
    if items.split is not None:
        import polars as pl

        said = dict(
            zip(
                *items.split.select(pl.col("task", "split").cast(pl.String)).to_dict(as_series=False).values(),
                strict=True,
            )
        )
        code = {name: i for i, name in enumerate(SPLITS)}
        return np.array([code.get(said.get(task) or "train", 0) for task in content.ids], np.int8)
    split = np.zeros(len(content), np.int8)
    order = np.random.default_rng([seed, 10]).permutation(len(content))
    split[order[: len(order) * 3 // 20]] = 1
    split[order[len(order) * 3 // 20 : len(order) * 3 // 10]] = 2
    return split


def balanced(said: np.ndarray) -> np.ndarray:
    """[K] weights that give every class that was said the same weight in all."""
    used = said > 0
    weight = np.where(used, said.sum() / np.maximum(used.sum() * said, 1), 0)
    return weight.astype(np.float32)


def tell(content: Content, answers: Answers, votes: Votes, rows: np.ndarray) -> None:
    """What of the data is not used, and stop where nothing is left."""
    without, beside = int((votes.n == 0).sum()), len(answers.rows()[0]) - len(votes.label)
    if without:
        log.info("%d items have no answers: they are predicted, not learnt from", without)
    if beside:
        log.info("%d answers are about tasks that are no items: left out", beside)
    if not len(rows):
        raise BadInput("no training item has answers", expected="the same task ids in answers and items, some in train")


def cross_entropy(model: Crowd, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """What most methods minimise: minus the log-probability of what was said."""
    seen = model(batch.x)
    said = model.said(seen, batch.at, batch.worker)
    return likelihood(said, batch)


def likelihood(said: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Minus the weighted log-probabilities [n, K] at the labels, and the weight."""
    missed = -said.gather(1, batch.label[:, None])[:, 0]
    return (missed * batch.weight).sum(), batch.weight.sum()


def soft_labels(model: Crowd, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Cross-entropy with one label an item, hard or soft."""
    assert batch.target is not None
    return -(batch.target * model.truth(batch.x)).sum(), batch.target.sum()
