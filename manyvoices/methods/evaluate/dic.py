"""Difference of inter-annotator consistency: whether predictions agree with one another as the workers they stand for do.

    M[k, l]  = Cohen's kappa of the answers of workers k and l;  M'[k, l] = the same of the predictions for k and l
    dic          = sqrt(sum over k != l of (M[k, l] - M'[k, l])^2), the Frobenius norm (diagonals are equal)
    dic_rms      = sqrt of the mean instead of the sum, so that crowds of different size can be compared
    dic_absolute = |mean of M' - mean of M|, means over k != l
    dic_relative = dic_absolute / |mean of M|

M counts tasks that both answered. M' counts the same tasks, or with `mask=all_preds` every task for which both have a
prediction. Pairs without such a task are left out, as are those with fewer than `min_common`: the kappa of two or
three tasks is mostly noise. Where kappa is not defined (chance alone gives full agreement) it is 1 for equal answers
and else 0, which the note counts. 0 is perfect. Predictions must name workers: one prediction for everybody would have
M' = 1 everywhere. Noise can only raise a norm, so the intervals of the first two (tasks drawn again) are reflected, in
squares; those of the others are of the difference with its sign. There are none where most pairs have fewer than 10 common tasks.
Measured: for four simulated workers with 30 or 120 common tasks the first two held the true value in .83 to 1 of the cases,
the others in .93 to .97.

Family: workers
Needs: answers, workers, classes, predictions that name workers
Reference: QuMAB (2025), arXiv 2507.17653.
Also: difference_of_inter_annotator_consistency, add
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...core.draws import Draws
from ...core.errors import BadCall
from ...core.scored import Pairs, Scored
from ...core.scores import Scores, one
from ._sums import drawn, remarks, several, undefined
from ._workers import nobody, voices

ENOUGH = 10  # common tasks of the middle pair: with fewer, pairs vanish while tasks are drawn again
NAMES = ("dic", "dic_rms", "dic_absolute", "dic_relative")
NORMS = (True, True, False, False)
MOST = 20_000_000  # pairs of answers about the same task


def dic(
    scored: Scored, *, mask: Literal["common", "all_preds"] = "common", min_common: int = 1, draws: Draws = Draws()
) -> Scores:
    """Compare kappas of all pairs of workers.

    Parameters
    ----------
    mask
        Predictions count where both workers answered, or wherever both have a prediction.
    min_common
        Only pairs of workers who both answered at least this many tasks.
    """
    if min_common < 1:
        raise BadCall(f"min_common is {min_common}; expected 1 or more")
    if why := undefined(scored, classes=True, order=True):
        return one(NAMES[0], why)
    given = voices(scored) if scored.own else nobody("not defined because the predictions name no workers")
    if given.why:
        return one(NAMES[0], given.why)
    answers = once(given.pairs)
    others = once(scored.guesses.only(scored.guesses.held)) if mask == "all_preds" else answers
    size = max(meetings(answers), meetings(others))
    if size > MOST:
        return one(NAMES[0], f"not defined because {size} pairs of answers about the same task are too many")
    said, guess = met(answers, answers.said), met(others, others.guess)
    together = np.bincount(said.pair, minlength=len(said.key))
    common = np.intersect1d(said.key[together >= min_common], guess.key)
    if not len(common):
        few = "a task" if min_common == 1 else f"{min_common} tasks"
        return one(NAMES[0], f"not defined because no two workers have {few} in common")
    usual = float(np.median(together[np.isin(said.key, common)]))
    both = Matrices(said.of(common), guess.of(common))
    rows = 4 * (len(both.said.task) + len(both.guess.task))
    found = drawn(both, len(scored), rows, draws if usual >= ENOUGH else replace(draws, bootstrap=0), NORMS)
    if draws.bootstrap and usual < ENOUGH:
        found = (*found[:3], [f"no interval: half of the pairs have {usual:g} common tasks or fewer"] * len(NAMES))
    return several(NAMES, unsigned(found), len(common), notes(given.note, both, len(scored), len(common)))


def unsigned(found: tuple) -> tuple:
    """The differences without their sign; an interval that holds 0 begins there."""
    value, low, high, why = found
    a, b = np.minimum(np.abs(low), np.abs(high)), np.maximum(np.abs(low), np.abs(high))
    return np.abs(value), np.where((low < 0) & (high > 0), 0.0, a), b, why


def notes(note: str, both: Matrices, tasks: int, pairs: int) -> list[str]:
    (mine, odd), (theirs, strange) = (side.kappas(np.ones(tasks)) for side in (both.said, both.guess))
    vague = int(odd.sum() + strange.sum())
    means = f"mean kappa of answers {mine.mean():.4f}, of predictions {theirs.mean():.4f}"
    unclear = f"kappa set to 1 or 0 where it is not defined ({vague} of {2 * pairs})" if vague else ""
    plain = remarks(note, f"{pairs} pairs of workers", unclear)
    relative = means if abs(mine.mean()) > 1e-12 else "not defined because the mean kappa of the answers is 0"
    return [plain, plain, means, relative]


# pairs of workers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Met:
    """r times two workers met at a task. Pairs of workers have a key; `pair` are places in the sorted keys."""

    key: np.ndarray  # [P]
    pair: np.ndarray  # [r]
    task: np.ndarray  # [r]
    a: np.ndarray  # [r] what the first said
    b: np.ndarray  # [r]

    def of(self, keys: np.ndarray) -> Met:
        """Only the pairs with these keys, which are all known."""
        kept = np.isin(self.key, keys)
        place = np.cumsum(kept) - 1
        rows = kept[self.pair]
        return Met(self.key[kept], place[self.pair[rows]], self.task[rows], self.a[rows], self.b[rows])

    def margins(self) -> Margins:
        """Cells (pair, class) that anybody filled, and which of them each row fills for the first and the second."""
        K = int(max(self.a.max(initial=0), self.b.max(initial=0))) + 1
        cells, at = np.unique(np.concatenate([self.pair * K + self.a, self.pair * K + self.b]), return_inverse=True)
        return Margins(cells // K, at[: len(self.a)], at[len(self.a) :])


@dataclass(frozen=True)
class Margins:
    pair: np.ndarray  # [c] pair of each cell
    first: np.ndarray  # [r] cell
    second: np.ndarray  # [r]


class Kappas:
    """Weights of tasks -> Cohen's kappa of every pair."""

    def __init__(self, met: Met):
        self.task, self.pair, self.n = met.task, met.pair, len(met.key)
        self.same, self.cells = (met.a == met.b).astype(float), met.margins()

    def kappas(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[P] kappa (NaN where the pair has no task) and whether it had to be set."""
        w = weight[self.task]
        n = np.bincount(self.pair, w, minlength=self.n)
        there = np.where(n > 0, n, np.nan)
        observed = np.bincount(self.pair, w * self.same, minlength=self.n) / there
        first, second = (
            np.bincount(cell, w, minlength=len(self.cells.pair)) for cell in (self.cells.first, self.cells.second)
        )
        chance = np.bincount(self.cells.pair, first * second, minlength=self.n) / there**2
        odd = chance >= 1 - 1e-12
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.where(odd, (observed >= 1 - 1e-12).astype(float), (observed - chance) / (1 - chance))
        return found, odd


class Matrices:
    """Weights of tasks -> the four forms, the last two with a sign."""

    def __init__(self, said: Met, guess: Met):
        self.said, self.guess = Kappas(said), Kappas(guess)

    def __call__(self, weight: np.ndarray) -> np.ndarray:
        return forms(self.said.kappas(weight)[0], self.guess.kappas(weight)[0])


def forms(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """dic, rms, absolute, relative of kappas [P] of unordered pairs, NaN ones left out; differences keep their sign."""
    known = np.isfinite(mine) & np.isfinite(theirs)
    if not known.any():
        return np.full(4, np.nan)
    mine, theirs = mine[known], theirs[known]
    square = ((mine - theirs) ** 2).sum()
    away = theirs.mean() - mine.mean()
    level = abs(mine.mean())
    return np.array([np.sqrt(2 * square), np.sqrt(square / len(mine)), away, away / level if level > 1e-12 else np.nan])


def once(pairs: Pairs) -> Pairs:
    """The first of several answers of a worker about a task, by task."""
    order = np.lexsort((pairs.said, pairs.worker, pairs.task))
    pairs = pairs.only(order)
    again = (pairs.task[1:] == pairs.task[:-1]) & (pairs.worker[1:] == pairs.worker[:-1])
    return pairs.only(np.concatenate([[True], ~again])) if len(pairs) else pairs


def meetings(pairs: Pairs) -> int:
    m = np.bincount(pairs.task)
    return int((m * (m - 1) // 2).sum())


def met(pairs: Pairs, label: np.ndarray) -> Met:
    """Every two answers about the same task; rows are sorted by task and worker."""
    m = np.bincount(pairs.task)
    start = np.cumsum(m) - m
    last = (start + m)[pairs.task]
    row = np.arange(len(pairs))
    follow = last - row - 1  # how many answers about the task come after this one
    first = np.repeat(row, follow)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(follow) - follow, follow)
    key, pair = np.unique(pairs.worker[first].astype(np.int64) << 32 | pairs.worker[second], return_inverse=True)
    return Met(key, pair, pairs.task[first], label[first], label[second])
