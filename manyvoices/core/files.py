"""Whole files or none: written beside and renamed, so that a killed run leaves what was there before."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from .errors import NotWritable


def put(path: Path, write: Callable[[Path], object]) -> Path:
    """Let `write` fill a file beside `path`, then rename it; the folder is made if it is not there."""
    path = Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder")
        write(beside)
        os.replace(beside, path)
    except OSError as error:
        raise NotWritable(f"cannot write {path}: {error.strerror or error}; choose another place with -o") from error
    finally:
        beside.unlink(missing_ok=True) if beside.parent.is_dir() else None
    return path


def put_text(path: Path, text: str) -> Path:
    return put(path, lambda file: file.write_text(text, encoding="utf-8"))
