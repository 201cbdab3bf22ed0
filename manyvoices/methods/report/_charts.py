"""The charts of the page as Vega-Lite specifications. Colours are CSS variables: one drawing serves light, dark and print."""

from __future__ import annotations

from typing import Any

from ...core.words import TURNS, begun, number, value

Facts = dict[str, Any]
Spec = dict[str, Any]

KINDS = (
    "no information seen",
    "a consistent view of their own",
    "own view on some tasks",
    "agrees with the others",
    "undecided",
)
COLOURS = ("var(--warn)", "var(--view)", "var(--view)", "var(--accent)", "var(--muted)")
SHAPES = ("triangle-down", "diamond", "triangle-up", "circle", "square")
LETTERS, BARS, CROWDED = 24, 40, 60
ROOM = "bandwidth('x') < 28 ? 0 : 1"  # no numbers in squares too narrow for them
ACROSS = 36  # letters that a narrow screen has room for across a table
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
CONFIG: Spec = {
    "background": None,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--muted)",
        "titleColor": "var(--muted)",
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "gridColor": "var(--line)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelLimit": 150,
        "labelSeparation": 6,
    },
    "legend": {"labelColor": "var(--ink)", "labelFontSize": 12, "title": None, "orient": "top", "columns": 2, "labelLimit": 200,
               "symbolOpacity": 1},
    "text": {"color": "var(--ink)", "fontSize": 12},
    "point": {"opacity": 1},
}  # fmt: skip


def charts(facts: Facts) -> dict[str, dict[str, Any]]:
    """Name -> title, a text of what it shows, the specification. Only those there is something to draw for."""
    called = Called(facts["meanings"])
    found = {
        "workers": workers(facts["workers"]),
        "byclass": by_class(facts["agreement"], called),
        "pairs": pairs(facts["agreement"], called),
        "grid": grid(facts["classes"], called),
        "confidence": confidence(facts["confidence"]),
        "calibration": calibration(facts["confidence"]),
        "methods": methods(facts["methods"], "predicts"),
        "right": methods(facts["methods"], "right"),
    }
    for i, row in enumerate(facts["models"]["rows"] if facts["models"] else []):
        found |= {f"curve-{i}": curve(row), f"reliability-{i}": reliability(row)}
    return {name: chart for name, chart in found.items() if chart is not None}


class Called:
    """Names as a chart has room for them, still different from one another; of classes with what they mean."""

    def __init__(self, meanings: dict[str, str]):
        self.meanings = meanings
        self.known: dict[str, str] = {}
        self.taken: set[str] = set()

    def __call__(self, text: str, limit: int = LETTERS) -> str:
        if text not in self.known:
            whole = " ".join(f"{text} {self.meanings.get(text, '')}".translate(TURNS).split()) or "(empty)"
            short, again = whole if len(whole) <= limit else whole[: limit - 1] + "…", 1
            while short in self.taken:
                again += 1
                short = f"{whole[: limit - 5]}… {again}"
            self.known[text] = short
            self.taken.add(short)
        return self.known[text]


def chart(title: str, says: str, height: int, values: list[Spec], **spec: Any) -> dict[str, Any]:
    whole = {"width": "container", "height": height}
    whole |= {"data": {"values": values}, "config": CONFIG, **spec}
    return {"title": title, "says": says, "spec": whole}


def axis(title: str | None, **more: Any) -> Spec:
    return {"title": title} | more


