"""Jensen-Shannon divergence between the spread of the answers and the predicted probabilities, in bits.

0: the same, 1: nothing in common.

    JSD = mean over tasks of  KL(p || m) / 2 + KL(q || m) / 2,  m = (p + q) / 2

Its square root (`root`) is a distance; it is taken task by task.

Family: spread
Needs: answers, classes, probabilities
Reference: Lin (1991), doi:10.1109/18.61115.
Also: jsd, js, js_divergence, js_distance[root=True], jensen_shannon_distance[root=True]
"""

from __future__ import annotations

import numpy as np

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores
from ._soft import average, halfway


def jensen_shannon(scored: Scored, *, root: bool = False, smoothing: float = 0.0, draws: Draws = Draws()) -> Scores:
    """Average the Jensen-Shannon divergence.

    Parameters
    ----------
    root
        The square root of the divergence of each task, which is a distance.
    smoothing
        Pseudo-count added to every class of the answers.
    """

    def distance(p, q):
        return np.sqrt(halfway(p, q)) if root else halfway(p, q)

    return average(scored, "jensen_shannon", distance, smoothing, draws, "square root" if root else "")
