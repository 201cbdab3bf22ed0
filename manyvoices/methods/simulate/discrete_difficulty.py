"""Discrete difficulty: on easy tasks everybody is right, on hard ones some workers are good, a few nobody can know.

    P(task is easy) = ratio_diff * P(task is hard),  P(task is random) = random
    easy:   P(worker w says l | truth is k) = 1[l = k]
    random: P(worker w says l | truth is k) = 1 / K
    hard:   P(worker w says l | truth is k) = confusions[w, k, l]
    good worker: confusions[w, k, :] ~ Dirichlet(0.2, ..., 0.2), its largest entry moved to l = k
    bad worker:  confusions[w, k, :] ~ Dirichlet(5, ..., 5)

Reference: Lefort, Charlier, Joly, Salmon (2024), Peerannot: classification for crowdsourced image datasets with Python,
Computo, doi:10.57750/qmaz-gr91.
Also: workers=n_worker; tasks=n_task; classes=n_classes; per_task=feedback; load=workerload; imbalance=imbalance_votes
"""

from __future__ import annotations

import math

import numpy as np

from ._crowd import Crowd, answer, begin, between, dominant, rows


def discrete_difficulty(
    *,
    workers: int = 30,
    tasks: int = 200,
    classes: int = 5,
    per_task: int | None = 10,
    imbalance: bool = False,
    load: int | None = None,
    ratio: float = 0.35,
    ratio_diff: float = 1.0,
    random: float = 0.0,
    seed: int = 0,
) -> Crowd:
    """The first int(ratio * workers) workers are the good ones; `confusions` are those on hard tasks.

    Parameters
    ----------
    workers
        How many people answer.
    tasks
        How many tasks they answer.
    classes
        How many classes a task can have, all equally likely.
    per_task
        Answers a task at most; None for as many as there are workers.
    imbalance
        Draw the number of answers of each task between one and what would be possible, instead of taking them all.
    load
        Answers a worker at most; None for no limit.
    ratio
        Share of good workers among the workers, from 0 to 1.
    ratio_diff
        How many easy tasks there are for a hard one, 0 or more.
    random
        Share of tasks that nobody can know, from 0 to 1.
    seed
        Seed of the random generator. The draws come in peerannot's order, so its seeds give its data.
    """
    between("ratio", ratio, 0, 1)
    between("ratio_diff", ratio_diff, 0, math.inf)
    between("random", random, 0, 1)
    rng, truth = begin(workers=workers, tasks=tasks, classes=classes, per_task=per_task, load=load, seed=seed)
    good = int(ratio * workers)
    hard = (1 - random) / (ratio_diff + 1)
    difficulty = rng.choice(["easy", "hard", "random"], p=[ratio_diff * hard, hard, random], size=tasks)
    confusions = np.concatenate([dominant(rows(rng, good, classes, 0.2)), rows(rng, workers - good, classes, 5.0)])
    return answer(
        rng,
        truth,
        confusions,
        per_task=per_task,
        imbalance=imbalance,
        load=load,
        difficulty=difficulty,
        extra={"difficulty": difficulty, "good": np.arange(workers) < good},
    )
