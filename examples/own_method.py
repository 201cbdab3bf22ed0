"""A method of one's own in a few lines: a step over one shard, sums that only need adding up, and a consensus.

    python examples/own_method.py

Put the same function into manyvoices/methods/aggregate/seasoned.py and the command line, its help and the docs know it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import manyvoices as mv
from manyvoices.core.answers import Answers, Shard
from manyvoices.core.fold import by_task, by_worker


@dataclass
class Effort:
    n: np.ndarray = by_worker()  # how many answers each worker gave


@dataclass
class Votes:
    votes: np.ndarray = by_task()  # [T, K]


def effort(shard: Shard, _) -> Effort:
    return Effort(shard.per_worker())


def vote(shard: Shard, params: Effort) -> Votes:
    """The more a worker has answered, the more a vote counts, but only as the square root."""
    return Votes(shard.tally(shard.of_worker(np.sqrt(params.n))))


def seasoned(answers: Answers) -> mv.Consensus:
    """Votes weighted by experience."""
    votes = answers.fold(vote, answers.fold(effort)).votes
    return mv.Consensus.of(answers, probs=votes / votes.sum(axis=1, keepdims=True))


if __name__ == "__main__":
    print(seasoned(mv.simulate("hammer_spammer", workers=20, tasks=200, classes=3, per_task=5, ratio=0.3).answers))
