"""Tables as columns of text: CSV in its dialects, JSON lines and lists, Parquet; read, glanced at, written."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, ClassVar, Protocol, cast

import polars as pl

from ...core.errors import BadCall, BadInput
from ._text import (
    as_text,
    decode_json,
    decoder,
    half_a_character,
    head,
    load,
    peek_json,
    short,
    to_json,
    without_trailing_commas,
)

SEPARATORS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}
SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz", ".parquet")
TABLE = "columns task, worker and label in CSV, TSV, JSON lines or Parquet"
_PARQUET = b"PAR1"
_POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)


class Where(Protocol):
    """Row number -> file and place in it, counted in units: lines or records."""

    @property
    def unit(self) -> str: ...

    def __call__(self, row: int) -> tuple[Path, int | None]: ...


@dataclass(frozen=True, slots=True)
class Table:
    """A file as columns of text. `nested` tells where a column first held a JSON list or object, and which."""

    path: Path
    frame: pl.DataFrame
    where: Where
    notes: list[str] = field(default_factory=list)
    nested: dict[str, tuple[int, str]] = field(default_factory=dict)


def read_table(path: Path, *, strip: bool = True) -> Table:
    """Any table, by its content. `strip`: spaces around column names go (they stay where names are workers' ids)."""
    if _begins(path) == _PARQUET:
        return _read_parquet(path)
    data, notes = load(path, TABLE)
    start = data[:4096].lstrip()[:1]
    if start == b"[":
        return _read_json_list(path, data, notes)
    if start == b"{":
        _refuse_an_object(path, data)
        return _read_json_lines(path, data, notes)
    return _read_csv(path, data, notes, strip)


@dataclass(frozen=True, slots=True)
class Records:
    """A file as records whose values may be lists and objects; cells of a CSV stay text."""

    path: Path
    rows: list[dict[str, Any]]
    where: Where
    notes: list[str] = field(default_factory=list)


def read_records(path: Path, expected: str) -> Records:
    """JSON lines, a JSON list, Parquet or CSV, a dict a row."""
    if _begins(path) == _PARQUET:
        try:
            return Records(path, parquet(path).to_dicts(), Record(path))
        except (*_POLARS, OSError, ValueError, OverflowError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise BadInput(f"not a readable Parquet file ({reason})", file=path, expected=expected) from None
    data, notes = load(path, expected)
    start = data[:4096].lstrip()[:1]
    if start == b"[":
        records, loose = decode_json(data.decode(), path, expected)
        for number, record in enumerate(records, 1):
            if not isinstance(record, dict):
                raise BadInput(f"record {number} is {short(record)}", file=path, value=record, expected=expected)
        return Records(path, records, Record(path), notes + loose)
    if start == b"{":
        return Records(path, [record for _, record in json_lines(data, path)], JsonLine(path), notes)
    table = _read_csv(path, data, notes, strip=True)
    return Records(path, table.frame.to_dicts(), table.where, table.notes)


def json_lines(data: bytes, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and object of each line that holds one."""
    for number, line in enumerate(_lines(data), 1):
        if line.strip():
            yield number, _record(line, path, number)[0]


def _begins(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4)
    except OSError:
        return b""  # reading the whole will say what is wrong


def is_parquet(path: Path) -> bool:
    return _begins(path) == _PARQUET


def is_array(path: Path) -> bool:
    """An array as numpy saves it, .npy."""
    return _begins(path) == b"\x93NUM"


def glance(path: Path, rows: int = 200) -> list[list[str]]:
    """Column names and the first rows, for `recognise`, gaps empty; nothing if it is no table. May raise."""
    if _begins(path) == _PARQUET:
        frame = parquet(path, rows)
        return [frame.columns, *(["" if value is None else str(value) for value in row] for row in frame.rows())]
    text, whole = head(path)
    start = text.lstrip()[:1]
    if start in ("[", "{"):
        records = [value for _, value in peek_json(path, rows)] if start == "[" else _first_lines(text)
        if not records or not all(isinstance(record, dict) for record in records):
            return []
        names = list(dict.fromkeys(key for record in records for key in record))
        return [names, *([_shown(record.get(name)) or "" for name in names] for record in records)]
    lines = list(islice(io.StringIO(text.lstrip("\r\n"), newline=""), rows))
    lines = lines if whole or len(lines) < 3 else lines[:-1]
    with _any_length():
        found = [row for row in csv.reader(lines, delimiter=sniff(lines[:20])) if row]
    return found if found and len(found[0]) > 1 else []


def _shown(value: Any) -> str | None:
    return to_json(value) if isinstance(value, dict | list) else as_text(value)


def _first_lines(text: str) -> list[Any]:
    found = []
    for line in filter(str.strip, text.split("\n", 20)[:20]):
        try:
            found.append(decoder.decode(line))
        except json.JSONDecodeError:  # the last may be cut off
            break
    return found


# CSV -----------------------------------------------------------------------------------------------------------------


def _read_csv(path: Path, data: bytes, notes: list[str], strip: bool) -> Table:
    data = data.lstrip(b"\r\n") if data[:1] in b"\r\n" else data
    data = data if data[-1:] in b"\r\n" else data + b"\n"  # the fast reader loses what is wrong with an unended line
    separator = sniff(list(islice(_lines(data), 20)))
    with _any_length():
        header = next(csv.reader(_lines(data), delimiter=separator))
    columns = [name.strip() for name in header] if strip else header
    if len(columns) < 2:
        raise BadInput(
            f"only one column, {short(columns[0])}",
            file=path,
            line=1,
            value=columns[0],
            expected=f"{TABLE}; separated by {', '.join(SEPARATORS.values())}",
        )
    if len(set(columns)) < len(columns):
        twice = next(name for at, name in enumerate(columns) if name in columns[:at])
        raise BadInput(
            f"the column {short(twice)} stands twice", file=path, line=1, value=twice, expected="each column once"
        )
    frame = _fast_csv(data, separator, columns)
    if frame is None:
        rows = list(_rows(path, separator, len(columns)))
        frame = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
    elif b'""' in data:
        frame = frame.with_columns(pl.when(pl.all() != "").then(pl.all()))
    before = frame.height
    if frame[:, 0].null_count():
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    empty = before - frame.height
    if not _rectangular(data, separator, frame, empty):
        for _ in _rows(path, separator, len(columns)):
            pass
    notes = [*notes, f"{path.name}: {empty} empty line{'s' * (empty > 1)} skipped"] if empty else notes
    return Table(path, frame, CsvLine(path, separator), notes)


def _fast_csv(data: bytes, separator: str, columns: list[str]) -> pl.DataFrame | None:
    """One parallel read; nothing where the file is ragged or quoted in an unusual way."""
    if data.count(b"\r") != data.count(b"\r\n"):
        return None  # a carriage return alone would not end a line there
    try:
        frame = pl.read_csv(data, separator=separator, infer_schema=False, raise_if_empty=False)
    except _POLARS:
        return None
    if frame.width != len(columns):
        return None
    frame.columns = columns
    return frame


def _rectangular(data: bytes, separator: str, frame: pl.DataFrame, empty: int) -> bool:
    """Whether no row is shorter than the header: the fast reader fills those up without a word."""
    if not frame[:, -1].null_count():
        return True
    if empty or b'"' in data:
        return False  # separators in quotes, and on lines of nothing else, cannot be told from others by counting
    return data.count(separator.encode()) == (frame.width - 1) * (frame.height + 1)


def _rows(path: Path, separator: str, width: int) -> Iterator[list[str | None]]:
    return _checked(_lines(load(path)[0]), path, separator, width)


def rows_in(path: Path, separator: str, width: int) -> Iterator[list[str | None]]:
    """The same of a plain file in UTF-8, however large: it is never held as a whole."""
    with path.open(encoding="utf-8", newline="") as file:
        yield from _checked(file, path, separator, width)


def _checked(lines: IO[str], path: Path, separator: str, width: int) -> Iterator[list[str | None]]:
    """The rows below the header, slowly; the first that does not fit is an error with its line."""
    with _any_length():
        reader = csv.reader(lines, delimiter=separator, strict=True)
        line, header = 1, True
        try:
            for row in reader:
                if row and not header:
                    if len(row) != width and not any(row):
                        row = [""] * width  # an empty line, however many separators it has
                    if len(row) != width:
                        text, plural = separator.join(row), "s" * (len(row) > 1)
                        raise BadInput(
                            f"{len(row)} field{plural}, {short(text)}",
                            file=path,
                            line=line,
                            value=text,
                            expected=f"{width} as in the header",
                        )
                    yield [text or None for text in row]
                header, line = header and not row, reader.line_num + 1
        except csv.Error as error:
            raise BadInput(
                f"broken quoting ({error})",
                file=path,
                line=line,
                expected='quotes around a whole field, doubled ("") within it',
            ) from None


def _lines(data: bytes) -> io.TextIOWrapper:
    """Lines of text, one at a time, their ends left on."""
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")


@contextmanager
def _any_length() -> Iterator[None]:
    """Fields of any length; the limit is the process's, so it is put back."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def sniff(lines: Sequence[str]) -> str:
    """The separator that cuts all first lines into equally many fields, else the one that cuts the header most."""

    def quality(separator: str) -> tuple[bool, int]:
        widths = [len(row) for row in csv.reader(lines, delimiter=separator) if row] or [0]
        even = len(set(widths[:-1] or widths)) == 1  # the last line may be cut off
        return even and widths[0] > 1, widths[0]

    with _any_length():
        return max(SEPARATORS, key=quality)


@dataclass(frozen=True, slots=True)
class CsvLine:
    """Row number -> its first physical line. Reads the file again, since only messages want it."""

    path: Path
    separator: str
    unit: ClassVar[str] = "line"

    def __call__(self, row: int) -> tuple[Path, int | None]:
        with _any_length():
            reader = csv.reader(_lines(load(self.path)[0]), delimiter=self.separator)
            line, seen = 1, -2  # the header makes it -1
            for fields in reader:
                seen += any(fields)
                if seen == row:
                    return self.path, line
                line = reader.line_num + 1
        return self.path, None


# JSON ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JsonLine:
    """Row number -> line of a file of JSON lines, where empty lines count too."""

    path: Path
    unit: ClassVar[str] = "line"

    def __call__(self, row: int) -> tuple[Path, int | None]:
        filled = (number for number, line in enumerate(_lines(load(self.path)[0]), 1) if line.strip())
        return self.path, next(islice(filled, row, None), None)


@dataclass(frozen=True, slots=True)
class Record:
    """Row number -> number of the record, from 1."""

    path: Path
    unit: ClassVar[str] = "record"

    def __call__(self, row: int) -> tuple[Path, int | None]:
        return self.path, row + 1


def _read_json_list(path: Path, data: bytes, notes: list[str]) -> Table:
    expected = "a list of JSON objects"
    records, loose = decode_json(data.decode(), path, expected)
    if not records:
        raise BadInput("an empty list", file=path, expected=expected)
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise BadInput(f"record {number} is {short(record)}", file=path, value=record, expected=expected)
    frame, nested = _columns(records)
    return Table(path, frame, Record(path), notes + loose, nested)


# Numbers that the fast reader would spell in another way: with a point or exponent, long ones, and -0.
_RESPELLED = re.compile(rb":\s*-?(?:\d+[.eE]|\d{18})|:\s*-0")


def _read_json_lines(path: Path, data: bytes, notes: list[str]) -> Table:
    where = JsonLine(path)
    frame = _fast_json_lines(data)
    if frame is not None:
        return Table(path, frame, where, notes)
    frames: list[pl.DataFrame] = []
    nested: dict[str, tuple[int, str]] = {}
    loose = seen = 0
    for chunk in _chunks(_lines(data), path):
        records, cleaned = zip(*chunk, strict=True)
        frame, found = _columns(records, seen)
        frames.append(frame)
        nested = {**found, **nested}  # the first place of each column stays
        loose, seen = loose + sum(cleaned), seen + len(chunk)
    if loose:
        notes = [*notes, f"{path.name}: commas after the last entry skipped in {loose} line{'s' * (loose > 1)}"]
    return Table(path, pl.concat(frames, how="diagonal"), where, notes, nested)


def _refuse_an_object(path: Path, data: bytes) -> None:
    """A .json file that is one object over several lines: what is broken in it, or that no layout is like it."""
    if ".json" not in path.suffixes:
        return
    first = without_trailing_commas(next(filter(str.strip, _lines(data)))).rstrip().removesuffix(",")
    try:
        decoder.decode(first)
    except json.JSONDecodeError:
        expected = "a list of JSON objects, one JSON object a line, or a layout named with --from"
        decode_json(data.decode(), path, expected)
        raise BadInput("one JSON object, in no layout that is known", file=path, expected=expected) from None
    except RecursionError:
        return


def _chunks(lines: io.TextIOWrapper, path: Path) -> Iterator[list[tuple[dict, bool]]]:
    """Records and whether they had to be cleaned, some at a time: as objects they weigh ten times their columns."""
    filled = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    while chunk := [_record(line, path, number) for number, line in islice(filled, 50_000)]:
        yield chunk


def _record(line: str, path: Path, number: int) -> tuple[dict, bool]:
    expected, cleaned = "one JSON object a line", False
    try:
        record = decoder.decode(line)
    except (json.JSONDecodeError, RecursionError):
        text, cleaned = without_trailing_commas(line).rstrip().removesuffix(","), True
        try:
            record = decode_json(text, path, expected)[0]
        except BadInput as error:
            raise BadInput(
                f"{error.message}: {short(line.strip())}", file=path, line=number, value=line[:200], expected=expected
            ) from None
    if (at := half_a_character(line, record)) is not None:
        raise BadInput(
            f"half a character, {line[at : at + 6]}",
            file=path,
            line=number,
            value=line[at : at + 6],
            expected="surrogates in pairs",
        )
    if not isinstance(record, dict):
        raise BadInput(short(record), file=path, line=number, value=record, expected=expected)
    return record, cleaned


def _fast_json_lines(data: bytes) -> pl.DataFrame | None:
    """One parallel read; nothing unless all lines have the same keys and flat values that come out as written.

    Counting does for the proof: without escaped quotes, two quotes a key and two a value are all there are.
    """
    if any(sign in data for sign in (b'\\"', b"\\u", b"[")):
        return None
    try:
        names = decoder.decode(data[: data.find(b"\n") + 1 or None].decode())
        frame = pl.read_ndjson(data, schema=dict.fromkeys(names, pl.String))
    except (*_POLARS, json.JSONDecodeError, RecursionError, TypeError):
        return None
    cells = frame.width * frame.height
    if data.count(b"{") != frame.height or data.count(b'":') != cells or any(frame.null_count().row(0)):
        return None
    if data.count(b'"') != 4 * cells and _RESPELLED.search(data):
        return None
    return frame.with_columns(pl.when(pl.all() != "").then(pl.all()))


def _columns(records: Sequence[dict], start: int = 0) -> tuple[pl.DataFrame, dict[str, tuple[int, str]]]:
    """Columns of text, nested values as JSON, but `frames`, which stays a list of paths."""
    columns: list[pl.Series] = []
    nested: dict[str, tuple[int, str]] = {}
    for name in dict.fromkeys(key for record in records for key in record):
        values = [record.get(name) for record in records]
        if name == "frames" and all(isinstance(value, list) for value in values):
            paths = [[str(path) for path in value or ()] for value in values]
            columns.append(pl.Series(name, paths, dtype=pl.List(pl.String)))
            continue
        try:
            column = pl.Series(values=values, dtype=pl.String, strict=True)
        except TypeError:
            at = next((i for i, value in enumerate(values) if isinstance(value, dict | list)), None)
            if at is not None:
                nested[name] = start + at, to_json(values[at])
            values = [_shown(value) for value in values]
            column = pl.Series(values=values, dtype=pl.String)
        columns.append(_blank_is_null(column).alias(name))
    return pl.DataFrame(columns), nested


def _blank_is_null(column: pl.Series) -> pl.Series:
    """Of a column without a name: methods of a column called `^x$` take its name for a pattern."""
    return column.set((column == "").fill_null(False), None)


# Parquet -------------------------------------------------------------------------------------------------------------


def parquet(path: Path, rows: int | None = None) -> pl.DataFrame:
    """A Parquet file. Of a damaged one polars tells the terminal at length before it raises: one line of ours is enough."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    sys.stderr.flush()
    os.dup2(nowhere, 2)
    try:
        return pl.read_parquet(path, n_rows=rows)
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _read_parquet(path: Path) -> Table:
    try:
        frame = parquet(path)
    except (*_POLARS, OSError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise BadInput(f"not a readable Parquet file ({reason})", file=path, expected=TABLE) from None
    columns: list[pl.Series] = []
    nested: dict[str, tuple[int, str]] = {}
    for name, kind in frame.schema.items():
        column = frame[name].alias("")
        if kind.is_nested() and not (name == "frames" and kind == pl.List(pl.String)):
            texts = [None if v is None else json.dumps(v, ensure_ascii=False, default=str) for v in column.to_list()]
            if first := next(((at, text) for at, text in enumerate(texts) if text), None):
                nested[name] = first
            column = pl.Series(values=texts, dtype=pl.String)
        elif not kind.is_nested():
            try:
                column = _blank_is_null((column.fill_nan(None) if kind.is_float() else column).cast(pl.String))
            except pl.exceptions.PolarsError:
                raise BadInput(
                    f"the column {short(name)} of type {kind} is not text",
                    file=path,
                    value=name,
                    expected="text or numbers",
                ) from None
        columns.append(column.alias(name))
    return Table(path, pl.DataFrame(columns), Record(path), [], nested)


# Writing -------------------------------------------------------------------------------------------------------------


def kind_of(name: str) -> str | None:
    """The table suffix of a file name, `.gz` included."""
    return next((suffix for suffix in sorted(SUFFIXES, key=len, reverse=True) if name.lower().endswith(suffix)), None)


def write_table(frame: pl.DataFrame, path: Path, name: str) -> None:
    """Into `path`, in the form the suffix of `name` asks for. The same table gives the same bytes, packed or not."""
    kind = kind_of(name)
    if kind is None:
        raise BadCall(f"{name}: no table has this suffix; known are {', '.join(SUFFIXES)}")
    with path.open("wb") as file:
        packed = gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) if kind.endswith(".gz") else None
        target = cast(IO[bytes], packed or file)
        if kind == ".parquet":
            frame.write_parquet(target)
        elif kind.startswith(".jsonl"):
            frame.write_ndjson(target)
        else:
            frame.write_csv(target, separator="\t" if kind.startswith(".tsv") else ",")
        if packed:
            packed.close()
