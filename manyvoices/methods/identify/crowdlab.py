"""CROWDLAB's quality: of each worker, and of the consensus label of each task, votes and a classifier weighed together.

    of a task    = P(the consensus label is right), the weighted mean of the classifier's row and one row per answer
    of a worker  = a mix of what that mean gives the worker's answers and of agreement with the consensus

The probabilities must be out of sample: predicted by a classifier that has not seen the task. Either they are handed over
(`--probs FILE`), or they are made here: the majority vote is the label, the tasks are dealt into `folds` parts with the
classes spread evenly, and a classifier is trained without each part (of the rest 15 per cent choose the epoch) and asked about
it. The items are encoded once for all parts. A task that is no item has the class shares for a row. With `-o DIR/` they are
in probs.csv (`task,p:CLASS`), which `aggregate -s crowdlab --probs` takes. Low tasks are the ones to look at first.

Family: votes with a classifier
Needs: workers, classes
Reference: Goh, Tkachenko and Mueller (2022), CROWDLAB, arXiv:2210.06812.
Also: label_quality
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from ...core import registry
from ...core.answers import Answers
from ...core.consensus import first_best
from ...core.errors import BadCall
from ...core.items import Items
from ...core.names import Names
from ...core.scores import Scores, joined
from ...core.soft import Labels
from ...kernels import crowdlab as kernel
from ...nn.training import Training
from . import _rows

log = logging.getLogger("manyvoices")


def crowdlab(
    answers: Answers,
    *,
    probs: np.ndarray | None = None,
    items: Items | None = None,
    rounds: int = 1,
    folds: int = 5,
    training: Training = Training(),
) -> Scores:
    """Take the probabilities or make them, then the qualities of the fit.

    Parameters
    ----------
    rounds
        1 takes the majority vote as the consensus; each further round takes the labels of the one before.
    folds
        Into how many parts the tasks are dealt, where the probabilities are made here.
    """
    files = {}
    if probs is None:
        if items is None:
            raise BadCall(
                "crowdlab needs probs: give --probs FILE, or items (text, images, ...) to train a classifier on"
            )
        probs = predicted(answers, items, folds, training)
        files["probs.csv"] = table(answers, probs)
    fit = kernel.fit(answers, probs, rounds)
    found, codes = fit.skill, fit.codes
    assert found is not None and fit.probs is not None
    quality = fit.probs[np.arange(len(codes)), np.maximum(codes, 0)]
    workers = _rows.of_workers(answers, "crowdlab", found.value, found.low, found.high, "annotator quality")
    label = np.array([*fit.classes.to_list(), "none"], object)[codes]
    notes = [f"quality of the label {name}; no interval: a mean of fixed weights" for name in label]
    return replace(joined([workers, _rows.of_tasks(answers, "crowdlab", quality, None, None, notes)]), files=files)


def predicted(answers: Answers, items: Items, folds: int, training: Training) -> np.ndarray:
    """[T, K] by networks that have not seen the task; the class shares where a task is no item."""
    try:
        from ...nn.folds import out_of_sample
    except ModuleNotFoundError as error:
        raise registry.missing("identify/crowdlab without --probs", error) from error
    votes = answers.counts()
    held = np.flatnonzero(votes.sum(axis=1) > 0)
    one = np.eye(votes.shape[1])[first_best(votes)]
    names = Names([answers.tasks[i] for i in held])
    ids, rows = out_of_sample(items, Labels(names, answers.classes, one[held]), folds, training)
    at = answers.tasks.code(ids, missing=-1)
    seen = np.flatnonzero((at >= 0) & ~np.isnan(rows).any(axis=1))
    agreed = one[at[seen], first_best(rows[seen])].mean()
    log.info(
        "out of sample the classifier agrees with the majority on %.0f%% of the tasks, the commonest class on %.0f%%",
        100 * agreed,
        100 * one[held].mean(axis=0).max(),
    )
    probs = np.concatenate([rows, np.full((1, rows.shape[1]), np.nan)])[ids.code(answers.tasks, missing=-1)]
    return np.where(np.isnan(probs), one[held].mean(axis=0), probs)


def table(answers: Answers, probs: np.ndarray):
    import polars as pl

    return pl.DataFrame(
        {"task": answers.tasks.to_list()} | {f"p:{name}": probs[:, k] for k, name in enumerate(answers.classes)}
    )
