"""The library on one page: one verb per job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .core import registry
from .core.answers import Answers
from .core.consensus import Consensus
from .core.dataset import Dataset
from .core.errors import BadCall, BadInput
from .core.items import Items
from .core.scores import Scores

if TYPE_CHECKING:
    import polars as pl

    from .nn.model import Learned


def read(
    source: Any,
    format: str | None = None,
    *,
    on: str | None = None,
    classes: Iterable[str] | None = None,
    missing: Iterable[str] = (),
    strict: bool = False,
    repeats: str = "all",
    scale: str | None = None,
    exclude_workers: Iterable[str] = (),
    map_labels: Mapping[str, str | None] | None = None,
    hash_workers: bool = False,
    hash_key: str | None = None,
    classes_limit: int = 65_536,
    **options: Any,
) -> Dataset:
    """A file, folder or data frame in any format we know.

    `options` are those of the format's reader: task, worker, label, question, ...
    """
    from .core.coding import Rules, coded
    from .inputs import raw

    rules = Rules(
        classes=None if classes is None else tuple(classes),
        missing=tuple(missing),
        strict=strict,
        repeats=repeats,
        scale=scale,
        exclude_workers=tuple(exclude_workers),
        map_labels=tuple((map_labels or {}).items()),
        hash_workers=hash_workers,
        hash_key=hash_key,
        classes_limit=classes_limit,
    )
    if on == "disk" and isinstance(source, (str, Path)):
        from .preparation import prepared

        return prepared(Path(source), format, lambda: coded(raw(source, format, options), rules), rules, options)
    data = coded(raw(source, format, options), rules)
    return data if on is None else placed(data, on)


def write(data: Any, out: str | Path, format: str = "native") -> list[Path]:
    """Write a data set, or what can be read as one, in one of the formats that have a writer."""
    from .inputs import unread

    name, _ = registry.resolve("read", format)
    if "write" not in registry.about("read", name).functions:
        able = [n for n in registry.names("read") if "write" in registry.about("read", n).functions]
        raise BadCall(f"{name} cannot be written; choose --to {', '.join(able)}")
    return registry.module("read", name).write(unread(data if isinstance(data, Dataset) else read(data)), Path(out))


def convert(source: Any, out: str | Path, to: str | None = None, **options: Any) -> list[Path]:
    """Read anything, write it in another format: by default long where `out` has a table's suffix, else native."""
    table = (".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".tsv.gz", ".jsonl.gz")
    if to is None and Path(out).suffix and not str(out).endswith(("/", *table)) and not Path(out).is_dir():
        raise BadCall(f"{out}: expected a name ending in {', '.join(table)}, a folder DIR/, or --to FORMAT")
    data = source if isinstance(source, Dataset) else read(source, **options)
    return write(data, out, to or ("long" if str(out).endswith(table) else "native"))


def inspect(source: Any, **options: Any) -> dict[str, Any]:
    """What is in a data set: counts, overlap, agreement, oddities, what was left out and why."""
    from .inspection import inspected

    return inspected(source if isinstance(source, Dataset) else read(source, **options))


def simulate(strategy: str = "independent_confusion", **options: Any) -> Dataset:
    """Answers of simulated workers about tasks whose truth is known."""
    from .inputs import from_crowd

    [(method, given)] = registry.parse("simulate", strategy)
    return from_crowd(registry.find("simulate", method.name)(**(given | method.settle(options))), method.name)


def aggregate(
    source: Any,
    method: str | Callable = "bcc",
    *,
    on: str | None = None,
    gold: Any = None,
    probs: Any = None,
    labels: Any = None,
    start: Any = None,
    score: np.ndarray | None = None,
    author: np.ndarray | None = None,
    **options: Any,
) -> Consensus:
    """One label a task from everybody's answers (Answers, Dataset, path or frame), by a method's name, bracket form or function.

    gold, labels and probs take a path, a mapping from task to label, a frame with their columns, or an array in task order;
    start takes the folder or the Consensus of an earlier fit.
    """
    from .inputs import side_inputs

    data = source if isinstance(source, Dataset) else None
    if data is None and not isinstance(source, Answers):
        data = read(source)
    answers = source if data is None else data.answers
    if answers is None:
        raise BadInput("the data set has items but no answers", expected="answers of workers about tasks")
    given: dict[str, Any] = {}
    if callable(method):
        if method.__name__ not in registry.names("aggregate"):
            return method(place(answers, on), **options)  # a function of the user's own
        about, function = registry.about("aggregate", method.__name__), method
    else:
        chosen = registry.parse("aggregate", method)
        if len(chosen) != 1:
            raise BadCall(f"one method at a time here; {method!r} names {len(chosen)}")
        ((about, given),) = chosen
        function = registry.find("aggregate", about.name)
    check_needs(about, answers)
    sides = side_inputs(
        about,
        answers,
        data,
        {"gold": gold, "probs": probs, "labels": labels, "start": start, "score": score, "author": author},
    )
    return function(place(answers, on), **sides, **(given | about.settle(options)))


def agree(source: Any, methods: Any = None, *, by: str | None = None, on: str | None = None, **options: Any) -> Scores:
    """How far workers agree: every coefficient that suits the scale, or those named; by groups of a column."""
    from .agreement import agreed

    return agreed(ready(source, on), methods, by=by, **options)


def identify(source: Any, methods: Any = None, *, on: str | None = None, **options: Any) -> Scores:
    """Who and what is hard to trust: scores of workers and tasks.

    consensus takes a method's name, a path, a Consensus or probabilities; gold, probs and truth what `aggregate` takes.
    """
    from .identification import identified

    return identified(ready(source, on), methods, **options)


def evaluate(prediction: Any, source: Any, metrics: Any = None, *, on: str | None = None, **options: Any) -> Scores:
    """How good predictions are: against truth, the spread of answers, and what each worker said."""
    from .evaluation import evaluated

    return evaluated(prediction, ready(source, on), metrics, **options)


def compare(source: Any, methods: Any = None, *, on: str | None = None, **options: Any) -> Scores:
    """Which methods of aggregation predict answers they have not seen; with truth also how often they are right."""
    from .comparison import compared

    return compared(ready(source, on), methods, **options)


def report(source: Any, out: str | Path, runs: Iterable[str | Path] = (), **options: Any) -> list[Path]:
    """One file that says it all: .html, .md or .json by its name."""
    from .reporting import reported

    return reported(ready(source, None), Path(out), [Path(run) for run in runs], **options)


def train(
    items: Any, labels: Any, method: str | Callable = "classifier", *, answers: Answers | None = None, **options: Any
) -> Learned:
    """A model from items and one label each, hard or soft: a Consensus, a label table, or a mapping. The answers to the dev
    items, where they are given, choose among the weights. Instead of Items a Dataset or a path will do, with its answers."""
    from .learning import taught

    items, answers = items_and_answers(items, answers)
    return taught("train", items, method, options, labels=labels, answers=answers)


def learn(items: Any, answers: Any = None, method: str | Callable = "crowdlayer", **options: Any) -> Learned:
    """A model from items and everybody's answers; many also know what each worker would say. Instead of Items a Dataset or
    a path will do, whose answers are those learnt from where no others are given: `learn("data/", method="conal")`."""
    from .learning import taught

    items, answers = items_and_answers(items, answers)
    return taught("learn", items, method, options, answers=answers)


def predict(
    model: Any, source: Any, *, workers: str | Iterable[str] | None = None, unseen: str = "error"
) -> pl.DataFrame:
    """What a model (or its folder) says about items: a Dataset, Items, a path, or a frame with the columns task and text, or
    whatever the model has learnt from. `workers` is "all", names, or "pairs", those who answered: then what they would say."""
    from .inputs import format_of_items, items_of_frame
    from .learning import predictions

    model = load(model) if isinstance(model, (str, Path)) else model
    if isinstance(source, Items):
        source = Dataset(None, source, None, None, "items", {}, [], {})
    elif isinstance(source, (str, Path)):
        source = read(source, format_of_items(Path(source)))
    elif not isinstance(source, Dataset):
        from .core.coding import Rules, coded

        table = items_of_frame(source)
        source = read(source) if table is None else coded(table, Rules())
    named = workers if workers is None or isinstance(workers, str) else ",".join(workers)
    return predictions(model, source, named, unseen)


def load(path: str | Path) -> Learned:
    """A model that `train` or `learn` saved."""
    try:
        from .nn.model import Learned
    except ModuleNotFoundError as error:
        raise registry.missing("a trained model", error) from error

    return Learned.load(path)


def items_and_answers(items: Any, answers: Any) -> tuple[Items | None, Answers | None]:
    """What to learn from, out of whatever was handed over."""
    if items is not None and not isinstance(items, Items):
        data = items if isinstance(items, Dataset) else read(items)
        items, answers = data.items, data.answers if answers is None else answers
    if isinstance(answers, Dataset):
        answers = answers.answers
    if answers is not None and not isinstance(answers, Answers):
        raise BadCall(f"answers is {answers!r:.60}: expected Answers or a Dataset; a method is named with method=")
    return items, answers


def ready(source: Any, on: str | None) -> Dataset | Answers:
    """What a verb works on, its answers placed where they should live."""
    if isinstance(source, Answers):
        return place(source, on)
    return placed(source if isinstance(source, Dataset) else read(source), on)


def check_needs(about: registry.Method, answers: Answers) -> None:
    """Refuse, in one place, what a method cannot work with."""
    ordered = answers.scale in ("ordinal", "interval")
    if "workers" in about.needs and answers.workers is None:
        raise BadInput(
            f"{about.name} needs to know who answered, and these answers name nobody",
            expected="mv, ns, twothird or pooled",
        )
    if "ordered" in about.needs and not ordered:
        raise BadInput(
            f"{about.name} needs ordered labels, and these are {answers.scale}",
            expected="--scale ordinal or --scale interval",
        )
    if "ordered" not in about.needs and answers.scale == "interval":
        raise BadInput(f"{about.name} needs classes, and these labels are numbers", expected="mean, median or ordinal")
    if answers.scale != "interval" and not len(answers.classes):
        raise BadInput("no answers are left, and no classes are stated", expected="a label in at least one row")
    if "binary" in about.needs and len(answers.classes) > 2:
        raise BadInput(f"{about.name} needs two classes, and there are {len(answers.classes)}")


def place(answers: Answers, on: str | None) -> Answers:
    """Where the shards are worked on: threads:N (the default, all cores), disk, dask://HOST:PORT."""
    from dataclasses import replace

    from .core.answers import Here
    from .engines.memory import Threads

    if on is None and type(answers.store) is not Here:
        return answers  # somebody has placed them already
    where, threads = engine(on or "threads")
    if where == "threads":
        if not isinstance(answers.store, Here):
            return answers  # on disk: its own threads stream it
        return replace(answers, store=Threads(answers.store.shards, threads))
    from .engines.disk import stored

    return stored(answers)


def engine(on: str) -> tuple[str, int | None]:
    """What `--on` says, taken apart: where, and how many threads; anything else is refused."""
    where, colon, more = on.partition(":")
    if where == "threads":
        if colon and not (more.isdecimal() and int(more) > 0):
            raise BadCall(f"--on {on}: write threads:N with N at least 1")
        return where, int(more) if more else None
    if where == "dask":
        raise BadCall("--on dask://: this version has no cluster engine; use threads:N or disk")
    if on != "disk":
        raise BadCall(f"--on {on}: expected threads:N or disk")
    return where, None


def placed(data: Dataset, on: str | None) -> Dataset:
    from dataclasses import replace

    return data if data.answers is None else replace(data, answers=place(data.answers, on))
