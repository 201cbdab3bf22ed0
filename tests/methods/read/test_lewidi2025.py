from __future__ import annotations

import pytest
from reading import module, read, scores, surest, triples

import manyvoices as mv
from manyvoices.core.errors import BadCall, BadInput
from manyvoices.inputs import unread
from manyvoices.methods.read.lewidi2025 import questions


def nli(annotators, annotations, explanations, split="dev"):
    return {
        "annotation task": "natural language inference",
        "text": {"context": "It rained.", "statement": "It was wet."},
        "number of annotators": 3,
        "annotators": annotators,
        "number of annotations": len(explanations),
        "annotations": annotations,
        "soft_label": {label: {"0": 0.5, "1": 0.5} for label in ("contradiction", "entailment", "neutral")},
        "split": split,
        "lang": "en",
        "other_info": {"explanations": explanations},
    }


NLI = {
    "49807": nli(
        "Ann1,Ann2,Ann2,Ann3",
        {"Ann1": "neutral", "Ann2": "entailment,neutral", "Ann3": "entailment"},
        ["a", "b", "c", "d"],
    ),
    "7": nli("Ann1,Ann2", {"Ann1": "contradiction", "Ann2": "neutral"}, ["e", "f"]),
}


def scale(labels, keys, text=None, **info):
    return {
        "annotation task": "t",
        "text": text or {"context": "c", "response": "r"},
        "annotators": ",".join(labels),
        "number of annotations": len(labels),
        "annotations": labels,
        "soft_label": dict.fromkeys(keys, 0.25),
        "split": "train",
        "lang": "en",
        "other_info": info,
    }


def test_several_labels_are_rows_with_their_own_explanations(put):
    path = put("VariErrNLI_dev.json", NLI)
    raw = read("lewidi2025", path)
    assert raw.rows.rows() == [
        ("49807", "Ann1", "neutral", "a"),
        ("49807", "Ann2", "entailment", "b"),
        ("49807", "Ann2", "neutral", "c"),
        ("49807", "Ann3", "entailment", "d"),
        ("7", "Ann1", "contradiction", "e"),
        ("7", "Ann2", "neutral", "f"),
    ]
    assert raw.rows.columns[3] == "explanation" and raw.where(4) == (path, 2)
    assert raw.classes == ["contradiction", "entailment", "neutral"] and raw.scale == "multilabel" and raw.truth is None
    assert raw.items.to_dicts()[0] == {
        "task": "49807",
        "premise": "It rained.",
        "hypothesis": "It was wet.",
        "lang": "en",
    }
    assert raw.splits.rows() == [("49807", "dev"), ("7", "dev")] and raw.about == {
        "name": "VariErrNLI",
        "question": "natural language inference",
    }
    assert scores(path) == {"lewidi2025": 0.95} and raw.notes == []


def test_several_labels_as_yes_or_no_to_one(put):
    path = put("VariErrNLI_dev.json", NLI)
    raw = read("lewidi2025", path, multilabel="binary", question="neutral")
    assert [row[1:] for row in raw.rows.rows()] == [
        ("Ann1", "yes", "a"),
        ("Ann2", "yes", "c"),
        ("Ann3", "no", None),
        ("Ann1", "no", None),
        ("Ann2", "yes", "f"),
    ]
    assert raw.classes == ["no", "yes"] and raw.scale == "nominal" and raw.about["question"] == "neutral"
    with pytest.raises(
        BadCall, match=r"several questions: contradiction, entailment, neutral; choose one with --question"
    ):
        read("lewidi2025", path, multilabel="binary")
    assert questions(path, multilabel="binary") == ["contradiction", "entailment", "neutral"] and questions(path) == []
    with pytest.raises(BadCall, match=r"expected rows or binary"):
        read("lewidi2025", path, multilabel="both")
    with pytest.raises(BadCall, match=r"--multilabel binary is for several"):
        read(
            "lewidi2025", put("CSC_dev.json", {"1": scale({"Ann1": "2"}, "123456")}), multilabel="binary", question="2"
        )


