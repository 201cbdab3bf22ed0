"""aum, aumc and waum: margins by hand, everything after the network by slow loops, planted mistakes, what is promised of scores."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import manyvoices as mv
from manyvoices.cli import run
from manyvoices.core import registry

pytestmark = pytest.mark.extras
torch = pytest.importorskip("torch")
torch.set_num_threads(1)
METHODS = ["aum", "aumc", "waum"]
FAST = {"epochs": 3, "batch": 16, "hidden": 8, "dropout": 0.0}
FLAGS = [text for name, value in FAST.items() for text in (f"--{name}", str(value))]


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MANYVOICES_HOME", str(tmp_path_factory.getbasetemp() / "home"))


def crowd(folder, n=60, workers=5, classes=3, per_task=3, skill=.8, seed=0, flipped=(), shuffle=None, extra=()):
    """Items whose features tell the class; of the flipped ones everybody takes the next class for the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=n)
    x = np.eye(6)[truth] * 3 + rng.normal(size=(n, 6))
    rows = []
    for task in range(n):
        seems = (truth[task] + (task in flipped)) % classes
        for worker in rng.choice(workers, per_task, replace=False):
            label = seems if rng.random() < skill else rng.integers(classes)
            rows.append((f"t{task:03}", f"w{worker}", "abcdef"[label]))
    folder.mkdir(parents=True, exist_ok=True)
    table = pl.DataFrame([*rows, *extra], schema=["task", "worker", "label"], orient="row")
    (table if shuffle is None else table.sample(fraction=1, shuffle=True, seed=shuffle)).write_csv(folder / "answers.csv")
    np.save(folder / "features.npy", x.astype(np.float32))
    (folder / "tasks.txt").write_text("".join(f"t{task:03}\n" for task in range(n)))
    labels = [(f"t{t:03}", "abcdef"[(k + (t in flipped)) % classes]) for t, k in enumerate(truth)]
    pl.DataFrame(labels, schema=["task", "label"], orient="row").write_csv(folder / "truth.csv")
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return mv.read(crowd(tmp_path_factory.mktemp("margins") / "data"))


def identify(data, name, **options):
    return mv.identify(data, name, **(FAST | options))


def same(one, two):
    assert one.to_polars().equals(two.to_polars())
    assert list(one.files) == list(two.files)
    for name, file in one.files.items():
        assert file == two.files[name] if isinstance(file, str) else file.equals(two.files[name]), name


# --------------------------------------------------------------------------------------------------- margins and the cut

def test_margins_by_hand():
    from manyvoices.methods.identify._margins import margins

    z = torch.tensor([[2., 1, -.5, .25], [2, 1, -.5, .25], [2, 1, -.5, .25], [1, 1, 0, 0]])
    y = torch.tensor([0, 1, 2, 0])
    assert margins(z, y, "yang", 1).tolist() == [1, 0, -1.5, 0]
    assert margins(z, y, "pleiss", 1).tolist() == [1, -1, -2.5, 0]
    assert margins(z, y, "yang", 2).tolist() == [1.75, .75, -.75, 1]
    assert margins(z, y, "yang", 3).tolist() == [2.5, 1.5, 0, 1]
    for row, label in zip(torch.randn(50, 5), torch.randint(5, (50,)), strict=True):
        values, k = row.tolist(), int(label)
        others = max(v for i, v in enumerate(values) if i != k)
        found = [float(margins(row[None], label[None], m, t)) for m, t in (("yang", 1), ("yang", 3), ("pleiss", 1))]
        assert np.allclose(found, [values[k] - sorted(values)[-2], values[k] - sorted(values)[-4], values[k] - others], atol=1e-6)


def test_the_cut():
    from manyvoices.methods.identify._margins import lowest

    value = np.array([3., np.nan, 1, 2, 5, 4])
    assert lowest(value, .25).tolist() == [False, False, True, True, False, False]   # the quantile is 2, and 2 is not above it
    assert lowest(value, .01).tolist() == [False, False, True, False, False, False]
    assert not lowest(value, 0).any() and not lowest(np.ones(4), .5).any() and not lowest(np.full(3, np.nan), .5).any()


# ---------------------------------------------------------------------------------- all that comes after the network, by loops

