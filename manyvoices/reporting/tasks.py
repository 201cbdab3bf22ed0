"""The sections on tasks, classes and confidence: where the consensus is in doubt, what is mixed up, what it is worth."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..core.answers import Answers
from ..core.consensus import Consensus
from ..core.dataset import Dataset
from ..core.words import begun, called, count, ends, listed, number, share, value
from ..kernels.skills import beta_interval
from .counting import Cells, Counts

HARDEST, VALUES, CLASSES, GRID, PAIRS = 40, 30, 300, 20, 30
MIXED = 20  # disagreements from which on the line between two classes is worth a word
MISSED = 5  # wrong labels of a class from which on they are worth a sentence
SEVERAL = 10  # tasks below which nothing is said about the share of right labels among them
LOW = 0.9  # a label of a lower probability is worth a second look
SURE = 0.995  # from this probability on nothing is in doubt
TOO_MUCH = 0.03  # promised above what is right: from here on it matters
EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # of probability; finer where most labels are


@dataclass(frozen=True)
class Truth:
    """What is known of the answered tasks: texts by task, None where nothing is."""

    said: list[str | None]
    right: np.ndarray  # [T] whether the label is right; False where the truth is unknown
    known: np.ndarray  # [T]


def truth_of(data: Dataset, found: Consensus) -> Truth | None:
    if data.items is None or found.probs is None:
        return None
    said = data.items.truth_of(found.tasks)
    known = np.array([text is not None for text in said], bool) & (found.n > 0)
    if not known.any():
        return None
    labels = found.labels()
    right = np.array([a is not None and a == b for a, b in zip(labels, said, strict=True)], bool)
    return Truth(said, right & known, known)


def doubt(found: Consensus) -> np.ndarray:
    """[T] how unsure the consensus is of each task, in bits (or the width of the interval); -1 for tasks without answers."""
    if found.probs is None:
        low, high = found.low, found.high
        width = np.zeros(len(found.n)) if low is None or high is None else np.nan_to_num(high - low)
        return np.where(found.n > 0, width, -1.0)
    p = found.probs
    bits = -(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=1)
    return np.where(found.n > 0, bits, -1.0)


def hardest(found: Consensus, spread: np.ndarray | None) -> np.ndarray:
    """Codes of the tasks in most doubt; of those that are as good as equal in it the ones whose answers differ most (`spread`)."""
    bits = doubt(found)
    differ = np.zeros(len(bits)) if spread is None else np.nan_to_num(spread, nan=-1.0)
    coarse = bits if found.probs is None else np.round(bits, 2)
    order = np.lexsort((np.arange(len(bits)), -found.n, -np.round(bits, 9), -np.round(differ, 9), -coarse))[:HARDEST]
    return order[bits[order] >= 0]


def about_tasks(
    found: Consensus,
    chosen: np.ndarray,
    votes: dict[int, list],
    content: dict[str, list],
    truth: Truth | None,
    gain: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    classes, labels = found.classes, None if found.probs is None else found.labels()
    rows = []
    for t in chosen.tolist():
        name = found.tasks[t]
        row: dict[str, Any] = {"task": name, "n": int(found.n[t])}
        if labels is None:
            row |= {"value": float(found.value[t])} | {
                side: None if (held := getattr(found, side)) is None else float(held[t]) for side in ("low", "high")
            }
            row["votes"] = [value(x) for x in votes.get(t, [])[:VALUES]]
        else:
            row |= {"label": labels[t], "prob": certain(found.probs[t].max(initial=0.0))}
            row["votes"] = [[classes[k], n] for k, n in votes.get(t, [])[:VALUES]]
        if truth is not None:
            row["truth"] = truth.said[t]
        if name in gain:
            row["another_vote"] = gain[name]["value"]
        rows.append(row | {"content": content.get(name, [])})
    answered = int((found.n > 0).sum())
    if labels is None:
        said = f"The {count(len(rows), 'task')} whose number is least certain, of {number(answered)}."
    else:
        sure = all(row["prob"] >= SURE for row in rows)
        said = (
            f"The consensus is sure of every task; these {number(len(rows))} of {number(answered)} are those whose answers differ "
            "most. Read some of them: they show what the instructions leave open."
            if sure
            else f"The {count(len(rows), 'task')} of {number(answered)} on which the consensus is least sure; of those it is as "
            "sure of, the ones whose answers differ most. Read some of them first: they show what the instructions leave open, "
            "and they are where a further answer or an expert helps most."
        )
    return {"title": "The hardest tasks", "says": [said], "rows": rows, "of": answered}


def certain(prob: float) -> float:
    """Six digits must not make a certainty of what is none."""
    return float(prob) if prob == 1 else min(float(prob), 0.999999)


# classes ---------------------------------------------------------------------------------------------------------------


def about_classes(
    answers: Answers, found: Consensus, counts: Counts, truth: Truth | None, meanings: dict[str, str]
) -> dict[str, Any]:
    names = found.classes.to_list()
    said, right, held = (np.zeros(len(names)) for _ in range(3))
    for k, m, n in counts.said:
        said[m] += n
        held[k] += n
        right[k] += n if k == m else 0
    codes = found.codes[found.n > 0]
    labels = np.bincount(codes[codes >= 0], minlength=len(names))
    known = truth_counts(truth, names)
    low, high = beta_interval(right / np.maximum(held, 1), held)
    order = np.lexsort((np.arange(len(names)), -said))[:CLASSES]
    if len(names) <= CLASSES:
        order = np.arange(len(names))
    rows = []
    for k in order.tolist():
        row = {
            "class": names[k],
            "means": meanings.get(names[k], ""),
            "answers": int(said[k]),
            "labels": int(labels[k]),
        }
        row |= {} if known is None else {"truth": known.get(names[k], 0)}
        some = held[k] > 0
        row |= {"found": right[k] / held[k] if some else None, "low": low[k] if some else None}
        row |= {"high": high[k] if some else None, "says": found_says(called(names[k], meanings), right[k], held[k])}
        rows.append(row)
    clashes = sum(n for *_, n in counts.clashes)
    often = said / max(said.sum(), 1)
    apart = max(1 - float((often**2).sum()), 1e-12)  # that two answers drawn at random differ
    pairs: list[dict[str, Any]] = [
        {
            "class": names[k],
            "other": names[m],
            "n": n,
            "share": n / clashes,
            "chance": float(
                2 * often[k] * often[m] / apart
            ),  # the share by how often each of the two is said, and no more
            **directions(counts.said, k, m, held),
        }
        for k, m, n in counts.clashes[:PAIRS]
    ]
    for row in pairs:
        row["says"] = f"{begun(share(row['share']))} of all disagreements are between {both(row, meanings)}."
    says = classes_say(rows, pairs, clashes, meanings)
    if answers.scale == "multilabel":
        pairs, clashes = [], 0
        says = ["One answer may hold several labels: two different ones about a task need not be at odds."]
    section: dict[str, Any] = {
        "title": "Classes and what is mixed up",
        "says": says,
        "rows": rows,
        "of": len(names),
        "pairs": pairs,
        "clashes": clashes,
        "missed": missed(truth, found, known),
        "grid": [[names[k], names[m], n] for k, m, n in counts.said] if len(names) <= GRID else [],
    }
    if wrong := most_missed(section["missed"], meanings):
        section["says"].append(wrong)
    return section


def missed(truth: Truth | None, found: Consensus, known: dict[str, int] | None) -> list[dict[str, Any]]:
    """Which labels stand in the place of which truth, most frequent first."""
    if truth is None or known is None:
        return []
    labels = found.labels()
    pairs = Counter((truth.said[t] or "", labels[t] or "") for t in np.flatnonzero(truth.known & ~truth.right).tolist())
    order = sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))
    return [{"truth": k, "label": m, "n": n, "of": known[k]} for (k, m), n in order[:PAIRS]]


def most_missed(rows: list[dict[str, Any]], meanings: dict[str, str]) -> str:
    """The class whose tasks have a wrong label most often, where these are not a few."""
    wrong: dict[str, int] = {}
    for row in rows:
        wrong[row["truth"]] = wrong.get(row["truth"], 0) + row["n"]
    if not wrong:
        return ""
    worst = max(wrong, key=lambda name: wrong[name])
    first = next(row for row in rows if row["truth"] == worst)
    if wrong[worst] < MISSED or wrong[worst] < 0.1 * first["of"]:
        return ""
    instead = listed([called(first["label"], meanings)]) if first["label"] else "none"
    have = (
        f"the label {instead}"
        if first["n"] == wrong[worst]
        else f"another label, {number(first['n'])} of them {instead}"
    )
    return (
        f"Where the truth is known, the labels miss {listed([called(worst, meanings)])} most: {number(wrong[worst])} of "
        f"{count(first['of'], 'such task')} have {have}."
    )


def both(row: dict[str, Any], meanings: dict[str, str]) -> str:
    return listed(called(row[side], meanings) for side in ("class", "other"))


def directions(said: Cells, k: int, m: int, held: np.ndarray) -> dict[str, float | None]:
    """How often each of two classes is said where the consensus is the other."""
    lookup = {(a, b): n for a, b, n in said if {a, b} == {k, m}}
    return {
        "other_for_class": lookup.get((k, m), 0) / held[k] if held[k] else None,
        "class_for_other": lookup.get((m, k), 0) / held[m] if held[m] else None,
    }


def truth_counts(truth: Truth | None, names: list[str]) -> dict[str, int] | None:
    if truth is None:
        return None
    found: dict[str, int] = dict.fromkeys(names, 0)
    for text, known in zip(truth.said, truth.known.tolist(), strict=True):
        if known and text is not None:
            found[text] = found.get(text, 0) + 1
    return found


def found_says(name: str, right: float, held: float) -> str:
    if not held:
        return "No task is held to be of this class."
    return f"Of {count(held, 'answer')} about tasks held to be {listed([name])}, {share(right / held)} say so."


def confused(pairs: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The pair of classes that is mixed up most beyond what their frequency alone would do."""
    some = [
        row
        for row in pairs
        if row["n"] >= MIXED and row["share"] >= 0.1 and row["share"] - row["chance"] > max(0.03, 0.2 * row["chance"])
    ]
    return max(some, key=lambda row: row["share"] - row["chance"], default=None)


