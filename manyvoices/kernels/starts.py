"""Where an iterative fit begins: vote shares, one class a task, noise, labels somebody has, or an earlier result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.answers import Answers
from ..core.consensus import Consensus, first_best
from ..core.errors import BadInput
from .rows import log, normalise
from .tables import Tables


def starting_beliefs(answers: Answers, init: str, seed: int = 0, labels: np.ndarray | None = None) -> np.ndarray | None:
    """[T, K], or None for the vote shares that a shard counts itself."""
    if labels is not None:
        return labels
    if init == "votes":
        return None
    if init == "majority":
        return np.eye(len(answers.classes))[first_best(normalise(answers.counts()))]
    beliefs, held = (
        np.full((len(answers.tasks), len(answers.classes)), 1 / len(answers.classes)),
        answers.per_task() > 0,
    )
    beliefs[held] = np.random.default_rng(seed).dirichlet(np.ones(len(answers.classes)), int(held.sum()))
    return beliefs


def known_workers(answers: Answers, start: Consensus) -> tuple[np.ndarray, np.ndarray]:
    """[W] code of each worker in the earlier result, -1 if new; and the earlier code of each class."""
    if start.workers is None:
        raise BadInput("the result to start from knows no workers")
    missing = [name for name in answers.classes if name not in start.classes]
    if missing:
        raise BadInput(
            f"class {missing[0]!r} is not in the result to start from",
            value=missing[0],
            expected=f"one of {', '.join(start.classes)}; state them with --classes",
        )
    return start.workers.code(answers.workers, missing=-1), start.classes.code(answers.classes)


def first_tables(answers: Answers, start: Consensus, params: Tables) -> Tables:
    """Go on from an earlier fit's tables; a new worker begins like the average of the old ones."""
    who, classes = known_workers(answers, start)
    old = start.confusions
    if old is None or start.prior is None:
        raise BadInput("the result to start from has no confusion tables: use one that ds or bcc made")
    found = normalise(np.maximum(start.channel.of(old, who)[:, classes][:, :, classes], 1e-10))
    return replace(params, log_tables=log(found), log_prior=log(normalise(np.maximum(start.prior[classes], 1e-10))))
