"""The one loop of every iterative method: fold the step, note the objective, update, until it stops rising."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.answers import Answers
from ..core.consensus import Trace
from ..core.errors import BadCall, ManyVoicesError

Report = Callable[[str, int, int, float], None]
_report: list[Report] = []


def watch(report: Report | None) -> None:
    """Give every loop one listener (the command line hangs its progress bar there), or none."""
    _report[:] = [report] if report else []


def tell(holds: str, count: int, iterations: int, value: float) -> None:
    for report in _report:
        report(holds, count, iterations, value)


def iterate(
    answers: Answers,
    step: Callable,
    update: Callable,
    params: Any,
    *,
    tol: float,
    iterations: int,
    holds: str,
    monotone: bool = True,
    objective: Callable | None = None,
    leap: Callable | None = None,
) -> tuple[Any, Any, Trace, bool]:
    """Alternate `sums = fold(step, params)` and `params = update(sums, params)`.

    The objective is that of `params`: `sums.evidence + params.penalty` unless another is given. It must change by more
    than `tol` an answered task to go on. Gives the last params, their sums, the trace and whether it converged.

    With `leap(p0, p1, p2)` every second update is followed by a jump along its path. A jump that lands lower than where the
    path stood is taken back; the trace holds what was kept, so it rises with a jump as without.
    """
    check(tol=tol, iterations=iterations)
    enough = tol * max(int((answers.per_task() > 0).sum()), 1)
    values: list[float] = []
    path, fallback, kept = [params], None, None
    for count in range(1, iterations + 1):
        sums = answers.fold(step, params)
        value = float(objective(sums, params) if objective else sums.evidence + params.penalty)
        if fallback is not None and not value >= values[-1]:
            params, fallback, path = fallback, None, [fallback]
            continue
        if value in (math.inf, -math.inf) or value != value:
            raise ManyVoicesError(f"the {holds} became {value} at step {count}: the fit diverged")
        kept, leapt, fallback = (params, sums), fallback is not None, None
        values.append(value)
        tell(holds, count, iterations, value)
        if len(values) > 1 and not leapt and abs(values[-1] - values[-2]) <= enough:
            return params, sums, Trace(tuple(values), holds, monotone), True
        if count == iterations:
            break
        params = update(sums, params)
        path.append(params)
        if leap and len(path) == 3:
            fallback, params = params, leap(*path)
            path = [params]
    return *kept, Trace(tuple(values), holds, monotone), False


def squarem(flat: Callable, back: Callable) -> Callable:
    """A leap for `iterate`: along the parabola through three points of the path.

    The third step length of Varadhan and Roland (2008), doi:10.1111/j.1467-9469.2007.00585.x.

    `flat(params)` is one array, `back(array, params)` params again.
    """

    def leap(p0: Any, p1: Any, p2: Any) -> Any:
        a, b, c = flat(p0), flat(p1), flat(p2)
        first = b - a
        bend = c - b - first
        size = math.sqrt(float((bend * bend).sum()))
        if size == 0:
            return p2
        length = max(math.sqrt(float((first * first).sum())) / size, 1.0)
        return back(a + 2 * length * first + length**2 * bend, p2)

    return leap


def finite(**values: float) -> None:
    """Refuse what is no number one could compute with; whole numbers may have any length."""
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise BadCall(f"{name} is {value}: give a finite number")


def positive(**values: float) -> None:
    """Refuse option values that must be more than nothing."""
    for name, value in values.items():
        if not value > 0:
            raise BadCall(f"{name} is {value}: give more than 0")
    finite(**values)


def at_least_one(**values: float) -> None:
    for name, value in values.items():
        if not value >= 1:
            raise BadCall(f"{name} is {value}: give at least 1")
    finite(**values)


def check(*, tol: float = 0.0, iterations: int = 1, **at_least_zero: float) -> None:
    """Refuse option values no method can work with."""
    at_least_one(iterations=iterations)
    if not tol >= 0:
        raise BadCall(f"tol is {tol}: give 0 or more")
    for name, value in at_least_zero.items():
        if not value >= 0:
            raise BadCall(f"{name} is {value}: give 0 or more")
    finite(**at_least_zero)
