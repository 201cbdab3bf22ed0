"""The section on RUN folders that `train` and `learn` wrote: how it was learnt, how right it is, what it makes of the workers,
and the items on which it is furthest from what is held to be true."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import registry
from ..core.answers import Answers
from ..core.consensus import Consensus
from ..core.dataset import Dataset
from ..core.errors import BadInput
from ..core.words import count, ends, listed, share, value
from ..kernels.calibration import heated, reliability
from ..kernels.skills import beta_interval
from .content import contents

if TYPE_CHECKING:
    from ..nn.model import Learned

WANTED = "a folder that `manyvoices train` or `manyvoices learn` wrote"
POINTS, WORKERS, CLASSES, HARDEST = 200, 12, 12, 12
SPLITS = ("train", "dev", "test")


def is_model(place: Path) -> bool:
    return (place / "config.json").is_file() and (place / "model.safetensors").is_file()


def about_models(models: dict[str, Path], data: Dataset, answers: Answers, found: Consensus) -> dict[str, Any] | None:
    if not models:
        return None
    rows = [about_model(name, place, data, answers, found) for name, place in models.items()]
    return {"title": "Trained models", "says": models_say(rows), "rows": rows}


def about_model(name: str, place: Path, data: Dataset, answers: Answers, found: Consensus) -> dict[str, Any]:
    config = read(place)
    row: dict[str, Any] = {
        "run": name,
        "job": config["job"],
        "method": config["method"],
        "encoder": config["encoder"]["name"],
        "finetuned": bool(config["encoder"]["trained"]),
        "epochs": config["epochs"],
        "kept": config["kept_epoch"],
        "curve": curve(place),
        "splits": [],
        "reliability": reliabilities(config),
        "predicted": [],
        "workers": None,
        "items": [],
        "missing": "",
    }
    try:
        from ..nn.model import Learned

        model = Learned.load(place)
        if data.items is None:
            raise BadInput("the data have no items to predict")
        row |= predicted(model, data, answers, found, row["reliability"])
    except ModuleNotFoundError as error:
        row["missing"] = f"What it predicts is not shown: {registry.missing('that', error)}."
    except BadInput as problem:
        if problem.file == place:
            raise  # the folder is damaged; anything else is about these data
        row["missing"] = f"What it predicts is not shown: {problem}."
    row["says"] = model_says(row)
    return row


def read(place: Path) -> dict[str, Any]:
    try:
        config = json.loads((place / "config.json").read_text(encoding="utf-8"))
        for key in ("job", "method", "encoder", "epochs", "kept_epoch"):
            config[key]
        return config
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"cannot be read ({error})", file=place / "config.json", expected=WANTED) from None


def curve(place: Path) -> list[dict[str, Any]]:
    """Epoch, loss and held-out loss; evenly thinned where there are many epochs."""
    try:
        lines = (place / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines if line.strip()]
        made = [
            {"epoch": int(row["epoch"])}
            | ({"loss": float(row["loss"])} if "loss" in row else {})
            | ({"held_out": -float(row["dev"])} if "dev" in row else {})
            | ({"objective": float(row["objective"])} if "loss" not in row and "objective" in row else {})
            for row in rows
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    keep = np.unique(np.linspace(0, len(made) - 1, min(POINTS, len(made))).round().astype(int))
    return [made[i] for i in keep]


def reliabilities(config: dict[str, Any]) -> list[dict[str, Any]]:
    """What calibration found on the dev items, if there was one."""
    held = config.get("calibration")
    if not held:
        return []
    found = [{"of": f"probabilities, on {held['against']}", "temperature": held["temperature"]} | sides(held)]
    if "workers" in held:
        part = held["workers"]
        found.append(
            {"of": f"what workers say, on {held['against']}", "temperature": part["temperature"]} | sides(part)
        )
    return found


def sides(held: dict[str, Any]) -> dict[str, Any]:
    return {"before": held["before"], "after": held["after"]}


# what it predicts ------------------------------------------------------------------------------------------------------


def predicted(
    model: Learned, data: Dataset, answers: Answers, found: Consensus, calibrated: list[dict[str, Any]]
) -> dict[str, Any]:
    from ..nn import encoders

    content = encoders.usable(data.items)
    probs, ids = model.predict(content), content.ids.to_list()
    split = splits_of(model, ids)
    truth = data.items.truth_of(content.ids)
    place = found.tasks.code(content.ids, missing=-1)
    if model.about["scale"] == "interval":
        return numbers(probs[:, 0], data, found, ids, split, truth, place)
    labels = found.labels() if found.probs is not None else [None] * len(found.tasks)
    ours = [labels[t] if t >= 0 and found.n[t] > 0 else None for t in place]
    names = model.classes.to_list()
    said = np.array(names, object)[probs.argmax(axis=1)] if len(probs) else np.zeros(0, object)
    rows = [of_split(name, split, said, truth, ours) for name in SPLITS]
    return {
        "splits": [row for row in rows if row["items"]],
        "reliability": [*on_test(model, probs, said, truth, split), *calibrated],
        "predicted": [
            {"class": name, "items": int((said == name).sum()), "labels": sum(label == name for label in ours)}
            for name in names[: 10 * CLASSES]
        ],
        "workers": of_workers(model, content, answers),
        "items": furthest(data, model, probs, said, ids, split, truth, ours),
    }


def splits_of(model: Learned, ids: list[str]) -> np.ndarray:
    """[n] 0 train, 1 dev, 2 test; items the model has not met count as test."""
    if model.split is None:
        return np.full(len(ids), 2)
    at = model.split[0].code(ids, missing=-1)
    return np.where(at >= 0, model.split[1][at] if len(model.split[1]) else 2, 2)


def of_split(name: str, split: np.ndarray, said: np.ndarray, truth: list, ours: list) -> dict[str, Any]:
    at = np.flatnonzero(split == SPLITS.index(name))
    known = [i for i in at if truth[i] is not None]
    held = [i for i in at if ours[i] is not None]
    right = sum(said[i] == truth[i] for i in known)
    both = [i for i in known if ours[i] is not None]
    row: dict[str, Any] = {"split": name, "items": len(at), "known": len(known)}
    row |= dict(zip(("accuracy", "low", "high"), rate(right, len(known)), strict=True))
    row["consensus"] = sum(ours[i] == truth[i] for i in both) / len(both) if both else None
    row["same"] = sum(said[i] == ours[i] for i in held) / len(held) if held else None
    return row


def rate(right: int, of: int) -> tuple[float | None, float | None, float | None]:
    if not of:
        return None, None, None
    (low,), (high,) = beta_interval(np.array([right / of]), np.array([float(of)]))
    return right / of, float(low), float(high)


def on_test(
    model: Learned, probs: np.ndarray, said: np.ndarray, truth: list, split: np.ndarray
) -> list[dict[str, Any]]:
    at = [i for i in np.flatnonzero(split == 2) if truth[i] is not None]
    if not at:
        return []
    hit = np.array([said[i] == truth[i] for i in at], float)
    row = {"of": "probabilities, on the truth of the test items", "temperature": model.temperature}
    row["after"] = reliability(probs[at].max(axis=1), hit)
    row["before"] = row["after"]
    if model.temperature != 1:
        cold = np.exp(heated(np.log(np.maximum(probs[at], 1e-300)), 1 / model.temperature)).max(axis=1)
        row["before"] = reliability(cold, hit)
    return [row]


def of_workers(model: Learned, content: Any, answers: Answers) -> dict[str, Any] | None:
    """The matrices of those who answered most."""
    if "workers" not in model.can or answers.workers is None or len(model.classes) > CLASSES or not len(content):
        return None
    n = answers.per_worker()[answers.workers.code(model.workers, missing=-1)]
    n = np.where(answers.workers.code(model.workers, missing=-1) >= 0, n, 0)
    most = np.lexsort((np.arange(len(n)), -n))[:WORKERS]
    found = model.matrices(content, most)
    if found is None:
        return None
    says, free = found
    return {
        "classes": model.classes.to_list(),
        "of": len(n),
        "depends": bool(model.net.depends),
        "rows": [
            {"worker": model.workers[w], "n": int(n[w]), "says": says[i].tolist()}
            | {"free": None if free is None else free[i].tolist()}
            for i, w in enumerate(most.tolist())
        ],
    }


def furthest(
    data: Dataset,
    model: Learned,
    probs: np.ndarray,
    said: np.ndarray,
    ids: list,
    split: np.ndarray,
    truth: list,
    ours: list,
) -> list[dict[str, Any]]:
    """Items whose true class (where it is known, else that of the consensus) the model finds least probable."""
    held = [a if a is not None else b for a, b in zip(truth, ours, strict=True)]
    code = model.classes.code([text or "" for text in held], missing=-1)
    given = np.array([text is not None for text in held], bool)
    likely = np.where(code >= 0, probs[np.arange(len(probs)), code], 0.0) if len(probs) else np.zeros(0)
    order = [i for i in np.lexsort((np.arange(len(ids)), likely)) if given[i] and said[i] != held[i]][:HARDEST]
    shown = contents(data, [ids[i] for i in order])
    return [
        {"task": ids[i], "split": SPLITS[split[i]], "says": said[i], "prob": float(probs[i].max())}
        | {
            "held": held[i],
            "of_held": float(likely[i]),
            "known": truth[i] is not None,
            "content": shown.get(ids[i], []),
        }
        for i in order
    ]


def numbers(
    said: np.ndarray, data: Dataset, found: Consensus, ids: list, split: np.ndarray, truth: list, place: np.ndarray
) -> dict[str, Any]:
    """The same of a model that predicts numbers: how far they are off."""
    held = np.array([np.nan if text is None else as_number(text) for text in truth])
    if found.value is not None:
        values = np.where((place >= 0) & (found.n[place] > 0), found.value[place], np.nan)
        held = np.where(np.isfinite(held), held, values)
    apart = np.abs(said - held)
    rows = []
    for code, name in enumerate(SPLITS):
        at = (split == code) & np.isfinite(apart)
        if (split == code).any():
            off = float(np.sqrt((apart[at] ** 2).mean())) if at.any() else None
            rows.append({"split": name, "items": int((split == code).sum()), "known": int(at.sum()), "off": off})
    order = [i for i in np.lexsort((np.arange(len(ids)), -np.nan_to_num(apart, nan=-1))) if np.isfinite(apart[i])][
        :HARDEST
    ]
    shown = contents(data, [ids[i] for i in order])
    return {
        "splits": rows,
        "items": [
            {"task": ids[i], "split": SPLITS[split[i]], "says": value(said[i]), "held": value(held[i])}
            | {"known": truth[i] is not None, "content": shown.get(ids[i], [])}
            for i in order
        ],
    }


def as_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


# in words --------------------------------------------------------------------------------------------------------------


def model_says(row: dict[str, Any]) -> str:
    how = "trained along" if row["finetuned"] else "frozen"
    said = f"{row['job']} -s {row['method']} on {row['encoder']} ({how}), weights of epoch {row['kept']} of {row['epochs']}."
    test = next((part for part in row["splits"] if part["split"] == "test"), None)
    if test is None:
        return f"{said} {row['missing']}".strip()
    if test.get("off") is not None:
        return (
            f"{said} On {count(test['known'], 'test item')} it is {value(test['off'])} off (root of the mean square)."
        )
    if test.get("accuracy") is not None:
        said += f" On {count(test['known'], 'test item')} of known truth {share(test['accuracy'])} are right"
        said += f" (95 % interval {ends(test['low'], test['high'], share)})"
        if test["consensus"] is not None:
            said += f"; the consensus of the answers, which it has not seen there, {share(test['consensus'])}"
        said += "."
    elif test.get("same") is not None:
        said += f" On test items it says what the consensus says {share(test['same'])} of the time; no truth is known there."
    return said


def models_say(rows: list[dict[str, Any]]) -> list[str]:
    known = [
        (part, row["run"])
        for row in rows
        for part in row["splits"]
        if part["split"] == "test" and part.get("accuracy") is not None
    ]
    said = [f"{count(len(rows), 'model')} trained on these items. Test items had no part in the training."]
    if len(known) > 1:
        best = max(known, key=lambda pair: pair[0]["accuracy"])
        near = [name for part, name in known if part["high"] >= best[0]["low"] and name != best[1]]
        apart = f"cannot be told apart from {listed(near)}" if near else "leads clearly"
        said.append(f"{best[1]} is right most often on the test items ({share(best[0]['accuracy'])}) and {apart}.")
    return said
