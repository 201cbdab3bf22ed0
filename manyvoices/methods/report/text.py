"""Markdown: the same facts as text, for a repository, a ticket, or a reader of text only.

Tables in GitHub's flavour. Texts from the data are escaped, so that none of them can become a heading, a link or HTML; long
ones are cut. A picture is named with its size: look at it in the HTML report.

Reference: CommonMark 0.31 and GitHub Flavored Markdown.
Also: markdown, md
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ...core.words import number, share, value

Facts = dict[str, Any]
LONGEST = 300


def text(facts: Facts) -> str:
    """Section by section, conclusions first."""
    parts = [top(facts), *(part(facts[name]) for name, part in SECTIONS if facts[name])]
    return "\n".join(line for lines in parts for line in lines).rstrip() + "\n"


def top(facts: Facts) -> list[str]:
    asked = ["Question: " + plain(facts["data"]["question"]), ""] if facts["data"]["question"] else []
    lines = [f"# {plain(facts['title'])}", "", *asked, "A manyvoices report.", "", "## What to do next", ""]
    lines += [f"{i}. **{plain(s['do'])}** {plain(s['because'])}" for i, s in enumerate(facts["next"], 1)]
    lines += [
        "",
        *table(("figure", "value", "what it means"), ((f["name"], f["shown"], f["says"]) for f in facts["figures"])),
    ]
    return lines


def head(section: Facts) -> list[str]:
    return [
        f"## {plain(section['title'])}",
        "",
        *(line for said in section["says"] for line in (plain(said, 3 * LONGEST), "")),
    ]


def data(section: Facts) -> list[str]:
    rows = ((r["name"], "" if r["value"] is None else number(r["value"]), r["says"]) for r in section["rows"])
    return [*head(section), *table(("what", "how many", "what it means"), rows)]


def agreement(section: Facts) -> list[str]:
    rows = ((r["title"], value(r["value"]), ends(r), number(r["n"]), r["says"]) for r in section["rows"])
    lines = [*head(section), *table(("coefficient", "value", "95 % interval", "tasks", "what it means"), rows)]
    if section["classes"]:
        classes = ((r["name"], value(r["value"]), ends(r), number(r["n"])) for r in section["classes"])
        lines += ["### By class", "", *table(("class", "alpha", "95 % interval", "answers"), classes)]
    if section["pairs"]:
        pairs = ((r["name"], r["other"], value(r["value"]), ends(r), number(r["n"])) for r in section["pairs"])
        lines += ["### By pair of workers", "", *table(("worker", "worker", "kappa", "95 % interval", "tasks"), pairs)]
    return lines


def workers(section: Facts) -> list[str]:
    columns = section["columns"]
    heads = ["worker", "answers", *(f"{c['title']} (95 % interval)" for c in columns.values())]
    heads += ["what the answers say"] * bool(section["verdict"]) + ["most frequent confusion"]
    rows = []
    for r in section["rows"]:
        cells = [r["worker"], number(r["n"]), *(scored(r[name]) for name in columns)]
        cells += [verdict(r)] if section["verdict"] else []
        rows.append([*cells, mixes(r["mixes"])])
    lines = [*head(section), *meanings({c["title"]: c["says"] for c in columns.values()})]
    lines += meanings({"what the answers say": section["verdict"]} if section["verdict"] else {})
    lines += meanings(section["not_defined"])
    lines += [plain(section["sample"]), ""] * bool(section["sample"])
    lines += table(heads, rows)
    names = [plain(name) for name in section["classes"]]
    if any(r["confusion"] for r in section["rows"]):
        lines += [
            "### Confusions",
            "",
            "For each worker: what the consensus holds → what the worker said, and how often.",
            "",
        ]
        lines += [
            f"- {plain(r['worker'])}: " + ", ".join(f"{names[k]} → {names[m]} {n}" for k, m, n in r["confusion"])
            for r in section["rows"]
            if r["confusion"]
        ]
        lines.append("")
    return lines


def tasks(section: Facts) -> list[str]:
    lines = [*head(section), *meanings(section["not_defined"])]
    for i, r in enumerate(section["rows"], 1):
        lines += [f"### {i}. {plain(r['task'])}", ""]
        if "prob" in r:
            label = plain(r["label"]) if r["label"] is not None else "no label"
            lines += [f"- label: {label}, probability {share(r['prob'])}, from {number(r['n'])} answers"]
            lines += ["- votes: " + ", ".join(f"{plain(name)} {n}" for name, n in r["votes"])]
        else:
            lines += [
                f"- value: {value(r['value'])} {ends(r)}, from {number(r['n'])} answers",
                f"- said: {', '.join(r['votes'])}",
            ]
        lines += [f"- truth: {plain(r['truth'])}"] if r.get("truth") is not None else []
        if r.get("another_vote") is not None:
            lines.append(f"- one more answer is expected to move this by {100 * r['another_vote']:.0f} points")
        for p in r["content"]:
            held = f"picture, {p['width']} x {p['height']}" if p["kind"] == "image" else plain(p["text"])
            lines.append(f"- {plain(p['name'])}: {held}")
        lines.append("")
    return lines


def classes(section: Facts) -> list[str]:
    known = any("truth" in r for r in section["rows"])
    heads = ["class", "meaning", "answers", "labels", *["truth"] * known, "recognised (95 % interval)"]
    rows = (
        [
            r["class"],
            r["means"],
            number(r["answers"]),
            number(r["labels"]),
            *[number(r.get("truth", 0))] * known,
            scored(r, "found", share),
        ]
        for r in section["rows"]
    )
    lines = [*head(section), *table(heads, rows)]
    if len(section["rows"]) < section["of"]:
        lines += [f"The {len(section['rows'])} most frequent of {number(section['of'])} classes.", ""]
    if section["pairs"]:
        pairs = (
            (r["class"], r["other"], number(r["n"]), share(r["share"]), share(r["chance"])) for r in section["pairs"]
        )
        lines += ["### Pairs of classes that answers to one task disagree about", ""]
        lines += table(("class", "class", "pairs of answers", "of all disagreements", "by frequency alone"), pairs)
    if section["missed"]:
        wrong = ((r["truth"], r["label"], number(r["n"]), number(r["of"])) for r in section["missed"])
        lines += ["### Wrong labels, where the truth is known", ""]
        lines += table(("truth", "label", "tasks", "of such tasks"), wrong)
    if section["grid"]:
        lines += [
            "### Answers by consensus",
            "",
            *table(("held to be", "said", "answers"), ((k, m, number(n)) for k, m, n in section["grid"])),
        ]
    return lines


def confidence(section: Facts) -> list[str]:
    known = "known" in section
    heads = ("probability", "tasks", *(("mean", "of known truth", "right (95 % interval)") if known else ()))
    rows = (
        [
            f"{share(r['from'])} to {share(r['to'])}",
            number(r["tasks"]),
            *((value(r["mean"]), number(r["known"]), scored(r, "right", share)) if known else ()),
        ]
        for r in section["rows"]
    )
    return [*head(section), *table(heads, rows)]


def methods(section: Facts) -> list[str]:
    columns = section["columns"]
    heads = ["method", *(f"{c['title']} (95 % interval)" for c in columns.values()), "note"]
    rows = (
        [r["method"], *(scored(r.get(name)) for name in columns), r.get("why") or r["note"]] for r in section["rows"]
    )
    return [
        *head(section),
        *meanings({c["title"]: c["says"] for c in columns.values()}),
        *(table(heads, rows) if columns else []),
    ]


def runs(section: Facts) -> list[str]:
    heads = ("run", "labels", "right (95 % interval)", "as in this report", "what it is")
    rows = ((r["run"], number(r["tasks"]), scored(r, "accuracy", share), same(r), r["says"]) for r in section["rows"])
    lines = [*head(section), *table(heads, rows), "### The same labels, run by run", ""]
    pairs = ((r["run"], r["other"], number(r["tasks"]), same(r)) for r in section["between"])
    lines += table(("run", "run", "common tasks", "same label"), pairs)
    if section["differences"]:
        names = list(section["differences"][0]["labels"])
        lines += ["### Tasks that differ", ""]
        lines += table(
            ("task", *names), ([d["task"], *(d["labels"][n] or "" for n in names)] for d in section["differences"])
        )
        if len(section["differences"]) < section["different"]:
            lines += [f"The first {len(section['differences'])} of {number(section['different'])}.", ""]
    for r in section["rows"]:
        lines += [
            f"- {plain(r['run'])}: {plain(plainly(r[key]))} ({key})"
            for key in ("command", "options", "versions", "inputs", "when")
            if r[key]
        ]
    return [*lines, ""]


def models(section: Facts) -> list[str]:
    lines = head(section)
    for row in section["rows"]:
        lines += [f"### {plain(row['run'])}", "", plain(row["says"], 3 * LONGEST), ""]
        if any("off" in part for part in row["splits"]):
            parts = ([p["split"], number(p["items"]), number(p["known"]), value(p["off"])] for p in row["splits"])
            lines += table(("split", "items", "of known value", "off by"), parts)
        elif row["splits"]:
            heads = ("split", "items", "of known truth", "right (95 % interval)", "as the consensus")
            lines += table(
                heads,
                (
                    [p["split"], number(p["items"]), number(p["known"]), scored(p, "accuracy", share), same(p)]
                    for p in row["splits"]
                ),
            )
        for held in row["reliability"]:
            before, after = (f"{held[side]['ece']:.3f}" for side in ("before", "after"))
            lines += [
                f"- Calibration error of {plain(held['of'])}: {before} before, {after} at temperature {value(held['temperature'])}"
            ]
        lines += [""] * bool(row["reliability"])
        if row["workers"]:
            lines += ["How often workers say the truth, by the model:", ""]
            right = (
                [w["worker"], number(w["n"]), *(value(w["says"][k][k]) for k in range(len(w["says"])))]
                for w in row["workers"]["rows"]
            )
            lines += table(("worker", "answers", *row["workers"]["classes"]), right)
        if row["items"]:
            lines += ["Furthest from what is held to be true:", ""]
            items = (
                (r["task"], r["split"], r["says"], r["held"], "truth" if r["known"] else "consensus")
                for r in row["items"]
            )
            lines += table(("item", "split", "it says", "held to be", "by"), items)
    return lines


def same(row: Facts) -> str:
    return "" if row["same"] is None else share(row["same"])


def dropped(section: Facts) -> list[str]:
    lines = head(section)
    if section["reasons"]:
        lines += table(("reason", "rows"), ((reason, number(n)) for reason, n in section["reasons"].items()))
    return [*lines, *(f"- {plain(message)}" for message in section["messages"]), ""]


def manifest(section: Facts) -> list[str]:
    lines = [*head(section), f"    {oneline(section['command'])}", "", f"- seed: {section['seed']}"]
    lines += [f"- {name}: {version}" for name, version in section["versions"].items()]
    return [*lines, *(f"- sha256 of {plain(name)}: {digest}" for name, digest in section["inputs"].items()), ""]


SECTIONS = (
    ("data", data),
    ("agreement", agreement),
    ("workers", workers),
    ("tasks", tasks),
    ("classes", classes),
    ("confidence", confidence),
    ("methods", methods),
    ("runs", runs),
    ("models", models),
    ("dropped", dropped),
    ("manifest", manifest),
)


# pieces ----------------------------------------------------------------------------------------------------------------


def plain(said: Any, longest: int = LONGEST) -> str:
    """Text that Markdown shows as it is."""
    said = oneline(str(said))
    said = said if len(said) <= longest else said[: longest - 1] + "…"
    said = said.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", said)


def oneline(said: str) -> str:
    return " ".join(said.split())


def plainly(held: Any) -> str:
    if isinstance(held, dict):
        return ", ".join(f"{k} = {v}" for k, v in held.items())
    return " ".join(map(str, held)) if isinstance(held, list) else str(held)


def table(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    heads = list(heads)
    lines = [f"| {' | '.join(map(plain, heads))} |", f"| {' | '.join(['---'] * len(heads))} |"]
    return [*lines, *(f"| {' | '.join(plain(cell) for cell in row)} |" for row in rows), ""]


def ends(row: Facts, style=value) -> str:
    return "" if row.get("low") is None or row.get("high") is None else f"{style(row['low'])} to {style(row['high'])}"


def scored(row: Facts | None, key: str = "value", style=value) -> str:
    if row is None:
        return ""
    if row.get(key) is None:
        return row.get("note", "")
    between = ends(row, style)
    return style(row[key]) + (f" ({between})" if between else "")


def verdict(row: Facts) -> str:
    """The note of most verdicts begins with the verdict."""
    said = row["verdict_says"]
    return said if said.startswith(row["verdict"]) else f"{row['verdict']}: {said}" if said else row["verdict"]


def mixes(held: Facts | None) -> str:
    return "" if held is None else f"{held['held']} → {held['said']} ({number(held['n'])})"


def meanings(said: dict[str, str]) -> list[str]:
    return [*(f"- {plain(name)}: {plain(what)}" for name, what in said.items()), ""] if said else []
