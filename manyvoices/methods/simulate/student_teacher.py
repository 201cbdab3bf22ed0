"""Students and teachers: students have the habits of the teacher they follow, so that errors are correlated.

    teacher: confusions[w, k, :] ~ Dirichlet(1, ..., 1), its largest entry moved to l = k
    student: confusions[w] = confusions[teacher[w]]

Reference: Lefort, Charlier, Joly, Salmon (2024), Peerannot: classification for crowdsourced image datasets with Python,
Computo, doi:10.57750/qmaz-gr91.
Also: workers=n_worker; tasks=n_task; classes=n_classes; per_task=feedback; load=workerload; imbalance=imbalance_votes
"""

from __future__ import annotations

import numpy as np

from manyvoices.core.errors import BadCall

from ._crowd import Crowd, answer, begin, between, dominant, rows


def student_teacher(
    *,
    workers: int = 30,
    tasks: int = 200,
    classes: int = 5,
    per_task: int | None = 10,
    imbalance: bool = False,
    load: int | None = None,
    ratio: float = 0.8,
    seed: int = 0,
) -> Crowd:
    """The last int(ratio * workers) workers are the students; each follows a teacher drawn at random.

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
        Share of students among the workers, from 0 to below 1.
    seed
        Seed of the random generator. The draws come in peerannot's order, so its seeds give its data.
    """
    between("ratio", ratio, 0, 1)
    rng, truth = begin(workers=workers, tasks=tasks, classes=classes, per_task=per_task, load=load, seed=seed)
    students = int(workers * ratio)
    teachers = workers - students
    if teachers == 0:
        raise BadCall(
            f"ratio is {ratio!r} and leaves no teacher among {workers} workers; expected a number from 0 to below 1"
        )
    taught = dominant(rows(rng, teachers, classes))
    teacher = np.concatenate([np.arange(teachers), rng.choice(teachers, size=students)])
    return answer(
        rng, truth, taught[teacher], per_task=per_task, imbalance=imbalance, load=load, extra={"teacher": teacher}
    )
