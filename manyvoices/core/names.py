"""Names: the ids of tasks, workers or classes, text as it came in, each with a whole number as its code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np


class Names(Sequence[str]):
    """Distinct texts in a fixed order, in one byte buffer with offsets: ten million ids cost their letters and 8 bytes each."""

    def __init__(self, texts: Iterable[str]):
        texts = texts if isinstance(texts, list) else list(texts)
        joined = "".join(texts)
        self.data = joined.encode("utf-8", "surrogatepass")
        if len(self.data) == len(joined):
            lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        else:
            lengths = np.fromiter((len(t.encode("utf-8", "surrogatepass")) for t in texts), np.int64, len(texts))
        self.offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(lengths, out=self.offsets[1:])
        self.offsets.setflags(write=False)

    @classmethod
    def ordered(cls, texts: Iterable[str]) -> Names:
        """In the order every output follows: by number if all are integers, else by code point."""
        return cls(in_order(set(texts)))

    def with_others(self, texts: Iterable[str]) -> Names:
        """These and others: all of them in order, or the others behind these where these have an order of their own."""
        own = self.to_list()
        others = in_order(set(texts) - set(own))
        return Names.ordered([*own, *others]) if own == in_order(own) else Names([*own, *others])

    @classmethod
    def numbered(cls, n: int) -> Names:
        return cls([str(i) for i in range(n)])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, code):
        if isinstance(code, slice):
            return [self[i] for i in range(*code.indices(len(self)))]
        code = range(len(self))[code]  # negative codes count from the end, others raise IndexError
        return self.data[self.offsets[code] : self.offsets[code + 1]].decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_list())

    def to_list(self) -> list[str]:
        if self.data.isascii():
            text, cut = self.data.decode("ascii"), self.offsets.tolist()
            return [text[a:b] for a, b in pairwise(cut)]
        return [self[i] for i in range(len(self))]

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {text: code for code, text in enumerate(self.to_list())}

    def code(self, texts: Iterable[str], missing: int | None = None) -> np.ndarray:
        """Codes of texts. One that is not here is a KeyError, or becomes `missing` if that is given."""
        found = self._codes
        if missing is None:
            return np.array([found[t] for t in texts], np.int64)
        return np.array([found.get(t, missing) for t in texts], np.int64)

    def __contains__(self, text: object) -> bool:
        return text in self._codes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Names) and self.data == other.data and np.array_equal(self.offsets, other.offsets)

    def __hash__(self) -> int:
        return hash(self.data)

    def __getstate__(self):
        return self.data, self.offsets

    def __setstate__(self, state) -> None:
        self.data, self.offsets = state
        self.offsets.setflags(write=False)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:4]))
        return f"Names({shown}{', ...' if len(self) > 4 else ''}; {len(self)})"


def is_integer(text: str) -> bool:
    """An optional minus and ASCII digits, nothing else."""
    digits = text[1:] if text[:1] == "-" else text
    return digits.isascii() and digits.isdigit()


def in_order(texts: Iterable[str]) -> list[str]:
    """Sorted numerically if all of them are integers, else by code point (`007` before `7`: equal numbers by code point too)."""
    texts = sorted(texts)
    if not texts or not all(map(is_integer, texts)):
        return texts
    if max(map(len, texts)) < 19:
        numbers = np.fromiter(map(int, texts), np.int64, len(texts))
        return [texts[i] for i in np.argsort(numbers, kind="stable")]
    return sorted(texts, key=_magnitude)


def _magnitude(text: str) -> tuple[int, int, str]:
    """A key with the order of the integers, for any number of digits (int() refuses more than 4,300)."""
    digits = text.lstrip("-").lstrip("0")
    if text[0] != "-":
        return 1, len(digits), digits
    return (0, -len(digits), digits.translate(str.maketrans("0123456789", "9876543210"))) if digits else (1, 0, "")
