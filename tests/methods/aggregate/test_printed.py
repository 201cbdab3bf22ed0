"""Printed values that the other tests leave out, on the methods themselves."""

import numpy as np
import pytest
from crowds import crowd, fit
from test_dawid_skene import golden
from test_references import GOLDEN

from manyvoices import api
from manyvoices.core import registry
from manyvoices.core.answers import Answers
from manyvoices.core.names import Names

NEAR = {"rtol": 0, "atol": 6e-5}
TOTAL = 1e-10 / 45                                                          # printed tolerances are in total, not per task
GIVEN = crowd(0)



def best() -> np.ndarray:
    return fit("ds", golden("ds79_full")[0], GIVEN, smoothing=0.0, tol=TOTAL, iterations=300).codes


def test_the_tables_themselves():
    for name, totals in (("ds79_full", [127, 125, 48, 15]), ("ds79_first", [94, 84, 34, 13])):
        assert golden(name)[0].counts().sum(axis=0).tolist() == totals
    votes = golden("ds79_first")[0].counts()
    tied = np.flatnonzero((votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1)
    assert tied.tolist() == [3] and votes[3].tolist() == [2, 2, 1, 0]


def test_ds_is_certain_but_of_three_patients():
    found = fit("ds", golden("ds79_full")[0], GIVEN, smoothing=0.0, tol=TOTAL, iterations=300)
    assert np.flatnonzero(found.probs.max(axis=1) < .99).tolist() == [6, 34, 37]


def test_ds_smoothed_by_one():
    found = fit("ds", golden("ds79_full")[0], GIVEN, smoothing=1.0, tol=1e-14, iterations=900)
    penalty = np.log(found.confusions).sum()
    assert found.trace.values[-1] - penalty == pytest.approx(-220.367926, abs=2e-6) and (found.codes != best()).sum() == 5


def test_ds_with_patient_7_as_another_transcription_has_it():
    data = GOLDEN["ds79_full"]
    rows = [list(row) for row in data["answers"]]
    rows[rows.index([6, 0, 1])] = [6, 0, 0]
    answers = Answers.from_codes(*np.array(rows).T, tasks=Names.numbered(45), workers=Names.numbered(5), classes=Names.numbered(4))
    found = fit("ds", answers, GIVEN, smoothing=0.0, tol=TOTAL, iterations=300)
    assert found.trace.values[-1] == pytest.approx(-190.730997, abs=6e-7) and len(found.trace.values) == 26
    np.testing.assert_allclose(found.prior, [.4000, .4216, .1118, .0667], **NEAR)
    assert found.confusions[0, 0, 0] == pytest.approx(.9074, abs=6e-5) and found.probs[6, 0] == pytest.approx(.9998, abs=6e-5)
    assert (found.codes == best()).all()


def test_pooled_tables():
    answers = golden("ds79_full")[0]
    matrix, diagonal, coin = (fit("pooled", answers, GIVEN, smoothing=0.0, errors=e, tol=TOTAL, iterations=300) for e in ("matrix", "diagonal", "coin"))
    np.testing.assert_allclose(matrix.prior, [.4017, .4267, .1493, .0222], **NEAR)
    np.testing.assert_allclose(matrix.confusions[0, 0], [.9181, .0819, 0, 0], **NEAR)
    np.testing.assert_allclose(diagonal.confusions[3].diagonal(), [.9343, .7786, .6974, 1], **NEAR)
    np.testing.assert_allclose(coin.confusions[4].diagonal(), [.8339] * 4, **NEAR)


def test_classcond_posterior():
    found = fit("classcond", golden("ds79_full")[0], GIVEN, hits=4.8, misses=3.2, mass=3.0, tol=TOTAL, iterations=300)
    theta = found.confusions[:, range(4), range(4)]
    prior = 2 * np.log(found.prior).sum() + 3.8 * np.log(theta).sum() + 2.2 * np.log(1 - theta).sum()
    assert found.trace.values[-1] - prior == pytest.approx(-235.062216, abs=2e-5)


def test_communities():
    found = fit("cbcc", golden("ds79_full")[0], GIVEN, iterations=18, tol=0.0)
    shares = [float(note.split("(")[1].rstrip(")")) for note in found.skill.note]
    np.testing.assert_allclose(shares, [.996, .565, .779, .916, .807], rtol=0, atol=.0055)     # of the likeliest one, to two places


def test_habits_of_the_population():
    """A worker without answers shows the estimated habits."""
    full = golden("ds79_full")[0]
    answers = Answers.from_codes(*full.rows(), tasks=full.tasks, workers=Names.numbered(6), classes=full.classes, count=full.repeated())
    found = fit("hds", answers, GIVEN, tol=1e-8 / 45)
    habits = np.array([[3.0310, .4729, .0873, .0873], [.9030, 4.2198, 1.1019, .1089], [.1673, .9505, 2.8616, .9157], [.2767, .2768, 1.3516, 2.5648]])
    np.testing.assert_allclose(found.confusions[5], habits / habits.sum(axis=1, keepdims=True), **NEAR)
    said = found.says(np.arange(45), np.full(45, -1))                       # so does one nobody has seen
    np.testing.assert_allclose(said, found.probs @ found.confusions[5], atol=1e-12)
    assert len(found.trace.values) == 89 and (found.codes != best()).sum() == 1
    fixed = fit("hds", full, GIVEN, learn_prior=False, tol=TOTAL, iterations=300)
    assert fixed.trace.values[-1] == pytest.approx(-247.489144, abs=6e-7)
    assert len(fit("hds", golden("ds79_first")[0], GIVEN, tol=1e-8 / 45).trace.values) == 77


def test_fastds_settles_in_a_round():
    one, two = (fit("fastds", golden("ds79_full")[0], GIVEN, smoothing=0.0, iterations=n) for n in (1, 2))
    assert (one.codes == two.codes).all() and (one.codes == best()).all()


def test_plantnet_on_the_toy():
    found = fit("plantnet", golden("toy")[0], GIVEN, iterations=2)
    np.testing.assert_allclose(found.probs.max(axis=1), [.75, 2 / 3, 1], atol=1e-12)
    for theta, valid in ((2.2258, True), (2.2259, False)):                  # 3 log 2.1 = 2.225812
        assert (fit("plantnet", golden("toy")[0], GIVEN, iterations=2, theta_conf=theta).codes[0] == 1) == valid


def numbers(rows, scale, classes=()):
    task, worker, value = (np.array(column) for column in zip(*rows, strict=True))
    return Answers.from_codes(task, worker, value.astype(float) if scale == "interval" else value, tasks=Names.numbered(4), workers=Names.numbered(3),
                              classes=Names(list(classes)), scale=scale)


def test_one_step_on_numbers():
    registry.find("aggregate", "ordinal")
    from manyvoices.methods.aggregate import _line

    answers = numbers(GOLDEN["interval"]["answers"], "interval")
    params = _line.Params(np.array([0, .5, -.5]), np.array([1, 1.2, .8]), np.array([.25, .5, 1]), 2.5, 2.0)
    found = answers.fold(_line.beliefs, params)
    np.testing.assert_allclose(found.mean, [1.203242, 2.771003, 2.100998, 4.594763], rtol=0, atol=6e-7)
    np.testing.assert_allclose(found.var, [.124688, .135501, .124688, .124688], rtol=0, atol=6e-7)
    assert answers.fold(_line.step, params).evidence == pytest.approx(-14.334471, abs=6e-7)


def test_fits_on_numbers():
    answers = numbers(GOLDEN["interval"]["answers"], "interval")
    fixed, free = (api.aggregate(answers, "ordinal", free_scale=s, unit=1.0, tol=1e-10 / 4, iterations=5000) for s in ("no", "yes"))
    np.testing.assert_allclose(fixed.channel.noise**2, [.131943, .121240, .125653], rtol=0, atol=2e-6)
    np.testing.assert_allclose(fixed.channel.var, [.041060, .060990, .041060, .041060], rtol=0, atol=2e-6)
    np.testing.assert_allclose(fixed.high - fixed.value, 1.96 * np.sqrt([.041060, .060990, .041060, .041060]), rtol=0, atol=2e-5)
    mean, var = fixed.channel.mean, fixed.channel.var                       # of all tasks, as the last step estimates them
    assert mean.mean() == pytest.approx(2.766748, abs=2e-6) and (var + (mean - mean.mean()) ** 2).mean() == pytest.approx(1.757295, abs=2e-6)
    np.testing.assert_allclose(free.channel.bias, [-.2340, .7587, -.5267], rtol=0, atol=1e-3)
    np.testing.assert_allclose(free.value, [1.2090, 2.9042, 2.1867, 4.8052], rtol=0, atol=1e-3)


def test_one_step_on_ordered_classes():
    registry.find("aggregate", "ordinal")
    from manyvoices.methods.aggregate import _steps

    answers = numbers(GOLDEN["ordered"]["answers"], "ordinal", "012")
    layout = _steps.Layout(3, 3, False)
    x = np.array([-.5, 0, 0, .3, -.3, *np.log([.5, 1, 1])])                 # first threshold, log gap, biases, log noises
    params = _steps.Params(layout.log_tables(x), x)
    assert answers.fold(_steps.step, params).evidence == pytest.approx(-10.708958, abs=6e-7)
    found = answers.fold(_steps.beliefs, params)
    np.testing.assert_allclose(found.mean, [-.837593, .221868, 1.128375, -.896513], rtol=0, atol=6e-7)
    np.testing.assert_allclose(found.var, [.236045, .181675, .398459, .253366], rtol=0, atol=6e-7)
    np.testing.assert_allclose(_steps.between(np.array([-.5, .5]), found), [[.756428, .240621, .002951], [.045171, .697801, .257028],
                                                                            [.004945, .154810, .840246], [.784576, .212659, .002765]], rtol=0, atol=6e-7)
