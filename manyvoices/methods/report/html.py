"""HTML: one file that opens from disk in any browser, without a network.

Texts from the data are escaped everywhere, also inside scripts; a content security policy lets only the page's own scripts run
(by their hash) and nothing be loaded. Charts are Vega-Lite, drawn as SVG by the copy inside the file; each has a table with
the same numbers. The page follows the light or dark setting of the reader, has a button for it, and prints in light.

Reference: Satyanarayan, Moritz, Wongsuphasawat, Heer (2017), Vega-Lite, doi:10.1109/TVCG.2016.2599030.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from ...core.words import ends, name, number, share, value
from ._charts import charts

HERE = Path(__file__).parent
TEMPLATES, VEGA = HERE / "templates", HERE / "vega"
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
Facts = dict[str, Any]


def html(facts: Facts) -> str:
    """Fill the template; everything else is in it."""
    drawn = charts(facts)
    scripts = [*vega(), (TEMPLATES / "report.js").read_text(encoding="utf-8")] if drawn else [page_script()]
    data = {
        "charts": {key: chart["spec"] for key, chart in drawn.items()},
        "workers": dialog(facts["workers"], facts["meanings"]),
    }
    return (
        environment()
        .get_template("report.html")
        .render(
            facts=facts,
            charts=drawn,
            bounds_of=worker_bounds(facts["workers"]),
            data=safe_json(data),
            style=(TEMPLATES / "report.css").read_text(encoding="utf-8"),
            scripts=scripts,
            hashes=[sha(script) for script in scripts],
            licence=(VEGA / "LICENSE").read_text(encoding="utf-8") if drawn else "",
        )
    )


def page_script() -> str:
    return (TEMPLATES / "report.js").read_text(encoding="utf-8")


@cache
def vega() -> tuple[str, ...]:
    return tuple(
        (VEGA / file).read_text(encoding="utf-8").strip()
        for file in ("vega.min.js", "vega-lite.min.js", "vega-interpreter.js")
    )


def sha(script: str) -> str:
    """What the policy knows a script by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def safe_json(held: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(held, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter, code in ESCAPES.items():
        text = text.replace(letter, code)
    return text


def dialog(section: Facts | None, meanings: dict[str, str]) -> Facts:
    """What the window of a worker shows."""
    if section is None:
        return {"classes": [], "rows": {}}
    classes = [f"{name} {meanings[name]}" if name in meanings else name for name in section["classes"]]
    return {"classes": classes, "rows": {r["worker"]: r["confusion"] for r in section["rows"]}}


@cache
def environment():
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"number": number, "share": share, "value": value, "short": name, "tied": tied}
    made.globals |= {
        "span": span,
        "bounds": bounds,
        "between": between,
        "value": value,
        "share": share,
        "fine": fine,
        "points": points,
    }
    return made


def between(low: float, high: float, style=value) -> str:
    return ends(low, high, style).replace(" to ", "–" if low >= 0 else " to ")


def fine(x: float) -> str:
    """A digit more, where methods lie close together."""
    return f"{x:.3f}"


def points(x: float) -> str:
    return f"{round(100 * x)} {'point' if round(100 * x) == 1 else 'points'}"


def tied(said: str) -> Markup:
    """No line ends between a number and its sign, or within the name of an option."""
    text = str(escape(said.replace(" %", "\u00a0%")))
    return Markup(re.sub(r"--[a-z][a-z-]*", r'<span class="option">\g<0></span>', text))


# bars within a line ----------------------------------------------------------------------------------------------------


def worker_bounds(section: Facts | None) -> dict[str, tuple[float, float]]:
    return {} if section is None else {key: bounds(section["rows"], key) for key in section["columns"]}


def bounds(rows: list[Facts], key: str | None) -> tuple[float, float]:
    """The ends of the scale that the bars of a column share: 0 to 1 where that holds them all."""
    cells = [row if key is None else row.get(key) or {} for row in rows]
    held = [x for cell in cells for x in (cell.get("value"), cell.get("low"), cell.get("high")) if x is not None]
    if not held:
        return 0.0, 1.0
    low, high = min(held), max(held)
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    return (min(low, 0.0), max(high, 0.0)) if low != high else (low - 1, high + 1)


def span(cell: Facts, ends: tuple[float, float]) -> Facts | None:
    """Where dot and line stand, from 0 to 100."""
    if cell.get("value") is None:
        return None
    low, high = ends

    def place(x: float | None) -> float | None:
        return None if x is None else round(3 + 94 * min(max((x - low) / ((high - low) or 1), 0), 1), 1)

    return {"at": place(cell["value"]), "low": place(cell.get("low")), "high": place(cell.get("high"))}
