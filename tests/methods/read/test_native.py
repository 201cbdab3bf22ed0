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

import manyvoices as mv
from manyvoices.core.dataset import Raw
from manyvoices.core.errors import BadCall, BadInput, NotWritable
from manyvoices.methods.read.native import questions, write

ANSWERS = "task,worker,label,why\n1,a,x,so\n2,b,y,\n"


@pytest.mark.parametrize(
    "name", ["answers.csv", "answers.csv.gz", "answers.tsv", "answers.jsonl", "answers.jsonl.gz", "answers.parquet"]
)
def test_answers_in_every_form(put, tmp_path, name):
    if name == "answers.parquet":
        pl.DataFrame({"task": [1, 2], "worker": ["a", "b"], "label": ["x", "y"], "why": ["so", None]}).write_parquet(
            tmp_path / name
        )
    elif "jsonl" in name:
        put(
            name,
            '{"task": 1, "worker": "a", "label": "x", "why": "so"}\n'
            '{"task": 2, "worker": "b", "label": "y", "why": null}\n',
        )
    else:
        put(name, ANSWERS.replace(",", "\t") if "tsv" in name else ANSWERS)
    raw = read("native", tmp_path)
    assert raw.rows.rows() == [("1", "a", "x", "so"), ("2", "b", "y", None)]
    assert raw.about == {"name": tmp_path.name, "folder": str(tmp_path)} and raw.format == "native"
    assert raw.where(1)[0] == tmp_path / name
    assert surest(tmp_path) == "native"


def test_everything_beside(put, tmp_path):
    put("answers.csv", ANSWERS)
    put("truth.csv", "task,label\n1,x\n9,z\n3,\n")
    put("items.csv.gz", "task,text,level\n1,hello,007\n7,there,1.0\n")
    put("splits.csv", "task,split\n1,train\n7,validation\n")
    put("workers.csv", "worker,age\na,33\n")
    put(
        "META.json",
        '{"name": "mine", "classes": ["x", 2, 1.0], "scale": "ordinal", "abstain": "idk", '
        '"question": "Which?", "labels": ["q"], "n": 3,}',
    )
    raw = read("native", tmp_path)
    assert raw.truth.rows() == [("1", "x"), ("9", "z")]
    assert raw.items.to_dicts() == [
        {"task": "1", "text": "hello", "level": "007"},
        {"task": "7", "text": "there", "level": "1.0"},
    ]
    assert raw.splits.rows() == [("1", "train"), ("7", "dev")]
    assert raw.workers.rows() == [("a", "33")]
    assert (raw.classes, raw.scale, raw.abstain) == (["x", "2", "1.0"], "ordinal", ("idk",))
    assert raw.about == {"name": "mine", "question": "Which?", "labels": ["q"], "n": 3, "folder": str(tmp_path)}
    assert raw.notes == ["META.json: commas before closing brackets skipped"]


def test_labels_in_meta_are_not_classes(put, tmp_path):
    put("answers.csv", ANSWERS)
    put("META.json", {"labels": ["x", "y", "z"]})
    assert read("native", tmp_path).classes is None


def test_items_alone(put, tmp_path):
    put(
        "items.jsonl",
        '{"task": 1, "premise": "a", "hypothesis": "b", "split": "train", "counts": {"n": 1.50}}\n'
        '{"task": "2", "premise": "c", "split": "test"}\n',
    )
    raw = read("native", tmp_path)
    assert raw.rows is None and raw.truth is None and surest(tmp_path) == "native"
    assert raw.items.columns == ["task", "premise", "hypothesis", "split", "counts"]
    assert raw.items["counts"].to_list() == ['{"n": 1.50}', None]
    assert raw.splits.rows() == [("1", "train"), ("2", "test")]


def test_frames_stay_lists_and_a_split_of_another_kind_is_a_column(put, tmp_path):
    put(
        "items.jsonl",
        '{"task": "v", "frames": ["f/1.png", "f/2.png"], "split": "fold 3"}\n'
        '{"task": "w", "frames": [], "split": "fold 1"}\n',
    )
    raw = read("native", tmp_path)
    assert raw.items["frames"].to_list() == [["f/1.png", "f/2.png"], []] and raw.splits is None


@pytest.mark.parametrize(
    ("items", "line"),
    [
        ("task,image\n1,a.png\n2,../secret.png\n", 3),
        ("task,audio\n1,/etc/passwd\n", 2),
        ("task,image\n1,C:\\x.png\n", 2),
        ("task,image\n1,..\\x.png\n", 2),
    ],
)
def test_a_path_that_leaves_the_folder_is_refused(put, tmp_path, items, line):
    put("items.csv", items)
    with pytest.raises(
        BadInput, match=f"items.csv, line {line}: the (image|audio) is .*; expected a path inside the folder"
    ):
        read("native", tmp_path)


