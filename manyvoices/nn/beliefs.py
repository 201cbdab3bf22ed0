"""Dawid-Skene's two steps over the answers to the training items, for methods that put a network before them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .batches import Votes


@dataclass(frozen=True, eq=False)
class Said:
    """The answers to n items, in their order."""

    at: np.ndarray  # [N] which item
    worker: np.ndarray  # [N]
    label: np.ndarray  # [N]
    weight: np.ndarray  # [N]
    items: int
    workers: int
    classes: int

    @classmethod
    def about(cls, votes: Votes, rows: np.ndarray, workers: int, classes: int) -> Said:
        place, at = votes.about(rows)
        weight = votes.weight[place].astype(float)
        return cls(at, votes.worker[place], votes.label[place], weight, len(rows), workers, classes)

    def shares(self) -> np.ndarray:
        """The vote shares [n, K]."""
        cells = np.bincount(self.at * self.classes + self.label, self.weight, minlength=self.items * self.classes)
        shares = cells.reshape(self.items, self.classes)
        return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)

    def majority(self) -> np.ndarray:
        """The class with most votes [n, K]; several share it."""
        shares = self.shares()
        most = shares >= shares.max(axis=1, keepdims=True) * (1 - 1e-9)
        return most / most.sum(axis=1, keepdims=True)

    def tables(self, beliefs: np.ndarray, smoothing: float, empty: float | None = None) -> np.ndarray:
        """M step: each worker's confusions [W, truth, said]; a row without answers is uniform, or holds `empty`."""
        W, K = self.workers, self.classes
        cell = self.worker * K + self.label
        said = [np.bincount(cell, self.weight * beliefs[self.at, k], minlength=W * K) for k in range(K)]
        counts = np.stack(said, axis=1).reshape(W, K, K).transpose(0, 2, 1) + smoothing
        total = counts.sum(axis=2, keepdims=True)
        found = np.where(total > 0, counts / np.where(total > 0, total, 1), 1 / K if empty is None else empty)
        return found if empty is not None else np.maximum(found, 1e-10)

    def beliefs(self, log_prior: np.ndarray, log_tables: np.ndarray) -> tuple[np.ndarray, float]:
        """E step: P(truth) [n, K] under a prior of each item [n, K], and the log-likelihood."""
        score = log_prior.copy()
        for k in range(self.classes):
            more = self.weight * log_tables[self.worker, k, self.label]
            score[:, k] += np.bincount(self.at, more, minlength=self.items)
        most = score.max(axis=1, keepdims=True)
        found = np.exp(score - most)
        total = found.sum(axis=1, keepdims=True)
        return found / total, float((np.log(total) + most).sum())
