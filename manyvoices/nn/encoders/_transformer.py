"""What minilm and saved share: texts into tokens with their places, a transformer over them, its layers' depths."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ...core.content import Content
from ...core.errors import BadInput
from ...core.tokens import Tokens
from .. import devices
from ..training import Training

Value = str | tuple[str, str]
SOME = 32  # texts at a time


@contextmanager
def quiet() -> Iterator[None]:
    """transformers' own bars and reports are not ours to print."""
    from transformers.utils import logging

    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()


def model_of(folder: Path, empty: bool = False) -> nn.Module:
    """The network of a folder, with its weights or (for weights that come later) without. Code in it is never run, and
    weights that are pickled are not read."""
    from transformers import AutoConfig, AutoModel

    given: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        with quiet(), torch.random.fork_rng():
            if empty:
                model = AutoModel.from_config(AutoConfig.from_pretrained(folder, **given), trust_remote_code=False)
            else:
                model = AutoModel.from_pretrained(folder, use_safetensors=True, dtype=torch.float32, **given)
    except (OSError, ValueError, KeyError, ImportError) as error:
        said = " ".join(str(error).split())[:200]
        raise BadInput(
            f"no model that can be read ({said})",
            file=folder,
            expected="config.json and model.safetensors, as transformers saves them",
        ) from None
    if getattr(model.config, "is_encoder_decoder", False):
        model = model.get_encoder()
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model.float()


# texts ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Read:
    """Texts as tokens, each as long as it is."""

    ids: list[np.ndarray]
    second: list[np.ndarray]  # 1 where a token is of a pair's second text
    where: list[np.ndarray]  # [l, 2]

    def __len__(self) -> int:
        return len(self.ids)


