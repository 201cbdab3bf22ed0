"""One run of `aggregate`: fit each method asked for, score it where truth is known, write what the contract names."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import platform
import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import __version__, api
from .core import labels
from .core.consensus import Consensus, Trace
from .core.dataset import Dataset
from .core.errors import BadCall, BadInput, NotWritable
from .core.files import check_writable, put, put_text, spare, writing
from .core.registry import Method
from .inputs import earlier

if TYPE_CHECKING:
    import polars as pl

TABLES = (".csv", ".parquet", ".jsonl", ".npy")


@dataclass(frozen=True)
class Call:
    """What was asked of a run besides the methods: the verb's own options, and all options as they go into records."""

    source: str
    out: str | None
    record: dict[str, Any]
    files: list[str]  # further files that went in
    on: str | None = None  # where to put answers that had to be read into memory first
    rows: bool = False  # whether the result is wanted as rows (--json)
    soft: bool = False
    all_tasks: bool = False
    ties: str = "lowest"
    min_prob: float | None = None
    gold: str | None = None
    probs: str | None = None
    labels: str | None = None
    start: str | None = None
    seed: int = 0


def aggregate_all(
    data: Dataset, asked: list[tuple[Method, dict]], options: dict[str, Any], call: Call, say: Callable[[str], None]
) -> tuple[Any, str | None, list[Path], list[str]]:
    """Result rows, the text for stdout (None where files were written), the files, and notes."""
    folder = call.out is not None and is_folder(call.out)
    if data.answers is None:
        message = "the data set has items but no answers"
        raise BadInput(message, file=Path(call.source), expected="answers of workers about tasks")
    if call.all_tasks:
        data = with_all_tasks(data)
    before = None if call.start is None else earlier(data.answers, call.start)
    result: Any = {}
    files: list[Path] = []
    notes: list[str] = []
    text = None
    for method, bracketed in asked:
        own = {o.name for o in method.options}
        given = {name: getattr(call, name) for name in ("ties", "seed") if name in own} | bracketed
        given |= {name: value for name, value in options.items() if name in own}
        sides, left = side_inputs_for(method, call, before, len(asked) > 1)
        left += of_classes_only(data.answers.scale, call)
        began = time.time()
        found = api.aggregate(data, method.name, on=call.on, **sides, **given)
        table = found.table(
            soft=call.soft, ties=call.ties, seed=call.seed, min_prob=call.min_prob, answered=not call.all_tasks
        )
        scores = scored(found, table, data)
        if len(asked) > 1:
            say(f"\n{method.name}")
        said = report(found, table, scores, call.ties)
        say("\n".join([said, *left]))
        told = ("ties:", "no label:", "accuracy:", "mean absolute error:")
        notes += [line for line in said.splitlines() if "NOT converged" in line or line.startswith(told)] + left
        if folder:
            place = Path(call.out) / method.name if len(asked) > 1 else Path(call.out)  # type: ignore[arg-type]
            changed = None if before is None else changes(before, table)
            written = write_folder(found, table, place, data, changed)
            about = {"scores": scores, "converged": found.converged, "left_out": data.dropped, "notes": data.messages}
            seconds = {"fit": round(time.time() - began, 3)}
            inputs = fingerprints(Path(call.source), call.files)
            files += [
                *written,
                write_manifest(place, ["aggregate", method.name], call.record | given, inputs, seconds, about),
            ]
        else:
            if before is not None:
                say(
                    f"changed: {len(changes(before, table))} labels, new tasks among them "
                    "(a folder, -o DIR/, lists them in changes.csv)"
                )
            if call.out in (None, "-"):
                text = None if call.rows else to_csv(table)
            else:
                files += write_table(found, table, Path(call.out), call.soft)  # type: ignore[arg-type]
        rows = table.to_dicts() if call.rows else []
        result = rows if len(asked) == 1 else result | {method.name: rows}
    return result, text, files, notes


