"""MaDL: the confusions of a worker depend on the item; workers who are alike share the weight of one.

    p            = softmax(f(x))
    confusions   = softmax(net(embedding of the worker, features of the item))    [K, K], K diagonals, or one
    answer j     ~ p @ confusions
    loss         = mean over answers of weight[j] * cross-entropy - log Gamma(gamma; 1.25, 0.25)
    weight[j]    ~ 1 / sum over the batch's workers of exp(-gamma |embedding[j] - embedding[i]|^2),  mean 1

Ten colluding workers are one opinion: the weights see to it. The item's features are not trained through the worker's net.

Family: networks for crowds
Needs: items, workers
Reference: Herde, Huseljic and Sick (2023), Multi-annotator deep learning, TMLR.
Also: MaDL
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import nn

from ...core.answers import Answers
from ...core.errors import BadCall
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy, likelihood
from ...nn.model import Learned
from ...nn.nets import Crowd, through
from ...nn.training import Training

ALPHA, BETA = 1.25, 0.25


class MaDL(Crowd):
    def __init__(
        self, net, workers: int, classes: int, confusion: str = "full", prior: float = 0.8, alike: bool = True
    ):
        super().__init__(net, workers, classes)
        self.confusion, self.alike = confusion, alike
        self.who, self.what = nn.Embedding(workers, 16), nn.Linear(net.width, 16)
        nn.init.uniform_(
            self.who.weight, -((workers or 1) ** -0.5), (workers or 1) ** -0.5
        )  # as a linear layer on one-hot workers
        self.inner = nn.Sequential(
            nn.Linear(16 * 16 + 32, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 16), nn.BatchNorm1d(16)
        )
        out = {"full": classes * classes, "diagonal": classes, "isotropic": 1}[confusion]
        self.outer = nn.Linear(16, out)
        start = torch.eye(classes).flatten() * math.log(prior * max(classes - 1, 1) / (1 - prior))
        self.outer.bias.data.copy_(start if confusion == "full" else torch.full((out,), -math.log(1 / prior - 1)))
        self.gamma = nn.Parameter(torch.tensor((ALPHA - 1) / BETA))

    def log_tables(self, seen, at, worker):
        """[n, K, K]."""
        who, what = self.who(worker), self.what(seen.h.detach())[at]
        both = (who[:, :, None] * what[:, None, :]).flatten(1)
        logits = self.outer((self.inner(torch.cat([who, what, both], dim=1)) + who).relu())
        if self.confusion == "full":
            return logits.reshape(-1, self.classes, self.classes).log_softmax(-1)
        tables = logits.new_full((len(logits), self.classes, self.classes), -math.log(max(self.classes - 1, 1)))
        eye = torch.eye(self.classes, dtype=torch.bool, device=logits.device)
        return torch.where(eye, logits.expand(-1, self.classes)[:, :, None], tables).log_softmax(-1)

    def said(self, seen, at, worker):
        return through(seen.log_probs[at], self.log_tables(seen, at, worker))

    def weights(self, worker):
        """[n] of answers, by how many of the batch's workers are like theirs."""
        some, which = worker.unique(return_inverse=True)
        x = self.who(some).detach()
        alike = torch.exp(-self.gamma.clamp_min(1e-3) * torch.cdist(x, x).square()).sum(1)
        weight = 1 / alike
        return (weight / weight.mean())[which]


def loss(model, batch):
    said = model.said(model(batch.x), batch.at, batch.worker)
    if not model.alike:
        return likelihood(said, batch)
    missed = -said.gather(1, batch.label[:, None])[:, 0] * batch.weight * model.weights(batch.worker)
    gamma, count = model.gamma.clamp_min(1e-3), batch.weight.sum()
    density = (ALPHA - 1) * gamma.log() - BETA * gamma + ALPHA * math.log(BETA) - math.lgamma(ALPHA)
    return missed.sum() - density * count, count


def madl(
    items: Items,
    answers: Answers,
    *,
    confusion: Literal["full", "diagonal", "isotropic"] = "full",
    prior: float = 0.8,
    alike: bool = True,
    training: Training = Training(),  # noqa: B008 (frozen)
) -> Learned:
    """Learn the network and the workers' net together.

    Parameters
    ----------
    confusion
        What may differ: full confusions, their diagonals, or one number.
    prior
        How often workers are right at the start.
    alike
        Weigh answers by how many workers are alike.
    """
    if not 0 < prior < 1:
        raise BadCall(f"madl: prior is {prior}; expected a number between 0 and 1")
    lesson = Lesson.of(items, answers, training)
    return lesson.learn(lesson.build(MaDL, confusion=confusion, prior=prior, alike=alike), loss, score=cross_entropy)
