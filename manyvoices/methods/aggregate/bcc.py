"""Bayesian Dawid-Skene (independent BCC), by mean-field variational Bayes.

    prior               ~ Dirichlet(mass)
    confusions[w, k, .] ~ Dirichlet(off + extra on the diagonal)
    trace               = evidence lower bound, which no step lowers

The Dirichlet prior says that workers are right more often than not; it keeps workers with few answers from being believed
or condemned on them, and its expectations in log space make the beliefs less certain than those of `ds`. A skill is the
expected share of right answers; its interval allows for the number of answers and for the doubt about each truth.

Family: Dawid-Skene
Needs: workers
Reference: Kim and Ghahramani (2012), Bayesian classifier combination, AISTATS; Simpson et al. (2013), arXiv:1206.1831.
Also: iBCC, VB, BayesianDawidSkene; iterations=n_iter, maxiter
"""

from __future__ import annotations

import numpy as np

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...kernels import tables
from ...kernels.dirichlet import expected_log, kl
from ...kernels.em import check, positive
from ...kernels.starts import first_tables


def bcc(
    answers: Answers,
    *,
    tol: float = 1e-6,
    iterations: int = 100,
    off: float = 0.5,
    extra: float = 2.0,
    mass: float = 1.0,
    gold: np.ndarray | None = None,
    start: Consensus | None = None,
) -> Consensus:
    """Start from the vote shares, then alternate the updates of beliefs and of Dirichlet parameters.

    Parameters
    ----------
    tol
        Stop when the evidence lower bound per task rises by less than this.
    iterations
        Give up after this many rounds.
    off
        Prior count of each confusion cell.
    extra
        Further prior count of the cells on the diagonal.
    mass
        Prior count of each class.
    """
    check(extra=extra)
    positive(off=off, mass=mass)
    classes = len(answers.classes)
    known = off + extra * np.eye(classes)

    def update(sums: tables.Counts, _) -> tables.Tables:
        nu, alpha = mass + sums.prior, known + sums.counts
        penalty = -kl(nu, np.full(classes, mass)) - kl(alpha, known)
        return tables.Tables(expected_log(alpha), expected_log(nu), penalty)

    def shown(_, sums: tables.Counts):
        alpha, nu = known + sums.counts, mass + sums.prior
        return alpha / alpha.sum(axis=2, keepdims=True), nu / nu.sum()

    return tables.fit(
        answers,
        update,
        gold=gold,
        tol=tol,
        iterations=iterations,
        holds="evidence lower bound",
        resume=None if start is None else lambda params: first_tables(answers, start, params),
        shown=shown,
    )
