"""`manyvoices compare` on the command line: columns, files, --json, messages, gates, exit codes."""

import json
from pathlib import Path

import numpy as np
import pytest
from calling import caller

COLUMNS = ["score", "of", "name", "other", "group", "value", "low", "high", "n", "note"]
DEFAULT = ["mv", "wawa", "onecoin", "ds", "glad", "mace", "bcc"]


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """In a folder with a data set of forty tasks, truth for thirty of them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=40)
    lines = ["task,worker,label"]
    for t in range(40):
        for w in range(6):
            label = truth[t] if rng.random() < .5 + .08 * w else rng.integers(3)
            lines.append(f"t{t},w{w},{'abc'[label]}")
    Path("data").mkdir()
    Path("data/answers.csv").write_text("\n".join(lines) + "\n")
    Path("data/truth.csv").write_text("task,label\n" + "".join(f"t{t},{'abc'[truth[t]]}\n" for t in range(30)))

    return caller(capsys)


def test_the_table(cli):
    done = cli("compare", "data")
    assert done.code == 0 and list(done.rows[0]) == COLUMNS
    assert {row["of"] for row in done.rows} == {"method"}
    for score in ("recommended", "predicts_own", "predicts_tempered", "predicts_label", "predicts_own_rank", "accuracy", "log_loss", "ece"):
        assert [row["name"] for row in done.rows if row["score"] == score] == DEFAULT, score
    gaps = [row for row in done.rows if row["score"] == "predicts_own_gap" and row["other"] == "bcc"]
    assert [row["name"] for row in gaps] == DEFAULT[:-1]
    for row in done.rows:
        assert row["value"] or row["note"]
        if row["low"]:
            assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
        if row["score"] == "accuracy":
            assert row["n"] == "30"
    assert "predict" in done.err and "recommended: " in done.err
    assert sum(float(row["value"]) for row in done.rows if row["score"] == "recommended") == 1


def test_without_truth_nothing_is_promised(cli):
    done = cli("compare", "data/answers.csv", "-s", "mv,bcc", "--rounds", 2, "--hide", .2, "--seed", 3)
    assert done.code == 0
    assert not {"accuracy", "log_loss", "ece"} & {row["score"] for row in done.rows}
    assert {row["n"] for row in done.rows if row["score"] == "predicts_own"} == {str(2 * 48)}
    assert "how well a method predicts answers, which is not how often it is right" in done.err
    assert "accura" not in done.out + done.err


def test_json(cli):
    done = cli("compare", "data", "-s", "mv,ds[smoothing=0.1]", "--rounds", 1, "--seed", 7, "--json")
    found = json.loads(done.out)
    assert list(found) == ["command", "version", "seed", "input", "options", "result", "notes", "files"]
    assert (found["command"], found["seed"], found["input"]) == ("compare", 7, "data")
    assert found["options"]["rounds"] == 1 and found["options"]["hide"] == .1
    assert list(found["result"][0]) == COLUMNS
    assert {row["name"] for row in found["result"]} == {"mv", "ds[smoothing=0.1]"}
    assert "method" in done.err and "ds[smoothing=0.1]" in done.err                 # side by side for the reader
    assert json.loads(cli("compare", "data", "-s", "mv,ds[smoothing=0.1]", "--rounds", 1, "--seed", 7, "--json").out) == found


def test_files(cli):
    assert cli("compare", "data", "-s", "mv,bcc", "--rounds", 1, "-o", "scores.csv").out == ""
    assert cli("compare", "data", "-s", "mv,bcc", "--rounds", 1, "-o", "out/").code == 0
    assert Path("out/scores.csv").read_bytes() == Path("scores.csv").read_bytes()
    assert json.loads(Path("out/manifest.json").read_text())
    assert cli("compare", "data", "-s", "mv,bcc", "--rounds", 1).out.encode() == Path("scores.csv").read_bytes()


def test_one_method_with_several_options(cli):
    done = cli("compare", "data", "-s", "mv,ds,ds[smoothing=0.5]", "--rounds", 1)
    assert done.code == 0 and {row["name"] for row in done.rows} == {"mv", "ds", "ds[smoothing=0.5]"}
    assert cli("compare", "data", "-s", "ds,ds").code == 2


def test_quiet(cli):
    assert cli("compare", "data", "-s", "mv,bcc", "--rounds", 1, "-q").err == ""


def test_gates(cli):
    assert cli("compare", "data", "-s", "mv,bcc", "--rounds", 1, "--min-accuracy", .1).code == 0
    done = cli("compare", "data", "-s", "mv,bcc", "--rounds", 1, "--min-predicts-label", .999)
    assert done.code == 4 and "predicts_label of mv is" in done.err


@pytest.mark.parametrize("args, code, said", [
    (["data", "-s", "dss"], 2, "Did you mean 'ds'"),
    (["data", "--rounds", 0], 2, "rounds"),
    (["data", "--hide", 1.5], 2, "hide is 1.5"),
    (["data", "-s", "mean"], 3, "no method can be fitted: mean needs ordered labels"),
    (["nothing"], 3, "nothing"),
])
def test_errors(cli, args, code, said):
    done = cli("compare", *args)
    assert done.code == code and done.out == "" and said in done.err.splitlines()[-1]


def test_ordered_labels(cli):
    lines = Path("data/answers.csv").read_text().splitlines()
    numbers = {"a": "1", "b": "2", "c": "3"}
    Path("numbers.csv").write_text("\n".join([lines[0], *(line[:-1] + numbers[line[-1]] for line in lines[1:])]) + "\n")
    done = cli("compare", "numbers.csv", "--scale", "interval", "--rounds", 1)
    assert done.code == 0 and {row["name"] for row in done.rows} == {"mean", "median", "ordinal"}
    done = cli("compare", "numbers.csv", "--scale", "ordinal", "--rounds", 1)
    assert done.code == 0 and {row["name"] for row in done.rows} == {*DEFAULT, "mean", "median", "ordinal"}
    assert "predicts_error" in {row["score"] for row in done.rows}


def test_counts_without_workers(cli):
    Path("counts.jsonl").write_text("".join(
        json.dumps({"task": f"t{t}", "labels": ["a"] * (t % 4 + 1) + ["b"] * (3 - t % 3)}) + "\n" for t in range(40)))
    done = cli("compare", "counts.jsonl", "--from", "hf")
    assert done.code == 0
    notes = {row["name"]: row["note"] for row in done.rows if row["score"] == "predicts_own"}
    assert notes["ds"].startswith("not defined because it needs to know who answered") and "hidden answers" in notes["mv"]
    assert "recommended: mv" in done.err
