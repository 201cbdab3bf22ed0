from __future__ import annotations

import pytest
from reading import module, read, triples
from samples import ZOO_HEAD, ZOONIVERSE, zoo, zoo_row

from manyvoices.core.errors import BadInput


def test_tasks_of_the_workflow_are_questions(put):
    path = put("a.csv", ZOONIVERSE)
    assert module("zooniverse").questions(path) == ["T0", "T1"]
    raw = read("zooniverse", path, question="T0")
    assert triples(raw.rows) == [("s1", "9", "Yes"), ("s1", "not-logged-in-ab12", "No")]
    assert raw.rows["seconds"].to_list() == ["30", "30"] and raw.truth.rows() == [("s1", "Yes")]
    assert raw.dropped == {"drawings and marks": 1, "gold standard (now the truth)": 1}
    assert read("zooniverse", path, question="T1").rows["label"].to_list() == ["Cat", "Dog", None]


def test_a_gold_standard_counts_once_a_question(put):
    said = zoo(("T0", "x"), ("T1", "y"))
    rows = [zoo_row(1, "a", 1, "1.1", said), zoo_row(2, "b", 2, "1.1", said, "true")]
    path = put("a.csv", ZOO_HEAD + "".join(rows))
    for question in ("T0", "T1"):
        assert read("zooniverse", path, question=question).dropped == {"gold standard (now the truth)": 1}


def test_versions_are_said_and_workflows_are_apart(put):
    rows = [zoo_row(1, "a", 1, "1.1", zoo(("T0", "x"))), zoo_row(2, "b", 2, "2.0", zoo(("T0", "y")))]
    raw = read("zooniverse", put("a.csv", ZOO_HEAD + "".join(rows)))
    assert raw.notes == ["2 versions of the workflow: 55 1.1 (1), 55 2.0 (1); a question may have changed between them"]
    assert raw.rows["workflow_version"].to_list() == ["1.1", "2.0"]
    other = rows[1].replace(",55,", ",77,")
    assert module("zooniverse").questions(put("a.csv", ZOO_HEAD + rows[0] + other)) == ["55/T0", "77/T0"]


def test_names_alone_become_numbers(put):
    rows = [
        zoo_row(n, name, "", "1.1", zoo(("T0", "x"))) for n, name in enumerate(("zoe", "ada_lace", "not-logged-in-9"))
    ]
    raw = read("zooniverse", put("a.csv", ZOO_HEAD + "".join(rows)))
    assert raw.rows["worker"].to_list() == ["user_2", "user_1", "not-logged-in-9"]


def test_pages_with_several_tasks_and_surveys(put):
    page = zoo(("T9", [{"task": "T1", "value": "a"}, {"task": "T2", "value": [{"choice": "LION", "answers": {}}]}]))
    path = put("a.csv", ZOO_HEAD + zoo_row(1, "a", 1, "1.1", page, times=("2024-01-01 00:00:00 UTC", "bad")))
    assert module("zooniverse").questions(path) == ["T1", "T2"]
    raw = read("zooniverse", path, question="T2")
    assert triples(raw.rows) == [("s1", "1", "LION")] and "seconds" not in raw.rows.columns


def test_broken_cells(put):
    with pytest.raises(BadInput, match=r"a.csv, line 2: broken JSON"):
        read("zooniverse", put("a.csv", ZOO_HEAD + zoo_row(1, "a", 1, "1.1", "[{")))
    with pytest.raises(BadInput, match=r"a.csv, line 2: the annotations are"):
        read("zooniverse", put("a.csv", ZOO_HEAD + zoo_row(1, "a", 1, "1.1", "[3]")))


def test_older_exports_and_what_they_lack(put):
    rows = [row.rsplit(",", 1)[0] + "\n" for row in ZOONIVERSE.splitlines()]
    path = put("a.csv", "".join(rows).replace(',true,,"', ',1,,"'))
    assert module("zooniverse").recognise(path) > 0.9
    raw = read("zooniverse", path, question="T0")
    assert triples(raw.rows) == [("s1", "9", "Yes"), ("s1", "not-logged-in-ab12", "No")]
    assert raw.truth.rows() == [("s1", "Yes")] and raw.rows["when"].to_list() == ["2024-01-01"] * 2


def test_menus_and_times(put):
    menu = zoo(("T1", [{"value": "a1b2", "option": True, "label": "Oak"}]), ("T2", [{"value": "c3", "option": True}]))
    row = zoo_row(1, "a", 1, "1.1", menu).replace(",2024-01-01,", ",2024-01-01 10:44:42 UTC,")
    path = put("a.csv", ZOO_HEAD + row)
    assert read("zooniverse", path, question="T1").rows["label"].to_list() == ["Oak"]
    raw = read("zooniverse", path, question="T2")
    assert raw.rows["label"].to_list() == ["c3"] and raw.rows["when"].to_list() == ["2024-01-01T10:44:42+00:00"]
