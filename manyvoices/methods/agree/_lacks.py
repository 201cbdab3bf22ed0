"""The reasons why a coefficient is not there."""

from __future__ import annotations

from ...core import registry
from ...core.answers import Answers

ALIKE = "all answers that can be compared are the same, so agreement cannot be told from chance; no interval"


def lacks(answers: Answers, name: str) -> str:
    """Why these answers have no such coefficient, as far as its page says what it needs."""
    needs = registry.about("agree", name).needs
    if answers.scale == "multilabel":
        return "not defined because one answer may hold several labels; ask about each label (--multilabel binary)"
    if "classes" in needs and answers.scale == "interval":
        return "not defined because the labels are numbers; alpha and icc are for numbers"
    if "ordered" in needs and answers.scale == "nominal":
        return "not defined because the classes have no order (--scale ordinal or interval)"
    if answers.n == 0:
        return "not defined because there are no answers"
    if "workers" in needs and answers.workers is None:
        return "not defined because these answers name nobody"
    return ""
