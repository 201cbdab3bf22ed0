"""How far the scores of `manyvoices compare` go with being right: simulated crowds of many kinds, and parts of real sets.

    python benchmarks/compare_study.py [--seeds 10] [--out benchmarks/results/compare.json]

On each crowd the default methods are compared without truth; the truth then says how often each of them is right (a task
whose best classes tie counts by the share of them that are right). For each score: its rank correlation (Spearman) with
accuracy over the methods, and what choosing by it costs or gains beside always taking bcc. Real sets are measured where
MANYVOICES_DATA names the folder that holds them; otherwise those of the file before are kept.

Besides the scores of `compare` some others are tried, marked in CANDIDATES. `docs/build.py` turns the file into tables.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import numpy as np
import scipy

import manyvoices as mv
from manyvoices import comparison
from manyvoices.benchmark import commit, machine
from manyvoices.kernels import heldout

OUT = Path(__file__).parent / "results" / "compare.json"
METHODS = comparison.METHODS
SCORES = ("predicts_own", "predicts_tempered", "predicts_label")
CANDIDATES = {
    "untempered": "`predicts_tempered` without the power",
    "held-out tables": "the shared channel learned from the further hidden answers alone, no power",
    "held-out table": "the same, one table for all workers",
    "rank sum": "the sum of the ranks by the three scores",
    "peers": "how right the labels are expected to be if the mean of the methods' beliefs is true",
}
# the kinds of crowd (with other seeds) on which the two held-out candidates were tried first
LOOKED_AT = ("own habits", "guessers", "two labels", "yes or no", "adversaries", "passers-by")


# crowds ---------------------------------------------------------------------------------------------------------------


def dataset(task: np.ndarray, worker: np.ndarray, label: np.ndarray, truth: np.ndarray, classes: int) -> mv.Dataset:
    tasks, codes = mv.Names.numbered(len(truth)), mv.Names.numbered(classes)
    workers = mv.Names.numbered(int(worker.max()) + 1)
    answers = mv.Answers.from_codes(task, worker, label, tasks=tasks, workers=workers, classes=codes)
    items = mv.Items(tasks, codes, truth.astype(np.int64), None, None, None)
    return mv.Dataset(answers, items, None, None, "simulated", {}, [], {})


def drawn(
    seed: int,
    confusions: Callable[[np.random.Generator], np.ndarray],
    *,
    tasks: int = 500,
    per_task: int = 5,
    shares: tuple[float, ...] | None = None,
    hard: float = 0.0,
) -> mv.Dataset:
    """Everybody answers by a confusion matrix of their own; on a share of hard tasks half of the answers are guesses."""
    rng = np.random.default_rng(seed)
    tables = confusions(rng)
    workers, classes = tables.shape[:2]
    truth = rng.choice(classes, size=tasks, p=shares)
    worker = rng.random((tasks, workers)).argsort(axis=1)[:, :per_task].ravel().astype(np.int32)
    task = np.repeat(np.arange(tasks, dtype=np.int32), per_task)
    sums = tables.cumsum(axis=2)[worker, truth[task]]
    label = np.minimum((rng.random(len(task))[:, None] >= sums).sum(axis=1), classes - 1)
    guess = (rng.random(tasks) < hard)[task] & (rng.random(len(task)) < 0.5)
    label = np.where(guess, rng.integers(classes, size=len(task)), label)
    return dataset(task, worker, label, truth, classes)


def coins(workers: int, classes: int, low: float, high: float) -> Callable:
    """Right with a probability of their own, errors spread evenly."""

    def make(rng):
        right = rng.uniform(low, high, workers)[:, None, None]
        return right * np.eye(classes) + (1 - right) / (classes - 1) * (1 - np.eye(classes))

    return make


def guessers(workers: int, classes: int, share: float) -> Callable:
    """A share guesses, half of it at random and half always the same class; the others are right 60 to 90 % of the time."""

    def make(rng):
        tables = coins(workers, classes, 0.6, 0.9)(rng)
        for w in range(int(share * workers)):
            tables[w] = 1 / classes if w % 2 else np.eye(classes)[rng.integers(classes)]
        return tables

    return make


def liars(workers: int, classes: int, share: float) -> Callable:
    """A share always names the next class; the others are right 50 to 90 % of the time."""

    def make(rng):
        tables = coins(workers, classes, 0.5, 0.9)(rng)
        tables[: int(share * workers)] = np.roll(np.eye(classes), 1, axis=1)
        return tables

    return make


def by_class(workers: int, classes: int) -> Callable:
    """How often a worker is right depends on the class, from 40 to 95 %; errors prefer one other class."""

    def make(rng):
        right = rng.uniform(0.4, 0.95, (workers, classes))
        tables = np.zeros((workers, classes, classes))
        for k in range(classes):
            others = rng.dirichlet(np.full(classes - 1, 0.5), size=workers) * (1 - right[:, k, None])
            tables[:, k] = np.insert(others.T, k, right[:, k], axis=0).T
        return tables

    return make


def shared_errors(workers: int, classes: int) -> Callable:
    """All workers confuse a class with the same next one."""

    def make(rng):
        right = rng.uniform(0.4, 0.9, workers)[:, None, None]
        return right * np.eye(classes) + (1 - right) * np.roll(np.eye(classes), 1, axis=1)

    return make


def strategy(name: str, **options) -> Callable[[int], mv.Dataset]:
    return lambda seed: mv.simulate(name, workers=30, tasks=500, classes=5, seed=seed, **options)


KINDS: dict[str, tuple[str, Callable[[int], mv.Dataset]]] = {
    "own habits": (
        "independent_confusion: a confusion matrix each; 30 workers, 5 classes, 5 answers a task",
        strategy("independent_confusion", per_task=5),
    ),
    "hammers": (
        "hammer_spammer: 60 % guess, the others are always right",
        strategy("hammer_spammer", per_task=5, ratio=0.6),
    ),
    "copies": (
        "student_teacher: 80 % have the habits of a teacher",
        strategy("student_teacher", per_task=5, ratio=0.8),
    ),
    "difficulty": (
        "discrete_difficulty: half of the tasks easy, a tenth unknowable",
        strategy("discrete_difficulty", per_task=5, ratio=0.35, random=0.1),
    ),
    "two labels": ("own habits, 2 answers a task", strategy("independent_confusion", per_task=2)),
    "three labels": (
        "40 workers right 50 to 95 % of the time, 3 answers a task, 4 classes",
        lambda seed: drawn(seed, coins(40, 4, 0.5, 0.95), per_task=3),
    ),
    "passers-by": (
        "500 workers with about 5 answers each, right 40 to 95 % of the time, 5 classes",
        lambda seed: drawn(seed, coins(500, 5, 0.4, 0.95)),
    ),
    "yes or no": (
        "40 workers right 50 to 95 % of the time, 2 classes",
        lambda seed: drawn(seed, coins(40, 2, 0.5, 0.95)),
    ),
    "by class": (
        "40 workers whose rightness depends on the class, 40 to 95 %, 4 classes",
        lambda seed: drawn(seed, by_class(40, 4)),
    ),
    "yes or no by class": ("the same with 2 classes", lambda seed: drawn(seed, by_class(40, 2))),
    "rare yes": (
        "by class with 2 classes, one of them a tenth of the tasks",
        lambda seed: drawn(seed, by_class(40, 2), shares=(0.9, 0.1)),
    ),
    "rare classes": (
        "by class with 5 classes of 60, 20, 10, 6 and 4 %",
        lambda seed: drawn(seed, by_class(40, 5), shares=(0.6, 0.2, 0.1, 0.06, 0.04)),
    ),
    "guessers": (
        "half of 40 workers guess or always say the same, 4 classes",
        lambda seed: drawn(seed, guessers(40, 4, 0.5)),
    ),
    "adversaries": (
        "a fifth of 30 workers always names the next class, 4 classes",
        lambda seed: drawn(seed, liars(30, 4, 0.2)),
    ),
    "shared errors": (
        "all 30 workers confuse a class with the same other, right 40 to 90 % of the time, 6 classes",
        lambda seed: drawn(seed, shared_errors(30, 6)),
    ),
    "hard tasks": (
        "40 workers right 60 to 95 % of the time; on four tasks of ten half of the answers are guesses; 4 classes",
        lambda seed: drawn(seed, coins(40, 4, 0.6, 0.95), hard=0.4),
    ),
    "few tasks": (
        "50 tasks, 15 workers right 50 to 95 % of the time, 3 classes, 5 answers a task",
        lambda seed: drawn(seed, coins(15, 3, 0.5, 0.95), tasks=50),
    ),
    "many tasks": (
        "3,000 tasks, 60 workers whose rightness depends on the class, 4 classes, 5 answers a task",
        lambda seed: drawn(seed, by_class(60, 4), tasks=3000),
    ),
}

# set -> parts of it: (answers a task, share of the workers), None = all
PARTS: dict[str, list[tuple[int | None, float | None]]] = {
    "RTE": [(None, None), (2, None), (3, None), (5, None), (None, 0.5)],
    "LabelMe": [(None, None), (2, None), (None, 0.7), (None, 0.5)],
    "bluebirds": [(None, None), (3, None), (5, None), (10, None), (None, 0.5)],
    "CIFAR10H": [(None, None), (2, None), (3, None), (5, None)],
}
TIMES = 3  # how often a part is drawn


def part_of(data: mv.Dataset, answers_a_task: int | None, workers: float | None, seed: int) -> mv.Dataset:
    rng = np.random.default_rng(seed)
    task, worker, _ = data.answers.rows()
    keep = np.ones(len(task), bool)
    if workers is not None:
        chosen = rng.random(len(data.answers.workers)).argsort() < workers * len(data.answers.workers)
        keep &= chosen[worker]
    if answers_a_task is not None:
        order = np.lexsort((rng.random(len(task)), task))
        start = np.searchsorted(task, task[order])
        keep[order] &= np.arange(len(task)) - start < answers_a_task
    return mv.Dataset(data.answers.take(keep), data.items, None, None, data.format, {}, [], {})


# one crowd ------------------------------------------------------------------------------------------------------------


def measured(data: mv.Dataset, seed: int) -> dict[str, dict[str, float]]:
    """Method -> accuracy, the scores of compare, the candidates, and which one compare recommends (all without truth)."""
    with remembered() as seen:
        table = mv.compare(data.answers, seed=seed).to_polars()
    found: dict[str, dict[str, float]] = {name: {} for name in METHODS}
    for score, name, value in table.select("score", "name", "value").iter_rows():
        if score in (*SCORES, "recommended"):
            found[name][score] = value
        if score.removesuffix("_rank") in SCORES and score.endswith("_rank"):
            found[name]["rank sum"] = found[name].get("rank sum", 0.0) - value
    fits = {name: mv.aggregate(data.answers, name) for name in METHODS}
    truth = comparison.truth_of(data, data.answers)
    for name, fit in fits.items():
        found[name]["accuracy"] = rightness(fit.probs, truth)
    for candidate, values in candidates(data.answers, fits, seen, seed).items():
        for name, value in zip(METHODS, values, strict=True):
            found[name][candidate] = float(value)
    return found


def rightness(probs: np.ndarray, truth: np.ndarray) -> float:
    held = np.flatnonzero(truth >= 0)
    best = probs[held] >= probs[held].max(axis=1, keepdims=True) - 1e-9
    best = np.append(best, np.zeros((len(held), 1), bool), axis=1)  # a truth nobody said
    return float((best[np.arange(len(held)), truth[held]] / best.sum(axis=1)).mean())


@contextmanager
def remembered() -> Iterator[dict[str, list[mv.Consensus]]]:
    """The fits of a comparison by method, in the order they were made: each round's, and the one that chooses the power."""
    seen: dict[str, list[mv.Consensus]] = {}
    fit = comparison.Entry.fit

    def remembering(self, answers):
        found = fit(self, answers)
        seen.setdefault(self.about.name, []).append(found)
        return found

    comparison.Entry.fit = remembering
    try:
        yield seen
    finally:
        comparison.Entry.fit = fit


