"""`manyvoices report` on the command line: the three forms, --json, what is asked of names and places, awkward data, exit codes."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from calling import caller

from manyvoices.cli import run

ANSWER = ["command", "version", "seed", "input", "options", "result", "notes", "files"]
SECTIONS = ["title", "next", "figures", "meanings", "data", "agreement", "tasks", "workers", "classes", "confidence", "methods", "runs", "models", "dropped", "manifest"]


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """In a folder with a data set of forty tasks, truth for thirty of them, times and texts."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=40)
    lines = ["task,worker,label,seconds,when"]
    for t in range(40):
        for w in range(6):
            label = truth[t] if rng.random() < .5 + .08 * w else rng.integers(3)
            lines.append(f"t{t},w{w},{'abc'[label]},{1 + w + rng.random():.3f},2024-05-{1 + t // 4:02}T{w:02}:{t:02}:00Z")
    Path("data").mkdir()
    Path("data/answers.csv").write_text("\n".join([*lines, "t0,w9,,1,", "t1,w9,,1,"]) + "\n")
    Path("data/truth.csv").write_text("task,label\n" + "".join(f"t{t},{'abc'[truth[t]]}\n" for t in range(30)))
    Path("data/items.csv").write_text("task,text\n" + "".join(f"t{t},what is number {t}?\n" for t in range(40)))

    return caller(capsys)


def facts(cli, *args):
    done = cli("report", *args, "-o", "facts.json")
    assert done.code == 0, done.err
    return json.loads(Path("facts.json").read_text(encoding="utf-8"))


def answers(*rows, head="task,worker,label", name="answers.csv"):
    Path(name).write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return name


def test_three_forms_say_the_same(cli):
    for name in ("report.html", "report.md", "report.json"):
        done = cli("report", "data", "-o", name)
        assert done.code == 0 and done.out == f"{Path(name).resolve()}\n"      # the one thing on stdout: what to open
    page, text, held = (Path(f"report.{form}").read_text(encoding="utf-8") for form in ("html", "md", "json"))
    held = json.loads(held)
    assert list(held) == SECTIONS
    assert page.startswith("<!doctype html>") and text.startswith("# data\n")
    assert not re.search(r'(src|href)="(?!#|data:)', page)                       # nothing outside of the file
    for shown in (page.split("<script")[0], text):
        for section in ("data", "agreement", "workers", "tasks", "classes", "confidence", "methods", "dropped", "manifest"):
            assert held[section]["title"] in shown
        for step in held["next"]:
            assert step["do"].split(" %")[0] in shown.replace("\u00a0", " ").replace("&#39;", "'")
        assert "what is number" in shown and "w5" in shown and "seconds" not in shown.split("Who answered")[1][:50]
    assert {"skill", "accuracy", "speed", "drift"} <= set(held["workers"]["columns"])
    assert held["dropped"]["reasons"] and sum(held["dropped"]["reasons"].values()) == 2


def test_json(cli):
    done = cli("report", "data", "-o", "report.html", "--seed", 3, "--json")
    found = json.loads(done.out)
    assert list(found) == ANSWER and (found["command"], found["seed"], found["input"]) == ("report", 3, "data")
    assert found["files"] == found["result"] == ["report.html"] and Path("report.html").stat().st_size > 500_000
    assert found["options"]["strategy"] == "bcc"


def test_name_by_default_and_quiet(cli):
    done = cli("report", "data", "-q")
    assert done.code == 0 and done.err == "" and done.out == f"{Path('report.html').resolve()}\n"


def test_the_same_bytes(cli):
    for form in ("html", "md", "json"):
        for name in ("one", "two"):
            assert cli("report", "data", "-o", f"{name}.{form}", "--seed", 1).code == 0
        assert Path(f"one.{form}").read_bytes() == Path(f"two.{form}").read_bytes()


def test_the_method_asked_for(cli):
    assert facts(cli, "data")["manifest"]["method"] == "bcc"
    assert facts(cli, "data", "-s", "mv")["manifest"]["method"] == "mv"


def test_the_command_can_be_repeated(cli):
    """What stands under "how it was made" makes the same report, reading options and awkward names included."""
    Path("data").rename("my data")
    Path("my data/META.json").write_text('{"name": "mine"}')
    first = facts(cli, "my data", "-s", "mv", "--repeats", "last", "--missing", "c", "--classes", "a,b", "--seed", 2)
    import shlex

    words = shlex.split(first["manifest"]["command"])
    assert words[:2] == ["manyvoices", "report"] and facts(cli, *words[2:]) == first
    assert first["dropped"]["reasons"] != facts(cli, "my data", "-s", "mv")["dropped"]["reasons"]
    hashed = facts(cli, "my data", "--hash-workers", "--hash-key", "a secret")
    assert "--hash-workers" in hashed["manifest"]["command"] and "secret" not in json.dumps(hashed)


