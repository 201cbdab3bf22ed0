"""Gold majority vote: a vote weighted by each worker's accuracy on tasks whose truth is known.

    skill[w]    = share of right answers of w on gold tasks
    probs[t, k] = sum of skill over those who said k, divided by the sum over all

A worker without gold tasks has the mean skill of the others, and a note. Gold tasks are voted on like the rest.

Family: votes
Needs: workers, gold
Reference: Toloka crowd-kit, GoldMajorityVote.
Also: GoldMajorityVote, gold_majority_vote
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.answers import Answers, Shard
from ...core.channels import Coins
from ...core.consensus import Consensus
from ...core.fold import by_task, by_worker
from ...kernels import skills, votes


@dataclass
class Gold:
    gold: np.ndarray = by_task()  # [T] class codes, -1 = unknown


@dataclass
class Tested:
    right: np.ndarray = by_worker()
    n: np.ndarray = by_worker()


def step(shard: Shard, params: Gold) -> Tested:
    truth = shard.of_task(params.gold)
    return Tested(shard.per_worker((truth == shard.label).astype(float)), shard.per_worker((truth >= 0).astype(float)))


def goldmv(answers: Answers, *, gold: np.ndarray) -> Consensus:
    """Score the workers on the gold tasks, then vote with the scores."""
    tested = answers.fold(step, Gold(gold))
    seen = tested.n > 0
    usual = tested.right.sum() / max(tested.n.sum(), 1)
    skill = np.where(seen, tested.right / np.maximum(tested.n, 1), usual)
    found = answers.fold(votes.step, votes.Weights(skill))
    scores = skills.of_shares(
        answers, skill, tested.n, note=["" if s else "no gold tasks: the mean of the others" for s in seen]
    )
    return Consensus.of(answers, probs=found.probs, skill=scores, channel=Coins(skill))