def candidates(
    answers: mv.Answers, fits: dict[str, mv.Consensus], seen: dict[str, list[mv.Consensus]], seed: int
) -> dict[str, list[float]]:
    some = answers.per_task() > 0
    probs = [fits[name].probs[some] for name in METHODS]
    mean = np.mean(probs, axis=0)
    best = [p >= p.max(axis=1, keepdims=True) - 1e-9 for p in probs]
    found = {name: [0.0] * len(METHODS) for name in ("untempered", "held-out tables", "held-out table")}
    found["peers"] = [((b * mean).sum(axis=1) / b.sum(axis=1)).mean() for b in best]
    every = comparison.single(answers)
    for number in range(5):
        outer, inner = comparison.splits(answers, every, 0.1, np.random.default_rng([seed, 10, number]))
        hidden, more, said = outer.hidden, inner.hidden, outer.said
        nobody = np.zeros_like(hidden.worker)
        each = heldout.Said(more.task, more.worker, more.label, None, said.tasks, said.workers, said.classes)
        pooled = heldout.Said(more.task, np.zeros_like(more.worker), more.label, None, said.tasks, 1, said.classes)
        for m, name in enumerate(METHODS):
            fit, first = seen[name][2 * number : 2 * number + 2]
            found["untempered"][m] += heldout.common(said, fit.probs, hidden.task, hidden.worker, hidden.label).mean()
            for key, channel, who in (("held-out tables", each, hidden.worker), ("held-out table", pooled, nobody)):
                found[key][m] += heldout.common(channel, first.probs, hidden.task, who, hidden.label).mean()
    return found


