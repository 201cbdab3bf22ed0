"""Scott's pi: two workers' agreement beyond chance from their pooled shares, averaged over pairs of workers.

    observed = share of the tasks both answered on which they agree, near misses counted by w[i, j]
    chance   = sum over i, j of w[i, j] p[i] p[j],  p = mean of the class shares of the two workers
    value    = (observed - chance) / (1 - chance), mean over the pairs with at least `min_common` common tasks
    of class = the same with two classes, k and all others, over the pairs that use k

For many workers at once the same idea is Fleiss' kappa, which is not a mean over pairs. A pair that always says one
and the same class counts 1. Up to 20,000 meetings of two workers, the interval of the mean is a bootstrap over tasks;
above, the infinitesimal jackknife: each task's first-order effect on all its pairs, in one pass instead of a
thousand. The interval of a pair comes from the same effects (the delta method).
From few common tasks the value of a pair is somewhat too low, and so is the mean of many such pairs: its interval is about
that mean, not about the one that more tasks would give.

Family: agreement
Needs: classes, workers
Reference: Scott (1955), doi:10.1086/266577.
Also: scott_pi, pi
"""

from __future__ import annotations

from ...core.answers import Answers
from ...core.scores import Scores
from . import _pairs
from ._ask import Weighted
from ._counts import Chance, distance


def scott(answers: Answers, *, ask: Weighted = Weighted()) -> Scores:
    """The joint table of every pair of workers who met often enough."""
    return _pairs.mean(
        answers, "scott", distance(ask.weights, len(answers.classes)), Chance("pooled"), ask, note=ask.note
    )
