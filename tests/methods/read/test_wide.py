from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import read, scores, surest, triples

from manyvoices.core.dataset import Raw
from manyvoices.core.errors import BadCall, BadInput
from manyvoices.methods.read.wide import write

TABLE = "task,anna,ben,carl\n007,cat,dog,\n7,dog,,-1\nempty,,,\n"


def test_matrix(put):
    raw = read("wide", put("a.csv", TABLE))
    assert triples(raw.rows) == [
        ("007", "anna", "cat"),
        ("007", "ben", "dog"),
        ("7", "anna", "dog"),
        ("7", "carl", "-1"),
    ]
    assert raw.tasks == ["empty"] and raw.worker_ids == [] and raw.dropped == {} and raw.truth is None
    assert [raw.where(row)[1] for row in range(4)] == [2, 2, 3, 3]


def test_workers_keep_their_spaces_and_those_without_answers_stay(put):
    raw = read("wide", put("a.csv", "id\t w 1\tw,2\tidle\nt1\ta\tb\t\nt2\tb\ta\t\n"))
    assert raw.rows["worker"].to_list() == [" w 1", "w,2"] * 2 and raw.worker_ids == ["idle"]


def test_nameless_rows_and_columns_are_dropped_and_counted(put):
    raw = read("wide", put("a.csv", "task,,b\nt1,a,b\n,c,d\nt2,e,\n"))
    assert triples(raw.rows) == [("t1", "b", "b")]
    assert raw.dropped == {"no task": 2, "no worker": 2} and raw.tasks == ["t2"]


def test_a_task_in_two_rows_has_two_answers_of_a_worker(put):
    assert triples(read("wide", put("a.csv", "t,a,b\nx,1,2\nx,3,\n")).rows) == [
        ("x", "a", "1"),
        ("x", "b", "2"),
        ("x", "a", "3"),
    ]


@pytest.mark.parametrize(
    "table", [TABLE, "\t1\t2\n1\t0\t1\n2\t1\t1\n3\t\t0\n", "item;r1;r2;r3\na;3;4;5\nb;4;4;\nc;5;3;3\n"]
)
def test_recognised_as_wide(put, table):
    assert surest(put("a.csv", table)) == "wide"


@pytest.mark.parametrize(
    "table",
    [
        "task,worker,label\n1,a,x\n2,b,y\n",  # long
        "id,age,country\n1,33,de\n2,41,fr\n",  # people
        "task,text,source\n1,what a day,web\n2,what a night,web\n",  # items
        "task,cat,dog\n1,30,21\n2,12,39\n3,50,1\n",  # votes a class
        "task,w1,w2\n1,a,a\n1,b,b\n",  # the key is no key
        "t,w\n1,a\n2,b\n",
    ],
)  # one worker only
def test_not_recognised_as_wide(put, table):
    assert "wide" not in scores(put("a.csv", table))


def test_nested_answers_are_an_error(put):
    with pytest.raises(BadInput, match=r"worker 'b' answers with a list"):
        read("wide", put("a.jsonl", '{"task": 1, "a": "x", "b": ["x", "y"]}\n'))


ids = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)


@settings(deadline=None)
@given(
    st.dictionaries(st.tuples(ids, ids), ids, min_size=1, max_size=8),
    st.sampled_from([".csv", ".tsv.gz", ".jsonl", ".parquet"]),
)
def test_any_text_comes_back_as_it_went_in(said, suffix):
    rows = [(task, worker, label) for (task, worker), label in said.items()]
    raw = Raw(
        "test",
        rows=pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row"),
        tasks=["idle task"],
        worker_ids=["idle"],
    )
    with tempfile.TemporaryDirectory() as folder:
        [path] = write(raw, Path(folder) / f"a{suffix}")
        again = read("wide", path)
    assert sorted(triples(again.rows)) == sorted(rows)
    assert set(again.tasks) | set(again.rows["task"]) == {"idle task"} | {task for task, _, _ in rows}
    assert set(again.worker_ids) | set(again.rows["worker"]) == {"idle"} | {worker for _, worker, _ in rows}


def test_what_does_not_fit_in_a_matrix(tmp_path):
    rows = pl.DataFrame({"task": ["t", "t"], "worker": ["w", "w"], "label": ["a", "b"]})
    with pytest.raises(
        BadCall, match=r"worker 'w' answered task 't' more than once; a wide table has room for one answer"
    ):
        write(Raw("test", rows=rows), tmp_path / "a.csv")
    with pytest.raises(BadCall, match=r"these answers name nobody"):
        write(Raw("test", rows=rows.drop("worker")), tmp_path / "a.csv")
    many = pl.DataFrame(
        {"task": [str(i) for i in range(20_000)], "worker": [str(i) for i in range(20_000)], "label": ["a"] * 20_000}
    )
    with pytest.raises(BadCall, match=r"20000 tasks x 20000 workers are too many"):
        write(Raw("test", rows=many), tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_worker_called_task(tmp_path):
    rows = pl.DataFrame({"task": ["t", "t"], "worker": ["task", "w"], "label": ["a", "b"]})
    [path] = write(Raw("test", rows=rows), tmp_path / "a.csv")
    assert path.read_text() == "task_,task,w\nt,a,b\n"
    assert triples(read("wide", path).rows) == rows.rows()


def test_no_columns(put):
    for content in ("{}", "[{}]"):
        with pytest.raises(BadInput, match=r"a.json: no columns"):
            read("wide", put("a.json", content))
