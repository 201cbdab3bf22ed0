"""Classifier: a network that learns one label an item, hard or soft.

    p    = softmax(f(x))
    loss = - mean over items of  sum over classes t[k] log p[k]

Fed with the labels of `aggregate` it is the usual two-step way: aggregate first, then train. With soft labels the doubt of
the aggregation goes along.

Family: supervised learning
Needs: items
Reference: textbook.
Also: ce, supervised
"""

from __future__ import annotations

from ...core.items import Items
from ...core.soft import Labels
from ...nn.lesson import Lesson, soft_labels
from ...nn.model import Learned
from ...nn.nets import Crowd
from ...nn.training import Training


class Classifier(Crowd):
    """The network alone."""


def classifier(items: Items, labels: Labels, *, training: Training = Training()) -> Learned:  # noqa: B008 (frozen)
    """Minimise the cross-entropy with the labels of the training items."""
    lesson = Lesson.of_labels(items, labels, training)
    return lesson.learn(lesson.build(Classifier), soft_labels)
