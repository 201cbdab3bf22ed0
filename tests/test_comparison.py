"""Hidden answers: what is hidden, what the scores say of it (beside slow references), and what is concluded."""

import logging
import os
from pathlib import Path

import numpy as np
import pytest
from crowds import crowd
from hypothesis import given, settings
from hypothesis import strategies as st

import manyvoices as mv
from manyvoices import comparison
from manyvoices.comparison import compared
from manyvoices.core.errors import BadCall, BadInput, ManyVoicesError, Unknown
from manyvoices.kernels import heldout


def rows(scores) -> dict[tuple[str, str, str], dict]:
    return {(row["score"], row["name"], row["other"]): row for row in scores.to_polars().to_dicts()}


def value(scores, score, name, other=""):
    return rows(scores)[score, name, other]["value"]


def with_truth(base, **more) -> mv.Dataset:
    answers = base.answers(**more)
    items = mv.Items(answers.tasks, mv.Names.numbered(base.sizes[2]), base.truth.astype(np.int64), None, None, None)
    return mv.Dataset(answers, items, None, None, "made", {}, [], {})


def liars(tasks=300, workers=20, seed=0):
    """A third of the workers always names the next class: votes are misled, a confusion matrix each is not."""
    rng = np.random.default_rng(seed)
    truth, lies = rng.integers(3, size=tasks), np.arange(workers) < workers // 3
    rows_, worker = [], rng.random((tasks, workers)).argsort(axis=1)[:, :7]
    for t in range(tasks):
        for w in worker[t]:
            right = rng.random() < .85
            rows_.append((str(t), str(w), str((truth[t] + (1 if lies[w] else 0 if right else rng.integers(1, 3))) % 3)))
    return mv.Answers.from_rows(rows_), truth


# what is hidden ---------------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(0, 2)), max_size=60), st.floats(.01, .99), st.integers(0, 9))
def test_every_task_and_worker_keeps_an_answer(said, share, seed):
    answers = mv.Answers.from_rows([(str(t), str(w), str(k)) for t, w, k in said])
    every = comparison.single(answers)
    mask = comparison.hide_some(answers, every, share, np.random.default_rng(seed))
    assert len(mask) == answers.n
    left = every.where(~mask)
    assert set(left.task) == set(every.task) and set(left.worker) == set(every.worker)
    pairs = set(zip(every.task, every.worker, strict=True))
    hidden = set(zip(*(every.where(mask).task, every.where(mask).worker), strict=True))
    assert not hidden & set(zip(left.task, left.worker, strict=True))              # a worker's repeats go together
    assert len(hidden) <= max(1, round(share * len(pairs)))


def test_as_many_as_asked_are_hidden_and_each_as_often():
    answers = crowd(0, tasks=60, workers=10, share=1.).answers()
    every, times = comparison.single(answers), np.zeros(answers.n)
    for seed in range(300):
        mask = comparison.hide_some(answers, every, .1, np.random.default_rng(seed))
        assert mask.sum() == round(.1 * answers.n)
        times += mask
    assert abs(times / 300 - .1).max() < .09                                       # 5 standard deviations of a share of 300


def test_slow_reference_of_the_choice():
    base = crowd(3, tasks=12, workers=5, share=.5, repeats=True)
    answers = base.answers()
    task, worker, _ = answers.rows()
    pairs = sorted(set(zip(task.tolist(), worker.tolist(), strict=True)))
    order = np.random.default_rng(7).permutation(len(pairs))
    last = set()
    for kind in (0, 1):
        for name in {pair[kind] for pair in pairs}:
            last.add([i for i in order if pairs[i][kind] == name][-1])
    want = {pairs[i] for i in [i for i in order if i not in last][:round(.3 * len(pairs))]}
    mask = comparison.hide_some(answers, comparison.single(answers), .3, np.random.default_rng(7))
    assert {(t, w) for t, w, m in zip(task.tolist(), worker.tolist(), mask, strict=True) if m} == want


