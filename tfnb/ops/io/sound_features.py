"""Features of speech: spectrograms of sound, and mel-frequency cepstral coefficients of them.

A filter of the mel scale is a triangle between its neighbours' centres, which lie at equal distances of the mel scale
(Davis and Mermelstein, 1980). Invariant: every channel of the sound is computed by itself.
"""

from __future__ import annotations

import math

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor
from tfnb.types import Shape

__all__ = ["AUDIO_SPECTROGRAM", "MFCC", "OPS"]

_LEAST_ENERGY = 1e-12  # of a filter, before its logarithm is taken


@record
class SpectrogramAttrs:
    """`window_size`, `stride`: samples of a window, and between two of them; `magnitude_squared`: the energy."""

    window_size: int
    stride: int
    magnitude_squared: bool = False


def _frequencies(window: int) -> int:
    return (1 << (window - 1).bit_length()) // 2 + 1


def _frames(samples: int, window: int, stride: int) -> int:
    return 1 + (samples - window) // stride if samples >= window else 0


def _spectrogram_shape(c: Infer) -> Shape:
    samples, channels = with_rank(c, 0, 2, "input").sizes or (None, None)
    window, stride = c.attrs.window_size, c.attrs.stride
    if window < 2 or stride < 1:
        raise InvalidArgumentError(
            f"AudioSpectrogram: needed a window of 2 samples or more and a stride of 1 or more, got {window}, {stride}"
        )
    frames = None if not isinstance(samples, int) else _frames(samples, window, stride)
    return Shape((channels, frames, _frequencies(window)))


def _spectrogram(call: HostCall, sound: np.ndarray) -> np.ndarray:
    window, stride = call.attrs.window_size, call.attrs.stride
    frames, size = _frames(len(sound), window, stride), 2 * (_frequencies(window) - 1)
    if not frames or not sound.shape[1]:
        return np.zeros((sound.shape[1], frames, _frequencies(window)), np.float32)
    curve = 0.5 - 0.5 * np.cos(np.arange(window) * (2 * np.pi / window))  # Hann's, periodic
    parts = np.lib.stride_tricks.sliding_window_view(sound.T.astype(np.float64), window, axis=1)[:, ::stride]
    spectrum = np.fft.rfft(parts * curve, size)
    energy = spectrum.real**2 + spectrum.imag**2
    return (energy if call.attrs.magnitude_squared else np.sqrt(energy)).astype(np.float32)


AUDIO_SPECTROGRAM: OpDef[Tensor] = OpDef(
    "AudioSpectrogram",
    "input: float32",
    "spectrogram: float32",
    """The strength of each frequency in overlapping windows of sound, each weighted by Hann's curve.

    input: (samples, channels). spectrogram: (channels, windows, frequencies), where a window filled up with zeros to a
    power of two gives half of its samples and one more. Errors: a window of fewer than 2 samples, or no stride. Runs on
    the host.""",
    attrs=SpectrogramAttrs,
    infer=_spectrogram_shape,
    host=_spectrogram,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)


@record
class MfccAttrs:
    """Limits of the frequencies in hertz, the number of filters and that of coefficients."""

    upper_frequency_limit: float = 4000.0
    lower_frequency_limit: float = 20.0
    filterbank_channel_count: int = 40
    dct_coefficient_count: int = 13


def _mel(hertz: np.ndarray | float) -> np.ndarray:
    return np.asarray(1127.0 * np.log1p(np.asarray(hertz, np.float64) / 700.0))


def _filters(a: MfccAttrs, width: int, rate: int) -> np.ndarray:
    """The weight of each frequency (row) in each filter (column)."""
    step = 0.5 * rate / (width - 1)
    low, high = _mel(a.lower_frequency_limit), _mel(a.upper_frequency_limit)
    count = a.filterbank_channel_count
    corners = np.linspace(low, high, count + 2)  # of filter k: corners k, k + 1 (its top) and k + 2
    at = _mel(np.arange(width) * step)
    last = np.searchsorted(corners, at, "left") - 1  # the corner before, which is the top of filter `last - 1`
    first, end = int(1.5 + a.lower_frequency_limit / step), int(a.upper_frequency_limit / step)
    weights = np.zeros((width, count))
    for i in range(max(first, 0), min(end, width - 1) + 1):
        k = int(np.clip(last[i], 0, count))
        falling = (corners[k + 1] - at[i]) / (corners[k + 1] - corners[k])
        if k >= 1:
            weights[i, k - 1] = falling
        if k < count:
            weights[i, k] = 1.0 - falling
    return weights


def _mfcc(call: HostCall, spectrogram: np.ndarray, rate: np.ndarray) -> np.ndarray:
    a, width = call.attrs, spectrogram.shape[2]
    limits = 0 <= a.lower_frequency_limit < a.upper_frequency_limit
    counts = 1 <= a.dct_coefficient_count <= a.filterbank_channel_count
    if not (limits and counts and width > 1 and int(rate) > 0):
        raise InvalidArgumentError(
            f"Mfcc initialization failed for channel count {width} and sample rate {int(rate)}: needed more than one "
            f"frequency, a positive rate, limits that rise from 0 and no more coefficients than filters; got limits "
            f"{a.lower_frequency_limit} and {a.upper_frequency_limit}, {a.filterbank_channel_count} filters and "
            f"{a.dct_coefficient_count} coefficients",
            call.op,
        )
    energy = np.sqrt(spectrogram.astype(np.float64)) @ _filters(a, width, int(rate))
    count = a.filterbank_channel_count
    angles = np.outer(np.arange(count) + 0.5, np.arange(a.dct_coefficient_count)) * (np.pi / count)
    cosines = math.sqrt(2.0 / count) * np.cos(angles)
    return (np.log(np.maximum(energy, _LEAST_ENERGY)) @ cosines).astype(np.float32)


def _mfcc_shape(c: Infer) -> Shape:
    with_rank(c, 1, 0, "sample_rate")
    channels, windows, _ = with_rank(c, 0, 3, "spectrogram").sizes or (None,) * 3
    return Shape((channels, windows, c.attrs.dct_coefficient_count))


MFCC: OpDef[Tensor] = OpDef(
    "Mfcc",
    "spectrogram: float32, sample_rate: int32",
    "output: float32",
    """Mel-frequency cepstral coefficients: the cosine transform of the logarithms of what filters let through.

    spectrogram: (channels, windows, frequencies), energies as AudioSpectrogram gives them with `magnitude_squared`.
    sample_rate: samples in a second, a scalar. output: (channels, windows, coefficients). Errors: limits that do not
    rise, more coefficients than filters, fewer than two frequencies. Runs on the host.""",
    attrs=MfccAttrs,
    infer=_mfcc_shape,
    host=_mfcc,
    grad=NOT_DIFFERENTIABLE,
)

OPS: tuple[OpDef, ...] = (AUDIO_SPECTROGRAM, MFCC)