# what it comes to -----------------------------------------------------------------------------------------------------


def spearman(a: list[float], b: list[float]) -> float:
    from scipy.stats import rankdata

    a, b = rankdata(np.round(a, 12)), rankdata(np.round(b, 12))
    return float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) and np.ptp(b) else np.nan


def summed(crowds: list[dict[str, dict[str, float]]]) -> dict:
    """Over crowds of one kind: [mean, low, high] of rank correlations, of gains beside bcc, of what is lost beside the best."""
    accuracy = {name: np.array([crowd[name]["accuracy"] for crowd in crowds]) for name in METHODS}
    best = np.max([accuracy[name] for name in METHODS], axis=0)
    picks = {score: [taken(crowd, score) for crowd in crowds] for score in (*SCORES, *CANDIDATES)}
    picks |= {"recommended": [max(METHODS, key=lambda m, c=crowd: c[m]["recommended"]) for crowd in crowds]}
    picks |= {f"always {name}": [name] * len(crowds) for name in METHODS}
    reached = {rule: np.array([accuracy[m][i] for i, m in enumerate(who)]) for rule, who in picks.items()}
    return {
        "crowds": len(crowds),
        "accuracy": {name: round(float(values.mean()), 4) for name, values in accuracy.items()},
        "best": round(float(best.mean()), 4),
        "correlation": {
            score: interval(
                np.array(
                    [spearman(*zip(*((c[m][score], c[m]["accuracy"]) for m in METHODS), strict=True)) for c in crowds]
                )
            )
            for score in (*SCORES, *CANDIDATES)
        },
        "gain": {rule: interval(values - accuracy["bcc"]) for rule, values in reached.items()},
        "lost": {rule: interval(best - values) for rule, values in reached.items()},
        "took": {
            rule: float(np.mean([m != "bcc" for m in picks[rule]])) for rule in (*SCORES, *CANDIDATES, "recommended")
        },
    }


