"""The bar of long work on a terminal: what is being maximised, how far, how much longer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def bar() -> Iterator[None]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from .kernels import em

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} at most"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        line = shown.add_task("", total=None)

        def report(holds: str, count: int, iterations: int, value: float) -> None:
            shown.update(line, description=f"{holds} {value:.6g}", completed=count, total=iterations)

        em.watch(report)
        try:
            yield
        finally:
            em.watch(None)
