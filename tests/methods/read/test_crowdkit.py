from __future__ import annotations

import polars as pl
import pytest
from reading import read, scores, surest, triples

from manyvoices.core.dataset import Raw
from manyvoices.core.errors import BadCall, BadInput, NotWritable
from manyvoices.methods.read.crowdkit import write

CROWD, GOLD = "task,worker,label\n1,a,x\n2,b,y\n", "task,label\n1,x\n3,y\n"


def test_folder_as_its_loader_unpacks_it(put):
    folder = put("crowd_labels.csv", CROWD).parent
    put("gt.csv", GOLD)
    raw = read("crowdkit", folder)
    assert triples(raw.rows) == [("1", "a", "x"), ("2", "b", "y")]
    assert raw.truth.rows() == [("1", "x"), ("3", "y")]
    assert scores(folder) == {"crowdkit": 0.7} and surest(folder / "crowd_labels.csv") == "crowdkit"
    assert read("crowdkit", folder / "crowd_labels.csv").truth.height == 2


def test_the_old_name_of_workers(put):
    path = put("a.csv", CROWD.replace("worker", "performer"))
    assert triples(read("crowdkit", path).rows)[0] == ("1", "a", "x")
    assert surest(path) == "crowdkit" and scores(path) == {"crowdkit": 0.8, "long": 0.6}


def test_alone_it_is_a_long_table_with_the_same_content(put):
    path = put("a.csv", CROWD)
    assert scores(path) == {"long": 0.6}
    assert triples(read("crowdkit", path).rows) == triples(read("long", path).rows)


def test_other_columns(put):
    with pytest.raises(
        BadInput, match=r"columns found: task, left, right, worker; expected task, worker \(or performer\) and label"
    ):
        read("crowdkit", put("a.csv", "task,left,right,worker\n1,a,b,w\n"))


@pytest.mark.parametrize(("out", "names"), [("d", ["crowd_labels.csv", "gt.csv"]), ("x.csv", ["x.csv", "x.gt.csv"])])
def test_written_and_read_by_pandas_and_us(tmp_path, out, names):
    rows = pl.DataFrame({"task": ["007", "b"], "worker": ["v", "w"], "label": ["x", "y"], "why": [None, "so"]})
    truth = pl.DataFrame({"task": ["007"], "label": ["x"]})
    files = write(Raw("test", rows=rows, truth=truth), tmp_path / out)
    assert [file.name for file in files] == names
    pd = pytest.importorskip("pandas")
    assert list(pd.read_csv(files[0])) == ["task", "worker", "label"]
    again = read("crowdkit", tmp_path / out)
    assert triples(again.rows) == rows.select("task", "worker", "label").rows() and again.truth.equals(truth)
    assert surest(tmp_path / out) == "crowdkit"


def test_gold_of_others_is_not_left_beside(tmp_path, put):
    put("gt.csv", GOLD)
    rows = pl.DataFrame({"task": ["t"], "worker": ["w"], "label": ["x"]})
    with pytest.raises(NotWritable, match=r"already holds gt.csv"):
        write(Raw("test", rows=rows), tmp_path)
    with pytest.raises(BadCall, match=r"name nobody"):
        write(Raw("test", rows=rows.drop("worker")), tmp_path)
