"""Two thirds: the share of the answers that the commonest one has, and whether that is agreement.

    twothird[t] = share of the answers about t that say its commonest class

The note says `agreed` where at least two answered and two thirds of them say the same, else why not: these tasks are the
too hard ones of peerannot, to be looked at or left out. Interval: Beta(share n + 1/2, (1 - share) n + 1/2).

Family: votes
Needs: classes
Reference: the iNaturalist rule for research-grade observations; peerannot's TwoThird.
Also: two_third, too_hard
"""

from __future__ import annotations

import numpy as np

from ...core.answers import Answers
from ...core.scores import Scores
from ...kernels.rows import normalise
from ...kernels.skills import beta_interval
from . import _rows


def twothird(answers: Answers) -> Scores:
    """Count the votes of each task."""
    counts = answers.counts()
    n = counts.sum(axis=1)
    share = normalise(counts).max(axis=1, initial=0.0)
    _, one, like = np.unique(share + 2 * n, return_index=True, return_inverse=True)  # most tasks look like another
    low, high = (end[like] for end in beta_interval(share[one], n[one]))
    notes = np.where(share >= 2 / 3 - 1e-9, "agreed", "less than two thirds agree").astype(object)
    notes[n == 1] = "one answer only, two are needed"
    return _rows.of_tasks(answers, "twothird", share, low, high, notes)
