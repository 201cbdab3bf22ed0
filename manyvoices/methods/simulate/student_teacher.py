"""Students and teachers: students have the habits of the teacher they follow, so that errors are correlated.

    teacher: confusions[w, k, :] ~ Dirichlet(1, ..., 1), its largest entry moved to l = k
    student: confusions[w] = confusions[teacher[w]]

Reference: Lefort, Charlier, Joly, Salmon (2024), Peerannot: classification for crowdsourced image datasets with Python,
Computo, doi:10.57750/qmaz-gr91.
"""

from __future__ import annotations

import numpy as np

from ...core.errors import BadCall
from ._crowd import Crowd, Size, answer, begin, between, dominant, rows


def student_teacher(*, ratio: float = 0.8, size: Size = Size()) -> Crowd:
    """The last int(ratio * workers) workers are the students; each follows a teacher drawn at random.

    Parameters
    ----------
    ratio
        Share of students among the workers, from 0 to below 1.
    """
    between("ratio", ratio, 0, 1)
    rng, truth = begin(size)
    students = int(size.workers * ratio)
    teachers = size.workers - students
    if teachers == 0:
        raise BadCall(
            f"ratio is {ratio!r} and leaves no teacher among {size.workers} workers; expected a number from 0 to below 1"
        )
    taught = dominant(rows(rng, teachers, size.classes))
    teacher = np.concatenate([np.arange(teachers), rng.choice(teachers, size=students)])
    return answer(rng, truth, taught[teacher], size, extra={"teacher": teacher})
