"""Brier score: the squared distance between the probabilities and the truth; 0 is perfect.

    sum   mean over tasks of  sum over classes (q[k] - 1[k = truth])^2, from 0 to 2
    half  half of that: with two classes (q[1] - 1[truth = 1])^2, from 0 to 1
    auto  half with two classes, the sum with more

Family: probabilities
Needs: truth, classes, probabilities
Reference: Brier (1950), doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2.
Also: brier_score, brier_score_loss, quadratic_score
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores, one
from ._sums import mean_score, remarks, undefined
from ._truth import aim


def brier(
    scored: Scored,
    *,
    against: Literal["truth", "answers"] = "truth",
    form: Literal["auto", "sum", "half"] = "auto",
    draws: Draws = Draws(),
) -> Scores:
    """Average squared errors of the probabilities.

    Parameters
    ----------
    against
        The truth, or the most frequent answer.
    form
        The sum over classes, half of it, or what is usual for the number of classes.
    """
    goal = aim(scored, against)
    if why := undefined(scored, classes=True, probs=True) or goal.why:
        return one("brier", why)
    q, truth = scored.probs[goal.known], goal.right[goal.known]
    square = np.einsum("nk,nk->n", q, q) - 2 * q[np.arange(len(q)), truth] + 1
    half = form == "half" or (form == "auto" and len(scored.classes) <= 2)
    note = remarks(goal.note, "half the sum over classes" if half else "the sum over classes")
    return mean_score("brier", square.clip(0) / (2 if half else 1), note, draws)
