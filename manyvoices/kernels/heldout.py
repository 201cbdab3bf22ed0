"""Hidden answers: which ones to hide, and how well beliefs fitted to the others predict them.

    hidden     units (a worker's answers about a task) in random order, from the front, but never the one that comes last
               among those of its task or of its worker: each keeps at least that one
    tempered   q[t, k] proportional to probs[t, k]^power
    common     P(worker w says l | truth k) = (n[w, k, l] + STRENGTH usual[k, l]) / (n[w, k] + STRENGTH)
               n[w, k, l] = sum of q[t, k] over the answers l of w, usual = the same over all workers, smoothed by PRIOR
    numbers    a worker says value[t] + bias[w] + noise[w] N(0, 1), the doubt about the value being var[t] / power

The same channel serves every method, so that what is compared is what they believe about the tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .rows import log, normalise, row_sum

STRENGTH, PRIOR = 5.0, 1.0
POWERS = (
    1.0,
    0.8,
    1.25,
    0.6,
    1.6,
    0.4,
    2.5,
    0.25,
    4.0,
    0.15,
    0.1,
)  # the nearest to 1 first: it wins where two are equal


def hidden(unit: np.ndarray, task: np.ndarray, worker: np.ndarray | None, share: float, rng) -> np.ndarray:
    """Which rows to hide: a mask over rows sorted by task. `unit` numbers what is hidden together, ascending from 0."""
    if not len(unit):
        return np.zeros(0, bool)
    first = np.flatnonzero(np.diff(unit, prepend=-1))
    order = rng.permutation(len(first))
    place = np.empty(len(first), np.int64)
    place[order] = np.arange(len(first))
    kept = last_of(task[first], place)
    if worker is not None:
        kept |= last_of(worker[first], place)
    front = order[~kept[order]][: max(1, round(share * len(first)))]
    chosen = np.zeros(len(first), bool)
    chosen[front] = True
    return chosen[unit]


def last_of(group: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The member of each group with the highest place, as a mask."""
    order = np.lexsort((place, group))
    ends = np.append(np.flatnonzero(np.diff(group[order])), len(group) - 1)
    mask = np.zeros(len(group), bool)
    mask[order[ends]] = True
    return mask


def tempered(probs: np.ndarray, power: float) -> np.ndarray:
    if power == 1:
        return probs
    logs = power * np.log(np.maximum(probs, 1e-12))
    logs -= logs.max(axis=1, keepdims=True)
    return normalise(np.exp(logs))


@dataclass(frozen=True, eq=False)
class Said:
    """Kept answers about T tasks of W workers in K classes, counted by (worker, label) pair."""

    task: np.ndarray  # [n]
    worker: np.ndarray  # [n]
    label: np.ndarray  # [n]
    count: np.ndarray | None  # [n]
    tasks: int
    workers: int
    classes: int

    @cached_property
    def key(self) -> np.ndarray:
        """[n] worker * K + label."""
        return self.worker.astype(np.int64) * self.classes + self.label

    @cached_property
    def pairs(self) -> np.ndarray:
        """[U] the pairs that occur, ascending."""
        return np.unique(self.key)

    @cached_property
    def by_pair(self):
        """[U, T] sparse: how often each pair occurs in each task."""
        row = np.searchsorted(self.pairs, self.key)
        data = np.ones(len(row)) if self.count is None else self.count.astype(float)
        return table(data, row, self.task, (len(self.pairs), self.tasks))

    @cached_property
    def by_worker(self):
        """[W, U] sparse: which pairs are whose."""
        return member(self.pairs // max(self.classes, 1), self.workers)

    @cached_property
    def by_label(self):
        """[K, U] sparse: which pairs name which class."""
        return member(self.pairs % max(self.classes, 1), self.classes)


def member(group: np.ndarray, groups: int):
    return table(np.ones(len(group)), group, np.arange(len(group)), (groups, len(group)))


def table(data: np.ndarray, row: np.ndarray, column: np.ndarray, shape: tuple[int, int]):
    from scipy.sparse import csr_array

    return csr_array((data, (row, column)), shape=shape)


def common(kept: Said, probs: np.ndarray, task: np.ndarray, worker: np.ndarray, label: np.ndarray) -> np.ndarray:
    """log P(answer) [n] of hidden answers under the common channel fitted to beliefs [T, K] and the kept answers."""
    counts = kept.by_pair @ probs  # [U, K]
    total = kept.by_worker @ counts  # [W, K]
    whole = kept.by_label @ counts + PRIOR / kept.classes  # [l, k]
    usual = whole / whole.sum(axis=0)
    key = worker.astype(np.int64) * kept.classes + label
    at = np.minimum(np.searchsorted(kept.pairs, key), len(kept.pairs) - 1)
    own = np.where((kept.pairs[at] == key)[:, None], counts[at], 0.0)
    rows = (own + STRENGTH * usual[label]) / (total[worker] + STRENGTH)
    return log(row_sum(probs[task] * rows))


@dataclass(frozen=True, eq=False)
class Numbers:
    """Kept answers on an interval scale."""

    task: np.ndarray
    worker: np.ndarray
    value: np.ndarray
    workers: int


def common_numbers(
    kept: Numbers, middle: np.ndarray, var: np.ndarray, task: np.ndarray, worker: np.ndarray, value: np.ndarray
) -> np.ndarray:
    """Log density [n] of hidden numbers: every worker with a bias and a noise drawn towards those of all."""
    rest = kept.value - middle[kept.task]
    n, total, square = (
        np.bincount(kept.worker, weights=w, minlength=kept.workers) for w in (np.ones(len(rest)), rest, rest**2)
    )
    bias = total / (n + STRENGTH)
    spread = np.mean(rest**2)
    noise = (square - 2 * bias * total + n * bias**2 + STRENGTH * spread) / (n + STRENGTH)
    return density(value, middle[task] + bias[worker], np.sqrt(noise[worker] + var[task]), narrowest(kept.value))


def density(value: np.ndarray, middle: np.ndarray, sd: np.ndarray, least: float) -> np.ndarray:
    """Normal log density, with a standard deviation of at least `least`."""
    sd = np.maximum(sd, least)
    return -0.5 * np.log(2 * np.pi) - np.log(sd) - 0.5 * ((value - middle) / sd) ** 2


def narrowest(value: np.ndarray) -> float:
    """The smallest standard deviation a prediction may have: a thousandth of that of the answers."""
    return max(float(np.std(value)) / 1000, 1e-12)


def best_power(score: Any) -> float:
    """The power whose mean score of answers hidden for that purpose is best."""
    found = np.array([score(power) for power in POWERS])
    return POWERS[int(found.argmax())]