def fitted_to(answers, monkeypatch, **given):
    """The answers every fit of a comparison saw."""
    seen, fit = [], comparison.Entry.fit
    monkeypatch.setattr(comparison.Entry, "fit", lambda self, some: (seen.append(some), fit(self, some))[1])
    found = compared(answers, "mv,ds", **given)
    monkeypatch.undo()
    return seen, found


def test_hidden_answers_never_reach_a_fit(monkeypatch):
    """Other labels in the place of the hidden ones change what is scored, and no fit."""
    base = crowd(1, tasks=30)
    answers, every = base.answers(), comparison.single(base.answers())
    outer, inner = comparison.splits(answers, every, .2, np.random.default_rng([5, 10, 0]))
    said = lambda some: set(zip(*(column.tolist() for column in some.rows()[:2]), strict=True))
    hidden, further = (set(zip(x.hidden.task.tolist(), x.hidden.worker.tolist(), strict=True)) for x in (outer, inner))
    seen, first = fitted_to(answers, monkeypatch, rounds=1, hide=.2, seed=5)
    assert [said(some) for some in seen] == [said(answers) - hidden, said(answers) - hidden - further] * 2 and hidden and further
    where = np.array([pair in hidden for pair in zip(every.task.tolist(), every.worker.tolist(), strict=True)])
    other = mv.Answers.from_codes(every.task, every.worker, np.where(where, (every.label + 1) % 3, every.label),
                                  tasks=answers.tasks, workers=answers.workers, classes=answers.classes)
    again, second = fitted_to(other, monkeypatch, rounds=1, hide=.2, seed=5)
    for a, b in zip(seen, again, strict=True):
        assert all((x == y).all() for x, y in zip(a.rows(), b.rows(), strict=True))
    assert value(first, "predicts_own", "ds") > value(second, "predicts_own", "ds")


# scores, slowly ---------------------------------------------------------------------------------------------------------------


def slow_common(kept, probs, power, hidden, workers, classes):
    q = np.maximum(probs, 1e-12) ** power if power != 1 else probs
    q = q / q.sum(axis=1, keepdims=True)
    tables = np.zeros((workers, classes, classes))
    for t, w, label in kept:
        for k in range(classes):
            tables[w, k, label] += q[t, k]
    usual = tables.sum(axis=0) + 1 / classes
    usual /= usual.sum(axis=1, keepdims=True)
    found = []
    for t, w, label in hidden:
        p = sum(q[t, k] * (tables[w, k, label] + 5 * usual[k, label]) / (tables[w, k].sum() + 5) for k in range(classes))
        found.append(np.log(p))
    return np.mean(found)


@pytest.mark.parametrize("repeats", [False, True])
def test_slow_reference_of_the_scores(repeats):
    base = crowd(2, tasks=40, workers=6, repeats=repeats)
    answers = base.answers()
    workers, classes = 6, 3
    found = compared(answers, "mv,ds,bcc", rounds=2, hide=.15, seed=4)
    for name in ("mv", "ds", "bcc"):
        own, label, tempered, n = [], [], [], []
        for number in range(2):
            outer, inner = comparison.splits(answers, comparison.single(answers), .15, np.random.default_rng([4, 10, number]))
            kept, less = (list(zip(*(c.tolist() for c in s.kept.rows()), strict=True)) for s in (outer, inner))
            hidden, further = ([*zip(s.hidden.task, s.hidden.worker, s.hidden.label, strict=True)] for s in (outer, inner))
            fit, first = mv.aggregate(outer.kept, name), mv.aggregate(inner.kept, name)
            for t, w, k in hidden:
                says = fit.says(np.array([t]), np.array([w]))[0]
                own.append(np.log(says[k]))
                top = np.flatnonzero(says > says.max() - 1e-9)
                label.append((k in top) / len(top))
            power = max(heldout.POWERS, key=lambda p: (round(slow_common(less, first.probs, p, further, workers, classes), 10), -abs(np.log(p))))
            tempered.append(slow_common(kept, fit.probs, power, hidden, workers, classes))
            n.append(len(hidden))
        assert value(found, "predicts_own", name) == pytest.approx(np.mean(own), abs=1e-9)
        assert value(found, "predicts_label", name) == pytest.approx(np.mean(label), abs=1e-9)
        assert value(found, "predicts_tempered", name) == pytest.approx(np.average(tempered, weights=n), abs=1e-9)
        assert rows(found)["predicts_own", name, ""]["n"] == sum(n)