def side_inputs_for(
    method: Method, call: Call, before: Consensus | None, several: bool
) -> tuple[dict[str, Any], list[str]]:
    """Gold labels and the like for one method; of several methods those that cannot use them do without, and it is said."""
    given = {"gold": call.gold, "probs": call.probs, "labels": call.labels, "start": before}
    given = {name: value for name, value in given.items() if value is not None}
    if not several:
        return given, []
    left = [f"{method.name} takes no {name}: left out" for name in given if name not in method.data]
    return {name: value for name, value in given.items() if name in method.data}, left


def of_classes_only(scale: str, call: Call) -> list[str]:
    """Options that numbers have no use for, where some are given."""
    given = {"--soft": call.soft, "--min-prob": call.min_prob is not None, "--ties": call.ties != "lowest"}
    named = [name for name, there in given.items() if there and scale == "interval"]
    return [f"{', '.join(named)}: for classes, and these labels are numbers; left out"] if named else []


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Questions as names of folders, each its own, also where capitals make no difference."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[^\w.-]+", "-", name).strip("-.")[:60] or "question"
        more = (plain if n == 1 else f"{plain}-{n}" for n in itertools.count(1))
        found[name] = next(slug for slug in more if slug.lower() not in taken)
        taken.add(found[name].lower())
    return found


def check_output(
    asked: list[tuple[Method, dict]], source: str, out: str | None, several: bool = False, more: Iterable[str] = ()
) -> None:
    """Refuse a place that cannot take the result, before the work."""
    folder = out is not None and is_folder(out)
    if several and not folder:
        raise BadCall("--question all makes a table for each question: give a folder, -o DIR/")
    if len(asked) > 1 and not folder:
        raise BadCall(f"{len(asked)} methods make as many tables: give a folder, -o DIR/")
    if out not in (None, "-") and not folder and Path(out).suffix not in TABLES:
        raise BadCall(f"-o {out}: expected a name ending in {', '.join(TABLES)}, or a folder DIR/")
    if (
        folder
        and Path(out).is_dir()
        and (Path(out).resolve() == Path(source).resolve() or any(Path(out).glob("answers.*")))
    ):
        raise BadCall(
            f"-o {out} holds answers, whose workers.csv and other files the results would replace; choose another folder"
        )
    if out not in (None, "-"):
        check_writable(Path(out), folder)
        for path in () if folder else (Path(out), tasks_beside(Path(out))):
            spare(path, [source, *more])


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


def scored(found: Consensus, table: pl.DataFrame, data: Dataset) -> dict[str, Any]:
    """Against the truth, where some is known: accuracy (ties with several rows share one), or mean absolute error."""
    import polars as pl

    if data.items is None:
        return {}
    tasks = pl.Series(found.tasks.to_list(), dtype=pl.String)
    truth = pl.DataFrame(
        {"task": tasks, "truth": pl.Series(data.items.truth_of(found.tasks), dtype=pl.String), "held": found.n}
    )
    both = table.join(truth.filter(pl.col("held") > 0).drop_nulls("truth"), on="task")
    if found.probs is None:
        both = both.with_columns(pl.col("truth").cast(pl.Float64, strict=False)).filter(pl.col("truth").is_finite())
        return {"mae": (both["truth"] - both["value"]).abs().mean(), "truth": len(both)} if len(both) else {}
    hit = (pl.col("label") == pl.col("truth")).fill_null(False)
    tasks_ = both.group_by("task").agg(hit.mean().alias("hit"), pl.col("label").is_not_null().any().alias("labelled"))
    if not len(tasks_):
        return {}
    scores: dict[str, Any] = {"accuracy": tasks_["hit"].mean(), "truth": len(tasks_)}
    if not tasks_["labelled"].all():
        sure = tasks_.filter("labelled")
        scores |= {"accuracy_labelled": sure["hit"].mean(), "labelled": len(sure)}
    return scores


