"""The section on agreement: every coefficient with its interval and what it means."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..agreement import agreed
from ..core import registry
from ..core.answers import Answers
from ..core.scores import Scores
from ..core.words import called, count, interval, listed, share, value

FIRST = ("alpha", "percent")
CROWD = 25  # pairs of workers are looked at where there are no more than so many
CLASSES = 200
MEANS = {
    "alpha": "Agreement beyond chance for any number of people: 1 is perfect, 0 is what guessing would give, below 0 is "
    "worse than guessing. From .8 on single answers can be relied on; below .667 they cannot.",
    "percent": "Two answers to the same task are equal this often. Guessing alone can make this high when one class is frequent.",
    "fleiss": "Like alpha, without its correction for small samples.",
    "scott": "Agreement of two people beyond what guessing from the common class shares would give.",
    "cohen": "Agreement of two people beyond what guessing from each one's own class shares would give; the mean over pairs.",
    "conger": "Cohen's idea for many people: chance is taken from each person's own habits.",
    "gwet": "Agreement beyond chance that stays stable when one class is very frequent.",
    "bennett": "Agreement beyond chance if all classes were equally likely to be guessed.",
    "icc": "The share of the variance of the numbers that comes from the tasks and not from the people.",
}


def about_agreement(answers: Answers, seed: int, meanings: dict[str, str]) -> dict[str, Any]:
    scores = agreed(answers, ",".join(asked(answers)), seed=seed)
    found = rows_of(scores, "dataset")
    classes = [row for row in rows_of(scores, "class") if row["score"] == "alpha"]
    several = int((answers.per_task() > 1).sum())
    section: dict[str, Any] = {
        "title": "How far people agree",
        "says": [said(found, several)],
        "rows": sorted(found, key=lambda row: FIRST.index(row["score"]) if row["score"] in FIRST else 9),
        "classes": sorted(classes, key=lambda row: -row["n"])[:CLASSES],
        "pairs": [],
        "groups": [],  # two of them, where workers agree within and not between
        "without": None,  # alpha without the answers in which no information was seen
    }
    if paradox := skewed(found):
        section["says"].append(paradox)
    if len(section["classes"]) > 2 and (weak := weakest(section["classes"], meanings)):
        section["says"].append(weak)
    if answers.workers is not None and 2 <= len(answers.workers) <= CROWD and answers.scale != "interval":
        pairs = rows_of(agreed(answers, "cohen", pairs=True, bootstrap=0), "pair")
        section["pairs"] = [row for row in pairs if row["value"] is not None]
        if len(section["pairs"]) > 2:
            section["says"].append(extremes(section["pairs"]))
            section["groups"] = camps(section["pairs"], answers.workers.to_list())
            section["says"] += groups_say(section["groups"])
    return section


def asked(answers: Answers) -> list[str]:
    """Those that suit the scale; means over pairs of workers only for a crowd small enough for pairs to be told apart."""
    from ..agreement import suitable

    few = answers.workers is not None and len(answers.workers) <= CROWD
    return [about.name for about, _ in suitable(answers) if few or about.name not in ("cohen", "scott")]


def rows_of(scores: Scores, of: str) -> list[dict[str, Any]]:
    rows = []
    columns = [scores.column(c) for c in ("score", "of", "name", "other", "value", "low", "high", "n", "note")]
    for score, kind, who, other, x, low, high, n, note in zip(*columns, strict=True):
        if kind != of:
            continue
        known = bool(np.isfinite(x))
        row = {"score": score, "title": title(score)}
        row |= {"name": who} if of == "class" else {"name": who, "other": other} if of == "pair" else {}
        row |= {"value": float(x) if known else None, "low": ended(low), "high": ended(high), "n": int(n)}
        rows.append(row | {"says": means(score) if known else note, "note": note})
    return rows


def ended(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None


def title(score: str) -> str:
    name = score.partition("_")[0] if score not in registry.names("agree") else score
    if name not in registry.names("agree"):
        return score
    return registry.about("agree", name).title.partition(":")[0]


def means(score: str) -> str:
    return MEANS.get(score) or MEANS.get(score.partition("_")[0], "Agreement; 1 is perfect.")


def said(rows: list[dict[str, Any]], several: int) -> str:
    alpha = next((row for row in rows if row["score"] == "alpha"), None)
    percent = next((row for row in rows if row["score"] == "percent" and row["value"] is not None), None)
    equal = f" Two answers to the same task are equal {share(percent['value'])} of the time." if percent else ""
    if alpha is None or alpha["value"] is None:
        return f"Agreement beyond chance cannot be told: {alpha['note'] if alpha else 'no coefficient suits'}." + equal
    x = alpha["value"]
    level = (
        "Single answers can be relied on for most uses."
        if x >= 0.8
        else "Single answers are good for tentative conclusions only: take several for each task."
        if x >= 0.667
        else "A single answer says little: take several for each task, combine them, and find out why people differ "
        "(unclear instructions, careless answers, or a question on which views differ)."
        if x >= 0.2
        else "People agree little more than guessing would make them: before collecting more, look at the instructions and "
        "at who answers; on a matter of opinion, keep the spread of answers instead of one label."
    )
    return (
        f"Krippendorff's alpha is {value(x)}{interval(alpha)} on {count(several, 'task')} with several answers. {level}"
        + equal
    )


def weakest(classes: list[dict[str, Any]], meanings: dict[str, str]) -> str:
    known = [row for row in classes if row["value"] is not None and row["n"] >= 10]
    if len(known) < 2:
        return ""
    low, high = (f(known, key=lambda row: row["value"]) for f in (min, max))
    return (
        f"People agree least on {listed([called(low['name'], meanings)])} (alpha {value(low['value'])}) and most on "
        f"{listed([called(high['name'], meanings)])} ({value(high['value'])})."
    )


def extremes(pairs: list[dict[str, Any]]) -> str:
    low, high = (f(pairs, key=lambda row: row["value"]) for f in (min, max))
    return (
        f"Of {count(len(pairs), 'pair')} of workers, {listed([high['name'], high['other']])} agree most (kappa "
        f"{value(high['value'])}), {listed([low['name'], low['other']])} least ({value(low['value'])})."
    )


def skewed(rows: list[dict[str, Any]]) -> str:
    """Low agreement beyond chance beside many equal answers: one class is frequent."""
    x = {row["score"]: row["value"] for row in rows if row["value"] is not None}
    if not {"alpha", "gwet", "percent"} <= set(x) or x["gwet"] - x["alpha"] < 0.25 or x["percent"] < 0.7:
        return ""
    return (
        f"One class is so frequent that guessing it would look like agreement. AC1, which that bothers less, is "
        f"{value(x['gwet'])}: people agree on the frequent class and differ on the rare ones."
    )


def camps(pairs: list[dict[str, Any]], workers: list[str]) -> list[dict[str, Any]]:
    """Whether the workers fall in two groups that agree among themselves and not with each other."""
    from scipy.cluster.hierarchy import fcluster, linkage

    people = [w for w in workers if any(w in (row["name"], row["other"]) for row in pairs)]
    if len(people) < 4 or len(pairs) < len(people) * (len(people) - 1) // 2:
        return []
    at = {name: i for i, name in enumerate(people)}
    kappa = np.array([row["value"] for row in pairs])
    ends = np.array([[at[row["name"]], at[row["other"]]] for row in pairs])
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    group = fcluster(linkage(1 - kappa[order], "average"), 2, "maxclust")
    inside = group[ends[:, 0]] == group[ends[:, 1]]
    sides = [inside & (group[ends[:, 0]] == g) for g in (1, 2)]
    reach = np.nanmean([(row["high"] - row["low"]) / 2 if row["low"] is not None else np.nan for row in pairs] + [0.05])
    if (
        not all(side.any() for side in sides)
        or min(kappa[side].mean() for side in sides) - kappa[~inside].mean() < 2 * reach
    ):
        return []
    between = float(kappa[~inside].mean())
    return [
        {
            "workers": [people[i] for i in np.flatnonzero(group == g)],
            "kappa": float(kappa[side].mean()),
            "between": between,
        }
        for g, side in zip((1, 2), sides, strict=True)
    ]


def groups_say(groups: list[dict[str, Any]]) -> list[str]:
    if not groups:
        return []
    one, two = (f"{listed(g['workers'], most=6)} (mean kappa {value(g['kappa'])})" for g in groups)
    return [
        f"There are two groups: {one} and {two} agree among themselves more than with each other "
        f"({value(groups[0]['between'])}). That is what two readings of the question, or two views, look like."
    ]


def without(answers: Answers, workers: list[str], seed: int) -> dict[str, Any] | None:
    """Alpha without these workers; nothing where the answers are not in memory."""
    if not workers or not hasattr(answers.store, "shards"):
        return None
    out = np.isin(answers.rows()[1], answers.workers.code(workers))
    [row] = rows_of(agreed(answers.take(~out), "alpha", seed=seed), "dataset")
    return row if row["value"] is not None else None
