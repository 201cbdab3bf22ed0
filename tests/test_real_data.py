"""Accuracy on real crowds, where a folder with them is named by MANYVOICES_DATA: at the defaults no worse than the best published code."""

import os
from pathlib import Path

import numpy as np
import pytest

from manyvoices import api
from manyvoices.core.labels import choose

DATA = os.environ.get("MANYVOICES_DATA")
SETS = ("bluebirds", "RTE", "LabelMe")
FOLDERS = ("AffectiveText", "CIFAR10H", "HS-Brexit", "LabelMe", "MD-Agreement", "RTE", "VariErrNLI", "bluebirds")
PUBLISHED = {  # accuracy of the best published code at its defaults; nan where it crashes
    "mv": (.759, .875, .762), "ds": (.889, .9275, .792), "glad": (.722, .925, .775), "mace": (.861, .926, .779), "dswc": (np.nan, .930, np.nan),
    "onecoin": (.583, .925, .767), "onecoin[prior=uniform]": (.722, .925, .773), "wawa": (.759, .920, .774), "iwmv": (.759, .921, .772),
    "mmsr": (.713, .8575, .767), "kos": (.722, .4975, np.nan),             # of crowd-kit 1.4.2; kos has two classes only there
}


@pytest.fixture(scope="module")
def data():
    """Each folder is read once."""
    if not DATA or not Path(DATA).is_dir():
        reason = f"MANYVOICES_DATA is {DATA!r}, not a folder with the data sets"
        if os.environ.get("MANYVOICES_CI") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    held = {}

    def get(name):
        if name not in held:
            if not (Path(DATA) / name).is_dir():
                (pytest.fail if os.environ.get("MANYVOICES_CI") == "1" else pytest.skip)(f"{DATA} has no folder {name}")
            held[name] = api.read(Path(DATA) / name)
        return held[name]

    return get


def accuracy(found, data) -> float:
    """Expected share of right labels where ties are drawn, among answered tasks whose truth is known."""
    truth = np.array(data.items.truth_of(found.tasks), object)
    rows = np.flatnonzero((found.n > 0) & (truth != None))  # noqa: E711 (element by element)
    task, code = choose(found, rows, "all", 0)
    right = np.array([found.classes[k] for k in code], object) == truth[task]
    return float(np.mean(np.bincount(task, right, len(truth))[rows] / np.bincount(task, minlength=len(truth))[rows]))


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("method", PUBLISHED)
def test_accuracy(method, name, data):
    wanted = PUBLISHED[method][SETS.index(name)]
    found = accuracy(api.aggregate(data(name), method), data(name))
    assert np.isfinite(found) and (np.isnan(wanted) or found >= wanted - .01), found


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("method", ["bcc", "hds", "cbcc", "classcond", "fastds", "hybridds", "wds", "zbs"])
def test_others_are_no_worse_than_votes(method, name, data):
    """No number is published for these: they must not lose to majority vote."""
    found, votes = accuracy(api.aggregate(data(name), method), data(name)), accuracy(api.aggregate(data(name), "mv"), data(name))
    assert found >= votes - .01, (found, votes)


@pytest.mark.parametrize("name", FOLDERS)
def test_every_folder(name, data):
    seen = api.inspect(data(name))
    assert seen["answers"] == data(name).answers.n > 0 and seen["tasks_answered"] > 0
    for method in ("mv", "bcc", "ds"):
        found = api.aggregate(data(name), method)
        assert len(found.table()) == seen["tasks_answered"] and np.isfinite(found.probs).all()
