"""Euclidean distance between the spread of the answers and the predicted probabilities: 0 the same, 1.41 nothing in common.

    Euclidean = mean over tasks of  sqrt(sum over classes (p[k] - q[k])^2)

Family: spread
Needs: answers, classes, probabilities
Reference: textbook.
Also: l2, euclidean_distance
"""

from __future__ import annotations

import numpy as np

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores
from ._soft import average


def euclidean(scored: Scored, *, smoothing: float = 0.0, draws: Draws = Draws()) -> Scores:
    """Average the Euclidean distance.

    Parameters
    ----------
    smoothing
        Pseudo-count added to every class of the answers.
    """

    def distance(p, q):
        return np.sqrt(((p - q) ** 2).sum(axis=-1))

    return average(scored, "euclidean", distance, smoothing, draws)
