"""Simulated crowds: peerannot's published data sets seed by seed, every option, and what is refused."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import manyvoices
from manyvoices.core import registry
from manyvoices.core.errors import BadCall
from manyvoices.methods.simulate.large import pick

FOLDER = Path(manyvoices.__path__[0]) / "methods" / "simulate"
NAMES = sorted(p.stem for p in FOLDER.glob("*.py") if not p.stem.startswith("_"))
STREAMED = [n for n in NAMES if n != "large"]


def strategy(name):
    return registry.find("simulate", name)


def said(crowd):
    return crowd.label.tobytes() + crowd.worker.tobytes()


def counts(crowd):
    table = np.zeros((len(crowd.truth), *crowd.confusions.shape[:2]))
    np.add.at(table, (crowd.task, crowd.worker, crowd.label), 1)
    return table


def shares(table):
    votes = table.sum(axis=1)
    return votes / votes.sum(axis=1, keepdims=True)


def dawid_skene(table):
    """Posterior, log-likelihood and rounds; start from the shares, stop at 1e-6 in total or after 50 rounds."""
    probs, before, rounds = shares(table), -np.inf, 0
    while rounds < 50:
        rounds += 1
        mass = np.einsum("tk,twl->wkl", probs, table)
        total = mass.sum(axis=2, keepdims=True)
        matrices = np.where(total > 0, mass / np.where(total > 0, total, 1), 1 / table.shape[2])
        joint = np.log(probs.mean(axis=0)) + np.einsum("twl,wkl->tk", table, np.log(np.maximum(matrices, 1e-300)))
        evidence = np.logaddexp.reduce(joint, axis=1)
        probs = np.exp(joint - evidence[:, None])
        if abs(evidence.sum() - before) <= 1e-6:
            break
        before = evidence.sum()
    return probs, evidence.sum(), rounds


TABLES = {  # strategy, options: answers, accuracy of the shares and of Dawid-Skene, its log-likelihood and rounds
    "T1": ("independent_confusion", {"per_task": 10}, 2000, .760, .890, -2519.553, 20),
    "T2": ("independent_confusion", {"imbalance": True}, 3110, .830, .895, -3924.404, 32),
    "T3": ("student_teacher", {"ratio": .8, "per_task": 10}, 2000, .690, .755, -2586.472, 28),
    "T5": ("discrete_difficulty", {"workers": 100, "ratio": .35, "per_task": 10}, 2000, .790, .810, -1524.892, 8),
}


@pytest.mark.parametrize("table", TABLES)
def test_peerannot_tables(table):
    name, options, total, ns, ds, loglik, rounds = TABLES[table]
    crowd = strategy(name)(**options)
    votes = counts(crowd)
    assert len(crowd.task) == total
    assert np.mean(shares(votes).argmax(axis=1) == crowd.truth) == pytest.approx(ns, abs=1e-12)
    probs, found, steps = dawid_skene(votes)
    assert np.mean(probs.argmax(axis=1) == crowd.truth) == pytest.approx(ds, abs=1e-12)
    assert found == pytest.approx(loglik, abs=1e-3)
    assert steps == rounds


def swap(row, k):
    best = int(np.argmax(row))
    row[best], row[k] = row[k], row[best]
    return row


def one_by_one(name, workers, tasks, classes, per_task, imbalance, load, seed, ratio=.5, ratio_diff=1., random=0.):
    """The stream as a list of single draws: truth, what the strategy draws, then task by task size, workers, labels."""
    rng = np.random.default_rng(seed)
    truth = [int(k) for k in rng.choice(classes, size=tasks, replace=True)]
    kind = ["hard"] * tasks
    some = int(ratio * workers)
    if name == "discrete_difficulty":
        hard = (1 - random) / (ratio_diff + 1)
        kind = list(rng.choice(["easy", "hard", "random"], p=[ratio_diff * hard, hard, random], size=tasks))
    matrices = []
    for w in range(workers):
        if name == "hammer_spammer":
            matrices.append(np.eye(classes) if w < workers - some else np.full((classes, classes), 1 / classes))
        elif name == "discrete_difficulty":
            drawn = rng.dirichlet([.2 if w < some else 5.] * classes, size=classes)
            matrices.append([swap(row, k) if w < some else row for k, row in enumerate(drawn)])
        elif name == "independent_confusion" or w < workers - some:
            matrices.append([swap(row, k) for k, row in enumerate(rng.dirichlet([1.] * classes, size=classes))])
    if name == "student_teacher":
        matrices += [matrices[t] for t in rng.choice(workers - some, replace=True, size=some)]
    load = tasks if load is None else load
    done, rows = [0] * workers, []
    for task in range(tasks):
        free = [w for w in range(workers) if done[w] < load]
        m = min(load, len(free), workers if per_task is None else per_task)
        if imbalance:
            m = rng.choice(range(m)) + 1
        for w in rng.choice(free, replace=False, size=m):
            done[w] += 1
            label = (truth[task] if kind[task] == "easy" else rng.choice(classes) if kind[task] == "random"
                     else rng.choice(classes, p=matrices[w][truth[task]]))
            rows.append((task, int(w), int(label)))
    return sorted(rows), truth, np.array(matrices)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", [{"per_task": 4}, {"per_task": None, "imbalance": True}, {"per_task": 3, "load": 9},
                                     {"per_task": 50, "load": 40, "imbalance": True}])
@pytest.mark.parametrize("name", STREAMED)
def test_stream(name, options, seed):
    options = {"workers": 12, "tasks": 25, "classes": 3, "imbalance": False, "load": None, "seed": seed} | options
    if name != "independent_confusion":
        options["ratio"] = .4
    if name == "discrete_difficulty":
        options |= {"ratio_diff": .5, "random": .25}
    crowd = strategy(name)(**options)
    rows, truth, matrices = one_by_one(name, **options)
    assert list(zip(crowd.task.tolist(), crowd.worker.tolist(), crowd.label.tolist(), strict=True)) == rows
    assert crowd.truth.tolist() == truth
    np.testing.assert_array_equal(crowd.confusions, matrices)


@pytest.mark.parametrize("name", NAMES)
def test_shape_of_a_crowd(name):
    crowd = strategy(name)(workers=20, tasks=50, classes=4, per_task=6)
    assert crowd.task.dtype == crowd.worker.dtype == np.int32 and crowd.label.dtype == crowd.truth.dtype == np.int16
    assert len(crowd.task) == len(crowd.worker) == len(crowd.label) == 300 and crowd.truth.shape == (50,)
    assert crowd.worker.max() < 20 and crowd.label.min() >= 0 and crowd.label.max() < 4
    pairs = crowd.task.astype(int) * 20 + crowd.worker
    assert (np.diff(pairs) > 0).all()                                       # sorted, nobody twice on a task
    assert crowd.confusions.shape == (20, 4, 4)
    np.testing.assert_allclose(crowd.confusions.sum(axis=2), 1)
    with pytest.raises(ValueError, match="read-only"):
        crowd.label[0] = 0


@pytest.mark.parametrize("name", NAMES)
def test_every_option_changes_something(name):
    make, small = strategy(name), {"workers": 12, "tasks": 40, "per_task": 8}
    if name == "discrete_difficulty":
        small["ratio_diff"] = .8
    before = make(**small)
    other = {"workers": 13, "tasks": 41, "classes": 3, "per_task": None, "imbalance": True, "load": 30, "ratio": .5,
             "ratio_diff": 3., "random": .5, "seed": 1, "skew": 0.}
    if name == "large":
        other["per_task"] = 7
    for option in inspect.signature(make).parameters:
        after = make(**small | {option: other[option]})
        assert said(after) != said(before), option
    assert said(make(**small)) == said(before)


def test_what_the_options_mean():
    crowd = strategy("hammer_spammer")(ratio=.4)
    assert crowd.extra["spammer"].sum() == 12 and not crowd.extra["spammer"][:18].any()
    hammers = ~crowd.extra["spammer"][crowd.worker]
    assert (crowd.label == crowd.truth[crowd.task])[hammers].all()
    crowd = strategy("student_teacher")(ratio=.8)
    teacher = crowd.extra["teacher"]
    assert teacher[:6].tolist() == list(range(6)) and teacher.max() < 6
    np.testing.assert_array_equal(crowd.confusions, crowd.confusions[teacher])
    crowd = strategy("discrete_difficulty")(random=.3, ratio_diff=2., tasks=1000)
    kind, right = crowd.extra["difficulty"], crowd.label == crowd.truth[crowd.task]
    assert right[kind[crowd.task] == "easy"].all()
    assert np.mean(right[kind[crowd.task] == "random"]) == pytest.approx(.2, abs=.03)
    assert np.mean(kind == "random") == pytest.approx(.3, abs=.05)
    assert np.sum(kind == "easy") / np.sum(kind == "hard") == pytest.approx(2, abs=.4)
    crowd = strategy("independent_confusion")(imbalance=True, load=90, per_task=10)
    assert np.bincount(crowd.worker).max() <= 90
    assert set(np.bincount(crowd.task)) == set(range(1, 11))
    assert (crowd.confusions.argmax(axis=2) == np.arange(5)).all()


WRONG = [
    ("workers", 0, "from 1 to"), ("workers", 2.5, "a whole number"), ("workers", True, "a whole number"),
    ("tasks", -1, "from 1 to"), ("classes", 1, "from 2 to 32767"), ("per_task", 0, "from 1 to"),
    ("load", 0, "from 1 to"), ("seed", -1, "from 0 to"),
    ("ratio", 1.5, "from 0 to 1"), ("ratio", float("nan"), "from 0 to 1"), ("ratio", "half", "from 0 to 1"),
    ("ratio_diff", -1.0, "of 0 or more"), ("ratio_diff", float("inf"), "of 0 or more"), ("random", 1.1, "from 0 to 1"),
    ("skew", 9.0, "from 0 to 5"),
]


@pytest.mark.parametrize("name, option, value, expected", [
    (n, *wrong) for n in NAMES for wrong in WRONG if wrong[0] in inspect.signature(strategy(n)).parameters])
def test_refused(name, option, value, expected):
    with pytest.raises(BadCall) as error:
        strategy(name)(**{option: value})
    message = str(error.value)
    assert message.startswith(f"{option} is {value!r}; expected ") and expected in message and "\n" not in message


def test_nobody_left():
    with pytest.raises(BadCall, match="load is 2 and nobody is left for task 30; expected load"):
        strategy("independent_confusion")(load=2)
    with pytest.raises(BadCall, match="leaves no teacher among 30 workers"):
        strategy("student_teacher")(ratio=1.0)


@pytest.mark.parametrize("options", [{"random": 1.0}, {"ratio_diff": 0.0}, {"ratio": 0.0}, {"ratio": 1.0},
                                     {"classes": 2}])
def test_extremes(options):
    crowd = strategy("discrete_difficulty")(per_task=10, **options)
    assert len(crowd.label) == 2000


def test_large_is_a_fair_draw():
    crowd = strategy("large")(workers=400, tasks=60_000, per_task=5)        # more than one block
    who = crowd.worker.reshape(-1, 5)
    assert (np.diff(who, axis=1) > 0).all()
    truth = crowd.truth[crowd.task]
    seen = np.zeros_like(crowd.confusions)
    np.add.at(seen, (crowd.worker, truth, crowd.label), 1)
    n = seen.sum(axis=2, keepdims=True)
    busy = n[:, :, 0].min(axis=1) > 400
    assert busy.sum() > 20
    np.testing.assert_allclose((seen / np.maximum(n, 1))[busy], crowd.confusions[busy], atol=.12)
    done = np.bincount(crowd.worker, minlength=400)
    assert np.corrcoef(done, crowd.extra["activity"])[0, 1] > .98 and done.max() > 5 * np.median(done)


@pytest.mark.parametrize("workers", [6, 60])                                # both ways of picking
def test_large_picks_one_after_another(workers):
    share = np.arange(1, workers + 1) / np.arange(1, workers + 1).sum()
    who = pick(np.random.default_rng(0), share, 200_000, 2)
    first = share[:, None] * share[None, :] / (1 - share[:, None])          # P(first a, then b)
    pair = first + first.T
    seen = np.zeros((workers, workers))
    np.add.at(seen, (who[:, 0], who[:, 1]), 1 / 200_000)
    upper = np.triu_indices(workers, 1)
    np.testing.assert_allclose(seen[upper], pair[upper], atol=5 * np.sqrt(pair.max() / 200_000))
    assert seen[np.tril_indices(workers)].sum() == 0


def test_large_with_few_workers():
    crowd = strategy("large")(workers=3, tasks=100, per_task=5)
    assert len(crowd.task) == 500 and crowd.worker.max() == 2
