"""Class-conditional Dawid-Skene: an accuracy per worker and class, errors spread evenly over the other classes.

    right[w, k] = P(worker w says k | true class is k);  another class: (1 - right[w, k]) / (K - 1)
    right[w, k] ~ Beta(hits, misses),  prior ~ Dirichlet(mass)
    trace       = log-likelihood + log of these priors without constants, which no step lowers

With hits = misses = mass = 1 this is maximum likelihood; hits 4.8, misses 3.2, mass 3 are the defaults of the R package rater.

Family: Dawid-Skene
Needs: workers
Reference: Pullin, Gurrin and Vukcevic (2021), rater, arXiv:2010.09335.
Also: class_conditional, DiagonalMultinomial; iterations=n_iter, maxiter; tol=epsilon
"""

from __future__ import annotations

import numpy as np

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...kernels import tables, tied
from ...kernels.em import at_least_one
from ...kernels.rows import log, normalise


def classcond(
    answers: Answers,
    *,
    tol: float = 1e-6,
    iterations: int = 100,
    hits: float = 1.01,
    misses: float = 1.01,
    mass: float = 1.0,
    gold: np.ndarray | None = None,
) -> Consensus:
    """Start from the vote shares, then alternate E and M steps.

    Parameters
    ----------
    tol
        Stop when the objective per task rises by less than this.
    iterations
        Give up after this many EM steps.
    hits
        First parameter of the Beta prior on each accuracy, at least 1.
    misses
        Second parameter of the Beta prior on each accuracy, at least 1.
    mass
        Parameter of the Dirichlet prior on the class shares, at least 1.
    """
    at_least_one(hits=hits, misses=misses, mass=mass)

    def update(sums: tables.Counts, _) -> tables.Tables:
        classes = len(sums.prior)
        diagonal = sums.counts[:, range(classes), range(classes)] + hits - 1
        right = tied.share(diagonal, sums.counts.sum(axis=2) + hits + misses - 2, 1 / classes)
        prior = normalise(sums.prior + mass - 1)
        penalty = (mass - 1) * log(prior).sum() + (hits - 1) * log(right).sum() + (misses - 1) * log(1 - right).sum()
        return tables.Tables(log(tied.spread(right)), log(prior), float(penalty))

    return tables.fit(
        answers, update, gold=gold, tol=tol, iterations=iterations, holds="log-posterior without constants"
    )
