"""Workers with one table each: the E step and the sums of the Dawid-Skene family.

    logit[t, k] = log_prior[k] + sum over answers (w, l) of task t of log_tables[w, k, l]
    counts[w, k, l] = sum over answers l of w of P(truth of the task is k)

Two sparse products, which release the interpreter lock. What a method adds is how tables come from counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..core import channels
from ..core.answers import Answers, Shard
from ..core.consensus import Consensus
from ..core.errors import ManyVoicesError
from ..core.fold import by_task, by_worker, whole
from . import skills
from .em import check, iterate
from .rows import column_sums, entropy, log, normalise, softmax_logsum


@dataclass
class Tables:
    log_tables: np.ndarray = by_worker()  # [W, K, K], w k l
    log_prior: np.ndarray = whole()  # [K]
    penalty: float = whole(default=0.0)  # what the objective adds to the evidence
    gold: np.ndarray | None = by_task(default=None)  # [T] known classes, -1 = unknown


@dataclass
class Counts:
    counts: np.ndarray = by_worker()  # [W, K, K], in memory w l k
    prior: np.ndarray = whole()  # [K]
    evidence: float = whole()

    def __post_init__(
        self,
    ):  # what came from another process is laid out otherwise, and numpy adds in the order of memory
        self.counts = np.ascontiguousarray(self.counts.transpose(0, 2, 1)).transpose(0, 2, 1)


def posterior(shard: Shard, params: Tables) -> tuple[np.ndarray, np.ndarray]:
    """P(truth | answers of the block) [t, K] and the log-evidence of each task [t]."""
    workers, classes = params.log_tables.shape[:2]
    # a row an answer (w, l), columns k: no copy, since `expected` laid the counts out so and elementwise work keeps it
    table = params.log_tables.transpose(0, 2, 1).reshape(workers * classes, classes)
    logits = by_columns(shard.said, table) if classes <= FEW else shard.said @ table
    logits += params.log_prior
    clamp(logits, params.gold)
    return softmax_logsum(logits)


FEW = 5


def by_columns(said, table: np.ndarray) -> np.ndarray:
    """said @ table, column by column and laid out so: of few columns each is a fast product of its own (of two twice as fast
    as both at once), and what follows runs down columns instead of along short rows."""
    found = np.empty((said.shape[0], table.shape[1]), order="F")
    for k, column in enumerate(np.ascontiguousarray(table.T)):
        found[:, k] = said @ column
    return found


def clamp(logits: np.ndarray, gold: np.ndarray | None) -> None:
    """Leave a task whose truth is given no other class."""
    if gold is not None and len(known := np.flatnonzero(gold >= 0)):
        kept = logits[known, gold[known]]
        logits[known] = -np.inf
        logits[known, gold[known]] = kept


def expected(shard: Shard, probs: np.ndarray) -> np.ndarray:
    """counts[w, k, l] of the block's own workers."""
    by_answer = shard.said.T @ probs  # [w * K, K], rows (w, l), columns k
    return by_answer.reshape(len(shard.workers), shard.classes, shard.classes).transpose(0, 2, 1)


def step(shard: Shard, params: Tables) -> Counts:
    probs, evidence = posterior(shard, params)
    return sums(shard, probs, evidence)


def sums(shard: Shard, probs: np.ndarray, evidence: np.ndarray | None = None) -> Counts:
    """What the M step needs of beliefs [t, K]."""
    return Counts(
        expected(shard, probs),
        column_sums(shard.answered(probs)),
        0.0 if evidence is None else float(shard.answered(evidence).sum()),
    )


@dataclass
class Start:
    gold: np.ndarray | None = by_task(default=None)
    probs: np.ndarray | None = by_task(default=None)  # [T, K] beliefs to start from; None = vote shares


def beginning(shard: Shard, params: Start) -> np.ndarray:
    """Vote shares or given beliefs [t, K]; a task whose truth is given has that."""
    probs = normalise(shard.tally()) if params.probs is None else params.probs
    if params.gold is None:
        return probs
    return np.where((params.gold >= 0)[:, None], np.eye(shard.classes)[np.maximum(params.gold, 0)], probs)


