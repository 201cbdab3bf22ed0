"""Between files and text: unpacking, encodings, JSON as people write it, and files written whole or not at all."""

from __future__ import annotations

import codecs
import functools
import json
import re
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars as pl

from ...core.errors import BadCall, BadInput, NotWritable

MOST = 1 << 28  # bytes that a gzip file of any size may unpack to
GLANCE = 256 * 1024  # bytes that tell one format from another
READABLE = "UTF-8, UTF-16 with a byte order mark, or Windows-1252 text"
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),  # before UTF-16, whose mark they begin with
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def cautious(recognise: Callable[[Path], float]) -> Callable[[Path], float]:
    """Whatever goes wrong while looking at a hostile file means: not mine."""

    @functools.wraps(recognise)
    def looking(path: Path) -> float:
        try:
            path = Path(path)
            return float(recognise(path)) if path.is_file() or path.is_dir() else 0.0
        except (Exception, pl.exceptions.PanicException):  # here any error has one and the same answer
            return 0.0

    return looking


def load(path: Path, expected: str = READABLE) -> tuple[bytes, list[str]]:
    """The whole file as UTF-8 without a mark, unpacked, and notes on what it was before."""
    data, notes = to_utf8(unpack(path, expected), path)
    if not data.strip():
        raise BadInput("the file is empty", file=path, expected=expected)
    return data, notes


def unpack(path: Path, expected: str = READABLE) -> bytes:
    """The bytes of a file, gunzipped if they begin like gzip."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise BadInput("no such file", file=path, expected=expected) from None
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror or error})", file=path, expected=expected) from None
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gunzip(data, path)
    except EOFError:
        raise BadInput("the gzip file is cut short", file=path, expected="a whole gzip file") from None
    except (OSError, zlib.error) as error:
        raise BadInput(f"the gzip file is damaged ({error})", file=path, expected="a whole gzip file") from None


def gunzip(data: bytes, path: Path) -> bytes:
    """All members of a gzip file, unless it was made to fill the memory: text never shrinks to a five hundredth."""
    left, found = max(MOST, 500 * len(data)), []
    while data[:1] == b"\x1f":  # what follows the last member is padding
        unzip = zlib.decompressobj(31)
        found.append(unzip.decompress(data, left + 1))
        left, data = left - len(found[-1]), unzip.unused_data
        if left < 0:
            raise BadInput(
                "the gzip file grows more than five hundredfold",
                file=path,
                expected="an export; unpack it if it is one",
            )
        if not unzip.eof:
            raise EOFError
    return found[0] if len(found) == 1 else b"".join(found)


def to_utf8(data: bytes, path: Path) -> tuple[bytes, list[str]]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError as error:
                raise BadInput(
                    f"not text: begins like {encoding} but breaks at byte {error.start}", file=path, expected=READABLE
                ) from None
            return text.encode("utf-8", "replace"), [f"{path.name}: read as {encoding.upper()}"]
    notes = []
    if data.startswith(codecs.BOM_UTF8):
        data, notes = data[3:], [f"{path.name}: byte order mark skipped"]
    if (at := data.find(b"\0")) >= 0:
        line = 1 + data.count(b"\n", 0, at)
        raise BadInput(f"not text (a zero byte at byte {at})", file=path, line=line, expected=READABLE)
    if data.isascii() or _is_utf8(data):
        return data, notes
    controls = sum(byte < 32 and byte not in b"\t\n\v\f\r" for byte in data[:GLANCE])
    if controls * 100 > min(len(data), GLANCE):
        raise BadInput("not text (neither UTF-8 nor an older encoding)", file=path, expected=READABLE)
    text, encoding = _older(data)
    return text.encode(), [*notes, f"{path.name}: not UTF-8, read as {encoding}"]


def _is_utf8(data: bytes) -> bool:
    """By pieces, so that a large file is not held a second time as text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(data), 1 << 20):
            decoder.decode(data[at : at + (1 << 20)])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _older(data: bytes) -> tuple[str, str]:
    try:
        return data.decode("cp1252"), "Windows-1252"
    except UnicodeDecodeError:  # five bytes mean nothing there; in Latin-1 every byte is a letter
        return data.decode("latin-1"), "Latin-1"


def head(path: Path) -> tuple[str, bool]:
    """The first part of a file as text, and whether that is all of it. For `recognise`: reads little, may raise."""
    with path.open("rb") as file:
        data = file.read(GLANCE)
        whole = len(data) < GLANCE
    if data[:2] == b"\x1f\x8b":
        unzip = zlib.decompressobj(31)
        try:
            data = unzip.decompress(data, GLANCE)
        except zlib.error as error:
            raise ValueError(str(error)) from None
        whole = unzip.eof
    marked = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), None)
    if marked:
        return codecs.getincrementaldecoder(marked)("ignore").decode(data), whole
    if b"\0" in data:
        raise ValueError("not text")
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(data, final=whole), whole
    except UnicodeDecodeError:
        return _older(data)[0], whole


# JSON ----------------------------------------------------------------------------------------------------------------


class Number(str):
    """A JSON number as it was written: `1.0`, `1e3` and digits of any length come out as they went in."""

    __slots__ = ()


class _Twice(Exception):
    """A key that stands in an object again."""


_PAIRS = re.compile(r"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)")


