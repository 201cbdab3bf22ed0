"""Majority vote: the class most workers said.

    probs[t, k] = share of the answers about task t that say k

Needs no model of workers and serves as the yardstick of all others. `--ties` says what happens where two classes have
equally many votes: the first class, a draw from a hash of seed and task, or a row for each.

Family: votes
Reference: textbook.
Also: MajorityVote, MajorityVoting, majority_voting
"""

from __future__ import annotations

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...kernels.rows import normalise


def mv(answers: Answers) -> Consensus:
    """Count the votes."""
    return Consensus.of(answers, probs=normalise(answers.counts()))
