"""What turns items into numbers. One file an encoder; its name is the file's.

A file says which kinds of items it takes (KINDS) and has one or both of

    frozen(name, form)        -> a function from some values to Tokens; form is pooled or grid. Kept on disk (cache.py).
    trained(name, content)    -> a Source of raw items, a network that is trained with the rest, and its width

and version(name), a text that changes when the numbers do. A trained network says of each parameter, by depth(name),
how many layers lie above it.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn

from ...core.content import Content
from ...core.errors import BadCall, BadInput, Unknown
from ...core.tokens import Tokens
from ..batches import Source
from ..nets import Standard
from ..training import Training
from .cache import tokens_of

USUAL = {
    "text": "tfidf",
    "pair": "tfidf",
    "image": "pixels",
    "features": "features",
    "table": "features",
    "audio": "voice",
}


@dataclass
class Encoded:
    """Items as a network takes them, and the first part of that network."""

    source: Source
    body: nn.Module
    width: int
    about: dict[str, Any]  # what must be known to do the same with other items


def names() -> list[str]:
    return sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem not in ("__init__", "cache"))


def find(name: str, kind: str) -> tuple[str, ModuleType]:
    """The encoder's own name and file for what stands behind --encoder."""
    if name == "auto":
        if kind not in USUAL:
            raise BadCall(f"--encoder auto has nothing for {kind}; name one of {', '.join(names())}")
        name = USUAL[kind]
    base = "saved" if name.startswith("hf:") or "/" in name or Path(name).is_dir() else name
    if base not in names():
        raise Unknown.name("encoder", name, [n for n in names() if n != "saved"])
    module = importlib.import_module(f"{__name__}.{base}")
    if kind not in module.KINDS:
        raise BadInput(f"the encoder {name} takes {' or '.join(module.KINDS)}, and these items are {kind}")
    return name, module


def encoded(content: Content, how: Training, rows: np.ndarray | None = None) -> Encoded:
    """With `rows`, the training items, the scale of frozen features is learnt; without, it comes with saved weights."""
    name, module = find(how.encoder, content.kind)
    about = {"name": name, "kind": content.kind, "version": module.version(name), "columns": list(content.columns)}
    if hasattr(module, "trained") and (how.finetune or not hasattr(module, "frozen")):
        source, body, width = module.trained(name, content)
        return Encoded(source, body, width, about | {"trained": True, "width": width})
    if how.finetune:
        raise BadCall(f"--finetune: the encoder {name} has nothing to train")
    tokens = tokens_of(module, name, content, "pooled")
    body = Standard(tokens.width)
    if rows is not None:
        some = rows if len(rows) <= 20_000 else rows[:: len(rows) // 20_000 + 1]
        body.learn(torch.from_numpy(np.array(tokens.values[some, 0], np.float32)))
    return Encoded(Pooled(tokens), body, tokens.width, about | {"trained": False, "width": tokens.width})


def body_of(about: dict[str, Any]) -> tuple[nn.Module, int]:
    """The body again, empty, for saved weights."""
    name, module = find(about["name"], about["kind"])
    if not about["trained"]:
        return Standard(about["width"]), about["width"]
    return module.body(name), about["width"]


class Pooled:
    """Frozen features, read from the map as they are needed."""

    def __init__(self, tokens: Tokens):
        self.values = tokens.values

    def __len__(self) -> int:
        return len(self.values)

    def __call__(self, rows: np.ndarray, rng: np.random.Generator | None = None) -> torch.Tensor:
        return torch.from_numpy(np.array(self.values[rows, 0], np.float32))
