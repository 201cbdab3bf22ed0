"""Workers with one row each: who is right, or says something else in a way that does not depend on the truth.

    logit[t, k] = log_prior[k] + sum over answers (w, l) of task t of base[w, l] + gain[w, l] [l = k]
    right[w, l] = sum over answers l of w of P(truth of the task is l)

Costs one number an answer however many classes there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.answers import Shard
from ..core.fold import by_task, by_worker, whole
from .rows import column_sums, softmax_logsum
from .tables import Beliefs, Start, beginning, clamp


@dataclass
class Coins:
    base: np.ndarray = by_worker()  # [W, K] log P(says l | truth is another class)
    gain: np.ndarray = by_worker()  # [W, K] log P(says l | truth is l) - base
    log_prior: np.ndarray = whole()  # [K]
    gold: np.ndarray | None = by_task(default=None)  # [T]
    penalty: float = whole(default=0.0)


@dataclass
class Counts:
    right: np.ndarray = by_worker()  # [W, K]
    prior: np.ndarray = whole()  # [K]
    evidence: float = whole()


@dataclass
class Habits:
    said: np.ndarray = by_worker()  # [W, K] how often each worker said each class


def habits(shard: Shard, _) -> Habits:
    return Habits(shard.per_habit())


def posterior(shard: Shard, params: Coins) -> tuple[np.ndarray, np.ndarray]:
    logits = shard.tally(params.gain.ravel().take(shard.said.indices))
    logits += params.log_prior
    clamp(logits, params.gold)
    probs, evidence = softmax_logsum(logits)
    return probs, evidence + shard.said @ params.base.ravel()


def sums(shard: Shard, probs: np.ndarray, evidence: np.ndarray | None = None) -> Counts:
    return Counts(
        shard.per_habit(shard.at(probs)),
        column_sums(shard.answered(probs)),
        0.0 if evidence is None else float(shard.answered(evidence).sum()),
    )


def step(shard: Shard, params: Coins) -> Counts:
    return sums(shard, *posterior(shard, params))


def start(shard: Shard, params: Start) -> Counts:
    return sums(shard, beginning(shard, params))


def beliefs(shard: Shard, params: Coins) -> Beliefs:
    return Beliefs(posterior(shard, params)[0])
