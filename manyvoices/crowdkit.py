"""crowd-kit's aggregators by their own names: `from manyvoices.crowdkit import DawidSkene` in the place of
`from crowdkit.aggregation import DawidSkene`. Parameters, calls, results and the names in them are crowd-kit's.

What differs from crowd-kit 1.4.2, and why:

- Classes stand in sorted order, so a tie goes to the first of them; crowd-kit's order is sometimes that of the rows.
- DawidSkene, OneCoinDawidSkene and GLAD go on until what they maximise rises by less than `tol` an answer, and
  `loss_history_` holds it; crowd-kit's objective counts the class prior once an answer, can fall, and then ends the fit.
  After the same number of steps both models of Dawid and Skene are equal to crowd-kit's; GLAD is where both converged.
- MACE gives every restart numbers of its own, does not depend on the order of rows, works with logs and uses `smoothing`
  (with method="em"). KOS and MMSR start from ones: `random_state` has nothing to draw.
- A task without a winner is no error in KOS. A negative weight in a vote speaks for the other classes.
- A worker without gold tasks weighs like the average in GoldMajorityVote. DawidSkene refuses an `initial_error` that
  comes without a strategy, which crowd-kit ignores; GLAD refuses priors of its own. A repeated answer counts each time.
- `m_step_max_iter`, `m_step_tol`, `silent` and `verbose` are accepted and change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .api import aggregate
from .core.answers import Answers
from .core.channels import Tables
from .core.consensus import Consensus, first_best
from .core.errors import BadCall, BadInput
from .core.names import Names
from .core.registry import missing
from .kernels import votes
from .kernels.rows import normalise

try:
    import pandas as pd
except ModuleNotFoundError as error:
    raise missing("manyvoices.crowdkit", error) from error

__all__ = [
    "GLAD",
    "KOS",
    "MACE",
    "MMSR",
    "DawidSkene",
    "GoldMajorityVote",
    "MajorityVote",
    "OneCoinDawidSkene",
    "Wawa",
    "ZeroBasedSkill",
]
LEAST = 1e-10  # no answer is less probable


class Crowd:
    """The answers of a frame as codes of its tasks, workers and classes, each in sorted order."""

    def __init__(self, data: pd.DataFrame, gold: pd.Series | None = None):
        if not isinstance(data, pd.DataFrame):
            raise BadCall(f"expected a pandas DataFrame with columns task, worker, label; got {type(data).__name__}")
        if absent := [name for name in ("task", "worker", "label") if name not in data.columns]:
            found = ", ".join(map(str, data.columns))
            raise BadInput(f"no column {absent[0]!r}; found {found}", expected="columns task, worker, label")
        rows = data[["task", "worker", "label"]].dropna()
        self.task, self.tasks = pd.factorize(rows["task"], sort=True)
        self.worker, self.workers = pd.factorize(rows["worker"], sort=True)
        said = rows["label"]
        if gold is not None:  # a class may be true and said by nobody
            gold = gold[gold.index.isin(self.tasks)].dropna()
            said = pd.concat([said, gold.astype(said.dtype)])
        label, self.classes = pd.factorize(said, sort=True)
        self.label, self.gold = label[: len(rows)], np.full(len(self.tasks), -1)
        if gold is not None:
            self.gold[self.tasks.get_indexer(gold.index)] = label[len(rows) :]
        tasks, workers, classes = (Names.numbered(len(names)) for names in (self.tasks, self.workers, self.classes))
        self.answers = Answers.from_codes(
            self.task, self.worker, self.label, tasks=tasks, workers=workers, classes=classes
        )

    def vote(self, weight: np.ndarray) -> votes.Votes:
        return self.answers.fold(votes.step, votes.Weights(weight))

    def by_task(self, seen: bool) -> np.ndarray:
        """Tasks in the order of the rows, or sorted."""
        return pd.unique(self.task) if seen else np.arange(len(self.tasks))

    def of_workers(self, values: np.ndarray, name: str, seen: bool = True) -> pd.Series:
        at = pd.unique(self.worker) if seen else np.arange(len(self.workers))
        return pd.Series(values[at], self.workers[at].rename("worker"), name=name)

    def said(self, probs: np.ndarray) -> pd.DataFrame:
        """Beliefs [T, K] summed over the tasks each worker gave a label to: a row (worker, label), a column a class."""
        keys = [self.workers[self.worker].rename("worker"), self.classes[self.label].rename("label")]
        return pd.DataFrame(probs[self.task], columns=self.classes).groupby(keys, sort=False).sum()


@dataclass(eq=False)
class Aggregator:
    """`fit`, then read what ends in an underscore."""

    _method: ClassVar[str]
    _options: ClassVar[tuple[str, ...]] = ()  # parameters the method knows by crowd-kit's names
    _seen: ClassVar[bool] = False  # tasks in the order of the rows
    _columns: ClassVar[str | None] = "label"

    def fit(self, data: pd.DataFrame):
        return self._fit(Crowd(data))

    def fit_predict(self, data: pd.DataFrame, *args: Any, **kwargs: Any) -> pd.Series:
        return self.fit(data, *args, **kwargs).labels_

    def _fit(self, crowd: Crowd, **more: Any):
        if not len(crowd.task):
            self.labels_, self.probas_ = pd.Series(dtype=object, name="agg_label"), pd.DataFrame()
            return self
        self._keep(
            crowd, aggregate(crowd.answers, self._method, **{n: getattr(self, n) for n in self._options}, **more)
        )
        return self

    def _keep(self, crowd: Crowd, found: Consensus) -> None:
        self._show(crowd, found.probs)

    def _show(self, crowd: Crowd, probs: np.ndarray, seen: bool | None = None) -> None:
        at = crowd.by_task(self._seen if seen is None else seen)
        index = crowd.tasks[at].rename("task")
        self.probas_ = pd.DataFrame(probs[at], index, crowd.classes.rename(self._columns))
        self.labels_ = pd.Series(crowd.classes[first_best(probs)[at]], index, name="agg_label")


class Proba(Aggregator):
    def fit_predict_proba(self, data: pd.DataFrame, *args: Any, **kwargs: Any) -> pd.DataFrame:
        return self.fit(data, *args, **kwargs).probas_


@dataclass(eq=False)
class MajorityVote(Proba):
    default_skill: float | None = None
    on_missing_skill: str = "error"

    def fit(self, data: pd.DataFrame, skills: pd.Series | None = None):
        crowd = Crowd(data)
        if skills is None:
            return self._weigh(crowd, np.ones(len(crowd.workers)), seen=True)
        if self.on_missing_skill not in ("error", "ignore", "value"):
            raise BadCall(f"on_missing_skill is {self.on_missing_skill!r}; expected error, ignore or value")
        if (self.on_missing_skill == "value") != (self.default_skill is not None):
            raise BadCall(f"on_missing_skill='value' and default_skill go together; got {self!r}")
        if self.on_missing_skill == "ignore":
            known = Crowd(data[data["worker"].isin(skills.dropna().index)])
            if lost := len(crowd.tasks) - len(known.tasks):
                raise BadInput(f"{lost} tasks have no worker with a skill", expected="one or more a task")
            crowd = known
        return self._weigh(crowd, weights(crowd, skills, self.default_skill))

    def _weigh(self, crowd: Crowd, weight: np.ndarray, seen: bool = False):
        found = crowd.vote(weight)
        self._show(crowd, found.probs, seen)
        self.skills_ = crowd.of_workers(found.right / found.n, "skill", seen=False)
        return self


def weights(crowd: Crowd, skills: pd.Series, default: float | None = None) -> np.ndarray:
    """[W] what each worker's vote weighs."""
    found = skills.reindex(crowd.workers).to_numpy(float, na_value=np.nan)
    lacking = np.flatnonzero(np.isnan(found))
    if len(lacking) and default is None:
        who = crowd.workers[lacking[0]]
        raise BadInput(f"worker {who!r} has no skill ({len(lacking)} such workers)", expected="a skill for each")
    return np.where(np.isnan(found), default or 0.0, found)


