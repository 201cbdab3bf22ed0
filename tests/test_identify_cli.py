"""`manyvoices identify` on the command line: columns, files, --json, side inputs, gates, messages, exit codes."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from calling import caller

COLUMNS = ["score", "of", "name", "other", "group", "value", "low", "high", "n", "note"]


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """In a folder with a data set of forty tasks, truth for thirty of them, a time and a moment for each answer."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=40)
    lines, bare, numbers = ["task,worker,label,seconds,when"], ["task,worker,label"], ["task,worker,label"]
    for t in range(40):
        for w in range(6):
            label = truth[t] if rng.random() < .5 + .08 * w else rng.integers(3)
            lines.append(f"t{t},w{w},{'abc'[label]},{1 + w + rng.random():.3f},2024-05-{1 + t // 4:02}T{w:02}:{t:02}:00Z")
            bare.append(f"t{t},w{w},{'abc'[label]}")
            numbers.append(f"t{t},w{w},{label + .3 * (w == 5):.2f}")
    Path("data").mkdir()
    Path("data/answers.csv").write_text("\n".join(lines) + "\n")
    Path("data/truth.csv").write_text("task,label\n" + "".join(f"t{t},{'abc'[truth[t]]}\n" for t in range(30)))
    Path("bare.csv").write_text("\n".join(bare) + "\n")
    Path("numbers.csv").write_text("\n".join(numbers) + "\n")
    Path("gold.csv").write_text("task,label\n" + "".join(f"t{t},{'abc'[truth[t]]}\n" for t in range(8)))
    probs = np.eye(3)[truth] * .7 + .1
    Path("probs.csv").write_text("task,p:a,p:b,p:c\n" + "".join(f"t{t},{','.join(map(str, probs[t]))}\n" for t in range(40)))

    return caller(capsys)


def test_a_table_on_stdout(cli):
    done = cli("identify", "bare.csv", "-s", "skill,entropy")
    assert done.code == 0 and done.out.splitlines()[0] == ",".join(COLUMNS)
    assert [row["name"] for row in done.rows if row["score"] == "skill"] == [f"w{w}" for w in range(6)]
    assert [row["name"] for row in done.rows if row["score"] == "entropy"] == sorted(f"t{t}" for t in range(40))
    assert {row["of"] for row in done.rows} == {"worker", "task"}
    assert all(float(row["low"]) <= float(row["value"]) <= float(row["high"]) for row in done.rows)
    assert "consensus: bcc (another: --consensus METHOD)" in done.err


def test_all_that_apply(cli):
    done = cli("identify", "data", "-o", "scores.csv")
    scores = {row["score"] for row in csv.DictReader(io.StringIO(Path("scores.csv").read_text()))}
    assert done.code == 0 and done.out == ""
    assert {"accuracy", "another_vote", "difficulty", "drift", "entropy", "margin", "skill", "spam_score", "speed", "trace", "twothird"} <= scores
    assert "accuracy: 6 rows of worker, median" in done.err and "  surely high  w" in done.err


def test_against_what(cli):
    notes = {}
    for name, more in (("truth", ()), ("gold", ("--gold", "gold.csv")), ("others", ("--consensus", "ds")), ("forced", ("--against", "consensus", "--consensus", "mv"))):
        done = cli("identify", "data", "-s", "accuracy", *more)
        assert done.code == 0, done.err
        notes[name] = {row["note"] for row in done.rows}
    assert notes["truth"] == {"against the truth"} and notes["gold"] == {"against gold"}
    assert notes["others"] == {"against the consensus of the others, allowing for its doubt"}
    assert notes["forced"] == {"against the majority of the others"}
    assert {row["n"] for row in cli("identify", "data", "-s", "accuracy").rows} == {"30"}