def test_the_shared_channel_is_a_distribution():
    base = crowd(5)
    answers = base.answers()
    outer, _ = comparison.splits(answers, comparison.single(answers), .1, np.random.default_rng(0))
    task, worker = np.repeat(np.arange(40), 8), np.tile(np.arange(8), 40)
    probs = np.random.default_rng(1).dirichlet(np.ones(3), 40)
    total = sum(np.exp(heldout.common(outer.said, probs, task, worker, np.full(320, k))) for k in range(3))
    np.testing.assert_allclose(total, 1, atol=1e-12)


def test_tempering():
    probs = np.array([[.5, .3, .2], [1., 0, 0]])
    np.testing.assert_allclose(heldout.tempered(probs, 2)[0], np.array([.25, .09, .04]) / .38)
    np.testing.assert_allclose(heldout.tempered(probs, .1)[1], np.array([1, 10**-1.2, 10**-1.2]) / (1 + 2 * 10**-1.2))
    assert heldout.tempered(probs, 1) is probs
    assert heldout.best_power(lambda p: -abs(np.log(p / 2.4))) == 2.5 and heldout.best_power(lambda p: 0.) == 1
    # beliefs too sure of themselves are softened: the votes of workers who guess
    rng = np.random.default_rng(0)
    kept = heldout.Said(np.repeat(np.arange(200), 3), np.tile(np.arange(3), 200), rng.integers(2, size=600), None, 200, 3, 2)
    sure = np.eye(2)[rng.integers(2, size=200)]
    blind = lambda p: heldout.common(kept, heldout.tempered(sure, p), np.arange(200), np.arange(200) % 3, rng.integers(2, size=200)).mean()
    assert heldout.best_power(blind) < 1


def test_slow_reference_of_numbers():
    base = crowd(6, tasks=30, workers=5)
    answers = base.answers("interval")
    found = compared(answers, "mean,ordinal", rounds=1, hide=.2, seed=1)
    outer, inner = comparison.splits(answers, comparison.single(answers), .2, np.random.default_rng([1, 10, 0]))
    normal = lambda y, m, v: -.5 * np.log(2 * np.pi * v) - (y - m) ** 2 / (2 * v)

    def slow(split, fit, power):
        kept, said = list(zip(*split.kept.rows(), strict=True)), []
        rest = {w: [y - fit.value[t] for t, v, y in kept if v == w] for w in range(5)}
        spread = np.mean([r ** 2 for some in rest.values() for r in some])
        for t, w, y in zip(split.hidden.task, split.hidden.worker, split.hidden.label, strict=True):
            bias = sum(rest[w]) / (len(rest[w]) + 5)
            noise = (sum((r - bias) ** 2 for r in rest[w]) + 5 * spread) / (len(rest[w]) + 5)
            doubt = ((fit.high[t] - fit.low[t]) / (2 * 1.959963984540054)) ** 2 / power
            said.append(normal(y, fit.value[t] + bias, noise + doubt))
        return np.mean(said)

    for name in ("mean", "ordinal"):
        fit, first = mv.aggregate(outer.kept, name), mv.aggregate(inner.kept, name)
        power = max(heldout.POWERS, key=lambda p: (round(slow(inner, first, p), 10), -abs(np.log(p))))
        middle, sd = fit.says(outer.hidden.task, outer.hidden.worker).T
        assert value(found, "predicts_tempered", name) == pytest.approx(slow(outer, fit, power), abs=1e-9)
        assert value(found, "predicts_own", name) == pytest.approx(normal(outer.hidden.label, middle, sd ** 2).mean(), abs=1e-9)
        assert value(found, "predicts_error", name) == pytest.approx(np.abs(outer.hidden.label - middle).mean(), abs=1e-9)


