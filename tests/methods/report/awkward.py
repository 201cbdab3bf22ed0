"""Data sets that a page could break on, made on the spot."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import numpy as np

from manyvoices.core.answers import Answers
from manyvoices.core.dataset import Dataset
from manyvoices.core.names import Names

SCRIPT = "</script><script>window.broken = 1</script>"
IMAGE = '<img src=x onerror="window.broken = 2">'
LONG = "w" * 3_000
RIGHT_TO_LEFT = "‏سؤال صعب‮ abc"
EMOJI = "👩‍👩‍👧‍👦 🏳️‍🌈"
LINES = "a line b  separators & 'quotes' \"double\" `ticks` | pipes"
TEMPLATE = "{{ 7 * 7 }} {% raw %} ${7 * 7}"
WORKERS = (SCRIPT, IMAGE, LONG, RIGHT_TO_LEFT, EMOJI, LINES, TEMPLATE, "plain")
CLASSES = ("</script>", IMAGE, RIGHT_TO_LEFT, "yes | no", "*bold* _and_ [link](javascript:alert(1))")


def dataset(rows, *, truth=None, items=None, scale="nominal", classes=None, tasks=(), workers=(), about=None, notes=None, dropped=None) -> Dataset:
    """From (task, worker, label) triples and {task: text}."""
    import polars as pl

    from manyvoices.core.items import Items

    answers = Answers.from_rows(rows, scale=scale, classes=classes, tasks=tasks, workers=workers)
    held = None
    if truth or items:
        ids = Names.ordered({*(truth or {}), *(items or {})})
        known = Names([*answers.classes, *sorted(set((truth or {}).values()) - set(answers.classes))])
        code = np.array([known.code([truth[t]])[0] if truth and t in truth else -1 for t in ids], np.int64)
        table = pl.DataFrame({"task": list(items), "text": list(items.values())}) if items else None
        held = Items(ids, known, code, table, None, None)
    return Dataset(answers, held, None, notes, "made", about or {}, [], dropped or {})


def crowd(workers=20, tasks=100, classes=3, per_task=5, seed=0, right=0.75):
    """Triples of workers who are right with about this probability, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=tasks)
    skill = np.clip(rng.normal(right, 0.1, workers), 0.34, 0.98)
    rows = []
    for t in range(tasks):
        for w in rng.permutation(workers)[:per_task]:
            said = truth[t] if rng.random() < skill[w] else rng.integers(classes)
            rows.append((f"t{t}", f"w{w}", f"c{said}"))
    return rows, {f"t{t}": f"c{k}" for t, k in enumerate(truth)}


def hostile() -> Dataset:
    """Names and texts that are markup, very long, right to left, or break JSON in a script."""
    rng = np.random.default_rng(1)
    texts = [SCRIPT, IMAGE, LONG, RIGHT_TO_LEFT, EMOJI, LINES, TEMPLATE, "-->", "nul \0 here"]
    tasks = [f"{text} {i}" for i in range(8) for text in texts]
    rows = [
        (task, worker, CLASSES[i % 5] if rng.random() < 0.7 else CLASSES[rng.integers(5)])
        for i, task in enumerate(tasks) for worker in WORKERS
    ]
    items = {task: f"{texts[i % len(texts)]} the text of it" for i, task in enumerate(tasks)}
    return dataset(rows, items=items, about={"name": SCRIPT, "label_names": str({c: f"<b>{c}" for c in CLASSES})},
                   dropped={SCRIPT: 40})


def picture(colour=(200, 30, 30), size=(32, 32)) -> bytes:
    from PIL import Image

    held = io.BytesIO()
    Image.new("RGB", size, colour).save(held, "PNG")
    return held.getvalue()


def pictures(folder: Path) -> Path:
    """A native folder with pictures as files, as data, missing ones, and one outside."""
    rows, truth = crowd(tasks=12, workers=6)
    folder.mkdir()
    (folder / "answers.csv").write_text("task,worker,label\n" + "".join(f"{','.join(row)}\n" for row in rows), encoding="utf-8")
    (folder / "truth.csv").write_text("task,label\n" + "".join(f"{t},{k}\n" for t, k in truth.items()), encoding="utf-8")
    (folder / "pic.png").write_bytes(picture())
    (folder / "large.png").write_bytes(picture(size=(1200, 800)))
    (folder / "broken.png").write_bytes(b"\x89PNG nothing")
    data = "data:image/png;base64," + base64.b64encode(picture((0, 90, 200))).decode()
    image = ["pic.png", "large.png", "broken.png", "absent.png", data, "data:image/png;base64,AAAA", "pic.png", "http://example.invalid/a.png"]
    lines = [json.dumps({"task": f"t{i}", "image": image[i % len(image)]}) for i in range(12)]
    (folder / "items.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
