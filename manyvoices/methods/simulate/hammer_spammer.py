"""Hammers and spammers: some workers are always right, the others answer at random.

    hammer:  P(worker w says l | truth is k) = 1[l = k]
    spammer: P(worker w says l | truth is k) = 1 / K

Reference: Lefort, Charlier, Joly, Salmon (2024), Peerannot: classification for crowdsourced image datasets with Python,
Computo, doi:10.57750/qmaz-gr91.
"""

from __future__ import annotations

import numpy as np

from ._crowd import Crowd, Size, answer, begin, between


def hammer_spammer(*, ratio: float = 0.1, size: Size = Size()) -> Crowd:
    """The last int(ratio * workers) workers are the spammers.

    Parameters
    ----------
    ratio
        Share of spammers among the workers, from 0 to 1.
    """
    between("ratio", ratio, 0, 1)
    rng, truth = begin(size)
    K, spammers = size.classes, int(ratio * size.workers)
    confusions = np.concatenate([np.tile(np.eye(K), (size.workers - spammers, 1, 1)), np.full((spammers, K, K), 1 / K)])
    return answer(rng, truth, confusions, size, extra={"spammer": np.arange(size.workers) >= size.workers - spammers})
