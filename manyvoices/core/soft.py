"""Labels to learn from: for each task a distribution over the classes, one class where the label is hard; or a number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .names import Names


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    tasks: Names
    classes: Names
    probs: np.ndarray  # [n, K], or numbers [n, 1] on an interval scale
    scale: str = "nominal"

    def __post_init__(self):
        self.probs.setflags(write=False)
