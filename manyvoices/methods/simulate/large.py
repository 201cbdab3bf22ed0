"""Large: a crowd of millions of answers in seconds, for benchmarks; some workers answer far more than others.

    activity[w]         ~ exp(skew * Normal(0, 1)); a task picks its workers one by one with these odds, nobody twice
    confusions[w, k, :] ~ Dirichlet(1, ..., 1), its largest entry moved to l = k
    P(worker w says l | truth is k) = confusions[w, k, l]

Reference: Lefort, Charlier, Joly, Salmon (2024), Peerannot: classification for crowdsourced image datasets with Python,
Computo, doi:10.57750/qmaz-gr91 (the confusion matrices; activity and the order of draws are ours).
Also: workers=n_worker; tasks=n_task; classes=n_classes; per_task=feedback
"""

from __future__ import annotations

import numpy as np

from ._crowd import Crowd, Size, begin, between, cumulative, dominant, rows, whole

BLOCK = 50_000  # tasks drawn at once; part of what a seed means


def large(
    *,
    workers: int = 1_000,
    tasks: int = 100_000,
    classes: int = 5,
    per_task: int = 10,
    skew: float = 1.0,
    seed: int = 0,
) -> Crowd:
    """Draw activities and confusion matrices, then the answers a block of tasks at a time.

    Parameters
    ----------
    workers
        How many people answer. If there are fewer than `per_task`, somebody answers a task twice.
    tasks
        How many tasks they answer.
    classes
        How many classes a task can have, all equally likely.
    per_task
        Answers every task gets.
    skew
        How unequal the workers' activities are, from 0 (all the same) to 5.
    seed
        Seed of the random generator.
    """
    whole("per_task", per_task, 1, 2**31 - 1)
    between("skew", skew, 0, 5)
    rng, truth = begin(Size(workers, tasks, classes, per_task, seed=seed))
    activity = np.exp(skew * rng.standard_normal(workers))
    confusions = dominant(rows(rng, workers, classes))
    sums = cumulative(confusions)[:, :, :-1].reshape(workers * classes, classes - 1)
    worker = np.empty((tasks, per_task), np.int32)
    label = np.empty((tasks, per_task), np.int16)
    for start in range(0, tasks, BLOCK):
        true = truth[start : start + BLOCK]
        who = pick(rng, activity / activity.sum(), len(true), per_task)
        reached = rng.random(who.shape)[:, :, None] >= sums[who * classes + true[:, None]]
        worker[start : start + BLOCK], label[start : start + BLOCK] = who, reached.sum(axis=2)
    return Crowd(
        task=np.repeat(np.arange(tasks, dtype=np.int32), per_task),
        worker=worker.reshape(-1),
        label=label.reshape(-1),
        truth=truth.astype(np.int16),
        confusions=confusions,
        extra={"activity": activity},
    )


def pick(rng: np.random.Generator, share: np.ndarray, tasks: int, per_task: int) -> np.ndarray:
    """Workers [tasks, per_task] drawn with these shares, each row sorted, and distinct if there are enough of them."""
    if per_task <= len(share) <= 16 * per_task:  # few workers: the first in a race
        finish = rng.standard_exponential((tasks, len(share))) / share
        return np.sort(np.argpartition(finish, per_task - 1, axis=1)[:, :per_task], axis=1)
    bound = share.cumsum()
    bound /= bound[-1]
    who = np.sort(bound.searchsorted(rng.random((tasks, per_task)), side="right"), axis=1)
    again = np.arange(tasks if per_task <= len(share) else 0)  # many: draw repeats again
    while len(again):
        row, place = np.nonzero(who[again, 1:] == who[again, :-1])
        who[again[row], place] = bound.searchsorted(rng.random(len(row)), side="right")
        again = again[np.unique(row)]
        who[again] = np.sort(who[again], axis=1)
    return who
