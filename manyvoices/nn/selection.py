"""What of the data is learnt from: splits, items that are removed, the weights of classes; and what is said of the rest."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import numpy as np

from ..core.answers import Answers
from ..core.content import Content
from ..core.errors import BadCall, BadInput
from ..core.items import Items
from ..core.names import Names
from ..core.soft import Labels
from .batches import Votes
from .training import Training

SPLITS = ("train", "dev", "test")
log = logging.getLogger("manyvoices")


def splits_of(items: Items, content: Content, seed: int) -> np.ndarray:
    """[items] 0 train, 1 dev, 2 test: as the data say, else 70, 15 and 15 per cent of the items."""
    if items.split is not None:
        import polars as pl

        said = dict(
            zip(
                *items.split.select(pl.col("task", "split").cast(pl.String)).to_dict(as_series=False).values(),
                strict=True,
            )
        )
        code = {name: i for i, name in enumerate(SPLITS)}
        if said and (absent := sum(said.get(task) is None for task in content.ids)):
            log.info("%d items are in no split of the data: they count as train", absent)
        return np.array([code.get(said.get(task) or "train", 0) for task in content.ids], np.int8)
    split = np.zeros(len(content), np.int8)
    order = np.random.default_rng([seed, 10]).permutation(len(content))
    split[order[: len(order) * 3 // 20]] = 1
    split[order[len(order) * 3 // 20 : len(order) * 3 // 10]] = 2
    return split


def chosen(ids: Names, split: np.ndarray, known: np.ndarray, how: Training) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the items that are learnt from, and of those that are held out: what is known of them, and not removed."""
    if how.path_remove:
        code = ids.code(removed(how.path_remove), missing=-1)
        if len(code) and not (code >= 0).any():
            raise BadInput("none of its tasks is an item", file=how.path_remove, expected="task ids of the items")
        known = known.copy()
        known[code[code >= 0]] = False
        beside = int((code < 0).sum())
        log.info("%d items are removed%s", len(code) - beside, f"; {beside} others are no items" if beside else "")
    return np.flatnonzero(known & (split == 0)), np.flatnonzero(known & (split == 1))


def removed(path: str) -> list[str]:
    """Tasks of a list as `identify` and peerannot write it: `index task` or `-1 task`; or a task a line."""
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadInput(
            f"cannot be read ({why})", file=path, expected="an index and a task, or a task, a line"
        ) from None
    rows = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    paired = all(re.fullmatch(r"-?\d+(\.0*e[+-]?\d+)?\s+\S.*", row) for row in rows)
    return [row.split(maxsplit=1)[1] if paired else row for row in rows]


def unit_of(labels: np.ndarray, how: Training) -> tuple[float, float]:
    """Mean and deviation of numbers, which are what is learnt."""
    if how.class_weights != "none" or how.calibrate:
        name = "--calibrate" if how.calibrate else "--class-weights"
        raise BadCall(f"{name} is about classes, and these labels are numbers: leave it out")
    if not len(labels):
        return 0.0, 1.0
    return float(labels.mean()), float(labels.std()) or 1.0


def counted(answers: Answers, ids: Names, classes: Names) -> np.ndarray | None:
    """[items, K] how often each class was said; nothing where the answers are of another kind."""
    code = classes.code(answers.classes, missing=-1)
    if answers.scale == "interval" or not (code >= 0).all():
        return None
    at, counts = answers.tasks.code(ids, missing=-1), np.zeros((len(ids), len(classes)), np.float32)
    said = answers.counts()[at[at >= 0]]
    counts[np.ix_(at >= 0, code)] = said
    return counts


def about_labels(content: Content, labels: Labels, rows: np.ndarray) -> None:
    """What of the labels is not used, and stop where nothing is left."""
    content.tell()
    beside = len(labels.tasks) - int((content.ids.code(labels.tasks, missing=-1) >= 0).sum())
    if beside:
        log.info("%d labels are about tasks that are no items: left out", beside)
    if not len(rows):
        raise BadInput("no training item has a label", expected="the same task ids in labels and items, some in train")
    if labels.scale != "interval":
        at = labels.tasks.code([content.ids[i] for i in rows])
        silent(labels.probs[at].sum(axis=0), labels.classes)


def silent(said: np.ndarray, classes: Names) -> None:
    """Classes that nothing in training is of are known, but not learnt."""
    never = [classes[k] for k in np.flatnonzero(said == 0)]
    if never:
        log.info(
            "%d of %d classes are nobody's label in training and are hardly ever predicted: %s",
            len(never),
            len(classes),
            ", ".join(never[:8]) + (", ..." if len(never) > 8 else ""),
        )


def balanced(said: np.ndarray) -> np.ndarray:
    """[K] weights that give every class that was said the same weight in all."""
    used = said > 0
    weight = np.where(used, said.sum() / np.maximum(used.sum() * said, 1), 0)
    return weight.astype(np.float32)


def about_answers(content: Content, answers: Answers, votes: Votes, rows: np.ndarray) -> None:
    """What of the data is not used, and stop where nothing is left."""
    content.tell()
    without, beside = int((votes.n == 0).sum()), len(answers.rows()[0]) - len(votes.label)
    if without:
        log.info("%d items have no answers: they are predicted, not learnt from", without)
    if beside:
        log.info("%d answers are about tasks that are no items: left out", beside)
    if not len(rows):
        raise BadInput("no training item has answers", expected="the same task ids in answers and items, some in train")
    if len(answers.classes):
        place, _ = votes.about(rows)
        silent(np.bincount(votes.label[place], minlength=len(answers.classes)), answers.classes)