def report(found: Consensus, table: pl.DataFrame, scores: dict[str, Any], ties: str) -> str:
    lines = [labels.summary(found, table, ties)]
    if "accuracy" in scores:
        n, share = int(scores["truth"]), scores["accuracy"]
        known = f"on {labels.many(n, 'task')} whose truth is known"
        from .kernels.skills import beta_interval

        low, high = beta_interval(np.array([share]), np.array([float(n)]))
        lines.append(
            f"accuracy: {share:.4f} [{low[0]:.3f}, {high[0]:.3f}] {known}"
            + (
                f" ({scores['accuracy_labelled']:.4f} of the {int(scores['labelled'])} that have a label)"
                if scores.get("labelled")
                else ""
            )
        )
    if "mae" in scores:
        known = f"on {labels.many(int(scores['truth']), 'task')} whose truth is known"
        lines.append(f"mean absolute error: {scores['mae']:.4g} {known}")
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

    ids = table["task"].to_list()
    if broken := next((task for task in ids if "\n" in task or "\r" in task), None):
        raise NotWritable(
            f"{tasks_beside(out)} has an id a line, and task {broken!r} is more than one; choose -o X.csv"
        )
    with writing(out.parent) as new:
        with new(out.name).open("wb") as handle:
            np.save(handle, values)
        new(tasks_beside(out).name).write_text("".join(f"{task}\n" for task in ids), encoding="utf-8")
    return [out, tasks_beside(out)]


def tasks_beside(out: Path) -> Path:
    """Where the ids go whose rows a .npy holds."""
    return out.with_suffix(".tasks.txt") if out.suffix == ".npy" else out


OURS = (
    "labels.csv",
    "tasks.csv",
    "workers.csv",
    "confusions.csv",
    "changes.csv",
    "model.safetensors",
    "metrics.jsonl",
    "manifest.json",
)


def write_folder(
    found: Consensus, table: pl.DataFrame, out: Path, data: Dataset, changed: pl.DataFrame | None
) -> list[Path]:
    """Everything a fit says. What an earlier run left here stands until all of it is written, and then goes."""
    workers = None if found.workers is None else labels.worker_table(found, data.answers.per_worker())  # type: ignore[union-attr]
    tables = {
        "labels.csv": table,
        "tasks.csv": labels.task_table(found),
        "workers.csv": workers,
        "confusions.csv": labels.confusion_table(found),
        "changes.csv": changed,
    }
    held = {name: frame for name, frame in tables.items() if frame is not None}
    trace = found.trace or Trace((), "")
    steps = [{"step": i, "holds": trace.holds, "value": value} for i, value in enumerate(trace.values, 1)]
    names = [*held, "model.safetensors", "metrics.jsonl"]
    with writing(out) as new:
        for name, frame in held.items():
            frame.write_csv(new(name))
        found.dump(new("model.safetensors"))
        new("metrics.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))
        for name in set(OURS) - set(names):
            (out / name).unlink(missing_ok=True)
    return [out / name for name in names]


def write_manifest(
    out: Path, command: list[str], options: dict, inputs: dict, seconds: dict, about: dict[str, Any] | None = None
) -> Path:
    """How the folder came about; written last, so that a folder that has one is whole."""
    whole = (about or {}) | {
        "command": command,
        "options": options,
        "seed": options.get("seed"),
        "inputs": inputs,
        "seconds": seconds,
        "versions": versions(),
        "when": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
    text = json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False, default=str, allow_nan=False)
    return put_text(out / "manifest.json", text + "\n")


def changes(before: Consensus, table: pl.DataFrame) -> pl.DataFrame:
    """task, before, after: what is new or has another label than in the earlier result."""
    import polars as pl

    old = before.table().select("task", before="label").unique("task", keep="first")
    new = table.select("task", after="label").unique("task", keep="first", maintain_order=True)
    both = new.join(old, on="task", how="left", maintain_order="left").select("task", "before", "after")
    return both.filter(pl.col("before").ne_missing(pl.col("after")))


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {
        "manyvoices": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "polars")},
        **{name: version(name) for name in ("torch", "transformers") if name in sys.modules},
    }


def fingerprints(source: Path, more: list[str]) -> dict[str, str]:
    """sha256 of each file that went in; of a folder, the files directly in it."""
    paths = sorted(p for p in source.iterdir() if p.is_file()) if source.is_dir() else [source]
    found = {}
    for path in [*paths, *map(Path, more)]:
        if path.is_file():
            with path.open("rb") as handle:
                found[str(path)] = hashlib.file_digest(handle, "sha256").hexdigest()
    return found
