"""Consensus: what an aggregation believes about every task and, where it models them, about workers and tasks' difficulty."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .answers import Answers
from .channels import KINDS, Channel, Shares, arrays
from .names import Names
from .scores import Scores

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Trace:
    """What a fit went through: one value a step, of the quantity named in `holds`. A monotone one never falls."""

    values: tuple[float, ...]
    holds: str
    monotone: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Consensus:
    """T tasks, K classes. On an interval scale `probs` is None and `value` (with `low`, `high`) takes its place."""

    tasks: Names
    classes: Names
    workers: Names | None
    n: np.ndarray  # [T] answers of each task
    probs: np.ndarray | None  # [T, K]
    channel: Channel
    scale: str = "nominal"
    chosen: np.ndarray | None = None  # [T] codes where they are not the most probable ones; -1 = no label
    note: str = ""  # why a task has no label
    value: np.ndarray | None = None  # [T]
    low: np.ndarray | None = None  # [T]
    high: np.ndarray | None = None  # [T]
    prior: np.ndarray | None = None  # [K]
    skill: Scores | None = None
    difficulty: Scores | None = None
    trace: Trace | None = None
    converged: bool | None = None  # None: nothing to converge

    def __post_init__(self):
        for array in (self.n, self.probs, self.chosen, self.value, self.low, self.high, self.prior):
            if array is not None:
                array.setflags(write=False)

    @classmethod
    def of(cls, answers: Answers, **found: Any) -> Consensus:
        """A result about these answers."""
        n = answers.per_task()
        if "channel" not in found:
            votes = answers.counts()
            votes += 1 / max(len(answers.classes), 1)
            votes /= votes.sum(axis=1, keepdims=True)
            found["channel"] = Shares(votes)
        elif hasattr(found["channel"], "known") and not (busy := answers.per_worker() > 0).all():
            found["channel"] = replace(found["channel"], known=busy)
        return cls(
            tasks=answers.tasks, classes=answers.classes, workers=answers.workers, scale=answers.scale, n=n, **found
        )

    @property
    def confusions(self) -> np.ndarray | None:
        """[W, K, K]: P(worker w says l | truth k), where the method has one table a worker."""
        return self.channel.confusions(len(self.classes))

    @property
    def codes(self) -> np.ndarray:
        """[T] class codes, ties to the first class; -1 = no label."""
        if self.chosen is not None:
            return self.chosen
        assert self.probs is not None
        return first_best(self.probs)

    def labels(self) -> list[str | None]:
        names = self.classes.to_list()
        return [None if code < 0 else names[code] for code in self.codes]

    def says(self, task: np.ndarray, worker: np.ndarray) -> np.ndarray:
        """P(worker answers l about the task) for n pairs of codes: [n, K]. Worker -1 is one nobody has seen."""
        probs = None if self.probs is None else self.probs[task]
        said = self.channel.says(probs, np.asarray(task), np.asarray(worker))  # type: ignore[arg-type]
        if self.probs is None:
            return said
        total = said.sum(axis=1, keepdims=True)
        return np.where(total > 0, said / np.where(total > 0, total, 1), 1 / max(said.shape[1], 1))

    def table(
        self,
        *,
        soft: bool = False,
        ties: str = "lowest",
        seed: int = 0,
        min_prob: float | None = None,
        answered: bool = True,
    ) -> pl.DataFrame:
        """The label table of contract.md: task, label, prob, n (or task, value, low, high, n)."""
        from .labels import label_table

        return label_table(self, soft=soft, ties=ties, seed=seed, min_prob=min_prob, answered=answered)

    def to_polars(self) -> pl.DataFrame:
        return self.table(soft=True)

    def to_pandas(self):
        return self.table(soft=True).to_pandas()

    def save(self, path: str | Path) -> Path:
        """Into a folder: `model.safetensors` with every array, names among them, and what else there is as its header."""
        from .files import put

        return put(Path(path) / "model.safetensors", self.dump)

    def dump(self, file: Path) -> None:
        """The same into a file of any name."""
        from safetensors.numpy import save_file

        held = {f"channel.{name}": array for name, array in arrays(self.channel).items()}
        for name in ("n", "probs", "chosen", "value", "low", "high", "prior"):
            if (array := getattr(self, name)) is not None:
                held[name] = array
        for name in ("tasks", "classes", "workers"):
            if (names := getattr(self, name)) is not None:
                held[f"{name}.data"] = np.frombuffer(names.data, np.uint8)
                held[f"{name}.offsets"] = names.offsets
        about: dict[str, Any] = {
            "channel": type(self.channel).__name__,
            "scale": self.scale,
            "note": self.note,
            "converged": self.converged,
        }
        if self.trace:
            about["trace"] = {
                "values": list(self.trace.values),
                "holds": self.trace.holds,
                "monotone": self.trace.monotone,
            }
        for name in ("skill", "difficulty"):
            if (scores := getattr(self, name)) is not None:
                about[name] = {
                    "score": scores.score,
                    "note": scores.note if isinstance(scores.note, str) else list(scores.note),
                }
                for column in ("value", "low", "high", "n"):
                    if (array := getattr(scores, column)) is not None:
                        held[f"{name}.{column}"] = array

        save_file(
            {key: np.ascontiguousarray(array) for key, array in held.items()}, file, {"consensus": json.dumps(about)}
        )

    @classmethod
    def load(cls, path: str | Path) -> Consensus:
        from safetensors import safe_open

        with safe_open(Path(path) / "model.safetensors", "numpy") as file:
            about = json.loads(file.metadata()["consensus"])
            held = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)

        def names(key: str) -> Names | None:
            if f"{key}.offsets" not in held:
                return None
            made = Names.__new__(Names)
            made.__setstate__((held[f"{key}.data"].tobytes(), held[f"{key}.offsets"]))
            return made

        tasks, workers, classes = names("tasks"), names("workers"), names("classes")
        assert tasks is not None and classes is not None

        def scores(key: str, of: str, who: Names | None) -> Scores | None:
            if key not in about or who is None:
                return None
            columns = {c: held.get(f"{key}.{c}") for c in ("value", "low", "high", "n")}
            return Scores(about[key]["score"], of, who, note=about[key]["note"], **columns)  # type: ignore[arg-type]

        kind = KINDS[about["channel"]]
        channel = kind(**{key.split(".", 1)[1]: array for key, array in held.items() if key.startswith("channel.")})
        trace = (
            Trace(tuple(about["trace"]["values"]), about["trace"]["holds"], about["trace"]["monotone"])
            if "trace" in about
            else None
        )
        return cls(
            tasks=tasks,
            classes=classes,
            workers=workers,
            channel=channel,
            scale=about["scale"],
            note=about["note"],
            converged=about["converged"],
            trace=trace,
            skill=scores("skill", "worker", workers),
            difficulty=scores("difficulty", "task", tasks),
            **{name: held.get(name) for name in ("n", "probs", "chosen", "value", "low", "high", "prior")},
        )  # type: ignore[arg-type]

    def __str__(self) -> str:
        from .labels import summary

        return summary(self)


def first_best(probs: np.ndarray) -> np.ndarray:
    """The first class within rounding of the best: sums of weights that are equal on paper must not be told apart by noise."""
    if probs.shape[1] == 0:
        return np.full(len(probs), -1)
    best = probs[:, 0].copy()
    for column in probs.T[1:]:
        np.maximum(best, column, out=best)
    best -= 1e-9
    codes = np.zeros(len(probs), np.int64)
    for k in range(probs.shape[1] - 1, -1, -1):
        codes[probs[:, k] >= best] = k
    return codes
