"""Golden values, slow loops and other libraries' numbers for the scores of `evaluate`."""

from collections import Counter
from math import log, sqrt

import numpy as np
import polars as pl
import pytest
from predicting import crowd, dataset, rows_of, small, table, value

from manyvoices.core.answers import Answers
from manyvoices.core.dataset import Dataset
from manyvoices.core.items import Items
from manyvoices.core.names import Names
from manyvoices.evaluation import evaluated


def soft(name, p=(3, 1, 1, 0), q=(.25,) * 4, scale="nominal", **options):
    """One score of one task with so many answers of each class."""
    rows = [(0, w, k) for w, k in enumerate([k for k, n in enumerate(p) for _ in range(n)])]
    base = small(rows, scale, 1, max(len(rows), 1), len(p))
    told = pl.DataFrame({"task": ["0"]} | {f"p:{k}": [float(x)] for k, x in enumerate(q)})
    return value(evaluated(told, dataset(base, scale), name, **options), name)


# -------------------------------------------------------------------------------------------------------------- golden

@pytest.mark.parametrize("name, expected, options", [
    ("kl", .436024, {}), ("jensen_shannon", .182574, {}), ("jensen_shannon", .427287, {"root": True}), ("total_variation", .35, {}),
    ("manhattan", .70, {}), ("wasserstein", .90, {}), ("soft_accuracy", .65, {}), ("cross_entropy", log(4), {}),
    ("euclidean", sqrt(.35**2 + 2 * .05**2 + .25**2), {})])
def test_distances_of_one_task(name, expected, options):
    assert soft(name, **options) == pytest.approx(expected, abs=1e-6)
    assert soft(name, scale="ordinal", **options) == pytest.approx(expected, abs=1e-6)


def test_rows_that_nearly_sum_to_one_are_made_to():
    assert soft("manhattan", (1, 0), (.6003, .4002)) == pytest.approx(2 * .4002 / 1.0005)


def test_floors_and_mixtures():
    """What happens to a probability of 0."""
    assert soft("cross_entropy", (1, 1), (1, 0)) == pytest.approx(-log(1e-12) / 2)
    assert soft("cross_entropy", (1, 1), (1, 0), floor=.01) == pytest.approx(-log(.01) / 2)
    e = 1e-3
    assert soft("kl", (1, 1), (1, 0)) == pytest.approx(.5 * log(.5 / ((1 + e) / (1 + 2 * e))) + .5 * log(.5 / (e / (1 + 2 * e))))
    assert soft("manhattan", (1, 0), (1, 0), smoothing=1.0) == pytest.approx(2 / 3)
    assert soft("jensen_shannon", (1, 0), (0, 1)) == 1


@pytest.mark.parametrize("bins, expected", [(15, .375), (10, .3575)])
def test_ece_of_eight(bins, expected):
    conf, right = [.95, .85, .75, .65, .55, .92, .35, .88], [1, 1, 0, 1, 0, 1, 0, 0]
    items = Items(Names.numbered(8), Names(["a", "b"]), np.array([0 if r else 1 for r in right]), None, None, None)
    told = pl.DataFrame({"task": [str(i) for i in range(8)], "label": ["a"] * 8, "prob": conf})
    data = Dataset(None, items, None, None, "made", {}, [], {})
    assert value(evaluated(told, data, "ece", bins=bins), "ece") == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("prob, expected", [(0.0, 1), (.2, 2), (.20001, 3), (1.0, 10)])
def test_ece_bins_are_closed_on_the_right(prob, expected):
    from manyvoices.methods.evaluate.ece import of_bins

    found = of_bins(np.array([prob]), np.array([False]), 10, np.zeros(1, int), 1)
    assert np.flatnonzero(found[0, 1:]).tolist() == ([expected - 1] if prob else [])


