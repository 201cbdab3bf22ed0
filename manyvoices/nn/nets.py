"""The network between items and classes: what the encoder says, put on one scale, then a small head."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn


class Standard(nn.Module):
    """Features with mean 0 and deviation 1 on the training items: frozen encoders differ in scale a thousandfold."""

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, width: int):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))

    def learn(self, x: torch.Tensor) -> None:
        spread = x.std(dim=0, correction=0)
        self.mean.copy_(x.mean(dim=0))
        self.scale.copy_(torch.where(spread > 1e-6, 1 / spread.clamp_min(1e-6), torch.zeros_like(spread)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x.float() - self.mean) * self.scale


@dataclass
class Seen:
    """What a network sees in B items."""

    h: torch.Tensor  # [B, D] features before the last layer's classes
    logits: torch.Tensor  # [B, K]

    @property
    def log_probs(self) -> torch.Tensor:
        return self.logits.log_softmax(-1)

    @property
    def probs(self) -> torch.Tensor:
        return self.logits.softmax(-1)


class Net(nn.Module):
    """Body (the encoder's part that is trained or just scales), a hidden layer, classes."""

    def __init__(self, body: nn.Module, width: int, classes: int, hidden: int, dropout: float):
        super().__init__()
        self.body, self.width = body, width
        self.head = (
            nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, classes))
            if hidden
            else nn.Sequential(nn.Dropout(dropout), nn.Linear(width, classes))
        )

    def forward(self, x) -> Seen:
        h = self.body(x)
        return Seen(h, self.head(h).float())


class Crowd(nn.Module):
    """A network for the truth and, in most methods, a model of how each worker answers. `said` gives log-probabilities."""

    def __init__(self, net: Net, workers: int, classes: int):
        super().__init__()
        self.net, self.workers, self.classes = net, workers, classes

    def forward(self, x) -> Seen:
        return self.net(x)

    def truth(self, x) -> torch.Tensor:
        """Log-probabilities of the true class [B, K]."""
        return self(x).log_probs

    def said(self, seen: Seen, at: torch.Tensor, worker: torch.Tensor) -> torch.Tensor:
        """Log-probabilities of what workers say about items: [n, K]."""
        raise TypeError(f"{type(self).__name__} has no model of workers")

    def rates(self) -> dict[str, float]:
        """Parameters by the start of their name -> a learning rate of their own, as a multiple of the usual one."""
        return {}


def through(log_probs: torch.Tensor, log_tables: torch.Tensor) -> torch.Tensor:
    """log(p @ table) from log p [n, K] and log tables [n, K, K]."""
    return torch.logsumexp(log_probs[:, :, None] + log_tables, dim=1)


def planted(classes: int, right: float = 0.8) -> torch.Tensor:
    """A confusion matrix [K, K] of somebody who is right so often and errs evenly: where workers' tables start."""
    if classes == 1:
        return torch.ones(1, 1)
    wrong = (1 - right) / (classes - 1)
    return torch.full((classes, classes), wrong) + (right - wrong) * torch.eye(classes)
