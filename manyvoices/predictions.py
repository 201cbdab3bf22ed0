"""Predictions as anybody brings them (a file, a folder, a frame, a mapping, a Consensus), read, coded and checked once."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .core.consensus import Consensus, first_best
from .core.errors import BadCall, BadInput
from .core.labels import shortened
from .core.names import Names

if TYPE_CHECKING:
    import polars as pl

FILES = ("labels", "predictions")
SUFFIXES = (".csv", ".csv.gz", ".parquet", ".jsonl", ".jsonl.gz", ".tsv")
WANTED = "columns task and label (or p:CLASS for every class, or value)"
TOLERANCE = 1e-3


# reading --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """A table of predictions as it was given, and where its rows stand."""

    frame: pl.DataFrame
    file: Path | str | None = None
    where: Callable[[int], tuple[Path, int | None]] | None = None

    def bad(self, message: str, row: int | None = None, value: Any = None, expected: str | None = None) -> BadInput:
        file, line = self.file, None
        if row is not None and self.where is not None and isinstance(file, Path):
            file, line = self.where(int(row))
        return BadInput(message, file=file or "predictions", line=line, value=value, expected=expected)

    def texts(self, name: str) -> list[str | None]:
        import polars as pl

        return self.frame[name].cast(pl.String).to_list()

    def numbers(self, name: str) -> np.ndarray:
        """A column of numbers; NaN where the cell is empty."""
        import polars as pl

        column = self.frame[name]
        found = (
            column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False) if not numeric(column) else column
        )
        found = found.cast(pl.Float64)
        wrong = (found.is_null() & column.is_not_null()).arg_true()
        if len(wrong):
            at = int(wrong[0])
            text = str(column[at])
            raise self.bad(f"{name} {text!r} is not a number", at, text, "a number, or an empty cell")
        return found.fill_null(np.nan).to_numpy()


def numeric(column: pl.Series) -> bool:
    return column.dtype.is_numeric()


def told(given: Any) -> Told:
    """The table in whatever was given."""
    import polars as pl

    if isinstance(given, Told):
        return given
    if isinstance(given, Consensus):
        return Told(given.table(soft=given.probs is not None), "consensus")
    if isinstance(given, Mapping):
        labels = {str(task): None if label is None else str(label) for task, label in given.items()}
        return Told(
            pl.DataFrame(
                {"task": list(labels), "label": list(labels.values())}, dict.fromkeys(("task", "label"), pl.String)
            )
        )
    if not isinstance(given, (str, Path)):
        from .inputs import texts

        return Told(texts(given))
    return of_file(Path(given))


def of_file(path: Path) -> Told:
    from .methods.read._table import read_table

    if str(path) == "-":
        from .inputs import from_stdin

        table = read_table(from_stdin(sys.stdin.buffer.read()))
        return Told(table.frame, "stdin")
    if path.is_dir():
        path = inside(path)
    if path.suffix == ".npy":
        return of_array(path)
    if (submitted := of_submission(path)) is not None:
        return submitted
    table = read_table(path)
    return Told(table.frame, path, table.where)


def inside(folder: Path) -> Path:
    """The one table of predictions of a folder."""
    found = [folder / f"{name}{suffix}" for name in FILES for suffix in SUFFIXES]
    found = [file for file in found if file.is_file()]
    if len(found) == 1:
        return found[0]
    if found:
        raise BadCall(f"{folder} holds {' and '.join(file.name for file in found)}; name one of them")
    deeper = sorted(file.parent.name for name in FILES for file in folder.glob(f"*/{name}.csv"))
    hint = f"one of its folders: {', '.join(deeper[:6])}" if deeper else "a folder with labels.csv or predictions.csv"
    raise BadInput("holds no labels.csv and no predictions.csv", file=folder, expected=hint)


def of_array(path: Path) -> Told:
    """X.npy with the ids of its rows in X.tasks.txt: codes of classes, or a row of probabilities each."""
    import polars as pl

    ids = path.with_suffix(".tasks.txt")
    if not ids.is_file():
        raise BadInput("the ids of its rows are not there", file=path, expected=f"{ids.name} beside it, an id a line")
    try:
        values = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot be read ({error})", file=path, expected="an array of numbers") from None
    tasks = ids.read_text(encoding="utf-8").splitlines()
    if values.ndim not in (1, 2) or len(values) != len(tasks) or values.dtype.kind not in "iuf":
        raise BadInput(
            f"an array of shape {values.shape} for {len(tasks)} ids", file=path, expected="a number, or a row, an id"
        )
    columns: dict[str, Any] = {"task": pl.Series(tasks, dtype=pl.String)}
    if values.ndim == 2:
        columns |= {f"#{k}": values[:, k].astype(float) for k in range(values.shape[1])}
    elif values.dtype.kind == "f":
        columns["value"] = values.astype(float)
    else:
        columns["#"] = values.astype(np.int64)
    return Told(pl.DataFrame(columns), path)


def of_submission(path: Path) -> Told | None:
    """A file of the LeWiDi 2025 task: id, tab, a list of probabilities, or a list [no, yes] for each label."""
    import polars as pl

    if path.suffix != ".tsv" or not path.is_file():
        return None
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        lines = [line.rstrip("\r\n") for line in file if line.strip()]
    parts = [line.partition("\t") for line in lines]
    if not parts or not all(tab and value.lstrip().startswith("[") for _, tab, value in parts[:5]):
        return None
    expected = "id, tab, a list with a probability for each class (or [no, yes] for each label)"
    rows: list[list[float]] = []
    for number, (_, _, value) in enumerate(parts, 1):
        try:
            row = [float(x[1]) if isinstance(x, list) else float(x) for x in json.loads(value)]
        except (ValueError, TypeError, IndexError, RecursionError):
            raise BadInput(f"{shortened(value)}", file=path, line=number, value=value, expected=expected) from None
        if rows and len(row) != len(rows[0]):
            message = f"{len(row)} numbers, {len(rows[0])} in the first line"
            raise BadInput(message, file=path, line=number, value=value, expected=expected)
        rows.append(row)
    values = np.array(rows)
    columns: dict[str, Any] = {"task": pl.Series([task.strip() for task, _, _ in parts], dtype=pl.String)}
    return Told(pl.DataFrame(columns | {f"#{k}": values[:, k] for k in range(values.shape[1])}), path)


# coding ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Predicted:
    """r predictions in codes. `label` is a class (-1 = none) or a number (NaN = none)."""

    task: np.ndarray  # [r]
    worker: np.ndarray | None  # [r]
    split: list[str | None] | None  # [r]
    label: np.ndarray  # [r]
    prob: np.ndarray  # [r] of the label, NaN = unknown
    probs: np.ndarray | None  # [r, K]
    labels: np.ndarray | None  # [r, K] where an answer may hold several labels
    notes: tuple[str, ...] = ()


def coded(table: Told, tasks: Names, workers: Names | None, classes: Names, scale: str, said: Names) -> Predicted:
    """Codes of a table of predictions; whatever cannot be meant is an error that names the row. `said` are the classes
    without those that only the truth has: arrays and submissions speak of them by their places."""
    table = named(table, said, classes)
    frame, notes = table.frame, []
    if "task" not in frame.columns:
        raise table.bad(f"no column 'task'; found {', '.join(frame.columns[:12])}", expected=WANTED)
    if not len(frame):
        raise table.bad("no predictions in it", expected="a row for each task")
    task = codes_of(table, "task", tasks)
    worker = None
    if "worker" in frame.columns:
        if workers is None:
            raise table.bad("a column 'worker', and DATA names no workers", expected="predictions about tasks")
        worker = codes_of(table, "worker", workers)
    split = table.texts("split") if "split" in frame.columns else None
    if scale == "interval":
        label = numbers_of(table)
        nothing = np.full(len(task), np.nan)
        alone(table, task, worker, tasks, workers)
        return Predicted(task, worker, split, label, nothing, None, None)
    probs, absent = probs_of(table, classes, scale, tasks, task)
    if absent:
        notes.append(f"no column p:CLASS for {', '.join(absent[:6])}: taken as 0")
    if "label" not in frame.columns and probs is None:
        wanted = "--scale interval, for values are numbers" if "value" in frame.columns else WANTED
        raise table.bad(f"no label and no p:CLASS; found {', '.join(frame.columns[:12])}", expected=wanted)
    if scale == "multilabel":
        return sets_of(table, task, worker, split, probs, classes, tuple(notes))
    alone(table, task, worker, tasks, workers)
    label = labels_of(table, classes) if "label" in frame.columns else first_best(probs)  # type: ignore[arg-type]
    prob = table.numbers("prob") if "prob" in frame.columns else np.full(len(task), np.nan)
    if len(wrong := np.flatnonzero((prob < 0) | (prob > 1))):
        at = int(wrong[0])
        raise table.bad(f"prob is {prob[at]:g}", at, prob[at], "a number from 0 to 1")
    if probs is not None:
        prob = np.where(label >= 0, probs[np.arange(len(label)), np.maximum(label, 0)], prob)
    return Predicted(task, worker, split, label, prob, probs, None, tuple(notes))


def named(table: Told, classes: Names, every: Names) -> Told:
    """Columns known by their place (arrays, submissions) under the names of the classes, or of as many as there are in all."""
    import polars as pl

    numbered = [name for name in table.frame.columns if name.startswith("#")]
    if not numbered:
        return table
    if numbered == ["#"]:
        code = table.frame["#"].to_numpy()
        if len(wrong := np.flatnonzero((code < -1) | (code >= len(classes)))):
            raise table.bad(
                f"class code {code[wrong[0]]} in row {wrong[0]}", expected=f"0 to {len(classes) - 1}, -1 = no label"
            )
        labels = pl.Series([*classes, None], dtype=pl.String).gather(code % (len(classes) + 1))
        return Told(table.frame.drop("#").with_columns(label=labels), table.file)
    if len(numbered) == len(every):
        classes = every
    if len(numbered) != len(classes):
        raise table.bad(f"{len(numbered)} numbers a task", expected=f"one for each of {len(classes)} classes")
    return Told(table.frame.rename(dict(zip(numbered, (f"p:{name}" for name in classes), strict=True))), table.file)


def codes_of(table: Told, kind: str, known: Names) -> np.ndarray:
    given = table.texts(kind)
    codes = known.code((name if name is not None else "" for name in given), missing=-1)
    if len(wrong := np.flatnonzero(codes < 0)):
        at = int(wrong[0])
        if given[at] is None or given[at] == "":
            raise table.bad(f"a prediction without a {kind}", at, expected=f"a {kind} in each row")
        lost = len({given[i] for i in wrong})
        more = f" ({lost} such {kind}s)" if lost > 1 else ""
        raise table.bad(
            f"{kind} {shortened(str(given[at]))!r} is not in DATA{more}",
            at,
            given[at],
            f"{kind}s of DATA" + (f", such as {shortened(known[0])!r}" if len(known) else ", which has none"),
        )
    return codes


def labels_of(table: Told, classes: Names) -> np.ndarray:
    """[r] Class codes, -1 where there is no label."""
    given = table.texts("label")
    codes = classes.code((name if name is not None else "" for name in given), missing=-1)
    for at in np.flatnonzero(codes < 0):
        if given[at] is not None and given[at] != "":
            raise unknown(table, int(at), str(given[at]), classes)
    return codes


def unknown(table: Told, at: int, label: str, classes: Names) -> BadInput:
    every = ", ".join(map(shortened, classes[:12])) + (", ..." if len(classes) > 12 else "")
    return table.bad(
        f"label {shortened(label)!r} is not a class of DATA",
        at,
        label,
        f"{every or 'no class is known'} (--classes states others)",
    )


def numbers_of(table: Told) -> np.ndarray:
    name = next((name for name in ("value", "label") if name in table.frame.columns), None)
    if name is None:
        raise table.bad(f"no column 'value'; found {', '.join(table.frame.columns[:12])}", expected="task and value")
    found = table.numbers(name)
    if len(wrong := np.flatnonzero(np.isinf(found))):
        raise table.bad(f"{name} is {found[wrong[0]]}", int(wrong[0]), expected="finite numbers")
    return found


def probs_of(
    table: Told, classes: Names, scale: str, tasks: Names, task: np.ndarray
) -> tuple[np.ndarray | None, list[str]]:
    """[r, K] Checked probabilities and the classes that have no column; nothing if there is no column at all."""
    given = [name for name in table.frame.columns if name.startswith("p:")]
    if not given:
        return None, []
    if lost := [name for name in given if name[2:] not in classes]:
        every = ", ".join(f"p:{name}" for name in classes[:8])
        raise table.bad(
            f"column {shortened(lost[0])!r} is not about a class of DATA",
            expected=f"{every or 'no class'} (--classes states others)",
        )
    rows = np.zeros((len(task), len(classes)))
    for name, k in zip(given, classes.code(name[2:] for name in given), strict=True):
        rows[:, k] = table.numbers(name)
    bad = ~np.isfinite(rows).all(axis=1) | (rows < -TOLERANCE).any(axis=1) | (rows > 1 + TOLERANCE).any(axis=1)
    total = rows.sum(axis=1)
    if scale != "multilabel":
        bad |= ~(np.abs(total - 1) <= TOLERANCE)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        who = f"the probabilities of task {shortened(tasks[int(task[at])])!r}"
        if np.isnan(rows[at]).any():
            said = f"{who} are not all there (p:{classes[int(np.isnan(rows[at]).argmax())]} is empty or NaN)"
        elif not np.isfinite(rows[at]).all() or rows[at].min() < -TOLERANCE or rows[at].max() > 1 + TOLERANCE:
            said = f"{who} are not between 0 and 1"
        else:
            said = f"{who} sum to {total[at]:.6g}"
        wanted = "numbers from 0 to 1" + ("" if scale == "multilabel" else " that sum to 1")
        raise table.bad(said, at, rows[at].tolist(), wanted)
    rows = rows.clip(0, 1)
    if scale != "multilabel":
        rows /= rows.sum(axis=1, keepdims=True)
    return rows, [name for name in classes if f"p:{name}" not in given]


def alone(table: Told, task: np.ndarray, worker: np.ndarray | None, tasks: Names, workers: Names | None) -> None:
    """A second prediction for the same thing is an error."""
    key = task if worker is None else task * np.int64(len(workers)) + worker  # type: ignore[arg-type]
    order = np.argsort(key, kind="stable")
    again = order[1:][key[order][1:] == key[order][:-1]]
    if len(again):
        at = int(again.min())
        who = f"task {shortened(tasks[int(task[at])])!r}"
        if worker is not None:
            who += f" and worker {shortened(workers[int(worker[at])])!r}"  # type: ignore[index]
        raise table.bad(
            f"a second prediction for {who} ({len(again)} such rows)",
            at,
            expected="one row each" + ("" if worker is not None else " (aggregate without --ties all)"),
        )


def sets_of(table: Told, task, worker, split, probs, classes: Names, notes: tuple[str, ...]) -> Predicted:
    """Several rows, or one text with commas, are several labels of one prediction."""
    K = len(classes)
    key = task if worker is None else task.astype(np.int64) * (int(worker.max(initial=0)) + 1) + worker
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    labels = np.zeros((len(first), K), bool)
    code = {name: k for k, name in enumerate(classes)}
    if "label" in table.frame.columns:
        for row, text in enumerate(table.texts("label")):
            if text is None or text == "":
                continue
            for part in [text] if text in code else [part.strip() for part in text.split(",")]:
                if part not in code:
                    raise unknown(table, row, text, classes)
                labels[place[row], code[part]] = True
    elif probs is not None:
        labels = probs[first] > 0.5
        none = ~labels.any(axis=1)
        labels[none] = np.eye(K, dtype=bool)[first_best(probs[first][none])] if none.any() else False
    label = np.where(labels.sum(axis=1) == 1, labels.argmax(axis=1), -1)
    probs = None if probs is None else probs[first]
    prob = np.full(len(first), np.nan)
    if probs is not None:
        prob = np.where(label >= 0, probs[np.arange(len(label)), np.maximum(label, 0)], prob)
    return Predicted(
        task[first],
        None if worker is None else worker[first],
        None if split is None else [split[i] for i in first],
        label,
        prob,
        probs,
        labels,
        notes,
    )
