"""doccano: an export as its zip, the folder unpacked from it, or one file of it.

    export.zip    anna.jsonl, ben.jsonl, ...    a file for each member of the project
                  all.jsonl                     where annotation is shared

Lines are `{"id", "text" or "filename", "label": [...], ..., "Comments"}`; files may be .jsonl, .json or .csv, in which
labels are joined with `#`; gzipped or not.

- The worker is the name of the file. `all.jsonl` alone says nothing about who: its labels are only counted.
- The task is `id`. Several labels of a document are several labels of one answer.
- Spans, entities, relations, boxes and outlines are no labels of a task; documents with nothing else are dropped
  and counted. Where intents and slots are asked for, the intents (`cats`) are the labels. Comments are not kept.
- A zip is read in memory, never unpacked to disk; one that would grow beyond a gigabyte is refused.
"""

from __future__ import annotations

import csv
import io
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from ...core.dataset import Raw
from ...core.errors import BadInput
from ._export import Export, Places, content, labels_of, scalar
from ._table import glance, json_lines
from ._text import READABLE, cautious, decode_json, head, peek_json, short, to_utf8, unpack

EXPECTED = 'a zip or folder with a file for each user: {"id", "text", "label": [...]} a line'
SUFFIXES = (".jsonl", ".json", ".csv")
REGIONS = {"entities", "relations", "bbox", "segmentation"}
MOST = 1 << 30  # bytes of a zip, unpacked
FILES = 10_000
MARK = b"PK\x03\x04"
ANY_ZIP = 0.01  # no other reader opens one, so this one says what is wrong with it


@cautious
def recognise(path: Path) -> float:
    """A zip of such files, a folder of them, or one that has doccano's column of comments."""
    if path.is_dir():
        files = _files(path)
        return 0.85 if files and all(_looks(file) for file in files) else 0.0
    with path.open("rb") as file:
        if file.read(4) != MARK:
            return _looks(path)
    try:
        with zipfile.ZipFile(path) as archive:
            names = _members(archive)
            return 0.9 if names and len(names) == len(_real(archive)) else ANY_ZIP
    except zipfile.BadZipFile:
        return ANY_ZIP


def _looks(path: Path) -> float:
    if _form(path) not in SUFFIXES:
        return 0.0
    columns = (glance(path) or [[]])[0]
    if (
        "id" not in columns
        or not {"text", "filename", "data"} & set(columns)
        or not {"label", "labels", "entities"} & set(columns)
    ):
        return 0.0
    comments = "Comments" in columns
    lists = _form(path) != ".csv" and all(
        isinstance(record, dict) and isinstance(record.get("label", record.get("labels")), list | None)
        for record in _first(path)
    )
    users = {"worker", "annotator", "user"} & {name.lower() for name in columns}
    return 0.85 if comments else 0.7 if lists and not users else 0.0


def _first(path: Path) -> list[Any]:
    if _form(path) == ".json":
        return [record for _, record in peek_json(path, 5)]
    text, whole = head(path)
    lines = text if whole else text.rpartition("\n")[0]
    return [record for _, record in islice(json_lines(lines.encode(), path), 5)]


def doccano(path: Path, *, question: str | None = None, multilabel: Literal["rows", "binary"] = "rows") -> Raw:
    """Read an export.

    Parameters
    ----------
    question
        With binary: the label that is asked about.
    multilabel
        rows: one row for each label of an answer; binary: each label is a question to be answered yes or no.
    """
    return _read(Path(path)).raw(question, multilabel)


def questions(path: Path, *, multilabel: str = "rows") -> list[str]:
    """What `--question` may be; nothing where one question only is asked."""
    return _read(Path(path)).questions(multilabel)