class Weighted(Aggregator):
    """Skills are learnt from some answers; a vote weighted by them decides about these or others."""

    def _keep(self, crowd, found):
        self.skills_ = crowd.of_workers(np.array(found.skill.value), "skill", seen=False)

    def predict(self, data: pd.DataFrame) -> pd.Series:
        if not hasattr(self, "skills_"):
            raise BadCall(f"this {type(self).__name__} is not fitted: call fit first")
        crowd = Crowd(data)
        self._show(crowd, crowd.vote(weights(crowd, self.skills_)).probs)
        return self.labels_

    def predict_proba(self, data: pd.DataFrame) -> pd.DataFrame:
        self.predict(data)
        return self.probas_

    def fit_predict(self, data: pd.DataFrame, *args: Any, **kwargs: Any) -> pd.Series:
        return self.fit(data, *args, **kwargs).predict(data)

    def fit_predict_proba(self, data: pd.DataFrame, *args: Any, **kwargs: Any) -> pd.DataFrame:
        return self.fit(data, *args, **kwargs).predict_proba(data)


class Wawa(Weighted):
    _method = "wawa"


@dataclass(eq=False)
class ZeroBasedSkill(Weighted):
    n_iter: int = 100
    lr_init: float = 1.0
    lr_steps_to_reduce: int = 20
    lr_reduce_factor: float = 0.5
    eps: float = 1e-5
    _method, _options = "zbs", ("n_iter", "lr_init", "lr_steps_to_reduce", "lr_reduce_factor", "eps")


