"""GeoCrowdNet: a confusion matrix per worker, with a term that keeps the truth, or the workers, spread out.

    answer j ~ softmax(f(x)) @ softmax(R[j])
    F: loss  = cross-entropy - scale * log det(P'P / B),  P [B, K] the batch's class probabilities
    W: loss  = cross-entropy - scale * log det(sum over workers of confusions[j] confusions[j]')

A small multiple of the identity is added inside the determinants, so that a batch in which a class is missing is no
infinity. R starts with .8 on the diagonal (`init=eye`: the weak start of the public code).

Family: networks for crowds
Needs: items, workers
Reference: Ibrahim, Nguyen and Fu (2023), Deep learning from crowdsourced labels: coupled cross-entropy minimization,
    identifiability, and regularization, ICLR.
Also: GeoCrowdNetF[variant=F], GeoCrowdNetW[variant=W]; scale=lambda
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn

from ...core.answers import Answers
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy, likelihood
from ...nn.model import Learned
from ...nn.nets import Crowd, planted, through
from ...nn.training import Training


class GeoCrowdNet(Crowd):
    def __init__(self, net, workers: int, classes: int, variant: str = "f", scale: float = 0.001, init: str = "strong"):
        super().__init__(net, workers, classes)
        self.variant, self.scale = variant, scale
        start = torch.eye(classes) if init == "eye" else planted(classes).log()
        self.raw = nn.Parameter(start.repeat(workers, 1, 1))  # [W, K, K]

    def said(self, seen, at, worker):
        return through(seen.log_probs[at], self.raw[worker].log_softmax(-1))


def loss(model, batch):
    seen = model(batch.x)
    total, count = likelihood(model.said(seen, batch.at, batch.worker), batch)
    if not model.scale:
        return total, count
    if model.variant == "f":
        spread = seen.probs.T @ seen.probs / len(seen.probs)
    else:
        tables = model.raw[batch.worker.unique()].softmax(-1)
        spread = torch.einsum("wkl,wml->km", tables, tables)
    return total - model.scale * volume(spread) * count, count


def volume(gram: torch.Tensor, ridge: float = 1e-6) -> torch.Tensor:
    return torch.logdet(gram + ridge * torch.eye(len(gram), device=gram.device))


def geocrowdnet(
    items: Items,
    answers: Answers,
    *,
    variant: Literal["f", "w"] = "f",
    scale: float = 0.001,
    init: Literal["strong", "eye"] = "strong",
    training: Training = Training(),  # noqa: B008 (frozen)
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
    """
    lesson = Lesson.of(items, answers, training)
    return lesson.learn(lesson.build(GeoCrowdNet, variant=variant, scale=scale, init=init), loss, score=cross_entropy)
