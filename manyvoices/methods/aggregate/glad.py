"""GLAD: how able each worker is and how easy each task, from who agrees with whom.

    P(worker w is right about task t) = sigma(ability[w] * exp(ease[t])), errors spread evenly over the other classes
    ability, ease ~ Normal(1, 1);  P(true class is k) = 1 / K
    trace = log-likelihood + log of these priors without constants, which no step lowers

A negative ability is a worker who is usually wrong. Difficulty is given as -ease. The M step maximises a quadratic bound of
log sigma that touches it where the parameters stand (the bound of Jaakkola and Jordan): first the tasks, then the workers,
each in closed form or by Newton steps that may not lose ground. The path is
accelerated by SQUAREM; a jump that loses is taken back.

Family: item response
Needs: workers
Reference: Whitehill, Ruvolo, Wu, Bergsma and Movellan (2009), Whose vote should count more, NIPS.
Also: GLAD; iterations=n_iter, maxiter; tol=epsilon
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.answers import Answers, Shard
from ...core.channels import Ability
from ...core.consensus import Consensus
from ...core.errors import BadInput
from ...core.fold import by_task, by_worker, whole
from ...core.scores import Scores
from ...kernels.em import iterate, squarem
from ...kernels.rows import row_sum, softmax_logsum
from ...kernels.skills import normal_interval
from ...kernels.starts import known_workers
from ...kernels.tables import Beliefs, clamp


@dataclass
class Params:
    ability: np.ndarray = by_worker()  # [W]
    ease: np.ndarray = by_task()  # [T]
    gold: np.ndarray | None = by_task(default=None)  # [T]
    penalty: float = whole(default=0.0)


@dataclass
class Sums:
    pull: np.ndarray = by_worker()  # [W] linear term of the bound in a worker's ability
    stiff: np.ndarray = by_worker()  # [W] its curvature
    ease: np.ndarray = by_task()  # [T] the next ones
    evidence: float = whole()


@dataclass
class Information:
    task: np.ndarray = by_task()  # [T] about an ease, the prior's included


@dataclass
class Around:
    """Where abilities are looked at, over what the answers leave open about truths and eases."""

    ability: np.ndarray = by_worker()
    ease: np.ndarray = by_task()
    sd: np.ndarray = by_task()
    probs: np.ndarray = by_task()  # [T, K]


@dataclass
class Slope:
    rise: np.ndarray = by_worker()  # of the log-likelihood in a worker's ability
    bend: np.ndarray = by_worker()  # minus its second derivative


def posterior(shard: Shard, params: Params):
    """Beliefs [t, K], log-evidence [t], ability and exp(ease) of each answer."""
    others = np.log(max(shard.classes - 1, 1))
    ability, stretch = shard.of_worker(params.ability), shard.of_task(np.exp(params.ease))
    x = ability * stretch
    logits = shard.tally(x + others)
    clamp(logits, params.gold)
    probs, evidence = softmax_logsum(logits)
    wrong = np.log1p(np.exp(-np.abs(x)))  # -log P(says one given wrong class)
    wrong += np.maximum(x, 0)
    return probs, evidence - shard.per_task(wrong) - others * shard.per_task() - np.log(shard.classes), ability, stretch


def step(shard: Shard, params: Params) -> Sums:
    probs, evidence, ability, stretch = posterior(shard, params)
    surplus = shard.at(probs) - 0.5
    curve = bound(ability * stretch)
    pull, stiff = shard.per_task(surplus * ability), shard.per_task(curve * ability**2)
    ease = best_ease(params.ease, pull, stiff)
    stretch = shard.of_task(np.exp(ease))
    curve = bound(ability * stretch)
    return Sums(
        shard.per_worker(surplus * stretch),
        shard.per_worker(curve * stretch**2),
        ease,
        float(shard.answered(evidence - 0.5 * (params.ease - 1) ** 2).sum()),
    )


def bound(x: np.ndarray) -> np.ndarray:
    """Curvature of the quadratic below log sigma that touches it at x: tanh(x / 2) / (2 x), 1/4 at 0."""
    x = np.maximum(np.abs(x), 1e-6)
    curve = np.tanh(0.5 * x)
    curve /= 2 * x
    return curve


def best_ease(old: np.ndarray, pull: np.ndarray, stiff: np.ndarray) -> np.ndarray:
    """Climb pull e^b - stiff e^2b / 2 - (b - 1)^2 / 2 from the old b of each task; a step that loses ground is halved."""
    b, high = old, height(old, pull, stiff)
    for _ in range(2):
        stretch = np.exp(b)
        slope = pull * stretch - stiff * stretch**2 - (b - 1)
        bend = np.maximum(1 + 2 * stiff * stretch**2 - pull * stretch, 1.0)
        move = np.clip(slope / bend, -2, 2)
        tried = b + move
        reached = height(tried, pull, stiff)
        for _ in range(6):
            if not len(lost := np.flatnonzero(reached < high)):
                break
            move[lost] /= 2
            tried[lost] = b[lost] + move[lost]
            reached[lost] = height(tried[lost], pull[lost], stiff[lost])
        b, high = np.where(reached < high, b, tried), np.maximum(reached, high)
    return b


def height(b: np.ndarray, pull: np.ndarray, stiff: np.ndarray) -> np.ndarray:
    stretch = np.exp(b)
    return pull * stretch - 0.5 * stiff * stretch**2 - 0.5 * (b - 1) ** 2


def beliefs(shard: Shard, params: Params) -> Beliefs:
    return Beliefs(posterior(shard, params)[0])


def information(shard: Shard, params: Params) -> Information:
    """Minus the second derivative of the log-posterior in each ease, the truth summed out (Louis's formula)."""
    probs, _, ability, stretch = posterior(shard, params)
    x = ability * stretch
    right = sigma(x)
    behind = shard.tally(x)
    doubt = row_sum(probs * behind**2) - row_sum(probs * behind) ** 2
    return Information(
        np.maximum(1 + shard.per_task(right * (1 - right) * x**2 - (shard.at(probs) - right) * x) - doubt, 1)
    )


def slope(shard: Shard, params: Around) -> Slope:
    """Of log of the mean of P(answer) over the truth and over the ease, which is three points of a normal distribution."""
    ability, truth = shard.of_worker(params.ability), 2 * shard.at(params.probs) - 1
    lik, first, second = np.zeros((3, len(truth)))
    for place, weight in ((-np.sqrt(3), 1 / 6), (0.0, 2 / 3), (np.sqrt(3), 1 / 6)):
        stretch = shard.of_task(np.exp(params.ease + place * params.sd))
        right = sigma(ability * stretch)
        moved = weight * right * (1 - right) * stretch
        lik += weight * right
        first += moved
        second += moved * (1 - 2 * right) * stretch
    lik = np.maximum(truth * lik + (1 - truth) / 2, 1e-300)  # P(right) or P(wrong) by P(truth is what was said)
    rise = truth * first / lik
    return Slope(shard.per_worker(rise), shard.per_worker(rise**2 - truth * second / lik))


def sigma(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(x, -500, 500)))


