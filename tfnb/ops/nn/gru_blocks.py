"""The step of a GRU as a single op, which frozen graphs of TensorFlow's `contrib.rnn` hold.

Reset and update gates are one product of [x, h_prev], the candidate one of [x, r h_prev]. Invariant: the new output is
u h_prev + (1 - u) c.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import ShapeError
from tfnb.ir.opdef import GRADIENT_MISSING, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import CONCAT_V2, SPLIT
from tfnb.ops.linalg.matmul import MAT_MUL
from tfnb.ops.math.reduce_sum import SUM
from tfnb.ops.math.unary import SIGMOID, TANH
from tfnb.ops.nn.lstm_blocks import given, narrowed, sigmoid
from tfnb.types import Shape, float32

__all__ = ["OPS"]

_INPUTS = "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"
_TYPES = {"T": (float32,)}


def _host_cell(
    call: HostCall,
    x: np.ndarray,
    h_prev: np.ndarray,
    w_ru: np.ndarray,
    w_c: np.ndarray,
    b_ru: np.ndarray,
    b_c: np.ndarray,
) -> tuple[np.ndarray, ...]:
    r, u = np.split(sigmoid(np.concatenate([x, h_prev], 1) @ w_ru + b_ru), 2, axis=1)
    c = np.tanh(np.concatenate([x, h_prev * r], 1) @ w_c + b_c)
    return narrowed(call, (r, u, c, u * h_prev + (1 - u) * c))


def _expand_cell(
    op: Operation, x: Tensor, h_prev: Tensor, w_ru: Tensor, w_c: Tensor, b_ru: Tensor, b_c: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    r, u = SPLIT(np.int32(1), SIGMOID(MAT_MUL(CONCAT_V2([x, h_prev], 1), w_ru) + b_ru), num_split=2)
    c = TANH(MAT_MUL(CONCAT_V2([x, h_prev * r], 1), w_c) + b_c)
    return r, u, c, u * h_prev + (1.0 - u) * c


def _host_cell_grad(call: HostCall, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    x, h_prev, w_ru, w_c, _, _, r, u, c, d_h = inputs
    d_c_bar = d_h * (1 - u) * (1 - c * c)
    d_u_bar = d_h * (h_prev - c) * u * (1 - u)
    x_second, d_hr = np.split(d_c_bar @ w_c.T, [x.shape[1]], axis=1)
    d_r_bar_u_bar = np.concatenate([d_hr * h_prev * r * (1 - r), d_u_bar], 1)
    x_first, h_first = np.split(d_r_bar_u_bar @ w_ru.T, [x.shape[1]], axis=1)
    return narrowed(call, (x_first + x_second, h_first + d_hr * r + d_h * u, d_c_bar, d_r_bar_u_bar))


def _grad_cell(op: Operation, *dys: Tensor | None) -> tuple[Any, ...]:
    """The gradient of h. That of the gates is not passed on, as in TensorFlow."""
    x, h_prev = op.inputs[:2]
    r, u, c, h = op.outputs
    d_x, d_h_prev, d_c_bar, d_gates = GRU_BLOCK_CELL_GRAD(*op.inputs, r, u, c, given(dys[3], h))
    w_ru = MAT_MUL(CONCAT_V2([x, h_prev], 1), d_gates, transpose_a=True)
    w_c = MAT_MUL(CONCAT_V2([x, h_prev * r], 1), d_c_bar, transpose_a=True)
    return d_x, d_h_prev, w_ru, w_c, SUM(d_gates, np.array([0], np.int32)), SUM(d_c_bar, np.array([0], np.int32))


def _shapes(c: Infer) -> tuple[Shape, ...]:
    x, h, w = c.shapes[:3]
    for shape, name in ((x, "x"), (h, "h_prev"), (w, "w_ru")):
        if shape.sizes is not None and len(shape.sizes) != 2:
            raise ShapeError(f"{c.op_name}: {name} must have rank 2, got {shape}")
    if x.sizes is not None and h.sizes is not None and w.sizes is not None:
        width, units = x.sizes[1], h.sizes[1]
        if width is None or units is None or None in w.sizes:
            return (h,) * 4
        if w.sizes != (width + units, 2 * units):
            raise ShapeError(f"{c.op_name}: w_ru must have shape ({width} + {units}, 2 * {units}), got {w}")
    return (h if h.sizes is not None else Shape((None, None)),) * 4


def _grad_shapes(c: Infer) -> tuple[Shape, ...]:
    h = c.shapes[1]
    batch, units = h.sizes if h.sizes is not None else (None, None)
    return c.shapes[0], h, h, Shape((batch, None if units is None else 2 * units))


GRU_BLOCK_CELL_GRAD: OpDef[tuple[Tensor, Tensor, Tensor, Tensor]] = OpDef(
    "GRUBlockCellGrad",
    f"{_INPUTS}, r: T, u: T, c: T, d_h: T",
    "d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T",
    """The gradient of GRUBlockCell: that of x and h_prev, and of candidate and gates before their functions.

    Runs on the host.""",
    types=_TYPES,
    infer=_grad_shapes,
    host=_host_cell_grad,
    grad=GRADIENT_MISSING,
)
GRU_BLOCK_CELL: OpDef[tuple[Tensor, Tensor, Tensor, Tensor]] = OpDef(
    "GRUBlockCell",
    _INPUTS,
    "r: T, u: T, c: T, h: T",
    """One step of a GRU.

    x: (batch, inputs). h_prev: (batch, units). w_ru: (inputs + units, 2 units), w_c: (inputs + units, units). b_ru:
    (2 units,), b_c: (units,). Outputs, each (batch, units): the reset gate, the update gate, the candidate, the output.
    """,
    types=_TYPES,
    infer=_shapes,
    host=_host_cell,
    expand=_expand_cell,
    grad=_grad_cell,
)

OPS: tuple[OpDef, ...] = (GRU_BLOCK_CELL, GRU_BLOCK_CELL_GRAD)
