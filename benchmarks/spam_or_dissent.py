"""Measures `identify -s spam_or_dissent` on simulated crowds: does it tell who does not look from who sees it differently?

    python benchmarks/spam_or_dissent.py [--seeds 12] [--out benchmarks/results/spam_or_dissent.json]
    python benchmarks/spam_or_dissent.py --page        only writes the tables of docs/spam-or-dissent.md anew

A fifth of the workers dissent, a fifth answer without looking, the others answer as they see it, all in one crowd.
Everything is drawn from the seed; the first 1,000 seeds were used while the score was made and are left out here.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np
import scipy

import manyvoices as mv
from manyvoices.core.answers import Answers
from manyvoices.core.names import Names
from manyvoices.methods.identify.spam_or_dissent import AGREES, OWN, PARTLY

HERE = Path(__file__).parent
OUT = HERE / "results" / "spam_or_dissent.json"
PAGE = HERE.parent / "docs" / "spam-or-dissent.md"
FIRST_SEED = 100_000
DISSENT = {
    "against": "always wrong, at random among the wrong classes",
    "swap": "the next class, consistently",
    "part": "another answer than the others on two fifths of the tasks, the group in common",
    "opinion": "an opinion of the group on everything, independent of what the others see",
}
SPAM = {
    "uniform": "each class alike",
    "biased": "classes by shares of their own (uniform Dirichlet)",
    "constant": "always one class",
}


@dataclass(frozen=True)
class Crowd:
    """What is drawn. `right` is the range in which everybody who looks is right about what they see."""

    workers: int = 50
    each: int = 50
    classes: int = 2
    per_task: int = 10
    right: tuple[float, float] = (0.7, 0.95)
    dissent: str = "opinion"
    share: float = 0.2
    groups: int = 1
    spam: str = "uniform"
    spammers: float = 0.2
    prior: tuple[float, ...] = ()
    uneven: bool = False
    hard: float = 0.0
    scale: str = "nominal"


def drawn(c: Crowd, seed: int) -> tuple[Answers, np.ndarray, np.ndarray]:
    """Answers, the role of each worker (0 looks, 1 dissents, 2 does not look) and the task of each row."""
    rng = np.random.default_rng(seed)
    W, K = c.workers, c.classes
    who = np.concatenate([rng.permutation(W)[: W // c.per_task * c.per_task] for _ in range(c.each)])
    task, worker = np.arange(len(who)) // c.per_task, who
    if c.uneven:  # workers give between a third and three times as many answers as others, tasks lose some at random
        keep = rng.random(len(who)) < rng.uniform(0.33, 1, W)[worker]
        task, worker = task[keep], worker[keep]
    T, N = int(task.max()) + 1, len(task)
    prior = np.array(c.prior or [1 / K] * K)
    truth = rng.choice(K, p=prior, size=T)
    role, group = np.zeros(W, int), np.zeros(W, int)
    m = round(c.share * W)
    role[:m], role[m : m + round(c.spammers * W)] = 1, 2
    group[:m] = np.arange(m) % c.groups
    right = rng.uniform(*c.right, W)[worker]
    right = np.where(rng.random(T)[task] < c.hard, 1 / K, right)
    seen = truth[task]
    for g in range(c.groups):
        of_group = {
            "opinion": lambda: rng.choice(K, p=prior, size=T),
            "alone": lambda: truth,
            "part": lambda: np.where(rng.random(T) < 0.4, (truth + rng.integers(1, K, T)) % K, truth),
            "swap": lambda: (truth + 1) % K,
            "against": lambda: truth,
        }[c.dissent]()
        seen = np.where((role[worker] == 1) & (group[worker] == g), of_group[task], seen)
    wrong = (seen + rng.integers(1, K, N)) % K
    label = np.where(rng.random(N) < right, seen, wrong)
    if c.dissent == "against":
        label = np.where(role[worker] == 1, (truth[task] + rng.integers(1, K, N)) % K, label)
    if c.dissent == "alone":  # everybody an opinion of their own
        label = np.where(role[worker] == 1, rng.choice(K, p=prior, size=N), label)
    habit = {
        "uniform": np.full((W, K), 1 / K),
        "biased": rng.dirichlet(np.ones(K), W),
        "constant": np.eye(K)[rng.integers(K, size=W)],
        "nearly constant": np.full((W, K), 0.06 / max(K - 1, 1)),
        "ring": np.full((W, K), 1 / K),
    }[c.spam]
    if c.spam == "nearly constant":
        habit[np.arange(W), rng.integers(K, size=W)] = 0.94
    at_random = (rng.random(N)[:, None] >= habit.cumsum(axis=1)[worker][:, :-1]).sum(axis=1)
    if c.spam == "ring":  # they copy one another's random answers
        at_random = rng.integers(K, size=T)[task]
    label = np.where(role[worker] == 2, at_random, label)
    names = {"tasks": Names.numbered(T), "workers": Names.numbered(W)}
    if c.scale == "interval":
        value = label + rng.normal(0, 0.5, N) + rng.normal(0, 0.5, W)[worker]
        return Answers.from_codes(task, worker, value, classes=Names([]), scale="interval", **names), role, task
    codes = label.astype(np.uint8)
    return Answers.from_codes(task, worker, codes, classes=Names.numbered(K), scale=c.scale, **names), role, task


def auroc(of: np.ndarray, over: np.ndarray) -> float:
    from scipy.stats import rankdata

    rank = rankdata(np.concatenate([of, over]))
    return float((rank[: len(of)].sum() - len(of) * (len(of) + 1) / 2) / (len(of) * len(over)))


def looked(c: Crowd, seed: int, beside: bool) -> dict:
    """One crowd: AUROC of dissent over not looking, and how often each verdict falls on each role."""
    answers, role, _ = drawn(c, seed)
    W = c.workers
    found = mv.identify(answers, "spam_or_dissent")
    value, note = found.value[:W], found.note[:W]
    out = {"auroc": auroc(value[role == 1], value[role == 2])}
    out["honest"] = auroc(value[role == 0], value[role == 2]) if (role == 0).any() else float("nan")
    if beside:
        out["agreement"] = auroc(found.value[W:][role == 1], found.value[W:][role == 2])
        if c.scale != "interval":
            other = np.nan_to_num(mv.identify(answers, "spam_score").value)
            out["spam_score"] = auroc(other[role == 1], other[role == 2])
    kinds = [
        "own" if x == OWN else "partly" if x == PARTLY else "agrees" if x == AGREES else x.split()[0] for x in note
    ]
    for r, name in enumerate(("looks", "dissents", "does not look")):
        for kind in ("agrees", "partly", "own", "no", "undecided"):
            out[f"{name}: {kind}"] = float(np.mean([kinds[w] == kind for w in np.flatnonzero(role == r)]))
    return out


def cell(c: Crowd, seeds: int, at: int, beside: bool = False) -> dict:
    """Mean over crowds and 1.96 standard errors; spam kinds take turns unless one is named."""
    kinds = list(SPAM)
    rows = defaultdict(list)
    for s in range(seeds):
        one = replace(c, spam=kinds[s % 3]) if c.spam == "turns" else c
        for key, x in looked(one, FIRST_SEED + 1000 * at + s, beside).items():
            rows[key].append(x)
            if key == "auroc":
                rows[f"auroc {one.spam}"].append(x)
    mean = {
        k: [round(float(np.mean(x)), 4), round(1.96 * float(np.std(x, ddof=1)) / len(x) ** 0.5, 4)]
        for k, x in rows.items()
    }
    return {**asdict(c), "seeds": seeds, "found": mean}


def halves(c: Crowd, seeds: int, at: int) -> dict:
    """The value from one half of the tasks beside the other half: their difference in standard errors, by role."""
    apart = defaultdict(list)
    for s in range(seeds):
        answers, role, task = drawn(c, FIRST_SEED + 1000 * at + s)
        side = np.random.default_rng(s).integers(2, size=task.max() + 1)[answers.rows()[0]]
        two = [mv.identify(answers.take(side == h), "spam_or_dissent") for h in (0, 1)]
        W = c.workers
        gap = two[0].value[:W] - two[1].value[:W]
        facing = [
            np.where(sign * gap > 0, x.value[:W] - x.low[:W], x.high[:W] - x.value[:W])
            for sign, x in zip((1, -1), two, strict=True)
        ]
        z = 1.96 * gap / np.hypot(*facing)
        for r, name in enumerate(("looks", "dissents", "does not look")):
            apart[name] += z[(role == r) & np.isfinite(z)].tolist()
    return {
        **asdict(c),
        "seeds": seeds,
        "within 1.96": {k: round(float(np.mean(np.abs(x) < 1.96)), 3) for k, x in apart.items()},
    }


def plan() -> dict[str, list[tuple[Crowd, bool]]]:
    turn = Crowd(spam="turns")
    found = {
        "answers": [
            (replace(turn, classes=K, each=n, dissent=d), n == 50)
            for K in (2, 3, 5)
            for n in (25, 50, 100, 200)
            for d in DISSENT
        ],
        "workers": [(replace(turn, workers=W, dissent=d), False) for W in (20, 100, 200, 500) for d in DISSENT],
        "right": [
            (replace(turn, classes=K, right=r, each=n, dissent=d), False)
            for K in (2, 3)
            for r in ((0.6, 0.8), (0.8, 0.95))
            for n in (50, 100)
            for d in DISSENT
        ],
    }
    other = {
        "two views, a tenth of the workers each": replace(turn, groups=2),
        "two views, two tenths each": replace(turn, groups=2, share=0.4),
        "a tenth dissent": replace(turn, share=0.1),
        "two fifths dissent": replace(turn, share=0.4),
        "5 answers a task": replace(turn, per_task=5),
        "25 answers a task": replace(turn, per_task=25),
        "one class has 85 %": replace(turn, prior=(0.85, 0.15)),
        "uneven work": replace(turn, uneven=True),
        "a third of the tasks are guesses": replace(turn, hard=1 / 3),
        "two fifths do not look": replace(turn, spammers=0.4),
        "10 classes": replace(turn, classes=10),
        "10 classes, always wrong": replace(turn, classes=10, dissent="against"),
        "ordered, 5 classes": replace(turn, classes=5, scale="ordinal"),
        "numbers": replace(turn, classes=5, scale="interval"),
        "nearly constant answers": replace(turn, spam="nearly constant"),
        "limit: opinions nobody shares": replace(turn, dissent="alone", spam="uniform"),
        "limit: a ring copies random answers": replace(turn, spam="ring"),
    }
    found["other"] = [(replace(c, each=n), False) for c in other.values() for n in (50, 100)]
    found["names"] = [name for name in other for _ in (50, 100)]  # type: ignore[assignment]
    return found


def crowds(c: Crowd, seeds: int) -> int:
    """Where the target is near it takes more to tell."""
    return 4 * seeds if c == Crowd(spam="turns", dissent=c.dissent) else seeds


def measured(seeds: int, processes: int) -> dict:
    todo = plan()
    names = todo.pop("names")
    flat = [(part, c, beside) for part, cells in todo.items() for c, beside in cells]
    pairs = [Crowd(classes=K, each=200, dissent=d, spam="biased") for K in (2, 5) for d in DISSENT]
    done: dict[str, list] = {part: [] for part in [*todo, "halves"]}
    with ProcessPoolExecutor(processes) as pool:
        cells = [pool.submit(cell, c, crowds(c, seeds), at, beside) for at, (_, c, beside) in enumerate(flat)]
        splits = [pool.submit(halves, c, max(2, seeds // 3), len(flat) + i) for i, c in enumerate(pairs)]
        for (part, _, _), job in zip(flat, cells, strict=True):
            done[part].append(job.result())
            print(part, len(done[part]), flush=True)
        done["halves"] = [job.result() for job in splits]
    for name, row in zip(names, done["other"], strict=True):
        row["name"] = name
    return done


# the page -------------------------------------------------------------------------------------------------------------


def pm(x: list[float] | None, digits: int = 3) -> str:
    return "" if x is None else f"{x[0]:.{digits}f} ± {x[1]:.{digits}f}"


def percent(x: list[float]) -> str:
    return f"{100 * x[0]:.1f} %"


def tables(done: dict) -> dict[str, str]:
    head = f"{done['when']}, {done['machine']}, manyvoices {done['manyvoices']} at {done['commit']}; "
    head += f"{done['seeds']} crowds a cell, {4 * done['seeds']} of two classes and 50 answers."
    lines = [
        head,
        "",
        "| classes | answers a worker | " + " | ".join(DISSENT) + " |",
        "| --- | --- |" + " --- |" * len(DISSENT),
    ]
    rows = {(r["classes"], r["each"], r["dissent"]): r for r in done["answers"]}
    for K in (2, 3, 5):
        for n in (25, 50, 100, 200):
            lines.append(f"| {K} | {n} | " + " | ".join(pm(rows[K, n, d]["found"]["auroc"]) for d in DISSENT) + " |")
    found = {"auroc": "\n".join(lines)}
    lines = [
        "| classes | dissent | spam_or_dissent | agreement alone | spam_score |",
        "| --- | --- | --- | --- | --- |",
    ]
    for K in (2, 3, 5):
        for d in DISSENT:
            f = rows[K, 50, d]["found"]
            lines.append(f"| {K} | {d} | {pm(f['auroc'])} | {pm(f.get('agreement'))} | {pm(f.get('spam_score'))} |")
    found["beside"] = "\n".join(lines)
    lines = [
        "| classes | answers | looks: no information seen | looks: own view | dissents: no information seen "
        "| dissents: own view, wholly or partly | does not look: any information | does not look: own view |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for K in (2, 3, 5):
        for n in (50, 100, 200):
            f = {
                k: [float(np.mean([rows[K, n, d]["found"][k][0] for d in DISSENT]))]
                for k in rows[K, n, "part"]["found"]
                if ":" in k
            }
            lines.append(f"| {K} | {n} | " + " | ".join(verdict_rates(f)) + " |")
    found["verdicts"] = "\n".join(lines)
    lines = ["| workers | " + " | ".join(DISSENT) + " |", "| --- |" + " --- |" * len(DISSENT)]
    sizes = {(r["workers"], r["dissent"]): r for r in [*done["workers"], *(rows[2, 50, d] for d in DISSENT)]}
    for W in (20, 50, 100, 200, 500):
        lines.append(f"| {W} | " + " | ".join(pm(sizes[W, d]["found"]["auroc"]) for d in DISSENT) + " |")
    found["workers"] = "\n".join(lines)
    lines = [
        "| classes | right | answers | "
        + " | ".join(DISSENT)
        + " | looks: no information seen | does not look: any information |",
        "| --- | --- | --- |" + " --- |" * (len(DISSENT) + 2),
    ]
    right = {(r["classes"], tuple(r["right"]), r["each"], r["dissent"]): r["found"] for r in done["right"]}
    for K in (2, 3):
        for p in ((0.6, 0.8), (0.8, 0.95)):
            for n in (50, 100):
                cells = [right[K, p, n, d] for d in DISSENT]
                miss = np.mean([f["looks: no"][0] for f in cells])
                false = np.mean([1 - f["does not look: no"][0] for f in cells])
                of_dissent = " | ".join(pm(f["auroc"]) for f in cells)
                lines.append(
                    f"| {K} | {p[0]} to {p[1]} | {n} | {of_dissent} | {100 * miss:.1f} % | {100 * false:.1f} % |"
                )
    found["right"] = "\n".join(lines)
    lines = [
        "| crowd | answers | AUROC | looks: no information seen | dissents: no information seen | does not look: any information |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for r in done["other"]:
        f = r["found"]
        lines.append(
            f"| {r['name']} | {r['each']} | {pm(f['auroc'])} | {percent(f['looks: no'])} | {percent(f['dissents: no'])} "
            f"| {100 * (1 - f['does not look: no'][0] - f['does not look: undecided'][0]):.1f} % |"
        )
    found["other"] = "\n".join(lines)
    lines = ["| classes | dissent | looks | dissents | does not look |", "| --- | --- | --- | --- | --- |"]
    lines += [
        f"| {r['classes']} | {r['dissent']} | "
        + " | ".join(f"{100 * x:.0f} %" for x in r["within 1.96"].values())
        + " |"
        for r in done["halves"]
    ]
    found["halves"] = "\n".join(lines)
    return found


def verdict_rates(f: dict) -> list[str]:
    return [
        percent(f["looks: no"]),
        percent([f["looks: own"][0]]),
        percent(f["dissents: no"]),
        percent([f["dissents: own"][0] + f["dissents: partly"][0]]),
        percent([1 - f["does not look: no"][0]]),
        percent([f["does not look: own"][0] + f["does not look: partly"][0]]),
    ]


def write_page(done: dict) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables(done).items():
        mark = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        assert re.search(mark, text, re.S), f"{PAGE}: no place for the table {name}"
        text = re.sub(mark, lambda m, table=table: m[1] + table + "\n" + m[2], text, flags=re.S)
    PAGE.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    if not given.page:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
        about = {
            "when": str(date.today()),
            "commit": commit.stdout.strip() or "unknown",
            "manyvoices": mv.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
            "machine": f"{os.cpu_count()} cores {platform.machine()}",
            "seeds": given.seeds,
        }
        found = about | measured(given.seeds, given.processes)
        given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    write_page(json.loads(given.out.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
