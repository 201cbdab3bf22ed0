from __future__ import annotations

import pytest
from reading import module, read, triples
from samples import MTURK, PROLIFIC, QUALTRICS, survey

from manyvoices.core.errors import BadCall, BadInput

LOOPS = survey(
    ["ResponseId", "1_Q3", "2_Q3", "1_Q4", "2_Q4", "Q9"],
    ["Response ID", "First: rude?", "Second: rude?", "First: fun?", "Second: fun?", "Any comments?"],
    ["_recordId", "1_QID3", "2_QID3", "1_QID4", "2_QID4", "QID9_TEXT"],
    "R_1,4,5,1,,so",
    "R_2,1,2,2,3,",
)


def test_three_header_rows_and_nothing_of_the_person(put):
    path = put("a.csv", QUALTRICS)
    raw = read("qualtrics", path)
    assert triples(raw.rows) == [("Q1", "P1", "yes"), ("Q2", "P1", "no"), ("Q1", "P2", "no"), ("Q2", "P2", None)]
    assert raw.items.rows() == [("Q1", 'Is "go away"\nrude?'), ("Q2", "Is this, too?")]
    assert raw.workers.rows() == [("P1", "61"), ("P2", "75")] and raw.dropped == {"survey previews": 1}
    assert raw.where(0) == (path, 5) and raw.where(3) == (path, 6)  # a header row has a line break in it


def test_loops_are_questions(put):
    path = put("a.csv", LOOPS)
    assert module("qualtrics").questions(path) == ["Q3", "Q4", "columns"]
    raw = read("qualtrics", path, question="Q3")
    assert triples(raw.rows) == [("1", "R_1", "4"), ("2", "R_1", "5"), ("1", "R_2", "1"), ("2", "R_2", "2")]
    assert raw.scale == "ordinal" and raw.items.rows()[0] == ("1", "First: rude?")
    assert triples(read("qualtrics", path, columns="Q9").rows) == [("Q9", "R_1", "so"), ("Q9", "R_2", None)]
    with pytest.raises(BadCall, match=r"no regular expression"):
        read("qualtrics", path, columns="(")


def test_prolific_beside_the_answers_becomes_the_workers(put):
    path = put("a.csv", QUALTRICS)
    put("prolific_demographic_export_1.csv", PROLIFIC)
    raw = read("qualtrics", path)
    people = {row["worker"]: row for row in raw.workers.to_dicts()}
    assert people["P1"]["Age"] == "31" and people["P2"]["Age"] is None and people["P1"]["Student status"] is None
    assert people["P1"]["duration"] == "61" and not {"Country of residence", "Completion code"} & set(
        raw.workers.columns
    )
    assert raw.notes[1:] == [
        "prolific_demographic_export_1.csv: attributes of 2 of 2 workers",
        "prolific_demographic_export_1.csv: 2 values expired at Prolific, missing here",
    ]


def test_prolific_beside_a_plain_table(put):
    put("prolific_export_1.csv", PROLIFIC)
    raw = read("long", put("answers.csv", "task,worker,label\n1,P1,x\n1,P7,y\n"))
    assert raw.notes[0] == "prolific_export_1.csv: attributes of 1 of 2 workers"
    assert read("native", put("answers.csv", "task,worker,label\n1,P1,x\n").parent).workers.height == 3
    put("workers.csv", "worker,age\nP1,30\n")
    assert read("native", put("answers.csv", "task,worker,label\n1,P1,x\n").parent).workers.rows() == [("P1", "30")]


def test_prolific_of_other_people_or_broken(put):
    path = put("a.csv", MTURK)
    put("prolific_export_1.csv", PROLIFIC)
    assert read("mturk", path, question="q1").workers is None
    put("prolific_export_1.csv", "x")
    assert "prolific_export_1.csv: not read as a table of workers" in read("mturk", path, question="q1").notes[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ResponseId,Q1\nResponse ID,Really?\nR_1,yes\n", "line 3: no import ids in the third row"),
        ("StartDate,Q1\nx,y\nz,w\n", "no column 'ResponseId'"),
        (survey(["ResponseId", "x"], ["a", "b"], ["_recordId", "x"], "R_1,3"), "no column is a question"),
        (survey(["ResponseId", "Q1"], ["a", "b"], ["_recordId", "QID1"]), "no answers in it"),
    ],
)
def test_bad_headers(put, content, message):
    with pytest.raises(BadInput, match=message):
        read("qualtrics", put("a.csv", content))


def test_the_time_of_a_page_is_the_time_of_its_answer(put):
    pages = survey(
        ["ResponseId", "1_Q3", "1_Q5_First Click", "1_Q5_Page Submit", "2_Q3", "2_Q5_Page Submit", "3_Q3", "3_Q5_Page Submit", "3_Q6_Page Submit"],
        ["Response ID", *(["Rude?"] * 8)],
        ["_recordId", "1_QID3", "1_QID5_FIRST_CLICK", "1_QID5_PAGE_SUBMIT", "2_QID3", "2_QID5_PAGE_SUBMIT", "3_QID3", "3_QID5_PAGE_SUBMIT", "3_QID6_PAGE_SUBMIT"],
        "R_1,4,0.5,7.25,5,,1,2,3",
    )
    raw = read("qualtrics", put("a.csv", pages))
    assert raw.rows.select("task", "label", "seconds").rows() == [("1", "4", "7.25"), ("2", "5", None), ("3", "1", None)]


@pytest.mark.parametrize(("name", "hidden"), [
    ("username", True), ("userName", True), ("Full name", True), ("e_mail", True), ("mail", True), ("worker_ip", True), ("lat", True),
    ("filename", False), ("platform", False), ("email_count", True), ("age", False), ("late", False), ("long", False)])
def test_columns_that_tell_who_or_where_somebody_is(name, hidden):
    from manyvoices.methods.read._people import private

    assert private(name) is hidden
