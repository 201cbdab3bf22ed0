"""Accuracy: the share of tasks whose predicted label is the right one.

    accuracy = mean over tasks whose truth is known of  1[prediction = truth]
    within d = 1[|prediction - truth| <= d], in steps between ordered classes, or in the unit of the numbers
    top m    = 1[fewer than m classes are more probable than the truth]; of equal ones the first class counts first

A task left without a label (an abstention) counts as wrong, or is left out on request. With `against=answers` the
most frequent answer takes the place of the truth (tasks with a tie are left out): how well a prediction follows the
majority, not how often it is right. Predictions for single workers are first made one for each task: the mean of
their probabilities, or their votes.

Family: labels
Needs: truth
Reference: textbook; of majorities QuMAB (2025), arXiv 2507.17653.
Also: acc, test_accuracy, exact, copr[against=answers]
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.draws import Draws
from ...core.errors import BadCall
from ...core.scored import Scored
from ...core.scores import Scores, one
from ._sums import left_out, mean_score, remarks, undefined
from ._truth import aim


def accuracy(
    scored: Scored,
    *,
    against: Literal["truth", "answers"] = "truth",
    within: float = 0.0,
    top: int = 1,
    abstained: Literal["wrong", "left_out"] = "wrong",
    draws: Draws = Draws(),
) -> Scores:
    """Count tasks that are right.

    Parameters
    ----------
    against
        The truth, or the most frequent answer (the mean of numbers).
    within
        A prediction off by no more than this is right too; for ordered classes and numbers.
    top
        The truth among so many most probable classes is enough.
    abstained
        Tasks without a predicted label: wrong, or left out.
    """
    if not within >= 0:
        raise BadCall(f"within is {within}; expected 0 or more")
    if top < 1:
        raise BadCall(f"top is {top}; expected 1 or more")
    if top > 1 and within:
        raise BadCall("top and within exclude each other")
    name, goal = "accuracy", aim(scored, against)
    if why := undefined(scored, probs=top > 1, classes=top > 1) or goal.why:
        return one(name, why)
    if within and not scored.ordered:
        return one(name, "not defined because within asks for ordered classes (--scale ordinal or interval)")
    silent = ~scored.labelled
    used = goal.known & ~silent if abstained == "left_out" else goal.known
    without = int((silent & goal.known).sum())
    if not used.any():
        return one(name, "not defined because no task whose truth is known has a label")
    hit = right(scored, goal.right, within, top)
    hit[silent] = False
    note = remarks(goal.note, abstentions(hit[used], silent[used], without, abstained), extra(within, top))
    return mean_score(name, hit[used].astype(float), note, draws)


def right(scored: Scored, truth: np.ndarray, within: float, top: int) -> np.ndarray:
    """[n] Whether the prediction will do."""
    if top > 1:
        assert scored.probs is not None
        at = np.maximum(truth, 0)[:, None]
        own = np.take_along_axis(scored.probs, at, axis=1)
        before = np.arange(scored.probs.shape[1])[None] < at
        return ((scored.probs > own) | ((scored.probs == own) & before)).sum(axis=1) < top
    if not within:
        return scored.label == truth
    with np.errstate(invalid="ignore"):
        return np.abs(scored.label - truth) <= within


def abstentions(hit: np.ndarray, silent: np.ndarray, without: int, abstained: str) -> str:
    if abstained == "left_out" or not without:
        return left_out(without, "without a label")
    others = f", of the others {hit[~silent].mean():.4f} are right" if not silent.all() else ""
    return f"{without} without a label count as wrong{others}"


def extra(within: float, top: int) -> str:
    return f"top {top}" if top > 1 else f"within {within:g}" if within else ""
