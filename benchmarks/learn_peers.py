"""CrowdLayer and CoNAL beside other packages' on the same features, crowds and seeds: how right, and how long an epoch takes.

    manyvoices bench learn_peers [--only "50 workers"] [--peer PATH]
    python benchmarks/learn_peers.py benchmarks/suites/learn_peers.toml

    [[cell]]
    name = "digits, 50 workers, 2 or 3 answers"
    of = "digits"                or made: `items` items of `features` numbers in `classes` classes, features on disk
    crowd = "independent"        or correlated, spammers (learn.py)
    workers = 50
    answers_a_task = [2, 3]
    methods = ["crowdlayer"]     and options of a cell's own, such as `epochs`; the rest is that of the suite
    ways = ["answers"]           of the peers' ways those with these names; without it all
    seeds = [0]
    scores = false               only the time
    threads = 2                  of torch; 1 without it

Both sides get the same net from the same start, the same optimiser, rates, clipping, epochs, held-out answers that choose the
weights, and as many steps an epoch. They take turns, in one process. An epoch is training and the held-out score; the first
is not counted, and the best of the others stands in the table: seconds of one core, or of the clock with more threads.

A peer is a Python file, whose path `--peer` gives, or whose name in benchmarks/peers/ the suite has, with

    NAME                        what it is called
    WAYS                        method -> ways of doing it, which are names; "crowdlayer" and "conal" are asked for
    start(method, way, task)    -> what has  epoch(number), which trains one epoch and asks the held-out answers,
                                and  predict(x) -> probabilities [n, classes] of the weights that these like best

`task` is a Task, below. benchmarks/peers/crowdkit_learn.py is one.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import importlib.metadata
import importlib.util
import json
import os
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import learn
import numpy as np
import polars as pl

import manyvoices as mv
from manyvoices.benchmark import commit, machine, short, times
from manyvoices.core.content import content_of
from manyvoices.kernels import em

HERE = Path(__file__).parent
OUT = HERE / "results" / "learn_peers.jsonl"
OURS = "manyvoices"


@dataclass(frozen=True, eq=False)
class Said:
    """Answers to some items."""

    x: Any  # [n, D] float32 tensor, on one scale
    at: np.ndarray  # [N] which of the n items
    worker: np.ndarray  # [N]
    label: np.ndarray  # [N]


@dataclass(frozen=True, eq=False)
class Task:
    """What a peer is given."""

    train: Said
    dev: Said  # held out
    workers: int
    classes: int
    net: Any  # torch module, [B, D] -> logits [B, classes]; a copy of where ours starts
    options: dict[
        str, Any
    ]  # epochs, batch (items), lr, decay (of the net; the workers' numbers have none), clip; cosine
    seed: int


def task_of(data: mv.Dataset, options: dict[str, Any], seed: int) -> tuple[Task, Any]:
    """The same that `learn` makes of the data set, as arrays; and the test items [n, D]."""
    import torch

    from manyvoices.nn import devices
    from manyvoices.nn.nets import Net, Standard
    from manyvoices.nn.training import Training

    content, split = content_of(data.items), split_of(data)
    task, worker, label = data.answers.rows()
    item = content.ids.code(data.answers.tasks)[task]
    width, K = content.values.shape[1], len(data.answers.classes)

    def features(rows: np.ndarray) -> Any:
        return torch.from_numpy(np.asarray(content.values[rows], np.float32))

    scale = Standard(width)
    taught = np.unique(item[split[item] == "train"])
    scale.learn(content.values, taught if len(taught) <= 20_000 else taught[:: len(taught) // 20_000 + 1])

    def said(name: str) -> Said:
        some = np.flatnonzero(split[item] == name)
        rows, at = np.unique(item[some], return_inverse=True)
        return Said(scale(features(rows)), at, worker[some].astype(np.int64), label[some].astype(np.int64))

    with devices.drawing(Training(seed=seed).stream("init")):
        net = Net(torch.nn.Identity(), width, K, options["hidden"], options["dropout"]).head
    known = Task(said("train"), said("dev"), len(data.answers.workers), K, net, options, seed)
    return known, scale(features(np.flatnonzero(split == "test")))


def split_of(data: mv.Dataset) -> np.ndarray:
    split = dict(zip(*data.items.split.select("task", "split").to_dict(as_series=False).values(), strict=True))
    return np.array([split[name] for name in content_of(data.items).ids])


def made(about: dict[str, Any], seed: int, folder: Path) -> mv.Dataset:
    """Many items: a cloud a class, in half precision on disk. Nine of ten teach, the rest are dev and test."""
    items, K, D, each = about["items"], about["classes"], about["features"], about["answers_a_task"][0]
    rng = np.random.default_rng([seed, 22])
    truth = rng.integers(K, size=items)
    middle = 0.15 * rng.normal(size=(K, D))
    folder.mkdir(parents=True)
    values = np.lib.format.open_memmap(folder / "features.npy", "w+", np.float16, (items, D))
    for a in range(0, items, 10_000):
        part = truth[a : a + 10_000]
        values[a : a + 10_000] = middle[part] + rng.normal(size=(len(part), D))
    values.flush()
    del values
    ids = np.array(learn.numbered(items))
    (folder / "tasks.txt").write_text("".join(f"{name}\n" for name in ids))
    split = np.array(["train", "dev", "test"])[rng.choice(3, items, p=[0.9, 0.05, 0.05])]
    pl.DataFrame({"task": ids, "split": split}).write_csv(folder / "splits.csv")
    pl.DataFrame({"task": ids, "label": truth.astype(str)}).write_csv(folder / "truth.csv")
    task, worker = np.repeat(np.arange(items), each), rng.integers(about["workers"], size=items * each)
    label = np.where(rng.random(len(task)) < 0.6, truth[task], rng.integers(K, size=len(task)))
    rows = {"task": ids[task], "worker": worker.astype(str), "label": label.astype(str)}
    pl.DataFrame(rows).write_csv(folder / "answers.csv")
    return mv.read(folder, classes=learn.numbered(K))


def dataset(about: dict[str, Any], seed: int, folder: Path) -> mv.Dataset:
    if about["of"] == "made":
        return made(about, seed, folder)
    return learn.dataset(about, learn.source(about["of"], None), seed, folder)


# one run --------------------------------------------------------------------------------------------------------------

Clock = tuple[float, float]


def now() -> Clock:
    return time.perf_counter(), time.process_time()


def ours(data: mv.Dataset, method: str, options: dict[str, Any], seed: int) -> tuple[np.ndarray, list[Clock]]:
    """Probabilities of the test items, and when each epoch ended."""
    marks: list[Clock] = []
    em.watch(lambda what, *_: marks.append(now()) if what == "loss" else None)
    try:
        model, _ = learn.learned(data, method, options | {"seed": seed, "encoder": "features"})
    finally:
        em.watch(None)
    return learn.in_order(model.predict(data.items), model, data)[split_of(data) == "test"], marks


def theirs(
    peer: ModuleType, way: str, data: mv.Dataset, method: str, options: dict[str, Any], seed: int
) -> tuple[np.ndarray, list[Clock]]:
    import torch

    task, test = task_of(data, options, seed)
    torch.manual_seed(seed)
    fit, marks = peer.start(method, way, task), []
    for number in range(options["epochs"]):
        fit.epoch(number)
        marks.append(now())
    return np.asarray(fit.predict(test)), marks


def one(fit: Callable[[], tuple[np.ndarray, list[Clock]]], goal: np.ndarray | None, threads: int, limit: float) -> dict:
    """Seconds of an epoch, memory, and how right it is; or why there are none."""
    import torch

    torch.set_num_threads(threads)
    try:
        with learn.alarm(limit), Held() as held:
            probs, marks = fit()
        wall, cpu = (np.diff([mark[clock] for mark in marks]) for clock in (0, 1))
        found = {"epoch": (cpu if threads == 1 else wall).min()}
        found |= {"wall": wall.min(), "cpu": cpu.min(), "median_wall": np.median(wall), "median_cpu": np.median(cpu)}
        found |= {"epochs_timed": len(wall), "memory_mb": held.more}
        if goal is not None:
            hit = probs.argmax(axis=1) == goal
            loss = -np.log(probs[np.arange(len(goal)), goal].clip(1e-12)).mean()
            found |= {"n": len(goal), "accuracy": hit.mean(), "log_loss": loss}
            found |= {"hits": np.packbits(hit).tobytes().hex()}
    except Exception as error:  # whatever it is, it is a result
        found = {"error": f"{type(error).__name__}: {error}"[:200]}
    return {name: round(float(x), 6) if isinstance(x, float | np.floating) else x for name, x in found.items()}


class Held:
    """The most memory of its own, files that are mapped not counted, that the process held meanwhile over what it held
    before, in MB."""

    def __enter__(self) -> Held:
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)  # what earlier runs left would hide what this one needs
        self.first = self.most = own_mb()
        self.over = threading.Event()
        self.looking = threading.Thread(target=self.look, daemon=True)
        self.looking.start()
        return self

    def look(self) -> None:
        while not self.over.wait(0.02):
            self.most = max(self.most, own_mb())

    def __exit__(self, *_) -> None:
        self.over.set()
        self.looking.join()
        self.more = max(self.most, own_mb()) - self.first


def own_mb() -> float:
    status = Path("/proc/self/status")
    return int(status.read_text().split("RssAnon:")[1].split()[0]) / 1024 if status.exists() else float("nan")


# the suite ------------------------------------------------------------------------------------------------------------


def loaded(path: Path) -> ModuleType:
    """A peer from its file."""
    if not path.is_file():
        raise SystemExit(
            f"{path}: no such file; expected a Python file with NAME, WAYS and start (learn_peers.py says how)"
        )
    spec = importlib.util.spec_from_file_location(f"peer_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    peer = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = peer
    spec.loader.exec_module(peer)
    if absent := [name for name in ("NAME", "WAYS", "start") if not hasattr(peer, name)]:
        raise SystemExit(
            f"{path}: no {', '.join(absent)} in it; expected NAME, WAYS and start (learn_peers.py says how)"
        )
    return peer


def runs(cell: dict[str, Any], method: str, peers: list[ModuleType]) -> list[tuple[str, ModuleType | None, str]]:
    """Who does it: ours, then each way of each peer."""
    found: list[tuple[str, ModuleType | None, str]] = [(OURS, None, "")]
    for peer in peers:
        ways = [way for way in peer.WAYS.get(method, ()) if way in cell.get("ways", [way])]
        found += [(f"{peer.NAME}, {way}", peer, way) for way in ways]
    return found


def run(suite: dict[str, Any], out: Path, only: str | None, limit: float, peers: list[ModuleType]) -> list[dict]:
    about = {"commit": commit(), "machine": machine(), "versions": versions(), "when": time.strftime("%Y-%m-%d")}
    out.parent.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder, out.open("w", encoding="utf-8") as file:
        os.environ["MANYVOICES_HOME"] = str(Path(folder) / "home")  # features on disk go with the rest
        for number, cell in enumerate(suite["cell"]):
            if only is not None and only not in cell["name"]:
                continue
            for seed in cell.get("seeds", suite["seeds"]):
                data = dataset(cell, seed, Path(folder) / f"{number}-{seed}")
                goal = truth_of(data) if cell.get("scores", True) else None
                for method in cell.get("methods", suite["methods"]):
                    options = {name: cell.get(name, value) for name, value in suite["options"].items()}
                    for who, peer, way in runs(cell, method, peers):
                        given = (data, method, options, seed)
                        fit = (
                            (lambda a=given: ours(*a))
                            if peer is None
                            else (lambda p=peer, w=way, a=given: theirs(p, w, *a))
                        )
                        row = {"cell": cell["name"], "method": method, "who": who, "seed": seed}
                        row |= one(fit, goal, cell.get("threads", 1), limit)
                        row["same_test"] = False  # another fifth of the items with every seed
                        rows.append(row | about)
                        file.write(json.dumps(rows[-1]) + "\n")
                        file.flush()
                        print(f"{cell['name']:44} {seed} {method:11} {who:28} {shown(row)}", flush=True)
    return rows


def truth_of(data: mv.Dataset) -> np.ndarray:
    """[n] of the test items."""
    ids = content_of(data.items).ids
    test = [name for name, split in zip(ids, split_of(data), strict=True) if split == "test"]
    return data.answers.classes.code([truth or "" for truth in data.items.truth_of(mv.Names(test))])


def shown(row: dict) -> str:
    if "error" in row:
        return row["error"]
    right = f"{row['accuracy']:.3f}  " if "accuracy" in row else ""
    return f"{right}{1000 * row['epoch']:.3g} ms an epoch, {row['memory_mb']:.0f} MB"


def versions() -> dict[str, str]:
    found = {"manyvoices": mv.__version__}
    for name in ("torch", "numpy", "crowd-kit"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


# tables ---------------------------------------------------------------------------------------------------------------


def table(rows: list[dict]) -> str:
    """A line for each cell, method and way of a peer."""
    first, many = rows[0], len({row["seed"] for row in rows})
    known = ", ".join(f"{name} {version}" for name, version in first["versions"].items())
    commits = ", ".join(dict.fromkeys(row["commit"] for row in rows))
    parts = [
        f"{first['when']}, {first['machine']}, {known}, commit {commits}; both sides of a cell in turns. Accuracy on test "
        f"items, mean over up to {many} seeds; the difference is ours minus theirs, paired, with its 95 % interval (the wider "
        "of that over seeds and that over items). An epoch is training and the held-out score, the best of all: of one core, "
        "or of the clock where two threads are named. Memory is what a fit needs on top, files that are mapped not counted.\n",
        "\n| cell | method | beside | accuracy, ours / theirs | difference [95 %] | ms an epoch, ours / theirs | times faster "
        "| MB, ours / theirs |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n",
    ]
    for cell, method in dict.fromkeys((row["cell"], row["method"]) for row in rows):
        here = [row for row in rows if (row["cell"], row["method"]) == (cell, method)]
        mine = [row for row in here if row["who"] == OURS]
        others = list(dict.fromkeys(row["who"] for row in here if row["who"] != OURS))
        for who in others or [""]:
            parts.append(line(cell, method, who, mine, [row for row in here if row["who"] == who]))
    return "".join(parts)


def line(cell: str, method: str, who: str, mine: list[dict], other: list[dict]) -> str:
    failed = sorted({row["error"] for row in [*mine, *other] if "error" in row})
    right = both([mean(part, "accuracy") for part in (mine, other)], "{:.3f}".format)
    found = learn.difference(mine, other, "accuracy") if mean(other, "accuracy") is not None else None
    gap = ""
    if found is not None:
        middle, half = found
        gap = f"{middle:+.3f} [{middle - half:+.3f}, {middle + half:+.3f}]"
    best = [min((1000 * row["epoch"] for row in part if "epoch" in row), default=None) for part in (mine, other)]
    faster = times(best[1] / best[0]) if None not in best else ""
    memory = both([mean(part, "memory_mb") for part in (mine, other)], "{:.0f}".format)
    taken = both(best, short)
    return f"| {cell} | {method} | {who or '-'} | {right} | {gap} | {taken} | {faster} | {'; '.join([memory, *failed])} |\n"


def mean(rows: list[dict], name: str) -> float | None:
    values = [row[name] for row in rows if name in row]
    return float(np.mean(values)) if values else None


def both(pair: list[float | None], how: Callable[[float], str]) -> str:
    return " / ".join(how(x) for x in pair if x is not None)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure crowdlayer and conal beside other packages.")
    parser.add_argument("suite", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--only", help="only cells with this in their name")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds a fit may take")
    parser.add_argument("--peer", type=Path, action="append", default=[], help="another package's file, as said above")
    given = parser.parse_args()
    suite = tomllib.loads(given.suite.read_text(encoding="utf-8"))
    peers = [loaded(path) for path in [*(HERE / "peers" / name for name in suite["peers"]), *given.peer]]
    rows = run(suite, given.out, given.only, given.limit, peers)
    if not rows:
        raise SystemExit(f"no cell of {given.suite} has {given.only!r} in its name")
    given.out.with_suffix(".md").write_text(table(rows), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