def test_invalid_metadata_become_workers_with_a_note(put):
    path = put("VariErrNLI_dev.json", NLI)
    put(
        "VariErrNLI_annotators_meta.json",
        '{\n\t"Ann1":{\n\t\t"Gender":"Female",\n\t\t"Age":"22",\n\t},\n\t"Ann2":{"Gender":"Male","Age":33.0},\n\t"Ann4":{}\n}',
    )
    raw = read("lewidi2025", path)
    assert raw.workers.rows() == [("Ann1", "Female", "22"), ("Ann2", "Male", "33.0"), ("Ann4", None, None)]
    assert raw.notes == [
        "VariErrNLI_annotators_meta.json: commas before closing brackets skipped",
        "VariErrNLI_annotators_meta.json: 1 of 3 annotators have no row",
    ]
    assert surest(path) == "lewidi2025" and surest(path.with_name("VariErrNLI_annotators_meta.json")) is None


def test_numbers_in_the_metadata_and_decimals_in_the_soft_label(put):
    path = put(
        "MP_train.json",
        {
            "2": scale(
                {"Ann0": "0", "Ann20": "1"}, ["0.0", "1.0"], {"post": "p", "reply": "r"}, source="reddit", level=1.0
            )
        },
    )
    put("MP_annotators_meta.json", {"0": {"Age": 19.0}, "20": {"Age": None}, "3": {"Age": 4}})
    raw = read("lewidi2025", path)
    assert raw.classes == ["0", "1"] and raw.scale == "nominal"
    assert raw.workers.rows() == [("Ann0", "19.0"), ("Ann20", None), ("Ann3", "4")]
    assert raw.items.to_dicts() == [
        {"task": "2", "text1": "p", "text2": "r", "lang": "en", "source": "reddit", "level": "1.0"}
    ]
    assert raw.notes == ["MP_annotators_meta.json: numbers there are Ann with the number in the answers"]


def test_what_prolific_no_longer_knows_is_missing_and_places_are_not_kept(put):
    path = put("MP_train.json", {"2": scale({"Ann0": "0", "Ann1": "1"}, ["0.0", "1.0"], {"post": "p", "reply": "r"})})
    put("MP_annotators_meta.json", {"0": {"Age": "DATA_EXPIRED", "Country of residence": "Peru"}, "1": {"Age": "30", "Country of residence": "Chad"}})
    raw = read("lewidi2025", path)
    assert raw.workers.to_dicts() == [{"worker": "Ann0", "Age": None}, {"worker": "Ann1", "Age": "30"}]
    assert raw.notes[-1] == "MP_annotators_meta.json: 1 value expired at Prolific, missing here"


def test_a_scale_has_all_its_steps(put):
    raw = read(
        "lewidi2025",
        put(
            "Paraphrase_train.json",
            {"5": scale({"Ann1": "-4", "Ann2": "3"}, map(str, range(-5, 6)), {"Question1": "a", "Question2": "b"})},
        ),
    )
    assert raw.classes == [str(n) for n in range(-5, 6)] and raw.scale == "ordinal"
    assert raw.items.columns == ["task", "question1", "question2", "lang"]


def test_answers_kept_back(put):
    path = put("VariErrNLI_test.json", {"1": nli("Ann1,Ann2,Ann2", {"Ann1": "", "Ann2": ""}, ["a", "b", "c"], "test")})
    raw = read("lewidi2025", path)
    assert triples(raw.rows) == [("1", "Ann1", None), ("1", "Ann2", None)] and raw.classes == [
        "contradiction",
        "entailment",
        "neutral",
    ]
    assert triples(read("lewidi2025", path, multilabel="binary", question="neutral").rows) == [
        ("1", "Ann1", None),
        ("1", "Ann2", None),
    ]
    assert surest(path) == "lewidi2025"


def test_a_comma_alone_means_nothing(put):
    raw = read("lewidi2025", put("X_dev.json", {"1": scale({"Ann1": "yes, sure", "Ann2": "no"}, ["yes, sure", "no"])}))
    assert raw.rows["label"].to_list() == ["yes, sure", "no"]


def test_a_folder_of_splits_with_one_table_of_people(put, tmp_path):
    for split, id in (("train", "10"), ("dev", "11"), ("test", "12")):
        put(f"CSC_{split}.json", {id: scale({"Ann1": "2", "Ann2": "6"}, "123456")})
    put("CSC_test_clear.json", {"12": scale({"Ann1": "", "Ann2": ""}, "123456")})
    put("CSC_annotators_meta.json", {"Ann1": {"Age": "5"}, "Ann2": {"Age": "6"}})
    raw = read("lewidi2025", tmp_path)
    assert (
        raw.rows["task"].unique(maintain_order=True).to_list() == ["10", "11", "12"]
        and raw.workers.height == 2
        and raw.notes == []
    )
    assert scores(tmp_path) == {"lewidi2025": 0.9}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"9": scale({"Ann1": ["a"]}, "ab")}, r"entry '9': Ann1 answers \[\"a\"\]"),
        ({"9": scale({}, "ab") | {"annotations": "0,1"}}, "entry '9': annotations are '0,1'"),
        ([1], r"\[1\]; expected {id:"),
    ],
)
def test_bad_entries(put, content, message):
    with pytest.raises(BadInput, match=message):
        read("lewidi2025", put("X_train.json", content))


