"""Where a network runs and in which precision; which part of a group of processes this one is."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np
import torch

from ..core.errors import BadCall, ManyVoicesError


def device_of(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda", rank()) if torch.cuda.is_available() else torch.device("cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = torch.device("meta")  # as little a place to compute as a name that is none
    if device.type not in ("cpu", "cuda"):
        raise BadCall(f"--device {name}: expected auto, cpu, cuda or cuda:N")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        many = torch.cuda.device_count()
        has = f"{many} CUDA device{'s' * (many > 1)}" if many else "no CUDA device"
        raise BadCall(f"--device {name}: this machine has {has}; leave --device out")
    return device


def has_bf16(device: torch.device) -> bool:
    return torch.cuda.is_bf16_supported() if device.type == "cuda" else torch.ops.mkldnn._is_mkldnn_bf16_supported()


def precise(precision: str, device: torch.device, heavy: bool) -> AbstractContextManager:
    """Autocast to bf16 where it was asked for, or where a trained encoder makes it worth while."""
    wanted = precision == "bf16" or (precision == "auto" and heavy and has_bf16(device))
    return torch.autocast(device.type, torch.bfloat16) if wanted else nullcontext()


@contextmanager
def one_thread(when: bool) -> Iterator[None]:
    """For nets so small that threads cost more than they do: to wake one takes longer than its part of an operation."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if when else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def within_memory(doing: str, lower: str) -> Iterator[None]:
    """Where there is no memory left, what can be asked for instead."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        # torch has a kind of its own for this on CUDA only
        if not isinstance(error, MemoryError | torch.OutOfMemoryError) and "allocate memory" not in str(error):
            raise
        raise ManyVoicesError(f"out of memory {doing}: {lower}") from error


@contextmanager
def drawing(stream: list[int]) -> Iterator[None]:
    """torch's own random numbers from one stream of a seed; the caller's come back afterwards."""
    with torch.random.fork_rng():
        seed = int(np.random.SeedSequence(stream).generate_state(1, np.uint64)[0])
        torch.default_generator.manual_seed(seed)
        if torch.cuda.is_available():  # torch.manual_seed keeps a trace of the stack for devices that are not there
            torch.cuda.manual_seed_all(seed)
        yield


# processes ------------------------------------------------------------------------------------------------------------


def world() -> int:
    return torch.distributed.get_world_size() if grouped() else 1


def rank() -> int:
    return torch.distributed.get_rank() if grouped() else 0


def grouped() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


@contextmanager
def group() -> Iterator[None]:
    """Under `torchrun` the processes find one another, and wait for the last at the end; alone there is nothing to do."""
    if int(os.environ.get("WORLD_SIZE", "1")) <= 1:
        yield
        return
    torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield
        torch.distributed.barrier()
    finally:
        gc.collect()  # wrappers in cycles hold on to the group: ended with the process, its threads would abort it
        torch.distributed.destroy_process_group()


def summed(*numbers: torch.Tensor | float) -> list[float]:
    """Each number summed over all processes."""
    own = [float(x.detach()) if isinstance(x, torch.Tensor) else float(x) for x in numbers]
    if not grouped():
        return own
    every = torch.tensor(own, dtype=torch.float64, device=device_of("auto"))
    torch.distributed.all_reduce(every)
    return every.tolist()


class _Summed(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        x = x.contiguous().clone()
        torch.distributed.all_reduce(x)
        return x

    @staticmethod
    def backward(context, slope):
        slope = slope.contiguous().clone()
        torch.distributed.all_reduce(slope)
        return slope


def all_summed(x: torch.Tensor) -> torch.Tensor:
    """x summed over all processes, with its gradient."""
    return _Summed.apply(x) if grouped() else x
