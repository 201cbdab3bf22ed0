"""How numbers and names are said in a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .labels import many as plural

NAME = 60  # letters of a name that a sentence shows


def number(n: float) -> str:
    return f"{n:,.0f}"


def count(n: float, one: str, more: str = "") -> str:
    return plural(int(n), one, more).replace(str(int(n)), number(n), 1)


def share(x: float) -> str:
    """A share as a percentage; what is not all is never called 100 %, nor what is not nothing 0 %."""
    if 0.995 <= x < 1:
        return "more than 99 %"
    return "less than 1 %" if 0 < x < 0.005 else f"{100 * x:.0f} %"


def value(x: float | None) -> str:
    """A number as a table shows it."""
    if x is None or not math.isfinite(x):
        return ""
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.3g}" if abs(x) >= 10 else f"{x:.2f}"


def interval(row: dict[str, Any], style=value) -> str:
    if row.get("low") is None or row.get("high") is None:
        return ""
    return f" (95 % interval {style(row['low'])} to {style(row['high'])})"


def name(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= NAME else text[: NAME - 1] + "…"


def called(text: str, meanings: dict[str, str]) -> str:
    """A class with what it means, where its name is a code."""
    return f"{text} ({meanings[text]})" if text in meanings else text


def listed(texts: Iterable[str], most: int = 3) -> str:
    texts = list(texts)
    some = [f"“{name(text)}”" for text in texts[:most]]
    if len(texts) > most:
        some.append(f"{number(len(texts) - most)} more")
    return " and ".join([", ".join(some[:-1]), some[-1]] if len(some) > 1 else some)


def tidy(x: Any) -> Any:
    """Plain values: numbers in six digits, nothing where a number is not defined, text that every file can hold."""
    if isinstance(x, dict):
        return {tidy(k): tidy(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [tidy(v) for v in x]
    if isinstance(x, str):
        return x.encode("utf-8", "surrogatepass").decode("utf-8", "replace").replace("\0", "�")
    if x is None or isinstance(x, bool):
        return x
    if hasattr(x, "item"):
        x = x.item()
    if isinstance(x, int):
        return x
    return float(f"{x:.6g}") if math.isfinite(x) else None
