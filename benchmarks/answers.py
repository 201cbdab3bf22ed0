"""Simulated answers for measuring speed; needs NumPy only, so that every environment makes the same ones.

    python benchmarks/answers.py --answers 100000 --out answers.npz     codes: task worker label truth probs task_start
    python benchmarks/answers.py --answers 100000 --out answers.csv     text ids: task,worker,label (and truth.csv)

Each worker has one accuracy between .4 and .9 and errs evenly; each task is asked of workers drawn without repeats.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np


def make(answers: int, classes: int = 5, workers: int = 1000, per_task: int = 10, seed: int = 0) -> dict:
    """Codes of answers sorted by task, the truth, and where each task begins."""
    rng = np.random.default_rng(seed)
    tasks = answers // per_task
    if tasks < 1 or per_task > workers:
        raise ValueError("expected at least one task, and at least as many workers as answers a task")
    truth = rng.integers(classes, size=tasks)
    accuracy = rng.uniform(0.4, 0.9, size=workers)
    worker = distinct(rng, tasks, per_task, workers)
    wrong = (truth[:, None] + rng.integers(1, max(classes, 2), size=worker.shape)) % classes
    label = np.where(rng.random(worker.shape) < accuracy[worker], truth[:, None], wrong)
    return {
        "task": np.repeat(np.arange(tasks, dtype=np.int32), per_task),
        "worker": worker.ravel().astype(np.int32),
        "label": label.ravel().astype(np.uint8),
        "truth": truth.astype(np.uint8),
        "probs": classifier(np.random.default_rng([seed, 1]), truth, classes),
        "task_start": np.arange(tasks + 1, dtype=np.int64) * per_task,
        "workers": workers,
        "classes": classes,
    }


def classifier(rng: np.random.Generator, truth: np.ndarray, classes: int) -> np.ndarray:
    """[T, K] what a middling classifier might say, for the methods that want to know."""
    logits = rng.normal(size=(len(truth), classes))
    logits[np.arange(len(truth)), truth] += 1.5
    shares = np.exp(logits)
    return shares / shares.sum(axis=1, keepdims=True)


def distinct(rng: np.random.Generator, rows: int, per_row: int, size: int) -> np.ndarray:
    """[rows, per_row] numbers below `size`, none twice in a row; in parts, for memory."""
    found = rng.integers(size, size=(rows, per_row))
    while True:
        ordered = np.sort(found, axis=1)
        again = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not len(again):
            return found
        if per_row * 4 > size:
            found[again] = rng.permuted(np.tile(np.arange(size), (len(again), 1)), axis=1)[:, :per_row]
        else:
            found[again] = rng.integers(size, size=(len(again), per_row))


def load(path: str) -> dict:
    """What `save` wrote as .npz."""
    with np.load(path) as file:
        return dict(file)


def save(data: dict, path: Path, shuffled: bool = False) -> None:
    """As codes (.npz) or as text (.csv, its truth beside it), of which the rows may be in random order."""
    if path.suffix == ".npz":
        np.savez(path, **data)
        return
    order = np.random.default_rng(0).permutation(len(data["task"])) if shuffled else slice(None)
    with open(path, "w", encoding="utf-8") as file:
        file.write("task,worker,label\n")
        rows = zip(*(data[name][order].tolist() for name in ("task", "worker", "label")), strict=True)
        file.writelines(f"task{t},worker{w},class{k}\n" for t, w, k in rows)
    with open(path.with_name("truth.csv"), "w", encoding="utf-8") as file:
        file.write("task,label\n")
        file.writelines(f"task{t},class{k}\n" for t, k in enumerate(data["truth"].tolist()))


def add_sizes(parser: argparse.ArgumentParser) -> None:
    """The options of `make`."""
    parser.add_argument("--answers", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=5)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--per-task", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)


def make_from(options: argparse.Namespace) -> dict:
    """`make` with the options of `add_sizes`."""
    return make(options.answers, options.classes, options.workers, options.per_task, options.seed)


def main() -> None:
    """Write one file."""
    parser = argparse.ArgumentParser(description="Simulated answers for measuring speed.")
    add_sizes(parser)
    parser.add_argument("--out", type=Path, required=True, help="a .npz or .csv file")
    parser.add_argument("--shuffled", action="store_true", help="rows of a .csv file in random order")
    options = parser.parse_args()
    save(make_from(options), options.out, options.shuffled)


if __name__ == "__main__":
    main()
