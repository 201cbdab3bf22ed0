"""Small hand-made files for the readers, and real sets where there are any."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest


@pytest.fixture
def put(tmp_path):
    """Write a file: text, bytes, or anything else as JSON; packed if the name ends in .gz."""

    def put(name: str, content) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, str | bytes):
            content = json.dumps(content)
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return put


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real sets; without it such tests are skipped, and fail where they must run."""
    folder = os.environ.get("MANYVOICES_DATA")
    if folder and Path(folder).is_dir():
        return Path(folder)
    if os.environ.get("MANYVOICES_CI") == "1":
        pytest.fail("MANYVOICES_DATA does not name the folder of real data sets")
    pytest.skip("MANYVOICES_DATA does not name the folder of real data sets")
