"""Macro F1: the mean of the F1 of every class, frequent or rare.

    F1[k]    = 2 right[k] / (predicted[k] + true[k]), the harmonic mean of precision and recall
    macro F1 = mean over classes of F1[k]
    of class = F1[k], with precision and recall in the note

A class that neither the truth nor a prediction has counts 0, as does one that is never predicted;
`present_only` averages over the classes that the truth has. A task left without a label is missed: it lowers
recall, not precision.

Family: labels
Needs: truth, classes
Reference: textbook; Opitz and Burst (2019), arXiv 1911.03347, on its two definitions (this is the mean of F1s).
Also: f1, f1_macro, macro_averaged_f1, copr_f1[against=answers]
"""

from __future__ import annotations

from typing import Literal

from ...core.draws import Draws
from ...core.scored import Scored
from ...core.scores import Scores
from ._f1 import by_class, f1s


def macro_f1(
    scored: Scored,
    *,
    against: Literal["truth", "answers"] = "truth",
    present_only: bool = False,
    draws: Draws = Draws(),
) -> Scores:
    """Average the F1 of the classes.

    Parameters
    ----------
    against
        The truth, or the most frequent answer.
    present_only
        Average over the classes that the truth has, instead of all.
    """
    return by_class(scored, "macro_f1", f1s, "macro", against, draws, present_only, rows=True)
