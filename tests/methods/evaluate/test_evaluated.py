"""What can be given as predictions, which tasks are scored, which scores are shown, groups, and what is refused."""

import json
import logging

import numpy as np
import polars as pl
import pytest
from predicting import crowd, dataset, rows_of, small, table, value

import manyvoices as mv
from manyvoices.core.dataset import Dataset
from manyvoices.core.errors import BadCall, BadInput, Unknown
from manyvoices.core.items import Items
from manyvoices.core.names import Names
from manyvoices.evaluation import evaluated
from manyvoices.scoring import failed


@pytest.fixture
def base():
    return crowd(2, tasks=40)


@pytest.fixture
def told(base):
    return table(base)


def accuracy(given, data, **options):
    return value(evaluated(given, data, "accuracy", **options), "accuracy")


# --------------------------------------------------------------------------------------------------- kinds of predictions

def test_the_same_from_everything(base, told, tmp_path):
    data = dataset(base)
    expected = accuracy(told, data)
    told.write_csv(tmp_path / "labels.csv")
    told.write_csv(tmp_path / "x.tsv", separator="\t")
    told.write_parquet(tmp_path / "x.parquet")
    told.write_ndjson(tmp_path / "x.jsonl")
    for name in ("labels.csv", "x.tsv", "x.parquet", "x.jsonl", "."):
        assert accuracy(tmp_path / name, data) == expected, name
        assert accuracy(str(tmp_path / name), data) == expected
    assert accuracy(dict(zip(told["task"], told["label"], strict=True)), data) == expected
    assert accuracy(told.drop("label", "prob"), data) == expected
    assert accuracy(told.with_columns(pl.col("task").cast(pl.Int64)), data) == expected  # ids are texts


@pytest.mark.extras
def test_a_pandas_frame(base, told):
    assert accuracy(told.to_pandas(), dataset(base)) == accuracy(told, dataset(base))


def test_a_consensus(base):
    data = dataset(base)
    found = mv.aggregate(data, "ds")
    both = evaluated(found, data, "accuracy,manhattan,log_loss")
    again = evaluated(found.table(soft=True), data, "accuracy,manhattan,log_loss")
    np.testing.assert_allclose(both.value, again.value)
    assert accuracy(found, data) == np.mean(found.codes == base.truth)
    numbers = dataset(base, "interval")
    found = mv.aggregate(numbers, "mean")
    assert value(mv.evaluate(found, numbers, "mae"), "mae") == pytest.approx(np.abs(found.value - base.truth).mean())


def test_labels_that_aggregate_wrote_as_arrays(base, tmp_path):
    from manyvoices.runs import write_table

    data = dataset(base)
    found = mv.aggregate(data, "mv")
    for soft in (False, True):
        write_table(found, found.table(soft=soft), tmp_path / f"x{soft}.npy", soft)
        assert accuracy(tmp_path / f"x{soft}.npy", data) == accuracy(found, data)
    (tmp_path / "xTrue.tasks.txt").unlink()
    with pytest.raises(BadInput, match=r"xTrue\.npy: the ids of its rows are not there; expected xTrue\.tasks\.txt"):
        accuracy(tmp_path / "xTrue.npy", data)
    np.save(tmp_path / "xFalse.npy", np.full(40, 7))
    with pytest.raises(BadInput, match="class code 7 in row 0; expected 0 to 2"):
        accuracy(tmp_path / "xFalse.npy", data)


def test_a_submission_of_lewidi2025(base, tmp_path):
    data = dataset(base)
    told = table(base)
    probs = told.select(f"p:{k}" for k in range(3)).rows()
    path = tmp_path / "X_test_soft.tsv"
    path.write_text("".join(f"{t}\t{json.dumps(p)}\n" for t, p in zip(told["task"], probs, strict=True)))
    assert value(evaluated(path, data, "manhattan"), "manhattan") == pytest.approx(value(evaluated(told, data, "manhattan"), "manhattan"))
    several = dataset(base, "multilabel")
    path.write_text("".join(f"{t}\t{json.dumps([[1 - x, x] for x in p])}\n" for t, p in zip(told["task"], probs, strict=True)))
    found = value(evaluated(path, several, "lewidi2025"), "lewidi2025_soft")
    assert found == value(evaluated(told, several, "lewidi2025"), "lewidi2025_soft")
    for line, message in (("0\t[0.5, 0.5]", "2 numbers a task; expected one for each of 3"), ("0\t[x]", r"line 1: \[x\]; expected id, tab")):
        path.write_text(line + "\n")
        with pytest.raises(BadInput, match=message):
            evaluated(path, data, "manhattan")


# ------------------------------------------------------------------------------------------------------ tasks that are scored

def split_data(base, split):
    return dataset(base, split=pl.DataFrame({"task": [str(t) for t in range(40)], "split": split}, {"task": pl.String, "split": pl.String}))


