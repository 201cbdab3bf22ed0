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

from ...core.scored import Scored
from ...core.scores import Scores, one
from ._line import correlation
from ._numbers import lines
from ._sums import check


def pearson(
    scored: Scored, *, against: Literal["truth", "answers"] = "truth", bootstrap: int = 1000, seed: int = 0
) -> Scores:
    """Correlate prediction and truth.

    Parameters
    ----------
    against
        The truth, or the mean answer (of ordered classes the most frequent one).
    bootstrap
        How often tasks are drawn again for the interval; 0 for none.
    seed
        For these draws.
    """
    check(bootstrap, seed)
    both = lines(scored, against)
    if both.why:
        return one("pearson", both.why)
    return correlation("pearson", both.true, both.said, "pearson", both.note, bootstrap, seed)