def two_say(rows: list[dict[str, Any]], meanings: dict[str, str]) -> list[str]:
    """With two classes there is one pair; what differs is how well each of them is seen."""
    held = [row for row in rows if row["found"] is not None]
    seen = " and ".join(
        f"{share(row['found'])} say so where it is {listed([called(row['class'], meanings)])}" for row in held
    )
    return [f"Of the answers, beside what the consensus holds, {seen}."] if held else []


def pairs_say(pairs: list[dict[str, Any]], meanings: dict[str, str]) -> list[str]:
    first, clear = pairs[0], confused(pairs)
    said = f"{begun(share(first['share']))} of the disagreements are between {both(first, meanings)}. "
    if first is clear:
        said += (
            f"By how often each is said it would be {share(first['chance'])}: make the line between them clearer first."
        )
        return [said]
    said += "That is about what it would be by how often each is said."
    if clear is None:
        return [said]
    return [
        said,
        f"{both(clear, meanings)} are confused more than their frequency explains: {share(clear['share'])} of the disagreements, "
        f"by how often each is said {share(clear['chance'])}.",
    ]


def classes_say(
    rows: list[dict[str, Any]], pairs: list[dict[str, Any]], clashes: int, meanings: dict[str, str]
) -> list[str]:
    if not clashes:
        return [
            "No two answers to the same task differ."
            if len(rows) > 1
            else "There is only one class: nothing can be mixed up."
        ]
    said = two_say(rows, meanings) if len(rows) == 2 else pairs_say(pairs, meanings)
    if unused := [row["class"] for row in rows if not row["answers"]]:
        said.append(f"Nobody ever said {listed(called(name, meanings) for name in unused)}.")
    weak = [row for row in rows if row["found"] is not None and row["found"] < 0.5 and row["answers"] >= 10]
    if weak:
        said.append(
            f"Fewer than half of the answers recognise {listed(called(row['class'], meanings) for row in weak)} where the "
            f"consensus sees {'it' if len(weak) == 1 else 'them'}."
        )
    return said


