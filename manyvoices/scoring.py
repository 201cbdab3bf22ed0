"""What agree, identify, evaluate and compare share: methods with their options, groups of answers, gates, the table."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .core import registry
from .core.answers import Answers
from .core.dataset import Dataset
from .core.errors import BadCall, BadInput, Unknown
from .core.files import check_writable, put, put_text
from .core.names import Names
from .core.scores import Scores

if TYPE_CHECKING:
    import polars as pl

Asked = list[tuple[registry.Method, dict[str, Any]]]

GROUPS = 1_000
TABLES = (".csv", ".parquet", ".jsonl")
log = logging.getLogger("manyvoices")


# methods --------------------------------------------------------------------------------------------------------------


def named(job: str, methods: str | Callable | Iterable[str | tuple[registry.Method, dict[str, Any]]]) -> Asked:
    """Methods with their bracketed options, from a text or several, a function, or what the command line has parsed already."""
    if callable(methods):
        return [(registry.about(job, methods.__name__), {})]
    if isinstance(methods, str):
        return registry.parse(job, methods)
    texts, parsed = (
        [one for one in methods if isinstance(one, str)],
        [one for one in methods if not isinstance(one, str)],
    )
    return registry.parse(job, ",".join(texts)) if texts else parsed


def settled(asked: Asked, options: Mapping[str, Any]) -> Asked:
    """Each method with its own options and those of the shared ones that it has; an option nobody has is an error."""
    found, known = [], set()
    for about, given in asked:
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
                f"option of {asked[0][0].job} {', '.join(about.name for about, _ in asked)}",
                name,
                {option.name for about, _ in asked for option in about.options},
            )
    return found


def answers_of(data: Dataset | Answers) -> Answers:
    answers = data if isinstance(data, Answers) else data.answers
    if answers is None:
        raise BadInput("the data set has items but no answers", expected="answers of workers about tasks")
    return answers


# groups ---------------------------------------------------------------------------------------------------------------


def divided(data: Dataset | None, answers: Answers, column: str) -> Iterable[tuple[str, Answers]]:
    """The answers of each group, in the order of names. Answers without a group are in none, which is logged."""
    names, code = grouped(column_of(data, answers, column), column)
    if (code < 0).any():
        log.info("%d answers have no %s and are in no group", int((code < 0).sum()), column)
    for k, name in enumerate(names):
        yield name, answers.take(code == k)


def grouped(said: list[str | None], column: str) -> tuple[Names, np.ndarray]:
    """The groups by name and the group of each row, -1 where there is none."""
    names = Names.ordered({text for text in said if text is not None})
    if len(names) > GROUPS:
        raise BadCall(f"--by {column}: {len(names)} groups; expected at most {GROUPS:,}")
    code = names.code((text if text is not None else "" for text in said), missing=-1)
    code[[text is None for text in said]] = -1
    return names, code


def column_of(data: Dataset | None, answers: Answers, column: str) -> list[str | None]:
    """What a column of the answers, the items or the workers says of each answer, in the order of `answers.rows()`."""
    import polars as pl

    task, worker, _ = answers.rows()
    if data is not None and data.notes is not None and column in data.notes.columns:
        return data.notes[column].cast(pl.String).to_list()
    if (said := about_tasks(data, answers.tasks, column)) is not None:
        return said[task].tolist()
    people = None if data is None or answers.workers is None else data.workers
    if (said := attribute(people, "worker", answers.workers, column)) is not None:
        return said[worker].tolist()
    raise Unknown.name("column to group by", column, columns(data))


def about_tasks(data: Dataset | None, tasks: Names, column: str) -> np.ndarray | None:
    """What a column of the items, or the split, says of each of these tasks; None if there is no such column."""
    if data is None or data.items is None:
        return None
    for table in (data.items.table, data.items.split):
        if (said := attribute(table, "task", tasks, column)) is not None:
            return said
    return None


def attribute(table, key: str, names: Names | None, column: str) -> np.ndarray | None:
    import polars as pl

    if table is None or column not in table.columns or column == key:
        return None
    said = dict(zip(table[key].cast(pl.String).to_list(), table[column].cast(pl.String).to_list(), strict=True))
    found = np.empty(len(names), object)
    found[:] = [said.get(name) for name in names]
    return found


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


def failed(job: str, scores: Scores, gates: Mapping[str, float]) -> list[str]:
    """Which gates (`min-alpha: 0.6`, `max-percent: 0.99`) a score does not pass, a sentence each.

    A gate is about the rows of the data set and its groups; where a score has none of them, about all its rows.
    """
    said = []
    known = list(dict.fromkeys(scores.column("score")))
    rows = list(zip(*(scores.column(c) for c in ("score", "of", "name", "group", "value", "note")), strict=True))
    for gate, limit in gates.items():
        side, _, name = gate.replace("_", "-").partition("-")
        if side not in ("min", "max") or not name:
            raise BadCall(f"gate {gate!r}: write min-SCORE or max-SCORE, such as min-alpha")
        if np.isnan(limit):
            raise BadCall(f"--{gate} is not a number")
        score = computed(job, name, known, side)
        about = [row for row in rows if row[0] == score]
        for _, _, who, group, value, note in [row for row in about if row[1] == "dataset"] or about:
            where = " of ".join(text for text in (score, who, group) if text)
            if np.isnan(value):
                said.append(f"{where} is {note or 'not defined'}, so --{side}-{name} {limit:g} is not met")
            elif (value < limit) if side == "min" else (value > limit):
                said.append(
                    f"{where} is {value:.4g}, {'below' if side == 'min' else 'above'} --{side}-{name} {limit:g}"
                )
    return said


def computed(job: str, name: str, known: list[str], side: str) -> str:
    """The score a gate speaks of, in any accepted spelling; it must be among those that were computed."""
    for score in known:
        if registry.plain(score) == registry.plain(name):
            return score
    if job not in ("", "compare"):
        score = registry.resolve(job, name)[0]  # says so if nobody knows the name
        if score in known:
            return score
    raise BadCall(f"--{side}-{name} asks about {name}, which was not computed ({', '.join(known)}); name it in -s")


# the table ------------------------------------------------------------------------------------------------------------


def place_for(out: str | None) -> Path | None:
    """Where the table goes, refused before the work if it cannot go there; None is stdout."""
    if out in (None, "-"):
        return None
    path = Path(out)
    if path.suffix not in TABLES and not is_folder(path):
        raise BadCall(f"-o {out}: expected a name ending in {', '.join(TABLES)}, or a folder DIR/")
    check_writable(path)
    return path


def is_folder(path: Path) -> bool:
    return path.is_dir() or not path.suffix


def save(scores: Scores, path: Path) -> Path:
    return save_table(shown(scores), path, "scores")


def save_files(scores: Scores, folder: Path) -> list[Path]:
    """What else the methods wrote down; the lists an earlier run left there go first."""
    for old in [*folder.glob("too_hard_*.txt"), *folder.glob("*/too_hard_*.txt")]:
        old.unlink()
    return [
        put_text(folder / name, file) if isinstance(file, str) else put(folder / name, file.write_csv)
        for name, file in scores.files.items()
    ]


def save_table(table: pl.DataFrame, path: Path, name: str) -> Path:
    """The table in the form its suffix names; in a folder as NAME.csv."""
    if is_folder(path):
        path = path / f"{name}.csv"
    write: dict[str, Callable[[Path], object]] = {
        ".csv": table.write_csv,
        ".parquet": table.write_parquet,
        ".jsonl": table.write_ndjson,
    }
    return put(path, write[path.suffix])


def shown(scores: Scores) -> pl.DataFrame:
    """The table as it is written: what is not there is empty."""
    import polars as pl

    return scores.to_polars().with_columns(pl.col(pl.String).replace("", None))


def summary(scores: Scores) -> str:
    """The rows of the data set and its groups as lines of text, those of methods side by side; of workers and tasks the
    lowest and the highest, of the rest how many there are."""
    lines: list[str] = []
    others: dict[tuple[str, str], int] = {}
    rows = zip(
        *(scores.column(c) for c in ("score", "of", "name", "group", "value", "low", "high", "n", "note")), strict=True
    )
    for score, of, name, group, value, low, high, n, note in rows:
        if of in ("method", *LISTED):
            continue
        if of != "dataset":
            others[score, of] = others.get((score, of), 0) + 1
            continue
        ends = "" if np.isnan(low) else f" [{low:.3f}, {high:.3f}]"
        shown = f"{value:.4f}{ends} on {n}" if np.isfinite(value) else ""
        who = " ".join(text for text in (group, name) if text)
        lines.append(f"{f'{who}  ' if who else ''}{score:8} {shown}{f'  {note}' if note else ''}".rstrip())
    lines += side_by_side(scores)
    alike: dict[tuple[int, str], list[str]] = {}
    for (score, of), n in others.items():
        alike.setdefault((n, of), []).append(score)
    lines += [f"in the table: {n} rows of {of} for {', '.join(names)}" for (n, of), names in alike.items()]
    return "\n".join(lines + extremes(scores))


LISTED, SHOWN, NAMED, KINDS = ("worker", "task"), 3, 8, 4


def extremes(scores: Scores) -> list[str]:
    """For each score of workers or tasks: how many, their median, those that are surely low or high (their interval lies
    on one side of the median), and what the notes say."""
    score, of, note = (np.array(scores.column(c), object) for c in ("score", "of", "note"))
    name, value, low, high, n = (scores.column(c) for c in ("name", "value", "low", "high", "n"))
    lines: list[str] = []
    for key in dict.fromkeys((s, o) for s, o in zip(score, of, strict=True) if o in LISTED):
        at = np.flatnonzero((score == key[0]) & (of == key[1]))
        known = at[~np.isnan(value[at])]
        text = f"{key[0]}: {len(at)} rows of {key[1]}"
        text += f", median {np.median(value[known]):.4g}" if len(known) else ""
        text += f", {len(at) - len(known)} not defined" if len(known) < len(at) else ""
        kinds = told(note[at])
        text += f"; {next(iter(kinds))}" if len(kinds) == 1 else ""
        alike = len(known) > 1 and value[known].min() == value[known].max()
        lines.append(text + (", all alike" if alike else ""))
        up = known[np.lexsort((known, value[known], np.nan_to_num(high[known], nan=np.inf)))]
        down = known[np.lexsort((known, -value[known], -np.nan_to_num(low[known], nan=-np.inf)))]
        few, words = min(SHOWN, len(known) // 2), ("lowest", "highest")
        if (~np.isnan(low[known]) & ~np.isnan(high[known])).any():  # nobody is low or high for sure without an interval
            middle, words = np.median(value[known]), ("surely low", "surely high")
            up, down = up[high[up] < middle], down[low[down] > middle]
        sides = zip(words, (up[:few], down[:few]), strict=True) if len(known) > 1 else (("", known),)
        for side, rows in () if alike else sides:
            said = (f"{name[i]} {value[i]:.3g}{between(low[i], high[i])} on {n[i]}" for i in rows)
            lines += [f"  {side:11}  {', '.join(said)}"] if len(rows) else []
        for kind, rows in list(kinds.items())[:KINDS] if len(kinds) > 1 else ():
            who = f": {', '.join(str(name[at[i]]) for i in rows)}" if len(rows) <= NAMED else ""
            lines.append(f"  {len(rows)} {kind}{who}" if kind else f"  {len(rows)} without a note")
    return lines


def told(notes: np.ndarray) -> dict[str, list[int]]:
    """Rows by what their notes say, numbers and what stands in brackets left out; nothing where notes are all numbers."""
    kinds: dict[str, list[int]] = {}
    for i, note in enumerate(notes):
        kind = re.sub(r"\d+(\.\d+)?", "...", re.sub(r" \([^)]*\)", "", note))
        if kind.count("...") < 3:
            kinds.setdefault(kind, []).append(i)
    if set(kinds) <= {""}:
        return {}
    return dict(sorted(kinds.items(), key=lambda pair: -len(pair[1])))


def between(low: float, high: float) -> str:
    return "" if np.isnan(low) or np.isnan(high) else f" [{low:.3g}, {high:.3g}]"


def side_by_side(scores: Scores) -> list[str]:
    """A line a method, a column a score with its ends; ranks and gaps are left to the table."""
    cells: dict[str, dict[str, str]] = {}
    names = ("score", "of", "name", "other", "value", "low", "high")
    for score, of, name, other, value, low, high in zip(*(scores.column(c) for c in names), strict=True):
        if of != "method" or other or score.endswith("_rank"):
            continue
        if score == "recommended":
            text = "*" if value == 1 else ""
        elif np.isnan(value):
            text = "not defined"
        else:
            text = f"{value:.3f}" + ("" if np.isnan(low) else f" [{low:.3f}, {high:.3f}]")
        cells.setdefault(score, {})[name] = text
    if not cells:
        return []
    methods = list(dict.fromkeys(name for column in cells.values() for name in column))
    columns = [["method", *methods]] + [[score, *(held.get(m, "") for m in methods)] for score, held in cells.items()]
    widths = [max(map(len, column)) for column in columns]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in zip(*columns, strict=True)
    ]
