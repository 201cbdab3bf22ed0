"""Naive soft labels: the distribution of the votes.

    probs[t, k] = share of the answers about task t that say k

The same numbers as majority vote, meant to be kept as they are: a classifier trained on them learns how much people
disagree. A task without answers is uniform.

Family: votes
Reference: Ju, Sun and Wang (2013) use them as a baseline; the name is peerannot's.
Also: NaiveSoft, naive_soft
"""

from __future__ import annotations

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...kernels.rows import normalise


def ns(answers: Answers) -> Consensus:
    """Share out each task's votes."""
    return Consensus.of(answers, probs=normalise(answers.counts()))
