"""Everything a report says, as a plain dict: texts, numbers, lists. What is not defined is None beside a sentence that says why."""

from __future__ import annotations

import ast
import logging
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import api
from ..comparison import Entry
from ..core import registry
from ..core.answers import Answers
from ..core.consensus import Consensus
from ..core.dataset import Dataset
from ..core.errors import BadInput, ManyVoicesError
from ..core.scores import Scores
from ..core.words import count, ends, interval, number, share, tidy, value
from ..identification import identified
from ..inspection import inspected
from ..runs import fingerprints, versions
from . import agreement, methods, people, runs, tasks, trained
from .advice import next_steps
from .content import contents
from .counting import Counts, counted, values

INSTEAD = ("onecoin", "mv")  # where bcc, the default, cannot work
NUMBERS = ("ordinal", "mean")


def summarised(
    data: Dataset,
    folders: dict[str, Path],
    *,
    source: Path | None = None,
    how: Sequence[str] = (),
    method: str = "bcc",
    seed: int = 0,
) -> dict[str, Any]:
    answers = data.answers
    if answers is None:
        raise BadInput("the data set has items but no answers", file=source, expected="answers of workers about tasks")
    if not answers.n:
        raise BadInput("no answers are left to report about", file=source, expected="answers of workers about tasks")
    found, used, instead = consensus(data, answers, method)
    seen = inspected(data)
    facts: dict[str, Any] = {
        "title": titled(data, source),
        "next": [],
        "figures": [],
        "meanings": meanings(data, answers),
    }
    facts["data"] = about_data(data, answers, seen)
    facts["agreement"] = agreement.about_agreement(answers, seed, facts["meanings"])
    about_the_answers(facts, data, answers, found, used)
    if facts["workers"] is not None:
        empty = [row["worker"] for row in facts["workers"]["rows"] if row.get("kind") == "nothing"]
        facts["agreement"]["without"] = agreement.without(answers, empty, seed)
    with quiet():  # what `compare` would say on the terminal stands in the section
        facts["methods"] = tried(lambda: methods.about_methods(data, answers, seed), "Methods compared")
    models = {name: place for name, place in folders.items() if trained.is_model(place)}
    labelled = {name: place for name, place in folders.items() if name not in models}
    facts["runs"] = runs.about_runs(labelled, data, answers, found, used)
    facts["models"] = trained.about_models(models, data, answers, found)
    facts["dropped"] = about_dropped(data, seen)
    facts["manifest"] = about_run(source, how, folders, method, used, instead, found, seed)
    facts["figures"] = figures(facts)
    facts["next"] = next_steps(facts)
    return tidy(facts)


# the fit ---------------------------------------------------------------------------------------------------------------


def consensus(data: Dataset, answers: Answers, method: str) -> tuple[Consensus, str, str]:
    """The labels by the method asked for. The default gives way where it cannot work; that is said."""
    chosen = registry.parse("aggregate", method)
    if len(chosen) == 1:  # by its own name, whatever spelling it was asked for in
        method = Entry(*chosen[0]).label
    rest = () if method != "bcc" else NUMBERS if answers.scale == "interval" else INSTEAD
    why = ""
    for name in (method, *rest):
        try:
            return api.aggregate(data, name), name, why and f"{why}; these labels are by {name}"
        except ManyVoicesError as problem:
            if name == ([method, *rest])[-1]:
                raise
            why = why or str(problem).partition(";")[0]
    raise AssertionError("a method was found or refused")


@contextmanager
def quiet() -> Iterator[None]:
    log = logging.getLogger("manyvoices")
    before = log.level
    log.setLevel(logging.WARNING)
    try:
        yield
    finally:
        log.setLevel(before)


def tried(work: Callable[[], Any], title: str) -> Any:
    """A section, or why there is none."""
    try:
        return work()
    except ManyVoicesError as problem:
        return {
            "title": title,
            "says": [f"Not defined because {problem}."],
            "rows": [],
            "columns": {},
            "recommended": None,
        }


# what the answers say --------------------------------------------------------------------------------------------------


