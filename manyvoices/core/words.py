"""How numbers and names are said in a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any
from unicodedata import bidirectional

from .labels import many as plural

NAME = 60  # letters of a name that a sentence shows
TURNS = dict.fromkeys([0x200E, 0x200F, 0x061C, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])


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
    digits = 0 if abs(x) >= 100 else 1 if abs(x) >= 10 else 2
    return f"{round(x, digits) + 0.0:,.{digits}f}"  # adding 0 makes 0 of -0


def ends(low: float | None, high: float | None, style=value) -> str:
    """The two ends of an interval; shares have one decimal where a whole percentage would say all or nothing."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"{percent(low)} to {percent(high)} %" if style is share else f"{style(low)} to {style(high)}"


def percent(x: float) -> str:
    whole = x in (0, 1) or 0.005 <= x < 0.995
    return f"{100 * x:.0f}" if whole else f"{min(max(100 * x, 0.1), 99.9):.1f}"


def interval(row: dict[str, Any], style=value) -> str:
    said = ends(row.get("low"), row.get("high"), style)
    return f" (95 % interval {said})" if said else ""


def name(text: str, most: int = NAME) -> str:
    """Short, on one line, and without signs that would turn the direction of what follows."""
    text = " ".join(text.translate(TURNS).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def begun(said: str) -> str:
    """The beginning of a sentence."""
    return said[:1].upper() + said[1:]


def quoted(text: str) -> str:
    """A name within a sentence; one that runs from right to left is kept apart from the words around it."""
    short = name(text)
    return f"“\u2068{short}\u2069”" if any(bidirectional(c) in ("R", "AL") for c in short) else f"“{short}”"


def called(text: str, meanings: dict[str, str]) -> str:
    """A class with what it means, where its name is a code."""
    return f"{text} ({meanings[text]})" if text in meanings else text


def listed(texts: Iterable[str], most: int = 3) -> str:
    texts = list(texts)
    some = [quoted(text) for text in texts[:most]]
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
