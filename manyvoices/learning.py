"""From items with answers or labels to a trained model: which method, with which of the shared options, from which labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .core import registry
from .core.answers import Answers
from .core.consensus import Consensus
from .core.errors import BadCall, BadInput
from .core.items import Items
from .core.names import Names, in_order
from .core.soft import Labels
from .inputs import frame

if TYPE_CHECKING:
    from .nn.model import Learned


def taught(
    job: str,
    items: Items | None,
    method: str | Callable,
    options: Mapping[str, Any],
    *,
    answers: Answers | None = None,
    labels: Any = None,
    folder: Path | None = None,
) -> Learned:
    """Call the method with its options; with `folder` it leaves check points there and goes on from what it finds."""
    if items is None:
        raise BadInput("the data set has no items to learn from", expected="items with text, images, sound or features")
    if callable(method):
        chosen, given = registry.about(job, method.__name__), {}
    else:
        asked = registry.parse(job, method)
        if len(asked) != 1:
            raise BadCall(f"one method at a time here; {method!r} names {len(asked)}")
        [(chosen, given)] = asked
    function = method if callable(method) else registry.find(job, chosen.name)
    own, training = divided(chosen, chosen.settle(dict(options)) | given, folder)
    if job == "train":
        return function(items, labels_of(labels, items), **own, training=training)
    if answers is None:
        raise BadInput("the data set has items but no answers", expected="answers of workers, or labels and `train`")
    return function(items, answers, **own, training=training)


def divided(chosen: registry.Method, options: Mapping[str, Any], folder: Path | None) -> tuple[dict[str, Any], Any]:
    """The method's own options, and those all trained methods share."""
    from .nn.training import Training

    shared = {option.name for option in chosen.options if option.group == "training"}
    checked(options)
    own = {name: value for name, value in options.items() if name not in shared}
    return own, Training(**{name: options[name] for name in shared if name in options}, folder=folder)


def checked(options: Mapping[str, Any]) -> None:
    """Numbers that cannot be meant, said before the work."""
    least = {"epochs": 1, "batch": 1, "hidden": 0, "warmup": 0, "patience": 0, "clip": 0, "decay": 0}
    for name, low in least.items():
        if name in options and options[name] < low:
            raise BadCall(f"--{name} is {options[name]}: expected {low} or more")
    for name in ("lr", "encoder_lr"):
        if name in options and not options[name] > 0:
            raise BadCall(f"--{name.replace('_', '-')} is {options[name]}: expected a number above 0")
    if "dropout" in options and not 0 <= options["dropout"] < 1:
        raise BadCall(f"--dropout is {options['dropout']}: expected a number from 0 to below 1")


def labels_of(given: Any, items: Items) -> Labels:
    """What was handed over as labels: "truth", a Consensus, a mapping, a table with task and label (and p:CLASS), or
    peerannot's .npy in the order of the tasks."""
    if isinstance(given, Labels):
        return given
    if isinstance(given, Consensus):
        if given.probs is None:
            raise BadInput("this consensus is of numbers", expected="labels of classes")
        return Labels(given.tasks, given.classes, np.array(given.probs))
    if isinstance(given, str) and given == "truth":
        known = np.flatnonzero(items.truth >= 0)
        if not len(known):
            raise BadInput("no item has a known truth", expected="truth.csv, or --labels FILE")
        return hard([items.ids[i] for i in known], [items.classes[k] for k in items.truth[known]])
    if isinstance(given, Mapping):
        return hard(list(given), [str(label) for label in given.values()])
    if given is None:
        raise BadCall("train needs labels: give --labels FILE, or --labels truth")
    if isinstance(given, (str, Path)) and Path(given).suffix == ".npy":
        return from_npy(Path(given), items)
    return from_table(given)


def hard(tasks: list[str], labels: list[str]) -> Labels:
    names = Names(in_order(set(labels)))
    return Labels(Names(tasks), names, np.eye(len(names))[names.code(labels)])


def from_table(given: Any) -> Labels:
    table, file = frame(given)
    for name in ("task", "label"):
        if name not in table.columns:
            message = f"no column {name!r}; found {', '.join(table.columns)}"
            raise BadInput(message, file=file, expected="columns task, label and perhaps p:CLASS")
    if len(set(table["task"].to_list())) < table.height:
        raise BadInput("a task stands twice", file=file, expected="one row a task")
    classes = [name.removeprefix("p:") for name in table.columns if name.startswith("p:")]
    if not classes:
        table = table.drop_nulls("label")  # an abstention teaches nothing
        return hard(table["task"].to_list(), table["label"].to_list())
    import polars as pl

    rows = table.select(pl.col([f"p:{name}" for name in classes]).cast(pl.Float64, strict=False)).to_numpy()
    if not np.isfinite(rows).all() or (rows < 0).any() or (np.abs(rows.sum(axis=1) - 1) > 1e-3).any():
        at = int(np.flatnonzero(~np.isfinite(rows).all(axis=1) | (np.abs(rows.sum(axis=1) - 1) > 1e-3))[0])
        raise BadInput(
            f"the probabilities of task {table['task'][at]!r} are {rows[at].tolist()}",
            file=file,
            line=at + 2,
            expected="numbers from 0 that sum to 1",
        )
    order = Names.ordered(classes)
    return Labels(Names(table["task"].to_list()), order, rows[:, [classes.index(name) for name in order]])


def from_npy(path: Path, items: Items) -> Labels:
    """Hard [n] or soft [n, K], a row a task in the order of ids; classes are those of the truth, else 0, 1, 2, ..."""
    try:
        rows = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise BadInput(f"not a readable npy file ({error})", file=path, expected="labels [n] or [n, K]") from None
    ids = items.ids
    beside = path.with_suffix(".tasks.txt")
    if beside.is_file():  # as `aggregate -o X.npy` leaves it
        ids = Names(beside.read_text(encoding="utf-8").splitlines())
    if len(rows) != len(ids):
        raise BadInput(f"{len(rows)} labels for {len(ids)} tasks", file=path, expected="a label for each, in order")
    if rows.ndim == 2:
        names = Names.numbered(rows.shape[1]) if len(items.classes) != rows.shape[1] else items.classes
        return Labels(ids, names, rows.astype(float))
    known = np.flatnonzero(rows >= 0)
    width = int(rows.max(initial=0)) + 1
    names = items.classes if len(items.classes) >= width else Names.numbered(width)
    return Labels(Names([ids[i] for i in known]), names, np.eye(len(names))[rows[known].astype(int)])
