"""Margin: how far the best class of a task is ahead of the second. Down is more doubtful.

    margin[t] = best - second of P(truth of t is k) under the consensus
    interval  : log(best / second), the task's own part in the tables taken out, +- 1.96 sd, put back into probabilities
    sd^2      = sum over the answers (w, l) to t, for best and second, of 1 / counts[w, k, l] - 1 / counts[w, k, .]
    counts    = other tasks with such an answer, as far as believed, a doubtful task counting less (sure^2), plus 1/2

The interval says how much the margin owes to what is not known about the workers: few answers of theirs make it wide. In
simulated crowds with 3 to 10 answers a task it held the margin under the true tables in .83 to .97 of the tasks with bcc, but
in .54 to .87 with ds, whose beliefs are too sure of themselves. Where the consensus has no model of workers (mv, a table of
labels), it is the interval of a difference of two vote shares.

Family: consensus
Needs: classes
Reference: textbook (margin sampling); the interval is ours.
Also: margins
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.answers import Answers, Shard
from ...core.channels import Line, Shares
from ...core.consensus import Consensus
from ...core.fold import by_task, by_worker
from ...core.scores import Scores
from . import _rows, _tables, _yardstick

PRIOR = 0.5
REACH = 1.959963984540054


@dataclass
class Tables:
    counts: np.ndarray = by_worker()  # [W, K truth, K said]
    two: np.ndarray = by_task()  # [T, 2] best and second class
    part: np.ndarray = by_task()  # [T, 2] what each answer to the task has added to their counts


@dataclass
class Doubt:
    shift: np.ndarray = by_task()  # [T] of log(best / second), without the task's own part
    variance: np.ndarray = by_task()  # [T]


def doubt(shard: Shard, params: Tables) -> Doubt:
    shift, variance = np.zeros((2, len(shard.worker)))
    total = params.counts.sum(axis=2)
    for side, sign in ((0, 1.0), (1, -1.0)):
        truth, part = shard.of_task(params.two[:, side]), shard.of_task(params.part[:, side])
        cell = params.counts[shard.worker, truth, shard.label] + PRIOR
        row = total[shard.worker, truth] + PRIOR * shard.classes
        cell_, row_ = np.maximum(cell - part, PRIOR), np.maximum(row - part, PRIOR * shard.classes)
        shift += sign * (np.log(cell_ / row_) - np.log(cell / row))
        variance += 1 / cell_ - 1 / row_
    return Doubt(shard.per_task(shift), shard.per_task(variance))


def margin(answers: Answers, *, consensus: Consensus) -> Scores:
    """Compare the two best classes.

    A task the consensus gives no label has no value.
    """
    probs, T = consensus.probs, len(answers.tasks)
    if probs.shape[1] < 2:
        alone = (np.ones(T, bool), "not defined because there is one class only")
        return _rows.of_tasks(answers, "margin", np.ones(T), None, None, "", [alone])
    two = np.argsort(-probs, axis=1, kind="stable")[:, :2]
    best, second = np.take_along_axis(probs, two, axis=1).T
    value = np.maximum(best - second, 0)
    if answers.workers is None or isinstance(consensus.channel, (Shares, Line)):
        low, high = of_shares(best, second, answers.per_task())
        note = "interval: difference of two vote shares"
    else:
        low, high = of_tables(answers, consensus, two, best, second)
        note = "interval: what is not known about the workers"
    absent = (consensus.codes < 0) & (probs.max(axis=1) <= 1 / probs.shape[1] + 1e-9)
    why = [(absent, "not defined because the labels given have none for this task")]
    return _rows.of_tasks(
        answers, "margin", value, np.minimum(low, value), np.maximum(high, value), note, why, empty=False
    )


def of_shares(best: np.ndarray, second: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Wald's interval with one answer more for each of the two."""
    a, b = (best * n + 1) / (n + 2), (second * n + 1) / (n + 2)
    reach = REACH * np.sqrt(np.maximum(a + b - (a - b) ** 2, 0) / (n + 2))
    return np.clip(a - b - reach, 0, 1), np.clip(a - b + reach, 0, 1)


def of_tables(answers: Answers, consensus: Consensus, two: np.ndarray, best, second) -> tuple[np.ndarray, np.ndarray]:
    sure = _yardstick.worth(consensus.probs)[1] ** 2
    part = np.take_along_axis(consensus.probs, two, axis=1) * sure[:, None]
    found = answers.fold(doubt, Tables(_tables.expected(answers, consensus, sure), two, part))
    ahead = np.log(np.maximum(best, 1e-300)) - np.log(np.maximum(second, 1e-300)) + found.shift
    reach = REACH * np.sqrt(found.variance)
    low, high = ((best + second) * np.tanh(np.maximum(end, 0) / 2) for end in (ahead - reach, ahead + reach))
    return low, high
