from __future__ import annotations

import copy
import csv
import io
import json

import pytest
from reading import module, read, surest, triples
from samples import LABELSTUDIO, MIN, MIN_CSV, choice, person

import manyvoices as mv
from manyvoices.core.errors import BadCall, BadInput, Unknown


def task(*annotations, **more):
    return [{"id": 1, "data": {"text": "x"}, "annotations": list(annotations)} | more]


def said(worker, *results, **more):
    return {"id": 1, "completed_by": worker, "result": list(results)} | more


def test_cancelled_and_ground_truth_are_no_answers(put):
    raw = read("labelstudio", put("a.json", LABELSTUDIO), question="mood")
    assert triples(raw.rows) == [("11", "2", "sad"), ("11", "1", "glad"), ("12", "1", None)]
    assert raw.dropped == {"cancelled annotations": 1, "ground truth (now the truth)": 1}
    assert raw.truth.rows() == [("11", "glad")] and raw.rows["seconds"].to_list() == [None, "4.25", None]
    assert raw.rows["when"].to_list() == ["2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z", "2024-01-04T00:00:00Z"]
    assert raw.notes == ["predictions stand at 1 of the tasks and are no answers; --predictions reads them"]
    assert raw.items.to_dicts()[0] == {"task": "11", "text": "good", "image_url": "/data/1.png"}


def test_several_from_names_are_questions(put):
    path = put("a.json", LABELSTUDIO)
    with pytest.raises(BadCall, match=r"several questions: mood, stars; choose one with --question"):
        read("labelstudio", path)
    with pytest.raises(Unknown, match=r"no question called 'moot'. Did you mean 'mood'"):
        read("labelstudio", path, question="moot")
    assert module("labelstudio").questions(path) == ["mood", "stars"]
    assert read("labelstudio", path, question="stars").scale == "ordinal"


def test_predictions_are_workers_if_asked_for(put):
    raw = read("labelstudio", put("a.json", LABELSTUDIO), question="mood", predictions=True)
    assert raw.rows.filter(raw.rows["worker"] == "model:v1").select("task", "label", "score").rows() == [
        ("11", "sad", "0.9")
    ]
    with pytest.raises(BadCall, match=r"JSON-MIN and CSV hold no predictions"):
        read("labelstudio", put("b.json", MIN), predictions=True)


def test_addresses_only_if_asked_for(put):
    path = put("a.json", LABELSTUDIO)
    assert set(read("labelstudio", path, question="mood", worker="email").rows["worker"]) == {"u1@x.org", "u2@x.org"}
    with pytest.raises(BadCall, match=r"expected id or email"):
        read("labelstudio", path, worker="name")
    with pytest.raises(BadCall, match=r"the export has no addresses"):
        read("labelstudio", put("b.json", task(said(3, choice("q", "a")))), worker="email")
    raw = read("labelstudio", put("c.csv", MIN_CSV))
    assert set(raw.rows["worker"]) == {"mail_1", "mail_2"} and "not kept" in raw.notes[0]
    assert set(read("labelstudio", put("c.csv", MIN_CSV), worker="email").rows["worker"]) == {"a@x.org", "b@x.org"}


def test_choices_are_lists(put):
    path = put("a.json", task(said(1, choice("q", "a", "b")), said(2, choice("q", "a"))))
    raw = read("labelstudio", path)
    assert triples(raw.rows) == [("1", "1", "a"), ("1", "1", "b"), ("1", "2", "a")] and raw.scale == "multilabel"
    assert [raw.where(row) for row in range(3)] == [(path, 1)] * 3
    binary = read("labelstudio", path, multilabel="binary", question="b")
    assert triples(binary.rows) == [("1", "1", "yes"), ("1", "2", "no")] and binary.classes == ["no", "yes"]
    with pytest.raises(BadCall, match=r"several questions: a, b"):
        read("labelstudio", path, multilabel="binary")
    single = put("b.json", task(said(1, choice("q", "a"))))
    with pytest.raises(BadCall, match=r"--multilabel binary is for several"):
        read("labelstudio", single, multilabel="binary", question="a")


def test_binary_among_several_questions(put):
    path = put("a.json", task(said(1, choice("q", "a", "b"), choice("p", "z")), said(2, choice("q", "a"))))
    with pytest.raises(BadCall, match=r"--question 'NAME: LABEL'"):
        read("labelstudio", path, multilabel="binary", question="q")
    assert triples(read("labelstudio", path, multilabel="binary", question="q: b").rows)[0] == ("1", "1", "yes")


