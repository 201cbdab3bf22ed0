"""The section on workers: skill, bias, speed, what their answers say about them, and what they mix up."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.answers import Answers
from ..core.consensus import Consensus
from ..core.scores import Scores
from ..core.words import count, listed, number, share, value
from .counting import Cells

MOST = 1_000  # workers in the table
CELLS = 150  # of a worker's table of confusions, the most frequent
FEW = 10  # answers below which nothing is said about a single worker
STEP = 0.5  # of the scale, from which on a bias is worth a sentence
RARE = 0.01  # chance with which anybody of equal workers would stand as far below
BELOW = "so few answers go with the consensus that chance alone does not explain it"
TAIL = 0.025  # of equal workers whose 95 % interval ends below their mean by chance
SCORES = {
    "skill": ("skill", "The share of this worker's answers that the method expects to be right. It does not know the truth; the "
    "interval is wide where answers are few."),
    "accuracy": ("right", "The share of this worker's answers that are right, on the tasks whose truth is known."),
    "bias": ("bias", "How much higher (+) or lower (-) the worker answers than the others on the same tasks, in steps of the "
    "scale."),
    "speed": ("time", "Time for an answer beside that of the others on the same tasks: 1 is as long, 0.5 half as long."),
    "drift": ("drift", "Change of accuracy from the worker's first to last answer: -0.20 is twenty points lost."),
}  # fmt: skip
VERDICT = (
    "Whether the answers carry information about the tasks, and whether the worker shares a consistent minority view. It is "
    "about the answers, not about the person; below 50 answers nothing is decided."
)


def chosen_workers(answers: Answers, concern: np.ndarray) -> np.ndarray:
    """Codes of the workers in the table: those with a verdict first, then those with most answers."""
    n = answers.per_worker()
    order = np.lexsort((np.arange(len(n)), -n, ~concern))[:MOST]
    return np.sort(order)


def far_below(
    answers: Answers, found: Consensus, skill: Scores | None, verdicts: Verdicts | None, method: str
) -> np.ndarray:
    """[W] who has so few answers that go with the consensus that chance alone does not explain it among so many workers of
    average skill: of those with too few answers for a verdict, and of those who agree with the others who is wrong at least
    twice as often as they are."""
    none = np.zeros(len(answers.workers), bool)
    if skill is None or found.probs is None or says_of("skill", skill, answers.scale, method) != SCORES["skill"][1]:
        return none
    from scipy.stats import binom

    n = answers.per_worker()[answers.workers.code(skill.column("name"))]
    known = np.isfinite(skill.value) & (n >= FEW)
    if known.sum() < 3:
        return none
    right, mean = np.round(np.nan_to_num(skill.value) * n), float(skill.value[known].mean())
    rare = known & (binom.cdf(right, n, mean) * known.sum() < RARE)
    kinds = {} if verdicts is None else verdicts.kind
    twice = 1 - np.nan_to_num(skill.value) >= 2 * (1 - mean)
    for name, odd, far in zip(skill.column("name"), rare.tolist(), twice.tolist(), strict=True):
        kind = kinds.get(name, "undecided")
        if odd and (kind == "undecided" or (kind == "agrees" and far)):
            none[answers.workers.code([name])] = True
    return none


def about_workers(
    answers: Answers,
    found: Consensus,
    chosen: np.ndarray,
    scores: dict[str, Scores],
    missing: dict[str, str],
    verdicts: Verdicts | None,
    cells: dict[int, Cells],
    below: np.ndarray,
    method: str,
) -> dict[str, Any]:
    n = answers.per_worker()
    columns = {name: part for name, part in scores.items() if np.isfinite(part.value).any()}
    missing = missing | {
        name: next(iter(dict.fromkeys(part.column("note"))), "") for name, part in scores.items() if name not in columns
    }
    at = {name: {who: i for i, who in enumerate(part.column("name"))} for name, part in columns.items()}
    noted = {name: part.column("note") for name, part in columns.items()}
    classes = found.classes.to_list()
    rows = []
    for w in chosen.tolist():
        name = answers.workers[w]
        row: dict[str, Any] = {"worker": name, "n": int(n[w])}
        for score, part in columns.items():
            row[score] = one(part, at[score].get(name), noted[score])
        if verdicts is not None:
            row |= verdicts.row(name)
        if below[w]:
            row["order"] = 1.5  # before those with a view on some tasks
            row["verdict_says"] = "; ".join(filter(None, (row.get("verdict_says"), BELOW)))
        row["confusion"] = sorted(cells.get(w, []), key=lambda cell: (-cell[2], cell))[:CELLS]
        row["mixes"] = mixes(cells.get(w, []), classes)
        rows.append(row)
    rows.sort(key=lambda row: (row.get("order", 9), lowest(row), -row["n"]))
    names = sorted({k for row in rows for cell in row["confusion"] for k in cell[:2]})
    place = {k: i for i, k in enumerate(names)}
    for row in rows:
        row.pop("order", None)
        row["confusion"] = sorted([place[k], place[m], c] for k, m, c in row["confusion"])
    people = len(answers.workers)
    section: dict[str, Any] = {
        "title": "Who answered",
        "rows": rows,
        "of": people,
        "classes": [classes[k] for k in names],  # what `confusion` counts by: held to be, said, how often
        "columns": {
            name: {"title": SCORES[name][0], "says": says_of(name, columns[name], answers.scale, method)}
            for name in columns
        },
        "verdict": VERDICT if verdicts is not None else "",
        "not_defined": {SCORES[name][0]: why for name, why in missing.items() if why and name in SCORES},
        "few": int((n < FEW).sum()),
        "below": [row["worker"] for row in rows if below[answers.workers.code([row["worker"]])[0]]],
        "sample": "",
    }
    if len(rows) < people:
        section["sample"] = (
            f"The table has {number(len(rows))} of {number(people)} workers: those something is said about, then those with "
            "most answers."
        )
    place_of = answers.workers.code
    standing = skills_say(columns["skill"], n[place_of(columns["skill"].column("name"))]) if "skill" in columns else []
    section["says"] = [*people_say(section, n), *standing, *below_say(section), *habits_say(rows, answers.scale)]
    section["says"] += verdicts.says() if verdicts is not None else []
    return section


def says_of(name: str, part: Scores, scale: str, method: str) -> str:
    """The usual meaning, and the method's own word for its skill where that is no share of right answers."""
    if name == "bias" and scale == "interval":
        return SCORES[name][1].replace("in steps of the scale", "in the unit of the numbers")
    if name != "skill":
        return SCORES[name][1]
    method = method.partition("[")[0]  # without its options
    if scale == "interval" or method == "ordinal":
        return "How closely this worker's answers follow the values, as a correlation: 1 is perfectly, 0 not at all."
    if method in ("mv", "wawa"):
        return "The share of this worker's answers that equal the labels, to which the worker's own answers contribute."
    finite = part.value[np.isfinite(part.value)]
    if len(finite) and (finite.min() < 0 or finite.max() > 1):
        return "How well this worker's answers go with the consensus, in the method's own unit; more is better."
    return SCORES[name][1]