def test_the_test_split_is_the_default(base, told, caplog):
    caplog.set_level(logging.INFO, "manyvoices")
    split = ["train"] * 20 + ["dev"] * 8 + ["test"] * 10 + [None] * 2
    data = split_data(base, split)
    right = told["label"].cast(int).to_numpy() == base.truth
    for name, rows in (("test", slice(28, 38)), ("train", slice(0, 20)), ("all", slice(0, 40))):
        found = evaluated(told, data, "accuracy", split=name)
        assert value(found, "accuracy") == pytest.approx(right[rows].mean()) and found.n[0] == len(right[rows])
    assert accuracy(told, data) == accuracy(told, data, split="test")
    assert "split test: 10 tasks, 30 predicted tasks of others left out" in caplog.text
    # what the predictions say wins
    moved = told.with_columns(split=pl.Series(["test"] * 20 + [None] * 20))
    assert evaluated(moved, data, "accuracy").n[0] == 30
    assert evaluated(moved, dataset(base), "accuracy").n[0] == 20


def test_splits_that_are_not_there(base, told):
    data = split_data(base, ["train"] * 30 + ["dev"] * 10)
    with pytest.raises(BadCall, match="no task is in split test; name one of dev, train with --split, or --split all"):
        accuracy(told, data)
    with pytest.raises(Unknown, match=r"no split called 'tst'.*Known: all, dev, train"):
        accuracy(told, data, split="tst")
    with pytest.raises(BadCall, match="--split test: neither the predictions nor DATA say"):
        accuracy(told, dataset(base), split="test")


def test_tasks_without_prediction_are_counted(base, told, caplog):
    caplog.set_level(logging.INFO, "manyvoices")
    found = evaluated(told[:30].with_columns(label=pl.when(pl.int_range(30) < 5).then(None).otherwise("label")), dataset(base))
    assert "10 tasks of DATA have no prediction and are left out" in caplog.text
    assert value(found, "coverage") == 25 / 40
    [row] = rows_of(found, "accuracy")
    assert row["n"] == 30 and "5 without a label count as wrong" in row["note"]


def test_items_alone_and_nothing_at_all(told):
    items = Items(Names.numbered(40), Names.numbered(3), np.arange(40) % 3, None, None, None)
    data = Dataset(None, items, None, None, "made", {}, [], {})
    assert value(evaluated(told, data), "accuracy") is not None
    found = evaluated(told, data, "manhattan,worker_error")
    assert list(found.note) == ["not defined because no answers about these tasks are known", "not defined because no answers are known"]


# ---------------------------------------------------------------------------------------------------------- default scores

LABELS = {"accuracy", "macro_f1", "micro_f1", "weighted_f1", "precision", "recall"}
PROBS = {"log_loss", "brier", "ece"}
SPREAD = {"cross_entropy", "kl", "jensen_shannon", "manhattan", "total_variation", "euclidean", "soft_accuracy", "entropy_correlation",
          "entropy_error", "ranking"}
WORKERS = {"worker_error", "worker_error_micro", "worker_error_worst", "worker_f1"}
DIC = {"dic", "dic_rms", "dic_absolute", "dic_relative"}
LINE = {"mae", "rmse", "pearson", "spearman"}


@pytest.mark.parametrize("scale, own, soft, truth, expected", [
    ("nominal", False, True, True, LABELS | PROBS | SPREAD), ("nominal", False, False, True, LABELS | {"ece"}),
    ("nominal", True, True, True, LABELS | PROBS | SPREAD | WORKERS | DIC),
    ("nominal", False, False, False, {"accuracy"} | WORKERS), ("nominal", False, True, False, {"accuracy"} | SPREAD | WORKERS),
    ("ordinal", False, True, True, LABELS | PROBS | SPREAD | LINE | {"wasserstein"}),
    ("interval", False, False, True, LINE), ("interval", False, False, False, {"mae"} | WORKERS - {"worker_f1"})])
def test_scores_that_apply(base, scale, own, soft, truth, expected):
    found = evaluated(table(base, scale, own, soft), dataset(base, scale, truth))
    assert set(found.column("score")) == expected
    if truth:
        assert found.score[0] in ("accuracy", "mae") and not any("not defined" in note for note in found.note)
    else:
        assert found.note[0].startswith("not defined because no truth is known (--against answers holds predictions against the ")


def test_without_truth_accuracy_is_not_the_majority(base, told):
    data = dataset(base, truth=False)
    found = evaluated(told, data, "accuracy,log_loss,ece,macro_f1")
    assert np.isnan(found.value).all() and all("no truth is known" in note for note in found.note)
    assert np.isfinite(evaluated(told, data, "accuracy", against="answers").value[0])
    assert failed("evaluate", found, {"min-accuracy": .5}) and not failed("evaluate", evaluated(told, dataset(base), "accuracy"), {"min-accuracy": .1})
    assert failed("evaluate", evaluated(told, dataset(base), "accuracy"), {"min-Acc": 1.0})


