"""The values: worked examples, slow versions with loops, and whether the intervals hold what they claim to."""

import sys
from dataclasses import replace
from math import comb, log

import numpy as np
import polars as pl
import pytest
from crowds import crowd
from references import spam_score as slow_spam_score

import manyvoices as mv
from manyvoices.core import registry
from manyvoices.core.answers import Answers
from manyvoices.core.names import Names
from manyvoices.identification import identified
from manyvoices.kernels import leave_out
from manyvoices.methods.aggregate import bcc, ds, glad, mace, onecoin, wawa
from manyvoices.methods.identify import _tables

from .cases import dataset, fit, of_rows

TOY = Answers.from_rows([("0", "0", "1"), ("0", "1", "0"), ("0", "2", "1"), ("0", "3", "1"), ("1", "0", "1"), ("1", "2", "0"),
                         ("1", "3", "0"), ("2", "1", "1"), ("2", "3", "1")])


def planted(seed=0, tasks=300, workers=30, classes=3, per=5, skill=(.4, .95)):
    """Everybody right with a probability of their own, errors even: answers, skills, truth."""
    rng = np.random.default_rng(seed)
    truth, right = rng.integers(classes, size=tasks), rng.uniform(*skill, workers)
    worker = np.argsort(rng.random((tasks, workers)), axis=1)[:, :per].ravel()
    task = np.arange(tasks).repeat(per)
    wrong = (truth[task] + rng.integers(1, classes, size=len(task))) % classes
    label = np.where(rng.random(len(task)) < right[worker], truth[task], wrong)
    return coded(task, worker, label, tasks, workers, classes), right, truth


def coded(task, worker, label, tasks, workers, classes):
    interval = classes == 0
    return Answers.from_codes(task, worker, label, tasks=Names.numbered(tasks), workers=Names.numbered(workers),
                              classes=Names.numbered(classes), scale="interval" if interval else "nominal")


def file_of(name):
    registry.find("identify", name)
    return sys.modules[f"manyvoices.methods.identify.{name}"]


def holds(found, truth) -> float:
    held, truth = np.isfinite(found.low), np.asarray(truth)
    return float(((found.low <= truth + 1e-9) & (truth <= found.high + 1e-9))[held].mean())


# ------------------------------------------------------------------------------------------------- tables

EXACT = "ds[smoothing=0,iterations=50]"


@pytest.mark.parametrize("empty_row", ["uniform", "zero"])
def test_the_toy_of_the_published_scores(empty_row):
    found = identified(TOY, "spam_score", empty_row=empty_row, consensus=EXACT)
    np.testing.assert_allclose(found.value, [0, .25, 1, 1], atol=1e-6)
    found = identified(TOY, "trace", empty_row=empty_row, consensus=EXACT)
    np.testing.assert_allclose(found.value, [1, 1.5 if empty_row == "uniform" else .5, 2, 2], atol=1e-4)
    assert ["1 of 2 classes not met" in note for note in found.note] == [False, True, False, False]


def test_tables_are_those_of_the_fit():
    base = crowd(2, tasks=60, repeats=True)
    for name in ("ds", "bcc"):
        tables = mv.aggregate(base.answers(), name).confusions
        found = identified(base.answers(), "trace,spam_score", consensus=None if name == "ds" else name)
        np.testing.assert_allclose(found.value[:8], np.einsum("wkk->w", tables))
        np.testing.assert_allclose(found.value[8:], slow_spam_score(tables, 0, 0, 3)["score"])


@pytest.mark.parametrize("consensus", ["mv", "wawa", "glad", "pooled"])
def test_tables_are_else_the_m_step(consensus):
    base = crowd(2, tasks=60, repeats=True)
    answers = base.answers()
    probs = mv.aggregate(answers, consensus).probs
    tables = np.zeros((8, 3, 3))
    for t, w, k in base.rows():
        tables[w, :, k] += probs[t]
    tables /= tables.sum(axis=2, keepdims=True)
    found = identified(answers, "trace,spam_score", consensus=consensus)
    np.testing.assert_allclose(found.value[:8], [np.trace(x) for x in tables])
    np.testing.assert_allclose(found.value[8:], slow_spam_score(tables, 0, 0, 3)["score"])


