"""Raykar: logistic regression and everybody's confusions, learnt together by EM.

    p(x)                = softmax(weights @ (1, x))
    beliefs[i, k]       ~ p(x_i)[k] * product over the answers of confusions[j][k, answer]       E step
    confusions[j, k, l] ~ smoothing + sum of beliefs[i, k] over j's answers l                    M step
    weights             = logistic regression on the beliefs, with a ridge on all but the intercept

Dawid-Skene whose prior is a logistic regression; with two classes the confusions are sensitivity and specificity with
Beta(1 + smoothing, 1 + smoothing) priors. No step lowers the penalised likelihood. For columns of numbers and other
features that are given or frozen; of the options of training only the encoder and the seed (for splits) have a meaning.

Family: networks for crowds
Needs: items, workers
Reference: Raykar et al. (2010), Learning from crowds, JMLR 11, 1297-1322.
Also: Raykar; rounds=max_iter
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from ...core.answers import Answers
from ...core.errors import BadCall
from ...core.items import Items
from ...kernels.em import tell
from ...nn.beliefs import Said
from ...nn.lesson import Lesson
from ...nn.loop import Run
from ...nn.model import Learned
from ...nn.nets import Crowd, through
from ...nn.training import Training


class Raykar(Crowd):
    log_tables: torch.Tensor

    def __init__(self, net, workers: int, classes: int):
        super().__init__(net, workers, classes)
        self.register_buffer("log_tables", torch.zeros(workers, classes, classes))

    def said(self, seen, at, worker):
        return through(seen.log_probs[at], self.log_tables[worker])


def log_softmax(x: np.ndarray) -> np.ndarray:
    x = x - x.max(axis=1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=1, keepdims=True))


def penalised(flat: np.ndarray, x: np.ndarray, beliefs: np.ndarray, ridge: float) -> tuple[float, np.ndarray]:
    """Cross-entropy with the beliefs plus the ridge, and its gradient. Two rows that mirror each other are the usual
    logistic regression with half the sum of squares."""
    weights = flat.reshape(beliefs.shape[1], -1)
    log_p = log_softmax(x @ weights.T)
    held = weights.copy()
    held[:, 0] = 0
    slope = (np.exp(log_p) * beliefs.sum(axis=1, keepdims=True) - beliefs).T @ x + 2 * ridge * held
    return float(-(beliefs * log_p).sum() + ridge * (held**2).sum()), slope.ravel()


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
    training: Training = Training(),  # noqa: B008 (frozen)
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
    from scipy.optimize import minimize

    if rounds < 1 or ridge < 0 or smoothing < 0:
        raise BadCall(
            f"raykar: rounds {rounds}, ridge {ridge}, smoothing {smoothing}; expected 1 or more, and 0 or more"
        )
    if training.finetune:
        raise BadCall("raykar: --finetune has nothing to train, for the regression takes features as they are")
    lesson = Lesson.of(items, answers, replace(training, hidden=0, dropout=0.0))
    model = lesson.build(Raykar)
    said = Said.about(lesson.votes, lesson.rows, len(lesson.workers), len(lesson.classes))
    x, beliefs = features(lesson), said.shares()
    flat, run, last = np.zeros(said.classes * x.shape[1]), Run(), -np.inf
    for count in range(1, rounds + 1):
        tables = said.tables(beliefs, smoothing)
        flat = minimize(penalised, flat, (x, beliefs, ridge), "L-BFGS-B", jac=True, options={"maxiter": 50}).x
        weights = flat.reshape(said.classes, -1)
        beliefs, evidence = said.beliefs(log_softmax(x @ weights.T), np.log(tables))
        value = evidence - ridge * float((weights[:, 1:] ** 2).sum()) + smoothing * float(np.log(tables).sum())
        run.metrics.append({"epoch": count, "objective": value})
        tell("penalised log-likelihood", count, rounds, value)
        run.epoch = count
        if value - last < tol * len(x):
            break
        last = value
    last_layer = model.net.head[-1]
    last_layer.weight.data.copy_(torch.from_numpy(weights[:, 1:]))
    last_layer.bias.data.copy_(torch.from_numpy(weights[:, 0]))
    model.log_tables.copy_(torch.from_numpy(np.log(tables)))
    return lesson.learned(model, run)
