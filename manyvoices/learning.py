"""From items with answers or labels to a trained model: which method, with which of the shared options, from which labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .core import registry
from .core.answers import Answers
from .core.consensus import Consensus
from .core.content import Content
from .core.dataset import Dataset
from .core.errors import BadCall, BadInput
from .core.files import check_writable, put_text
from .core.items import Items
from .core.names import Names, in_order
from .core.soft import Labels
from .inputs import frame
from .kernels.calibration import heated, reliability

if TYPE_CHECKING:
    import polars as pl

    from .nn.model import Learned

# what the numbers among the options may be, whichever method has them
LEAST = {"epochs": 1, "rounds": 1, "accumulate": 1, "dim": 1}
LEAST |= dict.fromkeys(("batch", "hidden", "warmup", "patience", "clip", "decay", "warm", "alpha", "tol", "ridge"), 0)
LEAST |= dict.fromkeys(("smoothing", "volume", "sparsity", "seed"), 0)
ABOVE = ("lr", "encoder_lr", "layer_decay", "lr_decay")
SHARES = ("dropout", "momentum")
WITHIN = ("prior",)
PARTS = ("balance",)


def taught(
    job: str,
    items: Items | None,
    method: str | Callable,
    options: Mapping[str, Any],
    *,
    answers: Answers | None = None,
    labels: Any = None,
    folder: Path | None = None,
) -> Learned:
    """Call the method with its options; with `folder` it leaves check points there and goes on from what it finds."""
    if items is None:
        raise BadInput("the data set has no items to learn from", expected="items with text, images, sound or features")
    given: dict[str, Any] = {}
    if callable(method):
        chosen = registry.about(job, method.__name__)
    else:
        asked = registry.parse(job, method)
        if len(asked) != 1:
            raise BadCall(f"one method at a time here; {method!r} names {len(asked)}")
        [(chosen, given)] = asked
    function = method if callable(method) else registry.find(job, chosen.name)
    own, training = divided(chosen, chosen.settle(dict(options)) | given, folder)
    from .nn.devices import within_memory

    if job == "train":
        told: Any = labels_of(labels, items)
        if "answers" in chosen.data and answers is not None and not (isinstance(labels, str) and labels == "truth"):
            own["answers"] = answers  # those to dev items choose among the weights
    elif (told := answers) is None:
        raise BadInput("the data set has items but no answers", expected="answers of workers, or labels and `train`")
    with within_memory(f"with {chosen.name}", "lower --batch or --hidden, or take an encoder of fewer numbers"):
        return function(items, told, **own, training=training)


def divided(chosen: registry.Method, options: Mapping[str, Any], folder: Path | None) -> tuple[dict[str, Any], Any]:
    """The method's own options, and those all trained methods share."""
    from .nn.training import Training

    shared = {option.name for option in chosen.options if option.group == "training"}
    checked(options)
    own = {name: value for name, value in options.items() if name not in shared}
    return own, Training(**{name: options[name] for name in shared if name in options}, folder=folder)


def checked(options: Mapping[str, Any]) -> None:
    """Numbers that cannot be meant, said before the work."""
    for name, value in options.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        expected = ""
        if not np.isfinite(value):
            expected = "a finite number"
        elif value < LEAST.get(name, -np.inf):
            expected = f"{LEAST[name]} or more"
        elif name in ABOVE and not value > 0:
            expected = "a number above 0"
        elif name in SHARES and not 0 <= value < 1:
            expected = "a number from 0 to below 1"
        elif name in WITHIN and not 0 < value < 1:
            expected = "a number between 0 and 1"
        elif name in PARTS and not 0 <= value <= 1:
            expected = "a number from 0 to 1"
        if expected:
            raise BadCall(f"--{name.replace('_', '-')} is {value}: expected {expected}")


# what the command line does beyond a call -----------------------------------------------------------------------------


def trained_folder(
    job: str,
    data: Dataset,
    method: registry.Method,
    options: Mapping[str, Any],
    out: Path,
    *,
    labels: str | None = None,
    resume: bool = False,
    inputs: Mapping[str, str] | None = None,
) -> tuple[Learned, list[Path], dict[str, float]]:
    """Train and save; check points lie in the folder until it is whole. Also how often it is right, split by split.
    `inputs` are the sha256 of what goes in, by file."""
    check_writable(out / "config.json")
    for left in out.glob(".checkpoint.safetensors.*.part"):  # of a run that was killed
        left.unlink(missing_ok=True)
    if not resume:
        (out / "checkpoint.safetensors").unlink(missing_ok=True)
    elif not (out / "checkpoint.safetensors").is_file() and (out / "config.json").is_file():
        raise BadCall(f"--resume: {out} holds a finished model; leave --resume out to train anew")
    registry.find(job, method.name)  # says what it needs that is not there
    from .nn import devices

    asked = {"job": job, "method": method.name, "options": dict(sorted(options.items()))}
    with calling(asked | {"labels": labels, "inputs": sorted((inputs or {}).values())}, out), devices.group():
        model = taught(job, data.items, method.name, options, answers=data.answers, labels=labels, folder=out)
        if devices.rank():
            return model, [], {}  # one process writes
        scores = right(model, data.items)
        return model, replace(model, about=model.about | {"scores": scores}).save(out), scores


