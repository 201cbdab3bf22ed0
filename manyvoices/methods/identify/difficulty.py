"""Difficulty: how hard each task is, by GLAD. Up is harder.

    P(worker w is right about task t) = sigma(ability[w] * exp(-difficulty[t]))

A difficulty is small where able workers agree; it begins at -1 (the prior's mean) and needs several answers to move far
from it. The interval is that of the fit: the prior and the curvature of the likelihood.

Family: item response
Needs: workers, classes
Reference: Whitehill, Ruvolo, Wu, Bergsma and Movellan (2009), Whose vote should count more, NIPS.
Also: glad, glad_difficulty, difficulties
"""

from __future__ import annotations

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...core.scores import Scores
from . import _rows


def difficulty(answers: Answers, *, glad: Consensus) -> Scores:
    """Take the difficulties of the fit."""
    found = glad.difficulty
    note = "" if glad.converged else "the fit has not converged"
    return _rows.of_tasks(answers, "difficulty", found.value, found.low, found.high, note)
