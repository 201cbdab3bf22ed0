"""Whole files or none: written beside and renamed, so that a killed run leaves what was there before."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import BadCall, NotWritable

# what the files of a data folder are called, without suffixes
READ = {"answers", "truth", "items", "images", "features", "tasks", "splits", "workers", "META"}
READ |= {"metadata", "ground_truth", "crowd_labels", "gt"}
MASK = os.umask(0)
os.umask(MASK)


@contextmanager
def writing(folder: Path) -> Iterator[Callable[[str], Path]]:
    """Hands out a temporary path for each file name; all are renamed at the end, or none stays behind.

    with writing(folder) as new:
        new("answers.csv").write_text(...)
    """
    waiting: dict[Path, Path] = {}
    modes: dict[Path, int] = {}
    made: list[Path] = []  # folders that did not exist, innermost first

    def make(place: Path) -> None:
        made[:0] = [part for part in (place, *place.parents) if not part.exists()]
        place.mkdir(parents=True, exist_ok=True)

    def new(name: str) -> Path:
        final = folder / name
        make(final.parent)
        temporary = final.with_name(f".{final.name[:40]}.{secrets.token_hex(4)}.part")
        waiting[final] = temporary
        temporary.touch()  # as the user has files made, whatever mode a writer gives them
        modes[final] = temporary.stat().st_mode
        return temporary

    try:
        make(folder)
        yield new
        for final, temporary in waiting.items():
            temporary.chmod(modes[final])
            os.replace(temporary, final)
    except BaseException as error:
        for temporary in waiting.values():
            temporary.unlink(missing_ok=True)
        for part in made:
            with suppress(OSError):  # not empty: somebody else's
                part.rmdir()
        if isinstance(error, NotWritable) or not is_about_writing(error):
            raise
        reason = getattr(error, "strerror", None) or str(error).split(": ")[0]
        raise NotWritable(f"cannot write to {folder}: {reason}; choose another place") from error


def is_about_writing(error: BaseException) -> bool:
    """Errors of the system, and those polars makes of them."""
    return isinstance(error, OSError) or type(error).__module__.startswith("polars")


def put(path: Path, write: Callable[[Path], object]) -> Path:
    """Let `write` fill one file."""
    path = Path(path)
    with writing(path.parent) as new:
        if path.is_dir():
            raise IsADirectoryError(21, f"{path.name} is a folder")
        file = new(path.name)
        write(file)
        file.chmod(0o666 & ~MASK)  # safetensors makes files for their owner alone
    return path


def put_text(path: Path, text: str) -> Path:
    return put(path, lambda file: file.write_text(text, encoding="utf-8"))


def spare(out: str | Path, inputs: Iterable[str | Path]) -> None:
    """Refuse to write over what is read: a file that goes in, or one of the files of a folder that does."""
    out = Path(out)
    for given in map(Path, inputs):
        if not (os.path.exists(out) and os.path.exists(given)):  # or not to be seen: whoever reads it says so
            continue
        within = given.is_dir() and out.parent.samefile(given) and out.name.split(".")[0] in READ
        if within or out.samefile(given):
            raise BadCall(f"{out} is what goes in ({given}): writing there would replace it; choose another place")


def check_writable(path: Path, folder: bool = False) -> None:
    """Say before the work that its result will have no place."""
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    if ((folder or there != path) and not there.is_dir()) or not os.access(there, os.W_OK):
        raise NotWritable(
            f"cannot write {path}: {there} is {'not writable' if there.is_dir() else 'a file'}; choose another place with -o"
        )
