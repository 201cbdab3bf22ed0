"""The network between items and classes: what the encoder says, put on one scale, then a small head."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from . import devices, targets

SOME = 64  # columns


class Standard(nn.Module):
    """Features with mean 0 and deviation 1 on the training items: frozen encoders differ in scale a thousandfold."""

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, width: int):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))

    def learn(self, values: np.ndarray, rows: np.ndarray) -> None:
        """From some rows of [items, D], a few columns at a time: copies of them all would be most of what training needs."""
        for a in range(0, values.shape[1], SOME):
            x = torch.from_numpy(np.array(values[rows, a : a + SOME], np.float32))
            there = x.isfinite().sum(dim=0).clamp_min(1)
            mean = x.nansum(dim=0) / there
            spread = ((x - mean).square().nansum(dim=0) / there).sqrt()
            self.mean[a : a + SOME] = mean
            self.scale[a : a + SOME] = torch.where(spread > 1e-6, 1 / spread.clamp_min(1e-6), torch.zeros_like(spread))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ((x.float() - self.mean) * self.scale).nan_to_num(0.0)  # a missing number counts as the mean


@dataclass
class Seen:
    """What a network sees in B items."""

    h: torch.Tensor  # [B, D] features: what the encoder says
    logits: torch.Tensor  # [B, K]

    @property
    def log_probs(self) -> torch.Tensor:
        return self.logits.log_softmax(-1)

    @property
    def probs(self) -> torch.Tensor:
        return self.logits.softmax(-1)

    def doubled(self) -> Seen:
        """With probabilities taken for logits, as networks that end in a softmax hand them on."""
        return replace(self, logits=self.probs)


class Net(nn.Module):
    """Body (the encoder's part that is trained or just scales), a hidden layer, classes. In training it may run in half
    precision; what is made of its numbers, determinants and norms among them, does not."""

    within: Callable[[], AbstractContextManager] = nullcontext  # the loop's

    def __init__(self, body: nn.Module, width: int, classes: int, hidden: int, dropout: float, aim: str = "class"):
        super().__init__()
        self.body, self.width = body, width
        inner = [nn.Linear(width, hidden), nn.ReLU()] if hidden else []
        self.head = nn.Sequential(*inner, nn.Dropout(dropout), targets.last_layer(aim, hidden or width, classes))

    def forward(self, x) -> Seen:
        return self.classify(self.features(x))

    def features(self, x) -> torch.Tensor:
        with self.within():
            return self.body(x).float()

    def classify(self, h: torch.Tensor) -> Seen:
        with self.within():
            return Seen(h, self.head(h).float())


class Crowd(nn.Module):
    """A network for the truth and, in most methods, a model of how each worker answers.

    A method with confusions gives `tables`; one whose answers are no mixture over the truth gives `said` too.
    """

    options: dict[str, Any]  # what it was built with beside the network
    aim = "class"  # of targets.py
    depends = False  # do a worker's confusions depend on the item?

    def __init__(self, net: Net, workers: int, classes: int):
        super().__init__()
        self.net, self.workers, self.classes = net, workers, classes
        self.epoch = 0  # the loop's; for methods that begin with something else

    def forward(self, x) -> Seen:
        return self.net(x)

    def truth(self, x) -> torch.Tensor:
        """Log-probabilities of the true class [B, K], or numbers [B, 1]."""
        return self.read(self(x).logits)

    def read(self, logits: torch.Tensor) -> torch.Tensor:
        """What the last layer says, as log-probabilities or numbers."""
        return logits if self.aim == "number" else logits.log_softmax(-1)

    def tables(self, seen: Seen, at: torch.Tensor, worker: torch.Tensor) -> torch.Tensor:
        """log P(worker says l about the item | truth is k): [n, K, K]."""
        raise TypeError(f"{type(self).__name__} has no confusions of workers")

    def free(self) -> torch.Tensor | None:
        """The free numbers that everybody's tables are made of [W, K, K], row = truth, in methods that have such."""
        return None

    def said(self, seen: Seen, at: torch.Tensor, worker: torch.Tensor) -> torch.Tensor:
        """Log-probabilities of what workers say about items: [n, K]."""
        return through(pick(seen.log_probs, at), self.tables(seen, at, worker))

    def right(self, seen: Seen, at: torch.Tensor, worker: torch.Tensor) -> torch.Tensor:
        """P(worker is right about the item): [n]."""
        tables = self.tables(seen, at, worker).diagonal(dim1=1, dim2=2)
        return (pick(seen.probs, at) * tables.exp()).sum(-1)

    def after_step(self) -> None:
        """What must hold after each step of the optimiser is made to hold."""

    def rates(self) -> dict[str, float]:
        """Parameters by the start of their name -> a learning rate of their own, as a multiple of the usual one."""
        return {}


class Norm(nn.BatchNorm1d):
    """Batch normalisation over the rows of all processes. A single row is measured by those seen before."""

    running_mean: torch.Tensor
    running_var: torch.Tensor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return super().forward(x)
        n = devices.summed(len(x))[0]
        if n < 2:
            mean, spread = self.running_mean, self.running_var
        else:
            mean = devices.all_summed(x.sum(0)) / n
            spread = devices.all_summed((x - mean).square().sum(0)) / n
            with torch.no_grad():
                self.running_mean.lerp_(mean, 0.1)
                self.running_var.lerp_(spread * n / (n - 1), 0.1)
        return (x - mean) / (spread + self.eps).sqrt() * self.weight + self.bias


def unbiased(layer: nn.Linear) -> nn.Linear:
    """Without its bias, for a norm behind it takes that away again: the slope would be rounding alone, which an optimiser
    that divides by its size makes large. The numbers of its start are drawn as ever."""
    layer.register_parameter("bias", None)
    return layer


def pick(table: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """table[rows]. The gradient is added up in one order, whatever the number of threads; that of indexing is not."""
    return F.embedding(rows, table.flatten(1)).reshape(len(rows), *table.shape[1:])


def across(probs: torch.Tensor, tables: torch.Tensor) -> torch.Tensor:
    """probs [n, K] times a table each [n, K, K]: [n, K]. Half the time, gradients included, of products of so small matrices."""
    return (probs[:, :, None] * tables).sum(1)


def through(log_probs: torch.Tensor, log_tables: torch.Tensor) -> torch.Tensor:
    """log(p @ table) from log p [n, K] and log tables [n, K, K]."""
    return torch.logsumexp(log_probs[:, :, None] + log_tables, dim=1)


def volume(gram: torch.Tensor, ridge: float = 1e-6) -> torch.Tensor:
    """log det of a Gram matrix [K, K]; the ridge keeps it finite where a class is missing."""
    return torch.logdet(gram + ridge * torch.eye(len(gram), device=gram.device, dtype=gram.dtype))


def spread(probs: torch.Tensor) -> tuple[torch.Tensor, float]:
    """P'P of the class probabilities [B, K] of a batch, over all processes, and B."""
    return devices.all_summed(probs.T @ probs), devices.summed(len(probs))[0]


def planted(classes: int, right: float = 0.8) -> torch.Tensor:
    """A confusion matrix [K, K] of somebody who is right so often and errs evenly: where workers' tables start."""
    if classes == 1:
        return torch.ones(1, 1)
    wrong = (1 - right) / (classes - 1)
    return torch.full((classes, classes), wrong) + (right - wrong) * torch.eye(classes)


def one_hot_layer(workers: int, width: int) -> nn.Embedding:
    """A linear layer on one-hot workers, with the start of one."""
    layer = nn.Embedding(workers, width)
    nn.init.uniform_(layer.weight, -(max(workers, 1) ** -0.5), max(workers, 1) ** -0.5)
    return layer


def odds(right: float, classes: int) -> float:
    """The logit of the right class, among zeros for the others, of somebody who is right so often."""
    return math.log(right * max(classes - 1, 1) / (1 - right))
