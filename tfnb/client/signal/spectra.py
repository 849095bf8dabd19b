"""`tf.signal` and `tf.contrib.signal`: frames, windows, short-time Fourier transforms, mel scales.

Invariant: `overlap_and_add` of frames that a window and its inverse have weighted gives the signal back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tfnb.client.argument_types import ScalarLike
from tfnb.client.graph.default_graph import name_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.const import constant_value
from tfnb.ir.tensor import SupportsTensor, Tensor, TensorLike
from tfnb.ops.array.concat import concat, stack
from tfnb.ops.array.constants import constant, convert_to_tensor, ones_like, zeros_like
from tfnb.ops.array.constants import range_ as range_op
from tfnb.ops.array.gather import UNSORTED_SEGMENT_SUM, gather
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.tile_reverse_mirror import TILE, pad
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.array.where_partition import where
from tfnb.ops.linalg.tensordot import tensordot
from tfnb.ops.math.binary import MAXIMUM, POW
from tfnb.ops.math.cast import cast
from tfnb.ops.math.fft import API as FFT
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.math.unary import CEIL, COS, LOG, SQUARE
from tfnb.types import DType, DTypeLike, as_dtype, float32, float64, int32

__all__ = [
    "frame",
    "hamming_window",
    "hann_window",
    "inverse_stft",
    "inverse_stft_window_fn",
    "linear_to_mel_weight_matrix",
    "mfccs_from_log_mel_spectrograms",
    "overlap_and_add",
    "stft",
]


# A number of samples, or an integer scalar tensor.
Length: TypeAlias = int | np.integer[Any] | Tensor
# The same, where its value need not be known: also a variable.
LengthLike: TypeAlias = Length | np.ndarray | SupportsTensor


def _number(value: ScalarLike | np.integer[Any], what: str) -> int:
    known = constant_value(value) if isinstance(value, Tensor) else value
    if known is None:
        raise InvalidArgumentError(f"signal: {what} must be known when the graph is built")
    return int(known)


def _length(value: Length) -> Any:
    """A number of samples: an integer if it is known when the graph is built, else an int32 tensor."""
    known = constant_value(value) if isinstance(value, Tensor) else value
    return cast(value, int32) if known is None else int(known)


def frame(
    signal: TensorLike,
    frame_length: Length,
    frame_step: Length,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Any:
    """Returns the frames of `signal` along `axis`, which becomes the two dimensions [frames, frame_length].

    frame_step: from one frame to the next. pad_end: whether the last frames are filled with `pad_value`, else they are
    left out.
    """
    with name_scope(name or "frame"):
        x = convert_to_tensor(signal)
        length, step = _length(frame_length), _length(frame_step)
        known = [n if isinstance(n, int) else None for n in (length, step)]
        ndims = x.shape.ndims or 1
        a = axis % ndims
        n = shape_op(x)[a]
        if pad_end:
            frames = -((-n) // step)
            missing = MAXIMUM(0, length + step * (frames - 1) - n)
            paddings = stack(
                [stack([constant(0, int32), missing if i == a else constant(0, int32)]) for i in range(ndims)]
            )
            x = pad(x, paddings, constant_values=pad_value)
        else:
            frames = MAXIMUM(0, 1 + (n - length) // step)
        starts = EXPAND_DIMS(range_op(frames) * step, 1)
        places = starts + EXPAND_DIMS(range_op(length), 0)
        result = gather(x, places, axis=a)
        size = x.shape.sizes[a] if x.shape.sizes else None
        count = None if size is None or pad_end or None in known else max(0, 1 + (size - length) // step)
        dims = x.shape.as_list() if x.shape.ndims is not None else None
        if dims is not None:
            result.set_shape([*dims[:a], count, known[0], *dims[a + 1 :]])
        return result


def overlap_and_add(signal: TensorLike, frame_step: LengthLike, name: str | None = None) -> Tensor:
    """Returns the sum of the frames `signal` [..., frames, length], each `frame_step` after the one before."""
    with name_scope(name or "overlap_and_add"):
        x = convert_to_tensor(signal)
        step = cast(frame_step, int32)
        size = shape_op(x)
        frames, length = size[-2], size[-1]
        total = length + step * (frames - 1)
        places = EXPAND_DIMS(range_op(frames) * step, 1) + EXPAND_DIMS(range_op(length), 0)
        flat = RESHAPE(x, stack([constant(-1, int32), frames * length]))
        summed = UNSORTED_SEGMENT_SUM(transpose(flat), RESHAPE(places, [-1]), total)
        return RESHAPE(transpose(summed), concat([size[:-2], EXPAND_DIMS(total, 0)], 0))


def _raised_cosine(window_length: LengthLike, periodic: bool, dtype: DType, a: float, b: float) -> Any:
    n = cast(window_length, int32)
    size = n - n % 2 if periodic else n - 1  # an odd length is symmetric in any case
    count = cast(size, dtype)
    wave = COS(2 * math.pi * cast(range_op(n), dtype) / where(count > 0.0, count, ones_like(count)))
    window = a - b * wave
    return where(zeros_like(window) + count > 0.0, window, ones_like(window))


def hann_window(
    window_length: LengthLike, periodic: bool = True, dtype: DTypeLike = float32, name: str | None = None
) -> Any:
    """Returns Hann's window of `window_length` numbers; `periodic` for an even length as in spectral analysis."""
    with name_scope(name or "hann_window"):
        return _raised_cosine(window_length, periodic, as_dtype(dtype), 0.5, 0.5)