def test_images_npz(put, tmp_path):
    put("answers.csv", ANSWERS)
    np.savez(
        tmp_path / "images.npz",
        tasks=np.array([7, 1]),
        images=np.zeros((2, 4, 4, 3), np.uint8),
        labels=np.array(["x", "y"]),
    )
    raw = read("native", tmp_path)
    assert (
        raw.arrays == tmp_path / "images.npz"
        and raw.items.rows() == [("7",), ("1",)]
        and raw.truth.rows() == [("7", "x"), ("1", "y")]
    )
    put("truth.csv", "task,label\n1,z\n")
    assert read("native", tmp_path).truth.rows() == [("1", "z")]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"tasks": np.arange(2)}, "the arrays are tasks"),
        (
            {"tasks": np.arange(3), "images": np.zeros((2, 4, 4), np.uint8)},
            r"images are uint8 \[2, 4, 4\], tasks \[3\]",
        ),
        ({"tasks": np.arange(2), "images": np.zeros((2, 4, 4))}, "images are float64"),
        ({"tasks": np.arange(2.0), "images": np.zeros((2, 4, 4), np.uint8)}, "ids of type float64"),
        ({"tasks": np.array(["a", None]), "images": np.zeros((2, 4, 4), np.uint8)}, "not a readable npz file"),
    ],
)
def test_images_that_do_not_fit(tmp_path, arrays, message):
    np.savez(tmp_path / "images.npz", **arrays)
    with pytest.raises(BadInput, match=message):
        read("native", tmp_path)


def test_features(put, tmp_path):
    np.save(tmp_path / "features.npy", np.zeros((3, 5)))
    put("tasks.txt", "007\r\na b\r\nc\r\n")
    raw = read("native", tmp_path)
    assert raw.arrays.name == "features.npy" and raw.items["task"].to_list() == ["007", "a b", "c"]
    put("tasks.txt", "007\nc\n")
    with pytest.raises(BadInput, match=r"tasks.txt: 2 ids for 3 rows of features.npy"):
        read("native", tmp_path)
    put("tasks.txt", "007\n\nc\n")
    with pytest.raises(BadInput, match=r"tasks.txt, line 2: an empty line"):
        read("native", tmp_path)
    np.save(tmp_path / "features.npy", np.zeros(3))
    with pytest.raises(BadInput, match=r"features are float64 \[3\]"):
        read("native", tmp_path)
    put("features.npy", b"\x93NUMPY garbage")
    with pytest.raises(BadInput, match=r"not a readable npy file"):
        read("native", tmp_path)


def test_image_folder(put, tmp_path):
    for name in (
        "train/cat/a-0.png",
        "train/dog/b-x-12.jpg",
        "val/dog/c-3.png",
        "test/cat/d-0.png",
        "train/cat/.hidden-9.png",
        "train/cat/notes.txt",
    ):
        put(name, b"")
    raw = read("native", tmp_path)
    assert raw.items.rows() == [
        ("0", "train/cat/a-0.png"),
        ("12", "train/dog/b-x-12.jpg"),
        ("3", "val/dog/c-3.png"),
        ("test/cat/d-0.png", "test/cat/d-0.png"),
    ]
    assert raw.splits["split"].to_list() == ["train", "train", "dev", "test"]
    assert raw.truth["label"].to_list() == ["cat", "dog", "dog", "cat"]
    assert "1 images whose key was used before" in raw.notes[0] and surest(tmp_path) == "native"


def test_several_questions(put, tmp_path):
    put("answers.csv", "task,worker,question,label\n1,a,q1,x\n1,a,q2,y\n")
    with pytest.raises(BadCall, match=r"several questions: q1, q2"):
        read("native", tmp_path)
    assert triples(read("native", tmp_path, question="q2").rows) == [("1", "a", "y")] and questions(tmp_path) == [
        "q1",
        "q2",
    ]


