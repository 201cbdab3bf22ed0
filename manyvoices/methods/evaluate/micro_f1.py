"""Micro F1: F1 of all classes pooled.

    micro F1 = 2 right / (predicted + true), summed over classes

Where every task has a label it equals accuracy. A task left without a label is missed: it lowers recall only.

Family: labels
Needs: truth, classes
Reference: textbook.
Also: f1_micro
"""

from __future__ import annotations

from typing import Literal

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores
from ._f1 import by_class, f1s


def micro_f1(scored: Scored, *, against: Literal["truth", "answers"] = "truth", draws: Draws = Draws()) -> Scores:
    """Pool the classes.

    Parameters
    ----------
    against
        The truth, or the most frequent answer.
    """
    return by_class(scored, "micro_f1", f1s, "micro", against, draws)