def _read(path: Path) -> Export:
    files = list(_contents(path))
    shared = [name for name, _ in files] == ["all"] or (len(files) == 1 and files[0][0].lower() == "all")
    places: list[tuple[Path, int | None]] = []
    export = Export("doccano", path, Places(places), named=not shared)
    for name, (file, data) in files:
        data, notes = to_utf8(data, file)
        export.notes += notes
        for number, record in _records(data, file):
            found = record.get("label", record.get("labels", record.get("cats")))
            if (found is None and not REGIONS.isdisjoint(record)) or (
                isinstance(found, list) and any(isinstance(part, list | dict) for part in found)
            ):
                export.dropped["documents with spans"] += 1
                continue
            task = scalar(record.get("id"), "the id", file, number)
            labels = (
                found.split("#")
                if _form(file) == ".csv" and isinstance(found, str) and found
                else labels_of(found, "the label", file, number)
            )
            if task:
                export.items.setdefault(
                    task,
                    content(
                        {key: record[key] for key in ("text", "filename", "data") if isinstance(record.get(key), str)}
                    ),
                )
            places.append((file, number))
            export.add("label", len(places) - 1, task, None if shared else name, labels or None)
    if shared:
        export.notes.append("all: annotation was shared, and nobody is named; labels are only counted")
    return export


def _records(data: bytes, file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if _form(file) == ".csv":
        try:
            reader = csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True)
            for record in reader:
                if None in record:
                    raise BadInput(
                        "more fields than in the header",
                        file=file,
                        line=reader.line_num,
                        expected="a field for each column",
                    )
                yield reader.line_num, record
        except csv.Error as error:
            raise BadInput(
                f"broken CSV ({error})", file=file, expected="id, text and label, labels joined with #"
            ) from None
    elif data.lstrip()[:1] == b"[":
        records, _ = decode_json(data.decode(), file, EXPECTED)
        for number, record in enumerate(records, 1):
            if not isinstance(record, dict):
                raise BadInput(f"record {number} is {short(record)}", file=file, expected=EXPECTED)
            yield number, record
    else:
        yield from json_lines(data, file)


# Where the files are -------------------------------------------------------------------------------------------------


def _contents(path: Path) -> Iterator[tuple[str, tuple[Path, bytes]]]:
    """Name of the user; the file and what is in it."""
    if path.is_dir():
        files = _files(path)
        if not files:
            raise BadInput("no files of users", file=path, expected=EXPECTED)
        for file in files:
            yield _unpacked(file).stem, (file, unpack(file))
        return
    data = unpack(path, EXPECTED)
    if data[:4] == MARK:
        yield from _zipped(path, data)
    elif data.strip():
        yield _unpacked(path).stem, (path, data)
    else:
        raise BadInput("the file is empty", file=path, expected=READABLE)


def _unpacked(file: Path) -> Path:
    return file.with_suffix("") if file.suffix.lower() == ".gz" else file


def _form(file: Path) -> str:
    return _unpacked(file).suffix.lower()


def _files(folder: Path) -> list[Path]:
    return [
        file for file in sorted(folder.iterdir()) if file.is_file() and _form(file) in SUFFIXES and file.name[0] != "."
    ]


def _real(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Members that are files and not what a Mac or an editor leaves behind."""
    return [
        info
        for info in archive.infolist()
        if not info.is_dir()
        and not info.filename.startswith("__MACOSX/")
        and not PurePosixPath(info.filename).name.startswith(".")
    ]


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    return [info for info in _real(archive) if PurePosixPath(info.filename).suffix.lower() in SUFFIXES]


def _zipped(path: Path, data: bytes) -> Iterator[tuple[str, tuple[Path, bytes]]]:
    left = MOST
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = _members(archive)
            if not members:
                raise BadInput("no .jsonl, .json or .csv in the zip", file=path, expected=EXPECTED)
            if len(members) > FILES:
                raise BadInput(f"{len(members)} files in the zip", file=path, expected=f"at most {FILES}")
            for info in sorted(members, key=lambda info: info.filename):
                with archive.open(info) as member:
                    text = member.read(left + 1)
                left -= len(text)
                if left < 0:
                    raise BadInput(
                        f"{short(info.filename)} makes the zip larger than {MOST} bytes unpacked",
                        file=path,
                        expected="an export; unpack it and give the folder if it is one",
                    )
                name = PurePosixPath(info.filename.replace("\\", "/")).name
                yield PurePosixPath(name).stem, (path / name, text)
    except (
        zipfile.BadZipFile,
        zlib.error,
        RuntimeError,
        NotImplementedError,
        OSError,
        EOFError,
        ValueError,
        UnicodeError,
    ) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(
            f"not a readable zip ({str(error).splitlines()[0] if str(error) else type(error).__name__})",
            file=path,
            expected="a whole zip without a password",
        ) from None
