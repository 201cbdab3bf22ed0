"""Pl@ntNet: a vote weighted by how many classes a worker has identified, valid above two thresholds.

    n[w]      = distinct classes of valid tasks w is the author of and labelled like the outcome
                + round(0.1 * further distinct classes in which w voted for the outcome)
    weight[w] = n[w]^alpha - n[w]^beta + log 2.1
    conf[t]   = weight behind the winner; accuracy[t] = conf[t] / weight behind all
    a task is valid if conf > theta_conf and accuracy > theta_acc; others get no label

Authors come from a column `author` of the answers or items; without one nobody is an author. A machine's votes (those of
the worker called `ai_worker`) are treated by `ai_policy`: ignored, a worker like others, fixed (weight `ai_weight`),
invalidating (its weight can only push the accuracy below its threshold) or confident (fixed, where its `score` is high enough).

Family: votes
Needs: workers
Reference: Lefort, Affouard, Charlier, Lombardo, Chouet, Goeau, Salmon, Bonnet, Joly (2024), arXiv:2406.03356.
Also: PlantNet, pl_ant_net; ai_policy=AI; ai_weight=AIweight; ai_threshold=threshold_scores; iterations=maxiter; tol=epsilon
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...core.answers import Answers, Shard
from ...core.channels import Coins
from ...core.consensus import Consensus, first_best
from ...core.errors import BadCall, Unknown
from ...core.fold import by_task, by_worker, whole
from ...kernels import skills
from ...kernels.em import check, finite
from ...kernels.rows import normalise


@dataclass
class Params:
    weight: np.ndarray = by_worker()  # [W] of people; 0 for the machine unless it is one of them
    person: np.ndarray = by_worker()  # [W]
    machine: np.ndarray = by_worker()  # [W] its weight in the vote
    score: np.ndarray | None = by_task(default=None)  # [T] how sure the machine was
    author: np.ndarray | None = by_task(default=None)  # [T] worker code of the author
    policy: str = whole(default="ignored")
    threshold: float = whole(default=0.7)
    theta_conf: float = whole(default=2.0)
    theta_acc: float = whole(default=0.7)
    first: np.ndarray | None = by_task(default=None)  # [T] the first outcome, where everything is judged by it


@dataclass
class Round:
    probs: np.ndarray = by_task()  # [T, K] weighted shares
    winner: np.ndarray = by_task()  # [T]
    valid: np.ndarray = by_task()  # [T]
    authored: np.ndarray = by_worker()  # [W, K] bool: adding is "or"
    voted: np.ndarray = by_worker()  # [W, K] bool
    right: np.ndarray = by_worker()  # [W]


def step(shard: Shard, params: Params) -> Round:
    people = shard.tally(shard.of_worker(params.weight))
    machine = shard.tally(shard.of_worker(params.machine))
    if params.policy == "confident" and params.score is not None:
        machine *= (params.score >= params.threshold)[:, None]  # a missing score is NaN and never high enough
    votes = people if params.policy == "invalidating" else people + machine
    winner = first_best(votes)
    judged = winner if params.first is None else params.first
    rows = np.arange(shard.size)
    confidence, total = votes[rows, judged], votes.sum(axis=1)
    accuracy = confidence / np.maximum(total, 1e-300)
    if params.policy == "invalidating":
        doubted = confidence / np.maximum(total + machine.sum(axis=1), 1e-300)
        accuracy = np.where(doubted < params.theta_acc, doubted, accuracy)
    valid = (confidence > params.theta_conf) & (accuracy > params.theta_acc)
    agrees = (shard.label == shard.of_task(judged)) & shard.of_worker(params.person)
    author = (
        np.zeros(len(agrees), bool)
        if params.author is None
        else shard.workers[shard.worker] == shard.of_task(params.author)
    )
    return Round(
        normalise(np.maximum(votes, 0)),
        winner,
        valid,
        habit(shard, agrees & author & shard.of_task(valid)),
        habit(shard, agrees),
        shard.per_worker(agrees.astype(float)),
    )


def habit(shard: Shard, mask: np.ndarray) -> np.ndarray:
    """[w, K] whether a worker has an answer of this class under the mask."""
    found = np.zeros(len(shard.workers) * shard.classes, bool)
    found[shard.said.indices[mask]] = True
    return found.reshape(-1, shard.classes)


def plantnet(
    answers: Answers,
    *,
    alpha: float = 0.5,
    beta: float = 0.2,
    theta_conf: float = 2.0,
    theta_acc: float = 0.7,
    ai_worker: str = "AI",
    ai_policy: Literal["ignored", "worker", "fixed", "invalidating", "confident"] = "ignored",
    ai_weight: float = 1.0,
    ai_threshold: float = 0.7,
    output_unvalidated: bool = False,
    compat: bool = False,
    iterations: int = 100,
    tol: float = 1e-5,
    score: np.ndarray | None = None,
    author: np.ndarray | None = None,
) -> Consensus:
    """Vote, see who identified how many classes, vote again, until the counts stand still.

    Parameters
    ----------
    alpha
        Power of the number of classes that raises a weight.
    beta
        Power of the number of classes that lowers it.
    theta_conf
        A task needs more weight than this behind its label.
    theta_acc
        A task needs a larger share of the weight than this behind its label.
    ai_worker
        Name of the worker that is a machine.
    ai_policy
        What its votes are worth: ignored, worker, fixed, invalidating or confident.
    ai_weight
        Its weight under fixed, invalidating and confident.
    ai_threshold
        The least score that counts under confident.
    output_unvalidated
        Keep the label of tasks that are not valid.
    compat
        Judge confidence and class counts by the first outcome in every round, as the published code does.
    iterations
        Rounds at most.
    tol
        Stop when the class counts change by less than this a task.
    """
    check(tol=tol, iterations=iterations)
    finite(
        alpha=alpha,
        beta=beta,
        theta_conf=theta_conf,
        theta_acc=theta_acc,
        ai_weight=ai_weight,
        ai_threshold=ai_threshold,
    )
    is_machine = np.array([name == ai_worker for name in answers.workers], bool)
    if ai_worker != "AI" and not is_machine.any():  # by default there need not be one
        raise Unknown.name("worker", ai_worker, answers.workers)
    if ai_policy == "confident" and is_machine.any() and score is None:
        raise BadCall("ai_policy confident needs the machine's score of each task: a column `score` in the answers")
    as_people = ai_policy == "worker"
    machine = np.where(is_machine & (not as_people), 0.0 if ai_policy == "ignored" else ai_weight, 0.0)
    person = ~is_machine | as_people
    base = Params(
        np.where(person, np.log(2.1), 0.0),
        person,
        machine,
        score,
        author,
        ai_policy,
        ai_threshold,
        theta_conf,
        theta_acc,
    )
    found = answers.fold(step, base)
    first, converged, held = found.winner if compat else None, False, int((answers.per_task() > 0).sum())
    known = classes_known(found)
    for turn in range(iterations):
        weight = np.where(person, known**alpha - known**beta + np.log(2.1), 0.0)
        found = answers.fold(
            step, Params(weight, person, machine, score, author, ai_policy, ai_threshold, theta_conf, theta_acc, first)
        )
        before, known = known, classes_known(found)
        if np.abs(known - before).sum() <= tol * max(held, 1) and turn > 5:
            converged = True
            break
    chosen = found.winner if output_unvalidated else np.where(found.valid, found.winner, -1)
    skill = found.right / np.maximum(answers.per_worker(), 1)
    return Consensus.of(
        answers,
        probs=found.probs,
        chosen=chosen,
        note="not enough weight behind one class",
        channel=Coins(skill),
        skill=skills.of_shares(answers, skill, note="share of answers that equal the outcome"),
        converged=converged,
    )


def classes_known(found: Round) -> np.ndarray:
    return found.authored.sum(axis=1) + np.round(0.1 * (found.voted & ~found.authored).sum(axis=1))