def test_scores_against_truth():
    base = crowd(7, tasks=60)
    data = with_truth(base)
    found = compared(data, "mv,bcc", rounds=1)
    for name in ("mv", "bcc"):
        fit = mv.aggregate(data, name)
        best = fit.probs >= fit.probs.max(axis=1, keepdims=True) - 1e-9
        right = np.array([best[t, k] / best[t].sum() for t, k in enumerate(base.truth)])
        sure, bins = fit.probs.max(axis=1), 0.
        for b in range(15):
            some = (sure > b / 15 + 1e-9) & (sure <= (b + 1) / 15 + 1e-9)
            bins += abs(right[some].sum() - sure[some].sum()) / 60
        assert value(found, "accuracy", name) == pytest.approx(right.mean())
        assert value(found, "ece", name) == pytest.approx(bins)
        assert value(found, "log_loss", name) == pytest.approx(-np.log(np.maximum(fit.probs[np.arange(60), base.truth], 1e-12)).mean())
    assert rows(found)["accuracy", "mv", ""]["n"] == 60
    gap = rows(found)["accuracy_gap", "mv", "bcc"]
    assert gap["value"] == pytest.approx(value(found, "accuracy", "mv") - value(found, "accuracy", "bcc"))


def test_calibration_error_of_the_literature():
    sure = np.array([.95, .85, .75, .65, .55, .92, .35, .88])
    right = np.array([1, 1, 0, 1, 0, 1, 0, 0])
    probs = np.stack([sure, *[(1 - sure) / 2] * 2], axis=1)
    fit = mv.Consensus(mv.Names.numbered(8), mv.Names.numbered(3), None, np.ones(8), probs, None)
    marks = comparison.classes_right(fit, np.arange(8), np.where(right, 0, 1))
    assert np.abs(marks[:, 2:].sum(axis=0)).sum() / 8 == pytest.approx(.375)
    sure = np.array([.6, .65, 8 / 15 + 1e-6])                                      # bins are closed on the right: the first and the last share one
    fit = mv.Consensus(mv.Names.numbered(3), mv.Names.numbered(2), None, np.ones(3), np.stack([sure, 1 - sure], axis=1), None)
    place = comparison.classes_right(fit, np.arange(3), np.ones(3, int))[:, 2:].argmax(axis=1)
    assert place.tolist() == [8, 9, 8]


def test_numbers_against_truth():
    base = crowd(8, tasks=40)
    data = with_truth(base, scale="interval")
    found, fit = compared(data, rounds=1), mv.aggregate(data, "mean")
    assert {row["name"] for row in found.to_polars().to_dicts()} == {"mean", "median", "ordinal"}
    assert value(found, "mae", "mean") == pytest.approx(np.abs(fit.value - base.truth).mean())
    assert value(found, "coverage", "mean") == pytest.approx(((fit.low <= base.truth) & (base.truth <= fit.high)).mean())


def test_a_truth_nobody_said_counts_as_wrong():
    answers = mv.Answers.from_rows([(str(t), str(w), "a" if t % 2 else "b") for t in range(30) for w in range(3)])
    items = mv.Items(answers.tasks, mv.Names(["a", "z"]), np.array([int(answers.tasks[t]) % 2 == 0 for t in range(30)], np.int64), None, None, None)
    found = compared(mv.Dataset(answers, items, None, None, "made", {}, [], {}), "mv", rounds=1)
    assert value(found, "accuracy", "mv") == .5
    assert value(found, "log_loss", "mv") == pytest.approx(-.5 * np.log(1e-12))


# what changes nothing ---------------------------------------------------------------------------------------------------------


def test_order_of_rows_changes_nothing():
    base = crowd(9)
    a, b = (compared(some.answers(), "mv,ds", rounds=2).to_polars() for some in (base, base.shuffled(1)))
    assert a.equals(b)


def test_seed():
    answers = crowd(10).answers()
    a, b, c = (compared(answers, "mv,ds", rounds=1, seed=seed).to_polars() for seed in (0, 0, 1))
    assert a.equals(b) and not a.equals(c)
    hidden = [some.hidden.task.tolist() for seed in (0, 1) for some in
              comparison.splits(answers, comparison.single(answers), .1, np.random.default_rng(seed))]
    assert len({tuple(tasks) for tasks in hidden}) == 4


