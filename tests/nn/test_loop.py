"""The training loop: batches, rates, processes, a loss that is no number."""

import importlib
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import manyvoices as mv
from manyvoices.core import registry
from manyvoices.core.errors import BadCall, ManyVoicesError

pytestmark = pytest.mark.extras
torch = pytest.importorskip("torch")
torch.set_num_threads(1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Sixty-four training items and no others, each with an answer of each of three workers."""
    monkeypatch.setenv("MANYVOICES_HOME", str(tmp_path / "home"))
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=64)
    rows = [(f"t{t}", f"w{w}", str(truth[t] ^ int(rng.random() < .2))) for t in range(64) for w in range(3)]
    data = tmp_path / "data"
    data.mkdir()
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv(data / "answers.csv")
    np.save(data / "features.npy", (np.eye(4)[truth] + rng.normal(size=(64, 4))).astype(np.float32))
    (data / "tasks.txt").write_text("".join(f"t{t}\n" for t in range(64)))
    pl.DataFrame({"task": [f"t{t}" for t in range(64)], "split": ["train"] * 64}).write_csv(data / "splits.csv")
    return data


def test_batches_cover_every_item_once_and_none_has_one(folder):
    from manyvoices.nn.batches import Batches, Votes
    from manyvoices.nn.encoders.cache import tokens_of  # noqa: F401 (the cache is not needed here)
    from manyvoices.nn.training import Training

    data, how = mv.read(folder), Training()
    votes = Votes.of(data.answers, data.items.ids)
    source = lambda rows, change: torch.from_numpy(rows)
    for size, cuts in ((16, [0, 16, 32, 48, 64]), (21, [0, 21, 42, 64]), (64, [0, 64]), (100, [0, 64])):
        batches = Batches(source, votes, np.arange(64), size, torch.device("cpu"))
        assert batches.cuts(1) == cuts and len(batches) == len(cuts) - 1
        seen = list(batches.shuffled(how, 3))
        assert sorted(i for batch in seen for i in batch.row.tolist()) == list(range(64))
        assert [b.row.tolist() for b in seen] == [b.row.tolist() for b in batches.shuffled(how, 3)]
        assert [b.row.tolist() for b in seen] != [b.row.tolist() for b in batches.shuffled(how, 4)]
        for batch in seen:                                       # every answer of the batch's items, and the right ones
            assert torch.equal(batch.at, torch.arange(len(batch.row)).repeat_interleave(3))
            task, worker, label = data.answers.rows()
            said = {(data.answers.tasks[t], w): k for t, w, k in zip(task, worker, label, strict=True)}
            assert all(said[data.items.ids[int(batch.row[a])], int(w)] == int(k) for a, w, k in zip(batch.at, batch.worker, batch.label, strict=True))
        two = [list(batches.shuffled(how, 3, rank, 2)) for rank in (0, 1)]
        joined = [sorted([*a.row.tolist(), *b.row.tolist()]) for a, b in zip(*two, strict=True)]
        assert sorted(i for rows in joined for i in rows) == list(range(64))


def test_rates():
    from manyvoices.nn.loop import rates
    from manyvoices.nn.training import Training

    cosine = rates(Training(epochs=10))
    assert cosine(0) == 1 and cosine(5) == pytest.approx(.5) and cosine(9) > 0
    steps = rates(Training(scheduler="multistep", milestones="3,6", lr_decay=.1))
    assert [round(steps(e), 4) for e in (0, 2, 3, 5, 6)] == [1, 1, .1, .1, .01]
    again = rates(Training(epochs=100, milestones="10", lr=.1))            # peerannot's cosine: warm restarts, down to 1e-4
    assert again(0) == again(10) == again(90) == 1 and again(5) == pytest.approx(.5, abs=.001)
    reference = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(torch.optim.SGD([torch.zeros(1)], lr=.1), 10, eta_min=1e-4)
    for epoch in range(25):
        assert .1 * again(epoch) == pytest.approx(reference.get_last_lr()[0])
        reference.optimizer.step(), reference.step()
    warm = rates(Training(scheduler="constant", warmup=3))
    assert [warm(e) for e in range(5)] == [.25, .5, .75, 1, 1]
    for wrong in ("x", "0", "-1,5"):
        with pytest.raises(BadCall, match=f"--milestones {wrong}: give epochs"):
            rates(Training(milestones=wrong))


def test_a_loss_that_is_no_number_stops_with_its_place(folder):
    data = mv.read(folder)
    with pytest.raises(ManyVoicesError, match=r"epoch \d+, batch \d+ of \d+ \(step \d+\): lower --lr"):
        mv.learn(data.items, data.answers, "crowdlayer", lr=1e30, clip=0.0, epochs=5, optimizer="sgd")
    with pytest.raises(ManyVoicesError, match="became"):      # CoNAL's reward has no lower bound
        mv.learn(data.items, data.answers, "conal", scale=1e30, lr=1e6, clip=0.0, optimizer="sgd", epochs=20)


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "radam", "sgd"])
def test_optimisers_leave_the_workers_without_decay(folder, optimizer):
    from manyvoices.nn import lesson
    from manyvoices.nn.loop import optimizers_of
    from manyvoices.nn.training import Training

    data = mv.read(folder)
    how = Training(optimizer=optimizer, decay=.5)
    made = lesson.Lesson.of(data.items, data.answers, how)
    model = made.build(importlib.import_module("manyvoices.methods.learn.crowdlayer").CrowdLayer)
    groups = optimizers_of(model, how)[0].param_groups
    decay = {id(p): g["weight_decay"] for g in groups for p in g["params"]}
    assert decay[id(model.weight)] == 0 and all(decay[id(p)] == .5 for p in model.net.parameters())


def test_early_stopping_and_the_weights_that_are_kept(tmp_path, folder):
    pl.DataFrame({"task": [f"t{t}" for t in range(64)], "split": ["train"] * 40 + ["dev"] * 24}).write_csv(folder / "splits.csv")
    data = mv.read(folder)
    model = mv.learn(data.items, data.answers, "crowdlayer", epochs=60, patience=3, lr=.05, hidden=64, dropout=0.0)
    dev = [row["dev"] for row in model.metrics]
    best = int(np.argmax(dev)) + 1
    assert len(dev) == best + 3 and model.about["kept_epoch"] == best
    last = mv.learn(data.items, data.answers, "crowdlayer", epochs=len(dev), keep="last", lr=.05, hidden=64, dropout=0.0, scheduler="constant")
    assert last.about["kept_epoch"] == len(dev)


@pytest.fixture
def uneven(folder):
    """Items with one, two or three answers: a mean of the means of two halves is not the mean of the whole."""
    first, *rows = (folder / "answers.csv").read_text().splitlines()
    rows = [row for row in rows if int(row[1:].split(",")[0]) % 3 >= int(row.split(",")[1][1:])]
    (folder / "answers.csv").write_text("\n".join([first, *rows]) + "\n")
    return folder


RUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]


def in_two(*args):
    done = subprocess.run([*RUN, *map(str, args)], capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]


def same_weights(one, two):
    from safetensors.numpy import load_file

    one, two = load_file(one), load_file(two)
    assert one.keys() == two.keys()
    for name in one:
        assert np.allclose(one[name], two[name], atol=1e-5), name


@pytest.mark.parametrize("hidden, expected", [(8, 1), (200_000, 2)])
def test_small_nets_take_one_thread(folder, monkeypatch, hidden, expected):
    """Threads that are woken for each small operation made an epoch twice as long; what was set before is set again."""
    from manyvoices.nn import loop

    seen, epoch = [], loop.one_epoch
    monkeypatch.setattr(loop, "one_epoch", lambda *given: (seen.append(torch.get_num_threads()), epoch(*given))[1])
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        data = mv.read(folder)
        mv.learn(data.items, data.answers, "crowdlayer", epochs=1, hidden=hidden, batch=16)
        assert seen == [expected] and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
def test_two_processes_are_one_with_the_double_batch(uneven, tmp_path):
    options = ["--epochs", "4", "--dropout", "0", "--hidden", "8", "--optimizer", "adamw", "--decay", "0.01", "-q"]
    call = ["-m", "manyvoices", "learn", str(uneven), "-s", "crowdlayer", *options]
    alone = subprocess.run([sys.executable, *call, "--batch", "32", "-o", str(tmp_path / "one")], capture_output=True, text=True)
    assert alone.returncode == 0, alone.stderr
    in_two(*call, "--batch", "16", "-o", tmp_path / "two")
    assert sorted(file.name for file in (tmp_path / "two").iterdir()) == sorted(file.name for file in (tmp_path / "one").iterdir())
    same_weights(tmp_path / "one/model.safetensors", tmp_path / "two/model.safetensors")


EVERY = """
import sys, torch
import manyvoices as mv
from manyvoices.nn import devices
from safetensors.torch import save_file

torch.set_num_threads(1)
folder, out, batch, *methods = sys.argv[1:]
data = mv.read(folder)
with devices.group():
    for name in methods:
        model = mv.learn(data.items, data.answers, name, batch=int(batch), epochs=3, dropout=0.0, hidden=8, decay=.01)
        if devices.rank() == 0:
            save_file({k: t.contiguous().clone() for k, t in model.net.state_dict().items()}, f"{out}/{name}")
"""
DRAWN = {"annotmix": "each process mixes its own answers and drops its own inputs at random", "raykar": "fitted without the loop"}


@pytest.mark.slow
def test_two_processes_with_every_method(uneven, tmp_path):
    methods = [name for name in registry.names("learn") if name not in DRAWN]
    script = tmp_path / "every.py"
    script.write_text(EVERY)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    alone = subprocess.run([sys.executable, script, uneven, tmp_path / "one", "32", *methods], capture_output=True, text=True)
    assert alone.returncode == 0, alone.stderr
    in_two(script, uneven, tmp_path / "two", "16", *methods)
    for name in methods:
        same_weights(tmp_path / "one" / name, tmp_path / "two" / name)
