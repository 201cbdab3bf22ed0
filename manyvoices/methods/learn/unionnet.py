"""UnionNet: all workers' answers to an item are one draw from the union of their classes.

    V          [W * K, K], one block per worker
    B: answers ~ softmax over all rows of V (per true class) @ softmax(f(x))
    A: answers ~ softmax over all rows of (V @ softmax(f(x)))
    loss       = - mean over items of  sum over its answers of log P(answer) / number of answers

V has a row for each answer and a column for each true class (the transpose of the usual confusions). What a worker says is
the worker's block, scaled to one. With sparse labels the union also models who answers; `target`
counts gives every answer the same weight instead of every item. A costs memory by workers times batch, B does not.

Family: networks for crowds
Needs: items, workers
Reference: Wei et al. (2022), Deep learning from multiple noisy annotators as a union, IEEE TNNLS,
    doi:10.1109/TNNLS.2022.3168696 (known here through public re-implementations; A second-hand).
Also: UnionNetA[variant=a], UnionNetB[variant=b]
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import nn

from ...core.answers import Answers
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy
from ...nn.model import Learned
from ...nn.nets import Crowd, pick, planted
from ...nn.training import Training


class UnionNet(Crowd):
    def __init__(
        self, net, workers: int, classes: int, variant: str = "b", target: str = "normalised", init: str = "strong"
    ):
        super().__init__(net, workers, classes)
        self.variant, self.target = variant, target
        block = planted(classes, 1 - 1e-5) if init == "eye" else planted(classes).log() - math.log(max(workers, 1))
        self.raw = nn.Parameter(block.T.repeat(workers, 1, 1))  # [W, said, truth]

    def blocks(self, seen, at, worker):
        """A: logits in the union of everybody's classes, of those of these workers: [n, K]."""
        return (pick(self.raw, worker) @ pick(seen.probs, at)[:, :, None])[:, :, 0]

    def union(self, seen, at, worker):
        """Log-probability, in the union of everybody's classes, of each class of these workers: [n, K]."""
        if self.variant == "a":
            every = seen.probs @ self.raw.flatten(0, 1).T  # [B, W * K]
            return self.blocks(seen, at, worker) - pick(every.logsumexp(dim=1, keepdim=True), at)
        log_share = pick(self.raw, worker) - self.raw.flatten(0, 1).logsumexp(dim=0)  # [n, said, truth]
        return torch.logsumexp(log_share + pick(seen.log_probs, at)[:, None], dim=2)

    def said(self, seen, at, worker):
        return (self.blocks if self.variant == "a" else self.union)(seen, at, worker).log_softmax(-1)

    def free(self):
        return self.raw.transpose(1, 2)

    def tables(self, seen, at, worker):
        return pick(self.raw, worker).transpose(1, 2).log_softmax(-1)


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
    training: Training = Training(),
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
