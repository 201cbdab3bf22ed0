"""Two thirds: a label only where at least two voted and two thirds of them agree.

    label[t] = the majority's class if n[t] >= 2 and its share >= 2/3, else none

Family: votes
Reference: the iNaturalist rule for research-grade observations.
Also: TwoThird, two_third
"""

from __future__ import annotations

import numpy as np

from ...core.answers import Answers
from ...core.consensus import Consensus, first_best
from ...kernels.rows import normalise


def twothird(answers: Answers) -> Consensus:
    """Vote, and leave out what is not agreed on."""
    counts = answers.counts()
    probs = normalise(counts)
    agreed = (counts.sum(axis=1) >= 2) & (probs.max(axis=1, initial=0.0) >= 2 / 3 - 1e-9)
    return Consensus.of(
        answers, probs=probs, chosen=np.where(agreed, first_best(probs), -1), note="less than two thirds agree"
    )
