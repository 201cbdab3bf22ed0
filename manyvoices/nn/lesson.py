"""A lesson: items with their answers, split and encoded, from which a method's network learns."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch.nn import functional as F

from ..core.answers import Answers
from ..core.errors import BadInput
from ..core.items import Items
from ..core.names import Names
from ..core.soft import Labels
from . import devices, encoders, targets
from .batches import Batch, Batches, Votes, nobody
from .beliefs import Said
from .calibration import calibrated
from .loop import Loss, Run, fit
from .model import Learned
from .nets import Crowd, Net
from .selection import SPLITS, about_answers, about_labels, balanced, chosen, counted, splits_of, unit_of
from .training import Training

C = TypeVar("C", bound=Crowd)
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
    target: np.ndarray | None = None  # [items, K], or numbers [items, 1]
    aim: str = "class"  # of targets.py
    unit: tuple[float, float] = (0.0, 1.0)  # of numbers: the mean and deviation of the training labels
    held: np.ndarray | None = None  # [items, K] how often each label was said, where that chooses among the weights

    @classmethod
    def of(cls, items: Items, answers: Answers, how: Training, *, direct: bool = False) -> Lesson:
        """From everybody's answers about the training items; those to dev items choose the weights. `direct`: the method
        holds what it says against answers itself, so they may be numbers."""
        aim = targets.aim_of(how.ordered, answers.scale, len(answers.classes), direct)
        if answers.workers is None:
            raise BadInput("these answers name nobody", expected="answers with workers; or labels and `train`")
        content = encoders.usable(items)
        split = splits_of(items, content, how.seed)
        votes, unit = Votes.of(answers, content.ids), (0.0, 1.0)
        rows, dev = chosen(content.ids, split, votes.n > 0, how)
        if aim == "number":
            unit = unit_of(votes.label[votes.about(rows)[0]], how)
            votes = replace(votes, label=(votes.label - unit[0]) / unit[1])
        if how.class_weights == "balanced":
            place, _ = votes.about(rows)
            said = np.bincount(votes.label[place], votes.weight[place], minlength=len(answers.classes))
            votes = replace(votes, weight=votes.weight * balanced(said)[votes.label])
        about_answers(content, answers, votes, rows)
        encoded = encoders.encoded(content, how, rows)
        who = answers.classes, answers.workers, answers.scale
        return cls(how, content.ids, split, encoded, votes, *who, rows, dev, aim=aim, unit=unit)

    @classmethod
    def of_labels(cls, items: Items, labels: Labels, how: Training, answers: Answers | None = None) -> Lesson:
        """From one label an item, hard or soft. The answers to dev items, where there are any, choose the weights."""
        aim = targets.aim_of(how.ordered, labels.scale, len(labels.classes), direct=True)
        content = encoders.usable(items)
        split = splits_of(items, content, how.seed)
        at, unit = labels.tasks.code(content.ids, missing=-1), (0.0, 1.0)
        known, whole = at >= 0, np.zeros((len(content), max(1, len(labels.classes))), np.float32)
        whole[known] = labels.probs[at[known]]
        held = None if answers is None else counted(answers, content.ids, labels.classes)
        if held is not None:  # dev items without a label still have answers
            said = held.sum(axis=1)
            more = ~known & (split == 1) & (said > 0)
            whole[more] = held[more] / said[more, None]
            known = known | more
        rows, dev = chosen(content.ids, split, known, how)
        about_labels(content, labels, rows)
        if aim == "number":
            unit = unit_of(whole[rows, 0], how)
            whole = (whole - unit[0]) / unit[1]
        elif how.class_weights == "balanced":
            whole *= balanced(whole[rows].sum(axis=0))
        if held is not None and not held[dev].any():
            held = None
        encoded = encoders.encoded(content, how, rows)
        who = labels.classes, None, labels.scale
        return cls(how, content.ids, split, encoded, nobody(len(content)), *who, rows, dev, whole, aim, unit, held)

    def build(self, kind: type[C], **options: Any) -> C:
        """The network of a method, its start drawn from the seed."""
        if self.how.calibrate and not len(self.dev):
            raise BadInput("--calibrate: no dev item has an answer or a label", expected="some among the dev items")
        with devices.drawing(self.how.stream("init")):
            size = max(1, len(self.classes))
            net = Net(self.encoded.body, self.encoded.width, size, self.how.hidden, self.how.dropout, self.aim)
            if self.aim == "cumulative":
                net.head[-1].start(self.tally())  # type: ignore[operator]
            model = kind(net, 0 if self.workers is None else len(self.workers), size, **options)
        model.options, model.aim = options, self.aim
        return model

    def tally(self) -> np.ndarray:
        """[K] how often each class is said, or is the label, in training."""
        if self.target is not None:
            return self.target[self.rows].sum(axis=0)
        place, _ = self.votes.about(self.rows)
        return np.bincount(self.votes.label[place], self.votes.weight[place], minlength=len(self.classes))

    def batches(self, rows: np.ndarray, target: np.ndarray | None = None) -> Batches:
        device, size = devices.device_of(self.how.device), self.how.items_a_step(len(self.rows))
        return Batches(self.encoded.source, self.votes, rows, size, device, self.target if target is None else target)

    def said(self) -> Said:
        """The answers to the training items, for Dawid-Skene's steps."""
        assert self.workers is not None
        return Said.about(self.votes, self.rows, len(self.workers), len(self.classes))

    def learn(
        self, model: Crowd, loss: Loss, *, train: Batches | None = None, dev: Batches | None = None, **around: Any
    ) -> Learned:
        """Train it; what is handed back predicts. What else the loop takes goes on to it."""
        train = self.batches(self.rows) if train is None else train
        if dev is None and len(self.dev):
            dev = self.batches(self.dev)
        if dev is None and self.how.keep == "best":
            log.info("no dev item has an answer or a label: the weights of the last epoch are kept")
        return self.learned(model, fit(model, loss, train, dev, self.how, **around))

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
            "aim": self.aim,
            "unit": list(self.unit),
            "learnt_from": self.learnt_from(),
            "epochs": run.epoch,
            "kept_epoch": run.best_epoch if self.how.keep == "best" and run.best_epoch else run.epoch,
        }
        found = Learned(model.eval(), self.classes, self.workers, about, run.metrics, (self.ids, self.split))
        if self.aim == "number":
            return found.with_radius(self.apart(model))
        return calibrated(self, found) if self.how.calibrate else found

    def learnt_from(self) -> dict[str, int]:
        """How much of everything: for the card."""
        found = {f"{name}_items": int((self.split == code).sum()) for code, name in enumerate(SPLITS)}
        if self.target is None:
            return found | {"items": len(self.rows), "answers": len(self.votes.about(self.rows)[0])}
        return found | {"items": len(self.rows), "labels": len(self.rows)}

    @torch.no_grad()
    def apart(self, model: Crowd) -> float | None:
        """How far from predictions the labels of dev items are at most, 95 times in 100."""
        if self.target is None:
            return None  # answers are not the truth
        said = [model.truth(batch.x).cpu().numpy() for batch in self.batches(self.dev).in_order()]
        found = np.abs(np.concatenate([np.zeros((0, 1)), *said]) - self.target[self.dev])[:, 0]
        within = targets.radius(found)
        return None if within is None else within * self.unit[1]


def cross_entropy(model: Crowd, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """What most methods minimise: minus the log-probability of what was said; or what targets.py has instead."""
    seen = model(batch.x)
    said = model.said(seen, batch.at, batch.worker)
    if model.aim in ("number", "distance"):
        number = model.aim == "number"
        target = batch.label[:, None] if number else F.one_hot(batch.label, said.shape[1]).to(said.dtype)
        return targets.missed(model.aim, said, target, batch.weight)
    return likelihood(said, batch)


def likelihood(said: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Minus the weighted log-probabilities [n, K] at the labels, and the weight."""
    missed = F.nll_loss(said, batch.label, reduction="none")
    return (missed * batch.weight).sum(), batch.weight.sum()


def soft_labels(model: Crowd, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Cross-entropy with one label an item, hard or soft; or what targets.py has instead."""
    assert batch.target is not None
    said, target = model.truth(batch.x), batch.target
    if model.aim == "number":
        return targets.missed(model.aim, said, target, torch.ones_like(target[:, 0]))
    weight = target.sum(1)
    return targets.missed(model.aim, said, target / weight[:, None], weight)
