"""What a worker's answers are held against: the truth, gold, given labels, or a consensus of everybody else.

    x[i] = P(the truth is what answer i says)          c[i] = sum over k of P(the truth is k)^2
    under "right with probability a, errors spread evenly":  E x = a c + (1 - a) (1 - c) / (K - 1)
    agreed[i] = x[i] - (1 - c[i]) / (K - 1)            sure[i] = c[i] - (1 - c[i]) / (K - 1)
    so a = sum of agreed / sum of sure

With a known truth, sure is 1 and this is the share of right answers. With a doubtful one, it is what the agreement is worth:
an answer is held against the others as far as the others are sure, and one nobody else can judge counts for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.answers import Answers, Shard
from ...core.consensus import Consensus
from ...core.errors import BadCall
from ...core.fold import by_task
from ...kernels import leave_out


@dataclass
class Yardstick(leave_out.Others):
    code: np.ndarray | None = by_task(default=None)  # [T] known truth, -1 = unknown
    probs: np.ndarray | None = by_task(default=None)  # [T, K] labels somebody gave, NaN = none


@dataclass
class Held:
    agreed: np.ndarray  # [n]
    sure: np.ndarray  # [n]
    known: np.ndarray  # [n] whether there is anything to hold the answer against


OTHERS = "others"
NOTHING = {
    "truth": "not defined because none of this worker's tasks has a truth",
    "gold": "not defined because none of this worker's tasks has gold",
    "table": "not defined because none of this worker's tasks has a label in the table given",
    OTHERS: "not defined because nobody else answered this worker's tasks, or the others' answers decide nothing",
}
NOTES = {
    "truth": "against the truth",
    "gold": "against gold",
    "table": "against the labels given",
    OTHERS: "against the consensus of the others, allowing for its doubt",
}
VOTES = "against the majority of the others"


def chosen(
    against: str,
    truth: np.ndarray | None,
    gold: np.ndarray | None,
    table: np.ndarray | None,
    consensus: Consensus | None,
) -> tuple[str, Yardstick, str]:
    """Which yardstick, its parameters, and how a note names it."""
    have: dict[str, Any] = {"consensus": table if table is not None else consensus, "gold": gold, "truth": truth}
    if against == "auto":
        against = next((name for name, given in have.items() if given is not None), "consensus")
    if have[against] is None:
        raise BadCall(f"against={against}, and there is none: {HINTS[against]}")
    if against != "consensus":
        return against, Yardstick(code=have[against]), NOTES[against]
    if table is not None:
        return "table", Yardstick(probs=table), NOTES["table"]
    model = Yardstick(**vars(leave_out.model_of(consensus, gold)))
    return OTHERS, model, NOTES[OTHERS] if model.log_prior is not None else VOTES


HINTS = {"truth": "no truth in the data", "gold": "give --gold FILE", "consensus": "name one with --consensus METHOD"}


def held(shard: Shard, params: Yardstick) -> Held:
    """How each answer compares with the yardstick."""
    if params.code is not None:
        code = shard.of_task(params.code)
        return Held((code == shard.label).astype(float), np.ones(len(code)), code >= 0)
    if params.probs is not None:
        has = ~np.isnan(params.probs).any(axis=1) if shard.classes else np.zeros(shard.size, bool)
        probs = np.where(has[:, None], params.probs, 1 / max(shard.classes, 1))
        base, sure = worth(probs)
        return Held(shard.at(probs) - shard.of_task(base), shard.of_task(sure), shard.of_task(has))
    parts = [of_others(part, cut) for part, cut in leave_out.pieces(shard, params)]
    return parts[0] if len(parts) == 1 else Held(*(np.concatenate(x) for x in zip(*map(columns, parts), strict=True)))


def columns(part: Held):
    return part.agreed, part.sure, part.known


def of_others(shard: Shard, params) -> Held:
    runs = leave_out.runs(shard)
    probs = leave_out.believed(shard, params, runs)
    _, company = leave_out.sizes(shard, runs)
    base, sure = worth(probs)
    x = probs.ravel().take(runs.of * shard.classes + shard.label)
    known = company > 0
    if params.gold is not None:
        known |= params.gold[runs.task] >= 0
    return Held(x - base[runs.of], sure[runs.of], (known & (sure > 1e-9))[runs.of])


def worth(probs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(1 - c) / (K - 1) and what c has more than that; with one class everything is known."""
    together = np.einsum("nk,nk->n", probs, probs)
    base = np.maximum(1 - together, 0) / max(probs.shape[1] - 1, 1)
    return base, together - base


def single_class(answers: Answers, kind: str) -> bool:
    return len(answers.classes) < 2 and kind in (OTHERS, "table")
