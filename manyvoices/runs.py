"""One run of `aggregate`: fit each method asked for, score it where truth is known, write what the contract names."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import __version__, api
from .core import labels
from .core.consensus import Consensus
from .core.dataset import Dataset
from .core.errors import BadCall, BadInput
from .core.files import check_writable, put, put_text
from .core.registry import Method

if TYPE_CHECKING:
    import polars as pl

TABLES = (".csv", ".parquet", ".jsonl", ".npy")


def aggregate_all(
    data: Dataset,
    source: str,
    asked: list[tuple[Method, dict]],
    options: dict[str, Any],
    mine: dict[str, Any],
    out: str | None,
    began: float,
    say: Callable[[str], None],
) -> tuple[Any, str | None, list[Path], list[str]]:
    """Result rows, the text for stdout (None where files were written), the files, and notes."""
    folder = out is not None and is_folder(out)
    if data.answers is None:
        raise BadInput(
            "the data set has items but no answers", file=Path(source), expected="answers of workers about tasks"
        )
    if mine["all_tasks"]:
        data = with_all_tasks(data)
    result: Any = {}
    files: list[Path] = []
    notes: list[str] = []
    text = None
    for method, bracketed in asked:
        given = bracketed | {name: value for name, value in options.items() if name in {o.name for o in method.options}}
        for shared in ("ties", "seed"):
            if shared in {o.name for o in method.options} and shared not in given:
                given[shared] = mine[shared]
        start = time.time()
        found = api.aggregate(
            data, method.name, **{name: mine[name] for name in ("gold", "probs", "labels", "start")}, **given
        )
        table = found.table(
            soft=mine["soft"],
            ties=mine["ties"],
            seed=mine["seed"],
            min_prob=mine["min_prob"],
            answered=not mine["all_tasks"],
        )
        scores = scored(found, table, data)
        if len(asked) > 1:
            say(f"\n{method.name}")
        said = report(found, table, scores, mine["ties"])
        say(said)
        notes += [line for line in said.splitlines() if "NOT converged" in line or line.startswith("ties:")]
        if folder:
            where = Path(out) / method.name if len(asked) > 1 else Path(out)  # type: ignore[arg-type]
            manifest = {
                "command": ["aggregate", method.name],
                "options": given | {k: v for k, v in mine.items() if v not in (None, False)},
                "inputs": fingerprints(Path(source), [mine[k] for k in ("gold", "probs", "labels")]),
                "scores": scores,
                "seconds": {"read": round(start - began, 3), "fit": round(time.time() - start, 3)},
            }
            files += write_folder(found, table, where, data, manifest, mine["start"])
        elif mine["start"] is not None:
            changed = len(changes(mine["start"], found))
            say(f"changed: {changed} labels, new tasks among them (a folder, -o DIR/, lists them in changes.csv)")
        if not folder and out not in (None, "-"):
            files += write_table(found, table, Path(out), mine["soft"])  # type: ignore[arg-type]
        elif not folder:
            text = to_csv(table)
        rows = table.to_dicts()
        result = rows if len(asked) == 1 else result | {method.name: rows}
    return result, text, files, notes


def slug(name: str) -> str:
    """A question as the name of a folder."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:80] or "question"


def check_output(asked: list[tuple[Method, dict]], out: str | None, several: bool = False) -> None:
    """Refuse a place that cannot take the result, before the work."""
    folder = out is not None and is_folder(out)
    if several and not folder:
        raise BadCall("--question all makes a table for each question: give a folder, -o DIR/")
    if len(asked) > 1 and not folder:
        raise BadCall(f"{len(asked)} methods make as many tables: give a folder, -o DIR/")
    if out not in (None, "-") and not folder and Path(out).suffix not in TABLES:
        raise BadCall(f"-o {out}: expected a name ending in {', '.join(TABLES)}, or a folder DIR/")
    if out not in (None, "-"):
        check_writable(Path(out))


def is_folder(out: str) -> bool:
    return out.endswith("/") or Path(out).is_dir() or (out != "-" and not Path(out).suffix)


def with_all_tasks(data: Dataset) -> Dataset:
    """The tasks of items and truth besides those that have answers."""
    from dataclasses import replace

    from .core.answers import Answers

    answers = data.answers
    if data.items is None or answers is None or not (more := [t for t in data.items.ids if t not in answers.tasks]):
        return data
    from .core.names import Names

    tasks = Names.ordered([*answers.tasks, *more])
    task, worker, label = answers.rows()
    new = tasks.code(answers.tasks)[task]
    wider = Answers.from_codes(
        new,
        worker,
        label,
        tasks=tasks,
        workers=answers.workers,
        classes=answers.classes,
        scale=answers.scale,
        count=answers.repeated(),
    )
    notes = None if data.notes is None else data.notes[np.argsort(new, kind="stable")]
    return replace(data, answers=wider, notes=notes)


