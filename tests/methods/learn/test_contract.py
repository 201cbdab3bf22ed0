"""Every method of `learn`: what is promised of all of them."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import manyvoices as mv
from manyvoices.core import registry

pytestmark = pytest.mark.extras
torch = pytest.importorskip("torch")
torch.set_num_threads(1)                                                   # tests run side by side
METHODS = registry.names("learn")
FAST = {"epochs": 3, "batch": 16, "hidden": 8, "dropout": 0.0}


def planted(folder, n=160, workers=6, classes=3, per_task=3, skill=.75, seed=0, dim=6, splits=True):
    """Items whose features tell the class, and workers who are right so often; the first worker always is, the last never."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=n)
    x = np.eye(dim)[truth] * 3 + rng.normal(size=(n, dim))
    rows = []
    for task in range(n):
        for worker in rng.choice(workers, per_task, replace=False):
            right = rng.random() < (1 if worker == 0 else 0 if worker == workers - 1 else skill)
            label = truth[task] if right else (truth[task] + rng.integers(1, classes)) % classes
            rows.append((f"t{task}", f"w{worker}", "abcdef"[label]))
    folder.mkdir(exist_ok=True, parents=True)
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv(folder / "answers.csv")
    np.save(folder / "features.npy", x.astype(np.float32))
    (folder / "tasks.txt").write_text("".join(f"t{task}\n" for task in range(n)))
    pl.DataFrame({"task": [f"t{t}" for t in range(n)], "label": ["abcdef"[k] for k in truth]}).write_csv(folder / "truth.csv")
    if splits:
        split = ["train"] * (n - 40) + ["dev"] * 16 + ["test"] * 24
        pl.DataFrame({"task": [f"t{t}" for t in range(n)], "split": split}).write_csv(folder / "splits.csv")
    return folder


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MANYVOICES_HOME", str(tmp_path_factory.getbasetemp() / "home"))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return mv.read(planted(tmp_path_factory.mktemp("learn") / "data"))


def learn(data, name, **options):
    return mv.learn(data.items, data.answers, name, **(FAST | options))


def lesson_of(data, name, **options):
    """A method's model and loss after its options are settled, caught at the door of the loop."""
    from manyvoices.nn import lesson

    caught = {}

    class Stop(Exception):
        pass

    def stop(model, loss, train, dev, how, **more):
        caught.update(model=model, loss=loss, train=train, dev=dev, how=how, **more)
        raise Stop

    before = lesson.fit
    lesson.fit = stop
    try:
        learn(data, name, **options)
    except Stop:
        pass
    finally:
        lesson.fit = before
    return caught


CLOSED = {"raykar"}  # fitted without the loop


