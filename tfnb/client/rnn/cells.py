"""Recurrent cells: one step of a recurrent network, `(inputs, state) -> (output, state)` (`tf.nn.rnn_cell`).

A cell is a layer, so its first call creates its variables, and all later calls share them. Invariant: variables have
TensorFlow 1.x's names, shapes and layouts (`basic_lstm_cell/kernel`: [inputs + units, 4 units], gates i, j, f, o).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np

from tfnb.client.argument_types import Activation, InitializerLike
from tfnb.client.graph import nest
from tfnb.client.layers.base import Layer
from tfnb.client.variables.initializers import Constant, Zeros
from tfnb.client.variables.partitioners import fixed_size_partitioner
from tfnb.client.variables.scope import Reuse, ScopeLike, VariableScope, variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat, split
from tfnb.ops.array.constants import zeros
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.clip import clip_by_value
from tfnb.ops.math.unary import SIGMOID, TANH
from tfnb.ops.nn.bias_dropout_moments import bias_add
from tfnb.types import DTypeLike, Shape, as_shape

__all__ = [
    "API",
    "BasicLSTMCell",
    "BasicRNNCell",
    "CellLike",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "like_cell",
]


class LSTMStateTuple(NamedTuple):
    """The state of an LSTM: the cell `c` and the output `h`, each [batch, units]."""

    c: Any
    h: Any

    @property
    def dtype(self) -> Any:
        """The dtype of the state."""
        return self.c.dtype


class CellLike(Protocol):
    """The type of cells: an `RNNCell`, or another callable that has the sizes of its state and output."""

    @property
    def state_size(self) -> Any: ...

    @property
    def output_size(self) -> Any: ...

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any: ...

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **kwargs: Any) -> Any: ...


def like_cell(cell: object) -> bool:
    """Returns whether an object can be used as a cell: it is callable and has the sizes of its state and output."""
    return callable(cell) and hasattr(cell, "state_size") and hasattr(cell, "output_size")


class RNNCell(Layer):
    """Base class of the cells. A subclass has `state_size`, `output_size` and `call(inputs, state)`.

    `cell(inputs [batch, n], state, scope=None)` returns (output [batch, output_size], new state of the same structure).
    `state_size` is an integer, a shape, or a nested tuple of them.
    """

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        _reuse: Reuse | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype=dtype, _reuse=_reuse)

    @property
    def state_size(self) -> Any:
        """The size of the state: an integer, a shape, or a nested tuple of them."""
        raise InvalidArgumentError(f"{type(self).__name__} does not say its state_size")

    @property
    def output_size(self) -> Any:
        """The size of the output: an integer or a shape."""
        raise InvalidArgumentError(f"{type(self).__name__} does not say its output_size")

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns zeros in the structure of `state_size`, each [batch_size, *size]; `batch_size` may be a scalar
        tensor.
        """
        with graph_of([batch_size]).as_default(), get_default_graph().name_scope(type(self).__name__ + "ZeroState"):
            zero_parts = [_batch_of_zeros(batch_size, size, dtype) for size in nest.flatten(self.state_size)]
            return nest.pack(self.state_size, zero_parts)

    def clone(self) -> RNNCell:
        """Returns the same cell with variables of its own."""
        return copy.copy(self)

    def call(self, inputs: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Returns (output, new state) of one step for `inputs` [batch, n]. Subclasses implement it."""
        raise InvalidArgumentError(f"{type(self).__name__} has no call(inputs, state)")

    def __call__(
        self, inputs: TensorLike, state: TensorLike | None = None, scope: ScopeLike | None = None, **kwargs: object
    ) -> Any:
        graph = graph_of(nest.flatten([inputs, state]))
        # a tuple of tensors is inputs of several parts, the last of which has the features
        x: Any = tuple(graph.to_tensor(t) for t in inputs) if isinstance(inputs, tuple) else graph.to_tensor(inputs)
        with graph.as_default():
            if scope is None or self._scope is not None:
                return self._step(x, state, **kwargs)
            with variable_scope(scope) as cell_scope:
                self._scope = cell_scope
                return self._step(x, state, **kwargs)

    def _step(self, inputs: Any, state: TensorLike | None, **kwargs: object) -> Any:
        features: Tensor = inputs[-1] if isinstance(inputs, tuple) else inputs
        with self._reopen() as cell_scope:
            self._scope = self._scope or cell_scope
            if self.dtype is None and features.dtype.is_floating:
                self.dtype = features.dtype
            if not self.built:
                self.build(features.shape)
                self.built = True
            return self.call(inputs, state, **kwargs)

    def _reopen(self) -> AbstractContextManager[VariableScope]:
        if self._scope is not None:
            return variable_scope(self._scope, reuse=True if self.built else self._reuse)
        if self._reuse:
            return variable_scope(self._given_name or self.default_name, reuse=self._reuse)
        return variable_scope(None, self._given_name or self.default_name)

    def _columns(self, shape: Shape) -> int:
        """Returns the size of the last dimension of the inputs. Raises `ShapeError` if it is not known."""
        n = shape.sizes[-1] if shape.sizes else None
        if n is None:
            raise ShapeError(
                f"{type(self).__name__}: the last dimension of the inputs must be known, got shape {shape}"
            )
        return n


def _batch_of_zeros(batch_size: TensorLike, size: TensorLike, dtype: DTypeLike) -> Tensor:
    """Zeros whose shape begins with `batch_size`, a number or a vector of several, and goes on with `size`."""
    dims = list(as_shape(size).known())
    if isinstance(batch_size, Tensor):
        n = 1
        if batch_size.shape.ndims == 1:
            n = batch_size.shape.sizes[0] or 1  # type: ignore[index]
            batch = zeros(concat([batch_size, np.asarray(dims, batch_size.dtype.np)], 0), dtype)
        else:
            batch = zeros([batch_size, *dims], dtype)
        batch.set_shape([*[None] * n, *dims])
        return batch
    if isinstance(batch_size, Shape):
        batch_size = batch_size.as_list()
    given = batch_size if isinstance(batch_size, (list, tuple)) else np.ravel(np.asarray(batch_size))
    return zeros([*(n if isinstance(n, Tensor) else int(n) for n in given), *dims], dtype)


def _activation(given: Activation | None) -> Callable[[Any], Any]:
    if given is None:
        return TANH
    if not callable(given):
        raise InvalidArgumentError(f"a cell's activation must be a function, got {given!r}")
    return given


def _units(num_units: int) -> int:
    n = int(num_units)
    if n < 1:
        raise InvalidArgumentError(f"a cell needs at least one unit, got {num_units}")
    return n


class BasicRNNCell(RNNCell):
    """The simplest cell: output = state = activation([inputs, state] @ kernel + bias).

    `activation` is tanh by default. `input_size` is deprecated and has no effect, as in TensorFlow.
    """

    def __init__(
        self,
        num_units: int,
        activation: Activation | None = None,
        reuse: Reuse | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        input_size: int | None = None,
        **kw: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, _reuse=reuse, **kw)
        self._num_units, self._activation = _units(num_units), _activation(activation)

    state_size = property(lambda self: self._num_units, doc="The number of units.")
    output_size = property(lambda self: self._num_units, doc="The number of units.")

    def build(self, shape: Shape) -> None:
        n = self._num_units
        self._kernel = self.add_variable("kernel", [self._columns(shape) + n, n])
        self._bias = self.add_variable("bias", [n], initializer=Zeros())

    def call(self, inputs: Tensor, state: TensorLike | None = None) -> Any:
        gate = bias_add(matmul(concat([inputs, state], 1), self._kernel), self._bias)
        output = self._activation(gate)
        return output, output


class GRUCell(RNNCell):
    """Cho et al.'s gated recurrent unit (2014).

    state = u * state + (1 - u) * activation([inputs, r * state] @ candidate + bias), where r and u are sigmoids of
    [inputs, state] @ gates + bias. The bias of the gates begins at one, so that the state changes slowly at first.
    """

    def __init__(
        self,
        num_units: int,
        activation: Activation | None = None,
        reuse: Reuse | None = None,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        input_size: int | None = None,
        **kw: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, _reuse=reuse, **kw)
        self._num_units, self._activation = _units(num_units), _activation(activation)
        self._initializers = (kernel_initializer, bias_initializer)

    state_size = property(lambda self: self._num_units, doc="The number of units.")
    output_size = property(lambda self: self._num_units, doc="The number of units.")

    def build(self, shape: Shape) -> None:
        n, rows = self._num_units, self._columns(shape) + self._num_units
        kernel, bias = self._initializers
        self._gates = (
            self.add_variable("gates/kernel", [rows, 2 * n], initializer=kernel),
            self.add_variable("gates/bias", [2 * n], initializer=bias or Constant(1.0)),
        )
        self._candidate = (
            self.add_variable("candidate/kernel", [rows, n], initializer=kernel),
            self.add_variable("candidate/bias", [n], initializer=bias or Zeros()),
        )

    def call(self, inputs: Tensor, state: TensorLike | None = None) -> Any:
        kernel, bias = self._gates
        gates = SIGMOID(bias_add(matmul(concat([inputs, state], 1), kernel), bias))
        r, u = split(gates, 2, 1)
        kernel, bias = self._candidate
        c = self._activation(bias_add(matmul(concat([inputs, r * state], 1), kernel), bias))
        new = u * state + (1.0 - u) * c
        return new, new


class LSTMCell(RNNCell):
    """Hochreiter and Schmidhuber's cell with forget gate, peepholes, projection and clipping (Sak et al. 2014).

    i, j, f, o = [inputs, h] @ kernel + bias; c = sigmoid(f + forget_bias) * c + sigmoid(i) * activation(j); h =
    sigmoid(o) * activation(c). `use_peepholes` adds w * c to the gates, `num_proj` projects h to that size, `cell_clip`
    and `proj_clip` bound c and h. With `state_is_tuple` the state is `LSTMStateTuple(c, h)`, otherwise one tensor with
    both side by side. `num_unit_shards` and `num_proj_shards` are the numbers of parts of the kernel and of the
    projection. `input_size` is deprecated and has no effect, as in TensorFlow.
    """

    _peephole_order = "fio"

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: InitializerLike | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Activation | None = None,
        reuse: Reuse | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        input_size: int | None = None,
        **kw: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, _reuse=reuse, **kw)
        self._num_units, self._activation = _units(num_units), _activation(activation)
        self._use_peepholes, self._cell_clip, self._initializer = (
            use_peepholes,
            cell_clip,
            initializer,
        )
        self._num_proj = None if not num_proj else _units(num_proj)
        self._proj_clip, self._forget_bias = proj_clip, forget_bias
        self._state_is_tuple = state_is_tuple
        self._unit_shards, self._proj_shards = num_unit_shards, num_proj_shards

    @property
    def state_size(self) -> Any:
        """The sizes of c and h as an `LSTMStateTuple`, or their sum without `state_is_tuple`."""
        c, h = self._num_units, self.output_size
        return LSTMStateTuple(c, h) if self._state_is_tuple else c + h

    @property
    def output_size(self) -> int:
        """The size of h: `num_proj`, or else `num_units`."""
        return self._num_proj or self._num_units

    def build(self, shape: Shape) -> None:
        n = self._num_units
        rows = self._columns(shape) + self.output_size
        self._kernel = self.add_variable(
            "kernel", [rows, 4 * n], initializer=self._initializer, partitioner=_shards(self._unit_shards)
        )
        self._bias = self.add_variable("bias", [4 * n], initializer=Zeros())
        self._peepholes: dict[str, Any] = {}
        if self._use_peepholes:
            for gate in self._peephole_order:
                self._peepholes[gate] = self.add_variable(f"w_{gate}_diag", [n], initializer=self._initializer)
        if self._num_proj:
            self._projection = self.add_variable(
                "projection/kernel",
                [n, self._num_proj],
                initializer=self._initializer,
                partitioner=_shards(self._proj_shards),
            )

    def _peep(self, gate: str, c: TensorLike) -> Any:
        return self._peepholes[gate] * c if self._use_peepholes else 0.0

    def call(self, inputs: Tensor, state: TensorLike | None = None) -> Any:
        c, h = self._parts(state)
        i, j, f, o = split(bias_add(matmul(concat([inputs, h], 1), self._kernel), self._bias), 4, 1)
        if self._use_peepholes:
            f, i = f + self._peep("f", c), i + self._peep("i", c)
        new_c = SIGMOID(f + self._forget_bias) * c + SIGMOID(i) * self._activation(j)
        new_c = _clipped(new_c, self._cell_clip)
        o = o + self._peep("o", new_c) if self._use_peepholes else o
        new_h = SIGMOID(o) * self._activation(new_c)
        if self._num_proj:
            new_h = _clipped(matmul(new_h, self._projection), self._proj_clip)
        new = LSTMStateTuple(new_c, new_h)
        return new_h, new if self._state_is_tuple else concat(list(new), 1)

    def _parts(self, state: TensorLike | None) -> tuple[Any, Any]:
        if self._state_is_tuple:
            if not isinstance(state, (tuple, list)) or len(state) != 2:
                raise InvalidArgumentError(
                    f"{type(self).__name__}: the state must be a pair (c, h), got {state!r}; "
                    "for one tensor say state_is_tuple=False"
                )
            return state[0], state[1]
        c, h = split(state, [self._num_units, self.output_size], 1)
        return c, h


def _clipped(x: Tensor, bound: float | None) -> Any:
    return x if bound is None else clip_by_value(x, -bound, bound)


class BasicLSTMCell(LSTMCell):
    """The LSTM without peepholes, projection and clipping; see `LSTMCell`."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Activation | None = None,
        reuse: Reuse | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        input_size: int | None = None,
        **kw: Any,
    ) -> None:
        super().__init__(
            num_units,
            forget_bias=forget_bias,
            state_is_tuple=state_is_tuple,
            activation=activation,
            reuse=reuse,
            name=name,
            dtype=dtype,
            **kw,
        )


