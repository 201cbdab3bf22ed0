"""The folder for what is made or fetched once: encoded items and weights. MANYVOICES_HOME, or the user's cache."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    if given := os.environ.get("MANYVOICES_HOME"):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "manyvoices"
