from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import read, scores, surest, triples

from manyvoices.core.dataset import Raw
from manyvoices.core.errors import BadCall, BadInput, Unknown
from manyvoices.methods.read import _table
from manyvoices.methods.read.long import questions, write

ROWS = [("007", "w1", "cat"), ("7", "w2", "NA"), ("007", "w2", "nan"), ("1.0", "w1", "None")]
CSV = "task,worker,label\n" + "\n".join(map(",".join, ROWS)) + "\n"


def test_ids_and_labels_stay_text(put):
    raw = read("long", put("a.csv", CSV))
    assert triples(raw.rows) == ROWS
    assert raw.rows.schema == dict.fromkeys(("task", "worker", "label"), pl.String)
    assert raw.format == "long" and raw.dropped == {} and raw.notes == []


@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_separators_and_line_ends(put, separator, end):
    path = put("a.txt", CSV.replace(",", separator).replace("\n", end))
    assert triples(read("long", path).rows) == ROWS
    assert surest(path) == "long"


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz", "misnamed.gz"])
def test_packed_files(put, name):
    content = (
        CSV
        if "json" not in name
        else "\n".join(json.dumps(dict(zip(("task", "worker", "label"), r, strict=True))) for r in ROWS)
    )
    path = put(name, content)
    assert triples(read("long", path).rows) == ROWS
    assert surest(path) == "long"


def test_packed_without_the_suffix(put):
    assert triples(read("long", put("a.csv", gzip.compress(CSV.encode()))).rows) == ROWS


@pytest.mark.parametrize(
    "header",
    [
        "item,annotator,answer",
        "Item ID,Rater ID,Label",
        "example,user,class",
        " task , worker , label ",
        "instance_id,performer,annotation",
        "TASK,WORKER,LABEL",
        "id,coder,rating",
        "comment.id,annotator-id,response",
    ],
)
def test_usual_names_of_columns(put, header):
    path = put("a.csv", CSV.replace("task,worker,label", header))
    assert triples(read("long", path).rows) == ROWS
    assert surest(path) == "long"


def test_columns_by_name_and_further_columns_as_notes(put):
    path = put("a.csv", "task,worker,label,who,why,count\nt1,x,y,anna,because,3\n")
    raw = read("long", path, worker="who", label="why")
    assert raw.rows.to_dicts() == [
        {"task": "t1", "worker": "anna", "label": "because", "worker_": "x", "label_": "y", "count_": "3"}
    ]
    assert read("long", path).rows.columns == ["task", "worker", "label", "who", "why", "count_"]
    assert read("long", put("b.csv", "a,b,c\n1,2,3\n"), task="c", worker="a", label="b").rows.row(0) == ("3", "1", "2")


def test_missing_labels_are_null_and_missing_ids_dropped(put):
    raw = read("long", put("a.csv", 'task,worker,label\nt1,w1,\nt1,w2,""\n,w1,a\nt2,,b\n"",w1,c\nt2,w2, \n'))
    assert triples(raw.rows) == [("t1", "w1", None), ("t1", "w2", None), ("t2", "w2", " ")]
    assert raw.dropped == {"no task": 2, "no worker": 1}
    assert [raw.where(row)[1] for row in range(3)] == [2, 3, 7]


def test_quoted_ids_with_everything_in_them(put):
    ids = ["a,b", 'c"d', "e\nf", "g\r\nh", " i ", "'j'", "k;l\tm"]
    text = "task,worker,label\n" + "".join(f'"{i.replace(chr(34), chr(34) * 2)}",w,x\n' for i in ids)
    raw = read("long", put("a.csv", text))
    assert raw.rows["task"].to_list() == ids
    assert [raw.where(row)[1] for row in range(len(ids))] == [2, 3, 4, 6, 8, 9, 10]


