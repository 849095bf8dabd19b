"""Discrete Fourier transforms over the last one, two or three dimensions, computed on the host by SciPy.

Invariant: the inverse transform undoes the transform; the gradient of each is the other one, scaled by the number of
points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import RANGE
from tfnb.ops.array.pack import PACK
from tfnb.ops.array.shape_ops import shape_of
from tfnb.ops.array.transpose_pad_tile import PAD
from tfnb.ops.lazy_library import library
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import LOGICAL_AND, NOT_EQUAL
from tfnb.ops.math.complex_numbers import REAL
from tfnb.ops.math.reduce import PROD
from tfnb.types import (
    COMPLEX,
    Shape,
    complex64,
    complex128,
    float32,
    float64,
    int32,
    unknown_shape,
)

__all__ = ["API", "OPS"]

_LARGE = 1 << 16  # the number of points from which a second thread pays


def _at_least(c: Infer, rank: int) -> Shape:
    x = c.shapes[0]
    if x.sizes is not None and len(x.sizes) < rank:
        raise ShapeError(f"{c.op_name}: Shape must be at least rank {rank} but is rank {x.ndims}, got shape {x}")
    return x


def _points(x: Tensor, rank: int) -> Any:
    """The number of points of one transform, as a scalar of the dtype of x."""
    sizes = shape_of(x)[-rank:]
    if not isinstance(sizes, Tensor):
        return np.prod(sizes).astype(x.dtype.np)
    return cast_to(PROD(sizes, np.zeros(1, np.int32)), x.dtype)


def _scipy(name: str, x: np.ndarray, axes: tuple[int, ...], **options: object) -> np.ndarray:
    """Runs SciPy's transform `name` in the precision of x; large transforms use all cores."""
    fft = library("scipy.fft", "scipy", "a Fourier transform")
    workers = -1 if x.size >= _LARGE else 1
    return np.asarray(getattr(fft, name)(x, axes=axes, workers=workers, **options))


def _complex_to_complex(rank: int) -> tuple[OpDef[Tensor], OpDef[Tensor]]:
    suffix = "" if rank == 1 else f"{rank}D"
    axes = tuple(range(-rank, 0))
    span = ("last dimension", "last two dimensions", "last three dimensions")[rank - 1]

    def define(name: str, formula: str, fn: str, grad: Callable[..., Any]) -> OpDef[Tensor]:
        return OpDef(
            name,
            inputs="input: Tcomplex",
            outputs="output: Tcomplex",
            types={"Tcomplex": COMPLEX},
            doc=f"""{formula} over the {span}; runs on the host.

            input: complex64 or complex128, rank >= {rank}. output: dtype and shape of input.""",
            infer=lambda c: _at_least(c, rank),
            host=lambda call, x: _scipy(fn, x, axes) if x.size else x,
            grad=grad,
            defaults={"Tcomplex": complex64},
        )

    def grad_forward(op: Operation, dy: Tensor) -> Any:
        return inverse(dy) * _points(dy, rank)

    def grad_inverse(op: Operation, dy: Tensor) -> Any:
        return forward(dy) / _points(dy, rank)

    forward = define(f"FFT{suffix}", "The sum of x[n] exp(-2 pi i k n / N)", "fftn", grad_forward)
    inverse = define(f"IFFT{suffix}", "1 / N times the sum of x[k] exp(2 pi i k n / N)", "ifftn", grad_inverse)
    return forward, inverse


def _lengths(c: Infer, rank: int) -> tuple[list[int | None], Shape]:
    x = _at_least(c, rank)
    static = c.value(1)
    if static is not None and static.shape != (rank,):
        raise ShapeError(f"{c.op_name}: fft_length must have shape ({rank},), got {static.shape}")
    return ([None] * rank if static is None else [int(n) for n in static]), x


def _real_shape(rank: int, half: bool) -> Callable[[Infer], Shape]:
    def infer(c: Infer) -> Shape:
        n, x = _lengths(c, rank)
        if x.sizes is None:
            return unknown_shape
        last = n[-1] if not half or n[-1] is None else n[-1] // 2 + 1
        return Shape((*x.sizes[:-rank], *n[:-1], last))

    return infer


