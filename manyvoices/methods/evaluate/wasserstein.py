"""Wasserstein distance (earth mover's) between the spread of the answers and the predicted probabilities, over ordered classes.

    W = mean over tasks of  sum over k of |P[k] - Q[k]|,  P and Q cumulative shares

One step from a class to the next costs 1, so it runs from 0 to K - 1. It is for ordered classes (`--scale ordinal`);
asked for by name it is computed for others too, in the order in which they are listed, and says so.

Family: spread
Needs: answers, classes, ordered, probabilities
Reference: Werman, Peleg and Rosenfeld (1985), doi:10.1016/0734-189X(85)90055-6.
Also: emd, earth_mover, wasserstein_distance
"""

from __future__ import annotations

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores
from ._soft import average, carried


def wasserstein(scored: Scored, *, smoothing: float = 0.0, draws: Draws = Draws()) -> Scores:
    """Average what must be carried how far.

    Parameters
    ----------
    smoothing
        Pseudo-count added to every class of the answers.
    """
    note = ""
    if scored.scale == "nominal":
        note = "the classes as they are listed; nothing says that they have an order"
    return average(scored, "wasserstein", carried, smoothing, draws, note)
