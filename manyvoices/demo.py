"""The demonstration: forty people with habits say what is on 400 little pictures, and every job has its turn.

The pictures are drawn here and so are the people: most are careful, some guess, one always says the same, and eight press
the key beside the right one. How blurred a picture is makes it hard for everybody.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from PIL import Image, ImageDraw, ImageFilter

from . import api
from .core.dataset import Dataset
from .core.files import put, put_text
from .core.labels import worker_table
from .reporting import reported
from .reporting.summary import quiet
from .runs import fingerprints, write_folder, write_manifest

KINDS = ("circle", "cross", "square", "star", "triangle")
PICTURES, PEOPLE, EACH, SIDE = 400, 40, 8, 32
TESTED = 3 * PICTURES // 10  # pictures that no network sees before
GUESSING, SAME, BESIDE = slice(25, 31), 31, slice(32, 40)  # who among the people has which habit
METHODS = ("mv", "wawa", "onecoin", "ds", "glad", "mace", "bcc")


def run(out: Path, seed: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Everything once; the result holds the path of a page to open."""
    say(f"1. {PEOPLE} people say what is on {PICTURES} little pictures, {EACH} answers a picture.")
    crowd = out / "crowd"
    files = made(crowd, np.random.default_rng(seed))
    data = api.read(crowd)
    assert data.answers is not None and data.items is not None
    alpha = api.agree(data, "alpha").where(np.array([0]))
    say(f"     Krippendorff's alpha {ranged(alpha.value[0], alpha.low[0], alpha.high[0])}")

    say(
        "2. The same answers by several methods. Right, where the truth is known, and right about answers hidden from them:"
    )
    with quiet():
        compared = api.compare(data, ",".join(METHODS), seed=seed)
    accuracy, predicted = by_method(compared, "accuracy"), by_method(compared, "predicts_label")
    for name in METHODS:
        say(f"     {name:8} {accuracy[name]:.3f}  {predicted[name]:.3f}  {'#' * round(40 * accuracy[name])}")

    chosen = api.aggregate(data, "bcc")
    files += write_folder(chosen, chosen.table(soft=True), out / "labels", data, None)
    files.append(write_manifest(out / "labels", ["aggregate", "bcc"], {"soft": True}, fingerprints(crowd, []), {}))
    workers = worker_table(chosen, data.answers.per_worker()).sort("skill", descending=True)
    say("3. Who can be trusted, by bcc (skill with its 95 % interval):")
    for row in [*workers.head(2).to_dicts(), *workers.tail(2).to_dicts()]:
        say(f"     {row['worker']}: {ranged(row['skill'], row['low'], row['high'])} from {row['n']} answers")

    seen = api.identify(data, "spam_or_dissent,another_vote", consensus=chosen).to_polars()
    files.append(put(out / "scores.csv", seen.write_csv))
    say("4. Few right answers have different reasons:")
    for line in reasons(seen):
        say(f"     {line}")
    asked = seen.filter(pl.col("score") == "another_vote").sort("value", descending=True)["name"].head(5)
    say(f"     Where one more answer helps most: pictures {', '.join(asked)}")

    models, learnt = taught(data, out, seed, say)
    page = out / "report.html"
    files += [*learnt, *reported(data, page, models, source=crowd, seed=seed)]
    say(f"{6 if models else 5}. Try it on your own answers: manyvoices report {crowd} -o report.html")
    say("   Open this page:")
    return {"accuracy": accuracy, "report": str(page.resolve()), "files": files}


def ranged(middle: float, low: float, high: float) -> str:
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"


def by_method(scores, score: str) -> dict[str, float]:
    table = scores.to_polars().filter(pl.col("score") == score, pl.col("of") == "method")
    return dict(zip(table["name"], table["value"], strict=True))


