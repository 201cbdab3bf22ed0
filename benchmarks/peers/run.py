"""Runs one method of one peer on one file of answers, and prints one JSON line. For the environment of make_env.py.

    python run.py PEER METHOD answers.csv|answers.npz [--iterations N] [--out result.json]
    python run.py --list

PEER is crowdkit, peerannot or cleanlab. A .csv has the columns task,worker,label (ids of any kind; the truth in another
file, --truth); a .npz has the arrays task worker label (codes), and truth and probs where known. The run needs no
network, has no children, and holds no lock, so whoever calls it may kill it at a time limit.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import inspect
import json
import os
import platform
import resource
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent

# The import of each peer is timed, so nothing heavy is imported above.
PACKAGES = {
    "crowdkit": ("crowd-kit", "crowdkit.aggregation"),
    "peerannot": ("peerannot", "peerannot.models"),
    "cleanlab": ("cleanlab", "cleanlab.multiannotator"),
}


class Method(NamedTuple):
    """How a peer spells a method."""

    name: str  # its class or function
    step: str | None = None  # what it calls once a step; without it the steps cannot be told apart
    limit: str | None = None  # its option for the number of steps
    whole: slice = slice(None)  # which of the times between those calls are those of a whole step


CROWDKIT = {
    "mv": Method("MajorityVote"),
    "wawa": Method("Wawa"),
    "zbs": Method("ZeroBasedSkill", None, "n_iter"),
    "ds": Method("DawidSkene", "_e_step", "n_iter"),
    "onecoin": Method("OneCoinDawidSkene", "_e_step", "n_iter"),
    "glad": Method("GLAD", "_e_step", "n_iter", slice(1, None)),  # the first E step stands alone
    "mace": Method("MACE", "_e_step", "n_iter", slice(-1)),  # the last one too
    "kos": Method("KOS", None, "n_iter"),
    "mmsr": Method("MMSR", None, "n_iter"),
}
PEERANNOT = {
    "mv": Method("MajorityVoting"),
    "ns": Method("NaiveSoft"),
    "ds": Method("DawidSkene", "_m_step", "maxiter"),
    "ds_sparse": Method("DawidSkeneSparse", "_e_step", "maxiter"),
    "dswc": Method("DawidSkeneClust", "variational_update"),
    "glad": Method("GLAD", "EStep", "maxiter"),
    "wds": Method("WDS"),
    "wawa": Method("Wawa"),
    "iwmv": Method("IWMV", "MV", "nb_iter"),
    "twothird": Method("TwoThird"),
    "plantnet": Method("PlantNet", None, "maxiter"),
    "alpha": Method("Krippendorff_Alpha"),
}
CLEANLAB = {"crowdlab": Method("get_label_quality_multiannotator"), "mv": Method("get_majority_vote_label")}
METHODS = {"crowdkit": CROWDKIT, "peerannot": PEERANNOT, "cleanlab": CLEANLAB}


@dataclass
class Clock:
    """Wall and CPU seconds of each part, and the moments at which a step began."""

    wall: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    marks: list[float] = field(default_factory=list)

    @contextlib.contextmanager
    def part(self, name: str):
        """Times what is done inside; of several times the same part, the best counts."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.wall[name] = min(self.wall.get(name, float("inf")), time.perf_counter() - wall)
            self.cpu[name] = min(self.cpu.get(name, float("inf")), time.process_time() - cpu)

    def watch(self, owner: type, name: str | None) -> type:
        """The class with a mark at each call of one of its functions."""
        if name is None:
            return owner
        original = getattr(owner, name)

        def watched(*args, **kwargs):
            self.marks.append(time.perf_counter())
            return original(*args, **kwargs)

        kept = staticmethod(watched) if isinstance(inspect.getattr_static(owner, name), staticmethod) else watched
        return type(owner.__name__, (owner,), {name: kept})


@dataclass
class Input:
    """The answers as a frame, codes made from them where a peer wants codes, and what is known of the truth."""

    frame: Any  # columns task, worker, label
    truth: Any = None  # label of each task
    probs: Any = None  # [T, K], tasks in their order of first appearance


def read(path: Path, truth: Path | None) -> Input:
    """What a user of pandas would do."""
    import numpy as np
    import pandas as pd

    if path.suffix == ".npz":
        with np.load(path) as file:
            frame = pd.DataFrame({name: file[name].astype(np.int64) for name in ("task", "worker", "label")})
            known = pd.Series(file["truth"].astype(np.int64)) if "truth" in file else None
            return Input(frame, known, file.get("probs"))
    frame = pd.read_csv(path)[["task", "worker", "label"]]
    known = pd.read_csv(truth).set_index("task")["label"] if truth else None
    return Input(frame, known)


