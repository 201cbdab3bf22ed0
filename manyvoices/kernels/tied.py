"""Confusion tables with fewer free numbers, from expected counts [..., K, K]: each keeps the same average of hits."""

from __future__ import annotations

import numpy as np

from .rows import normalise


def share(hits: np.ndarray, n: np.ndarray, otherwise: float) -> np.ndarray:
    """hits / n, or `otherwise` where there is nothing to divide by."""
    return np.where(n > 0, hits / np.where(n > 0, n, 1), otherwise)


def spread(right: np.ndarray) -> np.ndarray:
    """[..., K] accuracies to [..., K, K]: an error hits each other class alike."""
    classes = right.shape[-1]
    eye = np.eye(classes)
    miss = (1 - right) / max(classes - 1, 1)
    return np.where(eye > 0, right[..., None] if classes > 1 else 1.0, miss[..., None])


def proportional(right: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """[..., K] accuracies to [..., K, K]: an error hits each other class as often as that class is true."""
    classes = len(prior)
    errors = normalise(np.where(np.eye(classes) > 0, 0.0, prior))
    if classes > 1:  # where no other class is ever true, all alike
        errors = np.where(errors.diagonal()[:, None] > 0, (1 - np.eye(classes)) / (classes - 1), errors)
    return np.where(np.eye(classes) > 0, right[..., None] if classes > 1 else 1.0, (1 - right[..., None]) * errors)


def tables(counts: np.ndarray, prior: np.ndarray, errors: str, smoothing: float) -> np.ndarray:
    """matrix: every cell free; diagonal, coin: one accuracy a class or in all; flat_...: errors as common as the classes."""
    classes = len(prior)
    counts = counts + smoothing
    if errors == "matrix":
        return normalise(counts)
    hits, n = np.einsum("...kk->...k", counts), counts.sum(axis=-1)
    if errors in ("coin", "flat"):
        right = share(hits.sum(axis=-1), n.sum(axis=-1), 1 / classes)[..., None] * np.ones(classes)
    else:
        right = share(hits, n, 1 / classes)
    return proportional(right, prior) if errors.startswith("flat") else spread(right)
