"""Asking the readers, one or all of them."""

from __future__ import annotations

import importlib
from pathlib import Path

import polars as pl

READERS = (
    "argilla", "crowdkit", "doccano", "hf", "labelstudio", "lewidi2023", "lewidi2025", "long", "mturk", "native",
    "peerannot", "potato", "prodigy", "qualtrics", "toloka", "wide", "zooniverse",
)  # fmt: skip
LAST_RESORT = 0.01  # of a reader that can read any table if it is told how


def module(name: str):
    return importlib.import_module(f"manyvoices.methods.read.{name}")


def read(name: str, path: Path, **options):
    return getattr(module(name), name)(path, **options)


def scores(path: Path) -> dict[str, float]:
    """The readers that think a path is theirs."""
    found = {name: module(name).recognise(path) for name in READERS}
    assert all(0 <= score <= 1 for score in found.values())
    return {name: score for name, score in found.items() if score > LAST_RESORT}


def surest(path: Path) -> str | None:
    """The reader that would be taken; a tie is a mistake in the scores."""
    found = scores(path)
    best = [name for name, score in found.items() if score == max(found.values())]
    assert len(best) < 2, found
    return best[0] if best else None


def triples(frame: pl.DataFrame) -> list[tuple]:
    return frame.select("task", "worker", "label").rows()
