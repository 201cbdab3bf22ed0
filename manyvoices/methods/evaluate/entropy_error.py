"""Entropy error: whether the prediction is more (+) or less (-) in doubt than the answers are split, in nats.

    entropy error = mean over tasks of  H(q) - H(p),  H(p) = -sum over classes p[k] log p[k]

p are shares of the answers, q predicted probabilities. Few answers a task show less doubt than many would, which
raises the error a little.

Family: spread
Needs: answers, classes, probabilities
Reference: Baan, Aziz, Plank and Fernandez (2022), doi:10.18653/v1/2022.emnlp-main.124.
Also: entropy_calibration_error, entce
"""

from __future__ import annotations

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores
from ._soft import average, entropy


def entropy_error(scored: Scored, *, smoothing: float = 0.0, draws: Draws = Draws()) -> Scores:
    """Average differences of entropy.

    Parameters
    ----------
    smoothing
        Pseudo-count added to every class of the answers.
    """

    def distance(p, q):
        return entropy(q) - entropy(p)

    return average(scored, "entropy_error", distance, smoothing, draws)
