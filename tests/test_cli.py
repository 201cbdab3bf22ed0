"""The command line, as design and help promise it: codes, files, columns, messages."""

from __future__ import annotations

import csv
import hashlib
import hmac
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from calling import Done, caller

from manyvoices.cli import main, run
from manyvoices.core import registry

ANSWERS = """task,worker,label
a,ann,cat
a,bob,cat
a,eve,dog
b,ann,dog
b,bob,dog
b,eve,dog
c,ann,cat
c,eve,dog
d,bob,emu
d,ann,emu
d,eve,cat
"""
COLUMNS = ["task", "label", "prob", "n"]
KEYS = ["command", "version", "seed", "input", "options", "result", "notes", "files"]


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Runs a command in an empty folder that holds answers.csv."""
    monkeypatch.chdir(tmp_path)
    Path("answers.csv").write_text(ANSWERS)

    return caller(capsys)


@pytest.fixture
def crowd(cli):
    assert cli("simulate", "crowd/", "-s", "independent_confusion", "--workers", 8, "--tasks", 40, "--classes", 3, "--per-task", 5, "-q").code == 0
    return Path("crowd")


def process(*args: str, input: bytes | None = None, **more) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "manyvoices", *args], input=input, capture_output=True, timeout=120, **more)


def read_csv(path: str | Path) -> list[dict]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def header(path: str | Path) -> list[str]:
    return Path(path).read_text().split("\n", 1)[0].split(",")


def write(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def labels(done_or_path) -> dict[str, str]:
    rows = done_or_path.rows if isinstance(done_or_path, Done) else read_csv(done_or_path)
    return {row["task"]: row["label"] for row in rows}


# codes and messages ----------------------------------------------------------------------------------------------------------

WRONG = [
    (2, ["agregate", "answers.csv"], "Did you mean 'aggregate'?"),
    (2, ["aggregate"], "DATA"),
    (2, ["aggregate", "answers.csv", "-s", "dss"], "Did you mean 'ds'?"),
    (2, ["aggregate", "answers.csv", "-s", ""], "method"),
    (2, ["aggregate", "answers.csv", "-s", "ds["], "ds["),
    (2, ["aggregate", "answers.csv", "-s", "ds]"], "ds]"),
    (2, ["aggregate", "answers.csv", "-s", "ds[smoothing]"], "option=value"),
    (2, ["aggregate", "answers.csv", "-s", "ds[smoothing=x]"], "smoothing"),
    (2, ["aggregate", "answers.csv", "-s", "ds[smothing=1]"], "Did you mean 'smoothing'?"),
    (2, ["aggregate", "answers.csv", "-s", "ds[iterations=2,iterations=3]"], "iterations"),
    (2, ["aggregate", "answers.csv", "-s", "ds", "--smothing", "1"], "--smoothing"),
    (2, ["aggregate", "answers.csv", "-s", "ds", "--smoothing", "x"], "smoothing"),
    (2, ["aggregate", "answers.csv", "-s", "ds", "--smoothing", "-1"], "smoothing"),
    (2, ["aggregate", "answers.csv", "-s", "ds", "--iterations", "0"], "iterations"),
    (2, ["aggregate", "answers.csv", "-s", "ds", "--tol", "nan"], "tol"),
    (2, ["aggregate", "answers.csv", "-s", "mv", "--smoothing", "1"], "--smoothing"),
    (2, ["aggregate", "answers.csv", "-s", "ds", "--smoothing", "inf"], "finite"),
    (2, ["aggregate", "answers.csv", "-s", "plantnet", "--alpha=-inf"], "finite"),
    (2, ["aggregate", "answers.csv", "-s", "mv,ds"], "-o DIR/"),
    (2, ["aggregate", "answers.csv", "-s", "mv,ds", "-o", "x.csv"], "-o DIR/"),
    (2, ["aggregate", "answers.csv", "-s", "ds[smoothing=.1],ds[smoothing=.2]", "-o", "x/"], "ds"),
    (2, ["aggregate", "answers.csv", "-s", "mv", "-s", "ds"], "-s"),
    (2, ["aggregate", "answers.csv", "-o", "x.txt"], ".parquet"),
    (2, ["aggregate", "answers.csv", "--ties", "first"], "lowest"),
    (2, ["aggregate", "answers.csv", "--min-prob", "1.5"], "min-prob"),
    (2, ["aggregate", "answers.csv", "--min-prob", "nan"], "min-prob"),
    (2, ["aggregate", "answers.csv", "--seed", "x"], "seed"),
    (2, ["aggregate", "answers.csv", "-s", "ds", "--init", "random", "--seed", "-1"], "seed"),
    (2, ["aggregate", "answers.csv", "--from", "lonk"], "Did you mean 'long'?"),
    (2, ["aggregate", "answers.csv", "--scale", "ratio"], "nominal"),
    (2, ["aggregate", "answers.csv", "--on", "threads:0"], "threads:N"),
    (2, ["aggregate", "answers.csv", "--on", "moon"], "threads:N"),
    (2, ["aggregate", "answers.csv", "-s", "crowdlab"], "--probs"),
    (2, ["aggregate", "answers.csv", "-s", "goldmv"], "--gold"),
    (2, ["aggregate", "answers.csv", "-s", "mv", "--gold", "answers.csv"], "gold"),
    (2, ["convert", "answers.csv", "out/", "--to", "toloka"], "cannot be written"),
    (2, ["convert", "answers.csv", "-", "--to", "peerannot"], "no table"),
    (2, ["convert", "answers.csv", "answers.csv"], "what goes in"),
    (2, ["convert", ".", "."], "what goes in"),
    (2, ["aggregate", "answers.csv", "-s", "mv", "-o", "answers.csv"], "what goes in"),
    (2, ["aggregate", ".", "-s", "mv", "-o", "answers.csv"], "what goes in"),
    (2, ["aggregate", "answers.csv", "-s", "ds", "--gold", "answers.csv", "-o", "./answers.csv"], "what goes in"),
    (2, ["agree", "answers.csv", "-o", "answers.csv"], "what goes in"),
    (2, ["aggregate", "answers.csv", "--classes", ","], "--classes"),
    (2, ["aggregate", "answers.csv", "--classes-limit", "0"], "classes-limit"),
    (2, ["aggregate", "answers.csv", "--on", "threads:"], "threads:N"),
    (2, ["aggregate", "answers.csv", "--hash-key", "k"], "--hash-workers"),
    (2, ["aggregate", "answers.csv", "--on", "disk:x"], "threads:N"),
    (2, ["convert", "answers.csv", "out.csv", "--on", "moon"], "threads:N"),
    (2, ["aggregate", "answers.csv", "-s", "plantnet", "--ai-worker", "hal"], "no worker called 'hal'"),
    (2, ["simulate", "x/", "--tasks", "None"], "tasks"),
    (2, ["convert", "answers.csv", "out/", "--to", "nativ"], "Did you mean 'native'?"),
    (2, ["simulate", "x/", "-s", "hammer"], "Did you mean 'hammer_spammer'?"),
    (2, ["simulate", "x/", "-s", "hammer_spammer", "--ratio", "5"], "ratio"),
    (2, ["simulate", "x/", "-s", "hammer_spammer,large"], "one"),
    (2, ["methods", "agregate"], "Did you mean 'aggregate'?"),
    (2, ["bench", "nothing"], "nothing"),
    (3, ["aggregate", "absent.csv"], "absent.csv"),
    (3, ["inspect", "absent.csv"], "absent.csv"),
    (3, ["aggregate", ""], "no name"),
    *[(3, ["aggregate", "/dev/zero"], "neither a file nor a folder")] * (os.name != "nt"),
    (3, ["aggregate", "answers.csv", "--classes", "cat,dog"], "'emu'"),
    (3, ["aggregate", "answers.csv", "--scale", "interval", "-s", "mean"], "not a number"),
    (3, ["aggregate", "answers.csv", "-s", "mean"], "--scale"),
    (3, ["aggregate", "answers.csv", "-s", "ds", "--gold", "absent.csv"], "absent.csv"),
    (3, ["aggregate", "answers.csv", "--exclude-workers", "absent.txt"], "absent.txt"),
    (3, ["aggregate", "answers.csv", "--map-labels", "absent.csv"], "absent.csv"),
    (3, ["aggregate", "answers.csv", "--start", "absent/"], "absent"),
    (3, ["aggregate", "answers.csv", "--classes-limit", "1"], "answers.csv: 3 different labels"),
    (3, ["aggregate", "answers.csv", "--classes-limit", "1", "--on", "disk"], "answers.csv: 3 different labels"),
    (3, ["aggregate", "answers.csv", "--map-labels", "answers.csv"], "two columns: from,to"),
    (3, ["aggregate", "."], "answers"),
    (1, ["aggregate", "answers.csv", "-o", "answers.csv/labels.csv"], "answers.csv"),
    (1, ["aggregate", "answers.csv", "-o", "answers.csv/"], "answers.csv is a file"),
    (1, ["convert", "answers.csv", "answers.csv/folder/"], "answers.csv"),
    (1, ["simulate", "answers.csv/crowd/"], "answers.csv"),
    (1, ["demo", "-o", "answers.csv"], "answers.csv"),
]


@pytest.mark.parametrize(("code", "args", "says"), WRONG, ids=[" ".join(args) for _, args, _ in WRONG])
def test_an_error_is_one_line_with_its_code(cli, code, args, says):
    if args[1:] == ["."]:  # a folder without answers
        Path("empty").mkdir()
        args = [args[0], "empty"]
    done = cli(*args)
    lines = done.err.splitlines()
    errors = [line for line in lines if line.startswith("manyvoices: ")]
    assert done.code == code
    assert len(errors) == 1 and errors[0] == lines[-1], done.err
    assert says in errors[0]
    assert "Traceback" not in done.err and "unexpected" not in done.err
    assert done.out == ""
    assert {p.name for p in Path().iterdir()} <= {"answers.csv", "empty"}


@pytest.mark.parametrize(("code", "args", "says"), WRONG[:6] + WRONG[-16:-8], ids=[" ".join(args) for _, args, _ in WRONG[:6] + WRONG[-16:-8]])
def test_an_error_under_json_is_one_object(cli, code, args, says):
    done = cli(*args, "--json")
    assert done.code == code and done.out == ""
    error = json.loads(done.err.splitlines()[-1])["error"]
    assert list(error) == ["code", "message", "file", "line", "value", "expected"]
    assert error["code"] == code and says in error["message"]


def test_an_error_in_the_data_names_file_line_value_and_what_was_expected(cli):
    error = json.loads(cli("aggregate", "answers.csv", "--classes", "cat,dog", "--json").err)["error"]
    assert error["file"] == "answers.csv" and error["line"] == 10 and error["value"] == "emu" and "cat, dog" in error["expected"]


def test_a_traceback_is_shown_when_asked_for(cli):
    assert "Traceback" not in cli("aggregate", "absent.csv").err
    assert "Traceback" in cli("aggregate", "absent.csv", "-v").err


def test_an_unwritable_place_is_named_without_the_name_of_a_passing_file(cli):
    assert ".part" not in cli("aggregate", "answers.csv", "-o", "answers.csv/labels.csv", "-q").err


def test_a_folder_that_is_a_file_is_refused_before_the_work(cli):
    assert "tasks labelled" not in cli("aggregate", "answers.csv", "-s", "mv", "-o", "answers.csv/").err


def test_nothing_is_said_beside_an_error_that_could_be_known_at_once(cli):
    """Where the answer cannot be written, the summary of a fit would be read as success."""
    assert cli("aggregate", "answers.csv", "-o", "x.txt").err.count("\n") == 1


def test_no_verb_shows_the_help(cli):
    done = cli()
    assert done.code == 0 and "manyvoices aggregate" in done.out


def test_version(cli):
    from manyvoices import __version__

    assert __version__ in cli("--version").out


@pytest.mark.parametrize("verb", ["demo", "inspect", "convert", "simulate", "aggregate", "methods", "bench"])
def test_help_of_a_verb_begins_with_an_example(cli, verb):
    done = cli(verb, "-h")
    assert done.code == 0 and f"manyvoices {verb}" in done.out.partition("Options:")[0].partition("\n\n")[2]
    assert cli(verb, "--help").out == done.out


@pytest.mark.parametrize("name", registry.names("aggregate"))
def test_help_of_a_method_shows_its_options(cli, name):
    done = cli("aggregate", "-s", name, "-h")
    assert done.code == 0
    for option in registry.about("aggregate", name).options:
        assert f"--{option.name.replace('_', '-')}" in done.out


@pytest.mark.parametrize("name", registry.names("simulate"))
def test_help_of_a_strategy_shows_its_options(cli, name):
    done = cli("simulate", "-s", name, "-h")
    assert all(f"--{o.name.replace('_', '-')}" in done.out for o in registry.about("simulate", name).options)


def test_the_default_method_takes_its_options_without_being_named(cli):
    """`manyvoices simulate OUT --workers 30` stands in the help itself."""
    assert cli("simulate", "x/", "--workers", 6, "--tasks", 10, "--classes", 2, "--per-task", 3).code == 0
    assert cli("aggregate", "answers.csv", "--iterations", 3).code == 0
    assert "--workers" in cli("simulate", "-h").out


def test_help_loads_nothing_heavy():
    code = ("import sys; from manyvoices.cli import run; run(['--help']); run(['aggregate', '-s', 'ds', '-h']); run(['methods'])\n"
            "print([m for m in ('numpy', 'scipy', 'polars', 'narwhals', 'rich', 'jinja2', 'torch') if m in sys.modules], file=sys.stderr)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.strip() == "[]"


# results ---------------------------------------------------------------------------------------------------------------------


def test_labels_go_to_stdout_and_words_to_stderr(cli):
    done = cli("aggregate", "answers.csv", "-s", "mv")
    assert done.out.splitlines()[0] == "task,label,prob,n"
    assert labels(done) == {"a": "cat", "b": "dog", "c": "cat", "d": "emu"}
    assert [row["n"] for row in done.rows] == ["3", "3", "2", "3"]
    assert "4 tasks" in done.err and "11 answers" in done.err


def test_convert_to_stdout(cli):
    done = cli("convert", "answers.csv", "-", "-q")
    assert done.code == 0 and done.out.splitlines()[0] == "task,worker,label" and len(done.rows) == 11 and not done.err
    assert not Path("-").exists()
    assert list(cli("convert", "answers.csv", "-", "--to", "wide").rows[0]) == ["task", "ann", "bob", "eve"]
    assert cli("convert", "answers.csv", "-", "--json").json["result"][0] == {"task": "a", "worker": "ann", "label": "cat"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_with_a_name(cli):
    os.mkfifo("pipe")
    writer = subprocess.Popen(["cp", "answers.csv", "pipe"])
    assert cli("aggregate", "pipe", "-s", "mv", "-q").out == cli("aggregate", "answers.csv", "-s", "mv", "-q").out
    assert writer.wait(10) == 0


def test_nothing_that_goes_in_is_written_over(cli):
    before = Path("answers.csv").read_bytes()
    write("gold.csv", "task,label\na,cat\n")
    write("labels.tasks.txt", ANSWERS)
    for args in (["aggregate", "answers.csv", "-s", "mv", "-o", "answers.csv"], ["convert", "answers.csv", "answers.csv"],
                 ["aggregate", "answers.csv", "-s", "ds", "--gold", "gold.csv", "-o", "gold.csv"],
                 ["aggregate", "labels.tasks.txt", "-s", "mv", "-o", "labels.npy"]):
        assert cli(*args).code == 2, args
    assert Path("answers.csv").read_bytes() == before and Path("gold.csv").read_text() == "task,label\na,cat\n"
    assert Path("labels.tasks.txt").read_text() == ANSWERS and not Path("labels.npy").exists()
    for _ in range(2):  # a result may be made anew, also beside the data
        assert cli("aggregate", ".", "-s", "mv", "-o", "labels.csv").code == 0


def test_none_is_a_value_where_the_help_says_so(cli):
    done = cli("simulate", "x/", "--workers", 12, "--tasks", 20, "--per-task", "None", "--json")
    assert done.json["result"]["answers"] == 240 and done.json["options"] == {"workers": 12, "tasks": 20, "per_task": "None"}


@pytest.mark.parametrize("name", registry.names("aggregate"))
def test_no_answers_left_is_an_error_in_the_data(cli, name):
    write("none.csv", "task,worker,label\na,ann,\nb,bob,\n")
    done = cli("aggregate", "none.csv", "-s", name, "-o", "none/")
    assert done.code in (2, 3) and len(done.err.splitlines()) == 1 and not Path("none").exists()


def test_a_broken_folder_of_peerannot_names_file_and_line(cli):
    Path("peer").mkdir()
    write("peer/metadata.json", '{"n_classes": 2}')
    write("peer/answers.json", '{"0": {"1": 0}')
    done = cli("aggregate", "peer/", "--json")
    error = json.loads(done.err)["error"]
    assert done.code == 3 and error["file"] == "peer/answers.json" and error["line"] == 1 and "broken JSON" in error["message"]


def test_a_task_nobody_answered_has_no_other_reason(cli):
    Path("data").mkdir()
    write("data/answers.csv", "task,worker,label\na,x,1\na,y,2\n")
    write("data/items.csv", "task,text\na,hi\nm,lo\n")
    rows = cli("aggregate", "data", "-s", "twothird", "--all-tasks").rows
    assert [row["note"] for row in rows] == ["less than two thirds agree", "no answers"]


def test_json_says_all_that_stderr_says(crowd, cli):
    notes = cli("aggregate", "crowd/", "-s", "mv", "--json").json["notes"]
    assert any(note.startswith("accuracy: ") for note in notes)
    write("gaps.csv", "task,worker,label\na,ann,cat\nb,bob,\n")
    for verb in (["aggregate", "gaps.csv"], ["convert", "gaps.csv", "out.csv"], ["agree", "gaps.csv"]):
        assert "left out: 1 row (missing label)" in cli(*verb, "--json").json["notes"], verb
    assert cli("inspect", "gaps.csv", "--missing", "dog", "--json").json["options"]["missing"] == ["dog"]
    assert cli("convert", "gaps.csv", "out.csv", "--classes", "cat,dog", "--json").json["options"]["classes"] == "cat,dog"


def test_the_key_of_a_hash_is_in_no_record(cli):
    for verb in ("aggregate", "convert", "agree"):
        args = ["answers.csv", *([] if verb == "convert" else ["-o"]), f"{verb}/"]
        done = cli(verb, *args, "--hash-workers", "--hash-key", "open sesame", "--json")
        assert done.code == 0 and "sesame" not in done.out + done.err + Path(f"{verb}/manifest.json").read_text()


def test_demo(cli):
    done = cli("demo", "-o", "there", "--json")
    assert done.code == 0 and list(done.json) == KEYS and done.json["command"] == "demo"
    files, accuracy = done.json["files"], done.json["result"]["accuracy"]
    assert "there/crowd/answers.csv" in files and "there/report.html" in files and all(Path(file).is_file() for file in files)
    assert {"there/crowd/META.json", "there/labels/manifest.json"} <= set(files)
    assert json.loads(Path("there/labels/manifest.json").read_text())["command"] == ["aggregate", "bcc"]
    assert accuracy["bcc"] > accuracy["mv"] + .1                   # eight people press the key beside the right one
    told = {line.partition(":")[0].strip(): line.partition(":")[2].split(", ") for line in done.err.splitlines() if ":" in line}
    assert [name.strip() for name in told["no information seen"]] == [f"p{n}" for n in range(26, 33)]
    assert [name.strip() for name in told["a consistent view of their own"]] == [f"p{n}" for n in range(33, 41)]


def test_an_option_of_nought_is_recorded(cli):
    assert cli("compare", "answers.csv", "-s", "mv", "--seed", 0, "--rounds", 1, "-o", "out/").code in (0, 3)
    assert cli("aggregate", "answers.csv", "-s", "ds", "--smoothing", 0, "-o", "out/").code == 0
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert manifest["options"]["smoothing"] == 0 and manifest["seed"] == 0


@pytest.mark.parametrize("text, says", [("x = [", "broken TOML"), ("x = 1", "no cells"), ("cell = 3", "no cells"), ("[[cell]]\nwho = 'a'", "has no name"),
                                        ("[[cell]]\nname = 'a'", "has no who"), ("cell = [3]", "has no name")])
def test_a_broken_suite(cli, text, says):
    write("suite.toml", text)
    done = cli("bench", "suite.toml")
    assert done.code == 3 and says in done.err and len(done.err.splitlines()) == 1 and not Path("benchmarks").exists()


def test_a_suite_is_measured_in_a_clone(cli):
    write("suite.toml", "[[cell]]\nname = 'a'\nwho = 'manyvoices'\nmethod = 'mv'\nanswers = 10\n")
    done = cli("bench", "suite.toml")
    assert done.code == 1 and "clone" in done.err
    assert cli("bench", "suite.toml", "--limit", "-1").code == 2


def test_a_part_of_a_suite_leaves_the_results_of_the_whole(cli, monkeypatch):
    """`bench aggregate --only mv` once wrote its few cells over all others."""
    monkeypatch.setattr("manyvoices.benchmark.measured", lambda *_: {"error": "not now"})
    Path("benchmarks/suites").mkdir(parents=True)
    write("benchmarks/answers.py", "")
    write("benchmarks/suites/two.toml", "".join(f"[[cell]]\nname = '{name}'\nwho = 'manyvoices'\n" for name in ("mv", "ds")))
    assert cli("bench", "two").code == 0 and cli("bench", "two", "--only", "mv").code == 0
    for file, names in (("two", ["mv", "ds"]), ("two-only", ["mv"])):
        assert [json.loads(line)["name"] for line in Path(f"benchmarks/results/{file}.jsonl").read_text().splitlines()] == names


def test_quiet(cli):
    done = cli("aggregate", "answers.csv", "-s", "mv", "-q")
    assert done.err == "" and done.rows


def test_dash_is_stdout(cli):
    assert cli("aggregate", "answers.csv", "-s", "mv", "-o", "-").out == cli("aggregate", "answers.csv", "-s", "mv").out
    assert not Path("-").exists()


def test_dash_is_stdin(cli, tmp_path):
    done = process("aggregate", "-", "-s", "mv", input=ANSWERS.encode(), cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.decode() == cli("aggregate", "answers.csv", "-s", "mv").out


def test_an_error_in_stdin_says_stdin(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    done = process("aggregate", "-", input=b"", cwd=tmp_path, env=os.environ | {"TMPDIR": str(folder)})
    assert done.returncode == 3 and b"stdin" in done.stderr and str(folder).encode() not in done.stderr
    assert not list(folder.iterdir())


@pytest.mark.parametrize("soft", [False, True])
def test_tables(cli, soft):
    more = ["--soft"] if soft else []
    columns = COLUMNS + (["p:cat", "p:dog", "p:emu"] if soft else [])
    shown = pl.read_csv(io.StringIO(cli("aggregate", "answers.csv", "-s", "ds", *more).out))
    for name, reader in (("x.csv", pl.read_csv), ("x.parquet", pl.read_parquet), ("x.jsonl", pl.read_ndjson)):
        done = cli("aggregate", "answers.csv", "-s", "ds", "-o", name, *more)
        assert done.code == 0 and done.out == ""
        table = reader(name)
        assert table.columns == columns
        assert table.to_dicts() == shown.to_dicts()
    assert {p.name for p in Path().iterdir()} == {"answers.csv", "x.csv", "x.parquet", "x.jsonl"}


def test_npy(cli):
    assert cli("aggregate", "answers.csv", "-s", "mv", "-o", "x.npy").code == 0
    assert np.load("x.npy").tolist() == [0, 1, 0, 2]
    assert Path("x.tasks.txt").read_text().split() == ["a", "b", "c", "d"]
    cli("aggregate", "answers.csv", "-s", "mv", "-o", "x.npy", "--soft")
    assert np.load("x.npy").shape == (4, 3)


def test_an_id_that_is_more_than_a_line_has_no_place_beside_a_npy(cli):
    write("lines.csv", 'task,worker,label\n"a\nb",x,1\nc,x,0\n')
    done = cli("aggregate", "lines.csv", "-s", "mv", "-o", "x.npy")
    assert done.code == 1 and "'a\\nb'" in done.err and not list(Path().glob("x.*"))


def test_folder(crowd, cli):
    done = cli("aggregate", crowd, "-s", "ds", "-o", "out/")
    assert done.code == 0 and done.out == ""
    written = {p.name for p in Path("out").iterdir()}
    assert {"labels.csv", "workers.csv", "tasks.csv", "confusions.csv", "model.safetensors", "manifest.json"} <= written
    assert header("out/labels.csv") == COLUMNS
    assert header("out/workers.csv") == ["worker", "n", "skill", "low", "high", "note"]
    assert header("out/tasks.csv") == ["task", "n", "difficulty", "low", "high"]
    assert header("out/confusions.csv") == ["worker", "truth", "label", "prob"]
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert {"command", "versions", "when", "seconds", "inputs", "scores"} <= set(manifest)
    assert not list(Path("out").glob(".*"))


def test_confusions_are_rows_that_sum_to_one(crowd, cli):
    cli("aggregate", crowd, "-s", "ds", "-o", "out/")
    table = pl.read_csv("out/confusions.csv")
    assert len(table) == 8 * 9
    assert np.allclose(table.group_by("worker", "truth").agg(pl.col("prob").sum())["prob"], 1)


def test_several_methods_make_a_folder_each(crowd, cli):
    done = cli("aggregate", crowd, "-s", "mv,ds[smoothing=0.1],glad", "-o", "out/")
    assert done.code == 0 and {p.name for p in Path("out").iterdir()} == {"mv", "ds", "glad"}
    cli("aggregate", crowd, "-s", "ds", "--smoothing", "0.1", "-o", "alone/")
    assert Path("out/ds/labels.csv").read_bytes() == Path("alone/labels.csv").read_bytes()


def test_several_methods_under_json_hold_a_table_each(crowd, cli):
    assert set(cli("aggregate", crowd, "-s", "mv,ds", "-o", "out/", "--json").json["result"]) == {"mv", "ds"}


def test_interval_results(cli):
    write("r.csv", "task,worker,label\n1,a,1.5\n1,b,2.5\n2,a,4\n2,b,5\n")
    done = cli("aggregate", "r.csv", "--scale", "interval", "-s", "mean")
    assert list(done.rows[0]) == ["task", "value", "low", "high", "n"]
    assert [float(row["value"]) for row in done.rows] == [2.0, 4.5]


def test_ordinal_results(cli):
    write("r.csv", "task,worker,label\n1,a,1\n1,b,1\n1,c,3\n2,a,4\n2,b,5\n2,c,5\n")
    done = cli("aggregate", "r.csv", "--scale", "ordinal", "-s", "median")
    assert labels(done) == {"1": "1", "2": "5"}


def test_only_answered_tasks_have_a_row_unless_asked(cli):
    Path("data").mkdir()
    write("data/answers.csv", ANSWERS)
    write("data/truth.csv", "task,label\na,cat\nz,dog\n")
    assert set(labels(cli("aggregate", "data", "-s", "ds"))) == set("abcd")
    done = cli("aggregate", "data", "-s", "ds", "--all-tasks", "--soft")
    row = done.rows[-1]
    assert row["task"] == "z" and row["n"] == "0"
    assert sum(float(row[f"p:{name}"]) for name in ("cat", "dog", "emu")) == pytest.approx(1)


def test_all_tasks_in_a_folder(cli):
    Path("data").mkdir()
    write("data/answers.csv", ANSWERS)
    write("data/items.csv", "task,text\na,one\nz,two\n")
    assert cli("aggregate", "data", "-s", "ds", "--all-tasks", "-o", "out/").code == 0
    assert len(read_csv("out/labels.csv")) == len(read_csv("out/tasks.csv")) == 5


def test_accuracy_is_printed_where_truth_is_known(crowd, cli):
    assert "accuracy" in cli("aggregate", crowd, "-s", "mv").err
    assert "accuracy" not in cli("aggregate", "answers.csv", "-s", "mv").err


def test_truth_is_not_fitted_to(crowd, cli):
    before = cli("aggregate", crowd, "-s", "ds").out
    Path("crowd/truth.csv").unlink()
    assert cli("aggregate", crowd, "-s", "ds").out == before


def test_not_converged_is_said_and_is_no_error(crowd, cli):
    done = cli("aggregate", crowd, "-s", "ds", "--iterations", 2, "--json")
    assert done.code == 0 and any("NOT converged" in note for note in done.json["notes"])


# options of aggregate --------------------------------------------------------------------------------------------------------


def test_ties(cli):
    assert labels(cli("aggregate", "answers.csv", "-s", "mv", "--ties", "lowest"))["c"] == "cat"
    rows = cli("aggregate", "answers.csv", "-s", "mv", "--ties", "all").rows
    assert [row["label"] for row in rows if row["task"] == "c"] == ["cat", "dog"] and len(rows) == 5
    drawn = {labels(cli("aggregate", "answers.csv", "-s", "mv", "--ties", "random", "--seed", seed))["c"] for seed in range(20)}
    assert drawn == {"cat", "dog"}


def test_a_random_tie_depends_on_seed_and_task_alone(cli):
    write("few.csv", "task,worker,label\nc,ann,cat\nc,eve,dog\n")
    for seed in range(5):
        one = labels(cli("aggregate", "few.csv", "-s", "mv", "--ties", "random", "--seed", seed))["c"]
        assert one == labels(cli("aggregate", "answers.csv", "-s", "mv", "--ties", "random", "--seed", seed))["c"]


def test_the_summary_tells_the_tie_rule_that_was_used(cli):
    assert "first class" in cli("aggregate", "answers.csv", "-s", "mv").err
    assert "to the first class" not in cli("aggregate", "answers.csv", "-s", "mv", "--ties", "random").err


def test_the_summary_counts_the_labels_that_were_written(cli):
    """With --min-prob a label that was withheld is not one of those counted."""
    assert "cat 2" not in cli("aggregate", "answers.csv", "-s", "mv", "--min-prob", "0.6").err


def test_min_prob(cli):
    rows = {row["task"]: row for row in cli("aggregate", "answers.csv", "-s", "mv", "--min-prob", "0.6").rows}
    assert rows["c"]["label"] == "" and rows["c"]["note"] == "needs review"
    assert rows["a"]["label"] == "cat" and rows["a"]["note"] == ""
    cli("aggregate", "answers.csv", "-s", "mv", "--min-prob", "0.6", "-o", "x.npy")
    assert np.load("x.npy").tolist() == [0, 1, -1, 2]


def test_a_label_withheld_is_one_row_whatever_was_tied(cli):
    done = cli("aggregate", "answers.csv", "-s", "mv", "--min-prob", "0.6", "--ties", "all")
    assert [row["task"] for row in done.rows] == list("abcd") and "no label: 1 (needs review)" in done.err
    rows = cli("aggregate", "answers.csv", "-s", "mv", "--min-prob", "0.5", "--ties", "all").rows
    assert [row["task"] for row in rows] == list("abccd")


def test_tasks_without_answers_are_counted_apart(cli):
    Path("data").mkdir()
    write("data/answers.csv", ANSWERS)
    write("data/truth.csv", "task,label\na,cat\nz,dog\n")
    assert "4 tasks labelled from 11 answers of 3 workers in 3 classes, and 1 without answers" in cli("aggregate", "data", "--all-tasks").err
    assert "without answers" not in cli("aggregate", "data").err


def test_an_abstention_has_a_note(cli):
    rows = {row["task"]: row for row in cli("aggregate", "answers.csv", "-s", "twothird").rows}
    assert rows["c"]["label"] == "" and rows["c"]["note"]
    assert rows["a"]["label"] == "cat" and rows["a"]["note"] == ""


def test_gold(cli):
    write("gold.csv", "task,label\na,dog\nb,dog\nc,dog\n")
    done = cli("aggregate", "answers.csv", "-s", "ds", "--gold", "gold.csv")
    assert done.code == 0 and labels(done) | {"d": ""} == {"a": "dog", "b": "dog", "c": "dog", "d": ""}
    assert labels(cli("aggregate", "answers.csv", "-s", "goldmv", "--gold", "gold.csv"))["a"] == "dog"
    write("gold.csv", "task,label\na,cow\n")
    done = cli("aggregate", "answers.csv", "-s", "ds", "--gold", "gold.csv", "--json")
    error = json.loads(done.err.splitlines()[-1])["error"]
    assert done.code == 3 and error["file"] == "gold.csv" and error["value"] == "cow" and error["line"] == 2


def test_gold_that_contradicts_itself(cli):
    write("gold.csv", "task,label\na,dog\na,cat\n")
    done = cli("aggregate", "answers.csv", "-s", "ds", "--gold", "gold.csv")
    assert done.code == 3 and "gold.csv, line 3: task 'a' is 'dog' and 'cat'" in done.err


def test_probs(cli):
    write("probs.csv", "task,p:cat,p:dog,p:emu\n" + "".join(f"{t},.5,.3,.2\n" for t in "abcd"))
    assert cli("aggregate", "answers.csv", "-s", "crowdlab", "--probs", "probs.csv").code == 0
    write("probs.csv", "task,p:cat,p:dog\na,.5,.5\n")
    done = cli("aggregate", "answers.csv", "-s", "crowdlab", "--probs", "probs.csv")
    assert done.code == 3 and "p:emu" in done.err and "probs.csv" in done.err
    for cell in ("x", "1.2"):
        write("probs.csv", "task,p:cat,p:dog,p:emu\n" + "".join(f"{t},{cell if t == 'c' else .5},.3,.2\n" for t in "abcd"))
        assert "probs.csv, line 4: " in cli("aggregate", "answers.csv", "-s", "crowdlab", "--probs", "probs.csv").err


def test_labels_are_a_start(cli):
    cli("aggregate", "answers.csv", "-s", "mv", "-o", "start.csv", "--soft")
    assert cli("aggregate", "answers.csv", "-s", "ds", "--labels", "start.csv").code == 0


def test_soft_labels_of_one_run_are_probs_of_the_next(cli):
    cli("aggregate", "answers.csv", "-s", "ds", "-o", "soft.csv", "--soft")
    assert cli("aggregate", "answers.csv", "-s", "crowdlab", "--probs", "soft.csv").code == 0


def test_start_goes_on_and_says_what_changed(crowd, cli):
    text = Path("crowd/answers.csv").read_text().splitlines(keepends=True)
    write("first.csv", "".join(text[:120]))
    for method in ("ds", "onecoin", "bcc", "glad"):
        cli("aggregate", "first.csv", "-s", method, "-o", f"{method}1/")
        done = cli("aggregate", crowd, "-s", method, "--start", f"{method}1/", "-o", f"{method}2/")
        assert done.code == 0, done.err
        assert header(f"{method}2/changes.csv") == ["task", "before", "after"]
        before, after = labels(f"{method}1/labels.csv"), labels(f"{method}2/labels.csv")
        found = {row["task"]: (row["before"], row["after"]) for row in read_csv(f"{method}2/changes.csv")}
        assert found == {task: (before.get(task, ""), after[task]) for task in after if before.get(task, "") != after[task]}
        assert len(found) >= 15


def test_start_without_a_folder_to_write_says_what_becomes_of_the_changes(crowd, cli):
    cli("aggregate", crowd, "-s", "ds", "-o", "first/")
    done = cli("aggregate", crowd, "-s", "ds", "--start", "first/", "-o", "x.csv")
    assert done.code == 2 or "change" in done.err


def test_start_from_another_method_is_refused_or_said(crowd, cli):
    cli("aggregate", crowd, "-s", "mv", "-o", "mv/")
    done = cli("aggregate", crowd, "-s", "glad", "--start", "mv/")
    assert done.code in (0, 2, 3) and "unexpected" not in done.err


def test_start_from_a_damaged_folder(crowd, cli):
    cli("aggregate", crowd, "-s", "ds", "-o", "first/")
    Path("first/model.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{}      rest")
    done = cli("aggregate", crowd, "-s", "ds", "--start", "first/")
    assert done.code == 3 and "model.safetensors" in done.err and "unexpected" not in done.err


@pytest.mark.parametrize("given", ["MV", "MajorityVote", "majority-voting", "NaiveSoft", "DS", "DawidSkene", "dawid_skene", "DSWC[L=2]", "GLAD",
                                   "MACE", "KOS", "MMSR", "Wawa", "ZeroBasedSkill", "OneCoinDawidSkene", "TwoThird", "PlantNet", "IWMV", "WDS",
                                   "FDS", "FastDawidSkene", "ds[n_iter=5]", "ds[maxiter=5]", "GLAD[maxiter=20]", "MACE[n_restarts=2]"])
def test_spellings_of_others(crowd, cli, given):
    assert cli("aggregate", crowd, "-s", given).code == 0


def test_options_in_any_spelling(crowd, cli):
    expected = cli("aggregate", crowd, "-s", "ds", "--iterations", 5).out
    for more in (["--n-iter", 5], ["--n_iter", 5], ["--N-Iter", 5], ["--maxiter", 5], ["--iterations=5"]):
        assert cli("aggregate", crowd, "-s", "ds", *more).out == expected
    assert cli("aggregate", crowd, "-sds", "--iterations", 5).out == expected
    assert cli("aggregate", crowd, "--strategy=DS", "--iterations", 5).out == expected
    assert cli("aggregate", crowd, "-s", "ds[iterations=5]").out == expected


def test_short_flags_together(crowd, cli):
    assert cli("aggregate", crowd, "-qs", "ds", "--iterations", 5).out == cli("aggregate", crowd, "-s", "ds", "--iterations", 5).out


def test_an_option_on_the_line_wins_over_the_bracket(crowd, cli):
    """Or is refused; never silently dropped."""
    done = cli("aggregate", crowd, "-s", "ds[iterations=3]", "--iterations", 5)
    assert done.code == 2 or done.out == cli("aggregate", crowd, "-s", "ds", "--iterations", 5).out


# options of reading ----------------------------------------------------------------------------------------------------------


def test_missing_and_strict(cli):
    write("gaps.csv", "task,worker,label\na,x,cat\na,y,\nb,x,none\nb,y,dog\n")
    found = cli("inspect", "gaps.csv", "--json").json["result"]
    assert found["answers"] == 3 and found["dropped"] == {"missing label": 1}
    assert cli("inspect", "gaps.csv", "--missing", "none", "--json").json["result"]["answers"] == 2
    done = cli("aggregate", "gaps.csv", "--strict", "--json")
    error = json.loads(done.err)["error"]
    assert done.code == 3 and error["file"] == "gaps.csv" and error["line"] == 3
    assert "missing label" in cli("aggregate", "gaps.csv").err


@pytest.mark.parametrize(("rule", "answers"), [("all", 5), ("first", 4), ("last", 4)])
def test_repeats(cli, rule, answers):
    write("again.csv", "task,worker,label\na,x,cat\na,x,dog\na,y,dog\nb,x,cat\nb,y,dog\n")
    assert cli("inspect", "again.csv", "--repeats", rule, "--json").json["result"]["answers"] == answers
    done = cli("aggregate", "again.csv", "-s", "mv", "--repeats", rule, "--soft")
    assert float(done.rows[0]["p:cat"]) == pytest.approx({"all": 1 / 3, "first": 1 / 2, "last": 0}[rule])


def test_repeats_can_be_an_error(cli):
    write("again.csv", "task,worker,label\na,x,cat\na,y,dog\na,x,dog\n")
    error = json.loads(cli("aggregate", "again.csv", "--repeats", "error", "--json").err)["error"]
    assert (error["code"], error["file"], error["line"], error["value"]) == (3, "again.csv", 4, "x")


def test_classes_are_kept_though_unseen(cli):
    done = cli("aggregate", "answers.csv", "-s", "ds", "--classes", "cat,dog,emu,yak", "--soft")
    assert list(done.rows[0])[-4:] == ["p:cat", "p:dog", "p:emu", "p:yak"]


def test_exclude_workers(cli):
    write("out.txt", "eve\nnobody\n")
    done = cli("aggregate", "answers.csv", "-s", "mv", "--exclude-workers", "out.txt")
    assert labels(done)["c"] == "cat" and [row["n"] for row in done.rows] == ["2", "2", "1", "2"]
    assert "nobody" in done.err and "excluded" in done.err


def test_excluded_workers_in_a_table(cli):
    """The table of workers that an earlier run wrote, cut down to those who go."""
    write("out.csv", "worker,n,skill\neve,4,0.1\n")
    assert cli("aggregate", "answers.csv", "-s", "mv", "--exclude-workers", "out.csv").out == \
        cli("aggregate", "answers.csv", "-s", "mv", "--exclude-workers", write("out.txt", "eve\n")).out
    assert "excluded" in cli("aggregate", "answers.csv", "-s", "mv", "--exclude-workers", "out.csv").err


def test_map_labels(cli):
    write("map.csv", "from,to\ncat,pet\ndog,pet\n")
    done = cli("aggregate", "answers.csv", "-s", "mv", "--map-labels", "map.csv")
    assert labels(done) == {"a": "pet", "b": "pet", "c": "pet", "d": "emu"}


def test_labels_mapped_to_nothing_are_missing(cli):
    write("map.csv", "from,to\nemu,\ndog,pet\ncat,pet\n")
    done = cli("aggregate", "answers.csv", "-s", "mv", "--map-labels", "map.csv")
    assert done.code == 0 and labels(done) == dict.fromkeys("abcd", "pet") and "2 rows (missing label)" in done.err
    Path("data").mkdir()
    write("data/answers.csv", ANSWERS)
    write("data/META.json", '{"classes": ["cat", "dog", "emu"]}')
    write("data/truth.csv", "task,label\na,cat\na,dog\nb,emu\n")                 # one truth once both are pets; and none
    done = cli("aggregate", "data", "-s", "mv", "--map-labels", "map.csv", "--soft")
    assert list(done.rows[0])[4:] == ["p:pet"] and "accuracy: 1.0000" in done.err and "on 1 task" in done.err


@pytest.mark.parametrize("text, code, says", [
    ("cat,pet\ndog,pet\n", 0, ""), ("to,why,from\npet,x,cat\npet,y,dog\n", 0, ""), ("old,new\ncat,pet\ndog,pet\n", 0, ""),
    ("from,to\ncat,pet\ncat,beast\n", 3, "both 'pet' and 'beast'"), ("from\ncat\n", 3, "two columns: from,to"), ("from,to\nyak,pet\n", None, "yak")])
def test_tables_of_labels_to_rename(cli, text, code, says):
    write("map.csv", text)
    done = cli("aggregate", "answers.csv", "-s", "mv", "--map-labels", "map.csv")
    assert done.code == (code or 0) and says in done.err
    if code == 0:
        assert labels(done) == {"a": "pet", "b": "pet", "c": "pet", "d": "emu"}


def test_truth_is_mapped_with_the_labels(cli):
    Path("data").mkdir()
    write("data/answers.csv", ANSWERS)
    write("data/truth.csv", "task,label\na,cat\nb,dog\n")
    write("map.csv", "from,to\ncat,pet\ndog,pet\n")
    assert "accuracy: 1.0000" in cli("aggregate", "data", "-s", "mv", "--map-labels", "map.csv").err


def test_spellings_of_one_label_are_pointed_out(cli):
    write("yes.csv", "task,worker,label\na,x,Yes\na,y,yes \nb,x,no\n")
    assert "spellings" in cli("aggregate", "yes.csv", "-s", "mv").err
    write("signed.csv", "task,worker,label\na,x,-1\na,y,1\nb,x,A-\nb,y,A\n")      # a sign is no way of spelling
    assert "spellings" not in cli("aggregate", "signed.csv", "-s", "mv").err


QUESTIONS = "task,worker,question,label\n1,a,q.csv,9\n1,a,a b,yes\n1,b,a b,yes\n1,a,a/b,no\n1,a,A-b,3\n"


def test_every_question_has_a_folder_of_its_own(cli):
    write("q.csv", QUESTIONS)
    done = cli("aggregate", "q.csv", "-s", "mv")
    assert done.code == 2 and all(name in done.err for name in ("a b", "a/b", "A-b", "--question"))
    assert labels(cli("aggregate", "q.csv", "-s", "mv", "--question", "a/b")) == {"1": "no"}
    for more in ([], ["-o", "x.csv"]):
        assert cli("aggregate", "q.csv", "-s", "mv", "--question", "all", *more).code == 2
    done = cli("aggregate", "q.csv", "-s", "mv", "--question", "all", "-o", "all/", "--json")
    assert {p.name: labels(p / "labels.csv")["1"] for p in Path("all").iterdir()} == {"A-b": "3", "a-b-2": "yes", "a-b-3": "no", "q.csv": "9"}
    assert {name: rows[0]["label"] for name, rows in done.json["result"].items()} == {"A-b": "3", "a b": "yes", "a/b": "no", "q.csv": "9"}


def test_a_question_that_the_method_is_not_for_leaves_the_others_done(cli):
    """An export of stars, numbers and classes: the numbers come first and have no labels by bcc."""
    answers = [
        {"id": 9 - n, "result": [{"from_name": "a", "type": "number", "value": {"number": n}}, {"from_name": "b", "type": "choices", "value": {"choices": ["x"]}}]}
        for n in range(2)
    ]
    tasks = [{"id": n, "data": {"text": "t"}, "annotations": [{"completed_by": n, **one} for one in answers]} for n in range(2)]
    write("export.json", json.dumps(tasks))
    done = cli("aggregate", "export.json", "--question", "all", "-o", "all/", "--json")
    assert done.code == 3 and "a: bcc needs classes" in done.err and "expected mean, median or ordinal" in done.err
    assert [p.name for p in Path("all").iterdir()] == ["b"] and set(done.json["result"]) == {"b"}
    assert cli("aggregate", "export.json", "--question", "all", "-o", "all/", "-s", "mean").code == 3
    assert {p.name for p in Path("all").iterdir()} == {"a", "b"}


def test_an_option_of_another_method_is_told_whose_it_is(cli):
    write("a.csv", "task,worker,label\n1,a,x\n1,b,y\n")
    done = cli("aggregate", "a.csv", "-s", "mv,wawa", "--smoothing", 1)
    assert done.code == 2 and "--smoothing is no option of mv, wawa, but of " in done.err and " ds," in done.err
    assert "No such option '--smothing'" in cli("aggregate", "a.csv", "-s", "ds", "--smothing", 1).err


def test_every_question_is_converted(cli):
    write("q.csv", QUESTIONS)
    assert cli("convert", "q.csv", "all/", "--question", "all").code == 0
    assert labels(cli("aggregate", "all/a-b-2", "-s", "mv")) == {"1": "yes"} and len(list(Path("all").iterdir())) == 4
    for args in (["convert", "q.csv", "x.csv"], ["convert", "q.csv", "-"], ["inspect", "q.csv"]):
        done = cli(*args, "--question", "all")
        assert done.code == 2 and "question" in done.err and not Path("x.csv").exists()


def test_columns_under_other_names(cli):
    write("other.csv", "id,who,said,more\na,x,cat,1\na,y,cat,2\nb,x,dog,3\n")
    assert labels(cli("aggregate", "other.csv", "-s", "mv", "--task", "id", "--worker", "who", "--label", "said")) == {"a": "cat", "b": "dog"}


def test_ids_come_back_as_they_went_in(cli):
    write("ids.csv", "task,worker,label\n007,01,1.0\n007,1,NA\n007,02,NA\n\"a,b\",1,nan\n")
    assert labels(cli("aggregate", "ids.csv", "-s", "mv")) == {"007": "NA", "a,b": "nan"}


def test_order_of_rows_changes_nothing(crowd, cli):
    head, *rows = Path("crowd/answers.csv").read_text().splitlines()
    write("other.csv", "\n".join([head, *sorted(rows, key=lambda row: hashlib.md5(row.encode()).digest())]) + "\n")
    for method in ("mv", "ds", "glad", "mace", "kos"):
        assert cli("aggregate", "other.csv", "-s", method).out == cli("aggregate", "crowd/answers.csv", "-s", method).out


def test_hashed_workers(cli):
    assert cli("aggregate", "answers.csv", "-s", "ds", "--hash-workers", "--hash-key", "k", "-o", "out/").code == 0
    expected = {"h" + hmac.new(b"k", name.encode(), hashlib.sha256).hexdigest()[:16] for name in ("ann", "bob", "eve")}
    assert {row["worker"] for row in read_csv("out/workers.csv")} == expected
    assert not any(b"bob" in file.read_bytes() for file in Path("out").iterdir())
    for out in ("p/", "q/"):
        cli("aggregate", "answers.csv", "-s", "ds", "--hash-workers", "-o", out)
    assert {row["worker"] for row in read_csv("p/workers.csv")}.isdisjoint({row["worker"] for row in read_csv("q/workers.csv")})


def test_hashed_workers_are_the_same_in_all_tables(cli):
    Path("data").mkdir()
    write("data/answers.csv", ANSWERS)
    write("data/workers.csv", "worker,age\nann,30\nbob,40\neve,50\n")
    cli("convert", "data", "out/", "--hash-workers")
    said = {row["worker"] for row in read_csv("out/answers.csv")}
    assert said == {row["worker"] for row in read_csv("out/workers.csv")} and "ann" not in said


def test_workers_excluded_by_name_though_ids_are_hashed(cli):
    write("out.txt", "eve\n")
    cli("convert", "answers.csv", "x.csv", "--exclude-workers", "out.txt", "--hash-workers", "--hash-key", "k")
    assert len({row["worker"] for row in read_csv("x.csv")}) == 2


def test_where_the_answers_live_changes_nothing(crowd, cli):
    expected = cli("aggregate", crowd, "-s", "ds").out
    for on in ("threads:1", "threads:3", "disk"):
        done = cli("aggregate", crowd, "-s", "ds", "--on", on)
        assert done.code == 0, done.err
        assert done.out == expected


def test_same_input_same_bytes(crowd, cli):
    for method in ("bcc", "mace", "ds[init=random]"):
        for out in ("one/", "two/"):
            assert cli("aggregate", crowd, "-s", method, "-o", out, "--seed", 3, "--ties", "random").code == 0
        one, two = ({p.name: p.read_bytes() for p in Path(out).iterdir()} for out in ("one", "two"))
        manifests = [json.loads(files.pop("manifest.json")) for files in (one, two)]
        assert one == two
        for manifest in manifests:
            del manifest["when"], manifest["seconds"]
        assert manifests[0] == manifests[1]


# the other verbs -------------------------------------------------------------------------------------------------------------


def test_simulate(cli):
    args = ["-s", "independent_confusion", "--workers", 6, "--tasks", 20, "--classes", 3, "--per-task", 4, "--seed", 1]
    assert cli("simulate", "x/", *args).code == 0 and cli("simulate", "y/", *args).code == 0
    assert {p.name for p in Path("x").iterdir()} >= {"answers.csv", "truth.csv", "confusions.csv"}
    assert all((Path("y") / p.name).read_bytes() == p.read_bytes() for p in Path("x").iterdir())
    assert header("x/answers.csv") == ["task", "worker", "label"] and header("x/truth.csv") == ["task", "label"]
    assert header("x/confusions.csv") == ["worker", "truth", "label", "prob"]
    assert {row["task"] for row in read_csv("x/truth.csv")} == {str(i) for i in range(20)}
    assert len(read_csv("x/answers.csv")) == 80
    cli("simulate", "z/", *args[:-1], 2)
    assert Path("z/answers.csv").read_bytes() != Path("x/answers.csv").read_bytes()


def test_everybody_answers_unless_a_number_is_given(cli):
    """As with peerannot, whose table of unequal numbers of answers has no cap."""
    assert cli("simulate", "x/", "--imbalance", "--json").json["result"]["answers"] == 3110
    assert cli("simulate", "y/", "-s", "hammer-spammer", "--n-worker", 4, "--n-task", 5, "--json").json["result"]["answers"] == 20


def test_simulated_crowds_in_peerannots_words(cli):
    done = cli("simulate", "x/", "-s", "hammer-spammer", "--n-worker", 6, "--n-task", 10, "--n-classes", 2, "--feedback", 3, "--ratio", 0.5)
    assert done.code == 0


def test_inspect(crowd, cli):
    done = cli("inspect", crowd)
    assert done.code == 0 and "200" in done.out and "agreement" in done.out
    found = cli("inspect", crowd, "--json").json["result"]
    assert (found["format"], found["tasks"], found["workers"], found["answers"], found["truth"]) == ("native", 40, 8, 200, 40)


def test_inspect_and_agree_say_the_same(cli):
    rows = [(f"t{i}", f"w{j}", str((i * j + i // 3) % 2)) for i in range(40) for j in range(2 + i % 5)]
    write("uneven.csv", "task,worker,label\n" + "".join(",".join(row) + "\n" for row in rows))
    found = cli("inspect", "uneven.csv", "--json").json["result"]
    percent = cli("agree", "uneven.csv", "-s", "percent", "--json").json["result"][0]
    assert found["agreement"] == pytest.approx(percent["value"], abs=1e-12)
    assert found["agreement_low"] == pytest.approx(percent["low"], abs=.02) and found["agreement_high"] == pytest.approx(percent["high"], abs=.02)
    same = cli("inspect", write("same.csv", "task,worker,label\na,x,1\na,y,1\nb,x,1\nb,y,1\n"), "--json").json["result"]
    assert same["agreement"] == 1 and same["agreement_low"] is None


def test_inspect_says_what_it_does_not_know_plainly(crowd, cli):
    """What is absent is none, not unknown."""
    assert "unknown" not in cli("inspect", crowd).out


@pytest.mark.parametrize("to", ["native", "crowdkit", "peerannot"])
def test_convert_there_and_back(crowd, cli, to):
    before = cli("aggregate", crowd, "-s", "ds").out
    assert cli("convert", crowd, "out/", "--to", to).code == 0
    assert cli("aggregate", "out/", "-s", "ds").out == before


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl", "x.parquet", "x.csv.gz", "wide.csv"])
def test_convert_to_a_table(crowd, cli, name):
    before = cli("aggregate", crowd, "-s", "ds").out
    assert cli("convert", crowd, name, *(["--to", "wide"] if name == "wide.csv" else [])).code == 0
    assert cli("aggregate", name, "-s", "ds").out == before


def test_converted_tables_have_the_order_of_ids(cli):
    Path("data").mkdir()
    write("data/answers.csv", "task,worker,label\n10,b,x\n9,a,y\n")
    write("data/items.csv", "task,text,split\n10,ten,test\n9,nine,train\n")
    write("data/workers.csv", "worker,age\nb,30\na,40\n")
    assert cli("convert", "data", "out/").code == 0
    assert [row["task"] for row in read_csv("out/answers.csv")] == [row["task"] for row in read_csv("out/splits.csv")] == ["9", "10"]
    assert [json.loads(line)["task"] for line in Path("out/items.jsonl").read_text().splitlines()] == ["9", "10"]
    assert [row["worker"] for row in read_csv("out/workers.csv")] == ["a", "b"]


def test_lines_too_long_to_be_looked_at(cli):
    """No reader can recognise what it cannot see the end of; it is a table all the same."""
    long = "w" * 300_000
    write("long.jsonl", "".join(json.dumps({"task": task, "worker": long, "label": "x"}) + "\n" for task in "ab"))
    assert labels(cli("aggregate", "long.jsonl", "-s", "mv")) == {"a": "x", "b": "x"}


def test_methods(cli):
    done = cli("methods")
    assert all(name in done.out for name in ("aggregate", "simulate", "read", "ds", "glad", "hammer_spammer"))
    assert "glad" in cli("methods", "aggregate").out and "long" not in cli("methods", "aggregate").out.split()
    assert cli("methods", "simulate", "--json").json["result"][0].keys() == {"job", "method", "title"}


def test_demo_ends_with_the_path_of_a_page(cli):
    done = cli("demo", "-o", "shown")
    assert done.code == 0 and Path(done.out.strip().splitlines()[-1]).is_file()


@pytest.mark.parametrize("args", [["inspect", "crowd"], ["convert", "crowd", "out.csv"], ["simulate", "s/", "-s", "hammer_spammer", "--tasks", "10"],
                                  ["aggregate", "crowd", "-s", "mv"], ["methods"], ["methods", "read"]], ids=" ".join)
def test_json_of_every_verb(crowd, cli, args):
    done = cli(*args, "--json")
    assert done.code == 0 and list(done.json) == KEYS and done.json["command"] == args[0]
    assert done.out.count("\n") == 1


def test_json_of_aggregate(crowd, cli):
    found = cli("aggregate", crowd, "-s", "ds", "--smoothing", 0.1, "--json").json
    assert list(found["result"][0]) == COLUMNS and len(found["result"]) == 40
    assert found["seed"] == 0 and found["input"] == "crowd" and found["options"]["smoothing"] == 0.1 and found["files"] == []
    assert cli("aggregate", crowd, "-s", "ds", "-o", "x.csv", "--json").json["files"] == ["x.csv"]


def test_json_holds_no_nan(cli):
    write("r.csv", "task,worker,label\n1,a,1.5\n2,a,4\n")
    done = cli("aggregate", "r.csv", "--scale", "interval", "-s", "mean", "--json")
    assert done.code == 0 and "NaN" not in done.out and "Infinity" not in done.out


def test_options_of_classes_beside_numbers(cli):
    write("r.csv", "task,worker,label\n1,a,1.5\n1,b,2\n2,a,4\n2,b,4.5\n")
    done = cli("aggregate", "r.csv", "--scale", "interval", "-s", "mean", "--soft", "--min-prob", 0.9)
    assert done.code == 0 and "--soft, --min-prob: for classes, and these labels are numbers; left out" in done.err
    assert "left out" not in cli("aggregate", "r.csv", "--scale", "interval", "-s", "mean").err
    done = cli("aggregate", "r.csv", "--scale", "interval", "-s", "ordinal", "--unit", 1e300)
    assert done.code == 2 and "unit is 1e+300" in done.err


def test_json_names_the_seed_of_a_simulation_made_by_default(cli):
    assert cli("simulate", "s/", "-s", "hammer_spammer", "--json").json["seed"] == 0


# methods of other packages ---------------------------------------------------------------------------------------------------

GUEST = '''"""Last word: whoever comes last decides.