def half_a_character(text: str, value: Any) -> int | None:
    """Where an escape has left half of a surrogate pair, which no table can hold."""
    if "\\ud" in text or "\\uD" in text:
        try:
            to_json(value).encode()
        except UnicodeEncodeError:
            return next(found.start() for found in _PAIRS.finditer(text) if found[1])
    return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs if len(dict(pairs)) < len(pairs) else ():
        if name in found:
            raise _Twice(name)
        found[name] = value
    return dict(pairs)


def _constant(name: str) -> str | None:
    return None if name == "NaN" else name  # a float NaN is a missing value


_JSON: dict[str, Any] = {"parse_int": Number, "parse_float": Number, "parse_constant": _constant, "strict": False}
_strict = json.JSONDecoder(object_pairs_hook=_unique, **_JSON)
decoder = json.JSONDecoder(**_JSON)
_LOOSE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|,(?=\s*[}\]])', re.DOTALL)


def without_trailing_commas(text: str) -> str:
    """A comma before a closing bracket becomes a space, so that places in the text stay where they are."""
    return _LOOSE.sub(lambda found: " " if found[0] == "," else found[0], text)


def parse_json(path: Path, expected: str = "JSON") -> tuple[Any, list[str]]:
    """One JSON value of a whole file; numbers stay text (`Number`)."""
    data, notes = load(path, expected)
    value, loose = decode_json(data.decode(), path, expected)
    return value, notes + loose


def decode_json(text: str, path: Path, expected: str) -> tuple[Any, list[str]]:
    try:
        try:
            value, notes = _strict.decode(text), []
        except json.JSONDecodeError:
            value = _strict.decode(without_trailing_commas(text))
            notes = [f"{path.name}: commas before closing brackets skipped"]
        if (at := half_a_character(text, value)) is not None:
            raise BadInput(
                f"half a character, {text[at : at + 6]}",
                file=path,
                line=1 + text[:at].count("\n"),
                value=text[at : at + 6],
                expected="surrogates in pairs",
            )
        return value, notes
    except json.JSONDecodeError as error:
        raise BadInput(
            f"broken JSON at column {error.colno} ({error.msg[:1].lower()}{error.msg[1:]})",
            file=path,
            line=error.lineno,
            expected=expected,
        ) from None
    except RecursionError:
        raise BadInput("JSON nested too deeply", file=path, expected=expected) from None
    except _Twice as error:
        raise BadInput(
            f"the key {short(error.args[0])} stands twice in one JSON object",
            file=path,
            value=error.args[0],
            expected="each key once",
        ) from None


def peek_json(path: Path, entries: int = 5) -> list[tuple[str | None, Any]]:
    """The first entries of a JSON object (key, value) or list (None, value), without reading the rest. May raise."""
    text, _ = head(path)
    text = without_trailing_commas(text).lstrip()
    if text[:1] not in ("{", "["):
        return []
    keyed, at = text[0] == "{", 1
    found: list[tuple[str | None, Any]] = []
    try:
        while len(found) < entries:
            key, at = decoder.raw_decode(text, _next(text, at)) if keyed else (None, at)
            value, at = decoder.raw_decode(text, _next(text, at))
            found.append((key, value))
    except json.JSONDecodeError:  # the end of the object, or of what was read
        pass
    return found


def _next(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,:":
        at += 1
    return at


def as_text(value: Any) -> str | None:
    """A JSON scalar as the text of an id or a label, no letters as missing; a list or object is a TypeError."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise TypeError(value)


class _Done(str):
    """Text that is JSON already."""


def to_json(value: Any) -> str:
    """JSON again, with the numbers as they were written. Without recursion: what could be read can be written."""
    waiting, found = [value], []
    while waiting:
        value = waiting.pop()
        if isinstance(value, _Done | Number):
            found.append(str(value))
        elif isinstance(value, dict | list):
            keyed = isinstance(value, dict)
            waiting.append(_Done("}" if keyed else "]"))
            for place in reversed(list(value) if keyed else range(len(value))):
                waiting.append(value[place])
                waiting += [_Done(json.dumps(place, ensure_ascii=False) + ": ")] if keyed else []
                waiting.append(_Done(", "))
            if value:
                waiting.pop()  # no comma before the first
            found.append("{" if keyed else "[")
        else:
            found.append(json.dumps(value, ensure_ascii=False))
    return "".join(found)


def plain(value: Any) -> Any:
    """JSON with ordinary numbers, for what is kept and not read as ids or labels."""
    return json.loads(to_json(value), parse_int=lambda digits: int(digits) if len(digits) < 4000 else digits)


def short(value: Any, length: int = 60) -> str:
    """A value for a message: quoted, on one line, not too long."""
    text = to_json(value) if isinstance(value, dict | list | Number) else repr(value)
    return text if len(text) <= length else text[: length - 3] + "..."


# Writing -------------------------------------------------------------------------------------------------------------


def no_leftovers(folder: Path, layout: Iterable[str], names: Iterable[str]) -> None:
    """A folder that keeps files of another data set would be read as a mixture of both."""
    left = [name for name in layout if name not in set(names) and (folder / name).exists()]
    if left:
        raise NotWritable(
            f"{folder}: already holds {', '.join(left)}, which would pass for part of these data; "
            "write into another folder"
        )


def one_file(out: Path, format: str, *suffixes: str) -> Path:
    """Where a format of one file goes: never a file that is named like a folder."""
    out = Path(out)
    if out.suffix not in suffixes or out.is_dir():
        raise BadCall(f"{out}: {format} is one file; give it a name ending in {' or '.join(suffixes)}")
    return out
