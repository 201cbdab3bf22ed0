"""Dawid-Skene and its relatives: against plain loops, printed values, and each other at their limits."""

from dataclasses import replace

import numpy as np
import pytest
import references
from crowds import crowd, near, run
from test_references import GOLDEN

from manyvoices import api
from manyvoices.core.answers import Answers
from manyvoices.core.names import Names

SEEDS = [(seed, 2 + seed % 3) for seed in range(4)]
crowds_of = pytest.mark.parametrize("seed, classes", SEEDS)


def small(seed, classes, **more):
    return crowd(seed, tasks=18, workers=5, classes=classes, share=.7, repeats=seed % 2 == 1, **more)


def golden(name):
    data = GOLDEN[name]
    task, worker, label = np.array(data["answers"]).T
    return Answers.from_codes(task, worker, label, tasks=Names.numbered(data["tasks"]), workers=Names.numbered(data["workers"]),
                              classes=Names.numbered(data["classes"])), data["expected"]


def fit(name, answers, **options):
    from manyvoices.core import registry

    return registry.find("aggregate", name)(answers, **options)


def expect(case, **found):
    """Compare with the values of one case of golden.json, as near as they are printed."""
    for path, value in found.items():
        wanted, off = case["expect"][path.replace("__", ".").replace("last", "-1")]
        np.testing.assert_allclose(value, wanted, rtol=0, atol=off, err_msg=path)


ROUNDS = 12
PAIRS = [  # name, our options, the reference, its options, key of its trace
    ("ds", {"smoothing": 0.0}, "ds", {}, "trace"), ("ds", {"smoothing": .3}, "ds", {"smoothing": .3}, "trace"),
    ("ds", {"init": "majority"}, "ds", {"smoothing": .01, "start": "mv"}, "trace"),
    ("fastds", {"smoothing": .05}, "fastds", {"smoothing": .05}, "loglik"),
    ("onecoin", {"smoothing": 0.0}, "onecoin", {}, "trace"),
    ("classcond", {"hits": 1.0, "misses": 1.0}, "classcond", {}, "trace"),
    ("classcond", {"hits": 4.8, "misses": 3.2, "mass": 3.0}, "classcond", {"alpha": 3, "right": 4.8, "wrong": 3.2}, "trace"),
    ("pooled", {"smoothing": 0.0}, "pooled", {}, "trace"),
    ("pooled", {"smoothing": 0.0, "errors": "diagonal"}, "pooled", {"shape": "diagonal"}, "trace"),
    ("pooled", {"smoothing": 0.0, "errors": "coin"}, "pooled", {"shape": "one"}, "trace"),
    ("pooled", {"smoothing": 0.0, "errors": "flat"}, "flat", {"pooled": True}, "trace"),
    ("pooled", {"smoothing": 0.0, "errors": "flat_diagonal"}, "flat", {"pooled": True, "shape": "diagonal"}, "trace"),
    ("flat", {"smoothing": 0.0}, "flat", {}, "trace"), ("flat", {"smoothing": 0.0, "diagonal": True}, "flat", {"shape": "diagonal"}, "trace"),
    ("bcc", {}, "bcc", {}, "trace"), ("bcc", {"off": 1.0, "extra": 0.0, "mass": 2.0}, "bcc", {"prior": 2.0, "matrix": "ones"}, "trace"),
    ("hds", {}, "hds", {}, "trace"), ("hds", {"shape": 3.0, "rate": .5, "mass": 2.0}, "hds", {"shape": 3.0, "rate": .5, "prior": 2.0}, "trace"),
]