def _fitted(x: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """x, cut or padded with zeros so that its last dimensions have the given sizes."""
    corner: Any = (..., *(slice(0, n) for n in sizes))
    x = x[corner]
    if x.shape[-len(sizes) :] == sizes:
        return x
    short = [(0, 0)] * (x.ndim - len(sizes))
    short += [(0, n - m) for n, m in zip(sizes, x.shape[-len(sizes) :], strict=True)]
    return np.pad(x, short)


def _checked(call: HostCall, length: np.ndarray) -> tuple[int, ...]:
    if (length < 0).any():
        raise InvalidArgumentError(f"fft_length must not be negative, got {length.tolist()}", call.op)
    return tuple(int(n) for n in length)


_REAL_TYPES = {"Treal": (float32, float64), "Tcomplex": COMPLEX}
_REAL_DEFAULTS = {"Treal": float32, "Tcomplex": complex64}


def _real_transforms(rank: int) -> tuple[OpDef[Tensor], OpDef[Tensor]]:
    suffix = "" if rank == 1 else f"{rank}D"
    axes = tuple(range(-rank, 0))

    def forward(call: HostCall, x: np.ndarray, length: np.ndarray) -> np.ndarray:
        n = _checked(call, length)
        out_shape = (*x.shape[:-rank], *n[:-1], n[-1] // 2 + 1)
        if 0 in out_shape or 0 in n:
            return np.zeros(out_shape, call.types["Tcomplex"].np)
        return _scipy("rfftn", _fitted(x, n), axes).astype(call.types["Tcomplex"].np, copy=False)

    def inverse(call: HostCall, x: np.ndarray, length: np.ndarray) -> np.ndarray:
        n = _checked(call, length)
        out_shape = (*x.shape[:-rank], *n)
        if 0 in out_shape:
            return np.zeros(out_shape, call.types["Treal"].np)
        half = (*n[:-1], n[-1] // 2 + 1)
        return _scipy("irfftn", _fitted(x, half), axes, s=n).astype(call.types["Treal"].np, copy=False)

    span = ("last dimension", "last two dimensions", "last three dimensions")[rank - 1]
    rfft = OpDef(
        f"RFFT{suffix}",
        inputs="input: Treal, fft_length: int32",
        outputs="output: Tcomplex",
        types=_REAL_TYPES,
        defaults=_REAL_DEFAULTS,
        doc=f"""The Fourier transform of real numbers over the {span}, without its redundant half; runs on the host.

        input: float32 or float64, rank >= {rank}; it is cut or padded with zeros to `fft_length`, an int32 tensor of
        shape ({rank},). output: the complex type of the same precision; its last dimension is fft_length // 2 + 1.""",
        infer=_real_shape(rank, True),
        host=forward,
        grad=lambda op, dy: _grad_rfft(op, dy, rank),
        shape_inputs=(1,),
    )
    irfft = OpDef(
        f"IRFFT{suffix}",
        inputs="input: Tcomplex, fft_length: int32",
        outputs="output: Treal",
        types=_REAL_TYPES,
        defaults=_REAL_DEFAULTS,
        doc=f"""The real numbers whose Fourier transform over the {span} has the given half; runs on the host.

        input: complex64 or complex128, rank >= {rank}. `fft_length`: int32 of shape ({rank},), the sizes of the
        result. output: float32 or float64.""",
        infer=_real_shape(rank, False),
        host=inverse,
        grad=lambda op, dy: _grad_irfft(op, dy, rank),
        shape_inputs=(1,),
    )
    return rfft, irfft


def _grad_rfft(op: Operation, dy: Tensor, rank: int) -> Any:
    """Computes the gradient by the adjoint of the transform: the real part of the sum of dy[k] exp(2 pi i k n / N)."""
    x, sizes = op.inputs[0], [op.inputs[1][k] for k in range(rank)]
    padded = _resized(dy, sizes)
    dx = REAL(_INVERSE[rank](padded) * cast_to(math.prod(sizes[1:], start=sizes[0]), padded.dtype), Tout=x.dtype)
    return _resized(dx, _last_sizes(x, rank)), None


def _grad_irfft(op: Operation, dy: Tensor, rank: int) -> Any:
    """Computes the gradient, in which terms that stand for two conjugates count twice.

    These are all terms but the first and, for even N, the middle one.
    """
    x, length = op.inputs
    sizes = [length[k] for k in range(rank)]
    n = sizes[-1]
    half = n // 2 + 1
    k = RANGE(0, half, 1)
    twice = LOGICAL_AND(NOT_EQUAL(k, 0), NOT_EQUAL(k * 2, n))
    weight = (1.0 + cast_to(twice, dy.dtype)) / cast_to(math.prod(sizes[1:], start=sizes[0]), dy.dtype)
    g = _REAL[2 * rank - 2](dy, length, Tcomplex=x.dtype) * cast_to(weight, x.dtype)
    return _resized(g, _last_sizes(x, rank)), None


def _last_sizes(x: Tensor, rank: int) -> list[Any]:
    sizes = shape_of(x)
    return [sizes[k] for k in range(-rank, 0)]


def _resized(x: Tensor, sizes: list[Any]) -> Tensor:
    """x, cut or padded with zeros so that its last dimensions have the given sizes."""
    for axis, size in enumerate(sizes, -len(sizes)):
        x = _resized_along(x, size, axis)
    return x


def _resized_along(x: Any, size: Any, axis: int) -> Any:
    length = x.shape.sizes[axis]
    if length is not None and not isinstance(size, Tensor) and length == int(size):
        return x
    trailing = [slice(None)] * (-1 - axis)
    window = (..., slice(None, size), *trailing)
    truncated = x[window]
    rest = size - shape_of(truncated)[axis]
    rank = x.shape.ndims
    none = np.zeros(2, np.int32)
    last = PACK([np.int32(0), rest]) if isinstance(rest, Tensor) else np.array([0, int(rest)], np.int32)
    rows = [none] * (rank + axis) + [last] + [none] * (-1 - axis)
    return PAD(truncated, PACK(rows) if isinstance(rest, Tensor) else np.stack(rows))


FFT, IFFT = _complex_to_complex(1)
FFT2D, IFFT2D = _complex_to_complex(2)
FFT3D, IFFT3D = _complex_to_complex(3)
_REAL = tuple(op for rank in (1, 2, 3) for op in _real_transforms(rank))
_INVERSE = {1: IFFT, 2: IFFT2D, 3: IFFT3D}
OPS: tuple[OpDef, ...] = (FFT, IFFT, FFT2D, IFFT2D, FFT3D, IFFT3D, *_REAL)


def _complex_call(opdef: OpDef) -> Callable[..., Any]:
    def transform(input: Tensor, name: str | None = None) -> Any:
        # an array is complex64, the default of the op's type, whatever its own dtype is
        x = graph_of([input]).to_tensor(input, complex64 if isinstance(input, (np.ndarray, np.generic)) else None)
        if x.dtype not in COMPLEX:
            x = cast_to(x, complex128 if x.dtype.size == 8 and x.dtype.is_floating else complex64)
        return opdef(x, name=name)

    transform.__doc__ = opdef.doc
    return transform


_PARTNER = {float32: complex64, float64: complex128, complex64: float32, complex128: float64}


def _real_call(opdef: OpDef, rank: int, inverse: bool) -> Callable[..., Any]:
    unset_type = "Treal" if inverse else "Tcomplex"

    def transform(input_tensor: Tensor, fft_length: TensorLike | None = None, name: str | None = None) -> Any:
        x = graph_of([input_tensor]).to_tensor(input_tensor)
        if fft_length is None:
            fft_length = _default_length(x, rank, inverse)
        partner = _PARTNER[x.dtype]
        return opdef(x, x.graph.to_tensor(fft_length, int32), name=name, **{unset_type: partner})

    transform.__doc__ = opdef.doc
    return transform


def _default_length(x: Any, rank: int, inverse: bool) -> Any:
    dims = None if x.shape.sizes is None else x.shape.sizes[-rank:]
    if dims is not None and None not in dims:
        last = max(0, 2 * (dims[-1] - 1)) if inverse else dims[-1]
        return np.asarray([*dims[:-1], last], np.int32)
    sizes = [shape_of(x)[i] for i in range(-rank, 0)]
    return [*sizes[:-1], 2 * (sizes[-1] - 1) if inverse else sizes[-1]]


def _names(name: str) -> tuple[str, ...]:
    return (name, f"spectral.{name}", f"signal.{name}")


API: dict[str, Any] = {}
for _op in (FFT, IFFT, FFT2D, IFFT2D, FFT3D, IFFT3D):
    API.update(dict.fromkeys(_names(_op.name.lower()), _complex_call(_op)))
for _i, _op in enumerate(_REAL):
    _call = _real_call(_op, _i // 2 + 1, _i % 2 == 1)
    API.update(dict.fromkeys(_names(_op.name.lower()), _call))
