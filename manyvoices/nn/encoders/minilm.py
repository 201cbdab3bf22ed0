"""Sentence BERT for texts and pairs of texts: six layers, 384 numbers, English. Reads up to 256 tokens.

Pooled, a text is the mean over its tokens. Of a pair both texts are read together, so that they can attend to one
another: it is no pair of separate sentence vectors.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from ...core.content import Content
from ...core.tokens import Tokens
from .. import weights
from ..training import Training
from ._transformer import Body, Reader, Texts, encoding, model_of

KINDS = ("text", "pair")
PRECISIONS = ("float32", "bf16")
LONGEST, WIDTH = 256, 384


def version(name: str) -> str:
    return weights.PACKAGES["minilm"].pin


def frozen(name: str, form: str, how: Training) -> Callable[[list], Tokens]:
    return encoding(weights.get("minilm"), form, how, LONGEST)


def trained(name: str, content: Content, augment: bool = False) -> tuple[Texts, nn.Module, int]:
    folder = weights.get("minilm")
    return Texts(content, Reader(folder, LONGEST)), Body(model_of(folder)), WIDTH


def body(name: str) -> nn.Module:
    return Body(model_of(weights.get("minilm"), empty=True))
