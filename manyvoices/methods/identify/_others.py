"""How a worker's numbers stand to those of everybody else on the same task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.answers import Shard
from ...kernels import leave_out


@dataclass
class Beside:
    difference: np.ndarray  # [n] number minus the mean of the others' numbers
    company: np.ndarray  # [n] answers of the others


def beside(shard: Shard, number: np.ndarray, counted: np.ndarray | None = None) -> Beside:
    """Of the answers that count; 0 where there is nobody else."""
    runs = leave_out.runs(shard)
    weight = shard.weighted(None) if counted is None else shard.weighted(counted.astype(float))
    total = shard.per_task(number if counted is None else number * counted)
    n = shard.per_task(None if counted is None else counted.astype(float))
    own, mine = leave_out.per_run(number * weight, runs), leave_out.per_run(weight, runs)
    others, company = total[runs.task] - own, n[runs.task] - mine
    mean = (others / np.maximum(company, 1))[runs.of]
    return Beside(np.where(company[runs.of] > 0, number - mean, 0.0), company[runs.of])