@contextmanager
def calling(asked: dict[str, Any], out: Path) -> Iterator[None]:
    """A check point of another call must not be gone on from: what was asked for is kept beside it."""
    mark, point, text, new = (
        out / "call.json",
        out / "checkpoint.safetensors",
        json.dumps(asked, default=str),
        not out.exists(),
    )
    if point.is_file() and (not mark.is_file() or mark.read_text(encoding="utf-8") != text):
        raise BadCall(f"--resume: {out} was begun with other options or data; repeat those, or leave --resume out")
    put_text(mark, text)
    try:
        yield
    finally:
        if not point.is_file():  # whole, or nothing there to go on from
            mark.unlink(missing_ok=True)
            if new:
                with suppress(OSError):  # something lies in it
                    out.rmdir()


def right(model: Learned, items: Items) -> dict[str, float]:
    """Accuracy against the truth in each split, where some is known; of a calibrated model the calibration error before and
    after, on the dev items against what it was calibrated by, on the test items against the truth."""
    assert model.split is not None
    ids, split = model.split
    truth = items.truth_of(ids)
    if model.about["scale"] == "interval":
        return off(model, items, truth)
    fitted = model.about.get("calibration")
    found = {} if fitted is None else {"ece_dev_before": fitted["before"]["ece"], "ece_dev": fitted["after"]["ece"]}
    if not any(label is not None for label in truth):
        return found
    probs = model.predict(items)
    said = np.array(model.classes.to_list(), object)[probs.argmax(axis=1)]
    hit, known = said == np.array(truth, object), np.array([label is not None for label in truth])
    for code, name in enumerate(("train", "dev", "test")):
        if (rows := known & (split == code)).any():
            found[f"accuracy_{name}"] = float(hit[rows].mean())
    if fitted is not None and (test := known & (split == 2)).any():
        log_probs = np.log(np.maximum(probs[test], 1e-300))
        cold = np.exp(heated(log_probs, 1 / model.temperature)).max(axis=1)
        found["ece_test_before"] = reliability(cold, hit[test])["ece"]
        found["ece_test"] = reliability(probs[test].max(axis=1), hit[test])["ece"]
    return found


def off(model: Learned, items: Items, truth: list[str | None]) -> dict[str, float]:
    """Root of the mean squared error against truths that are numbers, split by split."""
    assert model.split is not None
    try:
        known = np.array([np.nan if value is None else float(value) for value in truth])
    except ValueError:
        return {}
    apart, split = (model.predict(items)[:, 0] - known) ** 2, model.split[1]
    return {
        f"rmse_{name}": float(np.sqrt(apart[rows].mean()))
        for code, name in enumerate(("train", "dev", "test"))
        if (rows := np.isfinite(apart) & (split == code)).any()
    }


def predictions(model: Learned, data: Dataset, workers: str | None, unseen: str) -> pl.DataFrame:
    """The table of contract.md: task, split, label, prob, p:CLASS, and worker where workers are asked for:
    "pairs" (those of the data's answers), "all", or names with commas. Of numbers: task, split, value, low, high."""
    import polars as pl

    from .nn import encoders
    from .nn.devices import within_memory

    if data.items is None:
        raise BadInput("the data set has no items to predict", expected="items with text, images, sound or features")
    content = encoders.usable(data.items)
    content.tell()
    split = splits_known(model, data.items, content.ids)
    names = content.ids.to_list()
    with within_memory("predicting", "predict fewer items, or workers, at a time"):
        if workers is None:
            rows, columns, probs = np.arange(len(names)), {}, model.predict(content)
        else:
            rows, codes, who = pairs(model, data, content, workers, unseen)
            columns, probs = {"worker": who}, model.predict_pairs(content, rows, codes)
    if model.about["scale"] == "interval":
        within = model.about.get("radius") if workers is None else None
        columns |= {"value": probs[:, 0], "low": None, "high": None}
        if within is not None:
            columns |= {"low": probs[:, 0] - within, "high": probs[:, 0] + within}
        found = {"task": [names[i] for i in rows], "split": [split[i] for i in rows]} | columns
        kinds = {name: pl.Float64 if name in ("value", "low", "high") else pl.String for name in found}
        return pl.DataFrame(found, schema_overrides=kinds)
    classes = np.array(model.classes.to_list(), object)
    best = probs.argmax(axis=1) if len(probs) else np.zeros(0, int)
    table = {"task": [names[i] for i in rows], "split": [split[i] for i in rows]} | columns
    table |= {"label": classes[best].tolist(), "prob": probs[np.arange(len(probs)), best]}
    table |= {f"p:{name}": probs[:, k] for k, name in enumerate(model.classes)}
    texts = dict.fromkeys(("task", "split", "worker", "label"), pl.String)
    return pl.DataFrame(table, schema_overrides={name: texts[name] for name in table if name in texts})