def test_numbers_texts_and_regions(put):
    number = {"from_name": "n", "type": "number", "value": {"number": 2.50}}
    text = {"from_name": "t", "type": "textarea", "value": {"text": ["so", "it is"]}}
    region = {"from_name": "b", "type": "labels", "value": {"start": 0, "end": 3, "labels": ["PER"]}}
    path = put("a.json", task(said(1, number, text, region), said(2, region)))
    raw = read("labelstudio", path, question="n")
    assert triples(raw.rows) == [("1", "1", "2.5")] and raw.scale == "interval"
    assert raw.dropped == {"annotations of regions only": 1}
    assert read("labelstudio", path, question="t").rows["label"].to_list() == ["so", "it is"]
    pair = {"from_name": "p", "type": "pairwise", "value": {"selected": "left"}}
    tree = {"from_name": "x", "type": "taxonomy", "value": {"taxonomy": [["a", "b"], ["c"]]}}
    more = put("c.json", task(said(1, pair, tree)))
    assert read("labelstudio", more, question="p").rows["label"].to_list() == ["left"]
    assert read("labelstudio", more, question="x").rows["label"].to_list() == ["a / b", "c"]
    with pytest.raises(BadInput, match=r"no answers in it \(1 annotations of regions only\)"):
        read("labelstudio", put("b.json", task(said(2, region))))


def test_twice_by_one_person_in_the_order_of_time(put):
    both = [said(1, choice("q", "new"), created_at="2024-02"), said(1, choice("q", "old"), created_at="2024-01")]
    assert triples(read("labelstudio", put("a.json", task(*both))).rows) == [("1", "1", "old"), ("1", "1", "new")]
    assert triples(read("labelstudio", put("b.json", MIN)).rows)[0][0] == "2"  # JSON-MIN has the newest first


def test_a_scalar_where_a_list_of_one_collapsed(put):
    raw = read("labelstudio", put("a.json", MIN))
    assert sorted(triples(raw.rows)) == [("1", "7", "glad"), ("1", "8", "sad"), ("2", "7", "angry"), ("2", "7", "sad")]
    assert raw.items.sort("task").rows() == [("1", "good"), ("2", "bad")] and set(raw.rows["seconds"]) == {"1.5"}


WHOLE = {
    "mood": ["glad", {"choices": ["glad", "sad"]}],
    "stars": [[{"rating": 4}], [{"rating": 2}]],
    "size": [[{"number": 2.5}], [{"number": 10}]],
    "why": ["so", {"text": ["so", "it is"]}],
    "kind": [[{"taxonomy": [["a", "b"]]}], [{"taxonomy": [["a", "b"], ["c"]]}]],
    "best": [[{"selected": "left"}], [{"selected": "right"}]],
    "box": [[{"x": x, "y": 2, "width": 3, "height": 4, "rectanglelabels": ["car"]}] for x in (1, 5)],
}  # each control as Label Studio's own converter spells it in JSON-MIN; in a CSV what is no text is JSON


@pytest.mark.parametrize("form", ["json", "csv"])
def test_every_control_in_plain_tables(put, form):
    about = [{"annotator": 7 + n, "annotation_id": n, "created_at": f"2024-0{n + 1}", "lead_time": 1} for n in range(3)]
    said = [{name: values[n] for name, values in WHOLE.items()} for n in range(2)]
    first = [{"text": "hi", "id": 5} | {"box": said[0]["box"]} | about[2]]  # nothing but a region
    rows = first + [{"text": "hi", "id": 5} | said[n] | about[n] for n in range(2)]
    if form == "csv":
        names = sorted({name for row in rows for name in row})
        cells = [
            ["" if (v := row.get(n)) is None else v if isinstance(v, str) else json.dumps(v) for n in names]
            for row in rows
        ]
        file = io.StringIO()
        csv.writer(file).writerows([names, *cells])
        rows = file.getvalue()
    path = put(f"a.{form}", rows)
    assert module("labelstudio").questions(path) == ["best", "kind", "mood", "size", "stars", "why"]
    found = {name: read("labelstudio", path, question=name) for name in WHOLE if name != "box"}
    assert {name: [(w, label) for _, w, label in triples(raw.rows)] for name, raw in found.items()} == {
        "mood": [("7", "glad"), ("8", "glad"), ("8", "sad")],
        "stars": [("7", "4"), ("8", "2")],
        "size": [("7", "2.5"), ("8", "10")],
        "why": [("7", "so"), ("8", "so"), ("8", "it is")],
        "kind": [("7", "a / b"), ("8", "a / b"), ("8", "c")],
        "best": [("7", "left"), ("8", "right")],
    }
    assert all(raw.dropped == {"annotations of regions only": 1} for raw in found.values())
    assert found["size"].scale == "interval" and found["stars"].scale == "nominal"  # two values have no order yet


