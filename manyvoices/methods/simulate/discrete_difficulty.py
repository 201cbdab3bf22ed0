"""Discrete difficulty: on easy tasks everybody is right, on hard ones some workers are good, a few nobody can know.

    P(task is easy) = ratio_diff * P(task is hard),  P(task is random) = random
    easy:   P(worker w says l | truth is k) = 1[l = k]
    random: P(worker w says l | truth is k) = 1 / K
    hard:   P(worker w says l | truth is k) = confusions[w, k, l]
    good worker: confusions[w, k, :] ~ Dirichlet(0.2, ..., 0.2), its largest entry moved to l = k
    bad worker:  confusions[w, k, :] ~ Dirichlet(5, ..., 5)

Reference: Lefort, Charlier, Joly, Salmon (2024), Peerannot: classification for crowdsourced image datasets with Python,
Computo, doi:10.57750/qmaz-gr91.
"""

from __future__ import annotations

import math

import numpy as np

from ._crowd import Crowd, Size, answer, begin, between, dominant, rows


def discrete_difficulty(
    *, ratio: float = 0.35, ratio_diff: float = 1.0, random: float = 0.0, size: Size = Size()
) -> Crowd:
    """The first int(ratio * workers) workers are the good ones; `confusions` are those on hard tasks.

    Parameters
    ----------
    ratio
        Share of good workers among the workers, from 0 to 1.
    ratio_diff
        How many easy tasks there are for a hard one, 0 or more.
    random
        Share of tasks that nobody can know, from 0 to 1.
    """
    between("ratio", ratio, 0, 1)
    between("ratio_diff", ratio_diff, 0, math.inf)
    between("random", random, 0, 1)
    rng, truth = begin(size)
    good = int(ratio * size.workers)
    hard = (1 - random) / (ratio_diff + 1)
    difficulty = rng.choice(["easy", "hard", "random"], p=[ratio_diff * hard, hard, random], size=size.tasks)
    confusions = np.concatenate(
        [dominant(rows(rng, good, size.classes, 0.2)), rows(rng, size.workers - good, size.classes, 5.0)]
    )
    return answer(
        rng,
        truth,
        confusions,
        size,
        difficulty=difficulty,
        extra={"difficulty": difficulty, "good": np.arange(size.workers) < good},
    )
