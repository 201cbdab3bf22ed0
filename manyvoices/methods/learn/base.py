"""Base: one network with a head of its own for each worker, and no notion of a truth.

    answer j ~ softmax(head[j](h(x))),   truth = the mean over workers of what they would say

The yardstick for models of workers: it shares the items' features between people and nothing else. It also learns numbers
(--scale interval: a head says one number, by squared error) and classes in an order (the cuts between them are shared).

Family: networks for crowds
Needs: items, workers
Reference: Davani, Diaz and Prabhakaran (2022), Dealing with disagreements, TACL, doi:10.1162/tacl_a_00449 (multi-task).
Also: multi_head, multi_task
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from ...core.answers import Answers
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy
from ...nn.model import Learned
from ...nn.nets import Crowd, pick
from ...nn.targets import Steps
from ...nn.training import Training

SOME = 64  # workers whose mean stands for everybody's


class Base(Crowd):
    def __init__(self, net, workers: int, classes: int):
        super().__init__(net, workers, classes)
        last = net.head[-1]
        self.steps = last if isinstance(last, Steps) else None
        linear = last.linear if self.steps else last
        self.weight = nn.Parameter(linear.weight.detach().T.repeat(workers, 1, 1).clone())  # [W, H, K], or one number
        self.bias = nn.Parameter(torch.zeros(workers, linear.out_features))
        if self.steps:
            last.linear = nn.Identity()
        net.head[-1] = nn.Identity()  # the heads are the workers' own, and the net's "logits" its hidden layer

    def said(self, seen, at, worker):
        h = pick(seen.logits, at)[:, None]
        return self.read((h @ pick(self.weight, worker))[:, 0] + pick(self.bias, worker))

    def read(self, logits):
        return self.steps.read(logits) if self.steps else super().read(logits)

    def truth(self, x):
        seen = self(x)
        some = np.unique(np.linspace(0, self.workers - 1, min(SOME, self.workers)).round()).astype(int)
        some = torch.from_numpy(some).to(self.bias.device)
        heads = torch.einsum("bd,wdk->bwk", seen.logits, self.weight[some]) + self.bias[some]
        if self.aim == "number":
            return heads.mean(dim=1)
        return torch.logsumexp(self.read(heads), dim=1) - float(np.log(len(some)))


def base(items: Items, answers: Answers, *, training: Training = Training()) -> Learned:
    """Learn everybody's head on shared features."""
    lesson = Lesson.of(items, answers, training, direct=True)
    return lesson.learn(lesson.build(Base), cross_entropy)
