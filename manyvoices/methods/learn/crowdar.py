"""CrowdAR: how reliable an answer is depends on the worker's expertise and the item's difficulty in each class.

    difficulty[x]  = sigmoid(W2 sigmoid(W1 h(x))),  expertise[j] = sigmoid(e[j]),  both in (0, 1)^K
    reliability    = sigmoid(w . ((expertise - difficulty) * p) + b),  w >= 0,  p = softmax(f(x))
    softened label = reliability * the label + (1 - reliability) / K
    answer j       ~ softmax(p @ W[j])
    loss           = balance * cross-entropy with softened labels
                     + (1 - balance) * cross-entropy of the reliability with "the network agrees with the answer"

The features h(x) are not trained through the difficulty. For the first `warm` epochs the balance is 1: the network's own
opinion is worth nothing yet. How far a worker can be trusted with an item is the reliability.

Family: networks for crowds
Needs: items, workers
Reference: Cao et al. (2023), Learning from crowds with annotation reliability, SIGIR.
Also: CrowdAR; balance=lambda; detach_reliability=detach; warm=warmup_epochs
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from ...core.answers import Answers
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy
from ...nn.model import Learned
from ...nn.nets import Crowd, across, pick
from ...nn.training import Training


class CrowdAR(Crowd):
    def __init__(
        self, net, workers: int, classes: int, balance: float = 0.9, detach_reliability: bool = False, warm: int = 0
    ):
        super().__init__(net, workers, classes)
        self.balance, self.detached, self.warm = balance, detach_reliability, warm
        self.weight = nn.Parameter(torch.eye(classes).repeat(workers, 1, 1))  # [W, K, K]
        self.expertise = nn.Parameter(nn.init.xavier_normal_(torch.empty(workers, classes)))
        self.difficulty = nn.Sequential(nn.Linear(net.width, 128), nn.Sigmoid(), nn.Linear(128, classes), nn.Sigmoid())
        self.judge = nn.Linear(classes, 1)
        self.judge.weight.data.abs_()

    def after_step(self):
        self.judge.weight.data.clamp_(min=0)

    def said(self, seen, at, worker):
        return across(pick(seen.probs, at), pick(self.weight, worker)).log_softmax(-1)

    def free(self):
        return self.weight

    def tables(self, seen, at, worker):
        return pick(self.weight, worker).log_softmax(-1)

    def odds(self, seen, at, worker):
        """Log-odds that an answer is reliable: [n]."""
        gap = pick(self.expertise, worker).sigmoid() - pick(self.difficulty(seen.h.detach()), at)
        return self.judge(gap * pick(seen.probs, at))[:, 0]

    def right(self, seen, at, worker):
        return self.odds(seen, at, worker).sigmoid()


def loss(model, batch):
    seen = model(batch.x)
    odds = model.odds(seen, batch.at, batch.worker)
    reliable = (odds.detach() if model.detached else odds).sigmoid()[:, None]
    soft = reliable * F.one_hot(batch.label, model.classes) + (1 - reliable) / model.classes
    missed = -(soft * model.said(seen, batch.at, batch.worker)).sum(-1)
    balance = 1.0 if model.epoch < model.warm else model.balance
    agrees = (seen.logits.argmax(-1)[batch.at] == batch.label).to(odds)
    judged = F.binary_cross_entropy_with_logits(odds, agrees, reduction="none")
    return ((balance * missed + (1 - balance) * judged) * batch.weight).sum(), batch.weight.sum()


def crowdar(
    items: Items,
    answers: Answers,
    *,
    balance: float = 0.9,
    detach_reliability: bool = False,
    warm: int = 5,
    training: Training = Training(),
) -> Learned:
    """Learn the network, everybody's layer, expertise and the items' difficulty together.

    Parameters
    ----------
    balance
        Weight of the labels against that of the reliability.
    detach_reliability
        Do not let the first term change the reliability.
    warm
        Epochs with the labels alone.
    """
    lesson = Lesson.of(items, answers, training)
    model = lesson.build(CrowdAR, balance=balance, detach_reliability=detach_reliability, warm=warm)
    return lesson.learn(model, loss, score=cross_entropy)
