from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import read, scores, surest, triples

from manyvoices.core.dataset import Raw
from manyvoices.core.errors import BadCall, BadInput, NotWritable
from manyvoices.methods.read.peerannot import write

TOY = {"0": {"0": 1, "1": 0, "2": 1, "3": 1}, "1": {"0": 1, "2": 0, "3": 0}, "2": {"1": 1, "3": 1}}
TRIPLES = [(task, worker, str(label)) for task, said in TOY.items() for worker, label in said.items()]
META = {"name": "toy", "n_classes": 2, "n_workers": 4, "n_tasks": 3}


def by_worker(said):
    return {
        worker: {task: said[task][worker] for task in said if worker in said[task]}
        for worker in sorted({w for s in said.values() for w in s})
    }


LAYOUTS = {
    "answers.json": json.dumps(TOY, indent=4),
    "answers_inversed.json": json.dumps(by_worker(TOY)),
    "answers.txt": "1 0 1 1\n1 -1 0 0\n-1 1 -1 1\n",
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("key", ["n_task", "n_tasks", None])
def test_three_layouts(put, tmp_path, name, key):
    put(name, LAYOUTS[name])
    put("metadata.json", {k: v for k, v in META.items() if k != "n_tasks"} | ({key: 3} if key else {}))
    raw = read("peerannot", tmp_path)
    assert sorted(triples(raw.rows)) == TRIPLES
    assert (
        raw.classes == ["0", "1"]
        and raw.tasks == []
        and raw.worker_ids == []
        and raw.notes == []
        and raw.about["name"] == "toy"
    )
    assert raw.where(raw.rows.height - 1) == (tmp_path / name, 4 if "inversed" in name else 3)
    assert scores(tmp_path) == {"peerannot": 0.95}
    one = read("peerannot", tmp_path / name)
    assert (
        triples(one.rows) == triples(raw.rows) and one.classes == ["0", "1"] and surest(tmp_path / name) == "peerannot"
    )


def test_the_toy_folder_has_all_three(put, tmp_path):
    for name, content in LAYOUTS.items():
        put(name, content)
    put("metadata.json", META)
    put("labelNames.txt", "notsmiles\nsmiles\n")
    for image in ("notsmiles/frown-1.png", "smiles/smile-2.png", "smiles/xtrasmile-0.png"):
        put(f"train/{image}", b"")
    raw = read("peerannot", tmp_path)
    assert triples(raw.rows) == TRIPLES and raw.about["label_names"] == {"0": "notsmiles", "1": "smiles"}
    assert raw.items.rows() == [
        ("1", "train/notsmiles/frown-1.png"),
        ("2", "train/smiles/smile-2.png"),
        ("0", "train/smiles/xtrasmile-0.png"),
    ]
    assert raw.truth.rows() == [("1", "0"), ("2", "1"), ("0", "1")] and set(raw.splits["split"]) == {"train"}
    assert surest(tmp_path) == "peerannot"


def test_classes_by_folder_where_no_names_are_given(put, tmp_path):
    put("answers.json", {"0": {"0": 1}})
    for image in ("plane/a-0.png", "bird/a-1.png", "truck/a-2.png"):
        put(f"train/{image}", b"")
    assert read("peerannot", tmp_path).truth["label"].to_list() == ["0", "1", "2"]  # bird, plane, truck
    for name in ("car", "cat", "deer", "dog", "frog", "horse", "ship"):
        put(f"train/{name}/a-{name}.png", b"")
    truth = dict(read("peerannot", tmp_path).truth.rows())
    assert (truth["0"], truth["1"], truth["2"], truth["ship"]) == ("0", "2", "9", "8")


def test_folders_that_are_numbers_are_the_codes(put, tmp_path):
    put("answers.json", {"0": {"0": 1}})
    for number in (2, 10):
        put(f"train/{number}/a-{number}.png", b"")
    assert dict(read("peerannot", tmp_path).truth.rows()) == {"2": "2", "10": "10"}


def test_tasks_without_answers_and_labels_from_one(put, tmp_path):
    put("answers.json", {"0": {"1": 1}, "1": {}, "2": {"1": 2, "2": 4}})
    put("metadata.json", {"name": "k", "n_classes": 4, "n_workers": 3})
    raw = read("peerannot", tmp_path)
    assert raw.tasks == ["1"] and raw.worker_ids == ["0"] and raw.classes == ["1", "2", "3", "4"]
    assert raw.notes == ["labels count from 1 to n_classes = 4"]


def test_every_number_is_a_task_where_workers_come_first(put, tmp_path):
    put("answers_inversed.json", {"5": {"0": 1, "3": 0}, "6": {}})
    put("metadata.json", {"n_classes": 2, "n_workers": 8, "n_task": 6})
    raw = read("peerannot", tmp_path)
    assert raw.tasks == ["1", "2", "4", "5"] and sorted(raw.worker_ids) == ["0", "1", "2", "3", "4", "6", "7"]


def test_matrix_with_decimals_gaps_and_an_idle_task(put):
    raw = read("peerannot", put("answers.txt", "# votes\n1.0e+00 -1.000e+00\n\n-1 -1\nnan 3\n"))
    assert triples(raw.rows) == [("0", "0", "1"), ("2", "1", "3")] and raw.tasks == ["1"] and raw.where(1)[1] == 5


def test_numbers_of_metadata_that_differ_are_told(put, tmp_path):
    put("answers.json", TOY)
    put("metadata.json", META | {"n_tasks": 9500})
    assert read("peerannot", tmp_path).notes == ["metadata.json says 9500 tasks, answers.json has 3"]
    (tmp_path / "metadata.json").unlink()
    raw = read("peerannot", tmp_path)
    assert raw.notes == ["no metadata.json: the classes are those seen"] and raw.classes is None


def test_missing_labels_and_ids_with_zeros(put):
    raw = read(
        "peerannot", put("answers.json", '{"007": {"a": null, "": 1, "b": "1"}, "": {"a": 1}, "8": {"a": 2.0,}}')
    )
    assert triples(raw.rows) == [("007", "a", None), ("007", "b", "1"), ("8", "a", "2.0")]
    assert raw.dropped == {"no task or no worker": 2} and "commas" in raw.notes[0]


def test_a_layout_can_be_forced(put):
    path = put("x.json", by_worker(TOY))
    assert sorted(triples(read("peerannot", path, layout="workers").rows)) == TRIPLES
    with pytest.raises(BadCall, match=r"layout 'rows': expected auto, tasks, workers or matrix"):
        read("peerannot", path, layout="rows")


def test_ground_truth(put, tmp_path):
    put("answers.json", TOY)
    np.save(tmp_path / "ground_truth.npy", np.array([1, -1, 0]))
    assert read("peerannot", tmp_path).truth.rows() == [("0", "1"), ("2", "0")]
    np.save(tmp_path / "ground_truth.npy", np.array([0.5]))
    with pytest.raises(BadInput, match=r"ground_truth.npy: float64 \[1\]; expected whole numbers"):
        read("peerannot", tmp_path)
    np.save(tmp_path / "ground_truth.npy", np.array([None]))
    with pytest.raises(BadInput, match=r"not a readable npy file"):
        read("peerannot", tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("answers.json", "[1]", r"\[1\]; expected {task: {worker: label}}"),
        ("answers.json", '{"0": 3}', "task '0' has 3; expected"),
        ("answers.json", '{"0": {"1": [2]}}', r"task '0', worker '1': the label is \[2\]; expected a whole number"),
        ("answers.json", '{"0": {"1": 1},\n "0": {"2": 1}}', "the key '0' stands twice"),
        ("answers.json", '{"0": {"1": 1},\n "1": {"2": 1}', "answers.json, line 2: broken JSON"),
        ("answers_inversed.json", '{"0": {"1": {}}}', "worker '0', task '1': the label is {}"),
        ("answers.txt", "1 0\n1 x\n", "answers.txt, line 2: '1 x'; expected whole numbers"),
        ("answers.txt", "1 0\n1\n", "answers.txt, line 2: 1 columns; expected 2 as above"),
        ("answers.txt", "1 0\n1 0.5\n", "line 2: '1 0.5'; expected labels 0, 1, ... or -1"),
        ("answers.txt", "1 -2\n", "line 1: '1 -2'"),
        ("answers.txt", "1 inf\n", "line 1: '1 inf'"),
        ("metadata.json", "[]", r"metadata.json: \[\]; expected one JSON object"),
        ("metadata.json", '{"n_classes": 2.5}', "n_classes is 2.5; expected a whole number"),
        ("metadata.json", '{"n_classes": 1e99}', "n_classes is 1e"),
        ("metadata.json", '{"n_workers": 100000000000}', "n_workers is 100000000000"),
        ("ids.json", "[]", r"ids.json: \[\]; expected tasks, workers and classes"),
        (
            "ids.json",
            '{"tasks": {"id_of": []}, "workers": {"id_of": []}, "classes": {"id_of": []}}',
            "no name for '0' among the tasks",
        ),
    ],
)
def test_bad_files(put, tmp_path, name, content, message):
    if not name.startswith("answers"):
        put("answers.json", TOY)
    put(name, content)
    with pytest.raises(BadInput, match=message):
        read("peerannot", tmp_path)