Reference: none.
"""
from manyvoices import Consensus
import numpy as np

def lastword(answers, *, shift: int = 0):
    """Take the last class said.

    Parameters
    ----------
    shift
        Classes to move on by.
    """
    classes = len(answers.classes)
    return Consensus.of(answers, probs=np.eye(classes)[np.full(len(answers.tasks), (classes - 1 + shift) % classes)])
'''


def guest(folder: Path, name: str) -> dict[str, str]:
    """A package with an entry point, as an installer would leave it."""
    info = folder / "theirs-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "theirs.py").write_text(GUEST)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[manyvoices.methods]\naggregate.{name} = theirs:lastword\n")
    return os.environ | {"PYTHONPATH": str(folder)}


def test_a_method_of_another_package(tmp_path):
    (tmp_path / "answers.csv").write_text(ANSWERS)
    env = guest(tmp_path / "site", "lastword")
    done = process("aggregate", "answers.csv", "-s", "lastword", "--shift", "1", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().splitlines()[1].startswith("a,cat")
    assert b"Last word" in process("methods", cwd=tmp_path, env=env).stdout
    assert b"--shift" in process("aggregate", "-s", "lastword", "-h", cwd=tmp_path, env=env).stdout


def test_a_clash_of_names_is_an_error(tmp_path):
    done = process("methods", cwd=tmp_path, env=guest(tmp_path / "site", "ds"))
    assert done.returncode == 1 and b"aggregate.ds" in done.stderr and b"Traceback" not in done.stderr


# the process -----------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("args", [["aggregate", "big", "-s", "mace", "--restarts", "100000", "-o", "out.csv"],
                                  ["aggregate", "big", "-s", "mace", "--restarts", "100000", "-o", "out/"],
                                  ["simulate", "out/", "-s", "large", "--tasks", "20000000"]], ids=["table", "folder", "simulated"])
def test_interrupted_leaves_whole_files_or_none(tmp_path, monkeypatch, args):
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", "big/", "-s", "large", "--workers", "100", "--tasks", "5000", "-q"]) == 0
    child = subprocess.Popen([sys.executable, "-m", "manyvoices", *args], stderr=subprocess.PIPE)
    time.sleep(2.5)
    assert child.poll() is None, child.stderr.read()
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=30)[1].decode()
    assert child.returncode == 130
    assert "Traceback" not in said and said.strip().endswith("interrupted")
    assert not Path("out.csv").exists() and not [p for p in Path().rglob("*") if p.name.endswith(".part")]
    assert not Path("out/manifest.json").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_interrupted_within_code_made_from_text(tmp_path):
    """As dataclasses are, many of which are made while the command line loads: python -m would die of the signal after all."""
    (tmp_path / "door.py").write_text("""