@crowds_of
@pytest.mark.parametrize("name, options, slow, slow_options, key", PAIRS, ids=[f"{p[0]}-{i}" for i, p in enumerate(PAIRS)])
def test_like_plain_loops(name, options, slow, slow_options, key, seed, classes):
    given = small(seed, classes)
    if slow_options.get("matrix") == "ones":
        slow_options = slow_options | {"matrix": [[1.0] * classes] * classes}
    want = getattr(references, slow)(given.rows(), *given.sizes, iterations=ROUNDS, **slow_options)
    found = run(name, given, iterations=ROUNDS, tol=0.0, **options)
    n = len(found.trace.values)                                             # a fit that stands still to the last bit ends sooner
    np.testing.assert_allclose(found.trace.values, want[key][:n], rtol=1e-9, atol=1e-9)
    assert n == ROUNDS or found.converged
    np.testing.assert_allclose(found.probs, want.get("soft", want["probs"]), atol=1e-7)
    if name in ("bcc", "hds"):                                              # shows the Dirichlets that the last beliefs give
        want = getattr(references, slow)(given.rows(), *given.sizes, iterations=ROUNDS + 1, **slow_options)
    np.testing.assert_allclose(found.confusions, want["confusions"], atol=1e-7)
    np.testing.assert_allclose(found.prior, want["prior"], atol=1e-7)


@crowds_of
@pytest.mark.parametrize("name, slow, options", [("ds", "ds", {"smoothing": .1}), ("bcc", "bcc", {})])
def test_gold_tasks_have_their_class(name, slow, options, seed, classes):
    given = small(seed, classes)
    gold = {0: 1, 5: 0}
    codes = np.full(given.sizes[0], -1)
    codes[list(gold)] = list(gold.values())
    want = getattr(references, slow)(given.rows(), *given.sizes, iterations=6, gold=gold, **options)
    found = run(name, given, iterations=6, tol=0.0, gold=codes, **options)
    np.testing.assert_allclose(found.probs, want["probs"], atol=1e-9)
    np.testing.assert_allclose(found.trace.values, want["trace"], rtol=1e-9)
    for other in ("fastds", "hybridds", "onecoin", "classcond", "cbcc", "hds", "flat", "pooled", "glad", "mace"):
        more = {"restarts": 1} if other == "mace" else {}
        beliefs = run(other, given, iterations=6, gold=codes, **more).probs
        np.testing.assert_allclose(beliefs[[0, 5]], np.eye(classes)[[1, 0]], atol=1e-12)


@crowds_of
@pytest.mark.parametrize("communities", [1, 3])
def test_cbcc_like_plain_loops(seed, classes, communities):
    given = small(seed, classes)
    habits = {1: [(.7, 2.0)], 3: [(.5, 8.0), (.7, 2.0), (2.0, 0.0)]}[communities]
    want = references.cbcc(given.rows(), *given.sizes, [references.diagonal(classes, *h) for h in habits], iterations=8)
    # the reference ends with beliefs the parameters of its last round gave, as ours does; its trace is one half-step earlier
    found = run("cbcc", given, iterations=7, tol=0.0, communities=communities)
    n = len(found.trace.values)
    np.testing.assert_allclose(found.trace.values, want["trace"][1:1 + n], rtol=1e-9)
    before = references.cbcc(given.rows(), *given.sizes, [references.diagonal(classes, *h) for h in habits], iterations=n)
    np.testing.assert_allclose(found.probs, before["probs"], atol=1e-8)


@crowds_of
def test_wds_like_plain_loops(seed, classes):
    given = small(seed, classes)
    want = references.wds(given.rows(), *given.sizes, iterations=ROUNDS, smoothing=.01)
    np.testing.assert_allclose(run("wds", given, iterations=ROUNDS, tol=0.0).probs, want["probs"], atol=1e-8)


@crowds_of
@pytest.mark.parametrize("clusters", [1, 2, 5])
def test_dswc_like_plain_loops(seed, classes, clusters):
    given = small(seed, classes)
    want = references.dswc(given.rows(), *given.sizes, clusters=clusters, iterations=9, tol=-1.0)
    found = run("dswc", given, clusters=clusters, iterations=9, tol=0.0, restarts=0)
    n = len(found.trace.values)
    np.testing.assert_allclose(found.trace.values, want["trace"][:n], rtol=1e-8)
    if n == 9:
        np.testing.assert_allclose(found.probs, want["probs"], atol=1e-7)
        np.testing.assert_allclose(found.confusions, want["confusions"], atol=1e-7)


