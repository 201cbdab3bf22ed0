"""Conclusions first: what a labelling lead should do next, each with its reason and the section that shows it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

from ..core.words import begun, called, count, ends, interval, listed, number, quoted, share, value
from .people import shifted
from .tasks import TOO_MUCH, confused

MOST = 7
NO_ANSWER = {"idk", "i don't know", "don't know", "dont know", "do not know", "not sure", "unsure", "cannot tell",
             "can't tell", "skip", "skipped", "no answer"}  # fmt: skip
ALIKE = ("mv", "ns", "twothird", "mean", "median")  # methods that count all workers alike

Facts = dict[str, Any]


def next_steps(facts: Facts) -> list[dict[str, str]]:
    """The most pressing first."""
    steps = [step for find in asked(facts["data"]) if (step := find(facts))]
    if not steps:
        where = "confidence" if facts["confidence"] else "tasks"
        steps = [step_("Use the labels.", "Nothing in the answers calls for action first.", where)]
    return steps[:MOST]


def asked(data: Facts) -> Sequence[Callable[[Facts], dict[str, str] | None]]:
    """What is looked at: where the labels are not what they are taken for, nothing that rests on them."""
    return (misread, hygiene) if data["scale"] == "multilabel" or data["numbers_as_classes"] else STEPS


def step_(do: str, because: str, where: str) -> dict[str, str]:
    return {"do": do, "because": because, "where": where}


def misread(facts: Facts) -> dict[str, str]:
    """Labels that are no classes of which a task has one."""
    if facts["data"]["scale"] == "multilabel":
        return step_(
            "Make a report about each label.",
            "One answer may hold several labels; here each of them counts as an answer of its own, and a task gets one label. "
            "--multilabel binary asks about one of them (--question): then agreement and workers can be judged.",
            "data",
        )
    return step_(
        "Say that the labels are numbers: --scale interval.",
        f"They were taken as {number(facts['data']['numbers_as_classes'])} classes, none of them nearer to one than to another: "
        "what stands here about agreement, workers and labels is of no use for numbers.",
        "data",
    )


def hygiene(facts: Facts) -> dict[str, str] | None:
    data, dropped = facts["data"], facts["dropped"]
    reasons = {why: n for why, n in dropped["reasons"].items() if not why.endswith("(now the truth)")}
    lost = sum(reasons.values())
    if lost and lost >= 0.02 * (lost + data["answers"]):
        why = ", ".join(f"{number(n)}: {reason}" for reason, n in reasons.items())
        return step_(
            f"Check the {count(lost, 'row')} that were left out.",
            f"They are {share(lost / (lost + data['answers']))} of all ({why}).",
            "dropped",
        )
    if data["alone"] and data["alone"] >= 0.5 * data["tasks"]:
        return step_(
            "Collect a second answer for more tasks.",
            f"{count(data['alone'], 'task')} of {number(data['tasks'])} have one answer only, with nothing to hold it against.",
            "data",
        )
    return None


def unanswered(facts: Facts) -> dict[str, str] | None:
    """A class that by its name says that nothing was said."""
    for row in facts["classes"]["rows"] if facts["classes"] else []:
        if " ".join(row["class"].lower().replace("’", "'").split()) in NO_ANSWER and row["answers"]:
            return step_(
                f"Decide whether {listed([row['class']])} is a label or no answer.",
                f"{count(row['answers'], 'answer')} ({share(row['answers'] / facts['data']['answers'])}) "
                f"{'is' if row['answers'] == 1 else 'are'} this, and it counts as a class like any other. If it means that nothing "
                f"was chosen, leave it out with --missing {shlex.quote(row['class'])}.",
                "classes",
            )
    return None


def repeated(facts: Facts) -> dict[str, str] | None:
    n, answers = facts["data"]["repeated"], facts["data"]["answers"]
    if n < 0.02 * answers:
        return None
    return step_(
        "Decide what several answers of one worker to one task mean.",
        f"{number(n)} of {count(answers, 'answer')} come after a worker's first to the same task. All count here; "
        "--repeats last or first keeps one.",
        "data",
    )


def below(facts: Facts) -> dict[str, str] | None:
    some = (facts["workers"] or {"below": []})["below"]
    if not some:
        return None
    rows = [row for row in facts["workers"]["rows"] if row["worker"] in set(some)]
    skills = [row["skill"]["value"] for row in rows]
    few = all(row.get("kind", "undecided") == "undecided" for row in rows)
    why = "They are too few to say why: a" if few else "A"
    reach = ends(min(skills), max(skills), share) if min(skills) < max(skills) else share(skills[0])
    return step_(
        f"Look at the answers of {listed(some)}.",
        f"By {facts['manifest']['method']} only {reach} of them are right, less than chance explains among so many workers. "
        f"{why} misread question and careless answers look the same.",
        "workers",
    )


def shifts(facts: Facts) -> dict[str, str] | None:
    """Workers who read the scale otherwise than the rest."""
    rows = facts["workers"]["rows"] if facts["workers"] and facts["data"]["scale"] == "ordinal" else []
    some = [name for sign in (1, -1) for name in shifted(rows, sign)]
    if not some:
        return None
    by = {row["worker"]: row["bias"]["value"] for row in rows if row["worker"] in some}
    how = [f"{quoted(name)} {'higher' if by[name] > 0 else 'lower'} ({by[name]:+.2f})" for name in some[:3]]
    return step_(
        f"Tell {listed(some)} how the scale is meant.",
        f"On the same tasks as others, in steps of the scale: {', '.join(how)}. A habit of this kind can be corrected; the "
        "answers still tell tasks apart.",
        "workers",
    )


def missed(facts: Facts) -> dict[str, str] | None:
    """A class that the labels get wrong although many agree on them."""
    rows = (facts["classes"] or {"missed": []})["missed"]
    if not rows:
        return None
    wrong: dict[str, int] = {}
    for row in rows:
        wrong[row["truth"]] = wrong.get(row["truth"], 0) + row["n"]
    worst = max(wrong, key=lambda name: wrong[name])
    first = next(row for row in rows if row["truth"] == worst)
    if wrong[worst] < 20 or wrong[worst] < 0.25 * first["of"] or not first["label"]:
        return None
    name, other = (listed([called(text, facts["meanings"])]) for text in (worst, first["label"]))
    return step_(
        f"Show people what {name} is.",
        f"{number(wrong[worst])} of {count(first['of'], 'task')} that are {name} by the truth have another label, "
        f"{number(first['n'])} of them {other}: more answers of the same people will not mend that.",
        "classes",
    )


def alpha_of(facts: Facts) -> Facts | None:
    return next(
        (row for row in facts["agreement"]["rows"] if row["score"] == "alpha" and row["value"] is not None), None
    )


def agreement(facts: Facts) -> dict[str, str] | None:
    alpha = alpha_of(facts)
    if alpha is None or alpha["value"] >= 0.667:
        return None
    ends = interval(alpha)
    better = facts["agreement"]["without"]
    if better is not None and better["value"] > alpha["value"] + 0.05:
        empty = sum(row["n"] for row in named(facts, "nothing")) / max(facts["data"]["answers"], 1)
        return step_(
            "Do not train or report on single answers; use the combined labels.",
            f"Agreement beyond chance is {value(alpha['value'])}{ends}. Without the answers in which no information was seen, "
            f"{share(empty)} of all, it is {value(better['value'])}.",
            "agreement",
        )
    if alpha["value"] >= 0.4:
        return step_(
            "Do not train or report on single answers; use the combined labels.",
            f"Agreement beyond chance is {value(alpha['value'])}{ends}.",
            "agreement",
        )
    noise = (
        "That may be nothing at all: then the labels and their probabilities are chance too. "
        if by_chance(alpha)
        else ""
    )
    return step_(
        "Look at the instructions before collecting more, and decide whether one label a task is what you want.",
        f"Agreement beyond chance is only {value(alpha['value'])}{ends}. {noise}On a matter of opinion keep the spread of answers.",
        "agreement",
    )


def by_chance(alpha: Facts | None) -> bool:
    """Whether people agree no more than guessing would make them, for all that can be told."""
    return alpha is not None and alpha["low"] is not None and alpha["low"] <= 0


def people(facts: Facts) -> dict[str, str] | None:
    some = named(facts, "nothing")
    if not some:
        return None
    share_of = sum(row["n"] for row in some) / max(facts["data"]["answers"], 1)
    return step_(
        f"Look at the answers of {listed(row['worker'] for row in some)} before counting them.",
        f"No information about the tasks was seen in {'their' if len(some) > 1 else 'these'} answers, {share(share_of)} of all. "
        + (
            "Here they count like all others: take a method that weighs workers."
            if facts["manifest"]["method"].partition("[")[0] in ALIKE
            else "The labels already give them little weight."
        )
        + " A broken form or a misread question looks the same.",
        "workers",
    )


def views(facts: Facts) -> dict[str, str] | None:
    some = named(facts, "own")
    if not some:
        return None
    return step_(
        f"Do not remove {listed(row['worker'] for row in some)}: ask what they see.",
        "They differ from most, and consistently so, as others do too: the question has more than one reading, or views differ."
        + rightness(some),
        "workers",
    )


def rightness(rows: list[dict[str, Any]]) -> str:
    """How often they are right, where the truth is known: then a view can be told from a mistake."""
    known = [row["accuracy"]["value"] for row in rows if (row.get("accuracy") or {}).get("value") is not None]
    if not known:
        return ""
    reach = ends(min(known), max(known), share) if min(known) < max(known) else share(known[0])
    mistaken = ": a misread question or a wrong key looks like this too" if max(known) <= 0.5 else ""
    return f" Where the truth is known, {reach} of their answers are right{mistaken}."


def groups(facts: Facts) -> dict[str, str] | None:
    found = facts["agreement"]["groups"]
    if not found:
        return None
    one, two = (listed(g["workers"]) for g in found)
    return step_(
        "Decide whether you want one label from two groups of people who see it differently.",
        f"{one} agree among themselves, and so do {two}; across them agreement is {value(found[0]['between'])}.{sides(facts)}",
        "agreement",
    )


def sides(facts: Facts) -> str:
    """Whose answers the labels follow: one label for all takes a side."""
    rows = {row["worker"]: row for row in (facts["workers"] or {"rows": []})["rows"]}
    found = []
    for group in facts["agreement"]["groups"]:
        cells = [cell for name in group["workers"] for cell in rows.get(name, {"confusion": []})["confusion"]]
        if not cells:
            return ""
        found.append((sum(n for k, m, n in cells if k == m) / sum(n for *_, n in cells), group["workers"]))
    (more, first), (less, _) = sorted(found, key=lambda side: -side[0])
    return (
        f" The labels of {facts['manifest']['method']} equal {share(more)} of the answers of {listed(first)} and {share(less)} of "
        "the others'."
    )


def named(facts: Facts, kind: str) -> list[dict[str, Any]]:
    return [row for row in (facts["workers"] or {"rows": []})["rows"] if row.get("kind") == kind]


def doubtful(facts: Facts) -> dict[str, str] | None:
    sure, tasks = facts["confidence"], facts["tasks"]["rows"]
    if not sure or not sure["below_90"] or not tasks:
        return None
    if sure.get("accuracy") is None and by_chance(alpha_of(facts)):
        return None  # nothing says that the others are better
    gain = [row["another_vote"] for row in tasks if row.get("another_vote") is not None]
    more = (
        f" One more answer on the most open of them is expected to move its probabilities by {100 * max(gain):.0f} points."
        if gain and max(gain) > 0.01
        else ""
    )
    return step_(
        f"Spend the next answers, or an expert's time, on the {count(sure['below_90'], 'task')} below 90 %."
        if sure["below_90"] > 1
        else "Spend the next answer, or an expert's time, on the one task below 90 %.",
        f"{rest(sure['tasks'] - sure['below_90'], sure.get('low_right'), sure.get('high_right'))}{more}",
        "tasks",
    )


def rest(n: int, low: float | None, high: float | None) -> str:
    """What the labels of the other tasks are worth."""
    if n == 0:
        return "No label is surer than that."
    if high is not None:
        these = "" if low is None else f"{share(low)} of these labels are right and "
        return f"Where the truth is known, {these}{share(high)} of the other {number(n)}{' are right' * (low is None)}."
    return (
        f"The other {number(n)} labels are surer than that already." if n > 1 else "The other label is surer already."
    )


def promises(facts: Facts) -> dict[str, str] | None:
    sure = facts["confidence"]
    if not sure or sure.get("accuracy") is None or sure["claimed"] - sure["accuracy"] < TOO_MUCH:
        return None
    return step_(
        "Use the probabilities to sort tasks, not as promises.",
        f"They promise {share(sure['claimed'])} right labels; of {number(sure['known'])} with known truth "
        f"{share(sure['accuracy'])} are right.",
        "confidence",
    )


def line(facts: Facts) -> dict[str, str] | None:
    classes = facts["classes"]
    if not classes or len(classes["rows"]) < 3 or not classes["pairs"]:
        return None
    first = confused(classes["pairs"])
    if first is None:
        return None
    both = listed(called(first[side], facts["meanings"]) for side in ("class", "other"))
    return step_(
        f"Make the line between {both} clearer in the instructions.",
        f"{begun(share(first['share']))} of all disagreements are between these two; by how often each is said it would be "
        f"{share(first['chance'])}.",
        "classes",
    )


def method(facts: Facts) -> dict[str, str] | None:
    found = facts["methods"]
    take = found and found.get("recommended")
    own = facts["manifest"]["method"]
    if not take:
        return None
    why = next((row.get("why", "") for row in found["rows"] if row["method"] == take), "")
    if why.startswith(("the default", "stands in")) and take != own:
        return None
    reason = f"It {why}." if why.startswith(("predicts", "stands in")) else f"It is {why}."
    if why.startswith("nothing"):
        reason = f"{begun(why)}."
    keep = (
        f"If it is to be one label, keep those of {own}."
        if facts["agreement"]["groups"]
        else f"Keep the labels of {own}."
    )
    return step_(keep if take == own else f"Try {take} instead of {own}.", reason, "methods")


def runs(facts: Facts) -> dict[str, str] | None:
    found = facts["runs"]
    if not found or not found["different"]:
        return None
    return step_(
        f"Read the {count(found['different'], 'task')} on which the runs differ.",
        "Elsewhere it does not matter which of them is taken.",
        "runs",
    )


STEPS = (
    hygiene,
    unanswered,
    repeated,
    people,
    below,
    groups,
    agreement,
    views,
    doubtful,
    promises,
    shifts,
    missed,
    line,
    method,
    runs,
)
