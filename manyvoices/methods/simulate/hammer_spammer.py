"""Hammers and spammers: some workers are always right, the others answer at random.

    hammer:  P(worker w says l | truth is k) = 1[l = k]
    spammer: P(worker w says l | truth is k) = 1 / K

Reference: Lefort, Charlier, Joly, Salmon (2024), Peerannot: classification for crowdsourced image datasets with Python,
Computo, doi:10.57750/qmaz-gr91.
Also: workers=n_worker; tasks=n_task; classes=n_classes; per_task=feedback; load=workerload; imbalance=imbalance_votes
"""

from __future__ import annotations

import numpy as np

from ._crowd import Crowd, answer, begin, between


def hammer_spammer(
    *,
    workers: int = 30,
    tasks: int = 200,
    classes: int = 5,
    per_task: int | None = 10,
    imbalance: bool = False,
    load: int | None = None,
    ratio: float = 0.1,
    seed: int = 0,
) -> Crowd:
    """The last int(ratio * workers) workers are the spammers.

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
        Share of spammers among the workers, from 0 to 1.
    seed
        Seed of the random generator. The draws come in peerannot's order, so its seeds give its data.
    """
    between("ratio", ratio, 0, 1)
    rng, truth = begin(workers=workers, tasks=tasks, classes=classes, per_task=per_task, load=load, seed=seed)
    spammers = int(ratio * workers)
    confusions = np.concatenate(
        [np.tile(np.eye(classes), (workers - spammers, 1, 1)), np.full((spammers, classes, classes), 1 / classes)]
    )
    return answer(
        rng,
        truth,
        confusions,
        per_task=per_task,
        imbalance=imbalance,
        load=load,
        extra={"spammer": np.arange(workers) >= workers - spammers},
    )
