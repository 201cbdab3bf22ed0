"""JSON: the summary itself, for a program.

One object with the sections of the page as keys: `next`, `figures`, `data`, `agreement`, `workers`, `tasks`, `classes`,
`confidence`, `methods`, `runs`, `models`, `dropped`, `manifest`.
Each section has `title`, `says` (its conclusions in words) and `rows`.
What is not defined is null, and a sentence beside it says why. `confusion` of a worker lists [held to be, said, how often], the
first two being places in `workers.classes`. Pictures are data URIs.

Reference: RFC 8259.
"""

from __future__ import annotations

import json as standard
from typing import Any


def json(facts: dict[str, Any]) -> str:
    """The summary, indented."""
    return standard.dumps(facts, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
