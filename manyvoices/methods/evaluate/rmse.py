"""Root mean squared error of predicted numbers, or of ordered classes in steps from one to the next; 0 is perfect.

    RMSE = sqrt(mean over tasks whose truth is known of  (prediction - truth)^2)

Family: numbers
Needs: truth, ordered
Reference: textbook.
Also: root_mean_squared_error, rmsd
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores, one
from ._numbers import lines
from ._sums import dataset, mean, of_rows, remarks


def rmse(scored: Scored, *, against: Literal["truth", "answers"] = "truth", draws: Draws = Draws()) -> Scores:
    """Root of the average squared error.

    Parameters
    ----------
    against
        The truth, or the mean answer (of ordered classes the most frequent one).
    """
    both = lines(scored, against)
    if both.why:
        return one("rmse", both.why)
    rows = np.column_stack([np.ones(len(both.said)), (both.said - both.true) ** 2])
    value, low, high, why = of_rows(rows, lambda sums: np.sqrt(mean(sums)), draws)
    return dataset("rmse", value[0], low[0], high[0], len(rows), remarks(both.note, why[0]))
