"""Hashed words: each word and each pair of neighbours adds to one of 2,048 places, with a sign; rows have length one.

How rare a word is (the idf part) is left to the scale that training puts on each place. Of a pair of texts, words of
the first, of the second, and those in both have places of their own.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np

from ...core.tokens import Tokens
from ..training import Training

KINDS = ("text", "pair")
WIDTH = 2048
WORD = re.compile(r"\w+|[^\w\s]")


def version(name: str) -> str:
    return "1"


def frozen(name: str, form: str, how: Training) -> Callable[[list], Tokens]:
    return lambda values: Tokens.pooled(np.stack([hashed(terms(value)) for value in values]))


def terms(value: str | tuple[str, str]) -> Iterable[str]:
    if isinstance(value, str):
        return grams(value)
    first, second = (list(grams(text)) for text in value)
    both = set(first) & set(second)
    only = [f"2-{term}" for term in second if term not in both]
    return [*(f"1 {t}" for t in first), *(f"2 {t}" for t in second), *(f"= {t}" for t in sorted(both)), *only]


def grams(text: str) -> Iterable[str]:
    words = WORD.findall(text.casefold())
    return [*words, *(f"{a} {b}" for a, b in pairwise(words))]


def hashed(found: Iterable[str]) -> np.ndarray:
    row = np.zeros(WIDTH, np.float32)
    for term, n in Counter(found).items():
        code = zlib.crc32(term.encode("utf-8", "surrogatepass"))
        row[code % WIDTH] += (1 + np.log(n)) * (1 if code & 0x80000000 else -1)
    length = float(np.linalg.norm(row))
    return row / length if length else row
