"""The notes `seconds` and `when` as numbers, in the order of the answers."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

import manyvoices as mv
from manyvoices.inputs import times

MOMENTS = [
    ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05+00:00"),
    ("2024-01-02T03:04:05.25+02:00", "2024-01-02T03:04:05.25+02:00"),
    ("2024-01-02T03:04:05.123456-0700", "2024-01-02T03:04:05.123456-07:00"),
    ("2024-01-02 03:04:05", "2024-01-02T03:04:05+00:00"),
    ("2024-01-02 03:04:05 UTC", "2024-01-02T03:04:05+00:00"),
    ("2024-01-02T03:04", "2024-01-02T03:04:00+00:00"),
    ("2024-01-02T03:04+01", "2024-01-02T03:04:00+01:00"),
    ("2024-01-02", "2024-01-02T00:00:00+00:00"),
    ("2024/01/02 03:04", "2024-01-02T03:04:00+00:00"),
]


@pytest.mark.parametrize(("text", "same"), MOMENTS)
def test_moments(put, text, same):
    data = mv.read(put("a.csv", f"task,worker,label,when\n1,a,x,{text}\n"))
    assert times(data, "when") == pytest.approx([datetime.fromisoformat(same).timestamp()], abs=1e-6)


def test_the_order_is_that_of_the_answers_and_what_is_unreadable_is_missing(put):
    rows = ["2,b,x,7,1690294790", "1,b,y,fast,2024-01-01T00:00:00Z", "1,a,y,,soon", "2,a,x,-1,", "3,a,,4,5"]
    data = mv.read(put("a.csv", "task,worker,label,seconds,when\n" + "".join(f"{row}\n" for row in rows)))
    assert np.array_equal(times(data, "seconds"), [np.nan, np.nan, -1, 7], equal_nan=True)
    assert np.array_equal(times(data, "when"), [np.nan, 1704067200, np.nan, 1690294790], equal_nan=True)
    assert data.notes["seconds"].to_list() == [None, "fast", "-1", "7"]  # kept as they are
    assert times(mv.read(put("b.csv", "task,worker,label\n1,a,x\n")), "when") is None


@pytest.mark.parametrize(("column", "name"), [("timestamp", "when"), ("created_at", "when"), ("submitted_at", "when"), ("lead_time", "seconds")])
def test_other_usual_names(put, column, name):
    data = mv.read(put("a.csv", f"task,worker,label,{column}\n1,a,x,12.5\n1,b,x,inf\n"))
    assert np.array_equal(times(data, name), [12.5, np.nan], equal_nan=True)
    score = mv.identify(data, "drift" if name == "when" else "speed")
    assert "there is no column" not in score.note[0]