@pytest.mark.parametrize("classes, n, informed", [(2, 20, 0.0), (2, 60, .8), (3, 30, .3), (3, 60, 1.0), (5, 100, .3), (5, 100, .8)])
def test_intervals_of_the_tables_hold(classes, n, informed):
    """Answers to tasks of known truth; only the tables have to be learned."""
    rng = np.random.default_rng(classes * n)
    W = 300
    tables = informed * np.eye(classes) + (1 - informed) * rng.dirichlet(np.ones(classes), W)[:, None]
    truth = rng.integers(classes, size=n)
    label = (rng.random((W, n))[..., None] > tables[np.arange(W)[:, None], truth[None]].cumsum(axis=2)).sum(axis=2).clip(0, classes - 1)
    answers = coded(np.tile(np.arange(n), W), np.arange(W).repeat(n), label.ravel(), n, W, classes)
    found = identified(answers, "trace,spam_score", consensus=truth)
    assert holds(found.where(np.arange(2 * W) < W), np.einsum("wkk->w", tables)) > .88
    assert holds(found.where(np.arange(2 * W) >= W), slow_spam_score(tables, 0, 0, tables.shape[1])["score"]) > .85


def slow_worth(rows, probs_of, tables, prior, mass):
    """One answer at a time: the information about P(says k | k) that is left when P(says k | not k) is not known either."""
    W, K, _ = tables.shape
    found = np.zeros((W, K))
    for w, k in np.ndindex(W, K):
        right = min(max(tables[w, k, k], .02), .98)
        wrong = sum(prior[j] * tables[w, j, k] for j in range(K) if j != k) / (1 - prior[k])
        wrong = min(max(wrong, .02), .98)
        total = np.zeros((2, 2))
        for t, who, _ in rows:
            if who == w:
                q = np.array([probs_of(t, w)[k], 1 - probs_of(t, w)[k]])
                p = q @ [right, wrong]
                total += np.outer(q, q) / (p * (1 - p))
        found[w, k] = min(max(right * (1 - right) / np.linalg.pinv(total)[0, 0], 0), mass[w, k]) if total[1, 1] > 0 else mass[w, k]
    return found


@pytest.mark.parametrize("consensus", ["ds", "ns"])
def test_what_an_answer_to_a_task_of_uncertain_truth_is_worth(consensus):
    base = crowd(2, tasks=60)
    answers = base.answers()
    fit = mv.aggregate(answers, consensus)
    counts = _tables.expected(answers, fit)
    tables, _ = _tables.shares(counts, fit, "uniform")
    rows, prior = list(base.rows()), np.full(3, 1 / 3) if fit.prior is None else fit.prior

    def others(t, w):  # what the others say of the task; for votes, what is believed of it
        if consensus == "ns":
            return fit.probs[t]
        weight = np.array(prior)
        for task, who, said in rows:
            if task == t and who != w:
                weight = weight * tables[who, :, said]
        return weight / weight.sum()

    mass = counts.sum(axis=2)
    found = _tables.worth(answers, fit, tables, mass)
    np.testing.assert_allclose(found, slow_worth(rows, others, tables, prior, mass), rtol=1e-6)
    assert (found < mass - .1).any()
    known = replace(fit, probs=np.eye(3)[fit.codes], channel=None)
    np.testing.assert_allclose(_tables.worth(answers, known, tables, mass := _tables.expected(answers, known).sum(axis=2)), mass)


