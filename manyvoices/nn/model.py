"""What a trained network can be asked, and the folder it is kept in. `load` runs no code from the folder."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from ..core import registry
from ..core.answers import SCALES
from ..core.content import Content
from ..core.errors import BadInput, Unknown
from ..core.files import put, put_text
from ..core.items import Items
from ..core.names import Names
from . import encoders
from .batches import moved
from .nets import Crowd, Net, Seen
from .targets import AIMS
from .training import Training

SPLITS = ("train", "dev", "test")
SOME = 64  # workers that stand for everybody


@dataclass(frozen=True, eq=False)
class Learned:
    """A network with the names it speaks of. Of a worker it does not know, `-1`, it says what workers say on average:
    the mean over all of them, or over 64 evenly chosen ones."""

    net: Crowd
    classes: Names
    workers: Names | None
    about: dict[str, Any]
    metrics: list[dict[str, float]]
    split: tuple[Names, np.ndarray] | None = None  # ids of the items it was trained beside, and their split
    temperature: float = 1.0
    worker_temperature: float = 1.0  # of what workers say

    @property
    def can(self) -> frozenset[str]:
        kind = type(self.net)
        own = kind.said is not Crowd.said or kind.tables is not Crowd.tables
        return frozenset({"truth", "workers"} if own else {"truth"})

    @property
    def width(self) -> int:
        """Classes; 1 where it predicts numbers."""
        return max(1, len(self.classes))

    def predict(self, items: Items | Content) -> np.ndarray:
        """P(truth) of each item with content, in the order of ids: [n, K]; or the numbers it predicts: [n, 1]."""
        with torch.no_grad():
            found = [self.heated(self.net.truth(x)) for x, _ in self.batches(items)]
        return np.concatenate(found) if found else np.zeros((0, self.width))

    def predict_pairs(self, items: Items | Content, at: np.ndarray, worker: np.ndarray) -> np.ndarray:
        """P(worker says l about item) for n pairs of codes: [n, K]; or the number the worker would say: [n, 1]."""
        if "workers" not in self.can:
            raise BadInput(f"{self.about['method']} has no model of workers", expected="a model made by `learn`")
        content = items if isinstance(items, Content) else encoders.usable(items)
        order = np.argsort(at, kind="stable")
        cut = np.searchsorted(at[order], np.arange(len(content) + 1))
        found = np.zeros((len(at), self.width))
        for x, rows in self.batches(content):
            some = order[cut[rows[0]] : cut[rows[-1] + 1]]
            if len(some):
                with torch.no_grad():
                    seen = self.net(x)
                    found[some] = self.said(seen, torch.from_numpy(at[some] - rows[0]), torch.from_numpy(worker[some]))
        return found

    def matrices(self, items: Items | Content, worker: np.ndarray) -> tuple[np.ndarray, np.ndarray | None] | None:
        """What these workers say by the truth [n, K, K], rows sum to one (where it depends on the item, the mean over the
        first 256), and the free numbers it is made of, where the method has such. Nothing where it has no confusions."""
        if type(self.net).tables is Crowd.tables or self.net.aim == "number":
            return None
        x, rows = next(self.batches(items))
        codes, some = torch.from_numpy(worker), len(rows) if self.net.depends else 1
        with torch.no_grad():
            seen, made = self.net(x), []
            device, at = seen.logits.device, torch.arange(some)
            for code in codes.tolist():
                who = torch.full((some,), code, device=device)
                made.append(self.net.tables(seen, at.to(device), who).double().exp().mean(dim=0).cpu())
            free = self.net.free()
            numbers = None if free is None else free[codes.to(free.device)].double().cpu().numpy()
        return torch.stack(made).numpy(), numbers

    def said(self, seen: Seen, at: torch.Tensor, worker: torch.Tensor) -> np.ndarray:
        device = seen.logits.device
        at, worker = at.to(device), worker.to(device)
        known = worker >= 0
        found = torch.zeros((len(at), self.width), dtype=torch.float64)
        if known.any():
            found[known.cpu()] = self.spoken(seen, at[known], worker[known]).cpu()
        if (~known).any():
            everybody = np.unique(np.linspace(0, self.net.workers - 1, min(SOME, self.net.workers)).round()).astype(int)
            asked, which = at[~known].unique(return_inverse=True)
            pairs = asked.repeat_interleave(len(everybody)), torch.from_numpy(everybody).to(device).repeat(len(asked))
            each = self.spoken(seen, *pairs).reshape(len(asked), len(everybody), -1).mean(dim=1)
            found[(~known).cpu()] = each[which].cpu()
        return (found if self.net.aim == "number" else found / found.sum(dim=1, keepdim=True)).numpy()

    def spoken(self, seen: Seen, at: torch.Tensor, worker: torch.Tensor) -> torch.Tensor:
        found = self.net.said(seen, at, worker).double()
        if self.net.aim == "number":
            return self.in_units(found)
        return found.exp() if self.worker_temperature == 1 else (found / self.worker_temperature).softmax(-1)

    def in_units(self, z: torch.Tensor) -> torch.Tensor:
        mean, deviation = self.about["unit"]
        return mean + deviation * z

    def heated(self, log_probs: torch.Tensor) -> np.ndarray:
        if self.net.aim == "number":
            return self.in_units(log_probs.double()).cpu().numpy()
        return (log_probs.double() / self.temperature).softmax(-1).cpu().numpy()

    def batches(self, items: Items | Content, size: int = 256) -> Iterator[tuple[Any, np.ndarray]]:
        content = items if isinstance(items, Content) else encoders.usable(items)
        if content.kind != self.about["encoder"]["kind"]:
            raise BadInput(
                f"the model was trained on {self.about['encoder']['kind']}, and these items are {content.kind}"
            )
        encoder = self.about["encoder"]
        content = content.only(tuple(encoder["columns"]))
        precision = encoder.get("precision", "auto")
        how = Training(encoder=encoder["name"], finetune=encoder["trained"], precision=precision)
        found = encoders.encoded(content, how)
        if found.width != self.about["encoder"]["width"]:
            raise BadInput(f"items of {found.width} numbers; the model was trained on {self.about['encoder']['width']}")
        device = next(self.net.parameters()).device
        self.net.eval()
        for a in range(0, len(content), size):
            rows = np.arange(a, min(a + size, len(content)))
            yield moved(found.source(rows, None), device), rows

    def worker_codes(self, names: list[str], unseen: str = "error") -> np.ndarray:
        """Codes of workers; of those it does not know -1, or an error that names one."""
        assert self.workers is not None
        codes = self.workers.code(names, missing=-1)
        if unseen == "error" and (codes < 0).any():
            raise Unknown(
                f"the model does not know the worker {names[int(np.argmin(codes))]!r}; --unseen mean predicts the average"
            )
        return codes

    # the folder --------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> list[Path]:
        from safetensors.torch import save_file

        path = Path(path)
        tensors = {name: t.detach().cpu().contiguous().clone() for name, t in self.net.state_dict().items()}
        config = self.about | {
            "manyvoices": version("manyvoices"),
            "classes": self.classes.to_list(),
            "workers": None if self.workers is None else self.workers.to_list(),
            "temperature": self.temperature,
            "worker_temperature": self.worker_temperature,
        }
        files = [put(path / "model.safetensors", lambda file: save_file(tensors, file))]
        if self.split is not None:
            rows = zip(self.split[0], self.split[1], strict=True)
            files.append(put(path / "splits.csv", lambda file: write_splits(file, rows)))
        files.append(put_text(path / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in self.metrics)))
        files.append(put_text(path / "README.md", card(self)))
        files.append(put_text(path / "config.json", json.dumps(config, indent=1, ensure_ascii=False) + "\n"))
        (path / "checkpoint.safetensors").unlink(missing_ok=True)
        return files

    @classmethod
    def load(cls, path: str | Path) -> Learned:
        from safetensors.torch import load_file

        path = Path(path)
        expected = "a folder that `manyvoices train` or `learn` wrote"
        if not (path / "config.json").is_file():
            raise BadInput("no config.json in it", file=path, expected=expected)
        try:
            config = json.loads((path / "config.json").read_text(encoding="utf-8"))
            tensors = load_file(path / "model.safetensors")
            kind = getattr(method_file(config["job"], config["method"]), config["class"])
            classes, workers = Names(config["classes"]), config["workers"]
            body, width = encoders.body_of(config["encoder"])
            aim, size = config["aim"], max(1, len(classes))
            net = Net(body, width, size, config["hidden"], 0.0, aim)
            model = kind(net, 0 if workers is None else len(workers), size, **config["options"])
            model.options, model.aim = config["options"], aim
            model.load_state_dict(tensors)
            split, heat = read_splits(path), used_later(config)
        except BadInput:
            raise
        except Exception as error:  # whatever a damaged file does, it is one fact to the user
            why = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise BadInput(f"cannot be read ({why})", file=path, expected=expected) from error
        own = ("manyvoices", "classes", "workers", "temperature", "worker_temperature")
        about = {name: value for name, value in config.items() if name not in own}
        known = None if workers is None else Names(workers)
        return cls(model.eval(), classes, known, about, [], split, *heat)

    def with_radius(self, value: float | None) -> Learned:
        """Numbers with intervals that reach so far to both sides."""
        return replace(self, about=self.about | {"radius": value})

    def with_temperature(self, value: float) -> Learned:
        return replace(self, temperature=value)


def method_file(job: str, method: str) -> ModuleType:
    """The file of a method of ours, and nothing that leads elsewhere."""
    if method not in registry.names(job):
        raise ValueError(f"no method {job} {method}")
    return registry.module(job, method)


def used_later(config: dict[str, Any]) -> tuple[float, float]:
    """Both temperatures; what else is not needed until something is predicted must be there and make sense too."""
    (mean, deviation), columns = config["unit"], config["encoder"]["columns"]
    heat = config["temperature"], config.get("worker_temperature", 1.0)
    if not all(math.isfinite(x) for x in (mean, deviation, *heat)) or min(heat) <= 0:
        raise ValueError(f"unit {config['unit']}, temperatures {heat}")
    if config["scale"] not in SCALES or config["aim"] not in AIMS or not isinstance(columns, list):
        raise ValueError(f"scale {config['scale']}, aim {config['aim']}, columns {columns}")
    return heat


def write_splits(file: Path, rows) -> None:
    import polars as pl

    task, split = zip(*rows, strict=True)
    pl.DataFrame({"task": list(task), "split": [SPLITS[code] for code in split]}).write_csv(file)


def read_splits(path: Path) -> tuple[Names, np.ndarray] | None:
    import polars as pl

    if not (path / "splits.csv").is_file():
        return None
    table = pl.read_csv(path / "splits.csv", infer_schema=False)
    code = {name: i for i, name in enumerate(SPLITS)}
    return Names(table["task"].to_list()), np.array([code[name] for name in table["split"]], np.int8)


def calibration(about: dict[str, Any]) -> list[str]:
    """How far the probabilities are off, in words."""
    found = about.get("calibration")
    if about["scale"] == "interval":
        return []
    if found is None:
        return ["probabilities: as the network gives them (--calibrate fits a temperature on the dev items)"]
    parts = {"probabilities": found} | ({"of workers": found["workers"]} if "workers" in found else {})
    return [
        f"{name}: temperature {part['temperature']:.4g}, fitted on {found['against']}; expected calibration error there "
        f"{part['before']['ece']:.4f} before, {part['after']['ece']:.4f} after ({part['after']['n']:g}, 15 bins)"
        for name, part in parts.items()
    ]


def seen(about: dict[str, Any]) -> str:
    """What it was trained on, in words."""
    n = about.get("learnt_from")
    if n is None:
        return ""
    told = f"{n['answers']} answers about" if "answers" in n else f"{n['labels']} labels of"
    splits = ", ".join(f"{n[f'{name}_items']} {name}" for name in SPLITS)
    return f"{told} {n['items']} training items ({about['encoder']['kind']}); items: {splits}"


def card(model: Learned) -> str:
    about = model.about
    last = model.metrics[-1] if model.metrics else {}
    lines = [
        f"# {about['method']}",
        "",
        f"Made by manyvoices {version('manyvoices')}: `{about['job']} -s {about['method']}`.",
        "",
        f"- encoder: {about['encoder']['name']} ({'trained' if about['encoder']['trained'] else 'frozen'})",
        *(f"- data: {line}" for line in [seen(about)] if line),
        f"- {'numbers' if not len(model.classes) else f'classes: {len(model.classes)}'}"
        + ("" if model.workers is None else f"; workers: {len(model.workers)}"),
        f"- epochs: {about['epochs']}, weights of epoch {about['kept_epoch']}",
        *(f"- {name}: {value:.6g}" for name, value in last.items()),
        *(f"- {name.replace('_', ' ')}: {value:.4f}" for name, value in about.get("scores", {}).items()),
        *(f"- {line}" for line in calibration(about)),
        "",
        "It predicts what it was trained on: answers of these people about such items. How good it is on others is not known;",
        "`manyvoices evaluate` measures it on the test split kept in splits.csv.",
    ]
    return "\n".join(lines) + "\n"
