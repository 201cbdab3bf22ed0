"""GeoCrowdNet: a confusion matrix per worker, with a term that keeps the truth, or the workers, spread out.

    answer j ~ softmax(f(x)) @ softmax(R[j])
    F: loss  = cross-entropy - scale * log det(P'P / B),  P [B, K] the batch's class probabilities
    W: loss  = cross-entropy - scale * log det(sum over the batch's workers of confusions[j] confusions[j]')

A small multiple of the identity is added inside the determinants, so that a batch in which a class is missing is no
infinity. With `compat_guard` there is none, nor a division by B, and a term that is no number, infinite or above 100 counts 0,
as in the public code. R starts with .8 on the diagonal (`init=eye`: the weak start of that code).

Family: networks for crowds
Needs: items, workers
Reference: Ibrahim, Nguyen and Fu (2023), Deep learning from crowdsourced labels: coupled cross-entropy minimization,
    identifiability, and regularization, ICLR.
Also: GeoCrowdNetF[variant=F], GeoCrowdNetW[variant=W]; scale=lambda
"""

from __future__ import annotations

import logging
import math
from typing import Literal

import torch
from torch import nn

from ...core.answers import Answers
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy, likelihood
from ...nn.model import Learned
from ...nn.nets import Crowd, pick, planted, spread, volume
from ...nn.training import Training

log = logging.getLogger("manyvoices")


class GeoCrowdNet(Crowd):
    def __init__(
        self,
        net,
        workers: int,
        classes: int,
        variant: str = "f",
        scale: float = 0.001,
        init: str = "strong",
        compat_guard: bool = False,
    ):
        super().__init__(net, workers, classes)
        self.variant, self.scale, self.guard = variant, scale, compat_guard
        start = torch.eye(classes) if init == "eye" else planted(classes).log()
        self.raw = nn.Parameter(start.repeat(workers, 1, 1))  # [W, K, K]

    def free(self):
        return self.raw

    def tables(self, seen, at, worker):
        return pick(self.raw, worker).log_softmax(-1)


def loss(model, batch):
    seen = model(batch.x)
    total, count = likelihood(model.said(seen, batch.at, batch.worker), batch)
    if not model.scale:
        return total, count
    if model.variant == "f":
        gram, n = spread(seen.probs)
        gram = gram if model.guard else gram / n
    else:
        tables = model.tables(None, None, batch.crowd).exp()
        gram = torch.einsum("wkl,wml->km", tables, tables)
    term = -volume(gram, 0.0 if model.guard else 1e-6)
    if model.guard and not -math.inf < float(term.detach()) <= 100:
        return total, count
    return total + model.scale * term * count, count


def geocrowdnet(
    items: Items,
    answers: Answers,
    *,
    variant: Literal["f", "w"] = "f",
    scale: float = 0.001,
    init: Literal["strong", "eye"] = "strong",
    compat_guard: bool = False,
    training: Training = Training(),
) -> Learned:
    """Learn the network and everybody's confusions together.

    Parameters
    ----------
    variant
        What is kept spread out: f (the classes of a batch) or w (the workers' confusions).
    scale
        Weight of that term.
    init
        Where the confusions start: strong (.8 on the diagonal) or eye.
    compat_guard
        Leave the determinant as it is, and drop the term where it is no number or above 100.
    """
    lesson = Lesson.of(items, answers, training)
    size = training.items_a_step(len(lesson.rows))
    if variant == "f" and size < len(lesson.classes):
        log.info("geocrowdnet: %d items a batch cannot span %d classes; raise --batch", size, len(lesson.classes))
    model = lesson.build(GeoCrowdNet, variant=variant, scale=scale, init=init, compat_guard=compat_guard)
    return lesson.learn(model, loss, score=cross_entropy)
