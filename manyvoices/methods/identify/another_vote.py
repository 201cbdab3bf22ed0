"""Another vote: what one more answer is expected to change about each task. What to buy next with a budget.

    M[k, l]  = P(a usual worker says l | truth k), from the consensus as `says` gives it for a worker nobody has seen
    q[l]     = sum over k of P(k) M[k, l]                   which answer comes
    P(k | l) = P(k) M[k, l] / q[l]                          what is believed then
    change   = sum over l of q[l] * 1/2 sum over k of |P(k | l) - P(k)|
    gain     = sum over l of max over k of P(k) M[k, l]  -  max over k of P(k)

`change` is the expected total variation between the beliefs now and then; `gain` the expected rise in the probability that the
label is right, which is 0 wherever no single answer can turn the label, so `change` ranks better. The interval is that
of the outcome: what the answer will in fact change, with probability .95. For numbers it is the expected absolute change of
the value. A consensus without a model of workers (mv) gives the expected change of the vote shares. Only the next answer is looked
at: buy in rounds, and ask again in between.

Measured: simulated crowds with 2 answers a task (300 tasks, 3 classes), one more answer a task on average, bought in five
rounds and given by workers drawn at random: .896 of the labels right by `change`, .865 by `gain`, .825 at random.

Family: consensus
Reference: expected model change as in active learning (Settles 2009, section 3.3); the knowledge gradient for `gain`.
Also: next_answer, expected_change
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.answers import Answers
from ...core.channels import Ability, Line, Shares
from ...core.consensus import Consensus
from ...core.scores import Scores
from ...kernels.rows import normalise
from . import _rows

CELLS = 2_000_000
NOTE = {
    "change": "expected total variation by one more answer of a usual worker",
    "gain": "expected rise of P(label is right) by one more answer of a usual worker",
}
HALF_NORMAL = (0.7978845608028654, 0.03133798, 2.24140273)  # mean, and 2.5 % and 97.5 % points, of |N(0, 1)|


def another_vote(answers: Answers, *, consensus: Consensus, measure: Literal["change", "gain"] = "change") -> Scores:
    """Go through the answers that may come.

    Parameters
    ----------
    measure
        What is expected: the change of the beliefs, or the gain in the probability that the label is right.
    """
    channel = consensus.channel
    if answers.scale == "interval":
        value, low, high = of_numbers(consensus)
        note = "expected absolute change of the value by one more answer of a usual worker"
        return _rows.of_tasks(answers, "another_vote", value, low, high, note, empty=False)
    note = NOTE[measure]
    if isinstance(channel, (Shares, Line)):
        value, low, high = of_votes(answers.counts(), measure)
        note = (
            "expected total variation of the vote shares" if measure == "change" else "expected rise of the best share"
        )
    else:
        value, low, high = of_model(consensus, measure)
    none = (np.full(len(value), len(answers.classes) == 0), "not defined because there are no classes")
    return _rows.of_tasks(answers, "another_vote", value, low, high, note, [none], empty=False)


def of_model(consensus: Consensus, measure: str):
    T, K = consensus.probs.shape
    blocks = range(0, T, max(CELLS // max(K * K, 1), 1))
    size = blocks.step
    parts = [outcomes(consensus, slice(a, min(a + size, T)), measure) for a in blocks]
    return (np.concatenate(x) for x in zip(*parts, strict=True)) if parts else (np.zeros(0),) * 3


def outcomes(consensus: Consensus, tasks: slice, measure: str):
    """Expected change, and the ends of what happens with probability .95, for these tasks."""
    probs = consensus.probs[tasks]
    joint = probs[:, :, None] * usual(consensus, tasks)  # [t, K, K] truth, said
    said = joint.sum(axis=1)
    then = joint / np.where(said > 0, said, 1)[:, None, :]
    if measure == "change":
        moved = 0.5 * np.abs(then - probs[:, :, None]).sum(axis=1)
    else:
        moved = then.max(axis=1) - probs.max(axis=1)[:, None]
    return spread(moved, normalise(said), floor=0.0)


def usual(consensus: Consensus, tasks: slice) -> np.ndarray:
    """P(a worker nobody has seen says l | truth k): [t or 1, K, K]."""
    T, K = consensus.probs[tasks].shape
    channel, eye = consensus.channel, np.eye(K)
    if not isinstance(channel, Ability):
        nobody = np.full(K, -1)
        return channel.says(eye, np.zeros(K, np.int64), nobody)[None]
    at, nobody = np.arange(tasks.start, tasks.start + T), np.full(T, -1)
    return np.stack([channel.says(np.repeat(eye[k : k + 1], T, axis=0), at, nobody) for k in range(K)], axis=1)


def spread(moved: np.ndarray, chance: np.ndarray, floor: float):
    """Mean of the outcomes [t, K], and the ends of the middle 95 %, widened to hold the mean."""
    value = np.maximum((moved * chance).sum(axis=1), floor)
    order = np.argsort(moved, axis=1, kind="stable")
    sorted_, mass = np.take_along_axis(moved, order, 1), np.take_along_axis(chance, order, 1).cumsum(axis=1)
    low, high = (
        np.take_along_axis(sorted_, np.minimum((mass < q - 1e-12).sum(axis=1), moved.shape[1] - 1)[:, None], 1)[:, 0]
        for q in (0.025, 0.975)
    )
    return value, np.minimum(low, value), np.maximum(high, value)


def of_votes(counts: np.ndarray, measure: str):
    """The shares with one answer more; it says l with probability (count + 1 / K) / (n + 1)."""
    n, K = counts.sum(axis=1, keepdims=True), max(counts.shape[1], 1)
    share, chance = normalise(counts), (counts + 1 / K) / (n + 1)
    if measure == "change":
        return spread((1 - share) / (n + 1), chance, 0.0)
    best = counts.max(axis=1, keepdims=True, initial=0.0)
    return spread(
        (np.maximum(counts + 1, best)) / (n + 1) - share.max(axis=1, keepdims=True, initial=0.0), chance, -1.0
    )


def of_numbers(consensus: Consensus):
    """A further number moves the value by Normal(0, var - var then)."""
    channel: Line = consensus.channel  # type: ignore[assignment]
    scale, noise = (float(channel.of(x, np.array([-1]))[0]) for x in (channel.scale, channel.noise))
    var = channel.var
    sd = np.sqrt(np.where(var > 0, var - 1 / (1 / np.where(var > 0, var, 1) + scale**2 / max(noise**2, 1e-300)), 0))
    return tuple(factor * sd for factor in HALF_NORMAL)
