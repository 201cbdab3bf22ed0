"""Label Studio: exports as JSON, JSON-MIN and CSV; predictions to import are written.

    JSON        [{"id", "data": {...}, "annotations": [{"completed_by", "result": [{"from_name", "type", "value"}]}]}]
    JSON-MIN    [{"id", data fields, a key per question, "annotator", "annotation_id", "created_at", "lead_time"}]
    CSV         the same as columns, in this order or by the alphabet

- The worker is the user's id (`--worker email`: the e-mail address). Names are never kept. Where an export has
  addresses only, workers are numbered.
- Cancelled annotations are dropped and counted. A ground truth becomes the truth and is no answer.
- Several `from_name` are several questions. Choices may be several labels, ratings are an ordinal scale, numbers an
  interval scale; regions (boxes, spans) are no labels of a task and are dropped and counted.
- Predictions are read with `--predictions`, by workers called `model:VERSION`; their `score` is kept.
- `lead_time` is kept as `seconds`, `created_at` as `when`. A person may annotate a task twice; answers stand in the
  order they were made.
- JSON-MIN and CSV have a single choice or text as it is and all else as a value, `{"choices": ["a", "b"]}`, or a list of
  values, `[{"rating": 4}]`; both are read.
- In JSON-MIN and CSV nothing tells data from questions but where a column stands: between `id` and `annotator`. In the
  order of the alphabet, or with `id` first, questions are the columns that differ within a task, or else hold few
  different values.
  `--question` names any column.
- Written are tasks with predictions: a label table or what `predict` wrote is one prediction a task, `prob` its score. Answers
  of workers are one each. `from_name` is the question and `to_name` the column that is shown (`text`, `image`, `audio`), which a
  plain table does not have: [how to bring both along](../../data.md#back-into-label-studio).
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from ...core.dataset import Raw
from ...core.errors import BadCall, BadInput
from ...core.files import put_text
from ...core.names import in_order
from ._columns import rows_of
from ._export import MAIL, Export, a_file, content, labels_of, ordinal, scalar
from ._table import Records, glance, is_parquet, read_records
from ._text import Number, as_text, cautious, decode_json, head, one_file, peek_json, short

EXPECTED = (
    '[{"id", "data", "annotations": [...]}], or columns id, annotator, annotation_id, lead_time and the questions'
)
META = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "history")
KINDS = ("choices", "rating", "number", "text", "taxonomy", "pairwise", "datetime")
REGION = "region"
PLACED = ("start", "end", "x", "y", "points", "startOffset", "globalOffsets", "rle", "vertices", "ranges")


@cautious
def recognise(path: Path) -> float:
    """Tasks with data and annotations, or the columns of an annotation."""
    if path.is_dir():
        return 0.0
    if not is_parquet(path):
        first = [record for _, record in peek_json(path, 3)]
        if first and all(isinstance(record, dict) for record in first):
            tasks = all(
                isinstance(record.get("data"), dict) and ("annotations" in record or "predictions" in record)
                for record in first
            )
            if tasks:
                return 0.95
        elif not first and '"completed_by"' in (text := head(path)[0]) and text.lstrip()[:1] == "[":
            return 0.9  # a first task too long to be looked at whole
    names, *rows = glance(path) or [[]]
    columns = set(names)
    if {"id", "data", "annotations"} <= columns and rows and all(row[names.index("data")][:1] == "{" for row in rows):
        return 0.9  # a task a line
    return 0.9 if {"id", "annotator", "annotation_id", "lead_time"} <= columns else 0.0


def labelstudio(
    path: Path,
    *,
    worker: str = "id",
    predictions: bool = False,
    question: str | None = None,
    multilabel: Literal["rows", "binary"] = "rows",
) -> Raw:
    """Read an export.

    Parameters
    ----------
    worker
        Workers by id or by email (in a plain table: the column with their ids).
    predictions
        Also read predictions, as answers of workers called model:VERSION.
    question
        Which question to read: a from_name, or a column.
    multilabel
        rows: one row for each label of an answer; binary: each label is a question to be answered yes or no.
    """
    if worker not in ("id", "email"):
        raise BadCall(f"worker {worker!r}: expected id or email")
    return _read(path, worker, predictions, question).raw(question, multilabel, mails=worker == "email")


def questions(path: Path, *, multilabel: str = "rows", predictions: bool = False) -> list[str]:
    """What `--question` may be; nothing where one question only is asked."""
    return _read(path, predictions=predictions).questions(multilabel)


def _read(path: Path, worker: str = "id", predictions: bool = False, question: str | None = None) -> Export:
    records = read_records(a_file(path), EXPECTED)
    if any("annotator" in record and "annotation_id" in record for record in records.rows[:20]):
        if predictions:
            raise BadCall(f"{path}: JSON-MIN and CSV hold no predictions; export as JSON")
        return _flat(records, worker, question)
    if not any("data" in record for record in records.rows):
        raise BadInput("no record has data or an annotator", file=records.path, expected=EXPECTED)
    return _Tasks(records, worker, predictions).export


# JSON ----------------------------------------------------------------------------------------------------------------


class _Tasks:
    """Walks the tasks of a JSON export."""

    def __init__(self, records: Records, worker: str, predictions: bool):
        self.records, self.worker = records, worker
        self.export = Export("labelstudio", records.path, records.where, notes=list(records.notes))
        self.kinds: dict[str, str] = {}
        self.addressed = 0
        tasks, waiting = 0, []
        for at, task in enumerate(records.rows):
            id = scalar(task.get("id"), f"the id of record {at + 1}", records.path)
            if isinstance(task.get("data"), dict) and id:
                self.export.items.setdefault(id, content(task["data"]))
            waiting += [(at, id, said, self.results(said), False) for said in self.listed(task, "annotations", at)]
            models = self.listed(task, "predictions", at)
            tasks += bool(models) and not predictions
            for model in models if predictions else ():
                waiting.append((at, id, model, self.results(model), True))
        waiting.sort(key=lambda one: _when(one[2]))
        kept = [one for one in waiting if one[2].get("was_cancelled") is not True]
        names = list(dict.fromkeys(name for one in kept for name, _, _ in one[3]))
        for one in waiting:
            self.read(*one, names)
        if tasks and not self.export.said:
            raise BadInput(
                "predictions, but nobody's answers", file=records.path, expected="annotations, or --predictions"
            )
        if tasks:
            self.export.notes.append(
                f"predictions stand at {tasks} of the tasks and are no answers; --predictions reads them"
            )
        if worker == "email" and not self.addressed and self.export.said:
            raise BadCall(f"{records.path}: --worker email, but the export has no addresses; leave it out")
        _scales(self.export, self.kinds)

    def listed(self, task: dict[str, Any], key: str, at: int) -> list[dict[str, Any]]:
        found = task.get(key) or []
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            if isinstance(found, list) and not any(isinstance(one, dict) for one in found):
                return []  # ids of annotations, as the interface lists them
            raise BadInput(
                f"{key} of record {at + 1} are {short(found)}",
                file=self.records.path,
                value=found,
                expected="a list of objects",
            )
        return found

    def results(self, said: dict[str, Any]) -> list[tuple[str, str, Any]]:
        """from_name, kind and value of what is said of the task as a whole."""
        found = []
        results = said.get("result")
        for result in results if isinstance(results, list) else ():
            value = result.get("value") if isinstance(result, dict) else None
            if not isinstance(value, dict):
                continue
            kind = str(result.get("type")).lower()
            if isinstance(result.get("from_name"), str) and (whole := _whole(value, kind)) is not None:
                found.append((result["from_name"], *whole))
        return found

    def read(
        self, at: int, id: str | None, said: dict[str, Any], results: list[tuple], model: bool, names: list[str]
    ) -> None:
        """One annotation or prediction, as an answer to every question."""
        export, path = self.export, self.records.path
        if said.get("was_cancelled") is True:
            export.dropped["cancelled annotations"] += 1
            return
        answers: dict[str, list[str]] = {}
        for name, kind, value in results:
            self.kinds.setdefault(name, kind)
            answers.setdefault(name, []).extend(_labels(kind, value, f"{name} in record {at + 1}", path))
        if not answers and isinstance(said.get("result"), list) and said["result"]:
            export.dropped["annotations of regions only"] += 1
            return
        if said.get("ground_truth") is True and not model:
            export.dropped["ground truth (now the truth)"] += 1
            for name, labels in answers.items():
                if len(labels) == 1 and id:
                    export.truth.setdefault(name, {}).setdefault(id, labels[0])
            return
        worker = self.model(said) if model else self.who(said, at)
        taken, score = (scalar(said.get(key), key, path) for key in ("lead_time", "score"))
        for name in names:
            export.add(
                name,
                at,
                id,
                worker,
                answers.get(name),
                seconds=None if model else taken,
                when=scalar(said.get("created_at"), "created_at", path),
                score=score if model else None,
            )

    def model(self, said: dict[str, Any]) -> str:
        version = scalar(said.get("model_version"), "model_version", self.records.path)
        return f"model:{version}" if version else "model"

    def who(self, said: dict[str, Any], at: int) -> str | None:
        person = said.get("completed_by")
        if isinstance(person, dict):
            mail = scalar(person.get("email"), "an e-mail address", self.records.path)
            self.addressed += mail is not None
            return (
                mail
                if self.worker == "email"
                else scalar(person.get("id"), "the id of a person", self.records.path) or mail
            )
        text = scalar(person, f"completed_by in record {at + 1}", self.records.path)
        if text is not None and MAIL.fullmatch(text):
            self.addressed += 1
        return text


def _whole(value: dict[str, Any], kind: str = "") -> tuple[str, Any] | None:
    """What a value says of the task as a whole: its kind and the labels; nothing of a region."""
    if any(key in value for key in PLACED):
        return None
    key = next((key for key in (kind, *KINDS) if key in value), None)
    if kind == "pairwise" or (kind not in KINDS and "selected" in value):
        key, kind = "selected", "pairwise"
    return None if key is None else (kind if kind in KINDS else key, value.get(key))


def _labels(kind: str, value: Any, what: str, path: Path) -> list[str]:
    if kind == "taxonomy" and isinstance(value, list):
        value = [" / ".join(map(str, part)) if isinstance(part, list) else part for part in value]
    return labels_of(value, what, path) or []


def _scales(export: Export, kinds: dict[str, str]) -> None:
    """Numbers are an interval scale, ratings an ordinal one."""
    for name, kind in kinds.items():
        labels = [label for row in export.said.get(name, ()) for label in row[3] or ()]
        scale = {"number": "interval", "rating": "ordinal"}.get(kind)
        if scale and (kind != "rating" or ordinal(labels)):
            export.scale[name] = scale


def _when(said: dict[str, Any]) -> str:
    """To sort by: what has no time stays in front, in the order of the file."""
    return time if isinstance(time := said.get("created_at"), str) else ""


# JSON-MIN and CSV ----------------------------------------------------------------------------------------------------


def _flat(records: Records, worker: str, question: str | None) -> Export:
    export = Export("labelstudio", records.path, records.where, notes=list(records.notes))
    columns = list(dict.fromkeys(name for record in records.rows for name in record))
    for name in ("id", "annotator"):
        if name not in columns:
            raise BadInput(f"no column {name}", file=records.path, expected=EXPECTED)
    asked, others = _asked(columns, records.rows)
    if question is not None and question not in asked and question in others:
        asked = [question]
    if not asked:
        raise BadInput(
            f"no column holds answers; columns found: {', '.join(columns[:20])}",
            file=records.path,
            expected="a column with answers, named with --question",
        )
    people = {str(record.get("annotator")) for record in records.rows}
    if worker == "email" and not any(MAIL.fullmatch(name) for name in people):
        raise BadCall(f"{records.path}: --worker email, but the export has no addresses; leave it out")
    said = [
        {name: _said(record.get(name), f"{name} in record {at + 1}", records.path) for name in asked}
        for at, record in enumerate(records.rows)
    ]
    kinds = {name: {kind for one in said for kind, _ in one[name]} for name in asked}
    names = [name for name in asked if kinds[name] != {REGION}]
    for at in sorted(range(len(records.rows)), key=lambda at: _when(records.rows[at])):
        record, parts = records.rows[at], [part for name in asked for part in said[at][name]]
        task, person, taken, when = (
            scalar(record.get(key), f"{key} of record {at + 1}", records.path)
            for key in ("id", "annotator", "lead_time", "created_at")
        )
        if task and task not in export.items:
            export.items[task] = content(record, leave=(*META, *asked))
        if person is None and not parts:
            continue  # a task that waits for its first annotation
        if parts and all(kind == REGION for kind, _ in parts):
            export.dropped["annotations of regions only"] += 1
            continue
        for name in names:
            found = [part for kind, part in said[at][name] if kind != REGION]
            labels = [label for part in found for label in part] if found else None
            export.add(name, at, task, person, labels, seconds=taken, when=when)
    _scales(export, {name: next(iter(of)) for name, of in kinds.items() if len(of) == 1})
    return export


def _said(value: Any, what: str, path: Path) -> list[tuple[str, list[str]]]:
    """Kind and labels of each thing said: `a`, `{"choices": ["a", "b"]}`, `[{"rating": 4}]`; in a CSV as text."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        with suppress(BadInput):  # a text may begin with a bracket
            value = decode_json(value, path, EXPECTED)[0]
    if value is None or value == "":
        return []
    if isinstance(value, dict):
        return [(REGION, []) if (of := _whole(value)) is None else (of[0], _labels(*of, what, path))]
    if value == [] or not isinstance(value, list):
        return [("rating" if isinstance(value, Number) else "", labels_of(value, what, path) or [])]
    if all(isinstance(part, list) for part in value):
        return [("taxonomy", _labels("taxonomy", value, what, path))]
    return [said for part in value for said in _said(part, what, path)]


