from __future__ import annotations

import pytest
from reading import module, read, triples
from samples import MTURK, quoted

from manyvoices.core.errors import BadCall, BadInput


def test_several_questions_and_rejected_assignments(put):
    path = put("a.csv", MTURK)
    with pytest.raises(BadCall, match=r"several questions: q1, q2"):
        read("mturk", path)
    raw = read("mturk", path, question="q1")
    assert triples(raw.rows) == [("007", "W1", "yes"), ("8", "W1", "no")]
    assert raw.dropped == {"rejected assignments": 1} and raw.where(1) == (path, 4)
    assert raw.rows["seconds"].to_list() == ["12", "9"]
    assert raw.items.rows() == [("007", "hello"), ("8", "bye")]


def test_without_an_input_id_the_hit_is_the_task(put):
    path = put("a.csv", "HITId,WorkerId,AssignmentStatus,Answer.q\nh1,W1,Approved,a\nh1,,Approved,b\n")
    raw = read("mturk", path)
    assert triples(raw.rows) == [("h1", "W1", "a")] and raw.dropped == {"no worker": 1}


def test_answers_of_crowd_forms(put):
    form = (
        '[{"kind": {"label": "cat"}, "sure": {"yes": true, "no": false}, "seen": {"a": true, "b": true}, "why": "so"}]'
    )
    head = "HITId,WorkerId,AssignmentStatus,WorkTimeInSeconds,Answer.taskAnswers\n"
    path = put("a.csv", f"{head}h1,W1,Approved,3,{quoted(form)}\nh1,W2,Rejected,3,{quoted(form)}\n")
    assert module("mturk").questions(path) == ["kind", "seen", "sure", "why"]
    assert triples(read("mturk", path, question="kind").rows) == [("h1", "W1", "cat")]
    assert triples(read("mturk", path, question="seen").rows) == [("h1", "W1", "a"), ("h1", "W1", "b")]
    raw = read("mturk", path, question="sure")
    assert raw.rows["label"].to_list() == ["yes"] and raw.dropped == {"rejected assignments": 1}
    with pytest.raises(BadInput, match=r"a.csv, line 2: broken JSON"):
        read("mturk", put("a.csv", f"{head}h1,W1,Approved,3,[{{\n"))


def test_columns_that_lack(put):
    with pytest.raises(BadInput, match=r"no column 'WorkerId'; columns found: HITId, Answer.q"):
        read("mturk", put("a.csv", "HITId,Answer.q\nh,a\n"))
    with pytest.raises(BadInput, match=r"no column Answer"):
        read("mturk", put("a.csv", "HITId,WorkerId\nh,a\n"))


def test_times(put):
    head = "HITId,WorkerId,AssignmentStatus,SubmitTime,WorkTimeInSeconds,Answer.q\n"
    times = ["Mon Sep 16 09:43:51 PDT 2019", "Fri Jan  3 01:02:03 UTC 2020", "yesterday", ""]
    raw = read("mturk", put("a.csv", head + "".join(f"h1,W{n},Approved,{time},{n}.5,a\n" for n, time in enumerate(times))))
    assert raw.rows["seconds"].to_list() == ["0.5", "1.5", "2.5", "3.5"]
    assert raw.rows["when"].to_list() == ["2019-09-16T09:43:51-07:00", "2020-01-03T01:02:03+00:00", "yesterday", None]


def test_buttons_in_columns_of_true_and_false(put):
    head = "HITId,WorkerId,AssignmentStatus,Answer.mood.glad,Answer.mood.sad,Answer.sure.on,Answer.kind.label\n"
    path = put(
        "a.csv", f"{head}h1,W1,Approved,true,false,true,cat\nh1,W2,Approved,TRUE,true,,dog\nh2,W1,Approved,false,false,,\nh2,W2,Approved,,,,\n"
    )
    assert module("mturk").questions(path) == ["mood", "sure.on", "kind.label"]
    raw = read("mturk", path, question="mood")
    assert triples(raw.rows) == [
        ("h1", "W1", "glad"), ("h1", "W2", "glad"), ("h1", "W2", "sad"), ("h2", "W1", None), ("h2", "W2", None),
    ]  # fmt: skip
    binary = read("mturk", path, question="mood: sad", multilabel="binary")
    assert binary.rows["label"].to_list() == ["no", "yes", "no", None]


def test_a_batch_without_assignments(put):
    with pytest.raises(BadInput, match=r"a.csv: no answers in it"):
        read("mturk", put("a.csv", MTURK.splitlines()[0] + "\n"))