def start(shard: Shard, params: Start) -> Counts:
    """The sums of the first M step."""
    return sums(shard, beginning(shard, params))


@dataclass
class Beliefs:
    probs: np.ndarray = by_task()


def beliefs(shard: Shard, params: Tables) -> Beliefs:
    return Beliefs(posterior(shard, params)[0])


def room(answers: Answers, tables: int | None = None, limit: float = 8e9) -> None:
    """Refuse tables [W, K, K] that will not fit before they are made."""
    classes = len(answers.classes)
    rows = len(answers.workers or ()) if tables is None else tables
    if (size := rows * classes * classes * 8 * 3.0) > limit:
        raise ManyVoicesError(
            f"one {classes} x {classes} table for each of {rows} workers needs about {size / 1e9:.0f} GB; "
            "use onecoin, wawa or mace, which need one row a worker"
        )


def free_tables(smoothing: float) -> Callable:
    """The M step of Dawid-Skene: every cell of every table free."""

    def update(sums: Counts, _) -> Tables:
        logs = log(normalise(sums.counts + smoothing))
        penalty = smoothing * float(logs.sum()) if smoothing else 0.0
        return Tables(logs, log(normalise(sums.prior)), penalty)

    return update


@dataclass
class Mixed(Counts):
    """The sums of methods whose bound needs the entropy of the beliefs."""

    entropy: float = whole(default=0.0)


def mixed(shard: Shard, params: Tables) -> Mixed:
    probs, evidence = posterior(shard, params)
    return Mixed(**vars(sums(shard, probs, evidence)), entropy=entropy(shard.answered(probs)))


def mixed_start(shard: Shard, params: Start) -> Mixed:
    probs = beginning(shard, params)
    return Mixed(**vars(sums(shard, probs)), entropy=entropy(shard.answered(probs)))


def plainly(params: Tables, sums: Counts) -> tuple[np.ndarray, np.ndarray]:
    """The tables and class shares a fit shows."""
    prior = np.exp(params.log_prior)
    return np.exp(params.log_tables), prior / prior.sum()


def fit(
    answers: Answers,
    update: Callable,
    *,
    gold: np.ndarray | None,
    holds: str,
    tol: float,
    iterations: int,
    monotone: bool = True,
    step: Callable = step,
    objective: Callable | None = None,
    beliefs_at_start: np.ndarray | None = None,
    resume: Callable | None = None,
    shown: Callable = plainly,
) -> Consensus:
    """From vote shares (or given beliefs) through EM to a consensus. `update(sums, params)` is what makes the method.

    Its first call has no params; gold labels are added to what it gives. `resume(params)` gives the tables of an earlier fit
    for one E step in the place of the votes; `shown(params, sums)` says which tables and class shares the result holds.
    """
    check(tol=tol, iterations=iterations)
    room(answers)

    def updated(sums: Counts, params: Tables | None) -> Tables:
        return replace(update(sums, params), gold=gold)

    params = updated(answers.fold(start, Start(gold, beliefs_at_start)), None)
    if resume is not None:
        params = updated(answers.fold(step, resume(params)), params)
    params, sums, trace, converged = iterate(
        answers,
        step,
        updated,
        params,
        tol=tol,
        iterations=iterations,
        holds=holds,
        monotone=monotone,
        objective=objective,
    )
    return believe(answers, params, *shown(params, sums), trace=trace, converged=converged)


def believe(
    answers: Answers, params: Tables, found: np.ndarray, prior: np.ndarray, *, note: str | list[str] = "", **more
) -> Consensus:
    """The consensus of fitted parameters that shows these tables [W, K, K] and class shares [K]."""
    probs = answers.fold(beliefs, params).probs
    usual = (prior * np.einsum("wkk->wk", found)).sum(axis=1)  # of a worker without answers
    channel = more.pop("channel", None) or channels.Tables(np.ascontiguousarray(found))
    skill = skills.of_beliefs(answers, probs, usual, note)
    return Consensus.of(answers, probs=probs, channel=channel, prior=prior, skill=skill, **more)