def test_a_label_table_of_our_own(cli):
    assert cli("aggregate", "bare.csv", "-s", "ds", "-o", "labels.csv", "--soft").code == 0
    assert cli("aggregate", "bare.csv", "-s", "ds", "-o", "fit/").code == 0
    table = cli("identify", "bare.csv", "-s", "accuracy", "--consensus", "labels.csv")
    folder = cli("identify", "bare.csv", "-s", "trace", "--consensus", "fit/")
    method = cli("identify", "bare.csv", "-s", "trace", "--consensus", "ds")
    assert table.code == folder.code == 0 and {row["note"] for row in table.rows} == {"against the labels given"}
    assert folder.out == method.out
    tables = list(csv.DictReader(io.StringIO(Path("fit/confusions.csv").read_text())))
    for row in method.rows:
        assert float(row["value"]) == pytest.approx(sum(float(c["prob"]) for c in tables if c["worker"] == row["name"] and c["truth"] == c["label"]))


def test_json(cli):
    done = cli("identify", "data", "-s", "speed,drift", "--json", "-q")
    found = json.loads(done.out)
    assert set(found) == {"command", "version", "seed", "input", "options", "result", "notes", "files"}
    assert found["command"] == "identify" and list(found["result"][0]) == COLUMNS and len(found["result"]) == 12
    assert [row["value"] < 1 for row in found["result"][:6]] == [True, True, True, False, False, False]
    done = cli("identify", "bare.csv", "-s", "speed", "--json")
    row, = json.loads(done.out)["result"]
    assert row["value"] is None and row["note"] == "not defined because there is no column 'seconds' with the answers"


def test_a_folder_with_a_manifest(cli):
    assert cli("identify", "data", "-s", "accuracy", "--consensus", "gold.csv", "-o", "out/").code == 0
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert Path("out/scores.csv").exists() and "gold.csv" in json.dumps(manifest)


def test_probabilities(cli):
    done = cli("identify", "bare.csv", "-s", "crowdlab", "--probs", "probs.csv")
    assert done.code == 0 and len(done.rows) == 46
    done = cli("identify", "bare.csv", "-s", "crowdlab")
    assert done.code == 2 and "crowdlab needs probs: give --probs FILE" in done.err


def test_numbers(cli):
    done = cli("identify", "numbers.csv", "--scale", "interval", "-s", "bias")
    assert done.code == 0 and float(done.rows[5]["value"]) > .1 and float(done.rows[5]["low"]) > 0
    done = cli("identify", "bare.csv", "-s", "bias")
    assert done.code == 0 and done.rows[0]["value"] == "" and "--scale ordinal" in done.rows[0]["note"]


@pytest.mark.parametrize("gate, code", [("--min-skill", 4), ("--max-skill", 0), ("--max-entropy", 2)])
def test_gates(cli, gate, code):
    done = cli("identify", "bare.csv", "-s", "skill", gate, ".999")
    assert done.code == code
    if code == 4:
        assert "skill of w0 is 0." in done.err and "and 1 more" in done.err and len(done.rows) == 6
    if code == 2:
        assert "entropy, which was not computed" in done.err


@pytest.mark.parametrize("args, code, text", [
    (("bare.csv", "-s", "skil"), 2, "Did you mean 'skill'"),
    (("bare.csv", "-s", "skill", "--consensus", "dss"), 2, "--consensus dss: no such file, and no aggregate method called 'dss'. Did you mean 'ds'?"),
    (("bare.csv", "-s", "skill[depth=3]"), 2, "no option of identify skill called 'depth'"),
    (("bare.csv", "-s", "accuracy", "--against", "truth"), 2, "there is none: no truth in the data"),
    (("bare.csv", "-s", "skill", "--gold", "nothing.csv"), 3, "nothing.csv"),
    (("none.csv", "-s", "skill"), 3, "no such file"),
    (("bare.csv", "-s", "skill", "-o", "x.txt"), 2, "expected a name ending in"),
])
def test_what_goes_wrong(cli, args, code, text):
    done = cli("identify", *args)
    assert done.code == code and text in done.err and done.out == ""


def test_engines_give_the_same_bytes(cli):
    outs = {cli("identify", "data", "-s", "accuracy,another_vote,bias,difficulty,drift,entropy,margin,skill,spam_score,speed,trace,twothird", *more).out
            for more in ((), ("--on", "threads:1"), ("--on", "disk"))}
    assert len(outs) == 1


def test_help_names_the_options(cli):
    done = cli("identify", "-s", "trace", "-h")
    assert done.code == 0 and "--empty-row" in done.out and "--consensus" in done.out and "--min-SCORE" in done.out
