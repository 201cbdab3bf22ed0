"""The one training loop: order, rates, precision, processes, held-out score, check points. What is minimised is the method's.

A loss gives a sum and a count, and the loop divides: over processes too, so that two with half a batch each are one
with the whole. Everything random in an epoch is drawn from the seed and the number of the epoch, so a run that was
killed goes on from its last check point to the same numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
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

RESTARTED = 1e-4  # the learning rate at the end of a period of warm restarts
SMALL = 2**24  # a millisecond or so of one core
LIGHT = 4  # held-out batches are so many times as large where only a head is trained: of small ones the start is most
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
    before: Callable[[int], None] | None = None,
    after: Callable[[int], dict[str, float]] | None = None,
    kept: dict[str, torch.Tensor] | None = None,
) -> Run:
    """Train in place; at the end the model has the weights that are kept. `score` (the loss, if none is given) is
    what the held-out answers are asked with. `before` and `after` are called around each epoch with its number; what
    `after` finds goes into the metrics, and the tensors in `kept`, which it may change, into the check points."""
    device = train.device
    model.to(device)
    optimizers = optimizers_of(model, how)
    rate = rates(how)
    step: nn.Module = Step(model, loss)
    if devices.grouped():
        step = nn.parallel.DistributedDataParallel(step, find_unused_parameters=True)
    folder, kept = how.folder, kept or {}
    run, best = resumed(folder, model, optimizers, kept) if folder is not None else (Run(), None)
    heavy = any(p.requires_grad for p in model.net.body.parameters())  # type: ignore[union-attr]
    model.net.within = partial(devices.precise, how.precision, device, heavy)  # type: ignore[union-attr,assignment]
    with devices.one_thread(not heavy and small(model, train)):
        for epoch in range(run.epoch, how.epochs):
            model.epoch = epoch  # type: ignore[assignment]
            if before is not None:
                before(epoch)
            for group in (group for optimizer in optimizers for group in optimizer.param_groups):
                group["lr"] = group["full"] * rate(epoch)
            with devices.drawing(how.stream("dropout", epoch, devices.rank())), within_memory(how, train, epoch):
                row = {"epoch": epoch + 1, "loss": one_epoch(step, train, optimizers, how, epoch)}
            run.epoch = epoch + 1
            if after is not None:
                row |= after(epoch)
            if dev is not None:
                with within_memory(how, dev, epoch):
                    row["dev"] = held_out(model, score or loss, dev, 1 if heavy else LIGHT)
                if row["dev"] > run.best:
                    run.best, run.best_epoch = row["dev"], run.epoch
                    best = snapshot(model)
            run.metrics.append(row)
            tell("loss", run.epoch, how.epochs, row["loss"])
            if folder is not None and devices.rank() == 0:
                checkpoint(folder, model, optimizers, run, best, kept)
            if how.patience and dev is not None and run.epoch - run.best_epoch >= how.patience:
                break
    if how.keep == "best" and best is not None:
        model.load_state_dict(best)
    model.net.within = nullcontext  # type: ignore[union-attr,assignment]
    return run


def small(model: nn.Module, train: Batches) -> bool:
    """Whether a step multiplies so few numbers that one thread is the fastest."""
    numbers: int = sum(p.numel() for p in model.net.head.parameters())  # type: ignore[union-attr, misc]
    return train.size * numbers < SMALL


def one_epoch(step, train: Batches, optimizers, how: Training, epoch: int) -> float:
    """The mean loss. The gradient is that of the sum, divided by the count, of `accumulate` batches of all processes."""
    step.train()
    model, world = step.module.model if devices.grouped() else step.model, devices.world()
    parameters = [p for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]]
    total = count = of = 0.0
    steps = len(train.cuts(world)) - 1
    model.zero_grad(set_to_none=True)
    for number, batch in enumerate(train.shuffled(how, epoch, devices.rank(), world), 1):
        due = number % how.accumulate == 0 or number == steps
        with nullcontext() if due or not devices.grouped() else step.no_sync():
            some, n = step(batch)
            some.backward()
        every, everywhere = devices.summed(some, n)
        usable(every, "loss", how, epoch, number, steps)
        of, total, count = of + everywhere, total + every, count + everywhere
        if not due:
            continue
        slopes = [slope_of(p) for p in parameters if p.grad is not None]
        share = world / max(of, 1e-12)
        size = share * float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(slopes))))
        usable(size, "gradient", how, epoch, number, steps)
        if how.clip and size > how.clip:
            share *= how.clip / size
        torch._foreach_mul_(slopes, share)
        for optimizer in optimizers:
            optimizer.step()
        for p in parameters:
            p.grad = None
        model.after_step()
        of = 0.0
    for p in parameters:
        usable(float(p.detach().abs().max()) if p.numel() else 0.0, "largest weight", how, epoch, steps, steps)
    return total / max(count, 1e-12)


def slope_of(parameter: nn.Parameter) -> torch.Tensor:
    """The numbers of its gradient; of a sparse one those of the rows that have any."""
    if not parameter.grad.is_sparse:
        return parameter.grad
    parameter.grad = parameter.grad.coalesce()
    return parameter.grad._values()


def usable(value: float, what: str, how: Training, epoch: int, number: int, steps: int) -> None:
    """A run whose numbers are none stops where that happens, before anything is kept of it."""
    if math.isfinite(value):
        return
    where = f"epoch {epoch + 1}, batch {number} of {steps} (step {epoch * steps + number})"
    raise ManyVoicesError(f"the {what} became {value} in {where}: lower --lr, or set --clip{last_good(how, epoch)}")


def last_good(how: Training, epoch: int) -> str:
    if how.folder is None or not epoch:
        return ""
    return f"; the last good check point is that of epoch {epoch} in {how.folder}"


def within_memory(how: Training, batches: Batches, epoch: int) -> AbstractContextManager:
    lower = f"lower --batch, now {batches.size} (with --accumulate a step stays as large)"
    lower += ", or leave --finetune out" if how.finetune else ", or --hidden"
    return devices.within_memory(f"in epoch {epoch + 1}", lower + last_good(how, epoch))


@torch.no_grad()
def held_out(model: nn.Module, score: Loss, dev: Batches, times: int) -> float:
    """Mean log-probability of what was held out: higher is better. Batches are so many times as large."""
    model.eval()
    total = count = 0.0
    for batch in dev.in_order(times):
        some, n = score(model, batch)
        total, count = total + float(some), count + float(n)
    return -total / max(count, 1e-12)


# rates ----------------------------------------------------------------------------------------------------------------


def optimizers_of(model: nn.Module, how: Training) -> list[torch.optim.Optimizer]:
    """Groups: the encoder by layers, the head, and the workers' parameters, which have no decay. Tables of which a step
    needs a few rows have an Adam of their own that leaves the others alone. Fused: of a small net a step is mostly the
    starting of small operations."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    tables = [module.weight for module in model.modules() if isinstance(module, nn.Embedding) and module.sparse]
    few = [torch.optim.SparseAdam([{"params": [p], "full": how.lr}], lr=how.lr) for p in tables]
    special = model.rates()  # type: ignore[operator]
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad or any(parameter is table for table in tables):
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
            return [torch.optim.SGD(sets, momentum=how.momentum), *few]
        case "adam":
            return [torch.optim.Adam(sets, fused=True), *few]
        case "radam":
            return [torch.optim.RAdam(sets), *few]
        case _:
            return [torch.optim.AdamW(sets, fused=True), *few]


