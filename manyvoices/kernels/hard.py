"""Dawid-Skene with a hard E step, from the start or from the moment the class shares hardly move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.answers import Shard
from ..core.consensus import first_best
from ..core.fold import whole
from . import tables
from .rows import log, normalise


@dataclass
class Tables(tables.Tables):
    hard: bool = whole(default=False)


def step(shard: Shard, params: Tables) -> tables.Counts:
    probs, evidence = tables.posterior(shard, params)
    if params.hard:
        best = np.zeros_like(probs)
        best[np.arange(shard.size), first_best(probs)] = 1
        probs = best
    return tables.sums(shard, probs, evidence)


def m_step(smoothing: float, switch: float | None):
    """Hard from the start, or with `switch` once no class share moves by more than this part of itself."""

    def update(sums: tables.Counts, params: Tables | None) -> Tables:
        prior = normalise(sums.prior)
        if switch is None:
            hard = True
        elif params is None:
            hard = False
        else:
            moved = np.abs(prior - np.exp(params.log_prior))
            hard = params.hard or bool(np.all(moved <= switch * np.maximum(prior, 1e-12)))
        return Tables(log(normalise(sums.counts + smoothing)), log(prior), hard=hard)

    return update
