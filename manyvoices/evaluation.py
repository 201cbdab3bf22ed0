"""How good predictions are: read, aligned once with truth and answers, cut to a split and to groups, scored.

What a score can see stands in core/scored.py. Left out are tasks of other splits and tasks without a prediction; what
is unknown to the data (a task, a worker, a class) is an error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .core import registry
from .core.answers import Answers
from .core.consensus import first_best
from .core.dataset import Dataset
from .core.errors import BadCall, Unknown
from .core.names import Names
from .core.scored import Pairs, Scored
from .core.scores import Scores, joined
from .predictions import Predicted, coded, told
from .scoring import Asked, about_tasks, column_of, columns, grouped, named, settled

HEADLINES = ("accuracy", "mae")  # shown with the reason where no truth is known
ORDER = ("labels", "numbers", "probabilities", "spread", "workers", "shared tasks", "")
NOBODY = "the answers name nobody"
log = logging.getLogger("manyvoices")


def evaluated(
    prediction: Any,
    source: Dataset | Answers,
    methods: str | Callable | Asked | None = None,
    *,
    split: str | None = None,
    by: str | None = None,
    **options: Any,
) -> Scores:
    """Scores of predictions (a path, a frame, a mapping from task to label, a Consensus), all tasks of the split first,
    then each group of `by`; those that apply if none is named. `split` is test where splits are known, or all."""
    data, answers = (None, source) if isinstance(source, Answers) else (source, source.answers)
    table = told(prediction)
    known = knowledge(data, answers, "value" in table.frame.columns)
    guess = coded(table, known.tasks, known.workers, known.classes, known.scale, known.said)
    for note in guess.notes:
        log.info(note)
    kept = chosen(known, guess, split)
    whole = aligned(known, guess, kept)
    runs = asked(whole, methods, options)
    runs = settled(runs, options if methods is not None else usable(options, runs))
    parts, groups = [run(whole, runs)], [""]
    tell(whole)
    if "n" in table.frame.columns and any(about.family == "spread" for about, _ in runs):
        log.info(
            "these labels come with a number of answers: if DATA's own answers made them, distances from their spread flatter"
        )
    if by is not None:
        for name, part in slices(data, known, guess, kept, by):
            parts.append(run(part, runs))
            groups.append(name)
    return joined(parts, groups)


def run(scored: Scored, runs: Asked) -> Scores:
    return joined([registry.find("evaluate", about.name)(scored, **given) for about, given in runs])


# which scores ---------------------------------------------------------------------------------------------------------


def asked(scored: Scored, methods: str | Callable | Asked | None, options: dict[str, Any]) -> Asked:
    if methods is not None:
        return named("evaluate", methods)
    every = [registry.about("evaluate", name) for name in registry.names("evaluate")]
    every.sort(key=lambda about: (about.name != HEADLINES[0], ORDER.index(about.family)))
    return [(about, {}) for about in every if suits(about, scored, options.get("against") == "answers")]


def suits(about: registry.Method, scored: Scored, against_answers: bool) -> bool:
    """Whether a score is shown unasked: it can be computed, and is not there for comparison with one paper only."""
    answers = bool(scored.voters.any())
    goal = (answers if against_answers else scored.known.any()) or about.name in HEADLINES
    silent = scored.unpredicted or not scored.labelled.all()
    met = {
        "truth": goal,
        "answers": answers,
        "classes": scored.scale != "interval",
        "probabilities": scored.probs is not None,
        "confidence": bool(np.isfinite(scored.prob).any()),
        "workers": scored.pairs is not None and (scored.own or not scored.known.any()),
        "predictions that name workers": scored.own,
        "ordered": scored.ordered,
    }
    if about.family == "shared tasks" or (about.name == "coverage" and not silent):
        return False
    if about.family == "labels" and about.name != "coverage" and scored.scale == "interval":
        return False
    return all(met.get(need, True) for need in about.needs)


def usable(options: dict[str, Any], runs: Asked) -> dict[str, Any]:
    """Where nobody chose the scores: an option of one that is not computed here is no error, one that nobody has is."""
    every = [registry.about("evaluate", name) for name in registry.names("evaluate")]
    for name in options:
        if not any(has(about, name) for about in every):
            raise Unknown.name("option of evaluate", name, {o.name for about in every for o in about.options})
    return {name: value for name, value in options.items() if any(has(about, name) for about, _ in runs)}


def has(about: registry.Method, option: str) -> bool:
    wanted = registry.plain(option)
    return any(wanted in map(registry.plain, (o.name, *o.also)) for o in about.options)


# what is known --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Known:
    """Everything the data say, by task (T of them: those with answers, items or truth)."""

    tasks: Names
    workers: Names | None
    classes: Names
    scale: str
    truth: np.ndarray  # [T] class or number, -1 or NaN = unknown
    split: np.ndarray  # [T] text or None
    answers: Answers | None
    place: np.ndarray | None  # task of the answers -> task here
    rows: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None  # task, worker, label, count of each answer

    @property
    def said(self) -> Names:
        """The classes without those that only the truth has."""
        return self.classes if self.answers is None else self.answers.classes

    @property
    def answered(self) -> np.ndarray:
        """[T] how many answers there are."""
        found = np.zeros(len(self.tasks), np.int64)
        if self.answers is not None:
            found[self.place] = self.answers.per_task()
        return found


def knowledge(data: Dataset | None, answers: Answers | None, numbers: bool) -> Known:
    items = None if data is None else data.items
    ids = Names([]) if items is None else items.ids
    tasks = Names([]) if answers is None else answers.tasks
    if any(name not in tasks for name in ids):
        tasks = Names.ordered({*tasks, *ids})
    classes = items.classes if items is not None else Names([]) if answers is None else answers.classes
    scale = answers.scale if answers is not None else "interval" if numbers else "nominal"
    said = [None] * len(tasks) if items is None else items.truth_of(tasks)
    truth = as_numbers(said) if scale == "interval" else classes.code((s if s is not None else "" for s in said), -1)
    truth = truth if scale == "interval" else np.where([s is None for s in said], -1, truth)
    split = about_tasks(data, tasks, "split")
    place = rows = None
    if answers is not None:
        place = tasks.code(answers.tasks)
        if hasattr(answers.store, "shards"):
            task, worker, label = answers.rows()
            count = answers.repeated()
            if scale != "interval":
                label = classes.code(answers.classes)[label]  # the truth may name classes that nobody said
            rows = (place[task], worker, label, np.ones(len(task), np.int64) if count is None else count)
    people = None if answers is None else answers.workers
    none = np.full(len(tasks), None, object)
    classes = Names([]) if scale == "interval" else classes
    return Known(tasks, people, classes, scale, truth, none if split is None else split, answers, place, rows)


def as_numbers(texts: Iterable[str | None]) -> np.ndarray:
    """Numbers in texts, NaN for what is none."""
    found = []
    for text in texts:
        try:
            found.append(np.nan if text is None else float(text))
        except ValueError:
            found.append(np.nan)
    return np.where(np.isfinite(found), found, np.nan) if found else np.zeros(0)


# splits ---------------------------------------------------------------------------------------------------------------


def chosen(known: Known, guess: Predicted, split: str | None) -> np.ndarray:
    """[T] Which tasks are scored: those of the split; of test where splits are known and nothing is said."""
    of_task = known.split.copy()
    if guess.split is not None:
        for task, name in zip(guess.task.tolist(), guess.split, strict=True):
            if name:
                of_task[task] = name
    there = sorted({name for name in of_task if name})
    if split == "all" or (split is None and not there):
        return np.ones(len(known.tasks), bool)
    if not there:
        raise BadCall(f"--split {split}: neither the predictions nor DATA say which task is in which split")
    name = split or "test"
    if name not in there:
        if split is None:
            raise BadCall(f"no task is in split test; name one of {', '.join(there)} with --split, or --split all")
        raise Unknown.name("split", name, [*there, "all"])
    kept = of_task == name
    left = len(np.unique(guess.task[~kept[guess.task]]))
    log.info(
        "split %s: %d tasks%s", name, int(kept.sum()), f", {left} predicted tasks of others left out" if left else ""
    )
    return kept


def tell(scored: Scored) -> None:
    """What was left out, on the way."""
    if scored.unpredicted:
        log.info("%d tasks of DATA have no prediction and are left out", scored.unpredicted)
    if scored.guesses is not None and scored.pairs is not None:
        without = len(scored.guesses) - len(np.unique(of_pair(scored, scored.pairs)))
        lacking = int((~scored.pairs.held).sum())
        if without > 0:
            log.info("%d predictions for a worker who did not answer the task are left out", without + lacking)


def of_pair(scored: Scored, pairs: Pairs) -> np.ndarray:
    return pairs.task.astype(np.int64) * len(scored.workers or ()) + pairs.worker


# alignment ------------------------------------------------------------------------------------------------------------


def aligned(
    known: Known, guess: Predicted, kept: np.ndarray, rows: np.ndarray | None = None, people: np.ndarray | None = None
) -> Scored:
    """Predictions about the kept tasks [T] beside what is known of them; of answers those in the mask `rows`, of
    workers those in the mask `people`."""
    take = kept[guess.task]
    if people is not None and guess.worker is not None:
        take &= people[guess.worker]
    at = np.flatnonzero(take)
    at = at[np.lexsort((guess.worker[at] if guess.worker is not None else at, guess.task[at]))]
    task = np.unique(guess.task[at])
    place = np.full(len(known.tasks), -1, np.int64)
    place[task] = np.arange(len(task))
    label, prob, probs = of_tasks(known, guess, at, place[guess.task[at]], len(task))
    voters, counts, mean = votes(known, task, rows)
    pairs, why = answers_beside(known, guess, at, place, rows)
    there = kept & ((known.answered > 0) | is_known(known.truth))
    return Scored(
        tasks=known.tasks if len(task) == len(known.tasks) else Names([known.tasks[int(t)] for t in task]),
        classes=known.classes,
        workers=known.workers,
        scale=known.scale,
        label=label,
        prob=prob,
        probs=probs,
        truth=known.truth[task],
        counts=counts,
        voters=voters,
        mean=mean,
        pairs=pairs,
        guesses=all_guesses(guess, at, place),
        unpredicted=int((there & (place < 0)).sum()) if rows is None else 0,
        no_pairs=why,
    )


def is_known(truth: np.ndarray) -> np.ndarray:
    return np.isfinite(truth) if np.issubdtype(truth.dtype, np.floating) else truth >= 0


def of_tasks(known: Known, guess: Predicted, at: np.ndarray, place: np.ndarray, n: int):
    """One prediction a task: label, its probability, probabilities. Of several workers' the mean, or their votes."""
    probs = None if guess.probs is None else guess.probs[at]
    if guess.worker is None:
        return guess.label[at], guess.prob[at], probs
    said = guess.label[at]
    if known.scale == "interval":
        held = np.isfinite(said)
        n_said = np.bincount(place[held], minlength=n)
        total = np.bincount(place[held], said[held], minlength=n)
        return np.where(n_said > 0, total / np.maximum(n_said, 1), np.nan), np.full(n, np.nan), None
    shares: Any = probs if guess.labels is None or probs is not None else guess.labels[at]
    if shares is None:
        shares = np.eye(len(known.classes))[said] * (said >= 0)[:, None]
    held = (said >= 0) if probs is None and guess.labels is None else np.ones(len(said), bool)
    many = np.bincount(place[held], minlength=n)
    probs = np.zeros((n, len(known.classes)))
    np.add.at(probs, place[held], shares[held])
    probs /= np.maximum(many, 1)[:, None]
    probs[many == 0] = 1 / max(len(known.classes), 1)
    best = np.where(many > 0, first_best(probs), -1)
    return best, np.where(best >= 0, probs.max(axis=1, initial=0.0), np.nan), probs


