"""Temperatures: found as a grid would find them, labels unchanged, fitted on the dev items alone; reliability by loops."""

import json

import numpy as np
import polars as pl
import pytest

import manyvoices as mv
from manyvoices.cli import run
from manyvoices.kernels.calibration import fitted, heated, of_rows, reliability

OPTIONS = {"epochs": 15, "batch": 16, "lr": .02, "hidden": 16, "dropout": 0.0, "keep": "last", "scheduler": "constant"}
FAST = [text for name, value in OPTIONS.items() for text in (f"--{name}", str(value))]


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_ece_of_the_toy_and_by_loops():
    prob = np.array([.95, .85, .75, .65, .55, .92, .35, .88])
    right = np.array([1, 1, 0, 1, 0, 1, 0, 0.])
    assert reliability(prob, right)["ece"] == pytest.approx(.375, abs=1e-9)
    assert reliability(prob, right, bins=10)["ece"] == pytest.approx(.3575, abs=1e-9)
    found = reliability(prob, right)
    assert found["n"] == 8 and sum(row["n"] for row in found["bins"]) == 8
    for row in found["bins"]:
        inside = (prob > row["from"]) & (prob <= row["to"])
        assert row["mean"] == pytest.approx(prob[inside].mean()) and row["right"] == pytest.approx(right[inside].mean())
    twice = reliability(np.tile(prob, 2), np.tile(right, 2))
    assert reliability(prob, right, np.full(8, 2.))["ece"] == pytest.approx(twice["ece"])


def test_a_network_of_known_overconfidence():
    """Labels drawn from softmax(x), a network that says softmax(3 x): the temperature is 3, as a fine grid finds it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6_000, 4)) * 1.5
    label = (softmax(x).cumsum(axis=1) < rng.random((len(x), 1))).sum(axis=1)
    log_probs = np.log(softmax(3 * x))

    def value(t):
        return heated(log_probs, t)[np.arange(len(x)), label].sum()

    found = fitted(value)
    grid = np.arange(2.5, 3.5, .004)
    assert found == pytest.approx(grid[np.argmax([value(t) for t in grid])], abs=.004) and found == pytest.approx(3, abs=.15)
    after = heated(log_probs, found)
    assert np.array_equal(after.argmax(axis=1), log_probs.argmax(axis=1)) and np.allclose(np.exp(after).sum(axis=1), 1)
    one = np.eye(4)[label]
    assert of_rows(after, one)["ece"] < .03 < .1 < of_rows(log_probs, one)["ece"]


def test_nothing_to_learn_from_leaves_everything_as_it_is():
    log_probs = np.log(np.full((5, 2), .1) + .8 * np.eye(2)[[0, 1, 0, 1, 0]])
    assert fitted(lambda t: heated(log_probs, t)[np.arange(5), [0, 1, 0, 1, 0]].sum()) == 1
    assert fitted(lambda t: heated(log_probs, t)[np.arange(5), [1, 0, 1, 0, 1]].sum()) > 19      # always wrong: as doubtful as can be


# ------------------------------------------------------------------------------------------------------- trained networks


def written(folder, n=400, noise=.35, seed=0, truth_of_test=None):
    """Features that tell the class half; every item has five answers; a network that sees few items is too sure of itself."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    x = np.eye(3)[truth] @ rng.normal(size=(3, 30)) * .35 + rng.normal(size=(n, 30))
    split = np.array(["train"] * 80 + ["dev"] * 220 + ["test"] * 100)
    rows = []
    for t in range(n):
        for w in range(5):
            wrong = (truth[t] + rng.integers(1, 3)) % 3
            rows.append((f"t{t:03}", f"w{w}", "abc"[wrong if rng.random() < noise else truth[t]]))
    if truth_of_test is not None:
        truth[300:] = truth_of_test
    folder.mkdir()
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv(folder / "answers.csv")
    np.save(folder / "features.npy", x.astype(np.float32))
    ids = [f"t{t:03}" for t in range(n)]
    (folder / "tasks.txt").write_text("\n".join(ids) + "\n")
    pl.DataFrame({"task": ids, "label": ["abc"[k] for k in truth]}).write_csv(folder / "truth.csv")
    pl.DataFrame({"task": ids, "split": split}).write_csv(folder / "splits.csv")
    return folder


