"""Steps of an LSTM as single ops, which frozen graphs of TensorFlow's `contrib.rnn` hold.

The gates are one product of [x, h_prev] with a matrix whose columns are the input, cell, forget and output gates one
after another; BlockLSTMV2 has the forget gate before the cell. Invariant: a block of steps gives for each step what the
cell gives, and zeros for the steps from seq_len_max on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.opdef import GRADIENT_MISSING, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import CONCAT_V2, SPLIT
from tfnb.ops.array.shape_ops import shape_of
from tfnb.ops.linalg.matmul import MAT_MUL
from tfnb.ops.math.binary import MAXIMUM, MINIMUM
from tfnb.ops.math.reduce_sum import SUM
from tfnb.ops.math.unary import SIGMOID, TANH
from tfnb.types import Shape, float16, float32

__all__ = ["OPS"]

_STATE = "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
_GATES = "i: T, cs: T, f: T, o: T, ci: T, co: T"
_TYPES = {"T": (float32, float16)}


@record
class CellAttrs:
    """`forget_bias`: added to the forget gate; `cell_clip`: the largest state, if positive; `use_peephole`: the gates
    see the state, by the weights wci, wcf and wco.
    """

    forget_bias: float = 1.0
    cell_clip: float = 3.0
    use_peephole: bool = False


@record
class CellAttrsV2:
    """As `CellAttrs`, without a bias of the forget gate."""

    cell_clip: float = 0.0
    use_peephole: bool = False


@record
class PeepholeAttrs:
    """`use_peephole`: the gates saw the state."""

    use_peephole: bool


def sigmoid(x: np.ndarray) -> np.ndarray:
    """The logistic function, of large negative numbers too."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))


def widened(arrays: Sequence[np.ndarray]) -> list[Any]:
    """Returns 16-bit floats as float32, in which they are computed."""
    return [a.astype(np.float32) if a.dtype == np.float16 else a for a in arrays]


