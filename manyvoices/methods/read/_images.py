"""Folders of images as peerannot and torchvision lay them out: split/CLASS/name-KEY.png."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

SPLITS = {"train": "train", "val": "dev", "test": "test"}
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")


def has_images(folder: Path) -> bool:
    return next(_files(folder, "train"), None) is not None


def _files(folder: Path, split: str) -> Iterator[Path]:
    root = folder / split
    for group in sorted(root.iterdir()) if root.is_dir() else ():
        if group.is_dir():
            yield from sorted(file for file in group.iterdir() if file.suffix.lower() in IMAGES and file.name[0] != ".")


def image_table(folder: Path) -> tuple[pl.DataFrame, list[str]] | None:
    """Columns task (the KEY after the last dash), image (path inside the folder), split, class; nothing without images.

    Keys may start again in val/ and test/: an image whose key was used before takes its path for an id.
    """
    rows, seen, again = [], set(), 0
    for name, split in SPLITS.items():
        for file in _files(folder, name):
            image, task = file.relative_to(folder).as_posix(), file.stem.rpartition("-")[2]
            if task in seen or not task:
                again, task = again + 1, image
            seen.add(task)
            rows.append((task, image, split, file.parent.name))
    if not rows:
        return None
    notes = [f"{folder.name}: {again} images whose key was used before go by their path"] if again else []
    return pl.DataFrame(rows, schema=dict.fromkeys(("task", "image", "split", "class"), pl.String), orient="row"), notes
