"""A small convolutional network trained from the pixels. Images larger than 64 a side are made that small first."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import torch
from torch import nn

from ...core.content import Content, opened
from ...core.errors import BadInput

KINDS = ("image",)
SIDE = 64
WIDTH = 128


def version(name: str) -> str:
    return "1"


def trained(name: str, content: Content) -> tuple[Images, nn.Module, int]:
    return Images(content), body(name), WIDTH


def body(name: str) -> nn.Module:
    return Pixels()


class Images:
    """Items as uint8 [B, 3, h, w]."""

    def __init__(self, content: Content):
        values = content.values
        if isinstance(values, np.ndarray) and max(values.shape[1:3]) <= SIDE:
            self.pixels = values if values.ndim == 4 else values[..., None]
        else:
            self.pixels = np.stack([small(value) for value in values])

    def __len__(self) -> int:
        return len(self.pixels)

    def __call__(self, rows: np.ndarray, rng: np.random.Generator | None = None) -> torch.Tensor:
        x = torch.from_numpy(np.ascontiguousarray(self.pixels[rows])).permute(0, 3, 1, 2)
        return x.expand(-1, 3, -1, -1).contiguous()


def small(value: Any) -> np.ndarray:
    """One image at most 64 a side and square, from an array or a file."""
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.fromarray(value) if isinstance(value, np.ndarray) else Image.open(io.BytesIO(opened(value)))
        return np.asarray(image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR))
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise BadInput(
            f"not an image that opens ({error})", file=value, expected="a PNG, JPEG, GIF, WebP or TIFF"
        ) from None


class Pixels(nn.Module):
    """Three blocks of two convolutions, mean over places: [B, 3, h, w] -> [B, 128]."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(
            block(3, 32),
            nn.MaxPool2d(2, ceil_mode=True),
            block(32, 64),
            nn.MaxPool2d(2, ceil_mode=True),
            block(64, WIDTH),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.float().div(127.5).sub(1).contiguous(memory_format=torch.channels_last)
        return self.blocks(x).mean(dim=(2, 3))

    def depth(self, name: str) -> int:
        return 0


def block(inside: int, outside: int) -> nn.Sequential:
    def one(a: int, b: int) -> list[nn.Module]:
        return [nn.Conv2d(a, b, 3, padding=1, bias=False), nn.GroupNorm(8, b), nn.ReLU()]

    return nn.Sequential(*one(inside, outside), *one(outside, outside))