class Reader:
    """The folder's tokenizer. Characters of a pair are counted through the first text, a line break, and the second."""

    def __init__(self, folder: Path, longest: int):
        from transformers import AutoTokenizer

        try:
            with quiet():
                self.cut = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        except (OSError, ValueError, KeyError, ImportError) as error:
            said = " ".join(str(error).split())[:200]
            raise BadInput(
                f"no tokenizer that can be read ({said})", file=folder, expected="tokenizer.json beside the model"
            ) from None
        if not self.cut.is_fast:
            raise BadInput("its tokenizer does not say where tokens stand", file=folder, expected="a tokenizer.json")
        self.longest = min(longest, self.cut.model_max_length)
        self.pad = self.cut.pad_token_id or 0

    def __call__(self, values: list[Value]) -> Read:
        if not len(values):
            return Read([], [], [])
        pair = isinstance(values[0], tuple)
        texts = [[clean(value[i]) for value in values] for i in (0, 1)] if pair else [[clean(str(v)) for v in values]]
        found = self.cut(
            *texts,
            truncation="longest_first",
            padding=False,
            max_length=self.longest,
            return_offsets_mapping=True,
            return_token_type_ids=False,
        )
        ids = [np.array(row, np.int64) for row in found["input_ids"]]
        where = [np.array(row, np.float32).reshape(-1, 2) for row in found["offset_mapping"]]
        second = [np.zeros(len(row), np.int64) for row in ids]
        if pair:
            for i, value in enumerate(values):
                of = np.array([-1 if x is None else x for x in found.sequence_ids(i)])
                where[i][of == 1] += len(value[0]) + 1
                second[i][after(of)] = 1
        return Read(ids, second, where)

    def padded(self, read: Read, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Tokens, which are there, and of which text: [B, L] each."""
        length = max((len(read.ids[i]) for i in rows), default=1) or 1
        ids, mask, second = (np.full((len(rows), length), fill, np.int64) for fill in (self.pad, 0, 0))
        for row, i in enumerate(rows):
            n = len(read.ids[i])
            ids[row, :n], mask[row, :n], second[row, :n] = read.ids[i], 1, read.second[i]
        return torch.from_numpy(ids), torch.from_numpy(mask), torch.from_numpy(second)


def clean(text: str) -> str:
    """Half of a surrogate pair is no character to a tokenizer; the length stays."""
    return text.encode("utf-8", "replace").decode("utf-8") if any("\ud800" <= c <= "\udfff" for c in text) else text


def after(of: np.ndarray) -> slice:
    """From the first token of the second text to the end, its mark included."""
    found = np.flatnonzero(of == 1)
    return slice(int(found[0]) if len(found) else len(of), None)


class Texts:
    """Items as tokens, for a network that is trained with the rest."""

    def __init__(self, content: Content, reader: Reader):
        self.reader, self.read = reader, reader(content.values)

    def __len__(self) -> int:
        return len(self.read)

    def __call__(self, rows: np.ndarray, rng: np.random.Generator | None = None) -> tuple[torch.Tensor, ...]:
        return self.reader.padded(self.read, rows)


# networks -------------------------------------------------------------------------------------------------------------


class Body(nn.Module):
    """Tokens -> the mean of the last layer over them: [B, D]."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model
        found = [int(hit[1]) for name, _ in model.named_parameters() if (hit := LAYER.search(f".{name}"))]
        self.layers = max(found, default=-1) + 1
        self.width = int(model.config.hidden_size)  # type: ignore[union-attr, arg-type]
        self.types = int(getattr(model.config, "type_vocab_size", 0) or 0) > 1

    def grid(self, ids: torch.Tensor, mask: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        more = {"token_type_ids": second} if self.types else {}
        return self.model(input_ids=ids, attention_mask=mask, **more).last_hidden_state

    def forward(self, x: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return mean(self.grid(*x).float(), x[1])

    def depth(self, name: str) -> int:
        """Layers above: 0 in the last one, as many as there are below the first."""
        if hit := LAYER.search(f".{name}"):
            return self.layers - 1 - int(hit[1])
        return self.layers if BELOW.search(name) else 0


LAYER = re.compile(r"\.(?:layers?|h|blocks?)\.(\d+)\.")
BELOW = re.compile(r"embed|\bwte\b|\bwpe\b|\bshared\b")


def mean(h: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    m = mask[..., None].to(h.dtype)
    return (h * m).sum(dim=1) / m.sum(dim=1).clamp_min(1)


def encoding(folder: Path, form: str, how: Training, longest: int) -> Callable[[list[Value]], Tokens]:
    """Texts of like length go through the frozen network together. The grid is kept in half precision, where the numbers
    are of a size that allows it; marks before, between and after the texts are tokens that stand nowhere: [0, 0)."""
    read = Reader(folder, longest)
    device = devices.device_of(how.device)
    body = Body(model_of(folder)).to(device).eval()

    @torch.no_grad()
    def encode(values: list[Value]) -> Tokens:
        tokens = read(values)
        n = np.array([len(ids) for ids in tokens.ids])
        width, length = body.width, int(n.max(initial=1))
        made = np.zeros((len(n), width) if form == "pooled" else (len(n), length, width), np.float32)
        order = np.argsort(n, kind="stable")
        for a in range(0, len(order), SOME):
            rows = order[a : a + SOME]
            x = tuple(part.to(device) for part in read.padded(tokens, rows))
            with devices.precise(how.precision, device, heavy=False):
                h = body.grid(*x)
            if form == "pooled":
                made[rows] = mean(h.float(), x[1]).cpu().numpy()
            else:
                made[rows, : h.shape[1]] = (h.float() * x[1][..., None]).cpu().numpy()
        if form == "pooled":
            return Tokens.pooled(made)
        mask = np.arange(length) < n[:, None]
        where = np.zeros((len(n), length, 2), np.float32)
        for i, spans in enumerate(tokens.where):
            where[i, : len(spans)] = spans
        return Tokens(halved(made), mask, where)

    return encode


def halved(x: np.ndarray) -> np.ndarray:
    """float16, unless a number is too large for it."""
    return x.astype(np.float16) if np.abs(x).max(initial=0) < 60_000 else x
