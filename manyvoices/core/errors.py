"""What can go wrong, and the exit code each kind of it means on the command line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SHOWN = 40  # names in a message


class ManyVoicesError(Exception):
    """Something that could not be done: memory, a missing extra, a fit that diverged."""

    code = 1


class BadInput(ManyVoicesError, ValueError):
    """The data are missing, unreadable or invalid. Says where, what stood there and what was expected."""

    code = 3

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        value: Any = None,
        expected: str | None = None,
    ):
        self.message, self.file, self.line, self.value, self.expected = message, file, line, value, expected
        place = "" if file is None else f"{file}: " if line is None else f"{file}, line {line}: "
        tail = "" if expected is None else f"; expected {expected}"
        super().__init__(f"{place}{message}{tail}")

    def __reduce__(self):  # keyword-only arguments, so that it crosses a process border
        return _rebuild, (self.message, self.file, self.line, self.value, self.expected)


def _rebuild(message, file, line, value, expected):
    return BadInput(message, file=file, line=line, value=value, expected=expected)


class BadCall(ManyVoicesError, ValueError):
    """The call itself is wrong: an option's value, two options that exclude each other."""

    code = 2
    expected: str | None = None


class Unknown(ManyVoicesError, LookupError):
    """A verb, method, option, format, question or worker nobody knows."""

    code = 2

    @classmethod
    def name(cls, kind: str, given: str, known: Iterable[str]) -> Unknown:
        """The same sentence wherever a name is not found, with the nearest name that exists."""
        known = sorted(known)
        near = difflib.get_close_matches(given.lower(), known, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        more = f", ... ({len(known)})" if len(known) > SHOWN else ""  # there may be 100,000 workers
        return cls(f"no {kind} called {given!r}.{hint} Known: {', '.join(known[:SHOWN]) or 'none'}{more}")


class GateFailed(ManyVoicesError):
    """A score does not meet what --min-SCORE or --max-SCORE asks."""

    code = 4


class NotWritable(ManyVoicesError, OSError):
    """The output cannot be written."""

    code = 1

    def __str__(self) -> str:
        return str(self.args[0])