def test_intervals_of_the_tables_allow_for_a_truth_that_is_not_known():
    """Five answers a task and twenty a worker: what the fit believes is not to be taken for the truth."""
    rng = np.random.default_rng(3)
    held = {"trace": [], "spam_score": []}
    for _ in range(6):
        W, T = 50, 200
        right, truth = rng.uniform(.55, .95, (W, 1, 1)), rng.integers(2, size=T)
        tables = right * np.eye(2) + (1 - right) * (1 - np.eye(2))
        worker = np.concatenate([rng.permutation(W)[:5] for _ in range(T)])
        task = np.repeat(np.arange(T), 5)
        label = np.where(rng.random(len(task)) < right[worker, 0, 0], truth[task], 1 - truth[task])
        found = identified(coded(task, worker, label, T, W, 2), "trace,spam_score")
        held["trace"].append(holds(found.where(np.arange(2 * W) < W), np.einsum("wkk->w", tables)))
        held["spam_score"].append(holds(found.where(np.arange(2 * W) >= W), slow_spam_score(tables, 0, 0, 2)["score"]))
    assert np.mean(held["trace"]) > .84 and np.mean(held["spam_score"]) > .86


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_moments_of_the_spam_score(classes):
    """Of Dirichlet rows, against draws of them."""
    rng = np.random.default_rng(classes)
    counts = rng.multinomial(60, np.full(classes, 1 / classes), size=(1, classes)).astype(float)      # nothing but chance
    mean, excess, variance = file_of("spam_score").chance(counts)
    rows = np.stack([rng.dirichlet(counts[0, k] + 1 / classes, 200_000) for k in range(classes)], axis=1)
    drawn = file_of("spam_score").apart(rows)
    centre = (counts + 1 / classes) / (counts + 1 / classes).sum(axis=2, keepdims=True)
    assert mean[0] == pytest.approx(drawn.mean(), rel=.01)
    assert mean[0] - excess[0] == pytest.approx(slow_spam_score(centre, 0, 0, classes)["score"][0])
    assert variance[0] == pytest.approx(drawn.var(), rel=.1)                   # exact for normal rows


def test_chance_is_taken_off_the_spam_score():
    truth = np.arange(40) % 2
    answers = coded(np.arange(40), np.zeros(40, int), (truth + (np.arange(40) % 5 == 0)) % 2, 40, 1, 2)
    found = identified(answers, "spam_score", consensus=truth)
    counts = np.zeros((1, 2, 2))
    np.add.at(counts, (0, truth, answers.rows()[2]), 1)
    _, excess, variance = file_of("spam_score").chance(counts)
    assert found.value[0] == pytest.approx(.6**2) and found.low[0] == pytest.approx(.36 - excess[0] - 1.959964 * variance[0] ** .5)


def test_spam_score_of_many_classes_and_few_answers_has_no_interval():
    made, data = of_rows([(t, w, t % 3) for t in range(6) for w in range(3)], "nominal", tasks=6, workers=3, classes=3)
    found = fit("spam_score", data, made)
    assert np.isnan(found.low).all() and "fewer than 3 answers to a class" in found.note[0]


# ------------------------------------------------------------------------------------------------- accuracy

def slow_beliefs(rows, consensus, t, w, K):
    """P(truth of t | answers of all but w), class by class through `says`."""
    logits = np.log(np.maximum(consensus.prior if consensus.prior is not None else np.full(K, 1 / K), 1e-6))
    for task, worker, label in rows:
        if task == t and worker != w:
            for k in range(K):
                says = consensus.channel.says(np.eye(K)[[k]], np.array([t]), np.array([worker]))[0, label]
                logits[k] += np.log(max(says, 1e-6))
    found = np.exp(logits - logits.max())
    return found / found.sum()


@pytest.mark.parametrize("method", [bcc, ds, onecoin, wawa, glad, mace])
def test_a_workers_own_answers_do_not_vote(method):
    base = crowd(4, tasks=25, repeats=True)
    answers, K = base.answers(), 3
    consensus = method(answers)
    found = mv.methods.identify.accuracy(answers, consensus=consensus)
    for w in range(8):
        agreed = sure = n = 0.0
        for t, worker, label in base.rows():
            if worker != w or all(b == w for a, b, _ in base.rows() if a == t):
                continue
            p = slow_beliefs(base.rows(), consensus, t, w, K)
            c = (p**2).sum()
            agreed, sure, n = agreed + p[label] - (1 - c) / (K - 1), sure + c - (1 - c) / (K - 1), n + 1
        assert found.n[w] == n
        assert found.value[w] == pytest.approx(np.clip(agreed / sure, 0, 1), abs=1e-6)


