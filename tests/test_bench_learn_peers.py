"""benchmarks/learn_peers.py: a small suite the whole way, what a peer is given, and how two packages become a line."""

import importlib
import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.extras
torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

PEER = """
import numpy as np
NAME, WAYS, seen = "theirs", {"crowdlayer": ("once", "twice")}, []
class Fit:
    def __init__(self, method, way, task):
        self.task, self.about = task, [method, way]
    def epoch(self, number):
        self.about.append(number)
    def predict(self, x):
        seen.append((self.task, self.about))
        return self.task.net(x).softmax(-1).detach().numpy()
start = Fit
"""
OPTIONS = {"epochs": 3, "batch": 64, "lr": .01, "optimizer": "adamw", "decay": 0.0, "scheduler": "cosine", "hidden": 8, "dropout": 0.0,
           "clip": 5.0, "keep": "best"}
CELL = {"name": "small", "of": "digits", "crowd": "spammers", "workers": 7, "answers_a_task": [2, 3]}


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("MANYVOICES_HOME", str(tmp_path / "home"))
    theirs, threads = sys.modules.pop("learn", None), torch.get_num_threads()       # a folder of tests is called so too
    yield importlib.import_module("learn_peers")
    torch.set_num_threads(threads)
    for name in [n for n in sys.modules if n in ("learn", "learn_peers") or n.startswith("peer_")]:
        del sys.modules[name]
    if theirs is not None:
        sys.modules["learn"] = theirs


@pytest.fixture
def peer(bench, tmp_path):
    (tmp_path / "theirs.py").write_text(PEER)
    return bench.loaded(tmp_path / "theirs.py")


def test_a_small_suite_the_whole_way(bench, peer, tmp_path):
    out = tmp_path / "results" / "out.jsonl"
    few = CELL | {"name": "time only", "scores": False, "ways": ["twice"], "epochs": 2, "methods": ["classifier on mv", "crowdlayer"]}
    suite = {"seeds": [0, 1], "methods": ["crowdlayer", "nothing"], "options": OPTIONS, "cell": [CELL, few]}
    rows = bench.run(suite, out, None, 100, [peer])
    assert rows == [json.loads(line) for line in out.read_text().splitlines()]
    what = [(row["cell"], row["seed"], row["method"], row["who"]) for row in rows]
    assert what[:4] == [("small", 0, "crowdlayer", who) for who in ("manyvoices", "theirs, once", "theirs, twice")] + [("small", 0, "nothing", "manyvoices")]
    assert [w[2:] for w in what if w[:2] == ("time only", 1)] == [
        ("classifier on mv", "manyvoices"), ("crowdlayer", "manyvoices"), ("crowdlayer", "theirs, twice")]
    for row in rows:
        if row["method"] == "nothing":
            assert "nothing" in row["error"]
            continue
        assert row["epoch"] == row["cpu"] > 0 and row["wall"] <= row["median_wall"] and row["memory_mb"] >= 0
        assert row["epochs_timed"] == (2 if row["cell"] == "small" else 1)          # the first is not counted
        assert ("accuracy" in row) == (row["cell"] == "small") and row["versions"]["torch"] and row["commit"]
    assert [about for _, about in peer.seen][:2] == [["crowdlayer", "once", 0, 1, 2], ["crowdlayer", "twice", 0, 1, 2]]
    ours = next(row for row in rows if row["who"] == "manyvoices")
    assert ours["n"] == 360 and ours["accuracy"] > .5
    page = bench.table(rows)
    assert "| small | crowdlayer | theirs, once |" in page and "nothing" in page.split("| small | nothing |")[1]
    assert [row["cell"] for row in bench.run(suite, out, "time", 100, [])] == ["time only"] * 4


