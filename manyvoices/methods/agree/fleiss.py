"""Fleiss' kappa: agreement beyond what pooled class shares give by chance, for any number of workers.

    observed = mean over tasks with m > 1 answers of  sum over classes n[k] (n[k] - 1) / (m (m - 1))
    chance   = sum over classes p[k]^2,  p[k] = share of k among all answers
    kappa    = (observed - chance) / (1 - chance)
    of class = the same with two classes: k and all others

It does not ask who answered, so counts are enough. Tasks with one answer count in p only; tasks with several weigh
the same. For two workers who answer every task it is Scott's pi.

Family: agreement
Needs: classes
Reference: Fleiss (1971), doi:10.1037/h0031619.
Also: fleiss_kappa, FleissKappa
"""

from __future__ import annotations

from ...core.answers import Answers
from ...core.scores import Scores
from ._ask import Ask
from ._counts import Chance, Pooled, distance, pooled


def fleiss(answers: Answers, *, ask: Ask = Ask()) -> Scores:
    """Observed and chance agreement from the votes of each task."""
    what = Pooled(distance("none", len(answers.classes)), Chance("pooled"))
    return pooled(answers, "fleiss", what, ask)