def one(part: Scores, at: int | None, notes: list[str]) -> dict[str, Any]:
    if at is None:
        return {"value": None, "low": None, "high": None, "note": "not defined"}
    low, high = (np.nan if side is None else side[at] for side in (part.low, part.high))
    return {"value": float(part.value[at]), "low": float(low), "high": float(high), "note": notes[at] or ""}


def lowest(row: dict[str, Any]) -> float:
    """Workers that are surely worse come first: by the upper end of the skill."""
    skill = row.get("skill") or row.get("accuracy") or {}
    top = skill.get("high")
    return top if top is not None and np.isfinite(top) else np.inf


def mixes(cells: Cells, classes: list[str]) -> dict[str, Any] | None:
    """The most frequent confusion of a worker; once is none."""
    wrong = [(c, k, m) for k, m, c in cells if k != m and c > 1]
    if not wrong:
        return None
    n, k, m = max(wrong, key=lambda cell: (cell[0], -cell[1], -cell[2]))
    return {"held": classes[k], "said": classes[m], "n": n}


def people_say(section: dict[str, Any], n: np.ndarray) -> list[str]:
    busy = np.sort(n)[::-1]
    tenth = max(1, len(busy) // 10)
    said = [
        f"{count(len(n), 'person', 'people')} gave {count(n.sum(), 'answer')}"
        + (f", half of them {number(np.ceil(np.median(n)))} or more each" if n.max() > n.min() else "")
        + (
            f"; the busiest tenth gave {share(busy[:tenth].sum() / n.sum())}."
            if len(n) >= 10 and n.max() > n.min()
            else "."
        )
    ]
    if section["few"]:
        said.append(
            f"{count(section['few'], 'worker')} gave fewer than {FEW} answers: too few to say anything about one of them alone."
        )
    return said


def skills_say(skill: Scores, n: np.ndarray) -> list[str]:
    """How many workers stand below the average with their whole interval, beside what chance alone would do."""
    low, high = (np.full(len(n), np.nan) if side is None else side for side in (skill.low, skill.high))
    known = np.isfinite(skill.value) & np.isfinite(low) & np.isfinite(high) & (n >= FEW)
    if known.sum() < 3:
        return []
    mean, chance = float(skill.value[known].mean()), TAIL * known.sum()
    below = int((high[known] < mean).sum())
    expected = (
        f"about {number(chance)} of as many equal workers" if chance >= 1 else "fewer than one of as many equal workers"
    )
    those = "The" if (n >= FEW).all() else f"Among those with {FEW} answers or more the"
    return [
        f"{those} average skill is {value(mean)}; {number(below) if below else 'none'} of {number(known.sum())} workers "
        f"{'lies' if below == 1 else 'lie'} below it with the whole interval (by chance alone it would be {expected})."
    ]


def below_say(section: dict[str, Any]) -> list[str]:
    if not section["below"]:
        return []
    one = len(section["below"]) == 1
    few = all(
        row.get("kind", "undecided") == "undecided" for row in section["rows"] if row["worker"] in section["below"]
    )
    why = f"; {'this worker' if one else 'they'} gave too few answers to say why" if few else ""
    return [
        f"{listed(section['below'])} {'stands' if one else 'stand'} so far below that chance alone does not explain it among so "
        f"many{why}."
    ]


def habits_say(rows: list[dict[str, Any]], scale: str) -> list[str]:
    """Who surely answers higher or lower than the others by half a step and more, and who takes surely too little time."""
    said = []
    for way, sign in (("higher", 1), ("lower", -1)):
        if some := shifted(rows, sign) if scale == "ordinal" else []:
            answer = "answers" if len(some) == 1 else "answer"
            said.append(f"{listed(some)} {answer} {way} than the others on the same tasks, by half a step or more.")
    if some := [row["worker"] for row in rows if "too fast" in (row.get("speed") or {}).get("note", "")]:
        said.append(
            f"{listed(some)} {'takes' if len(some) == 1 else 'take'} much less time than the others on the same tasks."
        )
    return said


def shifted(rows: list[dict[str, Any]], sign: int) -> list[str]:
    """Workers whose bias goes this way: half a step and more, and not by chance. In the order of the bias."""
    some = []
    for row in rows:
        bias = row.get("bias") or {"value": None} if row["n"] >= FEW else {"value": None}
        side = bias.get("low" if sign > 0 else "high")
        if bias["value"] is not None and side is not None and sign * bias["value"] >= STEP and sign * side > 0:
            some.append((-sign * bias["value"], row["worker"]))
    return [name for _, name in sorted(some)]


# what answers say about a worker ----------------------------------------------------------------------------------------

KINDS = {  # kind -> order in the table, words for it
    "nothing": (0, "no information seen"),
    "own": (1, "a consistent view of their own"),
    "partly": (2, "own view on some tasks"),
    "agrees": (3, "agrees with the others"),
    "undecided": (4, "undecided"),
}


class Verdicts:
    """The verdict on each worker, out of the rows of `spam_or_dissent`."""

    def __init__(self, scores: Scores):
        self.kind: dict[str, str] = {}
        self.note: dict[str, str] = {}
        for score, of, name, note in zip(*(scores.column(c) for c in ("score", "of", "name", "note")), strict=True):
            if of == "worker" and score == "spam_or_dissent":
                self.kind[name], self.note[name] = kind_of(note), note

    def concern(self, workers: Any) -> np.ndarray:
        return np.array([self.kind.get(name) in ("nothing", "own") for name in workers], bool)

    def row(self, name: str) -> dict[str, Any]:
        kind = self.kind.get(name, "undecided")
        return {
            "verdict": KINDS[kind][1],
            "kind": kind,
            "verdict_says": self.note.get(name, ""),
            "order": KINDS[kind][0],
        }

    def of(self, kind: str) -> list[str]:
        return [name for name, held in self.kind.items() if held == kind]

    def says(self) -> list[str]:
        said = []
        if some := self.of("nothing"):
            said.append(f"No information about the tasks was seen in the answers of {listed(some)}.")
        if some := self.of("own"):
            answer = "answers" if len(some) == 1 else "answer"
            said.append(
                f"{listed(some)} {answer} differently from most, and consistently so: a view, not carelessness."
            )
        if some := self.of("partly"):
            agree = "agrees" if len(some) == 1 else "agree"
            said.append(
                f"{count(len(some), 'worker')} ({listed(some)}) {agree} with the others on the whole, with a consistent view of "
                "their own on some tasks."
            )
        if (some := self.of("undecided")) and len(some) == len(self.kind):
            said.append("Nobody has answered enough for a verdict on their answers.")
        elif some:
            said.append(
                f"On {count(len(some), 'worker')} nothing can be said yet: fewer than 50 answers that others can be held beside."
            )
        return said


def kind_of(note: str) -> str:
    """The kind of a verdict by its words."""
    if note.startswith("no information"):
        return "nothing"
    if note.startswith("a consistent view"):
        return "own"
    if "view of their own" in note:
        return "partly"
    return "agrees" if note.startswith("agrees") else "undecided"
