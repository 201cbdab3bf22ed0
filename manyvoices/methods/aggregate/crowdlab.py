"""CROWDLAB: a classifier's probabilities and the workers' votes, each weighted by how well it agrees with the others.

    consensus[t] = majority vote; ties to the class the classifier prefers, then to the rarer class
    P            = mean share of workers who agree with the consensus, on tasks with two answers or more
    E            = share of those tasks whose consensus is not the commonest class
    weight[w]    = max(1 - (1 - agreement of w with the other workers) / E, 1e-6)
    weight_model = max(1 - error of the classifier against the consensus / E, 1e-6) sqrt(mean number of answers)
    probs[t]     = weighted mean of the classifier's row and one row per answer (P at its label, (1 - P) / (K - 1) elsewhere)

The probabilities must be out of sample: predicted by a classifier that has not seen the task (`--probs FILE`).

Family: votes with a classifier
Needs: workers, probs
Reference: Goh, Tkachenko and Mueller (2022), CROWDLAB, arXiv:2210.06812.
Also: CROWDLAB
"""

from __future__ import annotations

import numpy as np

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...kernels import crowdlab as kernel


def crowdlab(answers: Answers, *, probs: np.ndarray, rounds: int = 1) -> Consensus:
    """Weigh the classifier and the workers against a consensus, then mix them.

    Parameters
    ----------
    rounds
        1 takes the majority vote as the consensus; each further round takes the labels of the one before.
    """
    return kernel.fit(answers, probs, rounds)