def test_options_reach_the_scores_that_have_them(base, told):
    found = evaluated(told, dataset(base), bins=3, against="answers")
    assert "3 bins" in next(note for score, note in zip(found.score, found.note, strict=True) if score == "ece")
    assert "against the most frequent answer" in found.note[0]
    with pytest.raises(Unknown, match="no option of evaluate called 'bims'"):
        evaluated(told, dataset(base), bims=3)
    evaluated(told, dataset(base, truth=False), bins=3)  # ece is not shown, the option exists all the same
    with pytest.raises(Unknown, match="bins"):
        evaluated(told, dataset(base), "accuracy", bins=3)
    two = evaluated(told, dataset(base), "ece[bins=5],NLL,Macro-F1")
    assert list(dict.fromkeys(two.score)) == ["ece", "log_loss", "macro_f1"] and "5 bins" in two.note[0]


# ------------------------------------------------------------------------------------------------------------------ groups

def test_groups_of_tasks(base, told):
    kind = ["a" if t % 4 else "b" for t in range(39)] + [None]
    data = dataset(base)
    data = Dataset(data.answers, Items(data.items.ids, data.items.classes, data.items.truth, pl.DataFrame({"task": [str(t) for t in range(40)], "kind": kind}), None, None), None, None, "made", {}, [], {})
    found = evaluated(told, data, "accuracy,manhattan,worker_error", by="kind")
    assert list(dict.fromkeys(found.group)) == ["", "a", "b"]
    for name in "ab":
        rows = [t for t in range(40) if kind[t] == name]
        part = small([(rows.index(t), w, k) for t, w, k in base.rows() if t in rows], tasks=len(rows), workers=8, classes=3, truth=base.truth[rows])
        alone = evaluated(told[rows].with_columns(task=pl.Series([str(i) for i in range(len(rows))])), dataset(part), "accuracy,manhattan,worker_error")
        mine = np.array(found.value)[np.array(found.group) == name]
        np.testing.assert_allclose(mine, alone.value)


def test_groups_of_workers(base):
    """Only the group's answers count, and only what was predicted for its workers."""
    told = table(base, own=True)
    group = {str(w): "odd" if w % 2 else "even" for w in range(8)}
    data = dataset(base, workers=pl.DataFrame({"worker": list(group), "group": list(group.values())}))
    names = "accuracy,manhattan,worker_error,worker_f1,dic"
    found = evaluated(told, data, names, by="group")
    for name in ("even", "odd"):
        part = base.only(np.array([group[str(w)] == name for w in base.worker]))
        alone = evaluated(told.filter(pl.col("worker").replace(group) == name), dataset(part), names)
        mine = np.array(found.value)[np.array(found.group) == name]
        np.testing.assert_allclose(mine, alone.value)


def test_groups_of_answers(base, told):
    data = dataset(base, notes=pl.DataFrame({"batch": np.where(np.arange(len(base.task)) % 2, "x", "y")}))
    found = evaluated(told, data, "manhattan", by="batch")
    assert list(found.group) == ["", "x", "y"] and len(set(found.value)) == 3
    with pytest.raises(Unknown, match=r"no column to group by called 'bach'\. Did you mean 'batch'"):
        evaluated(told, data, "manhattan", by="bach")


# --------------------------------------------------------------------------------------------------------------- bad input