def votes(known: Known, task: np.ndarray, rows: np.ndarray | None):
    """Of each task: how many answered, how often each class was said, the mean of numbers."""
    n, K = len(known.tasks), len(known.classes)
    counts: np.ndarray
    nothing = np.zeros(len(task), np.int64)
    if known.answers is None:
        return nothing, None, None
    if known.rows is None and (known.scale in ("interval", "multilabel") or rows is not None):
        known.answers.rows()  # says that the answers are not in memory
    if known.scale == "interval":
        of, _, value, count = (column if rows is None else column[rows] for column in known.rows)
        many = np.bincount(of, count, minlength=n)[task]
        total = np.bincount(of, value * count, minlength=n)[task]
        return many.astype(np.int64), None, np.where(many > 0, total / np.maximum(many, 1), np.nan)
    if known.scale == "multilabel" and known.workers is not None:
        of, who, label, _ = (column if rows is None else column[rows] for column in known.rows)
        pair = of.astype(np.int64) * len(known.workers) + who
        voters = np.bincount(np.unique(pair) // len(known.workers), minlength=n)[task]
        once = np.unique(pair * K + label)
        cell = once // (K * len(known.workers)) * K + once % K
        return voters, np.bincount(cell, minlength=n * K).reshape(n, K)[task], None
    if rows is None:
        counts = np.zeros((n, K))
        counts[known.place[:, None], known.classes.code(known.answers.classes)] = known.answers.counts()
    else:
        of, _, label, count = (column[rows] for column in known.rows)
        counts = np.bincount(of * np.int64(K) + label, count, minlength=n * K).reshape(n, K)
    counts = counts[task].astype(np.int64)
    return counts.sum(axis=1), counts, None


def answers_beside(
    known: Known, guess: Predicted, at: np.ndarray, place: np.ndarray, rows: np.ndarray | None
) -> tuple[Pairs | None, str]:
    """Every answer about a predicted task beside its prediction."""
    if known.answers is None or known.workers is None:
        return None, "no answers are known" if known.answers is None else NOBODY
    if known.rows is None:
        return None, "the answers are on disk, and this looks at single ones (leave --on out)"
    of, who, label, count = (column if rows is None else column[rows] for column in known.rows)
    inside = place[of] >= 0
    of, who, label = (np.repeat(column[inside], count[inside]) for column in (of, who, label))
    task, W = place[of], len(known.workers)
    said: np.ndarray
    if known.scale == "multilabel":
        pair, back = np.unique(task * W + who, return_inverse=True)
        said = np.zeros((len(pair), len(known.classes)), bool)
        said[back, label] = True
        task, who = pair // W, pair % W
    else:
        said = label.astype(float if known.scale == "interval" else np.int64)
    key = place[guess.task[at]] if guess.worker is None else place[guess.task[at]] * np.int64(W) + guess.worker[at]
    wanted = task if guess.worker is None else task * np.int64(W) + who
    row = np.searchsorted(key, wanted)  # `at` is sorted by task and worker
    found = (row < len(key)) & (key[np.minimum(row, len(key) - 1)] == wanted) if len(key) else np.zeros(len(row), bool)
    values, held = what_said(guess, at)
    pick = np.minimum(row, max(len(key) - 1, 0))
    other = values[pick] if len(key) else values[:0]
    there = found & held[pick] if len(key) else found
    return Pairs(task, who.astype(np.int64), said, blank(other, there), there), ""


def what_said(guess: Predicted, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The predicted labels of rows, and whether there is one."""
    if guess.labels is not None:
        return guess.labels[at], guess.labels[at].any(axis=1)
    values = guess.label[at]
    return values, np.isfinite(values) if np.issubdtype(values.dtype, np.floating) else values >= 0


def blank(values: np.ndarray, held: np.ndarray) -> np.ndarray:
    """The same with nothing where nothing is predicted."""
    empty: Any = False if values.dtype == bool else np.nan if np.issubdtype(values.dtype, np.floating) else -1
    return np.where(held[:, None] if values.ndim == 2 else held, values, empty)


def all_guesses(guess: Predicted, at: np.ndarray, place: np.ndarray) -> Pairs | None:
    if guess.worker is None:
        return None
    values, held = what_said(guess, at)
    return Pairs(place[guess.task[at]], guess.worker[at], np.full(len(at), -1), values, held)


# groups ---------------------------------------------------------------------------------------------------------------


def slices(
    data: Dataset | None, known: Known, guess: Predicted, kept: np.ndarray, column: str
) -> Iterable[tuple[str, Scored]]:
    """The predictions of each group: of tasks by a column of the items; of workers or answers by another column, where
    only the group's answers and the predictions for its workers count."""
    said = about_tasks(data, known.tasks, column)
    if said is not None:
        names, code = grouped(said.tolist(), column)
        lost = int((kept & (code < 0))[np.unique(guess.task)].sum())
        if lost:
            log.info("%d tasks have no %s and are in no group", lost, column)
        for k, name in enumerate(names):
            yield name, aligned(known, guess, kept & (code == k))
        return
    if known.answers is None:
        raise Unknown.name("column to group by", column, columns(data))
    names, code = grouped(column_of(data, known.answers, column), column)
    if (code < 0).any():
        log.info("%d answers have no %s and are in no group", int((code < 0).sum()), column)
    of, who = known.rows[0], known.rows[1]
    whose = None if known.workers is None else one_group(who, code, len(known.workers))
    for k, name in enumerate(names):
        rows = code == k
        asked_ = np.zeros(len(known.tasks), bool)
        asked_[of[rows]] = True
        yield name, aligned(known, guess, kept & asked_, rows, None if whose is None else whose == k)


def one_group(worker: np.ndarray, code: np.ndarray, workers: int) -> np.ndarray | None:
    """[W] the group of each worker, -1 without answers; None where a worker's answers are in several groups."""
    group = np.full(workers, -1, np.int64)
    group[worker] = code
    return group if (group[worker] == code).all() else None