def test_a_peer_gets_what_learn_learns_from(bench, tmp_path):
    """The same items on the same scale, everybody's answers to them, the same start; nothing of the test items but features."""
    from manyvoices.nn.lesson import Lesson
    from manyvoices.nn.nets import Crowd
    from manyvoices.nn.training import Training

    data = bench.dataset(CELL, 3, tmp_path / "set")
    task, test = bench.task_of(data, OPTIONS, 3)
    how = Training(encoder="features", epochs=3, hidden=8, dropout=0.0, seed=3)
    lesson = Lesson.of(data.items, data.answers, how)
    net = lesson.build(Crowd).net
    for ours, theirs in zip(net.head.parameters(), task.net.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    for rows, said in ((lesson.rows, task.train), (lesson.dev, task.dev)):
        batch = next(lesson.batches(rows).of([rows], None))
        assert torch.equal(net.body(batch.x), said.x)
        ours = set(zip(batch.at.tolist(), batch.worker.tolist(), batch.label.tolist(), strict=True))
        assert ours == set(zip(said.at.tolist(), said.worker.tolist(), said.label.tolist(), strict=True)) and len(ours) == len(said.at)
    assert task.workers == 7 and task.classes == 10 and len(test) == len(bench.truth_of(data)) > 350
    assert len(task.train.x) + len(task.dev.x) + len(test) == 1797


def test_made_items_are_as_said(bench, tmp_path):
    about = {"of": "made", "items": 300, "features": 5, "classes": 3, "workers": 20, "answers_a_task": [4]}
    data = bench.dataset(about, 0, tmp_path / "set")
    task, test = bench.task_of(data, OPTIONS, 0)
    assert np.load(tmp_path / "set" / "features.npy", mmap_mode="r").dtype == np.float16
    assert task.train.x.shape[1] == 5 and data.answers.n == 1200 and task.classes == 3
    truth = bench.truth_of(data)
    assert len(truth) == len(test) and set(truth) == {0, 1, 2}


@pytest.mark.parametrize("method", ["crowdlayer", "conal"])
def test_the_ways_of_crowdkit_learn_the_same(bench, tmp_path, method):
    """Items once and the grid in the same order are the same steps; answer by answer as many of them."""
    pytest.importorskip("crowdkit")
    peer = bench.loaded(BENCHMARKS / "peers" / "crowdkit_learn.py")
    data = bench.dataset(CELL, 0, tmp_path / "set")
    made, steps = {}, {}
    for way in peer.WAYS[method]:
        task, test = bench.task_of(data, OPTIONS, 0)
        torch.manual_seed(0)
        fit = peer.start(method, way, task)
        steps[way] = sum(1 for _ in fit.train)
        torch.manual_seed(1)
        for number in range(3):
            fit.epoch(number)
        made[way] = fit.predict(test)
        assert np.allclose(made[way].sum(axis=1), 1, atol=1e-5)
    assert np.abs(made["items"] - made["grid"]).max() < 1e-3
    assert steps["items"] == steps["grid"] and abs(steps["answers"] - steps["items"]) <= 1
    right = {way: (probs.argmax(axis=1) == bench.truth_of(data)).mean() for way, probs in made.items()}
    assert min(right.values()) > .3 and np.abs(made["answers"] - made["items"]).max() > 1e-3


def test_memory_is_what_is_needed_on_top(bench):
    before = np.ones(5 << 20)                                                        # 40 MB that were there
    with bench.Held() as held:
        more = np.ones(8 << 20)                                                      # 64 MB
        time.sleep(.3)                                                               # it is looked at now and then
        more = more[:9].copy()
    if np.isnan(held.more):
        pytest.skip("no /proc here")
    assert 60 < held.more < 90 and len(before) and len(more)


def test_a_line_has_the_best_of_all_and_the_ratio(bench):
    def row(who, seed, hits, epoch):
        hits = np.array(hits, bool)
        return {"cell": "c", "method": "m", "who": who, "seed": seed, "epoch": epoch, "memory_mb": 10.0, "n": len(hits), "accuracy": hits.mean(),
                "hits": np.packbits(hits).tobytes().hex(), "same_test": False}

    mine = [row("manyvoices", 0, [1, 1, 1, 0], .010), row("manyvoices", 1, [1, 1, 1, 1], .020)]
    other = [row("x", 0, [1, 1, 0, 0], .050), row("x", 1, [1, 1, 1, 0], .040)]
    text = bench.line("c", "m", "x", mine, other)
    assert "| c | m | x | 0.875 / 0.625 | +0.250 [" in text and "| 10 / 40 | 4 | 10 / 10 |" in text
    assert "no time" in bench.line("c", "m", "x", mine, [{"error": "no time"}])


def test_a_peer_that_is_none_is_named(bench, tmp_path):
    (tmp_path / "bad.py").write_text("NAME = 'x'\n")
    with pytest.raises(SystemExit, match=r"bad\.py: no WAYS, start in it"):
        bench.loaded(tmp_path / "bad.py")
    with pytest.raises(SystemExit, match="no such file"):
        bench.loaded(tmp_path / "none.py")


def test_bench_hands_the_peer_on(tmp_path, monkeypatch):
    from manyvoices.benchmark import run
    from manyvoices.core.errors import BadCall

    monkeypatch.chdir(tmp_path)
    Path("benchmarks").mkdir()
    Path("benchmarks/mine.py").write_text('import json, sys\nopen(sys.argv[3], "w").write(json.dumps(sys.argv[4:]) + "\\n")\n')
    Path("suite.toml").write_text('script = "mine.py"\n')
    assert run("suite.toml", Path("out.jsonl"), None, 7, print, "x.py") == [["--limit", "7", "--peer", "x.py"]]
    assert run("suite.toml", Path("out.jsonl"), None, 7, print) == [["--limit", "7"]]
    Path("plain.toml").write_text('[[cell]]\nname = "a"\nwho = "manyvoices"\n')
    with pytest.raises(BadCall, match="--peer"):
        run("plain.toml", Path("out.jsonl"), None, 7, print, "x.py")


def test_the_suite_names_what_is_there(bench):
    import tomllib

    suite = tomllib.loads((BENCHMARKS / "suites" / "learn_peers.toml").read_text())
    usual = tomllib.loads((BENCHMARKS / "suites" / "learn.toml").read_text())
    assert suite["options"] == usual["options"] and len(suite["seeds"]) == 5 and suite["methods"] == ["crowdlayer", "conal"]
    assert all((BENCHMARKS / "peers" / name).is_file() for name in suite["peers"])
    assert {cell["workers"] for cell in suite["cell"]} >= {10, 50, 200, 1000} and len({cell["name"] for cell in suite["cell"]}) == len(suite["cell"])
