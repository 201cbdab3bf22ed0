"""What is wrong with a file is said in one line, with the place; looking at it never hurts."""

from __future__ import annotations

import gzip
import json
import os
import random
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reading import READERS, module, read, scores, triples

from manyvoices.core.dataset import Raw
from manyvoices.core.errors import BadInput, ManyVoicesError, NotWritable
from manyvoices.core.files import writing

CSV = b"task,worker,label\nt1,w1,a\nt2,w1,b\n"
DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "a.csv: the file is empty; expected columns task, worker and label"),
        ("a.csv", b"\n \n", "the file is empty"),
        ("a.csv.gz", b"", "the file is empty"),
        ("a.csv", b"\xef\xbb\xbf", "the file is empty"),
        (
            "a.csv",
            b"task\nt1\n",
            "a.csv, line 1: only one column, 'task'; expected .*separated by comma, tab, semicolon, bar",
        ),
        ("a.csv", b"task,worker,label\n", "no rows below the header"),
        ("a.csv", b"task,worker,label\n,w,a\n", "no row has both a task and a worker"),
        (
            "a.csv",
            b"task,who,label\nt1,w1,a\n",
            "no column for the worker; columns found: task, who, label; expected worker, .*after --worker",
        ),
        (
            "a.csv",
            b"task,worker,colour\nt1,w1,a\n",
            "no column for the label; columns found: task, worker, colour; expected label, .*after --label",
        ),
        (
            "a.csv",
            b"x,worker,label\nt1,w1,a\n",
            "a.csv, line 1: no column for the task; columns found: x, worker, label; expected task, .*after --task",
        ),
        (
            "a.csv",
            b"task,worker,label,label \nt1,w1,a,b\n",
            "a.csv, line 1: the column 'label' stands twice; expected each column once",
        ),
        ("a.csv", CSV + b"t3,w1\n", "a.csv, line 4: 2 fields, 't3,w1'; expected 3 as in the header"),
        ("a.csv", CSV + b"t3,w1,a,b\nt4,w1,a\n", "a.csv, line 4: 4 fields, 't3,w1,a,b'; expected 3 as in the header"),
        ("a.csv", CSV + b'\n"t\n3",w1,a\n\nt4\n', "a.csv, line 8: 1 field, 't4'; expected 3"),
        ("a.csv", b"\r\n" + CSV.replace(b"\n", b"\r\n") + b"t3,w1\r\n", "a.csv, line 5: 2 fields"),
        ("a.csv", CSV.replace(b"\n", b"\r") + b"t3,w1\r", "a.csv, line 4: 2 fields"),
        ("a.csv", CSV + b'"t3,w1,a\nt4,w1,b\n', "a.csv, line 4: broken quoting"),
        ("a.csv", CSV + b'"t3"x,w1,a\n', "a.csv, line 4: broken quoting"),
        ("a.csv", CSV + b'"""', "a.csv, line 4: broken quoting"),
        ("a.csv", CSV + b"t3,w1,a,", "a.csv, line 4: 4 fields"),
        ("a.csv", CSV + b'"t3",w1,a,', "a.csv, line 4: 4 fields"),
        ("a.csv", CSV + b"t\0,w,a\n", r"a.csv, line 4: not text \(a zero byte at byte 35\); expected UTF-8"),
        ("a.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not text"),
        ("a.csv", bytes(range(1, 32)) * 10 + b"\xff\xfe\xfd", "not text"),
        ("a.csv", b"\xff\xfe" + b"\x00\xd8" * 3, "not text: begins like utf-16 but breaks"),
        ("a.csv", b"PK\x03\x04" + b"\0" * 30, "not text"),
        ("a.csv.gz", None, "the gzip file is cut short; expected a whole gzip file"),
        ("a.csv", b"\x1f\x8b" + b"x" * 50, "the gzip file is damaged"),
        ("a.parquet", b"PAR1 and then nothing of the kind PAR1", "not a readable Parquet file"),
        ("a.json", b"[]", "an empty list; expected a list of JSON objects"),
        ("a.json", b"[1, 2]", "record 1 is '?1'?; expected a list of JSON objects"),
        ("a.json", b'[{"task": 1,\n "worker": 2,\n "label" 3}]', "a.json, line 3: broken JSON at column 10"),
        (
            "a.json",
            b'[{"task": 1, "worker": 2, "label": [3, 4]}]',
            r"the label in record 1 is a list or an object, '\[3, 4\]'; expected text or a number",
        ),
        ("a.json", b'[{"task": {"id": 1}, "worker": 2, "label": 3}]', "the task in record 1 is a list or an object"),
        (
            "a.json",
            b'[{"task": "\\ud800", "worker": 2, "label": 3}]',
            r"a.json, line 1: half a character, \\ud800; expected surrogates in pairs",
        ),
        (
            "a.json",
            b'[{"task": "\\\\ud800 \\ud83d\\ude00",\n "worker": "\\udc00", "label": 3}]',
            r"a.json, line 2: half a character, \\udc00",
        ),
        (
            "a.jsonl",
            b'{"task": 1, "worker": 2, "label": 3.0}\n{"task": "\\uD800", "worker": 2, "label": 3}',
            r"a.jsonl, line 2: half a character, \\uD800",
        ),
        ("a.json", b'{"1": {"a": "x"},\n "2": {"a" "y"}}', "a.json, line 2: broken JSON at column 12"),
        ("a.json", b'\n{"1":\n {"a": "x"}}', "a.json: one JSON object, in no layout that is known; expected a list"),
        ("a.json", DEEP, "a.json: JSON nested too deeply"),
        ("a.json", b'{"task":' * 100_000, "a.json, line 1: JSON nested too deeply"),
        (
            "a.jsonl",
            b'{"task": 1, "worker": 2, "label": 3}\n\n{"task": 1, "worker"\n',
            'a.jsonl, line 3: broken JSON .*: \'{"task": 1, "worker"\'; expected one JSON object a line',
        ),
        (
            "a.jsonl",
            b'{"task": 1, "worker": 2, "label": 3}\n[1]\n',
            r"a.jsonl, line 2: \['?1'?\]; expected one JSON object a line",
        ),
        (
            "a.jsonl",
            b'{"task": 1, "worker": 2, "label": 3}\n\n{"task": 1, "worker": 2, "label": {"a": 1}}\n',
            "a.jsonl, line 3: the label is a list or an object, '{\"a\": 1}'",
        ),
        (
            "a.jsonl",
            b'{"task": 1, "worker": 2, "label": {}}\n',
            r"a.jsonl, line 1: the label is a list or an object, '{}'",
        ),
        ("a.jsonl", b'{"task": 1, "worker": 2}\n', "no column for the label; columns found: task, worker"),
    ],
)
def test_one_line_with_the_place(put, name, content, message):
    path = put(name, content if content is not None else b"")
    if content is None:
        path.write_bytes(gzip.compress(CSV * 50)[:-12])
    with pytest.raises(BadInput, match=message) as caught:
        read("long", path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600
    assert scores(path).keys() <= {"long"}


def test_names_that_are_not_there(put, tmp_path):
    path = put("a.csv", CSV)
    with pytest.raises(
        BadInput,
        match=r"no column 'who' for the worker; columns found: task, worker, label; expected one of these",
    ):
        read("long", path, worker="who")
    for name in READERS:
        with pytest.raises(BadInput, match=r"no such f"):
            read(name, tmp_path / "nowhere")
        assert module(name).recognise(tmp_path / "nowhere") == 0
    (tmp_path / "empty").mkdir()
    for name in READERS:
        with pytest.raises(BadInput):
            read(name, tmp_path / "empty")


def test_a_ragged_row_far_down_is_found(put):
    rows = b"".join(b"t%d,w1,a\n" % i for i in range(50_000))
    with pytest.raises(BadInput, match=r"a.csv, line 50002: 2 fields, 'x,y'"):
        read("long", put("a.csv", b"task,worker,label\n" + rows + b"x,y\n" + rows))


def test_files_that_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("pipe", "loop"):
        assert scores(tmp_path / name) == {}
    assert scores(Path("/dev/zero")) == {}


# Any bytes at all ----------------------------------------------------------------------------------------------------


def survives(path: Path) -> None:
    """Every reader reads it or says what is wrong, and no score is out of bounds."""
    scores(path)
    for name in READERS:
        try:
            raw = read(name, path)
        except ManyVoicesError as error:
            assert "\n" not in str(error)
            continue
        if raw.rows is not None:
            assert raw.rows["task"].null_count() == 0
            if raw.rows.height and raw.where:
                raw.where(raw.rows.height - 1)


@settings(deadline=None)
@example(DEEP)
@example(b"\x1f\x8b\x08")
@example(b"PAR1PAR1")
@example(b"\xff\xfe\x00")
@given(st.binary(max_size=200))
def test_random_bytes(data):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("x", "answers.json", "answers.txt"):
            (Path(folder) / name).write_bytes(data)
            survives(Path(folder) / name)


LEWIDI = {
    "1": {
        "text": {"context": "a", "statement": "b"},
        "annotators": "Ann1,Ann2,Ann2",
        "annotations": {"Ann1": "x", "Ann2": "x,y"},
        "soft_label": {"x": {"0": 1}, "y": {"0": 1}},
        "split": "dev",
        "other_info": {"explanations": ["a", "b", "c"]},
    }
}
VALID = [
    b'task,worker,label\n"a,1",w1,x\n"b\n2",w2,"y ""z"""\n\nc,w3,\n',
    b"task;w1;w2;w3\n1;a;b;\n2;a;;a\n3;b;b;a\n",
    b'{"task": 1, "worker": "a", "label": 1.0}\n{"task": "2", "worker": "b", "label": null}\n',
    json.dumps({"0": {"0": 1, "1": 0}, "1": {}, "2": {"1": 1}}, indent=1).encode(),
    json.dumps(LEWIDI, indent=1).encode(),
    json.dumps(
        {"1": LEWIDI["1"] | {"annotations": "0,1,0", "hard_label": "0", "soft_label": {"0": 1, "1": 0}}}
    ).encode(),
    b"1 0 -1\n-1 1 1\n",
    gzip.compress(b"task,worker,label\na,b,c\n"),
]


@settings(deadline=None)
@given(st.sampled_from(VALID), st.integers(0, 2**32))
def test_damaged_files(data, seed):
    rng, damaged = random.Random(seed), bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(damaged))
        match rng.randrange(4):
            case 0:
                damaged[at] = rng.choice(b'",;:{}[]\n\r\0 -1ax\xff\x80')
            case 1:
                del damaged[at : at + rng.randint(1, 9)]
            case 2:
                damaged[at:at] = rng.choice(
                    [b'"', b",", b"\n", b"\xff\xfe", b"}", b"NaN", b"1e999", b'"\\ud800"', b"\xef\xbb\xbf", b"[[[["]
                )
            case 3:
                damaged[at:at] = damaged[max(0, at - 20) : at]
        if not damaged:
            break
    with tempfile.TemporaryDirectory() as folder:
        for name in ("X_train.json", "answers.json", "metadata.json", "META.json", "answers.csv"):
            (Path(folder) / name).write_bytes(damaged)
        survives(Path(folder) / "X_train.json")
        survives(Path(folder))
        (Path(folder) / "answers.json").unlink()
        survives(Path(folder))


