"""CrowdLayer: a network for the truth, and on top of it a layer of weights for each worker.

    p        = softmax(f(x))
    answer j ~ softmax(p @ W[j])          matrix
    answer j ~ softmax(v[j] * p)          vector
    answer j ~ softmax(p + b[j])          bias
    answer j ~ softmax(v[j] * p + b[j])   vector+bias
    answer j ~ softmax(s[j] * p)          scalar

Row = truth, column = answer; the paper writes the transpose. The weights are free numbers that start at the identity,
so a row is no distribution: its softmax is what the worker says when the truth is sure.

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
from ...nn.nets import Crowd
from ...nn.training import Training


class CrowdLayer(Crowd):
    def __init__(self, net, workers: int, classes: int, form: str = "matrix"):
        super().__init__(net, workers, classes)
        shape = {"matrix": (workers, classes, classes), "scalar": (workers, 1)}.get(form, (workers, classes))
        self.form = form
        if form == "matrix":
            self.weight = nn.Parameter(torch.eye(classes).repeat(workers, 1, 1))  # [W, K, K]
        elif form != "bias":
            self.weight = nn.Parameter(torch.ones(shape))
        if form in ("bias", "vector+bias"):
            self.bias = nn.Parameter(torch.zeros(workers, classes))

    def said(self, seen, at, worker):
        h = seen.probs[at]
        if self.form == "matrix":
            h = torch.einsum("nk,nkl->nl", h, self.weight[worker])
        elif self.form != "bias":
            h = h * self.weight[worker]
        if self.form in ("bias", "vector+bias"):
            h = h + self.bias[worker]
        return h.log_softmax(-1)


def crowdlayer(
    items: Items,
    answers: Answers,
    *,
    form: Literal["matrix", "vector", "bias", "vector+bias", "scalar"] = "matrix",
    training: Training = Training(),  # noqa: B008 (frozen)
) -> Learned:
    """Learn the network and everybody's layer together from the raw answers.

    Parameters
    ----------
    form
        What a worker's layer is.
    """
    lesson = Lesson.of(items, answers, training)
    return lesson.learn(lesson.build(CrowdLayer, form=form), cross_entropy)