def test_hybrid_turns_from_soft_to_hard():
    given = small(2, 3, skill=(.3, .8))
    soft = run("ds", given, iterations=9, tol=0.0)
    np.testing.assert_allclose(run("hybridds", given, switch=0.0, iterations=9, tol=0.0).probs, soft.probs, atol=1e-12)
    for hard in (run("hybridds", given, switch=9e9), run("fastds", given)):
        counts = np.array(references.mass(given.rows(), *given.sizes[1:], np.eye(3)[hard.codes].tolist())) + .01
        np.testing.assert_allclose(hard.confusions, counts / counts.sum(axis=2, keepdims=True), atol=1e-12)
        np.testing.assert_allclose(hard.prior, np.bincount(hard.codes, minlength=3) / 18, atol=1e-12)
    assert np.abs(hard.confusions - run("ds", given).confusions).max() > 1e-3


def test_fastds_equals_ds_where_beliefs_are_sure():
    given = crowd(3, tasks=40, workers=12, classes=3, share=1.0, skill=(.97, .99))
    soft, hard = run("ds", given), run("fastds", given)
    assert soft.probs.max(axis=1).min() > 1 - 1e-6
    np.testing.assert_allclose(soft.probs, hard.probs, atol=1e-6)
    np.testing.assert_allclose(soft.confusions, hard.confusions, atol=1e-4)


# --------------------------------------------------------------------------------------------------------------- limits

def test_two_classes_of_one_coin_are_symmetric_tables():
    """One-coin with K = 2 is Dawid-Skene with tied symmetric tables."""
    given = small(4, 2)
    tables = references.em(given.rows(), *given.sizes, symmetric, iterations=10)
    found = run("onecoin", given, smoothing=0.0, iterations=10, tol=0.0)
    np.testing.assert_allclose(found.trace.values, tables["trace"], rtol=1e-10)
    np.testing.assert_allclose(found.confusions, tables["confusions"], atol=1e-9)
    np.testing.assert_allclose(found.probs, tables["probs"], atol=1e-9)


def symmetric(probs, counts):
    rows = []
    for table in counts:
        right = (table[0][0] + table[1][1]) / sum(map(sum, table))
        rows.append([[right, 1 - right], [1 - right, right]])
    return references.mean_of(probs), rows, 0.0


def test_hds_with_fixed_habits_is_bcc():
    given = small(5, 3)
    one, two = run("hds", given, learn_prior=False, iterations=25), run("bcc", given, iterations=25)
    np.testing.assert_allclose(one.channel.newcomer, np.full((3, 3), .5 / 3.5) + np.eye(3) * 2 / 3.5)
    near(replace(one, channel=replace(one.channel, newcomer=None)), two, atol=1e-12)


def test_pooled_is_ds_with_one_worker():
    given = small(6, 3)
    together = Answers.from_codes(given.task, np.zeros_like(given.worker), given.label, tasks=Names.numbered(18), workers=Names(["all"]),
                                  classes=Names.numbered(3))
    one, two = run("pooled", given, iterations=15, smoothing=.2), fit("ds", together, iterations=15, smoothing=.2)
    np.testing.assert_allclose(one.probs, two.probs, atol=1e-10)
    np.testing.assert_allclose(one.confusions[0], two.confusions[0], atol=1e-10)
    np.testing.assert_allclose(one.trace.values, two.trace.values, rtol=1e-10)


def test_one_community_is_bcc_a_half_step_apart():
    given = small(7, 3)
    one, two = run("cbcc", given, communities=1, iterations=6, tol=0.0), run("bcc", given, off=.7, extra=2.0, iterations=6, tol=0.0)
    np.testing.assert_allclose(one.probs, two.probs, atol=1e-10)


def test_perfect_workers_give_the_truth():
    given = crowd(8, tasks=30, workers=6, classes=4, skill=(1.0, 1.0), share=.6)
    for name in ("ds", "fastds", "hybridds", "onecoin", "classcond", "pooled", "flat", "bcc", "cbcc", "hds", "wds", "dswc", "glad", "mace", "kos",
                 "mmsr"):
        assert (run(name, given).codes == given.truth).all(), name


