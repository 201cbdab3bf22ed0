"""peerannot: a folder with answers.json and metadata.json.

    answers.json             {task: {worker: label}}
    answers_inversed.json    {worker: {task: label}}
    answers.txt              a row a task, a column a worker, -1 where there is no answer
    metadata.json            name, n_classes, n_workers, n_task or n_tasks (or neither)
    labelNames.txt           names of the classes, a line each; kept as `label_names`
    ground_truth.npy         truth of tasks 0, 1, ..., as its `simulate` writes it
    train/CLASS/name-KEY.png images (val/ and test/ too); KEY is the task

The first of the three answer files that is there is read; a single one of them can be given too.

- Ids are whole numbers, kept as text. A task that is `{}` is a task without answers.
- The classes are 0 to n_classes - 1. peerannot's own Krippendorff set counts from 1: labels 1 to n_classes are then the
  classes, with a note.
- Folders of images are classes 0, 1, ... in the order of labelNames.txt, else of their names (CIFAR-10: its own order); names
  that are numbers are the classes themselves.
- With ids.json beside, as we write it, ids and classes get their names back.
- Writing numbers tasks, workers and classes from 0 in their order unless they are numbers 0 to n - 1 already; ids.json
  keeps the names. One answer a worker and task is all that fits. Tasks without truth have -1 in ground_truth.npy.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from ...core.dataset import Raw
from ...core.errors import BadCall, BadInput
from ...core.files import writing
from ...core.names import in_order, is_integer
from ._columns import listed, one_a_pair, rows_of
from ._images import image_table
from ._text import Number, as_text, cautious, head, load, no_leftovers, parse_json, peek_json, plain, short

FILES = ("answers.json", "answers_inversed.json", "answers.txt")
LAYOUT = (*FILES, "metadata.json", "ground_truth.npy", "ids.json")
CIFAR = ("plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")  # not by the alphabet
MOST = 10_000_000  # of stated classes, workers or tasks


@cautious
def recognise(path: Path) -> float:
    """Objects of objects of numbers, or a matrix with -1; surer with metadata.json beside."""
    file = next((path / name for name in FILES if (path / name).is_file()), None) if path.is_dir() else path
    if file is None or not (_like_json(file) or _like_matrix(file)):
        return 0.0
    if file.name not in FILES:
        return 0.55
    return 0.95 if file.with_name("metadata.json").is_file() else 0.8


def _like_json(file: Path) -> bool:
    entries = peek_json(file)
    answers = [label for _, said in entries if isinstance(said, dict) for label in said.values()]
    if not entries or not all(key is not None and isinstance(said, dict) for key, said in entries):
        return False
    if file.name in FILES:  # the name speaks for it, so any label will do
        return not any(isinstance(label, dict | list) for label in answers)
    numbers = [label for label in answers if label is not None]
    return bool(numbers) and all(isinstance(label, Number) and is_integer(label) for label in numbers)


def _like_matrix(file: Path) -> bool:
    text, whole = head(file)
    lines = [line.split() for line in text.splitlines() if line.strip() and line[0] != "#"]
    lines = lines if whole or len(lines) < 2 else lines[:-1]
    values = {float(value) for line in lines for value in line}
    even = len({len(line) for line in lines}) == 1 and len(lines[0]) > 1
    return even and all(v >= -1 and v == int(v) for v in values) and (-1 in values or file.name in FILES)


def peerannot(path: Path, *, layout: Literal["auto", "tasks", "workers", "matrix"] = "auto") -> Raw:
    """Read a peerannot folder, or one of its files of answers.

    Parameters
    ----------
    layout
        What the answers are: tasks (task, then worker), workers (worker, then task), matrix, or auto, which goes by the
        name and content of the file.
    """
    path = Path(path)
    file = _answers_file(path)
    if layout not in ("auto", "tasks", "workers", "matrix"):
        raise BadCall(f"layout {layout!r}: expected auto, tasks, workers or matrix")
    if layout == "auto":
        layout = "matrix" if not _begins_like_json(file) else "workers" if "inversed" in file.stem else "tasks"
    read = {"tasks": _by_task, "workers": _by_worker, "matrix": _matrix}[layout]
    found = read(file)
    about, notes = _metadata(file)
    counts = {key: _whole(about.get(key), key, file) for key in ("n_classes", "n_workers", "n_task", "n_tasks")}
    stated = counts["n_task"] or counts["n_tasks"]
    tasks, workers = found.tasks, found.workers
    if layout == "workers" and min(map(_index, tasks), default=-1) >= 0:  # as peerannot turns it: no gaps
        tasks = dict.fromkeys([*tasks, *map(str, range(max(stated, *(_index(task) + 1 for task in tasks))))])
    elif stated and stated != len(tasks):
        notes.append(f"metadata.json says {stated} tasks, {file.name} has {len(tasks)}")
    if all(0 <= _index(worker) < counts["n_workers"] for worker in workers):
        workers = dict.fromkeys([*workers, *map(str, range(counts["n_workers"]))])
    rows = pl.DataFrame(
        {"task": found.rows[0], "worker": found.rows[1], "label": found.rows[2]},
        schema=dict.fromkeys(("task", "worker", "label"), pl.String),
    )
    classes, note = _classes(counts["n_classes"], set(rows["label"].drop_nulls()))
    asked, active = set(rows["task"]), set(rows["worker"])
    raw = Raw(
        format="peerannot",
        rows=rows,
        classes=classes,
        tasks=[t for t in tasks if t not in asked],
        worker_ids=[w for w in workers if w not in active],
        about={**about, "folder": str(file.parent)},
        notes=[*found.notes, *notes, *note],
        dropped=found.dropped,
        where=Place(file, np.array(found.at, np.int64)),
    )
    if path.is_dir():
        raw = _with_truth(_with_images(raw, path), path)
    return _named(raw, file)


def _answers_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = next((path / name for name in FILES if (path / name).is_file()), None)
    if found is None:
        raise BadInput("no answers", file=path, expected=f"one of {', '.join(FILES)}")
    return found


def _begins_like_json(file: Path) -> bool:
    """What is wrong with a file that is no text, its reader says better."""
    try:
        return head(file)[0].lstrip()[:1] in ("{", "[")
    except (OSError, ValueError):
        return True


# The three layouts ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """Answers as three columns, where each stood, and all tasks and workers that were named."""

    rows: tuple[list[str], list[str], list[str | None]]
    at: list[int]
    tasks: dict[str, None]
    workers: dict[str, None]
    notes: list[str]
    dropped: dict[str, int]


@dataclass(frozen=True, slots=True)
class Place:
    """Answer number -> line of the matrix, or number of the entry in the JSON object."""

    file: Path
    at: np.ndarray

    def __call__(self, answer: int) -> tuple[Path, int | None]:
        return self.file, int(self.at[answer])


def _by_task(file: Path) -> Found:
    return _objects(file, "task", "worker")


def _by_worker(file: Path) -> Found:
    found = _objects(file, "worker", "task")
    workers, tasks, labels = found.rows
    return replace(found, rows=(tasks, workers, labels), tasks=found.workers, workers=found.tasks)


def _objects(file: Path, outer: str, inner: str) -> Found:
    expected = f"{{{outer}: {{{inner}: label}}}}"
    value, notes = parse_json(file, expected)
    if not isinstance(value, dict):
        raise BadInput(short(value), file=file, value=value, expected=expected)
    if not value:
        raise BadInput("no answers", file=file, value=value, expected=expected)
    firsts, seconds, labels, at, dropped = [], [], [], [], 0
    for number, (first, said) in enumerate(value.items(), 1):
        if not isinstance(said, dict):
            raise BadInput(f"{outer} {short(first)} has {short(said)}", file=file, value=said, expected=expected)
        for second, label in said.items():
            if not first or not second:
                dropped += 1
                continue
            try:
                labels.append(as_text(label))
            except TypeError:
                raise BadInput(
                    f"{outer} {short(first)}, {inner} {short(second)}: the label is {short(label)}",
                    file=file,
                    value=label,
                    expected="a whole number",
                ) from None
            firsts.append(first)
            seconds.append(second)
            at.append(number)
    return Found(
        (firsts, seconds, labels),
        at,
        dict.fromkeys(filter(None, value)),
        dict.fromkeys(seconds),
        notes,
        {"no task or no worker": dropped} if dropped else {},
    )


def _matrix(file: Path) -> Found:
    data, notes = load(file, "a row a task, a column a worker, -1 where there is no answer")
    tasks: list[str] = []
    workers: list[str] = []
    labels: list[str | None] = []
    at: list[int] = []
    width = row = 0
    for number, line in enumerate(io.StringIO(data.decode()), 1):
        if not line.strip() or line[0] == "#":
            continue
        try:
            values = np.array(line.split(), float)
        except ValueError:
            raise BadInput(short(line.strip()), file=file, line=number, value=line, expected="whole numbers") from None
        width = width or len(values)
        if len(values) != width:
            raise BadInput(f"{len(values)} columns", file=file, line=number, value=line, expected=f"{width} as above")
        there = np.flatnonzero(~np.isnan(values) & (values != -1))
        if (values[there] != np.floor(values[there])).any() or np.isinf(values).any() or (values[there] < 0).any():
            raise BadInput(short(line.strip()), file=file, line=number, value=line, expected="labels 0, 1, ... or -1")
        tasks += [str(row)] * len(there)
        workers += list(map(str, there.tolist()))
        labels += [str(int(value)) for value in values[there]]
        at += [number] * len(there)
        row += 1
    return Found(
        (tasks, workers, labels),
        at,
        dict.fromkeys(map(str, range(row))),
        dict.fromkeys(map(str, range(width))),
        notes,
        {},
    )


# What stands beside --------------------------------------------------------------------------------------------------


def _metadata(file: Path) -> tuple[dict[str, Any], list[str]]:
    about: dict[str, Any] = {"name": file.resolve().parent.name}
    meta, names = file.with_name("metadata.json"), file.with_name("labelNames.txt")
    notes: list[str] = []
    if meta.is_file():
        value, notes = parse_json(meta)
        if not isinstance(value, dict):
            raise BadInput(short(value), file=meta, expected="one JSON object")
        about |= plain(value)
    else:
        notes = ["no metadata.json: the classes are those seen"]
    if names.is_file():
        lines = [line.strip() for line in load(names)[0].decode().splitlines() if line.strip()]
        about["label_names"] = {str(number): name for number, name in enumerate(lines)}
    return about, notes


def _whole(value: Any, key: str, file: Path) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise BadInput(
            f"{key} is {short(value)}", file=file.with_name("metadata.json"), value=value, expected="a whole number"
        )
    return value


def _index(text: str) -> int:
    """The number a text is, or -1: `007` and numbers nobody counts to are names."""
    return int(text) if is_integer(text) and len(text) < 8 and str(int(text)) == text else -1


def _classes(n: int, seen: set[str]) -> tuple[list[str] | None, list[str]]:
    if not n or not all(map(is_integer, seen)):
        return None, []
    if str(n) in seen and all(1 <= _index(label) <= n for label in seen):
        return [str(k) for k in range(1, n + 1)], [f"labels count from 1 to n_classes = {n}"]
    return [str(k) for k in range(n)], []


def _with_images(raw: Raw, folder: Path) -> Raw:
    found = image_table(folder)
    if found is None:
        return raw
    images, notes = found
    named = raw.about.get("label_names") or _label_names(set(images["class"]))
    code = {name: number for number, name in named.items()}
    truth = images.select("task", label=pl.col("class").replace_strict(code, default=None, return_dtype=pl.String))
    return replace(
        raw,
        items=images.select("task", "image"),
        splits=images.select("task", "split"),
        truth=truth.drop_nulls(),
        notes=[*raw.notes, *notes],
        about={**raw.about, "label_names": named},
    )


def _label_names(folders: set[str]) -> dict[str, str]:
    """Code -> name of a class as peerannot numbers folders: by the alphabet, but CIFAR's; numbers are codes already."""
    if all(_index(name) >= 0 for name in folders):
        return {name: name for name in in_order(folders)}
    names = CIFAR if folders == set(CIFAR) else sorted(folders)
    return {str(number): name for number, name in enumerate(names)}


