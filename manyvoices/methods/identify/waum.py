"""WAUM: the margins of a network that learns from everybody's answers, weighed by how far each is to be trusted there.

    margin[i, j, t] = p[y] - p[2]                     yang: y is j's answer to item i, p[2] the second largest (see top)
                    = p[y] - max over k != y of p[k]  pleiss
    trust[i, j]     = sum over k of p[i, k] confusions[j][k, k], at the last epoch; the tables are those of Dawid-Skene
    waum[i]         = sum over j of trust[i, j] mean over t of margin[i, j, t]  /  sum over j of trust[i, j]

Low values are ambiguous tasks: people who know do not answer as the other items would have it. The margins are of
probabilities, in the pass in which the item is learnt from; an item is encoded once a step however many answered it.
`networks=per_worker` trains a network anew on each worker's own answers. With normalise=count the sum is divided by the
number of answers. All items are learnt from, whatever their split; nothing is held out, so keep, patience and calibrate mean
nothing here.

With `-o DIR/`: too_hard_ALPHA.txt, the tasks whose value is not above the alpha quantile, a line `index task` each, as
`train --path-remove` takes them; aum_per_worker.csv and score_per_worker.csv, the mean margin and the trust of each answer;
labels.csv, the WAUM labels: Dawid-Skene is fitted again without those tasks, and each vote for a class counts by its worker's
confusions[j][k, k]. The tasks that were cut have no label and a row of zeros.

Family: margins while learning
Needs: workers, classes
Reference: Lefort, Charlier, Joly and Salmon (2022), Identify ambiguous tasks combining crowdsourced labels, arXiv:2209.15380.
Also: WAUM, WAUM_stacked, WAUM_perworker[networks=per_worker]; top=topk; iterations=maxiter
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from ...core.answers import Answers
from ...core.consensus import Consensus, first_best
from ...core.items import Items
from ...core.scores import Scores
from ...kernels import tables
from ...kernels.em import check
from ...nn.batches import Votes
from ...nn.lesson import Lesson
from ...nn.training import Training
from . import _margins


def waum(
    answers: Answers,
    *,
    items: Items,
    networks: Literal["stacked", "per_worker"] = "stacked",
    margin: Literal["yang", "pleiss"] = "yang",
    top: int = 1,
    normalise: Literal["trust", "count"] = "trust",
    alpha: float = 0.01,
    iterations: int = 50,
    smoothing: float = 0.01,
    training: Training = Training(),
) -> Scores:
    """Fit Dawid-Skene, train on all answers, and keep margins and trust.

    Parameters
    ----------
    networks
        One network for all answers (stacked), or one for each worker (per_worker).
    margin
        What the answer's probability is held against: the second largest of all (yang), or the largest of the others
        (pleiss).
    top
        With yang, how many probabilities are left out above: 2 takes the third largest.
    normalise
        What the sum over workers is divided by: the sum of their trust, or how many they are (count).
    alpha
        The share of tasks that are called too hard and cut.
    iterations
        Give up Dawid-Skene after this many EM steps.
    smoothing
        Pseudo-count added to every cell of its tables.
    """
    _margins.check("waum", alpha, top, len(answers.classes))
    check(smoothing=smoothing)
    if len(answers.classes) < 2:
        return _margins.nothing(answers, "waum")
    diagonal = known(answers, iterations, smoothing)
    lesson = Lesson.of(_margins.everything(items), answers, training)
    watch = _margins.watched(lesson, networks, on="probs", margin=margin, top=top, diagonal=diagonal)
    counted = Votes.of(answers, lesson.ids).weight * (watch.times > 0)
    trusted = counted * watch.trust
    value = _margins.shared(lesson, watch.mean, trusted, trusted if normalise == "trust" else counted)
    cut = _margins.lowest(value, alpha)
    files = {
        f"too_hard_{alpha:g}.txt": _margins.too_hard(lesson.ids, cut),
        "labels.csv": labels(
            answers, np.append(cut, False)[lesson.ids.code(answers.tasks, missing=-1)], iterations, smoothing
        ),
        "aum_per_worker.csv": _margins.answer_table(answers, lesson, "aum", watch.mean),
        "score_per_worker.csv": _margins.answer_table(answers, lesson, "score", watch.trust),
    }
    return replace(_margins.of_tasks(answers, "waum", lesson.ids, value, cut, alpha, ""), files=files)


def known(answers: Answers, iterations: int, smoothing: float) -> np.ndarray:
    """[W, K] how often each worker knows each class, by Dawid-Skene."""
    fitted = tables.fit(
        answers,
        tables.free_tables(smoothing),
        gold=None,
        tol=1e-6,
        iterations=iterations,
        holds="log-likelihood of the Dawid-Skene fit",
    )
    return np.einsum("wkk->wk", fitted.confusions)


def labels(answers: Answers, cut: np.ndarray, iterations: int, smoothing: float) -> pl.DataFrame:
    """The votes about the tasks that were kept, each by what its worker knows of that class; zeros for the others."""
    task, worker, label = answers.rows()
    count = answers.repeated()
    T, K = len(answers.tasks), len(answers.classes)
    probs = np.zeros((T, K))
    if not cut[task].all():
        diagonal = known(answers.take(~cut[task]), iterations, smoothing)
        weight = diagonal[worker, label] * np.where(cut[task], 0.0, 1.0 if count is None else count)
        probs += np.bincount(task * K + label, weight, T * K).reshape(T, K)
    total = probs.sum(axis=1, keepdims=True)
    probs = probs / np.where(total > 0, total, 1)
    chosen = np.where(total[:, 0] > 0, first_best(probs), -1)
    return Consensus.of(answers, probs=probs, chosen=chosen, note="too hard").table(soft=True)