def test_dic_forms():
    from manyvoices.methods.evaluate.dic import forms

    found = forms(np.array([.5, .2, .4]), np.array([.6, .1, .7]))
    np.testing.assert_allclose(found[:3], [.469042, .191485, .1], atol=1e-6)
    assert found[3] == pytest.approx(.1 / (1.1 / 3))  # of the mean of M, .366667; of that of M' it would be .214286
    assert forms(np.array([.6, .1, .7]), np.array([.5, .2, .4]))[3] == pytest.approx(-.214286, abs=1e-6)  # written without its sign


# --------------------------------------------------------------------------------------------------------- slow loops

def cohen(a, b):
    n = len(a)
    observed = sum(x == y for x, y in zip(a, b, strict=True)) / n
    ca, cb = Counter(a), Counter(b)
    chance = sum(ca[k] * cb[k] for k in ca) / n**2
    return (observed - chance) / (1 - chance) if chance < 1 else float(a == b)


@pytest.mark.parametrize("mask", ["common", "all_preds"])
def test_dic_by_loop(mask):
    base = crowd(3, tasks=50, workers=6, share=.5)
    rng = np.random.default_rng(0)
    guess = {(t, w): int((base.truth[t] + (rng.random() < .4)) % 3) for t in range(50) for w in range(6)}
    told = pl.DataFrame({"task": [str(t) for t, _ in guess], "worker": [str(w) for _, w in guess], "label": [str(k) for k in guess.values()]})
    said = {(t, w): k for t, w, k in base.rows()}
    mine, theirs = [], []
    for a in range(6):
        for b in range(6):
            common = [t for t in range(50) if (t, a) in said and (t, b) in said]
            if a == b or not common:
                continue
            mine.append(cohen([said[t, a] for t in common], [said[t, b] for t in common]))
            over = common if mask == "common" else range(50)
            theirs.append(cohen([guess[t, a] for t in over], [guess[t, b] for t in over]))
    mine, theirs = np.array(mine), np.array(theirs)
    found = evaluated(told, dataset(base), "dic", mask=mask)
    assert value(found, "dic") == pytest.approx(sqrt(((mine - theirs) ** 2).sum()))
    assert value(found, "dic_rms") == pytest.approx(sqrt(((mine - theirs) ** 2).sum()) / sqrt(30))
    assert value(found, "dic_absolute") == pytest.approx(abs(mine.mean() - theirs.mean()))
    assert value(found, "dic_relative") == pytest.approx(abs(mine.mean() - theirs.mean()) / mine.mean())
    assert found.n[0] == 15


def test_dic_says_when_pairs_have_little_in_common():
    base = crowd(3, tasks=40, workers=20, share=.2)
    found = evaluated(table(base, own=True), dataset(base), "dic")
    assert np.isnan(found.low).all() and "no interval: half of the pairs have 2 common tasks or fewer" in found.note[0]
    few = evaluated(table(base, own=True), dataset(base), "dic", min_common=40)
    assert few.note[0] == "not defined because no two workers have 40 tasks in common"


def test_dic_where_kappa_is_not_defined():
    """Constant answers: 1 for equal ones, else 0, and the note counts them."""
    base = small([(t, w, 0) for t in range(4) for w in range(2)], tasks=4, workers=2)
    told = pl.DataFrame({"task": [str(t) for t in range(4) for _ in range(2)], "worker": ["0", "1"] * 4, "label": ["0", "1"] * 4})
    found = evaluated(told, dataset(base), "dic")
    assert value(found, "dic") == pytest.approx(sqrt(2))  # 1 beside 0
    assert "kappa set to 1 or 0 where it is not defined (1 of 2)" in found.note[0]


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("own", [True, False])
def test_worker_error_by_loop(scale, own):
    base = crowd(4, tasks=30, workers=12)
    told = table(base, scale, own)
    column = "value" if scale == "interval" else "label"
    guess = {(r["task"], r.get("worker")): float(r[column]) for r in told.to_dicts()}
    errors: dict[str, list[float]] = {}
    for t, w, k, v in zip(base.task, base.worker, base.label, base.value, strict=True):
        g = guess[str(t), str(w) if own else None]
        errors.setdefault(str(w), []).append(float(g != k) if scale == "nominal" else abs(g - k) if scale == "ordinal" else abs(g - v))
    rate = {w: np.mean(e) for w, e in errors.items()}
    found = evaluated(told, dataset(base, scale), "worker_error")
    assert value(found, "worker_error") == pytest.approx(np.mean(list(rate.values())))
    assert value(found, "worker_error_micro") == pytest.approx(np.mean([e for of_worker in errors.values() for e in of_worker]))
    assert value(found, "worker_error_worst") == pytest.approx(np.mean(sorted(rate.values())[-2:]))
    assert {r["name"]: r["value"] for r in rows_of(found, "worker_error", "worker")} == pytest.approx(rate)
    assert ("one prediction for all workers" in found.note[0]) != own
    amer = evaluated(told, dataset(base, scale), "worker_error", missing_as_correct=True)
    assert value(amer, "worker_error") == pytest.approx(np.mean([sum(e) / 30 for e in errors.values()]))
    assert {r["name"]: r["n"] for r in rows_of(found, "worker_error", "worker")} == {w: len(e) for w, e in errors.items()}


