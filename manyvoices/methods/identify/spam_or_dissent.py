"""Spam or dissent: who answers without looking, and who looks and sees it differently.

    z[w, 0]     = w's answers times the consensus of all others, against the same answers dealt at random to w's tasks
    table[w]    = chi-square of w's answers by the others' likeliest class, against the same          (three classes or more)
    z[w, 1..2]  = w's answers times what groups of others share beyond the consensus, against the same
    p[w]        = how often the most surprising of them would be as surprising by chance (Sidak)
    value[w]    = z(p[w]) / sqrt((n - 1) (K - 1))          z(p): the normal deviate with p above it
    agreement   = Cohen's kappa of w's answers and the others' likeliest classes; for numbers the correlation

0 is what chance gives in the middle, 1 an answer that is determined by what the others say; at many answers the value is
the larger of Cramer's V with the consensus and the correlation with a view. Adversaries have a high value too: what they
say depends on the task. Mean and variance of z and table under the null, all orders of the worker's own answers being
equally likely, are known in closed form; a gamma distribution with the table's two moments, a normal one for z. What a
worker is compared with is made without the worker's fold, so it cannot have bent towards the worker.

A view is found by power: a leading eigenvector of the correlations between workers' residuals (see `_views.py`), turned
to the side of those who follow the consensus less, then rebuilt from those alone whose residuals go with it. Only others
on the same tasks can show that somebody looks: a view that nobody shares is not told from answering without looking, nor
is a habit copied among workers who answer together told from a view. `spam_or_dissent.agreement` stands beside.

The note is the verdict. Information is seen where the interval lies above 0; with fewer than 50 answers to tasks that others
answer too the verdict is left open. Ordered classes count by their places, numbers as they are, by correlation. The
interval is Wilson's of the share of right answers that would have this value, (value (K - 1) + 1) / K; of numbers Fisher's, of
a correlation. A worker's repeats count as one answer, shared among what was said.

Family: information
Needs: workers
Reference: ours; moments of the table by Haldane (1940), doi:10.1093/biomet/31.3-4.346; measured in docs/spam-or-dissent.md.
Also: dissent, spam_dissent
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.answers import Answers, Shard
from ...core.fold import whole
from ...core.scores import Scores, joined, one
from ...kernels.resample import REACH
from . import _rows, _views

NEEDED = 50
AGREES = "agrees with the others"
PARTLY = "agrees with the others, with a consistent view of their own on some tasks"
OWN = "a consistent view of their own"
ALONE = "not defined because nobody else answered a task of this worker"
STILL = "not defined because the others say the same about every task of this worker"
SAME = "no interval: all answers are the same"


@dataclass(frozen=True)
class Found:
    """The comparisons of each worker: [W] or [W, 1 + views], the consensus first."""

    n: np.ndarray  # answers to tasks that others answer too
    varied: np.ndarray  # whether they differ at all
    moving: np.ndarray  # whether what they are compared with differs from task to task
    z: np.ndarray  # from permuted answers, 0 where nothing can differ
    tests: np.ndarray  # [W, m] log of the probability of as much by chance, each
    z_all: np.ndarray  # the same for the most surprising, as a normal deviate
    table: np.ndarray | None
    correlation: np.ndarray  # with the consensus
    freedom: int


def spam_or_dissent(answers: Answers, *, parts: bool = False, seed: int = 0) -> Scores:
    """Compare everybody's answers with what the others say.

    Parameters
    ----------
    parts
        Also rows for the consensus and for the views alone.
    seed
        For the folds workers are dealt into.
    """
    if answers.scale == "multilabel":
        return one("spam_or_dissent", "not defined because one answer may hold several labels (--multilabel binary)")
    if answers.workers is None:
        return one("spam_or_dissent", "not defined because these answers name nobody")
    if not len(answers.workers) or not answers.n:
        return one("spam_or_dissent", "not defined because there are no answers")
    found = compared(answers, seed)
    value = deviate(found, found.z_all)
    low, high = around(found, value)
    seen = found.varied & (low > 0)
    why = [(found.n < 1, ALONE), ((found.n > 1) & ~found.moving, STILL)]
    rows = [
        _rows.of_workers(answers, "spam_or_dissent", value, low, high, verdicts(found, seen), why, n=found.n),
        agreement(answers, found, why),
    ]
    if parts:
        for name, columns in (("consensus", consensus_tests(found)), ("view", found.tests[:, -_views.VIEWS :])):
            own = deviate(found, surprise(columns))
            rows.append(
                _rows.of_workers(
                    answers, f"spam_or_dissent.{name}", own, *around(found, own), noted(found), why, n=found.n
                )
            )
    return joined(rows)


def verdicts(found: Found, seen: np.ndarray) -> list[str]:
    """In words, what a worker's answers show."""
    n, follows, view = found.n, found.z[:, 0], found.z[:, 1:].max(axis=1)
    apart = surprise(found.tests[:, -_views.VIEWS :]) > REACH
    said = np.where(follows < REACH, OWN, np.where(apart & (view > follows / 2), PARTLY, AGREES)).astype(object)
    for w in np.flatnonzero(~seen):
        said[w] = f"no information seen in {int(n[w])} answers" + ("" if found.varied[w] else ", all the same")
    for w in np.flatnonzero(n < NEEDED):
        said[w] = f"undecided ({int(n[w])} answer{'s' if n[w] != 1 else ''}; {NEEDED} are needed)"
    return list(said)


