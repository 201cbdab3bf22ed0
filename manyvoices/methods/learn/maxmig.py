"""Max-MIG: two views of an item, the network's and the answers', made to agree on what they have in common.

    f(x)      = the network's class probabilities
    g(y)[k]   ~ prior[k] * product over the answers of exp(W[j][k, answer])
    M[a, b]   = sum over k of f(x_a)[k] g(y_b)[k] / prior[k]
    loss      = - (1 + mean over a of log M[a, a]) + mean over a != b of M[a, b]

A lower bound on the information the two views share. It does not change when both rename the classes, so the names come
from where W starts: each worker's shares under the vote. The prior is uniform, or learnt.

Family: networks for crowds
Needs: items, workers
Reference: Cao, Xu, Kong and Wang (2019), Max-MIG: an information theoretic approach for joint learning from crowds, ICLR.
Also: MaxMIG, max_mig
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import nn

from ...core.answers import Answers
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy
from ...nn.model import Learned
from ...nn.nets import Crowd, through
from ...nn.training import Training


class MaxMIG(Crowd):
    def __init__(self, net, workers: int, classes: int, prior: str = "uniform"):
        super().__init__(net, workers, classes)
        self.weight = nn.Parameter(torch.zeros(workers, classes, classes))  # [W, K, K]
        self.prior = nn.Parameter(torch.zeros(classes), requires_grad=prior == "learned")

    def said(self, seen, at, worker):
        return through(seen.log_probs[at], self.weight[worker].log_softmax(-1))

    def answered(self, batch, items: int):
        """The view from the answers: log g [B, K]."""
        votes = self.weight[batch.worker, :, batch.label] * batch.weight[:, None]
        score = votes.new_zeros(items, self.classes).index_add(0, batch.at, votes)
        return (score + self.prior.log_softmax(-1)).log_softmax(-1)


def loss(model, batch):
    f = model(batch.x).log_probs
    g = model.answered(batch, len(f)) - model.prior.log_softmax(-1)
    same = torch.logsumexp(f + g, dim=1)
    items = len(f)
    across = (f.exp() @ g.exp().T).sum() - same.exp().sum()
    value = -(1 + same.mean()) + across / max(items * (items - 1), 1)
    return value * items, torch.tensor(float(items), device=f.device)


def first_tables(lesson: Lesson) -> torch.Tensor:
    """Each worker's answers by the vote shares of the training items: log(shares + .01)."""
    votes, W, K = lesson.votes, len(lesson.workers), len(lesson.classes)
    place, at = votes.about(lesson.rows)
    label, worker, weight = votes.label[place], votes.worker[place], votes.weight[place]
    share = np.bincount(at * K + label, weight, minlength=len(lesson.rows) * K).reshape(-1, K)
    share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-12)
    counts = np.zeros((W * K, K))
    np.add.at(counts, worker * K + label, share[at] * weight[:, None])
    counts = counts.reshape(W, K, K).transpose(0, 2, 1)
    total = counts.sum(axis=2, keepdims=True)
    return torch.tensor(
        np.log(np.where(total > 0, counts / np.where(total > 0, total, 1), 0) + 0.01), dtype=torch.float32
    )


def maxmig(
    items: Items,
    answers: Answers,
    *,
    prior: Literal["uniform", "learned"] = "uniform",
    training: Training = Training(),  # noqa: B008 (frozen)
) -> Learned:
    """Learn both views together.

    Parameters
    ----------
    prior
        How frequent classes are taken to be: uniform or learned.
    """
    lesson = Lesson.of(items, answers, training)
    model = lesson.build(MaxMIG, prior=prior)
    model.weight.data.copy_(first_tables(lesson))
    return lesson.learn(model, loss, score=cross_entropy)
