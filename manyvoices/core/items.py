"""Items: what the workers looked at, and the truth where it is known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .names import Names

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """n things, by id. `truth` has codes of `classes`, -1 where it is unknown."""

    ids: Names
    classes: Names
    truth: np.ndarray  # [n]
    table: pl.DataFrame | None  # task and its content columns, for the items that have any
    arrays: Path | None  # images.npz or features.npy
    split: pl.DataFrame | None  # task, split
    folder: Path | None = None  # where the paths of images and sounds begin
    scale: str = "nominal"  # of labels about them
    stated: Names | None = None  # classes that are stated, or seen in answers; None where neither is so
    strict: bool = False  # an item that cannot be used is an error

    def __post_init__(self):
        self.truth.setflags(write=False)

    def truth_of(self, tasks: Names) -> list[str | None]:
        """The truth of each of these tasks, as text; None where it is unknown."""
        at = self.ids.code(tasks, missing=-1)
        classes = [*self.classes, None]
        return [classes[self.truth[i]] if i >= 0 else None for i in at]