def test_names_of_classes_change_nothing():
    base = crowd(11)
    a = compared(base.answers(), "ds,bcc", rounds=1)
    b = compared(base.answers(classes=mv.Names(["z", "x", "y"])), "ds,bcc", rounds=1)
    np.testing.assert_allclose(a.value, b.value, atol=1e-9)


# what is concluded ------------------------------------------------------------------------------------------------------------


def test_a_crowd_that_misleads_votes():
    answers, truth = liars()
    items = mv.Items(answers.tasks, answers.classes, truth[[int(t) for t in answers.tasks]].astype(np.int64), None, None, None)
    found = compared(mv.Dataset(answers, items, None, None, "made", {}, [], {}), "mv,ds", rounds=3)
    for score in ("predicts_own", "predicts_tempered", "predicts_label", "accuracy"):
        gap = rows(found)[f"{score}_gap", "ds", "mv"]
        assert gap["low"] > 0 and gap["note"] == "better", score
        assert value(found, f"{score}_rank", "ds") == 1
    assert value(found, "recommended", "ds") == 1                                  # no bcc here: mv stands in, and the evidence is clear
    alone = compared(answers, "mv,ds", rounds=3)
    assert value(alone, "recommended", "ds") == 1 and "only truth can say" in rows(alone)["recommended", "ds", ""]["note"]


def test_equal_methods_cannot_be_told_apart(caplog):
    with caplog.at_level(logging.INFO, "manyvoices"):
        found = compared(with_truth(crowd(12)), "mv,ns")
    for score in ("predicts_own", "predicts_tempered", "predicts_label", "accuracy"):
        gap = rows(found)[f"{score}_gap", "ns", "mv"]
        assert (gap["value"], gap["low"], gap["high"], gap["note"]) == (0, 0, 0, "cannot be told apart")
        assert f"{score}: the methods cannot be told apart" in caplog.text
        assert value(found, f"{score}_rank", "mv") == 1.5
    assert value(found, "recommended", "mv") == 1


def test_gaps_and_ranks_go_together():
    found = rows(compared(with_truth(crowd(13)), rounds=2))
    for score in ("predicts_own", "predicts_label", "log_loss", "ece"):
        sign = -1 if score in comparison.LOWER else 1
        values = {name: sign * found[score, name, ""]["value"] for name in comparison.METHODS}
        for name in comparison.METHODS:
            row = found[f"{score}_rank", name, ""]
            above = sum(v > values[name] + 1e-12 for v in values.values())
            equal = sum(abs(v - values[name]) <= 1e-12 for v in values.values())
            assert row["value"] == 1 + above + (equal - 1) / 2
            assert row["low"] <= row["value"] <= row["high"]
            if name != "bcc":
                gap = found[f"{score}_gap", name, "bcc"]
                assert gap["value"] == pytest.approx(values[name] - values["bcc"]) and gap["low"] <= gap["value"] <= gap["high"]


def judged(gaps: np.ndarray, names=("bcc", "ds", "mv"), met=500, scores=("predicts_own", "predicts_tempered")):
    """Conclusions from gaps [M, S] to the first method, known to .01 either way."""
    entries = [comparison.Entry(mv.core.registry.about("aggregate", name), {}) for name in names]
    trial = comparison.Trial(scores, entries, np.zeros((1, 1)), 100, met, met, lambda x: x)
    gap = gaps[:, None] - gaps[None]
    rank = 1 + (gap < 0).sum(axis=1)
    return comparison.Judged(trial, gaps, rank, gap, np.stack([gaps] * 2), np.stack([rank] * 2), np.stack([gap - .01, gap + .01]), [""] * gaps.size)


