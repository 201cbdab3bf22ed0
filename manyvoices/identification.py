"""Who and what is hard to trust: scores of workers and of tasks, each handed by name what it asks for, made once for all.

consensus   what --consensus says, else bcc (classes), ordinal or mean (numbers), pooled (nobody named)
truth       what is known of the tasks in the data; gold, probs: files handed over
table       a consensus that came as a table, from which nobody's answers can be left out
seconds     a column of the answers; when: another
items       what the workers looked at, where a network can learn from it; labels: one each, to be checked
ds, glad    ... the fit of the aggregation method of that name
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from . import api, inputs
from .core import registry
from .core.answers import Answers
from .core.channels import Shares
from .core.consensus import Consensus, first_best
from .core.dataset import Dataset
from .core.errors import BadCall, BadInput, ManyVoicesError, Unknown
from .core.items import Items
from .core.scores import Scores, joined, one
from .learning import divided, labels_of
from .scoring import Asked, answers_of, named, settled

log = logging.getLogger("manyvoices")
TIMES = ("seconds", "when")
YARDSTICKS = ("truth", "gold", "table", "labels")


def identified(
    source: Dataset | Answers,
    methods: str | Callable | Asked | None = None,
    *,
    consensus: Any = None,
    gold: Any = None,
    probs: Any = None,
    truth: Any = None,
    labels: Any = None,
    **options: Any,
) -> Scores:
    """Scores of each method (those that apply and train no network, if none is named). Options go to the methods that have them.

    consensus is the name of an aggregation method (with options in brackets), a label table (path, frame, mapping), a folder that
    `aggregate` wrote, a Consensus, or an array of class codes [T] or probabilities [T, K]. labels takes what `train` takes.
    """
    answers = answers_of(source)
    known = Known(
        None if source is answers else source,  # type: ignore[arg-type]
        answers,
        {"consensus": consensus, "gold": gold, "probs": probs, "truth": truth, "labels": labels},
    )
    every: Asked = [(registry.about("identify", name), {}) for name in registry.names("identify")]
    if methods is None:
        runs = [run for run in settled(every, options) if not lacks(run[0], answers) and known.can(run[0])] or every[:1]
    else:
        runs = settled(named("identify", methods), options)
    if labels is not None and not any("labels" in about.data for about, _ in runs):
        takers = [about.name for about, _ in every if "labels" in about.data]
        raise BadCall(f"--labels is for {', '.join(takers)}; --consensus names what else is held to be true")
    found = [scored(about, given, answers, known) for about, given in runs]
    if len(runs) > 1:  # whose file it is
        for i, (about, _) in enumerate(runs):
            files = {f"{about.name}/{name}": file for name, file in found[i].files.items()}
            found[i] = replace(found[i], files=files)
    return joined(found)


def scored(about: registry.Method, given: dict[str, Any], answers: Answers, known: Known) -> Scores:
    if why := lacks(about, answers) or known.lacks(about):
        return one(about.name, why)
    if about.trains:
        own, training = divided(about, given, None)
        given = own | {"training": training}
    return registry.find("identify", about.name)(answers, **known.handed(about), **given)


def lacks(about: registry.Method, answers: Answers) -> str:
    """Why these answers have no such score, as far as its page says what it needs."""
    if answers.scale == "multilabel":
        return "not defined because one answer may hold several labels; ask about each label (--multilabel binary)"
    if "workers" in about.needs and answers.workers is None:
        return "not defined because these answers name nobody"
    if "classes" in about.needs and answers.scale == "interval":
        return "not defined because the labels are numbers"
    if "ordered" in about.needs and answers.scale == "nominal":
        return "not defined because the classes have no order (--scale ordinal or interval)"
    if "binary" in about.needs and len(answers.classes) > 2:
        return f"not defined because there are {len(answers.classes)} classes and not two"
    if answers.n == 0:
        return "not defined because there are no answers"
    return ""


class Known:
    """What methods ask for by name: looked up or fitted at the first call, then kept."""

    def __init__(self, data: Dataset | None, answers: Answers, given: dict[str, Any]):
        self.data, self.answers, self.given = data, answers, given
        self.made: dict[str, Any] = {}
        self.fits: dict[tuple, Consensus] = {}
        self.method: tuple[registry.Method, dict] | None = None  # of the consensus, where it is to be fitted
        for name in ("gold", "probs"):
            if given[name] is not None and answers.scale == "interval":
                log.info("%s is about classes and these labels are numbers: not used", name)
            elif given[name] is not None:
                self.made[name] = inputs.MAKERS[name](answers, given[name])
        self.made["truth"] = self.truth()
        if given["consensus"] is not None:
            self.read_consensus(given["consensus"])

    # what there is

    def can(self, about: registry.Method) -> bool:
        """Whether all it cannot do without is there, without training a network."""
        return not self.lacks(about) and (not about.trains or ("probs" in about.data and "probs" in self.made))

    def lacks(self, about: registry.Method) -> str:
        for name in TIMES:
            if name in about.required and self.times(name) is None:
                return f"not defined because there is no column {name!r} with the answers"
        if "items" in about.required and self.items() is None:
            return "not defined because the data set has no items to learn from (text, images, sound or features)"
        return ""

    def handed(self, about: registry.Method) -> dict[str, Any]:
        """The side inputs of a method. An optional consensus is handed over if somebody named one or nothing else is there."""
        found = {}
        wanted = [name for name in about.data if name != "answers"]
        asked = self.given["consensus"] is not None
        for name in wanted:
            if name == "consensus":
                continue
            if name in registry.names("aggregate"):
                if asked and "consensus" in wanted:
                    continue
                found[name] = self.fit(name)
            elif (value := self.side(name)) is not None:
                found[name] = value
            elif name in about.required:
                raise BadCall(f"{about.name} needs {name}: give {inputs.SIDES.get(name, name)}")
        if "consensus" in wanted and (
            asked
            or "consensus" in about.required
            or not any(name in found for name in (*YARDSTICKS, *registry.names("aggregate")))
        ):
            found["consensus"] = self.consensus()
        return found

    def side(self, name: str) -> Any:
        if name in TIMES:
            return self.times(name)
        if name == "items":
            return self.items()
        if name == "labels" and self.given["labels"] is not None and name not in self.made:
            self.made[name] = labels_of(self.given["labels"], self.items())
        return self.made.get(name)

    # consensus

    def consensus(self) -> Consensus:
        if "consensus" not in self.made:
            about, given = self.method or (registry.about("aggregate", usual(self.answers)), {})
            if self.method is None:
                log.info("consensus: %s (another: --consensus METHOD)", about.name)
            self.made["consensus"] = self.fitted(about, given)
        return self.made["consensus"]

    def fit(self, name: str) -> Consensus:
        """The fit of this method, with the options of --consensus if it names the same."""
        if self.method is not None and self.method[0].name == name:
            return self.consensus()
        return self.fitted(registry.about("aggregate", name), {})

    def fitted(self, about: registry.Method, given: dict[str, Any]) -> Consensus:
        key = (about.name, *sorted(given.items()))
        if key not in self.fits:
            api.check_needs(about, self.answers)
            given_too = {
                name: self.made[name] for name in ("gold", "probs") if name in about.data and name in self.made
            }
            if absent := [name for name in about.required if name != "answers" and name not in given_too]:
                raise BadCall(f"{about.name} needs {absent[0]}: give {inputs.SIDES[absent[0]]}")
            self.fits[key] = registry.find("aggregate", about.name)(self.answers, **given_too, **given)
        return self.fits[key]

    def read_consensus(self, given: Any) -> None:
        """A method to fit, a fit, or labels."""
        if isinstance(given, str):
            try:
                chosen = registry.parse("aggregate", given)
            except (Unknown, BadCall) as error:
                if not Path(given).exists():
                    raise type(error)(f"--consensus {given}: no such file, and {error}") from None
            else:
                if len(chosen) != 1:
                    raise BadCall(f"--consensus {given}: one method, please; it names {len(chosen)}")
                self.method = chosen[0]
                return
        if callable(given):
            self.method = (registry.about("aggregate", given.__name__), {})
            return
        if isinstance(given, (str, Path)) and Path(given).is_dir():
            given = inputs.earlier(self.answers, given)
        if isinstance(given, Consensus):
            if same_names(given, self.answers):
                self.made["consensus"] = given
                return
            given = by_name(given, self.answers)
        self.read_table(given)

    def read_table(self, given: Any) -> None:
        probs = label_rows(self.answers, given)
        self.made["table"] = probs
        held = ~np.isnan(probs).any(axis=1)
        filled = np.where(held[:, None], probs, 1 / max(probs.shape[1], 1))
        codes = np.where(held, first_best(filled), -1)
        self.made["consensus"] = Consensus.of(
            self.answers, probs=filled, chosen=codes, note="no label given", channel=Shares(filled)
        )

    # the data

    def truth(self) -> np.ndarray | None:
        """[T] codes; the number of classes for a truth nobody said, -1 where nothing is known."""
        given, answers = self.given["truth"], self.answers
        if given is not None:
            return inputs.gold_codes(answers, given)
        if self.data is None or self.data.items is None or answers.scale == "interval":
            return None
        if not len(known := self.data.items.truth) or not (known >= 0).any():
            return None
        said = self.data.items.truth_of(answers.tasks)
        code = {name: k for k, name in enumerate(answers.classes)}
        found = np.array([-1 if x is None else code.get(x, len(code)) for x in said], np.int64)
        return found if ((found >= 0) & (answers.per_task() > 0)).any() else None

    def items(self) -> Items | None:
        """The items, if there is anything in them."""
        items = None if self.data is None else self.data.items
        if items is None or (items.arrays is None and (items.table is None or not items.table.height)):
            return None
        return items

    def times(self, name: str) -> np.ndarray | None:
        """[rows] a column of times as numbers, NaN where there is none; None without such a column."""
        if name not in self.made:
            column = None if self.data is None else inputs.times(self.data, name)
            self.made[name] = None if column is None else ordered(self.answers, column)
        return self.made[name]


def usual(answers: Answers) -> str:
    if answers.scale == "interval":
        return "mean" if answers.workers is None else "ordinal"
    return "pooled" if answers.workers is None else "bcc"


def same_names(found: Consensus, answers: Answers) -> bool:
    return found.tasks == answers.tasks and found.classes == answers.classes and found.workers == answers.workers


def by_name(found: Consensus, answers: Answers) -> np.ndarray | dict[str, str | None]:
    """What a consensus about other answers says of these: probabilities where the classes are the same, else labels."""
    if found.probs is None:
        raise BadInput("the consensus is about numbers of other tasks", expected="one made from these answers")
    if list(found.classes) != list(answers.classes):
        return dict(zip(found.tasks, found.labels(), strict=True))
    at = found.tasks.code(answers.tasks, missing=-1)
    return np.where((at >= 0)[:, None], found.probs[at], np.nan)


def label_rows(answers: Answers, given: Any) -> np.ndarray:
    """[T, K] from a table with p: columns or labels, a mapping, or an array; NaN where it says nothing."""
    K = len(answers.classes)
    if answers.scale == "interval":
        raise BadInput("a table of labels cannot be the consensus of numbers", expected="--consensus mean or ordinal")
    if isinstance(given, np.ndarray) and given.ndim == 2:
        probs = np.asarray(given, float)
        if probs.shape != (len(answers.tasks), K):
            raise BadInput(f"probabilities of shape {probs.shape}", expected=f"({len(answers.tasks)}, {K})")
        return checked(answers, probs, None)
    if not isinstance(given, (np.ndarray, Mapping)):
        given, file = inputs.frame(given)
        if any(name.startswith("p:") for name in given.columns):
            probs, _ = inputs.prob_table(answers, given)
            return checked(answers, probs, file)
        if not len(given):
            raise BadInput("the table has no rows", file=file, expected="columns task and label")
    codes = (
        inputs.gold_codes(answers, given)
        if isinstance(given, np.ndarray)
        else inputs.label_codes(answers, given, "consensus")
    )
    return np.where((codes >= 0)[:, None], np.eye(K)[np.maximum(codes, 0)], np.nan)


def checked(answers: Answers, probs: np.ndarray, file: Path | None) -> np.ndarray:
    """Distributions where there is anything; at least one task with answers has something."""
    held = ~np.isnan(probs).any(axis=1)
    if not (held & (answers.per_task() > 0)).any():
        raise BadInput("no task of the consensus has answers", file=file, expected="the task ids of the answers")
    full = np.where(held[:, None], probs, 1 / max(probs.shape[1], 1))
    return np.where(held[:, None], inputs.distributions(answers, full, file), np.nan)


def ordered(answers: Answers, column: np.ndarray) -> np.ndarray:
    """The column with equal answers of a worker to a task in order of it, so that the order of the file cannot show."""
    from .methods.identify._rowwise import alike

    same = alike(answers)
    if len(same) != len(column):
        raise ManyVoicesError(f"{len(column)} times for {len(same)} answers")
    if not same.any():
        return column
    return column[np.lexsort((column, np.cumsum(~same)))]
