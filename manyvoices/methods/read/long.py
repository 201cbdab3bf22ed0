"""Long table: one row is one answer, with columns for the task, the worker and the label.

CSV (separated by comma, tab, semicolon or bar), JSON lines, a JSON list of objects, or Parquet; text may be gzipped.

    task,worker,label
    img_007,w1,cat
    img_007,w2,dog

Columns are found by their usual names (`item`, `item_id`, `example`, ...; `annotator`, `rater`, `performer`, `user`,
...; `answer`, `annotation`, `class`, `rating`, ...), or named with `--task`, `--worker`, `--label`. All others are kept
as notes: `seconds` (spent on the answer) and `when` (ISO text or seconds since 1970) are the ones methods know.

- Ids and labels are text exactly as written: `007`, `1.0`, `NA`, `nan` and `None` stay. A missing label is an empty
  cell, a JSON null or a float NaN. Rows without a task or a worker are dropped and counted.
- Without a column for the worker: `task,label,count` (or `n`) holds counts, `task,label` alone the labels of nobody in
  particular.
- A column `question` with several questions asks for `--question NAME`. One that only repeats a text of the task is a
  note.
- An ill-formed CSV row is an error that names its line, never filled up or cut.
"""

from __future__ import annotations

from pathlib import Path

from ...core.dataset import Raw
from ...core.errors import BadInput
from ...core.files import writing
from ._columns import answers, find, of_nobody, questions_in, rows_of
from ._table import glance, read_table, write_table
from ._text import cautious


@cautious
def recognise(path: Path) -> float:
    """Less sure than any reader of a tool's own export, since those have such columns too; surer than `wide`."""
    if path.is_dir():
        return 0.0
    columns, *rows = glance(path) or [[]]
    if not rows or not find(columns, "task") or not find(columns, "label"):
        return 0.0
    if find(columns, "worker"):
        return 0.6
    return 0.5 if find(columns, "count") else 0.3 if of_nobody(columns) else 0.0


def long(
    path: Path,
    *,
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    question: str | None = None,
) -> Raw:
    """Read a table with one answer a row.

    Parameters
    ----------
    task
        Column with the ids of the tasks, if it goes by no usual name.
    worker
        Column with the ids of the workers, if it goes by no usual name.
    label
        Column with the answers, if it goes by no usual name.
    question
        Which question to read, where a column `question` names several.
    """
    path = Path(path)
    if path.is_dir():
        raise BadInput("a folder", file=path, expected="a file; a folder is read in the native layout, answers.csv")
    return answers(read_table(path), "long", task=task, worker=worker, label=label, question=question)


def questions(path: Path, *, task: str | None = None) -> list[str]:
    """What `--question` may be; nothing where one question only is asked."""
    return questions_in(read_table(Path(path)), task)


def write(data: Raw, out: Path) -> list[Path]:
    """One table, in the form its suffix asks for: .csv, .tsv, .jsonl (each also with .gz), .parquet."""
    out, rows = Path(out), rows_of(data, "long")
    with writing(out.parent) as new:
        write_table(rows, new(out.name), out.name)
    return [out]
