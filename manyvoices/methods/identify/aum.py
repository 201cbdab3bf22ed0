"""Area under the margin: how far a network is on the side of a task's label while it learns it. Down is more doubtful.

    margin[i, t] = z[y] - z[2]                    yang: z[2] is the second largest logit (with top=k the one after the k largest)
                 = z[y] - max over k != y of z[k] pleiss
    aum[i]       = mean over epochs t of margin[i, t], of the pass in which the item is learnt from

A label that the other items speak against is learnt late or never, so mislabelled tasks have the lowest values. The labels
are those of `--labels`, else of the consensus (`--consensus`). All items are learnt from, whatever their split; nothing is
held out, so keep, patience and calibrate mean nothing here. One network says it: other seeds give other values. Stop early
(half the epochs a good model needs): a network that has learnt every label by heart no longer doubts any.

With `-o DIR/` the tasks whose value is not above the alpha quantile are in too_hard_ALPHA.txt, a line `index task` each, as
`train --path-remove` takes them.

Family: margins while learning
Needs: classes
Reference: Pleiss, Zhang, Elenberg and Weinberger (2020), Identifying mislabeled data using the area under the margin
    ranking, arXiv:2001.10528; the margin of Yang and Koyejo (2020), arXiv:1901.10655.
Also: AUM, area_under_the_margin; top=topk
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...core.errors import BadCall
from ...core.items import Items
from ...core.names import Names
from ...core.scores import Scores
from ...core.soft import Labels
from ...nn.batches import Votes
from ...nn.lesson import Lesson
from ...nn.training import Training
from . import _margins


def aum(
    answers: Answers,
    *,
    items: Items,
    consensus: Consensus | None = None,
    labels: Labels | None = None,
    margin: Literal["yang", "pleiss"] = "yang",
    top: int = 1,
    alpha: float = 0.01,
    training: Training = Training(),
) -> Scores:
    """Train on one label an item and keep the margins.

    Parameters
    ----------
    margin
        What the label's logit is held against: the second largest of all (yang), or the largest of the others (pleiss).
    top
        With yang, how many logits are left out above: 2 takes the third largest.
    alpha
        The share of tasks that are called too hard.
    """
    if labels is not None and consensus is not None:
        raise BadCall("aum checks one set of labels: give --labels or --consensus, not both")
    given = labels if labels is not None else of_consensus(answers, consensus)
    _margins.check("aum", alpha, top, len(given.classes))
    if len(given.classes) < 2:
        return _margins.nothing(answers, "aum")
    lesson = Lesson.of_labels(_margins.everything(items), given, training)
    lesson = replace(lesson, votes=one_each(lesson), target=None)
    watch = _margins.watched(lesson, on="logits", margin=margin, top=top)
    value = _margins.shared(lesson, watch.mean, watch.times > 0, watch.times > 0)
    cut = _margins.lowest(value, alpha)
    said = np.full(len(lesson.ids) + 1, "", object)
    said[_margins.items_of(lesson)] = [f"label {given.classes[k]}" for k in lesson.votes.label]
    said = said[lesson.ids.code(answers.tasks, missing=-1)]
    found = _margins.of_tasks(answers, "aum", lesson.ids, value, cut, alpha, said)
    return replace(found, files={f"too_hard_{alpha:g}.txt": _margins.too_hard(lesson.ids, cut)})


def of_consensus(answers: Answers, consensus: Consensus | None) -> Labels:
    """The labels of answered tasks that have one."""
    assert consensus is not None
    codes = np.where(answers.per_task() > 0, consensus.codes, -1)
    known = np.flatnonzero(codes >= 0)
    return Labels(
        Names([answers.tasks[i] for i in known]), consensus.classes, np.eye(len(consensus.classes))[codes[known]]
    )


def one_each(lesson: Lesson) -> Votes:
    """One answer an item: its label, the likeliest class where the label is soft."""
    assert lesson.target is not None
    weight = lesson.target.sum(axis=1)
    has = weight > 0
    start = np.concatenate([[0], has.cumsum()]).astype(np.int64)
    return Votes(
        start, np.zeros(start[-1], np.int64), lesson.target.argmax(axis=1)[has], weight[has].astype(np.float32)
    )