def crowdkit(module, method: Method, data: Input, options: dict, iterations: int | None, clock: Clock):
    """Labels by task, and the number of steps done if the peer tells."""
    owner = getattr(module, method.name)
    fixed = {method.limit: iterations} if iterations and method.limit else {}
    if fixed and hasattr(owner(), "tol"):
        fixed["tol"] = -float("inf")  # all the steps asked for, whatever the loss does
    clock.marks.clear()
    with clock.part("fit"):
        model = clock.watch(owner, method.step)(**fixed, **options)
        labels = model.fit_predict(data.frame)
        clock.marks.append(time.perf_counter())
    history = getattr(model, "loss_history_", None)
    return labels, len(history) if history is not None else getattr(model, "n_iter", None)


def peerannot(module, method: Method, data: tuple, options: dict, iterations: int | None, clock: Clock):
    """Labels by task, and the number of steps done if the peer tells. Building its matrix is part of the fit."""
    import numpy as np
    import pandas as pd

    answers, tasks, workers, classes = data
    if not hasattr(module, method.name):
        module = importlib.import_module("peerannot.models.aggregation.dawid_skene")
    owner = clock.watch(getattr(module, method.name), method.step)
    fixed = {method.limit: iterations} if iterations and method.limit else {}
    if fixed and "epsilon" in inspect.signature(owner.run).parameters:
        fixed["epsilon"] = 0.0 if method.name.startswith("DawidSkene") else -1.0  # Dawid-Skene refuses less than 0
    sizes = {"n_workers": len(workers), "n_classes": len(classes)}
    with tempfile.TemporaryDirectory() as folder:
        place = {} if method.name.startswith("DawidSkene") else {"dataset": Path(folder)}
        clock.marks.clear()
        with clock.part("fit"):
            model = owner(answers, **sizes, **place, **options)
            if method.name == "Krippendorff_Alpha":
                model.run(folder)
                return None, None
            done = model.run(**fixed) if hasattr(model, "run") else None
            clock.marks.append(time.perf_counter())
            if method.name in ("MajorityVoting", "Wawa", "IWMV", "TwoThird", "PlantNet"):
                found = model.get_answers()
            else:
                found = np.argmax(model.get_probas(), axis=1)
    if hasattr(found, "todense"):
        found = found.todense()
    found = np.asarray(found, dtype=int)
    labels = pd.Series(np.where(found >= 0, np.asarray(classes)[found], None), index=tasks)
    return labels, done[1] if method.name in ("DawidSkene", "DawidSkeneSparse") else iterations if fixed else None


def nested(frame) -> tuple:
    """{task: {worker: label}} in codes, as peerannot wants it, and the names behind the codes."""
    import pandas as pd

    (task, tasks), (worker, workers), (label, classes) = (
        pd.factorize(frame[column], sort=column == "label") for column in ("task", "worker", "label")
    )
    answers: dict[int, dict[int, int]] = {}
    for t, w, k in zip(task.tolist(), worker.tolist(), label.tolist(), strict=True):
        answers.setdefault(t, {})[w] = k
    return answers, tasks, workers, classes


def cleanlab(module, method: Method, data: tuple, options: dict, iterations: int | None, clock: Clock):
    """Labels by task; it knows no steps."""
    import pandas as pd

    table, tasks, classes, probs = data
    run = getattr(module, method.name)
    with clock.part("fit"):
        if method.name == "get_majority_vote_label":
            found = run(table, **options)
        else:
            found = run(table, probs, verbose=False, **options)["label_quality"]["consensus_label"]
    return pd.Series(classes[pd.Series(found).to_numpy(dtype=int)], index=tasks), None


def dense(data: Input, method: str) -> tuple:
    """[T, W] with NaN where there is no answer, as cleanlab wants it."""
    import numpy as np
    import pandas as pd

    if method == "crowdlab" and data.probs is None:
        raise ValueError("crowdlab needs class probabilities: an array `probs` [tasks, classes] in the .npz file")
    (task, tasks), (worker, workers), (label, classes) = (
        pd.factorize(data.frame[column], sort=column == "label") for column in ("task", "worker", "label")
    )
    table = np.full((len(tasks), len(workers)), np.nan)
    table[task, worker] = label
    probs = data.probs[np.asarray(tasks)] if data.probs is not None else None
    return table, tasks, np.asarray(classes), probs


def measure(options: argparse.Namespace) -> dict:
    """The result; its `error` tells what went wrong, and what was measured till then is there."""
    found: dict[str, Any] = {
        "what": "peer",
        "peer": options.peer,
        "method": options.method,
        "file": options.file.name,
        "iterations": options.iterations,
        "options": dict(options.option),
    }
    clock = Clock()
    with contextlib.redirect_stdout(sys.stderr):
        try:
            labels = follow(options, clock, found)
            score(found, labels)
        except Exception as error:  # whatever a peer raises is a result
            found["error"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300]
    found["seconds"], found["cpu_seconds"] = clock.wall, clock.cpu
    found["peak_mb"] = peak_mb()
    found["python"] = platform.python_version()
    found["versions"] = {name: importlib.metadata.version(name) for name in ("numpy", "pandas", "scipy")}
    return found


