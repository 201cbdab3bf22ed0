"""Percent agreement: how often two answers about the same task are the same.

    percent  = mean over tasks with m > 1 answers of  sum over classes n[k] (n[k] - 1) / (m (m - 1))
    of class = where somebody says k, how many of the others who answer the task say k too (each task counts once)

Not corrected for chance: with one frequent class it is high however people answer. The classes, weighted by their
shares, average to the value of the data set.

Family: agreement
Needs: classes
Reference: textbook; for single classes Cicchetti and Feinstein (1990), doi:10.1016/0895-4356(90)90159-M.
Also: percent_agreement, observed_agreement, raw
"""

from __future__ import annotations

from ...core.answers import Answers
from ...core.scores import Scores
from ._ask import Ask
from ._counts import Chance, Pooled, distance, pooled


def percent(answers: Answers, *, ask: Ask = Ask()) -> Scores:
    """Count pairs of answers that agree."""
    what = Pooled(distance("none", len(answers.classes)), Chance("nothing"), margin="shares", specific=True)
    return pooled(answers, "percent", what, ask)