def test_against_the_majority_of_the_others():
    base = crowd(6, tasks=30)
    found = identified(base.answers(), "accuracy", consensus="mv")
    for w in range(8):
        agreed = sure = 0.0
        for t, worker, label in base.rows():
            others = np.bincount([k for a, b, k in base.rows() if a == t and b != w], minlength=3)
            if worker == w and others.any():
                p = (others == others.max()) / (others == others.max()).sum()
                c = (p**2).sum()
                agreed, sure = agreed + p[label] - (1 - c) / 2, sure + c - (1 - c) / 2
        assert found.value[w] == pytest.approx(np.clip(agreed / sure, 0, 1), abs=1e-9)
    assert "majority of the others" in found.note[0]


def test_against_the_truth_gold_and_a_table():
    base = crowd(3, tasks=50)
    data = dataset(base, truth=True)
    right = base.label == base.truth[base.task]
    n = np.bincount(base.worker)
    found = identified(data, "accuracy")
    np.testing.assert_allclose(found.value, np.bincount(base.worker, right) / n)
    assert found.n.tolist() == n.tolist() and set(found.note) == {"against the truth"}
    known = base.gold[base.task] >= 0
    gold = {str(t): str(base.gold[t]) for t in range(50) if base.gold[t] >= 0}
    some = identified(data, "accuracy", gold=gold)
    np.testing.assert_allclose(some.value, np.bincount(base.worker, right & known) / np.bincount(base.worker, known))
    assert set(some.note) == {"against gold"} and some.n.tolist() == np.bincount(base.worker, known).astype(int).tolist()
    table = identified(data, "accuracy", consensus={str(t): str(k) for t, k in enumerate(base.truth)})
    np.testing.assert_allclose(table.value, found.value)
    assert set(table.note) == {"against the labels given"}
    assert set(identified(data, "accuracy", consensus="bcc").note) == {"against the consensus of the others, allowing for its doubt"}
    assert set(identified(data, "accuracy", consensus="bcc", against="truth").note) == {"against the truth"}


@pytest.mark.parametrize("classes, per, consensus, least", [(2, 5, "bcc", .87), (3, 3, "bcc", .88), (3, 10, "bcc", .9), (3, 3, "wawa", .9), (6, 5, "ds", .86)])
def test_the_accuracy_holds_the_skill(classes, per, consensus, least):
    held, off = [], []
    for seed in range(8):
        answers, right, _ = planted(seed, classes=classes, per=per)
        found = identified(answers, "accuracy", consensus=consensus)
        held.append(holds(found, right))
        off.append(np.nanmean(found.value - right))
    assert np.mean(held) > least and abs(np.mean(off)) < .04


def test_nobody_votes_for_themselves_alone():
    """A worker who answers where nobody else does has agreed with nobody, and is not called perfect."""
    made, data = of_rows([(0, 0, 1), (1, 0, 0), (2, 1, 1), (2, 2, 1)], "nominal")
    found = fit("accuracy", data, made)
    assert np.isnan(found.value[0]) and "nobody else" in found.note[0] and np.isfinite(found.value[1:]).all()


def test_beliefs_in_pieces(monkeypatch):
    base = crowd(4, tasks=40, repeats=True)
    one = identified(base.answers(), "accuracy")
    monkeypatch.setattr(leave_out, "CELLS", 20)
    np.testing.assert_allclose(identified(base.answers(), "accuracy").value, one.value, atol=1e-12)


def test_truth_outside_the_classes_is_nobodys_answer():
    base = crowd(3, tasks=50)
    data = dataset(base, truth=True)
    items = data.items
    odd = replace(data, items=type(items)(items.ids, Names.ordered(["7", "8", "9"]), items.truth, None, None, None))
    found = identified(odd, "accuracy")
    assert (found.value == 0).all() and (found.high > 0).all()


