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
from ...nn.beliefs import Said
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


class Loop:
    """EM around the network: `target` is what it learns from, a row an item."""

    def __init__(self, lesson: Lesson, model: AggNet, smoothing: float):
        self.lesson, self.model, self.smoothing = lesson, model, smoothing
        self.said = Said.about(lesson.votes, lesson.rows, len(lesson.workers), len(lesson.classes))
        self.target = np.zeros((len(lesson.votes.n), len(lesson.classes)), np.float32)
        self.keep(self.said.shares())

    def keep(self, beliefs: np.ndarray) -> None:
        self.target[self.lesson.rows] = beliefs
        self.model.log_tables.copy_(torch.from_numpy(np.log(self.said.tables(beliefs, self.smoothing))))

    def update(self) -> None:
        """E step with what the network says now, then the M step."""
        self.model.eval()
        with torch.no_grad():
            prior = [
                self.model.truth(batch.x).double().cpu().numpy()
                for batch in self.lesson.batches(self.lesson.rows).in_order()
            ]
        beliefs, _ = self.said.beliefs(np.concatenate(prior), self.model.log_tables.double().cpu().numpy())
        self.keep(beliefs)


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
    em = Loop(lesson, model, smoothing)

    def between(epoch: int) -> None:
        if epoch:
            em.update()

    train = lesson.batches(lesson.rows, em.target)
    return lesson.learn(model, soft_labels, score=cross_entropy, between=between, train=train)
