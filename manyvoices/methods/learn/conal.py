"""CoNAL: errors come from a confusion that all workers share or from the worker's own; the item and the worker say which.

    p        = softmax(f(x))
    share    = sigmoid(u[j] . v(x)),   u and v of length one
    answer j ~ softmax(share * p @ common + (1 - share) * p @ own[j])
    loss     = cross-entropy - scale * sum over workers of |own[j] - common|

Row = truth: p stands before the matrices, where the paper writes the transpose. They are free numbers that start at 2 on the
diagonal. v(x) = V2 V1 x of what the encoder says, without a non-linearity. The last term is subtracted: it rewards workers
who differ from the common confusion, and has no lower bound, so a large scale diverges. It is summed over the batch's workers:
those who did not answer in it stay where they are.

Family: networks for crowds
Needs: items, workers
Reference: Chu, Ma and Wang (2021), Learning from crowds by modeling common confusions, AAAI.
Also: CoNAL; scale=lambda; dim=n_dim
"""

from __future__ import annotations

import torch
from torch import nn

from ...core.answers import Answers
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy
from ...nn.model import Learned
from ...nn.nets import Crowd, across, one_hot_layer, pick
from ...nn.training import Training


class CoNAL(Crowd):
    depends = True

    def __init__(
        self, net, workers: int, classes: int, scale: float = 1e-5, dim: int = 20, compat_double_softmax: bool = False
    ):
        super().__init__(net, workers, classes)
        self.scale, self.doubled = scale, compat_double_softmax
        self.common = nn.Parameter(2 * torch.eye(classes))  # [K, K]
        self.own = nn.Parameter(2 * torch.eye(classes).repeat(workers, 1, 1))  # [W, K, K]
        self.who = one_hot_layer(workers, dim)
        self.what = nn.Sequential(nn.Linear(net.width, 128), nn.Linear(128, dim))

    def forward(self, x):
        seen = self.net(x)
        return seen.doubled() if self.doubled else seen

    def share(self, seen, at, worker):
        """[n, 1] how much of an answer's error is the common one."""
        u, v = self.who(worker), pick(self.what(seen.h), at)
        return torch.sigmoid((u * v).sum(-1, keepdim=True) / (length(u) * length(v) + 1e-12))

    def said(self, seen, at, worker):
        p = pick(seen.probs, at)
        own = across(p, pick(self.own, worker))
        return own.lerp(p @ self.common, self.share(seen, at, worker)).log_softmax(-1)

    def free(self):
        return self.own

    def tables(self, seen, at, worker):
        share = self.share(seen, at, worker)[:, :, None]
        return (share * self.common + (1 - share) * pick(self.own, worker)).log_softmax(-1)


def length(x):
    return torch.linalg.vector_norm(x, dim=-1, keepdim=True)


def loss(model, batch):
    total, count = cross_entropy(model, batch)
    if not model.scale:
        return total, count
    apart = length((pick(model.own, batch.crowd) - model.common).flatten(1))
    return total - model.scale * apart.sum() * count, count


def conal(
    items: Items,
    answers: Answers,
    *,
    scale: float = 1e-5,
    dim: int = 20,
    compat_double_softmax: bool = False,
    training: Training = Training(),
) -> Learned:
    """Learn the network, the common confusion and everybody's own together.

    Parameters
    ----------
    scale
        Weight of the reward for workers who differ from the common confusion; 0 for none.
    dim
        Length of the vectors that decide whose confusion it is.
    compat_double_softmax
        Put a second softmax over the network's probabilities, as some older code does.
    """
    lesson = Lesson.of(items, answers, training)
    model = lesson.build(CoNAL, scale=scale, dim=dim, compat_double_softmax=compat_double_softmax)
    return lesson.learn(model, loss, score=cross_entropy)
