"""Trace regularisation: a confusion matrix per worker, kept from explaining everything by a penalty on its diagonal.

    confusions[j] = rows of link(R[j]), scaled to one;  link: softplus, or exp
    answer j      ~ softmax(f(x)) @ confusions[j]
    loss          = cross-entropy + scale * mean over the batch's workers of trace(confusions[j])

The cross-entropy is the mean over answers (`ce_reduction` pair) or, as in the paper, the sum over an item's answers and the
mean over items (image), which is stronger by the answers an item has.

The trace is made small: among all ways to explain the answers, the one with the least reliable workers leaves the network
nearest to the truth, provided the workers are right more often than not on average. For the first `warm` epochs there is
no penalty: before the network knows anything it would only teach the workers to be wrong.

Family: networks for crowds
Needs: items, workers
Reference: Tanno et al. (2019), Learning from noisy labels by regularized estimation of annotator confusion, CVPR.
Also: trace_regularised, TraceReg, tanno; scale=lambda; warm=warmup_epochs
"""

from __future__ import annotations

import logging
from typing import Literal

import torch
from torch import nn
from torch.nn import functional as F

from ...core.answers import Answers
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy
from ...nn.model import Learned
from ...nn.nets import Crowd, pick
from ...nn.training import Training

log = logging.getLogger("manyvoices")


class TraceReg(Crowd):
    def __init__(
        self,
        net,
        workers: int,
        classes: int,
        scale: float = 0.01,
        link: str = "softplus",
        ce_reduction: str = "pair",
        warm: int = 0,
    ):
        super().__init__(net, workers, classes)
        self.scale, self.link, self.reduction, self.warm = scale, link, ce_reduction, warm
        self.raw = nn.Parameter((6 * torch.eye(classes) - 5).repeat(workers, 1, 1))  # [W, K, K]

    def free(self):
        return self.raw

    def tables(self, seen, at, worker):
        raw = pick(self.raw, worker)
        return (log_softplus(raw) if self.link == "softplus" else raw).log_softmax(-1)


def log_softplus(x):
    """Of numbers far below 0, where softplus is nearly exp, the number itself."""
    return torch.where(x < -15, x, F.softplus(x.clamp_min(-15)).log())


def loss(model, batch):
    total, count = cross_entropy(model, batch)
    if model.reduction == "image":
        count = torch.full_like(count, len(batch.row))
    if not model.scale or model.epoch < model.warm:
        return total, count
    traces = model.tables(None, None, batch.crowd).exp().diagonal(dim1=1, dim2=2).sum(-1)
    return total + model.scale * traces.mean() * count, count


def tracereg(
    items: Items,
    answers: Answers,
    *,
    scale: float = 0.01,
    link: Literal["softplus", "softmax"] = "softplus",
    ce_reduction: Literal["pair", "image"] = "pair",
    warm: int = 5,
    training: Training = Training(),
) -> Learned:
    """Learn the network and everybody's confusions together.

    Parameters
    ----------
    scale
        Weight of the penalty.
    link
        How free numbers become a row of probabilities.
    ce_reduction
        Mean over answers (pair) or over items (image).
    warm
        Epochs without the penalty.
    """
    lesson = Lesson.of(items, answers, training)
    model = lesson.build(TraceReg, scale=scale, link=link, ce_reduction=ce_reduction, warm=warm)
    found = lesson.learn(model, loss, score=cross_entropy)
    with torch.no_grad():
        diagonal = model.tables(None, None, torch.arange(model.workers).to(model.raw.device)).exp().diagonal(0, 1, 2)
    if model.workers and float(diagonal.mean()) < 1 / model.classes:
        log.info("tracereg: workers are right less often than chance on average: classes may be swapped; lower --scale")
    return found
