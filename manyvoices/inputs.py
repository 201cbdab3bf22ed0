"""What users hand over, in whatever shape: exports and frames to Raw, side inputs to arrays in task order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .core import registry
from .core.answers import Answers
from .core.consensus import Consensus
from .core.dataset import Dataset, Raw
from .core.errors import BadCall, BadInput
from .core.names import Names, in_order

if TYPE_CHECKING:
    import polars as pl

SIDES = {
    "gold": "--gold FILE",
    "probs": "--probs FILE",
    "labels": "--labels FILE",
    "start": "--start DIR",
    "score": "a column score",
    "author": "a column author",
}


def raw(source: Any, format: str | None, options: dict[str, Any]) -> Raw:
    """Ask each reader how sure it is; the surest reads."""
    if not isinstance(source, (str, Path)):
        return from_frame(source, options)
    if not str(source):
        raise BadInput("no name of a file or folder")
    with permitted(Path(source)):
        return from_path(Path(source), format, options)


@contextmanager
def permitted(path: Path) -> Iterator[None]:
    """A file or folder one may not look into is unreadable input, wherever a reader finds out."""
    try:
        yield
    except PermissionError as error:
        raise BadInput(
            f"cannot be read ({error.strerror or error})",
            file=error.filename or path,
            expected="a file or folder that may be read",
        ) from None


def from_path(path: Path, format: str | None, options: dict[str, Any]) -> Raw:
    if not path.exists():
        raise BadInput("no such file or folder", file=path)
    if path.is_fifo():  # a pipe can be read once, and readers look twice
        path = from_stdin(path.read_bytes())
    elif not (path.is_file() or path.is_dir()):
        raise BadInput("neither a file nor a folder", file=path)  # a device may have no end
    given = {key: value for key, value in options.items() if value is not None}
    name = recognised(path, given) if format is None else registry.resolve("read", format)[0]
    method = registry.about("read", name)
    for key in given:
        try:
            method.option(key)
        except LookupError:
            raise BadCall(
                f"{path} was read as {name}, which has no option {key}; "
                f"it has {', '.join(o.name for o in method.options) or 'none'}"
                " (--from FORMAT reads it as another format)"
            ) from None
    return registry.find("read", name)(path, **method.settle(given))


def recognised(path: Path, given: Mapping[str, Any]) -> str:
    """The reader that is surest; who names columns means a reader that knows them."""
    able = [
        name for name in registry.names("read") if set(given) <= {o.name for o in registry.about("read", name).options}
    ]
    sure = sorted(
        ((registry.module("read", name).recognise(path), name) for name in able or registry.names("read")), reverse=True
    )
    best = [name for score, name in sure if score == sure[0][0]]
    if sure[0][0] <= 0 and "long" in able and path.is_file() and {"worker", "label"} & set(given):
        return "long"
    if sure[0][0] <= 0 and len(able) == 1 and path.is_file():
        return able[0]  # an option that only one reader has
    if sure[0][0] <= 0:
        # whichever reader comes nearest says what is wrong with the file; a folder is told what was looked for
        folder = "peerannot" if (path / "answers.json").is_file() else "native"
        nearest = folder if path.is_dir() else "long"
        registry.find("read", nearest)(path)
        return nearest  # nothing is wrong: its first line was too long to be looked at
    if len(best) > 1:
        raise BadInput(
            f"looks like {' and like '.join(sorted(best))}", file=path, expected="the format named with --from"
        )
    return best[0]


def format_of_items(path: Path) -> str | None:
    """The format of a file of items and no answers, which only `predict` takes; None leaves it to the readers."""
    if not path.is_file() or any(
        registry.module("read", name).recognise(path) > 0.1 for name in registry.names("read")
    ):
        return None  # hf is a little sure of every table
    if registry.module("read", "native").of_items(path):
        return "native"
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline(200).strip("\ufeff\r\n")
    if first.lower().strip('"') in ("text", "image", "audio"):  # the commonest table that lacks an id
        raise BadInput(f"only one column, {first!r}", file=path, line=1, expected=f"an id too: columns task,{first}")
    return None


def items_of_frame(source: Any) -> Raw | None:
    """A data frame of items and no answers, likewise."""
    from .methods.read._columns import find

    table = texts(source)
    task = find(table.columns, "task")
    if task is None or find(table.columns, "worker") is not None:
        return None
    return Raw("frame", items=table.rename({task: "task"}))


def questions(path: Path, format: str | None, options: dict[str, Any]) -> list[str]:
    """The questions of an export that asks several, for --question all."""
    from inspect import signature

    given = {key: value for key, value in options.items() if value is not None and key != "question"}
    found = []
    with permitted(path):
        name = recognised(path, given) if format is None else registry.resolve("read", format)[0]
        if "questions" in registry.about("read", name).functions:
            ask = registry.module("read", name).questions
            found = ask(path, **{key: value for key, value in given.items() if key in signature(ask).parameters})
    if not found:
        raise BadCall(f"{path} was read as {name} and asks one question only: leave --question out")
    return found


def from_frame(source: Any, options: dict[str, Any]) -> Raw:
    """Any data frame that narwhals knows, with the columns of a long table."""
    from .methods.read._columns import answers
    from .methods.read._table import Record, Table

    given = registry.about("read", "long").settle({key: value for key, value in options.items() if value is not None})
    name = Path(f"({type(source).__module__.split('.')[0]} frame)")
    nested: dict[str, tuple[int, str]] = {}
    return answers(Table(name, texts(source, nested), Record(name), nested=nested), "frame", **given)


def texts(source: Any, nested: dict[str, tuple[int, str]] | None = None) -> pl.DataFrame:
    """A data frame of any library with every column as text, lists and objects as JSON; `nested` is told where they are."""
    import narwhals as nw
    import polars as pl

    try:
        frame = nw.from_native(source, eager_only=False, pass_through=False)
    except TypeError:
        kind = type(source).__name__
        raise BadCall(f"cannot read a {kind}; give a path or a data frame (pandas, polars, Arrow, ...)") from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    columns = {
        name: source[name] if isinstance(source, pl.DataFrame) else listed(frame[name]) for name in frame.columns
    }
    found = {name: as_text(pl, name, values) for name, values in columns.items()}
    for name, (series, lists) in found.items():
        if lists and nested is not None and (row := series.is_not_null().arg_max()) is not None and series[row]:
            nested[name] = row, series[row]
    return pl.DataFrame({name: series for name, (series, _) in found.items()})


def listed(series: Any) -> list[Any]:
    """Values of any library's column; what that library calls missing is None."""
    return [
        None if absent else value for value, absent in zip(series.to_list(), series.is_null().to_list(), strict=True)
    ]


