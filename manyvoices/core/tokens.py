"""Tokens: what an encoder makes of items, kept on disk and mapped into memory by whoever needs it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """n items of L tokens of D numbers. Pooled form: L = 1. `where` says what a token is of: the span of characters
    [from, to), the box [left, top, right, bottom) of an image in shares of its sides, or the seconds [from, to)."""

    values: np.ndarray  # [n, L, D]
    mask: np.ndarray  # [n, L] true where there is a token
    where: np.ndarray  # [n, L, 2 or 4]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        return self.values.shape[2]

    @classmethod
    def pooled(cls, values: np.ndarray) -> Tokens:
        n = len(values)
        return cls(values[:, None, :], np.ones((n, 1), bool), np.zeros((n, 1, 2), np.float32))

    @classmethod
    def mapped(cls, folder: Path) -> Tokens:
        return cls(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("values", "mask", "where")))
