"""EfficientNet-Lite0, trained on photographs of a thousand kinds of things: 1,280 numbers an image.

Images are made 224 x 224 first. As a grid an image is 7 x 7 places of 1,280 numbers; in the form `fine`, from a lower layer,
14 x 14 of 112. A sequence of frames is one token a frame, and pooled their mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from ...core.content import Content
from ...core.errors import BadCall, BadInput
from ...core.tokens import Tokens
from .. import devices, weights
from ..training import Training
from ._images import Images, channels_first, squares
from .patches import boxes

KINDS = ("image", "frames")
PRECISIONS = ("float32", "bf16")
SIDE, WIDTH, SOME = 224, 1280, 32
# of each stage: how many blocks, kernel, stride of the first, expansion, channels
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
FINE = 11  # blocks until the places are 14 x 14 for the last time


def version(name: str) -> str:
    return weights.PACKAGES["efficientnet"].pin


def frozen(name: str, form: str, how: Training) -> Callable[[Any], Tokens]:
    device = devices.device_of(how.device)
    net = loaded().to(device).eval()

    @torch.no_grad()
    def grid(values: Any) -> torch.Tensor:
        """[n, D, across, across]"""
        x = channels_first(squares(values, SIDE)).to(device)
        with devices.precise(how.precision, device, heavy=False):
            return net.places(x, fine=form == "fine").float()

    def pooled(values: Any) -> np.ndarray:
        found = [grid(values[a : a + SOME]).mean(dim=(2, 3)).cpu().numpy() for a in range(0, len(values), SOME)]
        return np.concatenate(found)

    def encode(values: Any) -> Tokens:
        if isinstance(values, list) and isinstance(values[0], list):
            return frames(values)
        if form == "pooled":
            return Tokens.pooled(pooled(values))
        found = [grid(values[a : a + SOME]).flatten(2).mT.half().cpu().numpy() for a in range(0, len(values), SOME)]
        kept = np.concatenate(found)
        return Tokens(kept, np.ones(kept.shape[:2], bool), boxes(len(kept), int(kept.shape[1] ** 0.5)))

    def frames(values: list[list]) -> Tokens:
        n = np.array([len(value) for value in values])
        if not n.all():
            raise BadInput("an item has no frames", expected="a list of images for every item")
        mask = np.arange(n.max()) < n[:, None]
        made = np.zeros((*mask.shape, WIDTH), np.float32)
        made[mask] = pooled([frame for value in values for frame in value])
        if form == "pooled":
            return Tokens.pooled(made.sum(axis=1) / n[:, None].astype(np.float32))
        first = np.arange(n.max(), dtype=np.float32) * mask
        return Tokens(made.astype(np.float16), mask, np.stack([first, first + mask], axis=2))

    return encode


def trained(name: str, content: Content, augment: bool = False) -> tuple[Images, nn.Module, int]:
    if content.kind == "frames":
        raise BadCall("--finetune: frames are encoded by a frozen efficientnet only; leave --finetune out")
    return Images(content, SIDE, augment), loaded(), WIDTH


def body(name: str) -> nn.Module:
    return Lite0()


def loaded() -> Lite0:
    net = Lite0()
    held = torch.load(weights.get("efficientnet") / "model.pth", map_location="cpu", weights_only=True)
    net.load_state_dict({name: tensor for name, tensor in held.items() if not name.startswith("_fc.")})
    return net


# the network, its parts named as in the weights -----------------------------------------------------------------------


class Lite0(nn.Module):
    """uint8 [B, 3, h, w] -> [B, 1280]. Means and deviations of its norms stay those of the weights, in training too: a
    batch of items is too small to learn them from, and its size would change what is learnt."""

    def __init__(self):
        super().__init__()
        self._conv_stem = Same(3, 32, 3, 2)
        self._bn0 = norm(32)
        self._blocks = nn.ModuleList()
        inside = 32
        for count, kernel, stride, expand, outside in STAGES:
            for i in range(count):
                self._blocks.append(Block(inside, outside, kernel, stride if i == 0 else 1, expand))
                inside = outside
        self._conv_head = Same(inside, WIDTH, 1, 1)
        self._bn1 = norm(WIDTH)

    def places(self, x: torch.Tensor, fine: bool = False) -> torch.Tensor:
        x = ((x.float() - 127) / 128).contiguous(memory_format=torch.channels_last)
        x = F.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks[:FINE] if fine else self._blocks:
            x = block(x)
        return x if fine else F.relu6(self._bn1(self._conv_head(x)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.places(x).mean(dim=(2, 3))

    def train(self, mode: bool = True) -> Lite0:
        super().train(mode)
        for part in self.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.eval()
        return self

    def depth(self, name: str) -> int:
        """Blocks above: the head 0, the last block 1, the stem 17."""
        if name.startswith("_blocks."):
            return len(self._blocks) - int(name.split(".")[1])
        return 0 if name.startswith(("_conv_head", "_bn1")) else len(self._blocks) + 1


class Block(nn.Module):
    """Widen, look around in each channel, narrow; added to what came in where the shapes allow it."""

    def __init__(self, inside: int, outside: int, kernel: int, stride: int, expand: int):
        super().__init__()
        wide = inside * expand
        if expand > 1:
            self._expand_conv, self._bn0 = Same(inside, wide, 1, 1), norm(wide)
        self._depthwise_conv, self._bn1 = Same(wide, wide, kernel, stride, groups=wide), norm(wide)
        self._project_conv, self._bn2 = Same(wide, outside, 1, 1), norm(outside)
        self.expand, self.added = expand, stride == 1 and inside == outside

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.relu6(self._bn0(self._expand_conv(x))) if self.expand > 1 else x
        h = F.relu6(self._bn1(self._depthwise_conv(h)))
        h = self._bn2(self._project_conv(h))
        return x + h if self.added else h


class Same(nn.Conv2d):
    """As TensorFlow pads: the output is ceil(size / stride), and an odd pad goes to the right and below."""

    def __init__(self, inside: int, outside: int, kernel: int, stride: int, groups: int = 1):
        super().__init__(inside, outside, kernel, stride, groups=groups, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kernel, stride = self.kernel_size[0], self.stride[0]
        pads = [max((-(-size // stride) - 1) * stride + kernel - size, 0) for size in (x.shape[3], x.shape[2])]
        if any(pads):
            x = F.pad(x, [side for pad in pads for side in (pad // 2, pad - pad // 2)])
        return super().forward(x)


def norm(width: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(width, eps=1e-3, momentum=0.01)