import manyvoices.__main__, manyvoices.cli
def run():
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        return 130
manyvoices.cli.run = run
manyvoices.__main__.entry()
""")
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])}
    assert subprocess.run([sys.executable, "-m", "door"], env=env, cwd=tmp_path, timeout=60).returncode == 130


def test_interrupted_while_loading(monkeypatch, capsys):
    import manyvoices.__main__ as door

    class Slow:
        def find_spec(self, name, path=None, target=None):
            if name == "manyvoices.cli":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "manyvoices.cli")
    monkeypatch.setattr(sys, "meta_path", [Slow(), *sys.meta_path])
    with pytest.raises(SystemExit) as done:
        door.entry()
    assert done.value.code == 130 and capsys.readouterr().err == "manyvoices: interrupted\n"


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
def test_a_closed_pipe_is_no_error(tmp_path):
    command = f'{sys.executable} -m manyvoices methods | true; exit "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == ""


def test_a_kept_file_survives_a_failure(cli):
    write("out.csv", "precious")
    assert cli("aggregate", "answers.csv", "--classes", "cat", "-o", "out.csv").code == 3
    assert Path("out.csv").read_text() == "precious"


def test_no_colour_and_no_animation_off_a_terminal(tmp_path):
    (tmp_path / "answers.csv").write_text(ANSWERS)
    done = process("aggregate", "answers.csv", "-s", "glad", cwd=tmp_path)
    assert b"\x1b" not in done.stdout + done.stderr and b"\r" not in done.stderr


def test_names_in_any_script(cli):
    Path("antworten.csv").write_text("task,worker,label\n写真,Jürgen,katze 🐈\n写真,Ωmega,katze 🐈\n", encoding="utf-8")
    assert labels(cli("aggregate", "antworten.csv", "-s", "mv")) == {"写真": "katze 🐈"}


def test_output_is_utf8_whatever_the_locale(tmp_path):
    (tmp_path / "answers.csv").write_text("task,worker,label\n写真,a,katze 🐈\n", encoding="utf-8")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHONUTF8", "PYTHONIOENCODING"))}
    env |= {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    done = process("aggregate", "answers.csv", "-s", "mv", cwd=tmp_path, env=env)
    assert done.returncode == 0 and "katze 🐈" in done.stdout.decode()


def test_no_option_of_a_method_hides_one_of_its_verb():
    """`--scale interval` once went to the method `ordinal`, and the answers stayed nominal."""
    for verb, job in (("aggregate", "aggregate"), ("simulate", "simulate")):
        own = {p.name for p in main.commands[verb].params if not getattr(p, "of_method", False)}
        readers = {o.name for name in registry.names("read") for o in registry.about("read", name).options} if verb == "aggregate" else set()
        for name in registry.names(job):
            shared = {o.name for o in registry.about(job, name).options} & (own | readers)
            assert shared <= {"ties", "seed"}, (name, shared)


def test_users_files_are_not_replaced_by_results(cli):
    """`-o` at the data's own folder once overwrote the user's workers.csv."""
    Path("data").mkdir()
    write("data/answers.csv", ANSWERS)
    write("data/workers.csv", "worker,age\nann,30\n")
    done = cli("aggregate", "data", "-s", "wawa", "-o", "data/")
    assert done.code == 2 and "data" in done.err and Path("data/workers.csv").read_text() == "worker,age\nann,30\n"


def test_a_second_run_leaves_nothing_of_the_first(cli):
    cli("aggregate", "answers.csv", "-s", "ds", "-o", "out/")
    assert Path("out/confusions.csv").exists()
    cli("aggregate", "answers.csv", "-s", "mv", "-o", "out/")
    assert not Path("out/confusions.csv").exists() and json.loads(Path("out/manifest.json").read_text())["command"][1] == "mv"


def test_a_run_that_fails_in_writing_leaves_the_folder_of_the_one_before(cli, monkeypatch):
    cli("aggregate", "answers.csv", "-s", "ds", "-o", "out/")
    before = {p.name: p.read_bytes() for p in Path("out").iterdir()}

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    for place in ("manyvoices.core.consensus.Consensus.dump", "manyvoices.core.labels.task_table"):
        with monkeypatch.context() as patch:
            patch.setattr(place, full)
            done = cli("aggregate", "answers.csv", "-s", "mv", "-o", "out/")
        assert done.code == 1 and "No space left" in done.err
        assert {p.name: p.read_bytes() for p in Path("out").iterdir()} == before


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_whoever_may_read_one_file_may_read_all(cli):
    """safetensors makes its files for their owner alone."""
    cli("aggregate", "answers.csv", "-s", "ds", "-o", "out/")
    assert {p.stat().st_mode for p in Path("out").iterdir()} == {Path("answers.csv").stat().st_mode}


def test_the_manifest_holds_what_made_the_result(cli):
    write("map.csv", "from,to\nemu,bird\n")
    cli("aggregate", "answers.csv", "-s", "mv", "--map-labels", "map.csv", "--missing", "q", "--min-prob", "0", "-o", "out/")
    found = json.loads(Path("out/manifest.json").read_text())
    assert found["options"]["seed"] == 0 and found["options"]["min_prob"] == 0 and found["options"]["missing"] == ["q"]
    assert set(found["inputs"]) == {"answers.csv", "map.csv"}


def test_folders_say_how_they_came_about(cli):
    cli("simulate", "crowd2/", "-s", "hammer_spammer", "--workers", 6, "--tasks", 9, "--per-task", 3, "--seed", 4)
    found = json.loads(Path("crowd2/manifest.json").read_text())
    assert found["command"] == ["simulate", "hammer_spammer"] and found["options"]["seed"] == 4 and found["options"]["workers"] == 6
    cli("convert", "crowd2", "peer/", "--to", "peerannot")
    assert json.loads(Path("peer/manifest.json").read_text())["command"] == ["convert"] and cli("inspect", "peer").code == 0


def test_folders_count_what_was_left_out(cli):
    write("gap.csv", "task,worker,label\n1,a,x\n1,b,\n1,c,y\n,d,x\n")
    left = {"no task": 1, "missing label": 1}
    for call in (["aggregate", "-s", "mv"], ["agree", "-s", "alpha"], ["identify", "-s", "entropy"]):
        assert cli(call[0], "gap.csv", *call[1:], "-o", f"{call[0]}/").code == 0
        assert json.loads(Path(f"{call[0]}/manifest.json").read_text())["left_out"] == left
    assert cli("convert", "gap.csv", "native/").code == 0
    assert json.loads(Path("native/manifest.json").read_text())["left_out"] == left


def test_not_converging_is_said_without_a_trace(cli):
    assert "NOT converged" in cli("aggregate", "answers.csv", "-s", "iwmv", "--rounds", 1).err


def test_changes_are_those_of_the_table_that_was_written(crowd, cli):
    cli("aggregate", crowd, "-s", "ds", "-o", "base/")
    cli("aggregate", crowd, "-s", "ds", "--start", "base/", "--min-prob", "0.9999", "-o", "next/")
    withheld = {row["task"] for row in read_csv("next/labels.csv") if not row["label"]}
    assert withheld and withheld <= {row["task"] for row in read_csv("next/changes.csv")}


def test_gold_among_several_methods_goes_to_those_that_take_it(cli):
    write("gold.csv", "task,label\na,dog\n")
    done = cli("aggregate", "answers.csv", "-s", "mv,ds", "--gold", "gold.csv", "-o", "both/")
    assert done.code == 0 and "mv takes no gold" in done.err and labels("both/ds/labels.csv")["a"] == "dog"


def test_two_truths_are_none(cli):
    Path("data").mkdir()
    write("data/answers.csv", ANSWERS)
    for rows in ("a,cat\na,dog\nb,dog\n", "b,dog\na,dog\na,cat\n"):
        write("data/truth.csv", "task,label\n" + rows)
        done = cli("aggregate", "data", "-s", "mv")
        assert "two truths" in done.err and "on 1 task whose truth is known" in done.err


def test_a_random_tie_is_drawn_once(crowd, cli):
    """The majority that wawa scores workers against is the one that mv reports."""
    from manyvoices import api
    from manyvoices.core.consensus import Consensus
    from manyvoices.kernels.votes import task_numbers, winners

    answers = api.read(crowd).answers
    found: Consensus = api.aggregate(answers, "mv")
    table = found.table(ties="random", seed=3)
    chosen = winners(found.probs, "random", task_numbers(answers.tasks, "random", 3)).argmax(axis=1)
    assert table["label"].to_list() == [answers.classes[k] for k in chosen]


def test_on_disk_whatever_the_command(crowd, cli):
    """What needs rows or columns looks them up before the answers go to disk."""
    for args in (["--all-tasks"], ["-s", "plantnet"], ["-s", "ds"]):
        plain, disk = (cli("aggregate", crowd, *args, *more).out for more in ([], ["--on", "disk"]))
        assert plain and plain == disk
    assert cli("convert", crowd, "x.csv", "--on", "disk").code == 0


def test_a_format_of_one_file_is_no_folder(crowd, cli):
    """`convert DATA out/ --to lewidi2025` once wrote a file called out."""
    for to in ("lewidi2023", "lewidi2025", "labelstudio"):
        done = cli("convert", crowd, "out/", "--to", to)
        assert done.code == 2 and "one file" in done.err and ".json" in done.err and not Path("out").exists()
        assert cli("convert", crowd, f"{to}.json", "--to", to).code == 0
