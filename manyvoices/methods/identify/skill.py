"""Skill: how good a method of aggregation thinks each worker is.

    skill[w] = what the consensus named by --consensus says (of bcc: the expected share of right answers)

The number means what the method means by it: a share of right answers for the Dawid-Skene family, an agreement with the
votes for wawa, an ability for glad, a correlation for ordinal. A table of labels gives the expected share of answers that
equal them. The interval is the method's own. A worker's own answers are part of the consensus; `accuracy` leaves them out.

Family: skill
Needs: workers
Reference: that of the method.
Also: ability, worker_skill
"""

from __future__ import annotations

import numpy as np

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...core.scores import Scores, one
from ...kernels import skills
from . import _rows

EQUAL = "expected share of answers that equal the consensus"


def skill(answers: Answers, *, consensus: Consensus) -> Scores:
    """Take the skills of the fit."""
    found = consensus.skill
    if found is None and consensus.probs is not None and (consensus.codes >= 0).any():
        nobody = np.full(len(answers.workers), np.nan)
        found = skills.of_beliefs(answers, consensus.probs, nobody, EQUAL)
    if found is None:
        return one("skill", "not defined because this consensus gives no skills; name another with --consensus METHOD")
    low, high = (np.full(len(found), np.nan) if x is None else x for x in (found.low, found.high))
    note = [text or "" for text in found.column("note")]
    return _rows.of_workers(answers, "skill", found.value, low, high, note)