def workers(section: Facts | None) -> dict[str, Any] | None:
    """Skill against the number of answers."""
    rows = [] if section is None else [r for r in section["rows"] if (r.get("skill") or {}).get("value") is not None]
    if len(rows) < 2:
        return None
    values = [
        {
            "worker": r["worker"],
            "answers": r["n"],
            "skill": r["skill"]["value"],
            "low": r["skill"]["low"],
            "high": r["skill"]["high"],
        }
        | {"says": r.get("verdict", "agrees with the others")}
        for r in rows
    ]
    if len(rows) <= BARS:
        return single_workers(values)
    seen = [k for k in range(len(KINDS)) if any(v["says"] == KINDS[k] for v in values)]
    colour: Spec = {"field": "says", "type": "nominal"}
    domain = [KINDS[k] for k in seen]
    judged = bool(section["verdict"])
    crowded = judged and len(rows) > CROWDED
    most, least = (f(v["answers"] for v in values) for f in (max, min))
    far = most >= 8 * least  # so few that a usual scale would squeeze most of them into a corner
    x: Spec = {"field": "answers", "type": "quantitative", "scale": {"nice": False, "padding": 14}}
    x["scale"] |= {"type": "log"} if far else {"zero": False}
    x["axis"] = axis("answers given" + " (logarithmic)" * far, grid=False, format=",")
    x["axis"] |= {"values": ticks([v["answers"] for v in values])} if far else {"tickMinStep": 1}
    y = {"type": "quantitative", "scale": {"zero": False, "nice": True}, "axis": axis("skill, with its 95 % interval")}
    tooltip: list[Spec] = [
        {"field": f, "format": ".2f"} if f in ("skill", "low", "high") else {"field": f}
        for f in ("worker", "answers", "skill", "low", "high")
    ]
    if judged:
        tooltip.append({"field": "says"})
    values.sort(key=lambda v: -KINDS.index(v["says"]))  # what is to be seen is drawn last
    undecided = {"test": f"datum.says === '{KINDS[-1]}'", "value": 0.35}
    dim = {"condition": [{"test": {"not": {"param": "kind"}}, "value": 0.05}, undecided], "value": 1}
    marks: Spec = (
        {"color": {**colour, "scale": {"domain": domain, "range": [COLOURS[k] for k in seen]}}}
        if judged
        else {"color": {"value": "var(--accent)"}}
    )
    if judged:
        marks["shape"] = {**colour, "scale": {"domain": domain, "range": [SHAPES[k] for k in seen]}}
    for channel in marks.values():
        if "field" in channel and len(seen) < 2:
            channel["legend"] = None
    strokes = {k: v for k, v in marks.items() if k == "color"}
    points: Spec = {
        "mark": {"type": "point", "filled": True, "size": 60, "cursor": "pointer"},
        "encoding": {"x": x, "y": {"field": "skill", **y}, **marks, "tooltip": tooltip, "opacity": dim},
    }
    if judged:
        points["params"] = [{"name": "kind", "select": {"type": "point", "fields": ["says"]}, "bind": "legend"}]
    else:
        points["encoding"].pop("opacity")
    plain = f" && datum.says !== '{KINDS[-1]}'" if crowded else ""
    rules: Spec = {
        "transform": [{"filter": f"isValid(datum.low) && isValid(datum.high){plain}"}],
        "mark": {"type": "rule", "strokeWidth": 1, "opacity": 0.25 if len(rows) > 60 else 0.45},
        "encoding": {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}, **strokes},
    }
    return chart(
        "Skill and number of answers",
        f"A mark for each of {number(len(rows))} workers{' in the table' if section['sample'] else ''}: how many answers across, "
        f"skill upwards, the line is the 95 % interval"
        f"{' (not drawn for the undecided, pale)' if crowded else ''}. The table of workers has the same numbers.",
        320,
        values,
        layer=[rules, points],
    )


def single_workers(values: list[Spec]) -> dict[str, Any]:
    """A line each, where there are few."""
    called = Called({})
    rows = [v | {"worker": called(v["worker"]), "first": True} for v in values]
    rows.sort(key=lambda v: -v["skill"])
    says = f"Each of {len(rows)} workers, the best on top; where intervals overlap, the order may be chance."
    return ranged(rows, "skill", "worker", "Skill of each worker", "skill, with its 95 % interval", says)


def ticks(held: list[int]) -> list[int]:
    """1, 2, 5, 10, ... where several of them lie among the values, else some that do."""
    low, high = min(held), max(held)
    steps = [m * 10**e for e in range(10) for m in (1, 2, 5) if low <= m * 10**e <= high]
    return steps if len(steps) > 2 else sorted({round(low * (high / low) ** (i / 3)) for i in range(4)})


def ranged(
    values: list[Spec], field: str, names: str, title: str, x_title: str, says: str, zero: bool = False
) -> dict[str, Any]:
    """A dot with its interval for each name."""
    order = [v[names] for v in values]
    y = {
        "field": names,
        "type": "nominal",
        "sort": order,
        "axis": axis(None, ticks=False, domain=False, labelLimit=130, labelColor="var(--ink)"),
    }
    x = {
        "type": "quantitative",
        "scale": {"zero": zero, "nice": True, "padding": 6},
        "axis": axis(x_title, tickCount=5),
    }
    tooltip = [{"field": names}, *({"field": f, "format": ".3f"} for f in (field, "low", "high"))]
    colour = {"condition": {"test": "datum.first", "value": "var(--accent)"}, "value": "var(--muted)"}
    layers: list[Spec] = [
        {
            "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 70},
            "encoding": {"y": y, "x": {"field": field, **x}, "color": colour, "tooltip": tooltip},
        },
    ]
    return chart(title, says, 26 * len(values), values, layer=layers)