@settings(deadline=None)
@given(st.text(alphabet="ab\",;\n\r '", max_size=30))
def test_csv_is_read_as_python_reads_it_or_refused(text):
    import csv
    import io

    header = "task,worker,label\n"
    reader = csv.reader(io.StringIO(header + text, newline=""))
    rows, line = [], 1
    for row in reader:
        if any(row) and line > 1:
            rows.append((*(field or None for field in row), line))
        line = reader.line_num + 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_text(header + text, newline="")
        try:
            raw = read("long", path)
        except BadInput:
            return
        places = [raw.where(row)[1] for row in range(raw.rows.height)]
    assert [(*row, line) for row, line in zip(triples(raw.rows), places, strict=True)] == [
        row for row in rows if row[0] and row[1]
    ]


# Writing -------------------------------------------------------------------------------------------------------------

RAW = Raw(
    "test",
    rows=pl.DataFrame({"task": ["t"], "worker": ["w"], "label": ["a"]}),
    truth=pl.DataFrame({"task": ["t"], "label": ["a"]}),
)
SUFFIX = {"long": ".csv", "wide": ".csv", "crowdkit": ".csv", "labelstudio": ".json", "lewidi2023": ".json", "lewidi2025": ".json"}
WRITERS = [name for name in READERS if hasattr(module(name), "write")]


