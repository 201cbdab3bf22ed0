"""Coefficients against printed values, other packages, and loops."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import references
from crowds import crowd

from manyvoices.core.answers import Answers
from manyvoices.core.names import Names
from manyvoices.methods import agree

GOLDEN = json.loads((Path(__file__).parents[2] / "golden.json").read_text())


def answers(name, scale="nominal"):
    """A table of golden.json; classes are called 1, 2, 3, ..."""
    data = GOLDEN[name]
    tasks, workers = Names.numbered(data["tasks"]), Names.numbered(data["workers"])
    count = None
    if "counts" in data:
        votes = np.array(data["counts"])
        task, label = np.nonzero(votes)
        count, worker, workers = votes[task, label], None, None
    else:
        rows = data.get("answers")
        if rows is None:
            both = [(i, j) for i, row in enumerate(data["table"]) for j, n in enumerate(row) for _ in range(n)]
            rows = [(t, w, k) for t, pair in enumerate(both) for w, k in enumerate(pair)]
        task, worker, label = (np.array(column) for column in zip(*rows, strict=True))
    first = 1 if "krippendorff" in name else 0                              # these hold the numbers themselves
    if scale == "interval":
        return Answers.from_codes(task, worker, label + (1.0 if data["classes"] and not first else 0.0), tasks=tasks, workers=workers,
                                  classes=Names([]), scale=scale)
    return Answers.from_codes(task, worker, label - first, tasks=tasks, workers=workers, scale=scale, count=count,
                              classes=Names([str(k + 1) for k in range(data["classes"])]))


def value(found, of="dataset"):
    return [v for v, what in zip(found.value, found.of, strict=True) if what == of]


# ------------------------------------------------------------------------------------------------------- printed values

ALPHAS = [("krippendorff15", {"nominal": .691358024691358, "ordinal": .806721, "interval": .810844893, "ratio": .808944, "circular": .699700, "bipolar": .775100}, 4),
          ("krippendorff12", {"nominal": .743421, "ordinal": .815388, "interval": .849107, "ratio": .797403, "circular": .789980, "bipolar": .834991}, 5),
          ("ds79_first", {"nominal": .584291, "ordinal": .811892, "interval": .797885, "ratio": .801802, "circular": .653201}, 4)]


@pytest.mark.parametrize("name, metric, printed, steps", [(n, m, v, s) for n, row, s in ALPHAS for m, v in row.items()])
def test_alpha(name, metric, printed, steps):
    off = {.691358024691358: 1e-13, .810844893: 6e-10}.get(printed, 6e-7)
    assert value(agree.alpha(answers(name), metric=metric, steps=steps)) == pytest.approx([printed], abs=off, rel=0)
    if metric not in ("nominal", "bipolar"):
        assert value(agree.alpha(answers(name, "interval"), metric=metric, steps=steps)) == pytest.approx([printed], abs=off, rel=0)


def test_alpha_takes_the_metric_of_the_scale():
    for scale in ("nominal", "ordinal", "interval"):
        found, same = agree.alpha(answers("ds79_first", scale)), agree.alpha(answers("ds79_first", scale), metric=scale)
        assert found.value.tobytes() == same.value.tobytes() and f"metric: {scale}" in found.note[0]


@pytest.mark.parametrize("name, printed", [
    ("ds79_first", {"percent": .724444, "fleiss": .582435, "gwet": .646737, "bennett": .632593}),
    ("fleiss_counts", {"percent": .378022, "fleiss": .209931, "gwet": .225614, "bennett": .222527})])
def test_many_workers(name, printed):
    for method, number in printed.items():
        assert value(getattr(agree, method)(answers(name))) == pytest.approx([number], abs=6e-7, rel=0), method


@pytest.mark.parametrize("weights, printed", [
    ("none", {"cohen": .615056, "scott": .614313, "gwet": .630124, "bennett": .625, "conger": .615056}),
    ("linear", {"cohen": .680426, "scott": .679466, "gwet": .710043, "bennett": .7, "conger": .680426}),
    ("quadratic", {"cohen": .750923, "scott": .749884, "gwet": .786814, "bennett": .775, "conger": .750923})])
def test_two_workers(weights, printed):
    for method, number in printed.items():
        found = getattr(agree, method)(answers("two_raters"), weights=weights, pairs=True)
        assert value(found) == pytest.approx([number], abs=6e-7, rel=0), method
        assert value(found, "pair") == pytest.approx([number], abs=6e-7, rel=0), method
    assert value(agree.percent(answers("two_raters"), pairs=True), "pair") == pytest.approx([.75])
    assert value(agree.fleiss(answers("two_raters"), pairs=True), "pair") == pytest.approx([.614313], abs=6e-7)


def test_cohen_of_the_first_observer():
    found = agree.cohen(answers("ds79_first"), pairs=True)
    pairs = [v for v, of, name in zip(found.value, found.of, found.name, strict=True) if of == "pair" and name == "0"]
    assert pairs == pytest.approx([.540481, .718530, .759358, .617465], abs=6e-7)
    assert value(found) == pytest.approx([np.mean(value(found, "pair"))])
    for weights, number in (("linear", .670502), ("quadratic", .801387)):
        assert value(agree.cohen(answers("ds79_first"), weights=weights, pairs=True), "pair")[0] == pytest.approx(number, abs=6e-7)


ICC = {("1", "single"): (.165742, -.132932, .722560), ("2", "single"): (.289764, .018787, .761084), ("3", "single"): (.714841, .342465, .945858),
       ("1", "average"): (.442797, None, None), ("2", "average"): (.620051, None, None), ("3", "average"): (.909316, None, None)}


@pytest.mark.parametrize("form, unit", ICC)
def test_icc(form, unit):
    found = agree.icc(answers("shrout_fleiss", "interval"), form=form, unit=unit)
    number, low, high = ICC[form, unit]
    assert value(found) == pytest.approx([number], abs=6e-7)
    if low is not None:
        assert [found.low[0], found.high[0]] == pytest.approx([low, high], abs=6e-7)
    else:                                                                   # the average has the single one's ends, moved as its value is
        single = agree.icc(answers("shrout_fleiss", "interval"), form=form)
        ends = [4 * r / (1 + 3 * r) for r in (single.low[0], single.value[0], single.high[0])]
        assert [found.low[0], found.value[0], found.high[0]] == pytest.approx(ends)


def test_icc_of_uneven_tables():
    uneven = answers("shrout_fleiss_unbalanced", "interval")
    assert value(agree.icc(uneven)) == pytest.approx([.004791], abs=6e-7)
    assert value(agree.icc(uneven, unit="average")) == pytest.approx([.017290], abs=6e-7)
    task, worker, number = answers("shrout_fleiss", "interval").rows()
    kept = ~np.isin(task, (1, 4))
    whole = Answers.from_codes(np.unique(task[kept], return_inverse=True)[1], worker[kept], number[kept], tasks=Names.numbered(4),
                               workers=Names.numbered(4), classes=Names([]), scale="interval")
    for form in "23":
        found = agree.icc(uneven, form=form)
        assert value(found) == pytest.approx(value(agree.icc(whole, form=form))) and "4 of 6 tasks" in found.note[0]


# ------------------------------------------------------------------------------------------------------- other packages

@pytest.mark.extras
@pytest.mark.parametrize("seed", range(3))
def test_fleiss_of_statsmodels(seed):
    from statsmodels.stats.inter_rater import fleiss_kappa

    rng = np.random.default_rng(seed)
    votes = rng.multinomial(7, rng.dirichlet(np.ones(4)), size=50)
    task, label = np.nonzero(votes)
    given = Answers.from_codes(task, None, label, tasks=Names.numbered(50), workers=None, classes=Names.numbered(4), count=votes[task, label])
    assert value(agree.fleiss(given)) == pytest.approx([fleiss_kappa(votes)])
    assert value(agree.bennett(given)) == pytest.approx([fleiss_kappa(votes, method="unif")])
    for k, each in enumerate(value(agree.fleiss(given), "class")):
        assert each == pytest.approx(fleiss_kappa(np.column_stack([votes[:, k], 7 - votes[:, k]])))


@pytest.mark.extras
@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_cohen_of_statsmodels_and_scikit_learn(weights):
    """The values, and for pairs the standard error of Fleiss, Cohen and Everitt."""
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.inter_rater import cohens_kappa

    base = crowd(3, tasks=80, workers=4, classes=4, share=.8)
    found = agree.cohen(base.answers(), weights=weights, pairs=True)
    at = [dict(zip(base.task[base.worker == w].tolist(), base.label[base.worker == w].tolist(), strict=True)) for w in range(4)]
    rows = [k for k, of in enumerate(found.of) if of == "pair"]
    assert len(rows) == 6
    for k, (a, b) in zip(rows, combinations(range(4), 2), strict=True):
        both = sorted(at[a].keys() & at[b].keys())
        one, two = [at[a][t] for t in both], [at[b][t] for t in both]
        table = np.zeros((4, 4))
        np.add.at(table, (one, two), 1)
        weight = np.abs(np.subtract.outer(range(4), range(4))) ** (2 if weights == "quadratic" else 1) / (9 if weights == "quadratic" else 3)
        known = cohens_kappa(table, None if weights == "none" else weight)                 # statsmodels weighs disagreement
        assert found.value[k] == pytest.approx(known.kappa) and found.n[k] == len(both)
        assert found.value[k] == pytest.approx(cohen_kappa_score(one, two, labels=range(4), weights=None if weights == "none" else weights))
        assert found.low[k] == pytest.approx(max(known.kappa - 1.959963984540054 * known.std_kappa, -1))


# ---------------------------------------------------------------------------------------------------------------- loops

@pytest.mark.parametrize("seed", range(4))
def test_loops(seed):
    """References with loops: repeats, tasks with one answer, classes with few."""
    base = crowd(seed, tasks=25, workers=5, share=.35, classes=4, repeats=True)
    rows, sizes = base.rows(), base.sizes
    plain = references.fleiss(rows, *sizes)
    given = base.answers()
    assert value(agree.percent(given)) == pytest.approx([plain["p"]])
    for method, name in (("fleiss", "kappa"), ("gwet", "ac1"), ("bennett", "s")):
        assert value(getattr(agree, method)(given)) == pytest.approx([plain[name]])
    for metric in ("nominal", "ordinal", "interval", "ratio", "circular", "bipolar"):
        known = references.krippendorff(rows, *sizes, metric=metric, steps=5, low=0, high=3)["alpha"]
        assert value(agree.alpha(given, metric=metric, steps=5)) == pytest.approx([known], abs=1e-12), metric
        if metric not in ("nominal", "bipolar"):
            numbers = Answers.from_codes(base.task, base.worker, base.label.astype(float), tasks=given.tasks, workers=given.workers,
                                         classes=Names([]), scale="interval")
            assert value(agree.alpha(numbers, metric=metric, steps=5)) == pytest.approx([known], abs=1e-12), metric


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_pairs_by_loops(seed, weights):
    base = crowd(seed, tasks=40, workers=4, share=.8, classes=4)
    for method in ("cohen", "scott", "gwet", "bennett"):
        found = getattr(agree, method)(base.answers(), weights=weights, pairs=True)
        known = [references.two_raters(base.rows(), *base.sizes, pair=pair, weights=weights)[method] for pair in combinations(range(4), 2)]
        assert value(found, "pair") == pytest.approx(known), method


def two_classes(base, k):
    """The same crowd asked only: k or not."""
    return [(t, w, int(label == k)) for t, w, label in base.rows()]


@pytest.mark.parametrize("method, key", [("fleiss", "kappa"), ("gwet", "ac1"), ("bennett", "s")])
def test_a_class_is_the_class_against_the_rest(method, key):
    base = crowd(5, tasks=30, workers=5, share=.5, repeats=True)
    tasks, workers, _ = base.sizes
    known = [references.fleiss(two_classes(base, k), tasks, workers, 2)[key] for k in range(3)]
    assert value(getattr(agree, method)(base.answers()), "class") == pytest.approx(known)
    known = [references.krippendorff(two_classes(base, k), tasks, workers)["alpha"] for k in range(3)]
    assert value(agree.alpha(base.answers()), "class") == pytest.approx(known)


@pytest.mark.parametrize("method", ["cohen", "scott"])
def test_a_class_of_pairs(method):
    base = crowd(5, tasks=60, workers=4, share=.8)
    tasks, workers, _ = base.sizes
    known = [np.mean([references.two_raters(two_classes(base, k), tasks, workers, 2, pair=pair)[method] for pair in combinations(range(4), 2)])
             for k in range(3)]
    assert value(getattr(agree, method)(base.answers()), "class") == pytest.approx(known)


def test_percent_of_a_class():
    """Where one says k, how many of the others do; each task counts once. The classes average to the whole."""
    base = crowd(6, tasks=30, workers=5, share=.6)
    votes = base.answers().counts()
    several = votes[votes.sum(axis=1) > 1]
    m = several.sum(axis=1)
    for k, found in enumerate(value(agree.percent(base.answers()), "class")):
        weight = several[:, k] / m
        assert found == pytest.approx((weight * (several[:, k] - 1) / (m - 1)).sum() / weight.sum())
    share = (several / m[:, None]).sum(axis=0) / len(several)
    assert value(agree.percent(base.answers())) == pytest.approx([share @ value(agree.percent(base.answers()), "class")])


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_conger_by_loops(weights):
    base = crowd(7, tasks=30, workers=5, share=.6, classes=4, repeats=True)
    power = {"none": 0, "linear": 1, "quadratic": 2}[weights]
    d = (np.abs(np.subtract.outer(range(4), range(4))) / 3.0) ** power * (1 - np.eye(4))
    habits = np.zeros((5, 4))
    np.add.at(habits, (base.worker, base.label), 1)
    p = habits / habits.sum(axis=1, keepdims=True)
    chance = np.mean([p[a] @ d @ p[b] for a, b in combinations(range(5), 2)])
    observed = []
    for t in range(30):
        said = base.label[base.task == t]
        if len(said) > 1:
            observed.append(np.mean([d[a, b] for a, b in combinations(said, 2)]))
    found = agree.conger(base.answers(), weights=weights)
    assert value(found) == pytest.approx([1 - np.mean(observed) / chance])
    if weights == "none":                                                   # the formula with the sample variance of the shares
        mean, variance = p.mean(axis=0), p.var(axis=0, ddof=1)
        assert chance == pytest.approx(1 - (mean**2 - variance / 5).sum())
        for k, each in enumerate(value(found, "class")):
            two = Answers.from_codes(base.task, base.worker, (base.label == k).astype(int), tasks=Names.numbered(30), workers=Names.numbered(5),
                                     classes=Names.numbered(2))
            assert each == pytest.approx(value(agree.conger(two))[0])


@pytest.mark.parametrize("form", ["1", "2", "3"])
def test_icc_of_a_pair_is_that_of_their_common_tasks(form):
    base = crowd(8, tasks=50, workers=3, share=.7)
    found = agree.icc(base.answers("interval"), form=form, pairs=True)
    rows = [k for k, of in enumerate(found.of) if of == "pair"]
    for k, pair in zip(rows, combinations(range(3), 2), strict=True):
        both = set(base.task[base.worker == pair[0]]) & set(base.task[base.worker == pair[1]])
        only = base.only(np.isin(base.task, list(both)) & np.isin(base.worker, pair))
        alone = agree.icc(only.answers("interval"), form=form)
        assert [found.value[k], found.low[k], found.high[k]] == pytest.approx([alone.value[0], alone.low[0], alone.high[0]])


@pytest.mark.parametrize("metric, scale", [
    *((metric, "nominal") for metric in ("nominal", "ordinal", "interval", "ratio", "circular")),
    *((metric, "interval") for metric in ("ordinal", "interval", "circular"))])
def test_alpha_of_a_pair_is_that_of_their_common_tasks(metric, scale):
    base = crowd(9, tasks=50, workers=3, share=.7)
    found = agree.alpha(base.answers(scale), metric=metric, steps=5.0, pairs=True)
    rows = [k for k, of in enumerate(found.of) if of == "pair"]
    for k, pair in zip(rows, combinations(range(3), 2), strict=True):
        both = set(base.task[base.worker == pair[0]]) & set(base.task[base.worker == pair[1]])
        only = base.only(np.isin(base.task, list(both)) & np.isin(base.worker, pair))
        alone = agree.alpha(only.answers(scale), metric=metric, steps=5.0, bootstrap=4000)
        assert found.value[k] == pytest.approx(alone.value[0])
        assert [found.low[k], found.high[k]] == pytest.approx([alone.low[0], alone.high[0]], abs=.08)


def test_numbers_far_from_zero_lose_nothing():
    base = crowd(10)
    given = [Answers.from_codes(base.task, base.worker, base.value * scale + shift, tasks=Names.numbered(40), workers=Names.numbered(8),
                                classes=Names([]), scale="interval") for scale, shift in ((1, 0), (1, 1e9), (1e-9, 0), (1e9, -1e12))]
    for method in (agree.alpha, agree.icc):
        found = [method(one, pairs=True).value for one in given]
        for other in found[1:]:
            np.testing.assert_allclose(other, found[0], atol=1e-5)


@pytest.mark.parametrize("low, high", [(1e-6, 1e6), (0, 5)])
def test_ratio_of_any_numbers(low, high):
    """The integral behind it against the pairs themselves."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(12), 3)
    number = np.exp(rng.uniform(np.log(max(low, .1)), np.log(high), 36)) * np.where(rng.random(36) < .15, low == 0, 1) if low == 0 else \
        np.exp(rng.uniform(np.log(low), np.log(high), 36))
    number = np.where(rng.random(36) < .2, 0, number) if low == 0 else number
    given = Answers.from_codes(task, np.tile(np.arange(3), 12), number, tasks=Names.numbered(12), workers=Names.numbered(3), classes=Names([]),
                               scale="interval")
    if low == 0:
        number = number[np.lexsort((np.tile(np.arange(3), 12), task))]
        delta = np.array([[0 if a == b else ((a - b) / (a + b)) ** 2 for a in number] for b in number])
    else:
        delta = ((number[:, None] - number) / (number[:, None] + number)) ** 2
    observed = sum(delta[np.ix_(task == t, task == t)].sum() / 2 for t in range(12)) / 36
    assert value(agree.alpha(given, metric="ratio")) == pytest.approx([1 - observed / (delta.sum() / 36 / 35)], abs=1e-10)


