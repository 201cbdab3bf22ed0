"""On real data, where MANYVOICES_DATA says it is: what is printed is near the truth, and there is nothing without a word."""

import os
from pathlib import Path

import numpy as np
import pytest

import manyvoices as mv

DATA = Path(os.environ.get("MANYVOICES_DATA", "nowhere"))
SETS = ["AffectiveText", "CIFAR10H", "HS-Brexit", "LabelMe", "MD-Agreement", "RTE", "VariErrNLI", "bluebirds"]
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="MANYVOICES_DATA names no folder")


@pytest.mark.parametrize("name", SETS)
def test_every_row_says_something(name):
    found = mv.identify(mv.read(DATA / name))
    for value, low, note in zip(found.value, found.low, found.note, strict=True):
        if np.isnan(value):
            assert note.startswith(("not defined because", "undecided"))
        else:
            assert not np.isnan(low) or "no interval" in note or note.startswith("undecided")
        assert "spammer" not in note


@pytest.mark.parametrize("name, least", [("RTE", .9), ("bluebirds", .85)])
def test_accuracy_without_truth_is_near_the_truth(name, least):
    data = mv.read(DATA / name)
    truth, found = (mv.identify(data, "accuracy", consensus="bcc", against=against) for against in ("truth", "consensus"))
    held = (found.low <= truth.value) & (truth.value <= found.high)
    assert held.mean() > least and np.corrcoef(truth.value, found.value)[0, 1] > .85
    spam = mv.identify(data, "spam_score")
    assert np.corrcoef(truth.value, spam.value)[0, 1] > .6


def test_doubtful_tasks_are_where_the_labels_are_wrong():
    for name in ("RTE", "LabelMe", "bluebirds"):
        data = mv.read(DATA / name)
        wrong = mv.aggregate(data.answers, "bcc").codes != np.array([data.answers.classes.code([x], -1)[0] for x in data.items.truth_of(data.answers.tasks)])
        for score, sign in (("another_vote", 1), ("margin", -1), ("entropy", 1), ("difficulty", 1)):
            value = sign * mv.identify(data, score).value
            ranks = value.argsort().argsort()
            area = (ranks[wrong].sum() - wrong.sum() * (wrong.sum() - 1) / 2) / (wrong.sum() * (~wrong).sum())
            assert area > .5, (name, score, area)
