"""Every folder of real data that MANYVOICES_DATA names: majority votes evaluated, all scores that apply defined."""

import os
from pathlib import Path

import numpy as np
import pytest

import manyvoices as mv
from manyvoices.evaluation import evaluated

DATA = os.environ.get("MANYVOICES_DATA")
ACCURACY = {"bluebirds": .759, "RTE": .91875, "LabelMe": .769, "CIFAR10H": .99}  # ties to the first class
FOLDERS = (*ACCURACY, "HS-Brexit", "MD-Agreement", "VariErrNLI")


@pytest.mark.parametrize("name", FOLDERS)
def test_majority_votes(name):
    if not DATA or not (Path(DATA) / name).is_dir():
        (pytest.fail if os.environ.get("MANYVOICES_CI") == "1" else pytest.skip)(f"MANYVOICES_DATA is {DATA!r}, without a folder {name}")
    data = mv.read(Path(DATA) / name)
    found = evaluated(mv.aggregate(data, "ns"), data, split="all")
    table = found.to_polars().to_dicts()
    by_name = {row["score"]: row for row in table if row["of"] == "dataset"}
    for row in table:
        assert (row["value"] is None) == row["note"].startswith("not defined because"), row
        assert row["low"] is not None or row["value"] is None or "no interval" in row["note"], row
    if name in ACCURACY:
        assert by_name["accuracy"]["value"] == pytest.approx(ACCURACY[name], abs=1e-3)
        assert by_name["accuracy"]["low"] < ACCURACY[name] < by_name["accuracy"]["high"]
    else:
        assert by_name["accuracy"]["note"].startswith("not defined because no truth is known")
        assert 0 < by_name["worker_error"]["value"] < .5
    assert by_name["manhattan"]["value"] == pytest.approx(0, abs=1e-12) and by_name["ranking"]["value"] == 1  # shares beside themselves


def test_numbers():
    if not DATA or not (Path(DATA) / "AffectiveText").is_dir():
        (pytest.fail if os.environ.get("MANYVOICES_CI") == "1" else pytest.skip)(f"MANYVOICES_DATA is {DATA!r}, without AffectiveText")
    import polars as pl

    frame = pl.read_csv(Path(DATA) / "AffectiveText" / "answers.csv", infer_schema=False).select("task", "worker", label="valence")
    data = mv.read(frame, scale="interval")
    found = evaluated(mv.aggregate(data, "mean"), data, "mae,worker_error,pearson", against="answers")
    values = np.array(found.value)
    assert values[0] == pytest.approx(0) and values[1] == pytest.approx(25.2417, abs=1e-3) and values[-1] == pytest.approx(1)
