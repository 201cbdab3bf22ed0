"""Native folder: answers, truth, items, splits and workers as plain files, each of them optional.

    answers.{csv,csv.gz,tsv,jsonl,jsonl.gz,parquet}    task,worker,label; further columns are kept as notes
    truth.csv       task,label
    items.{csv,jsonl}[.gz]    task and text, or a pair (premise,hypothesis | text,hypothesis | text1,text2 |
                    question1,question2), or image, audio (path inside the folder), or frames (list of paths)
    images.npz      tasks, images (uint8 [n, h, w, 3 or nothing]), optional labels, which are truth
    features.npy    [n, d] or [n, l, d], with tasks.txt: an id a line, in the same order
    train/CLASS/name-KEY.png    images as peerannot has them (val/ and test/ too); the folder's name is the truth
    splits.csv      task,split with train, dev, test; or a column split in items
    workers.csv     worker, then attributes
    META.json       classes, scale, abstain, question; all other keys are kept

- A folder with items only is a data set too; truth and items need not have the same tasks as the answers. For `predict`
  a table of items will do: one file with a column task and no workers.
- Two files of answers, or images.npz and features.npy together, are an error that names them.
- Numbers and nested values in items are kept as the text they were written as; `frames` stays a list.
- Written by us, META.json also lists `tasks_without_answers` and `workers_without_answers`, which no table would show.
"""

from __future__ import annotations

import json
import shutil
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import polars as pl

from ...core.dataset import Raw
from ...core.errors import BadInput
from ...core.files import writing
from ._columns import answers, find, one_by_one, questions_in, side
from ._images import SPLITS, has_images, image_table
from ._table import SUFFIXES, Table, glance, read_table, write_table
from ._text import as_text, cautious, load, no_leftovers, parse_json, plain, short

ANSWERS = [f"answers{suffix}" for suffix in SUFFIXES]
ITEMS = ["items.csv", "items.csv.gz", "items.jsonl", "items.jsonl.gz"]
ARRAYS = ["images.npz", "features.npy"]
LAYOUT = [*ANSWERS, "answers.json", *ITEMS, *ARRAYS, "tasks.txt", "truth.csv", "splits.csv", "workers.csv", "META.json"]
WANTED = (
    "answers.{csv,csv.gz,tsv,tsv.gz,jsonl,jsonl.gz,parquet}; or items.{csv,jsonl}[.gz], images.npz, "
    "features.npy, train/CLASS/name-KEY.png"
)
UNSEEN = ("tasks_without_answers", "workers_without_answers")
NAMES = list(SPLITS.values())
SCALES = ("nominal", "ordinal", "interval", "multilabel")


@cautious
def recognise(path: Path) -> float:
    """By the names of the files, and the columns of answers."""
    found = [name for name in ANSWERS if (path / name).is_file()]
    if found:
        columns = (glance(path / found[0]) or [[]])[0]
        both = len(found) > 1 or (path / "answers.json").is_file()  # an error that only this reader can tell
        return 0.97 if both else 0.9 if find(columns, "task") and find(columns, "label") else 0.6
    if any((path / name).is_file() for name in [*ITEMS, *ARRAYS]):
        return 0.7
    if path.is_dir() and has_images(path):
        return 0.5
    return 0.2 if (path / "META.json").is_file() or (path / "truth.csv").is_file() else 0.0


@cautious
def of_items(path: Path) -> float:
    """Whether a file is a table of items: ids of tasks, and nobody who answered."""
    columns = (glance(path) or [[]])[0] if path.is_file() else []
    return float(bool(find(columns, "task")) and len(columns) > 1 and not find(columns, "worker"))


