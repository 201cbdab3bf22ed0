"""Pearson correlation of predicted and true numbers, or of the places of ordered classes; 1 is a perfect line.

    r = covariance of prediction and truth / (their standard deviations)

Only order and spread count: a prediction that is always 10 too high loses nothing.

Family: numbers
Needs: truth, ordered
Reference: textbook.
Also: pearsonr, pearson_correlation
"""

from __future__ import annotations

from typing import Literal

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores, one
from ._line import correlation
from ._numbers import lines


def pearson(scored: Scored, *, against: Literal["truth", "answers"] = "truth", draws: Draws = Draws()) -> Scores:
    """Correlate prediction and truth.

    Parameters
    ----------
    against
        The truth, or the mean answer (of ordered classes the most frequent one).
    """
    both = lines(scored, against)
    if both.why:
        return one("pearson", both.why)
    return correlation("pearson", both.true, both.said, "pearson", both.note, draws)
