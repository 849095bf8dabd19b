"""Cosine transforms, and spectra with the zero frequency in the middle, of `tf.signal` and `tf.spectral`.

Invariant: all is made of ordinary operations, so that gradients flow through it. A cosine transform is a product with
the matrix of its cosines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops import API as OPS_API
from tfnb.types import DType

__all__ = ["dct", "fftshift", "idct", "ifftshift"]


def _op(name: str) -> Any:
    return OPS_API[name]


def _rank(x: Tensor, name: str) -> int:
    if x.shape.ndims is None:
        raise ShapeError(f"{name} needs a tensor of known rank")
    return int(x.shape.ndims)


def _axes(x: Tensor, axes: int | Sequence[int] | None) -> list[int]:
    if axes is None:
        return list(range(_rank(x, "fftshift")))
    return [axes] if isinstance(axes, int) else [int(a) for a in axes]


def _shift(x: TensorLike, axes: int | Sequence[int] | None, inverse: bool, name: str) -> Any:
    graph = graph_of((x,))
    with graph.as_default(), graph.name_scope(name):
        t = graph.to_tensor(x)
        places = _axes(t, axes)
        sizes = _op("shape")(t)
        halves = [-(sizes[a] // 2) if inverse else sizes[a] // 2 for a in places]
        return _op("roll")(t, _op("stack")(halves), places)


def fftshift(x: TensorLike, axes: int | Sequence[int] | None = None, name: str | None = None) -> Any:
    """Returns a spectrum whose zero frequency has moved to the middle of `axes`, by default all. x: any dtype."""
    return _shift(x, axes, False, name or "fftshift")


def ifftshift(x: TensorLike, axes: int | Sequence[int] | None = None, name: str | None = None) -> Any:
    """Undoes `fftshift`. x: any dtype."""
    return _shift(x, axes, True, name or "ifftshift")


def _basis(kind: int, n: int, dtype: DType) -> np.ndarray:
    """The matrix of a cosine transform without normalisation: rows are frequencies."""
    i = np.arange(n)
    if kind == 1:
        values = 2 * np.cos(np.pi * np.outer(i, i) / max(n - 1, 1))
        values[:, [0, -1]] /= 2
    elif kind == 2:
        values = 2 * np.cos(np.pi * np.outer(i, 2 * i + 1) / (2 * n))
    else:
        values = 2 * np.cos(np.pi * np.outer(2 * i + 1, i) / (2 * n))
        values[:, 0] /= 2
    return np.asarray(values, dtype.np)


def _check_dct(kind: int, n: int | None, axis: int, norm: str | None) -> None:
    if axis != -1:
        raise InvalidArgumentError(f"dct: axis must be -1, got {axis}")
    if kind not in (1, 2, 3):
        raise InvalidArgumentError(f"Only Types I, II and III (I)DCT are supported, got {kind}")
    if norm not in (None, "ortho") or (norm is not None and kind == 1):
        raise InvalidArgumentError(f"dct: norm must be None or 'ortho' (types 2 and 3), got {norm!r}")
    if n is not None and n < 1:
        raise InvalidArgumentError(f"dct: n must be positive, got {n}")


def dct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns the cosine transform of type 1, 2 or 3 along the last axis, of known size.

    input: float32 or float64, shape (..., samples). n: the size to which the input is cut off or filled up with zeros.
    norm: None, or "ortho" for types 2 and 3. Raises `InvalidArgumentError` for other arguments.
    """
    _check_dct(type, n, axis, norm)
    graph = graph_of((input,))
    with graph.as_default(), graph.name_scope(name or "dct"):
        x = graph.to_tensor(input)
        size = None if x.shape.ndims is None else x.shape.as_list()[-1]
        if size is None:
            raise ShapeError(f"dct needs a last axis of known size, got shape {x.shape}")
        if n is not None and n < size:
            x = x[..., :n]
        elif n is not None and n > size:
            x = _op("pad")(x, [[0, 0]] * (_rank(x, "dct") - 1) + [[0, n - size]])
        length = size if n is None else n
        if type == 1 and length < 2:
            raise InvalidArgumentError("dct: type 1 needs at least two samples")
        basis = _basis(type, length, x.dtype)
        if norm == "ortho":
            scale = np.full(length, np.sqrt(1 / (2 * length)))
            if type == 2:
                scale[0] = np.sqrt(1 / (4 * length))
                basis = basis * scale[:, None]
            else:
                scale[0] = np.sqrt(1 / length)
                basis = basis * scale
        matrix = graph.to_tensor(np.ascontiguousarray(basis.T.astype(x.dtype.np)))
        return _op("tensordot")(x, matrix, [[_rank(x, "dct") - 1], [0]])


def idct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns the inverse cosine transform along the last axis, without the factor that undoes `dct` unless "ortho".

    As in TensorFlow, the inverse of type 2 is type 3 and the reverse. Raises `InvalidArgumentError` as `dct` does, and
    for `n`, which it does not have.
    """
    if n is not None:
        raise InvalidArgumentError(f"idct: n must be None, got {n}")
    return dct(input, {1: 1, 2: 3, 3: 2}.get(type, type), None, axis, norm, name or "idct")
