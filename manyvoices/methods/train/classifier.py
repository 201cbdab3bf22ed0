"""Classifier: a network that learns one label an item, hard or soft.

    p    = softmax(f(x))
    loss = - mean over items of  sum over classes t[k] log p[k]

Fed with the labels of `aggregate` it is the usual two-step way: aggregate first, then train. With soft labels the doubt of
the aggregation goes along. Which epoch's weights are kept, the answers to the dev items decide, without any truth: by

    sum over dev answers l of  log sum over classes k of  p[k] table[k, l]

where table[k, l] is how often training items labelled k are answered l, so that the answers' errors do not count as the
network's. Without answers, or with --labels truth, the labels of the dev items decide.

Classes in an order (--scale ordinal, or --ordered) are learnt by one number and the cuts between them, or by distances:

    cumulative   P(class <= k) = sigmoid(cut[k] - f(x))
    distance     loss = mean over items of  sum over k of (P(class <= k) - T(class <= k))^2

Labels that are numbers (--scale interval, or a column `value`) are learnt by squared error. Of a prediction, `low` and
`high` are as far off as 95 in 100 dev labels are at most; empty where fewer than 19 dev items have a label.

Family: supervised learning
Needs: items
Reference: textbook; McCullagh (1980), Regression models for ordinal data, JRSS B 42; Epstein (1969), J. Appl. Meteorol. 8.
Also: ce, supervised
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from ...core.answers import Answers
from ...core.items import Items
from ...core.soft import Labels
from ...nn.lesson import Lesson, soft_labels
from ...nn.model import Learned
from ...nn.nets import Crowd, through
from ...nn.training import Training


class Classifier(Crowd):
    """The network alone."""


def classifier(
    items: Items, labels: Labels, *, answers: Answers | None = None, training: Training = Training()
) -> Learned:
    """Minimise the cross-entropy with the labels of the training items."""
    lesson = Lesson.of_labels(items, labels, training, answers)
    model = lesson.build(Classifier)
    if lesson.held is None:
        return lesson.learn(model, soft_labels)
    log_table = table(lesson)

    def asked(model, batch):
        """Minus the log-probability of the answers to dev items."""
        said = through(model.truth(batch.x), log_table.to(batch.target.device).expand(len(batch.target), -1, -1))
        return -(batch.target * said).sum(), batch.target.sum()

    dev = replace(lesson.batches(lesson.dev), target=lesson.held)
    return lesson.learn(model, soft_labels, score=asked, dev=dev)


def table(lesson: Lesson) -> torch.Tensor:
    """log P(answer l | label k) [K, K], from the training items; one answer in all is added to each row, on the diagonal."""
    counts = lesson.target[lesson.rows].T @ lesson.held[lesson.rows] + np.eye(len(lesson.classes)) + 1e-3
    return torch.from_numpy(np.log(counts / counts.sum(axis=1, keepdims=True))).float()
