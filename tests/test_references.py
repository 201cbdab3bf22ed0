"""The references against every printed value: golden.json holds each data set with what each method gives on it.

A case has the `options` of the reference and `expect`: a path into its result -> [value, how far off it may be].
"""

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
import references

from manyvoices.core import registry

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text())
SIMULATED = GOLDEN["simulated"]["expected"]
CASES = [pytest.param(name, method, case, id=f"{name}-{method}-{number}")
         for name, data in GOLDEN.items() if name != "simulated"
         for method, cases in data["expected"].items() for number, case in enumerate(cases)]


def run(data, method, options, instead=None):
    given = next(data[key] for key in ("answers", "counts", "table", "matrices", "pairs") if key in data)
    if "counts" in data:                                                    # votes for each class of each task
        given = [(t, w, k) for t, row in enumerate(given)
                 for w, k in enumerate(k for k, n in enumerate(row) for _ in range(n))]
    elif "table" in data:                                                   # joint table of two workers
        both = [(i, j) for i, row in enumerate(given) for j, n in enumerate(row) for _ in range(n)]
        given = [(t, w, k) for t, pair in enumerate(both) for w, k in enumerate(pair)]
    if instead:
        given = list(given)
        given[given.index(instead[0])] = instead[1]
    return getattr(references, method)(given, data["tasks"], data["workers"], data["classes"], **options)


def differences(labels, data, method, options):
    return sum(a != b for a, b in zip(labels, run(data, method, options)["labels"], strict=True))


SPECIAL = {  # what is said of a result in other words than its own
    "differ": lambda out, data: differences(out["labels"], data, "ds", {"tol": 1e-10}),
    "differ_mv": lambda out, data: differences(out["labels"], data, "mv", {}),
    "class_counts": lambda out, data: [out["labels"].count(k) for k in range(data["classes"])],
    "uncertain": lambda out, data: [t for t, row in enumerate(out["probs"]) if max(row) < .99],
    "monotone": lambda out, data: sum(b < a - 1e-8 for a, b in zip(out["trace"], out["trace"][1:], strict=False)),
    "worst_step": lambda out, data: min(b - a for a, b in zip(out["trace"], out["trace"][1:], strict=False)),
    "diagonal": lambda out, data: [row[k] for k, row in enumerate(out["confusions"][0])],
    "trace_of_matrices": lambda out, data: [sum(row[k] for k, row in enumerate(m)) for m in out["confusions"]],
    "spam_score": lambda out, data: references.spam_score(out["confusions"], 0, 0, data["classes"])["score"],
    "total": lambda out, data: sum(out["loglik"]),
}


def look(out, path, data):
    if path in SPECIAL:
        return SPECIAL[path](out, data)
    for step in path.split("."):
        out = out[int(step) if step.lstrip("-").isdigit() else step]
    return out


@pytest.mark.parametrize("name, method, case", CASES)
def test_golden(name, method, case):
    data = GOLDEN[name]
    out = run(data, method, case["options"], case.get("instead"))
    for path, (value, off) in case["expect"].items():
        np.testing.assert_allclose(look(out, path, data), value, rtol=0, atol=off, err_msg=path)


def simulated(table):
    strategy, options = SIMULATED[table]["strategy"], SIMULATED[table]["options"]
    crowd = registry.find("simulate", strategy)(**options)
    answers = list(zip(crowd.task.tolist(), crowd.worker.tolist(), crowd.label.tolist(), strict=True))
    return answers, (len(crowd.truth), *crowd.confusions.shape[:2]), crowd.truth.tolist()


def right(out, truth):
    return sum(a == b for a, b in zip(out["labels"], truth, strict=True)) / len(truth)


@pytest.mark.parametrize("table", SIMULATED)
def test_simulated_tables(table):
    expected = SIMULATED[table]
    answers, sizes, truth = simulated(table)
    assert len(answers) == expected["answers"]
    assert right(references.ns(answers, *sizes), truth) == pytest.approx(expected["accuracy"]["ns"], abs=1e-9)
    ds = references.ds(answers, *sizes, tol=1e-6, iterations=50)
    assert right(ds, truth) == pytest.approx(expected["accuracy"]["ds"], abs=1e-9)
    assert ds["loglik"][-1] == pytest.approx(expected["ds_loglik"], abs=6e-4) and ds["rounds"] == expected["ds_rounds"]
    for clusters, accuracy in expected["accuracy"]["dswc"].items():
        out = references.dswc(answers, *sizes, clusters=int(clusters))
        assert right(out, truth) == pytest.approx(accuracy, abs=1e-9), clusters