def consensus_tests(found: Found) -> np.ndarray:
    return found.tests[:, : -_views.VIEWS]


def noted(found: Found) -> list[str]:
    return np.where(found.varied, "", SAME).tolist()


def deviate(found: Found, z: np.ndarray) -> np.ndarray:
    """A normal deviate on the scale of a correlation."""
    return np.clip(np.where(found.varied, z, 0.0) / np.sqrt(np.maximum(found.n - 1, 1) * found.freedom), -1, 1)


def around(found: Found, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fisher's interval of a correlation; where labels are classes, Wilson's of the share that this value is of: above 0
    for the values that are surprising by chance, and no narrower than right and wrong answers make it where it is large."""
    n = np.maximum(found.n - 1, 1)
    known = found.varied & (found.n > 1)
    if found.table is None:
        middle = np.arctanh(np.clip(value, -0.999999, 0.999999))
        low, high = (np.tanh(middle + side * REACH / np.sqrt(n)) for side in (-1, 1))
    else:
        K = found.freedom + 1
        share = np.clip((value * found.freedom + 1) / K, 0, 1)
        middle = share + REACH**2 / (2 * n)
        reach = REACH * np.sqrt(share * (1 - share) / n + REACH**2 / (4 * n**2))
        low, high = (((middle + side * reach) / (1 + REACH**2 / n) * K - 1) / found.freedom for side in (-1, 1))
    return np.where(known, np.minimum(low, value), np.nan), np.where(known, np.maximum(high, value), np.nan)


# agreement ------------------------------------------------------------------------------------------------------------


def agreement(answers: Answers, found: Found, why: list) -> Scores:
    """How far a worker says what the others say, beyond chance."""
    n = np.maximum(found.n, 1)
    if found.table is None:
        value = np.where(found.varied, found.correlation, 0.0)
        error = np.where(found.varied, np.maximum(1 - value**2, 0) / np.sqrt(np.maximum(n - 1, 1)), 0.0)
        notes = np.full(len(n), "correlation with the others' consensus", object)
    else:
        value, error, same, chance = kappa(found.table)
        alike = chance >= 1 - 1e-12
        notes = np.array(
            [
                f"the same as the others' consensus in {s:.0%} of {int(m)} answers, {c:.0%} by chance"
                for s, c, m in zip(same.tolist(), chance.tolist(), found.n.tolist(), strict=True)
            ],
            object,
        )
        why = [*why, (alike, "not defined because worker and others always say one and the same class")]
    exact = error <= 1e-6  # rounding leaves next to nothing of a variance of 0
    notes[exact & found.varied] += "; no interval: no task differs from the others"
    notes[exact & ~found.varied] += f"; {SAME}"
    error = np.where(exact, np.nan, error)
    low, high = np.maximum(value - REACH * error, -1), np.minimum(value + REACH * error, 1)
    return _rows.of_workers(answers, "spam_or_dissent.agreement", value, low, high, list(notes), why, n=found.n)


def kappa(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cohen's kappa of each worker's table, its standard error, the share of equal answers and what chance gives."""
    n = np.maximum(table.sum(axis=(1, 2)), 1)
    p = table / n[:, None, None]
    rows, columns = p.sum(axis=2), p.sum(axis=1)
    same, chance = np.einsum("wkk->w", p), np.einsum("wk,wk->w", rows, columns)
    room = np.where(chance < 1 - 1e-12, 1 - chance, 1.0)
    value = np.where(chance < 1 - 1e-12, (same - chance) / room, np.nan)
    off = rows[:, None, :] + columns[:, :, None]  # [w, k, l]: shares of the other's class and one's own, crossed
    left = 1 - np.nan_to_num(value)
    both = np.einsum("wkk,wk->w", p, (1 - (rows + columns) * left[:, None]) ** 2)
    other = left**2 * (np.einsum("wkl,wkl->w", p, off**2) - np.einsum("wkk,wkk->w", p, off**2))
    variance = (both + other - (value - chance * left) ** 2) / room**2 / n
    return value, np.sqrt(np.maximum(np.nan_to_num(variance), 0)), same, chance


# evidence -------------------------------------------------------------------------------------------------------------


def compared(answers: Answers, seed: int) -> Found:
    """All comparisons, and how surprising they would be from the same answers in another order."""
    scaling = None if answers.scale == "nominal" else middle(answers)
    heard = _views.heard(answers, scaling, seed)
    company = answers.fold(_views.company, _views.Asked(heard.inside, scaling))
    n, m = company.n, np.maximum(company.n, 2)
    shares = company.said / np.maximum(n, 1)[:, None]
    sums = answers.fold(_views.beside, _views.judged(heard, shares))
    mean = sums.heard / np.maximum(n, 1)[:, None, None]
    together = sums.together - np.einsum("wd,wjd->wj", shares, sums.heard)
    centred = np.maximum(sums.square - mean * sums.heard, 0)
    if scaling is None:
        spread = n * (1 - (shares**2).sum(axis=1))
        own = sums.expected - n[:, None] * np.einsum("wd,wjd->wj", shares, mean) ** 2
        variance = (n / (m - 1))[:, None] * (np.einsum("wd,wjd->wj", shares, centred) - own)
    else:
        spread = np.maximum(company.square - n * shares[:, 0] ** 2, 0)
        variance = centred[:, :, 0] * (spread / (m - 1))[:, None]
    known = variance > 1e-10 * np.maximum(centred.sum(axis=2) * (spread / (m - 1))[:, None], 1e-300)
    z = np.where(known, together / np.sqrt(np.where(known, variance, 1.0)), 0.0)
    room = centred[:, 0].sum(axis=1) * spread
    tests = logs(z, sums.table)
    return Found(
        n=np.rint(n).astype(np.int64),
        varied=spread > 1e-9 * np.maximum(n, 1),
        moving=(centred.sum(axis=2) > 1e-12).any(axis=1),
        z=z,
        tests=tests,
        z_all=surprise(tests),
        table=sums.table,
        correlation=together[:, 0] / np.sqrt(np.where(room > 0, room, 1.0)),
        freedom=max(len(answers.classes) - 1, 1) if scaling is None else 1,
    )


def logs(z: np.ndarray, table: np.ndarray | None) -> np.ndarray:
    """Log probabilities [W, m] of as much or more by chance: consensus (either sign), its table, each view."""
    from scipy.special import log_ndtr

    columns = [np.minimum(log_ndtr(-np.abs(z[:, 0])) + np.log(2), 0)]
    if table is not None and table.shape[1] > 2:  # with two classes the same as the first
        columns.append(by_table(table))
    return np.stack([*columns, *log_ndtr(-z[:, 1:]).T], axis=1)


def surprise(tests: np.ndarray) -> np.ndarray:
    """The smallest of m probabilities, how often one of m would be as small, as a normal deviate."""
    from scipy.special import ndtri_exp

    best, m = tests.min(axis=1), tests.shape[1]
    usual = -np.expm1(m * np.log1p(-np.exp(np.clip(best, -30, -1e-12))))
    together = np.where(best < -25, best + np.log(m), np.log(np.clip(usual, 1e-300, 0.999)))
    return -ndtri_exp(together)


def by_table(table: np.ndarray) -> np.ndarray:
    """Log of the probability of a chi-square as large from a table [W, K, K] with the same margins."""
    value, mean, variance = chi_square(table)
    possible = (mean > 1e-9) & (variance > 1e-9)
    shape = np.where(possible, mean**2 / np.where(possible, variance, 1.0), 1.0)
    x = np.where(possible, value * mean / np.where(possible, variance, 1.0), 0.0)
    return np.where(possible, log_gamma_above(shape, x), 0.0)


def chi_square(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pearson's statistic of each table, its mean and variance over all tables with these margins."""
    rows, columns = table.sum(axis=2), table.sum(axis=1)
    n = rows.sum(axis=1)
    expected = rows[:, :, None] * columns[:, None, :] / np.maximum(n, 1)[:, None, None]
    there = expected > 0
    value = np.where(there, (table - expected) ** 2 / np.where(there, expected, 1.0), 0).sum(axis=(1, 2))
    n = np.maximum(n, 4)
    many, odd = zip(*((_used(side), _odd(side, n)) for side in (rows, columns)), strict=True)
    mean = n / (n - 1) * np.maximum(many[0] - 1, 0) * np.maximum(many[1] - 1, 0)
    free = [(k - 1) * (n - k) / (n - 1) for k in many]
    variance = 2 * n / (n - 3) * (free[0] - odd[0]) * (free[1] - odd[1]) + n**2 / (n - 1) * odd[0] * odd[1]
    return value, mean, np.maximum(variance, 0)


def _used(side: np.ndarray) -> np.ndarray:
    return (side > 0).sum(axis=1)


def _odd(side: np.ndarray, n: np.ndarray) -> np.ndarray:
    """How far a margin is from even."""
    inverse = np.where(side > 0, 1 / np.where(side > 0, side, 1.0), 0).sum(axis=1)
    return (n * inverse - _used(side) ** 2) / (n - 2)


def log_gamma_above(shape: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Log of the upper part of a gamma distribution, also where it is too small for a number."""
    from scipy.special import gammaincc, gammaln

    above = gammaincc(shape, x)
    far = above < 1e-250
    y = np.where(far, np.maximum(x, 1.0), 1.0)
    series = 1 + (shape - 1) / y * (1 + (shape - 2) / y)
    tail = (shape - 1) * np.log(y) - y - gammaln(shape) + np.log(np.maximum(series, 1e-3))
    return np.where(far, tail, np.log(np.where(far, 1.0, above)))


@dataclass
class Moments:
    n: float = whole()
    total: float = whole()
    square: float = whole()


def moments(shard: Shard, about: float | None) -> Moments:
    value = shard.label.astype(float) if shard.value is None else shard.value
    value = value - (about or 0.0)
    weighted = shard.weighted(value)
    return Moments(float(shard.weighted(None).sum()), float(weighted.sum()), float((weighted * value).sum()))


def middle(answers: Answers) -> tuple[float, float]:
    """Mean and standard deviation of all numbers."""
    first = answers.fold(_total)
    about = first.total / max(first.n, 1)
    found = answers.fold(_around, Middle(about))
    return about, max(float(np.sqrt(found.square / max(found.n, 1))), 1e-300) if found.square > 0 else 1.0


@dataclass
class Middle:
    about: float = whole()


def _total(shard: Shard, _) -> Moments:
    return moments(shard, None)


def _around(shard: Shard, params: Middle) -> Moments:
    return moments(shard, params.about)