def hamming_window(
    window_length: LengthLike, periodic: bool = True, dtype: DTypeLike = float32, name: str | None = None
) -> Any:
    """Returns Hamming's window of `window_length` numbers; `periodic` for an even length as in spectral analysis."""
    with name_scope(name or "hamming_window"):
        return _raised_cosine(window_length, periodic, as_dtype(dtype), 0.54, 0.46)


def _power_of_two(n: int | Tensor) -> Any:
    if isinstance(n, int):
        return 1 << max(0, n - 1).bit_length()
    exponent = CEIL(LOG(cast(n, float64)) / math.log(2.0) - 1e-9)  # the quotient may be just above a whole number
    return cast(POW(constant(2.0, float64), exponent), int32)


def stft(
    signals: TensorLike,
    frame_length: Length,
    frame_step: Length,
    fft_length: int | np.integer[Any] | Tensor | None = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the Fourier transforms of the frames of `signals` [..., samples]: [..., frames, fft_length / 2 + 1].

    frame_length, frame_step, pad_end: as in `frame`. fft_length: by default the next power of two. window_fn: (length,
    dtype=) to the window, None for none.
    """
    with name_scope(name or "stft"):
        x = convert_to_tensor(signals)
        length = _length(frame_length)
        points = _power_of_two(length) if fft_length is None else _length(fft_length)
        frames = frame(x, length, frame_step, pad_end)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=x.dtype)
        return FFT["rfft"](frames, [points])


def inverse_stft_window_fn(
    frame_step: Length, forward_window_fn: Callable[..., Any] = hann_window, name: str | None = None
) -> Callable[..., Any]:
    """Returns a window function for `inverse_stft` that undoes `forward_window_fn` at steps of `frame_step`."""

    def inverse_window(frame_length: Length, dtype: DTypeLike = float32) -> Any:
        with name_scope(name or "inverse_stft_window_fn"):
            length, step = _number(frame_length, "frame_length"), _number(frame_step, "frame_step")
            window = forward_window_fn(length, dtype=as_dtype(dtype))
            overlaps = -(-length // step)
            power = pad(SQUARE(window), [[0, overlaps * step - length]])
            total = TILE(reduce_sum(RESHAPE(power, [overlaps, step]), 0, keepdims=True), [overlaps, 1])
            return window / RESHAPE(total, [overlaps * step])[:length]

    return inverse_window


def inverse_stft(
    stfts: TensorLike,
    frame_length: Length,
    frame_step: LengthLike,
    fft_length: int | np.integer[Any] | Tensor | None = None,
    window_fn: Callable[..., Any] | None = hann_window,
    name: str | None = None,
) -> Any:
    """Returns the signals [..., samples] of short-time Fourier transforms; for the arguments see `stft`."""
    with name_scope(name or "inverse_stft"):
        x = convert_to_tensor(stfts)
        length = _length(frame_length)
        points = _power_of_two(length) if fft_length is None else _length(fft_length)
        frames = FFT["irfft"](x, [points])[..., :length]
        is_known = isinstance(points, int) and isinstance(length, int)
        if not is_known or points < length:
            missing = length - points if is_known else MAXIMUM(0, length - points)
            frames = pad(frames, [[0, 0]] * ((frames.shape.ndims or 2) - 1) + [[0, missing]])
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return overlap_and_add(frames, frame_step)


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: Length = 129,
    sample_rate: float | np.integer[Any] | Tensor = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Any:
    """Returns the matrix [num_spectrogram_bins, num_mel_bins] of triangular filters with equal steps in mel.

    sample_rate: of the signal, in hertz. lower_edge_hertz, upper_edge_hertz: of the filters. Raises
    `InvalidArgumentError` for edges that do not rise, or lie above half the rate.
    """
    bins, rate = _number(num_spectrogram_bins, "num_spectrogram_bins"), float(_number(sample_rate, "sample_rate"))
    if num_mel_bins <= 0 or not 0 <= lower_edge_hertz < upper_edge_hertz <= rate / 2:
        raise InvalidArgumentError(
            f"linear_to_mel_weight_matrix: {num_mel_bins} bins from {lower_edge_hertz} to {upper_edge_hertz} "
            f"hertz at the rate {rate}; needed rising edges up to half the rate"
        )
    mel = 1127.0 * np.log1p(np.linspace(0.0, rate / 2, bins)[1:] / 700.0)[:, None]
    low, high = (1127.0 * math.log1p(f / 700.0) for f in (lower_edge_hertz, upper_edge_hertz))
    edges = np.linspace(low, high, num_mel_bins + 2)
    rising = (mel - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - mel) / (edges[2:] - edges[1:-1])
    weights = np.pad(np.maximum(0.0, np.minimum(rising, falling)), [[1, 0], [0, 0]])
    with name_scope(name or "linear_to_mel_weight_matrix"):
        return constant(weights.astype(as_dtype(dtype).np))


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: TensorLike, name: str | None = None) -> Any:
    """Returns the mel frequency cepstral coefficients of log mel spectrograms [..., bins]: their cosine transform."""
    with name_scope(name or "mfccs_from_log_mel_spectrograms"):
        x = convert_to_tensor(log_mel_spectrograms)
        n = x.shape.sizes[-1] if x.shape.sizes else None
        if not n:
            raise InvalidArgumentError(f"num_mel_bins must be positive and known. Got: {x.shape}")
        k, i = np.arange(n), np.arange(n)[:, None]
        basis = 2.0 * np.cos(np.pi * k * (2 * i + 1) / (2.0 * n)) / math.sqrt(2.0 * n)
        return tensordot(x, constant(basis.astype(x.dtype.np)), 1)
