"""What turns items into numbers. One file an encoder; its name is the file's.

A file says which kinds of items it takes (KINDS) and has one or both of

    frozen(name, form, how)          -> a function from some values to Tokens. Kept on disk (cache.py).
                                        form is pooled or grid; how says where and, for PRECISIONS, how precisely.
    trained(name, content, augment)  -> a Source of raw items, a network that is trained with the rest, and its width;
                                        body(name) is that network without weights

and version(name), a text that changes when the numbers do; ready(name), if there is something to fetch by name. A
trained network says of each parameter, by depth(name), how many layers lie above it.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from ...core import registry
from ...core.content import Content
from ...core.errors import BadCall, BadInput, Unknown
from ...core.tokens import Tokens
from ..batches import Source
from ..nets import Standard
from ..training import Training
from ._opening import usable
from .cache import tokens_of

__all__ = ["Encoded", "body_of", "encoded", "find", "names", "tokens_of", "usable"]
USUAL = {
    "text": "tfidf",
    "pair": "tfidf",
    "image": "pixels",
    "features": "features",
    "table": "features",
    "audio": "voice",
    "frames": "efficientnet",
}


@dataclass
class Encoded:
    """Items as a network takes them, and the first part of that network."""

    source: Source
    body: nn.Module
    width: int
    about: dict[str, Any]  # what must be known to do the same with other items


def names() -> list[str]:
    return sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem[0] != "_" and p.stem != "cache")


def find(name: str, kind: str) -> tuple[str, ModuleType]:
    """The encoder's own name and file for what stands behind --encoder."""
    if name == "auto":
        if kind not in USUAL:
            raise BadCall(f"--encoder auto has nothing for {kind}; name one of {', '.join(names())}")
        name = USUAL[kind]
    known = [n for n in names() if n != "saved"]
    base = name
    if name not in known:
        if not (name.startswith("hf:") or "/" in name or Path(name).is_dir()):
            raise Unknown.name("encoder", name, known)
        base = "saved"
        name = name if name.startswith("hf:") else str(Path(name).resolve())
    try:
        module = importlib.import_module(f"{__name__}.{base}")
    except ModuleNotFoundError as error:
        raise registry.missing(f"the encoder {name}", error) from error
    if kind not in module.KINDS:
        raise BadInput(f"the encoder {name} takes {' or '.join(module.KINDS)}, and these items are {kind}")
    return name, module


def encoded(content: Content, how: Training, rows: np.ndarray | None = None) -> Encoded:
    """With `rows`, the training items, the scale of frozen features is learnt; without, it comes with saved weights."""
    name, module = find(how.encoder, content.kind)
    if rows is not None and hasattr(module, "ready"):
        module.ready(name)
    about = {"name": name, "kind": content.kind, "version": module.version(name), "columns": list(content.columns)}
    if in_the_loop(name, module, how, content.kind):
        with torch.random.fork_rng():
            torch.manual_seed(how.seed)
            source, body, width = module.trained(name, content, how.augment)
            if not how.pretrained:
                body = module.body(name)
        body.requires_grad_(not how.freeze)
        return Encoded(source, body, width, about | {"trained": True, "width": width})
    how = replace(how, precision=settled(module, how))
    tokens = tokens_of(module, name, content, "pooled", how)
    body = Standard(tokens.width)
    if rows is not None:
        some = rows if len(rows) <= 20_000 else rows[:: len(rows) // 20_000 + 1]
        body.learn(tokens.values[:, 0], some)
    about |= {"trained": False, "width": tokens.width, "precision": how.precision}
    return Encoded(Pooled(tokens), body, tokens.width, about)


def in_the_loop(name: str, module: ModuleType, how: Training, kind: str) -> bool:
    """Does the encoder run in every epoch: because it is trained, or because it is shown other images each time?"""
    if how.augment and kind != "image":
        raise BadCall(f"--augment changes images, and these items are {kind}: leave it out")
    if how.finetune and how.freeze:
        raise BadCall("--finetune trains the encoder and --freeze does not: leave one of them out")
    able, always = hasattr(module, "trained"), not hasattr(module, "frozen")
    if how.finetune and not able:
        raise BadCall(f"--finetune: the encoder {name} has nothing to train")
    if how.augment and not (always or (able and (how.finetune or how.freeze))):
        more = "use --finetune, --freeze (both show it changed images every epoch), or pixels" if able else "use pixels"
        raise BadCall(f"--augment: the encoder {name} sees each item once; {more}")
    if not how.pretrained and not how.finetune and not always:
        raise BadCall("--no-pretrained: an encoder without weights must be trained; add --finetune")
    return always or how.finetune or how.augment


def settled(module: ModuleType, how: Training) -> Literal["float32", "bf16"]:
    """A frozen encoder runs in bf16 only where that is asked for: it runs once, and its numbers should not depend on the
    machine."""
    return "bf16" if how.precision == "bf16" and "bf16" in getattr(module, "PRECISIONS", ()) else "float32"


def body_of(about: dict[str, Any]) -> tuple[nn.Module, int]:
    """The body again, empty, for saved weights."""
    name, module = find(about["name"], about["kind"])
    if module.version(name) != about["version"]:
        raise BadInput(f"the encoder {name} has changed since the model was trained", expected=about["version"])
    if not about["trained"]:
        return Standard(about["width"]), about["width"]
    return module.body(name), about["width"]


class Pooled:
    """Frozen features, read from the map as they are needed."""

    def __init__(self, tokens: Tokens):
        self.values = np.asarray(tokens.values)[:, 0]  # a map's own rows cost ten times as much to begin

    def __len__(self) -> int:
        return len(self.values)

    def __call__(self, rows: np.ndarray, rng: np.random.Generator | None = None) -> torch.Tensor:
        return torch.from_numpy(self.values[rows].astype(np.float32, copy=False))
