"""Writes the generated parts of the docs.

python docs/build.py            docs/methods/, and the marked tables of docs/which-method.md and README.md
python docs/build.py --check    writes nothing; ends with 1 and the names of the files that are stale
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from manyvoices.core import registry

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "benchmarks" / "results"
SPEED, LEARNT, BESIDE = (RESULTS / f"{name}.md" for name in ("aggregate", "learn", "learn_peers"))
MEASURED, STUDY = RESULTS / "which_method.json", RESULTS / "compare.json"
JOBS = {
    "aggregate": "One label a task from everybody's answers: `manyvoices aggregate DATA -s METHOD`.",
    "read": "Formats that are read: `--from FORMAT` forces one, otherwise the content decides.",
    "agree": "How far workers agree: `manyvoices agree DATA -s METHOD`; without `-s` all that suit the scale.",
    "identify": "Who and what is hard to trust: `manyvoices identify DATA -s METHOD`.",
    "evaluate": "How good predictions are: `manyvoices evaluate PREDICTIONS DATA -s METHOD`.",
    "train": "A classifier from items and one label each: `manyvoices train DATA --labels FILE -s METHOD -o MODEL/`.",
    "learn": "A classifier, and mostly a model of each worker, from items and everybody's answers: `manyvoices learn DATA -s METHOD -o MODEL/`.",
    "report": "One file that says it all: `manyvoices report DATA [RUN ...] -o report.html`; the suffix decides.",
    "simulate": "Crowds whose truth is known: `manyvoices simulate OUT -s STRATEGY`.",
}
SIDES = {
    "gold": "`--gold FILE`, known truth to fit with",
    "probs": "`--probs FILE`, class probabilities of a classifier",
    "labels": "`--labels FILE`, labels to start from",
    "start": "`--start DIR`, an earlier result to go on from",
    "score": "a column `score` in the answers",
    "author": "a column `author` in the answers or items",
    "consensus": "`--consensus METHOD|FILE`, what is held to be true",
    "table": "`--consensus FILE`, a table of labels",
    "truth": "what is known of the tasks in the data",
    "seconds": "a column `seconds` in the answers",
    "when": "a column `when` in the answers",
}


def pages() -> dict[Path, str]:
    """Every generated file with its text."""
    found = {}
    for job in registry.jobs():
        names = [name for name in registry.names(job) if (registry.METHODS / job / f"{name}.py").is_file()]
        found[HERE / "methods" / f"{job}.md"] = job_page(job, [registry.about(job, name) for name in names])
        for name in names:
            found[HERE / "methods" / job / f"{name}.md"] = method_page(registry.about(job, name), shared_by(job))
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    which = HERE / "which-method.md"
    found[which] = filled(which, simulated=simulated_tables(measured), real=real_table(measured))
    comparing, study = HERE / "comparing.md", json.loads(STUDY.read_text(encoding="utf-8"))
    found[comparing] = filled(
        comparing,
        study=study_line(study),
        correlation=correlation_table(study),
        gain=gain_table(study),
        candidates=candidates_table(study),
    )
    learning = HERE / "learning.md"
    found[learning] = filled(
        learning, learn=LEARNT.read_text(encoding="utf-8"), peers=BESIDE.read_text(encoding="utf-8")
    )
    readme = HERE.parent / "README.md"
    found[readme] = filled(readme, accuracy=real_table(measured), results=SPEED.read_text(encoding="utf-8"))
    return found


def job_page(job: str, methods: list[registry.Method]) -> str:
    lines = [f"# {job}", "", JOBS.get(job, ""), "", "| name | what | needs |", "| --- | --- | --- |"]
    lines += [
        f"| [{m.name}]({job}/{m.name}.md) | {cell(m.title)} | {', '.join([*m.needs, *m.required])} |" for m in methods
    ]
    if held := shared_by(job):
        lines += ["", "## Shared options"]
        for group in dict.fromkeys(o.group for o in held):
            who = [m.name for m in methods if group in {o.group for o in m.options}]
            named = "All methods" if len(who) == len(methods) else ", ".join(who)
            lines += ["", f"{named}:", "", *table_of([o for o in held if o.group == group])]
    return written(job, lines)


@cache
def shared_by(job: str) -> list[registry.Option]:
    """The options that all methods of a job have which have any of their group: they stand once, on the page of the job."""
    methods = [registry.about(job, name) for name in registry.names(job)]
    found = dict.fromkeys(o for m in methods for o in m.options if o.group)
    having = {
        group: [m for m in methods if group in {o.group for o in m.options}] for group in {o.group for o in found}
    }
    return [o for o in found if len(having[o.group]) > 1 and all(o in m.options for m in having[o.group])]


def table_of(options: Iterable[registry.Option]) -> list[str]:
    lines = ["| option | type | default | |", "| --- | --- | --- | --- |"]
    return lines + [f"| `--{o.name.replace('_', '-')}` | {kind(o)} | {default(o)} | {cell(o.help)} |" for o in options]


def method_page(m: registry.Method, shared: list[registry.Option]) -> str:
    called = {
        "aggregate": [f"manyvoices aggregate DATA -s {m.name}"],
        "agree": [f"manyvoices agree DATA -s {m.name}"],
        "identify": [f"manyvoices identify DATA -s {m.name}"],
        "evaluate": [f"manyvoices evaluate PREDICTIONS DATA -s {m.name}"],
        "simulate": [f"manyvoices simulate OUT -s {m.name}"],
        "train": [f"manyvoices train DATA --labels FILE -s {m.name} -o MODEL/"],
        "learn": [f"manyvoices learn DATA -s {m.name} -o MODEL/"],
        "read": [f"manyvoices inspect DATA --from {m.name}"],
    }.get(m.job, [])
    if m.job == "read" and "write" in m.functions:
        called.append(f"manyvoices convert DATA OUT --to {m.name}")
    lines = [f"# {m.name}", "", m.page, "", *(f"    {line}" for line in called), "", "## Options", ""]
    own, others = [o for o in m.options if o not in shared], [o for o in m.options if o in shared]
    if own:
        lines += table_of(own)
    elif not others:
        lines += ["None."]
    if others:
        names = ", ".join(f"`--{o.name.replace('_', '-')}`" for o in others)
        lines += [""] * bool(own) + [f"[Shared](../{m.job}.md#shared-options): {names}."]
    known = SIDES | ({n: f"the fit of `{n}`" for n in registry.names("aggregate")} if m.job == "identify" else {})
    sides = [name for name in m.data if name in known]
    if sides:
        lines += [
            "",
            "It is also handed "
            + "; ".join(known[name] + (" (needed)" if name in m.required else "") for name in sides)
            + ".",
        ]
    if m.needs:
        lines += ["", f"Needs: {', '.join(m.needs)}."]
    if m.also or any(o.also for o in own):
        lines += [
            "",
            "Other spellings: "
            + "; ".join(
                [
                    *(f"`{name}{bracket(given)}`" for name, given in m.also.items()),
                    *(f"`{o.name}` = {', '.join(f'`{a}`' for a in o.also)}" for o in own if o.also),
                ]
            )
            + ".",
        ]
    if m.family:
        lines += ["", f"Family: {m.family}."]
    if m.reference:
        lines += ["", f"Reference: {m.reference}"]
    return written(f"{m.job}/{m.name}.py", lines)


def written(source: str, lines: list[str]) -> str:
    return f"<!-- written by docs/build.py from manyvoices/methods/{source} -->\n\n" + "\n".join(lines).rstrip() + "\n"


def kind(option: registry.Option) -> str:
    if option.choices:
        return ", ".join(f"`{c}`" for c in option.choices)
    return option.type + (" or nothing" if option.optional and option.default is not None else "")


def default(option: registry.Option) -> str:
    return "" if option.default is None else f"`{option.default}`"


def bracket(given: dict) -> str:
    return "[" + ",".join(f"{k}={v}" for k, v in given.items()) + "]" if given else ""


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def filled(file: Path, **parts: str) -> str:
    """The file with what stands between `<!-- name -->` and `<!-- /name -->` replaced."""
    text = file.read_text(encoding="utf-8")
    for name, new in parts.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        if not pattern.search(text):
            raise SystemExit(f"{file}: no <!-- {name} --> ... <!-- /{name} -->")
        text = pattern.sub(lambda m, new=new: m[1] + new + m[2], text)
    return text


# measurements ----------------------------------------------------------------------------------------------------------------


def sign(interval: list[float]) -> str:
    """What an interval of a difference says."""
    _, low, high = interval
    return "+" if low > 0 else "-" if high < 0 else "="


def simulated_tables(measured: dict) -> str:
    kinds = measured["simulated"]
    names = sorted(next(iter(kinds.values()))["methods"])
    lines = [
        f"Mean accuracy over {measured['seeds']} seeds (manyvoices {measured['manyvoices']}, {measured['date']}). The sign compares with bcc "
        "on the same crowds: `+` better, `-` worse, `=` cannot tell apart. The last column counts kinds of crowd on which the method is "
        "better than mv, cannot be told from it, is worse.",
        "",
    ]
    lines += ["| method | " + " | ".join(kinds) + " | beside mv |", "| --- |" + " --- |" * (len(kinds) + 1)]
    for name in names:
        rows = [kinds[k]["methods"][name] for k in kinds]
        cells = [f"{r['accuracy']:.3f}" + ("" if name == "bcc" else f" {sign(r['minus_bcc'])}") for r in rows]
        beside = [sign(r["minus_mv"]) for r in rows]
        cells.append("" if name == "mv" else " / ".join(str(beside.count(s)) for s in "+=-"))
        lines.append(f"| [{name}](methods/aggregate/{name}.md) | " + " | ".join(cells) + " |")
    lines += [""]
    for kind_, found in kinds.items():
        lines += [
            f"<details><summary>{kind_}: {found['what']}</summary>",
            "",
            "| method | accuracy | minus mv [95 %] | minus bcc [95 %] |",
            "| --- | --- | --- | --- |",
        ]
        for name in sorted(found["methods"], key=lambda n: (-found["methods"][n]["accuracy"], n)):
            row = found["methods"][name]
            lines.append(
                f"| {name} | {row['accuracy']:.3f} | {gap(row['minus_mv'], name == 'mv')} | {gap(row['minus_bcc'], name == 'bcc')} |"
            )
        lines += ["", "</details>", ""]
    return "\n".join(lines)


def gap(interval: list[float], itself: bool) -> str:
    if itself:
        return ""
    text = f"{interval[0]:+.3f} [{interval[1]:+.3f}, {interval[2]:+.3f}]"
    return text + (" cannot tell apart" if sign(interval) == "=" else "")


def real_table(measured: dict) -> str:
    sets = measured["real"]
    if not sets:
        return "Not measured yet.\n"
    names = sorted(next(iter(sets.values()))["methods"])
    lines = [
        "| method | " + " | ".join(f"{name} ({found['date']})" for name, found in sets.items()) + " |",
        "| --- |" + " --- |" * len(sets),
    ]
    for name in names:
        rows = [found["methods"][name] for found in sets.values()]
        lines.append(
            f"| {name} | "
            + " | ".join(f"{r['accuracy']:.3f}" + ("" if name == "mv" else f" {sign(r['minus_mv'])}") for r in rows)
            + " |"
        )
    return "\n".join(lines) + "\n"


# what the scores of compare are worth ----------------------------------------------------------------------------------------


def study_line(study: dict) -> str:
    crowds = study["all simulated"]["crowds"] + sum(found["crowds"] for found in study["real"].values())
    return (
        f"{crowds} crowds: {study['seeds']} of each simulated kind, the rest parts of {len(study['real'])} real sets. "
        f"manyvoices {study['manyvoices']}, {study['date']}; methods {', '.join(study['methods'])}.\n"
    )


def study_rows(study: dict) -> list[tuple[str, dict]]:
    """Name and result of each line: simulated kinds, all of them, real sets, all of them."""
    rows = [(kind, study["simulated"][kind]) for kind in study["kinds"]]
    rows += [("**all simulated**", study["all simulated"])]
    rows += [(f"{name} ({found['crowds']} parts)", found) for name, found in study["real"].items()]
    return rows + ([("**all real**", study["all real"])] if study["all real"] else [])


def correlation_table(study: dict) -> str:
    """Rank correlation of each score with accuracy, mean and interval over crowds."""
    scores = study["scores"]
    lines = ["| crowd | " + " | ".join(f"`{score}`" for score in scores) + " |", "| --- |" + " --- |" * len(scores)]
    for name, found in study_rows(study):
        lines.append(f"| {name} | " + " | ".join(ends(found["correlation"][score], 2) for score in scores) + " |")
    return "\n".join(lines) + "\n\n" + kinds_list(study)


def kinds_list(study: dict) -> str:
    lines = ["<details><summary>The kinds of crowd</summary>", ""]
    lines += [f"- {kind}: {what}" for kind, what in study["kinds"].items()]
    return "\n".join([*lines, "", "500 tasks and 5 answers a task where nothing else is said.", "", "</details>", ""])


def gain_table(study: dict) -> str:
    """Accuracy of bcc and of the best method, and what choosing by a score gains beside always bcc."""
    rules = [*study["scores"], "recommended"]
    lines = [
        "| crowd | bcc | best | " + " | ".join(f"`{rule}`" for rule in rules) + " |",
        "| --- | --- | --- |" + " --- |" * len(rules),
    ]
    for name, found in study_rows(study):
        cells = [f"{found['accuracy']['bcc']:.3f}", f"{found['best']:.3f}"]
        lines.append(f"| {name} | " + " | ".join([*cells, *(ends(found["gain"][rule], 3) for rule in rules)]) + " |")
    return "\n".join(lines) + "\n"


def candidates_table(study: dict) -> str:
    groups = {
        "looked at": study["simulated, looked at"],
        "not looked at": study["simulated, not looked at"],
        "real": study["all real"],
    }
    groups = {name: found for name, found in groups.items() if found}
    lines = [
        "| score | what | " + " | ".join(f"correlation, {name} | gain, {name}" for name in groups) + " |",
        "| --- | --- |" + " --- | --- |" * len(groups),
    ]
    for score in [*study["scores"], *study["candidates"], "recommended"]:
        cells = [
            f"{ends(found['correlation'].get(score, [None] * 3), 2)} | {ends(found['gain'][score], 3)}"
            for found in groups.values()
        ]
        what = study["candidates"].get(score, "the rule of compare" if score == "recommended" else "in compare")
        lines.append(f"| {score} | {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def ends(interval: list, digits: int) -> str:
    if interval[0] is None:
        return ""
    sign_ = "" if digits == 2 else "+"
    middle = f"{interval[0] + 0.0:{sign_}.{digits}f}"
    return (
        middle
        if interval[1] is None
        else f"{middle} [{interval[1]:{sign_}.{digits}f}, {interval[2]:{sign_}.{digits}f}]"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the generated parts of the docs.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when something is stale")
    given = parser.parse_args()
    made = pages()
    stale = [path for path, text in made.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    left = sorted(set((HERE / "methods").rglob("*.md")) - set(made))
    if given.check:
        for path in [*stale, *left]:
            print(f"{path.relative_to(HERE.parent)} is stale: run make docs")
        sys.exit(bool(stale or left))
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made[path], encoding="utf-8")
    for path in left:
        path.unlink()
    print(f"{len(made)} files, {len(stale)} written, {len(left)} removed")


if __name__ == "__main__":
    main()
