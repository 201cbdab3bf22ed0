"""Crowds with times and numbers, and how any score of the folder is run with what it asks for."""

from dataclasses import replace

import numpy as np
import polars as pl
from crowds import Crowd, crowd

from manyvoices import identification
from manyvoices.core import registry
from manyvoices.core.answers import Answers
from manyvoices.core.dataset import Dataset
from manyvoices.core.items import Items
from manyvoices.core.names import Names
from manyvoices.core.scores import Scores

TRAINED = [name for name in registry.names("identify") if registry.about("identify", name).trains]       # test_margins.py, test_crowdlab.py
NAMES = [name for name in registry.names("identify") if name not in TRAINED or "probs" in registry.about("identify", name).data]
SCALES = ("nominal", "ordinal", "interval")


def suits(name: str, scale: str) -> bool:
    needs = registry.about("identify", name).needs
    return not ("classes" in needs and scale == "interval") and not ("ordered" in needs and scale == "nominal")


VARIANTS = [(name, scale) for name in NAMES for scale in SCALES if suits(name, scale)]


def dataset(given: Crowd, scale: str = "nominal", times: bool = True, truth: bool = False, **more) -> Dataset:
    """The crowd with a time and a moment for each answer, drawn from the answer itself so that the order of rows cannot matter."""
    answers = given.answers(scale, **more)
    task, worker, label = answers.rows()
    mixed = (task * 31 + worker * 17 + np.round(label * 7).astype(np.int64)) % 97
    notes = pl.DataFrame({"seconds": (3 + .05 * mixed) * (1 + .2 * worker), "when": (mixed * 13 + task) % 89}) if times else None
    tasks, _, classes = given.sizes
    items = Items(Names.numbered(tasks), Names.numbered(classes), np.array(given.truth), None, None, None) if truth else None
    return Dataset(answers, items, None, notes, "test", {}, [], {})


def fit(name: str, source: Dataset | Answers, given: Crowd | None = None, **options) -> Scores:
    if name == "crowdlab" and given is not None:
        options |= {"probs": given.guess}
    return identification.identified(source, name, **options)


def run(name: str, given: Crowd, scale: str = "nominal", /, **options) -> Scores:
    return fit(name, dataset(given, scale), given, **options)


def same_bits(one: Scores, other: Scores) -> None:
    for column in ("value", "low", "high", "n"):
        a, b = one.column(column), other.column(column)
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), (column, a, b)
    for column in ("score", "of", "name", "other", "note"):
        assert list(one.column(column)) == list(other.column(column)), column


def of_rows(rows, scale: str, seed: int = 0, **more) -> tuple[Crowd, Dataset]:
    task, worker, label = (np.array(column) for column in zip(*rows, strict=True)) if rows else (np.zeros(0, int),) * 3
    sizes = {"tasks": 3, "workers": 3, "classes": 2} | more
    made = crowd(seed, tasks=sizes["tasks"], workers=sizes["workers"], classes=sizes["classes"])
    made = replace(made, task=task, worker=worker, label=label, value=label.astype(float), sizes=tuple(sizes.values()))
    return made, dataset(made, scale)
