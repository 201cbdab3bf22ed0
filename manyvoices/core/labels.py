"""The tables of a consensus as contract.md names their columns, and the few lines that sum it up."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from .errors import BadCall

if TYPE_CHECKING:
    import polars as pl

    from .consensus import Consensus

TIES = {"lowest": "to the first class; --ties random or all", "random": "drawn", "all": "a row for each class"}


def label_table(
    found: Consensus, *, soft: bool, ties: str, seed: int, min_prob: float | None, answered: bool
) -> pl.DataFrame:
    import polars as pl

    rows = np.flatnonzero(found.n > 0) if answered else np.arange(len(found.tasks))
    task = np.array(found.tasks.to_list(), object)
    if found.probs is None:
        assert found.value is not None
        columns = {"task": pl.Series(task[rows].tolist(), dtype=pl.String), "value": found.value[rows]}
        columns |= {
            name: np.full(len(rows), np.nan) if side is None else side[rows]
            for name, side in (("low", found.low), ("high", found.high))
        }
        return pl.DataFrame(columns | {"n": found.n[rows]}).with_columns(pl.col("value", "low", "high").fill_nan(None))
    rows, codes = choose(found, rows, ties, seed)
    if min_prob is not None:  # a label that is withheld is one row, however many classes are tied
        again = np.r_[False, rows[1:] == rows[:-1]] & (found.probs[rows].max(axis=1, initial=0.0) < min_prob)
        rows, codes = rows[~again], codes[~again]
    probs = found.probs[rows]
    prob = probs[np.arange(len(rows)), np.maximum(codes, 0)] if len(found.classes) else np.zeros(len(rows))
    prob = np.where(codes < 0, probs.max(axis=1, initial=0.0), prob)
    notes = np.where(codes < 0, np.where(found.n[rows] > 0, found.note or "no label", "no answers"), "")
    if min_prob is not None:
        notes = np.where((prob < min_prob) & (codes >= 0), "needs review", notes)
        codes = np.where(prob < min_prob, -1, codes)
    names = np.array([*found.classes, None], object)
    table = pl.DataFrame(
        {
            "task": pl.Series(task[rows].tolist(), dtype=pl.String),
            "label": pl.Series(names[codes].tolist(), dtype=pl.String),
            "prob": prob,
            "n": found.n[rows],
        }
    )
    if (found.chosen is not None and found.note) or min_prob is not None:
        table = table.with_columns(note=pl.Series(notes.tolist(), dtype=pl.String).replace("", None))
    if soft:
        table = table.with_columns(**{f"p:{name}": probs[:, k] for k, name in enumerate(found.classes)})
    return table


def draw(task: str, seed: int) -> int:
    """A number from seed and name alone, so that a random tie does not depend on the other tasks."""
    digest = hashlib.blake2b(f"{seed}\0{task}".encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return int.from_bytes(digest, "little")


def choose(found: Consensus, rows: np.ndarray, ties: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and their codes under a tie rule; with `all` a task has a row for each of its best classes."""
    if ties not in TIES:
        raise BadCall(f"ties is {ties!r}; expected one of {', '.join(TIES)}")
    codes = found.codes[rows]
    if ties == "lowest" or found.chosen is not None or not len(found.classes):
        return rows, codes
    assert found.probs is not None
    probs = found.probs[rows]
    best = probs >= probs.max(axis=1, keepdims=True) - 1e-9
    if ties == "all":
        which, code = np.nonzero(best)
        return rows[which], code
    codes = codes.copy()
    for row in np.flatnonzero(best.sum(axis=1) > 1):
        tied = np.flatnonzero(best[row])
        codes[row] = tied[draw(found.tasks[rows[row]], seed) % len(tied)]
    return rows, codes