def reasons(seen: pl.DataFrame) -> list[str]:
    """What is said about workers, each sentence with those it is about."""
    rows = seen.filter(pl.col("score") == "spam_or_dissent", pl.col("of") == "worker")
    said: dict[str, list[str]] = {}
    for name, note in rows.select("name", "note").iter_rows():
        said.setdefault(note.partition(" in ")[0].partition(";")[0].partition(":")[0], []).append(name)
    return [f"{what}: {', '.join(names[:8])}" for what, names in said.items() if what and len(names) < PEOPLE // 2]


def taught(data: Dataset, out: Path, seed: int, say: Callable[[str], None]) -> tuple[list[Path], list[Path]]:
    """Where torch is installed: a network that learns from the votes, beside one that learns from majorities."""
    if find_spec("torch") is None:
        say("   (With torch installed this goes on with classifiers trained on the votes: make demo DEEP=1)")
        return [], []
    from .core import registry
    from .learning import trained_folder
    from .reporting.trained import rate

    say("5. A network looks at the pictures and learns from everybody's answers; tested on pictures it has not seen:")
    votes = put(out / "votes.csv", api.aggregate(data, "mv").table().write_csv)
    places, files = [], [votes]
    for title, job, method, labels in (
        ("majority votes", "train", "classifier", str(votes)),
        ("single answers", "learn", "crowdlayer", None),
    ):
        place = out / method
        options = {"encoder": "patches", "seed": seed}
        _, written, scores = trained_folder(job, data, registry.about(job, method), options, place, labels=labels)
        options = registry.about(job, method).defaults() | options
        written.append(
            write_manifest(place, [job, method], options, fingerprints(out / "crowd", []), {}, {"scores": scores})
        )
        say(f"     {title}: {ranged(*rate(round(scores['accuracy_test'] * TESTED), TESTED))} right")
        places.append(place)
        files += written
    return places, files


# a crowd and what it looks at ------------------------------------------------------------------------------------------


def made(folder: Path, rng: np.random.Generator) -> list[Path]:
    """Pictures, truth, splits, and everybody's answers with the time they took."""
    truth = rng.integers(len(KINDS), size=PICTURES)
    blur = rng.beta(1, 4, size=PICTURES)
    names = [f"{i:03d}" for i in range(PICTURES)]
    pictures = np.stack([drawn(KINDS[k], b, rng) for k, b in zip(truth, blur, strict=True)])
    parts = np.where(np.arange(PICTURES) % 10 < 6, "train", np.where(np.arange(PICTURES) % 10 < 7, "dev", "test"))
    held = io.BytesIO()  # savez would give a file another name
    np.savez_compressed(held, tasks=np.array(names), images=pictures)
    tables = {
        "answers.csv": answered(truth, blur, names, rng),
        "truth.csv": pl.DataFrame({"task": names, "label": [KINDS[k] for k in truth]}),
        "splits.csv": pl.DataFrame({"task": names, "split": parts.tolist()}),
    }
    return [
        put(folder / "images.npz", lambda file: file.write_bytes(held.getvalue())),
        *(put(folder / name, table.write_csv) for name, table in tables.items()),
        put_text(folder / "META.json", '{"name": "Little pictures", "question": "What is on the picture?"}\n'),
    ]


def answered(truth, blur, names, rng: np.random.Generator) -> pl.DataFrame:
    """Each picture goes to some of the people, who answer by their habits."""
    care = rng.uniform(0.8, 1, size=PEOPLE)
    care[GUESSING], care[SAME] = 0, 0
    task = np.repeat(np.arange(PICTURES), EACH)
    worker = rng.random((PICTURES, PEOPLE)).argsort(axis=1)[:, :EACH].ravel()
    beside = np.isin(worker, np.arange(PEOPLE)[BESIDE])
    meant = (truth[task] + beside) % len(KINDS)
    sure = rng.random(len(task)) < care[worker] * (1 - blur[task])
    label = np.where(sure, meant, rng.integers(len(KINDS), size=len(task)))
    label[worker == SAME] = 0
    seconds = rng.lognormal(np.log(np.where(care[worker] > 0, 6, 1.5)), 0.4).round(1)
    who = np.array([f"p{w + 1:02d}" for w in range(PEOPLE)])
    columns = {
        "task": np.array(names)[task],
        "worker": who[worker],
        "label": np.array(KINDS)[label],
        "seconds": seconds,
    }
    return pl.DataFrame(columns)


def drawn(kind: str, blur: float, rng: np.random.Generator) -> np.ndarray:
    """One picture [32, 32, 3]: drawn four times as large, turned, made smaller, blurred."""
    wide = 4 * SIDE
    ground, ink = rng.integers(190, 256, size=3), rng.integers(0, 90, size=3)
    page = Image.new("RGB", (wide, wide), tuple(int(c) for c in ground))
    pen, colour = ImageDraw.Draw(page), tuple(int(c) for c in ink)
    r, middle = wide * rng.uniform(0.32, 0.4), wide / 2
    box = (middle - r, middle - r, middle + r, middle + r)
    if kind == "circle":
        pen.ellipse(box, fill=colour)
    elif kind == "square":
        pen.rectangle(box, fill=colour)
    elif kind == "cross":
        pen.rectangle((middle - r, middle - r / 3, middle + r, middle + r / 3), fill=colour)
        pen.rectangle((middle - r / 3, middle - r, middle + r / 3, middle + r), fill=colour)
    else:
        corners = 3 if kind == "triangle" else 10
        reach = np.where((np.arange(corners) % 2 == 1) & (kind == "star"), 0.4 * r, r)
        turn = 2 * np.pi * np.arange(corners) / corners - np.pi / 2
        around = np.stack([middle + reach * np.cos(turn), middle + reach * np.sin(turn)], axis=1)
        pen.polygon([tuple(point) for point in around.tolist()], fill=colour)
    page = page.rotate(float(rng.uniform(-10, 10)), fillcolor=tuple(int(c) for c in ground))
    page = page.resize((SIDE, SIDE)).filter(ImageFilter.GaussianBlur(3 * float(blur)))
    return np.clip(np.asarray(page) + rng.normal(0, 5 + 20 * blur, (SIDE, SIDE, 3)), 0, 255).astype(np.uint8)