def test_runs(cli):
    for method in ("ds", "mv"):
        assert cli("aggregate", "data", "-s", method, "-o", f"{method}/").code == 0
    held = facts(cli, "data", "ds", "mv")
    assert [row["run"] for row in held["runs"]["rows"]] == ["ds", "mv"]
    done = cli("report", "data", "ds", "nothing", "-o", "r.html")
    assert done.code == 3 and "nothing" in done.err and not Path("r.html").exists()
    Path("empty").mkdir()
    done = cli("report", "data", "empty", "-o", "r.html")
    assert done.code == 3 and "empty" in done.err and not Path("r.html").exists()


@pytest.mark.parametrize("args, code, said", [
    (["data", "-o", "report.pdf"], 2, "expected a name ending in .html, .json, .md"),
    (["data", "-o", "report"], 2, "expected a name ending in"),
    (["data", "-s", "dss"], 2, "Did you mean 'ds'"),
    (["data", "-s", "ds[smooth=1]"], 2, "smooth"),
    (["data", "--form", "csv"], 2, "--form"),
    (["data", "--classes", "a,b"], 3, "'c'"),
    (["data", "--seed", "-1"], 2, "seed"),
    (["data", "-s", "mean"], 3, "mean needs"),
    (["nothing.csv"], 3, "nothing.csv"),
    ([], 2, "DATA"),
])
def test_errors(cli, args, code, said):
    done = cli("report", *args)
    assert done.code == code and done.out == "" and said in done.err.strip().splitlines()[-1], done.err
    assert "Traceback" not in done.err and not Path("report.html").exists()


def test_errors_as_json(cli):
    done = cli("report", "nothing.csv", "--json")
    assert done.code == 3 and done.out == ""
    assert list(json.loads(done.err)["error"]) == ["code", "message", "file", "line", "value", "expected"]


def test_places_that_cannot_be_written(cli):
    Path("file").write_text("x")
    done = cli("report", "data", "-o", "file/report.html")
    assert done.code == 1 and done.out == "" and "cannot write" in done.err
    Path("folder.html").mkdir()
    assert cli("report", "data", "-o", "folder.html").code in (1, 2) and not list(Path("folder.html").iterdir())
    if os.geteuid():
        Path("locked").mkdir(mode=0o500)
        assert cli("report", "data", "-o", "locked/report.html").code == 1
    Path("report.html").write_text("the report of yesterday")
    assert cli("report", "nothing.csv", "-o", "report.html").code == 3
    assert Path("report.html").read_text() == "the report of yesterday"          # a run that fails leaves what was there
    assert not list(Path().glob(".*part"))


def test_nothing_to_report_about(cli):
    assert cli("report", answers(), "-o", "r.html").code == 3
    assert cli("report", answers("t,w,", "u,w,"), "-o", "r.html").code == 3      # all of them missing
    Path("bare").mkdir()
    Path("bare/items.csv").write_text("task,text\n1,a\n")
    done = cli("report", "bare", "-o", "r.html")
    assert done.code == 3 and "answers" in done.err and not Path("r.html").exists()


CASES = {
    "one answer": [("t", "w", "k")],
    "one worker": [(f"t{i}", "w", "ab"[i % 2]) for i in range(12)],
    "a worker with one answer": [*((f"t{i}", f"w{i % 3}", "ab"[i % 2]) for i in range(30)), ("t0", "once", "a")],
    "one task": [("t", f"w{i}", "ab"[i % 2]) for i in range(8)],
    "all equal": [(f"t{i % 6}", f"w{i}", "same") for i in range(24)],
    "all ties": [(f"t{i // 2}", f"w{i % 2}", "ab"[i % 2]) for i in range(30)],
    "no common tasks": [(f"t{i}", f"w{i % 2}", "ab"[i % 3 % 2]) for i in range(20)],
    "all different": [(f"t{i % 5}", f"w{i}", f"c{i}") for i in range(20)],
}


@pytest.mark.parametrize("case", CASES)
def test_little_or_odd_data(cli, case):
    """A report comes out that says what is not defined and why; no number stands for nothing."""
    name = answers(*map(",".join, CASES[case]))
    held = facts(cli, name)
    for form in ("html", "md"):
        assert cli("report", name, "-o", f"r.{form}").code == 0
        assert not re.search(r"\b(nan|NaN|None|inf)\b", Path(f"r.{form}").read_text(encoding="utf-8").split("<script")[0])
    assert held["data"]["answers"] == len(CASES[case]) and held["next"]
    for row in held["agreement"]["rows"]:
        assert row["value"] is not None or row["note"]
    for row in held["workers"]["rows"]:
        for column in held["workers"]["columns"]:
            assert row[column]["value"] is not None or row[column]["note"]
    assert all(why for why in held["workers"]["not_defined"].values())


