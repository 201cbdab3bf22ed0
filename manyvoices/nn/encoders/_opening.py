"""Which items' files open: looked at once, before anything is learnt from them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...core.content import Content, content_of
from ...core.errors import BadInput, NotWritable
from ...core.files import put_text
from ...core.items import Items
from ...kernels.em import tell
from ..home import home
from ._images import picture

SOME = 64  # files at a time


def usable(items: Items) -> Content:
    """The content of the items that have any, without those whose files do not open; what was found is kept on disk."""
    content = content_of(items)
    if not content.in_files:
        return content
    found = home() / "opened" / f"{content.digest()}.json"
    try:
        lost = {int(row): why for row, why in json.loads(found.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, AttributeError):
        lost = dict(closed(content))
        with suppress(NotWritable):  # then it is looked at again
            put_text(found, json.dumps(lost))
    return content.without(lost).checked(items.strict)


def closed(content: Content) -> Iterator[tuple[int, str]]:
    """Row and reason of items with a file that does not open."""
    with ThreadPoolExecutor(1 if content.kind == "audio" else os.cpu_count()) as pool:
        for a in range(0, len(content), SOME):
            block = content.values[a : a + SOME]
            for row, why in enumerate(pool.map(why_not, block, [content.kind] * len(block)), a):
                if why:
                    yield row, why
            tell("opening files, item", min(a + SOME, len(content)), len(content), float(a + len(block)))


def why_not(value: Any, kind: str) -> str:
    """What is wrong with an item's file or files; nothing where they open."""
    from .voice import sound_of

    files: list[Path] = value if isinstance(value, list) else [value]
    for path in files:
        try:
            (sound_of if kind == "audio" else picture)(path)
        except BadInput as problem:
            return f"has {path.name}: {problem.message}"
    return "" if files else "has no frames"
