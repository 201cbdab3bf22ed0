"""UnionNet: all workers' answers to an item are one draw from the union of their classes.

    V          [W * K, K], one block per worker
    B: answers ~ softmax over all rows of V (per true class) @ softmax(f(x))
    A: answers ~ softmax over all rows of (V @ softmax(f(x)))
    loss       = - mean over items of  sum over its answers of log P(answer) / number of answers

What a worker says is the worker's block, scaled to one. With sparse labels the union also models who answers; `target`
counts gives every answer the same weight instead of every item. A costs memory by workers times batch, B does not.

Family: networks for crowds
Needs: items, workers
Reference: Wei et al. (2022), Deep learning from multiple noisy annotators as a union, IEEE TNNLS,
    doi:10.1109/TNNLS.2022.3168696 (known here through public re-implementations; A second-hand).
Also: UnionNetA[variant=a], UnionNetB[variant=b]
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn

from ...core.answers import Answers
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy
from ...nn.model import Learned
from ...nn.nets import Crowd, planted
from ...nn.training import Training


class UnionNet(Crowd):
    def __init__(
        self, net, workers: int, classes: int, variant: str = "b", target: str = "normalised", init: str = "strong"
    ):
        super().__init__(net, workers, classes)
        self.variant, self.target = variant, target
        tiny = 1e-5
        eye = torch.eye(classes) * (1 - tiny) + (1 - torch.eye(classes)) * tiny / max(classes - 1, 1)
        block = eye if init == "eye" else planted(classes).log().T
        self.raw = nn.Parameter(block.repeat(workers, 1, 1))  # [W, said, truth]

    def union(self, seen, at, worker):
        """Log-probability, in the union of everybody's classes, of each class of these workers: [n, K]."""
        if self.variant == "a":
            scores = torch.einsum("nk,nlk->nl", seen.probs[at], self.raw[worker])
            every = torch.logsumexp(torch.einsum("bk,wlk->bwl", seen.probs, self.raw).flatten(1), dim=1)
            return scores - every[at, None]
        log_share = self.raw[worker] - torch.logsumexp(self.raw.flatten(0, 1), dim=0)  # [n, said, truth]
        return torch.logsumexp(log_share + seen.log_probs[at, None, :], dim=2)

    def said(self, seen, at, worker):
        if self.variant == "a":
            return torch.einsum("nk,nlk->nl", seen.probs[at], self.raw[worker]).log_softmax(-1)
        return self.union(seen, at, worker).log_softmax(-1)


def loss(model, batch):
    seen = model(batch.x)
    missed = -model.union(seen, batch.at, batch.worker).gather(1, batch.label[:, None])[:, 0] * batch.weight
    items = len(seen.probs)
    if model.target == "normalised":
        effort = missed.new_zeros(items).index_add(0, batch.at, batch.weight)
        missed = missed / effort[batch.at]
    return missed.sum(), torch.tensor(float(items), device=missed.device)


def unionnet(
    items: Items,
    answers: Answers,
    *,
    variant: Literal["a", "b"] = "b",
    target: Literal["normalised", "counts"] = "normalised",
    init: Literal["strong", "eye"] = "strong",
    training: Training = Training(),  # noqa: B008 (frozen)
) -> Learned:
    """Learn the network and the union's matrix together.

    Parameters
    ----------
    variant
        Where the softmax over the union stands: before (b) or after (a) the truth is averaged out.
    target
        normalised gives every item the same weight, counts every answer.
    init
        Where the blocks start: strong (.8 on the diagonal) or eye.
    """
    lesson = Lesson.of(items, answers, training)
    return lesson.learn(lesson.build(UnionNet, variant=variant, target=target, init=init), loss, score=cross_entropy)
