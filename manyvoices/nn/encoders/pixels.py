"""A small convolutional network trained from the pixels. Images larger than 64 a side are made that small first."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from ...core.content import Content
from ...kernels.em import tell
from ._images import channels_first, checked, square, varied

KINDS = ("image",)
SIDE = 64
WIDTH = 128


def version(name: str) -> str:
    return "2"


def trained(name: str, content: Content, augment: bool = False) -> tuple[Images, nn.Module, int]:
    return Images(content, augment), body(name), WIDTH


def body(name: str) -> nn.Module:
    return Pixels()


class Images:
    """Items as uint8 [B, 3, h, w], all in memory: small arrays as they are, others made small."""

    def __init__(self, content: Content, augment: bool = False):
        values, self.augment = content.values, augment
        if isinstance(values, np.ndarray):
            checked(values)
        if isinstance(values, np.ndarray) and max(values.shape[1:3]) <= SIDE:
            self.pixels = values if values.ndim == 4 else values[..., None]
            return
        self.pixels = np.empty((len(content), SIDE, SIDE, 3), np.uint8)
        for i, value in enumerate(values):
            self.pixels[i] = square(value, SIDE)
            tell("opening images, item", i + 1, len(content), float(i + 1))

    def __len__(self) -> int:
        return len(self.pixels)

    def __call__(self, rows: np.ndarray, rng: np.random.Generator | None = None) -> torch.Tensor:
        x = channels_first(self.pixels[rows][..., :3]).expand(-1, 3, -1, -1).contiguous()
        return varied(x, rng) if self.augment and rng is not None else x


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