def test_contradictions_are_said():
    one = judged(np.array([[0, 0], [.1, -.1], [0, -.5]]))
    assert comparison.contradictions(one) == [
        "the scores contradict each other: predicts_own puts ds over bcc; predicts_tempered the other way round"]
    assert not comparison.contradictions(judged(np.array([[0, 0], [.1, .005], [0, -.5]])))
    verdict = comparison.decide([one], one.trial.entries)
    assert verdict.take.label == "bcc" and "the scores contradict each other" in " ".join(verdict.lines)
    assert "the scores contradict each other" in comparison.recommended(verdict, one.trial.entries).note[0]


def test_the_default_unless_the_evidence_is_clear():
    take = lambda gaps, **more: comparison.decide([judged(np.array(gaps), **more)], []).take.label
    assert take([[0, 0], [.1, .1], [.2, -.1]]) == "ds"
    assert take([[0, 0], [.1, .005], [.2, -.1]]) == "bcc"                           # one of the two scores does not tell
    three = ("predicts_own", "predicts_tempered", "predicts_label")
    assert take([[0, 0, 0], [.1, .005, .1], [0, 0, .3]], scores=three) == "ds"      # two are enough, one is not,
    assert take([[0, 0, 0], [.1, -.1, .1], [0, 0, .3]], scores=three) == "bcc"      # and two are not where the third says otherwise
    assert take([[0, 0], [.1, .1], [.2, -.1]], met=19) == "bcc"                     # too few tasks
    assert take([[.2, .1], [.1, .1], [0, 0]], names=("ds", "mace", "mv")) == "ds"   # mv is the default here
    apart, alike = (comparison.decide([judged(np.array([[0, 0], [.1, gap]]), names=("ds", "glad"))], []) for gap in (.1, .005))
    assert apart.take.label == "glad" and apart.why == "first by predicts_tempered; bcc, the default, was not compared"
    assert alike.why == "first by predicts_tempered, not to be told from ds; bcc, the default, was not compared"
    truth = judged(np.array([[0.], [-.1], [.1]]), scores=("accuracy",))             # what is known to be right weighs more
    prediction = judged(np.array([[0, 0], [.1, .1], [-.2, -.1]]))
    truth.trial.entries = prediction.trial.entries
    verdict = comparison.decide([prediction, truth], [])
    assert verdict.take.label == "mv" and "tasks of known truth" in verdict.why


# odd data ---------------------------------------------------------------------------------------------------------------------


def made(said, **more):
    return mv.Answers.from_rows([tuple(row.split()) for row in said.split(",")] if said else [], **more)


@pytest.mark.parametrize("said", ["a x 1", "a x 1,b y 2", "a x 1,b x 2,c x 1", "a x 1,a y 2,a z 1"])
def test_nothing_can_be_hidden_or_nothing_told(said):
    """One answer, one answer a worker, one worker, one task: every row has a value or says why not."""
    table = compared(made(said)).to_polars()
    assert set(table["name"]) == set(comparison.METHODS)
    for row in table.to_dicts():
        assert row["value"] is not None or "not defined because" in row["note"]
        assert row["low"] is None or np.isfinite(row["low"])
        assert row["score"] == "recommended" or row["low"] is not None or "no interval" in row["note"] or "too few" in row["note"] or row["value"] is None
    assert rows(compared(made(said)))["recommended", "bcc", ""]["value"] == 1


def test_no_default_and_no_evidence():
    found = rows(compared(made("a x 1,b y 2"), "ds,glad"))
    for name in ("ds", "glad"):
        row = found["recommended", name, ""]
        assert row["value"] == 0 and row["note"].startswith("none of bcc, mean, mv is among the methods")


def test_no_answers():
    for classes in (None, ["a", "b"]):
        with pytest.raises(BadInput, match="no answers"):
            compared(mv.Answers.from_rows([], classes=classes))


def test_few_answers_tell_nothing(caplog):
    with caplog.at_level(logging.INFO, "manyvoices"):
        found = compared(made("a x 1,a y 2,a z 1,b x 1,b y 1,b z 2,c x 2,c y 2,c z 2"))
    notes = [row["note"] for row in found.to_polars().to_dicts() if row["score"].endswith("_gap")]
    assert notes and set(notes) == {"fewer than 20 tasks: too few to tell"}
    assert "cannot be told apart by fewer than 20 tasks" in caplog.text


