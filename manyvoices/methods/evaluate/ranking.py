"""Ranking: the share of tasks whose classes have the same order by probability as by number of answers.

    ranking = mean over tasks of  1[the order of q is that of p]

Classes with equally many answers may come in any order; classes with different numbers must be told apart the right
way round. 1 is perfect.

Family: spread
Needs: answers, classes, probabilities
Reference: Baan, Aziz, Plank and Fernandez (2022), doi:10.18653/v1/2022.emnlp-main.124.
Also: rank_calibration, ranking_calibration, rankcs
"""

from __future__ import annotations

import numpy as np

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores
from ._soft import average


def ranking(scored: Scored, *, draws: Draws = Draws()) -> Scores:
    """Count tasks whose classes are in order."""
    return average(scored, "ranking", in_order, 0.0, draws)


def in_order(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Going up by p, every q lies above all q of classes with fewer answers."""
    order = np.argsort(p, axis=-1, kind="stable")
    p, q = np.take_along_axis(p, order, axis=-1), np.take_along_axis(q, order, axis=-1)
    step = np.diff(p, axis=-1) > 1e-12
    highest = np.maximum.accumulate(q, axis=-1)[..., :-1]
    lowest = np.minimum.accumulate(q[..., ::-1], axis=-1)[..., ::-1][..., 1:]
    return np.where(step, lowest > highest + 1e-12, True).all(axis=-1).astype(float)
