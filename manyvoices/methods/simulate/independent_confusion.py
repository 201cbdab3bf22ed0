"""Independent confusion: every worker errs in a way of their own, and none copies another.

    confusions[w, k, :] ~ Dirichlet(1, ..., 1), its largest entry moved to l = k
    P(worker w says l | truth is k) = confusions[w, k, l]

Reference: Lefort, Charlier, Joly, Salmon (2024), Peerannot: classification for crowdsourced image datasets with Python,
Computo, doi:10.57750/qmaz-gr91.
Also: workers=n_worker; tasks=n_task; classes=n_classes; per_task=feedback; load=workerload; imbalance=imbalance_votes
"""

from __future__ import annotations

from ._crowd import Crowd, answer, begin, dominant, rows


def independent_confusion(
    *,
    workers: int = 30,
    tasks: int = 200,
    classes: int = 5,
    per_task: int | None = 10,
    imbalance: bool = False,
    load: int | None = None,
    seed: int = 0,
) -> Crowd:
    """Draw a confusion matrix for each worker, then the answers.

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
    seed
        Seed of the random generator. The draws come in peerannot's order, so its seeds give its data.
    """
    rng, truth = begin(workers=workers, tasks=tasks, classes=classes, per_task=per_task, load=load, seed=seed)
    confusions = dominant(rows(rng, workers, classes))
    return answer(rng, truth, confusions, per_task=per_task, imbalance=imbalance, load=load)