def test_a_quote_within_a_field_takes_the_slow_way(put):
    raw = read("long", put("a.csv", 'task,worker,label\n5" pipe,w1,a\n6",w2,b\nx,w3,"c ""d"""\n'))
    assert triples(raw.rows) == [('5" pipe', "w1", "a"), ('6"', "w2", "b"), ("x", "w3", 'c "d"')]


def test_empty_lines_are_skipped_with_a_note(put):
    raw = read("long", put("a.csv", "\n\ntask,worker,label\n\nt1,w1,a\n\n\nt2,w1,b\n"))
    assert triples(raw.rows) == [("t1", "w1", "a"), ("t2", "w1", "b")]
    assert raw.notes == ["a.csv: 3 empty lines skipped"]
    assert [raw.where(row)[1] for row in range(2)] == [5, 8]


def test_a_field_of_any_length(put):
    long = "x" * 300_000
    raw = read("long", put("a.csv", f'task,worker,label,why\nt,w,a,{long}\nu,w,a,"{long}"\n'))
    assert raw.rows["why"].str.len_chars().to_list() == [300_000] * 2
    assert raw.where(1)[1] == 3


def test_a_last_column_with_gaps_is_not_ragged(put):
    assert read("long", put("a.csv", "task,worker,label,why\nt1,w1,a,\nt2,w1,b,so\n,,,\n")).rows["why"].to_list() == [
        None,
        "so",
    ]
    assert read("long", put("b.csv", 'task,worker,label,why\nt1,w1,a,\nt2,w1,b,"x,y"\n')).rows["why"].to_list() == [
        None,
        "x,y",
    ]


@pytest.mark.parametrize(
    ("encoding", "note"),
    [
        ("utf-8", None),
        ("utf-8-sig", "byte order mark"),
        ("utf-16", "UTF-16"),
        ("utf-32", "UTF-32"),
        ("cp1252", "Windows-1252"),
    ],
)
def test_encodings(put, encoding, note):
    path = put("a.csv", "task,worker,label\nStraße,Zoë,naïve – “so”\n".encode(encoding))
    raw = read("long", path)
    assert raw.rows.row(0) == ("Straße", "Zoë", "naïve – “so”")
    assert (raw.notes == []) if note is None else note in raw.notes[0]
    assert raw.where(0)[1] == 2
    assert surest(path) == "long"


def test_latin_1_where_windows_has_no_letter(put):
    raw = read("long", put("a.csv", b"task,worker,label\n\xe9\x81,w,a\n"))
    assert raw.rows["task"][0] == "é\x81" and "Latin-1" in raw.notes[0]


def test_json_lines_with_numbers_as_written(put):
    lines = [
        '{"task": 7, "worker": 12345678901234567890123, "label": 1.0}',
        "",
        '{"task": "007", "worker": 1e3, "label": true, "why": {"a": [1.50]}}',
        '{"task": -0, "worker": "w", "label": null}',
        '{"task": "t", "worker": "w", "label": NaN}',
        '{"task": "t", "worker": null, "label": "x"}',
        '{"task": "t", "worker": "w", "label": ""}',
    ]
    raw = read("long", put("a.jsonl", "\n".join(lines)))
    assert triples(raw.rows) == [
        ("7", "12345678901234567890123", "1.0"),
        ("007", "1e3", "true"),
        ("-0", "w", None),
        ("t", "w", None),
        ("t", "w", None),
    ]
    assert raw.rows["why"].to_list() == [None, '{"a": [1.50]}', None, None, None]
    assert raw.dropped == {"no worker": 1}
    assert [raw.where(row)[1] for row in range(5)] == [1, 3, 4, 5, 7]


def test_json_list(put):
    path = put("a.json", '[{"item": 1, "rater": "a", "class": "x"},\n {"item": 2, "rater": "b", "class": "y"},\n]')
    raw = read("long", path)
    assert triples(raw.rows) == [("1", "a", "x"), ("2", "b", "y")]
    assert "commas" in raw.notes[0] and raw.where(1) == (path, 2)
    assert surest(path) == "long"


