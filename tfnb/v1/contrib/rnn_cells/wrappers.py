"""Wrappers of cells in `tf.contrib.rnn`: attention over the last outputs, and highway connections.

Invariant: the inner cell's state is the first part of a wrapper's state, or all of it.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.graph.nest import flatten, pack
from tfnb.client.rnn.cell_wrappers import TransparentWrapper
from tfnb.client.rnn.cells import CellLike, RNNCell, like_cell
from tfnb.client.rnn.linear_map import linear_map
from tfnb.client.variables.initializers import Constant
from tfnb.client.variables.scope import Reuse, ScopeLike, get_variable, get_variable_scope, variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat, split
from tfnb.ops.array.shape_ops import RESHAPE, expand_dims
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.linalg.tensordot import tensordot
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.ops.math.unary import SIGMOID, TANH
from tfnb.ops.nn.bias_dropout_moments import bias_add
from tfnb.ops.nn.losses import softmax as softmax_op
from tfnb.types import DTypeLike

__all__ = ["AttentionCellWrapper", "CompiledWrapper", "HighwayWrapper"]


class AttentionCellWrapper(RNNCell):
    """A cell with attention over its last `attn_length` outputs (Bahdanau et al. 2014; Rocktaschel et al. 2015).

    The state is (the cell's state, the attention (batch, attn_size), the outputs (batch, attn_size * attn_length)), or
    one tensor without `state_is_tuple`. attn_size, attn_vec_size: the sizes of the outputs and of what is compared, by
    default the cell's output size. input_size: the size of the inputs of the cell, by default that of the inputs.
    Raises `InvalidArgumentError` for a length below 1, and for a cell with a tuple of states without `state_is_tuple`.
    """

    default_name = "attention_cell_wrapper"

    def __init__(
        self,
        cell: CellLike,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: Reuse | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if not like_cell(cell):
            raise InvalidArgumentError(f"AttentionCellWrapper: {cell!r} is not a cell")
        if not state_is_tuple and isinstance(cell.state_size, (tuple, list)):
            raise InvalidArgumentError("AttentionCellWrapper: a cell with a tuple of states needs state_is_tuple=True")
        if attn_length <= 0:
            raise InvalidArgumentError(f"attn_length should be greater than zero, got {attn_length}")
        self._cell, self._length, self._as_tuple = cell, attn_length, state_is_tuple
        self._size = attn_size or cell.output_size
        self._vec_size, self._input_size = attn_vec_size or self._size, input_size

    @property
    def state_size(self) -> Any:
        """The sizes of the three parts, or their sum without `state_is_tuple`."""
        sizes = (self._cell.state_size, self._size, self._size * self._length)
        return sizes if self._as_tuple else sum(sizes)

    output_size = property(lambda self: self._size, doc="The size of the attention.")

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        sizes = (self._cell.state_size, self._size, self._size * self._length)
        inner, attention, history = state if self._as_tuple else split(state, list(sizes), 1)
        history = RESHAPE(history, [-1, self._length, self._size])
        x = linear_map([inputs, attention], self._input_size or self._columns(inputs.shape))
        output, new_inner = self._cell(x, inner)
        query = concat(flatten(new_inner), 1) if self._as_tuple else new_inner
        new_attention, rest = self._attend(query, history)
        with variable_scope("attn_output_projection"):
            output = linear_map([output, new_attention], self._size)
        kept = RESHAPE(concat([rest, expand_dims(output, 1)], 1), [-1, self._length * self._size])
        new = (new_inner, new_attention, kept)
        return output, new if self._as_tuple else concat(list(new), 1)

    def _attend(self, query: Tensor, history: Tensor) -> tuple[Any, Any]:
        with variable_scope("attention"):
            keys = get_variable("attn_w", [1, 1, self._size, self._vec_size])
            v = get_variable("attn_v", [self._vec_size])
            compared = tensordot(history, RESHAPE(keys, [self._size, self._vec_size]), [[2], [0]])
            y = RESHAPE(linear_map(query, self._vec_size), [-1, 1, self._vec_size])
            weights = softmax_op(reduce_sum(v * TANH(compared + y), 2))
            attention = reduce_sum(expand_dims(weights, 2) * history, 1)
            return RESHAPE(attention, [-1, self._size]), history[:, 1:]


class HighwayWrapper(RNNCell):
    """A cell with a highway connection (Srivastava et al. 2015): carry * inputs + transform * outputs.

    carry is a sigmoid of the inputs, whose bias begins at `carry_bias_init`; transform is 1 - carry, or without
    `couple_carry_transform_gates` a sigmoid of its own. Raises `ShapeError` when inputs and outputs differ in shape.
    """

    default_name = "highway_wrapper"

    def __init__(self, cell: CellLike, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0) -> None:
        super().__init__()
        self._cell, self._couples, self._bias = cell, couple_carry_transform_gates, carry_bias_init

    state_size = property(lambda self: self._cell.state_size, doc="The size of the inner cell's state.")
    output_size = property(lambda self: self._cell.output_size, doc="The size of the inner cell's output.")

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns the inner cell's zero state for `batch_size` rows."""
        return self._cell.zero_state(batch_size, dtype)

    def __call__(
        self, inputs: Any, state: Any = None, scope: ScopeLike | None = None, **kwargs: Any
    ) -> tuple[Any, Any]:
        outputs, new = self._cell(inputs, state, scope=scope, **kwargs)
        pairs = list(zip(flatten(inputs), flatten(outputs), strict=True))
        for x, y in pairs:
            if not x.shape.is_compatible_with(y.shape):
                raise ShapeError(f"HighwayWrapper: inputs of shape {x.shape} and outputs of shape {y.shape} differ")
        # the variables are in the scope that is open around the call, which the first step may make anew
        reuse = True if self.built else None
        with variable_scope(get_variable_scope(), reuse=reuse):
            result = pack(outputs, [self._highway(x, y) for x, y in pairs])
        self.built = True
        return result, new

    def _gate(self, name: str, x: Tensor, bias: float) -> Tensor:
        n = self._columns(x.shape)
        weights = get_variable(f"{name}_w", [n, n])
        return SIGMOID(bias_add(matmul(x, weights), get_variable(f"{name}_b", [n], initializer=Constant(bias))))

    def _highway(self, x: Tensor, y: Tensor) -> Tensor:
        carry = self._gate("carry", x, self._bias)
        transform = 1.0 - carry if self._couples else self._gate("transform", x, -self._bias)
        return x * carry + y * transform


class CompiledWrapper(TransparentWrapper):
    """The inner cell as it is: every graph is compiled here."""

    def __init__(self, cell: CellLike, compile_stateful: bool = False) -> None:
        super().__init__(cell)
