"""Max-MIG: two views of an item, the network's and the answers', made to agree on what they have in common.

    f(x)      = the network's class probabilities
    g(y)[k]   ~ prior[k] * product over the answers of exp(W[j][k, answer])
    M[a, b]   = sum over k of f(x_a)[k] g(y_b)[k] / prior[k]
    loss      = - (1 + mean over a of log M[a, a]) + mean over a != b of M[a, b]

A lower bound on the information the two views share. It does not change when both rename the classes, so the names come
from where W starts: each worker's shares under the vote. The prior is uniform, learnt, or given. The rows of exp(W), scaled to
one, are what is shown as confusions. It needs items with several answers, and batches of more than one item.

Family: networks for crowds
Needs: items, workers
Reference: Cao, Xu, Kong and Wang (2019), Max-MIG: an information theoretic approach for joint learning from crowds, ICLR.
Also: MaxMIG, max_mig
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from ...core.answers import Answers
from ...core.errors import BadCall
from ...core.items import Items
from ...nn.devices import all_summed, summed
from ...nn.lesson import Lesson, cross_entropy
from ...nn.model import Learned
from ...nn.nets import Crowd, pick
from ...nn.training import Training


class MaxMIG(Crowd):
    def __init__(self, net, workers: int, classes: int, prior: str = "uniform"):
        super().__init__(net, workers, classes)
        self.weight = nn.Parameter(torch.zeros(workers, classes, classes))  # [W, K, K]
        self.prior = nn.Parameter(torch.zeros(classes), requires_grad=prior == "learned")
        if prior not in ("uniform", "learned"):
            self.prior.data.copy_(torch.tensor([float(part) for part in prior.split(",")]).log())

    def free(self):
        return self.weight

    def tables(self, seen, at, worker):
        return pick(self.weight, worker).log_softmax(-1)

    def answered(self, batch, items: int):
        """The view from the answers: log g [B, K]."""
        said = self.weight.transpose(1, 2).flatten(0, 1)  # [W * K said, K true]
        votes = pick(said, batch.worker * self.classes + batch.label) * batch.weight[:, None]
        score = votes.new_zeros(items, self.classes).index_add(0, batch.at, votes)
        return (score + self.prior.log_softmax(-1)).log_softmax(-1)


def loss(model, batch):
    f = model(batch.x).log_probs
    g = model.answered(batch, len(f)) - model.prior.log_softmax(-1)
    same, n = torch.logsumexp(f + g, dim=1), torch.tensor(float(len(f))).to(f)
    items = summed(n)[0]
    pairs = (all_summed(f.exp().sum(0)) * all_summed(g.exp().sum(0))).sum() - all_summed(same.exp().sum())
    return n * (pairs / max(items * (items - 1), 1) - 1) - same.sum(), n


def first_tables(lesson: Lesson) -> torch.Tensor:
    """Each worker's answers by the vote shares of the training items: log(shares + .01)."""
    said = lesson.said()
    return torch.from_numpy(np.log(said.tables(said.shares(), 0, empty=0) + 0.01)).float()


def maxmig(items: Items, answers: Answers, *, prior: str = "uniform", training: Training = Training()) -> Learned:
    """Learn both views together.

    Parameters
    ----------
    prior
        How frequent classes are taken to be: uniform, learned, or a number for each, such as .7,.2,.1.
    """
    lesson = Lesson.of(items, answers, training)
    if prior not in ("uniform", "learned"):
        try:
            good = np.array([float(part) for part in prior.split(",")])
        except ValueError:
            good = np.zeros(0)
        if len(good) != len(lesson.classes) or not (good > 0).all():
            expected = f"uniform, learned, or {len(lesson.classes)} numbers above 0"
            raise BadCall(f"maxmig: prior is {prior}; expected {expected}, in the order of the classes")
    model = lesson.build(MaxMIG, prior=prior)
    model.weight.data.copy_(first_tables(lesson))
    return lesson.learn(model, loss, score=cross_entropy)
