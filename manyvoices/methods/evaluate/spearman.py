"""Spearman correlation of predicted and true numbers, or of the places of ordered classes; 1 is a perfect line.

    rho = Pearson's correlation of the ranks of prediction and truth, ties sharing their mean rank

Only order and spread count: a prediction that is always 10 too high loses nothing.

Family: numbers
Needs: truth, ordered
Reference: Spearman (1904), doi:10.2307/1412159.
Also: spearmanr, spearman_correlation
"""

from __future__ import annotations

from typing import Literal

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores, one
from ._line import correlation
from ._numbers import lines


def spearman(scored: Scored, *, against: Literal["truth", "answers"] = "truth", draws: Draws = Draws()) -> Scores:
    """Correlate prediction and truth.

    Parameters
    ----------
    against
        The truth, or the mean answer (of ordered classes the most frequent one).
    """
    both = lines(scored, against)
    if both.why:
        return one("spearman", both.why)
    return correlation("spearman", both.true, both.said, "spearman", both.note, draws)
