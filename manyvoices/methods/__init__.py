"""The methods as functions, one folder a job: `manyvoices.methods.aggregate.ds`. A file is imported when it is asked for."""

from __future__ import annotations


def __getattr__(job: str):
    from importlib import import_module
    from pathlib import Path

    if not job.startswith("_") and (Path(__file__).parent / job).is_dir():
        return import_module(f"{__name__}.{job}")
    raise AttributeError(f"no job called {job!r}")
