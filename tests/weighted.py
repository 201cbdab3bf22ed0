"""Weights for tests: from the cache of whoever runs them, or fetched by pip; without either a test skips, or fails in CI."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from manyvoices.core.errors import ManyVoicesError

CACHE = os.environ.get("MANYVOICES_HOME")                                  # before tests set their own


def weights(name: str, home: Path) -> Path:
    """The folder of the weights, linked into the cache folder of this test."""
    from manyvoices.nn import weights as fetched

    with pytest.MonkeyPatch.context() as patch:
        if CACHE is None:
            patch.delenv("MANYVOICES_HOME", raising=False)
        else:
            patch.setenv("MANYVOICES_HOME", CACHE)
        try:
            real = fetched.get(name)
        except ManyVoicesError as error:
            missing(str(error))
    place = home / "weights" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        place.symlink_to(real, target_is_directory=True)
    return place


def wheel(pin: str, folder: Path) -> Path:
    """A package's file, for what tests compare with."""
    call = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--no-input", "-d", str(folder), pin]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    found = list(folder.glob("*.whl"))
    if done.returncode or not found:
        missing(f"{pin} cannot be fetched: {done.stderr[-200:]}")
    return found[0]


def missing(why: str) -> None:
    (pytest.fail if os.environ.get("MANYVOICES_CI") == "1" else pytest.skip)(why)
