"""AggNet: Dawid-Skene whose prior for each item is what the network says, by EM with the network in the loop.

    beliefs[i, k]       ~ p(x_i)[k] * product over the answers of confusions[j][k, answer]       E step
    confusions[j, k, l] ~ smoothing + sum of beliefs[i, k] over j's answers l                    M step
    network             : cross-entropy with the beliefs as soft labels, `rounds` epochs between two E steps

It starts from the majority vote. Epochs of the network that leave the cross-entropy with the beliefs higher than it was are
taken back before the E step, so that none of the steps lowers the (penalised) likelihood; it stands in the metrics.

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
from ...nn.loop import snapshot
from ...nn.model import Learned
from ...nn.nets import Crowd
from ...nn.training import Training


class AggNet(Crowd):
    log_tables: torch.Tensor

    def __init__(self, net, workers: int, classes: int):
        super().__init__(net, workers, classes)
        self.register_buffer("log_tables", torch.full((workers, classes, classes), -float(np.log(classes))))

    def tables(self, seen, at, worker):
        return self.log_tables[worker]


class Rounds:
    """EM around the epochs of the network. What the loop keeps in check points: beliefs, and what the network says."""

    def __init__(self, lesson: Lesson, model: AggNet, smoothing: float, every: int):
        self.lesson, self.model, self.smoothing, self.every = lesson, model, smoothing, every
        self.said = lesson.said()
        self.target = np.zeros((len(lesson.votes.n), len(lesson.classes)), np.float32)  # what the network learns from
        self.log_p = np.zeros((len(lesson.rows), len(lesson.classes)))
        self.kept = {"beliefs": torch.from_numpy(self.target), "log_p": torch.from_numpy(self.log_p)}
        self.keep(self.said.majority())

    def keep(self, beliefs: np.ndarray) -> None:
        """The M step."""
        self.target[self.lesson.rows] = beliefs
        self.model.log_tables.copy_(torch.from_numpy(np.log(self.said.tables(beliefs, self.smoothing))))

    def network(self) -> np.ndarray:
        """log p of the training items."""
        self.model.eval()
        with torch.no_grad():
            batches = self.lesson.batches(self.lesson.rows).in_order()
            return np.concatenate([self.model.truth(batch.x).double().cpu().numpy() for batch in batches])

    def missed(self) -> float:
        """Cross-entropy of what the network says with the beliefs."""
        return -float((self.target[self.lesson.rows] * self.log_p).sum())

    def before(self, epoch: int) -> None:
        if epoch == 0:
            self.log_p[:] = self.network()
        if epoch % self.every == 0:
            self.weights = snapshot(self.model)

    def after(self, epoch: int) -> dict[str, float]:
        if (epoch + 1) % self.every:
            return {}
        before = self.missed(), self.log_p.copy()
        self.log_p[:] = self.network()
        if taken_back := self.missed() > before[0]:
            self.model.load_state_dict(self.weights)
            self.log_p[:] = before[1]
        log_tables = self.model.log_tables.double().cpu().numpy()
        beliefs, evidence = self.said.beliefs(self.log_p, log_tables)
        self.keep(beliefs)
        objective = evidence + self.smoothing * float(log_tables.sum())
        return {"objective": objective, "cross_entropy": self.missed(), "taken_back": float(taken_back)}


def aggnet(
    items: Items, answers: Answers, *, smoothing: float = 0.01, rounds: int = 1, training: Training = Training()
) -> Learned:
    """Alternate epochs of the network with E and M steps.

    Parameters
    ----------
    smoothing
        Pseudo-count added to every confusion cell.
    rounds
        Epochs of the network between two E steps.
    """
    if smoothing < 0 or rounds < 1:
        raise BadCall(f"aggnet: smoothing {smoothing}, rounds {rounds}; expected 0 or more, and 1 or more")
    if rounds > training.epochs:
        raise BadCall(f"--rounds is {rounds}: expected at most --epochs, {training.epochs}, or there is no E step")
    lesson = Lesson.of(items, answers, training)
    model = lesson.build(AggNet)
    em = Rounds(lesson, model, smoothing, rounds)
    return lesson.learn(
        model,
        soft_labels,
        score=cross_entropy,
        train=lesson.batches(lesson.rows, em.target),
        before=em.before,
        after=em.after,
        kept=em.kept,
    )
