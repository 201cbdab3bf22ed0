"""GE2E: who speaks and how, 256 numbers for each stretch of 1.6 seconds of sound, from wav files.

    mel    = 40 mel bands of 25 ms windows, every 10 ms (power, no logarithm)
    window = ReLU(linear(last state of three LSTM layers over 160 frames)), length one
    pooled = mean over windows, length one

Sounds are brought to 16 kHz and one channel and made louder to -30 dBFS where they are softer. Windows start every 0.77
seconds; a last one of less than three quarters sound is left out. Silence is not cut out, so that times stay those of the file.
Reference: Wan, Wang, Papir and Lopez Moreno (2018), Generalized end-to-end loss for speaker verification, arXiv:1710.10467.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

from ...core.content import opened
from ...core.errors import BadInput
from ...core.tokens import Tokens
from .. import devices, weights
from ..training import Training

KINDS = ("audio",)
RATE, HOP, SPAN, BANDS, WIDTH = 16_000, 160, 400, 40, 256
FRAMES, STEP = 160, 77  # of a window, and from one to the next
LEAST = 0.75  # sound in the last window
LOUD = 10 ** (-30 / 20)


def version(name: str) -> str:
    return weights.PACKAGES["voice"].pin


def frozen(name: str, form: str, how: Training) -> Callable[[list[Path]], Tokens]:
    device = devices.device_of(how.device)
    net = loaded().to(device).eval()

    @torch.no_grad()
    def heard(path: Path) -> tuple[np.ndarray, np.ndarray]:
        """Windows [L, 256] and their seconds [L, 2]."""
        sound = sound_of(path)
        starts = windows(len(sound))
        ends = (starts[-1] + FRAMES) * HOP
        mel = torch.from_numpy(mels(np.pad(sound, (0, max(0, ends - len(sound))))))
        cut = [mel[starts[a : a + 64, None] + np.arange(FRAMES)] for a in range(0, len(starts), 64)]
        found = torch.cat([net(part.to(device)) for part in cut]).cpu().numpy()
        seconds = np.stack([starts, starts + FRAMES], axis=1) * (HOP / RATE)
        return found, np.minimum(seconds, len(sound) / RATE).astype(np.float32)

    def encode(values: list[Path]) -> Tokens:
        found = [heard(path) for path in values]
        if form == "pooled":
            mean = np.stack([tokens.mean(axis=0) for tokens, _ in found])
            return Tokens.pooled(mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12))
        n = np.array([len(tokens) for tokens, _ in found])
        mask = np.arange(n.max()) < n[:, None]
        made, where = np.zeros((*mask.shape, WIDTH), np.float16), np.zeros((*mask.shape, 2), np.float32)
        made[mask], where[mask] = (np.concatenate(part) for part in zip(*found, strict=True))
        return Tokens(made, mask, where)

    return encode


def sound_of(path: Path) -> np.ndarray:
    """A wav file as float32 at 16 kHz, one channel, no softer than -30 dBFS."""
    from scipy.io import wavfile
    from scipy.signal import resample_poly

    held = opened(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wavfile.WavFileWarning)  # parts of a file that are no sound
            rate, sound = wavfile.read(io.BytesIO(held))
    except Exception as error:  # of a damaged file many kinds, and one fact
        raise BadInput(f"not a wav file that can be read ({error})", file=path, expected="a wav file (PCM)") from None
    if not len(sound) or not rate:
        raise BadInput("a wav file without sound", file=path, expected="at least one sample")
    if sound.dtype.kind in "iu":
        middle, most = (128, 128) if sound.dtype == np.uint8 else (0, 2 ** (8 * sound.dtype.itemsize - 1))
        sound = (sound.astype(np.float32) - middle) / most
    sound = sound.astype(np.float32)
    if not np.isfinite(sound).all():
        raise BadInput("a wav file with samples that are no numbers", file=path, expected="finite samples")
    sound = sound.mean(axis=1) if sound.ndim == 2 else sound
    if rate != RATE:
        shared = math.gcd(int(rate), RATE)
        sound = resample_poly(sound, RATE // shared, int(rate) // shared).astype(np.float32)
    power = float(np.sqrt(np.mean(np.square(sound, dtype=np.float64))))
    return sound * np.float32(LOUD / power) if 0 < power < LOUD else sound


def windows(samples: int) -> np.ndarray:
    """Frames at which windows start."""
    n = math.ceil((samples + 1) / HOP)
    starts = np.arange(0, max(1, n - FRAMES + STEP + 1), STEP)
    if len(starts) > 1 and (samples - starts[-1] * HOP) / (FRAMES * HOP) < LEAST:
        starts = starts[:-1]
    return starts


def mels(sound: np.ndarray) -> np.ndarray:
    """[frames, 40] power in mel bands, a frame around every hundredth of a second."""
    padded = np.pad(sound, SPAN // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, SPAN)[::HOP]
    hann = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(SPAN) / SPAN)).astype(np.float32)
    bands = filters().T
    made = [np.abs(np.fft.rfft(frames[a : a + 4096] * hann)) ** 2 @ bands for a in range(0, len(frames), 4096)]
    return np.concatenate(made).astype(np.float32)


def filters() -> np.ndarray:
    """[40, 201] triangles, evenly spaced in mel (linear to 1 kHz, logarithmic above), each of area one."""
    top = mel_of(RATE / 2)
    edges = hertz_of(np.linspace(0, top, BANDS + 2))
    bins = np.linspace(0, RATE / 2, SPAN // 2 + 1)
    rise = (bins - edges[:-2, None]) / np.diff(edges)[:-1, None]
    fall = (edges[2:, None] - bins) / np.diff(edges)[1:, None]
    return np.maximum(0, np.minimum(rise, fall)) * (2 / (edges[2:] - edges[:-2]))[:, None]


def mel_of(hertz: float) -> float:
    return 3 * hertz / 200 if hertz < 1000 else 15 + 27 * math.log(hertz / 1000) / math.log(6.4)


def hertz_of(mel: np.ndarray) -> np.ndarray:
    return np.where(mel < 15, 200 * mel / 3, 1000 * np.exp(np.log(6.4) / 27 * (np.maximum(mel, 15) - 15)))


class Voice(nn.Module):
    """[B, 160, 40] -> [B, 256] of length one."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(BANDS, WIDTH, 3, batch_first=True)
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        _, (state, _) = self.lstm(x)
        return nn.functional.normalize(torch.relu(self.linear(state[-1])), dim=1)


def loaded() -> Voice:
    net = Voice()
    held = torch.load(weights.get("voice") / "model.pt", map_location="cpu", weights_only=True)["model_state"]
    net.load_state_dict({name: tensor for name, tensor in held.items() if name.startswith(("lstm.", "linear."))})
    return net
