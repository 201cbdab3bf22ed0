"""The one training loop: order, rates, precision, processes, held-out score, check points. What is minimised is the method's.

A loss gives a sum and a count, and the loop divides: over processes too, so that two with half a batch each are one
with the whole. Everything random in an epoch is drawn from the seed and the number of the epoch, so a run that was
killed goes on from its last check point to the same numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..core.errors import BadCall, ManyVoicesError
from ..core.files import put, put_text
from ..kernels.em import tell
from . import devices
from .batches import Batch, Batches
from .training import Training

Loss = Callable[[Any, Batch], tuple[torch.Tensor, torch.Tensor]]


@dataclass
class Run:
    """What a training run holds besides weights."""

    epoch: int = 0  # epochs done
    best: float = -math.inf  # best held-out score
    best_epoch: int = 0
    metrics: list[dict[str, float]] = field(default_factory=list)


class Step(nn.Module):
    """One forward pass up to the loss: what DistributedDataParallel wraps."""

    def __init__(self, model: nn.Module, loss: Loss):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, batch: Batch):
        return self.loss(self.model, batch)


def fit(
    model: nn.Module,
    loss: Loss,
    train: Batches,
    dev: Batches | None,
    how: Training,
    *,
    score: Loss | None = None,
    between: Callable[[int], None] | None = None,
    after_step: Callable[[], None] | None = None,
) -> Run:
    """Train in place; at the end the model has the weights that are kept. `score` (the loss, if none is given) is
    what the held-out answers are asked with; `between` is called before each epoch with its number."""
    device = train.device
    model.to(device)
    optimizer = optimizer_of(model, how)
    rate = rates(how)
    step: nn.Module = Step(model, loss)
    if devices.grouped():
        step = nn.parallel.DistributedDataParallel(step, find_unused_parameters=True)
    folder = how.folder
    run, best = resumed(folder, model, optimizer) if folder is not None else (Run(), None)
    heavy = any(p.requires_grad for p in model.net.body.parameters())  # type: ignore[union-attr]
    for epoch in range(run.epoch, how.epochs):
        if between is not None:
            between(epoch)
        for group in optimizer.param_groups:
            group["lr"] = group["full"] * rate(epoch)
        with seeded(how.seed, epoch):
            minimised = one_epoch(step, train, optimizer, how, heavy, epoch, folder, after_step)
        row = {"epoch": epoch + 1, "loss": minimised}
        run.epoch = epoch + 1
        if dev is not None:
            row["dev"] = held_out(model, score or loss, dev, how, heavy)
            if row["dev"] > run.best:
                run.best, run.best_epoch = row["dev"], run.epoch
                best = snapshot(model)
        run.metrics.append(row)
        tell("loss", run.epoch, how.epochs, minimised)
        if folder is not None and devices.rank() == 0:
            checkpoint(folder, model, optimizer, run, best)
        if how.patience and dev is not None and run.epoch - run.best_epoch >= how.patience:
            break
    if how.keep == "best" and best is not None:
        model.load_state_dict(best)
    return run


def one_epoch(step, train: Batches, optimizer, how: Training, heavy: bool, epoch: int, folder, after_step) -> float:
    step.train()
    total = count = torch.zeros((), dtype=torch.float64)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for number, batch in enumerate(train.shuffled(how.seed, epoch, devices.rank(), devices.world())):
        with devices.precise(how.precision, train.device, heavy):
            some, n = step(batch)
        every, of = devices.summed(some.detach(), n.detach())
        if not math.isfinite(float(every)):
            kept = f"; the last good check point is {folder}" if folder is not None and epoch else ""
            raise ManyVoicesError(
                f"the loss became {float(every)} in epoch {epoch + 1}, batch {number + 1}: lower --lr, or set --clip{kept}"
            )
        optimizer.zero_grad(set_to_none=True)
        (some * (devices.world() / of.clamp_min(1e-12)).to(some.dtype)).backward()
        if how.clip:
            nn.utils.clip_grad_norm_(parameters, how.clip)
        optimizer.step()
        if after_step is not None:
            after_step()
        total, count = total + every.cpu(), count + of.cpu()
    return float(total / count.clamp_min(1e-12))


@torch.no_grad()
def held_out(model: nn.Module, score: Loss, dev: Batches, how: Training, heavy: bool) -> float:
    """Mean log-probability of what was held out: higher is better."""
    model.eval()
    total = count = 0.0
    for batch in dev.in_order():
        with devices.precise(how.precision, dev.device, heavy):
            some, n = score(model, batch)
        total, count = total + float(some), count + float(n)
    return -total / max(count, 1e-12)


@contextmanager
def seeded(seed: int, epoch: int) -> Iterator[None]:
    """torch's own random numbers (dropout) for one epoch; the caller's come back afterwards."""
    with torch.random.fork_rng():
        torch.manual_seed((seed * 1_000_003 + epoch * 7 + devices.rank()) % 2**63)
        yield


# rates ----------------------------------------------------------------------------------------------------------------


def optimizer_of(model: nn.Module, how: Training) -> torch.optim.Optimizer:
    """Groups: the encoder by layers, the head, and the workers' parameters, which have no decay."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    special = model.rates()  # type: ignore[operator]
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        rate = how.lr * next((x for start, x in special.items() if name.startswith(start)), 1.0)
        if name.startswith("net.body.") and how.finetune:
            rate = how.encoder_lr * how.layer_decay ** model.net.body.depth(name.removeprefix("net.body."))  # type: ignore
        groups.setdefault((rate, how.decay if name.startswith("net.") else 0.0), []).append(parameter)
    sets = [
        {"params": params, "lr": rate, "full": rate, "weight_decay": decay} for (rate, decay), params in groups.items()
    ]
    match how.optimizer:
        case "sgd":
            return torch.optim.SGD(sets, momentum=how.momentum)
        case "adam":
            return torch.optim.Adam(sets)
        case "radam":
            return torch.optim.RAdam(sets)
        case _:
            return torch.optim.AdamW(sets)