# ------------------------------------------------------------------------------------------------- tasks

def test_entropy_by_hand():
    made, data = of_rows([(0, 0, 0), (0, 1, 1), (0, 2, 1), (1, 0, 1), (1, 1, 1), (2, 0, 0)], "nominal")
    found = fit("entropy", data, made)
    np.testing.assert_allclose(found.value, [-(log(1 / 3) / 3 + 2 * log(2 / 3) / 3), 0, 0], atol=1e-12)
    assert found.note[2] == "one answer" and found.high[2] > .6
    np.testing.assert_allclose(identified(TOY, "entropy").value, [.5623351, .6365142, 0], atol=1e-6)


@pytest.mark.parametrize("counts", [(3, 0, 1), (0, 0, 7), (2, 2, 2), (40, 10, 1)])
@pytest.mark.parametrize("prior", [1 / 3, 1.0])
def test_moments_of_the_entropy(counts, prior):
    mean, variance = file_of("entropy").moments(np.array([counts]), prior)
    p = np.random.default_rng(0).dirichlet(np.array(counts) + prior, 200_000)
    drawn = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
    assert mean[0] == pytest.approx(drawn.mean(), abs=.004) and variance[0] == pytest.approx(drawn.var(), rel=.03)


@pytest.mark.parametrize("classes, n, spread", [(2, 3, 1.0), (3, 5, .2), (3, 10, 1.0), (10, 5, 1.0), (10, 50, .2)])
def test_the_entropy_interval_holds(classes, n, spread):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(classes, spread), 1500)
    label = (rng.random((1500, n))[..., None] > p.cumsum(axis=1)[:, None]).sum(axis=2).clip(0, classes - 1)
    found = identified(coded(np.arange(1500).repeat(n), np.tile(np.arange(n), 1500), label.ravel(), 1500, n, classes), "entropy")
    assert holds(found, -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)) > .93


@pytest.mark.parametrize("classes", [2, 4, 10])
@pytest.mark.parametrize("n", [1, 3, 5, 10, 100])
def test_the_entropy_interval_holds_where_all_classes_are_alike(classes, n):
    label = np.random.default_rng(2).integers(classes, size=1500 * n)
    found = identified(coded(np.arange(1500).repeat(n), np.tile(np.arange(n), 1500), label, 1500, n, classes), "entropy")
    assert holds(found, np.full(1500, log(classes) - 1e-12)) > .93


def test_two_thirds_by_hand():
    rows = [(0, w, 0) for w in range(3)] + [(1, 0, 0), (1, 1, 0), (1, 2, 1), (2, 0, 0), (2, 1, 1)]
    made, data = of_rows([*rows, (3, 0, 1)], "nominal", tasks=4)
    found = fit("twothird", data, made)
    np.testing.assert_allclose(found.value, [1, 2 / 3, .5, 1])
    assert found.note == ["agreed", "agreed", "less than two thirds agree", "one answer only, two are needed"]
    labels = mv.aggregate(data.answers, "twothird").codes
    assert [note == "agreed" for note in found.note] == (labels >= 0).tolist()


def test_margin_is_the_lead_of_the_best_class():
    base = crowd(1, tasks=60)
    probs = np.sort(mv.aggregate(base.answers(), "bcc").probs, axis=1)
    np.testing.assert_allclose(identified(base.answers(), "margin").value, probs[:, -1] - probs[:, -2], atol=1e-12)


@pytest.mark.parametrize("per, classes", [(5, 3), (10, 2)])
def test_the_margin_interval_holds_the_margin_under_the_true_tables(per, classes):
    held = []
    for seed in range(6):
        answers, right, _ = planted(seed, classes=classes, per=per)
        task, worker, label = answers.rows()
        logits = np.zeros((300, classes))
        for k in range(classes):
            np.add.at(logits[:, k], task, np.where(label == k, np.log(right[worker]), np.log((1 - right[worker]) / (classes - 1))))
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        two = np.argsort(-mv.aggregate(answers, "bcc").probs, axis=1, kind="stable")[:, :2]
        best, second = np.take_along_axis(p, two, axis=1).T
        held.append(holds(identified(answers, "margin"), np.maximum(best - second, 0)))
    assert np.mean(held) > .88


