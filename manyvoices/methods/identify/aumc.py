"""AUMC: how far a network that learns from everybody's answers is on their side, averaged over those who answered.

    margin[i, j, t] = p[y] - p[2]                     yang: y is j's answer to item i, p[2] the second largest (see top)
                    = p[y] - max over k != y of p[k]  pleiss
    aumc[i]         = mean over the answers of i of  mean over epochs t of margin[i, j, t]

The margins are of probabilities, in the pass in which the item is learnt from. It is `waum` with all answers trusted alike.
All items are learnt from, whatever their split; nothing is held out, so keep, patience and calibrate mean nothing here. With
`-o DIR/`: too_hard_ALPHA.txt, a line `index task` each, as `train --path-remove` takes them, and aum_per_worker.csv.

Family: margins while learning
Needs: workers, classes
Reference: Lefort, Charlier, Joly and Salmon (2022), Identify ambiguous tasks combining crowdsourced labels, arXiv:2209.15380.
Also: AUMC; top=topk
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ...core.answers import Answers
from ...core.items import Items
from ...core.scores import Scores
from ...nn.batches import Votes
from ...nn.lesson import Lesson
from ...nn.training import Training
from . import _margins


def aumc(
    answers: Answers,
    *,
    items: Items,
    margin: Literal["yang", "pleiss"] = "yang",
    top: int = 1,
    alpha: float = 0.01,
    training: Training = Training(),
) -> Scores:
    """Train on all answers and keep the margins.

    Parameters
    ----------
    margin
        What the answer's probability is held against: the second largest of all (yang), or the largest of the others
        (pleiss).
    top
        With yang, how many probabilities are left out above: 2 takes the third largest.
    alpha
        The share of tasks that are called too hard.
    """
    _margins.check("aumc", alpha, top, len(answers.classes))
    if len(answers.classes) < 2:
        return _margins.nothing(answers, "aumc")
    lesson = Lesson.of(_margins.everything(items), answers, training)
    watch = _margins.watched(lesson, on="probs", margin=margin, top=top)
    counted = Votes.of(answers, lesson.ids).weight * (watch.times > 0)
    value = _margins.shared(lesson, watch.mean, counted, counted)
    cut = _margins.lowest(value, alpha)
    files = {
        f"too_hard_{alpha:g}.txt": _margins.too_hard(lesson.ids, cut),
        "aum_per_worker.csv": _margins.answer_table(answers, lesson, "aum", watch.mean),
    }
    return replace(_margins.of_tasks(answers, "aumc", lesson.ids, value, cut, alpha, ""), files=files)
