"""Prodigy: annotations as JSON lines, as `db-out` writes them.

    {"text", "answer": "accept", "accept": ["POS"], "options": [...], "_input_hash", "_annotator_id", ...}

- The task is `_input_hash`; the worker is `_annotator_id`, else `_session_id`.
- A session without a name is called by the time it began (`2023-07-25_14-50-21`), and one person's sessions are then
  several workers: a note says how many.
- With options, an accepted answer is the options chosen. With a `label`, accept is that label and reject is
  `not LABEL`; several labels in one file are several questions. With neither, the labels are `accept` and `reject`.
- `ignore` is a missing label. A rejected task with options has no answer either.
- `_timestamp`, in seconds since 1970, is kept as `when`.
- Spans, boxes and other regions are no labels of a task: they are dropped and counted.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from ...core.dataset import Raw
from ...core.errors import BadInput
from ._export import Export, a_file, content, labels_of, scalar
from ._table import glance, read_records
from ._text import cautious, short

EXPECTED = 'JSON lines with "answer" and "_input_hash"'
ANSWERS = ("accept", "reject", "ignore")
TIME = re.compile(r"(?:.*-)?\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d", re.DOTALL)
REGIONS = re.compile(r"(ner|spans|pos|dep|relations|coref|image|audio)(_manual)?")
CONTENT = ("text", "html", "image", "audio", "video")


@cautious
def recognise(path: Path) -> float:
    """An answer of the three kinds beside Prodigy's hashes."""
    columns, *rows = glance(path) or [[]]
    if "answer" not in columns or not {"_input_hash", "_task_hash"} & set(columns):
        return 0.0
    at = columns.index("answer")
    return 0.95 if any(row[at] in ANSWERS for row in rows) else 0.0


def prodigy(path: Path, *, question: str | None = None, multilabel: Literal["rows", "binary"] = "rows") -> Raw:
    """Read a file of annotations.

    Parameters
    ----------
    question
        Which question to read, where the file holds several labels to accept or reject.
    multilabel
        rows: one row for each label of an answer; binary: each label is a question to be answered yes or no.
    """
    return _read(path).raw(question, multilabel)


def questions(path: Path, *, multilabel: str = "rows") -> list[str]:
    """What `--question` may be; nothing where one question only is asked."""
    return _read(path).questions(multilabel)


def _read(path: Path) -> Export:
    records = read_records(a_file(path), EXPECTED)
    export = Export("prodigy", records.path, records.where, notes=list(records.notes))
    if not any("answer" in record for record in records.rows):
        raise BadInput("no record has an answer", file=records.path, expected=EXPECTED)
    several = {
        label for record in records.rows if not record.get("options") and isinstance(label := record.get("label"), str)
    }
    timed: set[str] = set()
    for at, record in enumerate(records.rows):
        answer = record.get("answer")
        if answer not in ANSWERS:
            raise BadInput(
                f"the answer is {short(answer)}",
                file=records.path,
                line=records.where(at)[1],
                value=str(answer),
                expected=f"one of {', '.join(ANSWERS)}",
            )
        task = _id(record, "_input_hash", records.path, at)
        worker = _id(record, "_annotator_id", records.path, at) or _id(record, "_session_id", records.path, at)
        if worker and TIME.fullmatch(worker):
            timed.add(worker)
        found = _answer(record, answer, several, records.path, at)
        if found is None:
            export.dropped["regions, not labels"] += 1
            continue
        name, labels = found
        export.add(name, at, task, worker, labels, when=_id(record, "_timestamp", records.path, at))
        if task and task not in export.items:
            export.items[task] = content({key: record[key] for key in CONTENT if isinstance(record.get(key), str)})
    if timed:
        export.notes.append(
            f"{len(timed)} worker{'s are' if len(timed) > 1 else ' is'} called by a time ({min(timed)}): sessions "
            "without a name, perhaps several of one person"
        )
    return export


def _answer(
    record: dict[str, Any], answer: str, several: set[str], path: Path, at: int
) -> tuple[str, list[str] | None] | None:
    """Question and labels; nothing where the answer is about regions."""
    if record.get("options") or isinstance(record.get("accept"), list):
        chosen = labels_of(record.get("accept"), "accept", path) if answer == "accept" else None
        return "choice", chosen
    label = record.get("label")
    if isinstance(label, str) and label and not record.get("spans"):
        labels = {"accept": [label], "reject": [f"not {label}"], "ignore": None}[answer]
        return label if len(several) > 1 else "label", labels
    if record.get("spans") is not None or REGIONS.fullmatch(str(record.get("_view_id"))):
        return None
    return "answer", None if answer == "ignore" else [answer]


def _id(record: dict[str, Any], key: str, path: Path, at: int) -> str | None:
    return scalar(record.get(key), f"{key} of record {at + 1}", path)
