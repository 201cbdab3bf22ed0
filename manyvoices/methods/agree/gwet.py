"""Gwet's AC1, with weights AC2: agreement beyond chance that stays steady where one class is frequent.

    observed = mean over tasks with m > 1 answers of the agreement w[i, j] of two of them
    chance   = sum of all w / (K (K - 1)) * sum over classes p[k] (1 - p[k]),  p[k] = share of k among all answers
    AC       = (observed - chance) / (1 - chance)
    of class = AC1 with two classes: k and all others

K counts the stated classes, said or not. Without weights w[i, j] is 1 for the same class and 0 else (AC1).

Family: agreement
Needs: classes
Reference: Gwet (2008), doi:10.1348/000711006X126600.
Also: AC1, gwet_ac1, AC2[weights='quadratic'], gwet_ac2[weights='quadratic']
"""

from __future__ import annotations

from ...core.answers import Answers
from ...core.scores import Scores
from ._ask import Weighted
from ._counts import Chance, Pooled, distance, pooled


def gwet(answers: Answers, *, ask: Weighted = Weighted()) -> Scores:
    """Observed agreement and Gwet's chance from the votes of each task."""
    what = Pooled(distance(ask.weights, len(answers.classes)), Chance("gwet"))
    return pooled(answers, "gwet", what, ask, note=ask.note)