def as_text(pl, name: str, values: Any):
    """A column as text, ids unchanged: whole numbers without a point, NaN and None as missing. And whether it held lists."""
    series = values if isinstance(values, pl.Series) else pl.Series(name, values, strict=False)
    if nested := series.dtype.is_nested():
        rows = [None if v is None else json.dumps(v, ensure_ascii=False, default=str) for v in series.to_list()]
        series = pl.Series(name, rows, pl.String)
    if series.dtype.is_float():
        counts = (series == series.floor()) & (series.abs() < 2.0**63)  # which infinity is not
        whole = bool((series.is_nan() | series.is_null() | counts).all())
        series = series.fill_nan(None)
        series = series.cast(pl.Int64) if whole else series
    if series.dtype == pl.Object:
        series = pl.Series(name, [None if v is None or v != v else str(v) for v in values], pl.String)
    return series.cast(pl.String), nested


def unread(data: Dataset) -> Raw:
    """A data set as text again, for the writers."""
    import polars as pl

    rows = None
    answers = data.answers
    if answers is not None:
        task, worker, label = answers.rows()
        columns = {"task": named(answers.tasks, task)}
        if answers.workers is not None:
            columns["worker"] = named(answers.workers, worker)
        columns["label"] = pl.Series("label", label) if answers.scale == "interval" else named(answers.classes, label)
        if (count := answers.repeated()) is not None:
            columns["count"] = pl.Series("count", count)
        rows = pl.DataFrame(columns)
        if data.notes is not None:
            rows = rows.hstack(data.notes.select(pl.exclude(rows.columns)))
    truth = None
    if data.items is not None and (data.items.truth >= 0).any():
        known = np.flatnonzero(data.items.truth >= 0)
        truth = pl.DataFrame(
            {"task": named(data.items.ids, known), "label": named(data.items.classes, data.items.truth[known])}
        )
    return Raw(
        data.format,
        rows=rows,
        truth=truth,
        items=None if data.items is None else sorted_by("task", data.items.table),
        workers=sorted_by("worker", data.workers),
        splits=None if data.items is None else sorted_by("task", data.items.split),
        arrays=None if data.items is None else data.items.arrays,
        tasks=[] if answers is None else answers.tasks.to_list(),
        worker_ids=[] if answers is None or answers.workers is None else answers.workers.to_list(),
        classes=None if answers is None or answers.scale == "interval" else answers.classes.to_list(),
        scale="nominal" if answers is None else answers.scale,
        about=dict(data.about),
    )