def follow(options: argparse.Namespace, clock: Clock, found: dict) -> tuple:
    """Import, load, fit, write."""
    package, module_name = PACKAGES[options.peer]
    found["version"] = importlib.metadata.version(package)
    if options.peer == "peerannot":
        sys.path.insert(0, str(HERE / "stand_in"))
    with clock.part("import"):
        module = importlib.import_module(module_name)
    import numpy as np  # it is there by now: every peer imports it

    np.random.seed(0)  # noqa: NPY002 (peerannot breaks ties with the global state)
    with clock.part("load"):
        data = read(options.file, options.truth)
        frame, truth = data.frame, data.truth
        if options.peer == "peerannot":
            data = nested(frame)
        elif options.peer == "cleanlab":
            data = dense(data, options.method)
    found["answers"] = len(frame)
    for name, column in (("tasks", "task"), ("workers", "worker"), ("classes", "label")):
        found[name] = int(frame[column].nunique())
    found["loaded_mb"] = peak_mb()
    method = METHODS[options.peer][options.method]
    run = {"crowdkit": crowdkit, "peerannot": peerannot, "cleanlab": cleanlab}[options.peer]
    each: list[float] = []
    for _ in range(options.repeat):
        labels, steps = run(module, method, data, dict(options.option), options.iterations, clock)
        each += np.diff(clock.marks).tolist()[method.whole]
    if each or steps:
        found["steps"] = steps
        found["step"] = step_seconds(each or [clock.wall["fit"] / steps], len(frame) * found["classes"])
        found["step"]["seen"] = bool(each)
    if options.labels and labels is not None:
        with clock.part("write"):
            labels.rename("label").rename_axis("task").to_csv(options.labels)
    return labels, truth


def step_seconds(each: list[float], cells: int) -> dict:
    """Best, median and mean, and the best in nanoseconds an answer and class."""
    each = sorted(each)
    middle = (each[(len(each) - 1) // 2] + each[len(each) // 2]) / 2
    return {"best": each[0], "median": middle, "mean": sum(each) / len(each), "ns": each[0] / cells * 1e9}


def score(found: dict, labels_and_truth: tuple) -> None:
    """Accuracy over the tasks whose truth is known; a task without a label counts as wrong."""
    labels, truth = labels_and_truth
    if labels is not None and truth is not None:
        both = truth[truth.index.isin(labels.index)]
        found["accuracy"] = float((labels.reindex(both.index).to_numpy() == both.to_numpy()).mean())
        found["scored"] = len(both)


def peak_mb() -> float:
    """The most memory the process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)


def option(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value as JSON where it is JSON."""
    name, _, value = text.partition("=")
    with contextlib.suppress(json.JSONDecodeError):
        return name, json.loads(value)
    return name, value


def main() -> int:
    """One JSON line; exit code 0 when the method ran, 1 when the peer failed, 2 for a wrong call."""
    parser = argparse.ArgumentParser(description="Run one method of one peer on one file of answers, as one JSON line.")
    parser.add_argument("peer", nargs="?", choices=METHODS)
    parser.add_argument("method", nargs="?")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--iterations", type=int, help="so many steps, no more and no fewer (default: until it stops)")
    parser.add_argument("--truth", type=Path, help="task,label, for the accuracy")
    parser.add_argument("--option", type=option, action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--repeat", type=int, default=1, help="fit so many times; the best counts")
    parser.add_argument("--labels", type=Path, help="write the labels, timed as well")
    parser.add_argument("--out", type=Path, help="write the line here as well")
    parser.add_argument("--list", action="store_true", help="the methods of each peer, and nothing else")
    options = parser.parse_args()
    if options.list:
        print(json.dumps({peer: list(methods) for peer, methods in METHODS.items()}))
        return 0
    if not options.peer or options.file is None:
        parser.error("expected PEER METHOD FILE")
    if options.method not in METHODS[options.peer]:
        parser.error(f"{options.peer} has no {options.method}; known: {', '.join(METHODS[options.peer])}")
    if not options.file.exists():
        parser.error(f"{options.file}: no such file")
    found = measure(options)
    line = json.dumps(found)
    if options.out:
        part = options.out.with_name(options.out.name + ".part")
        part.write_text(line + "\n")
        os.replace(part, options.out)
    print(line)
    return 1 if "error" in found else 0


if __name__ == "__main__":
    sys.exit(main())
