"""Soft accuracy: the part that the spread of the answers and the predicted probabilities have in common; 1 is perfect.

    soft accuracy = mean over tasks of  sum over classes min(p[k], q[k]) = 1 - total variation

Family: spread
Needs: answers, classes, probabilities
Reference: textbook.
Also: overlap, histogram_intersection
"""

from __future__ import annotations

import numpy as np

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores
from ._soft import average


def soft_accuracy(scored: Scored, *, smoothing: float = 0.0, draws: Draws = Draws()) -> Scores:
    """Average the common part.

    Parameters
    ----------
    smoothing
        Pseudo-count added to every class of the answers.
    """

    def distance(p, q):
        return np.minimum(p, q).sum(axis=-1)

    return average(scored, "soft_accuracy", distance, smoothing, draws)
