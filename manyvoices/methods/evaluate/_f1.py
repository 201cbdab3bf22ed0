"""Right, predicted and true tasks of each class: what precision, recall and the three F1 scores are made of.

precision[k] = right[k] / predicted[k];  recall[k] = right[k] / true[k]
F1[k]        = 2 right[k] / (predicted[k] + true[k])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores, joined, one, table
from ._sums import dataset, dealt, of_groups, remarks, undefined
from ._truth import aim

MANY = 200  # classes: above this many there is no row for each


@dataclass(frozen=True)
class Classes:
    """Sums [b, 3 K] -> the value of the data set and, if asked for, of each class: [b, 1 + K]."""

    K: int
    each: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    average: str  # macro, micro, weighted
    present_only: bool
    rows: bool

    def __call__(self, sums: np.ndarray) -> np.ndarray:
        right, said, true = sums[:, : self.K], sums[:, self.K : 2 * self.K], sums[:, 2 * self.K :]
        if self.average == "micro":
            whole = self.each(*(part.sum(axis=1, keepdims=True) for part in (right, said, true)))
            return np.nan_to_num(whole)
        single = self.each(right, said, true)
        counted = np.nan_to_num(single)  # nothing to divide by counts 0
        if self.average == "weighted":
            total = true.sum(axis=1, keepdims=True)
            whole = (counted * true).sum(axis=1, keepdims=True) / np.where(total > 0, total, np.nan)
        else:
            met = true > 0 if self.present_only else np.ones_like(true, bool)
            many = met.sum(axis=1, keepdims=True)
            whole = (counted * met).sum(axis=1, keepdims=True) / np.where(many > 0, many, np.nan)
        return np.hstack([whole, np.where(true + said > 0, counted, np.nan)]) if self.rows else whole


def share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return part / np.where(whole > 0, whole, np.nan)


def precisions(right: np.ndarray, said: np.ndarray, true: np.ndarray) -> np.ndarray:
    return share(right, said)


def recalls(right: np.ndarray, said: np.ndarray, true: np.ndarray) -> np.ndarray:
    return share(right, true)


def f1s(right: np.ndarray, said: np.ndarray, true: np.ndarray) -> np.ndarray:
    return share(2 * right, said + true)


def by_class(
    scored: Scored,
    name: str,
    each: Callable,
    average: str,
    against: str,
    draws: Draws,
    present_only: bool = False,
    rows: bool = False,
) -> Scores:
    goal = aim(scored, against)
    if why := undefined(scored, classes=True) or goal.why:
        return one(name, why)
    K, used = len(scored.classes), goal.known
    truth, label = goal.right[used], scored.label[used]
    group, groups = dealt(len(truth), 3 * K, draws.seed)
    rows = rows and K <= MANY
    sums = counts(truth, label, K, group, groups)
    value, low, high, how = of_groups(sums, len(truth), Classes(K, each, average, present_only, rows), draws)
    silent = int((label < 0).sum())
    note = remarks(goal.note, f"{silent} without a label count as missed" if silent else "")
    found = [dataset(name, value[0], low[0], high[0], len(truth), remarks(note, how[0]))]
    if rows:
        found.append(of_classes(name, scored, sums.sum(axis=0).reshape(3, K), value[1:], low[1:], high[1:], how[1:]))
    return joined(found)


def counts(truth: np.ndarray, label: np.ndarray, K: int, group: np.ndarray, groups: int) -> np.ndarray:
    """[groups, 3 K]: right, predicted, true tasks of each class."""

    def of(code: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return np.bincount(group[mask] * K + code[mask], minlength=groups * K).reshape(groups, K)

    return np.hstack([of(truth, truth == label), of(label, label >= 0), of(truth, truth >= 0)]).astype(float)


def of_classes(name: str, scored: Scored, sums: np.ndarray, value, low, high, why) -> Scores:
    """A row a class: it holds all three of precision, recall and F1, one as the value, the others in words."""
    right, said, true = sums
    known = np.isfinite(value)
    said_of = {"precision": share(right, said), "recall": share(right, true), "F1": share(2 * right, said + true)}
    notes = []
    for k in range(len(scored.classes)):
        if not known[k]:
            notes.append("not defined because neither the truth nor a prediction has it; counts 0 in the mean")
            continue
        others = [(part, x[k]) for part, x in said_of.items() if part.lower() not in name]
        beside = [f"{part} {x:.4f}" if np.isfinite(x) else f"no {part}" for part, x in others]
        notes.append(remarks(", ".join(beside), why[k]))
    return table(
        name,
        of=["class"] * len(value),
        names=scored.classes.to_list(),
        value=value,
        low=np.where(known, low, np.nan),
        high=np.where(known, high, np.nan),
        n=true.astype(np.int64),
        note=notes,
    )
