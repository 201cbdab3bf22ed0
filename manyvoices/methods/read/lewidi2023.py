"""LeWiDi 2023 (SemEval 2023 task 11): HS-Brexit, MD-Agreement, ConvAbuse, ArMIS.

    {id: {"text", "annotation task", "number of annotations", "annotations": "0,1,0", "annotators": "Ann1,Ann2,Ann3",
          "lang", "hard_label", "soft_label": {"0": p, "1": p}, "split", "other_info": {...}}}

One file, or a folder with NAME_train.json, NAME_dev.json, NAME_test.json, which are read as one data set.

- Ids start again in every split; read together, tasks are called `train_1`, `dev_1`, ...
- `hard_label` becomes the truth. It is the majority of these same answers, ties broken at random. In ConvAbuse the
  answers are a severity from -3 to 1 and the hard label is 0 or 1 with another meaning (severity 1 is hard label 0):
  there it is no truth, and the scale is ordinal.
- In ConvAbuse the text is JSON in a string: each turn is a column of the items, and `text` holds them all.
- Answers of the test phase are empty: missing labels.
- Further questions in `other_info` (aggressiveness, offensiveness, kinds of abuse) are read with `--question`; without
  it the main one is. Groups of annotators stand in the table of workers.
- Writing gives one file: labels and shares from the answers, the hard label from the truth where it is known. A name that
  ends in .tsv gives a submission instead: without a header the hard label and the shares of the classes, a line a task in
  the order of the ids; from predictions with columns p:CLASS, else from the answers.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from ...core.dataset import Raw
from ...core.errors import BadCall
from ...core.files import put_text
from ...core.names import in_order
from ._columns import choose, one_a_pair, rows_of
from ._lewidi import Entry, brief, classes_of, labels_of, load_entries, looks, main_question, raw_of, soft_labels
from ._text import as_text, cautious, one_file, short


@cautious
def recognise(path: Path) -> float:
    """Entries whose annotations are one text."""
    return looks(path, str)


def lewidi2023(path: Path, *, question: str | None = None) -> Raw:
    """Read a file or a folder of the 2023 edition.

    Parameters
    ----------
    question
        Which question to read: the main one, or one of `other_info`.
    """
    path = Path(path)
    entries, name, notes = load_entries(path, str)
    main, others = _questions(entries)
    asked = main if question is None else choose(question, [main, *others], path)
    if others:
        left = ", ".join(name for name in [main, *others] if name != asked)
        notes.append(f"further questions: {left}; --question reads one of them")
    raw = raw_of(
        "lewidi2023",
        entries,
        lambda entry: _answers(entry, None if asked == main else asked),
        {"name": name, "question": asked},
        notes,
    )
    classes, scale, unlike = classes_of(entries if asked == main else [], labels_of(raw))
    raw = replace(raw, classes=classes, scale=scale, workers=_workers(entries), notes=[*raw.notes, *unlike])
    return _with_truth(raw, entries) if asked == main else raw


def questions(path: Path) -> list[str]:
    """What `--question` may be, the main question first."""
    main, others = _questions(load_entries(Path(path), str)[0])
    return [main, *others]


def _questions(entries: list[Entry]) -> tuple[str, list[str]]:
    main = main_question(entries) or "label"
    return main, list(dict.fromkeys(key for entry in entries for key in _others(entry)))


def _others(entry: Entry) -> dict[str, str]:
    info = entry.get("other_info")
    found = info.get("other annotations") or info.get("other_annotations")
    return found if isinstance(found, dict) else {}


def _answers(entry: Entry, other: str | None) -> list[tuple[str, str | None, None]]:
    workers = entry.annotators()
    said = entry.content["annotations"] if other is None else _others(entry).get(other, "")
    said = as_text(said) if not isinstance(said, list | dict) else None
    if said is None:  # kept back in the test phase
        return [(worker, None, None) for worker in workers]
    labels = [label.strip() for label in said.split(",")]
    if len(labels) != len(workers):
        raise entry.bad(f"{len(labels)} annotations ({short(said)}) of {len(workers)} annotators", "one of each", said)
    return [(worker, label, None) for worker, label in zip(workers, labels, strict=True)]


def _with_truth(raw: Raw, entries: list[Entry]) -> Raw:
    """Hard labels, unless they contradict an answer that all agree on: then they speak of other classes."""
    truth = {}
    for entry in entries:
        try:
            hard = as_text(entry.content.get("hard_label"))
        except TypeError:
            raise entry.bad(f"hard_label is {short(entry.content['hard_label'])}", "a label") from None
        if hard is None:
            continue
        said = {label for _, label, _ in _answers(entry, None)} - {None}
        if raw.classes is None or (len(said) == 1 and hard not in said):
            note = "hard_label has other classes than the answers and is not taken as truth"
            return replace(raw, notes=[*raw.notes, note])
        truth[entry.task] = hard
    if not truth:
        return raw
    return replace(
        raw,
        truth=pl.DataFrame({"task": list(truth), "label": list(truth.values())}),
        notes=[*raw.notes, "the truth is hard_label, the majority of these same answers"],
    )


def _workers(entries: list[Entry]) -> pl.DataFrame | None:
    """Worker and group, as lists in the order of annotators or as {annotator: group}."""
    group: dict[str, str] = {}
    legend: dict[str, str] = {}
    for entry in entries:
        workers, info = entry.annotators(), entry.get("other_info")
        listed = next((value for key, value in info.items() if key.lower().replace("_", " ") == "annotators group"), "")
        names = [name.strip() for name in listed.split(",")] if isinstance(listed, str) else []
        if len(names) == len(workers):
            group |= dict(zip(workers, names, strict=True))
            legend |= {name: info[name] for name in names if isinstance(info.get(name), str)}
        group |= {worker: info[worker] for worker in workers if isinstance(info.get(worker), str)}
    if not group:
        return None
    return pl.DataFrame({"worker": list(group), "group": [legend.get(name, name) for name in group.values()]})


# Writing -------------------------------------------------------------------------------------------------------------


def write(data: Raw, out: Path) -> list[Path]:
    """One file in the form of the 2023 edition; for a name in .tsv, what is handed in there."""
    out = one_file(out, "lewidi2023", ".json", ".tsv")
    if out.suffix == ".tsv":
        _, names, soft = soft_labels(data, "lewidi2023")
        lines = ["\t".join([names[int(row.argmax())], *map(brief, row)]) for row in soft]
        return [put_text(out, "".join(f"{line}\n" for line in lines))]
    rows = one_a_pair(rows_of(data, "lewidi2023", named=True), "lewidi2023")
    rows = rows.with_columns(pl.col("label").cast(pl.String))
    classes = data.classes or in_order(set(rows["label"]))
    for name in {*rows["worker"], *classes}:
        if "," in name or name != name.strip():
            raise BadCall(f"{short(name)} would be cut at its comma or spaces: lewidi2023 lists labels in one text")
    said: dict[str, list[tuple[str, str]]] = {task: [] for task in in_order({*rows["task"], *data.tasks})}
    for task, worker, label in rows.iter_rows():
        said[task].append((worker, label))
    truth, splits = (
        dict(table.select("task", name).rows()) if table is not None else {}
        for table, name in ((data.truth, "label"), (data.splits, "split"))
    )
    items = {} if data.items is None else {row["task"]: row for row in data.items.to_dicts()}
    entries = {}
    for task, answers in said.items():
        labels, shows = [label for _, label in answers], items.get(task, {})
        text = shows.get("text") or " ".join(v for k, v in shows.items() if k != "task" and isinstance(v, str))
        shares = {name: labels.count(name) / len(labels) if labels else 0.0 for name in classes}
        people = ",".join(worker for worker, _ in answers)
        entry: dict[str, Any] = {
            "text": text,
            "annotation task": str(data.about.get("question") or "label"),
            "number of annotations": len(answers),
            "annotations": ",".join(labels),
            "annotators": people,
            "lang": shows.get("lang") or "",
            "soft_label": shares,
            "split": splits.get(task) or "train",
            "other_info": {},
        }
        if task in truth:
            entry["hard_label"] = truth[task]
        entries[task] = entry
    return [put_text(out, json.dumps(entries, ensure_ascii=False, indent=1) + "\n")]
