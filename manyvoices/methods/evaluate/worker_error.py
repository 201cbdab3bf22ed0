"""Worker error: how far a prediction is from what each single worker said; 0 is perfect.

    error of worker w  = mean over the answers of w of  1[prediction != answer], or |prediction - answer| on ordered
                         classes (in steps) and numbers
    worker_error       = mean over workers (macro: everybody counts the same)
    worker_error_micro = mean over answers
    worker_error_worst = mean over the tenth of the workers whose error is largest (one worker at least)

Only answers that were given count. `missing_as_correct` counts every task a worker did not answer as right, as the
published tables of AMER do: it makes the error small where answers are few, and is there to compare with these only.
Where one answer may hold several labels, the error is the share of the predicted labels that are not in it. If the
predictions name no worker, everybody is held against the same one. Intervals of single workers treat their answers
as independent; those of the means draw tasks again.

Family: workers
Needs: answers, workers
Reference: LeWiDi (2025), perspectivist evaluation; QuMAB (2025), arXiv 2507.17653.
Also: annotator_error, per_annotator_error, per_worker_error, perspectivist_error, pe;
    min_answers=least; missing_as_correct=amer
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores, joined, one, table
from ...kernels.skills import beta_interval
from ._sums import drawn, remarks, several
from ._workers import Voices, errors, voices

NAMES = ("worker_error", "worker_error_micro", "worker_error_worst")


def worker_error(
    scored: Scored,
    *,
    error: Literal["auto", "zero_one", "absolute"] = "auto",
    missing_as_correct: bool = False,
    min_answers: int = 1,
    draws: Draws = Draws(),
) -> Scores:
    """Average errors by worker, then over workers.

    Parameters
    ----------
    error
        Right or wrong, or how far off; auto by the scale.
    missing_as_correct
        Tasks a worker did not answer count as right.
    min_answers
        Leave out workers with fewer answers that have a prediction.
    """
    given = voices(scored, min_answers)
    if given.why:
        return one(NAMES[0], given.why)
    if error == "absolute" and not scored.ordered:
        return one(NAMES[0], "not defined because error=absolute asks for ordered classes or numbers")
    e = errors(scored, given.pairs, error)
    values = Means(given, e, len(scored) if missing_as_correct else 0)
    found = drawn(values, len(scored), len(e), draws, [False, False, True])
    worst = tenth(len(given))
    note = remarks(given.note, "tasks without an answer count as right" if missing_as_correct else "")
    notes = [
        remarks(note, f"mean of {len(given)} workers"),
        note,
        remarks(note, f"the {worst} worst of {len(given)} workers"),
    ]
    whole = several(NAMES, found, len(e), notes)
    return joined([whole, of_workers(scored, given, e, values, bool(((e == 0) | (e == 1)).all()))])


class Means:
    """Weights of tasks -> macro, micro and worst error. With `tasks` everybody is taken to have answered all of them."""

    def __init__(self, given: Voices, e: np.ndarray, tasks: int):
        self.given, self.e, self.tasks = given, e, tasks

    def rates(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        of_answer = weight[self.given.pairs.task]
        wrong, n = self.given.sums(of_answer, self.e), self.given.sums(of_answer)
        if self.tasks:
            n = np.full(len(n), weight.sum())
        return wrong, n

    def __call__(self, weight: np.ndarray) -> np.ndarray:
        wrong, n = self.rates(weight)
        there = n > 0
        rate = wrong[there] / n[there]
        worst = tenth(len(rate))
        return np.array(
            [rate.mean(), wrong.sum() / n.sum(), np.partition(rate, len(rate) - worst)[-worst:].mean()]
            if len(rate)
            else [np.nan] * 3
        )


def tenth(workers: int) -> int:
    return max(-(-workers // 10), 1)


def of_workers(scored: Scored, given: Voices, e: np.ndarray, values: Means, shares: bool) -> Scores:
    wrong, n = values.rates(np.ones(len(scored)))
    rate = wrong / n
    if shares:
        low, high = beta_interval(rate, n)
        low, high = np.minimum(low, rate), np.maximum(high, rate)
        notes = [""] * len(n)
    else:
        spread = given.sums(np.ones(len(e)), (e - (given.sums(np.ones(len(e)), e) / given.n)[given.worker]) ** 2)
        several_ = given.n > 1
        error = np.sqrt(spread / np.maximum(given.n - 1, 1) / given.n)
        low = np.where(several_ & (error > 0), np.maximum(rate - 1.96 * error, 0), np.nan)
        high = np.where(several_ & (error > 0), rate + 1.96 * error, np.nan)
        notes = [
            "no interval: one answer" if not s else "" if x > 0 else "no interval: all errors are the same"
            for s, x in zip(several_, error, strict=True)
        ]
    return table(
        NAMES[0],
        of=["worker"] * len(rate),
        names=given.names(scored),
        value=rate,
        low=low,
        high=high,
        n=given.n,
        note=notes,
    )