def scored(found: Consensus, table: pl.DataFrame, data: Dataset) -> dict[str, float]:
    """Against the truth, where some is known: accuracy (ties with several rows share one), or mean absolute error."""
    if data.items is None:
        return {}
    truth = data.items.truth_of(found.tasks)
    if found.probs is None:
        known = [
            (float(t), v)
            for t, v, n in zip(truth, found.value, found.n, strict=True)
            if t is not None and n > 0 and is_number(t)
        ]  # type: ignore[arg-type]
        return {"mae": float(np.mean([abs(t - v) for t, v in known])), "truth": len(known)} if known else {}
    of = dict(zip(found.tasks, truth, strict=True))
    per_task: dict[str, list[float]] = {}
    for task, label in zip(table["task"].to_list(), table["label"].to_list(), strict=True):
        if of.get(task) is not None:
            per_task.setdefault(task, []).append(float(label == of[task]))
    if not per_task:
        return {}
    scores = {"accuracy": float(np.mean([np.mean(hits) for hits in per_task.values()])), "truth": len(per_task)}
    if withheld := set(table.filter(table["label"].is_null())["task"].to_list()) & set(per_task):
        sure = [np.mean(hits) for task, hits in per_task.items() if task not in withheld]
        scores |= {"accuracy_labelled": float(np.mean(sure)) if sure else float("nan"), "labelled": len(sure)}
    return scores


def is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def report(found: Consensus, table: pl.DataFrame, scores: dict[str, float], ties: str) -> str:
    lines = [labels.summary(found, table, ties)]
    if "accuracy" in scores:
        n, share = int(scores["truth"]), scores["accuracy"]
        from .kernels.skills import beta_interval

        low, high = beta_interval(np.array([share]), np.array([float(n)]))
        lines.append(
            f"accuracy: {share:.4f} [{low[0]:.3f}, {high[0]:.3f}] on {n} tasks whose truth is known"
            + (
                f" ({scores['accuracy_labelled']:.4f} of the {int(scores['labelled'])} that have a label)"
                if "labelled" in scores
                else ""
            )
        )
    if "mae" in scores:
        lines.append(f"mean absolute error: {scores['mae']:.4g} on {int(scores['truth'])} tasks whose truth is known")
    return "\n".join(lines)


def to_csv(table: pl.DataFrame) -> str:
    held = io.BytesIO()
    table.write_csv(held)
    return held.getvalue().decode("utf-8", "surrogatepass")


def write_table(found: Consensus, table: pl.DataFrame, out: Path, soft: bool) -> list[Path]:
    if out.suffix == ".csv":
        return [put(out, table.write_csv)]
    if out.suffix == ".parquet":
        return [put(out, table.write_parquet)]
    if out.suffix == ".jsonl":
        return [put(out, table.write_ndjson)]
    if "label" not in table.columns:
        values = table["value"].to_numpy()
    elif soft:
        values = table.select(table.columns[-len(found.classes) :]).to_numpy()
    else:
        code = {name: k for k, name in enumerate(found.classes)}
        values = np.array([-1 if label is None else code[label] for label in table["label"].to_list()], np.int64)

    def save(file: Path) -> None:
        with file.open("wb") as handle:
            np.save(handle, values)

    return [
        put(out, save),
        put_text(out.with_suffix(".tasks.txt"), "".join(f"{task}\n" for task in table["task"].to_list())),
    ]


def write_folder(
    found: Consensus, table: pl.DataFrame, out: Path, data: Dataset, manifest: dict[str, Any], start: Any
) -> list[Path]:
    """Everything a fit says; the manifest last, so that a folder that has one is whole."""
    files = [put(out / "labels.csv", table.write_csv), put(out / "tasks.csv", labels.task_table(found).write_csv)]
    if found.workers is not None:
        files.append(put(out / "workers.csv", labels.worker_table(found, data.answers.per_worker()).write_csv))  # type: ignore[union-attr]
    if (confusions := labels.confusion_table(found)) is not None:
        files.append(put(out / "confusions.csv", confusions.write_csv))
    if start is not None:
        files.append(put(out / "changes.csv", changes(start, found).write_csv))
    files.append(found.save(out))
    steps = (
        []
        if found.trace is None
        else [{"step": i, "holds": found.trace.holds, "value": v} for i, v in enumerate(found.trace.values, 1)]
    )
    files.append(put_text(out / "metrics.jsonl", "".join(json.dumps(step) + "\n" for step in steps)))
    whole = manifest | {
        "versions": versions(),
        "converged": found.converged,
        "when": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "left_out": data.dropped,
        "notes": data.messages,
    }
    files.append(
        put_text(
            out / "manifest.json", json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False, default=str) + "\n"
        )
    )
    return files


def changes(start: Any, found: Consensus) -> pl.DataFrame:
    """task, before, after: what is new or has another label than in the earlier result."""
    import polars as pl

    old = start if isinstance(start, Consensus) else Consensus.load(start)
    before = dict(zip(old.tasks, old.labels(), strict=True))
    known = dict(zip(old.tasks, old.n, strict=True))
    rows = [
        (task, before.get(task) if known.get(task, 0) > 0 else None, after)
        for task, after, n in zip(found.tasks, found.labels(), found.n, strict=True)
        if n > 0
    ]
    changed = [row for row in rows if row[1] != row[2]]
    return pl.DataFrame(changed, schema={"task": pl.String, "before": pl.String, "after": pl.String}, orient="row")


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {
        "manyvoices": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "polars")},
    }


def fingerprints(source: Path, more: list[str | None]) -> dict[str, str]:
    """sha256 of each file that went in; of a folder, the files directly in it."""
    paths = sorted(p for p in source.iterdir() if p.is_file()) if source.is_dir() else [source]
    found = {}
    for path in [*paths, *(Path(p) for p in more if isinstance(p, str))]:
        if path.is_file():
            with path.open("rb") as handle:
                found[str(path)] = hashlib.file_digest(handle, "sha256").hexdigest()
    return found