def rates(how: Training) -> Callable[[int], float]:
    """The learning rate of an epoch as a share of the full one."""
    try:
        marks = sorted(int(text) for text in how.milestones.split(",") if text.strip())
        if marks and marks[0] < 1:
            raise ValueError
    except ValueError:
        raise BadCall(f"--milestones {how.milestones}: give epochs, such as 50,75") from None

    def rate(epoch: int) -> float:
        up = min(1.0, (epoch + 1) / (how.warmup + 1))
        if how.scheduler == "cosine":  # with milestones it starts anew whenever so many epochs are over
            period = marks[0] if marks else how.epochs
            least = min(1.0, RESTARTED / how.lr) if marks else 0.0
            return up * (least + (1 - least) * 0.5 * (1 + math.cos(math.pi * (epoch % period) / period)))
        if how.scheduler == "multistep":
            return up * how.lr_decay ** sum(epoch >= mark for mark in marks)
        return up

    return rate


# check points ---------------------------------------------------------------------------------------------------------


def snapshot(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def checkpoint(
    folder: Path, model: nn.Module, optimizers: list[torch.optim.Optimizer], run: Run, best: dict | None, kept: dict
) -> None:
    from safetensors.torch import save_file

    held = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    held |= {f"best.{name}": tensor for name, tensor in (best or {}).items()}
    held |= {f"kept.{name}": tensor for name, tensor in kept.items()}
    for o, optimizer in enumerate(optimizers):
        for i, state in optimizer.state_dict()["state"].items():
            held |= {f"optimizer.{o}.{i}.{key}": torch.as_tensor(value) for key, value in state.items()}
    held = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in held.items()}
    facts = {"epoch": run.epoch, "best": run.best if math.isfinite(run.best) else None, "best_epoch": run.best_epoch}
    about = {"run": json.dumps(facts | {"metrics": run.metrics})}
    put(folder / "checkpoint.safetensors", lambda file: save_file(held, file, about))
    put_text(folder / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in run.metrics))


def resumed(
    folder: Path, model: nn.Module, optimizers: list[torch.optim.Optimizer], kept: dict
) -> tuple[Run, dict | None]:
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
        for kind in ("model.", "best.", "optimizer.", "kept.")
    }
    for name, tensor in part["kept."].items():
        kept[name].copy_(tensor)
    model.load_state_dict(part["model."])
    states: list[dict[int, dict[str, Any]]] = [{} for _ in optimizers]
    for name, tensor in part["optimizer."].items():
        o, i, key = name.split(".", 2)
        counted = (
            tensor.ndim == 0 and not tensor.is_floating_point()
        )  # steps that an optimiser counts as a plain number
        states[int(o)].setdefault(int(i), {})[key] = int(tensor) if counted else tensor
    for optimizer, state in zip(optimizers, states, strict=True):
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    best = -math.inf if facts["best"] is None else facts["best"]
    return Run(facts["epoch"], best, facts["best_epoch"], facts["metrics"]), part["best."] or None
