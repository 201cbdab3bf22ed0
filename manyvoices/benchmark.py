"""`manyvoices bench SUITE`: cells of a TOML file, each in a process of its own, side by side with other packages.

    [[cell]]
    name = "ds 10^6"                      shown and matched by --only
    who = "manyvoices"                    or crowdkit, peerannot, cleanlab (benchmarks/peers), limit (a loop in C)
    job = "agree"                         aggregate, if it is not said; report from a file
    method = "ds"
    answers = 1000000                     of benchmarks/answers.py; workers, classes, per_task besides
    iterations = 20
    from = "codes"                        or csv, csv_shuffled: the whole way from a file of text ids to a file of labels
    against = "crowdkit"                  whose cell of the same name the ratio is to

A line of results has the seconds, memory, machine, versions and commit; a table with the ratios goes beside it. A suite
that begins with `script = "learn.py"` is that script's, in benchmarks/: it is handed the suite and does all of this itself.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import __version__
from .core.errors import BadCall, BadInput, ManyVoicesError, Unknown
from .core.files import put_text

SIZES = ("answers", "workers", "classes", "per_task")
BENCHMARKS = Path("benchmarks")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run(
    suite: str, out: Path | None, only: str | None, limit: float, say: Callable[[str], None], peer: str | None = None
) -> list[dict[str, Any]]:
    path = Path(suite) if suite.endswith(".toml") else BENCHMARKS / "suites" / f"{suite}.toml"
    if not path.is_file() and suite.endswith(".toml"):
        raise BadInput("no such file", file=path, expected="a TOML file with [[cell]] tables")
    if not path.is_file():
        raise Unknown.name(
            "suite in benchmarks/suites/ of this folder",
            suite,
            (p.stem for p in (BENCHMARKS / "suites").glob("*.toml")),
        )
    # a part of a suite does not take the place of the whole
    out = out or BENCHMARKS / "results" / f"{path.stem}{'' if only is None else '-only'}.jsonl"
    if script := script_of(path):
        return by_script(script, path, out, only, limit, say, peer)
    if peer is not None:
        raise BadCall(f"--peer: the suite {path} takes none; learn_peers does")
    cells = [cell for cell in cells_of(path) if only is None or only in cell["name"]]
    if not cells:
        raise BadCall(f"no cell of {path} has {only!r} in its name")
    if not (BENCHMARKS / "answers.py").is_file():
        raise ManyVoicesError(
            f"{BENCHMARKS}/answers.py makes the answers to measure on: run bench in a clone of manyvoices"
        )
    about = {"machine": machine(), "commit": commit(), "when": time.strftime("%Y-%m-%d"), "manyvoices": __version__}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for cell in cells:
            found = measured(cell, Path(folder), limit)
            rows.append(cell | found | about)
            say(f"{cell['name']:32} {cell['who']:12} {shown(rows[-1])}")
    put_text(out, "".join(json.dumps(row, default=str) + "\n" for row in rows))
    page = put_text(out.with_suffix(".md"), table(rows))
    say(f"wrote {out} and {page}")
    return rows


def script_of(path: Path) -> Path | None:
    """The script a suite is for, where it names one."""
    name = tables_of(path).get("script")
    if name is None:
        return None
    script = BENCHMARKS / str(name)
    if not script.is_file():
        raise BadInput(
            f"no {script}", file=path, expected="script = the name of a file in benchmarks/ of a clone of manyvoices"
        )
    return script


def by_script(
    script: Path, suite: Path, out: Path, only: str | None, limit: float, say: Callable[[str], None], peer: str | None
) -> list[dict[str, Any]]:
    """On one core. What the script prints is told as it comes; its lines of results are read back."""
    command = [sys.executable, str(script), str(suite), "--out", str(out), "--limit", str(limit)]
    command += [*(["--only", only] if only else []), *(["--peer", peer] if peer else [])]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=dict.fromkeys(THREADS, "1") | os.environ
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            say(line.rstrip())
    if running.returncode:
        raise ManyVoicesError(f"{script} ended with code {running.returncode}; what it had measured stands in {out}")
    say(f"wrote {out} and {out.with_suffix('.md')}")
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def tables_of(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"broken TOML: {error}", file=path, expected="[[cell]] tables") from None


def cells_of(path: Path) -> list[dict[str, Any]]:
    """The cells of a suite, each with what every cell has."""
    cells = tables_of(path).get("cell")
    if not isinstance(cells, list) or not cells:
        raise BadInput("no cells", file=path, expected="[[cell]] tables")
    for number, cell in enumerate(cells, 1):
        for name in ("name", "who"):
            if not isinstance(cell, dict) or not isinstance(cell.get(name), str):
                raise BadInput(f"cell {number} has no {name}", file=path, expected="name and who in every [[cell]]")
    return cells


def measured(cell: dict[str, Any], folder: Path, limit: float) -> dict[str, Any]:
    """One cell in a process of its own, ended at the limit."""
    data = inputs(cell, folder)
    command = {"manyvoices": ours, "limit": c_loop}.get(cell["who"], peer)(cell, data)
    start = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"> {limit:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"error": (done.stderr.strip().splitlines() or ["no result"])[-1][:200]}
    return json.loads(lines[-1]) | {"process_seconds": round(time.perf_counter() - start, 3)}


def inputs(cell: dict[str, Any], folder: Path) -> Path:
    """The answers of a cell, made once for all that share them."""
    sizes = {name: cell[name] for name in SIZES if name in cell}
    kind = cell.get("from", "codes")
    place = folder / "-".join([kind, *(f"{k}{v}" for k, v in sizes.items())])
    path = place / ("answers.npz" if kind == "codes" else "answers.csv")
    if not path.exists():
        place.mkdir()
        options = [f"--{name.replace('_', '-')}={value}" for name, value in sizes.items()]
        more = ["--shuffled"] if kind == "csv_shuffled" else []
        subprocess.run(
            [sys.executable, str(BENCHMARKS / "answers.py"), *options, *more, "--out", str(path)], check=True
        )
    return path


def ours(cell: dict[str, Any], data: Path) -> list[str]:
    return [sys.executable, "-m", "manyvoices.benchmark", json.dumps(cell), str(data)]


def c_loop(cell: dict[str, Any], data: Path) -> list[str]:
    return [
        sys.executable,
        str(BENCHMARKS / "limit" / "limit.py"),
        "--file",
        str(data),
        "--threads",
        str(cell.get("threads", os.cpu_count())),
    ]


def peer(cell: dict[str, Any], data: Path) -> list[str]:
    python = Path(".venv-peers/bin/python")
    if not python.exists():
        raise ManyVoicesError(
            "the other packages have no environment yet: python benchmarks/peers/make_env.py (or make bench)"
        )
    command = [
        str(python),
        str(BENCHMARKS / "peers" / "run.py"),
        cell["who"],
        cell["method"],
        str(data),
        "--repeat",
        str(cell.get("repeat", 1)),
    ]
    if "iterations" in cell:
        command += ["--iterations", str(cell["iterations"])]
    for name, value in cell.get("peer_options", {}).items():
        command += ["--option", f"{name}={value}"]
    if data.suffix == ".csv":
        command += ["--labels", str(data.with_name(f"{cell['who']}.csv"))]
    return command


def measure_ours(cell: dict[str, Any], data: Path) -> dict[str, Any]:
    """In a fresh process: seconds and peak memory of one method, from codes or from a file."""
    options = dict(cell.get("options", {}))
    if "iterations" in cell:
        options |= {"iterations": cell["iterations"]} | ({"tol": 0.0} if cell.get("fixed", True) else {})
    if data.suffix == ".csv":
        return from_file(cell, data, options)
    began = time.perf_counter()
    import numpy as np

    from . import api
    from .core.answers import Answers
    from .core.names import Names
    from .kernels import em

    base = peak_mb()
    with np.load(data) as file:
        held = {name: file[name] for name in ("task", "worker", "label", "truth", "probs")}
        workers, classes = int(file["workers"]), int(file["classes"])
    tasks = len(held["truth"])
    answers = api.place(
        Answers.from_codes(
            held["task"],
            held["worker"],
            held["label"],
            tasks=Names.numbered(tasks),
            workers=Names.numbered(workers),
            classes=Names.numbered(classes),
        ),
        cell.get("on"),
    )
    side = {"probs": held.pop("probs")} if cell["method"] == "crowdlab" else {}
    truth, n = held.pop("truth"), len(held["task"])
    held.clear()
    loaded, load = peak_mb(), time.perf_counter() - began
    fits, steps, found = [], None, None
    marks: list[float] = []  # when each step ended: a step is the time between two of them
    between: list[float] = []
    em.watch(lambda *_: marks.append(time.perf_counter()))
    for _ in range(cell.get("repeat", 3)):
        marks.clear()
        start = time.perf_counter()
        found = getattr(api, cell.get("job", "aggregate"))(answers, cell["method"], **options, **side)
        fits.append(time.perf_counter() - start)
        between += np.diff(marks).tolist()
        steps = None if getattr(found, "trace", None) is None else len(found.trace.values)
    result = {
        "seconds": {"load": load, "fit": min(fits)},
        "steps": steps,
        "accuracy": float((found.codes == truth).mean()) if hasattr(found, "codes") else None,
        "peak_mb": peak_mb(),
        "loaded_mb": loaded,
        "interpreter_mb": base,
    }
    if between:
        best = min(between)
        result["step"] = {"best": best, "median": float(np.median(between)), "ns": best / n / classes * 1e9}
    return result


def from_file(cell: dict[str, Any], data: Path, options: dict[str, Any]) -> dict[str, Any]:
    """The whole way as a user goes it: one process of the command line."""
    report = cell.get("job") == "report"
    out = data.with_name("manyvoices.html" if report else "manyvoices.csv")
    given = [f"--{name}={value}" for name, value in options.items()]
    asked = ["report", str(data)] if report else ["aggregate", str(data), "-s", cell["method"]]
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "manyvoices", *asked, *given, "-o", str(out), "-q"], check=True)
    seconds = time.perf_counter() - start
    return {
        "seconds": {"all": seconds},
        "peak_mb": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, 1),
    }


def peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def seconds_of(row: dict[str, Any]) -> float | None:
    """What a row is compared by: a step where steps were fixed, the whole way from a file, else the fit."""
    if "error" in row:
        return None
    if "step_seconds" in row:
        return row["step_seconds"]
    if row.get("from", "codes") != "codes":
        return row["seconds"].get("all", row["process_seconds"])
    if row.get("by", "fit") == "step" and row.get("step"):
        return row["step"]["best"]
    return row["seconds"]["fit"]


def shown(row: dict[str, Any]) -> str:
    seconds = seconds_of(row)
    if seconds is None:
        return row["error"]
    if row.get("by") == "step" or "ns" in row:
        ns = row["step"]["ns"] if row.get("step") else row["ns"]
        return f"{short(1000 * seconds)} ms ({short(ns)} ns)"
    return f"{short(seconds)} s"


def table(rows: list[dict[str, Any]]) -> str:
    """A cell a line: ours, theirs, how many times faster ours is."""
    first = rows[0]
    lines = [
        f"{first['when']}, {first['machine']}, manyvoices {first['manyvoices']} at {first['commit']}; "
        "the best of several, all in one run.",
        "",
        "| what | manyvoices | beside | its time | times faster | memory, ours / its |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        if row["who"] != "manyvoices":
            continue
        mine = seconds_of(row)
        others = [other for other in rows if other["name"] == row["name"] and other is not row]
        if not others:
            lines.append(f"| {row['name']} | {shown(row)} | | | | {row.get('peak_mb', 0):.0f} MB |")
        for other in others:
            theirs = seconds_of(other)
            ratio = times(theirs / mine) if mine and theirs else ""
            memory = (
                f"{row.get('peak_mb', 0):.0f} / {other['peak_mb']:.0f} MB"
                if "peak_mb" in other
                else f"{row.get('peak_mb', 0):.0f} MB"
            )
            lines.append(f"| {row['name']} | {shown(row)} | {other['who']} | {shown(other)} | {ratio} | {memory} |")
    return "\n".join(lines) + "\n"


def times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 20 else f"{ratio:.2g}"


def short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def machine() -> str:
    return f"{os.cpu_count()} cores {platform.machine()}, Python {platform.python_version()}"


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    print(json.dumps(measure_ours(json.loads(sys.argv[1]), Path(sys.argv[2]))))
