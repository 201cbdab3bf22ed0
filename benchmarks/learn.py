"""What the methods of `learn` are worth: every one on real and simulated crowds, beside the usual two steps.

    manyvoices bench learn [--only "digits"]      or    python benchmarks/learn.py benchmarks/suites/learn.toml

The suite fixes data, methods, options and seeds before the first run. A seed stands for a split of the items, a draw of a
simulated crowd, and a start of the network; all methods meet the same. A line of results is written as soon as it is
known, and lines that are there are not made again: a run that was stopped goes on (to repeat some, take their lines out).

    [[data]]
    name = "digits, spammers"
    of = "digits"            or RTE, HS-Brexit, MD-Agreement, CIFAR10H (in the folder MANYVOICES_DATA names)
    crowd = "spammers"       or independent, correlated, learners; without it, the answers that come with the data
    tasks = 3000             so many of them, drawn once
    encoder = "features"
    answers_a_task = [2, 3]  of a simulated crowd
    options = {lr = 0.01}    of its own, beside those of the suite

Of digits and texts a fifth is tested on, another one with each of five seeds. Of CIFAR10H 500 images have answers: real
crowds teach with them and are tested on the other 1,000; simulated crowds the other way round. An eighth of the rest
chooses the weights (by its answers, never by the truth). Answers to test items are seen by nobody but the scores.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import manyvoices as mv
from manyvoices.benchmark import commit, machine
from manyvoices.core.content import content_of
from manyvoices.core.labels import choose
from manyvoices.methods.evaluate.ece import Error, of_bins
from manyvoices.methods.simulate._crowd import dominant, rows

OUT = Path(__file__).parent / "results" / "learn.jsonl"
FOLDS = 5
BASE = "classifier on mv"  # what the others are compared with


# data -----------------------------------------------------------------------------------------------------------------


@dataclass
class Source:
    """n items with what is known about them."""

    ids: list[str]
    table: pl.DataFrame | None  # task and text
    array: np.ndarray | None  # features, or images
    truth: np.ndarray | None  # [n] codes
    classes: int
    answers: pl.DataFrame | None  # task, worker, label
    answered: np.ndarray | None = None  # [n] where answers decide who teaches and who tests


def source(of: str, tasks: int | None) -> Source:
    if of == "digits":
        from sklearn.datasets import load_digits

        held = load_digits()
        return Source(numbered(len(held.target)), None, np.float32(held.data / 16), held.target, 10, None)
    folder = Path(os.environ["MANYVOICES_DATA"]) / of
    data = mv.read(folder)
    task, worker, label = data.answers.rows()
    names = [np.array(part.to_list()) for part in (data.answers.tasks, data.answers.workers, data.answers.classes)]
    answers = pl.DataFrame({"task": names[0][task], "worker": names[1][worker], "label": names[2][label]})
    K = len(data.answers.classes)
    if of == "CIFAR10H":
        with np.load(folder / "images.npz") as held:
            ids, images, truth = held["tasks"].astype(str), held["images"], held["labels"].astype(int)
        return Source(ids.tolist(), None, images, truth, K, answers, np.isin(ids, answers["task"]))
    table = data.items.table.select([c for c in ("task", "text", "hypothesis") if c in data.items.table.columns])
    if tasks is not None:
        table = table[np.sort(np.random.default_rng(0).permutation(table.height)[:tasks])]
    ids = table["task"].to_list()
    known = data.items.truth_of(mv.Names(ids))
    truth = None if None in known else np.array([data.answers.classes.to_list().index(label) for label in known])
    return Source(ids, table, None, truth, K, answers.filter(pl.col("task").is_in(ids)))


def numbered(n: int) -> list[str]:
    return [str(i) for i in range(n)]


def habits(kind: str, rng: np.random.Generator, workers: int, classes: int) -> np.ndarray:
    """Confusion matrices [W, K, K]. A habit is right about half the time, and errs towards a few classes."""
    if kind == "independent":
        return dominant(rows(rng, workers, classes, 0.2))
    if kind == "correlated":  # a tenth teaches, everybody else has the habits of one of them
        teachers = dominant(rows(rng, workers // 10, classes, 0.2))
        return teachers[np.r_[: len(teachers), rng.integers(len(teachers), size=workers - len(teachers))]]
    assert kind == "spammers"  # seven of ten guess, the others are always right
    guess = np.arange(workers) < 0.7 * workers
    return np.where(guess[:, None, None], 1 / classes, np.eye(classes))


def crowd(kind: str, found: Source, many: tuple[int, ...], seed: int, workers: int):
    """Task, worker and label of a simulated crowd; each item has as many answers as one of `many`, at random."""
    rng, n = np.random.default_rng([seed, 20]), len(found.truth)
    says = learners(rng, found, workers) if kind == "learners" else None
    sums = None if kind == "learners" else habits(kind, rng, workers, found.classes).cumsum(axis=2)
    most = max(many)
    worker = rng.random((n, workers)).argsort(axis=1)[:, :most].ravel()
    task = np.repeat(np.arange(n), most)
    if says is not None:
        label = says[worker, task]
    else:
        label = (rng.random(len(task))[:, None] >= sums[worker, found.truth[task]]).sum(axis=1)
        label = label.clip(max=found.classes - 1)
    keep = (np.arange(most) < rng.choice(many, size=n)[:, None]).ravel()
    return task[keep], worker[keep], label[keep]


def learners(rng: np.random.Generator, found: Source, workers: int) -> np.ndarray:
    """[W, n] what workers say who are nets themselves, each taught a part of the truth, as in the public code of the papers
    on annot-mix and MaDL: of each class a share ~ Beta(a, b), a ~ U(0, 1), b ~ U(.5, 2), in 1 to 20 epochs, rate up to .1."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    says = np.zeros((workers, len(found.truth)), int)
    for w in range(workers):
        part = np.zeros(0, int)
        a, b = rng.uniform(0, 1), rng.uniform(0.5, 2)
        while len(part) < 10:
            shares = rng.beta(a, b, found.classes)
            of = [np.flatnonzero(found.truth == k) for k in range(found.classes)]
            part = np.concatenate([rng.choice(x, int(share * len(x))) for x, share in zip(of, shares, strict=True)])
        net = MLPClassifier(
            128, batch_size=min(64, len(part)), learning_rate_init=rng.uniform(1e-4, 0.1),
            max_iter=int(rng.integers(1, 21)), tol=0, n_iter_no_change=100, random_state=int(rng.integers(2**31)),
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            says[w] = net.fit(found.array[part], found.truth[part]).predict(found.array)
    return says


def splits(found: Source, simulated: bool, seed: int) -> np.ndarray:
    """[n] train, dev or test."""
    n = len(found.ids)
    if found.answered is None:
        test = np.zeros(n, bool)
        test[np.random.default_rng(0).permutation(n)[seed % FOLDS :: FOLDS]] = True
    else:
        test = found.answered if simulated else ~found.answered
    rest = np.random.default_rng([seed, 21]).permutation(np.flatnonzero(~test))
    split = np.where(test, "test", "train").astype("<U5")
    split[rest[: len(rest) // 8]] = "dev"
    return split


def dataset(about: dict, found: Source, seed: int, folder: Path) -> mv.Dataset:
    """A folder as a user would have it, and what `read` makes of it."""
    kind, answers = about.get("crowd"), found.answers
    if kind:
        task, worker, label = crowd(kind, found, tuple(about["answers_a_task"]), seed, about.get("workers", 30))
        names = np.array(found.ids)
        answers = pl.DataFrame({"task": names[task], "worker": worker.astype(str), "label": label.astype(str)})
    folder.mkdir(parents=True)
    answers.write_csv(folder / "answers.csv")
    split = splits(found, bool(kind), seed)
    pl.DataFrame({"task": found.ids, "split": split.tolist()}).write_csv(folder / "splits.csv")
    if found.truth is not None:
        pl.DataFrame({"task": found.ids, "label": found.truth.astype(str)}).write_csv(folder / "truth.csv")
    if found.table is not None:
        found.table.write_ndjson(folder / "items.jsonl")
    elif found.array.ndim == 4:
        np.savez(folder / "images.npz", tasks=np.array(found.ids), images=found.array)
    else:
        np.save(folder / "features.npy", found.array)
        (folder / "tasks.txt").write_text("".join(f"{name}\n" for name in found.ids))
    return mv.read(folder, classes=numbered(found.classes))


# one run --------------------------------------------------------------------------------------------------------------


def learned(data: mv.Dataset, method: str, options: dict):
    """A model, from the answers to train and dev items; `classifier on ...` is aggregated first. mv gives one label a task,
    ties drawn; others the probabilities of the classes."""
    answers = data.answers
    split = dict(zip(*data.items.split.select("task", "split").to_dict(as_series=False).values(), strict=True))
    seen = np.array([split.get(name) in ("train", "dev") for name in answers.tasks])
    answers = answers.take(seen[answers.rows()[0]])
    labels = method.removeprefix("classifier on ")
    if labels == method:
        return mv.learn(data.items, answers, method, **options), answers
    if labels != "truth":
        labels = mv.aggregate(answers, labels)
    if method == BASE:
        found, code = choose(labels, np.flatnonzero(labels.n > 0), "random", options["seed"])
        labels = {labels.tasks[i]: labels.classes[k] for i, k in zip(found, code, strict=True)}
    return mv.train(data.items, labels, answers=answers, **options), answers


def scores(model, data: mv.Dataset, answers: mv.Answers) -> dict:
    """On the test items: how right it is (without truth: beside the most frequent answer), and about each worker."""
    content = content_of(data.items)
    split = dict(zip(*data.items.split.select("task", "split").to_dict(as_series=False).values(), strict=True))
    test = np.array([split[name] == "test" for name in content.ids])
    K = len(data.answers.classes)
    task, worker, label = data.answers.rows()
    item = content.ids.code(data.answers.tasks, missing=-1)[task]
    votes = np.zeros((len(content), K))
    np.add.at(votes, (item, label), 1)
    said = in_order(model.predict(content), model, data)
    if (data.items.truth >= 0).any():
        goal = data.answers.classes.code([t or "" for t in data.items.truth_of(content.ids)], missing=-1)
    else:
        alone = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
        goal = np.where(alone, votes.argmax(axis=1), -1)
    used = np.flatnonzero(test & (goal >= 0))
    best, hit = said[used].max(axis=1), said[used].argmax(axis=1) == goal[used]
    bins = of_bins(best, hit, 15, np.zeros(len(used), int), 1)
    found = {
        "n": len(used),
        "accuracy": hit.mean(),
        "log_loss": -np.log(said[used, goal[used]].clip(1e-12)).mean(),
        "ece": Error(15)(bins)[0, 0],
        "hits": np.packbits(hit).tobytes().hex(),
    }
    pairs = np.flatnonzero(test[item])
    if len(pairs):
        row, who, label = item[pairs], worker[pairs], label[pairs]
        taught = np.bincount(answers.rows()[1], minlength=len(answers.workers)) > 0
        asked = np.where(taught[who], who, -1)  # whoever was not met in training is a stranger
        each = in_order(model.predict_pairs(content, row, asked), model, data) if "workers" in model.can else said[row]
        right = np.bincount(who, each.argmax(axis=1) == label) / np.maximum(np.bincount(who), 1)
        shares = votes[test] / votes[test].sum(axis=1, keepdims=True)
        found |= {
            "answers": len(pairs),
            "worker_accuracy": right[np.unique(who)].mean(),
            "worker_log_loss": -np.log(each[np.arange(len(label)), label].clip(1e-12)).mean(),
            "soft_cross_entropy": -(shares * np.log(said[test].clip(1e-12))).sum(axis=1).mean(),
        }
    return found


def in_order(probs: np.ndarray, model, data: mv.Dataset) -> np.ndarray:
    """Columns in the order of the data's classes; labels to learn from may lack some."""
    found = np.zeros((len(probs), len(data.answers.classes)))
    found[:, data.answers.classes.code(model.classes)] = probs
    return found


def one(data: mv.Dataset, method: str, options: dict, limit: float) -> dict:
    """Seconds, memory and scores, or why there are none."""
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5")  # the peak counts from here
    start, cpu = time.perf_counter(), time.process_time()
    try:
        with alarm(limit):
            model, answers = learned(data, method, options)
        found = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu, "peak_mb": peak_mb()}
        found |= {"kept_epoch": model.about["kept_epoch"]} | scores(model, data, answers)
    except Exception as error:  # whatever it is, it is a result of the method
        found = {"error": f"{type(error).__name__}: {error}"[:200], "seconds": time.perf_counter() - start}
    return {name: round(float(value), 5) if isinstance(value, float) else value for name, value in found.items()}


@contextmanager
def alarm(limit: float) -> Iterator[None]:
    def late(*_):
        raise TimeoutError(f"> {limit:.0f} s")

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def peak_mb() -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return math.nan
    return round(int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024, 1)


# the suite ------------------------------------------------------------------------------------------------------------


def run(suite: dict, out: Path, only: str | None, limit: float) -> None:
    import torch

    torch.set_num_threads(1)
    versions = {"manyvoices": mv.__version__, "torch": torch.__version__, "numpy": np.__version__}
    about = {"commit": commit(), "machine": machine(), "versions": versions}
    out.parent.mkdir(parents=True, exist_ok=True)
    done = {(row["data"], row["method"], row["seed"]) for row in lines(out)}
    for part in suite["data"]:
        left = [
            (seed, method)
            for seed in suite["seeds"]
            for method in suite["methods"]
            if (part["name"], method, seed) not in done
            and (only is None or only in part["name"] or only in method)
            and (method != "classifier on truth" or part.get("truth", True))
        ]
        if not left:
            continue
        if part["of"] != "digits" and not os.environ.get("MANYVOICES_DATA"):
            print(f"{part['name']}: left out, MANYVOICES_DATA names no folder", flush=True)
            continue
        found = source(part["of"], part.get("tasks"))
        with tempfile.TemporaryDirectory() as folder, out.open("a", encoding="utf-8") as file:
            for seed in sorted({seed for seed, _ in left}):
                data = dataset(part, found, seed, Path(folder) / str(seed))
                for method in [method for s, method in left if s == seed]:
                    options = (
                        suite.get("options", {}) | part.get("options", {}) | {"encoder": part["encoder"], "seed": seed}
                    )
                    row = {"data": part["name"], "method": method, "seed": seed} | one(data, method, options, limit)
                    row["same_test"] = found.answered is not None  # as with the other seeds
                    file.write(json.dumps(row | about | {"when": time.strftime("%Y-%m-%d")}) + "\n")
                    file.flush()
                    shown = row.get("error") or f"{row['accuracy']:.3f}  {row['seconds']:.1f} s"
                    print(f"{part['name']:28} {seed} {method:28} {shown}", flush=True)


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


# tables ---------------------------------------------------------------------------------------------------------------


def hits(row: dict) -> np.ndarray:
    return np.unpackbits(np.frombuffer(bytes.fromhex(row["hits"]), np.uint8))[: row["n"]].astype(float)


def half_width(values: np.ndarray) -> float:
    from scipy.stats import t

    if len(values) < 2:
        return math.inf
    return float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values)))


