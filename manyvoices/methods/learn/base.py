"""Base: one network with a head of its own for each worker, and no notion of a truth.

    answer j ~ softmax(head[j](h(x))),   truth = the mean over workers of what they would say

The yardstick for models of workers: it shares the items' features between people and nothing else.

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
from ...nn.nets import Crowd
from ...nn.training import Training

SOME = 64  # workers whose mean stands for everybody's


class Base(Crowd):
    def __init__(self, net, workers: int, classes: int):
        super().__init__(net, workers, classes)
        last = net.head[-1]
        self.weight = nn.Parameter(last.weight.detach().T.repeat(workers, 1, 1).clone())  # [W, D, K]
        self.bias = nn.Parameter(torch.zeros(workers, classes))
        net.head[-1] = nn.Identity()  # the heads are the workers' own

    def forward(self, x):
        seen = self.net(x)  # its "logits" are the last hidden layer
        return seen

    def said(self, seen, at, worker):
        h = seen.logits[at]
        return (torch.einsum("nd,ndk->nk", h, self.weight[worker]) + self.bias[worker]).log_softmax(-1)

    def truth(self, x):
        seen = self(x)
        some = np.unique(np.linspace(0, self.workers - 1, min(SOME, self.workers)).round()).astype(int)
        some = torch.from_numpy(some).to(self.bias.device)
        heads = torch.einsum("bd,wdk->bwk", seen.logits, self.weight[some]) + self.bias[some]
        return torch.logsumexp(heads.log_softmax(-1), dim=1) - float(np.log(len(some)))


def base(items: Items, answers: Answers, *, training: Training = Training()) -> Learned:  # noqa: B008 (frozen)
    """Learn everybody's head on shared features."""
    lesson = Lesson.of(items, answers, training)
    return lesson.learn(lesson.build(Base), cross_entropy)