def sorted_by(column: str, table: pl.DataFrame | None) -> pl.DataFrame | None:
    """A table in the order of its ids, which is the same for all tables."""
    import polars as pl

    if table is None:
        return None
    ids = pl.Enum(in_order(set(table[column].drop_nulls().to_list())))
    return table.sort(table[column].cast(ids), maintain_order=True)


def named(names: Names, codes: np.ndarray) -> pl.Series:
    import polars as pl

    return pl.Series(names.to_list(), dtype=pl.String).gather(codes)


def from_crowd(crowd: Any, strategy: str) -> Dataset:
    """A simulated crowd as a data set: ids 0, 1, 2, ..."""
    import polars as pl

    from .core.items import Items

    tasks, classes = len(crowd.truth), crowd.confusions.shape[-1]
    workers = len(crowd.confusions)
    answers = Answers.from_codes(
        crowd.task,
        crowd.worker,
        crowd.label,
        tasks=Names.numbered(tasks),
        workers=Names.numbered(workers),
        classes=Names.numbered(classes),
    )
    items = Items(Names.numbered(tasks), Names.numbered(classes), np.asarray(crowd.truth, np.int64), None, None, None)
    names = [str(k) for k in range(classes)]
    truth, label = np.meshgrid(np.arange(classes), np.arange(classes), indexing="ij")
    confusions = pl.DataFrame(
        {
            "worker": np.repeat(np.arange(workers), classes * classes).astype(str),
            "truth": np.tile(np.array(names)[truth.ravel()], workers),
            "label": np.tile(np.array(names)[label.ravel()], workers),
            "prob": crowd.confusions.ravel(),
        }
    )
    return Dataset(
        answers, items, None, None, "simulated", {"strategy": strategy, "confusions": confusions, **crowd.extra}, [], {}
    )


# side inputs ---------------------------------------------------------------------------------------------------------------


