"""Raykar: logistic regression and everybody's confusions, learnt together by EM.

    p(x)                = softmax(weights @ (1, x))
    beliefs[i, k]       ~ p(x_i)[k] * product over the answers of confusions[j][k, answer]       E step
    confusions[j, k, l] ~ smoothing + sum of beliefs[i, k] over j's answers l                    M step
    weights             = logistic regression on the beliefs by Newton's method, with a ridge on all but the intercept

Dawid-Skene whose prior is a logistic regression; with two classes the confusions are sensitivity and specificity with
Beta(1 + smoothing, 1 + smoothing) priors, and the two rows of weights mirror each other: their difference is the usual one,
under half the ridge times its square. No step lowers the penalised likelihood. For columns of numbers and other features that
are given or frozen; of the options of training only the encoder, the class weights and the seed (for splits) have a meaning.

Family: networks for crowds
Needs: items, workers
Reference: Raykar et al. (2010), Learning from crowds, JMLR 11, 1297-1322.
Also: Raykar; rounds=max_iter
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import torch

from ...core.answers import Answers
from ...core.errors import BadCall
from ...core.items import Items
from ...kernels.em import tell
from ...nn.lesson import Lesson
from ...nn.loop import Run
from ...nn.model import Learned
from ...nn.nets import Crowd
from ...nn.training import Training

log = logging.getLogger("manyvoices")


class Raykar(Crowd):
    log_tables: torch.Tensor

    def __init__(self, net, workers: int, classes: int):
        super().__init__(net, workers, classes)
        self.register_buffer("log_tables", torch.zeros(workers, classes, classes))

    def tables(self, seen, at, worker):
        return self.log_tables[worker]


def log_softmax(x: np.ndarray) -> np.ndarray:
    x = x - x.max(axis=1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=1, keepdims=True))


def penalised(weights: np.ndarray, x: np.ndarray, beliefs: np.ndarray, ridge: float) -> tuple[float, np.ndarray]:
    """Cross-entropy with the beliefs plus the ridge, and its gradient [K, 1 + D]."""
    log_p = log_softmax(x @ weights.T)
    held = np.concatenate([np.zeros((len(weights), 1)), weights[:, 1:]], axis=1)
    slope = (np.exp(log_p) * beliefs.sum(axis=1, keepdims=True) - beliefs).T @ x + 2 * ridge * held
    return float(-(beliefs * log_p).sum() + ridge * (held**2).sum()), slope


def direction(
    weights: np.ndarray, x: np.ndarray, slope: np.ndarray, ridge: float, near: float = 1e-10, most: int = 200
) -> np.ndarray:
    """Newton's: where the quadratic that touches the objective is least, by conjugate gradients, up to this share of the slope."""
    p = np.exp(log_softmax(x @ weights.T))
    step, left = np.zeros_like(slope), -slope
    towards, size = left, float((left**2).sum())
    enough = near**2 * size
    for _ in range(most):
        if size <= enough:
            break
        along = p * (x @ towards.T)
        bend = (along - p * along.sum(axis=1, keepdims=True)).T @ x
        bend[:, 1:] += 2 * ridge * towards[:, 1:]
        curved = float((towards * bend).sum())
        if curved <= 0:
            break
        step = step + size / curved * towards
        left = left - size / curved * bend
        size, last = float((left**2).sum()), size
        towards = left + size / last * towards
    return step


def regression(weights: np.ndarray, x: np.ndarray, beliefs: np.ndarray, ridge: float, most: int = 20) -> np.ndarray:
    """Newton's method from these weights [K, 1 + D]; a step is halved until it leads lower. Far from the end rough steps
    lead to the same place in a fraction of the time."""
    value, slope = penalised(weights, x, beliefs, ridge)
    for _ in range(most):
        step = direction(weights, x, slope, ridge, max(min(0.1, float(np.linalg.norm(slope)) / len(x)), 1e-10))
        for _ in range(30):
            found = penalised(weights + step, x, beliefs, ridge)
            if found[0] < value:
                break
            step = step / 2
        else:
            break
        gain, (value, slope), weights = value - found[0], found, weights + step
        if gain <= 1e-10 * len(x):
            break
    return weights


def features(lesson: Lesson) -> np.ndarray:
    """[n, 1 + D] of the training items, on one scale."""
    found = []
    with torch.no_grad():
        for batch in lesson.batches(lesson.rows).in_order():
            found.append(lesson.encoded.body(batch.x).double().cpu().numpy())
    x = np.concatenate(found)
    return np.concatenate([np.ones((len(x), 1)), x], axis=1)


def raykar(
    items: Items,
    answers: Answers,
    *,
    rounds: int = 50,
    tol: float = 1e-6,
    ridge: float = 1.0,
    smoothing: float = 1.0,
    training: Training = Training(),
) -> Learned:
    """Start from the vote shares, then alternate.

    Parameters
    ----------
    rounds
        Give up after this many.
    tol
        Stop when the objective per item rises by less than this.
    ridge
        Weight of the penalty on the regression's weights.
    smoothing
        Pseudo-count added to every confusion cell.
    """
    if rounds < 1 or ridge < 0 or smoothing < 0:
        raise BadCall(
            f"raykar: rounds {rounds}, ridge {ridge}, smoothing {smoothing}; expected 1 or more, and 0 or more"
        )
    if training.finetune:
        raise BadCall("raykar: --finetune has nothing to train, for the regression takes features as they are")
    if training.ordered not in ("auto", "none"):
        raise BadCall(f"--ordered {training.ordered}: raykar learns classes without an order; leave it out")
    lesson = Lesson.of(items, answers, replace(training, hidden=0, dropout=0.0, ordered="none"))
    if lesson.encoded.about["trained"]:
        raise BadCall(f"raykar: the encoder {lesson.encoded.about['name']} must be trained; take a frozen one")
    model, said = lesson.build(Raykar), lesson.said()
    x, beliefs = features(lesson), said.shares()
    weights, run, last = np.zeros((said.classes, x.shape[1])), Run(), -np.inf
    for count in range(1, rounds + 1):
        tables = said.tables(beliefs, smoothing)
        weights = regression(weights, x, beliefs, ridge)
        beliefs, evidence = said.beliefs(log_softmax(x @ weights.T), np.log(tables))
        value = evidence - ridge * float((weights[:, 1:] ** 2).sum()) + smoothing * float(np.log(tables).sum())
        run.metrics.append({"epoch": count, "objective": value})
        tell("penalised log-likelihood", count, rounds, value)
        run.epoch = count
        if value - last < tol * len(x):
            break
        last = value
    else:
        log.info("raykar: not converged after %d rounds; raise --rounds", rounds)
    state = {"net.head.1.weight": weights[:, 1:], "net.head.1.bias": weights[:, 0], "log_tables": np.log(tables)}
    model.load_state_dict(model.state_dict() | {name: torch.from_numpy(part) for name, part in state.items()})
    return lesson.learned(model, run)