def by_class(section: Facts, called: Called) -> dict[str, Any] | None:
    rows = [r for r in section["classes"] if r["value"] is not None][:BARS]
    if len(rows) < 3:
        return None
    values = [
        {"class": called(r["name"]), "alpha": r["value"], "low": r["low"], "high": r["high"], "first": True}
        for r in rows
    ]
    values.sort(key=lambda v: -v["alpha"])
    says = "For each class, how far people agree on what is and is not in it: 1 is perfect, 0 is what guessing gives."
    return ranged(values, "alpha", "class", "Agreement by class", "alpha, with its 95 % interval", says, zero=True)


def methods(section: Facts, what: str) -> dict[str, Any] | None:
    names = [n for n in section["columns"] if n.startswith("predicts") == (what == "predicts")]
    if not names:
        return None
    name, about = names[0], section["columns"][names[0]]
    rows = [r for r in section["rows"] if (r.get(name) or {}).get("value") is not None]
    if len(rows) < 2:
        return None
    values = [
        {
            "method": r["method"],
            "score": r[name]["value"],
            "low": r[name]["low"],
            "high": r[name]["high"],
            "first": r["recommended"],
        }
        | {"rank": r[name].get("rank") or 0}
        for r in rows
    ]
    values.sort(key=lambda v: (v["rank"], v["method"]))
    title = (
        "Which methods predict hidden answers"
        if what == "predicts"
        else "Which methods are right, where the truth is known"
    )
    return ranged(
        values,
        "score",
        "method",
        title,
        about["title"] + ", with its 95 % interval",
        about["says"] + " The coloured one is recommended.",
    )


def heat(
    title: str,
    says: str,
    values: list[Spec],
    x: str,
    y: str,
    shade: str,
    shown: str,
    names: list[str],
    x_title: str,
    y_title: str,
    fmt: str,
):
    """Squares whose shade is a share; the numbers stand in them where there is room."""
    few = len(names) <= 12
    turned = max(map(len, names)) * len(names) > ACROSS  # the same on every screen: only a narrow one would need it
    across = {
        "field": x,
        "type": "nominal",
        "sort": names,
        "axis": axis(
            x_title,
            orient="top",
            labelAngle=-60 if turned else 0,
            domain=False,
            ticks=False,
            labelLimit=90 if turned else {"expr": "bandwidth('x') - 4"},
        ),
    }
    down = {
        "field": y,
        "type": "nominal",
        "sort": names,
        "axis": axis(y_title, domain=False, ticks=False, labelLimit=110),
    }
    both = {"x": across, "y": down}
    tooltip = [
        {"field": y, "title": y_title},
        {"field": x, "title": x_title},
        {"field": shown},
        {"field": shade, "format": fmt},
    ]
    layers: list[Spec] = [
        {
            "mark": {"type": "rect", "stroke": "var(--page)", "strokeWidth": 2, "fill": "var(--accent)"},
            "encoding": {
                **both,
                "fillOpacity": {
                    "field": shade,
                    "type": "quantitative",
                    "scale": {"domain": [0, 1], "range": [0.04, 0.6 if few else 0.95], "clamp": True},
                    "legend": None,
                },
                "tooltip": tooltip,
            },
        }
    ]
    if few:
        layers.append(
            {
                "mark": {"type": "text", "fontSize": 12, "opacity": {"expr": ROOM}},
                "encoding": {**both, "text": {"field": "text", "type": "nominal"}},
            }
        )
    return chart(title, says, (36 if few else 22) * len(names), values, layer=layers)


def grid(section: Facts | None, called: Called) -> dict[str, Any] | None:
    if section is None or not section["grid"] or len(section["rows"]) < 2:
        return None
    names = [called(r["class"]) for r in section["rows"]]
    totals: dict[str, int] = {}
    for held, _, n in section["grid"]:
        totals[held] = totals.get(held, 0) + n
    values = [
        {"held": called(k), "said": called(m), "answers": n, "share": n / totals[k], "text": short_share(n / totals[k])}
        for k, m, n in section["grid"]
    ]
    says = "Rows: what the consensus holds a task to be. Columns: what people said, in % of the row."
    return heat(
        "What people say about each class",
        says,
        values,
        "said",
        "held",
        "share",
        "answers",
        names,
        "people said",
        "held to be",
        ".0%",
    )


