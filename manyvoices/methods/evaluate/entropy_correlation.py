"""Entropy correlation: whether the prediction is unsure about the tasks on which the answers are split.

    entropy correlation = correlation over tasks of H(p) and H(q),  H(p) = -sum over classes p[k] log p[k]

p are shares of the answers, q predicted probabilities. 1: the order of doubt is the same; 0: unrelated. It says
nothing about which class is meant.

Family: spread
Needs: answers, classes, probabilities
Reference: Uma et al. (2021), doi:10.1613/jair.1.12752.
Also: entropy_corr, entropy_similarity; kind=method, correlation
"""

from __future__ import annotations

from typing import Literal

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores, one
from ._line import correlation
from ._soft import entropy, spread
from ._sums import remarks


def entropy_correlation(
    scored: Scored, *, kind: Literal["pearson", "spearman"] = "pearson", smoothing: float = 0.0, draws: Draws = Draws()
) -> Scores:
    """Correlate entropies.

    Parameters
    ----------
    kind
        Of the entropies or of their ranks.
    smoothing
        Pseudo-count added to every class of the answers.
    """
    both = spread(scored, smoothing)
    if both.why:
        return one("entropy_correlation", both.why)
    x, y = entropy(both.p).mean(axis=1), entropy(both.q).mean(axis=1)
    return correlation("entropy_correlation", x, y, kind, remarks(both.note, kind), draws)
