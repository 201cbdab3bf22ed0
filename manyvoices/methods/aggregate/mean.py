"""Mean of ordered or interval labels.

    value[t] = mean of the numbers said about task t;  interval: +- 1.96 noise / sqrt(n[t])
    noise    = standard deviation within tasks, pooled over all of them

On an ordinal scale the classes count 0, 1, 2, ... and the label is the class nearest to the mean (halves go
down), as probable as the part of Normal(value, noise^2 / n) that lies nearest to it.

Family: ordered labels
Needs: ordered
Reference: textbook.
Also: average
"""

from __future__ import annotations

import numpy as np

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...kernels import numbers


def mean(answers: Answers) -> Consensus:
    """Average each task's numbers."""
    found = answers.fold(numbers.moments)
    n = np.maximum(found.n, 1)
    middle = np.where(found.n > 0, found.total / n, found.total.sum() / max(found.n.sum(), 1))
    return numbers.result(answers, middle, found, reach=1.0)
