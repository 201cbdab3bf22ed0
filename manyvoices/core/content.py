"""What the items hold, row by row: texts, pairs of texts, images, sounds, frames, vectors, or columns of numbers."""

from __future__ import annotations

import functools
import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import BadInput
from .items import Items
from .names import Names

if TYPE_CHECKING:
    import polars as pl

PAIRS = (("premise", "hypothesis"), ("text", "hypothesis"), ("text1", "text2"), ("question1", "question2"))
FILES = ("image", "audio", "frames")
NO_FEATURES = {"task", "split", "label", "truth", "gold", "worker", "count"}  # numbers, but not about the item
log = logging.getLogger("manyvoices")


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """n items of one kind. `values` is what an encoder is given, a row an item:

    text      texts                     pair    pairs of texts
    image     uint8 [n, h, w(, 3)], or paths    audio   paths      frames  lists of paths
    features  numbers [n, d] or [n, l, d]       table   numbers [n, d], columns in the order of their names

    A row of a sequence of vectors that is all NaN is no part of it; a NaN in a table is a missing number.
    """

    kind: str
    ids: Names
    values: Any
    columns: tuple[str, ...] = ()
    lost: Mapping[str, str] = field(default_factory=dict)  # items that cannot be used -> why
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def in_files(self) -> bool:
        return self.kind in FILES and not isinstance(self.values, np.ndarray)

    def take(self, rows: np.ndarray) -> Any:
        return self.values[rows] if isinstance(self.values, np.ndarray) else [self.values[i] for i in rows]

    def without(self, lost: Mapping[int, str]) -> Content:
        """The other items; these, by row, cannot be used for the reason given."""
        if not lost:
            return self
        rows = np.setdiff1d(np.arange(len(self)), list(lost))
        more = {self.ids[i]: why for i, why in sorted(lost.items())}
        kept = Names([self.ids[i] for i in rows])
        return replace(self, ids=kept, values=self.take(rows), lost={**self.lost, **more})

    def checked(self, strict: bool) -> Content:
        """Itself, if anything is left, and everything where that is asked for."""
        if self.lost and (strict or not len(self)):
            task, why = next(iter(self.lost.items()))
            among = f" (one of {len(self.lost)} such items)" if len(self.lost) > 1 else ""
            raise BadInput(f"task {task!r} {why}{among}", expected=f"{self.kind} that can be used for every item")
        return self

    def tell(self) -> None:
        """What a user should know about items that are left out."""
        for note in self.notes:
            log.info(note)
        if self.lost:
            task, why = next(iter(self.lost.items()))
            log.info(
                "%d of %d items are left out: task %r %s%s",
                len(self.lost),
                len(self.lost) + len(self),
                task,
                why,
                "" if len(self.lost) == 1 else ", and so on",
            )

    def only(self, columns: tuple[str, ...]) -> Content:
        """A table with these columns, as a model was trained on them."""
        if self.kind != "table" or columns == self.columns:
            return self
        if absent := [name for name in columns if name not in self.columns]:
            raise BadInput(
                f"no column of numbers {absent[0]!r}; found {', '.join(self.columns)}",
                expected=f"the columns the model was trained on: {', '.join(columns)}",
            )
        return replace(self, values=self.values[:, [self.columns.index(name) for name in columns]], columns=columns)

    def digest(self) -> str:
        """One text for all that is in it: what a cache of encoded items goes by."""
        found = hashlib.sha256(f"{self.kind}\0{len(self)}".encode())
        if isinstance(self.values, np.ndarray):
            found.update(f"{self.values.shape} {self.values.dtype}".encode())
            for block in np.array_split(self.values, max(1, self.values.nbytes >> 26)):
                found.update(np.ascontiguousarray(block).data)
        elif self.kind in ("text", "pair"):
            for value in self.values:
                found.update(repr(value).encode("utf-8", "surrogatepass"))
        else:
            for value in self.values:
                found.update(b"item")
                for path in value if isinstance(value, list) else [value]:
                    found.update(digest_of(path))
        return found.hexdigest()


def digest_of(path: Path) -> bytes:
    """sha256 of a file, looked at once as long as it is not touched; of one that cannot be read, nothing."""
    try:
        facts = path.stat()
        return bytes_digest(path, facts.st_size, facts.st_mtime_ns)
    except OSError:
        return b""