def pairs(model: Learned, data: Dataset, content: Content, workers: str, unseen: str):
    """Item rows, worker codes and worker names of the pairs asked for."""
    if "workers" not in model.can:
        raise BadCall(
            f"{model.about['method']} has no model of workers: leave --workers out, or use a model of `learn`"
        )
    assert model.workers is not None
    if workers == "pairs":
        if data.answers is None or data.answers.workers is None:
            raise BadInput("the data set has no answers", expected="answers; or --workers all, or --workers A,B")
        task, worker, _ = data.answers.rows()
        row = content.ids.code(data.answers.tasks, missing=-1)[task]
        once = np.unique(np.stack([row, worker], axis=1)[row >= 0], axis=0)
        known = model.worker_codes(data.answers.workers.to_list(), unseen="mean")
        if unseen == "error" and len(once):
            model.worker_codes([data.answers.workers[w] for w in np.unique(once[:, 1])], unseen)
        called = data.answers.workers.to_list()
        return once[:, 0], known[once[:, 1]], [called[w] for w in once[:, 1]]
    parts = [workers] if workers in model.workers else workers.split(",")  # an id may have a comma in it
    asked = dict.fromkeys(part.strip() for part in parts if part.strip())
    if not asked:
        raise BadCall("--workers names nobody: write --workers alone, --workers all, or --workers A,B")
    named = model.workers.to_list() if workers == "all" else list(asked)
    codes, n = model.worker_codes(named, unseen), len(content)
    return np.repeat(np.arange(n), len(named)), np.tile(codes, n), named * n


def splits_known(model: Learned, items: Items, ids: Names) -> list[str | None]:
    """What the model keeps of each item's split; of items it has not met, what the data say."""
    from .nn.model import SPLITS

    kept, code = model.split if model.split is not None else (Names([]), np.zeros(0, np.int8))
    said = (
        {}
        if items.split is None
        else dict(zip(*items.split.select("task", "split").to_dict(as_series=False).values(), strict=True))
    )
    at = kept.code(ids, missing=-1)
    return [SPLITS[code[i]] if i >= 0 else said.get(name) for i, name in zip(at, ids, strict=True)]


# labels ---------------------------------------------------------------------------------------------------------------


def labels_of(given: Any, items: Items) -> Labels:
    """What was handed over as labels: "truth", a Consensus, a mapping, a table with task and label (and p:CLASS) or value,
    or peerannot's .npy in the order of the tasks. Classes that the data state are known even where no label is of them."""
    if isinstance(given, Labels):
        return given
    if isinstance(given, Consensus):
        if given.value is not None:
            return numbers(given.tasks.to_list(), given.value)
        return Labels(given.tasks, given.classes, np.array(given.probs), given.scale)
    if isinstance(given, str) and given == "truth":
        known = np.flatnonzero(items.truth >= 0)
        if not len(known):
            raise BadInput("no item has a known truth", expected="truth.csv, or --labels FILE")
        return hard([items.ids[i] for i in known], [items.classes[k] for k in items.truth[known]], items)
    if isinstance(given, Mapping):
        return hard(list(given), [str(label) for label in given.values()], items)
    if given is None:
        raise BadCall("train needs labels: give --labels FILE, or --labels truth")
    if isinstance(given, (str, Path)) and Path(given).suffix == ".npy":
        return from_npy(Path(given), items)
    return from_table(given, items)


def hard(tasks: list[str], labels: list[str], items: Items, file: Path | None = None) -> Labels:
    """One class, or on an interval scale one number, a task."""
    if items.scale == "interval":
        try:
            return numbers(tasks, np.array([float(label) for label in labels]), file)
        except ValueError as error:
            raise BadInput(
                f"a label is no number ({error})", file=file, expected="numbers on an interval scale"
            ) from None
    names = all_classes(Names(in_order(set(labels))), items)
    return Labels(Names(tasks), names, np.eye(len(names))[names.code(labels)], ordered(items))