def bad(frame, data, message, **more):
    with pytest.raises(BadInput, match=message) as caught:
        evaluated(frame, data, **more)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_meant(base, told, tmp_path):
    data = dataset(base)
    first = told["label"][0]
    bad(told.with_columns(task=pl.concat_str(pl.lit("t"), "task")), data, r"task 't0' is not in DATA \(40 such tasks\); expected tasks of DATA, such as '0'")
    bad(told.with_columns(label=pl.lit("zebra")), data, "label 'zebra' is not a class of DATA; expected 0, 1, 2")
    bad(told.with_columns(pl.lit(0.0).alias("p:zebra")), data, "column 'p:zebra' is not about a class of DATA; expected p:0, p:1, p:2 .--classes states others.")
    bad(told.with_columns(pl.when(pl.col("task") == "3").then(None).otherwise("p:1").alias("p:1")), data, r"task '3' are not all there \(p:1 is empty or NaN\)")
    bad(told.with_columns(pl.lit(float("nan")).alias("p:1")), data, "task '0' are not all there")
    bad(told.with_columns(pl.col("p:1") + .1), data, "the probabilities of task '0' sum to 1.1; expected numbers from 0 to 1 that sum to 1")
    bad(told.with_columns(pl.col("p:1") - 2, pl.col("p:0") + 2), data, "task '0' are not between 0 and 1")
    bad(told.with_columns(pl.lit(float("inf")).alias("p:1")), data, "task '0' are not between 0 and 1")
    bad(told.select("task", "label", pl.lit(1.5).alias("prob")), data, "prob is 1.5; expected a number from 0 to 1")
    bad(told.select("task", "label", pl.lit("much").alias("prob")), data, "prob 'much' is not a number")
    bad(pl.concat([told, told[:2]]), data, r"a second prediction for task '0' \(2 such rows\); expected one row each")
    bad(told[:0], data, "no predictions in it")
    bad(told.rename({"task": "id"}), data, "no column 'task'; found id, label")
    bad(told.select("task", "prob"), data, "no label and no p:CLASS; found task, prob")
    bad(pl.DataFrame({"task": ["0", None], "label": [first, first]}), data, "a prediction without a task")
    bad(table(base, own=True).with_columns(worker=pl.lit("w9")), data, "worker 'w9' is not in DATA; expected workers of DATA, such as '0'")
    pairs = table(base, own=True)
    bad(pl.concat([pairs, pairs[:1]]), data, "a second prediction for task '0' and worker '.'")
    bad(pairs, mv.read(pl.DataFrame({"task": ["0"], "label": ["1"]})), "a column 'worker', and DATA names no workers|is not in DATA")
    bad(tmp_path / "none.csv", data, r"none\.csv: ")
    (tmp_path / "empty.csv").write_text("")
    bad(tmp_path / "empty.csv", data, r"empty\.csv: ")
    (tmp_path / "d").mkdir()
    bad(tmp_path / "d", data, "holds no labels.csv and no predictions.csv")
    (tmp_path / "d" / "ds").mkdir()
    told.write_csv(tmp_path / "d" / "ds" / "labels.csv")
    bad(tmp_path / "d", data, "expected one of its folders: ds")
    numbers = dataset(base, "interval")
    bad(told.select("task"), numbers, "no column 'value'; found task")
    bad(told.select("task", pl.lit("inf").alias("value")), numbers, "value is inf; expected finite numbers")
    bad(told.select("task", pl.lit("x").alias("value")), numbers, "value 'x' is not a number")
    several = dataset(base, "multilabel")
    bad(told.select("task", pl.lit("0,9").alias("label")), several, "label '0,9' is not a class of DATA")
    bad(told.with_columns(pl.lit(1.2).alias("p:1")), several, "not between 0 and 1")


def test_the_line_is_named(base, told, tmp_path):
    told.with_columns(label=pl.when(pl.col("task") == "6").then(pl.lit("zebra")).otherwise("label")).write_csv(tmp_path / "x.csv")
    bad(tmp_path / "x.csv", dataset(base), r"x\.csv, line 8: label 'zebra' is not a class")


def test_two_tables_in_a_folder(base, told, tmp_path):
    for name in ("labels", "predictions"):
        told.write_csv(tmp_path / f"{name}.csv")
    with pytest.raises(BadCall, match=r"holds labels\.csv and predictions\.csv; name one"):
        evaluated(tmp_path, dataset(base))


def test_a_class_without_a_column_is_taken_as_zero(base, told, caplog):
    caplog.set_level(logging.INFO, "manyvoices")
    two = told.select("task", "label", (pl.col("p:0") + pl.col("p:2")).alias("p:0"), "p:1")
    found = evaluated(two.with_columns(label=pl.lit("0")), dataset(base), "log_loss")
    assert "no column p:CLASS for 2: taken as 0" in caplog.text and found.value[0] > 1 and "below the floor" in found.note[0]


def test_small_misfits_are_forgiven(base, told):
    rough = told.with_columns(pl.col(f"p:{k}").round(4) for k in range(3))
    assert value(evaluated(rough, dataset(base), "brier"), "brier") == pytest.approx(value(evaluated(told, dataset(base), "brier"), "brier"), abs=1e-3)


def test_strange_names():
    """Ids and classes are any text."""
    tasks, classes = ["007", "7", "é, \"x\"", "NA"], ["NA", "nan", "<b>"]
    frame = pl.DataFrame({"task": tasks * 3, "worker": [w for w in "abc" for _ in range(4)], "label": (classes * 4)})
    data = mv.read(frame)
    told = pl.DataFrame({"task": tasks, "label": ["NA", "nan", "<b>", "NA"], "p:NA": [1.0, 0, 0, 1], "p:nan": [0.0, 1, 0, 0], "p:<b>": [0.0, 0, 1, 0]})
    found = evaluated(told, data)
    assert np.isfinite(value(found, "manhattan")) and set(rows_of(found, "worker_error", "worker")[0]["name"]) <= set("abc")
