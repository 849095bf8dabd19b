"""Cells with one state vector, or with independent units, of later papers.

Invariant: variables have TensorFlow's names and layouts, so that checkpoints load.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.argument_types import Activation, InitializerLike
from tfnb.client.rnn.cells import LSTMStateTuple, RNNCell
from tfnb.client.rnn.linear_map import linear_map
from tfnb.client.variables.initializers import Constant, RandomUniform, Zeros
from tfnb.client.variables.scope import Reuse, get_variable_scope, variable_scope
from tfnb.errors import ShapeError
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import concat
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.unary import SIGMOID, TANH
from tfnb.ops.nn.activations import RELU
from tfnb.ops.nn.bias_dropout_moments import bias_add
from tfnb.types import DTypeLike, Shape
from tfnb.v1.contrib.rnn_cells.parts import split_gates

__all__ = ["IndRNNCell", "IndyGRUCell", "IndyLSTMCell", "IntersectionRNNCell", "SRUCell", "UGRNNCell"]


class LayerRNNCell(RNNCell):
    """The base class of cells whose variables are made by `build(shape)`, as in every cell here; see `RNNCell`."""


class UGRNNCell(RNNCell):
    """The update gate network of Collins et al. (2017): state = g * state + (1 - g) * activation(c).

    g and c are linear in [inputs, state]; g is a sigmoid, to which `forget_bias` is added.
    """

    default_name = "ugrnn_cell"

    def __init__(
        self,
        num_units: int,
        initializer: InitializerLike | None = None,
        forget_bias: float = 1.0,
        activation: Activation = TANH,
        reuse: Reuse | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._initializer = num_units, initializer
        self._forget_bias, self._activation = forget_bias, activation

    state_size = property(lambda self: self._num_units, doc="The number of units.")
    output_size = property(lambda self: self._num_units, doc="The number of units.")

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, Tensor]:
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            gate, candidate = split_gates(linear_map([inputs, state], 2 * self._num_units), 2)
        g = SIGMOID(gate + self._forget_bias)
        new = g * state + (1.0 - g) * self._activation(candidate)
        return new, new


class IntersectionRNNCell(RNNCell):
    """The +RNN of Collins et al. (2017), whose output is gated as its state is.

    Inputs of another size than `num_units` are projected, for which `num_in_proj` must be given. Raises `ShapeError`
    otherwise.
    """

    default_name = "intersection_rnn_cell"

    def __init__(
        self,
        num_units: int,
        num_in_proj: int | None = None,
        initializer: InitializerLike | None = None,
        forget_bias: float = 1.0,
        y_activation: Activation = RELU,
        reuse: Reuse | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._projects, self._initializer = num_units, num_in_proj, initializer
        self._forget_bias, self._y_activation = forget_bias, y_activation

    state_size = property(lambda self: self._num_units, doc="The number of units.")
    output_size = property(lambda self: self._num_units, doc="The number of units.")

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, Tensor]:
        n = self._num_units
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            if inputs.shape.as_list()[1] != n:
                if not self._projects:
                    raise ShapeError(f"IntersectionRNNCell: inputs of shape {inputs.shape} need num_in_proj={n}")
                with variable_scope("in_projection"):
                    inputs = linear_map(inputs, n)
            state_gate, h, output_gate, y = split_gates(linear_map([inputs, state], 4 * n), 4)
        gh, gy = SIGMOID(state_gate + self._forget_bias), SIGMOID(output_gate + self._forget_bias)
        new = gh * state + (1.0 - gh) * TANH(h)
        return gy * inputs + (1.0 - gy) * self._y_activation(y), new


class SRUCell(LayerRNNCell):
    """The simple recurrent unit of Lei et al. (2017), whose gates do not depend on the state.

    c = f * c + (1 - f) * x1; output = r * activation(c) + (1 - r) * x2, where x1, f, r, x2 are linear in the inputs.
    """

    default_name = "sru_cell"

    def __init__(
        self,
        num_units: int,
        activation: Activation | None = None,
        reuse: Reuse | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, **kwargs)
        self._num_units, self._activation = num_units, activation or TANH

    state_size = property(lambda self: self._num_units, doc="The number of units.")
    output_size = property(lambda self: self._num_units, doc="The number of units.")

    def build(self, shape: Shape) -> None:
        self._kernel = self.add_variable("kernel", [self._columns(shape), 4 * self._num_units])
        self._bias = self.add_variable("bias", [2 * self._num_units], initializer=Zeros())

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, Tensor]:
        x1, f, r, x2 = split_gates(matmul(inputs, self._kernel), 4)
        f, r = split_gates(SIGMOID(bias_add(concat([f, r], 1), self._bias)), 2)
        c = f * state + (1.0 - f) * x1
        return r * self._activation(c) + (1.0 - r) * x2, c


class _Independent(LayerRNNCell):
    """A cell whose units see only their own state, by a vector of weights (Li et al. 2018)."""

    def _recurrent(self, name: str, size: int) -> Any:
        return self.add_variable(name, [1, size], initializer=RandomUniform(-1.0, 1.0))


class IndRNNCell(_Independent):
    """A recurrent network with independent units: activation(inputs @ kernel_w + state * kernel_u + bias)."""

    default_name = "ind_rnn_cell"

    def __init__(
        self,
        num_units: int,
        activation: Activation | None = None,
        reuse: Reuse | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._activation = num_units, activation or TANH

    state_size = property(lambda self: self._num_units, doc="The number of units.")
    output_size = property(lambda self: self._num_units, doc="The number of units.")

    def build(self, shape: Shape) -> None:
        n = self._num_units
        self._w = self.add_variable("kernel_w", [self._columns(shape), n])
        self._u = self._recurrent("kernel_u", n)
        self._bias = self.add_variable("bias", [n], initializer=Zeros())

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, Tensor]:
        output = self._activation(bias_add(matmul(inputs, self._w) + state * self._u, self._bias))
        return output, output


class IndyGRUCell(_Independent):
    """A `GRUCell` with independent units: the state is multiplied by vectors instead of matrices."""

    default_name = "indy_gru_cell"

    def __init__(
        self,
        num_units: int,
        activation: Activation | None = None,
        reuse: Reuse | None = None,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._activation = num_units, activation or TANH
        self._initializers = (kernel_initializer, bias_initializer)

    state_size = property(lambda self: self._num_units, doc="The number of units.")
    output_size = property(lambda self: self._num_units, doc="The number of units.")

    def build(self, shape: Shape) -> None:
        n, rows = self._num_units, self._columns(shape)
        kernel, bias = self._initializers
        self._gates = (
            self.add_variable("gates/kernel_w", [rows, 2 * n], initializer=kernel),
            self._recurrent("gates/kernel_u", 2 * n),
            self.add_variable("gates/bias", [2 * n], initializer=bias or Constant(1.0)),
        )
        self._candidate = (
            self.add_variable("candidate/kernel", [rows, n], initializer=kernel),
            self._recurrent("candidate/kernel_u", n),
            self.add_variable("candidate/bias", [n], initializer=bias or Zeros()),
        )

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, Tensor]:
        w, u, bias = self._gates
        r, z = split_gates(SIGMOID(bias_add(matmul(inputs, w) + concat([state, state], 1) * u, bias)), 2)
        w, u, bias = self._candidate
        c = self._activation(bias_add(matmul(inputs, w) + r * state * u, bias))
        new = z * state + (1.0 - z) * c
        return new, new


class IndyLSTMCell(_Independent):
    """A `BasicLSTMCell` with independent units: the output is multiplied by vectors instead of matrices."""

    default_name = "indy_lstm_cell"

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        activation: Activation | None = None,
        reuse: Reuse | None = None,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._forget_bias, self._activation = num_units, forget_bias, activation or TANH
        self._initializers = (kernel_initializer, bias_initializer)

    state_size = property(lambda self: LSTMStateTuple(self._num_units, self._num_units), doc="The sizes of c and h.")
    output_size = property(lambda self: self._num_units, doc="The number of units.")

    def build(self, shape: Shape) -> None:
        n = 4 * self._num_units
        kernel, bias = self._initializers
        self._w = self.add_variable("kernel_w", [self._columns(shape), n], initializer=kernel)
        self._u = self._recurrent("kernel_u", n)
        self._bias = self.add_variable("bias", [n], initializer=bias or Zeros())

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, LSTMStateTuple]:
        c, h = state
        i, j, f, o = split_gates(bias_add(matmul(inputs, self._w) + concat([h] * 4, 1) * self._u, self._bias), 4)
        new_c = c * SIGMOID(f + self._forget_bias) + SIGMOID(i) * self._activation(j)
        new_h = self._activation(new_c) * SIGMOID(o)
        return new_h, LSTMStateTuple(new_c, new_h)
