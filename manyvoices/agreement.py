"""How far workers agree: coefficients side by side, for the data set, its classes, its groups, and pairs of workers.

of       what n counts
dataset  tasks that went in
class    answers that say the class
pair     tasks both workers answered
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .core import registry
from .core.answers import Answers
from .core.dataset import Dataset
from .core.errors import BadCall, BadInput, Unknown
from .core.files import check_writable, put
from .core.names import Names
from .core.scores import Scores
from .methods.agree._table import joined

if TYPE_CHECKING:
    import polars as pl

GROUPS = 1_000
TABLES = (".csv", ".parquet", ".jsonl")
log = logging.getLogger("manyvoices")


def agreed(
    source: Dataset | Answers,
    methods: str | Callable | Iterable[tuple[registry.Method, dict]] | None = None,
    *,
    by: str | None = None,
    **options: Any,
) -> Scores:
    """Scores of each method (those that suit the scale, if none is named): all answers first, then each group of `by`.

    `by` is a column that came with the answers, the items or the workers. Options go to the methods that have them.
    """
    data = source if isinstance(source, Dataset) else None
    answers: Answers | None = source if data is None else data.answers  # type: ignore[assignment]
    if answers is None:
        raise BadInput("the data set has items but no answers", expected="answers of workers about tasks")
    runs = settled(asked(methods, answers), options)
    parts, groups = [run(answers, runs)], [""]
    if by is not None:
        for name, some in divided(data, answers, by):
            parts.append(run(some, runs))
            groups.append(name)
    return joined(parts, groups)


def asked(methods: Any, answers: Answers) -> list[tuple[registry.Method, dict]]:
    if methods is None:
        return [
            (about, {})
            for about in (registry.about("agree", name) for name in registry.names("agree"))
            if suits(about, answers.scale)
        ]
    if callable(methods):
        return [(registry.about("agree", methods.__name__), {})]
    return registry.parse("agree", methods) if isinstance(methods, str) else list(methods)


def suits(about: registry.Method, scale: str) -> bool:
    return not ("classes" in about.needs and scale == "interval") and not (
        "ordered" in about.needs and scale not in ("ordinal", "interval")
    )


def settled(runs: list[tuple[registry.Method, dict]], options: Mapping[str, Any]) -> list[tuple[registry.Method, dict]]:
    """Each method with its own options and those of the shared ones that it has; an option nobody has is an error."""
    found, known = [], set()
    for about, given in runs:
        mine = {}
        for name, value in options.items():
            try:
                mine[about.option(name).name] = value
                known.add(name)
            except Unknown:
                continue
        found.append((about, about.settle(mine) | given))
    for name in options:
        if name not in known:
            raise Unknown.name(
                f"option of agree {', '.join(about.name for about, _ in runs)}",
                name,
                {option.name for about, _ in runs for option in about.options},
            )
    return found


def run(answers: Answers, runs: list[tuple[registry.Method, dict]]) -> Scores:
    return joined([registry.find("agree", about.name)(answers, **given) for about, given in runs])


# groups ---------------------------------------------------------------------------------------------------------------


def divided(data: Dataset | None, answers: Answers, column: str) -> Iterable[tuple[str, Answers]]:
    """The answers of each group, in the order of names. Answers without a group are in none, which is logged."""
    said = column_of(data, answers, column)
    names = Names.ordered({text for text in said if text is not None})
    if len(names) > GROUPS:
        raise BadCall(f"--by {column}: {len(names)} groups; expected at most {GROUPS:,}")
    code = names.code((text if text is not None else "" for text in said), missing=-1)
    code[[text is None for text in said]] = -1
    if (code < 0).any():
        log.info("%d answers have no %s and are in no group", int((code < 0).sum()), column)
    for k, name in enumerate(names):
        yield name, answers.take(code == k)


def column_of(data: Dataset | None, answers: Answers, column: str) -> list[str | None]:
    """What a column says of each answer, in the order of `answers.rows()`."""
    import polars as pl

    task, worker, _ = answers.rows()
    if data is not None and data.notes is not None and column in data.notes.columns:
        return data.notes[column].cast(pl.String).to_list()
    places = (
        []
        if data is None
        else [
            (data.items.table if data.items is not None else None, "task", answers.tasks, task),
            (data.items.split if data.items is not None else None, "task", answers.tasks, task),
            (data.workers, "worker", answers.workers, worker),
        ]
    )
    for table, key, names, code in places:
        if table is None or names is None or column not in table.columns or column == key:
            continue
        said = dict(zip(table[key].cast(pl.String).to_list(), table[column].cast(pl.String).to_list(), strict=True))
        each = np.array([said.get(name) for name in names], object)
        return each[code].tolist()
    raise Unknown.name("column to group by", column, columns(data))


def columns(data: Dataset | None) -> list[str]:
    if data is None:
        return []
    tables = [
        data.notes,
        None if data.items is None else data.items.table,
        None if data.items is None else data.items.split,
        data.workers,
    ]
    return [name for table in tables if table is not None for name in table.columns if name not in ("task", "worker")]


# gates ----------------------------------------------------------------------------------------------------------------


def failed(scores: Scores, gates: Mapping[str, float]) -> list[str]:
    """Which gates (`min_alpha: 0.6`, `max_percent: 0.99`) the data set or a group does not pass, a sentence each."""
    said = []
    rows = [
        (score, of, group, float(value), note)
        for score, of, group, value, note in zip(
            scores.score, scores.of, scores.group, scores.value, scores.note, strict=True
        )
        if of == "dataset"
    ]
    for gate, limit in gates.items():
        side, _, name = gate.replace("-", "_").partition("_")
        if side not in ("min", "max") or not name:
            raise BadCall(f"gate {gate!r}: write min_SCORE or max_SCORE, such as min_alpha")
        if np.isnan(limit):
            raise BadCall(f"--{gate.replace('_', '-')} is not a number")
        name = registry.resolve("agree", name)[0]
        about = [row for row in rows if row[0] == name]
        if not about:
            raise BadCall(f"--{side}-{name} asks about {name}, which was not computed: name it in -s")
        for _, _, group, value, note in about:
            where = name if not group else f"{name} of {group}"
            if np.isnan(value):
                said.append(f"{where} is {note or 'not defined'}, so --{side}-{name} {limit:g} is not met")
            elif (value < limit) if side == "min" else (value > limit):
                said.append(
                    f"{where} is {value:.4g}, {'below' if side == 'min' else 'above'} --{side}-{name} {limit:g}"
                )
    return said


def summary(scores: Scores) -> str:
    """The rows of the data set and its groups as lines of text."""
    lines = []
    for score, of, group, value, low, high, n, note in zip(
        scores.score, scores.of, scores.group, scores.value, scores.low, scores.high, scores.n, scores.note, strict=True
    ):
        if of == "dataset":
            ends = "" if np.isnan(low) else f" [{low:.3f}, {high:.3f}]"
            shown = f"{value:.4f}{ends} on {n} tasks" if np.isfinite(value) else ""
            lines.append(f"{f'{group}  ' if group else ''}{score:8} {shown}{f'  {note}' if note else ''}".rstrip())
    return "\n".join(lines)


# files ----------------------------------------------------------------------------------------------------------------


def place_for(out: str | None) -> Path | None:
    """Where the table goes, refused before the work if it cannot go there; None is stdout."""
    if out in (None, "-"):
        return None
    path = Path(out)
    if path.suffix not in TABLES:
        raise BadCall(f"-o {out}: expected a name ending in {', '.join(TABLES)}")
    check_writable(path)
    return path


def save(table: pl.DataFrame, path: Path) -> Path:
    """The table in the form its suffix names."""
    write: dict[str, Callable[[Path], object]] = {
        ".csv": table.write_csv,
        ".parquet": table.write_parquet,
        ".jsonl": table.write_ndjson,
    }
    return put(path, write[path.suffix])
