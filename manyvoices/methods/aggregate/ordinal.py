"""Ordinal: a latent value of each task, seen by each worker with a bias, a scale and a noise of their own.

    interval labels   y = bias[w] + scale[w] z[t] + noise[w] N(0, 1),  z ~ Normal(mu, tau^2)
    ordered classes   the class whose thresholds enclose bias[w] + scale[w] z[t] + noise[w] N(0, 1),  z ~ Normal(0, 1)
    priors            bias ~ Normal(0, 1), scale ~ Normal(1, 1/2) (interval) or log scale ~ Normal(0, 1/4) (classes),
                      noise^2 ~ InverseGamma(2, 1/2) (interval) or log noise ~ Normal(0, 1/2) (classes)
    trace             = log-likelihood + log of these priors without constants, which no step lowers

For interval labels the fit is EM in closed form and gives a value with its interval; for ordered classes the latent value
lives on a grid of 41 points, the fit is generalised EM, and the label is the class the latent value falls into. The skill of
a worker is the correlation between what they say and the latent value. The form of the model is ours.

Family: ordered labels
Needs: workers, ordered
Reference: after Raykar et al. (2010), Learning from crowds, JMLR 11, and the classical model of one factor.
Also: bias_scale_noise; iterations=n_iter, maxiter
"""

from __future__ import annotations

from typing import Literal

from ...core.answers import Answers
from ...core.consensus import Consensus
from ...kernels.em import check
from . import _line, _steps


def ordinal(
    answers: Answers,
    *,
    tol: float = 1e-6,
    iterations: int = 300,
    free_scale: Literal["auto", "yes", "no"] = "auto",
    rule: Literal["mode", "mean"] = "mode",
    unit: float | None = None,
) -> Consensus:
    """Fit by EM.

    Parameters
    ----------
    tol
        Stop when the objective per task rises by less than this.
    iterations
        Give up after this many rounds.
    free_scale
        Estimate each worker's scale: yes, no (all 1), or auto (interval labels with 20 answers a worker or
        more, whose mean is within a thousand units of 0).
    rule
        Ordered classes: the most probable class (mode) or the class of the latent value's mean.
    unit
        Interval labels: the unit of the priors; the labels' standard deviation if not given.
    """
    check(tol=tol, iterations=iterations)
    if answers.scale == "interval":
        return _line.fit(answers, tol, iterations, free_scale, unit)
    return _steps.fit(answers, tol, iterations, free_scale == "yes", rule)
