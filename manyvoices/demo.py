"""The demonstration: a simulated crowd with habits, several methods side by side, and what to do with the result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import api
from .core.files import put, put_text
from .core.labels import worker_table

METHODS = ("mv", "wawa", "onecoin", "ds", "glad", "mace", "bcc")


def run(out: Path, seed: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Everything once; the result holds the path of a page to open."""
    say("1. Forty people label 400 pictures, eight answers a picture; half of them guess.")
    data = api.simulate("hammer_spammer", workers=40, tasks=400, classes=5, per_task=8, ratio=0.5, seed=seed)
    files = api.write(data, out / "crowd")
    truth = np.array(data.items.truth_of(data.answers.tasks), object)
    found = {name: api.aggregate(data, name) for name in METHODS}
    accuracy = {name: float(np.mean(np.array(f.labels(), object) == truth)) for name, f in found.items()}
    say("2. The same answers by several methods (the truth is known here):")
    for name in METHODS:
        say(f"     {name:8} {accuracy[name]:.3f}  {'#' * round(40 * accuracy[name])}")
    chosen = found["bcc"]
    files.append(put(out / "labels.csv", chosen.table(soft=True).write_csv))
    workers = worker_table(chosen, data.answers.per_worker()).sort("skill", descending=True)
    files.append(put(out / "workers.csv", workers.write_csv))
    say("3. Who can be trusted, by bcc (skill with its 95 % interval):")
    for row in [*workers.head(3).to_dicts(), *workers.tail(3).to_dicts()]:
        say(
            f"     worker {row['worker']:>3}: {row['skill']:.2f} [{row['low']:.2f}, {row['high']:.2f}] from {row['n']} answers"
        )
    page = put_text(out / "report.md", markdown(accuracy, workers, data.answers.n))
    say(f"4. Try it on your own answers: manyvoices aggregate {out}/crowd -s ds -o labels.csv")
    say("   Open this page:")
    return {"accuracy": accuracy, "report": str(page.resolve()), "files": [*files, page]}


def markdown(accuracy: dict[str, float], workers, answers: int) -> str:
    lines = [
        "# A crowd of forty",
        "",
        f"{answers} simulated answers; half of the workers guess. The truth is known, so methods can be scored.",
        "",
        "| method | accuracy |",
        "| --- | --- |",
        *(f"| {name} | {value:.3f} |" for name, value in accuracy.items()),
        "",
        "| worker | answers | skill | 95 % interval |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {r['worker']} | {r['n']} | {r['skill']:.2f} | {r['low']:.2f} to {r['high']:.2f} |"
        for r in workers.to_dicts()
    ]
    return "\n".join(lines) + "\n"
