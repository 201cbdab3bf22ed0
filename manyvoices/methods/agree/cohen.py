"""Cohen's kappa: two workers' agreement beyond chance, averaged over pairs of workers.

    observed = share of the tasks both answered on which they agree, near misses counted by w[i, j]
    chance   = sum over i, j of w[i, j] r[i] c[j],  r and c the class shares of the first and the second worker
    value    = (observed - chance) / (1 - chance), mean over the pairs with at least `min_common` common tasks
    of class = the same with two classes, k and all others, over the pairs that use k

Two workers who lean to different classes are expected to agree less, so a bias between them raises kappa. A pair that
always says one and the same class counts 1. Up to 20,000 meetings of two workers, the interval of the mean is a
bootstrap over tasks; above, the infinitesimal jackknife: each task's first-order effect on all its pairs, in one pass
instead of a thousand. The interval of a pair comes from the same effects (the delta method).
From few common tasks the value of a pair is somewhat too low, and so is the mean of many such pairs: its interval is about
that mean, not about the one that more tasks would give.

Family: agreement
Needs: classes, workers
Reference: Cohen (1960), doi:10.1177/001316446002000104; (1968), doi:10.1037/h0026256; Fleiss, Cohen and Everitt (1969),
    doi:10.1037/h0028106, for the interval of a pair.
Also: cohen_kappa, kappa, weighted_kappa[weights='quadratic']
"""

from __future__ import annotations

from ...core.answers import Answers
from ...core.scores import Scores
from . import _pairs
from ._ask import Weighted
from ._counts import Chance, distance


def cohen(answers: Answers, *, ask: Weighted = Weighted()) -> Scores:
    """The joint table of every pair of workers who met often enough."""
    return _pairs.mean(answers, "cohen", distance(ask.weights, len(answers.classes)), Chance("own"), ask, note=ask.note)
