"""Trace regularisation: a confusion matrix per worker, kept from explaining everything by a penalty on its diagonal.

    confusions[j] = rows of link(R[j]), scaled to one;  link: softplus, or exp
    answer j      ~ softmax(f(x)) @ confusions[j]
    loss          = cross-entropy + scale * mean over the batch's workers of trace(confusions[j])

The trace is made small: among all ways to explain the answers, the one with the least reliable workers leaves the network
nearest to the truth, provided the workers are right more often than not on average. For the first `warm` epochs there is
no penalty: before the network knows anything it would only teach the workers to be wrong.

Family: networks for crowds
Needs: items, workers
Reference: Tanno et al. (2019), Learning from noisy labels by regularized estimation of annotator confusion, CVPR.
Also: trace_regularised, tanno; scale=lambda
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
from ...nn.nets import Crowd, through
from ...nn.training import Training

log = logging.getLogger("manyvoices")


class TraceReg(Crowd):
    def __init__(self, net, workers: int, classes: int, scale: float = 0.01, link: str = "softplus"):
        super().__init__(net, workers, classes)
        self.scale, self.link, self.penalised = scale, link, True
        self.raw = nn.Parameter((6 * torch.eye(classes) - 5).repeat(workers, 1, 1))  # [W, K, K]

    def log_tables(self, worker):
        raw = self.raw[worker]
        return F.softplus(raw).log().log_softmax(-1) if self.link == "softplus" else raw.log_softmax(-1)

    def said(self, seen, at, worker):
        return through(seen.log_probs[at], self.log_tables(worker))


def loss(model, batch):
    total, count = cross_entropy(model, batch)
    if not (model.scale and model.penalised):
        return total, count
    tables = model.log_tables(batch.worker.unique()).exp()
    return total + model.scale * tables.diagonal(dim1=1, dim2=2).sum(-1).mean() * count, count


def tracereg(
    items: Items,
    answers: Answers,
    *,
    scale: float = 0.01,
    link: Literal["softplus", "softmax"] = "softplus",
    warm: int = 5,
    training: Training = Training(),  # noqa: B008 (frozen)
) -> Learned:
    """Learn the network and everybody's confusions together.

    Parameters
    ----------
    scale
        Weight of the penalty.
    link
        How free numbers become a row of probabilities.
    warm
        Epochs without the penalty.
    """
    lesson = Lesson.of(items, answers, training)
    model = lesson.build(TraceReg, scale=scale, link=link)

    def between(epoch: int) -> None:
        model.penalised = epoch >= warm

    found = lesson.learn(model, loss, score=cross_entropy, between=between)
    with torch.no_grad():
        diagonal = model.log_tables(torch.arange(model.workers, device=model.raw.device)).exp().diagonal(dim1=1, dim2=2)
    if model.workers and float(diagonal.mean()) < 1 / model.classes:
        log.info("tracereg: workers are right less often than chance on average: classes may be swapped; lower --scale")
    return found
