"""Votes and weighted votes: plain loops, printed values, ties, a machine among the voters, a classifier beside them."""

from dataclasses import replace

import numpy as np
import pytest
import references
from crowds import crowd, fit, near, run, same_bits
from test_dawid_skene import crowds_of, golden, small
from test_references import SIMULATED, simulated

from manyvoices import api
from manyvoices.core.errors import BadCall, Unknown
from manyvoices.core.labels import choose


def rows(*said, tasks=None, workers=None, classes=2):
    """A crowd from (task, worker, label) triples."""
    task, worker, label = (np.array(column) for column in zip(*said, strict=True))
    sizes = (tasks or task.max() + 1, workers or worker.max() + 1, classes)
    base = crowd(0, tasks=sizes[0], workers=sizes[1], classes=classes)
    return replace(base, task=task, worker=worker, label=label, sizes=sizes, value=label.astype(float))


@crowds_of
@pytest.mark.parametrize("name, options, slow_options", [
    ("ns", {}, {}), ("mv", {}, {}), ("twothird", {}, {}), ("wawa", {}, {}), ("iwmv", {}, {}), ("iwmv", {"rounds": 3}, {"iterations": 3}),
    ("zbs", {}, {}),
    ("zbs", {"iterations": 30, "rate": .5, "steps": 7}, {"iterations": 30, "rate": .5, "every": 7})])
def test_like_plain_loops(name, options, slow_options, seed, classes):
    given = small(seed, classes, skill=(.3, .9))
    want = getattr(references, name)(given.rows(), *given.sizes, **slow_options)
    found = run(name, given, **options)
    assert found.codes.tolist() == want["labels"]
    if "skills" in want:
        np.testing.assert_allclose(found.skill.value, want["skills"], atol=1e-12)
    if name in ("ns", "wawa", "iwmv", "zbs"):
        np.testing.assert_allclose(found.probs, want["probs"], atol=1e-12)


@crowds_of
def test_weights_of_li_and_yu(seed, classes):
    """K * agreement - 1: where no weight is negative this is the weighted vote; a worker below chance speaks for the others."""
    given = small(seed, classes, skill=(.7, .95))
    want = references.iwmv(given.rows(), *given.sizes, iterations=4, transform="li_yu")
    assert min(want["weights"]) >= 0
    found = run("iwmv", given, rounds=4, weight_transform="li_yu")
    np.testing.assert_allclose(found.probs, want["probs"], atol=1e-12)
    liar = rows(*((t, w, t % 2) for t in range(20) for w in range(4)), *((t, 4, 1 - t % 2) for t in range(21)))
    found = run("iwmv", liar, weight_transform="li_yu")
    assert found.skill.value[4] < .1 and found.codes[20] == 0               # task 20 has only the liar's answer, which is 1
    assert run("iwmv", liar).codes[20] == 1                                 # by agreement alone it stands


def test_one_round_is_wawa():
    for seed in range(3):
        near(run("iwmv", crowd(seed), rounds=1), replace(run("wawa", crowd(seed)), converged=False), atol=0)


def test_weights_that_are_nothing_leave_the_votes():
    """A task all of whose workers weigh nothing keeps its votes; that says nothing about other tasks, however shards are cut."""
    told = [(0, 0, 1), (0, 1, 1), (1, 2, 0), (1, 3, 1), (1, 4, 1), (2, 5, 1), (2, 6, 0), (2, 7, 0)]
    gold = np.array([0, -1, -1, 0, 1, 1])
    skills = [(3, 2, 0), (3, 3, 1), (3, 4, 1), (4, 3, 1), (4, 4, 1), (4, 2, 1), (3, 5, 0), (5, 6, 1), (5, 7, 0), (3, 6, 1), (4, 7, 0)]
    given = replace(rows(*told, *skills, tasks=6, workers=8), gold=gold)
    found = run("goldmv", given)
    assert found.skill.value.tolist() == [0, 0, 1, .5, .5, 1, .5, 0]
    assert found.codes[0] == 1 and found.probs[0].tolist() == [0, 1]        # nobody's vote weighs anything
    assert found.probs[1].tolist() == [.5, .5]                              # 1 against twice a half is a tie
    np.testing.assert_allclose(found.probs[2], [1 / 3, 2 / 3])
    alone = run("goldmv", given.only((given.worker != 0) & (given.worker != 1)))
    np.testing.assert_allclose(alone.probs[1:], found.probs[1:])


def test_ties():
    given = rows((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 1), (2, 0, 1), (2, 1, 0), *((t, w, w) for t in range(3, 40) for w in range(2)))
    found = run("mv", given)
    assert found.codes[:3].tolist() == [0, 1, 0]
    table = found.table(ties="all")
    assert len(table) == 2 * 40 - 1 and found.table(ties="lowest")["label"].to_list()[0] == "0"
    drawn = [found.table(ties="random", seed=seed)["label"].to_list() for seed in range(3)]
    assert drawn[0] == found.table(ties="random", seed=0)["label"].to_list() != drawn[1]
    assert all(d[1] == "1" and 8 < d.count("0") < 32 for d in drawn)
    fewer = run("mv", given.only(given.task >= 20)).table(ties="random", seed=0)    # a draw depends on seed and task only
    assert fewer["label"].to_list() == drawn[0][20:]


