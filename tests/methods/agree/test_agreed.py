"""Several coefficients at once: which are taken, groups, gates."""

import numpy as np
import polars as pl
import pytest
from crowds import crowd

import manyvoices as mv
from manyvoices.agreement import agreed
from manyvoices.core.errors import BadCall, BadInput, ManyVoicesError, Unknown
from manyvoices.engines.disk import stored
from manyvoices.scoring import failed as failed_
from manyvoices.scoring import summary


def failed(scores, gates):
    return failed_("agree", scores, gates)


@pytest.fixture
def data(tmp_path):
    """Forty tasks in two batches: workers of batch a agree, those of b draw."""
    base, rng = crowd(0, skill=(.9, 1)), np.random.default_rng(0)
    batch = np.where(base.task < 20, "a", "b")
    label = np.where(batch == "a", base.label, rng.integers(3, size=len(base.label)))
    pl.DataFrame({"task": base.task, "worker": base.worker, "label": label, "batch": batch}).write_csv(tmp_path / "answers.csv")
    pl.DataFrame({"task": range(40), "text": "x", "topic": ["odd" if t % 2 else "even" for t in range(39)] + [None]}).write_csv(tmp_path / "items.csv")
    pl.DataFrame({"worker": range(8), "team": ["red"] * 4 + ["blue"] * 4}).write_csv(tmp_path / "workers.csv")
    return mv.read(tmp_path)


def test_what_suits_the_scale():
    base = crowd(0)
    assert set(agreed(base.answers()).score) == {"alpha", "bennett", "cohen", "conger", "fleiss", "gwet", "percent", "scott"}
    assert set(agreed(base.answers("ordinal")).score) == {"alpha", "bennett", "cohen", "conger", "fleiss", "gwet", "icc", "percent", "scott"}
    assert set(agreed(base.answers("interval")).score) == {"alpha", "icc"}


def test_methods_and_options():
    answers = crowd(0).answers("ordinal")
    one = agreed(answers, "alpha[metric=interval],kappa,AC2", bootstrap=20, weights="linear", pairs=True)
    assert list(dict.fromkeys(one.score)) == ["alpha", "cohen", "gwet"] and "pair" in one.of
    assert "metric: interval" in one.note[0]
    both = one.to_polars().filter(pl.col("of") == "dataset")["note"].to_list()
    assert "weights: linear" in both[1] and "weights: quadratic" in both[2]         # what stands in brackets is nearer
    assert agreed(answers, mv.methods.agree.fleiss).score[0] == "fleiss"
    with pytest.raises(Unknown, match="no option of agree fleiss called 'metrik'"):
        agreed(answers, "fleiss", metrik="nominal")
    with pytest.raises(Unknown, match="Did you mean 'fleiss'"):
        agreed(answers, "fleis")


@pytest.mark.parametrize("column, groups", [("batch", ["a", "b"]), ("topic", ["even", "odd"]), ("team", ["blue", "red"])])
def test_groups(data, column, groups):
    found = agreed(data, "alpha,percent", by=column).to_polars().filter(pl.col("of") == "dataset")
    assert found["group"].to_list() == ["", "", *[g for g in groups for _ in range(2)]]
    task, worker, _ = data.answers.rows()
    where = {"batch": task < 20, "topic": task % 2 == 0, "team": worker >= 4}[column]
    if column == "topic":
        where &= task < 39
    alone = mv.methods.agree.alpha(data.answers.take(where))
    assert found["value"][2] == alone.value[0] and found["low"][2] == alone.low[0] and found["n"][2] == alone.n[0]
    if column == "batch":
        assert found["value"][2] > .7 > .2 > found["value"][4]


def test_answers_without_a_group_are_told(data, caplog):
    caplog.set_level("INFO", "manyvoices")
    agreed(data, "alpha", by="topic")
    n = int((data.answers.rows()[0] == 39).sum())
    assert f"{n} answers have no topic and are in no group" in caplog.text


def test_columns_nobody_knows(data):
    with pytest.raises(Unknown, match="no column to group by called 'bach'"):
        agreed(data, by="bach")
    with pytest.raises(Unknown, match="Known: none"):
        agreed(data.answers, by="batch")
    with pytest.raises(ManyVoicesError, match="not in memory"):
        agreed(stored(data.answers), by="batch")


def test_too_many_groups(tmp_path):
    pl.DataFrame({"task": range(1200), "worker": 0, "label": "x", "note": range(1200)}).write_csv(tmp_path / "answers.csv")
    with pytest.raises(BadCall, match="1200 groups; expected at most 1,000"):
        agreed(mv.read(tmp_path), by="note")


def test_gates(data):
    found = agreed(data, "alpha,percent", by="batch")
    assert failed(found, {}) == [] and failed(found, {"min_percent": 0.1, "max_alpha": 1}) == []
    said = failed(found, {"min_alpha": 0.6})
    assert len(said) == 2 and said[0].startswith("alpha is 0.") and said[1].startswith("alpha of b is ") and "below --min-alpha 0.6" in said[1]
    assert "above --max-percent 0.5" in failed(found, {"max-percent": 0.5})[0]
    assert [line.replace("krippendorff", "alpha") for line in failed(found, {"min_krippendorff": 0.6})] == said  # other spellings of the score


def test_a_gate_on_what_is_not_defined_fails():
    found = agreed(crowd(0).answers("interval"), "fleiss")
    assert failed(found, {"min_fleiss": 0}) == ["fleiss is not defined because the labels are numbers; alpha and icc are for numbers, "
                                                "so --min-fleiss 0 is not met"]


@pytest.mark.parametrize("gates, text", [({"least_alpha": 1}, "write min-SCORE"), ({"min_": 1}, "write min-SCORE"),
                                         ({"min_icc": 1}, "icc, which was not computed"), ({"min_alpha": float("nan")}, "not a number")])
def test_gates_that_ask_for_nothing(data, gates, text):
    with pytest.raises(BadCall, match=text):
        failed(agreed(data, "alpha", bootstrap=0), gates)


def test_summary(data):
    lines = summary(agreed(data, by="batch")).splitlines()
    assert len([line for line in lines if " on " in line]) == 3 * 8 and lines[0].startswith("alpha    0.") and lines[8].startswith("a  alpha") and "in the table: 9 rows of class for alpha, bennett, cohen, conger, fleiss, gwet, percent, scott" in lines
    assert "not defined because" in summary(agreed(data.answers, "icc"))


def test_items_alone(tmp_path):
    pl.DataFrame({"task": range(3), "text": "x"}).write_csv(tmp_path / "items.csv")
    with pytest.raises(BadInput, match="items but no answers"):
        agreed(mv.read(tmp_path))
