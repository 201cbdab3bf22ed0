"""Coverage: the share of tasks that have a predicted label.

    coverage = tasks with a label / tasks that were to be predicted

To be predicted are all tasks of the split whose truth or answers are known. A task is not covered if the predictions
have no row for it, or a row without a label (an abstention). Read it beside accuracy, which is about predicted tasks.

Family: labels
Reference: textbook.
Also: cover
"""

from __future__ import annotations

import numpy as np

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores, one
from ._sums import mean_score


def coverage(scored: Scored, *, draws: Draws = Draws()) -> Scores:
    """Count tasks with a label."""
    if not len(scored) + scored.unpredicted:
        return one("coverage", "not defined because there are no tasks")
    there = np.concatenate([scored.labelled, np.zeros(scored.unpredicted, bool)])
    silent = int((~scored.labelled).sum())
    note = f"{scored.unpredicted} tasks have no prediction, {silent} no label"
    return mean_score("coverage", there.astype(float), note, draws)
