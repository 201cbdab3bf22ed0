"""Soft cross-entropy: how surprising the spread of the answers is under the predicted probabilities, in nats.

    p = shares of the answers,  q = predicted probabilities (at least the floor)
    cross-entropy = mean over tasks of  -sum over classes p[k] log q[k]

Its least value is the entropy of the answers themselves, not 0; `kl` is without that part.

Family: spread
Needs: answers, classes, probabilities
Reference: Uma et al. (2021), doi:10.1613/jair.1.12752.
Also: soft_cross_entropy, ce, soft_ce
"""

from __future__ import annotations

import numpy as np

from ...core.draws import Draws
from ...core.errors import BadCall
from ...core.scored import Scored
from ...core.scores import Scores
from ._soft import average


def cross_entropy(scored: Scored, *, floor: float = 1e-12, smoothing: float = 0.0, draws: Draws = Draws()) -> Scores:
    """Average the cross-entropy of answers and prediction.

    Parameters
    ----------
    floor
        A probability below this counts as this.
    smoothing
        Pseudo-count added to every class of the answers.
    """
    if not 0 < floor < 1:
        raise BadCall(f"floor is {floor}; expected a number between 0 and 1")

    def distance(p, q):
        return -(p * np.log(np.maximum(q, floor))).sum(axis=-1)

    return average(scored, "cross_entropy", distance, smoothing, draws)