def narrowed(call: HostCall, values: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Returns values in the dtypes of the call's outputs."""
    return tuple(np.asarray(v, spec.dtype.np) for v, spec in zip(values, call.outputs, strict=True))


def _step(
    a: CellAttrs | CellAttrsV2, xh: np.ndarray, cs_prev: np.ndarray, weights: Sequence[Any], forget_first: bool = False
) -> tuple[Any, ...]:
    """Returns i, cs, f, o, ci, co, h of one step."""
    w, wci, wcf, wco, b = weights
    i, ci, f, o = np.split(xh @ w + b, 4, axis=1)
    if forget_first:
        ci, f = f, ci
    f = f + getattr(a, "forget_bias", 0)
    if a.use_peephole:
        i, f = i + cs_prev * wci, f + cs_prev * wcf
    i, ci, f = sigmoid(i), np.tanh(ci), sigmoid(f)
    cs = ci * i + f * cs_prev
    if a.cell_clip > 0:
        cs = np.clip(cs, -a.cell_clip, a.cell_clip)
    o = sigmoid(o + cs * wco if a.use_peephole else o)
    co = np.tanh(cs)
    return i, cs, f, o, ci, co, o * co


def _step_back(
    a: PeepholeAttrs,
    values: Sequence[Any],
    cs_prev: np.ndarray,
    peeps: Sequence[Any],
    cs_grad: np.ndarray,
    h_grad: np.ndarray,
) -> Any:
    """Returns the gradients of cs_prev, of the gates i, ci, f, o before their functions, and of the peephole weights.

    As in TensorFlow, a state that was clipped passes its gradient on.
    """
    i, cs, f, o, ci, co = values
    wci, wcf, wco = peeps
    do = o * (1 - o) * h_grad * co
    dcs = (1 - co * co) * h_grad * o + cs_grad
    if a.use_peephole:
        dcs = dcs + do * wco
    di, dci, df = i * (1 - i) * dcs * ci, (1 - ci * ci) * dcs * i, f * (1 - f) * dcs * cs_prev
    if not a.use_peephole:
        return dcs * f, (di, dci, df, do), [np.zeros_like(p) for p in peeps]
    weights = [(di * cs_prev).sum(0), (df * cs_prev).sum(0), (do * cs).sum(0)]
    return dcs * f + di * wci + df * wcf, (di, dci, df, do), weights


def _host_cell(call: HostCall, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    x, cs_prev, h_prev, *weights = widened(inputs)
    return narrowed(call, _step(call.attrs, np.concatenate([x, h_prev], 1), cs_prev, weights))


def _host_cell_grad(call: HostCall, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    _, cs_prev, _, _, *rest = widened(inputs)
    back, gates, peeps = _step_back(call.attrs, rest[4:10], cs_prev, rest[:3], *rest[10:])
    return narrowed(call, (back, np.concatenate(gates, 1), *peeps))


def _host_block(call: HostCall, seq_len_max: np.ndarray, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    x, cs, h, *weights = widened(inputs)
    count = _steps(call, seq_len_max, x)
    outputs = [np.zeros((len(x), *cs.shape), x.dtype) for _ in range(7)]
    for t in range(count):
        values = _step(call.attrs, np.concatenate([x[t], h], 1), cs, weights, call.op.type == "BlockLSTMV2")
        for output, value in zip(outputs, values, strict=True):
            output[t] = value
        cs, h = values[1], values[6]
    return narrowed(call, outputs)


def _steps(call: HostCall, seq_len_max: np.ndarray, x: np.ndarray) -> int:
    count = int(seq_len_max)
    if not 0 <= count <= len(x):
        raise InvalidArgumentError(f"{call.op.type}: seq_len_max must be in [0, {len(x)}], got {count}", call.op)
    return count


def _host_block_grad(call: HostCall, seq_len_max: np.ndarray, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    x, cs_prev, h_prev, w, *rest = widened(inputs)
    peeps, b, values, h, (cs_grads, h_grads) = rest[:3], rest[3], rest[4:10], rest[10], rest[11:]
    x_grad, w_grad, b_grad = np.zeros_like(x), np.zeros_like(w), np.zeros_like(b)
    peep_grads = [np.zeros_like(p) for p in peeps]
    cs_back, h_back = np.zeros_like(cs_prev), np.zeros_like(h_prev)
    for t in reversed(range(_steps(call, seq_len_max, x))):
        before, h_before = (values[1][t - 1], h[t - 1]) if t else (cs_prev, h_prev)
        state = [v[t] for v in values]
        cs_back, gates, found = _step_back(call.attrs, state, before, peeps, cs_grads[t] + cs_back, h_grads[t] + h_back)
        di, dci, df, do = gates
        joined = np.concatenate((di, df, dci, do) if call.op.type == "BlockLSTMGradV2" else gates, 1)
        xh_grad = joined @ w.T
        x_grad[t], h_back = np.split(xh_grad, [x.shape[2]], axis=1)
        w_grad += np.concatenate([x[t], h_before], 1).T @ joined
        b_grad += joined.sum(0)
        peep_grads = [p + q for p, q in zip(peep_grads, found, strict=True)]
    return narrowed(call, (x_grad, cs_back, h_back, w_grad, *peep_grads, b_grad))


def _expand_cell(
    op: Operation,
    x: Tensor,
    cs_prev: Tensor,
    h_prev: Tensor,
    w: Tensor,
    wci: Tensor,
    wcf: Tensor,
    wco: Tensor,
    b: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    a, number = op.attrs, op.types["T"].np.type
    i, ci, f, o = SPLIT(np.int32(1), MAT_MUL(CONCAT_V2([x, h_prev], 1), w) + b, num_split=4)
    f = f + number(a.forget_bias)
    if a.use_peephole:
        i, f = i + cs_prev * wci, f + cs_prev * wcf
    i, ci, f = SIGMOID(i), TANH(ci), SIGMOID(f)
    cs = ci * i + f * cs_prev
    if a.cell_clip > 0:
        cs = MAXIMUM(MINIMUM(cs, number(a.cell_clip)), number(-a.cell_clip))
    o = SIGMOID(o + cs * wco if a.use_peephole else o)
    co = TANH(cs)
    return i, cs, f, o, ci, co, o * co


def back_through(gates: Tensor, x: Tensor, w: Tensor) -> tuple[Any, Any]:
    """Returns the parts of gates w^T that belong to x and to what stands beside it."""
    both = MAT_MUL(gates, w, transpose_b=True)
    width = x.shape[-1] if x.shape.ndims and x.shape[-1] is not None else shape_of(x)[1]
    return both[:, :width], both[:, width:]


def given(dy: Tensor | None, output: Tensor) -> Any:
    """Returns the gradient, zeros for None."""
    return output * 0.0 if dy is None else dy


def _grad_cell(op: Operation, *dys: Tensor | None) -> tuple[Any, ...]:
    """The gradient of cs and h. That of the gates is not passed on, as in TensorFlow."""
    x, _, h_prev, w = op.inputs[:4]
    i, cs, f, o, ci, co, h = op.outputs
    options = {"use_peephole": op.attrs.use_peephole}
    dys = (given(dys[1], cs), given(dys[6], h))
    back, gates, *peeps = LSTM_BLOCK_CELL_GRAD(*op.inputs, i, cs, f, o, ci, co, *dys, **options)
    x_grad, h_grad = back_through(gates, x, w)
    w_grad = MAT_MUL(CONCAT_V2([x, h_prev], 1), gates, transpose_a=True)
    return x_grad, back, h_grad, w_grad, *peeps, SUM(gates, np.array([0], np.int32))


def _grad_block(op: Operation, *dys: Tensor | None) -> tuple[Any, ...]:
    """As `_grad_cell`."""
    dys = (given(dys[1], op.outputs[1]), given(dys[6], op.outputs[6]))
    backward = BLOCK_LSTM_GRAD_V2 if op.type == "BlockLSTMV2" else BLOCK_LSTM_GRAD
    return None, *backward(*op.inputs, *op.outputs, *dys, use_peephole=op.attrs.use_peephole)


def _cell_shapes(c: Infer) -> tuple[Shape, ...]:
    return (_checked(c, 0),) * 7


def _checked(c: Infer, first: int) -> Shape:
    """Returns the shape of the state; `first` is the place of x. Raises `ShapeError` for other ranks and sizes."""
    x, state, _, w = c.shapes[first : first + 4]
    for shape, rank, name in ((x, 2 + first, "x"), (state, 2, "cs_prev"), (w, 2, "w")):
        if shape.sizes is not None and len(shape.sizes) != rank:
            raise ShapeError(f"{c.op_name}: {name} must have rank {rank}, got {shape}")
    if x.sizes is None or state.sizes is None or w.sizes is None:
        return state if state.sizes is not None else Shape((None, None))
    batch, width, rows, columns, units = (*x.sizes[-2:], *w.sizes, state.sizes[1])
    if width is not None and units is not None and rows not in (None, width + units):
        raise ShapeError(f"{c.op_name}: w must have {width} + {units} rows for x and h_prev, got {w}")
    if units is not None and columns not in (None, 4 * units):
        raise ShapeError(f"{c.op_name}: w must have {4 * units} columns, four for each of {units} units, got {w}")
    return Shape((batch if state.sizes[0] is None else state.sizes[0], units))


def _block_shapes(c: Infer) -> tuple[Shape, ...]:
    state, x = _checked(c, 1), c.shapes[1]
    return (Shape((x.sizes[0] if x.sizes is not None else None, *(state.sizes or (None, None)))),) * 7


def _cell_grad_shapes(c: Infer) -> tuple[Shape, ...]:
    w = c.shapes[3]
    columns = w.sizes[1] if w.sizes is not None else None
    batch = c.shapes[1].sizes[0] if c.shapes[1].sizes is not None else None
    return c.shapes[1], Shape((batch, columns)), *c.shapes[4:7]


_CELL = """x: (batch, inputs). cs_prev, h_prev: (batch, units), the state and the output of the step before. w:
    (inputs + units, 4 units). wci, wcf, wco: (units,), the weights of the state in the gates. b: (4 units,)."""
_RESULTS = (
    "the input gate, the state, the forget gate, the output gate, the new values, tanh of the state, and the output"
)

LSTM_BLOCK_CELL_GRAD: OpDef[tuple[Tensor, Tensor, Tensor, Tensor, Tensor]] = OpDef(
    "LSTMBlockCellGrad",
    f"{_STATE}, {_GATES}, cs_grad: T, h_grad: T",
    "cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T",
    """The gradient of LSTMBlockCell: that of the state, of the gates (batch, 4 units), and of the peephole weights.

    Runs on the host.""",
    types=_TYPES,
    attrs=PeepholeAttrs,
    infer=_cell_grad_shapes,
    host=_host_cell_grad,
    grad=GRADIENT_MISSING,
)
LSTM_BLOCK_CELL: OpDef[tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]] = OpDef(
    "LSTMBlockCell",
    _STATE,
    f"{_GATES}, h: T",
    f"""One step of an LSTM.

    {_CELL} Outputs, each (batch, units): {_RESULTS}.""",
    types=_TYPES,
    attrs=CellAttrs,
    infer=_cell_shapes,
    host=_host_cell,
    expand=_expand_cell,
    grad=_grad_cell,
)


def _block(name: str, attrs: type, rest: str) -> OpDef[tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]]:
    return OpDef(
        name,
        f"seq_len_max: int64, {_STATE}",
        f"{_GATES}, h: T",
        f"""The steps of an LSTM over a sequence{rest}.

    {_CELL.replace("(batch, inputs)", "(steps, batch, inputs)", 1)} seq_len_max: a scalar, the number of steps; the
    results of later ones are 0. Outputs, each (steps, batch, units): {_RESULTS}. Runs on the host.""",
        types=_TYPES,
        attrs=attrs,
        infer=_block_shapes,
        host=_host_block,
        grad=_grad_block,
    )


def _block_grad(name: str, of: str) -> OpDef[tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]]:
    return OpDef(
        name,
        f"seq_len_max: int64, {_STATE}, {_GATES}, h: T, cs_grad: T, h_grad: T",
        "x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T",
        f"""The gradient of {of}: one for each of its inputs but the first.

    Runs on the host.""",
        types=_TYPES,
        attrs=PeepholeAttrs,
        infer=lambda c: c.shapes[1:9],
        host=_host_block_grad,
        grad=GRADIENT_MISSING,
    )


BLOCK_LSTM_GRAD = _block_grad("BlockLSTMGrad", "BlockLSTM")
BLOCK_LSTM_GRAD_V2 = _block_grad("BlockLSTMGradV2", "BlockLSTMV2")
BLOCK_LSTM = _block("BlockLSTM", CellAttrs, "")
BLOCK_LSTM_V2 = _block("BlockLSTMV2", CellAttrsV2, ", with the forget gate before the cell in w and b")

OPS: tuple[OpDef, ...] = (
    LSTM_BLOCK_CELL,
    LSTM_BLOCK_CELL_GRAD,
    BLOCK_LSTM,
    BLOCK_LSTM_V2,
    BLOCK_LSTM_GRAD,
    BLOCK_LSTM_GRAD_V2,
)