def ability_interval(
    answers: Answers, params: Params, probs: np.ndarray, sd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """95 % interval of each ability, the eases of the tasks integrated out instead of held at their best.

    Held there, workers look less able than they are and surer: such intervals hold the truth in 80 % of cases only.
    """
    ability = params.ability
    for _ in range(3):
        found = answers.fold(slope, Around(ability, params.ease, sd, probs))
        bend = np.maximum(1 + found.bend, 1)
        ability = ability + np.clip((found.rise - (ability - 1)) / bend, -0.5, 0.5)
    low, high = normal_interval(ability, 1 / bend)
    return np.minimum(low, params.ability), np.maximum(high, params.ability)


def update(sums: Sums, params: Params) -> Params:
    return with_prior(replace(params, ability=(sums.pull + 1) / (sums.stiff + 1), ease=sums.ease))


def with_prior(params: Params) -> Params:
    return replace(params, penalty=float(-0.5 * ((params.ability - 1) ** 2).sum()))


def flat(params: Params) -> np.ndarray:
    return np.concatenate([params.ability, params.ease])


def back(array: np.ndarray, params: Params) -> Params:
    ability, ease = np.split(array, [len(params.ability)])
    return with_prior(replace(params, ability=ability, ease=ease))


def glad(
    answers: Answers,
    *,
    tol: float = 1e-6,
    iterations: int = 100,
    gold: np.ndarray | None = None,
    start: Consensus | None = None,
) -> Consensus:
    """Start from ability 1 and ease 1, then alternate E and M steps.

    Parameters
    ----------
    tol
        Stop when the objective per task rises by less than this.
    iterations
        Give up after this many EM steps.
    """
    params = Params(np.ones(len(answers.workers)), np.ones(len(answers.tasks)), gold)
    if start is not None:
        params = resume(answers, start, params)
    params, _, trace, converged = iterate(
        answers,
        step,
        update,
        params,
        tol=tol,
        iterations=iterations,
        leap=squarem(flat, back),
        holds="log-posterior without constants",
    )
    probs = answers.fold(beliefs, params).probs
    variance = 1 / answers.fold(information, params).task
    n = answers.per_worker()
    low, high = ability_interval(answers, params, probs, np.sqrt(variance))
    skill = Scores(
        "skill",
        "worker",
        answers.workers,
        params.ability,
        low,
        high,
        n,
        "ability on the logit scale: 0 guesses, below 0 is usually wrong",
    )
    low, high = normal_interval(-params.ease, variance)
    difficulty = Scores("difficulty", "task", answers.tasks, -params.ease, low, high, answers.per_task())
    return Consensus.of(
        answers,
        probs=probs,
        channel=Ability(params.ability, params.ease),
        prior=np.full(len(answers.classes), 1 / max(len(answers.classes), 1)),
        skill=skill,
        difficulty=difficulty,
        trace=trace,
        converged=converged,
    )


def resume(answers: Answers, start: Consensus, params: Params) -> Params:
    if not isinstance(start.channel, Ability):
        raise BadInput("the result to start from has no abilities: use one that glad made")
    who, _ = known_workers(answers, start)
    ability = start.channel.of(start.channel.ability, who)
    ease = np.append(start.channel.ease, 1.0)[start.tasks.code(answers.tasks, missing=-1)]
    return with_prior(replace(params, ability=ability, ease=ease))
