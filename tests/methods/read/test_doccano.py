from __future__ import annotations

import io
import zipfile

import pytest
from reading import module, read, surest, triples
from samples import DOCCANO, lines, zipped

import manyvoices as mv
from manyvoices.core.errors import BadInput

ROWS = [("1", "anna", "pos"), ("2", "anna", None), ("1", "ben", "pos"), ("1", "ben", "odd"), ("2", "ben", "neg")]


def test_the_worker_is_the_name_of_the_file(put, tmp_path):
    path = put("export.zip", zipped(anna__jsonl=DOCCANO["anna"], ben__jsonl=DOCCANO["ben"]))
    raw = read("doccano", path)
    assert triples(raw.rows) == ROWS and raw.scale == "multilabel" and surest(path) == "doccano"
    assert raw.where(4) == (path / "ben.jsonl", 2)
    for name, text in DOCCANO.items():
        put(f"folder/{name}.jsonl", text)
    assert triples(read("doccano", tmp_path / "folder").rows) == ROWS


def test_a_shared_export_names_nobody(put):
    for path in (put("all.jsonl", DOCCANO["ben"]), put("a.zip", zipped(all__jsonl=DOCCANO["ben"]))):
        raw = read("doccano", path)
        assert raw.rows.rows() == [("1", "pos"), ("1", "odd"), ("2", "neg")]
        assert raw.notes == ["all: annotation was shared, and nobody is named; labels are only counted"]
    both = read("doccano", put("b.zip", zipped(all__jsonl=DOCCANO["ben"], anna__jsonl=DOCCANO["anna"])))
    assert set(both.rows["worker"]) == {"all", "anna"}  # among others, somebody is called that


def test_gzipped_files_name_their_users_too(put):
    for name, text in DOCCANO.items():
        put(f"folder/{name}.jsonl.gz", text)
    folder = put("folder/.hidden", "").parent
    assert surest(folder) == "doccano" and triples(read("doccano", folder).rows) == ROWS
    shared = put("all.jsonl.gz", DOCCANO["ben"])
    assert surest(shared) == "doccano" and "worker" not in read("doccano", shared).rows.columns
    table = put("packed/anna.csv.gz", "id,text,label,Comments\n1,x,pos#odd,\n2,y,,\n").parent
    assert triples(read("doccano", table).rows) == [("1", "anna", "pos"), ("1", "anna", "odd"), ("2", "anna", None)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zipped(anna__jsonl=DOCCANO["anna"])[:60], r"not a readable zip"),
        (zipped(notes__txt="x"), r"no .jsonl, .json or .csv in the zip"),
    ],
    ids=["cut off", "something else"],  # a zip holds the time it was made
)
def test_a_zip_that_is_no_export_is_told_so(put, content, message):
    with pytest.raises(BadInput, match=message):
        mv.read(put("a.zip", content))


def test_addresses_for_user_names_are_not_kept(put):
    raw = read(
        "doccano", put("a.zip", zipped(**{"z@x__org__jsonl": DOCCANO["anna"], "a@x__org__jsonl": DOCCANO["ben"]}))
    )
    assert set(raw.rows["worker"]) == {"mail_1", "mail_2"} and raw.rows["worker"][0] == "mail_1"


def test_csv_joins_labels(put):
    raw = read("doccano", put("f/anna.csv", "id,text,label,Comments\n1,x,pos#odd,\n2,y,,\n").parent)
    assert triples(raw.rows) == [("1", "anna", "pos"), ("1", "anna", "odd"), ("2", "anna", None)]


def test_spans_and_relations_are_no_labels(put):
    spans = lines(
        {"id": 1, "text": "x", "label": [[0, 3, "PER"]]},
        {"id": 2, "text": "x", "entities": [], "relations": []},
        {"id": 3, "text": "x", "label": ["a"]},
        {"id": 4, "filename": "x.png", "bbox": [{"x": 1, "y": 2, "width": 3, "height": 4, "label": "car"}]},
    )
    raw = read("doccano", put("a.zip", zipped(anna__jsonl=spans)))
    assert triples(raw.rows) == [("3", "anna", "a")] and raw.dropped == {"documents with spans": 3}


def test_intents_stand_beside_slots(put):
    slots = {"text": "x", "entities": [[0, 3, "City"]], "Comments": []}
    said = lines(slots | {"id": 1, "cats": ["flight"]}, slots | {"id": 2, "cats": []})
    path = put("a.zip", zipped(anna__jsonl=said, ben__jsonl=said))
    raw = read("doccano", path)
    assert surest(path) == "doccano" and not raw.dropped
    assert triples(raw.rows) == [(t, w, "flight" if t == "1" else None) for w in ("anna", "ben") for t in "12"]


def test_a_zip_stays_in_memory_and_small(put, tmp_path, monkeypatch):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("../../evil/anna.jsonl", DOCCANO["anna"])
        archive.writestr("__MACOSX/._anna.jsonl", b"\0\0")
        archive.writestr("x/.hidden.jsonl", b"\0\0")
    path = put("a.zip", out.getvalue())
    raw = read("doccano", path)
    assert raw.where(0) == (path / "anna.jsonl", 1) and set(raw.rows["worker"]) == {"anna"}
    assert [file.name for file in tmp_path.rglob("*")] == ["a.zip"]
    monkeypatch.setattr(module("doccano"), "MOST", 1000)
    bomb = put("b.zip", zipped(a__jsonl=DOCCANO["anna"], b__jsonl=" " * 100_000))
    with pytest.raises(BadInput, match=r"'b.jsonl' makes the zip larger than 1000 bytes unpacked"):
        read("doccano", bomb)
    monkeypatch.setattr(module("doccano"), "FILES", 1)
    with pytest.raises(BadInput, match=r"2 files in the zip"):
        read("doccano", bomb)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zipped(readme__txt="x"), "no .jsonl, .json or .csv in the zip"),
        (zipped(anna__jsonl=DOCCANO["anna"])[:60], "not a readable zip"),
        (zipped(anna__jsonl='{"id": 1'), "anna.jsonl, line 1: broken JSON"),
        (zipped(anna__jsonl='{"id": [1], "label": ["a"]}'), "anna.jsonl, line 1: the id is"),
        (zipped(anna__jsonl=b"\xff\xfe\x00"), "not text"),
    ],
    ids=["nothing of ours", "cut", "broken", "odd id", "no text"],  # by default the bytes, which hold the time of day
)
def test_bad_zips(put, content, message):
    with pytest.raises(BadInput, match=message):
        read("doccano", put("a.zip", content))
