"""CrowdLayer: a network for the truth, and on top of it a layer of weights for each worker.

    p        = softmax(f(x))
    answer j ~ softmax(p @ W[j])          matrix
    answer j ~ softmax(v[j] * p)          vector
    answer j ~ softmax(p + b[j])          bias
    answer j ~ softmax(v[j] * p + b[j])   vector+bias
    answer j ~ softmax(s[j] * p)          scalar

Row = truth, column = answer, so the row vector p stands before the matrix; the paper writes W'[j] softmax(f), the transpose.
The weights are free numbers that start at the identity, so a row is no distribution: its softmax is what the worker says
when the truth is sure, and that is what is shown as the worker's confusions.

Family: networks for crowds
Needs: items, workers
Reference: Rodrigues and Pereira (2018), Deep learning from crowds, AAAI.
Also: CrowdLayer; form=variant, conn_type
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn

from ...core.answers import Answers
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy
from ...nn.model import Learned
from ...nn.nets import Crowd, across, pick
from ...nn.training import Training


class CrowdLayer(Crowd):
    def __init__(self, net, workers: int, classes: int, form: str = "matrix", compat_double_softmax: bool = False):
        super().__init__(net, workers, classes)
        self.form, self.doubled = form, compat_double_softmax
        if form == "matrix":
            self.weight = nn.Parameter(torch.eye(classes).repeat(workers, 1, 1))  # [W, K, K]
        elif form != "bias":
            self.weight = nn.Parameter(torch.ones(workers, 1 if form == "scalar" else classes))
        if form in ("bias", "vector+bias"):
            self.bias = nn.Parameter(torch.zeros(workers, classes))

    def forward(self, x):
        seen = self.net(x)
        return seen.doubled() if self.doubled else seen

    def layer(self, p, worker):
        """Log-probabilities of answers [n, m, K], from class probabilities [n, m, K]."""
        if self.form == "matrix":
            weight = pick(self.weight, worker)
            p = across(p.squeeze(1), weight)[:, None] if p.shape[1] == 1 else p @ weight
        elif self.form != "bias":
            p = p * pick(self.weight, worker)[:, None]
        if self.form in ("bias", "vector+bias"):
            p = p + pick(self.bias, worker)[:, None]
        return p.log_softmax(-1)

    def said(self, seen, at, worker):
        return self.layer(pick(seen.probs, at)[:, None], worker).squeeze(1)

    def free(self):
        return self.weight if self.form == "matrix" else None

    def tables(self, seen, at, worker):
        sure = torch.eye(self.classes, device=worker.device)
        return self.layer(sure.expand(len(worker), -1, -1), worker)


def crowdlayer(
    items: Items,
    answers: Answers,
    *,
    form: Literal["matrix", "vector", "bias", "vector+bias", "scalar"] = "matrix",
    compat_double_softmax: bool = False,
    training: Training = Training(),
) -> Learned:
    """Learn the network and everybody's layer together from the raw answers.

    Parameters
    ----------
    form
        What a worker's layer is.
    compat_double_softmax
        Put a second softmax over the network's probabilities, as some older code does.
    """
    lesson = Lesson.of(items, answers, training)
    model = lesson.build(CrowdLayer, form=form, compat_double_softmax=compat_double_softmax)
    return lesson.learn(model, cross_entropy)
