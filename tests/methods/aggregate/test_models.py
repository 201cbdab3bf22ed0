"""GLAD, MACE, KOS and M-MSR: plain loops, printed values, and what each can do that a vote cannot."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import references
from crowds import crowd, fit, run
from test_dawid_skene import crowds_of, golden, small

from manyvoices.core import registry


@crowds_of
def test_glad_like_plain_loops(seed, classes):
    """Both climb the same height: at convergence the same objective, abilities and beliefs."""
    given = crowd(seed, tasks=14, workers=5, classes=classes, share=.8, repeats=seed % 2 == 1)
    want = references.glad(given.rows(), *given.sizes, iterations=400, tol=1e-9)
    found = run("glad", given, tol=1e-13, iterations=20_000)
    assert found.converged and found.trace.values[-1] == pytest.approx(want["trace"][-1], abs=1e-5)
    np.testing.assert_allclose(found.skill.value, want["alpha"], atol=5e-3)
    np.testing.assert_allclose(-found.difficulty.value, want["b"], atol=5e-3)
    np.testing.assert_allclose(found.probs, want["probs"], atol=2e-3)
    start = references.glad(given.rows(), *given.sizes, iterations=1)
    assert found.trace.values[0] == pytest.approx(start["trace"][0], abs=1e-9)


def test_glad_on_the_toy():
    answers, expected = golden("toy")
    found = fit("glad", answers, crowd(0), tol=1e-14, iterations=20_000)
    wanted = expected["glad"][0]["expect"]
    np.testing.assert_allclose(found.skill.value, wanted["alpha"][0], atol=1e-3)
    np.testing.assert_allclose(-found.difficulty.value, wanted["b"][0], atol=1e-3)
    np.testing.assert_allclose(found.probs, wanted["probs"][0], atol=1e-4)
    assert found.codes.tolist() == [1, 0, 1]
    rough = fit("glad", answers, crowd(0))                                  # at the defaults as near as the published truncated steps
    for seen, key in ((rough.skill.value, "alpha"), (-rough.difficulty.value, "b"), (rough.probs, "probs")):
        np.testing.assert_allclose(seen, expected["glad"][1]["expect"][key][0], atol=.02)


def test_glad_tells_hard_tasks_and_liars():
    rng = np.random.default_rng(0)
    truth, hard = rng.integers(2, size=300), np.arange(300) % 3 == 0
    task, worker = (codes.ravel() for codes in np.meshgrid(np.arange(300), np.arange(9), indexing="ij"))
    right = rng.random(len(task)) < np.where(hard[task], .62, .95)
    label = np.where(right ^ (worker == 8), truth[task], 1 - truth[task])   # worker 8 says the opposite
    given = replace(crowd(0), task=task, worker=worker, label=label, sizes=(300, 9, 2), truth=truth)
    found = run("glad", given)
    assert found.skill.value[8] < -.3 and found.skill.value[:8].min() > .3
    assert found.difficulty.value[hard].mean() > found.difficulty.value[~hard].mean() + .3
    assert found.says(np.array([0]), np.array([8]))[0, truth[0]] < .5


@crowds_of
@pytest.mark.parametrize("kind", ["em", "vb"])
def test_mace_like_plain_loops(kind, seed, classes):
    """From the even start; the reference looks at the objective once more than it moves."""
    given = small(seed, classes)
    want = references.mace(given.rows(), *given.sizes, variational=kind == "vb", iterations=14)
    found = run("mace", given, fit=kind, noise=0.0, restarts=1, iterations=15, tol=0.0)
    n = len(found.trace.values)
    np.testing.assert_allclose(found.trace.values, want["penalised" if kind == "em" else "trace"][:n], rtol=1e-9)
    if n == 15:
        np.testing.assert_allclose(found.probs, want["probs"], atol=1e-8)
        np.testing.assert_allclose(found.skill.value, want["skills"], atol=1e-8)
        np.testing.assert_allclose(found.channel.habit, want["habit"], atol=1e-8)


def test_mace_printed():
    answers, expected = golden("ds79_first")
    found = fit("mace", answers, crowd(0), fit="em", noise=0.0, restarts=1, iterations=51, tol=0.0)
    wanted = expected["mace"][0]["expect"]
    np.testing.assert_allclose(found.skill.value, wanted["skills"][0], atol=6e-5)
    assert np.bincount(found.codes).tolist() == wanted["class_counts"][0]
    spam, habit = 1 - found.channel.knows, found.channel.habit
    penalty = .01 / 4 * float(np.log(spam).sum() + np.log1p(-spam).sum() + np.log(habit).sum())
    assert found.trace.values[-1] - penalty == pytest.approx(wanted["trace.-1"][0], abs=1e-5)


def test_mace_keeps_the_best_of_different_starts():
    given = crowd(1, tasks=40, workers=6, skill=(.2, .7))
    ends = [run("mace", given, restarts=n, seed=3, fit="em", smoothing=0.0) for n in range(1, 7)]
    assert len({e.trace.values[0] for e in (run("mace", given, restarts=1, seed=s) for s in range(4))}) == 4
    finals = [e.trace.values[-1] for e in ends]
    assert all(b >= a - 1e-9 for a, b in pairwise(finals)) and len(set(finals)) > 1
    assert run("mace", given, noise=0.0, restarts=3).trace.values == run("mace", given, noise=0.0, restarts=1).trace.values


@crowds_of
@pytest.mark.parametrize("turn", [False, True])
def test_kos_like_plain_loops(turn, seed, classes):
    """Scores up to one factor a class; a crowd that is mostly wrong is turned by the mean message, not by how busy workers are."""
    given = crowd(seed, tasks=24, workers=7, classes=classes, share=.7, skill=(.3, .9))
    if turn:
        given = replace(given, label=(given.label + (given.worker < 4)) % classes)
    want = np.array(references.kos(given.rows(), *given.sizes, iterations=9)["scores"])
    found = run("kos", given, iterations=9)
    scale = want / np.sqrt(np.mean(want**2, axis=0))
    if classes == 2:
        scale = np.stack([-scale[:, 1] / 2, scale[:, 1] / 2], axis=1)
    probs = np.exp(scale - scale.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found.probs, probs / probs.sum(axis=1, keepdims=True), atol=1e-8)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rounds", [1, 3])
def test_kos_is_turned_by_the_mean_message(seed, rounds):
    """In whole numbers, so that a mean of exactly 0 (which turns nothing) is seen as such."""
    given = crowd(seed, tasks=7, workers=4, classes=2, share=.6, skill=(.2, .6))
    sign = {(t, w): 2 * k - 1 for t, w, k in given.rows()}
    y = dict.fromkeys(sign, 1)
    for _ in range(rounds):
        x = {(t, w): sum(sign[e] * y[e] for e in sign if e[0] == t and e[1] != w) for t, w in sign}
        y = {(t, w): sum(sign[e] * x[e] for e in sign if e[1] == w and e[0] != t) for t, w in sign}
    score = np.array([sum(sign[e] * y[e] for e in sign if e[0] == t) for t in range(7)]) * (-1 if sum(y.values()) < 0 else 1)
    found = run("kos", given, iterations=rounds).probs
    assert (np.sign(found[:, 1] - found[:, 0]) == np.sign(score))[score != 0].all()


def test_kos_printed():
    answers, expected = golden("ds79_first")
    task, worker, label = answers.rows()
    given = replace(crowd(0, tasks=45, workers=5, classes=2), task=task, worker=worker, label=(label != 0).astype(int))
    found = run("kos", given, iterations=50)
    assert (found.codes == 0).sum() == expected["kos"][0]["expect"]["positive.0"][0]


@crowds_of
def test_mmsr_like_plain_loops(seed, classes):
    given = crowd(seed, tasks=40, workers=7, classes=classes, share=.8, skill=(.45, .9))
    want = references.mmsr(given.rows(), *given.sizes)
    found = run("mmsr", given)
    np.testing.assert_allclose(found.skill.value, want["skills"], atol=1e-6)
    table = np.array(references.votes(given.rows(), given.sizes[0], classes, want["weights"]))
    probs = np.exp(table - table.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found.probs, probs / probs.sum(axis=1, keepdims=True), atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_mmsr_of_workers_with_few_and_many_partners(seed):
    """Rows of unequal length are sorted side by side; the trimmed means are those of each row alone."""
    given = crowd(seed, tasks=60, workers=30, classes=3, share=.06, skill=(.5, .9))
    given = replace(given, task=np.append(given.task, np.arange(60)), worker=np.append(given.worker, np.full(60, 3)),
                    label=np.append(given.label, given.truth))              # worker 3 meets everybody
    file = registry.module("aggregate", "mmsr")
    answers = given.answers()
    rows, _, share = file.agreement(answers.fold(file.pairs, file.All(30)), 30)
    rng, degree = np.random.default_rng(seed), np.bincount(rows, minlength=30)
    other, current, size = rng.random(len(rows)) + .1, rng.random(30), np.abs(share - .5)
    assert len(np.unique(degree[degree > 0])) > 4
    for trim in (0, 1, 2):
        found = file.trimmed_means(size, other, current, file.blocks(degree), trim)
        for w in range(30):
            mine = np.sort((size / other)[rows == w])
            below, above = mine[mine < current[w]], mine[mine > current[w]]
            kept = np.concatenate([below[trim:], mine[mine == current[w]], above[:max(len(above) - trim, 0)]])
            assert found[w] == pytest.approx(kept.mean() if len(kept) else current[w], abs=1e-12)


def test_mmsr_printed():
    file = registry.module("aggregate", "mmsr")
    answers, expected = golden("ds79_first")
    rows, cols, share = file.agreement(answers.fold(file.pairs, file.All(5)), 5)
    agree = np.zeros((5, 5))
    agree[rows, cols] = 4 / 3 * share - 1 / 3
    np.testing.assert_allclose(agree[0], expected["mmsr"][0]["expect"]["agreement.0"][0], atol=6e-5)


def test_mmsr_is_not_moved_by_a_few_corrupted_workers():
    rng = np.random.default_rng(0)
    given = crowd(4, tasks=200, workers=15, classes=2, share=.8, skill=(.7, .9))
    wicked = replace(given, label=np.where((given.worker < 3) & (rng.random(len(given.label)) < .9), 1 - given.truth[given.task], given.label))
    found = run("mmsr", wicked)
    assert found.skill.value[:3].max() < .5 and np.mean(found.codes == given.truth) > .97


def test_mmsr_of_people_who_never_meet():
    """Nobody to compare with: skill of a guess, no weight against others, and votes that count alone."""
    from test_votes import rows

    meet = [(t, w, t % 2 if (t + w) % 5 else 1 - t % 2) for t in range(12) for w in range(4)]
    found = run("mmsr", rows(*meet, (12, 4, 1), (13, 5, 0)))
    assert found.skill.value[4:].tolist() == [.5, .5] and found.codes[12:].tolist() == [1, 0]
    opposed = rows(*((t, w, (t + w) % 2) for t in range(4) for w in range(2)), *((t, w, (t + w) % 2) for t in range(4, 8) for w in range(2, 4)))
    found = run("mmsr", opposed)                                            # two pairs who always disagree
    assert np.isfinite(found.probs).all() and np.isfinite(found.skill.value).all()