def test_pooled_and_wds_rise_though_not_marked():
    for seed in range(3):
        for errors in ("matrix", "diagonal", "coin"):
            for smoothing in (0.0, .2) if errors == "matrix" else (0.0,):
                values = np.array(run("pooled", small(seed, 3), errors=errors, smoothing=smoothing, iterations=40, tol=0.0).trace.values)
                assert (np.diff(values) >= -1e-8 * np.abs(values[1:])).all()


# ------------------------------------------------------------------------------------------------------- going on, empty

def test_the_tolerance_is_per_answered_task():
    answers, _ = golden("ds79_full")
    per_task = fit("ds", answers, smoothing=0.0, tol=1e-10, iterations=300)
    in_total = fit("ds", answers, smoothing=0.0, tol=1e-10 / 45, iterations=300)
    assert len(per_task.trace.values) == 22 and len(in_total.trace.values) == 26
    wider = Answers.from_codes(*answers.rows(), tasks=Names.numbered(90), workers=answers.workers, classes=answers.classes)
    assert len(fit("ds", wider, smoothing=0.0, tol=1e-10, iterations=300).trace.values) == 22


@pytest.mark.parametrize("name", ["ds", "onecoin", "bcc", "glad"])
def test_going_on_from_a_saved_result(name, tmp_path):
    """A start at the end of a fit stays there; with new answers about new tasks by new workers it ends where a fresh fit ends."""
    given = crowd(9, tasks=60, workers=9, classes=3, share=.8, skill=(.7, .95))
    old = given.only((given.task < 45) & (given.worker < 8))
    first = api.aggregate(old.answers(), name, tol=1e-9, iterations=2000)
    first.save(tmp_path)
    again = api.aggregate(old.answers(), name, start=str(tmp_path), tol=1e-9)
    assert again.trace.values[0] >= first.trace.values[-1] - 1e-2 * (name == "bcc") - 1e-4
    np.testing.assert_allclose(again.probs[:45], first.probs[:45], atol=2e-3)
    more = api.aggregate(given.answers(), name, start=str(tmp_path), tol=1e-9, iterations=2000)
    fresh = api.aggregate(given.answers(), name, tol=1e-9, iterations=2000)
    np.testing.assert_allclose(more.probs, fresh.probs, atol=5e-3)
    assert (more.codes == fresh.codes).all()


def test_rows_of_classes_a_worker_never_met():
    given = crowd(10, tasks=30, workers=6, classes=3, skill=(.9, .99))
    part = given.only((given.worker != 2) | (given.truth[given.task] != 1))
    exact = run("ds", part, smoothing=0.0, tol=1e-12, empty_row="zero")
    plain = run("ds", part, smoothing=0.0, tol=1e-12)
    np.testing.assert_allclose(plain.confusions.sum(axis=2), 1)
    assert set(np.round(exact.confusions.sum(axis=2).ravel(), 9)) == {0.0, 1.0}
    assert (exact.probs == plain.probs).all()


def as_peerannot(given, tol=1e-6, iterations=50):
    """Products of probabilities, rows without mass zero, log of a sum over tasks; as its code has it."""
    tasks, workers, classes = given.sizes
    said = np.zeros((tasks, workers, classes))
    np.add.at(said, (given.task, given.worker, given.label), 1)
    probs, seen = said.sum(axis=1) / said.sum(axis=(1, 2))[:, None], []
    while len(seen) < iterations and (len(seen) < 2 or abs(seen[-1] - seen[-2]) > tol):
        counts = np.einsum("tk,twl->wkl", probs, said)
        total = counts.sum(axis=2, keepdims=True)
        tables, prior = np.where(total > 0, counts / np.where(total > 0, total, 1), 0), probs.mean(axis=0)
        joint = np.array([[prior[k] * np.prod(tables[:, k] ** said[t]) for k in range(classes)] for t in range(tasks)])
        seen.append(np.log(joint.sum()))
        probs = joint / joint.sum(axis=1, keepdims=True)
    return probs, seen, tables