def taken(crowd: dict[str, dict[str, float]], score: str) -> str:
    """The method with the best score; bcc where it is among the best."""
    top = max(crowd[m][score] for m in METHODS)
    equal = [m for m in METHODS if crowd[m][score] >= top - 1e-12]
    return "bcc" if "bcc" in equal else equal[0]


def interval(values: np.ndarray) -> list[float | None]:
    """Mean with its 95 % interval (Student's t over crowds); nothing where no crowd gives a value."""
    from scipy.stats import t

    values = values[np.isfinite(values)]
    if not len(values):
        return [None, None, None]
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    ends = (values.mean(), values.mean() - half, values.mean() + half)
    return [round(float(x), 4) if np.isfinite(x) else None for x in ends]


def simulated(kind: str, seed: int) -> dict:
    return measured(KINDS[kind][1](seed), seed)


def real(folder: str, name: str, part: tuple[int | None, float | None], seed: int) -> dict:
    return measured(part_of(mv.read(Path(folder) / name), *part, seed), seed)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what the scores of compare are worth.")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kinds", help="only these kinds, separated by commas")
    given = parser.parse_args()
    began, at = time.time(), commit()  # of the code that is measured, whatever is committed meanwhile
    kinds = given.kinds.split(",") if given.kinds else list(KINDS)
    folder = os.environ.get("MANYVOICES_DATA", "")
    seeds = range(100, 100 + given.seeds)
    jobs: dict[str, dict[str, list]] = {"simulated": {}, "real": {}}
    with ProcessPoolExecutor(given.processes) as pool:
        for kind in kinds:
            jobs["simulated"][kind] = [pool.submit(simulated, kind, seed) for seed in seeds]
        for name, parts in PARTS.items() if folder and not given.kinds else ():
            if (Path(folder) / name).is_dir():
                jobs["real"][name] = [
                    pool.submit(real, folder, name, part, seed)
                    for part in parts
                    for seed in seeds[: 1 if part == (None, None) else TIMES]
                ]
        found: dict[str, dict[str, list]] = {"simulated": {}, "real": {}}
        for where, sets in jobs.items():
            for name, runs in sets.items():
                found[where][name] = [run.result() for run in runs]
                print(f"{name}: {time.time() - began:.0f} s", flush=True)
    before = json.loads(given.out.read_text()) if given.out.is_file() and not found["real"] else {}
    everything = [crowd for sets in found.values() for crowds in sets.values() for crowd in crowds]
    fresh = [crowd for name, crowds in found["simulated"].items() if name not in LOOKED_AT for crowd in crowds]
    known = [crowd for name, crowds in found["simulated"].items() if name in LOOKED_AT for crowd in crowds]
    whole = {
        "manyvoices": mv.__version__,
        "commit": at,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "machine": machine(),
        "date": date.today().isoformat(),
        "seconds": round(time.time() - began),
        "seeds": given.seeds,
        "methods": list(METHODS),
        "scores": list(SCORES),
        "candidates": CANDIDATES,
        "looked_at": list(LOOKED_AT),
        "kinds": {kind: KINDS[kind][0] for kind in kinds},
        "simulated": {name: summed(crowds) for name, crowds in found["simulated"].items()},
        "all simulated": summed([crowd for crowds in found["simulated"].values() for crowd in crowds]),
        "simulated, looked at": summed(known) if known else None,
        "simulated, not looked at": summed(fresh) if fresh else None,
        "real": {name: summed(crowds) for name, crowds in found["real"].items()} or before.get("real", {}),
        "all real": summed([crowd for crowds in found["real"].values() for crowd in crowds])
        if found["real"]
        else before.get("all real"),
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(whole, indent=1) + "\n")
    print(f"{given.out}: {len(everything)} crowds, {time.time() - began:.0f} s")


if __name__ == "__main__":
    main()