@pytest.fixture
def spied(monkeypatch):
    """What the network said, step by step: (logits, label, worker, place, whose network)."""
    from manyvoices.methods.identify import _margins

    said, note = [], _margins.Watch.note

    def spy(self, logits, label, worker, place):
        said.append((logits.numpy().copy(), label.numpy().copy(), worker.numpy().copy(), place.copy(), self.worker))
        note(self, logits, label, worker, place)

    monkeypatch.setattr(_margins.Watch, "note", spy)
    return said


def softmax(row):
    e = np.exp(row - row.max())
    return e / e.sum()


def margin_of(row, y, margin, top):
    return row[y] - (sorted(row)[-1 - top] if margin == "yang" else max(v for k, v in enumerate(row) if k != y))


def by_loops(data, said, on, margin, top, diagonal):
    """task, worker -> mean margin, trust at the last epoch, how often answered."""
    lists, trust, answers = {}, {}, data.answers
    rows = list(zip(*(c.tolist() for c in answers.rows()), strict=True))                     # sorted by task: the order of places
    for logits, label, worker, place, _ in said:
        for z, y, w, p in zip(logits, label.tolist(), worker.tolist(), place.tolist(), strict=True):
            if on == "logits":
                key, values = (p,), z
            else:
                assert rows[p][1:] == (w, y)
                key, values = (rows[p][0], w, y), softmax(z)
                trust[key] = 1.0 if diagonal is None else sum(values[k] * diagonal[w, k] for k in range(len(z)))
            lists.setdefault(key, []).append(margin_of(values, y, margin, top))
    return {key: np.mean(found) for key, found in lists.items()}, trust


@pytest.mark.parametrize("networks", ["stacked", "per_worker"])
@pytest.mark.parametrize("margin, top, normalise", [("yang", 1, "trust"), ("pleiss", 1, "count"), ("yang", 2, "trust")])
def test_waum_by_loops(data, spied, networks, margin, top, normalise):
    found = identify(data, "waum", networks=networks, margin=margin, top=top, normalise=normalise, alpha=.1)
    pi = mv.aggregate(data.answers, "ds", iterations=50).confusions
    diagonal = np.array([[pi[w, k, k] for k in range(3)] for w in range(5)])
    mean, trust = by_loops(data, spied, "probs", margin, top, diagonal)
    assert len(mean) == data.answers.n and len(spied) >= 3
    for t, value in enumerate(found.value):
        mine = [key for key in mean if key[0] == t]
        over = sum(trust[key] * mean[key] for key in mine)
        assert value == pytest.approx(over / (sum(trust[key] for key in mine) if normalise == "trust" else len(mine)), abs=1e-9)
    for name, what in (("aum", mean), ("score", trust)):
        table = found.files[f"{name}_per_worker.csv"]
        assert table.columns == ["task", "worker", "label", name] and len(table) == data.answers.n
        for task, worker, label, value in table.iter_rows():
            assert value == pytest.approx(what[int(task[1:]), int(worker[1:]), "abc".index(label)], abs=1e-9)
    if networks == "per_worker":
        assert {who for *_, who in spied} == set(range(5)) and all((worker == who).all() for _, _, worker, _, who in spied)

    order = sorted(found.value)
    limit = np.quantile(order, .1)
    cut = [t for t, value in enumerate(found.value) if value <= limit]
    assert 0 < len(cut) < (30 if top == 2 else 10) and found.files["too_hard_0.1.txt"] == "".join(f"{t} t{t:03}\n" for t in cut)
    kept = [(t, w, k) for t, w, k in zip(*(c.tolist() for c in data.answers.rows()), strict=True) if t not in cut]
    pi = mv.aggregate(data.answers.take(np.array([t not in cut for t in data.answers.rows()[0]])), "ds", iterations=50).confusions
    rows = np.zeros((60, 3))
    for t, w, k in kept:
        rows[t, k] += pi[w, k, k]
    rows /= np.maximum(rows.sum(axis=1, keepdims=True), 1e-300)
    labels = found.files["labels.csv"]
    assert labels["task"].to_list() == list(data.answers.tasks)
    assert np.allclose(labels.select("p:a", "p:b", "p:c").to_numpy(), rows, atol=1e-9) and (rows[cut] == 0).all()
    for t, (label, note) in enumerate(zip(labels["label"], labels["note"], strict=True)):
        assert (label, note) == ((None, "too hard") if t in cut else ("abc"[rows[t].argmax()], None))