def test_bad_metadata(put):
    path = put("X_train.json", {"9": scale({"Ann1": "a"}, "ab")})
    put("X_annotators_meta.json", '{"Ann1": {"Age": [1]}}')
    with pytest.raises(BadInput, match=r"X_annotators_meta.json: an attribute is \[1\]"):
        read("lewidi2025", path)
    put("X_annotators_meta.json", '{"Ann1": {"Age": 1},\n"Ann2": }')
    with pytest.raises(BadInput, match=r"X_annotators_meta.json, line 2: broken JSON"):
        read("lewidi2025", path)


def test_several_labels_are_no_repeats(put):
    path = put("VariErrNLI_dev.json", NLI)
    assert mv.read(path, repeats="error").answers.n == mv.read(path, repeats="last").answers.n == mv.read(path).answers.n


def test_submissions_from_answers(put, tmp_path):
    raw = unread(mv.read(put("MP_test.json", {"2": scale({"Ann10": "0", "Ann2": "1", "Ann3": "1"}, ["0", "1"]), "11": scale({"Ann1": "0"}, ["0", "1"])})))
    assert lines_of(raw, tmp_path / "MP_test_soft.tsv") == ["2\t[0.3333333333, 0.6666666667]", "11\t[1, 0]"]
    assert lines_of(raw, tmp_path / "MP_test_pe.tsv") == ["2\t[1, 1, 0]", "11\t[0]"]
    several = unread(mv.read(put("VariErrNLI_dev.json", NLI)))
    assert lines_of(several, tmp_path / "VariErrNLI_dev_soft.tsv") == [
        "7\t[[0.5, 0.5], [1, 0], [0.5, 0.5]]",
        "49807\t[[1, 0], [0.3333333333, 0.6666666667], [0.3333333333, 0.6666666667]]",
    ]
    assert lines_of(several, tmp_path / "x_pe.tsv")[1] == "49807\t[[0, 0, 0], [0, 1, 1], [1, 1, 0]]"
    with pytest.raises(BadCall, match=r"x.tsv: the names of submissions to lewidi2025 end in _soft.tsv or _pe.tsv"):
        lines_of(raw, tmp_path / "x.tsv")


@pytest.mark.parametrize("entries", [NLI, {"2": scale({"Ann10": "0", "Ann2": "1"}, ["0", "1"], "one text")}])
def test_written_and_read_again(put, tmp_path, entries):
    raw = unread(mv.read(put("X_dev.json", entries)))
    [file] = module("lewidi2025").write(raw, tmp_path / "Y_dev.json")
    again = unread(mv.read(file))
    for table in ("rows", "items", "splits"):
        before, after = getattr(raw, table), getattr(again, table)
        columns = [name for name in before.columns if name != "explanation"]
        assert before.select(columns).sort(columns).rows() == after.select(columns).sort(columns).rows(), table
    assert (again.classes, again.scale) == (raw.classes, raw.scale) and surest(file) == "lewidi2025"


def test_submissions_from_predictions(put, tmp_path):
    soft = unread(mv.read(put("labels.csv", "task,label,prob,n,p:0,p:1\n7,1,0.75,3,0.25,0.75\n11,0,1,2,1.0,0.0\n")))
    assert lines_of(soft, tmp_path / "a_soft.tsv") == ["7\t[0.25, 0.75]", "11\t[1, 0]"]
    assert lines_of(soft, tmp_path / "a_results.tsv", "lewidi2023") == ["1\t0.25\t0.75", "0\t1\t0"]
    each = unread(mv.read(put("predictions.csv", "task,split,worker,label,prob\n7,test,w2,b,0.6\n7,test,w10,a,0.6\n")))
    assert lines_of(each, tmp_path / "a_pe.tsv") == ['7\t["b", "a"]']
    with pytest.raises(BadCall, match=r"lewidi2025 needs to know who gave an answer"):
        lines_of(soft, tmp_path / "a_pe.tsv")


def lines_of(raw, out, edition="lewidi2025"):
    [file] = module(edition).write(raw, out)
    return file.read_text().splitlines()
