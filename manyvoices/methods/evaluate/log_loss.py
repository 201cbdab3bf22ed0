"""Log loss: minus the log of the probability that was given to the truth, in nats; 0 is perfect, no upper end.

    log loss = mean over tasks of  -log max(q[truth], floor)

Needs the probability of every class (columns `p:CLASS`). One confident mistake costs much: at the default floor 27.6.

Family: probabilities
Needs: truth, classes, probabilities
Reference: Good (1952), doi:10.1111/j.2517-6161.1952.tb00104.x.
Also: nll, negative_log_likelihood, logloss, test_loss
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.draws import Draws
from ...core.errors import BadCall
from ...core.scored import Scored
from ...core.scores import Scores, one
from ._sums import mean_score, remarks, undefined
from ._truth import aim


def log_loss(
    scored: Scored, *, against: Literal["truth", "answers"] = "truth", floor: float = 1e-12, draws: Draws = Draws()
) -> Scores:
    """Average the log of the probability of the truth.

    Parameters
    ----------
    against
        The truth, or the most frequent answer.
    floor
        A probability below this counts as this.
    """
    if not 0 < floor < 1:
        raise BadCall(f"floor is {floor}; expected a number between 0 and 1")
    goal = aim(scored, against)
    if why := undefined(scored, classes=True, probs=True) or goal.why:
        return one("log_loss", why)
    given = scored.probs[goal.known, goal.right[goal.known]]
    low = int((given < floor).sum())
    note = remarks(goal.note, f"{low} probabilities of the truth below the floor {floor:g}" if low else "")
    return mean_score("log_loss", -np.log(np.maximum(given, floor)), note, draws)