def native(
    path: Path,
    *,
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    question: str | None = None,
) -> Raw:
    """Read a folder in the native layout.

    Parameters
    ----------
    task
        Column of the answers with the ids of the tasks, if it goes by no usual name.
    worker
        Column of the answers with the ids of the workers, if it goes by no usual name.
    label
        Column of the answers with the labels, if it goes by no usual name.
    question
        Which question to read, where a column `question` names several.
    """
    path = Path(path)
    if of_items(path):
        return _with_table(Raw("native", about={"name": path.stem, "folder": str(path.parent)}), path)
    if not path.is_dir():
        raise BadInput(
            "not a folder" if path.exists() else "no such folder", file=path, expected="a folder with answers.csv"
        )
    file = _answers_file(path)
    raw = Raw(format="native")
    if file is not None:
        raw = answers(read_table(file), "native", task=task, worker=worker, label=label, question=question)
    raw = _with_meta(raw, path)
    raw = _with_items(raw, path)
    tables = {
        name: side(path / f"{name}.csv", *roles)
        for name, roles in (("truth", ("task", "truth")), ("splits", ("task", "split")), ("workers", ("worker",)))
        if (path / f"{name}.csv").is_file()
    }
    if "truth" in tables:
        raw = replace(raw, truth=tables["truth"].frame.select("task", "label").drop_nulls("label"))
    if "splits" in tables:
        raw = replace(raw, splits=_splits(tables["splits"]))
    if "workers" in tables:
        raw = replace(raw, workers=tables["workers"].frame)
    return replace(raw, notes=[*raw.notes, *(note for table in tables.values() for note in table.notes)])


def questions(path: Path, *, task: str | None = None) -> list[str]:
    """What `--question` may be; nothing where one question only is asked."""
    file = _answers_file(Path(path))
    return questions_in(read_table(file), task) if file else []


def _answers_file(path: Path) -> Path | None:
    found = [name for name in [*ANSWERS, "answers.json"] if (path / name).is_file()]
    if len(found) > 1:
        raise BadInput(f"{len(found)} files of answers: {', '.join(found)}", file=path, expected="one of them")
    if not found and not any((path / name).exists() for name in [*ITEMS, *ARRAYS, "train"]):
        held = sorted(file.name for file in path.iterdir())
        among = ", ".join(held[:8] + ["..."] * (len(held) > 8)) or "no files"
        raise BadInput(f"no answers and no items among {among}", file=path, expected=WANTED)
    return path / found[0] if found and found != ["answers.json"] else None


# META.json -----------------------------------------------------------------------------------------------------------


def _with_meta(raw: Raw, path: Path) -> Raw:
    about: dict[str, Any] = {"name": path.resolve().name}
    file = path / "META.json"
    if not file.is_file():
        return replace(raw, about={**about, **raw.about, "folder": str(path)})
    meta, notes = parse_json(file)
    if not isinstance(meta, dict):
        raise BadInput(f"{short(meta)}", file=file, expected="one JSON object")
    scale = meta.get("scale") or raw.scale
    if scale not in SCALES:
        raise BadInput(f"the scale is {short(scale)}", file=file, value=scale, expected=f"one of {', '.join(SCALES)}")
    abstain = [meta["abstain"]] if isinstance(meta.get("abstain"), str) else meta.get("abstain") or []
    names = {key: _names(meta.get(key) or [], key, file) for key in ("classes", *UNSEEN)}
    about |= {key: plain(value) for key, value in meta.items() if key not in ("scale", "abstain", *names)}
    return replace(
        raw,
        classes=names["classes"] or None,
        scale=scale,
        abstain=tuple(_names(abstain, "abstain", file)),
        tasks=names[UNSEEN[0]],
        worker_ids=names[UNSEEN[1]],
        notes=[*raw.notes, *notes],
        about={**about, **raw.about, "folder": str(path)},
    )


def _names(values: Any, key: str, file: Path) -> list[str]:
    try:
        names = [as_text(value) or "" for value in values] if isinstance(values, list) else [""]
    except TypeError:
        names = [""]
    if "" in names or len(set(names)) < len(names):
        raise BadInput(f"{key} is {short(values)}", file=file, value=values, expected="a list of different names")
    return names


# Items ---------------------------------------------------------------------------------------------------------------