# confidence ------------------------------------------------------------------------------------------------------------


def about_confidence(found: Consensus, truth: Truth | None, method: str) -> dict[str, Any]:
    """How sure the consensus says it is, and where the truth is known how often it is right then."""
    answered = found.n > 0
    sure = found.probs.max(axis=1, initial=0.0)
    place = np.clip(np.searchsorted(EDGES, sure + 1e-9, side="right") - 1, 0, len(EDGES) - 2)
    rows = []
    for b, (start, end) in enumerate(pairwise(EDGES)):
        here = answered & (place == b)
        row: dict[str, Any] = {"from": start, "to": end, "tasks": int(here.sum())}
        row["mean"] = float(sure[here].mean()) if here.any() else None
        if truth is not None:
            both = here & truth.known
            n = int(both.sum())
            row |= {"known": n, "right": float(truth.right[both].mean()) if n else None, "low": None, "high": None}
            if n:
                row["mean"] = float(sure[both].mean())
                (low,), (high,) = beta_interval(np.array([row["right"]]), np.array([float(n)]))
                row |= {"low": low, "high": high}
        rows.append(row)
    wrong = float((1 - sure[answered]).sum())
    section: dict[str, Any] = {
        "title": "How sure the labels are",
        "rows": rows[0 if rows[0]["tasks"] else 1 :],  # below one half only where there is something
        "tasks": int(answered.sum()),
        "below_90": int((sure[answered] < LOW).sum()),
        "below_70": int((sure[answered] < 0.7).sum()),
        "expected_wrong": wrong,
    }
    section["says"] = confidence_says(section, sure, truth, method)
    return section


