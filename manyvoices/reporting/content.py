"""What the workers looked at: the texts of a task, and its picture as a small one inside the page. Nothing is fetched."""

from __future__ import annotations

import base64
import binascii
import io
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ..core.dataset import Dataset

TEXTS = ("text", "premise", "hypothesis", "text1", "text2", "question1", "question2", "title", "prompt", "response")
FILES = ("image", "audio", "frames")
LETTERS, SIDE, LARGEST, FRAMES = 700, 240, 400_000_000, 3

Part = dict[str, Any]  # kind text | image | file, the column's name, text or src


def contents(data: Dataset, tasks: list[str]) -> dict[str, list[Part]]:
    """The parts of each of these tasks that there is something to show of."""
    if data.items is None:
        return {}
    found = of_table(data, set(tasks))
    for task, part in of_arrays(data.items.arrays, tasks).items():
        found.setdefault(task, []).append(part)
    return {task: parts for task, parts in found.items() if parts}


def of_table(data: Dataset, tasks: set[str]) -> dict[str, list[Part]]:
    import polars as pl

    table = data.items.table
    columns = [] if table is None else shown_columns(table.columns)
    if not columns:
        return {}
    rows = table.filter(pl.col("task").is_in(list(tasks))).unique("task", keep="first", maintain_order=True)
    return {
        row["task"]: [part for name in columns for part in parts_of(name, row[name], data.items.folder)]
        for row in rows.select("task", *columns).to_dicts()
    }


def shown_columns(columns: list[str]) -> list[str]:
    known = [name for name in (*TEXTS, *FILES) if name in columns]
    return known or [name for name in columns if name not in ("task", "split")][:3]


def parts_of(name: str, held: Any, folder: Path | None) -> list[Part]:
    if held is None or held == "" or held == []:
        return []
    if isinstance(held, (list, tuple)):
        return [part for one in held[:FRAMES] for part in parts_of(name, one, folder)]
    text = str(held)
    if (picture := as_picture(name, text, folder)) is not None:
        return [{"kind": "image", "name": name, **picture}]
    if text.startswith("data:"):
        return [{"kind": "file", "name": name, "text": text[:40] + "…"}]
    short = text if len(text) <= LETTERS else text[:LETTERS].rstrip() + "…"
    return [{"kind": "file" if name in FILES else "text", "name": name, "text": short}]


def as_picture(name: str, text: str, folder: Path | None) -> Part | None:
    if match := re.match(r"data:image/[\w.+-]+;base64,", text):
        try:
            return thumbnail(io.BytesIO(base64.b64decode(text[match.end() :], validate=False)))
        except (binascii.Error, ValueError):
            return None
    if name not in FILES or folder is None or "://" in text or "\0" in text or len(text) > 1000:
        return None
    file = folder / text
    try:
        inside = file.resolve().is_relative_to(folder.resolve()) and file.is_file()
    except OSError:
        return None
    return thumbnail(file) if inside else None


def thumbnail(source: Any) -> Part | None:
    """At most SIDE wide and high, as a data URI; None for what is no picture."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with Image.open(source) as opened:
                opened.draft("RGB", (2 * SIDE, 2 * SIDE))
                picture = opened.convert("RGBA" if "A" in opened.getbands() else "RGB")
    except (OSError, ValueError, SyntaxError, Warning, Image.DecompressionBombError):
        return None
    picture.thumbnail((SIDE, SIDE))
    held = io.BytesIO()
    small = max(picture.size) <= 96 or picture.mode == "RGBA"
    picture.save(held, "PNG", optimize=True) if small else picture.save(held, "JPEG", quality=80)
    src = f"data:image/{'png' if small else 'jpeg'};base64,{base64.b64encode(held.getvalue()).decode()}"
    return {"src": src, "width": picture.width, "height": picture.height}


def of_arrays(arrays: Path | None, tasks: list[str]) -> dict[str, Part]:
    """Pictures out of images.npz."""
    if arrays is None or arrays.name != "images.npz":
        return {}
    try:
        with zipfile.ZipFile(arrays) as held:
            if held.getinfo("images.npy").file_size > LARGEST:
                return {}
        with np.load(arrays, allow_pickle=False) as archive:
            ids, images = archive["tasks"], archive["images"]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return {}
    at = {str(task): i for i, task in enumerate(ids.tolist())}
    found = {}
    for task in tasks:
        if task in at and (picture := from_array(images[at[task]])) is not None:
            found[task] = {"kind": "image", "name": "image", **picture}
    return found


def from_array(image: np.ndarray) -> Part | None:
    from PIL import Image

    held = io.BytesIO()
    try:
        Image.fromarray(np.ascontiguousarray(image, np.uint8)).save(held, "PNG")
    except (TypeError, ValueError):
        return None
    return thumbnail(held)
