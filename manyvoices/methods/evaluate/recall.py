"""Recall: of the tasks that are of a class, the share predicted to be; the mean over classes.

    recall[k] = right[k] / true[k]
    recall    = mean over classes

With `present_only` it is balanced accuracy: the mean over the classes that the truth has. Without, a class the truth
does not have counts 0. A task left without a label is missed.

Family: labels
Needs: truth, classes
Reference: textbook.
Also: macro_recall, recall_macro, sensitivity, balanced_accuracy[present_only=True]
"""

from __future__ import annotations

from typing import Literal

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores
from ._f1 import by_class, recalls


def recall(
    scored: Scored,
    *,
    against: Literal["truth", "answers"] = "truth",
    present_only: bool = False,
    draws: Draws = Draws(),
) -> Scores:
    """Average the recall of the classes.

    Parameters
    ----------
    against
        The truth, or the most frequent answer.
    present_only
        Average over the classes that the truth has, instead of all.
    """
    return by_class(scored, "recall", recalls, "macro", against, draws, present_only, rows=True)
