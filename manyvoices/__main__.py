"""`python -m manyvoices`."""

from .cli import entry

entry()