@pytest.mark.parametrize("name", ["wawa", "iwmv", "zbs"])
def test_random_ties_inside_a_method(name):
    """The winner of a tied vote is drawn by seed and task: the same in every run, no class favoured."""
    given = rows(*((t, w, w) for t in range(400) for w in range(2)), (400, 0, 0), (400, 1, 0))
    one = run(name, given, ties="random", seed=1, **({"rounds": 1} if name == "iwmv" else {"iterations": 1} if name == "zbs" else {}))
    assert abs(one.skill.value[0] - .5) < .1 and abs(one.skill.value[1] - .5) < .1
    assert run(name, given, **({"rounds": 1} if name == "iwmv" else {"iterations": 1} if name == "zbs" else {})).skill.value[1] < .1


def test_printed_values():
    answers, expected = golden("ds79_first")
    given = crowd(0)
    majority = fit("mv", answers, given)
    assert np.bincount(majority.codes).tolist() == expected["mv"][0]["expect"]["class_counts"][0] and majority.codes[3] == 0
    found = fit("wawa", answers, given)
    np.testing.assert_allclose(found.skill.value, expected["wawa"][0]["expect"]["skills"][0], atol=6e-5)
    assert np.flatnonzero(found.codes != majority.codes).tolist() == [3] and found.codes[3] == 1
    np.testing.assert_allclose(fit("zbs", answers, given).skill.value, expected["zbs"][0]["expect"]["skills"][0], atol=6e-5)
    toy, expected = golden("toy")
    np.testing.assert_allclose(fit("ns", toy, given).probs, expected["ns"][0]["expect"]["probs"][0], atol=1e-12)
    for name in ("mv", "ns", "twothird", "iwmv", "wawa", "ds"):
        assert fit(name, toy, given).codes.tolist() == [1, 0, 1], name
    assert fit("wawa", toy, given).skill.value.tolist() == [.5, .5, 1, 1]
    assert fit("plantnet", toy, given, alpha=.5, beta=.2, iterations=2).codes.tolist() == [1, -1, -1]


def test_gold_votes():
    given = crowd(3, tasks=40, workers=6)
    gold = np.where(np.arange(40) < 20, given.truth, -1)
    given = replace(given.only((given.worker != 5) | (given.task >= 20)), gold=gold)            # worker 5 meets no gold task
    found = run("goldmv", given)
    tested = (gold[given.task] >= 0)
    skills = [np.mean((given.label == given.truth[given.task])[tested & (given.worker == w)]) for w in range(5)]
    np.testing.assert_allclose(found.skill.value[:5], skills)
    assert found.skill.value[5] == pytest.approx(np.mean((given.label == given.truth[given.task])[tested]))
    assert found.skill.note == [""] * 5 + ["no gold tasks: the mean of the others"]
    with pytest.raises(BadCall, match="goldmv needs gold: give --gold FILE"):
        api.aggregate(given.answers(), "goldmv")


# ------------------------------------------------------------------------------------------------------------- PlantNet

POLICIES = ["ignored", "worker", "fixed", "invalidating", "confident"]


@crowds_of
@pytest.mark.parametrize("authors", [False, True])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
def test_plantnet_like_plain_loops(policy, keep, authors, seed, classes):
    """Worker 2 is the machine. A worker answers a task once here: repeats of a machine are votes of their own in ours."""
    given = crowd(seed, tasks=30, workers=6, classes=classes + 3, share=.8, skill=(.5, .99))
    score = np.random.default_rng(seed).random(30)
    author = np.random.default_rng(seed + 1).integers(6, size=30)
    want = references.plantnet(given.rows(), *given.sizes, ai=2, policy=policy, ai_weight=1.3, scores=score, threshold=.4,
                               authors=author.tolist() if authors else None, keep=keep)
    found = run("plantnet", given, ai_worker="2", ai_policy=policy, ai_weight=1.3, ai_threshold=.4, output_unvalidated=keep, score=score,
                author=author if authors else None)
    assert found.codes.tolist() == want["labels"] and found.converged
    conf = np.take_along_axis(found.probs, np.argmax(found.probs, axis=1)[:, None], 1)[:, 0]
    if policy != "invalidating":
        np.testing.assert_allclose(conf, want["acc"], atol=1e-12)
    if authors and policy == "ignored":
        assert len(set(want["identified"])) > 1                             # weights differ, so the votes are weighted


