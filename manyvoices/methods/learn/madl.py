"""MaDL: the confusions of a worker depend on the item; workers who are alike share the weight of one.

    p            = softmax(f(x))
    confusions   = softmax(net(a[j], b(x), o(a[j] b(x)')))       [K, K], K diagonals, or one
    a, b, o      = 16 numbers each: of the worker, of the item's features h(x), of the products of the two
    answer j     ~ p @ confusions
    loss         = mean over answers of weight[j] * cross-entropy - log Gamma(gamma; 1.25, 0.25)
    weight[j]    ~ 1 / sum over workers i of exp(-gamma |a[j] - a[i]|^2),  mean 1

Ten colluding workers are one opinion: the weights see to it. Beyond 256 workers the sum runs over 256 evenly chosen ones.
Neither features nor embeddings are trained through the weights, nor features through the workers' net. Everybody's
confusions start as those of somebody who is right `prior` of the time, and stay there for the first `warm` epochs: the
workers' net learns the answers faster than the network learns the truth, and would leave it nothing to explain.

Family: networks for crowds
Needs: items, workers
Reference: Herde, Huseljic and Sick (2023), Multi-annotator deep learning, TMLR.
Also: MaDL; warm=warmup_epochs
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import torch
from torch import nn

from ...core.answers import Answers
from ...core.errors import BadCall
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy, likelihood
from ...nn.model import Learned
from ...nn.nets import Crowd, Norm, odds, one_hot_layer, pick, unbiased
from ...nn.training import Training

ALPHA, BETA = 1.25, 0.25
SOME = 256  # workers among whom alike ones are looked for
D = 16  # numbers for each worker and item


class MaDL(Crowd):
    depends = True
    others: torch.Tensor

    def __init__(
        self,
        net,
        workers: int,
        classes: int,
        confusion: str = "full",
        prior: float = 0.8,
        per_item: bool = True,
        outer: bool = True,
        alike: bool = True,
        warm: int = 0,
    ):
        super().__init__(net, workers, classes)
        self.confusion, self.depends, self.alike, self.warm = confusion, per_item, alike, warm
        self.who, self.what = one_hot_layer(workers, D), nn.Linear(net.width, D) if per_item else None
        self.both = unbiased(nn.Linear(D * D, D)) if per_item and outer else None
        width = D * (1 + (self.what is not None) + (self.both is not None))
        first, second = unbiased(nn.Linear(width, 128)), unbiased(nn.Linear(128, D))
        self.inner = nn.Sequential(first, Norm(128), nn.ReLU(), second, Norm(D))
        self.last = nn.Linear(D, {"full": classes * classes, "diagonal": classes, "isotropic": 1}[confusion])
        nn.init.zeros_(self.last.weight)
        full = torch.eye(classes).flatten() * odds(prior, classes)
        self.last.bias.data.copy_(full if confusion == "full" else torch.tensor(odds(prior, 2)))
        self.gamma = nn.Parameter(torch.tensor((ALPHA - 1) / BETA), requires_grad=alike)
        some = np.unique(np.linspace(0, max(workers - 1, 0), min(SOME, max(workers, 1))).round()).astype(int)
        self.register_buffer("others", torch.from_numpy(some), persistent=False)

    def tables(self, seen, at, worker):
        who = self.who(worker)
        parts = [who]
        if self.what is not None:
            parts.append(pick(self.what(seen.h.detach()), at))
        if self.both is not None:
            parts.append(self.both((who[:, :, None] * parts[1][:, None, :]).flatten(1)))
        logits = self.last((self.inner(torch.cat(parts, dim=1)) + who).relu())
        if self.epoch < self.warm:
            logits = logits.detach()
        if self.confusion == "full":
            return logits.reshape(-1, self.classes, self.classes).log_softmax(-1)
        wrong = logits.new_full((len(logits), self.classes, self.classes), -math.log(max(self.classes - 1, 1)))
        eye = torch.eye(self.classes, dtype=torch.bool, device=logits.device)
        return torch.where(eye, logits.expand(-1, self.classes)[:, :, None], wrong).log_softmax(-1)

    def weights(self, worker):
        """[n] of answers, by how many workers are like theirs."""
        gamma, others = self.gamma.clamp_min(1e-3), self.who(self.others).detach()

        def single(x):
            return 1 / torch.exp(-gamma * torch.cdist(x, others).square()).mean(dim=1)

        return single(self.who(worker).detach()) / single(others).mean()


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
    per_item: bool = True,
    outer: bool = True,
    alike: bool = True,
    warm: int = 10,
    training: Training = Training(),
) -> Learned:
    """Learn the network and the workers' net together.

    Parameters
    ----------
    confusion
        What may differ: full confusions, their diagonals, or one number.
    prior
        How often workers are right at the start.
    per_item
        Let confusions depend on the item.
    outer
        Give the workers' net products of worker and item too.
    alike
        Weigh answers by how many workers are alike.
    warm
        Epochs in which everybody stays as right as at the start; at most a third of all.
    """
    if not 0 < prior < 1:
        raise BadCall(f"madl: prior is {prior}; expected a number between 0 and 1")
    lesson = Lesson.of(items, answers, training)
    options = {"confusion": confusion, "prior": prior, "per_item": per_item, "outer": outer, "alike": alike}
    model = lesson.build(MaDL, **options, warm=min(warm, training.epochs // 3))
    return lesson.learn(model, loss, score=cross_entropy)