class GoldMajorityVote(Weighted):
    _method = "goldmv"

    def fit(self, data: pd.DataFrame, true_labels: pd.Series):  # type: ignore[override]
        crowd = Crowd(data, true_labels)
        return self._fit(crowd, gold=crowd.gold)


@dataclass(eq=False)
class MMSR(Weighted):
    n_iter: int = 10_000
    tol: float = 1e-10
    random_state: int | None = 0
    _method, _options = "mmsr", ("n_iter", "tol")

    def _keep(self, crowd, found):
        odds = found.channel.right * (len(crowd.classes) - 1) / (1 - found.channel.right)
        self.skills_ = crowd.of_workers(np.log(odds), "skill")
        self.loss_history_ = list(found.trace.values)

    @property
    def scores_(self) -> pd.DataFrame:
        return self.probas_

    predict_score, fit_predict_score = Weighted.predict_proba, Weighted.fit_predict_proba


@dataclass(eq=False)
class KOS(Aggregator):
    n_iter: int = 100
    random_state: int = 0
    _method, _options = "kos", ("n_iter",)

    def fit(self, data: pd.DataFrame):
        crowd = Crowd(data)
        if len(crowd.classes) > 2:
            raise BadInput(f"KOS tells two classes apart, and there are {len(crowd.classes)}", expected="two labels")
        return self._fit(crowd)


@dataclass(eq=False)
class MACE(Proba):
    n_restarts: int = 10
    n_iter: int = 50
    method: str = "vb"
    smoothing: float = 0.01
    default_noise: float = 0.5
    alpha: float = 0.5
    beta: float = 0.5
    random_state: int = 0
    verbose: int = 0
    _method, _seen, _columns = "mace", True, None
    _options = ("n_restarts", "n_iter", "smoothing", "alpha", "beta", "random_state")

    def _fit(self, crowd, **more):
        return super()._fit(crowd, fit=self.method, noise=1 + self.default_noise, tol=0, **more)

    def _keep(self, crowd, found):
        super()._keep(crowd, found)
        seen = pd.unique(crowd.worker)
        self.spamming_ = np.stack([1 - found.channel.knows, found.channel.knows], axis=1)[seen]
        self.thetas_ = np.array(found.channel.habit)[seen]


@dataclass(eq=False)
class Steps(Proba):
    """Models fitted by EM. `tol` is about an answer here, about a task in our methods."""

    n_iter: int = 100
    tol: float = 1e-5

    def _fit(self, crowd, **more):
        tol = self.tol * len(crowd.task) / max(len(crowd.tasks), 1)
        return super()._fit(crowd, **({"iterations": self.n_iter, "tol": tol} | more))

    def _keep(self, crowd, found):
        super()._keep(crowd, found)
        self.loss_history_ = [value / len(crowd.task) for value in found.trace.values]


