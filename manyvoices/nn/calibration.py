"""Temperatures of a trained network, fitted on the dev items: the test items are not looked at.

The truth, where the network learnt labels: the temperature that makes the dev labels likeliest. Where it learnt answers,
which are wrong now and then, the temperature that makes the dev answers likeliest through Dawid-Skene's tables of the
workers, so that their errors are not taken for the network's:

    evidence(T) = sum over dev items of  log sum over k of  p_T(x)[k] * product over answers of confusions[j][k, answer]

Workers: the temperature that makes what the dev answers say likeliest, under what the network says those workers say.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..kernels.calibration import fitted, heated, of_rows
from .beliefs import Said

if TYPE_CHECKING:
    from .lesson import Lesson
    from .model import Learned

log = logging.getLogger("manyvoices")
ROUNDS, SMOOTHING = 50, 0.01  # of Dawid-Skene


@dataclass(frozen=True, eq=False)
class Dev:
    """What the network says about the dev items, and about their answers."""

    truth: np.ndarray  # [n, K] log-probabilities
    said: np.ndarray  # [N, K]; empty without a model of workers
    label: np.ndarray  # [N]
    weight: np.ndarray  # [N]


def calibrated(lesson: Lesson, model: Learned) -> Learned:
    """The model with its temperatures, and in `about` how far its probabilities were off before and after."""
    dev = asked(lesson, model)
    if lesson.target is not None:
        target = lesson.target[lesson.dev].astype(float)
        temperature = fitted(lambda t: float((target * heated(dev.truth, t)).sum()))
        weight = target.sum(axis=1)
        right, of = target / weight[:, None], "the labels of the dev items"
    else:
        said, log_tables, right = answered(lesson)
        temperature = fitted(lambda t: said.beliefs(heated(dev.truth, t), log_tables)[1])
        weight, of = None, "the answers to the dev items"
    about: dict[str, Any] = {
        "against": of,
        "temperature": temperature,
        "before": of_rows(dev.truth, right, weight),
        "after": of_rows(heated(dev.truth, temperature), right, weight),
    }
    workers = 1.0
    if len(dev.said):
        at = np.arange(len(dev.label))
        workers = fitted(lambda t: float((dev.weight * heated(dev.said, t)[at, dev.label]).sum()))
        one = np.eye(dev.said.shape[1])[dev.label]
        about["workers"] = {
            "temperature": workers,
            "before": of_rows(dev.said, one, dev.weight),
            "after": of_rows(heated(dev.said, workers), one, dev.weight),
        }
    if temperature == 1.0:
        log.info("calibration: %s say nothing against the probabilities as they are; temperature 1", of)
    about = model.about | {"calibration": about}
    return replace(model, temperature=temperature, worker_temperature=workers, about=about)


@torch.no_grad()
def asked(lesson: Lesson, model: Learned) -> Dev:
    truth, said, label, weight = [], [], [], []
    net = model.net.eval()
    for batch in lesson.batches(lesson.dev).in_order():
        truth.append(net.truth(batch.x).double().cpu().numpy())
        if "workers" in model.can and len(batch.worker):
            said.append(net.said(net(batch.x), batch.at, batch.worker).double().cpu().numpy())
            label.append(batch.label.cpu().numpy())
            weight.append(batch.weight.double().cpu().numpy())
    none = np.zeros(0)
    joined = (np.concatenate(x) if x else none for x in (said, label, weight))
    return Dev(np.concatenate(truth), *joined)


def answered(lesson: Lesson) -> tuple[Said, np.ndarray, np.ndarray]:
    """The answers to the dev items, everybody's log-tables, and what the answers alone believe of these items [n, K]."""
    workers, classes = len(lesson.workers or ()), len(lesson.classes)
    both = Said.about(lesson.votes, np.concatenate([lesson.rows, lesson.dev]), workers, classes)
    beliefs = both.shares()
    for _ in range(ROUNDS):
        log_tables = np.log(both.tables(beliefs, SMOOTHING))
        prior = np.log(np.maximum(beliefs.mean(axis=0), 1e-12))
        beliefs, _ = both.beliefs(np.tile(prior, (both.items, 1)), log_tables)
    return Said.about(lesson.votes, lesson.dev, workers, classes), log_tables, beliefs[len(lesson.rows) :]