@pytest.fixture
def place(tmp_path, monkeypatch):
    pytest.importorskip("torch").set_num_threads(1)
    monkeypatch.setenv("MANYVOICES_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "data")
    return tmp_path


def config(place, model="model"):
    return json.loads((place / model / "config.json").read_text())


@pytest.mark.extras
@pytest.mark.parametrize("call", [["train", "--labels", "truth"], ["learn", "-s", "crowdlayer"], ["learn", "-s", "geocrowdnet"], ["learn", "-s", "aggnet"]],
                         ids=["classifier", "crowdlayer", "geocrowdnet", "aggnet"])
def test_calibrate(place, capsys, call):
    verb, *more = call
    assert run([verb, "data", *more, *FAST, "--calibrate", "-o", "model", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["result"]
    assert run([verb, "data", *more, *FAST, "-o", "plain"]) == 0
    after, plain = config(place), config(place, "plain")
    assert plain["temperature"] == plain["worker_temperature"] == 1 and "calibration" not in plain
    found = after["calibration"]
    assert after["temperature"] == found["temperature"] > 1.2                    # it was too sure of itself
    assert found["after"]["ece"] < found["before"]["ece"] and scores["ece_dev"] == found["after"]["ece"]
    assert scores["ece_test"] < scores["ece_test_before"] and scores["ece_dev_before"] == found["before"]["ece"]
    card = (place / "model" / "README.md").read_text()
    assert f"temperature {found['temperature']:.4g}" in card and f"{found['before']['ece']:.4f} before" in card

    data, hot, cold = mv.read("data"), mv.load("model"), mv.load("plain")
    before = np.log(cold.predict(data.items))
    assert np.allclose(hot.predict(data.items), np.exp(heated(before, hot.temperature)), atol=1e-9)
    assert np.array_equal(hot.predict(data.items).argmax(axis=1), before.argmax(axis=1))
    if "workers" in hot.can:
        assert hot.worker_temperature == found["workers"]["temperature"] != 1
        at, worker = np.arange(20), np.arange(20) % 5
        said = np.log(cold.predict_pairs(data.items, at, worker))
        assert np.allclose(hot.predict_pairs(data.items, at, worker), np.exp(heated(said, hot.worker_temperature)), atol=1e-9)
        assert found["workers"]["after"]["n"] == 220 * 5
        nobody = hot.predict_pairs(data.items, at[:1], np.array([-1]))
        everybody = hot.predict_pairs(data.items, np.zeros(5, int), np.arange(5))
        assert np.allclose(nobody[0], everybody.mean(axis=0), atol=1e-6)


@pytest.mark.extras
def test_the_temperature_of_labels_is_that_of_a_grid(place):
    assert run(["train", "data", "--labels", "truth", *FAST, "-o", "plain"]) == 0
    assert run(["train", "data", "--labels", "truth", *FAST, "--calibrate", "-o", "model"]) == 0
    data = mv.read("data")
    dev = np.arange(220) + 80
    log_probs = np.log(mv.load("plain").predict(data.items))[dev]
    label = np.array(["abc".index(x) for x in data.items.truth_of(data.items.ids)])[dev]
    grid = np.exp(np.linspace(-1, 3, 2001))
    best = grid[np.argmax([heated(log_probs, t)[np.arange(220), label].sum() for t in grid])]
    assert mv.load("model").temperature == pytest.approx(best, rel=2e-3)


@pytest.mark.extras
def test_answers_that_are_wrong_do_not_make_the_network_doubt(place):
    """Answers of people who err give the temperature that the truth gives, not a hotter one."""
    data = mv.read("data")
    model = mv.learn(data.items, data.answers, "aggnet", **OPTIONS)
    by_answers = mv.learn(data.items, data.answers, "aggnet", calibrate=True, **OPTIONS).temperature
    dev = np.arange(220) + 80
    log_probs = np.log(model.predict(data.items))[dev]
    label = np.array(["abc".index(x) for x in data.items.truth_of(data.items.ids)])[dev]
    by_truth = fitted(lambda t: heated(log_probs, t)[np.arange(220), label].sum())
    task, _, answer = data.answers.rows()
    inside = (task >= 80) & (task < 300)
    by_votes = fitted(lambda t: heated(log_probs, t)[task[inside] - 80, answer[inside]].sum())
    assert abs(np.log(by_answers / by_truth)) < .25 < abs(np.log(by_votes / by_truth)), (by_answers, by_truth, by_votes)


@pytest.mark.extras
def test_the_test_items_are_not_looked_at(place):
    written(place / "other", truth_of_test=0)
    table = pl.read_csv(place / "other" / "answers.csv")
    wrong = pl.when(pl.col("task") >= "t300").then(pl.lit("a")).otherwise(pl.col("label")).alias("label")
    table.with_columns(wrong).write_csv(place / "other" / "answers.csv")
    for verb, more in (("train", ["--labels", "truth"]), ("learn", ["-s", "crowdlayer"])):
        for data in ("data", "other"):
            assert run([verb, data, *more, *FAST, "--calibrate", "-o", f"{verb}-{data}", "-q"]) == 0
        one, two = config(place, f"{verb}-data"), config(place, f"{verb}-other")
        assert one["temperature"] == two["temperature"] and one["calibration"] == two["calibration"]


@pytest.mark.extras
def test_predict_and_evaluate_use_it(place, capsys):
    for name, more in (("hot", ["--calibrate"]), ("cold", [])):
        assert run(["train", "data", "--labels", "truth", *FAST, *more, "-o", name, "-q"]) == 0
        assert run(["predict", name, "data", "-o", f"{name}.csv", "-q"]) == 0
        capsys.readouterr()
        assert run(["evaluate", f"{name}.csv", "data", "-s", "ece,accuracy", "--json", "-q"]) == 0
        (place / f"{name}.json").write_text(capsys.readouterr().out)
    hot, cold = ({row["score"]: row["value"] for row in json.loads((place / f"{name}.json").read_text())["result"]} for name in ("hot", "cold"))
    assert hot["ece"] < cold["ece"] and hot["accuracy"] == cold["accuracy"]
    assert hot["ece"] == pytest.approx(json.loads((place / "hot" / "manifest.json").read_text())["scores"]["ece_test"], abs=1e-9)


@pytest.mark.extras
def test_no_dev_items(place, capsys):
    pl.DataFrame({"task": [f"t{t:03}" for t in range(400)], "split": ["train"] * 400}).write_csv(place / "data" / "splits.csv")
    assert run(["train", "data", "--labels", "truth", *FAST, "--calibrate", "-o", "model"]) == 3
    assert "--calibrate: no dev item has an answer or a label" in capsys.readouterr().err
    assert not (place / "model" / "config.json").exists()
