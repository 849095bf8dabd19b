"""Complex numbers: construction, real and imaginary parts, and the conjugate (white paper, Table 1).

Complex tensors stay on the host, since OpenCL has no complex type. Invariant: as in TensorFlow, a gradient is the
conjugate of the derivative, so that a step against the gradient reduces a real loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import DTypeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.shapes import broadcast, unchanged
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.math.compare import NOT_EQUAL, SELECT
from tfnb.ops.math.reduce_sum import unbroadcast
from tfnb.types import COMPLEX, NUMBERS, DType, complex64, complex128, float32, float64

__all__ = ["API", "COMPLEX_OF", "CONJ", "IMAG", "OPS", "REAL", "conj", "holomorphic"]

Grad = Callable[..., Any]
_HALF = {complex64: float32, complex128: float64}
_WHOLE = {float32: complex64, float64: complex128}
_FLOATS = (float32, float64)


def holomorphic(grad: Grad) -> Grad:
    """Makes the gradient function of a complex differentiable op from the gradient function of its real form.

    TensorFlow multiplies by the conjugate of the derivative f': dy conj(f') = conj(conj(dy) f').
    """

    def wrapped(op: Operation, *dys: Tensor | None) -> Any:
        if not any(dy is not None and dy.dtype in _HALF for dy in dys):
            return grad(op, *dys)
        grads = grad(op, *(None if dy is None else conj(dy) for dy in dys))
        if isinstance(grads, tuple):
            return tuple(g if g is None or g.dtype not in _HALF else CONJ(g) for g in grads)
        return CONJ(grads)

    return wrapped


def _grad_complex(op: Operation, dz: Tensor) -> Any:
    real, imag = op.inputs
    return unbroadcast(real, imag, _part(REAL, dz), _part(IMAG, dz))


def _part(opdef: OpDef, z: Tensor, name: str | None = None) -> Any:
    return opdef(z, Tout=_HALF[z.dtype], name=name)


def _whole(real: Tensor, imag: Tensor, name: str | None = None) -> Tensor:
    return COMPLEX_OF(real, imag, Tout=_WHOLE[real.dtype], name=name)


def _host_complex(call: HostCall, real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), call.types["Tout"].np)
    out.real, out.imag = real, imag
    return out


COMPLEX_OF: OpDef[Tensor] = OpDef(
    "Complex",
    inputs="real: T, imag: T",
    outputs="out: Tout",
    types={"T": _FLOATS, "Tout": COMPLEX},
    doc="""real + i imag, elementwise with broadcasting; runs on the host.

    real, imag: float32 or float64; their shapes must broadcast. out: complex64 or complex128, the broadcast shape.""",
    infer=broadcast,
    host=_host_complex,
    grad=_grad_complex,
    defaults={"Tout": complex64},
)


def _of_complex(
    name: str,
    formula: str,
    host: Callable[[np.ndarray], np.ndarray],
    grad: Grad,
    z: str = "input",
    y: str = "output",
) -> OpDef[Tensor]:
    def kernel(call: HostCall, z: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(host(z), call.types["Tout"].np, order="C")

    return OpDef(
        name,
        inputs=f"{z}: T",
        outputs=f"{y}: Tout",
        types={"T": COMPLEX, "Tout": _FLOATS},
        doc=f"""{formula}, elementwise; runs on the host.

        {z}: complex64 or complex128, any shape. {y}: float32 or float64, the same shape.""",
        infer=unchanged,
        host=kernel,
        grad=grad,
        defaults={"Tout": float32},
    )


def _grad_angle(op: Operation, dy: Tensor) -> Any:
    re, im = _part(REAL, op.inputs[0]), _part(IMAG, op.inputs[0])
    share = dy / (re * re + im * im)
    return _whole(-(share * im), share * re)


def _grad_abs(op: Operation, dy: Tensor) -> Any:
    re, im = _part(REAL, op.inputs[0]), _part(IMAG, op.inputs[0])
    size = op.outputs[0]
    scale = SELECT(NOT_EQUAL(size, ZEROS_LIKE(size)), dy / size, ZEROS_LIKE(size))  # as for a real 0, it is 0
    return _whole(scale * re, scale * im)


REAL = _of_complex("Real", "The real part", np.real, lambda op, dy: _whole(dy, ZEROS_LIKE(dy)))
IMAG = _of_complex("Imag", "The imaginary part", np.imag, lambda op, dy: _whole(ZEROS_LIKE(dy), dy))
ANGLE = _of_complex("Angle", "The argument, in (-pi, pi]", np.angle, _grad_angle)
COMPLEX_ABS = _of_complex("ComplexAbs", "The absolute value, sqrt(re^2 + im^2)", np.abs, _grad_abs, "x", "y")

CONJ: OpDef[Tensor] = OpDef(
    "Conj",
    inputs="input: T",
    outputs="output: T",
    types={"T": COMPLEX},
    doc="""The complex conjugate, elementwise; runs on the host.

    input: complex64 or complex128, any shape. output: dtype and shape of input.""",
    infer=unchanged,
    host=lambda call, z: np.conj(z),
    grad=lambda op, dy: CONJ(dy),
)


def complex_(real: TensorLike, imag: TensorLike, name: str | None = None) -> Any:
    """Returns real + i imag, elementwise: complex64 of two float32 tensors, complex128 of two float64 tensors.

    The shapes broadcast together. Raises `DTypeError` unless both are float32 or both are float64.
    """
    real = _tensor(real)
    imag = real.graph.to_tensor(imag, real.dtype)
    if real.dtype not in _WHOLE or imag.dtype is not real.dtype:
        raise DTypeError(f"complex of {real.dtype.name} and {imag.dtype.name}; both must be float32 or float64")
    return _whole(real, imag, name)


def _tensor(x: TensorLike) -> Tensor:
    return graph_of([x]).to_tensor(x)


def real(input: TensorLike, name: str | None = None) -> Any:
    """Returns the real part of each element. A real tensor is returned unchanged."""
    z = _tensor(input)
    return _part(REAL, z, name) if z.dtype in _HALF else z


def imag(input: TensorLike, name: str | None = None) -> Any:
    """Returns the imaginary part of each element, which is zero for a real tensor."""
    z = _tensor(input)
    return _part(IMAG, z, name) if z.dtype in _HALF else ZEROS_LIKE(z, name=name)


def conj(x: TensorLike, name: str | None = None) -> Any:
    """Returns the complex conjugate of each element. A real tensor is returned unchanged.

    Raises `DTypeError` for other tensors.
    """
    z = _tensor(x)
    if z.dtype not in NUMBERS:
        raise DTypeError(f"Expected numeric or variant tensor, got dtype {z.dtype!r}")
    return CONJ(z, name=name) if z.dtype in _HALF else z


def angle(input: TensorLike, name: str | None = None) -> Any:
    """Returns the argument of each element in radians; for a real tensor it is 0 where x >= 0, and pi elsewhere."""
    z = _tensor(input)
    if z.dtype not in _HALF:
        z = _whole(z, ZEROS_LIKE(z))
    return _part(ANGLE, z, name)


def complex_abs(x: TensorLike, name: str | None = None) -> Any:
    """Returns the absolute value of each complex number, as a real tensor of the same shape."""
    return _part(COMPLEX_ABS, _tensor(x), name)


def is_complex(dtype: DType) -> bool:
    """Returns whether `dtype` is complex64 or complex128."""
    return dtype in _HALF


OPS: tuple[OpDef, ...] = (COMPLEX_OF, REAL, IMAG, ANGLE, COMPLEX_ABS, CONJ)
API: dict[str, Any] = {
    "complex": complex_,
    "complex_abs": complex_abs,
    "real": real,
    "math.real": real,
    "imag": imag,
    "math.imag": imag,
    "conj": conj,
    "math.conj": conj,
    "angle": angle,
    "math.angle": angle,
}
