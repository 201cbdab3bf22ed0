"""Given vectors and columns of numbers, as they are. A sequence of vectors is pooled by its mean; rows that are all NaN at
the end of a shorter one are no part of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.tokens import Tokens
from ..training import Training

KINDS = ("features", "table")
PLAIN = True  # there is hardly anything to compute


def version(name: str) -> str:
    return "1"


def frozen(name: str, form: str, how: Training) -> Callable[[np.ndarray], Tokens]:
    def encode(values: np.ndarray) -> Tokens:
        values = np.asarray(values, np.float32)
        if values.ndim == 2:
            return Tokens.pooled(values)
        there = ~np.isnan(values).all(axis=2)
        values = np.where(there[..., None], values, np.float32(0))
        if form == "pooled":
            return Tokens.pooled(values.sum(axis=1) / there.sum(axis=1, keepdims=True))
        n, length, _ = values.shape
        place = np.arange(length, dtype=np.float32)
        where = np.stack([place, place + 1], axis=1)
        return Tokens(values, there, np.broadcast_to(where, (n, length, 2)))

    return encode
