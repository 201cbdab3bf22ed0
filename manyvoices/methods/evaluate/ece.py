"""Expected calibration error: how far the probability of the predicted label is from how often it is right.

    bin b of M equal bins of [0, 1], open on the left, closed on the right, by the probability of the label
    ECE = sum over bins of  n[b] / n  |accuracy[b] - mean probability[b]|

Computed once over all tasks: a mean over batches would depend on their size. 0 is perfect. Noise can only raise it,
the more the fewer tasks there are in a bin, so a small value on few tasks is not to be had; the interval is
reflected for that reason, in squares: where probabilities are right it reaches down to 0. The
column `prob` of the predictions is enough.

Family: probabilities
Needs: truth, classes, confidence
Reference: Guo, Pleiss, Sun and Weinberger (2017), arXiv 1706.04599.
Also: expected_calibration_error, calibration_error, test_ece; bins=n_bins
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...core.draws import Draws
from ...core.errors import BadCall
from ...core.scored import Scored
from ...core.scores import Scores, one
from ._sums import dataset, dealt, left_out, of_groups, remarks, undefined
from ._truth import aim


def ece(
    scored: Scored, *, against: Literal["truth", "answers"] = "truth", bins: int = 15, draws: Draws = Draws()
) -> Scores:
    """Compare confidence and accuracy bin by bin.

    Parameters
    ----------
    against
        The truth, or the most frequent answer.
    bins
        How many bins of equal width.
    """
    if not 1 <= bins <= 10_000:
        raise BadCall(f"bins is {bins}; expected 1 to 10000")
    goal = aim(scored, against)
    if why := undefined(scored, classes=True) or goal.why:
        return one("ece", why)
    sure = np.isfinite(scored.prob) & scored.labelled
    used = goal.known & sure
    if not used.any():
        return one("ece", "not defined because no label comes with a probability (a column prob or p:CLASS)")
    prob, hit = scored.prob[used], scored.label[used] == goal.right[used]
    group, groups = dealt(len(prob), bins, draws.seed)
    sums = of_bins(prob, hit, bins, group, groups)
    value, low, high, how = of_groups(sums, len(prob), Error(bins), draws, reflected=True)
    without = int((goal.known & ~sure).sum())
    note = remarks(goal.note, left_out(without, "without a label or its probability"), f"{bins} bins", how[0])
    return dataset("ece", value[0], low[0], high[0], len(prob), note)


def of_bins(prob: np.ndarray, hit: np.ndarray, bins: int, group: np.ndarray, groups: int) -> np.ndarray:
    """[groups, 1 + bins]: tasks, and hits minus probabilities of each bin."""
    edges = np.linspace(0, 1, bins + 1)[1:-1]
    cell = group * bins + np.searchsorted(edges, prob, side="left")
    gap = np.bincount(cell, hit - prob, minlength=groups * bins).reshape(groups, bins)
    return np.column_stack([np.bincount(group, minlength=groups), gap])


@dataclass(frozen=True)
class Error:
    bins: int

    def __call__(self, sums: np.ndarray) -> np.ndarray:
        return np.abs(sums[:, 1:]).sum(axis=1, keepdims=True) / np.where(sums[:, :1] > 0, sums[:, :1], np.nan)