@pytest.mark.parametrize("name", METHODS)
def test_predictions_are_distributions_and_the_same_after_saving(data, name, tmp_path):
    model = learn(data, name)
    probs = model.predict(data.items)
    assert probs.shape == (160, 3) and np.allclose(probs.sum(axis=1), 1) and (probs >= 0).all()
    model.save(tmp_path / "model")
    again = mv.load(tmp_path / "model")
    assert np.array_equal(again.predict(data.items), probs)
    assert model.can == {"truth", "workers"}
    at, worker = np.array([0, 0, 3, 159]), np.array([0, 5, -1, 2])
    said = model.predict_pairs(data.items, at, worker)
    assert np.allclose(said.sum(axis=1), 1) and (said >= 0).all()
    assert np.array_equal(again.predict_pairs(data.items, at, worker), said)
    swapped = model.predict_pairs(data.items, at[::-1].copy(), worker[::-1].copy())
    assert np.allclose(swapped[::-1], said, atol=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_gives_the_same_bits_and_row_order_does_not_matter(data, name, tmp_path):
    folder = planted(tmp_path / "shuffled")
    table = pl.read_csv(folder / "answers.csv")
    table.sample(fraction=1, shuffle=True, seed=1).write_csv(folder / "answers.csv")
    one, two = learn(data, name, dropout=.2), learn(mv.read(folder), name, dropout=.2)
    assert np.array_equal(one.predict(data.items), two.predict(data.items))
    if name not in CLOSED:
        assert not np.array_equal(one.predict(data.items), learn(data, name, dropout=.2, seed=1).predict(data.items))


@pytest.mark.parametrize("name", [n for n in METHODS if n not in CLOSED])
def test_a_step_moves_what_it_should_and_nothing_else(data, name):
    """Workers with a label in the batch move, those without stay where they are."""
    caught = lesson_of(data, name, decay=0.0)
    model, train = caught["model"], caught["train"]
    rows = train.rows[:12]
    keep = np.isin(train.votes.worker, [0, 1, 2])
    place, _ = train.votes.about(rows)
    assert set(train.votes.worker[place]) > {0, 1, 2}
    weight = np.where(keep, train.votes.weight, 0)
    votes = only(train.votes, keep)
    batch = next(replace(train, votes=votes).of([rows], None))
    assert set(batch.worker.tolist()) == {0, 1, 2} and weight.any()
    if caught.get("before"):
        caught["before"](0)
    parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
    model.train()
    model.epoch = 99                                                        # past those in which something stands still
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for _ in range(2):                                                  # ReLU and zero starts hide some gradients in the first step
            total, count = caught["loss"](model, batch)
            model.zero_grad()
            (total / count).backward()
            before = {n: p.detach().clone() for n, p in parameters.items()}
            torch.optim.SGD(parameters.values(), lr=.5).step()
            model.after_step()
    moved = {n: (p.detach() - before[n]).abs() for n, p in parameters.items()}
    for n, p in parameters.items():
        of_workers = p.ndim and p.shape[0] == len(data.answers.workers) and not n.startswith("net.")
        if of_workers:
            per_worker = moved[n].flatten(1).amax(dim=1)
            if name == "unionnet":                                          # one softmax over all workers: everybody's block counts
                assert (per_worker > 0).all(), n
                continue
            assert (per_worker[:3] > 0).all() and (per_worker[3:] == 0).all(), n
        elif slope(p) > 0:
            assert moved[n].max() > 0, n
    silent = {n for n, p in parameters.items() if slope(p) == 0}
    assert not [n for n in silent if not allowed_silent(name, n)], silent


def slope(p):
    return 0 if p.grad is None else float((p.grad.to_dense() if p.grad.is_sparse else p.grad).abs().max())


def allowed_silent(method, parameter):
    """Parameters whose exact gradient is zero here: a prior that is not learnt, a constant shift of a softmax."""
    return (method, parameter) in {("maxmig", "prior")}


def only(votes, keep):
    from manyvoices.nn.batches import Votes

    item = np.repeat(np.arange(len(votes.n)), votes.n)[keep]
    start = np.concatenate([[0], np.bincount(item, minlength=len(votes.n)).cumsum()])
    return Votes(start, votes.worker[keep], votes.label[keep], votes.weight[keep])


@pytest.mark.parametrize("name", METHODS)
def test_one_item_and_one_answer_can_be_predicted_and_learnt_from(data, name, tmp_path):
    model = learn(data, name)
    from manyvoices.core.content import content_of

    content = content_of(data.items)
    one = replace(content, ids=mv.Names(["t0"]), values=content.values[:1])
    assert np.allclose(model.predict(one), model.predict(content)[:1], atol=1e-6)
    learn(mv.read(planted(tmp_path / "d", n=60)), name, batch=19)           # train 20: a last batch of one


@pytest.mark.parametrize("name", METHODS)
def test_a_planted_crowd_beats_the_vote(name, tmp_path):
    """Two of seven workers are right nine times in ten, the others guess: few labels an item, many items."""
    rng = np.random.default_rng(3)
    n, K = 900, 3
    truth = rng.integers(K, size=n)
    x = np.eye(6)[truth] * 2.5 + rng.normal(size=(n, 6))
    rows = []
    for task in range(n):
        for worker in rng.choice(7, 3, replace=False):
            label = truth[task] if rng.random() < (.95 if worker < 2 else .2) else rng.integers(K)
            rows.append((f"t{task}", f"w{worker}", str(label)))
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv(tmp_path / "answers.csv")
    np.save(tmp_path / "features.npy", x.astype(np.float32))
    (tmp_path / "tasks.txt").write_text("".join(f"t{task}\n" for task in range(n)))
    pl.DataFrame({"task": [f"t{t}" for t in range(n)], "label": truth.astype(str)}).write_csv(tmp_path / "truth.csv")
    data = mv.read(tmp_path)
    votes = np.array(mv.aggregate(data.answers, "mv").labels())
    model = mv.learn(data.items, data.answers, name, epochs=40, hidden=64, dropout=0.0)
    ids, split = model.split
    found = model.predict(data.items).argmax(axis=1)
    order = np.array([int(i.removeprefix("t")) for i in ids])
    mine = (found == truth[order])[split == 2].mean()
    at = dict(zip(data.answers.tasks, votes, strict=True))
    vote = np.mean([at[t] == str(truth[int(t.removeprefix("t"))]) for t in ids])
    assert mine > vote, (mine, vote)


@pytest.fixture(scope="module")
def perfect(tmp_path_factory):
    """Two of eight workers say about each item what is true; half of the items are for testing. And how often training on the
    truth is right there."""
    rng = np.random.default_rng(0)
    n, K, folder = 1200, 4, tmp_path_factory.mktemp("perfect")
    truth = rng.integers(K, size=n)
    rows = [(f"t{task}", f"w{worker}", str(truth[task])) for task in range(n) for worker in rng.choice(8, 2, replace=False)]
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv(folder / "answers.csv")
    np.save(folder / "features.npy", (np.eye(6)[truth] * 3.5 + rng.normal(size=(n, 6))).astype(np.float32))
    (folder / "tasks.txt").write_text("".join(f"t{task}\n" for task in range(n)))
    tasks = [f"t{task}" for task in range(n)]
    pl.DataFrame({"task": tasks, "label": truth.astype(str)}).write_csv(folder / "truth.csv")
    pl.DataFrame({"task": tasks, "split": ["train"] * 500 + ["dev"] * 100 + ["test"] * 600}).write_csv(folder / "splits.csv")
    data = mv.read(folder)
    how = {"epochs": 30, "hidden": 64, "dropout": 0.0}
    return data, how, right_on_test(mv.train(data.items, "truth", "classifier", **how), data)


def right_on_test(model, data):
    ids, split = model.split
    said = np.array(model.classes.to_list(), object)[model.predict(data.items).argmax(axis=1)]
    return np.mean((said == np.array(data.items.truth_of(ids), object))[split == 2])


@pytest.mark.parametrize("name", METHODS)
def test_a_perfect_crowd_is_as_good_as_the_truth(perfect, name):
    data, how, best = perfect
    assert right_on_test(mv.learn(data.items, data.answers, name, **how), data) >= best - .01


@pytest.mark.parametrize("name", [n for n in METHODS if n not in CLOSED])
def test_killed_and_resumed_is_the_same_run(data, name, tmp_path, monkeypatch):
    from manyvoices.learning import taught
    from manyvoices.nn import loop

    options = FAST | {"dropout": .2, "epochs": 4}
    whole = taught("learn", data.items, name, options, answers=data.answers, folder=tmp_path / "a")
    saved = loop.checkpoint

    def killed(folder, model, optimizers, run, *more):
        saved(folder, model, optimizers, run, *more)
        if run.epoch == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop, "checkpoint", killed)
    with pytest.raises(KeyboardInterrupt):
        taught("learn", data.items, name, options, answers=data.answers, folder=tmp_path / "b")
    monkeypatch.setattr(loop, "checkpoint", saved)
    again = taught("learn", data.items, name, options, answers=data.answers, folder=tmp_path / "b")
    assert np.array_equal(whole.predict(data.items), again.predict(data.items)) and whole.metrics == again.metrics


@pytest.mark.parametrize("name", METHODS)
def test_half_precision_says_nearly_the_same(data, name):
    """As trained encoders are given where the machine has it."""
    how = FAST | {"epochs": 6, "lr": .01}
    whole, half = (learn(data, name, precision=precision, **how) for precision in ("float32", "bf16"))
    assert np.abs(half.predict(data.items) - whole.predict(data.items)).mean() < .1


OTHER = {("maxmig", "prior"): ["learned", ".5,.3,.2"]}


@pytest.mark.parametrize("name, option", [(n, o.name) for n in METHODS for o in registry.about("learn", n).options if not o.group])
def test_each_option_with_another_value(data, name, option):
    about = registry.about("learn", name).option(option)
    values = OTHER.get((name, option)) or [c for c in about.choices if c != about.default] or [not about.default if about.type == "bool" else about.default / 2 if isinstance(about.default, float) else about.default * 2 or 1]
    for value in values:
        learn(data, name, epochs=2, **{option: value})
