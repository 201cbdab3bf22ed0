"""What is learnt about an item: a class, a class of several in an order, or a number. The last layer and the loss of each.

    class        p = softmax(f(x))                           loss = - sum over k of t[k] log p[k]
    cumulative   P(class <= k) = sigmoid(cut[k] - f(x))      the same loss; f(x) is one number, the cuts ascend
    distance     p = softmax(f(x))                           loss = sum over k of (P(class <= k) - T(class <= k))^2
    number       f(x), in deviations of the labels           loss = (f(x) - t)^2

Both ways for classes in an order are proper: on average nothing does better than the true probabilities.
Reference: McCullagh (1980), Regression models for ordinal data, JRSS B 42; Epstein (1969), A scoring system for probability
forecasts of ranked categories, J. Appl. Meteorol. 8.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from ..core.errors import BadCall, BadInput

AIMS = ("class", "cumulative", "distance", "number")
COVERED = 0.95  # of the intervals of predicted numbers


def aim_of(ordered: str, scale: str, classes: int, direct: bool) -> str:
    """What a network aims at. Numbers and distances are for methods that hold its word against labels directly."""
    if scale == "interval":
        if not direct:
            raise BadInput(
                "these labels are numbers, and this method learns classes",
                expected="base, or labels of mean, median or ordinal and `train`; or --scale nominal or ordinal",
            )
        return "number"
    if ordered == "distance" and not direct:
        raise BadCall("--ordered distance is for classifier and base; use cumulative, or leave it out")
    if ordered == "auto":
        ordered = "cumulative" if scale == "ordinal" else "none"
    return "class" if ordered == "none" or classes < 2 else ordered


def last_layer(aim: str, width: int, classes: int) -> nn.Module:
    return Steps(width, classes) if aim == "cumulative" else nn.Linear(width, 1 if aim == "number" else classes)


class Steps(nn.Module):
    """Features to log-probabilities of ordered classes, by one number and the cuts between them: [..., D] -> [..., K]."""

    def __init__(self, width: int, classes: int):
        super().__init__()
        self.linear = nn.Linear(width, 1)
        self.first = nn.Parameter(torch.zeros(()))
        self.gaps = nn.Parameter(torch.zeros(classes - 2))
        self.start(np.ones(classes))

    def start(self, said: np.ndarray) -> None:
        """At cuts that give every class the share in which it was said."""
        share = (said + 1) / (said + 1).sum()
        below = np.log(share.cumsum()[:-1] / (1 - share.cumsum()[:-1]))  # [K - 1]
        gaps = np.maximum(np.diff(below), 1e-3)
        with torch.no_grad():
            self.first.fill_(float(below[0]))
            self.gaps.copy_(torch.from_numpy(gaps + np.log(-np.expm1(-gaps))))  # softplus backwards

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        return self.read(self.linear(h))

    def read(self, z: torch.Tensor) -> torch.Tensor:
        """log(sigmoid(b) - sigmoid(a)) = log sigmoid(b) + log sigmoid(-a) + log(1 - exp(a - b)): [..., 1] -> [..., K]."""
        z = z.float()
        gaps = F.softplus(self.gaps) + 1e-6
        cuts = torch.cat([self.first[None], self.first + gaps.cumsum(0)])
        upper, lower = F.logsigmoid(cuts - z), F.logsigmoid(z - cuts)
        middle = upper[..., 1:] + lower[..., :-1] + torch.log(-torch.expm1(-gaps))
        return torch.cat([upper[..., :1], middle, lower[..., -1:]], dim=-1)


def missed(
    aim: str, said: torch.Tensor, target: torch.Tensor, weight: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """How far what was said (log-probabilities [n, K], or numbers [n, 1]) is from targets of that shape: sum, weight."""
    if aim == "number":
        apart = (said - target).square().sum(1)
    elif aim == "distance":
        apart = (said.exp().cumsum(1) - target.cumsum(1)).square().sum(1)
    else:
        apart = -(target * said).sum(1)
    return (apart * weight).sum(), weight.sum()


def radius(apart: np.ndarray) -> float | None:
    """How far from a predicted number the truth lies at most, 95 times in 100, by what was held out; split conformal."""
    place = math.ceil((len(apart) + 1) * COVERED)
    return float(np.sort(apart)[place - 1]) if place <= len(apart) else None