def test_one_class():
    found = compared(mv.Answers.from_rows([(str(t), str(w), "yes") for t in range(40) for w in range(3)]))
    for name in comparison.METHODS:
        assert value(found, "predicts_own", name) == pytest.approx(0, abs=1e-9)
        assert value(found, "predicts_label", name) == 1
        assert rows(found)["predicts_label", name, ""]["note"].endswith("no interval: no task differs from the others")
    assert value(found, "recommended", "bcc") == 1


def test_a_class_nobody_used():
    base = crowd(14)
    found = compared(base.answers(classes=mv.Names(["0", "1", "2", "3"])), rounds=1)
    assert np.isfinite([value(found, "predicts_tempered", name) for name in comparison.METHODS]).all()


def test_answers_without_workers():
    """Counts only: an answer is hidden at a time, methods that need workers say so."""
    rng = np.random.default_rng(0)
    count = rng.integers(0, 6, (50, 3))
    task, label = np.nonzero(count)
    answers = mv.Answers.from_codes(task.astype(np.int32), None, label, tasks=mv.Names.numbered(50), workers=None,
                                    classes=mv.Names.numbered(3), count=count[task, label])
    found = compared(answers, "mv,pooled,bcc", rounds=2)
    assert rows(found)["predicts_own", "mv", ""]["n"] == 2 * round(.1 * count.sum())
    row = rows(found)["predicts_own", "bcc", ""]
    assert row["value"] is None and row["note"].startswith("not defined because it needs to know who answered")
    assert value(found, "recommended", "mv") == 1
    loose = np.repeat(np.stack([task, label]), count[task, label], axis=1)
    single = mv.Answers.from_codes(loose[0].astype(np.int32), None, loose[1], tasks=answers.tasks, workers=None, classes=answers.classes)
    np.testing.assert_allclose(compared(single, "mv,pooled", rounds=2).value, compared(answers, "mv,pooled", rounds=2).value)


def test_counts_of_workers_are_hidden_whole():
    base = crowd(15)
    count = np.random.default_rng(0).integers(1, 4, len(base.task))
    answers = base.answers(count=count)
    outer, _ = comparison.splits(answers, comparison.single(answers), .1, np.random.default_rng(0))
    assert len(outer.hidden) + len(outer.kept.rows()[0]) == len(base.task)
    assert outer.kept.n == outer.kept.repeated().sum() < answers.n
    assert np.isfinite(value(compared(answers, "mv,bcc", rounds=1), "predicts_tempered", "bcc"))


def test_constant_numbers():
    answers = mv.Answers.from_rows([(str(t), str(w), 2.) for t in range(30) for w in range(3)], scale="interval")
    for row in compared(answers, rounds=1).to_polars().to_dicts():
        assert row["value"] is not None or row["note"]


def test_ordered_classes():
    found = compared(crowd(16).answers("ordinal"), "mv,mean,median,ordinal", rounds=1)
    for name in ("mv", "mean", "median", "ordinal"):
        assert 0 <= value(found, "predicts_error", name) <= 2
    assert [about.name for about, _ in comparison.asked(None, crowd(16).answers("ordinal"))] == [*comparison.METHODS, *comparison.ORDERED]


# methods that fail ------------------------------------------------------------------------------------------------------------


def test_a_method_that_fails_stays_in_the_table(monkeypatch, caplog):
    find = comparison.registry.find

    def broken(job, name):
        def ds(answers, **options):
            raise ManyVoicesError("no room for its tables")
        return ds if name == "ds" else find(job, name)

    monkeypatch.setattr(comparison.registry, "find", broken)
    with caplog.at_level(logging.INFO, "manyvoices"):
        found = compared(with_truth(crowd(17)), "mv,ds,bcc", rounds=2)
    for score in ("predicts_own", "predicts_label_rank", "accuracy"):
        row = rows(found)[score, "ds", ""]
        assert row["value"] is None and row["note"] == "failed: no room for its tables"
        assert rows(found)[score, "mv", ""]["value"] is not None
    assert "ds: failed: no room for its tables" in caplog.text
    alone = compared(with_truth(crowd(17)), "ds", rounds=2)
    assert len(alone) and np.isnan(alone.value[1:]).all() and set(alone.note[1:]) == {"failed: no room for its tables"}