def confidence_says(section: dict[str, Any], sure: np.ndarray, truth: Truth | None, method: str) -> list[str]:
    tasks, wrong = section["tasks"], section["expected_wrong"]
    if not tasks:
        return ["No task has an answer."]
    below = section["below_90"]
    doubts = (
        f"{count(below, 'label')} of {number(tasks)} ({share(below / tasks)}) {'has' if below == 1 else 'have'} a probability "
        f"below 90 %: {'this one is' if below == 1 else 'these are'} worth a second look."
        if below
        else f"All {number(tasks)} labels have a probability of 90 % or more."
    )
    expects = (
        f"about {number(wrong)} wrong {'label' if round(wrong) == 1 else 'labels'}"
        if wrong >= 0.5
        else "no wrong label"
    )
    said = [f"{doubts} By its own account {method} expects {expects} among all."]
    if truth is None:
        return [
            *said,
            "Whether these probabilities can be taken at their word cannot be told: the truth is not known here.",
        ]
    known, right = int(truth.known.sum()), int(truth.right.sum())
    (low,), (high,) = beta_interval(np.array([right / known]), np.array([float(known)]))
    expected = float(sure[truth.known].mean())
    section |= {"known": known, "right": right, "accuracy": right / known, "accuracy_low": low, "accuracy_high": high}
    section["claimed"] = expected
    for side, there in (("low", sure < LOW), ("high", sure >= LOW)):  # how often labels below and above are right
        those = truth.known & there
        section[f"{side}_right"] = float(truth.right[those].mean()) if those.sum() >= SEVERAL else None
    said.append(
        f"Of {count(known, 'task')} whose truth is known, {number(right)} are labelled right: {share(right / known)} "
        f"(95 % interval {ends(low, high, share)}). The probabilities promise {share(expected)}"
        + (
            ": they can be taken at their word on average."
            if low <= expected <= high
            else ": too much. Treat them as an order, not as a promise."
            if expected > high and expected - right / known >= TOO_MUCH
            else ": a little too much."
            if expected > high
            else ": too little. The labels are better than they say."
        )
    )
    if section["low_right"] is not None and section["high_right"] is not None:
        said.append(
            f"Below 90 % {share(section['low_right'])} of the labels are right, from 90 % on {share(section['high_right'])}."
        )
    return said
