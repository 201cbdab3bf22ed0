"""What everybody else says about a task: beliefs in which a worker's own answers have no vote.

    P(truth of t is k | all answers but w's)  ~  prior[k] * product over the others' answers of P(answer | truth k)

How workers answer is the model of a fitted consensus, which everybody's answers made; a consensus without such a model
(votes) has the majority of the others, tied classes sharing. A worker's repeats on a task are all left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..core import channels
from ..core.answers import Shard, spread
from ..core.consensus import Consensus
from ..core.fold import by_task, by_worker, local, whole
from .rows import normalise, softmax_logsum
from .tables import clamp

LEAST = 1e-6  # no answer counts for more than a million to one, however sure the model is
CELLS = 4_000_000  # beliefs held at a time


@dataclass
class Others:
    log_tables: np.ndarray | None = by_worker(default=None)  # [W, K said, K truth]
    gain: np.ndarray | None = by_worker(default=None)  # [W, K] log P(says l | l) - log P(says l | another class)
    ability: np.ndarray | None = by_worker(default=None)  # [W]
    ease: np.ndarray | None = by_task(default=None)  # [T]
    gold: np.ndarray | None = by_task(default=None)  # [T] known classes, -1 = unknown
    log_prior: np.ndarray | None = whole(default=None)  # [K]; None = votes


def model_of(consensus: Consensus, gold: np.ndarray | None = None) -> Others:
    """The workers of a consensus as the others."""
    channel, classes = consensus.channel, len(consensus.classes)
    prior = np.full(classes, 1 / max(classes, 1)) if consensus.prior is None else consensus.prior
    found = Others(gold=gold, log_prior=log(prior))
    if isinstance(channel, channels.Tables):
        tables = channel.confusions(classes)
        found.log_tables = np.ascontiguousarray(log(tables).transpose(0, 2, 1))
    elif isinstance(channel, channels.Coins):
        found.gain = (log(channel.right) - log((1 - channel.right) / max(classes - 1, 1)))[:, None].repeat(classes, 1)
    elif isinstance(channel, channels.Spam):
        guess = (1 - channel.knows)[:, None] * channel.habit
        found.gain = log(channel.knows[:, None] + guess) - log(guess)
    elif isinstance(channel, channels.Ability):
        found.ability, found.ease = channel.ability, channel.ease
    else:
        found.log_prior = None
    return found


def log(p: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(p, LEAST))


@dataclass
class Runs:
    """The answers of one worker to one task are a run; nearly always it is a single one."""

    first: np.ndarray  # [r] first row
    of: np.ndarray  # [n] run of each row
    task: np.ndarray  # [r]


def runs(shard: Shard) -> Runs:
    begins = np.ones(len(shard.worker), bool)
    begins[1:] = (shard.task[1:] != shard.task[:-1]) | (shard.worker[1:] != shard.worker[:-1])
    first = np.flatnonzero(begins)
    return Runs(first, np.cumsum(begins) - 1, shard.task[first])


def per_run(x: np.ndarray, found: Runs) -> np.ndarray:
    """Sums of rows [n, ...] by run."""
    return x if len(found.first) == len(x) else np.add.reduceat(x, found.first, axis=0)


def sizes(shard: Shard, found: Runs) -> tuple[np.ndarray, np.ndarray]:
    """Answers of each run, and of the others to its task: [r]."""
    own = per_run(shard.weighted(None), found)
    return own, shard.per_task()[found.task] - own


def believed(shard: Shard, others: Others, found: Runs) -> np.ndarray:
    """P(truth | the others' answers) for each run: [r, K]."""
    if others.log_prior is None:
        left = shard.tally()[found.task] - tallied(shard, shard.weighted(None), found)
        best = (left >= left.max(axis=1, keepdims=True, initial=0.0) - 1e-9).astype(float)
        return normalise(best)
    if others.log_tables is not None:
        each = others.log_tables.reshape(-1, shard.classes)
        own = each.take(shard.said.indices, axis=0)
        if shard.count is not None:
            own = own * shard.count[:, None]
        total, own = shard.said @ each, per_run(own, found)
    else:
        if others.ability is not None:
            gain = shard.of_worker(others.ability) * shard.of_task(np.exp(others.ease))
            gain = np.clip(gain + np.log(max(shard.classes - 1, 1)), np.log(LEAST), -np.log(LEAST))
        else:
            gain = others.gain[shard.worker, shard.label]
        total, own = shard.tally(gain), tallied(shard, shard.weighted(gain), found)
    logits = total[found.task] - own + others.log_prior
    clamp(logits, None if others.gold is None else others.gold[found.task])
    return softmax_logsum(logits)[0]


def tallied(shard: Shard, weight: np.ndarray, found: Runs) -> np.ndarray:
    """Sum of a weight of each answer by run and class: [r, K]."""
    return spread(weight, shard.label, np.append(found.first, len(shard.worker)), shard.classes)


def pieces(shard: Shard, params: Any) -> Iterator[tuple[Shard, Any]]:
    """The shard and its parameters, or smaller ones where beliefs about all its answers would take much memory."""
    if len(shard.worker) * shard.classes <= CELLS:
        yield shard, params
        return
    a, most = 0, max(CELLS // shard.classes, 1)
    while a < shard.size:
        b = max(int(np.searchsorted(shard.start, shard.start[a] + most, side="right")) - 1, a + 1)
        rows = slice(int(shard.start[a]), int(shard.start[b]))
        cut = {f.name: getattr(shard, f.name) for f in fields(shard)}
        cut |= {name: None if (x := cut[name]) is None else x[rows] for name in ("worker", "label", "value", "count")}
        part = Shard(**cut | {"tasks": slice(a, b), "start": shard.start[a : b + 1] - shard.start[a]})
        yield part, local(params, part)
        a = b
