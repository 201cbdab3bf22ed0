"""Iterative weighted majority vote: vote, score the workers against the outcome, vote with the scores, and again.

    skill[w]    = share of w's answers that equal the last outcome
    weight[w]   = skill[w], or K skill[w] - 1 with `weight_transform=li_yu`: 0 for one who guesses, negative below that
    probs[t, k] = weighted share of the votes for k

One round is `wawa`.

Family: votes
Needs: workers
Reference: Li and Yu (2014), Error rate bounds and iterative weighted majority voting for crowdsourcing, arXiv:1411.4086.
Also: IWMV, IterativeWawa; rounds=n_iter, nb_iter, maxiter, iterations
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.answers import Answers
from ...core.channels import Coins
from ...core.consensus import Consensus
from ...kernels import skills, votes
from ...kernels.em import at_least_one


def iwmv(
    answers: Answers,
    *,
    rounds: int = 10,
    weight_transform: Literal["none", "li_yu"] = "none",
    ties: Literal["lowest", "random", "all"] = "lowest",
    seed: int = 0,
) -> Consensus:
    """Repeat the weighted vote until no weight changes.

    Parameters
    ----------
    rounds
        Weighted votes at most.
    weight_transform
        none: the weight is the agreement; li_yu: K * agreement - 1.
    ties
        Who wins a tied vote while skills are counted: lowest (the first class), random, or all (each its share).
    seed
        For random ties.
    """
    at_least_one(rounds=rounds)
    ids = votes.task_numbers(answers.tasks, ties, seed)
    found = answers.fold(votes.step, votes.Weights(np.ones(len(answers.workers)), ids, ties))
    converged, skill = False, None
    for _ in range(rounds):
        before, skill = skill, found.right / np.maximum(found.n, 1)
        if before is not None and np.array_equal(before, skill):
            converged = True
            break
        weight = len(answers.classes) * skill - 1 if weight_transform == "li_yu" else skill
        found = answers.fold(votes.step, votes.Weights(weight, ids, ties))
    return Consensus.of(
        answers,
        probs=found.probs,
        skill=skills.of_shares(answers, skill, note=skills.OWN_VOTE),
        channel=Coins(skill),
        converged=converged,
    )
