"""crowd-kit's CrowdLayer and CoNAL (crowdkit.learning) for learn_peers.py. Its package gives the layers; the loop is the user's.

    answers   as its example (examples/Learning.ipynb) does: a Dataset of answers, a DataLoader, the net once an answer. A
              batch has as many answers as a batch of items has on average, so that an epoch has as many steps
    items     our idea with its layers: the net once an item, the layer on the batch's answers, no DataLoader
    grid      the usual other way: every worker's answer to every item, those that are missing masked in the loss

As there, the layer stands on the net's logits and cross-entropy on what it says; CoNAL's embeddings are the features.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from crowdkit.learning import CoNAL, CrowdLayer
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

NAME = "crowd-kit"
WAYS = {"crowdlayer": ("answers", "items", "grid"), "conal": ("answers", "items", "grid")}
MISSING = -100  # what cross_entropy leaves out


def start(method: str, way: str, task: Any) -> Fit:
    return Fit(method, way, task)


class Model(nn.Module):
    def __init__(self, method: str, task: Any):
        super().__init__()
        self.net, self.conal = task.net, method == "conal"
        self.layer = (CoNAL if self.conal else CrowdLayer)(task.classes, task.workers)
        if self.conal:
            with warnings.catch_warnings(), torch.no_grad():
                warnings.filterwarnings("ignore", "Lazy modules are a new feature")
                self(
                    task.train.x[:2], torch.arange(2), torch.zeros(2, dtype=torch.long)
                )  # its lazy layer learns its width

    def forward(self, x: torch.Tensor, at: torch.Tensor | None, worker: torch.Tensor) -> torch.Tensor:
        """What workers say [n, K] about items [B, D]; answer i is about item `at[i]`, or i."""
        logits = self.net(x)
        if at is not None:
            x, logits = (x[at] if self.conal else x), logits[at]
        return self.layer(x, logits, worker) if self.conal else self.layer(logits, worker)


Batch = tuple[torch.Tensor, torch.Tensor | None, torch.Tensor, torch.Tensor]  # x, at, worker, label


class Answers(Dataset):
    def __init__(self, said: Any):
        self.x, self.at, self.worker, self.label = said.x, said.at, said.worker, said.label

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, i: int) -> dict[str, torch.Tensor]:
        return {
            "input": self.x[self.at[i]],
            "label": torch.tensor(self.label[i], dtype=torch.long),
            "id_worker": torch.tensor(self.worker[i], dtype=torch.long),
        }


class ByAnswer:
    def __init__(self, said: Any, items: int, workers: int, shuffle: bool):
        size = max(2, round(items * len(said.label) / max(len(said.x), 1)))
        self.loader = DataLoader(Answers(said), batch_size=size, shuffle=shuffle)

    def __iter__(self) -> Iterator[Batch]:
        for batch in self.loader:
            yield batch["input"], None, batch["id_worker"], batch["label"]


class ByItem:
    def __init__(self, said: Any, items: int, workers: int, shuffle: bool):
        order = np.argsort(said.at, kind="stable")
        self.x, self.size, self.shuffle = said.x, items, shuffle
        self.start = np.searchsorted(said.at[order], np.arange(len(said.x) + 1))
        self.worker, self.label = torch.from_numpy(said.worker[order]), torch.from_numpy(said.label[order])

    def __iter__(self) -> Iterator[Batch]:
        rows = torch.randperm(len(self.x)) if self.shuffle else torch.arange(len(self.x))
        for some in rows.split(self.size):
            first, end = self.start[some.numpy()], self.start[some.numpy() + 1]
            n = end - first
            at = np.repeat(np.arange(len(n)), n)
            place = np.arange(len(at)) + np.repeat(first - np.concatenate([[0], n.cumsum()[:-1]]), n)
            yield self.x[some], torch.from_numpy(at), self.worker[place], self.label[place]


class Grid:
    def __init__(self, said: Any, items: int, workers: int, shuffle: bool):
        self.x, self.size, self.shuffle, self.workers = said.x, items, shuffle, workers
        self.said = torch.full((len(said.x), workers), MISSING)
        self.said[said.at, said.worker] = torch.from_numpy(said.label)

    def __iter__(self) -> Iterator[Batch]:
        rows = torch.randperm(len(self.x)) if self.shuffle else torch.arange(len(self.x))
        for some in rows.split(self.size):
            at = torch.arange(len(some)).repeat_interleave(self.workers)
            yield self.x[some], at, torch.arange(self.workers).repeat(len(some)), self.said[some].flatten()


class Fit:
    def __init__(self, method: str, way: str, task: Any):
        kind = {"answers": ByAnswer, "items": ByItem, "grid": Grid}[way]
        how = self.how = task.options
        self.train = kind(task.train, how["batch"], task.workers, True)
        self.dev = kind(task.dev, how["batch"], task.workers, False)
        self.model, self.best = Model(method, task), -math.inf
        sets = [{"params": self.model.net.parameters(), "weight_decay": how["decay"]}]
        own = [p for p in self.model.layer.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW([*sets, {"params": own, "weight_decay": 0.0}], lr=how["lr"])

    def epoch(self, number: int) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = self.how["lr"] * 0.5 * (1 + math.cos(math.pi * number / self.how["epochs"]))
        self.model.train()
        running = 0.0
        for x, at, worker, label in self.train:
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(x, at, worker), label)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.how["clip"])
            self.optimizer.step()
            running += loss.item()
        score = self.held_out()
        if score > self.best:
            self.best, self.kept = score, copy.deepcopy(self.model.state_dict())

    @torch.no_grad()
    def held_out(self) -> float:
        """The mean log-probability of the held-out answers."""
        self.model.eval()
        total, n = 0.0, 0
        for x, at, worker, label in self.dev:
            total -= F.cross_entropy(self.model(x, at, worker), label, reduction="sum").item()
            n += int((label != MISSING).sum())
        return total / max(n, 1)

    @torch.no_grad()
    def predict(self, x: torch.Tensor) -> np.ndarray:
        self.model.load_state_dict(self.kept)
        return self.model.eval().net(x).softmax(-1).numpy()
