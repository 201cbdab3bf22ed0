"""manyvoices agree on the command line: rows of pairs, groups, several questions, codes, gates, files."""

import csv
import io
import json
from pathlib import Path

import pytest
from crowds import crowd

from manyvoices.cli import run
from manyvoices.core.scores import COLUMNS


class Done:
    def __init__(self, code: int, out: str, err: str):
        self.code, self.out, self.err = code, out, err

    def rows(self, **wanted: str) -> list[dict]:
        return [row for row in csv.DictReader(io.StringIO(self.out)) if all(row[name] == text for name, text in wanted.items())]


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [(t, w, k) for t, w, k in crowd(2, tasks=40, workers=5).rows()]
    Path("answers.csv").write_text("task,worker,label,batch\n" + "".join(f"t{t},w{w},{k},{'early' if t < 20 else 'late'}\n" for t, w, k in rows))
    Path("asks.csv").write_text("task,worker,question,label\n" + "".join(
        f"t{t},w{w},{q},{q}{k}\n" for q in ("mood", "topic") for t, w, k in rows if q == "mood" or t % 2))

    def call(*args: object) -> Done:
        capsys.readouterr()
        code = run([str(arg) for arg in args])
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return call


def test_the_table(cli):
    done = cli("agree", "answers.csv")
    assert done.code == 0 and list(done.rows()[0]) == list(COLUMNS)
    assert {row["score"] for row in done.rows()} == {"alpha", "bennett", "cohen", "conger", "fleiss", "gwet", "percent", "scott"}
    assert {row["of"] for row in done.rows()} == {"dataset", "class", "pair"}
    assert {row["of"] for row in cli("agree", "answers.csv", "--no-pairs").rows()} == {"dataset", "class"}
    assert all(row["low"] and row["high"] for row in done.rows(of="dataset"))


def test_rows_of_pairs_are_there_unasked_among_few_and_with_min_common(cli):
    assert len(cli("agree", "answers.csv", "-s", "cohen").rows(of="pair")) == 10
    Path("many.csv").write_text("task,worker,label\n" + "".join(f"{t},w{w},{(t * w) % 3}\n" for t in range(12) for w in range(31)))
    assert not cli("agree", "many.csv", "-s", "cohen").rows(of="pair")
    for more in (["--pairs"], ["--min-common", 12]):
        assert len(cli("agree", "many.csv", "-s", "cohen", *more).rows(of="pair")) == 31 * 30 / 2
    [row] = cli("agree", "many.csv", "-s", "cohen", "--min-common", 13).rows(of="pair")
    assert row["value"] == "" and row["note"].startswith("not defined because no two workers have 13 tasks in common")
    Path("counts.csv").write_text("task,label,n\na,x,3\na,y,1\nb,y,4\n")
    assert not cli("agree", "counts.csv").rows(of="pair")


def test_groups(cli):
    found = cli("agree", "answers.csv", "-s", "alpha", "--by", "batch", "--bootstrap", 0).rows(of="dataset")
    assert [row["group"] for row in found] == ["", "early", "late"] and [row["n"] for row in found] == ["40", "20", "20"]


def test_questions_as_groups(cli):
    """Each with classes of its own; as if it had been read alone."""
    done = cli("agree", "asks.csv", "-s", "alpha,cohen", "--by", "question")
    assert done.code == 0, done.err
    assert [row["n"] for row in done.rows(of="dataset", score="alpha")] == ["40", "20"]
    for question in ("mood", "topic"):
        alone = cli("agree", "asks.csv", "-s", "alpha,cohen", "--question", question).rows()
        assert [row | {"group": ""} for row in done.rows(group=question)] == alone


def test_questions_in_folders(cli):
    assert cli("agree", "asks.csv").code == 2
    done = cli("agree", "asks.csv", "--question", "all")
    assert done.code == 2 and "give a folder" in done.err
    done = cli("agree", "asks.csv", "-s", "alpha", "--question", "all", "-o", "all/", "--min-alpha", "-1")
    assert done.code == 0, done.err
    for question in ("mood", "topic"):
        alone = cli("agree", "asks.csv", "-s", "alpha", "--question", question).out
        assert Path(f"all/{question}/scores.csv").read_text() == alone
        assert json.loads(Path(f"all/{question}/manifest.json").read_text())["options"]["question"] == question
    assert cli("agree", "asks.csv", "-s", "alpha", "--question", "all", "-o", "all/", "--min-alpha", 1).code == 4
    for verb in (["identify", "-s", "skill"], ["compare", "-s", "mv,bcc"]):
        done = cli(verb[0], "asks.csv", *verb[1:], "--question", "all", "-o", f"{verb[0]}/", "--json")
        assert done.code == 0 and set(json.loads(done.out)["result"]) == {"mood", "topic"}, done.err
        assert sorted(p.name for p in Path(verb[0]).iterdir()) == ["mood", "topic"]


def test_json(cli):
    done = json.loads(cli("agree", "answers.csv", "-s", "alpha", "--json").out)
    assert set(done) == {"command", "version", "seed", "input", "options", "result", "notes", "files"}
    assert done["command"] == "agree" and done["seed"] == 0 and done["options"]["strategy"] == "alpha"
    assert list(done["result"][0]) == list(COLUMNS)
    assert json.loads(cli("agree", "answers.csv", "-s", "alpha", "--seed", 7, "--json").out)["seed"] == 7


@pytest.mark.parametrize("gate, code", [(["--min-alpha", -1], 0), (["--min-alpha", 1], 4), (["--max-percent", 1], 0), (["--max-percent=0"], 4),
                                        (["--min-cohen", .5], 2), (["--min-nothing", .5], 2)])
def test_gates(cli, gate, code):
    done = cli("agree", "answers.csv", "-s", "alpha,percent", *gate)
    assert done.code == code and (done.rows() if code in (0, 4) else done.err)


def test_numbers_whose_squares_are_none(cli):
    """Refused with their line, instead of an overflow later on."""
    Path("far.csv").write_text("task,worker,label\n1,a,2\n1,b,-1e200\n")
    for verb in ("agree", "identify", "compare", "aggregate"):
        done = cli(verb, "far.csv", "--scale", "interval")
        assert done.code == 3 and "far.csv, line 3: label '-1e200' is too large a number; expected numbers up to 1e+100" in done.err
    Path("far.csv").write_text("task,worker,label\n" + "".join(f"{t},{w},{t}e99\n" for t in range(9) for w in "abc"))
    for verb in ("agree", "identify", "compare"):
        done = cli(verb, "far.csv", "--scale", "interval")
        assert done.code == 0 and "Warning" not in done.err and "nan" not in done.out and ",inf" not in done.out, verb
