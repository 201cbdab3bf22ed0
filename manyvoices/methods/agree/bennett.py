"""Bennett's S: agreement beyond what answering evenly at random would give.

    observed = mean over tasks with m > 1 answers of the agreement w[i, j] of two of them
    chance   = sum of all w / K^2;  without weights 1 / K
    S        = (observed - chance) / (1 - chance)
    of class = S with two classes: k and all others

K counts the stated classes, said or not; a class nobody uses raises S. With weights it is the Brennan-Prediger
coefficient, with two classes the prevalence-adjusted kappa 2 observed - 1.

Family: agreement
Needs: classes
Reference: Bennett, Alpert and Goldstein (1954), doi:10.1086/266520; Brennan and Prediger (1981).
Also: bennett_s, S, brennan_prediger, PABAK
"""

from __future__ import annotations

from ...core.answers import Answers
from ...core.scores import Scores
from ._ask import Weighted
from ._counts import Chance, Pooled, distance, pooled


def bennett(answers: Answers, *, ask: Weighted = Weighted()) -> Scores:
    """Observed agreement against an even spread."""
    what = Pooled(distance(ask.weights, len(answers.classes)), Chance("uniform"))
    return pooled(answers, "bennett", what, ask, note=ask.note)
