from __future__ import annotations

import pytest
from reading import module, read, surest, triples
from samples import POTATO, POTATO_CSV, STATE, lines, parquet

from manyvoices.core.errors import BadInput


def test_radio_likert_and_multiselect(put):
    path = put("annotations.parquet", parquet(POTATO))
    put("items.parquet", parquet({"instance_id": ["i1", "i2"], "text": ["hello", "bye"]}))
    assert module("potato").questions(path) == ["mood", "scale", "topics"]
    assert triples(read("potato", path, question="mood").rows) == [
        ("i1", "u1", "glad"),
        ("i1", "u2", "sad"),
        ("i2", "u1", None),
    ]
    likert = read("potato", path, question="scale")
    assert likert.rows["label"].to_list() == ["1", "3", "2"] and likert.scale == "ordinal"
    topics = read("potato", path, question="topics")
    assert triples(topics.rows) == [("i1", "u1", "a"), ("i1", "u1", "b"), ("i1", "u2", "a"), ("i2", "u1", None)]
    assert topics.scale == "multilabel" and topics.items.rows() == [("i1", "hello"), ("i2", "bye")]
    binary = read("potato", path, question="topics: b", multilabel="binary")
    assert binary.rows["label"].to_list() == ["yes", "no", "no"]


@pytest.mark.parametrize("separator", [".", ":::"])
def test_columns_of_schema_and_label(put, separator):
    path = put(
        "annotated_instances.csv", POTATO_CSV.replace("mood.", f"mood{separator}").replace("note.", f"note{separator}")
    )
    assert read("potato", path, question="mood").rows["label"].to_list() == ["glad", "sad", "sad"]
    assert read("potato", path, question="note").rows["label"].to_list() == ["fine", None, "odd"]


def test_states_of_users(put, tmp_path):
    put("out/u1/user_state.json", STATE)
    put("out/u2/user_state.json", STATE | {"user_id": None})
    for path in (tmp_path, tmp_path / "out"):
        raw = read("potato", path, question="mood")
        assert triples(raw.rows) == [
            ("i1", "u1", "glad"),
            ("i2", "u1", "sad"),
            ("i1", "u2", "glad"),
            ("i2", "u2", "sad"),
        ]
        assert raw.where(3) == (tmp_path / "out/u2/user_state.json", 2)
        assert read("potato", path, question="note").rows["label"].to_list() == ["fine", "fine"]
    assert triples(read("potato", tmp_path / "out/u1/user_state.json", question="mood").rows)[0] == ("i1", "u1", "glad")


def test_bad_states(put, tmp_path):
    with pytest.raises(BadInput, match=r"no annotations"):
        read("potato", tmp_path)
    path = put("u/user_state.json", {"instance_id_to_label_to_value": {"i": [["x", 1]]}})
    with pytest.raises(BadInput, match=r"user_state.json, line 1: an answer is"):
        read("potato", path)
    with pytest.raises(BadInput, match=r"no instance_id_to_label_to_value"):
        read("potato", put("u/user_state.json", {}))


def test_lines_of_json(put, tmp_path):
    said = [
        {"instance_id": "i1", "user_id": "u1", "labels": {"mood": {"glad": True}, "note": {"text_box": "so"}}, "spans": {}},
        {"instance_id": "i1", "user_id": "u2", "labels": {"mood": "sad", "topics": ["a", "b"]}, "spans": {}, "links": {}},
        {"instance_id": "i2", "user_id": "u2", "labels": {"mood": {"sad": "sad", "glad": False}, "note": {"text_box": "no"}}},
    ]
    path = put("annotations.jsonl", lines(*said))
    assert surest(path) == surest(tmp_path) == "potato" and module("potato").questions(tmp_path) == ["mood", "note", "topics"]
    assert triples(read("potato", path, question="topics").rows) == [("i1", "u2", "a"), ("i1", "u2", "b")]
    assert read("potato", path, question="note").rows["label"].to_list() == ["so", "no"]
    with pytest.raises(BadInput, match=r"annotations.jsonl, line 2: labels are 3"):
        read("potato", put("annotations.jsonl", lines(said[0], {"instance_id": "i", "user_id": "u", "labels": 3})))


def test_columns_that_are_no_questions(put):
    head = "instance_id,user_id,annotator_origin,annotator_origin_detail,engine_purpose,engine_request,mood.glad,mood.sad,mood,stars,ents._spans,mood._room_id\n"
    path = put("annotations.csv", head + "i1,u1,human,,,,true,,glad,4,[],r1\ni1,u2,llm,{},gold,{},,sad,sad,2,[],r1\n")
    assert module("potato").questions(path) == ["mood", "stars"]
    assert read("potato", path, question="mood").rows["label"].to_list() == ["glad", "sad"]
    assert read("potato", path, question="stars").rows["label"].to_list() == ["4", "2"]


def test_times_of_the_states(put, tmp_path):
    looked = {"i1": {"total_time_ms": 12340, "session_end": 1738700012.34}, "i2": {"time_string": "Time spent: 0d 0h 1m 5s "}}
    put("u1/user_state.json", STATE | {"instance_id_to_behavioral_data": looked})
    put("u2/user_state.json", STATE | {"user_id": "u2", "instance_id_to_behavioral_data": [1]})
    raw = read("potato", tmp_path, question="mood")
    assert raw.rows["seconds"].to_list() == ["12.34", "65", None, None]
    assert raw.rows["when"].to_list() == ["1738700012.34", None, None, None]