def test_folder_without_answers(put, tmp_path):
    put("metadata.json", META)
    with pytest.raises(BadInput, match=r"no answers; expected one of answers.json, answers_inversed.json, answers.txt"):
        read("peerannot", tmp_path)
    assert scores(tmp_path) == {}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("people.json", {"Ann1": {"Gender": "F", "Age": "22"}, "Ann2": {"Gender": "M", "Age": "3"}}),
        ("nested.json", {"a": {"b": {"c": 1}}}),
        ("meta.json", META),
        ("empty.json", {}),
        ("list.json", [TOY]),
        ("n.txt", "1 2 3\n4 5\n"),
        ("n.txt", "1 2\n4 5\n"),
        ("share.json", {"a": {"x": 0.5}}),
        ("words.txt", "a b\nc d\n"),
    ],
)
def test_not_recognised(put, name, content):
    assert "peerannot" not in scores(put(name, content))


# Writing -------------------------------------------------------------------------------------------------------------


def load_as_peerannot_does(folder: Path) -> tuple[np.ndarray, dict]:
    """Votes [n, J, K], its way: keys to whole numbers, arrays of the sizes in the metadata."""
    answers, meta = (json.loads((folder / name).read_text()) for name in ("answers.json", "metadata.json"))
    votes = np.zeros((len(answers), meta["n_workers"], meta["n_classes"]))
    for task, said in sorted(answers.items(), key=lambda item: int(item[0])):
        for worker, label in said.items():
            votes[int(task), int(worker), label] = 1
    return votes, meta


