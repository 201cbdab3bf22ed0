"""LeWiDi 2025 (third edition): CSC, MP, Paraphrase, VariErrNLI.

    {id: {"annotation task", "text": {...}, "annotators": "Ann1,Ann2,Ann2", "number of annotations",
          "annotations": {"Ann1": "neutral", "Ann2": "entailment,neutral"}, "soft_label": {...}, "split", "lang",
          "other_info": {"explanations": [...]}}}

One file, or a folder with NAME_train.json, NAME_dev.json, NAME_test.json; NAME_annotators_meta.json beside them becomes
the table of workers.

- VariErrNLI: several labels of one annotator are one text, `entailment,neutral`; the annotator then stands as often in
  `annotators`, and `explanations` follow that list. `--multilabel rows` gives one row a label with its own explanation,
  `--multilabel binary --question LABEL` a yes or no to each label.
- The metadata of Paraphrase and VariErrNLI is invalid JSON (commas before closing brackets): read with a note.
- MP numbers its people 0, 1, ... in the metadata and Ann0, Ann1, ... in the answers; its soft labels are about `0.0`
  and `1.0`, its answers about `0` and `1`. The spelling of the answers holds.
- Not everybody has a row in the metadata.
- Classes are those of `soft_label`, seen or not. Whole numbers, more than two, are an ordinal scale.
- Answers of the test phase are empty: missing labels.
- Writing gives one file in this form, or what is handed in, without a header and in the order of the ids: X_soft.tsv has
  `id` and the shares of the classes, `[0.25, 0.75]` (for several labels `[[0.5, 0.5], ...]`, no and yes of each class);
  X_pe.tsv what each worker says or is predicted to say, `[1, 0]`, workers in the order of their numbers. Shares come
  from columns p:CLASS, else from the answers.
- Two texts become a pair: premise and hypothesis (context, statement), question1 and question2, else text1 and text2.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from ...core.dataset import Raw
from ...core.errors import BadCall, BadInput
from ...core.files import put_text
from ...core.names import in_order, is_integer
from ._columns import choose, one_a_pair, rows_of
from ._lewidi import (
    Entry,
    brief,
    classes_of,
    in_numbers,
    labels_of,
    load_entries,
    looks,
    main_question,
    raw_of,
    side_file,
    soft_labels,
)
from ._people import private, without_gone
from ._text import as_text, cautious, one_file, parse_json, short


@cautious
def recognise(path: Path) -> float:
    """Entries whose annotations are an object."""
    return looks(path, dict)


def lewidi2025(path: Path, *, multilabel: Literal["rows", "binary"] = "rows", question: str | None = None) -> Raw:
    """Read a file or a folder of the 2025 edition.

    Parameters
    ----------
    multilabel
        rows: one row for each label of an answer; binary: each label is a question to be answered yes or no.
    question
        With binary: the label that is asked about.
    """
    path = Path(path)
    if multilabel not in ("rows", "binary"):
        raise BadCall(f"multilabel {multilabel!r}: expected rows or binary")
    entries, name, notes = load_entries(path, dict)
    several = _labels(entries)
    main = main_question(entries) or name
    if multilabel == "binary":
        if not several:
            raise BadCall(f"{path}: answers have one label each; --multilabel binary is for several")
        main = choose(question, several, path)
    elif question is not None:
        choose(question, [main], path)
    asked = main if multilabel == "binary" else None
    raw = raw_of("lewidi2025", entries, lambda entry: _answers(entry, asked), {"name": name, "question": main}, notes)
    if asked:
        raw = replace(raw, classes=["no", "yes"])
    else:
        classes, scale, unlike = classes_of(entries, labels_of(raw))
        raw = replace(raw, classes=classes, scale="multilabel" if several else scale, notes=[*raw.notes, *unlike])
        raw = replace(raw, together="task") if several else raw
    return _with_workers(raw, entries)


def questions(path: Path, *, multilabel: str = "rows") -> list[str]:
    """What `--question` may be; nothing where one question only is asked."""
    return _labels(load_entries(Path(path), dict)[0]) if multilabel == "binary" else []


def _labels(entries: list[Entry]) -> list[str]:
    """The labels one may give several of: those whose soft label is a share of its own."""
    shares = (item for entry in entries for item in entry.get("soft_label").items())
    return list(dict.fromkeys(label for label, share in shares if isinstance(share, dict)))


def _answers(entry: Entry, asked: str | None) -> list[tuple[str, str | None, str | None]]:
    listed, explanations = entry.annotators(), entry.get("other_info").get("explanations")
    if not isinstance(explanations, list) or len(explanations) != len(listed):
        explanations = [None] * len(listed)
    found = []
    for worker, said in entry.content["annotations"].items():
        try:
            text = as_text(said)
            own = [as_text(why) for name, why in zip(listed, explanations, strict=True) if name == worker]
        except TypeError:
            raise entry.bad(f"{worker} answers {short(said)}", "a label", said) from None
        labels = _split(text, entry, len(own))
        own = own if len(own) == len(labels) else own * len(labels) if len(own) == 1 else [None] * len(labels)
        if asked is None or labels == [None]:
            found += [(worker, label, why) for label, why in zip(labels, own, strict=True)]
        else:
            reasons = dict(zip(labels, own, strict=True))
            found.append((worker, "yes" if asked in reasons else "no", reasons.get(asked)))
    return found


def _split(text: str | None, entry: Entry, times: int) -> list[str | None]:
    """Several labels in one text, if each is a class or the annotator is listed as often; a comma alone is text."""
    classes = entry.get("soft_label")
    if text is None or "," not in text or text in classes:
        return [text]
    parts: list[str | None] = [part.strip() for part in text.split(",")]
    return parts if all(part in classes for part in parts) or len(parts) == times else [text]


# Writing -------------------------------------------------------------------------------------------------------------


def write(data: Raw, out: Path) -> list[Path]:
    """One file in the form of the 2025 edition; for X_soft.tsv and X_pe.tsv, what is handed in there."""
    out = one_file(out, "lewidi2025", ".json", ".tsv")
    if out.suffix == ".tsv":
        if not out.name.endswith(("_soft.tsv", "_pe.tsv")):
            raise BadCall(f"{out.name}: the names of submissions to lewidi2025 end in _soft.tsv or _pe.tsv")
        said = _shares(data) if out.name.endswith("_soft.tsv") else _by_worker(data)
        return [put_text(out, "".join(f"{task}\t{text}\n" for task, text in said))]
    return [put_text(out, json.dumps(_entries(data), ensure_ascii=False, indent=1) + "\n")]


def _entries(data: Raw) -> dict[str, Any]:
    rows = rows_of(data, "lewidi2025", named=True).drop_nulls("label").with_columns(pl.col("label").cast(pl.String))
    several = data.scale == "multilabel"
    rows = rows.unique(["task", "worker", "label"], maintain_order=True) if several else one_a_pair(rows, "lewidi2025")
    for name in {*rows["worker"], *(rows["label"] if several else ())}:
        if "," in name or name != name.strip():
            raise BadCall(f"{short(name)} would be cut at its comma or spaces: lewidi2025 lists them in one text")
    tasks, classes, shares = soft_labels(data, "lewidi2025")
    soft = dict(zip(tasks, shares.tolist(), strict=True))
    said: dict[str, dict[str, list[str]]] = {task: {} for task in in_order({*tasks, *data.tasks})}
    for task, worker, label in rows.select("task", "worker", "label").iter_rows():
        said[task].setdefault(worker, []).append(label)
    splits = dict(data.splits.select("task", "split").rows()) if data.splits is not None else {}
    items = {} if data.items is None else {row.pop("task"): row for row in data.items.to_dicts()}
    found = {}
    for task, answers in said.items():
        shows = {name: value for name, value in items.get(task, {}).items() if isinstance(value, str)}
        lang = shows.pop("lang", "")
        people = [worker for worker in in_numbers(answers) for _ in answers[worker]]
        share = dict(zip(classes, soft.get(task, [0.0] * len(classes)), strict=True))
        found[task] = {
            "annotation task": str(data.about.get("question") or "label"),
            "text": {"context": shows["premise"], "statement": shows["hypothesis"]}
            if {*shows} == {"premise", "hypothesis"}
            else shows["text"]
            if {*shows} == {"text"}
            else shows,
            "annotators": ",".join(people),
            "number of annotators": len(answers),
            "number of annotations": len(people),
            "annotations": {worker: ",".join(answers[worker]) for worker in in_numbers(answers)},
            "soft_label": {name: {"0": 1 - p, "1": p} for name, p in share.items()} if several else share,
            "split": splits.get(task) or "train",
            "lang": lang,
            "other_info": {},
        }
    return found


def _shares(data: Raw) -> Iterator[tuple[str, str]]:
    tasks, _, shares = soft_labels(data, "lewidi2025")
    for task, row in zip(tasks, shares, strict=True):
        if data.scale == "multilabel":
            yield task, "[" + ", ".join(f"[{brief(1 - share)}, {brief(share)}]" for share in row) + "]"
        else:
            yield task, "[" + ", ".join(map(brief, row)) + "]"


def _by_worker(data: Raw) -> Iterator[tuple[str, str]]:
    rows = rows_of(data, "lewidi2025", named=True).drop_nulls("label").with_columns(pl.col("label").cast(pl.String))
    several = data.scale == "multilabel"
    rows = rows if several else one_a_pair(rows, "lewidi2025")
    classes = data.classes or in_order(set(rows["label"]))
    said: dict[str, dict[str, set[str]]] = {task: {} for task in in_order({*rows["task"]})}
    for task, worker, label in rows.select("task", "worker", "label").iter_rows():
        said[task].setdefault(worker, set()).add(label)
    for task, answers in said.items():
        people = in_numbers(answers)
        lists = [[int(name in answers[worker]) for worker in people] for name in classes] if several else []
        plain = [label if is_integer(label) else json.dumps(label) for worker in people for label in answers[worker]]
        yield task, json.dumps(lists) if several else "[" + ", ".join(plain) + "]"


# The people ----------------------------------------------------------------------------------------------------------


def _with_workers(raw: Raw, entries: list[Entry]) -> Raw:
    file = side_file(entries, "annotators_meta.json")
    if file is None:
        return raw
    expected = "{annotator: {attribute: value}}"
    meta, notes = parse_json(file, expected)
    if not isinstance(meta, dict) or not all(isinstance(person, dict) for person in meta.values()):
        raise BadInput(short(meta), file=file, expected=expected)
    people = {name for entry in entries for name in [*entry.annotators(), *entry.content["annotations"]]}
    if not people & meta.keys() and any(f"Ann{key}" in people for key in meta):
        meta = {f"Ann{key}": person for key, person in meta.items()}
        notes.append(f"{file.name}: numbers there are Ann with the number in the answers")
    if lacking := len(people - meta.keys()):
        notes.append(f"{file.name}: {lacking} of {len(people)} annotators have no row")
    names = dict.fromkeys(name for person in meta.values() for name in person if name != "worker" and not private(name))
    try:
        columns = {name: [as_text(person.get(name)) for person in meta.values()] for name in names}
    except TypeError as error:
        raise BadInput(f"an attribute is {short(error.args[0])}", file=file, expected=expected) from None
    workers = pl.DataFrame({"worker": list(meta), **columns}, schema=dict.fromkeys(["worker", *names], pl.String))
    workers, gone = without_gone(workers, file)
    return replace(raw, workers=workers, notes=[*raw.notes, *notes, *gone])
