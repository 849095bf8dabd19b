"""A layer as one operation, as TensorFlow's optimizer makes them: _FusedMatMul and _FusedConv2D.

They stand in files that a program wrote of an optimized graph. Invariant: a fused layer is the product or convolution,
then the bias or the normalisation, then the activation that `fused_ops` names, each as the operation of that name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tfnb.errors import UnimplementedError
from tfnb.ir.opdef import GRADIENT_MISSING, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.conv_pool.conv import CONV2D, ConvAttrs, infer_conv
from tfnb.ops.linalg.matmul import MAT_MUL, MatMulAttrs
from tfnb.ops.nn.activations import ELU, RELU, RELU6
from tfnb.ops.nn.bias_dropout_moments import BIAS_ADD
from tfnb.types import DEVICE_FLOATS, Shape

__all__ = ["FUSED_CONV", "FUSED_MATMUL", "OPS"]

_ACTIVATIONS = {"Relu": RELU, "Relu6": RELU6, "Elu": ELU}


@record
class FusedMatMulAttrs:
    """Those of MatMul; `fused_ops`: what follows, in its order; `epsilon`: of a normalisation."""

    transpose_a: bool = False
    transpose_b: bool = False
    fused_ops: tuple[str, ...] = ()
    epsilon: float = 0.0001


@record
class FusedConvAttrs:
    """Those of Conv2D; `fused_ops`: what follows, in its order; `epsilon`: of a normalisation."""

    strides: tuple[int, ...] = (1, 1, 1, 1)
    padding: str = "VALID"
    explicit_paddings: tuple[int, ...] = ()
    data_format: str = "NHWC"
    dilations: tuple[int, ...] = (1, 1, 1, 1)
    fused_ops: tuple[str, ...] = ()
    epsilon: float = 0.0001


def _parts(name: str, attrs: FusedMatMulAttrs | FusedConvAttrs, args: int) -> tuple[bool, OpDef | None]:
    """Returns whether a normalisation follows (else a bias), and the activation.

    Raises `UnimplementedError` for other operations, and another number of arguments than they take.
    """
    first, *rest = attrs.fused_ops or ("",)
    normal = first == "FusedBatchNorm" and name == "_FusedConv2D"
    known = (normal or first == "BiasAdd") and len(rest) <= 1 and all(r in _ACTIVATIONS for r in rest)
    layout = getattr(attrs, "data_format", "NHWC")
    if not known or args != (4 if normal else 1) or layout != "NHWC":
        raise UnimplementedError(
            f"{name}: needed a bias (1 argument) or of a convolution a normalisation (4), then at most one of "
            f"{', '.join(_ACTIVATIONS)}, of NHWC; got {attrs.fused_ops} with {args} arguments, {layout}"
        )
    return normal, _ACTIVATIONS[rest[0]] if rest else None


def _after(op: Operation, x: Tensor, args: Sequence[Tensor]) -> Tensor:
    normal, activation = _parts(op.type, op.attrs, len(args))
    if normal:
        scale, offset, mean, variance = args
        factor = scale * (variance + op.attrs.epsilon) ** -0.5
        x = x * factor + (offset - mean * factor)
    else:
        x = BIAS_ADD(x, args[0])
    return x if activation is None else activation(x)


def _after_host(call: HostCall, x: np.ndarray, args: Sequence[np.ndarray]) -> np.ndarray:
    normal, activation = _parts(call.op.type, call.attrs, len(args))
    if normal:
        scale, offset, mean, variance = args
        x = (x - mean) / np.sqrt(variance + np.asarray(call.attrs.epsilon, x.dtype)) * scale + offset
    else:
        x = x + args[0]
    if activation is ELU:
        x = np.where(x < 0, np.expm1(np.minimum(x, 0)), x)
    elif activation is not None:
        x = np.clip(x, 0, 6 if activation is RELU6 else None)
    return x.astype(args[0].dtype)


def _matmul_shape(c: Infer) -> Shape:
    _parts("_FusedMatMul", c.attrs, len(c.shapes) - 2)
    infer = MAT_MUL.infer
    assert infer is not None
    attrs = MatMulAttrs(c.attrs.transpose_a, c.attrs.transpose_b)
    shape: Shape = infer(replace(c, attrs=attrs, shapes=c.shapes[:2], dtypes=c.dtypes[:2]))
    return shape


def _matmul_host(call: HostCall, a: np.ndarray, b: np.ndarray, *args: np.ndarray) -> np.ndarray:
    a, b = (a.T if call.attrs.transpose_a else a), (b.T if call.attrs.transpose_b else b)
    return _after_host(call, a @ b, args)


FUSED_MATMUL: OpDef[Tensor] = OpDef(
    "_FusedMatMul",
    "a: T, b: T, args: num_args*T",
    "product: T",
    """MatMul with a bias and an activation.

    a, b: matrices. args: the bias. product: the shape of the product. Errors: other operations in `fused_ops`.""",
    types={"T": DEVICE_FLOATS},
    attrs=FusedMatMulAttrs,
    infer=_matmul_shape,
    host=_matmul_host,
    expand=lambda op, a, b, *args: _after(
        op, MAT_MUL(a, b, transpose_a=op.attrs.transpose_a, transpose_b=op.attrs.transpose_b), args
    ),
    grad=GRADIENT_MISSING,
)


def _conv_attrs(a: FusedConvAttrs) -> ConvAttrs:
    return ConvAttrs(a.strides, a.padding, explicit_paddings=a.explicit_paddings, dilations=a.dilations)


def _conv_shape(c: Infer) -> Shape:
    _parts("_FusedConv2D", c.attrs, len(c.shapes) - 2)
    shape: Shape = infer_conv(replace(c, attrs=_conv_attrs(c.attrs), shapes=c.shapes[:2], dtypes=c.dtypes[:2]))
    return shape


FUSED_CONV: OpDef[Tensor] = OpDef(
    "_FusedConv2D",
    "input: T, filter: T, args: num_args*T",
    "output: T",
    """Conv2D with a bias or a normalisation, and an activation.

    input: (n, height, width, in). filter: (rows, columns, in, out). args: the bias, or scale, offset, mean, variance.
    output: that of Conv2D. Errors: other operations in `fused_ops`, another layout.""",
    types={"T": DEVICE_FLOATS},
    attrs=FusedConvAttrs,
    defaults={"use_cudnn_on_gpu": None},  # there is one way to convolve
    infer=_conv_shape,
    host=lambda call, x, w, *args: _after_host(
        call,
        CONV2D.host(replace(call, attrs=_conv_attrs(call.attrs)), x, w),  # type: ignore[misc]
        args,
    ),
    expand=lambda op, x, w, *args: _after(
        op,
        CONV2D(
            x,
            w,
            strides=op.attrs.strides,
            padding=op.attrs.padding,
            explicit_paddings=op.attrs.explicit_paddings,
            dilations=op.attrs.dilations,
        ),
        args,
    ),
    grad=GRADIENT_MISSING,
)

OPS: tuple[OpDef, ...] = (FUSED_MATMUL, FUSED_CONV)
