"""Measures for the page "Which method?": every aggregation method on simulated crowds of several kinds, and on real sets.

    python docs/which_method.py [--seeds 20] [--out benchmarks/results/which_method.json]

Real sets are measured where MANYVOICES_DATA names the folder that holds them; otherwise those of the file before are kept.
`docs/build.py` turns the file into tables. A task whose best classes tie counts by the share of them that are right, so
that no tie rule favours a method; a task without a label counts as wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl

import manyvoices as mv
from manyvoices.core import registry

OUT = Path(__file__).parents[1] / "benchmarks" / "results" / "which_method.json"
REAL = ("bluebirds", "RTE", "LabelMe", "CIFAR10H")
YARDSTICKS = ("mv", "bcc")

# kind -> (what it is, the crowd of a seed)
CROWDS = {
    "own habits": (
        "independent_confusion: 30 workers with a confusion matrix each, 500 tasks, 5 classes, 5 answers a task",
        lambda seed: mv.simulate("independent_confusion", workers=30, tasks=500, classes=5, per_task=5, seed=seed),
    ),
    "spammers": (
        "hammer_spammer: 60 % of 30 workers guess, the others are always right; 500 tasks, 5 classes, 5 answers a task",
        lambda seed: mv.simulate("hammer_spammer", workers=30, tasks=500, classes=5, per_task=5, ratio=0.6, seed=seed),
    ),
    "copies": (
        "student_teacher: 80 % of 30 workers have the habits of one of six teachers; 500 tasks, 5 classes, 5 answers a task",
        lambda seed: mv.simulate("student_teacher", workers=30, tasks=500, classes=5, per_task=5, ratio=0.8, seed=seed),
    ),
    "hard tasks": (
        "discrete_difficulty: half of the tasks easy, a tenth unknowable, 35 % good workers on the others; 500 tasks, 5 classes",
        lambda seed: mv.simulate(
            "discrete_difficulty", workers=30, tasks=500, classes=5, per_task=5, ratio=0.35, random=0.1, seed=seed
        ),
    ),
    "two labels": (
        "own habits with 2 answers a task",
        lambda seed: mv.simulate("independent_confusion", workers=30, tasks=500, classes=5, per_task=2, seed=seed),
    ),
    "passers-by": (
        "500 workers with about 5 answers each, right 40 to 95 % of the time, errors spread evenly; 500 tasks, 5 classes",
        lambda seed: crowd(seed, workers=500, tasks=500, classes=5, low=0.4),
    ),
    "50 classes": (
        "30 workers, right 30 to 90 % of the time, all confuse a class with the same two others; 1,000 tasks, 5 answers a task",
        lambda seed: crowd(seed, workers=30, tasks=1000, classes=50, low=0.3, high=0.9, near=2),
    ),
    "adversaries": (
        "a fifth of 30 workers always names another class, the same for a class; the others are right 50 to 90 % of the time",
        lambda seed: crowd(seed, workers=30, tasks=500, classes=4, low=0.5, high=0.9, liars=0.2),
    ),
    "yes or no": (
        "40 workers, right 50 to 95 % of the time whatever the truth; 500 tasks, 2 classes, 5 answers a task",
        lambda seed: crowd(seed, workers=40, tasks=500, classes=2, low=0.5),
    ),
}


def crowd(
    seed: int,
    *,
    workers: int,
    tasks: int,
    classes: int,
    low: float,
    high: float = 0.95,
    liars: float = 0.0,
    near: int | None = None,
    per_task: int = 5,
) -> mv.Dataset:
    """Each worker is right with their own probability; an error is one of the `near` next classes. Liars always name the next class."""
    near = classes - 1 if near is None else near
    rng = np.random.default_rng(seed)
    truth, skill = rng.integers(classes, size=tasks), rng.uniform(low, high, workers)
    lies = np.arange(workers) < liars * workers
    rows = []
    for task in range(tasks):
        for worker in rng.choice(workers, per_task, replace=False):
            step = 1 + rng.integers(near) if rng.random() >= skill[worker] else 0
            rows.append((str(task), str(worker), str((truth[task] + (1 if lies[worker] else step)) % classes)))
    data = mv.read(pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row"))
    codes = mv.Names.numbered(classes)
    return mv.Dataset(
        data.answers,
        mv.Items(mv.Names.numbered(tasks), codes, truth.astype(np.int64), None, None, None),
        None,
        None,
        "simulated",
        {},
        [],
        {},
    )


def methods() -> list[str]:
    """Those that work on plain classes from the answers alone."""
    return [
        name
        for name in registry.names("aggregate")
        if "ordered" not in (about := registry.about("aggregate", name)).needs
        and not about.required
        and (registry.METHODS / "aggregate" / f"{name}.py").is_file()
    ]


def hits(data: mv.Dataset, name: str) -> np.ndarray:
    """[tasks of known truth that have answers] how right the label is, from 0 to 1."""
    found = mv.aggregate(data, name)
    truth = data.items.truth_of(found.tasks)
    held = np.flatnonzero([t is not None and n > 0 for t, n in zip(truth, found.n, strict=True)])
    code = {name: k for k, name in enumerate(found.classes)}
    known = np.array([code.get(truth[i], -1) for i in held])
    if found.chosen is not None:
        return (found.chosen[held] == known).astype(float)
    probs = found.probs[held]
    best = probs >= probs.max(axis=1, keepdims=True) - 1e-9
    return np.where(known >= 0, best[np.arange(len(held)), np.maximum(known, 0)] / best.sum(axis=1), 0.0)


def measured(kind: str, seed: int) -> dict[str, float]:
    data = CROWDS[kind][1](seed)
    return {name: float(hits(data, name).mean()) for name in methods()}


def compared(per: dict[str, np.ndarray], z: float) -> dict[str, dict]:
    """Mean of each method, and its paired differences to the yardsticks with 95 % intervals."""
    found = {}
    for name, values in per.items():
        row = {"accuracy": round(float(values.mean()), 4)}
        for other in YARDSTICKS:
            gap = values - per[other]
            half = z * gap.std(ddof=1) / np.sqrt(len(gap))
            row[f"minus_{other}"] = [round(float(v), 4) for v in (gap.mean(), gap.mean() - half, gap.mean() + half)]
        found[name] = row
    return found


def real(folder: Path) -> dict[str, dict]:
    found = {}
    for name in REAL:
        if (folder / name).is_dir():
            data = mv.read(folder / name)
            found[name] = {
                "date": date.today().isoformat(),
                "methods": compared({m: hits(data, m) for m in methods()}, 1.96),
            }
    return found


def main() -> None:
    from scipy.stats import t

    parser = argparse.ArgumentParser(description="Measure every method for docs/which-method.md.")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    began = time.time()
    kinds = {}
    with ProcessPoolExecutor(2) as pool:
        for kind, (what, _) in CROWDS.items():
            runs = list(pool.map(measured, [kind] * given.seeds, range(given.seeds)))
            per = {name: np.array([run[name] for run in runs]) for name in runs[0]}
            kinds[kind] = {"what": what, "methods": compared(per, float(t.ppf(0.975, given.seeds - 1)))}
            print(f"{kind}: {time.time() - began:.0f} s", flush=True)
    before = json.loads(given.out.read_text())["real"] if given.out.is_file() else {}
    sets = real(Path(os.environ["MANYVOICES_DATA"])) if os.environ.get("MANYVOICES_DATA") else {}
    whole = {
        "manyvoices": mv.__version__,
        "python": platform.python_version(),
        "date": date.today().isoformat(),
        "seeds": given.seeds,
        "simulated": kinds,
        "real": before | sets,
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(whole, indent=1) + "\n")
    print(f"{given.out}: {time.time() - began:.0f} s")


if __name__ == "__main__":
    main()
