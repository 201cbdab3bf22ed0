"""Independent confusion: every worker errs in a way of their own, and none copies another.

    confusions[w, k, :] ~ Dirichlet(1, ..., 1), its largest entry moved to l = k
    P(worker w says l | truth is k) = confusions[w, k, l]

Reference: Lefort, Charlier, Joly, Salmon (2024), Peerannot: classification for crowdsourced image datasets with Python,
Computo, doi:10.57750/qmaz-gr91.
"""

from __future__ import annotations

from ._crowd import Crowd, Size, answer, begin, dominant, rows


def independent_confusion(*, size: Size = Size()) -> Crowd:
    """Draw a confusion matrix for each worker, then the answers."""
    rng, truth = begin(size)
    confusions = dominant(rows(rng, size.workers, size.classes))
    return answer(rng, truth, confusions, size)
