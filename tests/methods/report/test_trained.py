"""What a report says about folders of `train` and `learn`, against the model's own predictions and plain counts."""

import json
import re
import shutil
import sys

import numpy as np
import polars as pl
import pytest

import manyvoices as mv
from manyvoices.cli import run
from manyvoices.core.errors import BadInput
from manyvoices.methods.report.html import html
from manyvoices.methods.report.text import text
from manyvoices.reporting.runs import folders
from manyvoices.reporting.summary import summarised

pytestmark = pytest.mark.extras
torch = pytest.importorskip("torch")
torch.set_num_threads(1)
FAST = ["--epochs", "8", "--batch", "8", "--hidden", "8", "--lr", ".02"]
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Points in a plane, three classes (one of them named by somebody hostile), five workers of whom one guesses."""
    folder = tmp_path_factory.mktemp("trained")
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=120)
    names = np.array(["a", "b", EVIL])
    x = np.array([[0, 0], [3, 0], [0, 3]])[truth] + rng.normal(size=(120, 2))
    (folder / "data").mkdir()
    np.save(folder / "data" / "features.npy", x.astype(np.float32))
    (folder / "data" / "tasks.txt").write_text("".join(f"t{i}\n" for i in range(120)))
    said = [(f"t{i}", f"w{w}", names[truth[i] if w < 4 and rng.random() < .85 else rng.integers(3)]) for i in range(120) for w in range(5) if rng.random() < .8]
    pl.DataFrame(said, schema=["task", "worker", "label"], orient="row").write_csv(folder / "data" / "answers.csv")
    pl.DataFrame({"task": [f"t{i}" for i in range(120)], "label": names[truth]}).write_csv(folder / "data" / "truth.csv")
    for name, more in (("layer", ["-s", "crowdlayer", "--calibrate"]), ("heads", ["-s", "base"]), ("conal", ["-s", "conal"])):
        assert run(["learn", str(folder / "data"), *more, *FAST, "-o", str(folder / name)]) == 0
    return folder


@pytest.fixture(scope="module")
def facts(place):
    return summarised(mv.read(place / "data"), folders([place / name for name in ("layer", "heads", "conal")]))


def test_each_model_by_its_own_predictions(place, facts):
    data = mv.read(place / "data")
    labels = dict(zip((c := mv.aggregate(data.answers)).tasks, c.labels(), strict=True))
    for row, name in zip(facts["models"]["rows"], ("layer", "heads", "conal"), strict=True):
        model = mv.load(place / name)
        ids = [f"t{i}" for i in range(120)]
        probs = dict(zip(mv.read(place / "data").items.ids, model.predict(data.items), strict=True))
        said = {task: model.classes[int(probs[task].argmax())] for task in ids}
        truth = dict(zip(data.items.ids, data.items.truth_of(data.items.ids), strict=True))
        split = dict(zip(model.split[0], model.split[1], strict=True))
        for part in row["splits"]:
            those = [t for t in ids if split[t] == ("train", "dev", "test").index(part["split"])]
            assert part["items"] == part["known"] == len(those)
            assert part["accuracy"] == pytest.approx(np.mean([said[t] == truth[t] for t in those]), abs=1e-5)
            assert part["consensus"] == pytest.approx(np.mean([labels[t] == truth[t] for t in those if t in labels]), abs=1e-5)
            assert part["same"] == pytest.approx(np.mean([said[t] == labels[t] for t in those if t in labels]), abs=1e-5)
            assert part["low"] < part["accuracy"] <= part["high"]
        assert sum(p["items"] for p in row["predicted"]) == 120
        wrong = sorted((float(probs[t][model.classes.code([truth[t]])[0]]), t) for t in ids if said[t] != truth[t])
        assert [i["of_held"] for i in row["items"]] == pytest.approx([p for p, _ in wrong[:12]], abs=1e-5)
        assert row["kept"] == model.about["kept_epoch"] and len(row["curve"]) == 8
        lines = [json.loads(line) for line in (place / name / "metrics.jsonl").read_text().splitlines()]
        assert [p["held_out"] for p in row["curve"]] == pytest.approx([-line["dev"] for line in lines], rel=1e-5)


def test_matrices_of_workers(place, facts):
    layer, heads, conal = facts["models"]["rows"]
    assert heads["workers"] is None                                    # a head per worker has no confusions
    net = mv.load(place / "layer").net
    for row in layer["workers"]["rows"]:
        w = net.weight[int(row["worker"][1:])].detach()
        assert np.allclose(row["free"], w, atol=1e-5)
        assert np.allclose(row["says"], w.softmax(-1), atol=1e-5)
    assert [row["n"] for row in layer["workers"]["rows"]] == sorted((row["n"] for row in layer["workers"]["rows"]), reverse=True)
    assert conal["workers"]["depends"] and np.allclose(np.sum([r["says"] for r in conal["workers"]["rows"]], axis=-1), 1, atol=1e-4)


def test_calibration_before_and_after(place, facts):
    layer, heads, _ = facts["models"]["rows"]
    config = json.loads((place / "layer" / "config.json").read_text())
    test, dev, workers = layer["reliability"]
    assert dev["before"]["ece"] == pytest.approx(config["calibration"]["before"]["ece"], abs=1e-5)
    assert workers["temperature"] == pytest.approx(config["worker_temperature"], rel=1e-5)
    assert test["temperature"] == pytest.approx(config["temperature"], rel=1e-5) and test["before"] != test["after"]
    assert len(heads["reliability"]) == 1 and heads["reliability"][0]["before"] == heads["reliability"][0]["after"]


def test_pages(facts):
    page, markdown = html(facts), text(facts)
    assert EVIL not in page and "&lt;script&gt;alert(1)" in page and EVIL not in markdown
    assert {"curve-0", "curve-1", "curve-2", "reliability-0"} <= set(re.findall(r'data-chart="([^"]+)"', page))
    assert page.count('class="matrix"') == 10 and "Trained models" in markdown


def test_numbers(tmp_path):
    rng = np.random.default_rng(1)
    (tmp_path / "data").mkdir()
    x = rng.normal(size=(80, 2))
    pl.DataFrame({"task": [f"t{i}" for i in range(80)], "a": x[:, 0], "b": x[:, 1]}).write_csv(tmp_path / "data" / "items.csv")
    rows = [(f"t{i}", f"w{w}", round(float(x[i, 0] + rng.normal() / 4), 3)) for i in range(80) for w in range(3)]
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv(tmp_path / "data" / "answers.csv")
    args = ["--scale", "interval"]
    assert run(["learn", str(tmp_path / "data"), *args, "-s", "base", *FAST, "-o", str(tmp_path / "m")]) == 0
    data = mv.read(tmp_path / "data", scale="interval")
    found = summarised(data, folders([tmp_path / "m"]))
    [row] = found["models"]["rows"]
    predicted, value = mv.load(tmp_path / "m").predict(data.items)[:, 0], dict(zip((c := mv.aggregate(data.answers, "ordinal")).tasks, c.value, strict=True))
    split = mv.load(tmp_path / "m").split[1]
    off = np.array([p - value[t] for p, t in zip(predicted, data.items.ids, strict=True)])
    assert [p["off"] for p in row["splits"]] == pytest.approx([np.sqrt((off[split == k] ** 2).mean()) for k in range(3)], rel=1e-4)
    assert "off" in text(found) and "Off by" in html(found)


def test_what_cannot_be_shown_is_said(place, facts, tmp_path, monkeypatch, capsys):
    data = mv.read(place / "data")
    bare = mv.read(place / "data" / "answers.csv")
    [row] = summarised(bare, folders([place / "layer"]))["models"]["rows"]
    assert "no items" in row["missing"] and row["curve"] and not row["splits"] and "no items" in html(summarised(bare, folders([place / "layer"])))
    shutil.copytree(place / "layer", tmp_path / "broken")
    (tmp_path / "broken" / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(BadInput, match="cannot be read"):
        summarised(data, folders([tmp_path / "broken"]))
    (tmp_path / "broken" / "config.json").write_text("{}")
    assert run(["report", str(place / "data"), str(tmp_path / "broken"), "-o", str(tmp_path / "r.html")]) == 3
    assert "config.json" in capsys.readouterr().err and not (tmp_path / "r.html").exists()
    monkeypatch.setitem(sys.modules, "manyvoices.nn.model", None)
    [row] = summarised(data, folders([place / "layer"]))["models"]["rows"]
    assert "not shown" in row["missing"] and row["curve"]