def test_counts_only(cli):
    Path("counts.jsonl").write_text("".join(json.dumps({"task": f"t{t}", "labels": ["a"] * (t % 4 + 1) + ["b"] * (3 - t % 3)}) + "\n" for t in range(40)))
    held = facts(cli, "counts.jsonl", "--from", "hf")
    assert held["workers"] is None and held["manifest"]["method"] == "mv" and "bcc" in held["manifest"]["says"][1]
    assert cli("report", "counts.jsonl", "--from", "hf", "-s", "ds", "-o", "r.html").code == 3       # asked for by name, it is not replaced


def test_times_that_are_missing_or_impossible(cli):
    rows = [(t, w, "abc"[(t + (w == 2 and t % 3 == 0)) % 3]) for t in range(30) for w in range(4)]
    clean = facts(cli, answers(*(f"t{t},w{w},{k},{2 + w}" for t, w, k in rows), head="task,worker,label,seconds"))
    seconds = {0: "", 1: "-3", 2: "soon", 3: "nan", 4: "inf"}
    odd = facts(cli, answers(*(f"t{t},w{w},{k},{seconds.get(t % 10, 2 + w)}" for t, w, k in rows), head="task,worker,label,seconds"))
    for held in (clean, odd):
        time = {row["worker"]: row["speed"]["value"] for row in held["workers"]["rows"]}
        assert time["w0"] < 1 < time["w3"]
    none = facts(cli, answers(*(f"t{t},w{w},{k}," for t, w, k in rows), head="task,worker,label,seconds"))
    assert "speed" not in none["workers"]["columns"] and none["workers"]["not_defined"]["time"]
    bare = facts(cli, answers(*(f"t{t},w{w},{k}" for t, w, k in rows)))
    assert "seconds" in bare["workers"]["not_defined"]["time"]


def test_numbers_and_steps(cli):
    rows = [(t, w, (t * 7) % 5 + (w == 3)) for t in range(40) for w in range(4)]
    name = answers(*(f"t{t},w{w},{k}" for t, w, k in rows))
    held = facts(cli, name, "--scale", "interval")
    assert held["manifest"]["method"] == "ordinal" and held["classes"] is None and "--scale interval" in held["manifest"]["command"]
    held = facts(cli, name, "--scale", "ordinal")
    bias = {row["worker"]: row["bias"]["value"] for row in held["workers"]["rows"]}
    assert bias["w3"] > .5 and max(bias[w] for w in ("w0", "w1", "w2")) < 0


def test_awkward_names_and_texts(cli):
    """Ids are text: kept, escaped, cut where they are long, never followed."""
    evil, long = "<script>alert(1)</script>", "x" * 2_000
    rows = [{"task": f"{t}{evil}", "worker": w, "label": k} for t in range(6) for w, k in ((evil, "a"), (long, "</script>"), ("سؤال", "👩‍👩‍👧‍👦"), ("007", "a"))]
    Path("answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert cli("report", "answers.jsonl", "-o", "r.html").code == 0 and cli("report", "answers.jsonl", "-o", "r.md").code == 0
    page, text = Path("r.html").read_text(encoding="utf-8"), Path("r.md").read_text(encoding="utf-8")
    assert evil not in page and evil not in text and page.count("</script>") == page.count("<script")
    held = facts(cli, "answers.jsonl")
    assert {row["worker"] for row in held["workers"]["rows"]} == {evil, long, "سؤال", "007"}
    Path("data/items.csv").write_text('task,image\nt0,"../../etc/passwd"\n')
    done = cli("report", "data", "-o", "out.html")
    assert done.code == 3 and "a path inside the folder" in done.err and not Path("out.html").exists()


@pytest.mark.slow
def test_a_hundred_thousand_tasks(cli):
    """In one file of 5 MB at most, with tables that say they are samples."""
    rng = np.random.default_rng(0)
    truth, workers = rng.integers(4, size=100_000), rng.integers(3_000, size=(2, 100_000))
    said = np.where(rng.random((2, 100_000)) < .8, truth, rng.integers(4, size=(2, 100_000)))
    answers(*(f"a task with a long name {t},worker number {workers[j, t]},class {said[j, t]}" for t in range(100_000) for j in range(2)))
    assert cli("report", "answers.csv", "-o", "r.html").code == 0
    assert Path("r.html").stat().st_size <= 5_000_000
    page = Path("r.html").read_text(encoding="utf-8")
    assert "The table has 1,000 of 3,000 workers" in page and re.search(r"40 tasks of 100,000|40 of 100,000", page)


def test_a_report_is_about_one_question(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.csv").write_text("task,worker,question,label\na,u,q1,x\na,u,q2,y\na,v,q1,x\na,v,q2,y\n")
    assert run(["report", "two.csv", "--question", "all"]) == 2
    assert "a report is about one question: name it with --question NAME" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()