def worker_table(found: Consensus, n: np.ndarray) -> pl.DataFrame:
    """worker, n, skill, low, high, note."""
    import polars as pl

    assert found.workers is not None
    rows = len(found.workers)
    if found.skill is None:
        nothing = pl.Series([None] * rows, dtype=pl.Float64)
        columns = {
            "skill": nothing,
            "low": nothing,
            "high": nothing,
            "note": ["the method has no model of workers"] * rows,
        }
        return pl.DataFrame(
            {"worker": found.workers.to_list(), "n": n, **columns},
            schema_overrides={"worker": pl.String, "note": pl.String},
        )
    scores = found.skill.to_polars()
    note = (
        pl.when(pl.Series(n) == 0).then(pl.lit("no answers")).otherwise(pl.col("note").replace("", None)).alias("note")
    )
    return scores.select(
        worker="name", n=pl.Series(n), skill="value", low="low", high="high", note="note"
    ).with_columns(note)


def task_table(found: Consensus) -> pl.DataFrame:
    """task, n, difficulty, low, high."""
    import polars as pl

    if found.difficulty is None:
        nothing = pl.Series([None] * len(found.tasks), dtype=pl.Float64)
        return pl.DataFrame(
            {"task": found.tasks.to_list(), "n": found.n, "difficulty": nothing, "low": nothing, "high": nothing},
            schema_overrides={"task": pl.String},
        )
    return found.difficulty.to_polars().select(
        task="name", n=pl.Series(found.n), difficulty="value", low="low", high="high"
    )


def confusion_table(found: Consensus) -> pl.DataFrame | None:
    """worker, truth, label, prob; None where the method has no table of confusions."""
    import polars as pl

    if found.workers is None or (confusions := found.confusions) is None:
        return None
    classes, workers = len(found.classes), len(found.workers)
    names = pl.Series(found.classes.to_list(), dtype=pl.String)
    truth = np.tile(np.repeat(np.arange(classes), classes), workers)
    label = np.tile(np.arange(classes), workers * classes)
    who = pl.Series(found.workers.to_list(), dtype=pl.String)
    return pl.DataFrame(
        {
            "worker": who.gather(np.repeat(np.arange(workers), classes * classes)),
            "truth": names.gather(truth),
            "label": names.gather(label),
            "prob": confusions.ravel(),
        }
    )


def many(n: int, one: str, more: str = "") -> str:
    return f"{n} {one}" if n == 1 else f"{n} {more or one + 's'}"


def shortened(name: str) -> str:
    return name if len(name) <= 40 else name[:37] + "..."


def summary(found: Consensus, table: pl.DataFrame | None = None, ties: str = "lowest") -> str:
    """A few lines about a result; counts are those of the table that was written, where there is one."""
    answered = found.n > 0
    guessed = 0 if table is None else int((table["n"] == 0).sum())
    lines = [
        f"{many(answered.sum(), 'task')} labelled from {many(found.n.sum(), 'answer')}"
        + ("" if found.workers is None else f" of {many(len(found.workers), 'worker')}")
        + (f" in {many(len(found.classes), 'class', 'classes')}" if found.probs is not None else "")
        + (f", and {guessed} without answers at the prior" if guessed else "")
    ]
    if found.probs is not None and len(found.classes):
        labels = found.labels() if table is None else table["label"].to_list()
        counts = Counter(label for label in labels if label is not None)
        most = counts.most_common(8)
        lines.append(
            "labels: "
            + (", ".join(f"{shortened(name)} {n}" for name, n in most) or "none")
            + (", ..." if len(counts) > 8 else "")
        )
        if missing := sum(label is None for label in labels):
            why = (
                found.note
                if table is None or "note" not in table.columns
                else "; ".join(table["note"].drop_nulls().unique().sort())
            )
            lines.append(f"no label: {missing} ({why})")
        probs = found.probs[answered]
        tied = int(((probs >= probs.max(axis=1, keepdims=True) - 1e-9).sum(axis=1) > 1).sum()) if len(probs) else 0
        if tied and found.chosen is None:
            lines.append(f"ties: {tied} ({TIES[ties]})")
    state = {None: "", True: ", converged", False: ", NOT converged (raise --iterations or --rounds)"}[found.converged]
    if found.trace is None and found.converged is False:
        lines.append(state.removeprefix(", "))
    if found.trace is not None and found.trace.values:
        lines.append(f"{found.trace.holds}: {found.trace.values[-1]:.6g} after {len(found.trace.values)} steps{state}")
    return "\n".join(lines)
