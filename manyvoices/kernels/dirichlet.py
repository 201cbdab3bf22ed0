"""Rows that are Dirichlet distributed [..., K]: expectations of logs and distances."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, psi


def expected_log(alpha: np.ndarray) -> np.ndarray:
    return psi(alpha) - psi(alpha.sum(axis=-1, keepdims=True))


def log_beta(alpha: np.ndarray) -> np.ndarray:
    """log of the normaliser of each row."""
    return gammaln(alpha).sum(axis=-1) - gammaln(alpha.sum(axis=-1))


def kl(alpha: np.ndarray, prior: np.ndarray) -> float:
    """Sum over rows of KL(Dirichlet(alpha) || Dirichlet(prior))."""
    rows = log_beta(prior) - log_beta(alpha) + ((alpha - prior) * expected_log(alpha)).sum(axis=-1)
    return float(rows.sum())
