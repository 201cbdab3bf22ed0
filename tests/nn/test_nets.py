"""The scale of frozen features."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.extras


def test_a_scale_is_that_of_each_column():
    """More columns than are looked at in one go, missing numbers, a column that says nothing, rows that do not count."""
    from manyvoices.nn.nets import Standard

    rng = np.random.default_rng(0)
    values = (rng.normal(size=(50, 150)) * np.arange(1, 151) + 7).astype(np.float16)
    values[:, 3] = 2
    values[rng.random(values.shape) < .05] = np.nan
    rows = np.flatnonzero(rng.random(50) < .7)
    body = Standard(150)
    body.learn(values, rows)
    some = values[rows].astype(float)
    mean, spread = np.nanmean(some, axis=0), np.nanstd(some, axis=0)
    assert np.allclose(body.mean, mean, rtol=1e-5) and np.allclose(body.scale[4:], 1 / spread[4:], rtol=1e-4)
    assert body.scale[3] == 0
    x = body(torch.from_numpy(values[rows])).numpy()
    assert np.allclose(np.where(np.isnan(some), 0, (some - mean) * np.where(spread > 1e-6, 1 / np.maximum(spread, 1e-6), 0)), x, atol=1e-3)