class MultiRNNCell(RNNCell):
    """Several cells as one: the output of each is the input of the next; the state is the tuple of their states.

    With `state_is_tuple=False` the state is one tensor with the states side by side. A cell object that stands in the
    list several times (`[cell] * 3`) makes layers with variables of their own, as in TensorFlow up to 1.0. Raises
    `InvalidArgumentError` unless `cells` is a list of cells.
    """

    part_name = "cell_{}"  # the variable scope of the k-th cell

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True, name: str | None = None, **kw: Any) -> None:
        if not isinstance(cells, (list, tuple)) or not cells:
            raise InvalidArgumentError(f"MultiRNNCell needs a list of at least one cell, got {cells!r}")
        for cell in cells:
            if not like_cell(cell):
                raise InvalidArgumentError(f"MultiRNNCell: {cell!r} is not a cell")
        super().__init__(name=name, **kw)
        self._cells = [
            c.clone() if isinstance(c, RNNCell) and any(c is d for d in cells[:i]) else c for i, c in enumerate(cells)
        ]
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(isinstance(c.state_size, tuple) for c in self._cells):
            raise InvalidArgumentError("MultiRNNCell: with state_is_tuple=False each cell's state must be one tensor")

    def clone(self) -> RNNCell:
        return type(self)([c.clone() for c in self._cells], self._state_is_tuple)

    @property
    def state_size(self) -> Any:
        sizes = tuple(c.state_size for c in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns the zero states of the cells for `batch_size` rows; a cell's own `zero_state` is used where it has
        one.
        """
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        return tuple(
            c.zero_state(batch_size, dtype)
            if hasattr(c, "zero_state")
            else nest.pack(
                c.state_size,
                [_batch_of_zeros(batch_size, s, dtype) for s in nest.flatten(c.state_size)],
            )
            for c in self._cells
        )

    def call(self, inputs: Tensor, state: TensorLike | None = None) -> Any:
        if self._state_is_tuple:
            if not isinstance(state, (tuple, list)) or len(state) != len(self._cells):
                raise InvalidArgumentError(
                    f"MultiRNNCell: Expected state to be a tuple of length {len(self._cells)}, but received: {state!r}"
                )
            states = list(state)
        else:
            states = split(state, [c.state_size for c in self._cells], 1)
        new_states = []
        for k, cell in enumerate(self._cells):
            with variable_scope(self.part_name.format(k)):
                inputs, new = cell(inputs, states[k])
            new_states.append(new)
        return inputs, tuple(new_states) if self._state_is_tuple else concat(new_states, 1)


def _shards(count: int | None) -> Any:
    """Returns the partitioner that cuts a matrix into `count` parts, or None."""
    return None if count is None else fixed_size_partitioner(count)


_CELLS: dict[str, Any] = {
    "RNNCell": RNNCell,
    "BasicRNNCell": BasicRNNCell,
    "BasicLSTMCell": BasicLSTMCell,
    "LSTMCell": LSTMCell,
    "GRUCell": GRUCell,
    "MultiRNNCell": MultiRNNCell,
    "LSTMStateTuple": LSTMStateTuple,
}
API: dict[str, Any] = {
    f"{place}.{name}": cell
    for place in ("nn.rnn_cell", "contrib.rnn", "models.rnn.rnn_cell", "python.ops.rnn_cell")
    for name, cell in _CELLS.items()
}
