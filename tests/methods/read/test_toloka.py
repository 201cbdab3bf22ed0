from __future__ import annotations

import pytest
from reading import module, read, triples
from samples import TOLOKA

from manyvoices.core.errors import BadInput


def test_without_task_ids_inputs_name_the_tasks(put):
    path = put("a.tsv", TOLOKA)
    raw = read("toloka", path, question="result")
    assert triples(raw.rows) == [("a.png | 1", "w1", "cat"), ("b.png | 1", "w1", "dog")]
    assert raw.rows["seconds"].to_list() == ["7.5", None] and raw.where(1) == (path, 4)
    assert raw.notes[1] == "no column ASSIGNMENT:task_id: tasks are called by their inputs"
    assert module("toloka").questions(path) == ["result", "sure"]


def test_golden_is_the_truth_and_blank_rows_separate_suites(put):
    raw = read("toloka", put("a.tsv", TOLOKA), question="result")
    assert raw.truth.rows() == [("a.png | 1", "cat")] and raw.dropped == {"rejected assignments": 1}
    assert raw.notes[0] == "a.tsv: 2 empty lines skipped"
    assert read("toloka", put("a.tsv", TOLOKA), question="sure").truth is None


def test_task_ids_if_there_are_any(put):
    head = "INPUT:n\tOUTPUT:r\tASSIGNMENT:task_id\tASSIGNMENT:worker_id\tASSIGNMENT:status\n"
    path = put("a.tsv", head + '1\t["a","b"]\tT7\tw1\tAPPROVED\n1\ta\tT7\tw2\tSKIPPED\n')
    raw = read("toloka", path)
    assert triples(raw.rows) == [("T7", "w1", "a"), ("T7", "w1", "b")] and raw.dropped == {"skipped assignments": 1}


def test_control_tasks_that_contradict_each_other(put):
    head = "INPUT:n\tOUTPUT:r\tGOLDEN:r\tASSIGNMENT:worker_id\n"
    raw = read("toloka", put("a.tsv", head + "1\ta\ta\tw1\n1\ta\tb\tw2\n2\tb\tb\tw2\n"))
    assert raw.truth.rows() == [("2", "b")] and "1 control tasks have several right answers" in raw.notes[1]


def test_no_workers(put):
    with pytest.raises(BadInput, match=r"no column 'ASSIGNMENT:worker_id'"):
        read("toloka", put("a.tsv", "INPUT:n\tOUTPUT:r\n1\ta\n"))


def test_the_time_of_a_suite_is_shared_by_its_tasks(put):
    times = "2024-01-01T00:00:00.000\t2024-01-01T00:00:30.000"
    rows = [("1", "A", times), ("2", "A", times), ("3", "A", times), ("4", "B", times), ("5", "C", "\t")]
    head = "INPUT:n\tOUTPUT:r\tASSIGNMENT:worker_id\tASSIGNMENT:started\tASSIGNMENT:submitted"
    lines = [f"{n}\tx\tw1\t{time}\t{suite}" for n, suite, time in rows]
    raw = read("toloka", put("a.tsv", "\n".join([f"{head}\tASSIGNMENT:assignment_id", *lines]) + "\n"))
    assert raw.rows["seconds"].to_list() == ["10", "10", "10", "30", None]
    assert raw.rows["when"].to_list() == ["2024-01-01T00:00:30.000"] * 4 + [None]
    bare = "\n".join([head, *(line.rpartition("\t")[0] for line in lines)]) + "\n"
    assert read("toloka", put("b.tsv", bare)).rows["seconds"].to_list() == ["7.5"] * 4 + [None]


def test_golden_lists_of_one_and_of_many(put):
    head = "INPUT:n\tOUTPUT:r\tGOLDEN:r\tASSIGNMENT:worker_id\n"
    raw = read("toloka", put("a.tsv", head + '1\t["a"]\t["a"]\tw1\n2\t["a"]\t["a","b"]\tw1\n'))
    assert raw.truth.rows() == [("1", "a")] and "1 control tasks want several labels at once" in raw.notes[1]


def test_a_pool_without_assignments(put):
    with pytest.raises(BadInput, match=r"a.tsv: no answers in it"):
        read("toloka", put("a.tsv", TOLOKA.splitlines()[0] + "\n"))


def test_a_line_without_inputs_is_about_no_task(put):
    head = "INPUT:n\tINPUT:m\tOUTPUT:r\tASSIGNMENT:worker_id\n"
    raw = read("toloka", put("a.tsv", head + "1\t\ta\tw1\n\t\tb\tw1\n"))
    assert triples(raw.rows) == [("1 | ", "w1", "a")] and raw.dropped == {"no task": 1}
