"""Worker F1: for each worker the mean F1 over the classes, of the predictions against that worker's own answers.

    F1[w, k]  = 2 right / (predicted + said), over the answers of worker w and their predictions
    weighted  = sum over classes of said[w, k] F1[w, k] / sum of said[w, k]
    macro     = mean of F1[w, k] over the classes that w said
    worker_f1 = mean over workers

If the predictions name no worker, everybody is held against the same one. A row a worker has no interval of its own.

Family: workers
Needs: answers, workers, classes
Reference: QuMAB (2025), arXiv 2507.17653.
Also: annotator_f1, per_annotator_f1, per_worker_f1, worker_waf, waf_per_annotator; min_answers=least
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores, joined, one, table
from ._sums import drawn, remarks, several, undefined
from ._workers import Voices, voices

MOST = 20_000_000  # workers x classes


def worker_f1(
    scored: Scored, *, average: Literal["weighted", "macro"] = "weighted", min_answers: int = 1, draws: Draws = Draws()
) -> Scores:
    """Average F1 over classes, then over workers.

    Parameters
    ----------
    average
        Classes by how often the worker said them, or all the same.
    min_answers
        Leave out workers with fewer answers that have a prediction.
    """
    if why := undefined(scored, classes=True, order=True):
        return one("worker_f1", why)
    given, K = voices(scored, min_answers), len(scored.classes)
    if given.why:
        return one("worker_f1", given.why)
    if len(given) * K > MOST:
        return one("worker_f1", f"not defined because {len(given)} workers with {K} classes are too many")
    values = Mean(given, K, average)
    found = drawn(values, len(scored), len(given.pairs) + len(given) * K, draws)
    whole = several(
        ["worker_f1"], found, len(given.pairs), [remarks(given.note, f"{average}, mean of {len(given)} workers")]
    )
    single = table(
        "worker_f1",
        of=["worker"] * len(given),
        names=given.names(scored),
        value=values.single(np.ones(len(scored))),
        n=given.n,
        note=["no interval for single workers"] * len(given),
    )
    return joined([whole, single])


class Mean:
    """Weights of tasks -> the mean over workers."""

    def __init__(self, given: Voices, K: int, average: str):
        self.given, self.shape, self.average = given, (len(given), K), average
        self.said = given.worker * K + given.pairs.said
        self.guess = given.worker * K + given.pairs.guess
        self.right = given.pairs.said == given.pairs.guess

    def single(self, weight: np.ndarray) -> np.ndarray:
        of_answer = weight[self.given.pairs.task]
        said, guess, right = (
            np.bincount(cell, w, minlength=self.shape[0] * self.shape[1]).reshape(self.shape)
            for cell, w in ((self.said, of_answer), (self.guess, of_answer), (self.said, of_answer * self.right))
        )
        f1 = 2 * right / np.maximum(said + guess, 1e-300)
        share = said if self.average == "weighted" else (said > 0).astype(float)
        total = share.sum(axis=1)
        return (f1 * share).sum(axis=1) / np.where(total > 0, total, np.nan)

    def __call__(self, weight: np.ndarray) -> np.ndarray:
        of_worker = self.single(weight)
        known = np.isfinite(of_worker)
        return np.array([of_worker[known].mean() if known.any() else np.nan])
