"""Probabilities from a classifier that has not seen the item: cross-validation over the items."""

from __future__ import annotations

import copy
import logging
from dataclasses import replace

import numpy as np
import polars as pl
import torch

from ..core.errors import BadCall
from ..core.items import Items
from ..core.names import Names
from ..core.soft import Labels
from .lesson import Lesson, soft_labels
from .nets import Crowd
from .training import Training

log = logging.getLogger("manyvoices")


def out_of_sample(items: Items, labels: Labels, folds: int, how: Training) -> tuple[Names, np.ndarray]:
    """Ids and P(class) [items, K] of each labelled item by the network that was trained without its part; NaN for the
    others. The items are encoded once; of the rest of the items a part is held out to choose the epoch by."""
    everything = replace(
        items, split=pl.DataFrame({"task": [], "split": []}, schema={"task": pl.String, "split": pl.String})
    )
    lesson = Lesson.of_labels(everything, labels, how)
    if not 2 <= folds <= len(lesson.rows):
        raise BadCall(f"folds is {folds}; expected 2 to {len(lesson.rows)}, the items with a label")
    assert lesson.target is not None
    fold = dealt(lesson.target[lesson.rows], folds, how.seed)
    found = np.full((len(lesson.ids), len(labels.classes)), np.nan)
    for part in range(folds):
        log.info("fold %d of %d", part + 1, folds)
        held, rest = lesson.rows[fold == part], lesson.rows[fold != part]
        order = np.random.default_rng([how.seed, 14, part]).permutation(rest)
        dev, rows = np.sort(order[: len(rest) * 3 // 20]), np.sort(order[len(rest) * 3 // 20 :])
        body = copy.deepcopy(lesson.encoded.body)  # what one part taught it must not reach the next
        fresh = replace(lesson, rows=rows, dev=dev, encoded=replace(lesson.encoded, body=body))
        model = fresh.learn(fresh.build(Crowd), soft_labels)
        with torch.no_grad():
            said = [model.heated(model.net.truth(batch.x)) for batch in fresh.batches(held).in_order()]
        found[held] = np.concatenate(said)
    return lesson.ids, found


def dealt(target: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """The part of each item: at random, every class spread evenly over the parts."""
    chance = np.random.default_rng([seed, 13]).random(len(target))
    order = np.lexsort((chance, target.argmax(axis=1)))
    fold = np.empty(len(target), np.int64)
    fold[order] = np.arange(len(target)) % folds
    return fold