def test_records_that_lack_a_question_or_a_time(put):
    """JSON-MIN: a first task without any answer says neither where questions stand nor when it was made."""
    rest = {"annotation_id": 1, "updated_at": "", "lead_time": 1}
    none = {"text": "b", "id": 2, "annotator": None, "created_at": None, "annotation_id": None}
    again = [
        {"text": "a", "id": 1, "q": label, "annotator": 7, "created_at": time} | rest
        for label, time in (("new", "2024-02"), ("old", "2024-01"))
    ]
    raw = read("labelstudio", put("a.json", [none, *again]))
    assert triples(raw.rows) == [("1", "7", "old"), ("1", "7", "new")]
    assert raw.about["question"] == "q" and raw.dropped == {} and raw.tasks == ["2"]


def test_columns_by_the_alphabet(put):
    raw = read("labelstudio", put("a.csv", MIN_CSV))
    assert raw.about["question"] == "mood" and raw.items.columns == ["task", "text"]
    assert read("labelstudio", put("a.csv", MIN_CSV), question="text").rows["label"].to_list() == [
        "good",
        "good",
        "bad",
    ]


def test_the_history_is_no_question(put):
    head, *rows = MIN_CSV.splitlines()
    history = [row + f',"[{{""id"": {n}}}]"' for n, row in enumerate(rows)]
    path = put("a.csv", "\n".join([head + ",history", *history]))
    assert module("labelstudio").questions(path) == [] and read("labelstudio", path).about["question"] == "mood"


def test_predictions_alone_and_questions_nobody_answered(put):
    model = [{"model_version": "v1", "result": [choice("q", "a"), choice("p", "b")]}]
    path = put("a.json", task(predictions=model))
    with pytest.raises(BadInput, match=r"predictions, but nobody's answers.*or --predictions"):
        read("labelstudio", path, question="q")
    assert module("labelstudio").questions(path, predictions=True) == ["p", "q"]
    assert triples(read("labelstudio", path, question="q", predictions=True).rows) == [("1", "model:v1", "a")]
    left = put("b.json", task(said(1, choice("q", "a")), said(2, choice("p", "b"), was_cancelled=True)))
    assert module("labelstudio").questions(left) == []


def test_no_id_no_worker(put):
    lacking = task(said(None, choice("q", "a")), said(1, choice("q", "b")))
    assert read("labelstudio", put("a.json", lacking)).dropped == {"no worker": 1}
    lacking[0]["id"] = None
    with pytest.raises(BadInput, match=r"no answers in it"):
        read("labelstudio", put("a.json", lacking))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"id": [1], "data": {}}], "the id of record 1 is .*expected text or a number"),
        ([{"id": 1}], "no record has data or an annotator"),
        ([{"id": 1, "data": {}, "annotations": {"a": 1}}], "annotations of record 1 are"),
        ([{"id": 1, "data": {}, "annotations": []}], "no answers in it"),
        ([3], "record 1 is"),
    ],
)
def test_bad_records(put, content, message):
    with pytest.raises(BadInput, match=message):
        read("labelstudio", put("a.json", content))


def test_predictions_to_import(put, tmp_path):
    raw = read("labelstudio", put("a.json", LABELSTUDIO), question="mood")
    [file] = module("labelstudio").write(raw, tmp_path / "out.json")
    written = json.loads(file.read_text())
    assert written[0]["id"] == 11 and written[0]["data"]["text"] == "good"
    assert written[0]["predictions"][1] == {
        "model_version": "2",
        "result": [{"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": ["sad"]}}],
    }
    again = read("labelstudio", file, predictions=True)
    assert triples(again.rows) == [("11", "model:1", "glad"), ("11", "model:2", "sad")]