def numbers(tasks: list[str], values: np.ndarray, file: Path | None = None) -> Labels:
    if len(wrong := np.flatnonzero(~np.isfinite(values))):
        raise BadInput(
            f"the label of task {tasks[wrong[0]]!r} is {values[wrong[0]]}", file=file, expected="finite numbers"
        )
    return Labels(Names(tasks), Names([]), np.array(values, float)[:, None], "interval")


def all_classes(seen: Names, items: Items) -> Names:
    """The classes of the data and those that only labels have."""
    if items.stated is None or not len(items.stated):
        return seen
    return items.stated.with_others(seen)


def ordered(items: Items) -> str:
    return "ordinal" if items.scale == "ordinal" else "nominal"


def from_table(given: Any, items: Items) -> Labels:
    table, file = frame(given)
    if "value" in table.columns and "label" not in table.columns:
        table = table.rename({"value": "label"})
        items = replace(items, scale="interval")
    for name in ("task", "label"):
        if name not in table.columns:
            message = f"no column {name!r}; found {', '.join(table.columns)}"
            raise BadInput(message, file=file, expected="columns task, label and perhaps p:CLASS; or task, value")
    if len(set(table["task"].to_list())) < table.height:
        raise BadInput("a task stands twice", file=file, expected="one row a task")
    classes = [name.removeprefix("p:") for name in table.columns if name.startswith("p:")]
    if not classes or items.scale == "interval":
        table = table.drop_nulls("label")  # an abstention teaches nothing
        if not table.height:
            raise BadInput("no task has a label", file=file, expected="at least one")
        return hard(table["task"].to_list(), table["label"].to_list(), items, file)
    import polars as pl

    rows = table.select(pl.col([f"p:{name}" for name in classes]).cast(pl.Float64, strict=False)).to_numpy()
    told = ~((rows == 0).all(axis=1) & table["label"].is_null().to_numpy())  # no label and zeros: waum's tasks too hard
    wrong = ~np.isfinite(rows).all(axis=1) | (rows < 0).any(axis=1) | ~(np.abs(rows.sum(axis=1) - 1) <= 1e-3)
    if (wrong & told).any():
        at = int(np.flatnonzero(wrong & told)[0])
        raise BadInput(
            f"the probabilities of task {table['task'][at]!r} are {rows[at].tolist()}",
            file=file,
            line=at + 2,
            expected="numbers from 0 that sum to 1",
        )
    names = all_classes(Names.ordered(classes), items)
    probs = np.zeros((len(rows), len(names)))
    probs[:, names.code(classes)] = rows
    return Labels(Names(table.filter(told)["task"].to_list()), names, probs[told], ordered(items))


def from_npy(path: Path, items: Items) -> Labels:
    """Hard [n] or soft [n, K], a row a task in the order of ids; classes are those of the data, else 0, 1, 2, ... Of a folder
    with images in val/ and test/ too, peerannot labels the others only."""
    try:
        rows = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise BadInput(f"not a readable npy file ({error})", file=path, expected="labels [n] or [n, K]") from None
    ids, wanted = items.ids, f"{len(items.ids)} tasks"
    beside = path.with_suffix(".tasks.txt")
    if beside.is_file():  # as `aggregate -o X.npy` leaves it
        ids = Names(beside.read_text(encoding="utf-8").splitlines())
        wanted = f"{len(ids)} tasks"
    elif items.split is not None and rows.shape[:1] != (len(ids),):
        held = {task for task, split in items.split.select("task", "split").rows() if split in ("dev", "test")}
        ids = Names.ordered([task for task in ids if task not in held])
        wanted += f", or {len(ids)} of them to learn from"
    if rows.ndim not in (1, 2) or len(rows) != len(ids) or rows.dtype.kind not in "iufb":
        raise BadInput(
            f"{rows.dtype} {list(rows.shape)} for {wanted}", file=path, expected="a label for each, in order"
        )
    if items.scale == "interval" and rows.ndim == 1:
        return numbers(ids.to_list(), rows.astype(float), path)
    known = items.stated if items.stated is not None and len(items.stated) else items.classes
    if rows.ndim == 2:
        names = Names.numbered(rows.shape[1]) if len(known) != rows.shape[1] else known
        return Labels(ids, names, rows.astype(float), ordered(items))
    if (rows != np.floor(rows)).any():
        raise BadInput("labels that are no whole numbers", file=path, expected="class numbers; or --scale interval")
    there = np.flatnonzero(rows >= 0)
    if not len(there):
        raise BadInput("no task has a label", file=path, expected="at least one that is not -1")
    width = int(rows.max()) + 1
    names = known if len(known) >= width else Names.numbered(width)
    return Labels(Names([ids[i] for i in there]), names, np.eye(len(names))[rows[there].astype(int)], ordered(items))
