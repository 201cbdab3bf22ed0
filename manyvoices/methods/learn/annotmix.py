"""annot-mix: mixup of items, workers and labels at once, with confusions that depend on both.

    pairs      (x, a, z): item, worker, label of every answer; two pairs are mixed with a share ~ Beta(alpha, alpha)
    p          = softmax(f(x)),   confusions = softmax(net(a, h(x))),   q = p @ confusions
    loss       = - mean over mixed pairs of  z . log q

Mixed items are what the network sees; where the encoder is trained on texts, which cannot be mixed, their features are.
alpha = 0 mixes nothing.

Family: networks for crowds
Needs: items, workers
Reference: Herde, Luehrs, Huseljic and Sick (2024), Annot-mix: learning with noisy class labels from multiple annotators via
    a mixup extension, ECAI.
Also: annot_mix, AnnotMix
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

from ...core.answers import Answers
from ...core.errors import BadCall
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy
from ...nn.model import Learned
from ...nn.nets import Crowd, Seen, through
from ...nn.training import Training


class AnnotMix(Crowd):
    def __init__(self, net, workers: int, classes: int, alpha: float = 1.0, prior: float = 0.9):
        super().__init__(net, workers, classes)
        self.alpha = alpha
        self.who, self.what = nn.Embedding(workers, 128), nn.Linear(net.width, 128)
        nn.init.uniform_(
            self.who.weight, -((workers or 1) ** -0.5), (workers or 1) ** -0.5
        )  # as a linear layer on one-hot workers
        self.inner = nn.Sequential(nn.Dropout(0.5), nn.Linear(256, 128), nn.BatchNorm1d(128), nn.ReLU())
        self.outer = nn.Linear(128, classes * classes)
        self.outer.bias.data.copy_(torch.eye(classes).flatten() * math.log(prior * max(classes - 1, 1) / (1 - prior)))

    def log_tables(self, h, who):
        both = torch.cat([who, self.what(h.detach())], dim=1)
        return self.outer(self.inner(both)).reshape(-1, self.classes, self.classes).log_softmax(-1)

    def said(self, seen, at, worker):
        return through(seen.log_probs[at], self.log_tables(seen.h[at], self.who(worker)))


def mixed(a: torch.Tensor, share: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    share = share.reshape(-1, *[1] * (a.ndim - 1))
    return share * a.float() + (1 - share) * a[other].float()


def loss(model, batch):
    n = len(batch.at)
    share, other = torch.ones(n, device=batch.at.device), torch.arange(n, device=batch.at.device)
    if model.training and model.alpha > 0:
        share = torch.distributions.Beta(model.alpha, model.alpha).sample((n,)).to(batch.at.device)
        other = torch.randperm(n, device="cpu").to(batch.at.device)
    if isinstance(batch.x, torch.Tensor):
        seen = model(mixed(batch.x[batch.at], share, other))
    else:
        h = mixed(model.net.body(batch.x)[batch.at], share, other)
        seen = Seen(h, model.net.head(h))
    tables = model.log_tables(seen.h, mixed(model.who(batch.worker), share, other))
    said = through(seen.log_probs, tables)
    target = mixed(F.one_hot(batch.label, model.classes), share, other)
    weight = mixed(batch.weight, share, other)
    return -((target * said).sum(-1) * weight).sum(), weight.sum()


def annotmix(
    items: Items,
    answers: Answers,
    *,
    alpha: float = 1.0,
    prior: float = 0.9,
    training: Training = Training(),  # noqa: B008 (frozen)
) -> Learned:
    """Learn the network and the workers' net from mixed pairs.

    Parameters
    ----------
    alpha
        How strongly pairs are mixed; 0 for not at all.
    prior
        How often workers are right at the start.
    """
    if not 0 < prior < 1:
        raise BadCall(f"annotmix: prior is {prior}; expected a number between 0 and 1")
    lesson = Lesson.of(items, answers, training)
    return lesson.learn(lesson.build(AnnotMix, alpha=alpha, prior=prior), loss, score=cross_entropy)
