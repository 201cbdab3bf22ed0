"""Weighted F1: the mean of the F1 of the classes, each weighted by its share of the truth.

    weighted F1 = sum over classes of true[k] F1[k] / sum of true[k]

Family: labels
Needs: truth, classes
Reference: textbook.
Also: f1_weighted, waf
"""

from __future__ import annotations

from typing import Literal

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores
from ._f1 import by_class, f1s


def weighted_f1(scored: Scored, *, against: Literal["truth", "answers"] = "truth", draws: Draws = Draws()) -> Scores:
    """Average the F1 of the classes by how frequent they are.

    Parameters
    ----------
    against
        The truth, or the most frequent answer.
    """
    return by_class(scored, "weighted_f1", f1s, "weighted", against, draws)