@pytest.mark.parametrize("margin", ["yang", "pleiss"])
def test_aum_by_loops(data, spied, margin):
    found = identify(data, "aum", consensus="mv", margin=margin, alpha=.1)
    labels = mv.aggregate(data.answers, "mv").codes
    mean, _ = by_loops(data, spied, "logits", margin, 1, None)
    assert len(spied) == 3 * 4 and all((label == labels[place]).all() for _, label, _, place, _ in spied)
    assert np.allclose(found.value, [mean[t,] for t in range(60)], atol=1e-9)
    cut = np.flatnonzero(found.value <= np.quantile(found.value, .1))                       # of the values that are shown, for pleiss and yang
    assert found.files == {"too_hard_0.1.txt": "".join(f"{t} t{t:03}\n" for t in cut)}
    assert [t for t, note in enumerate(found.note) if "too hard: among the lowest 0.1" in note] == cut.tolist()
    assert all(f"label {'abc'[k]}" in note for k, note in zip(labels, found.note, strict=True))


def test_aumc_is_the_mean_over_answers_and_waum_with_all_trusted_alike(data, spied, monkeypatch):
    found = identify(data, "aumc")
    mean, _ = by_loops(data, spied, "probs", "yang", 1, None)
    assert np.allclose(found.value, [np.mean([m for key, m in mean.items() if key[0] == t]) for t in range(60)], atol=1e-9)
    waum = identify(data, "waum")
    assert not np.allclose(waum.value, found.value, atol=1e-3)
    monkeypatch.setattr(registry.module("identify", "waum"), "known", lambda answers, *_: np.ones((5, 3)))
    for normalise in ("trust", "count"):
        assert np.allclose(identify(data, "waum", normalise=normalise).value, found.value, atol=1e-9)


def test_repeated_answers_count_as_often_as_they_were_given(tmp_path):
    data = mv.read(crowd(tmp_path / "d", n=12, extra=[("t000", "w0", "c")] * 3 + [("t000", "w1", "a")]))
    found = identify(data, "aumc")
    table = found.files["aum_per_worker.csv"].filter(pl.col("task") == "t000")
    task, worker, label = data.answers.rows()
    weight = {(w, k): n for w, k, n in zip(worker[task == 0].tolist(), label[task == 0].tolist(), data.answers.repeated()[task == 0].tolist(), strict=True)} \
        if data.answers.repeated() is not None else None
    pairs = [(int(w[1:]), "abc".index(k)) for w, k in table.select("worker", "label").iter_rows()]
    weights = np.ones(len(pairs)) if weight is None else [weight[pair] for pair in pairs]
    assert found.n[0] == 7 == sum(weights) and found.value[0] == pytest.approx(np.average(table["aum"], weights=weights), abs=1e-9)


def test_every_network_begins_anew(data, monkeypatch):
    """Of its own or one for all: the first step is from the same weights, though encoder parts are trained along."""
    from manyvoices.methods.identify import _margins

    starts, fit = [], _margins.fit

    def spy(model, *more):
        starts.append({name: p.detach().clone() for name, p in model.state_dict().items()})
        return fit(model, *more)

    monkeypatch.setattr(_margins, "fit", spy)
    identify(data, "waum", networks="per_worker")
    assert len(starts) == 5
    for other in starts[1:]:
        assert all(torch.equal(p, other[name]) for name, p in starts[0].items())


# ---------------------------------------------------------------------------------------------------------- what they are for

def auroc(value, bad):
    return np.mean([(v < value[~bad]).mean() + .5 * (v == value[~bad]).mean() for v in value[bad]])


@pytest.mark.parametrize("name, options, least", [
    ("aum", {"labels": "truth"}, .98), ("aum", {"labels": "truth", "margin": "pleiss"}, .98), ("aum", {"consensus": "mv"}, .9),
    ("aumc", {}, .9), ("waum", {}, .9), ("waum", {"margin": "pleiss"}, .9), ("waum", {"networks": "per_worker"}, .85)])
def test_planted_mistakes_are_lowest(tmp_path, name, options, least):
    flipped = np.random.default_rng(1).choice(240, 12, replace=False)
    data = mv.read(crowd(tmp_path / "d", n=240, flipped=set(flipped.tolist())))
    found = mv.identify(data, name, epochs=12, hidden=16, batch=16, lr=.005, **options)
    assert auroc(found.value, np.isin(np.arange(240), flipped)) > least