def test_repeats_count_as_often_as_they_were_said():
    base = small([(0, 0, 0), (0, 0, 0), (0, 0, 1), (1, 0, 1)], tasks=2, workers=1)
    told = pl.DataFrame({"task": ["0", "1"], "label": ["0", "0"]})
    found = evaluated(told, dataset(base), "worker_error")
    assert value(found, "worker_error") == .5 and found.n[0] == 4


def test_counted_rows_count():
    answers = Answers.from_codes(np.array([0, 0, 1]), np.zeros(3, np.int64), np.array([0, 1, 1]), tasks=Names(["0", "1"]), workers=Names(["w"]),
                                 classes=Names(["0", "1"]), count=np.array([3, 1, 1]))
    found = evaluated(pl.DataFrame({"task": ["0", "1"], "label": ["0", "0"]}), answers, "worker_error")
    assert value(found, "worker_error") == 2 / 5 and found.n[0] == 5


@pytest.mark.parametrize("scale", ["nominal", "ordinal"])
def test_lewidi2025_by_loop(scale):
    """As its scorer computes: lists of distributions, lists of answers, five decimals."""
    base = crowd(5, tasks=30, workers=7)
    told = table(base, scale, own=True)
    probs = {(r["task"], r["worker"]): [r[f"p:{k}"] for k in range(3)] for r in told.to_dicts()}
    guess = {(r["task"], r["worker"]): int(r["label"]) for r in told.to_dicts()}
    softs, errors = [], []
    for t in range(30):
        mine = [(w, k) for task, w, k in base.rows() if task == t]
        target = [sum(k == c for _, k in mine) / len(mine) for c in range(3)]
        mean = np.mean([probs[str(t), str(w)] for w, _ in mine], axis=0)
        if scale == "nominal":
            softs.append(round(sum(abs(a - b) for a, b in zip(target, mean, strict=True)), 5))
            errors.append(round(1 - (len(mine) - sum(guess[str(t), str(w)] != k for w, k in mine)) / len(mine), 5))
        else:
            softs.append(sum(abs(sum(target[:c]) - sum(mean[:c])) for c in range(1, 3)))
            errors.append(sum(abs(guess[str(t), str(w)] - k) for w, k in mine) / len(mine) / 3)
    found = evaluated(told, dataset(base, scale), "lewidi2025")
    assert value(found, "lewidi2025_soft") == pytest.approx(round(sum(softs) / 30, 5), abs=1e-12)
    assert value(found, "lewidi2025_perspectivist") == pytest.approx(np.mean(errors), abs=1e-12)
    other = evaluated(told, dataset(base, scale), "lewidi2025", span=10)
    if scale == "ordinal":
        assert value(other, "lewidi2025_perspectivist") == pytest.approx(np.mean(errors) * .3, abs=1e-12)