@pytest.mark.parametrize("name", WRITERS)
def test_a_place_that_cannot_be_written(name, tmp_path):
    (tmp_path / "file").write_text("here")
    with pytest.raises(
        NotWritable,
        match=r"cannot write to .*file(/x)?: (Not a directory|File exists); choose another place",
    ) as caught:
        module(name).write(RAW, tmp_path / "file" / f"x{SUFFIX.get(name, '')}")
    assert "\n" not in str(caught.value)
    assert [file.name for file in tmp_path.iterdir()] == ["file"] and (tmp_path / "file").read_text() == "here"


@pytest.mark.parametrize("name", WRITERS)
def test_a_run_that_is_broken_off_leaves_what_was_there(name, tmp_path, monkeypatch):
    out = tmp_path / f"out{SUFFIX.get(name, '')}"
    files = module(name).write(RAW, out)
    before = {file: file.read_bytes() for file in files}

    def break_off(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", break_off)
    with pytest.raises(KeyboardInterrupt):
        module(name).write(Raw("test", rows=RAW.rows.with_columns(worker=pl.lit("v")), truth=RAW.truth), out)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_folders_made_for_nothing_go_away(tmp_path):
    with pytest.raises(NotWritable, match=r"disk full"), writing(tmp_path / "a" / "b") as new:
        new("c/d.txt").write_text("half")
        raise OSError(28, "disk full")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_where_the_file_should_be(tmp_path):
    (tmp_path / "out.csv").mkdir()
    with pytest.raises(NotWritable, match=r"Is a directory"):
        module("long").write(RAW, tmp_path / "out.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["out.csv"]


def test_a_gzip_file_made_to_fill_the_memory(put, monkeypatch):
    from manyvoices.methods.read import _text

    path = put("a.csv.gz", "")
    path.write_bytes(gzip.compress(CSV + b" " * 4_000_000))
    monkeypatch.setattr(_text, "MOST", 1000)
    with pytest.raises(BadInput, match=r"a.csv.gz: the gzip file grows more than five hundredfold"):
        read("long", path)
    path.write_bytes(gzip.compress(CSV[:25]) + gzip.compress(CSV[25:]) + b"\0" * 9)
    assert triples(read("long", path).rows) == [("t1", "w1", "a"), ("t2", "w1", "b")]
    path.write_bytes(gzip.compress(CSV[:25]) + gzip.compress(CSV[25:])[:-9])
    with pytest.raises(BadInput, match=r"cut short"):
        read("long", path)


def test_nothing_is_printed_about_a_damaged_parquet_file(put, capfd, monkeypatch):
    def panic(*_, **__):
        os.write(2, b"thread panicked\nstack backtrace:\n")
        raise pl.exceptions.PanicException("left == right\nleft: 0")

    path = put("a.parquet", "PAR1 or so")
    monkeypatch.setattr(pl, "read_parquet", panic)
    for name in ("long", "labelstudio"):
        assert module(name).recognise(path) == 0
        with pytest.raises(BadInput, match=r"a.parquet: not a readable Parquet file \(left == right\)"):
            read(name, path)
    assert capfd.readouterr() == ("", "")
    os.write(2, b"still there")
    assert capfd.readouterr().err == "still there"
