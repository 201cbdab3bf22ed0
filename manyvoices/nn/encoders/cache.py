"""Encoded items on disk: a frozen encoder runs once over a data set, for all methods, epochs and processes."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import shutil
from pathlib import Path
from types import ModuleType

import numpy as np

from ...core.content import Content
from ...core.tokens import Tokens
from ...kernels.em import tell
from ..home import home

SOME = 256  # items at a time
log = logging.getLogger("manyvoices")


def tokens_of(module: ModuleType, name: str, content: Content, form: str) -> Tokens:
    """From the cache, or made now. Whoever finishes first puts the folder in place; a second maker uses that one."""
    key = hashlib.sha256(f"{name}\0{module.version(name)}\0{form}\0{content.digest()}".encode()).hexdigest()[:32]
    folder = home() / "tokens" / key
    if not (folder / "about.json").is_file():
        make(module, name, content, form, folder)
    return Tokens.mapped(folder)


def make(module: ModuleType, name: str, content: Content, form: str, folder: Path) -> None:
    beside = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    beside.mkdir(parents=True)
    try:
        kept: dict[str, np.ndarray] = {}
        encode = module.frozen(name, form)
        for a in range(0, len(content), SOME):
            rows = np.arange(a, min(a + SOME, len(content)))
            part = encode(content.take(rows))
            for field in ("values", "mask", "where"):
                piece = getattr(part, field)
                if field not in kept:
                    kept[field] = np.lib.format.open_memmap(
                        beside / f"{field}.npy", "w+", piece.dtype, (len(content), *piece.shape[1:])
                    )
                kept[field][rows] = piece
            tell(f"encoding with {name}, item", int(rows[-1]) + 1, len(content), float(rows[-1] + 1))
        for held in kept.values():
            held.flush()
        about = {"encoder": name, "form": form, "items": len(content)}
        (beside / "about.json").write_text(json.dumps(about), encoding="utf-8")
        try:
            os.rename(beside, folder)
        except OSError:
            if not (folder / "about.json").is_file():
                raise
        log.debug("encoded %d items with %s into %s", len(content), name, folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