def test_columns_by_name(put, tmp_path):
    put("answers.csv", "x,y,z\n1,a,b\n")
    assert triples(read("native", tmp_path, task="x", worker="y", label="z").rows) == [("1", "a", "b")]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no answers and no items among no files; expected answers.{csv,csv.gz,"),
        (
            {"data.csv": "x", "META.json": "{}"},
            "no answers and no items among META.json, data.csv; expected answers.{csv,.*items.{csv",
        ),
        (
            {"answers.csv": ANSWERS, "answers.jsonl": "{}"},
            "2 files of answers: answers.csv, answers.jsonl; expected one of them",
        ),
        ({"answers.csv": ANSWERS, "answers.json": "{}"}, "2 files of answers: answers.csv, answers.json"),
        ({"items.csv": "task,text\n1,a\n", "items.jsonl": "{}"}, "several forms of items: items.csv, items.jsonl"),
        ({"items.csv": "name,text\n1,a\n"}, r"items.csv: no column for the task; columns found: name, text"),
        (
            {"answers.csv": ANSWERS, "truth.csv": "task,why\n1,a\n"},
            "truth.csv: no column for the truth; columns found: task, why",
        ),
        (
            {"answers.csv": ANSWERS, "splits.csv": "task,split\n1,train\n2,later\n"},
            "splits.csv, line 3: the split is 'later'; expected train, dev or test",
        ),
        ({"answers.csv": ANSWERS, "META.json": "[]"}, r"META.json: \[\]; expected one JSON object"),
        ({"answers.csv": ANSWERS, "META.json": '{"scale": "big"}'}, "the scale is 'big'; expected one of nominal"),
        (
            {"answers.csv": ANSWERS, "META.json": '{"classes": {"0": "a"}}'},
            'classes is {"0": "a"}; expected a list of different names',
        ),
        ({"answers.csv": ANSWERS, "META.json": '{"classes": ["a", "a"]}'}, "a list of different names"),
        ({"answers.csv": ANSWERS, "META.json": '{"classes": [["a"]]}'}, "a list of different names"),
        ({"answers.csv": ANSWERS, "META.json": '{"a": 1,\n "b": }'}, "META.json, line 2: broken JSON at column 7"),
    ],
)
def test_bad_folders(put, tmp_path, files, message):
    for name, content in files.items():
        put(name, content)
    with pytest.raises(BadInput, match=message):
        read("native", tmp_path)
    if "answers.json" in files:
        assert surest(tmp_path) == "native"


def test_a_file_is_no_folder(put, tmp_path):
    with pytest.raises(BadInput, match=r"a.csv: not a folder"):
        read("native", put("a.csv", ANSWERS))
    with pytest.raises(BadInput, match=r"no such folder"):
        read("native", tmp_path / "nowhere")
    assert scores(tmp_path / "a.csv") == {"long": 0.6}


# Writing -------------------------------------------------------------------------------------------------------------


def same(first: pl.DataFrame | None, second: pl.DataFrame | None) -> bool:
    return first is second is None or first.equals(second)


def test_written_and_read_again(put, tmp_path):
    put("in/answers.csv", ANSWERS)
    put("in/truth.csv", "task,label\n1,x\n")
    put("in/items.jsonl", '{"task": "1", "image": "pics/a.png", "frames": ["f/1.png"]}\n')
    put("in/pics/a.png", b"A")
    put("in/f/1.png", b"F")
    put("in/workers.csv", "worker,age\na,33\n")
    put("in/splits.csv", "task,split\n1,train\n")
    put(
        "in/META.json",
        {
            "name": "mine",
            "classes": ["x", "y"],
            "scale": "ordinal",
            "abstain": ["idk"],
            "tasks_without_answers": ["5"],
            "workers_without_answers": ["c"],
            "question": "Which?",
        },
    )
    first = read("native", tmp_path / "in")
    files = write(first, tmp_path / "out")
    assert sorted(f.relative_to(tmp_path / "out").as_posix() for f in files) == sorted(
        f.relative_to(tmp_path / "out").as_posix() for f in (tmp_path / "out").rglob("*") if f.is_file()
    )
    again = read("native", tmp_path / "out")
    for name in ("rows", "truth", "items", "workers", "splits"):
        assert same(getattr(first, name), getattr(again, name)), name
    assert (again.tasks, again.worker_ids) == (["5"], ["c"])
    for name in ("classes", "scale", "abstain", "tasks", "worker_ids"):
        assert getattr(first, name) == getattr(again, name)
    assert {**again.about, "folder": ""} == {**first.about, "folder": ""}
    assert (tmp_path / "out/pics/a.png").read_bytes() == b"A" and (tmp_path / "out/f/1.png").read_bytes() == b"F"