def _with_items(raw: Raw, path: Path) -> Raw:
    tables = [name for name in ITEMS if (path / name).is_file()]
    arrays = [name for name in ARRAYS if (path / name).is_file()]
    if len(tables) > 1 or len(arrays) > 1:
        raise BadInput(f"several forms of items: {', '.join(tables + arrays)}", file=path, expected="one of them")
    if arrays:
        tasks, labels = _npz(path / arrays[0]) if arrays == ["images.npz"] else (_npy(path / arrays[0]), None)
        raw = replace(raw, arrays=path / arrays[0], items=pl.DataFrame({"task": pl.Series(tasks, dtype=pl.String)}))
        if labels is not None:
            raw = replace(raw, truth=pl.DataFrame({"task": tasks, "label": labels}))
    if tables:
        return _with_table(raw, path / tables[0])
    if not arrays and (found := image_table(path)):
        images, notes = found
        raw = replace(
            raw,
            items=images.select("task", "image"),
            splits=images.select("task", "split"),
            truth=images.select("task", label="class"),
            notes=[*raw.notes, *notes],
        )
    return raw


def _with_table(raw: Raw, file: Path) -> Raw:
    table = side(file, "task")
    _inside(table)
    raw = replace(raw, items=table.frame, notes=[*raw.notes, *table.notes])
    if "split" in table.frame.columns:
        if any(_parts(table).is_in(NAMES)):
            raw = replace(raw, splits=_splits(table, empty=True))
        else:  # of another kind
            note = f"{table.path.name}: the column split names no train, dev or test, so it is no split"
            raw = replace(raw, notes=[*raw.notes, note])
    return raw


def _inside(table: Table) -> None:
    """Pictures and sounds lie in the folder: a path that leaves it is refused before anybody opens it."""
    for name in table.frame.columns:
        if name not in ("image", "audio", "frames"):
            continue
        paths = table.frame[name].explode() if table.frame[name].dtype.is_nested() else table.frame[name]
        for text in paths.drop_nulls().unique(maintain_order=True):
            place = PurePosixPath(text.replace("\\", "/"))
            if place.is_absolute() or ".." in place.parts or text[1:2] == ":":
                cells = table.frame[name].to_list()
                row = next(at for at, cell in enumerate(cells) if text in (cell if isinstance(cell, list) else [cell]))
                raise BadInput(
                    f"the {name} is {short(text)}",
                    file=table.path,
                    line=table.where(row)[1],
                    value=text,
                    expected="a path inside the folder",
                )


def _npz(path: Path) -> tuple[list[str], list[str] | None]:
    """Ids, and labels if there are any; of the images only the shape is read."""
    expected = "tasks [n] and images (uint8 [n, h, w] or [n, h, w, 3]), without pickled objects"
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in ("tasks", "labels") if name in file}
            if "tasks" not in arrays or "images" not in file:
                raise BadInput(f"the arrays are {', '.join(file.files)}", file=path, expected=expected)
        with zipfile.ZipFile(path) as archive, archive.open("images.npy") as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, kind = read(file)
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, AttributeError) as error:
        if isinstance(error, BadInput):
            raise
        why = "it holds pickled objects, or is none" if "allow_pickle" in str(error) else error
        raise BadInput(f"not a readable npz file ({why})", file=path, expected=expected) from None
    lengths = {name: array.shape for name, array in arrays.items()}
    if kind != np.uint8 or len(shape) not in (3, 4) or any(length != shape[:1] for length in lengths.values()):
        raise BadInput(
            f"images are {kind} {list(shape)}, " + ", ".join(f"{n} {list(s)}" for n, s in lengths.items()),
            file=path,
            expected=expected,
        )
    return _ids(arrays["tasks"], path), _ids(arrays["labels"], path) if "labels" in arrays else None


def _ids(array: np.ndarray, path: Path) -> list[str]:
    if array.dtype.kind in "iuU":
        return list(map(str, array.tolist()))
    raise BadInput(f"ids of type {array.dtype}", file=path, expected="text or whole numbers")