def test_simulated_glad():
    answers, sizes, truth = simulated("T5")
    assert right(references.glad(answers, *sizes, iterations=4), truth) == pytest.approx(.845, abs=1e-9)


# ------------------------------------------------------------------------- properties, where nothing has been printed

def crowd(seed, tasks=25, workers=6, classes=3, repeats=True):
    draw = random.Random(seed)
    truth = [draw.randrange(classes) for _ in range(tasks)]
    skill = [draw.uniform(.5, .95) for _ in range(workers)]
    answers = [(t, w, truth[t] if draw.random() < skill[w] else draw.randrange(classes))
               for t in range(tasks) for w in range(workers) if draw.random() < .6]
    return answers + (answers[::7] if repeats else []), (tasks, workers, classes)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method, options", [
    ("ds", {}), ("ds", {"smoothing": .5}), ("ds", {"gold": {0: 1, 3: 2}}), ("onecoin", {}), ("classcond", {}),
    ("classcond", {"alpha": 3, "right": 4.8, "wrong": 3.2}), ("pooled", {}), ("pooled", {"shape": "diagonal"}),
    ("pooled", {"shape": "one"}), ("bcc", {}), ("bcc", {"gold": {0: 1, 3: 2}}), ("hds", {}),
    ("cbcc", {"communities": [references.diagonal(3, .5, 8), references.diagonal(3, 2, 0)]}),
    ("glad", {"iterations": 5}), ("mace", {"iterations": 30}), ("interval", {"iterations": 30}),
    ("dswc", {"clusters": 2, "iterations": 20})])
def test_objectives_never_fall(method, options, seed):
    answers, sizes = crowd(seed)
    if method == "interval":
        answers = [(t, w, k + .1 * w) for t, w, k in answers]
    out = getattr(references, method)(answers, *sizes, **options)
    trace = out.get("penalised", out["trace"])
    assert len(trace) > 4 and min(np.diff(trace)) > -1e-7 * abs(trace[-1])
    if "gold" in options:
        assert out["probs"][0] == [0, 1, 0] and out["probs"][3] == [0, 0, 1]


@pytest.mark.parametrize("method, options", [
    ("ds", {"smoothing": .1}), ("fastds", {"smoothing": .1}), ("onecoin", {}), ("bcc", {}), ("hds", {"iterations": 5}),
    ("mace", {}), ("kos", {}), ("wawa", {}), ("zbs", {}), ("mmsr", {}), ("dswc", {}), ("glad", {"iterations": 3})])
def test_renaming_workers_changes_nothing(method, options):
    answers, sizes = crowd(4)
    plain = getattr(references, method)(answers, *sizes, **options)
    turned = getattr(references, method)([(t, sizes[1] - 1 - w, k) for t, w, k in answers], *sizes, **options)
    assert plain["labels"] == turned["labels"]
    if "probs" in plain:
        np.testing.assert_allclose(plain["probs"], turned["probs"], atol=1e-6)


def test_limits():
    answers, sizes = crowd(5, repeats=False)
    one = references.iwmv(answers, *sizes, iterations=1)
    assert references.wawa(answers, *sizes) == one
    two = references.onecoin([(t, w, int(k > 0)) for t, w, k in answers], *sizes[:2], 2, iterations=10)
    assert all(m[0][0] == pytest.approx(m[1][1]) and m[0][1] == pytest.approx(m[1][0]) for m in two["confusions"])
    single = references.cbcc(answers, *sizes, [references.diagonal(3)], iterations=6)
    plain = references.bcc(answers, *sizes, iterations=6)                   # one community is iBCC, a half-step apart
    np.testing.assert_allclose(single["probs"], plain["probs"], atol=1e-9)


def test_mace_variational_step():
    """Two workers who always agree are never thought to spam much; the counts are those of the start's beliefs."""
    answers = [(t, w, t % 2) for t in range(8) for w in range(2)]
    em, vb = (references.mace(answers, 8, 2, 2, variational=v, iterations=20) for v in (False, True))
    assert min(em["skills"]) > .99 and .8 < min(vb["skills"]) < 1
    assert vb["labels"] == [t % 2 for t in range(8)]


