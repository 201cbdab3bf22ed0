"""The ordered-class form of `ordinal`: thresholds on a latent value that lives on a grid, by generalised EM.

On the grid the model is Dawid-Skene whose "true classes" are the 41 points: the same two sparse products, and all the M step
needs of the answers is how often each worker said each class at each point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr, ndtri

from ...core.answers import Answers, Shard
from ...core.channels import Steps
from ...core.consensus import Consensus, first_best
from ...core.fold import by_task, by_worker, whole
from ...core.scores import Scores
from ...kernels.em import iterate
from ...kernels.rows import softmax_logsum
from ._line import fisher

GRID = np.linspace(-4, 4, 41)
LOG_WEIGHT = -0.5 * GRID**2 - np.log(np.exp(-0.5 * GRID**2).sum())
FIRST_SD, GAP_SD, BIAS_SD, NOISE_SD, SCALE_SD = 3.0, 2.0, 1.0, 0.5, 0.25


@dataclass
class Params:
    log_tables: np.ndarray = by_worker()  # [W, K, G]: log P(w says l | z = grid point)
    x: np.ndarray = whole()  # all parameters in a row, see `split`
    penalty: float = whole(default=0.0)


@dataclass
class Sums:
    counts: np.ndarray = by_worker()  # [W, K, G]
    evidence: float = whole()


@dataclass
class Latent:
    mean: np.ndarray = by_task()
    var: np.ndarray = by_task()


def posterior(shard: Shard, log_tables: np.ndarray):
    logits = shard.said @ log_tables.reshape(-1, len(GRID)) + LOG_WEIGHT
    return softmax_logsum(logits)


def step(shard: Shard, params: Params) -> Sums:
    probs, evidence = posterior(shard, params.log_tables)
    return Sums(
        (shard.said.T @ probs).reshape(len(shard.workers), shard.classes, len(GRID)),
        float(shard.answered(evidence).sum()),
    )


def beliefs(shard: Shard, params: Params) -> Latent:
    probs = posterior(shard, params.log_tables)[0]
    mean = probs @ GRID
    return Latent(mean, probs @ GRID**2 - mean**2)


@dataclass
class Slopes:
    """How the log of P(worker says l | z = grid point) moves with the worker's parameters, weighed by the beliefs about z."""

    log_tables: np.ndarray = by_worker()  # [W, K, G]
    noise: np.ndarray = by_worker()  # [W, K, G] with the log of the noise
    bias: np.ndarray = by_worker()  # [W, K, G]


@dataclass
class Squares:
    noise: np.ndarray = by_worker()
    bias: np.ndarray = by_worker()
    both: np.ndarray = by_worker()


def squares(shard: Shard, params: Slopes) -> Squares:
    """Sums over answers of squared slopes of the log-likelihood: the information about noise and bias."""
    probs = posterior(shard, params.log_tables)[0]

    def slope(table: np.ndarray) -> np.ndarray:
        found, columns = np.zeros(len(shard.worker)), table.reshape(-1, len(GRID)).T
        for belief, column in zip(probs.T, columns, strict=True):  # point by point: never answers x points
            found += shard.of_task(belief) * column[shard.said.indices]
        return found

    noise, bias = slope(params.noise), slope(params.bias)
    return Squares(shard.per_worker(noise**2), shard.per_worker(bias**2), shard.per_worker(noise * bias))


