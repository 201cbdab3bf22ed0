from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest
from reading import module, read, scores, surest, triples

from manyvoices.core.errors import BadCall, BadInput, Unknown
from manyvoices.methods.read.lewidi2023 import questions


def entry(
    annotations, hard, annotators="Ann1,Ann2,Ann3", split="train", text="a tweet", task="hate speech detection", **info
):
    share = str(annotations).split(",").count("1") / 3
    return {
        "text": text,
        "annotation task": task,
        "number of annotations": 3,
        "annotations": annotations,
        "annotators": annotators,
        "lang": "en",
        "hard_label": hard,
        "soft_label": {"0": 1 - share, "1": share},
        "split": split,
        "other_info": info,
    }


BREXIT = {
    "1": entry(
        "0,1,0",
        "0",
        **{
            "other annotations": {"aggressive": "1,1,0", "offensive": "0,0,1"},
            "annotators group": "group1,group1,group2",
            "group1": "target group",
            "group2": "control group",
        },
    ),
    "007": entry(
        "1, 1,1",
        1,
        **{
            "other annotations": {"aggressive": "0,0,0", "offensive": "1,1,1"},
            "annotators group": "group1,group1,group2",
        },
    ),
}


def test_one_split(put):
    path = put("HS-Brexit_train.json", BREXIT)
    raw = read("lewidi2023", path)
    assert triples(raw.rows) == [
        ("1", "Ann1", "0"),
        ("1", "Ann2", "1"),
        ("1", "Ann3", "0"),
        ("007", "Ann1", "1"),
        ("007", "Ann2", "1"),
        ("007", "Ann3", "1"),
    ]
    assert raw.rows.columns == ["task", "worker", "label"] and raw.where(4) == (path, 2)
    assert raw.truth.rows() == [("1", "0"), ("007", "1")] and raw.classes == ["0", "1"] and raw.scale == "nominal"
    assert raw.items.to_dicts()[0] == {"task": "1", "text": "a tweet", "lang": "en"}
    assert raw.splits.rows() == [("1", "train"), ("007", "train")]
    assert raw.workers.rows() == [("Ann1", "target group"), ("Ann2", "target group"), ("Ann3", "control group")]
    assert raw.about == {"name": "HS-Brexit", "question": "hate speech detection"}
    assert raw.notes == [
        "further questions: aggressive, offensive; --question reads one of them",
        "the truth is hard_label, the majority of these same answers",
    ]
    assert scores(path) == {"lewidi2023": 0.95}


def test_further_questions(put):
    path = put("HS-Brexit_train.json", BREXIT)
    raw = read("lewidi2023", path, question="offensive")
    assert (
        raw.rows["label"].to_list() == ["0", "0", "1", "1", "1", "1"]
        and raw.truth is None
        and raw.about["question"] == "offensive"
    )
    assert questions(path) == ["hate speech detection", "aggressive", "offensive"]
    assert read("lewidi2023", path, question="hate speech detection").truth is not None
    with pytest.raises(Unknown, match=r"Did you mean 'offensive'"):
        read("lewidi2023", path, question="ofensive")


def test_conversations_with_a_severity(put):
    turns = {"prev_agent": "Hi", "prev_user": "you", "agent": "What?", "user": "bye"}
    path = put(
        "ConvAbuse_dev.json",
        {"1": entry("1,1,1", "0", text=json.dumps(turns)), "2": entry("-3,0,1", "0", text=json.dumps(turns))},
    )
    raw = read("lewidi2023", path)
    assert raw.scale == "ordinal" and raw.classes is None and raw.truth is None
    assert raw.notes == [
        "soft_label is about 0, 1, answers are -3, 0, 1: the answers count",
        "hard_label has other classes than the answers and is not taken as truth",
    ]
    assert raw.items.to_dicts()[0] == {
        "task": "1",
        "text": "prev_agent: Hi\nprev_user: you\nagent: What?\nuser: bye",
        **turns,
        "lang": "en",
    }