def test_difficulty_is_that_of_glad():
    base = crowd(1, tasks=60)
    fitted = glad(base.answers())
    found = identified(base.answers(), "difficulty", consensus="bcc")
    np.testing.assert_allclose(found.value, fitted.difficulty.value)
    other = identified(base.answers(), "difficulty", consensus="glad[iterations=2]")
    assert not np.allclose(other.value, found.value) and other.note[0] == "the fit has not converged"


# ------------------------------------------------------------------------------------------------- what to buy

@pytest.mark.parametrize("method", ["bcc", "onecoin", "mace", "glad"])
@pytest.mark.parametrize("measure", ["change", "gain"])
def test_another_vote_is_the_mean_over_the_answers_that_may_come(method, measure):
    base = crowd(5, tasks=20)
    consensus = mv.aggregate(base.answers(), method)
    found = identified(base.answers(), "another_vote", consensus=consensus, measure=measure)
    for t in range(20):
        p = consensus.probs[t]
        table = np.array([consensus.channel.says(np.eye(3)[[k]], np.array([t]), np.array([-1]))[0] for k in range(3)])
        said = p @ table
        np.testing.assert_allclose(said, consensus.says(np.array([t]), np.array([-1]))[0], atol=1e-9)
        then = p[:, None] * table / said
        moved = np.abs(then - p[:, None]).sum(axis=0) / 2 if measure == "change" else then.max(axis=0) - p.max()
        assert found.value[t] == pytest.approx(max(said @ moved, 0), abs=1e-9)
        inside = said[(moved >= found.low[t] - 1e-12) & (moved <= found.high[t] + 1e-12)].sum()
        assert inside >= .95 - 1e-9 and found.value[t] >= 0


def test_another_vote_on_vote_shares_and_numbers():
    made, data = of_rows([(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 0)], "nominal")
    found = fit("another_vote", data, made, consensus="mv")
    # two of class 0: another says 0 with probability 5/6 and changes nothing; 1 with 1/6 and changes 1/3
    np.testing.assert_allclose(found.value, [1 / 6 / 3, 1 / 2 / 3, 1 / 2], atol=1e-12)
    rng = np.random.default_rng(0)
    value = rng.normal(size=200)
    answers = coded(np.arange(100).repeat(2), np.tile([0, 1], 100), value, 100, 2, 0)
    found = identified(answers, "another_vote", consensus="mean")
    noise = np.sqrt(((value.reshape(-1, 2) - value.reshape(-1, 2).mean(axis=1, keepdims=True)) ** 2).sum() / 100)
    assert found.value[0] == pytest.approx(np.sqrt(2 / np.pi) * noise * np.sqrt(1 / 2 - 1 / 3), rel=1e-3)


@pytest.mark.parametrize("measure, gain", [("change", .03), ("gain", .015)])
def test_buying_by_it_beats_buying_at_random(measure, gain):
    """Two answers a task, then as many again as there are tasks, in five rounds: by the score or at random."""
    def bought(seed, by_score):
        answers, right, truth = planted(seed, per=2, skill=(.5, .95))
        task, worker, label = (x.astype(int) for x in answers.rows())
        rng = np.random.default_rng(seed + 1000)
        for _ in range(5):
            now = coded(task, worker, label, 300, 30, 3)
            score = identified(now, "another_vote", measure=measure).value if by_score else rng.random(300)
            pick = np.argsort(-score, kind="stable")[:60]
            who = rng.integers(30, size=60)
            said = np.where(rng.random(60) < right[who], truth[pick], (truth[pick] + rng.integers(1, 3, size=60)) % 3)
            task, worker, label = np.append(task, pick), np.append(worker, who), np.append(label, said)
        return (bcc(coded(task, worker, label, 300, 30, 3)).codes == truth).mean()

    assert np.mean([bought(seed, True) - bought(seed, False) for seed in range(6)]) > gain


