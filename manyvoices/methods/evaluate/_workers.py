"""What each worker said beside what was predicted for that worker, or for everybody where predictions name no worker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.errors import BadCall
from ...core.scored import Pairs, Scored
from ._sums import remarks, undefined

SAME = "one prediction for all workers"


@dataclass(frozen=True)
class Voices:
    """Answers with a prediction; `who` are the workers met, `worker` their places in `who`."""

    pairs: Pairs
    who: np.ndarray  # [V] codes of workers
    worker: np.ndarray  # [m]
    n: np.ndarray  # [V] answers
    note: str = ""
    why: str = ""

    def __len__(self) -> int:
        return len(self.who)

    def sums(self, weight: np.ndarray, x: np.ndarray | None = None) -> np.ndarray:
        """[V] sum of weight (of weight times x) over the answers of each worker."""
        return np.bincount(self.worker, weight if x is None else weight * x, minlength=len(self.who))

    def names(self, scored: Scored) -> list[str]:
        assert scored.workers is not None
        return [scored.workers[int(code)] for code in self.who]


def voices(scored: Scored, min_answers: int = 1) -> Voices:
    if min_answers < 1:
        raise BadCall(f"min_answers is {min_answers}; expected 1 or more")
    if (why := undefined(scored)) or scored.pairs is None:
        return nobody(why or f"not defined because {scored.no_pairs}")
    pairs = scored.pairs.only(scored.pairs.held)
    if not len(pairs):
        return nobody("not defined because no answer has a prediction")
    many = np.bincount(pairs.worker)
    few = int(((many > 0) & (many < min_answers)).sum())
    if few:
        pairs = pairs.only(many[pairs.worker] >= min_answers)
    if not len(pairs):
        return nobody(f"not defined because no worker has {min_answers} answers with a prediction")
    who, worker = np.unique(pairs.worker, return_inverse=True)
    lacking = len(scored.pairs) - int(scored.pairs.held.sum())
    note = remarks(
        "" if scored.own else SAME,
        f"{lacking} answers without a prediction left out" if lacking else "",
        f"{few} workers with fewer than {min_answers} answers left out" if few else "",
    )
    return Voices(pairs, who, worker, np.bincount(worker), note)


def nobody(why: str) -> Voices:
    nothing = np.zeros(0, np.int64)
    empty = np.zeros(0, bool)
    return Voices(Pairs(nothing, nothing, nothing, nothing, empty), nothing, nothing, nothing, why=why)


def errors(scored: Scored, pairs: Pairs, error: str) -> np.ndarray:
    """[m] 0 or 1, or how far off; where an answer may hold several labels, the share of predicted labels not in it."""
    if scored.scale == "multilabel":
        return (pairs.guess & ~pairs.said).sum(axis=1) / np.maximum(pairs.guess.sum(axis=1), 1)
    if error == "absolute" or (error == "auto" and scored.ordered):
        return np.abs(pairs.guess.astype(float) - pairs.said)
    return (pairs.guess != pairs.said).astype(float)