def test_a_hard_label_against_all_answers_is_about_something_else(put):
    raw = read("lewidi2023", put("ConvAbuse_dev.json", {"1": entry("1,1,1", "0"), "2": entry("1,0,1", "0")}))
    assert raw.truth is None and "not taken as truth" in raw.notes[0]


def test_groups_by_annotator_and_a_text_that_begins_with_a_brace(put):
    raw = read(
        "lewidi2023",
        put(
            "ArMIS_train.json",
            {"1": entry("0,1,0", "0", text="{not JSON", Ann1="Moderate_Female", Ann2="Liberal_Female", Ann3="Male")},
        ),
    )
    assert raw.workers.rows() == [("Ann1", "Moderate_Female"), ("Ann2", "Liberal_Female"), ("Ann3", "Male")]
    assert raw.items.to_dicts() == [{"task": "1", "text": "{not JSON", "lang": "en"}]


def test_answers_kept_back(put):
    path = put("ArMIS_test.json", json.dumps({"1": entry("", float("nan"), split="test")}))
    raw = read("lewidi2023", path)
    assert (
        triples(raw.rows) == [("1", f"Ann{n}", None) for n in (1, 2, 3)]
        and raw.truth is None
        and raw.splits.rows() == [("1", "test")]
    )
    assert surest(path) == "lewidi2023"


def test_a_folder_of_splits(put, tmp_path):
    put("X_train.json", {"1": entry("0,1,0", "0"), "2": entry("1,1,1", "1")})
    put("X_dev.json", {"1": entry("0,0,0", "0", split="dev")})
    put("X_dev_notes.json", {"1": 3})
    raw = read("lewidi2023", tmp_path)
    assert raw.rows["task"].unique(maintain_order=True).to_list() == ["train_1", "train_2", "dev_1"]
    assert raw.splits.rows() == [("train_1", "train"), ("train_2", "train"), ("dev_1", "dev")]
    assert "tasks are called split_id" in raw.notes[0] and raw.where(6) == (tmp_path / "X_dev.json", 1)
    assert scores(tmp_path) == {"lewidi2023": 0.9}
    put("Y_test.json", {"3": entry("0,1,0", "0")})
    with pytest.raises(BadInput, match=r"several data sets: X, Y; expected the file or folder of one"):
        read("lewidi2023", tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"9": entry("0,1", "0")}, r"entry '9': 2 annotations \('0,1'\) of 3 annotators"),
        ({"9": {"text": "x"}}, "entry '9': annotations are None"),
        (
            {"9": entry({"Ann1": "0"}, "0")},
            'entry \'9\': annotations are {"Ann1": "0"}; expected "0,1,..." in the order of annotators',
        ),
        ({"9": entry("0,1,0", [1])}, r"entry '9': hard_label is \[1\]"),
        ({"9": 3}, "entry '9': 3"),
        ([], r"\[\]; expected {id:"),
        ({}, "{}; expected {id:"),
    ],
)
def test_bad_entries(put, content, message):
    with pytest.raises(BadInput, match=message):
        read("lewidi2023", put("X_train.json", content))


def test_a_folder_without_any(tmp_path):
    with pytest.raises(BadInput, match=r"no LeWiDi files; expected NAME_train.json"):
        read("lewidi2023", tmp_path)


def test_written_and_read_again(put, tmp_path):
    raw = read("long", put("a.csv", "task,worker,label\nt1,a,0\nt1,b,1\nt2,a,0\n"))
    raw = replace(raw, truth=pl.DataFrame({"task": ["t1"], "label": ["1"]}))
    [file] = module("lewidi2023").write(raw, tmp_path / "X_train.json")
    again = read("lewidi2023", file)
    assert triples(again.rows) == triples(raw.rows) and again.truth.rows() == [("t1", "1")]
    assert json.loads(file.read_text())["t1"]["soft_label"] == {"0": 0.5, "1": 0.5}
    comma = read("long", put("b.csv", 'task,worker,label\nt1,a,"0,1"\n'))
    with pytest.raises(BadCall, match=r"'0,1' would be cut"):
        module("lewidi2023").write(comma, tmp_path / "Y_train.json")
