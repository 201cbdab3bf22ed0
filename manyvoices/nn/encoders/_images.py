"""Images as arrays of one size, and the random changes of training."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...core.content import Content, opened
from ...core.errors import BadInput

if TYPE_CHECKING:
    from PIL import Image

CROP, SHIFT = 0.15, 0.1  # of the side, at most


class Images:
    """Items as uint8 [B, 3, side, side], opened when they are asked for; smaller arrays stay as they are without a side."""

    def __init__(self, content: Content, side: int, augment: bool = False):
        self.content, self.side, self.augment = content, side, augment

    def __len__(self) -> int:
        return len(self.content)

    def __call__(self, rows: np.ndarray, rng: np.random.Generator | None = None) -> torch.Tensor:
        x = channels_first(squares(self.content.take(rows), self.side))
        return varied(x, rng) if self.augment and rng is not None else x


def squares(values: Any, side: int) -> np.ndarray:
    """Some images as [n, side, side, 3], whatever their own sizes are."""
    if isinstance(values, np.ndarray):
        checked(values)
    return np.stack([square(value, side) for value in values])


def square(value: np.ndarray | Path, side: int) -> np.ndarray:
    """One image as [side, side, 3], from an array or a file; stretched where it is not square."""
    from PIL import Image

    if isinstance(value, np.ndarray):
        image = Image.fromarray(value[..., 0] if value.ndim == 3 and value.shape[2] == 1 else value).convert("RGB")
    else:
        image = picture(value)
    return np.asarray(image.resize((side, side), Image.Resampling.BILINEAR))


def picture(path: Path) -> Image.Image:
    """The image in a file, upright, in colours."""
    from PIL import Image, ImageOps

    held = opened(path)
    try:
        image = ImageOps.exif_transpose(Image.open(io.BytesIO(held)))
        if image.mode.startswith("I"):  # 16 bits a pixel: the upper eight
            image = Image.fromarray((np.asarray(image, np.int64).clip(0, 65_535) >> 8).astype(np.uint8))
        return image.convert("RGB")
    except (OSError, ValueError, SyntaxError, TypeError, Image.DecompressionBombError) as error:
        raise BadInput(
            f"not an image that opens ({str(error).partition(' <')[0]})",
            file=path,
            expected="a PNG, JPEG, GIF, WebP or TIFF",
        ) from None


def checked(values: np.ndarray) -> None:
    if values.dtype != np.uint8 or not (values.ndim == 3 or (values.ndim == 4 and values.shape[3] in (1, 3, 4))):
        raise BadInput(
            f"the array of images is {values.dtype} {list(values.shape)}",
            expected="uint8 [images, height, width] or [images, height, width, 3]",
        )


def channels_first(x: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(x)).permute(0, 3, 1, 2).contiguous()


def varied(x: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    """Each image [B, 3, h, w] mirrored or not, cut to a window a little smaller than it, and shifted."""
    n = len(x)
    window = 1 - CROP * rng.random(n)
    flip = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    slack = (1 - window + 2 * SHIFT)[:, None] * rng.uniform(-1, 1, (n, 2))
    zero = np.zeros(n)
    theta = np.stack([flip * window, zero, slack[:, 0], zero, window, slack[:, 1]], axis=1).reshape(n, 2, 3)
    grid = torch.nn.functional.affine_grid(torch.from_numpy(theta).float(), list(x.shape), align_corners=False)
    moved = torch.nn.functional.grid_sample(x.float(), grid, padding_mode="reflection", align_corners=False)
    return moved.round().clamp(0, 255).to(torch.uint8)
