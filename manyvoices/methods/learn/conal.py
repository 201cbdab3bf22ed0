"""CoNAL: errors come from a confusion that all workers share or from the worker's own; the item and the worker say which.

    p        = softmax(f(x))
    share    = sigmoid(u[j] . v(x)),   u and v of length one
    answer j ~ softmax(share * p @ common + (1 - share) * p @ own[j])
    loss     = cross-entropy - scale * sum over workers of |own[j] - common|

Row = truth. The matrices are free numbers that start at 2 on the diagonal. The last term is subtracted: it rewards workers
who differ from the common confusion, and has no lower bound, so a large scale diverges. Summed over the batch's workers.

Family: networks for crowds
Needs: items, workers
Reference: Chu, Ma and Wang (2021), Learning from crowds by modeling common confusions, AAAI.
Also: CoNAL; scale=lambda; dim=n_dim
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from ...core.answers import Answers
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy
from ...nn.model import Learned
from ...nn.nets import Crowd
from ...nn.training import Training


class CoNAL(Crowd):
    def __init__(self, net, workers: int, classes: int, scale: float = 1e-5, dim: int = 20):
        super().__init__(net, workers, classes)
        self.scale = scale
        self.common = nn.Parameter(2 * torch.eye(classes))  # [K, K]
        self.own = nn.Parameter(2 * torch.eye(classes).repeat(workers, 1, 1))  # [W, K, K]
        self.who = nn.Embedding(workers, dim)
        self.what = nn.Sequential(nn.Linear(net.width, 128), nn.Linear(128, dim))

    def share(self, seen, at, worker):
        """[n] how much of an answer's error is the common one."""
        u, v = F.normalize(self.who(worker), dim=-1), F.normalize(self.what(seen.h), dim=-1)
        return torch.sigmoid((u * v[at]).sum(-1))

    def said(self, seen, at, worker):
        share, p = self.share(seen, at, worker)[:, None], seen.probs
        own = torch.einsum("nk,nkl->nl", p[at], self.own[worker])
        return (share * (p @ self.common)[at] + (1 - share) * own).log_softmax(-1)


def loss(model, batch):
    total, count = cross_entropy(model, batch)
    if not model.scale:
        return total, count
    apart = (model.own[batch.worker.unique()] - model.common).flatten(1)
    return total - model.scale * apart.norm(dim=1).sum() * count, count


def conal(
    items: Items,
    answers: Answers,
    *,
    scale: float = 1e-5,
    dim: int = 20,
    training: Training = Training(),  # noqa: B008 (frozen)
) -> Learned:
    """Learn the network, the common confusion and everybody's own together.

    Parameters
    ----------
    scale
        Weight of the reward for workers who differ from the common confusion; 0 for none.
    dim
        Length of the vectors that decide whose confusion it is.
    """
    lesson = Lesson.of(items, answers, training)
    return lesson.learn(lesson.build(CoNAL, scale=scale, dim=dim), loss, score=cross_entropy)