def test_lewidi2025_rounds_each_task():
    """Two of three distances are 4.9e-6 too long, one 9e-6: rounded one by one their mean is .4, rounded at the end .40001."""
    base = small([(t, 0, 0) for t in range(3)], tasks=3, workers=1)
    away = np.array([.4 + 4.9e-6, .4 + 4.9e-6, .4 + 9e-6]) / 2
    told = pl.DataFrame({"task": ["0", "1", "2"], "p:0": 1 - away, "p:1": away})
    assert value(evaluated(told, dataset(base), "lewidi2025"), "lewidi2025_soft") == .4
    assert value(evaluated(told, dataset(base), "lewidi2025", compat=False), "lewidi2025_soft") == pytest.approx(.4 + 6.2667e-6, abs=1e-9)


def test_lewidi2025_of_several_labels():
    """Each label is a question of its own; a worker who says several counts once."""
    base = small([(0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 2, 2)], "multilabel", 1, 3, 3)
    told = pl.DataFrame({"task": ["0"] * 4, "worker": ["0", "1", "2", "2"], "label": ["0,1", "0", "1", "2"]})
    found = evaluated(told, dataset(base, "multilabel"), "lewidi2025")
    # said 1/3 2/3 1/3, predicted 2/3 2/3 1/3; wrong: worker 1 on labels 0 and 1, worker 2 on label 1
    assert value(found, "lewidi2025_soft") == pytest.approx(round((.66667 + 0 + 0) / 3, 5))
    assert value(found, "lewidi2025_perspectivist") == pytest.approx(np.mean([.33333, .66667, 0]))
    assert value(evaluated(told, dataset(base, "multilabel"), "worker_error"), "worker_error") == pytest.approx((0 + 1 + .5) / 3)


def test_lewidi2023():
    base = small([(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 1)], tasks=2, workers=2, truth=[0, 1])
    told = pl.DataFrame({"task": ["0", "1"], "label": ["1", "1"], "p:0": [.4, 0.], "p:1": [.6, 1.]})
    found = evaluated(told, dataset(base), "lewidi2023")
    expected = -(.5 * log(.4 + 1e-9) + .5 * log(.6 + 1e-9) + log(1 - 1e-12 + 1e-9)) / 2
    assert value(found, "lewidi2023_cross_entropy") == pytest.approx(expected, abs=1e-12)
    assert value(found, "lewidi2023_micro_f1") == .5
    majority = evaluated(told, dataset(base, truth=False), "lewidi2023")
    assert value(majority, "lewidi2023_micro_f1") == 1 and "1 task with a tie left out" in majority.note[1]


def test_accuracy():
    base = small([(t, w, k) for t, said in enumerate([(0, 0, 1), (1, 1, 1), (2, 1, 0), (2, 2, 0)]) for w, k in enumerate(said)],
                 "ordinal", 4, 3, 3, [0, 0, 2, 1])
    told = pl.DataFrame({"task": ["0", "1", "2", "3"], "label": ["0", "1", None, "2"], "p:0": [.5, .4, .3, .2], "p:1": [.5, .6, .3, .3], "p:2": [0., 0., .4, .5]})
    data = dataset(base, "ordinal")

    def of(**options):
        return value(evaluated(told, data, "accuracy", **options), "accuracy")

    assert of() == 1 / 4 and of(abstained="left_out") == 1 / 3 and of(within=1) == 3 / 4
    assert of(top=2) == 3 / 4  # truths rank 1, 2, -, 2
    assert of(against="answers") == 1 and evaluated(told, data, "copr").n[0] == 3  # task 2 has a tie
    assert of(top=3, abstained="left_out") == 1
    found = evaluated(told, dataset(base, "ordinal", np.array([True, True, False, True])), "accuracy")
    assert value(found, "accuracy") == 1 / 3 and "1 task of unknown truth left out" in found.note[0]


def test_a_task_nobody_answered_has_no_most_frequent_answer():
    """Nor with a single class, where nothing can be tied."""
    told = pl.DataFrame({"task": ["0", "1"], "label": ["0", "0"]})
    for classes in (1, 2):
        found = evaluated(told, dataset(small([(0, 0, 0)], tasks=2, classes=classes)), "accuracy,macro_f1", against="answers")
        assert rows_of(found, "accuracy")[0]["n"] == rows_of(found, "macro_f1")[0]["n"] == 1
        assert "1 task unanswered left out" in found.note[0]