# ------------------------------------------------------------------------------------------------- what is promised of scores

@pytest.mark.parametrize("name", METHODS)
def test_rows_and_bits(data, name, tmp_path):
    found = identify(data, name, dropout=.2)
    assert list(found.name) == list(data.answers.tasks) and set(found.of) == {"task"} and set(found.score) == {name}
    assert np.isfinite(found.value).all() and (found.n == data.answers.per_task()).all()
    assert all("no interval" in note for note in found.note)
    same(found, identify(data, name, dropout=.2))
    same(found, identify(mv.read(crowd(tmp_path / "d", shuffle=3)), name, dropout=.2))
    assert not np.allclose(found.value, identify(data, name, dropout=.2, seed=1).value)


@pytest.mark.parametrize("name, option", [(n, o.name) for n in METHODS for o in registry.about("identify", n).options if not o.group])
def test_each_option_with_another_value(data, name, option):
    about = registry.about("identify", name).option(option)
    other = next((c for c in about.choices if c != about.default), None) or {"alpha": .2, "top": 2, "iterations": 2, "smoothing": 1.}[option]
    one, two = identify(data, name), identify(data, name, **{option: other})
    if option == "alpha":
        assert np.array_equal(one.value, two.value) and next(iter(two.files)) == "too_hard_0.2.txt" and len(two.files["too_hard_0.2.txt"]) > 20
    else:
        assert not np.allclose(one.value, two.value, atol=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_tasks_that_are_no_items_and_items_nobody_answered(name, tmp_path):
    folder = crowd(tmp_path / "d", n=30, extra=[("zz", "w0", "a"), ("zz", "w1", "b")])
    found = identify(mv.read(folder), name)
    assert found.name[-1] == "zz" and np.isnan(found.value[-1]) and "no item" in found.note[-1] and np.isfinite(found.value[:-1]).all()
    if name == "waum":
        assert found.files["labels.csv"]["label"][-1] is not None                        # it was not cut: the votes are all there is
    table = pl.read_csv(folder / "answers.csv").filter(pl.col("task") != "t005")
    table.write_csv(folder / "answers.csv")
    found = identify(mv.read(folder), name)
    assert "t005" not in found.name and np.isfinite(found.value[:-1]).all()


CORNERS = {
    "one worker": [(t, 0, t % 2) for t in range(4)],
    "one task": [(0, w, w % 2) for w in range(3)],
    "one answer a task": [(0, 0, 0), (1, 1, 1), (2, 2, 0)],
    "one class": [(t, w, 0) for t in range(3) for w in range(2)],
    "all ties": [(t, w, w % 2) for t in range(4) for w in range(2)],
}


@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize("name", METHODS)
def test_corners(name, corner, tmp_path):
    folder = crowd(tmp_path / "d", n=4)
    rows = [(f"t{t:03}", f"w{w}", "ab"[k]) for t, w, k in CORNERS[corner]]
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv(folder / "answers.csv")
    for more in ({}, {"networks": "per_worker"}) if name == "waum" else ({},):
        found = identify(mv.read(folder), name, **more)
        assert len(found) == len({t for t, _, _ in CORNERS[corner]})
        assert (np.isnan(found.value).all() and "one class" in found.note[0]) if corner == "one class" else np.isfinite(found.value).all()


def test_what_they_are_not_for(data, tmp_path):
    bare = mv.identify(data.answers, "waum")                                             # no items at all
    assert len(bare) == 1 and "no items to learn from" in bare.note[0]
    numbers = mv.read(crowd(tmp_path / "d", n=10).parent / "d", map_labels={"a": "1", "b": "2", "c": "3"}, scale="interval")
    assert "labels are numbers" in mv.identify(numbers, "aum").note[0]
    assert "aum" not in set(mv.identify(data).score)                                     # nothing is trained that nobody named


@pytest.mark.parametrize("options, text", [
    ({"top": 3}, "aum: top is 3; expected 1 to 2"), ({"top": 0}, "top is 0"), ({"alpha": 1.}, "alpha is 1.0"),
    ({"labels": "truth", "consensus": "mv"}, "give --labels or --consensus, not both"), ({"epochs": 0}, "--epochs is 0")])
def test_calls_that_cannot_be_meant(data, options, text):
    with pytest.raises(ValueError, match=text):
        identify(data, "aum", **options)


@pytest.mark.parametrize("name", METHODS)
def test_spellings_and_page(name):
    about = registry.about("identify", name)
    for spelling, preset in about.also.items():
        (method, options), = registry.parse("identify", spelling.upper())
        assert method.name == name and options == method.settle(preset)
    assert registry.parse("identify", "WAUM_perworker")[0][1] == {"networks": "per_worker"}
    assert registry.parse("identify", "AUM[topk=2]")[0][1] == {"top": 2}


# ------------------------------------------------------------------------------------------------------- the command line

@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    crowd(tmp_path / "data", flipped={3, 7})
    return tmp_path


def rows(file):
    return list(csv.DictReader(Path(file).read_text().splitlines()))


def test_files_of_one_method(place, capsys):
    assert run(["identify", "data", "-s", "waum", *FLAGS, "--alpha", ".05", "-o", "out/", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    names = {"scores.csv", "too_hard_0.05.txt", "labels.csv", "aum_per_worker.csv", "score_per_worker.csv", "manifest.json"}
    assert {p.name for p in Path("out").iterdir()} == names == {Path(f).name for f in said["files"]}
    scores = rows("out/scores.csv")
    assert list(scores[0]) == ["score", "of", "name", "other", "group", "value", "low", "high", "n", "note"] and len(scores) == 60
    assert [row["name"] for row in scores if "too hard" in row["note"]] == [line.split()[1] for line in Path("out/too_hard_0.05.txt").read_text().splitlines()]
    assert json.loads(Path("out/manifest.json").read_text())["options"]["alpha"] == .05
    assert run(["identify", "data", "-s", "waum", *FLAGS, "--alpha", ".1", "-o", "out/", "-q"]) == 0
    assert not Path("out/too_hard_0.05.txt").exists() and Path("out/too_hard_0.1.txt").exists()


def test_several_methods_have_a_folder_each(place):
    assert run(["identify", "data", "-s", "waum,aumc[alpha=.1],entropy", *FLAGS, "-o", "out/", "-q"]) == 0
    assert {str(p.relative_to("out")) for p in Path("out").rglob("*.*")} == {
        "scores.csv", "manifest.json", "waum/too_hard_0.01.txt", "waum/labels.csv", "waum/aum_per_worker.csv", "waum/score_per_worker.csv",
        "aumc/too_hard_0.1.txt", "aumc/aum_per_worker.csv"}
    assert {row["score"] for row in rows("out/scores.csv")} == {"waum", "aumc", "entropy"}


def test_labels_to_check(place, capsys):
    assert run(["identify", "data", "-s", "aum", "--labels", "data/truth.csv", *FLAGS, "-o", "a.csv", "-q"]) == 0
    assert run(["identify", "data", "-s", "aum", "--labels", "truth", *FLAGS, "-o", "b.csv", "-q"]) == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes() and not list(place.glob("too_hard*"))
    assert run(["identify", "data", "-s", "entropy", "--labels", "truth"]) == 2
    assert "--labels is for aum" in capsys.readouterr().err
    assert run(["identify", "data", "-s", "aum", "--labels", "nothing.csv"]) == 3
    assert "no such file" in capsys.readouterr().err


def test_the_lists_and_labels_go_into_training(place):
    assert run(["identify", "data", "-s", "waum", *FLAGS, "--alpha", ".1", "-o", "out/", "-q"]) == 0
    assert run(["train", "data", "--labels", "truth", "--path-remove", "out/too_hard_0.1.txt", *FLAGS, "-o", "model/", "-q"]) == 0
    assert run(["train", "data", "--labels", "out/labels.csv", *FLAGS, "-o", "soft/", "-q"]) == 0


WITHOUT = """
import sys
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, Gone())
from manyvoices.cli import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize("args, code, text", [
    (["identify", "-s", "waum", "-h"], 0, "--encoder"), (["identify", "data", "-s", "waum"], 1, "identify/waum needs torch: pip install 'manyvoices[deep]'"),
    (["identify", "data", "-s", "crowdlab"], 1, "needs torch: pip install 'manyvoices[deep]'")])
def test_without_torch(place, args, code, text):
    done = subprocess.run([sys.executable, "-c", WITHOUT, *args], capture_output=True, text=True)
    assert done.returncode == code and text in done.stdout + done.stderr, done.stderr
