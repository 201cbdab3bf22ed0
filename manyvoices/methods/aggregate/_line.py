"""The interval form of `ordinal`: one factor, a bias, a scale and a noise for each worker, by EM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.answers import Answers, Shard
from ...core.channels import Line
from ...core.consensus import Consensus
from ...core.errors import BadCall
from ...core.fold import by_task, by_worker, whole
from ...core.scores import Scores
from ...kernels import numbers
from ...kernels.em import iterate, positive

SCALE_SD, SHAPE, RATE = 0.5, 2.0, 0.5  # a ~ Normal(1, SCALE_SD), noise^2 ~ InverseGamma(SHAPE, RATE)


@dataclass
class Params:
    bias: np.ndarray = by_worker()  # [W]
    scale: np.ndarray = by_worker()  # [W]
    var: np.ndarray = by_worker()  # [W] noise^2
    mu: float = whole()
    tau2: float = whole()
    penalty: float = whole(default=0.0)
    origin: float = whole(
        default=0.0
    )  # where the numbers are counted from: squares of far ones would swallow their spread


@dataclass
class Sums:
    n: np.ndarray = by_worker()  # all [W], over the worker's answers
    z: np.ndarray = by_worker()  # mean of the latent value
    zz: np.ndarray = by_worker()  # its square
    y: np.ndarray = by_worker()
    yy: np.ndarray = by_worker()
    zy: np.ndarray = by_worker()
    mean: float = whole()  # over answered tasks
    square: float = whole()
    tasks: int = whole()
    evidence: float = whole()


@dataclass
class Latent:
    mean: np.ndarray = by_task()
    var: np.ndarray = by_task()


def latent(shard: Shard, params: Params):
    """Mean and variance of z for each task [t], and the log-evidence of each."""
    scale, var = shard.of_worker(params.scale), shard.of_worker(params.var)
    rest = shard.value - params.origin - shard.of_worker(params.bias) - scale * params.mu
    precision = 1 / params.tau2 + shard.per_task(scale**2 / var)
    pull = shard.per_task(scale * rest / var)
    fit = shard.per_task(rest**2 / var + np.log(2 * np.pi * var))
    evidence = -0.5 * (fit + np.log(params.tau2 * precision) - pull**2 / precision)
    return params.mu + pull / precision, 1 / precision, evidence


def step(shard: Shard, params: Params) -> Sums:
    mean, var, evidence = latent(shard, params)
    z, square, value = shard.of_task(mean), (mean**2 + var)[shard.task], shard.value - params.origin
    held = shard.per_task() > 0  # a task without answers says nothing about mu and tau
    return Sums(
        shard.per_worker(),
        shard.per_worker(z),
        shard.per_worker(square),
        shard.per_worker(value),
        shard.per_worker(value**2),
        shard.per_worker(z * value),
        float(mean[held].sum()),
        float((mean**2 + var)[held].sum()),
        int(held.sum()),
        float(evidence[held].sum()),
    )


def beliefs(shard: Shard, params: Params) -> Latent:
    return Latent(*latent(shard, params)[:2])


@dataclass
class Fitted:
    share: np.ndarray = by_worker()  # [W] scale^2 / noise^2
    var: np.ndarray = by_task()  # [T]


@dataclass
class Worth:
    n: np.ndarray = (
        by_worker()
    )  # [W] answers that a noise is known from, each less where the task is known by this worker alone


def worth(shard: Shard, params: Fitted) -> Worth:
    """Of a worker's distance to a value, that part counts which the value's other answers leave free."""
    alone = np.minimum(shard.of_worker(params.share) * shard.of_task(params.var), 1)
    return Worth(shard.per_worker((1 - alone) ** 2))


def m_step(free: bool, unit: float):
    def update(sums: Sums, params: Params) -> Params:
        tasks = max(sums.tasks, 1)
        mu = sums.mean / tasks
        tau2 = max(sums.square / tasks - 2 * mu * sums.mean / tasks + mu**2, 1e-8 * unit**2)
        var = params.var
        at_bias, bias_pull = sums.n / var + 1 / unit**2, sums.y / var
        if free:
            at_scale, cross, scale_pull = sums.zz / var + 1 / SCALE_SD**2, sums.z / var, sums.zy / var + 1 / SCALE_SD**2
            scale = (scale_pull * at_bias - bias_pull * cross) / (at_scale * at_bias - cross**2)
        else:
            scale, cross = np.ones_like(var), sums.z / var
        bias = (bias_pull - cross * scale) / at_bias
        rest = (
            sums.yy
            - 2 * scale * sums.zy
            - 2 * bias * sums.y
            + scale**2 * sums.zz
            + 2 * scale * bias * sums.z
            + sums.n * bias**2
        )
        var = (2 * RATE * unit**2 + np.maximum(rest, 0)) / (2 * (SHAPE + 1) + sums.n)
        return with_priors(Params(bias, scale, var, mu, tau2, origin=params.origin), free, unit)

    return update


def with_priors(params: Params, free: bool, unit: float) -> Params:
    penalty = (
        -0.5 * (params.bias**2).sum() / unit**2 - ((SHAPE + 1) * np.log(params.var) + RATE * unit**2 / params.var).sum()
    )
    if free:
        penalty -= 0.5 * ((params.scale - 1) ** 2).sum() / SCALE_SD**2
    params.penalty = float(penalty)
    return params


def fit(answers: Answers, tol: float, iterations: int, free_scale: str, unit: float | None) -> Consensus:
    moments = answers.fold(numbers.moments)
    n = max(moments.n.sum(), 1)
    mu = float(moments.total.sum() / n)
    spread = float(answers.fold(around, Middle(mu)).square / n)
    if unit is None:
        unit = np.sqrt(spread) if spread > 0 else 1.0
    positive(unit=unit)
    if not 1e-100 < unit < 1e100:
        raise BadCall(f"unit is {unit}: give a number about as large as the labels' spread")
    workers = len(answers.workers)
    enough = answers.n >= 20 * max(int((answers.per_worker() > 0).sum()), 1)
    # far from 0 a scale and a bias of the usual size cannot both be: all scales would be 1
    free = free_scale == "yes" or (free_scale == "auto" and enough and abs(mu) < 1000 * unit)
    origin = 0.0 if free else mu  # without scales the place of 0 is no matter
    tau2 = max(spread, 1e-8 * unit**2)
    first = with_priors(
        Params(
            np.zeros(workers),
            np.ones(workers),
            np.full(workers, tau2 / 2 + 1e-6 * unit**2),
            mu - origin,
            tau2,
            origin=origin,
        ),
        free,
        unit,
    )
    params, sums, trace, converged = iterate(
        answers,
        step,
        m_step(free, unit),
        first,
        tol=tol,
        iterations=iterations,
        holds="log-posterior without constants",
        monotone=False,
    )
    found = answers.fold(beliefs, params)
    value = found.mean + origin
    noise = np.sqrt(params.var)
    reach = 1.959963984540054 * np.sqrt(found.var)
    signal = params.scale * np.sqrt(params.tau2)
    skill = signal / np.sqrt(signal**2 + params.var)
    low, high = skill_interval(answers, params, sums, found, skill, free, unit)
    note = [
        f"bias {b:.4g}, scale {a:.4g}, noise {s:.4g}" + (", answers against the rest" if a < 0 else "")
        for b, a, s in zip(params.bias, params.scale, noise, strict=True)
    ]
    scores = Scores("skill", "worker", answers.workers, skill, low, high, answers.per_worker(), note)
    return Consensus.of(
        answers,
        probs=None,
        value=value,
        low=value - reach,
        high=value + reach,
        skill=scores,
        trace=trace,
        channel=Line(value, found.var, params.bias, params.scale, noise),
        converged=converged,
    )


def skill_interval(
    answers: Answers, params: Params, sums: Sums, found: Latent, skill: np.ndarray, free: bool, unit: float
) -> tuple[np.ndarray, np.ndarray]:
    """95 % of each correlation, from the doubt about noise, spread and scale; its upper end is what the answers say without
    the prior, which holds the noise of exact workers up."""
    left = answers.fold(worth, Fitted(params.scale**2 / params.var, found.var)).n
    doubt = skill**2 * (0.5 / np.maximum(left, 1e-3) + 0.5 / max(sums.tasks, 1))
    if free:
        apart = np.maximum(sums.zz - sums.z**2 / np.maximum(sums.n, 1), 0)
        doubt = doubt + (1 - skill**2) * params.tau2 / params.var / (apart / params.var + 1 / SCALE_SD**2)
    shrunk = params.var * (2 * (SHAPE + 1) + sums.n) - 2 * RATE * unit**2
    alone = np.maximum(shrunk, 1e-3 * params.var) / np.maximum(sums.n, 1)  # noise^2 without its prior
    t = params.scale * np.sqrt(params.tau2 / alone)
    low, high = fisher(np.stack([skill, t / np.sqrt(1 + t**2)]), doubt)
    low, high = np.minimum(low[0], low[1]), np.maximum(high[0], high[1])
    return np.where(sums.n > 0, low if free else np.maximum(low, 0), np.nan), np.where(sums.n > 0, high, np.nan)


def fisher(correlation: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95 % interval of a correlation by Fisher's transform, whose variance is given."""
    z = np.arctanh(np.clip(correlation, -1 + 1e-12, 1 - 1e-12))
    reach = 1.959963984540054 * np.sqrt(variance)
    return np.minimum(np.tanh(z - reach), correlation), np.maximum(np.tanh(z + reach), correlation)


@dataclass
class Middle:
    mu: float = whole()


@dataclass
class Around:
    square: float = whole()


def around(shard: Shard, params: Middle) -> Around:
    return Around(float(shard.weighted((numbers.values(shard) - params.mu) ** 2).sum()))
