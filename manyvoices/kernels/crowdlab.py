"""CROWDLAB's arithmetic: how much a classifier and each worker are worth against a consensus, and their mixture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.answers import Answers, Shard
from ..core.channels import Coins
from ..core.consensus import Consensus, first_best
from ..core.fold import by_task, by_worker, whole
from .em import at_least_one
from .skills import of_shares


@dataclass
class Believed:
    consensus: np.ndarray = by_task()  # [T]


@dataclass
class Agreement:
    agreed: np.ndarray = by_worker()  # [W] others' answers to w's tasks that equal w's
    met: np.ndarray = by_worker()  # [W] others' answers to w's tasks
    right: np.ndarray = by_worker()  # [W] answers of w equal to the consensus, on tasks with several
    several: np.ndarray = by_worker()  # [W] answers of w on tasks with several
    share: float = whole()  # sum over such tasks of the share that agrees with the consensus


def agree(shard: Shard, params: Believed) -> Agreement:
    votes, effort = shard.tally(), shard.per_task()
    multi = effort > 1
    same = shard.of_task(params.consensus) == shard.label
    held = shard.of_task(multi)
    behind = votes[np.arange(shard.size), params.consensus]
    return Agreement(
        shard.per_worker(shard.at(votes) - own(shard, shard.label)),
        shard.per_worker(shard.of_task(effort) - own(shard)),
        shard.per_worker((held & same).astype(float)),
        shard.per_worker(held.astype(float)),
        float((behind[multi] / effort[multi]).sum()),
    )


def own(shard: Shard, *alike: np.ndarray) -> np.ndarray:
    """[n] how many answers the worker of each answer gave to its task, itself included; with labels, how many like it."""
    changes = np.zeros(max(len(shard.worker) - 1, 0), bool)
    for column in (shard.task, shard.worker, *alike):  # rows are sorted by them
        changes |= column[1:] != column[:-1]
    run = np.concatenate([[0], np.cumsum(changes)])[: len(shard.worker)]
    return np.bincount(run, shard.weighted(None))[run] if len(run) else np.zeros(0)


@dataclass
class Parts:
    weight: np.ndarray = by_worker()  # [W]
    probs: np.ndarray = by_task()  # [T, K] of the classifier
    model: float = whole()  # its weight
    hit: float = whole()  # P


@dataclass
class Mixed:
    probs: np.ndarray = by_task()


def mix(shard: Shard, params: Parts) -> Mixed:
    voted = shard.tally(shard.of_worker(params.weight))
    total = voted.sum(axis=1, keepdims=True)
    miss = (1 - params.hit) / max(shard.classes - 1, 1)
    return Mixed((params.model * params.probs + voted * (params.hit - miss) + total * miss) / (params.model + total))


@dataclass
class Told:
    quality: np.ndarray = by_worker()  # [W] sum over w's answers of what the mixture gives them


def told(shard: Shard, params: Mixed) -> Told:
    return Told(shard.per_worker(shard.at(params.probs)))


def fit(answers: Answers, probs: np.ndarray, rounds: int) -> Consensus:
    """Weigh the classifier and the workers against a consensus, then mix them."""
    at_least_one(rounds=rounds)
    votes = answers.counts()
    consensus = majority(votes, probs)
    for _ in range(rounds):
        found, weight, model, hit, omega = weigh(answers, votes, probs, consensus)
        mixed = answers.fold(mix, Parts(weight, probs, model, hit)).probs
        consensus = first_best(mixed)
    n = answers.per_worker()
    quality = answers.fold(told, Mixed(mixed)).quality / np.maximum(n, 1)
    agreement = np.where(found.several > 0, found.right / np.maximum(found.several, 1), quality)
    skill = omega * quality + (1 - omega) * agreement
    return Consensus.of(
        answers,
        probs=mixed,
        channel=Coins(np.clip(skill, 0, 1)),
        skill=of_shares(
            answers,
            skill,
            note="annotator quality: agreement with the others and the classifier, not the share of right answers",
        ),
    )


def majority(votes: np.ndarray, probs: np.ndarray) -> np.ndarray:
    """Ties go to the class the classifier prefers, then to the rarer one."""
    best = votes >= votes.max(axis=1, keepdims=True) - 1e-9
    liked = np.where(best, probs, -1)
    best &= liked >= liked.max(axis=1, keepdims=True)
    return np.where(best, -votes.sum(axis=0), -np.inf).argmax(axis=1)


def weigh(answers: Answers, votes: np.ndarray, probs: np.ndarray, consensus: np.ndarray):
    """How much each worker and the classifier are worth against this consensus."""
    found = answers.fold(agree, Believed(consensus))
    effort, classes = votes.sum(axis=1), votes.shape[1]
    multi = effort > 1
    tasks = max(int(multi.sum()), 1)
    hit = found.share / tasks if multi.any() else 1 / classes
    common = np.bincount(consensus[multi], minlength=classes).argmax()
    chance = max(float((consensus[multi] != common).mean()) if multi.any() else 0.0, 1e-6)
    known = found.met > 0
    agreed = found.agreed / np.maximum(found.met, 1)
    agreed = np.where(known, agreed, agreed[known].mean() if known.any() else hit)
    weight = np.maximum(1 - (1 - agreed) / chance, 1e-6)
    error = float((first_best(probs)[multi] != consensus[multi]).mean()) if multi.any() else 0.0
    usual = float(effort[effort > 0].mean()) if (effort > 0).any() else 1.0
    model = max(1 - error / chance, 1e-6) * np.sqrt(usual)
    busy = weight[answers.per_worker() > 0]
    omega = model / (model + (float(busy.mean()) if len(busy) else 0.0) * usual)
    return found, weight, model, hit, omega