class Layout:
    """Where the parameters stand in their row: first threshold, log gaps, biases, log noises, log scales if free."""

    def __init__(self, workers: int, classes: int, free: bool):
        self.workers, self.gaps, self.free = workers, max(classes - 2, 0), free
        self.inner = max(classes - 1, 0)
        ends = np.cumsum([min(self.inner, 1), self.gaps, workers, workers, workers if free else 0])
        self.first, self.gap, self.bias, self.noise, self.scale = (
            slice(a, b) for a, b in zip([0, *ends], ends, strict=False)
        )
        self.size = int(ends[-1])
        self.sd = np.concatenate(
            [
                np.full(s.stop - s.start, v)
                for s, v in zip(
                    (self.first, self.gap, self.bias, self.noise, self.scale),
                    (FIRST_SD, GAP_SD, BIAS_SD, NOISE_SD, SCALE_SD),
                    strict=True,
                )
            ]
        )

    def split(self, x: np.ndarray):
        """Thresholds [K - 1], bias, noise, scale [W]."""
        thresholds = np.cumsum(np.concatenate([x[self.first], np.exp(x[self.gap])]))
        return (
            thresholds,
            x[self.bias],
            np.exp(x[self.noise]),
            np.exp(x[self.scale]) if self.free else np.ones(self.workers),
        )

    def edges(self, x: np.ndarray) -> np.ndarray:
        """Standardised thresholds [W, K - 1, G]."""
        thresholds, bias, noise, scale = self.split(x)
        return (thresholds[None, :, None] - scale[:, None, None] * GRID - bias[:, None, None]) / noise[:, None, None]

    def log_tables(self, x: np.ndarray) -> np.ndarray:
        """[W, K, G] by differences of log-CDFs, taken on the side where they do not cancel."""
        u = self.edges(x)
        low = np.concatenate([np.full((len(u), 1, len(GRID)), -np.inf), u], axis=1)
        high = np.concatenate([u, np.full((len(u), 1, len(GRID)), np.inf)], axis=1)
        flip = low > 0
        a, b = np.where(flip, -high, low), np.where(flip, -low, high)
        upper, lower = log_ndtr(b), log_ndtr(a)
        with np.errstate(divide="ignore", invalid="ignore"):
            out = upper + np.log1p(-np.exp(np.minimum(lower - upper, 0)))
        return np.maximum(np.nan_to_num(out, nan=-690.0, neginf=-690.0), -690.0)  # a floor of 1e-300

    def slopes(self, x: np.ndarray) -> Slopes:
        """Derivatives of the log tables."""
        u, logs = self.edges(x), self.log_tables(x)
        density = np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
        _, _, noise, _ = self.split(x)
        inverse = np.where(logs > -689, np.exp(-logs), 0)

        def moved(by_edge: np.ndarray) -> np.ndarray:
            none = np.zeros((len(u), 1, len(GRID)))
            return np.diff(np.concatenate([none, by_edge, none], axis=1), axis=1) * inverse

        by_noise = -density * u
        return Slopes(logs, moved(by_noise), moved(-density / noise[:, None, None]))

    def fall(self, x: np.ndarray, counts: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the expected log-posterior and its gradient."""
        u, logs = self.edges(x), self.log_tables(x)
        share = counts * np.where(logs > -689, np.exp(-logs), 0)  # d / dP, 0 where the floor holds
        density = np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
        by_edge = (share[:, :-1] - share[:, 1:]) * density  # [W, K - 1, G]: d / du
        _, _, noise, scale = self.split(x)
        per = by_edge / noise[:, None, None]
        gradient = np.zeros(self.size)
        by_threshold = per.sum(axis=(0, 2))
        if self.inner:
            gradient[self.first] = by_threshold.sum()
            gradient[self.gap] = np.cumsum(by_threshold[::-1])[::-1][1:] * np.exp(x[self.gap])
        gradient[self.bias] = -per.sum(axis=(1, 2))
        gradient[self.noise] = -(by_edge * u).sum(axis=(1, 2))
        if self.free:
            gradient[self.scale] = -(per * GRID).sum(axis=(1, 2)) * scale
        return -float((counts * logs).sum()) + 0.5 * float(((x / self.sd) ** 2).sum()), -gradient + x / self.sd**2


def fit(answers: Answers, tol: float, iterations: int, free: bool, rule: str) -> Consensus:
    workers, classes = len(answers.workers), len(answers.classes)
    layout = Layout(workers, classes, free)

    def params_at(x: np.ndarray) -> Params:
        return Params(layout.log_tables(x), x, -0.5 * float(((x / layout.sd) ** 2).sum()))

    def update(sums: Sums, params: Params) -> Params:
        better = minimize(
            layout.fall, params.x, args=(sums.counts,), jac=True, method="L-BFGS-B", options={"maxiter": 8}
        )
        return params_at(better.x) if better.fun <= layout.fall(params.x, sums.counts)[0] else params

    params, _, trace, converged = iterate(
        answers,
        step,
        update,
        params_at(beginning(answers, layout)),
        tol=tol,
        iterations=iterations,
        holds="log-posterior without constants",
        monotone=False,
    )
    found = answers.fold(beliefs, params)
    thresholds, bias, noise, scale = layout.split(params.x)
    probs = between(thresholds, found)
    chosen = first_best(probs) if rule == "mode" else np.searchsorted(thresholds, found.mean, side="left")
    skill = scale / np.sqrt(scale**2 + noise**2)
    n = answers.per_worker()
    low, high = skill_interval(answers, layout.slopes(params.x), skill, SCALE_SD**2 if free else 0.0)
    note = [f"bias {b:.4g}, scale {a:.4g}, noise {s:.4g}" for b, a, s in zip(bias, scale, noise, strict=True)]
    return Consensus.of(
        answers,
        probs=probs,
        chosen=chosen,
        channel=Steps(found.mean, found.var, bias, scale, noise, thresholds=thresholds),
        skill=Scores("skill", "worker", answers.workers, skill, low, high, n, note),
        trace=trace,
        converged=converged,
    )


def between(thresholds: np.ndarray, found: Latent) -> np.ndarray:
    """[T, K]: how much of a normal distribution with this mean and variance lies between two thresholds."""
    below = ndtr((thresholds - found.mean[:, None]) / np.sqrt(np.maximum(found.var, 1e-12))[:, None])
    return np.diff(np.concatenate([np.zeros((len(below), 1)), below, np.ones((len(below), 1))], axis=1), axis=1)


def skill_interval(answers: Answers, slopes: Slopes, skill: np.ndarray, doubt: float) -> tuple[np.ndarray, np.ndarray]:
    """95 % of each correlation, from what the answers alone say about the noise, the bias being unknown too.

    `doubt` is the variance of the log scale where it is free: no more is known of it than before.
    """
    found = answers.fold(squares, slopes)
    known = found.noise - np.divide(found.both**2, found.bias, out=np.zeros_like(skill), where=found.bias > 0)
    low, high = fisher(skill, skill**2 * (1 / np.maximum(known, 1e-3) + doubt))
    busy = answers.per_worker() > 0
    return np.where(busy, np.maximum(low, 0), np.nan), np.where(busy, high, np.nan)


def beginning(answers: Answers, layout: Layout) -> np.ndarray:
    """Thresholds from the cumulative shares of the labels, no bias, noise 1."""
    x = np.zeros(layout.size)
    if layout.inner:
        shares = answers.counts().sum(axis=0)
        below = np.clip(np.cumsum(shares)[:-1] / max(shares.sum(), 1), 0.02, 0.98)
        thresholds = np.sqrt(2) * ndtri(below)
        x[layout.first] = thresholds[:1]
        x[layout.gap] = np.log(np.maximum(np.diff(thresholds), 1e-2))
    return x
