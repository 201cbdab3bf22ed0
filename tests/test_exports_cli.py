"""Exports of labelling tools on the command line: every sample through inspect, convert, aggregate, agree, identify."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path

import pytest
from calling import caller

sys.path.insert(0, str(Path(__file__).parent / "methods" / "read"))
from samples import SAMPLES, lay


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    return caller(capsys)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_export_goes_through_every_verb(cli, tmp_path, name):
    format, files = SAMPLES[name]
    path = lay(tmp_path / "export", files) if "" in files else lay(tmp_path, files)
    first = cli("inspect", path, "--json")
    asked = []
    if first.code == 2:                                      # several questions, all of them listed
        listed = first.error["expected"].split(", ")
        assert len(listed) > 1 and all(cli("inspect", path, "--question", q, "--json").code == 0 for q in listed)
        asked = ["--question", listed[0]]
    seen = cli("inspect", path, *asked, "--json").json["result"]
    assert seen["format"] == format and seen["answers"] > 0
    assert cli("convert", path, "again.csv", *asked).code == 0
    again = cli("inspect", "again.csv", "--json").json["result"]
    assert [again[key] for key in ("tasks_answered", "workers", "answers")] == [seen[key] for key in ("tasks_answered", "workers", "answers")]
    done = cli("aggregate", path, *asked, "-s", "mv")
    assert done.code == 0 and len(done.out.splitlines()) == seen["tasks_answered"] + 1, done.err
    for verb in ("agree", "identify"):
        done = cli(verb, path, *asked, "--json")
        assert done.code == 0 and done.json["result"], done.err
        assert all(row["value"] is not None or row["note"].startswith("not defined because") for row in done.json["result"])
    done = cli("compare", path, *asked, "-s", "mv", "--rounds", 1)
    assert done.code in (0, 3) and done.err.count("\n") < 12  # data too small to hide anything from are told so


def test_several_labels_an_answer_are_no_repeats(cli, tmp_path):
    said = [{"id": 1, "text": "x", "label": ["a", "b"], "Comments": []}, {"id": 2, "text": "y", "label": ["b"], "Comments": []}]
    lines = "".join(json.dumps(one) + "\n" for one in said)
    lay(tmp_path / "labels", {"": None, "ann.jsonl": lines, "bo.jsonl": lines})
    done = cli("inspect", "labels")
    assert "beyond a worker's first" not in done.out + done.err and "--multilabel binary" in done.out + done.err
    found = cli("inspect", "labels", "--json").json["result"]
    assert found["several_labels"] == 2 and not {"agreement", "unanimous_tasks", "repeated_answers"} & found.keys()
    one = cli("inspect", "labels", "--multilabel", "binary", "--question", "a", "--json").json["result"]
    assert one["agreement"] == 1 and one["repeated_answers"] == 0
    asked = cli("inspect", "labels", "--multilabel", "binary", "--json")
    assert asked.code == 2 and asked.error["expected"] == "a, b"


@pytest.mark.parametrize("name", ["locked", "locked/answers.csv"])
@pytest.mark.parametrize("verb", [["inspect"], ["inspect", "--on", "disk"], ["convert", "--question", "all"]])
def test_what_one_may_not_look_into_is_unreadable_input(cli, monkeypatch, tmp_path, name, verb):
    """Simulated: whoever runs the tests as root may look into everything."""
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "answers.csv").write_text("task,worker,label\n1,a,x\n1,b,y\n")

    def locked(look):
        def looking(path, *args, **more):
            if folder in Path(path).absolute().parents:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return look(path, *args, **more)

        return looking

    for of, look in ((Path, "stat"), (Path, "open"), (os, "stat")):
        monkeypatch.setattr(of, look, locked(getattr(of, look)))
    done = cli(verb[0], tmp_path / name, *(["out/"] if verb[0] == "convert" else []), *verb[1:])
    assert done.code == 3 and "cannot be read (Permission denied)" in done.err and not Path("out").exists()