def _with_truth(raw: Raw, folder: Path) -> Raw:
    file = folder / "ground_truth.npy"
    if not file.is_file():
        return raw
    expected = "whole numbers [n]"
    try:
        truth = np.load(file, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise BadInput(f"not a readable npy file ({error})", file=file, expected=expected) from None
    if truth.ndim != 1 or truth.dtype.kind not in "iu":
        raise BadInput(f"{truth.dtype} {list(truth.shape)}", file=file, expected=expected)
    known = np.flatnonzero(truth >= 0)
    return replace(
        raw,
        truth=pl.DataFrame(
            {"task": map(str, known.tolist()), "label": map(str, truth[known].tolist())},
            schema={"task": pl.String, "label": pl.String},
        ),
    )


def _named(raw: Raw, file: Path) -> Raw:
    """Names for numbers, where ids.json keeps them."""
    ids = file.with_name("ids.json")
    if not ids.is_file():
        return raw
    names = _names(ids)

    def named(values: Iterable[str], kind: str, must: bool = True) -> list[str]:
        strange = next((value for value in values if must and value is not None and value not in names[kind]), None)
        if strange is not None:
            raise BadInput(
                f"no name for {short(strange)} among the {kind}",
                file=ids,
                value=strange,
                expected=f"one for each number in {file.name}",
            )
        return [names[kind].get(value, value) for value in values]  # a missing label stays missing

    def table(frame: pl.DataFrame | None, must: bool = False) -> pl.DataFrame | None:
        kinds = {"task": "tasks", "worker": "workers", "label": "classes"}
        return (
            None
            if frame is None
            else frame.with_columns(
                pl.Series(name, named(frame[name].to_list(), kind, must), dtype=pl.String)
                for name, kind in kinds.items()
                if name in frame.columns
            )
        )

    return replace(
        raw,
        rows=table(raw.rows, must=True),
        truth=table(raw.truth),
        items=table(raw.items),
        splits=table(raw.splits),
        tasks=named(raw.tasks, "tasks"),
        worker_ids=named(raw.worker_ids, "workers"),
        classes=raw.classes and named(raw.classes, "classes"),
    )


def _names(ids: Path) -> dict[str, dict[str, str]]:
    value, _ = parse_json(ids)
    try:
        return {
            kind: {str(number): as_text(name) or "" for number, name in enumerate(value[kind]["id_of"])}
            for kind in ("tasks", "workers", "classes")
        }
    except (KeyError, TypeError, IndexError):
        raise BadInput(
            short(value), file=ids, expected='tasks, workers and classes, each with "id_of": [...]'
        ) from None


# Writing -------------------------------------------------------------------------------------------------------------


def write(data: Raw, out: Path) -> list[Path]:
    """A folder that peerannot loads: answers.json, metadata.json; ground_truth.npy and ids.json where needed."""
    out, rows = Path(out), one_a_pair(rows_of(data, "peerannot", named=True), "peerannot")
    rows = rows.with_columns(pl.col("label").cast(pl.String))
    tasks, workers = in_order({*rows["task"], *data.tasks}), in_order({*rows["worker"], *data.worker_ids})
    classes = data.classes or in_order(set(rows["label"]))
    strange = next((label for label in rows["label"].unique() if label not in set(classes)), None)
    if strange is not None:
        raise BadInput(f"the label {short(strange)} is none of the classes", value=strange, expected=listed(classes))
    code = {
        kind: {name: number for number, name in enumerate(names)}
        for kind, names in (("tasks", tasks), ("workers", workers), ("classes", classes))
    }
    said: dict[int, dict[int, int]] = {number: {} for number in range(len(tasks))}
    for task, worker, label in rows.iter_rows():
        said[code["tasks"][task]][code["workers"][worker]] = code["classes"][label]
    files: dict[str, Any] = {
        "answers.json": said,
        "metadata.json": {
            "name": str(data.about.get("name") or out.name),
            "n_classes": len(classes),
            "n_workers": len(workers),
            "n_task": len(tasks),
            "n_tasks": len(tasks),
        },
    }
    if any(name != str(number) for of in code.values() for name, number in of.items()):
        files["ids.json"] = {kind: {"id_of": list(of), "index_of": of} for kind, of in code.items()}
    truth = np.full(len(tasks), -1)
    for task, label in data.truth.select("task", "label").rows() if data.truth is not None else ():
        if task in code["tasks"]:
            truth[code["tasks"][task]] = code["classes"].get(label, -1)
    names = [*files, *(["ground_truth.npy"] if (truth >= 0).any() else [])]
    no_leftovers(out, LAYOUT, names)
    with writing(out) as new:
        for name, value in files.items():
            new(name).write_text(json.dumps(value, ensure_ascii=False, indent=3) + "\n", encoding="utf-8")
        if "ground_truth.npy" in names:
            with new("ground_truth.npy").open("wb") as file:
                np.save(file, truth)
    return [out / name for name in names]