@crowds_of
def test_ds_as_peerannot_runs_it(seed, classes):
    given = small(seed, classes)
    probs, seen, confusions = as_peerannot(given)
    found = run("ds", given, compat="peerannot", smoothing=0.0, tol=1e-6, iterations=50, empty_row="zero")
    assert len(found.trace.values) == len(seen) and not found.trace.monotone
    np.testing.assert_allclose(found.trace.values, seen, atol=1e-9)
    np.testing.assert_allclose(found.probs, probs, atol=1e-9)
    np.testing.assert_allclose(found.confusions, confusions, atol=1e-9)
    shown = run("ds", given, compat="peerannot", smoothing=0.0).confusions
    np.testing.assert_allclose(shown.sum(axis=2), 1, atol=1e-9)


def test_large_tables_are_refused_before_they_are_made():
    classes = 3000
    answers = Answers.from_codes(np.arange(9), np.arange(9) % 9, np.arange(9), tasks=Names.numbered(9), workers=Names.numbered(400),
                                 classes=Names.numbered(classes))
    for name in ("ds", "bcc", "cbcc", "hds", "classcond", "fastds", "dswc", "wds"):
        with pytest.raises(Exception, match="GB; use onecoin, wawa or mace"):
            fit(name, answers, **({"clusters": 2} if name == "dswc" else {}))


# --------------------------------------------------------------------------------------------------------- printed values

def in_total(answers, case):
    """Options of a printed case: its tolerance is in total, smoothing is none."""
    return {"tol": case["options"].get("tol", 0.0) / len(answers.tasks), "iterations": case["options"].get("iterations", 300)}


def test_ds_on_the_patients_of_1979():
    answers, expected = golden("ds79_full")
    for case in expected["ds"]:
        if set(case["options"]) - {"tol", "iterations", "smoothing", "start"} or case.get("instead") or case["options"].get("tol") is None:
            continue
        options = in_total(answers, case) | {"smoothing": case["options"].get("smoothing", 0.0)}
        if case["options"].get("start") == "mv":
            options["init"] = "majority"
        if options["smoothing"]:
            continue                                                        # its tolerance is on another objective
        found = fit("ds", answers, **options)
        wanted = case["expect"]
        if "rounds" in wanted:
            assert len(found.trace.values) == wanted["rounds"][0]
        if "loglik.-1" in wanted:
            assert found.trace.values[-1] == pytest.approx(wanted["loglik.-1"][0], abs=max(wanted["loglik.-1"][1], 1e-9))
        if "labels" in wanted:
            assert found.codes.tolist() == wanted["labels"][0]
            expect(case, prior=found.prior, confusions__0=found.confusions[0], probs__6=found.probs[6], probs__34=found.probs[34],
                   probs__37=found.probs[37])
    best = fit("ds", answers, smoothing=0.0, tol=0.0, iterations=300)
    assert best.trace.values[-1] == pytest.approx(-192.8908812142, abs=1e-9)
    assert fit("ds", answers, smoothing=0.0, init="majority", tol=1e-12, iterations=300).trace.values[-1] == pytest.approx(-193.974640, abs=1e-5)
    smoothed = fit("ds", answers, smoothing=.01, tol=1e-13, iterations=500)
    penalty = .01 * np.log(np.maximum(smoothed.confusions, 1e-300)).sum()
    assert smoothed.trace.values[-1] - penalty == pytest.approx(-193.269755, abs=2e-5) and (smoothed.codes == best.codes).all()
    first, expected = golden("ds79_first")
    found = fit("ds", first, smoothing=0.0, tol=1e-10 / 45, iterations=300)
    assert len(found.trace.values) == 22
    expect(expected["ds"][0], loglik__last=found.trace.values[-1], prior=found.prior, labels=found.codes)