def about_the_answers(facts: dict[str, Any], data: Dataset, answers: Answers, found: Consensus, method: str) -> None:
    """The sections on workers, tasks, classes and confidence, which are counted in one pass."""
    truth = tasks.truth_of(data, found)
    scores, missing = ask(data, answers, found, truth is not None)
    spread = scores.pop("entropy", None)
    shown = tasks.hardest(found, None if spread is None else np.asarray(spread.value))
    verdict = scores.pop("spam_or_dissent", None)
    verdicts = None if verdict is None else people.Verdicts(verdict)
    part = scores.pop("another_vote", None)
    gain = {} if part is None else by_name(part, shown, found)
    chosen, below = np.zeros(0, int), np.zeros(0, bool)
    if answers.workers is not None:
        below = people.far_below(answers, found, scores.get("skill"), verdicts, method)
        chosen = people.chosen_workers(answers, concern_of(verdicts, answers) | below)
    if found.probs is None:
        counts = None
        votes: dict[int, list] = values(answers, shown)  # type: ignore[assignment]
    else:
        counts = counted(answers, found.codes, chosen, shown)
        votes = counts.votes  # type: ignore[assignment]
    content = contents(data, [found.tasks[t] for t in shown.tolist()])
    facts["tasks"] = tasks.about_tasks(found, shown, votes, content, truth, gain)
    facts["tasks"]["not_defined"] = {name: why for name, why in missing.items() if name == "another_vote"}
    facts["workers"] = None
    if answers.workers is not None:
        cells = {} if counts is None else counts.workers
        facts["workers"] = people.about_workers(answers, found, chosen, scores, missing, verdicts, cells, below, method)
    facts["classes"] = facts["confidence"] = None
    if isinstance(counts, Counts):
        facts["classes"] = tasks.about_classes(answers, found, counts, truth, facts["meanings"])
        facts["confidence"] = tasks.about_confidence(found, truth, method)


CELLS = 200_000_000  # workers or tasks times pairs of classes, above which a score that goes through all of them is left out
ASKED = ("skill", "accuracy", "bias", "speed", "drift", "spam_or_dissent", "another_vote", "entropy")


def ask(data: Dataset, answers: Answers, found: Consensus, known: bool) -> tuple[dict[str, Scores], dict[str, str]]:
    """Scores of workers and tasks, and why some are not there."""
    scores, missing = {}, {}
    bare = replace(data, items=None)  # a truth is looked up for those that use it
    rows = {
        "spam_or_dissent": 0 if answers.workers is None else len(answers.workers),
        "another_vote": len(answers.tasks),
    }
    for name in ASKED:
        if rows.get(name, 0) * len(answers.classes) ** 2 > CELLS:
            missing[name] = f"not computed: too much work with {number(len(answers.classes))} classes"
            continue
        if name == "accuracy" and not known:
            continue  # without a truth, skill says it already
        source = data if name in ("accuracy", "drift") else bare
        try:
            part = identified(source, name, **({} if name == "accuracy" else {"consensus": found}))
        except ManyVoicesError as problem:
            missing[name] = str(problem).partition(";")[0]
            continue
        about = np.array([of != "dataset" for of in part.column("of")], bool)
        if about.any():
            scores[name] = part.where(about)
        else:
            missing[name] = "; ".join(dict.fromkeys(part.column("note")))
    return scores, missing


def concern_of(verdicts: people.Verdicts | None, answers: Answers) -> np.ndarray:
    return np.zeros(len(answers.workers), bool) if verdicts is None else verdicts.concern(answers.workers)


def by_name(part: Scores, shown: np.ndarray, found: Consensus) -> dict[str, dict[str, Any]]:
    """Rows of the tasks that are shown; nothing where no value is defined."""
    if not np.isfinite(part.value).any():
        return {}
    wanted = {found.tasks[t] for t in shown.tolist()}
    return {
        name: {"value": float(x) if np.isfinite(x) else None}
        for name, x in zip(part.column("name"), part.value.tolist(), strict=True)
        if name in wanted
    }


