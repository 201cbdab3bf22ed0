"""Mean, median and ordinal: ordered classes and numbers."""

from dataclasses import replace

import numpy as np
import pytest
import references
from crowds import crowd, run
from test_references import GOLDEN

from manyvoices import api
from manyvoices.core.answers import Answers
from manyvoices.core.errors import BadInput
from manyvoices.core.names import Names

DATA = GOLDEN["interval"]
ROWS = DATA["answers"]


def numbers(rows, scale="interval", classes=()):
    task, worker, value = (np.array(column) for column in zip(*rows, strict=True))
    return Answers.from_codes(task, worker, value.astype(float) if scale == "interval" else value, tasks=Names.numbered(task.max() + 1),
                              workers=Names.numbered(worker.max() + 1), classes=Names(list(classes)), scale=scale)


@pytest.mark.parametrize("seed", range(3))
def test_mean_and_median_of_numbers(seed):
    given = crowd(seed, repeats=True)
    means, medians = run("mean", given, "interval"), run("median", given, "interval")
    within = []
    for t in range(given.sizes[0]):
        own = given.value[given.task == t]
        assert means.value[t] == pytest.approx(own.mean(), abs=1e-12) and medians.value[t] == np.median(own)
        within += list(own - own.mean())
    noise = np.sqrt(np.sum(np.square(within)) / (len(given.value) - given.sizes[0]))
    n = means.n
    np.testing.assert_allclose(means.high - means.value, 1.959963984540054 * noise / np.sqrt(n))
    np.testing.assert_allclose(medians.value - medians.low, 1.959963984540054 * 1.2533 * noise / np.sqrt(n))


