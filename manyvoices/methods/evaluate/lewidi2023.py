"""LeWiDi 2023: the two scores of the shared task on learning with disagreements, second edition.

    lewidi2023_cross_entropy = mean over tasks of  -sum over classes p[k] log(clip(q[k], 1e-12, 1 - 1e-12) + 1e-9)
    lewidi2023_micro_f1      = micro F1 of the predicted labels against the hard label

p are shares of the answers, q predicted probabilities, logs natural. The hard label is the truth of the data where it
is known (its files bring it along), else the most frequent answer, ties left out. Without `compat` the cross-entropy
is the plain one with a floor of 1e-12.

Family: shared tasks
Needs: answers, classes
Reference: Leonardelli et al. (2023), doi:10.18653/v1/2023.semeval-1.314.
Also: lewidi23, semeval2023
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores, joined, one
from ._f1 import by_class, f1s
from ._soft import average
from ._sums import undefined


def lewidi2023(scored: Scored, *, compat: bool = True, draws: Draws = Draws()) -> Scores:
    """Cross-entropy of the spread and micro F1 of the label.

    Parameters
    ----------
    compat
        Clip and shift the probabilities as the scorer of the shared task does.
    """

    def distance(p, q):
        inside = np.clip(q, 1e-12, 1 - 1e-12) + 1e-9 if compat else np.maximum(q, 1e-12)
        return -(p * np.log(inside)).sum(axis=-1)

    soft = average(scored, "lewidi2023_cross_entropy", distance, 0.0, draws)
    if why := undefined(scored, classes=True):
        return joined([soft, one("lewidi2023_micro_f1", why)])
    against = "truth" if scored.known.any() else "answers"
    hard = by_class(scored, "micro_f1", f1s, "micro", against, draws)
    return joined([soft, replace(hard, score="lewidi2023_micro_f1")])