def test_predictions_for_workers_become_one_for_each_task():
    base = small([(0, 0, 0), (0, 1, 1), (0, 2, 1), (1, 0, 1)], tasks=2, workers=3)
    pairs = {"task": ["0", "0", "0", "1"], "worker": ["0", "1", "2", "0"]}
    votes = pl.DataFrame(pairs | {"label": ["0", "0", "1", None]})
    found = evaluated(votes, dataset(base), "manhattan,accuracy")
    assert value(found, "manhattan") == pytest.approx((2 / 3 + 1) / 2)  # (2/3, 1/3) beside (1/3, 2/3); nothing is uniform beside (0, 1)
    probs = pl.DataFrame(pairs | {"p:0": [.9, .2, .1, .5], "p:1": [.1, .8, .9, .5]})
    found = evaluated(probs, dataset(base), "manhattan")
    assert value(found, "manhattan") == pytest.approx((2 * abs(.4 - 1 / 3) + 1) / 2)


def test_numbers():
    base = small([(0, 0, 1), (0, 1, 3), (1, 0, 5), (2, 0, 2)], "interval", 3, 2, 6, [4, 5, 1])
    told = pl.DataFrame({"task": ["0", "1", "2"], "value": [3.0, 5.0, None]})
    data = dataset(base, "interval")
    assert value(evaluated(told, data, "mae"), "mae") == .5 and value(evaluated(told, data, "rmse"), "rmse") == pytest.approx(sqrt(.5))
    against = evaluated(told, data, "mae", against="answers")
    assert value(against, "mae") == .5 and "against the mean answer; 1 task without a prediction left out" in against.note[0]
    assert value(evaluated(told, data, "accuracy", within=1, abstained="left_out"), "accuracy") == 1


def test_ranking():
    assert soft("ranking", (3, 1, 1, 0), (.5, .2, .2, .1)) == 1 and soft("ranking", (3, 1, 1, 0), (.5, .1, .3, .1)) == 0
    assert soft("ranking", (3, 1, 1, 0), (.5, .1, .35, .05)) == 1 and soft("ranking", (2, 2), (.9, .1)) == 1
    assert soft("ranking", (3, 1), (.5, .5)) == 0


def test_intervals_of_shares_are_those_of_the_bootstrap():
    """Accuracy .7 of 400: the binomial spread."""
    base = small([(t, 0, 0) for t in range(400)], tasks=400, workers=1, truth=np.arange(400) % 10 >= 7)
    told = pl.DataFrame({"task": [str(t) for t in range(400)], "label": "0"})
    found = evaluated(told, dataset(base), "accuracy,macro_f1,worker_error")
    [row] = rows_of(found, "accuracy")
    assert row["value"] == .7 and row["high"] - row["low"] == pytest.approx(2 * 1.96 * sqrt(.21 / 400), rel=.1)


def test_an_ece_made_of_noise_has_an_interval_that_reaches_down():
    rng = np.random.default_rng(0)
    conf = rng.uniform(.5, 1, 300)
    items = Items(Names.numbered(300), Names(["a", "b"]), np.where(rng.random(300) < conf, 0, 1), None, None, None)
    told = pl.DataFrame({"task": [str(i) for i in range(300)], "label": ["a"] * 300, "prob": conf})
    found = evaluated(told, Dataset(None, items, None, None, "made", {}, [], {}), "ece")
    assert found.value[0] > .02 and found.low[0] < found.value[0] / 2 and "reflected" in found.note[0]


@pytest.mark.parametrize("off", [0, .05])
def test_the_interval_of_an_ece_holds(off):
    """Also where probabilities are right and all of the value is noise."""
    items = Names.numbered(200)
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        conf = rng.uniform(.5, .95, 200)
        right = rng.random(200) < conf + off
        data = Dataset(None, Items(items, Names(["a", "b"]), np.where(right, 0, 1), None, None, None), None, None, "made", {}, [], {})
        found = evaluated(pl.DataFrame({"task": items.to_list(), "label": ["a"] * 200, "prob": conf}), data, "ece", bootstrap=200)
        held += found.low[0] <= off <= found.high[0]
    assert held >= 54