def difference(ours: list[dict], theirs: list[dict], score: str) -> tuple[float, float] | None:
    """Mean over the seeds both have, and half of its 95 % interval: the wider of that over seeds and, of accuracy, that
    over test items."""
    other = {row["seed"]: row for row in theirs if score in row}
    pairs = [(row, other[row["seed"]]) for row in ours if score in row and row["seed"] in other]
    if not pairs:
        return None
    gaps = np.array([a[score] - b[score] for a, b in pairs])
    half = half_width(gaps)
    if score == "accuracy":
        each = [hits(a) - hits(b) for a, b in pairs]
        items = np.mean(each, axis=0) if pairs[0][0]["same_test"] else np.concatenate(each)
        half = max(half, half_width(items))
    return float(gaps.mean()), half


def sign(found: tuple[float, float], more: bool) -> str:
    middle, half = found
    return "=" if abs(middle) <= half else "+" if (middle > 0) == more else "-"


SCORES = {
    "accuracy": (
        "Share of test items labelled rightly (HS-Brexit, MD-Agreement: as the majority of their answers)",
        True,
    ),
    "log_loss": ("Log loss of the truth, or majority", False),
    "ece": ("Expected calibration error, 15 bins", False),
    "worker_accuracy": (
        "Share of each worker's answers to test items that were predicted, mean over workers; a classifier predicts the "
        "same for everybody",
        True,
    ),
    "worker_log_loss": ("Log loss of the answers to test items", False),
    "soft_cross_entropy": ("Cross-entropy of the prediction with the shares of the answers", False),
    "cpu_seconds": ("Seconds of one core a fit takes, features cached", False),
}