def meanings(data: Dataset, answers: Answers) -> dict[str, str]:
    """What META.json says the classes mean, where their names are codes."""
    held = data.about.get("label_names")
    if isinstance(held, str):
        try:
            held = ast.literal_eval(held)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return {}
    if not isinstance(held, dict) or answers.scale == "interval":
        return {}
    said = {str(k): str(v) for k, v in held.items()}
    return {name: said[name] for name in answers.classes if name in said and said[name] != name}


# what the data are -----------------------------------------------------------------------------------------------------


def titled(data: Dataset, source: Path | None) -> str:
    if data.about.get("name"):
        return str(data.about["name"])
    return source.stem if source is not None and source.stem not in ("", "-") else "Answers"


def about_data(data: Dataset, answers: Answers, seen: dict[str, Any]) -> dict[str, Any]:
    effort = answers.per_task()
    alone, answered = int((effort == 1).sum()), int((effort > 0).sum())
    rows = [
        fact("Answers", answers.n, f"Single judgements, read as {seen['format']}, scale {answers.scale}."),
        fact("Tasks", answered, f"Things that were judged, {spread(seen['answers_per_task'], 'answer')} each."),
    ]
    if answers.workers is None:
        rows.append(
            {
                "name": "Workers",
                "value": None,
                "says": "The answers name nobody: only how often each label was given is known.",
            }
        )
    else:
        rows.append(
            fact(
                "Workers",
                len(answers.workers),
                f"People who answered, {spread(seen['answers_per_worker'], 'answer')} each.",
            )
        )
    if answers.scale != "interval":
        rows.append(fact("Classes", len(answers.classes), "Different labels that can be given."))
    if alone:
        rows.append(
            fact(
                "Tasks with one answer",
                alone,
                "On these nobody can be held against anybody; their label hangs on that one answer.",
            )
        )
    if seen.get("tasks", 0) > answered:
        rows.append(
            fact("Tasks without answers", seen["tasks"] - answered, "Listed, but nobody answered; they have no label.")
        )
    if seen.get("repeated_answers"):
        rows.append(
            fact(
                "Repeated answers",
                seen["repeated_answers"],
                "Answers beyond a worker's first to the same task; all count.",
            )
        )
    known = seen.get("truth_of_answered_tasks", 0)
    rows.append(
        fact("Tasks with known truth", known, "Used to score labels, never to make them.")
        if known
        else fact(
            "Tasks with known truth",
            0,
            "No truth is known: nothing here says how often a label is right, only how well people agree.",
        )
    )
    if seen.get("unanimous_tasks") is not None and seen["tasks_with_several_answers"]:
        several = seen["tasks_with_several_answers"]
        rows.append(
            fact(
                "Unanimous tasks",
                seen["unanimous_tasks"],
                f"All answers equal, of {number(several)} with several answers.",
            )
        )
    section = {
        "title": "What the data are",
        "answers": answers.n,
        "tasks": answered,
        "alone": alone,
        "known": known,
        "repeated": int(seen.get("repeated_answers") or 0),
        "rows": rows,
    }
    section["question"] = str(data.about.get("question") or "")
    section["scale"] = answers.scale
    section["numbers_as_classes"] = seen.get("numbers_as_classes", 0)
    section["workers"] = None if answers.workers is None else len(answers.workers)
    section["says"] = [data_says(section, answers)]
    return section


def fact(name: str, n: float, says: str) -> dict[str, Any]:
    return {"name": name, "value": n, "says": says}


def spread(s: dict[str, float], unit: str) -> str:
    if s["min"] == s["max"]:
        return count(s["min"], unit)
    return f"{number(s['min'])} to {number(s['max'])} {unit}s (half have {number(np.ceil(s['median']))} or more)"


def data_says(section: dict[str, Any], answers: Answers) -> str:
    who = "" if section["workers"] is None else f" by {count(section['workers'], 'person', 'people')}"
    kind = "numbers" if answers.scale == "interval" else count(len(answers.classes), "class", "classes")
    return f"{count(answers.n, 'answer')}{who} about {count(section['tasks'], 'task')}, in {kind}."