@pytest.mark.parametrize("apart", [0, .1])
def test_the_intervals_of_dic_hold(apart):
    """Predictions that agree as the workers do (kappa .5), or less, on 30 common tasks a pair."""
    held, W, n, true = np.zeros(4), 4, 30, np.sqrt([12, 1, 1, 4]) * apart
    for seed in range(60):
        rng = np.random.default_rng(seed)
        said, guess = ((rng.integers(2, size=(n, 1)) + (rng.random((n, W)) < wrong)) % 2
                       for wrong in ((1 - sqrt(.5)) / 2, (1 - sqrt(.5 - apart)) / 2))
        base = small([(t, w, said[t, w]) for t in range(n) for w in range(W)], tasks=n, workers=W)
        told = pl.DataFrame([(str(t), str(w), str(guess[t, w])) for t in range(n) for w in range(W)], ["task", "worker", "label"], orient="row")
        found = evaluated(told, dataset(base), "dic", bootstrap=200)
        assert (found.value >= 0).all() and (found.low >= 0).all() and (found.value <= found.high).all()
        held += (found.low <= true) & (true <= found.high)
    assert (held >= 53).all(), held


# -------------------------------------------------------------------------------------------------------------- oracles

@pytest.fixture(scope="module")
def case():
    base = crowd(11, tasks=200, workers=8)
    told = table(base, seed=3, sure=.4)
    probs = told.select(f"p:{k}" for k in range(3)).to_numpy()
    votes = base.answers().counts()
    return base, told, probs, told["label"].cast(int).to_numpy(), votes / votes.sum(axis=1, keepdims=True)


@pytest.mark.extras
@pytest.mark.parametrize("classes", [3, 5])
def test_labels_against_scikit_learn(case, classes):
    from sklearn import metrics

    base, told, _, label, _ = case
    base = small(base.rows(), "nominal", 200, 8, classes, base.truth)
    truth, every = base.truth, range(classes)
    data = dataset(base)
    assert value(evaluated(told.select("task", "label"), data, "accuracy"), "accuracy") == pytest.approx(metrics.accuracy_score(truth, label))
    for average in ("macro", "micro", "weighted"):
        expected = metrics.f1_score(truth, label, labels=every, average=average, zero_division=0)
        assert value(evaluated(told.select("task", "label"), data, f"{average}_f1"), f"{average}_f1") == pytest.approx(expected)
    precision, recall, f1, n = metrics.precision_recall_fscore_support(truth, label, labels=every, zero_division=0)
    for name, expected in (("precision", precision), ("recall", recall), ("macro_f1", f1)):
        found = evaluated(told.select("task", "label"), data, name)
        assert value(found, name) == pytest.approx(expected.mean())
        rows = rows_of(found, name, "class")
        assert [row["value"] or 0 for row in rows] == pytest.approx(list(expected)) and [row["n"] for row in rows] == n.tolist()
    balanced = evaluated(told.select("task", "label"), data, "balanced_accuracy")
    assert balanced.value[0] == pytest.approx(metrics.balanced_accuracy_score(truth, label))


@pytest.mark.extras
def test_probabilities_against_scikit_learn(case):
    from sklearn import metrics

    base, told, probs, _, _ = case
    assert value(evaluated(told, dataset(base), "log_loss"), "log_loss") == pytest.approx(metrics.log_loss(base.truth, probs, labels=[0, 1, 2]))
    assert value(evaluated(told, dataset(base), "brier"), "brier") == pytest.approx(metrics.brier_score_loss(base.truth, probs, labels=[0, 1, 2]))
    two = small([(t, w, k % 2) for t, w, k in base.rows()], "nominal", 200, 8, 2, base.truth % 2)
    halves = pl.DataFrame({"task": told["task"], "p:0": probs[:, 0] + probs[:, 2], "p:1": probs[:, 1]})
    expected = metrics.brier_score_loss(two.truth, probs[:, 1])
    assert value(evaluated(halves, dataset(two), "brier"), "brier") == pytest.approx(expected)
    assert value(evaluated(halves, dataset(two), "brier", form="sum"), "brier") == pytest.approx(2 * expected)