def test_relatives_on_the_patients_of_1979():
    answers, expected = golden("ds79_full")
    labels = fit("ds", answers, smoothing=0.0).codes
    found = fit("fastds", answers, smoothing=0.0, iterations=3)
    expect(expected["fastds"][0], loglik=found.trace.values)
    assert (found.codes == labels).all()
    case = expected["onecoin"][0]
    found = fit("onecoin", answers, smoothing=0.0, **in_total(answers, case))
    expect(case, loglik__last=found.trace.values[-1], rounds=len(found.trace.values), skills=found.skill.value, prior=found.prior,
           differ=(found.codes != labels).sum())
    for case in expected["bcc"]:
        prior = {"off": 1.0, "extra": 0.0} if "matrix" in case["options"] else {}
        found = fit("bcc", answers, **in_total(answers, case), **prior)
        assert len(found.trace.values) == case["expect"]["rounds"][0]
        if "prior" in case["expect"]:
            expect(case, trace__last=found.trace.values[-1], prior=found.prior, differ=(found.codes != labels).sum())
    for case, options in zip(expected["classcond"], [{"hits": 1.0, "misses": 1.0}, {"hits": 4.8, "misses": 3.2, "mass": 3.0}], strict=True):
        found = fit("classcond", answers, **in_total(answers, case), **options)
        expect(case, **({"trace__last": found.trace.values[-1]} if "trace.-1" in case["expect"] else {"loglik__last": found.trace.values[-1]}),
               rounds=len(found.trace.values), prior=found.prior, differ=(found.codes != labels).sum(), theta__0=found.confusions[0].diagonal())
    for case in expected["pooled"]:
        errors = {"matrix": "matrix", "diagonal": "diagonal", "one": "coin"}[case["options"]["shape"]]
        found = fit("pooled", answers, smoothing=0.0, errors=errors, **in_total(answers, case))
        expect(case, loglik__last=found.trace.values[-1], rounds=len(found.trace.values), differ=(found.codes != labels).sum())
    for case in expected["flat"]:
        diagonal = case["options"]["shape"] == "diagonal"
        if case["options"].get("pooled"):
            found = fit("pooled", answers, smoothing=0.0, errors="flat_diagonal" if diagonal else "flat", **in_total(answers, case))
        else:
            found = fit("flat", answers, smoothing=0.0, diagonal=diagonal, **in_total(answers, case))
        expect(case, loglik__last=found.trace.values[-1], worst_step=np.diff(found.trace.values).min())


def test_hierarchies_on_the_patients_of_1979():
    answers, expected = golden("ds79_full")
    case = expected["hds"][0]
    found = fit("hds", answers, tol=1e-8 / 45)
    values = found.trace.values
    expect(case, trace__0=values[0], trace__1=values[1], trace__2=values[2], trace__4=values[4], trace__last=values[-1], rounds=len(values),
           prior=found.prior, diagonal=found.confusions[0].diagonal())
    first, more = golden("ds79_first")
    expect(more["hds"][0], trace__last=fit("hds", first, tol=1e-8 / 45).trace.values[-1])
    found = fit("cbcc", answers, iterations=18, tol=0.0)                    # its trace begins one round later
    expect(expected["cbcc"][0], trace__last=found.trace.values[-1])
    assert [note.split()[1] for note in found.skill.note] == ["1", "2", "1", "1", "1"]


def test_ds_on_the_toy():
    answers, expected = golden("toy")
    found = fit("ds", answers, smoothing=0.0, tol=1e-10 / 3)
    expect(expected["ds"][0], labels=found.codes, probs=found.probs, prior=found.prior, loglik__last=found.trace.values[-1],
           rounds=len(found.trace.values))
    wanted = expected["ds"][0]["expect"]
    np.testing.assert_allclose(np.trace(found.confusions, axis1=1, axis2=2), wanted["trace_of_matrices"][0], atol=1e-6)
    zero = fit("ds", answers, smoothing=0.0, tol=1e-10 / 3, empty_row="zero").confusions
    np.testing.assert_allclose(zero.sum(axis=2), [[1, 1], [0, 1], [1, 1], [1, 1]], atol=1e-6)       # worker 1 met no task of class 0
    for tables in (found.confusions, zero):                                 # K (K - 1) is 2
        np.testing.assert_allclose(((tables[:, 0] - tables[:, 1]) ** 2).sum(axis=1) / 2, wanted["spam_score"][0], atol=1e-6)