def rates(how: Training) -> Callable[[int], float]:
    """The learning rate of an epoch as a share of the full one."""
    try:
        marks = sorted(int(text) for text in how.milestones.split(",") if text.strip())
    except ValueError:
        raise BadCall(f"--milestones {how.milestones}: give epochs, such as 50,75") from None

    def rate(epoch: int) -> float:
        up = min(1.0, (epoch + 1) / (how.warmup + 1))
        if how.scheduler == "cosine":
            return up * 0.5 * (1 + math.cos(math.pi * epoch / max(how.epochs, 1)))
        if how.scheduler == "multistep":
            return up * how.lr_decay ** sum(epoch >= mark for mark in marks)
        return up

    return rate


# check points ---------------------------------------------------------------------------------------------------------


def snapshot(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def checkpoint(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, run: Run, best: dict | None) -> None:
    from safetensors.torch import save_file

    held = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    held |= {f"best.{name}": tensor for name, tensor in (best or {}).items()}
    for i, state in optimizer.state_dict()["state"].items():
        for key, value in state.items():
            held[f"optimizer.{i}.{key}"] = torch.as_tensor(value)
    held = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in held.items()}
    facts = {"epoch": run.epoch, "best": run.best if math.isfinite(run.best) else None, "best_epoch": run.best_epoch}
    about = {"run": json.dumps(facts | {"metrics": run.metrics})}
    put(folder / "checkpoint.safetensors", lambda file: save_file(held, file, about))
    put_text(folder / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in run.metrics))


def resumed(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[Run, dict | None]:
    """Where the run in this folder stood; a new run where there is no check point."""
    from safetensors import safe_open

    path = folder / "checkpoint.safetensors"
    if not path.is_file():
        return Run(), None
    with safe_open(path, "pt") as file:
        facts = json.loads(file.metadata()["run"])
        held = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    part = {
        kind: {name.removeprefix(kind): tensor for name, tensor in held.items() if name.startswith(kind)}
        for kind in ("model.", "best.", "optimizer.")
    }
    model.load_state_dict(part["model."])
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, tensor in part["optimizer."].items():
        i, key = name.split(".", 1)
        state.setdefault(int(i), {})[key] = tensor
    whole = optimizer.state_dict()
    optimizer.load_state_dict({"state": state, "param_groups": whole["param_groups"]})
    best = -math.inf if facts["best"] is None else facts["best"]
    return Run(facts["epoch"], best, facts["best_epoch"], facts["metrics"]), part["best."] or None
