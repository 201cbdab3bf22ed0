"""CROWDLAB with probabilities of its own: out of sample, made once, handed on to `aggregate`; and with given ones as before."""

import csv
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import manyvoices as mv
from manyvoices.cli import run

pytestmark = pytest.mark.extras
torch = pytest.importorskip("torch")
torch.set_num_threads(1)
FAST = {"epochs": 3, "batch": 16, "hidden": 8, "dropout": 0.0}
FLAGS = [text for name, value in FAST.items() for text in (f"--{name}", str(value))]


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MANYVOICES_HOME", str(tmp_path_factory.getbasetemp() / "home"))


def written(folder, x, truth, workers=4, skill=.8, seed=0, extra=()):
    rng = np.random.default_rng(seed)
    rows = [(f"t{t:03}", f"w{w}", "abc"[k if rng.random() < skill else rng.integers(3)]) for t, k in enumerate(truth) for w in range(workers)]
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame([*rows, *extra], schema=["task", "worker", "label"], orient="row").write_csv(folder / "answers.csv")
    np.save(folder / "features.npy", x.astype(np.float32))
    (folder / "tasks.txt").write_text("".join(f"t{t:03}\n" for t in range(len(x))))
    return folder


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=70)
    return mv.read(written(tmp_path / "data", np.eye(5)[truth] * 3 + rng.normal(size=(70, 5)), truth))


def probs_of(found):
    return found.files["probs.csv"].select("p:a", "p:b", "p:c").to_numpy()


def test_the_probabilities_are_out_of_sample(tmp_path):
    """Labels that have nothing to do with the items: learnt by heart, and no better than chance on what was left out."""
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=90)
    data = mv.read(written(tmp_path / "d", rng.normal(size=(90, 120)), truth, workers=1, skill=1))
    options = {"epochs": 12, "hidden": 32, "lr": .01, "batch": 16, "dropout": 0.0, "keep": "last"}
    labels = dict(zip(data.answers.tasks, mv.aggregate(data.answers, "mv").labels(), strict=True))
    inside = (mv.train(data.items, labels, **options).predict(data.items).argmax(axis=1) == truth).mean()
    outside = (probs_of(mv.identify(data, "crowdlab", folds=3, **options)).argmax(axis=1) == truth).mean()
    assert inside > .75 and outside < .55, (inside, outside)


def test_each_part_is_left_out_once_and_nothing_is_encoded_twice(data, monkeypatch):
    from manyvoices.nn import encoders
    from manyvoices.nn.lesson import Lesson

    seen, starts, encoded, learn, encode = [], [], [], Lesson.learn, encoders.encoded

    def spy(self, model, loss, **more):
        seen.append((set(self.rows.tolist()), set(self.dev.tolist())))
        starts.append([p.detach().clone() for p in model.parameters()])
        return learn(self, model, loss, **more)

    monkeypatch.setattr(Lesson, "learn", spy)
    monkeypatch.setattr(encoders, "encoded", lambda *a: encoded.append(1) or encode(*a))
    found = mv.identify(data, "crowdlab", folds=7, **FAST)
    assert len(seen) == 7 and len(encoded) == 1
    held = [set(range(70)) - rows - dev for rows, dev in seen]
    assert sorted(t for part in held for t in part) == list(range(70)) and all(not rows & dev for rows, dev in seen)
    assert all(torch.equal(p, q) for other in starts[1:] for p, q in zip(starts[0], other, strict=True))
    label = mv.aggregate(data.answers, "mv").codes
    for part in held:                                                          # every class in its share
        assert np.abs(np.bincount(label[sorted(part)], minlength=3) - np.bincount(label, minlength=3) / 7).max() <= 1
    assert np.isfinite(probs_of(found)).all() and np.allclose(probs_of(found).sum(axis=1), 1)


def test_what_comes_out_and_the_same_bits(data):
    found, again = (mv.identify(data, "crowdlab", **FAST) for _ in range(2))
    assert found.to_polars().equals(again.to_polars()) and found.files["probs.csv"].equals(again.files["probs.csv"])
    assert found.to_polars().group_by("of", maintain_order=True).len().rows() == [("worker", 4), ("task", 70)]
    given = mv.identify(data, "crowdlab", probs=found.files["probs.csv"])
    assert np.allclose(given.value, found.value, atol=1e-9) and not given.files
    for other in ({"folds": 2}, {"seed": 1}):
        assert not np.allclose(probs_of(mv.identify(data, "crowdlab", **(FAST | other))), probs_of(found), atol=1e-6)
    sure = np.eye(3)[np.random.default_rng(0).integers(3, size=70)] * .97 + .01                         # the truth
    assert not np.allclose(mv.identify(data, "crowdlab", probs=sure, rounds=3).value, mv.identify(data, "crowdlab", probs=sure).value, atol=1e-3)


def test_a_task_that_is_no_item_and_calibration(data, tmp_path):
    folder = written(tmp_path / "more", np.load(tmp_path / "data" / "features.npy"), [0] * 35 + [1] * 35, extra=[("zz", "w0", "a")])
    more = mv.read(folder)
    found = mv.identify(more, "crowdlab", **FAST)
    share = np.bincount(mv.aggregate(more.answers, "mv").codes, minlength=3) / 71
    assert np.allclose(probs_of(found)[-1], share) and np.isfinite(found.value).all()
    plain, hot = (probs_of(mv.identify(data, "crowdlab", calibrate=c, **FAST)) for c in (False, True))
    assert np.array_equal(plain.argmax(axis=1), hot.argmax(axis=1)) and not np.allclose(plain, hot, atol=1e-3)


def test_the_whole_chain_on_the_command_line(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["identify", "data", "-s", "crowdlab", "--encoder", "features", "--folds", "4", *FLAGS, "-o", "out/", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {Path(f).name for f in said["files"]} == {"scores.csv", "probs.csv", "manifest.json"}
    assert run(["aggregate", "data", "-s", "crowdlab", "--probs", "out/probs.csv", "-o", "labels.csv", "-q"]) == 0
    labels = {row["task"]: row for row in csv.DictReader(Path("labels.csv").read_text().splitlines())}
    for row in said["result"]:
        if row["of"] == "task":
            assert row["value"] == pytest.approx(float(labels[row["name"]]["prob"]), abs=1e-9)
            assert f"the label {labels[row['name']]['label']};" in row["note"]
    assert run(["identify", "data", "-s", "crowdlab", "--folds", "71"]) == 2
    assert "folds is 71; expected 2 to 70" in capsys.readouterr().err
    assert run(["identify", "data/answers.csv", "-s", "crowdlab"]) == 2
    assert "crowdlab needs probs: give --probs FILE, or items" in capsys.readouterr().err


def test_a_planted_mistake_of_all_who_answered_is_found(tmp_path):
    """Two people who agree on a wrong label: votes cannot tell, the classifier does."""
    rng = np.random.default_rng(2)
    truth = rng.integers(3, size=200)
    bad = np.arange(200) % 20 == 0
    seems = np.where(bad, (truth + 1) % 3, truth)
    data = mv.read(written(tmp_path / "d", np.eye(5)[truth] * 4 + rng.normal(size=(200, 5)), seems, workers=2, skill=.97))
    found = mv.identify(data, "crowdlab", epochs=10, lr=.01, hidden=16)
    value = found.value[2:]
    assert np.mean([(v < value[~bad]).mean() for v in value[bad]]) > .95
