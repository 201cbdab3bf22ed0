"""What one Dawid-Skene step can cost at the least: `ds.c`, compiled where it runs.

    python benchmarks/limit/limit.py --answers 1000000 --threads 2

The only part of the project that needs a C compiler (`cc`, or the environment variable CC).
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.ctypeslib import ndpointer

HERE = Path(__file__).resolve().parent
FLAGS = "-O3 -march=native -ffast-math -pthread -fPIC"


class Run(NamedTuple):
    """What `run` brings back."""

    seconds: np.ndarray  # [steps]
    evidence: np.ndarray  # [steps] log-likelihood of the parameters each step began with
    probs: np.ndarray  # [T, K] at the parameters of the last step


def seconds_per_step(task_start, worker, label, n_workers, n_classes, threads, steps) -> tuple[float, np.ndarray]:
    """The best time of one step, and the posteriors [T, K] after the last."""
    done = run(task_start, worker, label, n_workers, n_classes, threads, steps)
    return float(done.seconds.min()), done.probs


def run(task_start, worker, label, n_workers, n_classes, threads=1, steps=20, smoothing=0.01) -> Run:
    """Steps from vote shares over answers sorted by task; task t has the answers task_start[t] to task_start[t + 1]."""
    task_start, worker, label = np.asarray(task_start), np.asarray(worker), np.asarray(label)
    if min(threads, steps, n_classes, n_workers) < 1:
        raise ValueError("threads, steps, classes and workers: expected at least 1 of each")
    if len(worker) != len(label) or task_start[-1] != len(worker) or np.any(np.diff(task_start) < 0):
        raise ValueError("task_start: expected rising offsets that end at the number of answers")
    if len(worker) and (worker.min() < 0 or worker.max() >= n_workers or label.min() < 0 or label.max() >= n_classes):
        raise ValueError("a worker or label code is outside the stated number of workers or classes")
    tasks = len(task_start) - 1
    done = Run(np.empty(steps), np.empty(steps), np.empty((tasks, n_classes)))
    failed = library().dawid_skene(
        np.ascontiguousarray(task_start, np.int64),
        np.ascontiguousarray(worker, np.int32),
        np.ascontiguousarray(label, np.uint8),
        tasks,
        n_workers,
        n_classes,
        threads,
        steps,
        smoothing,
        done.probs,
        done.seconds,
        done.evidence,
    )
    if failed:
        raise MemoryError(f"no memory for {threads + 1} tables of {n_workers} workers and {n_classes} classes")
    return done


@functools.cache
def library() -> ctypes.CDLL:
    """`ds.c`, compiled and loaded.

    Compiled and linked in two steps: -ffast-math while linking would make the whole process flush tiny numbers to zero.
    """
    compiler = shlex.split(os.environ.get("CC", "cc"))
    with tempfile.TemporaryDirectory() as folder:
        parts, whole = f"{folder}/ds.o", f"{folder}/ds.so"
        for command in (
            [*compiler, *FLAGS.split(), "-c", str(HERE / "ds.c"), "-o", parts],
            [*compiler, "-shared", "-pthread", parts, "-lm", "-o", whole],
        ):
            try:
                subprocess.run(command, check=True, capture_output=True, text=True)
            except FileNotFoundError:
                raise OSError(f"{compiler[0]}: no such compiler; install one or name it in CC") from None
            except subprocess.CalledProcessError as error:
                raise OSError(f"{compiler[0]} could not compile ds.c: {error.stderr.strip()}") from None
        loaded = ctypes.CDLL(whole)
    array = functools.partial(ndpointer, flags="C_CONTIGUOUS")
    loaded.dawid_skene.restype = ctypes.c_int
    loaded.dawid_skene.argtypes = [
        *(array(np.int64), array(np.int32), array(np.uint8)),
        *(ctypes.c_int64, ctypes.c_int64, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_double),
        *(array(np.float64), array(np.float64), array(np.float64)),
    ]
    return loaded


def reference(task_start, worker, label, n_workers, n_classes, steps=20, smoothing=0.01) -> Run:
    """The same in plain NumPy, to check against."""
    task_start = np.asarray(task_start)
    counts = np.diff(task_start)
    task = np.repeat(np.arange(len(counts)), counts)
    row = worker.astype(np.int64) * n_classes + label
    probs = np.zeros((len(counts), n_classes))
    np.add.at(probs, (task, label), 1.0)
    probs = np.where(counts[:, None] > 0, probs / np.maximum(counts, 1)[:, None], 1 / n_classes)
    evidence = np.empty(steps + 1)
    for step in range(steps + 1):
        table = np.zeros((n_workers * n_classes, n_classes))
        np.add.at(table, row, probs[task])
        table = table.reshape(n_workers, n_classes, n_classes) + smoothing  # [w, l, k]
        table = np.log(np.maximum(table / np.maximum(table.sum(axis=1, keepdims=True), 1e-300), 1e-300))
        logs = np.tile(np.log(np.maximum(probs.mean(axis=0), 1e-300)), (len(counts), 1))
        np.add.at(logs, task, table.reshape(-1, n_classes)[row])
        top = logs.max(axis=1, keepdims=True)
        total = np.exp(logs - top).sum(axis=1, keepdims=True)
        evidence[step] = (top + np.log(total)).sum()
        probs = np.exp(logs - top) / total
    return Run(np.zeros(steps), evidence[:-1], probs)


def main() -> None:
    """Simulate, run, print one JSON line."""
    sys.path.insert(0, str(HERE.parent))
    import answers

    parser = argparse.ArgumentParser(description="Seconds of one Dawid-Skene step in C, as one JSON line.")
    answers.add_sizes(parser)
    parser.add_argument("--file", help="answers from a .npz file instead of simulated ones")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=5, help="runs of so many steps, of which the best counts")
    parser.add_argument("--check", action="store_true", help="compare with NumPy as well")
    options = parser.parse_args()
    data = answers.load(options.file) if options.file else answers.make_from(options)
    arrays = (data["task_start"], data["worker"], data["label"], int(data["workers"]), int(data["classes"]))
    done = [run(*arrays, threads=options.threads, steps=options.steps) for _ in range(options.repeat)]
    seconds = np.concatenate([each.seconds for each in done])
    found = {
        "what": "limit",
        "method": "ds",
        "answers": len(data["worker"]),
        "tasks": len(data["task_start"]) - 1,
        "workers": arrays[3],
        "classes": arrays[4],
        "threads": options.threads,
        "steps": options.steps,
        "step_seconds": float(seconds.min()),
        "step_seconds_median": float(np.median(seconds)),
        "ns": float(seconds.min() / len(data["worker"]) / arrays[4] * 1e9),
    }
    if "truth" in data:
        found["accuracy"] = float((done[-1].probs.argmax(axis=1) == data["truth"]).mean())
    if options.check:
        other = reference(*arrays, steps=options.steps)
        found["probs_off"] = float(np.abs(other.probs - done[-1].probs).max())
        found["evidence_off"] = float(np.abs(other.evidence - done[-1].evidence).max() / found["tasks"])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