def about_dropped(data: Dataset, seen: dict[str, Any]) -> dict[str, Any]:
    reasons = {reason: n for reason, n in data.dropped.items() if n}
    lost = sum(reasons.values())
    said = (
        f"{count(lost, 'row')} of the files {'is' if lost == 1 else 'are'} not in this report."
        if lost
        else "Every row that was read is in this report."
    )
    return {
        "title": "What was left out",
        "says": [said],
        "reasons": reasons,
        "messages": list(dict.fromkeys(seen["messages"])),
    }


# how it came about -----------------------------------------------------------------------------------------------------


def about_run(
    source: Path | None,
    how: Sequence[str],
    folders: dict[str, Path],
    method: str,
    used: str,
    instead: str,
    found: Consensus,
    seed: int,
) -> dict[str, Any]:
    """Nothing of the time and place of the run, so that the same input gives the same bytes."""
    named = "DATA" if source is None else source.name or source.resolve().name
    hashes = (
        {} if source is None else {relative(path, source): digest for path, digest in fingerprints(source, []).items()}
    )
    for name, place in folders.items():
        hashes |= {f"{name}/{Path(path).name}": digest for path, digest in fingerprints(place, []).items()}
    said = [f"Labels by {used}."]
    if instead:
        said.append(f"{instead}.")
    if found.converged is False:
        more = more_steps(used)
        advice = f"give it more steps, as in -s '{more}', or take another method" if more else "take another method"
        said.append(f"The fit by {used} did not converge: {advice}.")
    return {
        "title": "How this report was made",
        "says": said,
        "command": shlex.join(["manyvoices", "report", named, *folders, *how, "-s", method, "--seed", str(seed)]),
        "method": used,
        "converged": found.converged,
        "steps": None if found.trace is None else len(found.trace.values),
        "seed": seed,
        "versions": versions(),
        "inputs": hashes,
    }


def more_steps(method: str) -> str:
    """The same with ten times the steps; nothing where their number is no option of it."""
    [(about, given)] = registry.parse("aggregate", method)
    steps = next((o for o in about.options if o.name in ("iterations", "rounds")), None)
    return "" if steps is None else f"{about.name}[{steps.name}={10 * max(steps.default, given.get(steps.name, 0))}]"


def relative(path: str, source: Path) -> str:
    return (
        Path(path).relative_to(source.parent).as_posix()
        if Path(path).is_relative_to(source.parent)
        else Path(path).name
    )


def figures(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """The few numbers at the top."""
    data, sure = facts["data"], facts["confidence"]
    found = [{"name": "answers", "shown": number(data["answers"]), "says": f"about {count(data['tasks'], 'task')}"}]
    if data["workers"] is not None:
        found.append(
            {
                "name": "workers",
                "shown": number(data["workers"]),
                "says": f"{number(data['answers'] / max(data['workers'], 1))} answers each on average",
            }
        )
    alpha = next((row for row in facts["agreement"]["rows"] if row["score"] == "alpha"), None)
    if alpha is not None:
        between = interval(alpha).strip(" ()")
        shown = "–" if alpha["value"] is None else value(alpha["value"])
        found.append(
            {
                "name": "agreement beyond chance",
                "shown": shown,
                "says": between if alpha["value"] is not None else alpha["note"],
            }
        )
    if sure and sure["tasks"]:
        rest = sure["tasks"] - sure["below_90"]
        found.append(
            {
                "name": "labels at 90 % or surer",
                "shown": share(rest / sure["tasks"]),
                "says": f"{number(rest)} of {number(sure['tasks'])} tasks",
            }
        )
        if sure.get("accuracy") is not None:
            says = f"95 % interval {ends(sure['accuracy_low'], sure['accuracy_high'], share)}"
            says += f", {count(sure['known'], 'task')} of known truth"
            found.append({"name": "labels right", "shown": share(sure["accuracy"]), "says": says})
    return found