def side_inputs(
    about: registry.Method, answers: Answers, data: Dataset | None, given: dict[str, Any]
) -> dict[str, Any]:
    """What the method asked for by parameter name, as arrays in task order."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if value is None and name in ("score", "author") and name in about.data and data is not None:
            value = column(data, answers, name)
        if value is None:
            if name in about.required:
                raise BadCall(f"{about.name} needs {name}: give {SIDES[name]}")
            continue
        if name not in about.data:
            raise BadCall(f"{about.name} takes no {name}")
        found[name] = MAKERS[name](answers, value)
    return found


def gold_codes(answers: Answers, given: Any) -> np.ndarray:
    """[T] class codes, -1 where nothing is known."""
    if not isinstance(given, np.ndarray):
        return label_codes(answers, given, "gold")
    codes = as_is(answers, given)
    if (codes >= len(answers.classes)).any() or not np.issubdtype(codes.dtype, np.integer):
        raise BadInput(
            f"gold codes up to {codes.max()}", expected=f"whole numbers below {len(answers.classes)}, -1 = unknown"
        )
    return codes


def label_codes(answers: Answers, given: Any, what: str) -> np.ndarray:
    labels, file = mapping(given, "label")
    code = {name: k for k, name in enumerate(answers.classes)}
    if unknown := next((task for task, label in labels.items() if label is not None and label not in code), None):
        raise BadInput(
            f"{what} label {labels[unknown]!r} of task {unknown!r} is not a class",
            file=file,
            line=line_of(file, task=unknown),
            value=labels[unknown],
            expected=", ".join(answers.classes[:12]),
        )
    codes = np.full(len(answers.tasks) + 1, -1, np.int64)  # one place more for tasks without answers
    codes[answers.tasks.code(labels, missing=-1)] = [-1 if label is None else code[label] for label in labels.values()]
    codes = codes[:-1]
    if not (codes >= 0).any():
        raise BadInput(f"no task of the {what} has answers", file=file, expected="the same task ids as in the answers")
    return codes


def prob_rows(answers: Answers, given: Any) -> np.ndarray:
    """[T, K] probabilities of every class, every row summing to one."""
    file = None
    if isinstance(given, np.ndarray):
        probs = np.asarray(given, float)
        if probs.shape != (len(answers.tasks), len(answers.classes)):
            raise BadInput(
                f"probabilities of shape {probs.shape}",
                expected=f"({len(answers.tasks)}, {len(answers.classes)}): tasks by classes",
            )
    else:
        probs, file = prob_table(answers, given)
    return distributions(answers, probs, file)


def prob_table(answers: Answers, given: Any) -> tuple[np.ndarray, Path | None]:
    """[T, K] from a table with a column p:CLASS for every class, NaN for tasks it does not have."""
    table, file = frame(given)
    wanted = [f"p:{name}" for name in answers.classes]
    if absent := [name for name in ["task", *wanted] if name not in table.columns]:
        raise BadInput(f"no column {absent[0]!r}", file=file, expected="task and " + ", ".join(wanted[:6]))
    place_ = answers.tasks.code(table["task"].to_list(), missing=-1)
    probs = np.full((len(answers.tasks), len(wanted)), np.nan)
    import polars as pl

    rows = table.select(pl.col(wanted).cast(pl.Float64, strict=False)).to_numpy()
    probs[place_[place_ >= 0]] = rows[place_ >= 0]
    return probs, file


def distributions(answers: Answers, probs: np.ndarray, file: Path | None) -> np.ndarray:
    """Checked: a distribution for every answered task, uniform for the others that have none."""
    lacking = np.flatnonzero(np.isnan(probs).any(axis=1) & (answers.per_task() > 0))
    if len(lacking):
        task = answers.tasks[int(lacking[0])]
        raise BadInput(
            f"task {task!r} has no probabilities ({len(lacking)} such tasks)",
            file=file,
            line=line_of(file, task=task),
            value=task,
            expected="a number for each class of each answered task",
        )
    probs = np.where(np.isnan(probs), 1 / max(probs.shape[1], 1), probs)
    if (probs < 0).any() or (np.abs(probs.sum(axis=1) - 1) > 1e-3).any():
        at = int(np.flatnonzero((probs < 0).any(axis=1) | (np.abs(probs.sum(axis=1) - 1) > 1e-3))[0])
        raise BadInput(
            f"the probabilities of task {answers.tasks[at]!r} are {probs[at].tolist()}",
            file=file,
            line=line_of(file, task=answers.tasks[at]),
            value=probs[at].tolist(),
            expected="numbers from 0 that sum to 1",
        )
    return probs / probs.sum(axis=1, keepdims=True)


def belief_rows(answers: Answers, given: Any) -> np.ndarray:
    """[T, K] to start from: p: columns if there are any, else the labels, made sure; vote shares where nothing is said."""
    from .kernels.rows import normalise

    if isinstance(given, np.ndarray):
        return prob_rows(answers, given)
    if not isinstance(given, Mapping):
        given, _ = frame(given)
        if any(name.startswith("p:") for name in given.columns):
            return prob_rows(answers, given)
    codes = label_codes(answers, given, "labels")
    return np.where(
        (codes >= 0)[:, None], np.eye(len(answers.classes))[np.maximum(codes, 0)], normalise(answers.counts())
    )


def earlier(answers: Answers, given: Any) -> Consensus:
    if isinstance(given, Consensus):
        return given
    if not (Path(given) / "model.safetensors").is_file():
        raise BadInput(
            "no model.safetensors in it",
            file=Path(given),
            expected="a folder that `manyvoices aggregate -o DIR/` wrote",
        )
    try:
        return Consensus.load(given)
    except Exception as error:  # whatever a damaged file does to the parser, it is one fact to the user
        raise BadInput(
            f"cannot be read ({type(error).__name__})",
            file=Path(given) / "model.safetensors",
            expected="a folder that `manyvoices aggregate -o DIR/` wrote",
        ) from error


def as_is(answers: Answers, given: Any) -> np.ndarray:
    if np.shape(given) != (len(answers.tasks),):
        raise BadInput(
            f"an array of shape {np.shape(given)}", expected=f"one value for each of {len(answers.tasks)} tasks"
        )
    return np.asarray(given)


MAKERS = {
    "gold": gold_codes,
    "probs": prob_rows,
    "labels": belief_rows,
    "start": earlier,
    "score": as_is,
    "author": as_is,
}


def column(data: Dataset, answers: Answers, name: str) -> np.ndarray | None:
    """[T] a column of the answers (or of the items) that says one thing a task: a machine's score, the author's code."""
    import polars as pl

    if data.notes is not None and name in data.notes.columns:
        task, values = named(answers.tasks, answers.rows()[0]), data.notes[name]
    elif data.items is not None and data.items.table is not None and name in data.items.table.columns:
        task, values = data.items.table["task"], data.items.table[name].cast(pl.String)
    else:
        return None
    said = pl.DataFrame({"task": task, "value": values}).drop_nulls()
    at = answers.tasks.code(said["task"].to_list(), missing=-1)
    held = at >= 0
    if name == "author":
        assert answers.workers is not None
        found = np.full(len(answers.tasks), -1, np.int64)
        found[at[held]] = answers.workers.code(said["value"].cast(pl.String).to_list(), missing=-1)[held]
        return found
    number = said["value"].cast(pl.String).cast(pl.Float64, strict=False)
    if number.is_null().any():
        raise BadInput(
            f"{name} {said['value'].filter(number.is_null())[0]!r} is not a number",
            expected="a number, or an empty cell",
        )
    scores = np.full(len(answers.tasks), np.nan)
    scores[at[held]] = number.to_numpy()[held]
    return scores


USUAL = {"seconds": ("seconds", "lead_time"), "when": ("when", "timestamp", "created_at", "submitted_at")}


def times(data: Dataset, name: str) -> np.ndarray | None:
    """[n] the notes `seconds` or `when`, in the order of `answers.rows()`, as numbers (moments in seconds since 1970).

    NaN where nothing stands, or nothing that is a number or an ISO time; nothing at all without such a column.
    """
    import polars as pl

    found = next((other for other in USUAL[name] if data.notes is not None and other in data.notes.columns), None)
    if data.notes is None or found is None:
        return None
    text = data.notes[found].cast(pl.String).str.strip_chars()
    numbers = text.cast(pl.Float64, strict=False)
    if name == "when" and numbers.null_count() > text.null_count():
        numbers = numbers.fill_null(since_1970(text))
    array = numbers.fill_null(float("nan")).to_numpy()
    return np.where(np.isfinite(array), array, np.nan)


def since_1970(text: pl.Series) -> pl.Series:
    """ISO times as seconds; a time without a zone counts as UTC, a date alone as its beginning."""
    whole = text.str.replace_all("/", "-", literal=True)
    whole = whole.str.replace(r"^(\d{4}-\d\d-\d\d)$", "${1}T00:00").str.replace(r"^(\d{4}-\d\d-\d\d) ", "${1}T")
    whole = whole.str.replace(r"( *UTC| *GMT|Z)$", "+00:00").str.replace(r"(T\d\d:\d\d)($|[+-])", "${1}:00${2}")
    whole = whole.str.replace(r"(T[\d:.]+)$", "${1}+00:00").str.replace(r"([+-]\d\d)$", "${1}:00")
    moments = whole.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%z", time_zone="UTC", strict=False)
    return moments.dt.epoch("us") / 1e6


def mapping(given: Any, value: str) -> tuple[dict[str, str | None], Path | None]:
    """task -> label from a mapping, a frame, or a file; and which file."""
    if isinstance(given, Mapping):
        return {str(task): None if label is None else str(label) for task, label in given.items()}, None
    table, file = frame(given)
    for name in ("task", value):
        if name not in table.columns:
            raise BadInput(
                f"no column {name!r}; found {', '.join(table.columns)}", file=file, expected=f"columns task and {value}"
            )
    found: dict[str, str | None] = {}
    for task, label in zip(table["task"].to_list(), table[value].to_list(), strict=True):
        if found.get(task) not in (None, label) and label is not None:
            raise BadInput(
                f"task {task!r} is {found[task]!r} and {label!r}",
                file=file,
                line=line_of(file, **{"task": task, value: label}),
                value=label,
                expected="one label a task",
            )
        found[task] = label if label is not None else found.get(task)
    return found, file


def line_of(file: Path | None, **cells: str) -> int | None:
    """The line whose columns hold these cells, looked up again for a message; the last of several, which counts."""
    if file is None:
        return None
    from .methods.read._table import read_table

    table = read_table(file)
    rows = table.frame.select(list(cells)).rows()
    found = [at for at, row in enumerate(rows) if row == tuple(cells.values())]
    return table.where(found[-1])[1] if found and table.where.unit == "line" else None


def frame(given: Any) -> tuple[pl.DataFrame, Path | None]:
    """A table of text from a path or from any library's data frame."""
    if isinstance(given, (str, Path)):
        from .methods.read._table import read_table

        if not Path(given).is_file():
            raise BadInput("no such file", file=given, expected="a table in CSV, TSV, JSON lines or Parquet")
        return read_table(Path(given)).frame, Path(given)
    return texts(given), None


def from_stdin(text: bytes) -> Path:
    """What came through a pipe, as a file the readers can look at twice."""
    from .engines.disk import scratch

    file = scratch() / "stdin"
    file.write_bytes(text)
    return file
