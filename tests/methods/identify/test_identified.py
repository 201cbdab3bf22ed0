"""Several scores at once: which are taken, what they are handed, and how a consensus may be named."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from crowds import crowd

import manyvoices as mv
from manyvoices import identification, scoring
from manyvoices.core import registry
from manyvoices.core.errors import BadCall, BadInput, Unknown
from manyvoices.core.names import Names
from manyvoices.core.scores import table
from manyvoices.identification import identified

from .cases import dataset, fit, of_rows, same_bits

OURS = {"accuracy", "another_vote", "difficulty", "entropy", "margin", "skill", "spam_score", "trace", "twothird"}


def taken(found):
    return {score for score in found.column("score") if not score.startswith("spam_or_dissent")}


def test_what_applies_is_taken():
    base = crowd(0, tasks=60)
    assert taken(identified(dataset(base, times=False))) >= OURS and "bias" not in taken(identified(dataset(base, times=False)))
    assert {"speed", "drift"} <= taken(identified(dataset(base)))
    assert "crowdlab" in taken(identified(dataset(base), probs=base.guess))
    assert {"bias", "accuracy"} <= taken(identified(dataset(base, "ordinal")))
    assert taken(identified(dataset(base, "interval"))) == {"another_vote", "bias", "drift", "skill", "speed"}
    multi = identified(dataset(base, "multilabel"))
    assert len(multi) == 1 and multi.note[0].startswith("not defined because one answer may hold several labels")


def test_methods_options_and_spellings():
    base = crowd(0, tasks=60)
    data = dataset(base)
    found = identified(data, "trace_confusion[empty_row=zero],entropies,TwoThird")
    assert list(dict.fromkeys(found.score)) == ["trace", "entropy", "twothird"]
    same_bits(identified(data, mv.methods.identify.entropy), identified(data, "entropy"))
    same_bits(mv.identify(data, "skill"), identified(data, "skill"))
    with pytest.raises(Unknown, match="no option of identify skill called 'empty_row'"):
        identified(data, "skill", empty_row="zero")
    with pytest.raises(Unknown, match="Did you mean 'entropy'"):
        identified(data, "entrop")
    with pytest.raises(BadInput, match="items but no answers"):
        identified(replace(data, answers=None))


def test_a_fit_is_made_once(monkeypatch):
    made = []
    find = registry.find
    monkeypatch.setattr(registry, "find", lambda job, name: made.append(name) if job == "aggregate" and made.append(name) else find(job, name))
    identified(dataset(crowd(0, tasks=60)), ",".join(sorted(OURS)))
    assert sorted(made) == ["bcc", "ds", "glad"]


@pytest.mark.parametrize("scale, method", [("nominal", "bcc"), ("ordinal", "bcc"), ("interval", "ordinal")])
def test_the_usual_consensus(scale, method):
    data = dataset(crowd(0, tasks=60), scale)
    same_bits(identified(data, "skill"), identified(data, "skill", consensus=method))
    same_bits(identified(data, "another_vote"), identified(data, "another_vote", consensus=mv.aggregate(data.answers, method)))


def test_spellings_of_a_consensus(tmp_path):
    """A method, a function, a fit, a folder it was saved in, labels as a file, a frame, a mapping, codes or probabilities."""
    base = crowd(1, tasks=60)
    data = dataset(base)
    fitted = mv.aggregate(data.answers, "ds", smoothing=.5)
    one = identified(data, "margin", consensus="ds[smoothing=0.5]")
    fitted.save(tmp_path / "fit")
    for given in (fitted, tmp_path / "fit", str(tmp_path / "fit")):
        same_bits(identified(data, "margin", consensus=given), one)
    same_bits(identified(data, "margin", consensus=mv.methods.aggregate.mv), identified(data, "margin", consensus="MajorityVote"))
    codes = fitted.codes
    names = [str(k) for k in codes]
    table = pl.DataFrame({"task": [str(t) for t in range(60)], "label": names})
    table.write_csv(tmp_path / "labels.csv")
    want = identified(data, "accuracy", consensus=codes)
    np.testing.assert_allclose(want.value, np.bincount(base.worker, base.label == codes[base.task]) / np.bincount(base.worker))
    for given in (tmp_path / "labels.csv", str(tmp_path / "labels.csv"), table,
                  dict(zip(table["task"], names, strict=True)), np.eye(3)[codes]):
        same_bits(identified(data, "accuracy", consensus=given), want)
    soft = table.select("task").with_columns(**{f"p:{k}": fitted.probs[:, k] for k in range(3)})
    same_bits(identified(data, "accuracy", consensus=soft), identified(data, "accuracy", consensus=np.array(fitted.probs)))
    np.testing.assert_allclose(identified(data, "margin", consensus=np.array(fitted.probs)).value, one.value, atol=1e-9)


def test_a_table_about_some_of_the_tasks():
    base = crowd(1, tasks=60)
    data = dataset(base)
    labels = {str(t): str(base.truth[t]) for t in range(0, 60, 2)}
    known = base.task % 2 == 0
    found = identified(data, "accuracy", consensus=labels)
    right = (base.label == base.truth[base.task]) & known
    np.testing.assert_allclose(found.value, np.bincount(base.worker, right) / np.bincount(base.worker, known))
    found = identified(data, "margin,trace,skill", consensus=labels)
    lead = found.where(np.array(found.score) == "margin")
    assert np.isnan(lead.value[1::2]).all() and "have none for this task" in lead.note[1] and (lead.value[::2] == 1).all()
    tables = np.zeros((8, 3, 3))
    np.add.at(tables, (base.worker[known], base.truth[base.task[known]], base.label[known]), 1)
    tables /= np.maximum(tables.sum(axis=2, keepdims=True), 1e-9)
    assert found.where(np.array(found.score) == "trace").value == pytest.approx(np.einsum("wkk->w", tables))


def test_a_fit_of_other_answers():
    """By name where the classes are the same, as labels where they are not; workers nobody shares are no hindrance."""
    base = crowd(1, tasks=60)
    data = dataset(base)
    half = mv.aggregate(data.answers.take(base.task < 30), "bcc")
    other = replace(half, workers=Names.numbered(9))
    found = identified(data, "accuracy", consensus=other)
    assert set(found.note) == {"against the labels given"}


@pytest.mark.parametrize("given, error, text", [
    ("dss", Unknown, "--consensus dss: no such file, and no aggregate method called 'dss'"),
    ("ds,mv", BadCall, "one method, please; it names 2"),
    ("labels.csv", Unknown, "no such file"),
    ({"0": "seven"}, BadInput, "consensus label 'seven' of task '0' is not a class"),
    ({"x": "1"}, BadInput, "no task of the consensus has answers"),
    (np.ones((2, 2)), BadInput, "probabilities of shape"),
    (np.ones((60, 3)), BadInput, "numbers from 0 that sum to 1"),
    ("crowdlab", BadCall, "crowdlab needs probs: give --probs FILE"),
    ("mean", BadInput, "mean needs ordered labels"),
])
def test_a_consensus_that_is_none(given, error, text):
    with pytest.raises(error, match=text):
        identified(dataset(crowd(1, tasks=60)), "skill", consensus=given)


def test_no_labels_for_numbers():
    with pytest.raises(BadInput, match="cannot be the consensus of numbers"):
        identified(dataset(crowd(1), "interval"), "skill", consensus={"0": "1"})


def test_consensus_without_skills():
    found = identified(dataset(crowd(1), "interval"), "skill", consensus="mean")
    assert found.note == ["not defined because this consensus gives no skills; name another with --consensus METHOD"]
    found = identified(dataset(crowd(1)), "skill", consensus="mv")
    assert np.isfinite(found.value).all() and "equal the consensus" in found.note[0]


def test_crowdlab_with_probabilities():
    base = crowd(2, tasks=60)
    found = fit("crowdlab", dataset(base), base)
    fitted = mv.aggregate(base.answers(), "crowdlab", probs=base.guess)
    np.testing.assert_allclose(found.value[:8], fitted.skill.value)
    np.testing.assert_allclose(found.value[8:], fitted.probs.max(axis=1))
    with pytest.raises(BadCall, match="crowdlab needs probs"):
        identified(dataset(base), "crowdlab")


def test_gold_goes_into_the_fit():
    base = crowd(2, tasks=60)
    gold = np.where(np.arange(60) < 40, (base.truth + 1) % 3, -1)                      # wrong on purpose
    data = dataset(base)
    one, two = identified(data, "margin"), identified(data, "margin", gold=gold)
    assert not np.allclose(one.value, two.value) and (two.value[:40] == 1).all()
    assert identified(data, "accuracy", gold=gold).value.max() < .4


def test_gold_and_probs_say_nothing_about_numbers(caplog):
    caplog.set_level("INFO", "manyvoices")
    base = crowd(2)
    same_bits(identified(dataset(base, "interval"), "bias", gold=base.gold), identified(dataset(base, "interval"), "bias"))
    assert "gold is about classes and these labels are numbers: not used" in caplog.text


def test_truth_of_some_tasks():
    base = crowd(2, tasks=60)
    some = replace(base, truth=np.where(np.arange(60) < 5, base.truth, -1))
    found = identified(dataset(some, truth=True), "accuracy")
    assert found.n.tolist() == np.bincount(base.worker, base.task < 5, minlength=8).astype(int).tolist()
    none = replace(base, truth=np.full(60, -1))
    assert "consensus" in identified(dataset(none, truth=True), "accuracy").note[0]
    given = identified(dataset(none), "accuracy", truth={str(t): str(k) for t, k in enumerate(base.truth)})
    assert set(given.note) == {"against the truth"}


@pytest.mark.parametrize("against, text", [("truth", "no truth in the data"), ("gold", "give --gold FILE")])
def test_a_yardstick_that_is_not_there(against, text):
    with pytest.raises(BadCall, match=text):
        identified(dataset(crowd(0)), "accuracy", against=against)


@pytest.mark.parametrize("fast", [0, 1, -.5, float("nan")])
def test_senseless_speeds(fast):
    with pytest.raises(BadCall, match="fast is"):
        identified(dataset(crowd(0)), "speed", fast=fast)


def test_times_need_as_many_rows_as_answers():
    data = dataset(crowd(0))
    with pytest.raises(mv.ManyVoicesError, match="39 times for"):
        identified(replace(data, notes=data.notes[:39]), "speed")


def test_equal_answers_with_other_times_in_any_order(tmp_path):
    """A worker gives the same answer to a task three times: which time stands first in the file does not show."""
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({"task": np.arange(20).repeat(12), "worker": np.tile(np.arange(4).repeat(3), 20), "label": 1,
                         "seconds": rng.exponential(5, 240), "when": rng.permutation(240)})
    seen = []
    for seed in range(2):
        rows.sample(fraction=1, shuffle=True, seed=seed).write_csv(tmp_path / f"{seed}.csv")
        seen.append(identified(mv.read(tmp_path / f"{seed}.csv"), "speed,drift"))
    same_bits(*seen)


def test_summary_names_those_of_whom_much_is_known():
    """Not the lowest value on two answers, but the lowest upper end."""
    found = table("accuracy", of=["worker"] * 6, names=list("abcdef"), value=np.array([0, .4, .5, .8, .9, 1]), low=np.array([0, .3, .4, .7, .8, .2]),
                  high=np.array([.9, .5, .6, .85, .95, 1]), n=np.array([2, 90, 90, 90, 90, 1]), note=["no information seen in 9 answers (x)"] + ["fine"] * 5)
    assert scoring.summary(found).splitlines() == [
        "accuracy: 6 rows of worker, median 0.65",
        "  surely low   b 0.4 [0.3, 0.5] on 90, c 0.5 [0.4, 0.6] on 90",
        "  surely high  e 0.9 [0.8, 0.95] on 90, d 0.8 [0.7, 0.85] on 90",
        "  5 fine: b, c, d, e, f",
        "  1 no information seen in ... answers: a"]


def test_summary_is_sure_of_nobody_whose_interval_holds_the_median():
    wide = table("skill", of=["worker"] * 4, names=list("abcd"), value=np.array([.2, .4, .6, .9]), low=np.zeros(4), high=np.ones(4), n=np.full(4, 2), note=[""] * 4)
    assert scoring.summary(wide).splitlines() == ["skill: 4 rows of worker, median 0.5"]
    none = table("skill", of=["worker"] * 4, names=list("abcd"), value=np.array([.2, .4, .6, .9]), n=np.full(4, 2), note=["no interval"] * 4)
    assert scoring.summary(none).splitlines()[1:] == ["  lowest       a 0.2 on 2, b 0.4 on 2", "  highest      d 0.9 on 2, c 0.6 on 2"]


def test_summary_names_the_lowest_and_the_highest():
    made, data = of_rows([(t, w, 0 if w < 2 else t % 2) for t in range(9) for w in range(3)], "nominal", tasks=9)
    lines = scoring.summary(fit("entropy", data, made)).splitlines()
    assert lines[0].startswith("entropy: 9 rows of task, median 0") and lines[1].startswith("  surely high  1 0.637 [")
    lines = scoring.summary(fit("skill", data, made)).splitlines()
    assert lines[0].startswith("skill: 3 rows of worker") and len(lines) <= 3
    assert scoring.summary(fit("entropy", data, made).where(slice(0, 1))).splitlines()[1] == "               0 0 [0, 0.693] on 3"
    same, data_ = of_rows([(t, w, 0) for t in range(3) for w in range(3)], "nominal")
    assert scoring.summary(fit("entropy", data_, same)) == "entropy: 3 rows of task, median 0, all alike"
    none = scoring.summary(identified(data, "bias"))
    assert "not defined because the classes have no order" in none


def test_gates_are_about_every_row():
    found = identified(dataset(crowd(0, skill=(.5, .6))), "skill")
    said = scoring.failed("identify", found, {"min-skill": .99})
    assert len(said) == 8 and said[0].startswith("skill of 0 is 0.") and "below --min-skill 0.99" in said[0]
    assert scoring.failed("identify", found, {"min-skill": 0}) == []


def test_methods_with_the_name_of_a_fit_are_known():
    """What a score asks for by name is either made here or the name of an aggregation method."""
    made = {"answers", "items", "labels", "consensus", "table", "truth", "gold", "probs", *identification.TIMES, *registry.names("aggregate")}
    for name in registry.names("identify"):
        assert set(registry.about("identify", name).data) <= made, name
