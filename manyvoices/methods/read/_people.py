"""Prolific's demographic export beside the answers becomes the table of workers.

It is found beside them rather than named: whatever tool asked the questions, the ids are Prolific's, and no reader
needs an option for it. `prolific*.csv` is what Prolific calls the file.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl

from ...core.dataset import Raw
from ...core.errors import BadInput
from ...core.labels import many
from ._table import read_table

GONE = ("DATA_EXPIRED", "CONSENT_REVOKED")
PRIVATE = re.compile(
    r"\b((?:user|full|first|last|nick|sur|screen)?name|authors?|(?:e-?)?mails?|ip|ip ?address|phone|address|country|residence|"
    r"birthplace|city|town|state|region|province|county|zip|zip ?code|post ?code|location|locale|latitude|longitude|lat|"
    r"lon|lng|gps|geo|place)\b"
)
LEFT = re.compile(r"submission id|completion code|custom study.*|.* at")  # of the visit, not of the person


def private(name: str) -> bool:
    """A column that tells who or where somebody is."""
    words = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    return bool(PRIVATE.search(re.sub(r"[^a-z0-9-]+", " ", words.lower())))


def beside(raw: Raw, path: Path) -> Raw:
    """The answers with the people Prolific knows, if its file lies in their folder and is about them."""
    if raw.rows is None or "worker" not in raw.rows.columns or not path.exists():
        return raw
    people = set(raw.rows["worker"].unique())
    for file in sorted((path if path.is_dir() else path.parent).glob("[Pp]rolific*.csv")):
        if file == path:
            continue
        try:
            found = demographics(file, people)
        except BadInput as error:  # a file nobody named
            raw = replace(raw, notes=[*raw.notes, f"{file.name}: not read as a table of workers ({error.message})"])
            continue
        if found is not None:
            table, notes = found
            joined = table if raw.workers is None else raw.workers.join(table, on="worker", how="full", coalesce=True)
            return replace(raw, workers=joined, notes=[*raw.notes, *notes])
    return raw


def demographics(file: Path, people: set[str]) -> tuple[pl.DataFrame, list[str]] | None:
    frame = read_table(file).frame
    names = {name.strip().lower(): name for name in frame.columns}
    id = names.get("participant id") or names.get("participant_id")
    if id is None or ("submission id" not in names and "session_id" not in names):
        return None
    kept = [name for plain, name in names.items() if name != id and not LEFT.fullmatch(plain) and not private(plain)]
    table = pl.DataFrame(
        [frame[id].alias("worker"), *(frame[name].alias("worker_" if name == "worker" else name) for name in kept)]
    )
    table = table.drop_nulls("worker").unique("worker", keep="first", maintain_order=True)
    known = people & set(table["worker"])
    if not known:
        return None
    table, gone = without_gone(table, file)
    return table, [f"{file.name}: attributes of {len(known)} of {len(people)} workers", *gone]


def without_gone(table: pl.DataFrame, file: Path) -> tuple[pl.DataFrame, list[str]]:
    """The same table of workers with nothing where Prolific no longer says what it knew."""
    gone = sum(int(table[name].is_in(GONE).sum() or 0) for name in table.columns[1:])
    table = table.with_columns(
        [pl.when(~table[name].is_in(GONE)).then(table[name]).alias(name) for name in table.columns[1:]]
    )
    return table, [f"{file.name}: {many(gone, 'value')} expired at Prolific, missing here"] if gone else []
