"""What the items hold, row by row: texts, pairs of texts, images, sounds, frames, vectors, or columns of numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import BadInput
from .items import Items
from .names import Names

if TYPE_CHECKING:
    import polars as pl

PAIRS = (("premise", "hypothesis"), ("text", "hypothesis"), ("text1", "text2"), ("question1", "question2"))
KINDS = ("text", "pair", "image", "audio", "frames", "features", "table")


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """n items of one kind. `values` is what an encoder is given, a row an item:

    text      texts                     pair    pairs of texts
    image     uint8 [n, h, w(, 3)], or paths    audio   paths      frames  lists of paths
    features  numbers [n, d] or [n, l, d]       table   numbers [n, d], columns in the order of their names
    """

    kind: str
    ids: Names
    values: Any
    columns: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: np.ndarray) -> Any:
        return self.values[rows] if isinstance(self.values, np.ndarray) else [self.values[i] for i in rows]

    def digest(self) -> str:
        """One text for all that is in it: what a cache of encoded items goes by."""
        found = hashlib.sha256(f"{self.kind}\0{len(self)}".encode())
        if isinstance(self.values, np.ndarray):
            found.update(f"{self.values.shape} {self.values.dtype}".encode())
            for block in np.array_split(self.values, max(1, self.values.nbytes >> 26)):
                found.update(np.ascontiguousarray(block))
        elif self.kind in ("text", "pair"):
            for value in self.values:
                found.update(repr(value).encode("utf-8", "surrogatepass"))
        else:
            for path in paths(self.values):
                found.update(str(path).encode("utf-8", "surrogatepass"))
                found.update(hashlib.sha256(opened(path)).digest())
        return found.hexdigest()


def paths(values: Iterable[Any]) -> Iterable[Path]:
    for value in values:
        yield from value if isinstance(value, list) else [value]


def opened(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", file=path, expected="a file the items name") from None


def content_of(items: Items) -> Content:
    """The content of those items that have any, in the order of their ids."""
    if items.arrays is not None:
        return of_arrays(items)
    table = items.table
    if table is None or not table.height:
        raise BadInput(
            "the data set has answers but no items to learn from",
            expected="items.csv or items.jsonl with task and text (or a pair, image, audio), images.npz, or features.npy",
        )
    order = Names.ordered(table["task"].unique().drop_nulls().to_list())
    at = np.argsort(order.code(table["task"].to_list()), kind="stable")
    if len(at) != len(order):
        raise BadInput(f"{len(at) - len(order)} tasks stand twice among the items", expected="a row an item")
    return of_table(table[at.tolist()], order, items.folder)


def of_table(table: pl.DataFrame, ids: Names, folder: Path | None) -> Content:
    import polars as pl

    names = table.columns
    for kind in ("image", "audio", "frames"):
        if kind in names:
            root = folder or Path()
            values = table[kind].to_list()
            lacking(values, ids, kind)
            if kind == "frames":
                return Content(kind, ids, [[root / frame for frame in frames] for frames in values])
            return Content(kind, ids, [root / value for value in values])
    for pair in PAIRS:
        if set(pair) <= set(names):
            first, second = (table[name].cast(pl.String).to_list() for name in pair)
            lacking(first, ids, pair[0])
            lacking(second, ids, pair[1])
            return Content("pair", ids, list(zip(first, second, strict=True)))
    if "text" in names:
        texts = table["text"].cast(pl.String).to_list()
        lacking(texts, ids, "text")
        return Content("text", ids, texts)
    numbers = {
        name: table[name].cast(pl.Float64, strict=False) for name in sorted(names) if name not in ("task", "split")
    }
    columns = tuple(name for name, column in numbers.items() if column.null_count() == 0)
    if not columns:
        raise BadInput(
            f"no column to learn from among {', '.join(names)}",
            expected="text, a pair of texts, image, audio, frames, or columns of numbers",
        )
    return Content("table", ids, np.column_stack([numbers[name].to_numpy() for name in columns]), columns)


def lacking(values: list[Any], ids: Names, name: str) -> None:
    if None in values:
        raise BadInput(f"task {ids[values.index(None)]!r} has no {name}", expected=f"a {name} for every item")


def of_arrays(items: Items) -> Content:
    path = items.arrays
    assert path is not None
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as held:
            names, values, kind = list(map(str, held["tasks"].tolist())), held["images"], "image"
    else:
        names = path.with_name("tasks.txt").read_text(encoding="utf-8").splitlines()
        values, kind = np.load(path, mmap_mode="r", allow_pickle=False), "features"
    ids = Names.ordered(names)
    order = np.argsort(ids.code(names), kind="stable")
    if not np.array_equal(order, np.arange(len(order))):
        values = values[order]
    return Content(kind, ids, values)
