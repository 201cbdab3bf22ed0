"""Precision: of the tasks predicted to be of a class, the share that is; the mean over classes.

    precision[k] = right[k] / predicted[k]
    precision    = mean over classes

A class that is never predicted counts 0.

Family: labels
Needs: truth, classes
Reference: textbook.
Also: macro_precision, precision_macro
"""

from __future__ import annotations

from typing import Literal

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores
from ._f1 import by_class, precisions


def precision(
    scored: Scored,
    *,
    against: Literal["truth", "answers"] = "truth",
    present_only: bool = False,
    draws: Draws = Draws(),
) -> Scores:
    """Average the precision of the classes.

    Parameters
    ----------
    against
        The truth, or the most frequent answer.
    present_only
        Average over the classes that the truth has, instead of all.
    """
    return by_class(scored, "precision", precisions, "macro", against, draws, present_only, rows=True)
