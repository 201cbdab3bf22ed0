"""annot-mix: mixup of items, workers and labels at once, with confusions that depend on both.

    pairs      (x, a, z): item, worker, label of every answer; two pairs are mixed with a share ~ Beta(alpha, alpha)
    p          = softmax(f(x)),   confusions = softmax(net(a, h(x))),   q = p @ confusions
    loss       = - mean over mixed pairs of  z . log q

Mixed items are what the network sees; where the encoder is trained on texts, which cannot be mixed, their features are.
A pair costs a pass through the network. alpha = 0 mixes nothing; `mix_only_annotators` mixes answers to the same item only.
Everybody's confusions start as those of somebody who is right `prior` of the time, and stay there for the first `warm` epochs:
a net that is shown item and worker learns the answers faster than the network learns the truth, and would leave it nothing
to explain.

Family: networks for crowds
Needs: items, workers
Reference: Herde, Luehrs, Huseljic and Sick (2024), Annot-mix: learning with noisy class labels from multiple annotators via
    a mixup extension, ECAI.
Also: annot_mix, AnnotMix; warm=warmup_epochs
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from ...core.answers import Answers
from ...core.errors import BadCall
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy
from ...nn.model import Learned
from ...nn.nets import Crowd, Norm, odds, one_hot_layer, pick, through, unbiased
from ...nn.training import Training


class AnnotMix(Crowd):
    depends = True

    def __init__(
        self,
        net,
        workers: int,
        classes: int,
        alpha: float = 1.0,
        mix_only_annotators: bool = False,
        prior: float = 0.9,
        warm: int = 0,
    ):
        super().__init__(net, workers, classes)
        self.alpha, self.within, self.warm = alpha, mix_only_annotators, warm
        self.who, self.what = one_hot_layer(workers, 128), nn.Linear(net.width, 128)
        self.inner = nn.Sequential(nn.Dropout(0.5), unbiased(nn.Linear(256, 128)), Norm(128), nn.ReLU())
        self.outer = nn.Linear(128, classes * classes)
        nn.init.zeros_(self.outer.weight)
        self.outer.bias.data.copy_(torch.eye(classes).flatten() * odds(prior, classes))

    def confusions(self, h, who):
        both = torch.cat([who, self.what(h.detach())], dim=1)
        logits = self.outer(self.inner(both)).reshape(-1, self.classes, self.classes)
        return (logits.detach() if self.epoch < self.warm else logits).log_softmax(-1)

    def tables(self, seen, at, worker):
        return self.confusions(pick(seen.h, at), self.who(worker))


def mixed(a: torch.Tensor, share: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    share = share.reshape(-1, *[1] * (a.ndim - 1))
    return share * a.float() + (1 - share) * a[other].float()


def drawn(model, at):
    """The share of each pair [n], and the pair it is mixed with [n]."""
    n = len(at)
    if not (model.training and model.alpha > 0):
        return torch.ones(n), torch.arange(n)
    share = torch.distributions.Beta(model.alpha, model.alpha).sample((n,))
    other = torch.argsort(at.cpu() + torch.rand(n, dtype=torch.float64)) if model.within else torch.randperm(n)
    return share, other


def loss(model, batch):
    share, other = (x.to(batch.at.device) for x in drawn(model, batch.at))
    if isinstance(batch.x, torch.Tensor):
        seen = model(mixed(batch.x[batch.at], share, other))
    else:
        seen = model.net.classify(mixed(model.net.features(batch.x)[batch.at], share, other))
    said = through(seen.log_probs, model.confusions(seen.h, mixed(model.who(batch.worker), share, other)))
    target = mixed(F.one_hot(batch.label, model.classes), share, other)
    weight = mixed(batch.weight, share, other)
    return -((target * said).sum(-1) * weight).sum(), weight.sum()


def annotmix(
    items: Items,
    answers: Answers,
    *,
    alpha: float = 1.0,
    mix_only_annotators: bool = False,
    prior: float = 0.9,
    warm: int = 10,
    training: Training = Training(),
) -> Learned:
    """Learn the network and the workers' net from mixed pairs.

    Parameters
    ----------
    alpha
        How strongly pairs are mixed; 0 for not at all.
    mix_only_annotators
        Mix the answers to an item with one another, and nothing across items.
    prior
        How often workers are right at the start.
    warm
        Epochs in which everybody stays as right as at the start; at most a third of all.
    """
    if not 0 < prior < 1:
        raise BadCall(f"annotmix: prior is {prior}; expected a number between 0 and 1")
    if alpha < 0:
        raise BadCall(f"annotmix: alpha is {alpha}; expected 0 or more")
    lesson = Lesson.of(items, answers, training)
    options = {"alpha": alpha, "mix_only_annotators": mix_only_annotators, "prior": prior}
    model = lesson.build(AnnotMix, **options, warm=min(warm, training.epochs // 3))
    return lesson.learn(model, loss, score=cross_entropy)