# ------------------------------------------------------------------------------------------------- bias, times

def test_bias_by_hand():
    rows = [(0, 0, 2), (0, 1, 0), (0, 2, 1), (1, 0, 2), (1, 0, 1), (1, 1, 1), (2, 2, 0)]
    made, data = of_rows(rows, "ordinal", classes=3)
    found = fit("bias", data, made)
    np.testing.assert_allclose(found.value, [(1.5 + 1 + 0) / 3, (-1.5 - .5) / 2, 0], atol=1e-12)
    assert found.n.tolist() == [3, 2, 1]


@pytest.mark.parametrize("per", [2, 4, 10])
def test_the_bias_interval_holds(per):
    held = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        T, W = 100, 20
        shift, noise = rng.normal(0, .5, W), rng.uniform(.3, 1, W)
        shift -= shift.mean()
        worker, task = np.argsort(rng.random((T, W)), axis=1)[:, :per].ravel(), np.arange(T).repeat(per)
        value = rng.normal(0, 2, T)[task] + shift[worker] + noise[worker] * rng.normal(size=len(task))
        held.append(holds(identified(coded(task, worker, value, T, W, 0), "bias"), shift * W / (W - 1)))
    assert np.mean(held) > .9


def timed(seconds, rows=None, when=None):
    """Ten tasks, each answered by all of four workers, in these seconds [10, 4]."""
    _, data = of_rows(rows or [(t, w, t % 2) for t in range(10) for w in range(4)], "nominal", tasks=10, workers=4)
    columns = {"seconds": np.ravel(seconds)} | ({} if when is None else {"when": when})
    return replace(data, notes=pl.DataFrame(columns))


def test_speed_by_hand():
    seconds = np.tile([1.0, 4.0, 4.0, 4.0], (10, 1)) * np.linspace(1, 3, 10)[:, None]
    found = identified(timed(seconds), "speed")
    np.testing.assert_allclose(found.value, [.25, 4 / 16 ** (1 / 3), 4 / 16 ** (1 / 3), 4 / 16 ** (1 / 3)])
    np.testing.assert_allclose(found.low, found.value)
    assert "too fast" in found.note[0] and "median 2 s" in found.note[0] and not any("too fast" in note for note in found.note[1:])


def test_times_that_are_missing_negative_or_zero():
    seconds = np.full((10, 4), 2.0)
    seconds[:, 0], seconds[:3, 1], seconds[:, 2] = np.nan, -1, 0
    found = identified(timed(seconds), "speed")
    assert np.isnan(found.value[0]) and found.note[0] == "not defined because no answer of this worker has a time from 0"
    assert found.n[1] == 7 and "3 times missing or negative, left out" in found.note[1]
    assert found.value[2] == pytest.approx(.5) and found.low[2] <= .5
    alone = np.full((10, 4), np.nan)
    alone[:, 3] = 1
    assert identified(timed(alone), "speed").note[3].startswith("not defined because nobody else's time is known")


def test_the_median_interval_is_exact():
    middles = file_of("speed").middles
    for n in (5, 6, 7, 20, 101):
        value, low, high = middles(np.zeros(n, int), np.random.default_rng(0).permutation(n).astype(float), np.array([n]))
        assert value[0] == (n - 1) / 2
        if n < 6:
            assert np.isnan(low[0])
            continue
        cut = int(low[0])                                       # so many below the lower end, as many above the upper
        assert high[0] == n - 1 - cut
        outside = 2 * sum(comb(n, j) for j in range(cut + 1)) / 2**n
        wider = 2 * sum(comb(n, j) for j in range(cut + 2)) / 2**n
        assert outside <= .05 < wider


