"""benchmarks/learn.py: a small suite the whole way, and how differences become signs."""

import importlib.util
import json
import sys
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("torch")
SCRIPT = Path(__file__).parents[1] / "benchmarks" / "learn.py"


@pytest.fixture(scope="module")
def learn():
    spec = importlib.util.spec_from_file_location("bench_learn", SCRIPT)
    module = sys.modules["bench_learn"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["bench_learn"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Texts whose words tell the class, answered by three people; MANYVOICES_DATA is where they lie."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=60)
    folder = tmp_path / "data" / "made"
    folder.mkdir(parents=True)
    words = (["bad", "poor", "worst"], ["good", "fine", "best"])
    texts = [" ".join(rng.choice(words[k], 4)) for k in truth]
    pl.DataFrame({"task": [f"t{i}" for i in range(60)], "text": texts}).write_ndjson(folder / "items.jsonl")
    pl.DataFrame({"task": [f"t{i}" for i in range(60)], "label": truth.astype(str)}).write_csv(folder / "truth.csv")
    rows = [(f"t{i}", f"w{w}", str(truth[i] if rng.random() < .8 else 1 - truth[i])) for i in range(60) for w in range(3)]
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv(folder / "answers.csv")
    monkeypatch.setenv("MANYVOICES_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("MANYVOICES_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(SCRIPT.parents[1])
    return tmp_path


SUITE = """
script = "learn.py"
seeds = [0]
methods = ["classifier on mv", "crowdlayer", "classifier on nothing"]
[options]
epochs = 2
hidden = 4
[[data]]
name = "made"
of = "made"
encoder = "tfidf"
"""


STUB = """
import json, sys
if "--only" not in sys.argv:
    sys.exit(3)
print("one line")
open(sys.argv[3], "w").write(json.dumps({"given": sys.argv[1:]}) + "\\n")
"""


def test_a_small_suite_the_whole_way(home, learn):
    """Lines with scores, a failure that stays with its reason, a table; a second run makes only what is missing."""
    suite, out = tomllib.loads(SUITE), home / "out.jsonl"
    learn.run(suite, out, None, 100)
    first = learn.lines(out)
    assert [row["method"] for row in first] == ["classifier on mv", "crowdlayer", "classifier on nothing"]
    mv, layer, failed = first
    assert "nothing" in failed["error"] and "accuracy" not in failed
    for row in (mv, layer):
        assert 0 <= row["accuracy"] <= 1 and row["n"] == 12 and row["answers"] == 36 and row["log_loss"] > 0
        assert row["commit"] and row["machine"] and row["versions"]["torch"] and row["peak_mb"] > 0
    assert layer["worker_log_loss"] != mv["worker_log_loss"]
    page = learn.table(first, suite)
    assert "| crowdlayer |" in page and "- classifier on nothing on made: " in page and "failed" in page
    out.write_text("".join(json.dumps(row) + "\n" for row in first[:1]))
    learn.run(suite, out, "crowdlayer", 100)
    again = learn.lines(out)
    assert [row["method"] for row in again] == ["classifier on mv", "crowdlayer"] and again[0] == mv
    assert again[1]["hits"] == layer["hits"] and again[1]["log_loss"] == layer["log_loss"]
    assert learn.one(None, "crowdlayer", {}, 0.0)["error"]


def test_a_suite_that_names_a_script_is_handed_to_it(tmp_path, monkeypatch):
    from manyvoices.benchmark import run
    from manyvoices.core.errors import BadInput, ManyVoicesError

    monkeypatch.chdir(tmp_path)
    Path("benchmarks").mkdir()
    Path("benchmarks/mine.py").write_text(STUB)
    Path("suite.toml").write_text('script = "mine.py"\n')
    said = []
    rows = run("suite.toml", Path("out.jsonl"), "some", 7, said.append)
    assert rows == [{"given": ["suite.toml", "--out", "out.jsonl", "--limit", "7", "--only", "some"]}]
    assert said == ["one line", "wrote out.jsonl and out.md"]
    with pytest.raises(ManyVoicesError, match="ended with code 3"):
        run("suite.toml", Path("bad.jsonl"), None, 7, said.append)
    Path("suite.toml").write_text('script = "theirs.py"\n')
    with pytest.raises(BadInput, match="theirs"):
        run("suite.toml", Path("out.jsonl"), None, 7, said.append)


def test_scores_are_those_of_evaluate(home, learn):
    import manyvoices as mv
    from manyvoices.learning import predictions

    found = learn.source("made", None)
    data = learn.dataset({"encoder": "tfidf"}, found, 3, home / "set")
    model, answers = learn.learned(data, "crowdlayer", {"epochs": 3, "hidden": 4, "seed": 3})
    scores = learn.scores(model, data, answers)
    table = predictions(model, data, None, "mean")
    ours = mv.evaluate(table, data, "accuracy,log_loss,ece,cross_entropy", bootstrap=0).to_polars()
    theirs = dict(ours.filter(pl.col("name") == "all").select("score", "value").iter_rows()) or dict(ours.select("score", "value").iter_rows())
    for name, score in (("accuracy", "accuracy"), ("log_loss", "log_loss"), ("ece", "ece"), ("cross_entropy", "soft_cross_entropy")):
        assert scores[score] == pytest.approx(theirs[name], abs=1e-6), name
    assert learn.hits(scores).mean() == scores["accuracy"] and len(learn.hits(scores)) == 12


def test_nobody_sees_the_answers_to_test_items(home, learn):
    """Answers to test items may say what they like: the model stays the same."""
    import manyvoices as mv

    found = learn.source("made", None)
    data = learn.dataset({"encoder": "tfidf"}, found, 1, home / "one")
    split = dict(data.items.split.select("task", "split").iter_rows())
    lie = pl.when(pl.col("task").replace_strict(split) == "test").then(1 - pl.col("label").cast(int)).otherwise(pl.col("label").cast(int))
    found.answers = found.answers.with_columns(label=lie.cast(str))
    other = learn.dataset({"encoder": "tfidf"}, found, 1, home / "two")
    for method in ("classifier on mv", "classifier on ns", "aggnet"):
        one, two = (learn.learned(d, method, {"epochs": 2, "hidden": 4, "seed": 1})[0].predict(d.items) for d in (data, other))
        assert np.array_equal(one, two), method
    assert not np.array_equal(np.array(mv.aggregate(data.answers, "mv").codes), np.array(mv.aggregate(other.answers, "mv").codes))


def test_every_item_is_tested_on_once(home, learn):
    found = learn.source("made", None)
    tested = [learn.splits(found, False, seed) == "test" for seed in range(5)]
    assert (np.sum(tested, axis=0) == 1).all()
    found.answered = np.arange(60) < 20
    assert set(learn.splits(found, False, 0)[:20]) == {"train", "dev"} and set(learn.splits(found, False, 0)[20:]) == {"test"}
    assert set(learn.splits(found, True, 0)[:20]) == {"test"} and set(learn.splits(found, True, 0)[20:]) == {"train", "dev"}


@pytest.mark.parametrize("kind", ["independent", "correlated", "spammers"])
def test_simulated_crowds_are_as_said(learn, kind):
    truth = np.arange(5000) % 10
    found = learn.Source(learn.numbered(5000), None, None, truth, 10, None)
    task, worker, label = learn.crowd(kind, found, (2, 3), 0, 30)
    again = learn.crowd(kind, found, (2, 3), 0, 30)
    assert all(np.array_equal(a, b) for a, b in zip((task, worker, label), again, strict=True))
    n = np.bincount(task, minlength=5000)
    assert set(n) == {2, 3} and .45 < (n == 2).mean() < .55
    assert len(np.unique(task * 30 + worker)) == len(task)                  # nobody answers twice
    right = np.array([(label[worker == w] == truth[task[worker == w]]).mean() for w in range(30)])
    if kind == "spammers":
        assert (right[:21] < .2).all() and (right[21:] == 1).all()
    else:
        assert .4 < right.mean() < .65 and right.std() > .02
    tables = learn.habits(kind, np.random.default_rng(0), 30, 10)
    assert np.allclose(tables.sum(axis=2), 1)
    assert len(np.unique(tables.round(9), axis=0)) == {"independent": 30, "correlated": 3, "spammers": 2}[kind]


def test_workers_who_are_nets_are_right_here_and_wrong_there(learn):
    rng = np.random.default_rng(0)
    truth = np.arange(600) % 3
    found = learn.Source(learn.numbered(600), None, np.float32(rng.normal(size=(600, 4)) + 2 * np.eye(3, 4)[truth]), truth, 3, None)
    task, worker, label = learn.crowd("learners", found, (2, 3, 4), 0, 12)
    says = learn.learners(np.random.default_rng([0, 20]), found, 12)
    assert set(np.bincount(task)) == {2, 3, 4} and np.array_equal(label, says[worker, task])
    right = says == truth
    by_class = np.stack([right[:, truth == k].mean(axis=1) for k in range(3)], axis=1)
    assert .4 < right.mean() < .9 and right.mean(axis=1).std() > .05 and np.ptp(by_class, axis=1).max() > .3


def row(learn, seed, hits, same=False, **more):
    hits = np.array(hits, bool)
    return dict(data="d", seed=seed, n=len(hits), accuracy=hits.mean(), hits=np.packbits(hits).tobytes().hex(), same_test=same, **more)


def test_an_interval_holds_seeds_and_items(learn):
    """The wider of the two; with other test items each time they are put together, else averaged item by item."""
    rng = np.random.default_rng(0)
    base = rng.random((3, 50)) < .5
    ours = [row(learn, s, base[s] | (np.arange(50) < 9)) for s in range(3)]
    theirs = [row(learn, s, base[s]) for s in range(3)]
    gaps = np.array([a["accuracy"] - b["accuracy"] for a, b in zip(ours, theirs, strict=True)])
    middle, half = learn.difference(ours, theirs[::-1], "accuracy")
    each = np.concatenate([(base[s] | (np.arange(50) < 9)).astype(float) - base[s] for s in range(3)])
    assert middle == pytest.approx(gaps.mean())
    by_seed = 4.302653 * gaps.std(ddof=1) / 3**.5
    by_item = 1.976013 * each.std(ddof=1) / 150**.5
    assert half == pytest.approx(max(by_seed, by_item), rel=1e-5)
    same = [row(learn, s, base[0] | (np.arange(50) < 9), True) for s in range(3)], [row(learn, s, base[0], True) for s in range(3)]
    assert learn.difference(*same, "accuracy")[1] == pytest.approx(2.009575 * each[:50].std(ddof=1) / 50**.5, rel=1e-5)
    assert learn.difference(ours, [{"seed": 0, "error": "x"}], "accuracy") is None
    assert learn.difference(ours[:1], theirs, "accuracy")[1] == np.inf


@pytest.mark.parametrize("middle, half, more, shown", [
    (.1, .05, True, "+"), (-.1, .05, True, "-"), (.1, .05, False, "-"), (-.1, .05, False, "+"), (.1, .2, True, "="), (.1, np.inf, True, "="),
])
def test_signs(learn, middle, half, more, shown):
    assert learn.sign((middle, half), more) == shown


def test_the_suite_names_what_is_there(learn):
    """Every method of learn is in it, all are known, and options are those of training."""
    from manyvoices.core import registry

    suite = tomllib.loads((SCRIPT.parent / "suites" / "learn.toml").read_text())
    named = {registry.parse("learn", m)[0][0].name for m in suite["methods"] if not m.startswith("classifier on ")}
    assert named == set(registry.names("learn")) and len(suite["seeds"]) == 5
    known = {option.name for option in registry.about("learn", "crowdlayer").options}
    assert set(suite["options"]) <= known
    assert learn.BASE in suite["methods"] and all({"name", "of", "encoder"} <= set(part) for part in suite["data"])
