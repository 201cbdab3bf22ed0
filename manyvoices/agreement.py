"""How far workers agree: coefficients side by side, for the data set, its classes, its groups, and pairs of workers.

of       what n counts
dataset  tasks that went in
class    answers that say the class
pair     tasks both workers answered
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .core import registry
from .core.answers import Answers
from .core.dataset import Dataset
from .core.scores import Scores, joined
from .scoring import Asked, answers_of, divided, named, settled


def agreed(
    source: Dataset | Answers, methods: str | Callable | Asked | None = None, *, by: str | None = None, **options: Any
) -> Scores:
    """Scores of each method (those that suit the scale, if none is named): all answers first, then each group of `by`.

    `by` is a column that came with the answers, the items or the workers. Options go to the methods that have them.
    """
    answers = answers_of(source)
    runs = settled(suitable(answers) if methods is None else named("agree", methods), options)
    parts, groups = [run(answers, runs)], [""]
    if by is not None:
        for name, some in divided(None if source is answers else source, answers, by):  # type: ignore[arg-type]
            parts.append(run(some, runs))
            groups.append(name)
    return joined(parts, groups)


def suitable(answers: Answers) -> Asked:
    return [
        (about, {})
        for about in (registry.about("agree", name) for name in registry.names("agree"))
        if suits(about, answers.scale)
    ]


def suits(about: registry.Method, scale: str) -> bool:
    return not ("classes" in about.needs and scale == "interval") and not (
        "ordered" in about.needs and scale not in ("ordinal", "interval")
    )


def run(answers: Answers, runs: Asked) -> Scores:
    return joined([registry.find("agree", about.name)(answers, **given) for about, given in runs])