def test_labels_with_their_probability_become_predictions(put, tmp_path):
    labels = read("long", put("labels.csv", "task,label,prob,n\n7,a,0.75,3\nx,b,1,2\n"))
    written = json.loads(module("labelstudio").write(labels, tmp_path / "out.json")[0].read_text())
    assert [(t["id"], t["predictions"][0]["model_version"], t["predictions"][0]["score"]) for t in written] == [
        (7, "manyvoices", 0.75),
        ("x", "manyvoices", 1.0),
    ]


def test_stars_become_predictions_of_stars(put, tmp_path):
    """Label Studio refuses choices where its configuration has a rating."""
    stars = [{"type": "rating", "from_name": "stars", "value": {"rating": n}} for n in (1, 3, 5)]
    annotations = [{"completed_by": n, "result": [one]} for n, one in enumerate(stars)]
    raw = read("labelstudio", put("a.json", [{"id": 1, "data": {"text": "t"}, "annotations": annotations}]))
    [file] = module("labelstudio").write(raw, tmp_path / "out.json")
    said = json.loads(file.read_text())[0]["predictions"][1]["result"][0]
    assert (said["from_name"], said["type"], said["value"]) == ("stars", "rating", {"rating": 3})
    assert read("labelstudio", file, predictions=True).scale == "ordinal"


def test_a_long_first_task_is_recognised(put):
    long = copy.deepcopy(LABELSTUDIO)
    long[0]["data"], long[0]["annotations"] = (
        {},
        [*long[0]["annotations"][:1], said(person(9), choice("mood", "y" * 400_000))],
    )
    assert module("labelstudio").recognise(put("b.json", long)) == 0.9


def test_repeats_are_of_answers_and_not_of_their_labels(put):
    old, new = (
        said(1, choice("q", *labels), created_at=time)
        for labels, time in ((("a", "b"), "2024-01"), (("b", "c"), "2024-02"))
    )
    path = put("a.json", task(new, old, said(2, choice("q", "a", "d"), created_at="2024-03")))
    kept = {rule: mv.read(path, repeats=rule) for rule in ("all", "first", "last")}
    labels = {rule: [data.answers.classes[k] for k in data.answers.rows()[2]] for rule, data in kept.items()}
    assert labels == {"all": list("abbcad"), "first": list("abad"), "last": list("bcad")}
    assert kept["first"].notes.columns == ["when"] and kept["first"].notes["when"].to_list() == ["2024-01", "2024-01", "2024-03", "2024-03"]
    with pytest.raises(BadInput, match=r"a.json, line 1: worker '1' answers task '1' again"):
        mv.read(path, repeats="error")
    once = put("b.json", task(old, said(2, choice("q", "a", "d"))))
    assert mv.read(once, repeats="error").answers.n == 4


def test_a_task_a_line(put):
    path = put("a.jsonl", "".join(json.dumps(one) + "\n" for one in LABELSTUDIO))
    assert surest(path) == "labelstudio" and module("labelstudio").questions(path) == ["mood", "stars"]
    assert triples(read("labelstudio", path, question="stars").rows)[0] == ("11", "2", "5")


@pytest.mark.parametrize(
    "rows",
    [
        ["1,hi,glad,7", "1,hi,sad,8", "2,yo,sad,7"],  # somebody disagrees
        ["1,hi,glad,7", "1,hi,glad,8", "2,yo,sad,7", "2,yo,sad,8", "3,no,sad,7"],  # nobody does
        ["1,hi,glad,7"],
    ],
)
def test_data_between_the_id_and_the_answers(put, rows):
    head = "id,text,mood,annotator,annotation_id,created_at,updated_at,lead_time\n"
    raw = read("labelstudio", put("a.csv", head + "".join(f"{row},{n},2024,2024,1.5\n" for n, row in enumerate(rows))))
    assert raw.about["question"] == "mood" and raw.items.columns == ["task", "text"]
    assert sorted(triples(raw.rows)) == [(row.split(",")[0], row.split(",")[3], row.split(",")[2]) for row in rows]


def test_each_label_is_a_question_among_all(put):
    path = put("a.json", task(said(1, choice("q", "a", "b")), said(2, choice("q", "a"))))
    assert module("labelstudio").questions(path, multilabel="binary") == ["a", "b"]
    both = put("b.json", task(said(1, choice("q", "a", "b"), choice("p", "z")), said(2, choice("q", "a"))))
    assert module("labelstudio").questions(both, multilabel="binary") == ["q: a", "q: b"]
    for question in ("q: a", "q: b"):
        assert read("labelstudio", both, multilabel="binary", question=question).classes == ["no", "yes"]
