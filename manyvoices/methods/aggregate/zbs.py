"""Zero-based skill: skills start at chance and move towards the agreement with the weighted vote.

    skill[w] = 1 / K + eps at the start
    skill[w] moves by rate * (agreement of w with the vote weighted by skill - skill[w]), rate halved every 20 updates
    probs[t, k] = sum of the last skills over those who said k, divided by the sum over all

Family: votes
Needs: workers
Reference: Toloka crowd-kit, ZeroBasedSkill.
Also: ZeroBasedSkill, zero_based_skill; iterations=n_iter; rate=lr_init; steps=lr_steps_to_reduce; factor=lr_reduce_factor
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.answers import Answers
from ...core.channels import Coins
from ...core.consensus import Consensus
from ...kernels import skills, votes
from ...kernels.em import check


def zbs(
    answers: Answers,
    *,
    iterations: int = 100,
    rate: float = 1.0,
    steps: int = 20,
    factor: float = 0.5,
    eps: float = 1e-5,
    ties: Literal["lowest", "random", "all"] = "lowest",
    seed: int = 0,
) -> Consensus:
    """Update the skills a fixed number of times.

    Parameters
    ----------
    iterations
        Updates of the skills.
    rate
        Step length of the first updates.
    steps
        Shorten the step each time so many updates are made.
    factor
        What the step length is multiplied with then.
    eps
        How far above chance the skills start.
    ties
        Who wins a tied vote while skills are counted: lowest (the first class), random, or all (each its share).
    seed
        For random ties.
    """
    check(iterations=iterations, rate=rate, factor=factor, eps=eps)
    ids = votes.task_numbers(answers.tasks, ties, seed)
    skill = np.full(len(answers.workers), 1 / max(len(answers.classes), 1) + eps)
    for update in range(1, iterations + 1):
        if steps > 0 and update % steps == 0:
            rate *= factor
        found = answers.fold(votes.step, votes.Weights(skill, ids, ties))
        skill = np.where(found.n > 0, skill + rate * (found.right / np.maximum(found.n, 1) - skill), skill)
    found = answers.fold(votes.step, votes.Weights(skill, ids, ties))
    return Consensus.of(
        answers,
        probs=found.probs,
        skill=skills.of_shares(answers, skill, note=skills.OWN_VOTE),
        channel=Coins(np.clip(skill, 0, 1)),
    )
