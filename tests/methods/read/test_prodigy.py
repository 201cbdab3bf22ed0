from __future__ import annotations

import pytest
from reading import module, read, triples
from samples import lines, prodigy

from manyvoices.core.errors import BadCall, BadInput

OPTIONS = {"options": [{"id": "a"}, {"id": "b"}]}


def test_accept_reject_ignore(put):
    records = [
        prodigy(1, who, answer, label="SPAM") for who, answer in (("x", "accept"), ("y", "reject"), ("z", "ignore"))
    ]
    assert triples(read("prodigy", put("a.jsonl", lines(*records))).rows) == [
        ("1", "set-x", "SPAM"),
        ("1", "set-y", "not SPAM"),
        ("1", "set-z", None),
    ]
    bare = lines(prodigy(1, "x", "accept"), prodigy(1, "y", "reject"), prodigy(1, "z", "ignore"))
    assert read("prodigy", put("b.jsonl", bare)).rows["label"].to_list() == ["accept", "reject", None]


def test_options_chosen(put):
    records = [
        prodigy(1, "x", "accept", accept=["a", "b"], **OPTIONS),
        prodigy(1, "y", "accept", accept=["b"], **OPTIONS),
    ]
    records += [prodigy(2, "x", "accept", accept=[], **OPTIONS), prodigy(2, "y", "reject", accept=["a"], **OPTIONS)]
    raw = read("prodigy", put("a.jsonl", lines(*records)))
    assert [row[1:] for row in triples(raw.rows)] == [
        ("set-x", "a"), ("set-x", "b"), ("set-y", "b"), ("set-x", None), ("set-y", None),
    ]  # fmt: skip
    assert raw.scale == "multilabel" and raw.where(2)[1] == 2


def test_tasks_are_joined_by_their_input(put):
    records = [prodigy(1, "x", "accept", label="A"), prodigy(1, "y", "accept", label="A", _task_hash=99)]
    assert set(read("prodigy", put("a.jsonl", lines(*records))).rows["task"]) == {"1"}


def test_times_for_people_are_said(put):
    times = ["2023-07-25_14-50-21", "set-2023-07-26_09-00-00"]
    records = [prodigy(1, "x", "accept", label="A", _annotator_id=time) for time in times]
    raw = read("prodigy", put("a.jsonl", lines(*records, prodigy(1, "x", "accept", label="A"))))
    assert raw.rows["worker"].to_list() == [*times, "set-x"]
    assert raw.notes[0].startswith("2 workers are called by a time (2023-07-25_14-50-21)")
    unnamed = lines(prodigy(1, "x", "accept", label="A", _annotator_id=None))
    assert read("prodigy", put("b.jsonl", unnamed)).rows["worker"].to_list() == ["set-x"]


def test_several_labels_are_questions(put):
    path = put("a.jsonl", lines(prodigy(1, "x", "accept", label="A"), prodigy(1, "x", "reject", label="B")))
    assert module("prodigy").questions(path) == ["A", "B"]
    assert triples(read("prodigy", path, question="B").rows) == [("1", "set-x", "not B")]
    with pytest.raises(BadCall, match=r"several questions: A, B"):
        read("prodigy", path)


def test_spans_are_no_labels(put):
    spans = prodigy(1, "x", "accept", spans=[{"start": 0, "end": 1, "label": "PER"}], _view_id="ner_manual")
    raw = read("prodigy", put("a.jsonl", lines(spans, prodigy(2, "x", "accept", label="A"))))
    assert raw.rows.height == 1 and raw.dropped == {"regions, not labels": 1}


def test_bad_answers(put):
    with pytest.raises(
        BadInput, match=r"a.jsonl, line 2: the answer is 'maybe'; expected one of accept, reject, ignore"
    ):
        read("prodigy", put("a.jsonl", lines(prodigy(1, "x", "accept"), prodigy(1, "x", "maybe"))))
    with pytest.raises(BadInput, match=r"no record has an answer"):
        read("prodigy", put("a.jsonl", '{"text": "x"}\n'))


def test_the_time_of_an_answer(put):
    raw = read("prodigy", put("a.jsonl", lines(prodigy(3, "x", "accept"), prodigy(4, "x", "accept", _timestamp=None))))
    assert raw.rows["when"].to_list() == ["1690294793", None] and "seconds" not in raw.rows.columns
