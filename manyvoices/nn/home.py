"""The folder for what is made or fetched once: encoded items and weights. MANYVOICES_HOME, or the user's cache."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..core.errors import NotWritable

log = logging.getLogger("manyvoices")


def home() -> Path:
    if given := os.environ.get("MANYVOICES_HOME"):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "manyvoices"


def once(folder: Path, whole: Callable[[Path], bool], fill: Callable[[Path], None]) -> Path:
    """The folder, filled by whoever comes first; others wait. It is filled beside and renamed: whole, or not there."""
    if whole(folder):
        return folder
    with alone(folder):
        if whole(folder):
            return folder
        beside = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
        beside.mkdir()
        try:
            fill(beside)
            if folder.exists():  # of another version, or damaged
                shutil.rmtree(folder)
            try:
                os.rename(beside, folder)
            except OSError:  # without locks somebody else may have been faster
                if not whole(folder):
                    raise
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return folder


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One process at a time, where the system has locks that end with their holder; what a killed one left goes."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        held = folder.with_name(f".{folder.name}.lock").open("w", encoding="utf-8")
    except OSError as error:
        raise NotWritable(
            f"cannot write to the cache {folder.parent}: {error.strerror}; set MANYVOICES_HOME to another folder"
        ) from error
    with held:
        if locked(held):
            for left in folder.parent.glob(f".{folder.name}.*"):
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
        yield


def locked(held) -> bool:
    try:
        import fcntl
    except ImportError:
        return False
    with suppress(OSError):
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.info("another process is making the same thing: waiting for it")
            fcntl.flock(held, fcntl.LOCK_EX)
        return True
    return False