def table(found: list[dict], suite: dict) -> str:
    """The results as pages show them: a table a score, then every difference with its interval."""
    names = [part["name"] for part in suite["data"] if any(row["data"] == part["name"] for row in found)]
    cells = {(d, m): [r for r in found if r["data"] == d and r["method"] == m] for d in names for m in suite["methods"]}
    first, days = found[-1], [row["when"] for row in found]
    seconds = sum(row.get("cpu_seconds", row["seconds"]) for row in found)
    parts = [
        f"{' to '.join(sorted({min(days), max(days)}))}, {first['machine']}, manyvoices {first['versions']['manyvoices']}, torch "
        f"{first['versions']['torch']}; {len(found)} runs, {seconds / 60:.0f} minutes of one core. Mean over "
        f"{len(suite['seeds'])} seeds. The sign compares with `{BASE}` on the same items, crowds and seeds: `+` better, "
        "`-` worse, `=` cannot tell apart (95 % interval of the paired difference, the wider of that over seeds and that "
        "over test items). Nothing was tuned to these data.\n"
    ]
    for score, (what, more) in SCORES.items():
        held = [d for d in names if any(score in row for m in suite["methods"] for row in cells[d, m])]
        if not held:
            continue
        parts += [f"\n{what}:\n", "\n| method | " + " | ".join(held) + " |\n", "| --- |" + " --- |" * len(held) + "\n"]
        for method in suite["methods"]:
            shown = [cell(cells[d, method], cells[d, BASE], score, more, method) for d in held]
            parts.append(f"| {method} | " + " | ".join(shown) + " |\n")
    failed = sorted({(r["data"], r["method"], r["error"]) for r in found if "error" in r})
    parts += ["\nFailed:\n\n", *(f"- {m} on {d}: {why}\n" for d, m, why in failed)] if failed else []
    for data in names:
        parts += [f"\n<details><summary>{data}: accuracy minus that of {BASE}</summary>\n\n"]
        parts += ["| method | accuracy | difference [95 %] | seeds better / worse |\n| --- | --- | --- | --- |\n"]
        for method in suite["methods"]:
            parts.append(line(method, cells[data, method], cells[data, BASE]))
        parts += ["\n</details>\n"]
    return "".join(parts)