def test_not_converging_is_said():
    found = rows(compared(crowd(18).answers(), "mv,ds[iterations=1]", rounds=2))
    assert "did not converge in 4 of 4 fits" in found["predicts_own", "ds[iterations=1]", ""]["note"]
    assert "converge" not in found["predicts_own", "mv", ""]["note"]


def test_calls_that_are_wrong():
    answers = crowd(19).answers()
    with pytest.raises(BadCall, match="rounds is 0"):
        compared(answers, rounds=0)
    for share in (0., 1., -1., float("nan")):
        with pytest.raises(BadCall, match="hide is"):
            compared(answers, hide=share)
    with pytest.raises(Unknown):
        compared(answers, "dss")
    with pytest.raises(BadCall):
        compared(answers, "ds[iterations=-1]")
    with pytest.raises(BadInput, match="no method can be fitted: mean needs ordered labels"):
        compared(answers, "mean")
    with pytest.raises(BadInput, match="no answers"):
        compared(mv.Dataset(None, None, None, None, "made", {}, [], {}))
    row = rows(compared(answers, "mv,goldmv", rounds=1))["predicts_own", "goldmv", ""]
    assert row["note"] == "not defined because it needs gold besides the answers"


def test_several_ways_to_name_methods():
    answers = crowd(20).answers()
    a = compared(answers, ["mv", "ds"], rounds=1).to_polars()
    assert a.equals(compared(answers, "mv,ds", rounds=1).to_polars())
    assert a.equals(mv.compare(answers, "mv,ds", rounds=1).to_polars())
    assert set(compared(answers, mv.methods.aggregate.bcc, rounds=1).name) == {"bcc"}


def test_one_method_with_several_options():
    answers = crowd(21).answers()
    found = compared(answers, "ds,ds[smoothing=0.5],mv", rounds=1)
    assert set(found.name) == {"ds", "ds[smoothing=0.5]", "mv"}
    assert value(found, "predicts_own", "ds") != value(found, "predicts_own", "ds[smoothing=0.5]")
    with pytest.raises(BadCall, match="ds is named twice"):
        compared(answers, "ds[smoothing=0.5],DawidSkene[smoothing=0.5]")
    with pytest.raises(BadCall, match="ds is named twice"):
        mv.core.registry.parse("aggregate", "ds,ds[smoothing=0.5]")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["AffectiveText", "CIFAR10H", "HS-Brexit", "LabelMe", "MD-Agreement", "RTE", "VariErrNLI", "bluebirds"])
def test_real_sets(name):
    folder = Path(os.environ.get("MANYVOICES_DATA", "")) / name
    if "MANYVOICES_DATA" not in os.environ or not folder.is_dir():
        pytest.skip("MANYVOICES_DATA does not name a folder with this set")
    table = compared(mv.read(folder), "mv,wawa,ds,glad,bcc", rounds=1).to_polars()
    assert all(row["value"] is not None or row["note"] for row in table.to_dicts())
    assert len(table.filter((table["score"] == "recommended") & (table["value"] == 1))) == 1
    for row in table.filter(table["score"] == "predicts_own").to_dicts():
        assert row["low"] <= row["value"] <= row["high"] < 0


def test_the_study_can_draw_every_kind_of_crowd():
    """Of the size its page says; the study itself takes minutes."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("compare_study", Path(__file__).parent.parent / "benchmarks" / "compare_study.py")
    study = module_from_spec(spec)
    spec.loader.exec_module(study)
    tasks, each = {"few tasks": 50, "many tasks": 3000}, {"two labels": 2, "three labels": 3}
    for kind, (_, draw) in study.KINDS.items():
        answers = draw(0).answers
        assert answers.n == tasks.get(kind, 500) * each.get(kind, 5) and len(answers.tasks) == tasks.get(kind, 500), kind
