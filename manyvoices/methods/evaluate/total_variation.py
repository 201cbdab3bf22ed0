"""Total variation distance between the spread of the answers and the predicted probabilities: 0 the same, 1 nothing in common.

    TV = mean over tasks of  1/2 sum over classes |p[k] - q[k]|

The mean over tasks is also known as the distribution calibration error. It is the earth mover's distance when any
two classes are 1 apart.

Family: spread
Needs: answers, classes, probabilities
Reference: Baan, Aziz, Plank and Fernandez (2022), doi:10.18653/v1/2022.emnlp-main.124.
Also: tv, total_variation_distance, distribution_calibration_error, distce
"""

from __future__ import annotations

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores
from ._soft import apart, average


def total_variation(scored: Scored, *, smoothing: float = 0.0, draws: Draws = Draws()) -> Scores:
    """Average half the sum of absolute differences.

    Parameters
    ----------
    smoothing
        Pseudo-count added to every class of the answers.
    """

    def distance(p, q):
        return apart(p, q) / 2

    return average(scored, "total_variation", distance, smoothing, draws)
