"""Kullback-Leibler divergence of the predicted probabilities from the spread of the answers, in nats; 0 is perfect.

    KL = mean over tasks of  sum over classes p[k] log (p[k] / q'[k]),  q' = (q + e) / (1 + K e)

p are shares of the answers. Without e (`epsilon=0`) a probability of 0 counts as 1e-12.

Family: spread
Needs: answers, classes, probabilities
Reference: Kullback and Leibler (1951), doi:10.1214/aoms/1177729694.
Also: kl_divergence, kullback_leibler, kld
"""

from __future__ import annotations

import numpy as np

from ...core.draws import Draws
from ...core.errors import BadCall
from ...core.scored import Scored
from ...core.scores import Scores
from ._soft import average, divergence


def kl(scored: Scored, *, epsilon: float = 1e-3, smoothing: float = 0.0, draws: Draws = Draws()) -> Scores:
    """Average the divergence of the prediction from the answers.

    Parameters
    ----------
    epsilon
        Share of the uniform distribution mixed into the prediction, so that no probability is 0.
    smoothing
        Pseudo-count added to every class of the answers.
    """
    if not 0 <= epsilon < np.inf:
        raise BadCall(f"epsilon is {epsilon}; expected 0 or more")

    def distance(p, q):
        mixed = (q + epsilon) / (1 + q.shape[-1] * epsilon)
        return divergence(p, np.maximum(mixed, 1e-12)).clip(0)

    return average(scored, "kl", distance, smoothing, draws)
