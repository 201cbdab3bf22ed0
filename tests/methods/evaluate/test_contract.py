"""What every score of `evaluate` keeps to: runs for each file of the folder, on every scale, for tasks and for single workers."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from predicting import SCALES, crowd, dataset, small, table

import manyvoices as mv
from manyvoices.core import registry
from manyvoices.core.errors import BadCall
from manyvoices.core.scores import COLUMNS
from manyvoices.engines.disk import stored
from manyvoices.evaluation import evaluated
from manyvoices.methods.evaluate import _sums

NAMES = registry.names("evaluate")
KINDS = [(scale, own) for scale in SCALES for own in (False, True)]
FEW = [("nominal", False), ("ordinal", True), ("interval", False), ("multilabel", True)]
BEST = {  # of a prediction that knows everything
    "accuracy": 1, "macro_f1": 1, "micro_f1": 1, "weighted_f1": 1, "precision": 1, "recall": 1, "coverage": 1, "log_loss": 0,
    "brier": 0, "ece": 0, "kl": 0, "jensen_shannon": 0, "manhattan": 0, "euclidean": 0, "total_variation": 0,
    "soft_accuracy": 1, "wasserstein": 0, "entropy_error": 0, "ranking": 1, "worker_error": 0, "worker_f1": 1, "dic": 0, "mae": 0,
    "rmse": 0, "lewidi2025": 0,
}
RANGES = {
    "accuracy": (0, 1), "macro_f1": (0, 1), "micro_f1": (0, 1), "weighted_f1": (0, 1), "precision": (0, 1), "recall": (0, 1),
    "coverage": (0, 1), "log_loss": (0, 28), "cross_entropy": (0, 28), "brier": (0, 2), "ece": (0, 1), "kl": (0, 28), "jensen_shannon": (0, 1),
    "manhattan": (0, 2), "euclidean": (0, 2**.5 + 1e-9), "total_variation": (0, 1), "soft_accuracy": (0, 1), "wasserstein": (0, 2),
    "entropy_correlation": (-1, 1), "ranking": (0, 1), "worker_f1": (0, 1), "pearson": (-1, 1), "spearman": (-1, 1),
}


def each():
    return pytest.mark.parametrize("name", NAMES)


def kinds(kinds=KINDS):
    return pytest.mark.parametrize("scale, own", kinds, ids=[f"{s}-{'workers' if o else 'tasks'}" for s, o in kinds])


def score(name, prediction, data, **options):
    return evaluated(prediction, data, name, **options)


def valid(found, name) -> None:
    """Every row has a value inside its interval, or a note that says what is missing."""
    frame = found.to_polars()
    assert frame.columns == list(COLUMNS) and len(frame)
    assert frame["of"][0] == "dataset"
    for row in frame.to_dicts():
        assert row["of"] in ("dataset", "class", "worker") and row["score"].startswith(name), row
        if row["value"] is None:
            assert row["note"].startswith("not defined because") and row["low"] is None and row["high"] is None, row
            continue
        assert np.isfinite(row["value"])
        low, high = RANGES.get(name, (-np.inf, np.inf))
        assert low - 1e-9 <= row["value"] <= high + 1e-9, row
        if row["low"] is None or row["high"] is None:
            assert "no interval" in row["note"], row
        else:
            assert row["low"] <= row["value"] <= row["high"], row
        assert row["n"] >= 0


def same_bits(one, other) -> None:
    for column in ("value", "low", "high", "n"):
        assert one.column(column).tobytes() == other.column(column).tobytes(), column
    for column in ("score", "of", "name", "other", "note"):
        assert list(one.column(column)) == list(other.column(column)), column


# ------------------------------------------------------------------------------------------------------------- results

def test_every_file_is_here():
    assert set(BEST) | set(RANGES) | {"lewidi2023"} == set(NAMES)


@each()
@kinds()
@pytest.mark.parametrize("soft", [True, False])
def test_results_are_valid(name, scale, own, soft):
    base = crowd(1, repeats=True)
    found = score(name, table(base, scale, own, soft), dataset(base, scale), bootstrap=100)
    valid(found, name)
    for column in ("value", "low", "high", "n"):
        assert not found.column(column).flags.writeable
    assert any("not defined" not in note for note in found.note) or scale in ("interval", "multilabel") or not (soft and own)


@each()
@kinds()
def test_a_prediction_that_knows_everything(name, scale, own):
    """One answer a task, which is also the truth, is predicted with certainty."""
    if name not in BEST:
        pytest.skip("its best value is that of the data")
    base = small([(t, t % 4, t % 3) for t in range(60)] + [(t, 4, t % 3) for t in range(60)], scale, 60, 5, 3, np.arange(60) % 3)
    pairs = {"task": np.repeat(np.arange(60), 2).astype(str), "worker": [w for t in range(60) for w in (str(t % 4), "4")]}
    columns = pairs if own else {"task": np.arange(60).astype(str)}
    label = np.array([int(t) % 3 for t in columns["task"]])
    told = {"value": label.astype(float)} if scale == "interval" else {"label": label.astype(str)} | {f"p:{k}": (label == k) * 1.0 for k in range(3)}
    found = score(name, pl.DataFrame(columns | told), dataset(base, scale))
    values = [v for v in found.value if np.isfinite(v)]
    np.testing.assert_allclose(values, BEST[name], atol=3e-3 if name == "kl" else 1e-9)
    assert values or "not defined because" in found.note[0]


@each()
def test_the_interval_holds_what_more_tasks_would_give(name):
    scale = "ordinal"
    big = crowd(3, tasks=4_000, workers=6, share=.6)
    told = table(big, scale, own=True)
    truth = score(name, told, dataset(big, scale), bootstrap=0)
    hits = []
    for k in range(30):
        kept = (big.task >= 120 * k) & (big.task < 120 * (k + 1))
        part = replace(big.only(kept), task=big.task[kept] - 120 * k, sizes=(120, 6, 3), truth=big.truth[120 * k:120 * (k + 1)])
        rows = told.filter(pl.col("task").cast(int).is_between(120 * k, 120 * (k + 1) - 1)).with_columns((pl.col("task").cast(int) - 120 * k).cast(str))
        found = score(name, rows, dataset(part, scale), bootstrap=100)
        hits.append([low <= v <= high or (np.isnan(low) and "no interval" in note)
                     for low, high, v, note in zip(found.low[:1], found.high[:1], truth.value[:1], found.note[:1], strict=True)])
    assert np.mean(hits) > .8


@each()
@kinds([("nominal", True), ("interval", False)])
def test_seed_and_bootstrap(name, scale, own):
    base = crowd(8)
    told, data = table(base, scale, own), dataset(base, scale)
    one = score(name, told, data)
    same_bits(one, score(name, told, data))
    other = score(name, told, data, seed=5)
    assert other.value.tobytes() == one.value.tobytes()
    none = score(name, told, data, bootstrap=0)
    assert none.value.tobytes() == one.value.tobytes()
    if "bootstrap over" in one.note[0]:
        assert np.isnan(none.low[0]) and "no interval asked for" in none.note[0]
        assert other.low[0] != one.low[0] or other.high[0] != one.high[0]
    for wrong in ({"bootstrap": -1}, {"seed": -1}):
        with pytest.raises(BadCall):
            score(name, told, data, **wrong)


@each()
def test_many_tasks_in_groups(name, monkeypatch):
    """More tasks than groups: the same value and about the same interval."""
    base = crowd(4, tasks=900, workers=5)
    told, data = table(base, "ordinal", True), dataset(base, "ordinal")
    one = score(name, told, data)
    monkeypatch.setattr(_sums.resample, "GROUPS", 400)
    monkeypatch.setattr(_sums, "WORK", 1000)
    two = score(name, told, data)
    np.testing.assert_allclose(one.value, two.value, rtol=1e-9, atol=1e-12)
    whole = np.array(one.of) == "dataset"
    np.testing.assert_allclose((two.high - two.low)[whole], (one.high - one.low)[whole], rtol=.35, atol=1e-3)


# ------------------------------------------------------------------------------------------- what must change nothing

@each()
@kinds()
def test_order_of_rows(name, scale, own):
    base = crowd(5, repeats=True)
    told = table(base, scale, own)
    one = score(name, told, dataset(base, scale), bootstrap=100)
    for seed in range(2):
        rows = np.random.default_rng(seed).permutation(len(told))
        same_bits(one, score(name, told[rows], dataset(base.shuffled(seed), scale), bootstrap=100))


@each()
@kinds([("nominal", True), ("nominal", False), ("interval", True)])
def test_names_of_tasks_and_workers(name, scale, own):
    base = crowd(7, tasks=45, workers=9)
    rng = np.random.default_rng(1)
    tasks, workers = rng.permutation(45), rng.permutation(9)
    told = table(base, scale, own)
    other = replace(base, task=tasks[base.task], worker=workers[base.worker], truth=base.truth[np.argsort(tasks)])
    moved = told.with_columns(pl.Series("task", tasks[told["task"].cast(int)].astype(str)))
    if own:
        moved = moved.with_columns(pl.Series("worker", workers[told["worker"].cast(int)].astype(str)))
    one, two = score(name, told, dataset(base, scale)), score(name, moved, dataset(other, scale))
    for of in ("dataset", "class"):
        a, b = (np.array(x.value)[np.array(x.of) == of] for x in (one, two))
        np.testing.assert_allclose(a, b, atol=1e-9)
    mine = {str(workers[int(n)]): v for n, of, v in zip(one.name, one.of, one.value, strict=True) if of == "worker"}
    theirs = {n: v for n, of, v in zip(two.name, two.of, two.value, strict=True) if of == "worker"}
    assert mine == pytest.approx(theirs, abs=1e-9)


@each()
def test_names_of_classes(name):
    """On unordered classes other names change nothing."""
    if name in ("wasserstein", "mae", "rmse", "pearson", "spearman"):
        pytest.skip("the order of the classes is what it is about")
    base = crowd(7, tasks=45, workers=9)
    new = np.array([1, 2, 0])
    told = table(base, own=True)
    moved = pl.DataFrame({"task": told["task"], "worker": told["worker"], "label": new[told["label"].cast(int)].astype(str)}
                         | {f"p:{new[k]}": told[f"p:{k}"] for k in range(3)})
    other = replace(base, label=new[base.label], truth=new[base.truth])
    one, two = score(name, told, dataset(base)), score(name, moved, dataset(other))
    a, b = (np.array(x.value)[np.array(x.of) != "class"] for x in (one, two))
    np.testing.assert_allclose(a, b, atol=1e-9)


@each()
def test_disk(name):
    """Where answers are not in memory the same comes out, or a reason why not."""
    base = crowd(9)
    data = dataset(base)
    here, there = score(name, table(base), data), score(name, table(base), replace(data, answers=stored(data.answers)))
    for v, w, note in zip(here.value, there.value, there.note, strict=False):
        assert v == w or (np.isnan(v) and np.isnan(w)) or "on disk" in note


# -------------------------------------------------------------------------------------------------------------- corners

@each()
@kinds(FEW)
def test_corners(name, scale, own):
    rows = [(t, w, (t + w) % 2) for t in range(3) for w in range(3)]
    cases = {
        "one task": small([(0, w, w % 2) for w in range(3)], scale, tasks=1),
        "one answer": small([(0, 0, 0)], scale),
        "one worker": small([(t, 0, t % 2) for t in range(3)], scale),
        "one class said": small([(t, w, 1) for t in range(3) for w in range(3)], scale),
        "one class": small([(t, w, 0) for t in range(3) for w in range(3)], scale, classes=1),
        "all ties": small([(t, w, w) for t in range(3) for w in range(2)], scale),
        "a class nobody says": small(rows, scale, classes=4),
        "no answers": small([], scale),
    }
    for base in cases.values():
        if own and not len(base.task):
            continue
        told = table(base, scale, own)
        for truth in (True, False, np.arange(base.sizes[0]) == 0):
            valid(score(name, told, dataset(base, scale, truth), bootstrap=20), name)
            if "against" in [o.name for o in registry.about("evaluate", name).options]:
                valid(score(name, told, dataset(base, scale, truth), against="answers", bootstrap=20), name)
        column = "value" if scale == "interval" else "label"
        silent = told.select("task", *(["worker"] if own else []), pl.lit(None, pl.Float64 if scale == "interval" else pl.String).alias(column))
        valid(score(name, silent, dataset(base, scale), bootstrap=20), name)
        valid(score(name, told[:1], dataset(base, scale), bootstrap=20), name)
        valid(score(name, told, dataset(base, scale).answers, bootstrap=20), name)  # no items at all


@each()
@kinds(FEW)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_any_small_table(name, scale, own, data):
    rows = data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=15))
    base = small(rows, scale, 5, 4, 3, data.draw(st.lists(st.integers(0, 2), min_size=5, max_size=5)))
    told = table(base, scale, own, soft=data.draw(st.booleans()), seed=data.draw(st.integers(0, 5)))
    known = np.array(data.draw(st.lists(st.booleans(), min_size=5, max_size=5)))
    kept = data.draw(st.lists(st.integers(0, len(told) - 1), min_size=1, unique=True))
    found = score(name, told[kept], dataset(base, scale, known), bootstrap=20)
    valid(found, name)
    again = score(name, told[kept[::-1]], dataset(base.only(np.arange(len(rows))[::-1]), scale, known), bootstrap=20)
    same_bits(found, again)


def options():
    other = {"against": "answers", "within": 1.0, "top": 2, "abstained": "left_out", "present_only": True, "floor": .4, "form": "half",
             "bins": 4, "smoothing": 1.0, "epsilon": .1, "root": True, "kind": "spearman", "error": "zero_one", "missing_as_correct": True,
             "min_answers": 33, "average": "macro", "mask": "all_preds", "min_common": 15, "compat": False, "span": 10.0}
    for name in NAMES:
        for option in registry.about("evaluate", name).options:
            if option.name not in ("bootstrap", "seed"):
                yield pytest.param(name, option.name, other[option.name], id=f"{name}-{option.name}")


@pytest.mark.parametrize("name, option, given_", list(options()))
def test_every_option_does_something(name, option, given_):
    base = crowd(12, tasks=60)
    told = table(base, "ordinal", own=name not in ("accuracy", "lewidi2023"), sure=.3)
    told = told.with_columns(label=pl.when(pl.int_range(pl.len()) % 9 == 0).then(None).otherwise(pl.col("label")))
    if option == "mask":
        held = table(replace(base, task=np.repeat(np.arange(60), 8), worker=np.tile(np.arange(8), 60)), "ordinal", own=True, sure=.3)
        told = held
    if name == "lewidi2023":
        told = told.with_columns((pl.col(f"p:{k}") > .5).cast(float) for k in range(3)).filter(pl.sum_horizontal(f"p:{k}" for k in range(3)) == 1)
    data = dataset(base, "ordinal", np.arange(60) % 7 > 0)
    if option == "compat" and name == "lewidi2025":
        told = told.filter(pl.int_range(pl.len()) % 7 > 0)
    if option == "present_only":  # a class the truth does not have
        data = dataset(base, "ordinal", base.truth != 2)
    plain, changed = score(name, told, data, bootstrap=0), score(name, told, data, bootstrap=0, **{option: given_})
    assert np.isfinite(changed.value[0]) and plain.value.tobytes() != changed.value.tobytes()


@pytest.mark.parametrize("name, option, given_", [
    ("ece", "bins", 0), ("log_loss", "floor", 0.0), ("cross_entropy", "floor", 1.0), ("kl", "epsilon", -1.0), ("manhattan", "smoothing", -1.0),
    ("accuracy", "top", 0), ("accuracy", "within", -1.0), ("worker_error", "min_answers", 0), ("dic", "min_common", 0), ("lewidi2025", "span", 0.0),
    ("accuracy", "against", "nobody"), ("brier", "form", "none")])
def test_wrong_options(name, option, given_):
    base = crowd(0)
    with pytest.raises(BadCall, match=option):
        score(name, table(base, own=True), dataset(base), **{option: given_})


def test_functions_are_shown():
    assert mv.methods.evaluate.accuracy.__name__ == "accuracy" and "ece" in dir(mv.methods.evaluate)
