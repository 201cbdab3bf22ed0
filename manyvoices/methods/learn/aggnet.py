"""AggNet: Dawid-Skene whose prior for each item is what the network says, by EM with the network in the loop.

    beliefs[i, k]       ~ p(x_i)[k] * product over the answers of confusions[j][k, answer]       E step
    confusions[j, k, l] ~ smoothing + sum of beliefs[i, k] over j's answers l                    M step
    network             : cross-entropy with the beliefs as soft labels, one epoch between two E steps

It starts from the vote shares. The worker's tables need no learning rate, so they are right from the first round on.

Family: networks for crowds
Needs: items, workers
Reference: Albarqouni et al. (2016), AggNet, IEEE TMI, doi:10.1109/TMI.2016.2528120; Rodrigues and Pereira (2018), AAAI.
Also: AggNet, deep_em; smoothing=prior
"""

from __future__ import annotations

import numpy as np
import torch

from ...core.answers import Answers
from ...core.errors import BadCall
from ...core.items import Items
from ...nn.lesson import Lesson, cross_entropy, soft_labels
from ...nn.model import Learned
from ...nn.nets import Crowd, through
from ...nn.training import Training


class AggNet(Crowd):
    log_tables: torch.Tensor

    def __init__(self, net, workers: int, classes: int):
        super().__init__(net, workers, classes)
        self.register_buffer("log_tables", torch.full((workers, classes, classes), -float(np.log(classes))))

    def said(self, seen, at, worker):
        return through(seen.log_probs[at], self.log_tables[worker])


class Beliefs:
    """The E and M steps over the training items; `target` is what the network learns from, a row an item."""

    def __init__(self, lesson: Lesson, model: AggNet, smoothing: float):
        self.lesson, self.model, self.smoothing = lesson, model, smoothing
        votes, K = lesson.votes, len(lesson.classes)
        place, self.at = votes.about(lesson.rows)
        self.label, self.worker = votes.label[place], votes.worker[place]
        self.weight = votes.weight[place].astype(float)
        share = np.bincount(self.at * K + self.label, self.weight, minlength=len(lesson.rows) * K).reshape(-1, K)
        self.target = np.zeros((len(votes.n), K), np.float32)
        self.keep(share / share.sum(axis=1, keepdims=True))

    def keep(self, beliefs: np.ndarray) -> None:
        self.beliefs = beliefs
        self.target[self.lesson.rows] = beliefs
        self.model.log_tables.copy_(torch.from_numpy(np.log(self.tables())))

    def tables(self) -> np.ndarray:
        """M step: [W, K, K]."""
        W, K = len(self.lesson.workers), len(self.lesson.classes)
        cell = self.worker * K + self.label
        said = [np.bincount(cell, self.weight * self.beliefs[self.at, k], minlength=W * K) for k in range(K)]
        counts = np.stack(said, axis=1).reshape(W, K, K).transpose(0, 2, 1) + self.smoothing  # [W, truth, said]
        total = counts.sum(axis=2, keepdims=True)
        return np.maximum(np.where(total > 0, counts / np.where(total > 0, total, 1), 1 / K), 1e-10)

    def update(self) -> None:
        """E step with what the network says now, then the M step."""
        self.model.eval()
        log_tables = self.model.log_tables.double().cpu().numpy()
        with torch.no_grad():
            prior = [
                self.model.truth(batch.x).double().cpu().numpy()
                for batch in self.lesson.batches(self.lesson.rows).in_order()
            ]
        score = np.concatenate(prior)
        for k in range(score.shape[1]):
            score[:, k] += np.bincount(
                self.at, self.weight * log_tables[self.worker, k, self.label], minlength=len(score)
            )
        score -= score.max(axis=1, keepdims=True)
        beliefs = np.exp(score)
        self.keep(beliefs / beliefs.sum(axis=1, keepdims=True))


def aggnet(
    items: Items,
    answers: Answers,
    *,
    smoothing: float = 0.01,
    training: Training = Training(),  # noqa: B008 (frozen)
) -> Learned:
    """Alternate epochs of the network with E and M steps.

    Parameters
    ----------
    smoothing
        Pseudo-count added to every confusion cell.
    """
    if smoothing < 0:
        raise BadCall(f"aggnet: smoothing is {smoothing}; expected 0 or more")
    lesson = Lesson.of(items, answers, training)
    model = lesson.build(AggNet)
    em = Beliefs(lesson, model, smoothing)

    def between(epoch: int) -> None:
        if epoch:
            em.update()

    train = lesson.batches(lesson.rows, em.target)
    return lesson.learn(model, soft_labels, score=cross_entropy, between=between, train=train)
