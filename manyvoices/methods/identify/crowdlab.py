"""CROWDLAB's quality: of each worker, and of the consensus label of each task, votes and a classifier weighed together.

    of a task    = P(the consensus label is right), the weighted mean of the classifier's row and one row per answer
    of a worker  = a mix of what that mean gives the worker's answers and of agreement with the consensus

The probabilities must be out of sample: predicted by a classifier that has not seen the task (`--probs FILE`). Low tasks are
the ones to look at first.

Family: votes with a classifier
Needs: workers, classes
Reference: Goh, Tkachenko and Mueller (2022), CROWDLAB, arXiv:2210.06812.
Also: label_quality
"""

from __future__ import annotations

import numpy as np

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...core.scores import Scores, joined
from . import _rows


def crowdlab(answers: Answers, *, crowdlab: Consensus) -> Scores:
    """Take the qualities of the fit."""
    found, codes = crowdlab.skill, crowdlab.codes
    quality = crowdlab.probs[np.arange(len(codes)), np.maximum(codes, 0)]
    workers = _rows.of_workers(answers, "crowdlab", found.value, found.low, found.high, "annotator quality")
    label = np.array([*crowdlab.classes.to_list(), "none"], object)[codes]
    notes = [f"quality of the label {name}; no interval: a mean of fixed weights" for name in label]
    return joined([workers, _rows.of_tasks(answers, "crowdlab", quality, None, None, notes)])