def drifting(seed, fall, n=120, W=20):
    """Workers whose accuracy goes from .9 down by `fall`, among steady ones; the truth is known."""
    rng = np.random.default_rng(seed)
    base = crowd(0, tasks=n, workers=W, classes=2)
    task, worker = np.repeat(np.arange(n), W), np.tile(np.arange(W), n)
    when = rng.permuted(np.tile(np.arange(n), (W, 1)), axis=1).T.ravel()
    right = .9 - fall * when / (n - 1)
    truth = rng.integers(2, size=n)
    label = np.where(rng.random(len(task)) < right, truth[task], 1 - truth[task])
    data = dataset(replace(base, task=task, worker=worker, label=label, truth=truth, sizes=(n, W, 2)), truth=True)
    return replace(data, notes=pl.DataFrame({"when": when}))


@pytest.mark.parametrize("fall", [0.0, .4])
def test_drift_holds_the_fall(fall):
    found = [identified(drifting(seed, fall), "drift") for seed in range(6)]
    assert np.mean([holds(f, -fall) for f in found]) > .87
    assert np.mean([f.value for f in found]) == pytest.approx(-fall, abs=.03)
    small = np.mean([float(note.split()[2].rstrip(",")) < .05 for f in found for note in f.note])
    assert small < .1 if fall == 0 else small > .6
    others = [identified(drifting(seed, fall), "drift", consensus="bcc") for seed in range(6)]
    assert np.mean([holds(f, -fall) for f in others]) > .88


def test_places_in_a_workers_own_time():
    when = np.array([5, 1, 1, 9, np.nan, 3, 2, 2, 2.5])
    worker = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])
    place, moments = file_of("drift").places(worker, when, 3)
    np.testing.assert_allclose(place, [2 / 3, 1 / 6, 1 / 6, 1, np.nan, 1, 1 / 6, 1 / 6, 2 / 3])
    assert moments.tolist() == [3, 3, 0]


def test_lines_are_weighted_least_squares():
    rng = np.random.default_rng(0)
    y, weight, u = rng.random(50), rng.uniform(.2, 1, 50), rng.random(50)
    slope, error, df = file_of("drift").lines(np.zeros(50, int), y, weight, u, 1)
    X, v = np.stack([weight, weight * u], axis=1) / np.sqrt(weight)[:, None], y / np.sqrt(weight)
    bread = np.linalg.inv(X.T @ X)
    beta = bread @ X.T @ v
    rest = (v - X @ beta) / (1 - np.einsum("ni,ij,nj->n", X, bread, X))
    assert slope[0] == pytest.approx(beta[1]) and df[0] == 48
    assert error[0] == pytest.approx(np.sqrt((bread @ (X.T * rest**2) @ X @ bread)[1, 1]))


def test_drift_needs_time():
    made, data = of_rows([(t, w, t % 2) for t in range(3) for w in range(3)], "nominal")
    assert "fewer than 10 answers" in fit("drift", data, made).note[0]
    seconds = np.ones((10, 4))
    assert identified(timed(seconds), "drift").note == ["not defined because there is no column 'when' with the answers"]
    same = identified(timed(seconds, when=np.zeros(40)), "drift")
    assert same.note[0] == "not defined because these answers come from fewer than 5 moments"
    none = identified(timed(seconds, when=["soon"] * 40), "drift")
    assert none.note[0] == "not defined because no answer of this worker has a time"


def test_moments_in_every_spelling():
    spelled = ["2024-05-01T10:00:00Z", "2024-05-01T12:00:00.0+02:00", "2024-05-01 10:00:00 UTC", "2024/05/01 10:00", "2024-05-01T10:00:00"]
    rows = [(t, w, t % 2) for t in range(10) for w in range(4)]
    one = identified(timed(np.ones((10, 4)), rows, [spelled[i % 5].replace("01T", f"{1 + i // 4:02}T").replace("01 ", f"{1 + i // 4:02} ") for i in range(40)]), "drift")
    two = identified(timed(np.ones((10, 4)), rows, np.arange(40) // 4), "drift")
    assert one.to_polars().equals(two.to_polars())
