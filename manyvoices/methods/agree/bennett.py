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

from typing import Literal

from ...core.answers import Answers
from ...core.scores import Scores
from ._counts import Chance, Pooled, distance, pooled


def bennett(
    answers: Answers,
    *,
    weights: Literal["none", "linear", "quadratic"] = "none",
    pairs: bool = False,
    min_common: int = 10,
    bootstrap: int = 1000,
    seed: int = 0,
) -> Scores:
    """Observed agreement against an even spread.

    Parameters
    ----------
    weights
        How near misses count: none (not at all), linear or quadratic in the places of the classes.
    pairs
        Also a row for each pair of workers, with an analytic interval.
    min_common
        Only pairs of workers with at least this many tasks in common.
    bootstrap
        How often tasks are drawn again for the interval; 0 for none.
    seed
        For these draws.
    """
    what = Pooled(distance(weights, len(answers.classes)), Chance("uniform"))
    return pooled(
        answers,
        "bennett",
        what,
        note="" if weights == "none" else f"weights: {weights}",
        pairs=pairs,
        min_common=min_common,
        bootstrap=bootstrap,
        seed=seed,
    )
