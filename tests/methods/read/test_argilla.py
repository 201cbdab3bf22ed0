from __future__ import annotations

import pytest
from reading import module, read, triples
from samples import ARGILLA, ARGILLA_FLAT, lines, parquet

from manyvoices.core.errors import BadInput


def test_the_nested_form_has_lost_the_status(put):
    path = put("a.json", ARGILLA)
    raw = read("argilla", path, question="mood")
    assert triples(raw.rows) == [("r1", "uuid-1", "glad"), ("r1", "uuid-2", "sad")] and raw.tasks == ["r2"]
    assert "drafts and discarded ones look submitted" in raw.notes[0]
    assert module("argilla").questions(path) == ["mood", "stars"]
    assert read("argilla", path, question="stars").scale == "ordinal"


def test_a_status_that_is_there_counts(put):
    said = {"value": "a", "user_id": "u"}
    record = {"id": 1, "fields": {}, "responses": {"q": [said | {"status": "submitted"}, said | {"status": "draft"}]}}
    raw = read("argilla", put("a.json", [record]))
    assert raw.rows.height == 1 and raw.dropped == {"drafts": 1} and raw.notes == []


@pytest.mark.parametrize("form", ["json", "jsonl", "parquet"])
def test_only_submitted_responses_of_the_flat_form(put, form):
    content = {"json": ARGILLA_FLAT, "jsonl": lines(*ARGILLA_FLAT), "parquet": parquet(ARGILLA_FLAT)}[form]
    raw = read("argilla", put(f"a.{form}", content))
    assert triples(raw.rows) == [("r1", "u1", "glad")] and raw.dropped == {"drafts": 1, "discarded responses": 1}
    assert raw.items.rows() == [("r1", "hello"), ("r2", "bye")] and raw.notes == []


def test_several_labels_and_what_is_no_label(put):
    flat = {
        "id": "r1",
        "q.responses": [["a", "b"], ["b"]],
        "q.responses.users": ["u1", "u2"],
        "s.responses": [[{"label": "PER", "start": 0, "end": 2}]],
        "s.responses.users": ["u1"],
    }
    raw = read("argilla", put("a.json", [flat]))
    assert triples(raw.rows) == [("r1", "u1", "a"), ("r1", "u1", "b"), ("r1", "u2", "b")]
    assert raw.dropped == {"spans or rankings": 1} and "no column with the status" in raw.notes[0]


def test_what_is_left_out_of_one_question_is_not_counted_at_another(put):
    flat = {
        "id": "r1",
        "q.responses": ["a", "b"],
        "q.responses.users": ["u1", "u2"],
        "q.responses.status": ["submitted", "draft"],
        "p.responses": ["x", "y", "z"],
        "p.responses.users": ["u1", "u2", "u3"],
        "p.responses.status": ["submitted", "discarded", "draft"],
    }
    path = put("a.json", [flat])
    assert read("argilla", path, question="q").dropped == {"drafts": 1}
    assert read("argilla", path, question="p").dropped == {"drafts": 1, "discarded responses": 1}


def test_lists_that_do_not_go_together(put):
    with pytest.raises(BadInput, match=r"q.responses: responses, users and status do not go together"):
        read("argilla", put("a.json", [{"id": 1, "q.responses": ["a"], "q.responses.users": ["u", "v"]}]))
    with pytest.raises(BadInput, match=r"a response to q is '3'"):
        read("argilla", put("a.json", [{"id": 1, "fields": {}, "responses": {"q": [3]}}]))