def test_plantnet_with_weights_below_nothing():
    """beta over alpha makes a busy worker weigh less than nothing: beliefs stay distributions."""
    given = crowd(0, tasks=60, workers=5, classes=12, share=1.0, skill=(.9, 1.0))
    found = run("plantnet", given, alpha=.1, beta=.9, theta_conf=.1, author=np.arange(60) % 5)
    assert (found.probs >= 0).all() and np.isfinite(found.probs).all()
    np.testing.assert_allclose(found.probs.sum(axis=1), 1)


def test_plantnet_needs_scores_only_where_there_is_a_machine():
    given = crowd(0)
    with pytest.raises(BadCall, match="a column `score`"):
        run("plantnet", given, ai_worker="2", ai_policy="confident")
    same_bits(run("plantnet", given, ai_policy="confident"), run("plantnet", given))


def test_plantnet_knows_its_machine():
    with pytest.raises(Unknown, match="no worker called 'Al'"):
        run("plantnet", crowd(3), ai_worker="Al", ai_policy="fixed")


# ------------------------------------------------------------------------------------------------------------- CROWDLAB

@crowds_of
@pytest.mark.parametrize("rounds", [1, 2])
def test_crowdlab_like_plain_loops(rounds, seed, classes):
    given = small(seed, classes, skill=(.4, .9))
    want = references.crowdlab(given.rows(), *given.sizes, given.guess.tolist(), again=rounds == 2)
    found = run("crowdlab", given, rounds=rounds)
    np.testing.assert_allclose(found.probs, want["probs"], atol=1e-12)
    np.testing.assert_allclose(found.skill.value, want["worker_quality"], atol=1e-12)
    assert found.codes.tolist() == want["labels"]


def test_crowdlab_is_not_moved_by_who_repeats_himself():
    """Agreement is with others: a guesser who says everything four times does not become an expert."""
    given = crowd(0, tasks=200, workers=10, share=.3, skill=(.7, .85))
    given = replace(given, label=np.where(given.worker == 9, np.random.default_rng(0).integers(3, size=len(given.label)), given.label))
    often = given.only(np.concatenate([np.arange(len(given.task)), np.repeat(np.flatnonzero(given.worker == 9), 3)]))
    assert np.mean(run("mv", often).codes == given.truth) < .75
    assert np.mean(run("crowdlab", often).codes == given.truth) > .95


def test_crowdlab_beats_its_parts():
    hits = []
    for seed in range(8):
        given = crowd(seed, tasks=200, workers=10, share=.25, skill=(.5, .8))
        hits.append([np.mean(codes == given.truth) for codes in (run("crowdlab", given).codes, run("mv", given).codes, given.guess.argmax(axis=1))])
    both, crowd_, model = np.mean(hits, axis=0)
    assert both > max(crowd_, model) + .02


# -------------------------------------------------------------------------------------------- the published simulations

@pytest.mark.parametrize("table", SIMULATED)
def test_simulated_tables(table):
    """Accuracies of the published tables; majority vote by a drawn tie inside its range and near its expectation."""
    expected = SIMULATED[table]
    strategy, options = expected["strategy"], expected["options"]
    data = api.simulate(strategy, **options)
    truth = np.array(data.items.truth_of(data.answers.tasks), object)

    def accuracy(method, **more):
        return np.mean(np.array(api.aggregate(data, method, **more).labels(), object) == truth)

    assert data.answers.n == expected["answers"]
    assert accuracy("ns") == pytest.approx(expected["accuracy"]["ns"], abs=1e-9)
    found = api.aggregate(data, "ds", smoothing=0.0, tol=1e-6 / 200, iterations=50)
    assert np.mean(np.array(found.labels(), object) == truth) == pytest.approx(expected["accuracy"]["ds"], abs=1e-9)
    assert found.trace.values[-1] == pytest.approx(expected["ds_loglik"], abs=1e-3) and len(found.trace.values) == expected["ds_rounds"]
    for clusters, right in expected["accuracy"]["dswc"].items():
        assert accuracy("dswc", clusters=int(clusters)) == pytest.approx(right, abs=1e-9), clusters
    assert accuracy("glad") == pytest.approx(expected["accuracy"]["glad"], abs=.0101)
    low, high, mean = {"T1": (.690, .840, .762), "T2": (.760, .885, .819), "T3": (.645, .790, .711), "T5": (.755, .860, .804)}[table]
    majority = api.aggregate(data, "mv")
    drawn = [np.mean(np.array(majority.table(ties="random", seed=seed)["label"].to_list(), object) == truth) for seed in range(20)]
    assert all(low <= d <= high and abs(d - mean) < 4 * .014 for d in drawn) and abs(np.mean(drawn) - mean) < .01
    best = choose(majority, np.arange(200), "all", 0)
    share = np.bincount(best[0], best[1] == np.array([int(t) for t in truth])[best[0]]) / np.bincount(best[0])
    assert share.mean() == pytest.approx(mean, abs=6e-4)
    assert len(simulated(table)[0]) == data.answers.n
