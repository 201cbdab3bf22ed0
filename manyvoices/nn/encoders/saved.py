"""A text encoder of your own: a folder saved by transformers, or hf:ORG/NAME. Reads up to 512 tokens.

The folder holds config.json, model.safetensors and tokenizer.json. hf:ORG/NAME is looked for among what was downloaded
before; training with it downloads it, predicting never does. No code that comes with a model is run and nothing pickled is read.
"""

from __future__ import annotations

import functools
import hashlib
import logging
from collections.abc import Callable
from pathlib import Path

from torch import nn

from ...core.content import Content
from ...core.errors import BadInput, ManyVoicesError
from ...core.tokens import Tokens
from ..training import Training
from ..weights import digest
from ._transformer import Body, Reader, Texts, encoding, model_of

KINDS = ("text", "pair")
PRECISIONS = ("float32", "bf16")
LONGEST = 512
WANTED = ["*.json", "*.safetensors", "*.txt", "*.model"]
log = logging.getLogger("manyvoices")


def version(name: str) -> str:
    """What is in the folder: another model under the same name is another encoder."""
    files = sorted(file for kind in WANTED for file in folder_of(name).glob(kind))
    facts = tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    return together(facts)


@functools.lru_cache(maxsize=16)
def together(files: tuple[tuple[str, int, int], ...]) -> str:
    parts = [f"{Path(path).name} {digest(Path(path))}" for path, *_ in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def ready(name: str) -> None:
    """Download it, where it was asked for by hf: and is not here yet."""
    if not name.startswith("hf:") or downloaded(name) is not None:
        return
    from huggingface_hub import snapshot_download

    log.info("downloading %s, once", name.removeprefix("hf:"))
    try:
        snapshot_download(name.removeprefix("hf:"), allow_patterns=WANTED)
    except Exception as error:  # no network, no such model, no right to it: one fact to the user
        said = " ".join(str(error).split()).partition(". ")[0][:120]
        raise ManyVoicesError(
            f"{name} is not on this computer and could not be downloaded ({type(error).__name__}: {said}); "
            "give --encoder a folder saved by transformers, or minilm"
        ) from None


def folder_of(name: str) -> Path:
    if name.startswith("hf:"):
        found = downloaded(name)
        if found is None:
            raise ManyVoicesError(f"the encoder {name} is not on this computer: `manyvoices models get {name}` gets it")
        return found
    if not (Path(name) / "config.json").is_file():
        raise BadInput("no config.json in it", file=name, expected="a folder saved by transformers")
    return Path(name)


def downloaded(name: str) -> Path | None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        found = Path(snapshot_download(name.removeprefix("hf:"), allow_patterns=WANTED, local_files_only=True))
    except LocalEntryNotFoundError:
        return None
    except HFValidationError:
        raise BadInput(f"{name!r} is no name of a model", expected="hf:ORG/NAME") from None
    return found if (found / "config.json").is_file() and any(found.glob("*.safetensors")) else None


def frozen(name: str, form: str, how: Training) -> Callable[[list], Tokens]:
    return encoding(folder_of(name), form, how, LONGEST)


def trained(name: str, content: Content, augment: bool = False) -> tuple[Texts, nn.Module, int]:
    folder = folder_of(name)
    body = Body(model_of(folder))
    return Texts(content, Reader(folder, LONGEST)), body, body.width


def body(name: str) -> nn.Module:
    return Body(model_of(folder_of(name), empty=True))