def cell(ours: list[dict], theirs: list[dict], score: str, more: bool, method: str) -> str:
    values = [row[score] for row in ours if score in row]
    if not values:
        return "failed" if any("error" in row for row in ours) else ""
    digits = 1 if score == "cpu_seconds" else 3
    text = f"{np.mean(values):.{digits}f}" + ("*" if len(values) < len(ours) else "")
    if method == BASE or score == "cpu_seconds" or (found := difference(ours, theirs, score)) is None:
        return text
    return f"{text} {sign(found, more)}"


def line(method: str, ours: list[dict], theirs: list[dict]) -> str:
    found = difference(ours, theirs, "accuracy")
    if found is None:
        return ""
    mean = np.mean([row["accuracy"] for row in ours if "accuracy" in row])
    if method == BASE:
        return f"| {method} | {mean:.3f} | | |\n"
    other = {row["seed"]: row["accuracy"] for row in theirs if "accuracy" in row}
    gaps = [row["accuracy"] - other[row["seed"]] for row in ours if "accuracy" in row and row["seed"] in other]
    middle, half = found
    interval = f"{middle:+.3f} [{middle - half:+.3f}, {middle + half:+.3f}]"
    return f"| {method} | {mean:.3f} | {interval} | {sum(g > 0 for g in gaps)} / {sum(g < 0 for g in gaps)} |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the methods of learn.")
    parser.add_argument("suite", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--only", help="only data or methods with this in their name")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a fit may take")
    given = parser.parse_args()
    suite = tomllib.loads(given.suite.read_text(encoding="utf-8"))
    run(suite, given.out, given.only, given.limit)
    given.out.with_suffix(".md").write_text(table(lines(given.out), suite), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
