"""Which methods of aggregation predict answers that were hidden from them; with truth also how often they are right.

predicts_own        mean log-probability of the hidden answers under the method's own model of workers
predicts_tempered   the same under one channel for all methods, each one's beliefs raised to a power chosen on further
                    hidden answers
predicts_label      share of hidden answers that are the most probable ones by the method's own model
predicts_error      mean distance between the hidden and the expected answer, on ordered labels
accuracy, log_loss, ece (on numbers: mae, coverage)   of the fit to all answers against the truth, where it is known
SCORE_rank          1 = best; SCORE_gap: how much better than the method in `other` (below 0: worse), over the same tasks
recommended         1 for the method to take: the default, unless two scores or more are clearly for another, none against it

Whoever predicts answers best need not be right most often: docs/comparing.md says how far one goes with the other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .core import registry
from .core.answers import Answers
from .core.consensus import Consensus
from .core.dataset import Dataset
from .core.draws import Draws
from .core.errors import BadCall, BadInput, ManyVoicesError
from .core.items import Items
from .core.scores import Scores, joined, table
from .kernels import heldout, resample
from .scoring import Asked, answers_of, named

METHODS = ("mv", "wawa", "onecoin", "ds", "glad", "mace", "bcc")
ORDERED = ("mean", "median", "ordinal")
DEFAULTS = ("bcc", "mean", "mv")  # what is taken without evidence: the first of them that could be fitted
DRAWS, BINS, FEW, CELLS = 1_000, 15, 20, 4_000_000
LOWER = ("predicts_error", "log_loss", "ece", "mae")  # the lower the better
SAYS = {
    "predicts_own": "mean log-probability of hidden answers under its own model of workers",
    "predicts_tempered": "mean log-probability of hidden answers under the channel shared by all methods, beliefs tempered",
    "predicts_label": "share of hidden answers that it holds most probable",
    "predicts_error": "mean distance between hidden and expected answers; lower is better",
    "accuracy": "share of right labels of the fit to all answers, ties shared out",
    "log_loss": "mean -log of the probability of the truth; lower is better",
    "ece": "expected calibration error in 15 bins; lower is better; resampling raises it, so its interval lies high",
    "mae": "mean distance to the truth; lower is better",
    "coverage": "share of truths within the 95 % interval; not ranked",
}
log = logging.getLogger("manyvoices")


def compared(
    source: Dataset | Answers,
    methods: str | Callable | Asked | Sequence[str] | None = None,
    *,
    rounds: int = 5,
    hide: float = 0.1,
    seed: int = 0,
) -> Scores:
    """Scores of each method with intervals over tasks, ranks, gaps, and which one to take. What follows from them is logged."""
    if rounds < 1:
        raise BadCall(f"rounds is {rounds}; expected at least 1")
    if not 0 < hide < 1:
        raise BadCall(f"hide is {hide}; expected a share between 0 and 1, such as 0.1")
    answers = answers_of(source)
    if not answers.n:
        raise BadInput("there are no answers to compare methods on", expected="answers of workers about tasks")
    entries = [Entry(about, given) for about, given in asked(methods, answers)]
    for entry in entries:
        entry.why = refused(entry, answers)
    if all(entry.why for entry in entries):
        raise BadInput(
            "no method can be fitted: " + "; ".join(f"{e.label} {e.why}" for e in entries[:3]),
            expected="methods that suit the answers (manyvoices methods aggregate)",
        )
    trial = predict(answers, entries, rounds, hide, seed)
    found = [judged(trial, seed)]
    if (truth := truth_of(source, answers)) is not None:
        found.append(judged(against(answers, entries, truth, seed), seed))
    verdict = decide(found, entries)
    for line in verdict.lines:
        log.info("%s", line)
    return joined([recommended(verdict, entries), *(part for one in found for part in rows(one, entries, verdict))])


# what is compared -----------------------------------------------------------------------------------------------------


@dataclass
class Entry:
    """One method with its options; `why` it could not be fitted, or what is odd about the fits."""

    about: registry.Method
    given: dict[str, Any]
    why: str = ""
    loose: int = 0  # fits that did not converge
    fits: int = 0

    @property
    def label(self) -> str:
        options = ",".join(f"{name}={value}" for name, value in self.given.items())
        return f"{self.about.name}[{options}]" if options else self.about.name

    @property
    def oddity(self) -> str:
        return f"did not converge in {self.loose} of {self.fits} fits" if self.loose else ""

    def fit(self, answers: Answers) -> Consensus | None:
        """The consensus, or None with the reason kept: a method that fails stays in the table."""
        try:
            found = registry.find("aggregate", self.about.name)(answers, **self.given)
        except BadCall:
            raise
        except (ManyVoicesError, ArithmeticError, ValueError, LookupError, MemoryError) as problem:
            self.why = f"failed: {str(problem) or type(problem).__name__}"
            return None
        self.fits += 1
        self.loose += found.converged is False
        return found


def asked(methods: Any, answers: Answers) -> Asked:
    """The methods named; where none is, or just the default ones, those that suit the scale."""
    if isinstance(methods, (list, tuple)) and all(isinstance(m, str) for m in methods):
        methods = ",".join(methods)
    methods = ",".join(METHODS) if methods is None else methods
    chosen = (
        registry.parse("aggregate", methods, again=True) if isinstance(methods, str) else named("aggregate", methods)
    )
    if [(about.name, given) for about, given in chosen] != [(name, {}) for name in METHODS]:
        return chosen
    if answers.scale == "interval":
        return named("aggregate", ",".join(ORDERED))
    return chosen + named("aggregate", ",".join(ORDERED)) if answers.scale == "ordinal" else chosen


def refused(entry: Entry, answers: Answers) -> str:
    """Why the method does not suit the data; empty if it does."""
    from .api import check_needs

    if entry.about.required:
        return f"needs {', '.join(entry.about.required)} besides the answers"
    try:
        check_needs(entry.about, answers)
    except BadInput as problem:
        return problem.message.removeprefix(f"{entry.about.name} ")
    return ""


# hiding and predicting ------------------------------------------------------------------------------------------------


@dataclass
class Trial:
    """Sums by group of tasks: for each fitted entry and score, and how many answers (or tasks) they are over."""

    scores: tuple[str, ...]
    entries: list[Entry]  # that could be fitted
    sums: np.ndarray  # [G, C]
    n: int
    units: int  # tasks that were dealt into groups
    met: int  # groups that have something in them
    means: Callable[[np.ndarray], np.ndarray]  # sums [d, C] -> values [d, M, S]


@dataclass(frozen=True, eq=False)
class Rows:
    """Single answers in arrays."""

    task: np.ndarray
    worker: np.ndarray
    label: np.ndarray

    def where(self, mask: np.ndarray) -> Rows:
        return Rows(self.task[mask], self.worker[mask], self.label[mask])

    def __len__(self) -> int:
        return len(self.task)

    def pieces(self, size: int) -> Iterator[Rows]:
        for a in range(0, len(self), size):
            yield Rows(self.task[a : a + size], self.worker[a : a + size], self.label[a : a + size])


@dataclass(frozen=True, eq=False)
class Split:
    """What a method is fitted to and what it is asked about afterwards."""

    kept: Answers
    said: heldout.Said | heldout.Numbers
    hidden: Rows


def predict(answers: Answers, entries: list[Entry], rounds: int, hide: float, seed: int) -> Trial:
    """Hide, fit, score; `rounds` times. Every method sees the same splits."""
    scores = {
        "interval": ("predicts_own", "predicts_tempered", "predicts_error"),
        "ordinal": ("predicts_own", "predicts_tempered", "predicts_label", "predicts_error"),
    }.get(answers.scale, ("predicts_own", "predicts_tempered", "predicts_label"))
    every = single(answers)
    columns = len(entries) * len(scores) + 1
    group, groups, units = resample.groups(answers, columns, seed, least=2)
    sums = {id(entry): np.zeros((groups, len(scores))) for entry in entries}
    weight = np.zeros(groups)
    for number in range(rounds):
        outer, inner = splits(answers, every, hide, np.random.default_rng([seed, 10, number]))
        if not len(outer.hidden):
            break
        at = group[outer.hidden.task]
        weight += np.bincount(at, minlength=groups)
        for entry in entries:
            if not entry.why and (values := scored(entry, outer, inner, scores)) is not None:
                for s, column in enumerate(values.T):
                    sums[id(entry)][:, s] += np.bincount(at, weights=column, minlength=groups)
    fitted = [entry for entry in entries if not entry.why]
    wide = np.concatenate([*(sums[id(entry)] for entry in fitted), weight[:, None]], axis=1)
    shape = (-1, len(fitted), len(scores))
    met = int((weight > 0).sum())
    return Trial(scores, fitted, wide, int(weight.sum()), units, met, lambda x: (x[:, :-1] / x[:, -1:]).reshape(shape))


def single(answers: Answers) -> Rows:
    """A row an answer: counts of answers nobody has signed are taken apart, for one of them to be hidden alone."""
    task, worker, label = answers.rows()
    if answers.workers is None and (count := answers.repeated()) is not None:
        task, worker, label = (np.repeat(column, count) for column in (task, worker, label))
    return Rows(task, worker, label)


def splits(answers: Answers, every: Rows, share: float, rng: np.random.Generator) -> tuple[Split, Split]:
    """The split that is scored, and one within its kept answers that chooses the power."""
    count = None if answers.workers is None else answers.repeated()
    outer = hide_some(answers, every, share, rng)
    left, few = every.where(~outer), None if count is None else count[~outer]
    inner = hide_some(answers, left, share, rng)
    return split(answers, every, count, outer), split(answers, left, few, inner)


def hide_some(answers: Answers, rows: Rows, share: float, rng: np.random.Generator) -> np.ndarray:
    if answers.workers is None:
        return heldout.hidden(np.arange(len(rows)), rows.task, None, share, rng)
    fresh = (np.diff(rows.task, prepend=-1) != 0) | (np.diff(rows.worker, prepend=-1) != 0)
    return heldout.hidden(np.cumsum(fresh) - 1, rows.task, rows.worker, share, rng)


def split(answers: Answers, every: Rows, count: np.ndarray | None, mask: np.ndarray) -> Split:
    from .api import place
    from .core.answers import Here

    left, weight = every.where(~mask), None if count is None else count[~mask]
    kept = Answers.from_codes(
        left.task,
        None if answers.workers is None else left.worker,
        left.label,
        tasks=answers.tasks,
        workers=answers.workers,
        classes=answers.classes,
        scale=answers.scale,
        count=weight,
    )
    if type(answers.store) is not Here:
        kept = place(kept, None)
    workers = 1 if answers.workers is None else len(answers.workers)
    said: heldout.Said | heldout.Numbers
    if answers.scale == "interval":
        said = heldout.Numbers(left.task, left.worker, left.label, workers)
    else:
        said = heldout.Said(
            left.task, left.worker, left.label, weight, len(answers.tasks), workers, len(answers.classes)
        )
    return Split(kept, said, every.where(mask))


def scored(entry: Entry, outer: Split, inner: Split, scores: tuple[str, ...]) -> np.ndarray | None:
    """[n, S] of the hidden answers, or None if a fit failed."""
    found = entry.fit(outer.kept)
    first = entry.fit(inner.kept) if found is not None and len(inner.hidden) else found
    if found is None or first is None:
        return None
    power = heldout.best_power(lambda x: shared(first, inner, x).mean()) if len(inner.hidden) else 1.0
    columns = own(found, outer.hidden, outer.said) | {"predicts_tempered": shared(found, outer, power)}
    values = np.stack([columns[score] for score in scores], axis=1)
    if not np.isfinite(values).all():
        entry.why = "failed: its model gives hidden answers no finite probability"
        return None
    return values


def own(found: Consensus, hidden: Rows, said: heldout.Said | heldout.Numbers) -> dict[str, np.ndarray]:
    """What the method's own model says of each hidden answer."""
    parts: list[dict[str, np.ndarray]] = []
    for some in hidden.pieces(max(1, CELLS // max(len(found.classes), 1) ** 2)):
        says = found.says(some.task, some.worker)
        number = isinstance(said, heldout.Numbers)
        parts.append(own_number(says, some, said) if number else own_class(says, some))  # type: ignore[arg-type]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def own_class(says: np.ndarray, hidden: Rows) -> dict[str, np.ndarray]:
    at = np.arange(len(hidden))
    best = says >= says.max(axis=1, keepdims=True) - 1e-9  # where several are equal, each counts its share
    middle = (np.cumsum(says, axis=1) < 0.5 - 1e-9).sum(axis=1)
    return {
        "predicts_own": np.log(np.maximum(says[at, hidden.label], 1e-6)),
        "predicts_label": best[at, hidden.label] / best.sum(axis=1),
        "predicts_error": np.abs(middle - hidden.label.astype(float)),
    }


def own_number(says: np.ndarray, hidden: Rows, said: heldout.Numbers) -> dict[str, np.ndarray]:
    middle, sd = says.T
    return {
        "predicts_own": heldout.density(hidden.label, middle, sd, heldout.narrowest(said.value)),
        "predicts_error": np.abs(middle - hidden.label),
    }


def shared(found: Consensus, at: Split, power: float) -> np.ndarray:
    """log-probability [n] of the split's hidden answers under the channel that is the same for all methods."""
    hidden = at.hidden
    if isinstance(at.said, heldout.Numbers):
        half = np.nan_to_num(found.high - found.low) / (2 * resample.REACH)
        return heldout.common_numbers(at.said, found.value, half**2 / power, hidden.task, hidden.worker, hidden.label)
    return heldout.common(at.said, heldout.tempered(found.probs, power), hidden.task, hidden.worker, hidden.label)


# truth ----------------------------------------------------------------------------------------------------------------


def truth_of(source: Dataset | Answers, answers: Answers) -> np.ndarray | None:
    """[T] the known truth of answered tasks: class codes (-1 unknown, K a class nobody named), or numbers (NaN unknown)."""
    items: Items | None = None if isinstance(source, Answers) else source.items
    if items is None or not (items.truth >= 0).any():
        return None
    at = np.asarray(items.ids.code(answers.tasks, missing=-1))
    known = np.where((at >= 0) & (answers.per_task() > 0), np.append(items.truth, -1)[at], -1)
    if answers.scale == "interval":
        truth = np.append([number(text) for text in items.classes], np.nan)[known]
        return truth if np.isfinite(truth).any() else None
    code = np.asarray(answers.classes.code(items.classes, missing=len(answers.classes)))
    truth = np.append(code, -1)[known]
    return truth if (truth >= 0).any() else None


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def against(answers: Answers, entries: list[Entry], truth: np.ndarray, seed: int) -> Trial:
    """The fits to all answers beside the truth."""
    fits = [(entry, found) for entry in entries if not entry.why and (found := entry.fit(answers)) is not None]
    at = np.flatnonzero(np.isfinite(truth) if answers.scale == "interval" else truth >= 0)
    marks = numbers_right if answers.scale == "interval" else classes_right
    parts = [marks(found, at, truth[at]) for _, found in fits]
    group, groups = dealt(len(at), sum(part.shape[1] for part in parts) + 1, seed)
    wide = resample.grouped(np.concatenate([*parts, np.ones((len(at), 1))], axis=1), group, groups)
    scores = ("mae", "coverage") if answers.scale == "interval" else ("accuracy", "log_loss", "ece")

    def means(sums: np.ndarray) -> np.ndarray:
        each = sums[:, :-1].reshape(len(sums), len(fits), -1) / sums[:, -1:, None]
        if answers.scale == "interval":
            return each
        gap = np.abs(each[:, :, 2:]).sum(axis=2, keepdims=True)
        return np.concatenate([each[:, :, :2], gap], axis=2)

    return Trial(scores, [entry for entry, _ in fits], wide, len(at), len(at), min(len(at), groups), means)


def dealt(units: int, columns: int, seed: int) -> tuple[np.ndarray, int]:
    """Units in random groups of equal size, as many as `resample.groups` would make."""
    most = int(np.clip(resample.CELLS // max(columns, 1), 20, resample.GROUPS))
    if units <= most:
        return np.arange(units), max(units, 1)
    return np.random.default_rng([seed, 3]).permutation(units) % most, most


def classes_right(found: Consensus, at: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """[n, 2 + BINS] right or not (equal classes share, so that no tie rule favours a method), -log of the truth's
    probability, and confidence less rightness in its bin."""
    probs = found.probs[at]
    each = np.append(probs, np.zeros((len(at), 1)), axis=1)  # the last column is for a truth nobody named
    believed = each[np.arange(len(at)), truth]
    if found.chosen is None:
        best = each >= probs.max(axis=1, keepdims=True) - 1e-9
        right = best[np.arange(len(at)), truth] / best.sum(axis=1)
    else:
        right = (found.chosen[at] == truth).astype(float)
    sure = probs.max(axis=1, initial=0.0)
    wide = np.zeros((len(at), 2 + BINS))
    wide[:, 0], wide[:, 1] = right, -np.log(np.maximum(believed, 1e-12))
    place = np.clip(np.ceil(sure * BINS - 1e-9).astype(int) - 1, 0, BINS - 1)
    wide[np.arange(len(at)), 2 + place] = sure - right
    return wide


def numbers_right(found: Consensus, at: np.ndarray, truth: np.ndarray) -> np.ndarray:
    value, low, high = found.value[at], found.low[at], found.high[at]
    return np.stack([np.abs(value - truth), ((low <= truth) & (truth <= high)).astype(float)], axis=1)


# intervals, ranks, gaps -----------------------------------------------------------------------------------------------


@dataclass
class Judged:
    """Values [M, S], ranks [M, S] and gaps [M, M, S] (row better than column where above 0) with their ends."""

    trial: Trial
    value: np.ndarray
    rank: np.ndarray
    gap: np.ndarray
    value_ends: np.ndarray  # [2, M, S]
    rank_ends: np.ndarray
    gap_ends: np.ndarray  # [2, M, M, S]
    how: list[str]  # [M * S] how the interval of a value came about, or why there is none

    def better(self, a: int, b: int, s: int) -> bool:
        """Whether a beats b beyond what other tasks could change. Nothing is told from a few tasks."""
        return self.trial.met >= FEW and bool(self.gap_ends[0, a, b, s] > 0)

    def apart(self, a: int, b: int, s: int) -> bool:
        return self.better(a, b, s) or self.better(b, a, s)

    def best(self, s: int) -> int:
        return int(self.rank[:, s].argmin())


def judged(trial: Trial, seed: int) -> Judged:
    M, S = len(trial.entries), len(trial.scores)
    sign = np.array([-1.0 if score in LOWER else 1.0 for score in trial.scores])
    upper = np.triu_indices(M, 1)

    def everything(sums: np.ndarray) -> np.ndarray:
        """Values, ranks and gaps of resampled sums, side by side: [d, ...]."""
        mean = trial.means(sums)
        good = mean * sign
        gap = good[:, :, None] - good[:, None]  # [d, M, M, S]
        rank = 0.5 + 0.5 * (gap < 1e-12).sum(axis=2) + 0.5 * (gap < -1e-12).sum(axis=2)  # equal ones share their places
        rank[~np.isfinite(good)] = np.nan
        return np.concatenate(
            [mean.reshape(len(sums), -1), rank.reshape(len(sums), -1), gap[:, *upper].reshape(len(sums), -1)], axis=1
        )

    if not trial.n or not M:
        empty = np.full((M, S), np.nan)
        wide = np.full((M, M, S), np.nan)
        pairs, squares = np.stack([empty, empty]), np.stack([wide, wide])
        return Judged(trial, empty, empty, wide, pairs, pairs, squares, [""] * (M * S))
    point = everything(trial.sums.sum(axis=0, keepdims=True))[0]
    low, high, how = resample.bootstrap(trial.sums, everything, point, trial.units, Draws(DRAWS, seed))
    same = np.array([text.endswith("differs from the others") for text in how])
    same[: M * S] = False  # a rank or a gap that every draw repeats is known; a share of 1 is not
    low, high = np.where(same, point, low), np.where(same, point, high)
    cuts = [M * S, 2 * M * S]
    parts = [np.split(x, cuts) for x in (point, low, high)]
    (value, rank), gap = (x.reshape(M, S) for x in parts[0][:2]), square(parts[0][2], upper, M, S)
    ends = [np.stack([parts[1][i].reshape(M, S), parts[2][i].reshape(M, S)]) for i in (0, 1)]
    lows, highs = (square(part[2], upper, M, S) for part in parts[1:])
    lower = np.tril(np.ones((M, M), bool), -1)[:, :, None]
    gap_ends = np.stack([np.where(lower, highs, lows), np.where(lower, lows, highs)])  # a mirrored gap swaps its ends
    return Judged(trial, value, rank, gap, ends[0], ends[1], gap_ends, how[: M * S])


def square(flat: np.ndarray, upper: tuple[np.ndarray, np.ndarray], M: int, S: int) -> np.ndarray:
    """Gaps of pairs a < b as [M, M, S], mirrored with the other sign."""
    full = np.zeros((M, M, S))
    full[upper] = flat.reshape(-1, S)
    full[upper[::-1]] = -flat.reshape(-1, S)
    return full


# conclusions ----------------------------------------------------------------------------------------------------------


@dataclass
class Verdict:
    default: Entry | None
    take: Entry | None
    why: str
    doubts: list[str] = field(default_factory=list)  # where the scores contradict each other
    lines: list[str] = field(default_factory=list)


def decide(found: list[Judged], entries: list[Entry]) -> Verdict:
    """Plain words: who predicts best, who cannot be told apart, what contradicts what, and which method to take."""
    prediction = found[0]
    fitted = [entry for entry in prediction.trial.entries if not entry.why]
    default = next((e for name in DEFAULTS for e in fitted if e.about.name == name), None)
    verdict = Verdict(default, *chosen(found, default, fitted))
    lines = [
        f"{e.label}: {e.why if e.why.startswith('failed') else 'not defined because it ' + e.why}"
        for e in entries
        if e.why
    ]
    lines += [f"{entry.label} {entry.oddity}" for entry in fitted if entry.oddity]
    if prediction.trial.n:
        lines.append(
            f"{prediction.trial.n:,} answers were hidden in all; the scores say how well a method predicts answers, "
            "which is not how often it is right"
        )
    lines += [line for one in found for line in leaders(one)]
    verdict.doubts = contradictions(prediction)
    lines += verdict.doubts
    verdict.lines = [*lines, f"recommended: {verdict.take.label if verdict.take else 'none'}: {verdict.why}"]
    return verdict


def chosen(found: list[Judged], default: Entry | None, fitted: list[Entry]) -> tuple[Entry | None, str]:
    """The default, unless another one is better beyond doubt: by the truth where it is known, else by two scores or more
    with none against it (docs/comparing.md)."""
    if default is None:
        return sole(found[0], fitted)
    if len(fitted) == 1:
        return default, "nothing else could be fitted"
    stands = "the default" if default.about.name == "bcc" else "stands in for bcc, which was not fitted"
    truth = next((one for one in found[1:] if one.trial.n and default in one.trial.entries), None)
    if truth is not None:
        about = f"{truth.trial.scores[0]} on {truth.trial.n:,} tasks of known truth"
        if rivals := clear(truth, default, truth.trial.scores[:1], 1):
            return rivals[0], f"clearly better than {default.label} in {about}"
        return default, f"{stands}; no other is clearly better in {about}"
    if not found[0].trial.n:
        return default, f"{stands}; there was no answer to hide"
    scores = found[0].trial.scores
    if rivals := clear(found[0], default, scores, 2):
        at = [found[0].trial.entries.index(entry) for entry in (rivals[0], default)]
        by = " and ".join(score for s, score in enumerate(scores) if found[0].better(at[0], at[1], s))
        return rivals[0], (
            f"predicts answers clearly better than {default.label} by {by}, and no score says otherwise; "
            "whether it is right more often, only truth can say"
        )
    return default, f"{stands}; no other predicts answers clearly better by two scores with none against it"


def sole(one: Judged, fitted: list[Entry]) -> tuple[Entry | None, str]:
    if len(fitted) == 1:
        return fitted[0], "nothing else could be fitted"
    if not fitted or not one.trial.n:
        return None, f"none of {', '.join(DEFAULTS)} is among the methods, and there is no evidence for another"
    s = min(1, len(one.trial.scores) - 1)
    best = one.best(s)
    near = [entry.label for m, entry in enumerate(one.trial.entries) if m != best and not one.apart(best, m, s)]
    told = f", not to be told from {', '.join(near)}" if near else ""
    return one.trial.entries[best], f"first by {one.trial.scores[s]}{told}; bcc, the default, was not compared"


def clear(one: Judged, default: Entry, scores: Sequence[str], least: int) -> list[Entry]:
    """Those better than the default by so many of these scores and worse by none, the best of them first."""
    at = one.trial.entries.index(default)
    which = [one.trial.scores.index(score) for score in scores]
    found = [
        m
        for m in range(len(one.trial.entries))
        if sum(one.better(m, at, s) for s in which) >= least and not any(one.better(at, m, s) for s in which)
    ]
    order = sorted(found, key=lambda m: one.rank[m, which[min(1, len(which) - 1)]])
    return [one.trial.entries[m] for m in order]


def leaders(one: Judged) -> Iterator[str]:
    """A line a score: the best, and those that cannot be told from it."""
    names = [entry.label for entry in one.trial.entries]
    if not one.trial.n or len(names) < 2:
        return
    for s, score in enumerate(one.trial.scores):
        if score == "coverage":
            continue
        best = one.best(s)
        near = [name for m, name in enumerate(names) if m != best and not one.apart(best, m, s)]
        if len(near) == len(names) - 1:
            few = f" by fewer than {FEW} tasks" if one.trial.met < FEW else ""
            yield f"{score}: the methods cannot be told apart{few}"
        else:
            rest = f"{', '.join(near)} cannot be told apart from it" if near else "better than each of the others"
            yield f"{score}: {names[best]} is first ({one.value[best, s]:.4g}); {rest}"


def contradictions(one: Judged) -> list[str]:
    """Pairs of methods that one score puts clearly one way round and another clearly the other way."""
    names, found = [entry.label for entry in one.trial.entries], []
    for s in range(len(one.trial.scores)):
        for t in range(s + 1, len(one.trial.scores)):
            pairs = [
                f"{names[a]} over {names[b]}"
                for a in range(len(names))
                for b in range(len(names))
                if a != b and one.better(a, b, s) and one.better(b, a, t)
            ]
            if pairs:
                more = f" and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""
                first, second = one.trial.scores[s], one.trial.scores[t]
                found.append(
                    f"the scores contradict each other: {first} puts {', '.join(pairs[:3])}{more}; {second} the other way round"
                )
    return found


# the table ------------------------------------------------------------------------------------------------------------


def recommended(verdict: Verdict, entries: list[Entry]) -> Scores:
    take = np.array([float(entry is verdict.take) for entry in entries])
    why = "; ".join([verdict.why, *verdict.doubts])
    note = [why if verdict.take is None or entry is verdict.take else "" for entry in entries]
    return table(
        "recommended",
        of=["method"] * len(entries),
        names=[entry.label for entry in entries],
        value=take,
        n=np.zeros(len(entries), np.int64),
        note=note,
    )


def rows(one: Judged, entries: list[Entry], verdict: Verdict) -> Iterator[Scores]:
    """For each score its values, its ranks, and the gaps to the default and to the best."""
    place = {id(entry): m for m, entry in enumerate(one.trial.entries)}
    for s, score in enumerate(one.trial.scores):
        yield part(one, entries, place, score, score, one.value[:, s], one.value_ends[:, :, s], SAYS[score])
        if score == "coverage":
            continue
        yield part(one, entries, place, score, f"{score}_rank", one.rank[:, s], one.rank_ends[:, :, s], "1 is the best")
        if not one.trial.n or not one.trial.entries:
            continue
        default = place.get(id(verdict.default))
        for other in dict.fromkeys(x for x in (default, one.best(s)) if x is not None):
            yield gaps(one, place, [e for e in entries if place.get(id(e)) not in (other, None)], s, other)


def part(one: Judged, entries, place, score: str, name: str, value, ends, says: str) -> Scores:
    at = np.array([place.get(id(entry), -1) for entry in entries])
    filled = [np.append(x, np.nan)[at] for x in (value, *ends)]
    notes = []
    for entry, m in zip(entries, at, strict=True):
        if m < 0:
            notes.append(entry.why if entry.why.startswith("failed") else f"not defined because it {entry.why}")
        elif not one.trial.n:
            notes.append("not defined because no answer can be hidden: each is the only one of its task or its worker")
        else:
            how = one.how[m * len(one.trial.scores) + one.trial.scores.index(score)]
            if name.endswith("_rank"):
                how = "no interval: too few tasks to resample" if np.isnan(ends[0][m]) else ""
            notes.append("; ".join(text for text in (says, how, entry.oddity) if text))
    n = np.where(at >= 0, one.trial.n, 0)
    return table(
        name,
        of=["method"] * len(entries),
        names=[entry.label for entry in entries],
        value=filled[0],
        low=filled[1],
        high=filled[2],
        n=n,
        note=notes,
    )


def gaps(one: Judged, place, entries: list[Entry], s: int, other: int) -> Scores:
    at = np.array([place[id(entry)] for entry in entries], int)
    words = {1: "better", -1: "worse", 0: "cannot be told apart"}
    told = [int(one.better(m, other, s)) - int(one.better(other, m, s)) for m in at]
    return table(
        f"{one.trial.scores[s]}_gap",
        of=["method"] * len(at),
        names=[entry.label for entry in entries],
        other=[one.trial.entries[other].label] * len(at),
        value=one.gap[at, other, s] + 0.0,  # no -0.0
        low=one.gap_ends[0, at, other, s],
        high=one.gap_ends[1, at, other, s],
        n=np.full(len(at), one.trial.n),
        note=[words[t] if one.trial.met >= FEW else f"fewer than {FEW} tasks: too few to tell" for t in told],
    )
