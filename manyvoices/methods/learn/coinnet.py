"""COINNet: confusion matrices, and for each single answer an outlier term that may explain it away.

    q        = softmax(f(x)) @ softmax(R[j]) + centred E[answer],  clipped to (0, 1) and scaled to one
    loss     = - log q at the answers - volume * log det P'P + sparsity * mean over items of (|E of the item|^2)^0.2

E has a row for each answer of a training item (the public code: for each item and worker) and starts at 0; the power .2
drives most rows to 0, and the items whose rows stay large are outliers: instance-dependent noise.

Family: networks for crowds
Needs: items, workers
Reference: Nguyen, Ibrahim and Fu (2024), Noisy label learning with instance-dependent outliers, NeurIPS.
Also: COINNet
"""

from __future__ import annotations

from torch import nn

from ...core.answers import Answers
from ...core.items import Items
from ...nn.devices import all_summed
from ...nn.lesson import Lesson, cross_entropy, likelihood
from ...nn.model import Learned
from ...nn.nets import Crowd, pick, planted, spread, volume
from ...nn.training import Training

TINY = 1e-10


class CoinNet(Crowd):
    def __init__(self, net, workers: int, classes: int, pairs: int = 0, volume: float = 0.01, sparsity: float = 0.01):
        super().__init__(net, workers, classes)
        self.volume, self.sparsity = volume, sparsity
        self.raw = nn.Parameter(planted(classes).log().repeat(workers, 1, 1))  # [W, K, K]
        self.outlier = nn.Embedding(pairs, classes, sparse=True)  # [answers, K]; a step moves the batch's rows only
        nn.init.zeros_(self.outlier.weight)

    def free(self):
        return self.raw

    def tables(self, seen, at, worker):
        return pick(self.raw, worker).log_softmax(-1)


def loss(model, batch):
    seen = model(batch.x)
    more = model.outlier(batch.place)
    more = more - more.mean(-1, keepdim=True)
    q = (model.said(seen, batch.at, batch.worker).exp() + more).clamp(TINY, 1 - TINY)
    total, count = likelihood((q / q.sum(-1, keepdim=True)).log(), batch)
    size = q.new_zeros(len(seen.h)).index_add(0, batch.at, more.square().sum(-1))
    gram, items = spread(seen.probs)
    sparse = all_summed((size + TINY).pow(0.2).sum()) / items
    return total + count * (model.sparsity * sparse - model.volume * volume(gram / items)), count


def coinnet(
    items: Items, answers: Answers, *, volume: float = 0.01, sparsity: float = 0.01, training: Training = Training()
) -> Learned:
    """Learn the network, everybody's confusions and the outliers together.

    Parameters
    ----------
    volume
        Weight of the term that keeps the classes of a batch spread out.
    sparsity
        Weight of the term that keeps outliers few.
    """
    lesson = Lesson.of(items, answers, training)
    model = lesson.build(CoinNet, pairs=len(lesson.votes.label), volume=volume, sparsity=sparsity)
    return lesson.learn(model, loss, score=cross_entropy)
