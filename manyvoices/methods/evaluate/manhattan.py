"""Manhattan distance between the spread of the answers and the predicted probabilities: 0 the same, 2 nothing in common.

    Manhattan = mean over tasks of  sum over classes |p[k] - q[k]|

Family: spread
Needs: answers, classes, probabilities
Reference: Rizzi, Leonardelli, Poesio et al. (2024), Soft metrics for evaluation with disagreements.
Also: l1, manhattan_distance, city_block
"""

from __future__ import annotations

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores
from ._soft import apart, average


def manhattan(scored: Scored, *, smoothing: float = 0.0, draws: Draws = Draws()) -> Scores:
    """Average the sum of absolute differences.

    Parameters
    ----------
    smoothing
        Pseudo-count added to every class of the answers.
    """
    return average(scored, "manhattan", apart, smoothing, draws)
