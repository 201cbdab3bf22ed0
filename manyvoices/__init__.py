"""Learn from people who disagree: consensus, workers, tasks and models from several people's labels for the same things."""

from __future__ import annotations

__version__ = "0.1.0"

_PUBLIC = {
    "aggregate": "api",
    "agree": "api",
    "compare": "api",
    "convert": "api",
    "evaluate": "api",
    "identify": "api",
    "inspect": "api",
    "learn": "api",
    "load": "api",
    "predict": "api",
    "read": "api",
    "report": "api",
    "simulate": "api",
    "train": "api",
    "write": "api",
    "Answers": "core.answers",
    "Consensus": "core.consensus",
    "Dataset": "core.dataset",
    "Items": "core.items",
    "Names": "core.names",
    "Scores": "core.scores",
    "BadInput": "core.errors",
    "ManyVoicesError": "core.errors",
}
__all__ = ["__version__", "methods", *_PUBLIC]


def __getattr__(name: str):  # the names come with their first use, so that `manyvoices --help` loads nothing heavy
    from importlib import import_module

    if name in _PUBLIC:
        return getattr(import_module(f"manyvoices.{_PUBLIC[name]}"), name)
    if name == "methods":
        return import_module("manyvoices.methods")
    raise AttributeError(f"module 'manyvoices' has no attribute {name!r}")


def __dir__():
    return __all__