def test_numbers_are_written_as_they_are(tmp_path, put):
    put("in/answers.json", TOY)
    put("in/metadata.json", META)
    np.save(tmp_path / "in/ground_truth.npy", np.array([1, 0, 1]))
    raw = read("peerannot", tmp_path / "in")
    files = write(raw, tmp_path / "out")
    assert [file.name for file in files] == ["answers.json", "metadata.json", "ground_truth.npy"]
    assert json.loads(files[0].read_text()) == TOY
    assert json.loads(files[1].read_text()) == {
        "name": "toy",
        "n_classes": 2,
        "n_workers": 4,
        "n_task": 3,
        "n_tasks": 3,
    }
    assert np.load(files[2]).tolist() == [1, 0, 1]


ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)


@settings(deadline=None)
@given(st.dictionaries(st.tuples(ids, ids), ids, min_size=1, max_size=8), st.lists(ids, unique=True, max_size=2))
def test_names_come_back_and_peerannot_finds_numbers(said, idle):
    rows = [(task, worker, label) for (task, worker), label in said.items()]
    truth = pl.DataFrame({"task": [rows[0][0]], "label": [rows[0][2]]})
    raw = Raw(
        "test",
        rows=pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row"),
        truth=truth,
        tasks=idle,
        worker_ids=idle,
    )
    with tempfile.TemporaryDirectory() as folder:
        write(raw, Path(folder) / "out")
        votes, meta = load_as_peerannot_does(Path(folder) / "out")
        again = read("peerannot", Path(folder) / "out")
        assert surest(Path(folder) / "out") == "peerannot"
    assert votes.sum() == len(rows) and meta["n_task"] == meta["n_tasks"] == len(votes)
    assert sorted(triples(again.rows)) == sorted(rows) and again.truth.rows() == truth.rows()
    assert set(again.classes) == {label for _, _, label in rows}
    assert set(again.tasks) == set(idle) - {task for task, _, _ in rows} and set(again.worker_ids) == set(idle) - {
        w for _, w, _ in rows
    }


def test_what_does_not_fit(tmp_path, put):
    rows = pl.DataFrame({"task": ["t", "t"], "worker": ["w", "w"], "label": ["a", "b"]})
    with pytest.raises(
        BadCall, match=r"worker 'w' answered task 't' more than once; peerannot has room for one answer"
    ):
        write(Raw("test", rows=rows), tmp_path / "out")
    with pytest.raises(BadCall, match=r"name nobody"):
        write(Raw("test", rows=rows.drop("worker")), tmp_path / "out")
    with pytest.raises(BadInput, match=r"the label 'b' is none of the classes; expected a"):
        write(Raw("test", rows=rows[1:], classes=["a"]), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    put("ids.json", "{}")
    with pytest.raises(NotWritable, match=r"already holds ids.json"):
        write(Raw("test", rows=pl.DataFrame({"task": ["0"], "worker": ["0"], "label": ["0"]})), tmp_path)


def test_real_set_through_peerannot_and_back(real_data, tmp_path):
    raw = read("native", real_data / "LabelMe")
    write(raw, tmp_path / "out")
    votes, meta = load_as_peerannot_does(tmp_path / "out")
    assert votes.shape == (1000, 59, 8) and votes.sum() == 2547 and meta["name"] == "LabelMe"
    again = read("peerannot", tmp_path / "out")
    assert sorted(triples(again.rows)) == sorted(triples(raw.rows))
    assert sorted(again.truth.rows()) == sorted(raw.truth.rows())


def test_an_empty_object(put):
    with pytest.raises(BadInput, match=r"answers.json: no answers; expected {task: {worker: label}}"):
        read("peerannot", put("answers.json", "{}"))
