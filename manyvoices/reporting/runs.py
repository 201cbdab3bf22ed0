"""The section on RUN folders that `aggregate -o DIR/` wrote: what made them, how right they are, where they differ.

Folders of `train` and `learn` are found here too, and told of in trained.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.answers import Answers
from ..core.consensus import Consensus
from ..core.dataset import Dataset
from ..core.errors import BadInput
from ..core.words import count, share
from .trained import is_model, rate

if TYPE_CHECKING:
    import polars as pl

DIFFERENT, FOLDERS = 30, 30
WANTED = "a folder that `manyvoices aggregate`, `train` or `learn` wrote"


def folders(runs: list[Path]) -> dict[str, Path]:
    """Each run by its name; a folder of several methods stands for each of them."""
    found: dict[str, Path] = {}
    for run in runs:
        if not run.is_dir():
            raise BadInput("not a folder" if run.exists() else "no such folder", file=run, expected=WANTED)
        inner = [run] if is_run(run) else sorted(place for place in run.iterdir() if is_run(place))
        if not inner:
            raise BadInput("neither labels.csv nor a model in it", file=run, expected=WANTED)
        for place in inner:
            name = place.resolve().name if place == run else f"{run.resolve().name}/{place.name}"
            while name in found:
                name += "'"
            found[name] = place
    if len(found) > FOLDERS:
        raise BadInput(f"{len(found)} runs", file=runs[0], expected=f"at most {FOLDERS}")
    return found


def is_run(place: Path) -> bool:
    return (place / "labels.csv").is_file() or is_model(place)


def about_runs(
    runs: dict[str, Path], data: Dataset, answers: Answers, consensus: Consensus, method: str
) -> dict[str, Any] | None:
    if not runs:
        return None
    own = f"this report ({method})"
    labels = {name: labels_of(place) for name, place in runs.items()} | {own: plain(consensus)}
    truth = {}
    if data.items is not None:
        truth = {t: x for t, x in zip(answers.tasks, data.items.truth_of(answers.tasks), strict=True) if x is not None}
    rows = []
    for name, place in runs.items():
        about = manifest(place)
        said = labels[name]
        both = [task for task in said if task in truth]
        right = sum(said[task] == truth[task] for task in both)
        row: dict[str, Any] = {"run": name, "tasks": len(said), "unlabelled": sum(x is None for x in said.values())}
        row |= {"strange": sum(task not in answers.tasks for task in said), "known": len(both)}
        row |= dict(zip(("accuracy", "low", "high"), rate(right, len(both)), strict=True))
        shared = [task for task in said if task in labels[own]]
        row["same"] = sum(said[task] == labels[own][task] for task in shared) / len(shared) if shared else None
        row |= {key: about.get(key) for key in ("command", "options", "versions", "inputs", "when", "converged")}
        row["says"] = row_says(row)
        rows.append(row)
    different = differences(labels)
    return {
        "title": "Runs",
        "says": runs_say(rows, different),
        "rows": rows,
        "between": between(labels),
        "differences": [
            {"task": t, "labels": {name: labels[name].get(t) for name in labels}} for t in different[:DIFFERENT]
        ],
        "different": len(different),
    }


def labels_of(place: Path) -> dict[str, str | None]:
    import polars as pl

    file = place / "labels.csv"
    try:
        table: pl.DataFrame = pl.read_csv(file, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadInput(f"cannot be read ({str(error).splitlines()[0]})", file=file, expected=WANTED) from None
    column = next((name for name in ("label", "value") if name in table.columns), None)
    if "task" not in table.columns or column is None:
        raise BadInput(f"columns {', '.join(table.columns)}", file=file, expected="task,label or task,value")
    if column == "value":
        table = table.with_columns(pl.col("value").cast(pl.Float64, strict=False).round_sig_figs(4).cast(pl.String))
    return dict(zip(table["task"].to_list(), table[column].to_list(), strict=True))


def plain(found: Consensus) -> dict[str, str | None]:
    import polars as pl

    table = found.table().unique("task", keep="first", maintain_order=True)
    if "value" in table.columns:
        return dict(zip(table["task"], table["value"].round_sig_figs(4).cast(pl.String), strict=True))
    return dict(zip(table["task"].to_list(), table["label"].to_list(), strict=True))


def manifest(place: Path) -> dict[str, Any]:
    try:
        held = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def differences(labels: dict[str, dict[str, str | None]]) -> list[str]:
    """Tasks of all runs on which not all say the same."""
    first, *rest = labels.values()
    return [t for t in first if all(t in other for other in rest) and any(other[t] != first[t] for other in rest)]


def between(labels: dict[str, dict[str, str | None]]) -> list[dict[str, Any]]:
    """The share of common tasks with the same label, for each pair."""
    names, rows = list(labels), []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            common = [task for task in labels[a] if task in labels[b]]
            same = sum(labels[a][task] == labels[b][task] for task in common)
            rows.append({"run": a, "other": b, "tasks": len(common), "same": same / len(common) if common else None})
    return rows


def row_says(row: dict[str, Any]) -> str:
    said = f"{count(row['tasks'], 'label')} by {' '.join(map(str, row['command'] or ['an unknown command']))}"
    if row["same"] is not None:
        said += f"; {share(row['same'])} equal those of this report"
    if row["accuracy"] is not None:
        said += f"; {share(row['accuracy'])} right on {count(row['known'], 'task')} of known truth"
    if row["strange"]:
        said += f"; {count(row['strange'], 'task')} not in this data"
    if row["converged"] is False:
        said += "; the fit did not converge"
    return said + "."


def runs_say(rows: list[dict[str, Any]], different: list[str]) -> list[str]:
    said = f"{count(len(rows), 'run')} beside the labels of this report."
    if different:
        return [said, f"They differ on {count(len(different), 'task')}: look at these before choosing between them."]
    return [said, "All give the same labels: it does not matter which one is taken."]