def short_share(x: float) -> str:
    return "<1" if x < 0.005 else f"{100 * x:.0f}"


def pairs(section: Facts, called: Called) -> dict[str, Any] | None:
    rows = section["pairs"]
    if len(rows) < 3:
        return None
    names = list(dict.fromkeys(called(name) for r in rows for name in (r["name"], r["other"])))
    both = [(called(r["name"]), called(r["other"]), r) for r in rows]
    both += [(b, a, r) for a, b, r in both]
    values = [
        {"worker": a, "other": b, "kappa": r["value"], "tasks": r["n"], "text": value(r["value"])} for a, b, r in both
    ]
    says = "Cohen's kappa of each two workers on their common tasks; the stronger the colour, the more they agree."
    return heat(
        "Who agrees with whom", says, values, "other", "worker", "kappa", "tasks", names, "with", "worker", ".2f"
    )


def confidence(section: Facts | None) -> dict[str, Any] | None:
    if section is None or not section["tasks"]:
        return None
    values = [{"probability": between(r), "tasks": r["tasks"]} for r in section["rows"]]
    order = [v["probability"] for v in values]
    x = {"field": "probability", "type": "ordinal", "sort": order, "scale": {"paddingInner": 0.15}}
    x["axis"] = axis("probability of the label, in %", labelAngle=0, domain=False, ticks=False, labelOverlap="parity")
    encoding = {"x": x, "y": {"field": "tasks", "type": "quantitative", "axis": axis("tasks", tickCount=4)}}
    tooltip = [{"field": "probability"}, {"field": "tasks", "format": ","}]
    says = "How many labels have which probability: the more of them at the right, the fewer need a second look."
    mark = {"type": "bar", "fill": "var(--accent)"}
    return chart("How sure the labels are", says, 260, values, mark=mark, encoding=encoding | {"tooltip": tooltip})


def between(row: Facts) -> str:
    return f"{100 * row['from']:.0f}–{100 * row['to']:.0f}"


def curve(row: Facts) -> dict[str, Any] | None:
    """What was minimised and, where there are dev items, the same on those."""
    names = {"loss": "training", "held_out": "held-out answers", "objective": "objective"}
    values = [
        {"epoch": point["epoch"], "loss": point[key], "of": name}
        for point in row["curve"]
        for key, name in names.items()
        if key in point
    ]
    if len(row["curve"]) < 2:
        return None
    seen = [name for name in names.values() if any(v["of"] == name for v in values)]
    colours = [{"training": "var(--muted)"}.get(name, "var(--accent)") for name in seen]
    colour: Spec = {"field": "of", "type": "nominal", "scale": {"domain": seen, "range": colours}}
    if len(seen) < 2:
        colour["legend"] = None
    x = {"field": "epoch", "type": "quantitative", "axis": axis("epoch", grid=False, tickMinStep=1, tickCount=6)}
    y = {
        "field": "loss",
        "type": "quantitative",
        "scale": {"zero": False},
        "axis": axis(seen[0] if len(seen) == 1 else "loss"),
    }
    tooltip = [{"field": "of"}, {"field": "epoch"}, {"field": "loss", "format": ".4f"}]
    layers: list[Spec] = [
        {"mark": {"type": "line", "strokeWidth": 2}, "encoding": {"x": x, "y": y, "color": colour}},
        {
            "mark": {"type": "point", "filled": True, "size": 30, "opacity": 0.001},
            "encoding": {"x": x, "y": y, "tooltip": tooltip},
        },
    ]
    kept = [{"epoch": row["kept"]}] if "held_out" in row["curve"][0] else []
    if kept:
        rule = {"mark": {"type": "rule", "strokeDash": [4, 4], "color": "var(--muted)"}, "encoding": {"x": x}}
        layers.append({"data": {"values": kept}, **rule})
    says = "Down is better."
    if kept:
        says += " The weights of the dashed epoch are kept. Where held-out answers rise again, it learns by heart."
    return chart("How it was learnt", says, 220, values, layer=layers)


