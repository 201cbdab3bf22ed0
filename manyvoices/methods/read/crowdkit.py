"""crowd-kit: its data frames as CSV, `task,worker,label`, with the gold labels beside.

    crowd_labels.csv    task,worker,label    (older files: task,performer,label)
    gt.csv              task,label

A folder with both is what crowd-kit's own loader unpacks. A single file is read too; its gold labels may stand in
`X.gt.csv` beside `X.csv`, or in `gt.csv` beside `crowd_labels.csv`. They become the truth.

- A file with nothing but `task,worker,label` and no gold beside is an ordinary long table and is recognised as such;
  the content is the same. The old name `performer` is crowd-kit's own.
- crowd-kit's pairwise, text and segmentation frames are other data and not read.
- pandas, and so crowd-kit, takes labels such as `NA` for missing when it reads the file; here they are labels.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...core.dataset import Raw
from ...core.errors import BadInput
from ...core.files import writing
from ._columns import answers, listed, rows_of, side
from ._table import glance, read_table, write_table
from ._text import cautious, no_leftovers


@cautious
def recognise(path: Path) -> float:
    """Between `long` and the tools: sure only of what no other table has, the old name or the gold labels beside."""
    file, gold = _pair(path)
    columns = {name.strip() for name in (glance(file) or [[]])[0]}
    if columns == {"task", "performer", "label"}:
        return 0.8
    return 0.7 if columns == {"task", "worker", "label"} and gold else 0.0


def _pair(path: Path) -> tuple[Path, Path | None]:
    """The file of the answers and that of the gold labels."""
    file = path / "crowd_labels.csv" if path.is_dir() else path
    names = [f"{file.stem}.gt.csv", *(["gt.csv"] if file.name == "crowd_labels.csv" else [])]
    return file, next((file.with_name(name) for name in names if file.with_name(name).is_file()), None)


def crowdkit(path: Path) -> Raw:
    """Read crowd-kit's answers and gold labels."""
    file, gold = _pair(Path(path))
    table = read_table(file)
    columns = table.frame.columns
    worker = next((name for name in ("worker", "performer") if name in columns), None)
    if worker is None or not {"task", "label"} <= set(columns):
        raise BadInput(f"columns found: {listed(columns)}", file=file, expected="task, worker (or performer) and label")
    raw = answers(table, "crowdkit", task="task", worker=worker, label="label")
    if gold is None:
        return raw
    truth = side(gold, "task", "truth")
    return replace(raw, truth=truth.frame.select("task", "label"), notes=[*raw.notes, *truth.notes])


def write(data: Raw, out: Path) -> list[Path]:
    """A folder as crowd-kit unpacks it; for a name that ends in .csv, that file, and X.gt.csv for the gold labels."""
    out, rows = Path(out), rows_of(data, "crowdkit", named=True)
    single = out.suffix == ".csv"
    folder, names = (out.parent, (out.name, f"{out.stem}.gt.csv")) if single else (out, ("crowd_labels.csv", "gt.csv"))
    tables = {names[0]: rows.select("task", "worker", "label")}
    if data.truth is not None:
        tables[names[1]] = data.truth.select("task", "label")
    no_leftovers(folder, names, tables)
    with writing(folder) as new:
        for name, frame in tables.items():
            write_table(frame, new(name), name)
    return [folder / name for name in tables]
