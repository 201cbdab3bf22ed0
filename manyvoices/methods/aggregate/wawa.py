"""Worker agreement with aggregate: one vote weighted by how often each worker agrees with the majority.

    skill[w]    = share of w's answers that equal the majority vote
    probs[t, k] = sum of skill over those who said k, divided by the sum over all

Family: votes
Needs: workers
Reference: Appen (2021), the `wawa` score; see also crowd-kit.
Also: Wawa, worker_agreement_with_aggregate
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.answers import Answers
from ...core.channels import Coins
from ...core.consensus import Consensus
from ...kernels import skills, votes


def wawa(answers: Answers, *, ties: Literal["lowest", "random", "all"] = "lowest", seed: int = 0) -> Consensus:
    """Vote, score each worker against the outcome, vote again with the scores.

    Parameters
    ----------
    ties
        Who wins a tied first vote: lowest (the first class), random, or all (each tied class counts its share).
    seed
        For random ties.
    """
    ids = votes.task_numbers(answers.tasks, ties, seed)
    plain = answers.fold(votes.step, votes.Weights(np.ones(len(answers.workers)), ids, ties))
    skill = plain.right / np.maximum(plain.n, 1)
    weighted = answers.fold(votes.step, votes.Weights(skill, ids, ties))
    return Consensus.of(
        answers,
        probs=weighted.probs,
        skill=skills.of_shares(answers, skill, note=skills.OWN_VOTE),
        channel=Coins(skill),
    )
