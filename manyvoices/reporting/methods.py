"""The section on methods: which of them predict answers that were hidden, and on how much of the data that was tried."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..comparison import compared
from ..core.answers import Answers
from ..core.dataset import Dataset
from ..core.names import Names
from ..core.scores import Scores
from ..core.words import count, listed, number, value

SAID = ("predicts_tempered", "predicts_error", "accuracy", "mae")  # in words; the others stand in the table
MOST, LARGE = 30_000, 15_000  # answers compared at most; from how many on three rounds must do
SHOWN = {
    "predicts_tempered": ("predicts answers", "How probable hidden answers are (mean logarithm, nearer 0 is better), with one "
    "model of workers for all methods: what the labels themselves are worth."),
    "predicts_own": ("by its own model", "The same under the method's own model of its workers: what labels and model are "
    "worth together."),
    "predicts_label": ("answers guessed", "The share of hidden answers that the method held most probable."),
    "predicts_error": ("distance", "Mean distance between the hidden and the expected answer; lower is better."),
    "accuracy": ("labels right", "The share of right labels where the truth is known."),
    "ece": ("calibration error", "How far the probability of a label is from how often it is right, where the truth is known; "
    "lower is better."),
    "mae": ("error", "Mean distance to the truth; lower is better."),
}  # fmt: skip


def about_methods(data: Dataset, answers: Answers, seed: int) -> dict[str, Any]:
    some, sample = sampled(answers, seed)
    rounds = 3 if some.n > LARGE else 5
    scores = compared(replace(data, answers=some), None, rounds=rounds, hide=0.1, seed=seed)
    table = values_of(scores)
    table.sort(key=lambda row: (not row["recommended"], place_of(row)))
    columns = [name for name in SHOWN if any(name in row for row in table)]
    section: dict[str, Any] = {
        "title": "Methods compared",
        "rounds": rounds,
        "sample": sample,
        "columns": {name: {"title": SHOWN[name][0], "says": SHOWN[name][1]} for name in columns},
        "rows": table,
        "recommended": next((row["method"] for row in table if row["recommended"]), None),
    }
    section["says"] = [*says(table, columns, rounds, scores), *([sample] if sample else [])]
    return section


def sampled(answers: Answers, seed: int) -> tuple[Answers, str]:
    """Whole tasks, drawn until there are enough answers."""
    if answers.n <= MOST:
        return answers, ""
    order = np.random.default_rng([seed, 20]).permutation(len(answers.tasks))
    reached = np.cumsum(answers.per_task()[order])
    chosen = np.sort(order[: max(1, int(np.searchsorted(reached, MOST, side="right")))])
    some = about_some(answers, chosen)
    said = f"Compared on {count(len(chosen), 'task')} drawn at random, {number(some.n)} of {number(answers.n)} answers."
    return some, said


def about_some(answers: Answers, tasks: np.ndarray) -> Answers:
    """The answers about these tasks, and no other tasks: what is fitted costs by the task too."""
    task, worker, label = answers.rows()
    held = np.zeros(len(answers.tasks), bool)
    held[tasks] = True
    keep = held[task]
    count = answers.repeated()
    return Answers.from_codes(
        np.searchsorted(tasks, task[keep]),
        None if answers.workers is None else worker[keep],
        label[keep],
        tasks=Names([answers.tasks[t] for t in tasks.tolist()]),
        workers=answers.workers,
        classes=answers.classes,
        scale=answers.scale,
        count=None if count is None else count[keep],
    )


def values_of(scores: Scores) -> list[dict[str, Any]]:
    """A row a method: each score with its interval and its rank, and whether it is the one to take."""
    rows: dict[str, dict[str, Any]] = {}
    columns = [scores.column(c) for c in ("score", "of", "name", "other", "value", "low", "high", "n", "note")]
    for score, of, name, other, x, low, high, n, note in zip(*columns, strict=True):
        row = rows.setdefault(name, {"method": name, "recommended": False, "note": ""})
        if of != "method" or other:
            continue
        if score == "recommended":
            row["recommended"] = bool(x > 0)
            row["why"], _, against = in_words(note).partition("; the scores contradict")
            row["note"] = f"the scores contradict{against}" if against else ""
        elif score in SHOWN:
            known = np.isfinite(x)
            row[score] = {"value": x if known else None, "low": low, "high": high, "n": int(n), "note": note}
            row[score]["first"] = False  # whether it is the best by this score or cannot be told apart from it
            if not known:
                row["note"] = note
        elif score.endswith("_rank") and score.removesuffix("_rank") in row:
            row[score.removesuffix("_rank")]["rank"] = x
    return list(rows.values())


def in_words(note: str) -> str:
    """The scores by the names they have on the page."""
    for name, (title, _) in SHOWN.items():
        note = note.replace(name, f"“{title}”") if "_" in name else note
    return note


def place_of(row: dict[str, Any]) -> float:
    """The mean rank, for the order of the table; those that could not be compared come last."""
    ranks = [row[name]["rank"] for name in SHOWN if (row.get(name) or {}).get("rank") is not None]
    return float(np.mean(ranks)) if ranks else np.inf


def says(table: list[dict[str, Any]], columns: list[str], rounds: int, scores: Scores) -> list[str]:
    take = next((row for row in table if row["recommended"]), None)
    said = []
    if take is not None:
        said.append(f"Take {take['method']}: {take['why']}.")
        if take["note"].startswith("the scores contradict"):
            said.append(
                "The scores contradict each other about some pairs of methods: one more reason not to choose by a small lead."
            )
    first = next((name for name in columns if name.startswith("predicts")), None)
    known = [row for row in table if first and row.get(first, {}).get("value") is not None]
    if len(known) > 1:
        n = max(row[first]["n"] for row in known)
        said.append(
            f"{count(n, 'answer')} were hidden in {count(rounds, 'round')} and each method asked for them. Who predicts answers "
            "best need not be right most often: between close methods this table does not decide."
        )
        said += [line for name in columns if (line := leader(name, known, scores)) and name in SAID]
    return said


def leader(score: str, rows: list[dict[str, Any]], scores: Scores) -> str:
    rows = [row for row in rows if row.get(score, {}).get("rank") is not None]
    if len(rows) < 2:
        return ""
    best = min(rows, key=lambda row: row[score]["rank"])
    near = near_to(scores, f"{score}_gap", best["method"])
    for row in rows:
        row[score]["first"] = row is best or row["method"] in near
    title = SHOWN[score][0]
    if len(near) >= len(rows) - 1:
        return f"By “{title}” the methods cannot be told apart."
    rest = f"; {listed(near)} cannot be told apart from it" if near else ", clearly before all others"
    return f"By “{title}” {best['method']} is first ({value(best[score]['value'])}){rest}."


def near_to(scores: Scores, gap: str, best: str) -> list[str]:
    """Methods whose gap to the best holds zero."""
    columns = [scores.column(c) for c in ("score", "name", "other", "low", "high")]
    return [
        name
        for score, name, other, low, high in zip(*columns, strict=True)
        if score == gap and other == best and not (low > 0 or high < 0)
    ]