def test_ratio_refuses_what_is_below_zero():
    base = crowd(0)
    given = Answers.from_codes(base.task, base.worker, base.value - 3, tasks=Names.numbered(40), workers=Names.numbered(8), classes=Names([]),
                               scale="interval")
    assert agree.alpha(given, metric="ratio").note == ["not defined because ratio needs numbers from 0, and there are negative ones"]


def test_classes_that_are_no_numbers_count_from_zero():
    base = crowd(1)
    named = base.answers("ordinal", classes=Names(["bad", "fair", "good"]))
    for method, more in ((agree.alpha, {"metric": "interval"}), (agree.icc, {})):
        found = method(named, **more)
        assert found.value[0] == pytest.approx(method(base.answers("ordinal"), **more).value[0]) and "counted 0, 1, 2" in found.note[0]


def test_a_pair_of_ten_common_tasks():
    """Which pairs have a row."""
    base = crowd(2, tasks=40, workers=6, share=.5)
    for least in (1, 10, 15, 100):
        found = agree.cohen(base.answers(), pairs=True, min_common=least)
        known = {(str(a), str(b)): len(set(base.task[base.worker == a]) & set(base.task[base.worker == b])) for a, b in combinations(range(6), 2)}
        rows = {(a, b): n for of, a, b, n in zip(found.of, found.name, found.other, found.n.tolist(), strict=True) if of == "pair" and a}
        assert rows == {pair: n for pair, n in known.items() if n >= least}
    assert found.note[0] == found.note[1] == "not defined because no two workers have 100 tasks in common (--min-common)"
