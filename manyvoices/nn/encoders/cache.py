"""Encoded items on disk: a frozen encoder runs once over a data set, for all methods, epochs and processes."""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from types import ModuleType

import numpy as np

from ...core.content import Content
from ...core.tokens import Tokens
from ...kernels.em import tell
from ..home import home, once
from ..training import Training

SOME = 256  # items at a time
FIELDS = ("values", "mask", "where")
log = logging.getLogger("manyvoices")


def tokens_of(module: ModuleType, name: str, content: Content, form: str, how: Training) -> Tokens:
    """From the cache, or made now. Processes that want the same at the same time make it once."""
    if getattr(module, "PLAIN", False) and not isinstance(content.values, np.memmap):
        return module.frozen(name, form, how)(content.values)  # in memory already: a copy on disk would help nobody
    asked = [name, module.version(name), form, how.precision, content.digest()]
    key = hashlib.sha256("\0".join(asked).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def whole(folder: Path) -> bool:
        return (folder / "about.json").is_file()

    return Tokens.mapped(
        once(home() / "tokens" / key, whole, lambda folder: make(module, name, content, form, how, folder))
    )


def make(module: ModuleType, name: str, content: Content, form: str, how: Training, folder: Path) -> None:
    """Part by part, so that memory does not grow with the items; in the end one array, as long as the longest item."""
    encode = module.frozen(name, form, how)
    starts = range(0, len(content), SOME)
    for a in starts:
        rows = np.arange(a, min(a + SOME, len(content)))
        part = encode(content.take(rows))
        for field in FIELDS:
            np.save(folder / f"{field}.{a}.npy", getattr(part, field))
        tell(f"encoding with {name}, item", int(rows[-1]) + 1, len(content), float(rows[-1] + 1))
    for field in FIELDS:
        join([folder / f"{field}.{a}.npy" for a in starts], folder / f"{field}.npy")
    about = {"encoder": name, "form": form, "precision": how.precision, "items": len(content)}
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
    log.debug("encoded %d items with %s", len(content), name)


def join(parts: list[Path], whole: Path) -> None:
    """Arrays [n, L, ...] one behind the other; shorter L ends in zeros."""
    if len(parts) == 1:
        parts[0].rename(whole)
        return
    pieces = [np.load(part, mmap_mode="r") for part in parts]
    shape = (sum(len(piece) for piece in pieces), *np.max([piece.shape[1:] for piece in pieces], axis=0).tolist())
    kept = np.lib.format.open_memmap(whole, "w+", np.result_type(*pieces), shape)
    at = 0
    for part, piece in zip(parts, pieces, strict=True):
        kept[at : at + len(piece), : piece.shape[1]] = piece
        at += len(piece)
        part.unlink()
    kept.flush()
