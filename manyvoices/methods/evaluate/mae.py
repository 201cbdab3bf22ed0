"""Mean absolute error of predicted numbers, or of ordered classes in steps from one to the next; 0 is perfect.

    MAE = mean over tasks whose truth is known of  |prediction - truth|

With `against=answers` the mean answer takes the place of the truth. The error against single workers is `worker_error`.

Family: numbers
Needs: truth, ordered
Reference: textbook.
Also: mean_absolute_error, absolute_error
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores, one
from ._numbers import lines
from ._sums import mean_score


def mae(scored: Scored, *, against: Literal["truth", "answers"] = "truth", draws: Draws = Draws()) -> Scores:
    """Average absolute errors.

    Parameters
    ----------
    against
        The truth, or the mean answer (of ordered classes the most frequent one).
    """
    both = lines(scored, against)
    if both.why:
        return one("mae", both.why)
    return mean_score("mae", np.abs(both.said - both.true), both.note, draws)