@functools.lru_cache(maxsize=1 << 20)
def bytes_digest(path: Path, size: int, when: int) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def opened(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", file=path, expected="a file the items name") from None


def content_of(items: Items) -> Content:
    """The content of those items that have any, in the order of their ids."""
    if items.arrays is not None:
        return of_arrays(items).checked(items.strict)
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
    return of_table(table[at.tolist()], order, items.folder).checked(items.strict)


def of_table(table: pl.DataFrame, ids: Names, folder: Path | None) -> Content:
    import polars as pl

    names = table.columns
    for kind in FILES:
        if kind in names:
            return of_files(kind, table[kind].to_list(), ids, folder or Path())
    for pair in (*PAIRS, ("text",)):
        if set(pair) <= set(names):
            columns = [table[name].cast(pl.String).fill_null("").to_list() for name in pair]
            values = columns[0] if len(pair) == 1 else list(zip(*columns, strict=True))
            blank = [i for i, parts in enumerate(zip(*columns, strict=True)) if not "".join(parts).strip()]
            kind = "text" if len(pair) == 1 else "pair"
            return Content(kind, ids, values).without(dict.fromkeys(blank, "has an empty text"))
    return of_numbers(table, ids)


def of_files(kind: str, values: list[Any], ids: Names, folder: Path) -> Content:
    paths = [
        [folder / frame for frame in value or () if frame] if kind == "frames" else folder / (value or "")
        for value in values
    ]
    missing = [i for i, value in enumerate(values) if not value]
    return Content(kind, ids, paths).without(dict.fromkeys(missing, f"has no {kind}"))


def of_numbers(table: pl.DataFrame, ids: Names) -> Content:
    """The columns whose cells are numbers or empty."""
    import polars as pl

    given = {name: table[name] for name in sorted(table.columns) if name not in NO_FEATURES}
    numbers = {name: column.cast(pl.Float64, strict=False) for name, column in given.items()}
    columns = tuple(name for name in given if numbers[name].null_count() == given[name].null_count() < len(table))
    if not columns:
        raise BadInput(
            f"no column to learn from among {', '.join(table.columns)}",
            expected="text, a pair of texts, image, audio, frames, or columns of numbers",
        )
    values = np.column_stack([numbers[name].fill_null(np.nan).to_numpy() for name in columns])
    notes = []
    if other := [name for name in given if name not in columns]:
        notes.append(f"columns that are no numbers are not looked at: {', '.join(other)}")
    if absent := int(np.isnan(values).sum()):
        notes.append(f"{absent} missing numbers in the columns of the items count as the mean of their column")
    wild = np.flatnonzero(np.isinf(values).any(axis=1))
    found = Content("table", ids, values, columns, notes=tuple(notes))
    return found.without(dict.fromkeys(wild.tolist(), "has a number that is infinite"))


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
    if len(ids) != len(names):
        raise BadInput(f"{len(names) - len(ids)} tasks stand twice", file=path, expected="a row an item")
    order = np.argsort(ids.code(names), kind="stable")
    if not np.array_equal(order, np.arange(len(order))):
        values = values[order]
    found = Content(kind, ids, values)
    if kind == "image":
        return found
    return found.without(dict.fromkeys(unusable(values), "has features that are no numbers, or beyond 1e15"))


LARGEST = np.float32(1e15)  # beyond it the variance of a column has no place in single precision


def unusable(values: np.ndarray) -> list[int]:
    """Rows of features [n, d] or [n, l, d] that hold NaN or infinity, or what single precision cannot square; but for rows
    of a sequence that are all NaN."""
    found: list[int] = []
    step = max(1, (1 << 24) // max(1, values[:1].nbytes))
    for a in range(0, len(values), step):
        block = np.asarray(values[a : a + step])
        wrong = ~(np.abs(block) <= LARGEST).all(axis=-1)
        if block.ndim == 3:
            padding = np.isnan(block).all(axis=-1)
            wrong = (wrong & ~padding).any(axis=1) | padding.all(axis=1)
        found += (a + np.flatnonzero(wrong)).tolist()
    return found