@pytest.mark.parametrize("seed", range(3))
def test_mean_and_median_of_classes(seed):
    given = crowd(seed, classes=5, repeats=True, skill=(.2, .9))
    means, medians = run("mean", given, "ordinal").codes, run("median", given, "ordinal").codes
    for t in range(given.sizes[0]):
        own = np.sort(given.label[given.task == t])
        assert medians[t] == own[(len(own) - 1) // 2]                       # the lower one of two
        assert means[t] == int(np.ceil(own.mean() - .5 - 1e-12))            # halves go down


def test_tasks_without_answers_get_the_mean_of_all():
    answers = numbers([(0, 0, 1.0), (0, 1, 3.0), (2, 0, 5.0), (2, 1, 5.0)])
    for name in ("mean", "median"):
        found = api.aggregate(answers, name)
        assert found.value.tolist() == [2, 3.5, 5] and np.isnan(found.low[1]) and found.table()["task"].to_list() == ["0", "2"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scale", ["yes", "no"])
def test_ordinal_of_numbers_like_plain_loops(scale, seed):
    given = crowd(seed, tasks=16, workers=4, share=.8)
    rows = list(zip(given.task.tolist(), given.worker.tolist(), given.value.tolist(), strict=True))
    want = references.interval(rows, *given.sizes, scale=scale == "yes", unit=1.0, iterations=19)
    found = run("ordinal", given, "interval", free_scale=scale, unit=1.0, iterations=20, tol=0.0)
    if scale == "no":                                                       # the reference takes no part of a prior of scales it does not fit
        assert len(found.trace.values) == 20
    shift = found.trace.values[0] - want["trace"][0]
    np.testing.assert_allclose(found.trace.values, np.array(want["trace"]) + shift, rtol=1e-8)
    assert shift == pytest.approx(0, abs=1e-8)
    np.testing.assert_allclose(found.value, want["value"], atol=1e-8)
    np.testing.assert_allclose(found.channel.scale, want["scale"], atol=1e-8)
    np.testing.assert_allclose(found.channel.bias, want["bias"], atol=1e-8)
    np.testing.assert_allclose(found.channel.noise ** 2, want["noise"], atol=1e-8)
    assert (np.diff(found.trace.values) >= -1e-8 * abs(found.trace.values[-1])).all()


def test_ordinal_of_numbers_printed():
    free, fixed = (api.aggregate(numbers(ROWS), "ordinal", free_scale=s, unit=1.0, tol=1e-10 / 4, iterations=5000) for s in ("yes", "no"))
    (_, plain, scaled) = DATA["expected"]["interval"]
    assert fixed.trace.values[0] == pytest.approx(-20.250985, abs=1e-5) and fixed.trace.values[1] == pytest.approx(-5.584511, abs=1e-5)
    assert len(fixed.trace.values) - 1 == plain["expect"]["rounds"][0] and len(free.trace.values) - 1 == scaled["expect"]["rounds"][0]
    assert fixed.trace.values[-1] == pytest.approx(-2.407865, abs=1e-5) and free.trace.values[-1] == pytest.approx(-2.042467, abs=1e-5)
    np.testing.assert_allclose(fixed.channel.bias, plain["expect"]["bias"][0], atol=1e-5)
    np.testing.assert_allclose(fixed.value, plain["expect"]["value"][0], atol=1e-5)
    np.testing.assert_allclose(free.channel.scale, scaled["expect"]["scale"][0], atol=1e-3)


def test_ordinal_finds_bias_scale_and_noise():
    rng = np.random.default_rng(0)
    z = rng.normal(3, 2, 300)
    bias, scale, noise = np.array([0, 1.0, -1.0, 0, 0]), np.array([1, 1, 1, 1.0, 1]), np.array([.3, .3, .3, .3, 2.5])
    rows = [(t, w, bias[w] + scale[w] * z[t] + noise[w] * rng.normal()) for t in range(300) for w in range(5)]
    found = api.aggregate(numbers(rows), "ordinal", free_scale="no", iterations=2000)
    off = np.abs(found.channel.bias - found.channel.bias[0] - bias)
    assert (off < 4 * np.sqrt(.3**2 + noise**2) / np.sqrt(300)).all()
    np.testing.assert_allclose(found.channel.noise, noise, atol=.25)
    assert np.corrcoef(found.value, z)[0, 1] > .99 and found.skill.value.argmin() == 4
    assert np.mean((found.low <= z - z.mean() + found.value.mean()) & (z - z.mean() + found.value.mean() <= found.high)) > .9
    shifted = api.aggregate(numbers([(t, w, 10 * y + 70) for t, w, y in rows]), "ordinal", free_scale="no", iterations=2000)
    np.testing.assert_allclose(shifted.value, 10 * found.value + 70, atol=1e-3)      # the unit of the labels is no matter


@pytest.mark.parametrize("far", [1e6, 1.7e9])
def test_numbers_far_from_nothing(far):
    """Seconds since 1970 have squares that swallow what they differ by."""
    rng = np.random.default_rng(0)
    z, noise = rng.normal(0, 2, 100), np.array([.3, .3, .3, 2.0])
    rows = [(t, w, z[t] + noise[w] * rng.normal()) for t in range(100) for w in range(4)]
    near, moved = (api.aggregate(numbers([(t, w, y + shift) for t, w, y in rows]), "ordinal", **more)
                   for shift, more in ((0.0, {"free_scale": "no"}), (far, {})))
    np.testing.assert_allclose(moved.value - far, near.value, atol=1e-4)
    np.testing.assert_allclose(moved.channel.noise, near.channel.noise, rtol=1e-4)
    assert (np.diff(moved.trace.values) >= -1e-6).all() and moved.skill.value.argmin() == 3
    assert np.abs(moved.says(np.array([0]), np.array([1]))[0, 0] - far - z[0]) < 1


def test_auto_scale_counts_the_workers_who_answered():
    given = crowd(1, tasks=30, workers=3, share=1.0)
    wide = replace(given, sizes=(30, 9, 3))
    auto, free = run("ordinal", wide, "interval"), run("ordinal", wide, "interval", free_scale="yes")
    assert auto.trace.values == free.trace.values and run("ordinal", given.only(given.task < 15), "interval").channel.scale.tolist() == [1, 1, 1]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("scale", ["no", "yes"])
def test_ordinal_of_classes_like_plain_loops(seed, scale):
    """The reference climbs the whole height at once; both end at the same top."""
    given = crowd(seed, tasks=12, workers=3, classes=3, share=.9)
    want = references.ordered(given.rows(), *given.sizes, scale=scale == "yes")
    found = run("ordinal", given, "ordinal", free_scale=scale, tol=1e-12, iterations=3000)
    assert found.trace.values[0] == pytest.approx(want["trace"][0], abs=1e-8)
    assert found.trace.values[-1] == pytest.approx(want["trace"][-1], abs=2e-5)
    np.testing.assert_allclose(found.channel.mean, want["value"], atol=2e-2)
    np.testing.assert_allclose(found.channel.thresholds, want["thresholds"], atol=2e-2)
    assert (np.diff(found.trace.values) >= -1e-8 * np.abs(found.trace.values[1:])).all()


def test_ordinal_of_classes_printed():
    data = GOLDEN["ordered"]
    answers = numbers(data["answers"], "ordinal", ["0", "1", "2"])
    found = api.aggregate(answers, "ordinal", tol=1e-12, iterations=2000)
    wanted = next(case for case in data["expected"]["ordered"] if not case["options"])["expect"]
    assert found.trace.values[0] == pytest.approx(wanted["trace.0"][0], abs=1e-5)
    assert found.trace.values[-1] == pytest.approx(wanted["trace.-1"][0], abs=1e-5)
    np.testing.assert_allclose(found.channel.thresholds, wanted["thresholds"][0], atol=2e-3)
    np.testing.assert_allclose(found.channel.bias, wanted["bias"][0], atol=2e-3)
    np.testing.assert_allclose(found.channel.noise, wanted["noise"][0], atol=2e-3)
    np.testing.assert_allclose(found.channel.mean, wanted["value"][0], atol=2e-3)


def test_the_rule_of_the_mean():
    given = crowd(3, tasks=60, workers=5, classes=5, share=.5, skill=(.2, .7))
    mode, mean = run("ordinal", given, "ordinal"), run("ordinal", given, "ordinal", rule="mean")
    np.testing.assert_array_equal(mode.probs, mean.probs)
    assert (mean.codes == np.searchsorted(mean.channel.thresholds, mean.channel.mean)).all() and (mode.codes == mode.probs.argmax(axis=1)).all()
    assert (mode.codes != mean.codes).any()


def test_methods_for_other_scales_refuse():
    given = crowd(0)
    with pytest.raises(BadInput, match="mean needs ordered labels, and these are nominal"):
        api.aggregate(given.answers(), "mean")
    with pytest.raises(BadInput, match="ds needs classes, and these labels are numbers"):
        api.aggregate(given.answers("interval"), "ds")