def _asked(columns: list[str], rows: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """The questions, and all columns that could be one."""
    others = [name for name in columns if name not in META]
    shapes = dict.fromkeys(map(tuple, rows))  # a record of JSON-MIN has only the questions that were answered
    between = list(dict.fromkeys(name for keys in shapes for name in _between(keys)))
    if columns == sorted(columns) or set(between) & set(META):
        between = []
    if between and columns[0] != "id":
        return between, others
    values = {name: [str(record.get(name)) for record in rows] for name in between or others}
    tasks = [str(record.get("id")) for record in rows]
    T = len(set(tasks))
    differing = [name for name, said in values.items() if len(set(zip(tasks, said, strict=True))) > T]
    few = [name for name, said in values.items() if len(set(said)) * 2 <= len(said) or len(values) == 1]
    labels = [name for name in few if T == 1 or len(set(values[name])) != T]  # as many as tasks: what the tasks show
    return differing or labels or few or between[-1:], others


def _between(keys: tuple[str, ...]) -> tuple[str, ...]:
    return keys[keys.index("id") + 1 : keys.index("annotator")] if {"id", "annotator"} <= set(keys) else ()


# Writing -------------------------------------------------------------------------------------------------------------


def write(data: Raw, out: Path) -> list[Path]:
    """Tasks with predictions, to be imported: the labels, or for answers of workers a prediction each."""
    out, rows = one_file(out, "labelstudio", ".json"), rows_of(data, "labelstudio")
    label, kind = str(data.about.get("question") or "label"), "number" if data.scale == "interval" else "choices"
    if data.scale == "ordinal" and ordinal(rows["label"].drop_nulls()):
        kind = "rating"
    shows = {} if data.items is None else {row.pop("task"): row for row in data.items.to_dicts()}
    fields = next(
        (
            name
            for name in ("text", "image", "image_url", "audio", "audio_url")
            if data.items is not None and name in data.items.columns
        ),
        "text",
    )
    said: dict[str, dict[str, list[dict]]] = {task: {} for task in in_order({*rows["task"], *data.tasks})}
    for row in rows.iter_rows(named=True):
        if row["label"] is not None:
            said[row["task"]].setdefault(row.get("worker") or "manyvoices", []).append(row)
    tasks = []
    for task, models in said.items():
        predictions = []
        for version, answers in sorted(models.items()):
            labels = list(dict.fromkeys(row["label"] for row in answers))
            value = {kind: labels if kind == "choices" else float(labels[0]) if kind == "number" else int(labels[0])}
            prediction: dict[str, Any] = {
                "model_version": version.removeprefix("model:"),
                "result": [{"from_name": label, "to_name": fields.removesuffix("_url"), "type": kind, "value": value}],
            }
            if (score := _number(answers[0].get("prob") or answers[0].get("score"))) is not None:
                prediction["score"] = score
            predictions.append(prediction)
        shown = {name: value for name, value in shows.get(task, {}).items() if value is not None}
        tasks.append(
            {
                **({"id": int(task)} if task.isascii() and task.isdigit() and str(int(task)) == task else {"id": task}),
                "data": shown or {"task": task},
                "predictions": predictions,
            }
        )
    return [put_text(out, json.dumps(tasks, ensure_ascii=False, indent=1) + "\n")]


def _number(text: Any) -> float | None:
    try:
        return float(as_text(text) or "")
    except (ValueError, TypeError):
        return None
