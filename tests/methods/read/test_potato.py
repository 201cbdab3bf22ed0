from __future__ import annotations

import pytest
from reading import module, read, triples
from samples import POTATO, POTATO_CSV, STATE, parquet

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
