"""Data frames stand wherever a path does, whatever library made them; ids come out as text."""

from __future__ import annotations

import polars as pl
import pytest

import manyvoices as mv
from manyvoices.core.errors import BadCall, BadInput

ROWS = {"task": [7, 7, 8, 8], "worker": ["a", "b", "a", "b"], "label": ["x", "x", None, "y"]}


def libraries():
    yield "polars", lambda: pl.DataFrame(ROWS)
    yield "polars, lazy", lambda: pl.DataFrame(ROWS).lazy()
    yield "pandas", lambda: pytest.importorskip("pandas").DataFrame(ROWS)
    yield "arrow", lambda: pytest.importorskip("pyarrow").table(ROWS)


@pytest.mark.parametrize("make", [make for _, make in libraries()], ids=[name for name, _ in libraries()])
def test_a_frame_is_read_like_a_file(make):
    data = mv.read(make())
    assert data.answers.tasks.to_list() == ["7", "8"] and data.answers.n == 3 and data.dropped == {"missing label": 1}
    assert mv.aggregate(make(), "mv").labels() == ["x", "y"]


def test_columns_of_a_frame_under_other_names():
    frame = pl.DataFrame(ROWS).rename({"task": "id", "worker": "who", "label": "said"})
    assert mv.read(frame, task="id", worker="who", label="said").answers.n == 3
    with pytest.raises(BadInput, match="column"):
        mv.read(frame.select("who", "said"))


def test_numbers_in_a_frame_stay_numbers_on_an_interval_scale():
    frame = pl.DataFrame({"task": ["t", "t"], "worker": ["a", "b"], "label": [1.5, 2.5]})
    assert mv.aggregate(mv.read(frame, scale="interval"), "mean").value.tolist() == [2.0]


def test_a_missing_number_does_not_turn_ids_into_decimals():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"task": [1, 2, 3], "worker": [10, None, 11], "label": [0, 1, 1]})
    data = mv.read(frame)
    assert data.answers.workers.to_list() == ["10", "11"] and data.answers.classes.to_list() == ["0", "1"]


def test_whatever_can_be_read_can_be_written(tmp_path):
    frame = pl.DataFrame(ROWS).drop_nulls()
    for source in (frame, mv.read(frame), mv.write(frame, tmp_path / "a.csv", "long")[0]):
        [file] = mv.write(source, tmp_path / "b.csv", "long")
        assert file.read_text() == "task,worker,label\n7,a,x\n7,b,x\n8,b,y\n"
    said = pl.DataFrame({"task": ["a"], "split": [None], "label": ["x"], "prob": [0.75], "p:x": [0.75], "p:y": [0.25]})
    [file] = mv.write(said, tmp_path / "c.tsv", "lewidi2023")  # what `predict` returns
    assert file.read_text() == "x\t0.75\t0.25\n"


def test_what_is_no_frame_is_refused():
    with pytest.raises(BadCall, match="cannot read a dict"):
        mv.read({"task": ["a"]})


@pytest.mark.parametrize("make", [pl.DataFrame, "pandas"])
def test_lists_in_a_frame(make):
    """A row a task, as Hugging Face data sets have them: what to do is said; lists beside the answers are notes."""
    make = pytest.importorskip(make).DataFrame if isinstance(make, str) else make
    lists = make({"task": ["t1", "t2"], "worker": [["a", "b"], ["a"]], "label": [[0, 1], [1]]})
    with pytest.raises(BadInput, match=r"the worker in record 1 is a list .*; expected text or a number; .* explode"):
        mv.read(lists)
    tokens = make({"task": ["t1", "t1"], "worker": ["a", "b"], "label": [0, 1], "tokens": [["x", "y"], ["z"]]})
    assert mv.read(tokens).answers.n == 2


def test_what_a_notebook_shows():
    """A data set on one line, scores as their table."""
    data = mv.read(pl.DataFrame(ROWS))
    assert repr(data) == "<Dataset (frame): 3 answers of 2 workers about 2 tasks, 2 classes>"
    assert repr(mv.read(pl.DataFrame({"task": ["1"], "label": ["x"]}))) == "<Dataset (frame): 1 answer about 1 task, 1 class>"
    scores = mv.agree(data, ["percent", "alpha"], bootstrap=0)
    assert str(scores) == str(scores.to_polars()) and scores.score[0] == "percent" and "alpha" in scores.score
    assert mv.identify(data, ("entropy", "twothird")).to_polars().equals(mv.identify(data, "entropy,twothird").to_polars())
