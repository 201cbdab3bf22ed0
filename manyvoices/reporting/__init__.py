"""One file about a data set: first everything it says as a plain dict, then HTML, Markdown or JSON from that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..core import registry
from ..core.answers import Answers
from ..core.dataset import Dataset
from ..core.errors import BadCall
from ..core.files import check_writable, put_text

FORMS = {".html": "html", ".htm": "html", ".md": "text", ".json": "json"}


def reported(
    source_data: Dataset | Answers,
    out: Path,
    runs: Iterable[Path] = (),
    *,
    source: Path | None = None,
    how: Sequence[str] = (),
    method: str = "bcc",
    seed: int = 0,
) -> list[Path]:
    """Write a report in the form its name ends in; `source` is where the data came from, `how` the options it was read with,
    both for the record."""
    from .runs import folders
    from .summary import summarised

    if out.suffix.lower() not in FORMS or out.is_dir():
        raise BadCall(f"-o {out}: expected a name ending in {', '.join(sorted(set(FORMS) - {'.htm'}))}")
    check_writable(out)
    places = folders([Path(run) for run in runs])
    data = source_data
    if isinstance(data, Answers):
        data = Dataset(data, None, None, None, "answers", {}, [], {})
    facts = summarised(data, places, source=source, how=how, method=method, seed=seed)
    return [put_text(out, registry.find("report", FORMS[out.suffix.lower()])(facts))]