def test_arrays_are_copied(put, tmp_path):
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in/features.npy", np.eye(2))
    put("in/tasks.txt", "a\nb\n")
    write(read("native", tmp_path / "in"), tmp_path / "out")
    assert {f.name for f in (tmp_path / "out").iterdir()} == {"features.npy", "tasks.txt", "META.json"}
    assert read("native", tmp_path / "out").items["task"].to_list() == ["a", "b"]


ids = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)


@settings(deadline=None)
@given(
    st.lists(st.tuples(ids, ids, st.none() | ids), min_size=1, max_size=5),
    st.lists(ids, unique=True, max_size=3),
    st.lists(ids, unique=True, max_size=3),
)
def test_any_text_comes_back_as_it_went_in(rows, classes, tasks):
    frame = pl.DataFrame(rows, schema=dict.fromkeys(("task", "worker", "label"), pl.String), orient="row")
    items = frame.select("task", text="worker").unique("task", maintain_order=True)
    asked = set(frame["task"])
    raw = Raw(
        "test",
        rows=frame,
        items=items,
        workers=frame.select("worker", name="task"),
        classes=classes or None,
        abstain=tuple(classes),
        tasks=tasks,
    )
    with tempfile.TemporaryDirectory() as folder:
        write(raw, Path(folder) / "out")
        again = read("native", Path(folder) / "out")
    assert again.rows.equals(frame) and again.items.equals(items) and again.workers.equals(raw.workers)
    assert (again.classes, again.abstain, again.tasks) == (
        raw.classes,
        raw.abstain,
        [task for task in tasks if task not in asked],
    )


def test_simulated_about_is_written_as_it_can_be(tmp_path):
    about = {
        "strategy": "x",
        "confusions": pl.DataFrame({"a": [1]}),
        "difficulties": np.array(["easy", "hard"]),
        "n": np.int64(3),
    }
    write(
        Raw("test", rows=pl.DataFrame({"task": ["t"], "worker": ["w"], "label": ["a"]}), about=about), tmp_path / "out"
    )
    assert json.loads((tmp_path / "out/META.json").read_text()) == {
        "strategy": "x",
        "difficulties": ["easy", "hard"],
        "n": 3,
    }


def test_another_data_set_is_not_mixed_in(put, tmp_path):
    put("answers.parquet", b"x")
    with pytest.raises(NotWritable, match=r"already holds answers.parquet, which would pass for part of these data"):
        write(Raw("test", rows=pl.DataFrame({"task": ["t"], "worker": ["w"], "label": ["a"]})), tmp_path)
    assert [f.name for f in tmp_path.iterdir()] == ["answers.parquet"]


# Real sets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answers", "tasks", "workers", "truth", "items"),
    [
        ("AffectiveText", 6000, 1000, 6, 0, 1000),
        ("CIFAR10H", 25752, 500, 2571, 10000, 1500),
        ("HS-Brexit", 6720, 1120, 6, 0, 1120),
        ("LabelMe", 2547, 1000, 59, 1000, 0),
        ("MD-Agreement", 53765, 10753, 819, 0, 10753),
        ("RTE", 8000, 800, 164, 800, 800),
        ("VariErrNLI", 2069, 500, 4, 0, 500),
        ("bluebirds", 4212, 108, 39, 108, 0),
    ],
)
def test_real_sets(real_data, tmp_path, name, answers, tasks, workers, truth, items):
    folder = real_data / name
    raw = read("native", folder)
    assert (raw.rows.height, raw.rows["task"].n_unique(), raw.rows["worker"].n_unique()) == (answers, tasks, workers)
    assert (0 if raw.truth is None else raw.truth.height) == truth and (
        0 if raw.items is None else raw.items.height
    ) == items
    assert raw.classes is None and raw.notes == [] and raw.dropped == {} and surest(folder) == "native"
    write(raw, tmp_path / "out")
    again = read("native", tmp_path / "out")
    assert (
        again.rows.equals(raw.rows)
        and same(again.truth, raw.truth)
        and same(again.splits, raw.splits)
        and same(again.items, raw.items)
    )


def test_omniglot_has_neither_answers_nor_items(real_data):
    with pytest.raises(BadInput, match=r"no answers and no items among META.json, omniglot28.npz"):
        read("native", real_data / "Omniglot")


def test_labels_chosen_together_are_no_repeats(put):
    """A folder written from an export of several labels says what the export says, whatever --repeats."""
    put("answers.csv", "task,worker,label\n1,a,x\n1,a,y\n1,b,x\n")
    folder = put("META.json", {"scale": "multilabel"}).parent
    for rule in ("first", "last", "error"):
        data = mv.read(folder, repeats=rule)
        assert data.answers.n == 3 and not data.dropped