def reliability(row: Facts) -> dict[str, Any] | None:
    """The first of the diagrams: on the truth of test items where that is known, else on the dev items."""
    if not row["reliability"]:
        return None
    held = row["reliability"][0]
    sides = ("after",) if held["temperature"] == 1 else ("before", "after")
    names = {"before": "uncalibrated", "after": "calibrated" if len(sides) > 1 else "probabilities"}
    values = [
        {"promised": b["mean"], "right": b["right"], "n": b["n"], "of": names[side]}
        for side in sides
        for b in held[side]["bins"]
    ]
    lowest = min(0.5, *(v["promised"] for v in values))
    x = {"type": "quantitative", "scale": {"domain": [lowest, 1]}}
    x["axis"] = axis("probability promised", format=".0%", tickCount=5)
    y = {"type": "quantitative", "scale": {"domain": [0, 1]}}
    y["axis"] = axis("share in fact right", format=".0%", tickCount=5)
    domain = [names[side] for side in sides]
    colour: Spec = {
        "field": "of",
        "type": "nominal",
        "scale": {"domain": domain, "range": ["var(--muted)", "var(--accent)"][-len(sides) :]},
    }
    if len(sides) < 2:
        colour["legend"] = None
    tooltip = [
        {"field": "of"},
        *({"field": f, "format": ".1%"} for f in ("promised", "right")),
        {"field": "n", "format": ",.0f"},
    ]
    size = {"field": "n", "type": "quantitative", "scale": {"range": [40, 300]}, "legend": None}
    layers: list[Spec] = [
        {
            "data": {"values": [{"x": lowest, "y": lowest}, {"x": 1, "y": 1}]},
            "mark": {"type": "line", "strokeDash": [4, 4], "strokeWidth": 1, "stroke": "var(--muted)"},
            "encoding": {"x": {"field": "x", **x}, "y": {"field": "y", **y}},
        },
        {
            "mark": {"type": "point", "filled": True, "opacity": 1},
            "encoding": {
                "x": {"field": "promised", **x},
                "y": {"field": "right", **y},
                "color": colour,
                "size": size,
                "tooltip": tooltip,
            },
        },
    ]
    gap = (
        f"{held['after']['ece']:.3f}"
        if len(sides) < 2
        else f"{held['before']['ece']:.3f} before, {held['after']['ece']:.3f} after"
    )
    says = f"{begun(held['of'])}. Expected calibration error {gap}. On the dashed line they keep their word."
    return chart("What its probabilities are worth", says, 220, values, layer=layers)


def calibration(section: Facts | None) -> dict[str, Any] | None:
    rows = [] if section is None else [r for r in section["rows"] if r.get("known")]
    if not rows:
        return None
    values = [
        {"promised": r["mean"], "right": r["right"], "low": r["low"], "high": r["high"], "tasks": r["known"]}
        for r in rows
    ]
    lowest = min(0.5, *(v["promised"] for v in values))
    scale = {"domain": [0, 1]}
    x = {
        "type": "quantitative",
        "scale": {"domain": [lowest, 1]},
        "axis": axis("probability promised", format=".0%", tickCount=5),
    }
    y = {"type": "quantitative", "scale": scale, "axis": axis("share in fact right", format=".0%", tickCount=5)}
    tooltip = [
        *({"field": f, "format": ".1%"} for f in ("promised", "right", "low", "high")),
        {"field": "tasks", "format": ","},
    ]
    colour = {"value": "var(--accent)"}
    layers: list[Spec] = [
        {
            "data": {"values": [{"x": lowest, "y": lowest}, {"x": 1, "y": 1}]},
            "mark": {"type": "line", "strokeDash": [4, 4], "strokeWidth": 1, "stroke": "var(--muted)"},
            "encoding": {"x": {"field": "x", **x}, "y": {"field": "y", **y}},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {
                "x": {"field": "promised", **x},
                "y": {"field": "low", **y},
                "y2": {"field": "high"},
                "color": colour,
            },
        },
        {
            "mark": {"type": "point", "filled": True, "opacity": 1},
            "encoding": {
                "x": {"field": "promised", **x},
                "y": {"field": "right", **y},
                "color": colour,
                "tooltip": tooltip,
            }
            | {"size": {"field": "tasks", "type": "quantitative", "scale": {"range": [40, 300]}, "legend": None}},
        },
    ]
    says = "On the dashed line the probabilities keep their word; below it they promise too much. Larger dots have more tasks."
    return chart("What the probabilities are worth", says, 260, values, layer=layers)