def _npy(path: Path) -> list[str]:
    expected = "numbers [n, d] or [n, l, d]"
    try:
        features = np.load(path, mmap_mode="r", allow_pickle=False)
        shape, kind = features.shape, features.dtype.kind
    except (ValueError, OSError, EOFError, AttributeError) as error:
        raise BadInput(f"not a readable npy file ({error})", file=path, expected=expected) from None
    if len(shape) not in (2, 3) or kind not in "fiu":
        raise BadInput(f"features are {features.dtype} {list(shape)}", file=path, expected=expected)
    ids = path.with_name("tasks.txt")
    lines = load(ids, "an id a line")[0].decode().replace("\r\n", "\n").removesuffix("\n").split("\n")
    if "" in lines:
        raise BadInput("an empty line", file=ids, line=lines.index("") + 1, expected="an id")
    if len(lines) != shape[0]:
        raise BadInput(f"{len(lines)} ids for {shape[0]} rows of features.npy", file=ids, expected="an id for each row")
    return lines


def _parts(table: Table) -> pl.Series:
    return table.frame["split"].replace({**SPLITS, "validation": "dev", "valid": "dev"})


def _splits(table: Table, *, empty: bool = False) -> pl.DataFrame:
    """Which part each task is in; with `empty`, a task may be in none."""
    splits = table.frame.select("task").with_columns(split=_parts(table))
    wrong = ~splits["split"].is_in(NAMES).fill_null(empty)
    if wrong.any():
        row = wrong.to_list().index(True)
        value = table.frame["split"][row]
        raise BadInput(
            f"the split is {short(value)}",
            file=table.path,
            line=table.where(row)[1],
            value=value,
            expected="train, dev or test",
        )
    return splits.drop_nulls()


# Writing -------------------------------------------------------------------------------------------------------------


def write(data: Raw, out: Path) -> list[Path]:
    """A native folder; pictures and sounds are copied along."""
    out = Path(out)
    rows = None if data.rows is None else one_by_one(data.rows)
    items = data.items
    if data.arrays is not None and items is not None and items.width == 1:
        items = None  # the arrays name their tasks themselves
    found = {
        "answers.csv": rows,
        "truth.csv": data.truth,
        "splits.csv": data.splits,
        "workers.csv": data.workers,
        "items.jsonl": items,
    }
    tables = {name: frame for name, frame in found.items() if frame is not None}
    copies = _copies(data)
    no_leftovers(out, LAYOUT, [*tables, *copies, "META.json"])
    with writing(out) as new:
        for name, frame in tables.items():
            write_table(frame, new(name), name)
        for name, source in copies.items():
            shutil.copyfile(source, new(name))
        meta = json.dumps(_meta(data), ensure_ascii=False, indent=1, default=_plain)
        new("META.json").write_text(meta + "\n", encoding="utf-8")
    return [out / name for name in [*tables, *copies, "META.json"]]


def _copies(data: Raw) -> dict[str, Path]:
    copies = {} if data.arrays is None else {data.arrays.name: data.arrays}
    if data.arrays is not None and data.arrays.name == "features.npy":
        copies["tasks.txt"] = data.arrays.with_name("tasks.txt")
    if data.items is None or "folder" not in data.about:
        return copies
    folder = Path(data.about["folder"])
    for name in [name for name in ("image", "audio", "frames") if name in data.items.columns]:
        column = data.items[name].explode() if data.items[name].dtype.is_nested() else data.items[name]
        copies |= {text: folder / text for text in column.drop_nulls() if (folder / text).is_file()}
    return copies


def _meta(data: Raw) -> dict[str, Any]:
    """What the data say about themselves; of tasks and workers, those without answers."""
    asked, active = (
        set() if data.rows is None or name not in data.rows.columns else set(data.rows[name].unique())
        for name in ("task", "worker")
    )
    said = {
        "classes": data.classes,
        "scale": None if data.scale == "nominal" else data.scale,
        "abstain": list(data.abstain),
        UNSEEN[0]: [task for task in data.tasks if task not in asked],
        UNSEEN[1]: [worker for worker in data.worker_ids if worker not in active],
    }
    kept = {key: value for key, value in data.about.items() if key != "folder" and not isinstance(value, pl.DataFrame)}
    return kept | {key: value for key, value in said.items() if value}


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
