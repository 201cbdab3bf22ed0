"""LeWiDi 2025: the two scores of the shared task on learning with disagreements, third edition; 0 is perfect in both.

    lewidi2025_soft           unordered classes: mean over tasks of  sum over classes |p[k] - q[k]|  (MP)
                              several labels an answer: for each label that sum over no and yes, mean over the labels,
                              mean over tasks (VariErrNLI)
                              ordered classes: mean Wasserstein distance, a step costing 1 (Par, CSC)
    lewidi2025_perspectivist  unordered classes: mean over tasks of the share of workers predicted wrongly
                              several labels: the same for each label, said or not, mean over labels and tasks
                              ordered classes: mean over tasks of  mean over workers |prediction - answer| / span

p are shares of the answers, q predicted probabilities. The scorer of the shared task divides by the number of classes
(11 for Par, 6 for CSC), its description by the largest distance (10 and 5): `span` sets another one. It also rounds
the distance, the share of wrong workers (not that of ordered classes) and the mean of distances to five decimals;
without `compat` nothing is rounded. If the predictions name no worker, everybody is held against the same one.

Family: shared tasks
Needs: answers, classes
Reference: Leonardelli et al. (2025), LeWiDi-2025 at NLPerspectives.
Also: lewidi25, lewidi, nlperspectives
"""

from __future__ import annotations

import numpy as np

from ...core.draws import Draws
from ...core.errors import BadCall
from ...core.scored import Scored
from ...core.scores import Scores, joined, one
from ._soft import apart, carried, spread
from ._sums import mean, of_rows, remarks, several, undefined
from ._workers import voices

SOFT, PERSPECTIVIST = "lewidi2025_soft", "lewidi2025_perspectivist"


def lewidi2025(scored: Scored, *, span: float | None = None, compat: bool = True, draws: Draws = Draws()) -> Scores:
    """Distance of the spread and error of single workers.

    Parameters
    ----------
    span
        What distances on ordered classes are divided by; the number of classes if not given.
    compat
        Round as the scorer of the shared task does.
    """
    if span is not None and not 0 < span < np.inf:
        raise BadCall(f"span is {span}; expected a number above 0")
    if why := undefined(scored, classes=True):
        return joined([one(SOFT, why), one(PERSPECTIVIST, why)])
    digits = 5 if compat else 15
    return joined([soft(scored, digits, draws), single(scored, span, digits, draws)])


def soft(scored: Scored, digits: int, draws: Draws) -> Scores:
    both = spread(scored)
    if both.why:
        return one(SOFT, both.why)
    if scored.scale == "ordinal":
        away, kind = carried(both.p, both.q)[:, 0], "Wasserstein"
    else:
        away, kind = apart(both.p, both.q).round(digits).mean(axis=1), "Manhattan"
        away = away.round(digits) if scored.scale == "multilabel" else away
    return rounded(SOFT, away, remarks(both.note, kind), digits, draws)


def single(scored: Scored, span: float | None, digits: int, draws: Draws) -> Scores:
    given = voices(scored)
    if given.why:
        return one(PERSPECTIVIST, given.why)
    pairs, unit = given.pairs, float(span or len(scored.classes))
    m = np.bincount(pairs.task, minlength=len(scored))
    if scored.scale == "multilabel":
        wrong = pairs.said != pairs.guess
        share = [np.bincount(pairs.task, w, minlength=len(scored)) for w in wrong.T.astype(float)]
        rate = (np.array(share)[:, m > 0] / m[m > 0]).round(digits).mean(axis=0)
        kind = "share of labels wrong"
    elif scored.scale == "ordinal":
        far = np.abs(pairs.said.astype(float) - pairs.guess) / unit
        rate, kind = np.bincount(pairs.task, far, minlength=len(scored))[m > 0] / m[m > 0], f"divided by {unit:g}"
    else:
        far = (pairs.said != pairs.guess).astype(float)
        rate = (np.bincount(pairs.task, far, minlength=len(scored))[m > 0] / m[m > 0]).round(digits)
        kind = "share of workers wrong"
    return rounded(PERSPECTIVIST, rate, remarks(given.note, kind), 15, draws)


def rounded(name: str, x: np.ndarray, note: str, digits: int, draws: Draws) -> Scores:
    value, low, high, why = of_rows(np.column_stack([np.ones(len(x)), x]), mean, draws)
    value = value.round(digits)
    return several([name], (value, np.minimum(low, value), np.maximum(high, value), why), len(x), [note])