def test_spreads_against_scipy(case):
    from scipy import stats
    from scipy.spatial.distance import jensenshannon

    base, told, q, _, p = case
    mixed = (q + 1e-3) / (1 + 3e-3)
    expected = {
        "kl": stats.entropy(p, mixed, axis=1).mean(),
        "cross_entropy": (stats.entropy(p, axis=1) + stats.entropy(p, q, axis=1)).mean(),
        "jensen_shannon": (jensenshannon(p, q, base=2, axis=1) ** 2).mean(),
        "entropy_error": (stats.entropy(q, axis=1) - stats.entropy(p, axis=1)).mean(),
        "entropy_correlation": stats.pearsonr(stats.entropy(p, axis=1), stats.entropy(q, axis=1))[0],
        "wasserstein": np.mean([stats.wasserstein_distance([0, 1, 2], [0, 1, 2], a, b) for a, b in zip(p, q, strict=True)]),
        "euclidean": np.linalg.norm(p - q, axis=1).mean(), "manhattan": np.abs(p - q).sum(axis=1).mean(),
    }
    found = evaluated(told, dataset(base, "ordinal"), ",".join(expected))
    for name, number in expected.items():
        assert value(found, name) == pytest.approx(number), name
    rank = evaluated(told, dataset(base), "entropy_correlation", kind="spearman")
    mine, theirs = (stats.entropy(x, axis=1).round(12) for x in (p, q))  # equal shares in another order are equally spread
    assert rank.value[0] == pytest.approx(stats.spearmanr(mine, theirs)[0])
    root = evaluated(told, dataset(base), "js_distance")
    assert root.value[0] == pytest.approx(jensenshannon(p, q, base=2, axis=1).mean())


def test_correlations_against_scipy(case):
    from scipy import stats

    base, _, _, _, _ = case
    told = table(base, "interval")
    said = told["value"].to_numpy()
    found = evaluated(told, dataset(base, "interval"), "pearson,spearman")
    assert value(found, "pearson") == pytest.approx(stats.pearsonr(said, base.truth)[0])
    assert value(found, "spearman") == pytest.approx(stats.spearmanr(said, base.truth)[0])


@pytest.mark.extras
@pytest.mark.parametrize("average", ["weighted", "macro"])
def test_worker_f1_against_scikit_learn(case, average):
    from sklearn import metrics

    base, *_ = case
    told = table(base, own=True, sure=.3)
    guess = {(r["task"], r["worker"]): int(r["label"]) for r in told.to_dicts()}
    expected = []
    for w in range(8):
        mine = [(k, guess[str(t), str(w)]) for t, who, k in base.rows() if who == w]
        said, other = zip(*mine, strict=True)
        expected.append(metrics.f1_score(said, other, labels=sorted(set(said)), average=average, zero_division=0))
    found = evaluated(told, dataset(base), "worker_f1", average=average)
    assert [row["value"] for row in rows_of(found, "worker_f1", "worker")] == pytest.approx(expected)
    assert value(found, "worker_f1") == pytest.approx(np.mean(expected))


@pytest.mark.extras
def test_many_classes_have_no_row_each():
    from sklearn import metrics

    base = small([(t, 0, t) for t in range(300)], tasks=300, workers=1, classes=300, truth=np.arange(300))
    label = np.where(np.arange(300) % 3, np.arange(300), 0)
    found = evaluated(pl.DataFrame({"task": np.arange(300).astype(str), "label": label.astype(str)}), dataset(base), "macro_f1")
    assert len(found) == 1 and found.value[0] == pytest.approx(metrics.f1_score(np.arange(300), label, average="macro"))