def test_commas_at_the_end_of_json_lines(put):
    raw = read(
        "long",
        put("a.jsonl", '{"task": "a, ]", "worker": "w", "label": "x",},\n{"task": "b", "worker": "w", "label": "y"}\n'),
    )
    assert triples(raw.rows) == [("a, ]", "w", "x"), ("b", "w", "y")]
    assert "1 line" in raw.notes[0]


@given(
    st.lists(
        st.fixed_dictionaries(
            {"task": st.one_of(st.text(max_size=5), st.integers(), st.floats(), st.booleans(), st.none())},
            optional={"label": st.one_of(st.text('a"\\:{[é', max_size=5), st.integers(-9, 9), st.none())},
        ),
        min_size=1,
    )
)
def test_the_fast_way_through_json_lines_gives_what_the_slow_one_gives(records):
    data = "\n".join(json.dumps(record) for record in records).encode()
    fast = _table._fast_json_lines(data)
    if fast is not None:
        slow, nested = _table._columns([_table.decoder.decode(line) for line in data.decode().split("\n")])
        assert fast.equals(slow) and not nested


def test_parquet_of_any_type(put, tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame(
        {
            "task": [7, 8, 9],
            "worker": pl.Series(["a", "b", None], dtype=pl.Categorical),
            "label": [1.0, float("nan"), 2.5],
            "sure": [True, False, None],
            "tags": [["a"], [], None],
        }
    ).write_parquet(path)
    raw = read("long", path)
    assert triples(raw.rows) == [("7", "a", "1.0"), ("8", "b", None)]
    assert raw.rows["sure"].to_list() == ["true", "false"] and raw.rows["tags"].to_list() == ['["a"]', "[]"]
    assert raw.dropped == {"no worker": 1} and raw.where(1) == (path, 2)
    assert surest(path) == "long"


def test_line_separators_within_text_do_not_end_a_line(put):
    for path in (
        put("a.jsonl", '{"task": "a\u2028b\x85", "worker": "w", "label": "\x0bx"}\n'),
        put("a.csv", "task,worker,label\na\u2028b\x85,w,\x0bx\n"),
    ):
        assert triples(read("long", path).rows) == [("a\u2028b\x85", "w", "\x0bx")] and surest(path) == "long"


def test_a_column_name_is_no_pattern(put):
    raw = read("long", put("a.csv", "^.*$,^task$,worker,label\n1,2,3,4\n"), task="^task$")
    assert raw.rows.to_dicts() == [{"task": "2", "worker": "3", "label": "4", "^.*$": "1"}]


def test_counts_without_workers(put):
    path = put("a.csv", "task,label,n\nt1,a,3\nt1,b,0\n")
    raw = read("long", path)
    assert raw.rows.to_dicts() == [{"task": "t1", "label": "a", "count": 3}, {"task": "t1", "label": "b", "count": 0}]
    assert raw.rows.schema["count"] == pl.Int64 and surest(path) == "long"
    with pytest.raises(BadInput, match=r"line 2: the count is '1.5'"):
        read("long", put("b.csv", "task,label,count\nt1,a,1.5\n"))


def test_labels_of_nobody_in_particular(put):
    raw = read("long", put("a.csv", "task,label\nt1,a\nt1,b\n"))
    assert raw.rows.columns == ["task", "label"] and "no column names the workers" in raw.notes[0]


def test_predictions_name_nobody(put):
    """What `predict` writes is read again, to be written as a submission or as predictions to import."""
    path = put("predictions.csv", "task,split,label,prob,p:a,p:b\nt1,test,a,0.9,0.9,0.1\n")
    assert read("long", path).rows.columns == ["task", "label", "split", "prob", "p:a", "p:b"] and surest(path) == "long"


def test_several_questions(put):
    path = put("a.csv", "task,worker,question,label\nt1,w1,colour,red\nt1,w1,size,big\nt2,w1,colour,blue\nt2,w2,,x\n")
    with pytest.raises(BadCall, match=r"several questions: colour, size; choose one with --question"):
        read("long", path)
    raw = read("long", path, question="colour")
    assert triples(raw.rows) == [("t1", "w1", "red"), ("t2", "w1", "blue")]
    assert raw.about == {"question": "colour"} and raw.dropped == {"no question": 1} and raw.where(1)[1] == 4
    with pytest.raises(Unknown, match=r"no question called 'color'. Did you mean 'colour'"):
        read("long", path, question="color")
    assert questions(path) == ["colour", "size"]


def test_a_question_that_is_the_text_of_its_task_is_a_note(put):
    path = put("a.csv", "task,worker,question,label\nt1,w1,What is it?,red\nt1,w2,What is it?,big\nt2,w1,Who?,blue\n")
    assert read("long", path).rows["question"].to_list() == ["What is it?"] * 2 + ["Who?"]
    assert questions(path) == []


def test_recognise(put, tmp_path):
    assert scores(put("a.csv", CSV)) == {"long": 0.6}
    assert scores(put("texts.csv", "task,text\n1,hello\n2,there\n")) == {}
    assert scores(put("x.json", {"a": 1})) == {}
    assert scores(tmp_path) == {}


# Writing -------------------------------------------------------------------------------------------------------------

ids = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
answers = st.lists(st.tuples(ids, ids, st.none() | ids), min_size=1, max_size=8)


def raw_of(rows) -> Raw:
    return Raw(
        "test", rows=pl.DataFrame(rows, schema=dict.fromkeys(("task", "worker", "label"), pl.String), orient="row")
    )


@settings(deadline=None)
@given(answers, st.sampled_from([".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".tsv.gz", ".jsonl.gz"]))
def test_any_text_comes_back_as_it_went_in(rows, suffix):
    with tempfile.TemporaryDirectory() as folder:
        [path] = write(raw_of(rows), Path(folder) / f"a{suffix}")
        assert triples(read("long", path).rows) == rows
        assert list(Path(folder).iterdir()) == [path]


def test_a_table_has_a_known_suffix(tmp_path):
    with pytest.raises(BadCall, match=r"a.xlsx: no table has this suffix; known are .csv"):
        write(raw_of([("t", "w", "a")]), tmp_path / "a.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_write(tmp_path):
    with pytest.raises(BadCall, match=r"no answers to write"):
        write(Raw("test"), tmp_path / "a.csv")


def test_the_same_bytes_again(tmp_path):
    first, second = (write(raw_of([("t", "w", "a")]), tmp_path / name / "x.csv.gz")[0].read_bytes() for name in "ab")
    assert first == second


def test_answers_counted_together_are_written_one_by_one(tmp_path):
    rows = pl.DataFrame({"task": ["t", "u"], "worker": ["w", "w"], "label": ["a", "b"], "count": [2, 1]})
    [path] = write(Raw("test", rows=rows), tmp_path / "a.csv")
    assert path.read_text() == "task,worker,label\nt,w,a\nt,w,a\nu,w,b\n"


@pytest.mark.parametrize("suffix", [".csv", ".tsv.gz", ".jsonl", ".parquet"])
def test_ordinary_tables_are_one_parallel_read(tmp_path, monkeypatch, suffix):
    [path] = write(
        raw_of(
            [(f"t{n % 97}", f"w{n % 7}", None if n % 5 == 0 and suffix != ".jsonl" else "é") for n in range(10_000)]
        ),
        tmp_path / f"a{suffix}",
    )

    def slowly(*_):
        raise AssertionError("a loop over rows in Python")

    for name in ("_rows", "_chunks", "_columns"):
        monkeypatch.setattr(_table, name, slowly)
    assert read("long", path).rows.height == 10_000
