"""manyvoices evaluate on the command line: what goes through the pipe of verbs, codes, gates, files, messages."""

import csv
import io
import json
from pathlib import Path

import calling
import numpy as np
import pytest
from predicting import crowd, table

from manyvoices import cli
from manyvoices.core.scores import COLUMNS


class Done(calling.Done):
    def value(self, score: str, group: str = "") -> float:
        [row] = [row for row in self.rows if (row["score"], row["of"], row["group"]) == (score, "dataset", group)]
        return float(row["value"])


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a command in a folder that holds data/: answers of a crowd, truth, items with a column and splits."""
    monkeypatch.chdir(tmp_path)
    base = crowd(3, tasks=60)
    write(base, Path("data"))

    def call(*args: object) -> Done:
        capsys.readouterr()
        code = cli.run([str(arg) for arg in args])
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    call.base = base
    return call


def write(base, folder: Path, split: bool = False) -> None:
    folder.mkdir()
    (folder / "answers.csv").write_text("task,worker,label\n" + "".join(f"{t},w{w},{k}\n" for t, w, k in base.rows()))
    (folder / "truth.csv").write_text("task,label\n" + "".join(f"{t},{k}\n" for t, k in enumerate(base.truth)))
    (folder / "items.csv").write_text("task,text,kind\n" + "".join(f"{t},text {t},{'long' if t % 3 else 'short'}\n" for t in range(60)))
    (folder / "workers.csv").write_text("worker,team\n" + "".join(f"w{w},{'red' if w < 4 else 'blue'}\n" for w in range(8)))
    if split:
        names = ["train"] * 40 + ["dev"] * 5 + ["test"] * 15
        (folder / "splits.csv").write_text("task,split\n" + "".join(f"{t},{name}\n" for t, name in enumerate(names)))


@pytest.mark.parametrize("out", ["labels.csv", "labels.parquet", "labels.jsonl", "labels.npy", "result/"])
def test_from_aggregate_to_evaluate(run, out):
    assert run("aggregate", "data", "-s", "ds", "--soft", "-o", out).code == 0
    done = run("evaluate", out, "data")
    assert done.code == 0 and list(done.rows[0]) == list(COLUMNS)
    labels = run("aggregate", "data", "-s", "ds", "-q").rows
    right = np.mean([int(row["label"]) == run.base.truth[int(row["task"])] for row in labels])
    assert done.value("accuracy") == pytest.approx(right) and done.value("micro_f1") == pytest.approx(right)
    assert done.rows[0]["score"] == "accuracy" and done.rows[0]["note"].startswith("interval: bootstrap over 60 tasks")
    assert float(done.rows[0]["low"]) < right < float(done.rows[0]["high"])
    assert ("if DATA's own answers made them" in done.err) == (out != "labels.npy")


def test_gates(run):
    run("aggregate", "data", "-o", "labels.csv", "--soft")
    assert run("evaluate", "labels.csv", "data", "--min-accuracy", ".5", "--max-log-loss", 9).code == 0
    done = run("evaluate", "labels.csv", "data", "--min-accuracy", "1.01")
    assert done.code == 4 and "accuracy is" in done.err and "below --min-accuracy 1.01" in done.err and len(done.rows) > 5
    done = run("evaluate", "labels.csv", "data", "-s", "manhattan", "--max-manhattan=0", "--by", "kind")
    assert done.code == 4 and done.err.count("above --max-manhattan 0") == 3
    done = run("evaluate", "labels.csv", "data", "-s", "accuracy", "--max-ece", ".1")
    assert done.code == 2 and "ece, which was not computed (accuracy)" in done.err
    Path("data/truth.csv").unlink()
    done = run("evaluate", "labels.csv", "data", "--min-accuracy", ".5")
    assert done.code == 4 and "accuracy is not defined because no truth is known" in done.err


def test_splits(run):
    write(run.base, Path("split"), split=True)
    run("aggregate", "split", "-o", "labels.csv", "-q")
    done = run("evaluate", "labels.csv", "split", "-s", "accuracy")
    assert done.rows[0]["n"] == "15" and "split test: 15 tasks, 45 predicted tasks of others left out" in done.err
    for split, n in (("all", "60"), ("dev", "5"), ("train", "40")):
        assert run("evaluate", "labels.csv", "split", "-s", "accuracy", "--split", split).rows[0]["n"] == n
    assert run("evaluate", "labels.csv", "data", "-s", "accuracy").rows[0]["n"] == "60"
    done = run("evaluate", "labels.csv", "split", "--split", "tset")
    assert done.code == 2 and "no split called 'tset'. Did you mean 'test'?" in done.err


def test_predictions_with_split_and_worker(run):
    told = table(run.base, own=True)
    rows = [f"{r['task']},{'test' if int(r['task']) < 20 else 'train'},w{r['worker']},{r['label']},{r['prob']},{r['p:0']},{r['p:1']},{r['p:2']}\n"
            for r in told.to_dicts()]
    Path("predictions.csv").write_text("task,split,worker,label,prob,p:0,p:1,p:2\n" + "".join(rows))
    done = run("evaluate", "predictions.csv", "data")
    assert done.code == 0 and done.rows[0]["n"] == "20" and "split test: 20 tasks" in done.err
    test = [(t, w, k) for t, w, k in run.base.rows() if t < 20]
    guess = {(int(r["task"]), int(r["worker"])): int(r["label"]) for r in told.to_dicts()}
    assert done.value("worker_error_micro") == pytest.approx(np.mean([guess[t, w] != k for t, w, k in test]))
    assert {row["name"] for row in done.rows if row["of"] == "worker"} <= {f"w{w}" for w in range(8)}
    assert done.value("dic") >= 0
    done = run("evaluate", "predictions.csv", "data", "-s", "pe,DIC", "--by", "team")
    assert [row["group"] for row in done.rows if row["score"] == "dic"] == ["", "blue", "red"]
    assert run("evaluate", "predictions.csv", "data", "-s", "worker-error", "--max-worker-error-worst", "2").code == 0


def test_files_and_json(run):
    run("aggregate", "data", "-o", "labels.csv", "-q")
    done = run("evaluate", "labels.csv", "data", "-o", "scores.csv", "-q")
    assert done.code == 0 and not done.out and not done.err
    plain = run("evaluate", "labels.csv", "data").out
    assert Path("scores.csv").read_text() == plain == run("evaluate", "labels.csv", "data").out
    done = run("evaluate", "labels.csv", "data", "-o", "scores/")
    assert done.code == 0 and "accuracy 0." in done.err and Path("scores/scores.csv").read_text() == plain
    manifest = json.loads(Path("scores/manifest.json").read_text())
    assert manifest["command"] == ["evaluate"] and any(name.endswith("labels.csv") for name in manifest["inputs"])
    found = json.loads(run("evaluate", "labels.csv", "data", "--json", "-s", "accuracy,ece[bins=5]", "--seed", "3").out)
    assert found["command"] == "evaluate" and found["seed"] == 3 and [row["score"] for row in found["result"]] == ["accuracy", "ece"]
    assert list(found["result"][0]) == list(COLUMNS)


def test_numbers_and_counts(run):
    Path("n.csv").write_text("task,worker,label\na,u,1\na,v,2\nb,u,4\nb,v,8\n")
    assert run("aggregate", "n.csv", "--scale", "interval", "-s", "mean", "-o", "m.csv").code == 0
    done = run("evaluate", "m.csv", "n.csv", "--scale", "interval")
    assert done.code == 0 and done.rows[0]["note"].startswith("not defined because no truth is known (--against answers")
    assert done.value("worker_error_micro") == 1.25
    assert run("evaluate", "m.csv", "n.csv", "--scale", "interval", "--against", "answers").value("mae") == 0
    Path("c.csv").write_text("task,label,count\na,x,3\na,y,1\nb,y,4\n")
    assert run("aggregate", "c.csv", "-s", "ns", "--soft", "-o", "ns.csv").code == 0
    done = run("evaluate", "ns.csv", "c.csv", "-s", "manhattan,worker_error")
    assert done.code == 0 and float(done.rows[0]["value"]) == 0 and "the answers name nobody" in done.rows[1]["note"]


def test_the_pipe(run, monkeypatch):
    text = run("aggregate", "data", "-s", "mv", "-q").out

    class Stdin:
        buffer = io.BytesIO(text.encode())

    monkeypatch.setattr("sys.stdin", Stdin)
    done = run("evaluate", "-", "data", "-s", "accuracy")
    assert done.code == 0 and done.rows[0]["n"] == "60"


@pytest.mark.parametrize("text, message", [
    ("task,label\nnone,1\n", "x.csv, line 2: task 'none' is not in DATA; expected tasks of DATA, such as '0'"),
    ("task,label\n1,1\n2,7\n", "x.csv, line 3: label '7' is not a class of DATA; expected 0, 1, 2 (--classes states others)"),
    ("task,label\n1,1\n1,2\n", "x.csv, line 3: a second prediction for task '1' (1 such rows); expected one row each (aggregate without --ties all)"),
    ("task,label,p:0,p:1,p:2\n1,1,nan,.5,.5\n", "x.csv, line 2: the probabilities of task '1' are not all there (p:0 is empty or NaN)"),
    ("task,label,p:0,p:1,p:2\n1,1,.3,.5,.5\n", "x.csv, line 2: the probabilities of task '1' sum to 1.3; expected numbers from 0 to 1 that sum to 1"),
    ("task,label,p:0,p:1,p:4\n1,1,.3,.5,.2\n", "x.csv: column 'p:4' is not about a class of DATA; expected p:0, p:1, p:2"),
    ("task,label,prob\n1,1,many\n", "x.csv, line 2: prob 'many' is not a number; expected a number, or an empty cell"),
    ("task,worker,label\n1,nobody,1\n", "x.csv, line 2: worker 'nobody' is not in DATA; expected workers of DATA, such as 'w0'"),
    ("item,label\n1,1\n", "x.csv: no column 'task'; found item, label; expected columns task and label (or p:CLASS for every class, or value)"),
    ("task,label\n", "x.csv: no predictions in it; expected a row for each task"), ("", "x.csv")])
def test_bad_predictions(run, text, message):
    Path("x.csv").write_text(text)
    done = run("evaluate", "x.csv", "data", "-o", "out.csv")
    assert done.code == 3 and message in done.err and len(done.err.strip().splitlines()) == 1
    assert not Path("out.csv").exists() and not done.out


def test_bad_calls(run):
    run("aggregate", "data", "-o", "labels.csv", "-q")
    for args, message in ((["-s", "acuracy"], "Did you mean 'accuracy'?"), (["--by", "kin"], "Did you mean 'kind'?"), (["--bootstrap", "-1"], "bootstrap is -1"),
                          (["-s", "ece", "--bins", "0"], "bins is 0"), (["-s", "accuracy", "--bins", "3"], "bins")):
        done = run("evaluate", "labels.csv", "data", *args)
        assert done.code == 2 and message in done.err, args
    assert run("evaluate", "none.csv", "data").code == 3 and run("evaluate", "labels.csv", "none").code == 3
    done = run("evaluate", "labels.csv", "data", "-o", "labels.csv")
    assert done.code == 2


def test_help_shows_the_options_of_the_scores(run):
    done = run("evaluate", "-h")
    assert done.code == 0 and "--against" in done.out and "--bins" in done.out and "--min-SCORE" in done.out
    done = run("evaluate", "-s", "ece", "-h")
    assert "--bins" in done.out and "--within" not in done.out


@pytest.mark.parametrize("other", ["!first", "~last"])
def test_a_truth_that_nobody_said(run, other):
    """It counts as wrong, and everything about the answers stays as it was, wherever the class stands in the order."""
    run("aggregate", "data", "-s", "ds", "--soft", "-o", "labels.csv")
    about = "manhattan,worker_error,worker_f1,wasserstein,ranking,dic"
    values = lambda done: {(row["score"], row["name"]): float(row["value"] or "nan") for row in done.rows}
    before = values(run("evaluate", "labels.csv", "data", "-s", about))
    right = run("evaluate", "labels.csv", "data", "-s", "accuracy").value("accuracy")
    text = Path("data/truth.csv").read_text().splitlines()
    [label] = [row["label"] for row in csv.DictReader(io.StringIO(Path("labels.csv").read_text())) if row["task"] == "7"]
    was = text[8].split(",")[1] == label
    text[8] = f"7,{other}"
    Path("data/truth.csv").write_text("\n".join(text) + "\n")
    done = run("evaluate", "labels.csv", "data", "-s", about)
    assert done.code == 0, done.err
    assert values(done) == pytest.approx(before, abs=1e-12, nan_ok=True)
    assert run("evaluate", "labels.csv", "data", "-s", "accuracy").value("accuracy") == pytest.approx(right - was / 60)
    assert run("evaluate", "labels.csv", "data", "-s", "log_loss").value("log_loss") > .3   # -log(1e-12) / 60 alone is .46


@pytest.mark.parametrize("stated, expected", [((), .5), (("--classes", "1,2,3,4,5"), .5), (("--classes", "5,1"), 1)])
def test_a_truth_that_nobody_said_stands_where_it_belongs(run, stated, expected):
    """Between the classes that were said, not behind them, but where another order is stated; arrays keep their places."""
    Path("few").mkdir()
    Path("few/answers.csv").write_text("task,worker,label\n" + "".join(f"{t},w{w},{1 if t < 2 else 5}\n" for t in range(4) for w in range(3)))
    Path("few/truth.csv").write_text("task,label\n0,1\n1,2\n2,5\n3,4\n")
    reading = ("--scale", "ordinal", *stated)
    for out, soft in (("labels.csv", []), ("hard.npy", []), ("soft.npy", ["--soft"])):
        assert run("aggregate", "few", "-s", "mv", *soft, "-o", out, *reading).code == 0
        done = run("evaluate", out, "few", "-s", "mae,accuracy,macro_f1", *reading)
        assert done.code == 0, done.err
        assert done.value("accuracy") == .5 and done.value("mae") == expected
        if not stated:
            assert [row["name"] for row in done.rows if row["of"] == "class"] == ["1", "2", "4", "5"]