def test_kos_is_power_iteration_without_return():
    """On a full table the messages are sums over all but one; here by matrices instead of edges."""
    answers, (tasks, workers, _) = crowd(6, repeats=False)
    L = np.zeros((tasks, workers))
    for t, w, k in answers:
        L[t, w] = 1 if k == 0 else -1
    y = np.ones_like(L)
    for _ in range(7):
        x = (L * y).sum(axis=1, keepdims=True) - L * y
        y = np.where(L != 0, (L * x).sum(axis=0) - L * x, 0)
        y /= math.sqrt((y ** 2).sum() / (L != 0).sum())
    scores = (L * y).sum(axis=1) * (1 if y.sum() >= 0 else -1)
    found = references.kos(answers, tasks, workers, 3, iterations=7)["scores"]
    np.testing.assert_allclose([row[0] for row in found], scores)


# -------------------------------------------------------------------------------------------- PlantNet, worked by hand

LOG = math.log(2.1)
VOTES = [(0, 0, 1), (0, 1, 1), (0, 2, 1), (1, 0, 0), (1, 1, 0), (1, 2, 0), (1, 3, 1)]     # worker 3 is the machine
PLANT = (2, 4, 2)


def plant(**options):
    return references.plantnet(VOTES, *PLANT, ai=3, **options)


def test_plantnet_policies():
    out = plant(policy="ignored")
    assert out["labels"] == [1, 0] and out["acc"] == [1, 1] and out["conf"] == pytest.approx([3 * LOG] * 2)
    out = plant(policy="worker")
    assert out["acc"][1] == pytest.approx(.75) and out["labels"] == [1, 0]
    out = plant(policy="fixed", ai_weight=1.0)
    assert out["acc"][1] == pytest.approx(3 * LOG / (3 * LOG + 1)) and out["labels"] == [1, -1]
    assert plant(policy="fixed", ai_weight=5.0, keep=True)["labels"] == [1, 1]             # outvotes all three
    assert plant(policy="fixed", ai_weight=5.0)["labels"] == [1, -1]        # but a share of .69 is too little
    out = plant(policy="invalidating", ai_weight=1.0)
    assert out["acc"][1] == pytest.approx(3 * LOG / (3 * LOG + 1)) and out["labels"] == [1, -1]
    out = plant(policy="invalidating", ai_weight=.5)                        # would leave .816: not counted at all
    assert out["acc"] == [1, 1] and out["labels"] == [1, 0]
    assert plant(policy="invalidating", ai_weight=5.0, keep=True)["labels"] == [1, 0]      # has no vote of its own
    for threshold, expected in ((.8, [1, 0]), (.7, [1, -1])):
        assert plant(policy="confident", scores=[0, .7], threshold=threshold)["labels"] == expected


def test_plantnet_weights():
    """Workers 0 and 1 agree on twelve classes: worth round(1.2) = 1 each, or 12 to the author of valid tasks."""
    answers = [(t, w, t) for t in range(12) for w in range(3)]
    out = references.plantnet(answers, 12, 3, 12)
    assert out["identified"] == [1, 1, 1] and out["weights"] == pytest.approx([LOG] * 3)
    out = references.plantnet(answers, 12, 3, 12, authors=[0] * 11 + [2])
    assert out["identified"] == [11 + round(.1), 1, 1 + round(1.1)]
    assert out["weights"][0] == pytest.approx(math.sqrt(11) - 11 ** .2 + LOG)
    one = references.plantnet([(0, 0, 0)], 2, 1, 1, authors=[0, 0])
    assert one["labels"] == [-1, -1] and one["acc"][1] == 0                 # too little weight; nobody at all


def test_crowdlab_by_hand():
    """Three tasks, two workers: P = 3/4, E = 1/2, so the workers' weights are at their floor and the model decides."""
    answers, guess = [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 0), (2, 0, 1)], [[.9, .1], [.2, .8], [.6, .4]]
    out = references.crowdlab(answers, 3, 2, 2, guess)
    assert out["consensus"] == [0, 1, 1] and out["agreement"] == [.5, .5]
    assert out["weights"] == pytest.approx([1e-6, 1e-6])
    assert out["model_weight"] == pytest.approx(math.sqrt(5 / 3))
    np.testing.assert_allclose(out["probs"], guess, atol=1e-5)
    assert references.crowdlab(answers, 3, 2, 2, guess, again=True)["consensus"] == [0, 1, 0]
