"""Fixed patches: an image cut into 8 x 8 squares, each the numbers of its pixels. Nothing is learnt and nothing fetched.

Images are made 64 x 64 first, so a patch is 8 x 8 pixels of three colours: 192 numbers from -1 to 1, with the box it
was cut from. Pooled, an image is the mean and the standard deviation over its patches. It says little about an image: it
is there to try things out, and as the least that other encoders must beat.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.tokens import Tokens
from ..training import Training
from ._images import squares

KINDS = ("image",)
SIDE, ACROSS = 64, 8


def version(name: str) -> str:
    return "1"


def frozen(name: str, form: str, how: Training) -> Callable[[np.ndarray | list], Tokens]:
    def encode(values: np.ndarray | list) -> Tokens:
        x = squares(values, SIDE).astype(np.float32) / 127.5 - 1
        n, edge = len(x), SIDE // ACROSS
        cut = x.reshape(n, ACROSS, edge, ACROSS, edge, 3).transpose(0, 1, 3, 2, 4, 5).reshape(n, ACROSS**2, -1)
        if form == "pooled":
            return Tokens.pooled(np.concatenate([cut.mean(axis=1), cut.std(axis=1)], axis=1))
        return Tokens(cut.astype(np.float16), np.ones(cut.shape[:2], bool), boxes(n, ACROSS))

    return encode


def boxes(n: int, across: int) -> np.ndarray:
    """[n, across * across, 4] left, top, right, bottom of a grid, row by row, in shares of the sides."""
    top, left = np.divmod(np.arange(across**2), across)
    box = np.stack([left, top, left + 1, top + 1], axis=1).astype(np.float32) / across
    return np.broadcast_to(box, (n, *box.shape))