@dataclass(eq=False)
class GLAD(Steps):
    silent: bool = True
    labels_priors: pd.Series | None = None
    alphas_priors_mean: pd.Series | None = None
    betas_priors_mean: pd.Series | None = None
    m_step_max_iter: int = 25
    m_step_tol: float = 1e-2
    _method, _columns = "glad", "variable"

    def fit(self, data: pd.DataFrame):
        for name in ("labels_priors", "alphas_priors_mean", "betas_priors_mean"):
            if getattr(self, name) is not None:
                raise BadCall(f"GLAD has fixed priors here: leave {name} out, or use crowd-kit's")
        return super().fit(data)

    def _keep(self, crowd, found):
        super()._keep(crowd, found)
        at = crowd.by_task(seen=True)
        self.alphas_ = crowd.of_workers(np.array(found.channel.ability), "alpha")
        self.betas_ = pd.Series(found.channel.ease[at], crowd.tasks[at].rename("task"), name="beta")


@dataclass(eq=False)
class DawidSkene(Steps):
    initial_error_strategy: str | None = None
    _method, _seen = "ds", True

    def fit(self, data: pd.DataFrame, true_labels: pd.Series | None = None, initial_error: pd.DataFrame | None = None):
        crowd = Crowd(data, true_labels)
        more: dict[str, Any] = {} if true_labels is None else {"gold": crowd.gold}
        if initial_error is not None:
            more |= {"start": self._begin(crowd, initial_error), "iterations": max(self.n_iter - 1, 1)}
        return self._fit(crowd, **more)

    def _fit(self, crowd, **more):
        return super()._fit(crowd, smoothing=LEAST, **more)

    def _keep(self, crowd, found):
        super()._keep(crowd, found)
        self.priors_ = self.probas_.mean().rename("prior")
        self.errors_ = self._errors(crowd, found.probs)

    def _errors(self, crowd, probs) -> pd.DataFrame:
        """P(worker says label | truth is column), from final beliefs."""
        return shares(crowd.said(probs))

    def _begin(self, crowd: Crowd, given: pd.DataFrame) -> Consensus:
        """The votes with the tables to start from, as a result that `ds` goes on from."""
        kept = crowd.gold >= 0
        probs = normalise(crowd.answers.counts())
        probs[kept] = np.eye(len(crowd.classes))[crowd.gold[kept]]
        said = crowd.said(probs)
        if given.index.names != said.index.names:
            raise BadInput(f"initial_error has the index {given.index.names}", expected="['worker', 'label']")
        if self.initial_error_strategy == "assign":
            if len(absent := said.index.difference(given.index)):
                raise BadInput(f"initial_error has no row {absent[0]}", expected="every label a worker gave")
            if (given <= 1).all(axis=None) and not np.allclose(given.groupby("worker").sum(), 1):
                raise BadInput("initial_error has columns that do not sum to 1", expected="1 a worker, or counts")
        elif self.initial_error_strategy == "addition":
            given = said.add(given, fill_value=0)
        else:
            strategy = self.initial_error_strategy
            raise BadCall(f"initial_error_strategy is {strategy!r}; expected 'assign' or 'addition' with initial_error")
        every = pd.MultiIndex.from_product([crowd.workers, crowd.classes])
        tables = given.reindex(index=every, columns=crowd.classes, fill_value=0.0).to_numpy(float)  # [W * L, K]
        width, answers = len(crowd.classes), crowd.answers
        channel = Tables(normalise(np.maximum(tables.reshape(-1, width, width).transpose(0, 2, 1), LEAST)))
        return Consensus.of(answers, probs=probs, channel=channel, prior=probs.mean(axis=0))


def shares(said: pd.DataFrame) -> pd.DataFrame:
    said = said.clip(lower=LEAST)
    return said / said.groupby("worker", sort=False).sum()


@dataclass(eq=False)
class OneCoinDawidSkene(DawidSkene):
    _method = "onecoin"

    def fit(self, data: pd.DataFrame):  # type: ignore[override]
        return self._fit(Crowd(data))

    def _errors(self, crowd, probs):
        hits = np.bincount(crowd.worker, probs[crowd.task, crowd.label], len(crowd.workers))
        self.skills_ = crowd.of_workers(hits / np.bincount(crowd.worker), "skill")
        errors = crowd.said(probs)
        right = self.skills_.reindex(errors.index.get_level_values("worker")).to_numpy()[:, None]
        own = errors.index.get_level_values("label").to_numpy()[:, None] == crowd.classes.to_numpy()
        errors[:] = np.where(own, right, (1 - right) / max(len(crowd.classes) - 1, 1)).clip(LEAST, 1 - LEAST)
        return errors
