"""The cells of recurrent layers: SimpleRNN, GRU, LSTM, and stacks of cells.

Invariant: the order of the gates in kernels is TensorFlow's: i, f, c, o for LSTM, and z, r, h for GRU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.client.variables.variable import Variable
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor
from tfnb.types import DTypeLike, ShapeLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.argument_types import Identifier, TrainingFlag
from tfnb.v1.keras.backend import nn
from tfnb.v1.keras.engine.base_layer import Layer
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.layer_registry import deserialize, register
from tfnb.v1.keras.layers.weight_options import LayerWithOptions

WEIGHTS = (
    "kernel_initializer",
    "recurrent_initializer",
    "bias_initializer",
    "kernel_regularizer",
    "recurrent_regularizer",
    "bias_regularizer",
    "kernel_constraint",
    "recurrent_constraint",
    "bias_constraint",
)


class AbstractRNNCell(Layer):
    """The base of cells: `call(inputs, states)` returns the output and the new states."""

    @property
    def state_size(self) -> Any:
        """The size of the state, or of each. Subclasses define it."""
        raise NotImplementedError("Abstract property")

    @property
    def output_size(self) -> Any:
        """The size of the output. Subclasses define it."""
        raise NotImplementedError("Abstract property")

    def call(self, inputs: TensorOrVariable, states: Sequence[Any]) -> Any:  # type: ignore[override]
        """Returns (output, new states) of a time step. Subclasses define it."""
        raise NotImplementedError("Abstract method")

    def get_initial_state(
        self,
        inputs: Any = None,
        batch_size: Any = None,
        dtype: DTypeLike | None = None,
    ) -> list[Any]:
        """Returns states of zeros for the batch of `inputs`, or of the given size."""
        return zero_states(self, tf.shape(inputs)[0] if inputs is not None else batch_size, dtype or inputs.dtype)


def sizes_of(cell: Any) -> list[Any]:
    """Returns the sizes of a cell's states."""
    size = cell.state_size
    if isinstance(size, (list, tuple)):
        return [n for part in size for n in (part if isinstance(part, (list, tuple)) else [part])]
    return [size]


def zero_states(cell: Any, batch: Any, dtype: DTypeLike) -> list[Any]:
    """Returns states of zeros for a batch."""
    result = []
    for size in sizes_of(cell):
        inner = size.as_list() if hasattr(size, "as_list") else [int(size)]
        zeros = tf.fill(tf.stack([batch, *inner]), tf.constant(0, dtype))
        zeros.set_shape([None, *inner])
        result.append(zeros)
    return result


class _Cell(LayerWithOptions):
    gates = 1
    fields: tuple[str, ...] = ("units", "activation", "use_bias", *WEIGHTS, "dropout", "recurrent_dropout")

    def __init__(
        self,
        units: int,
        activation: Identifier | None = "tanh",
        use_bias: bool = True,
        kernel_initializer: Identifier | None = "glorot_uniform",
        recurrent_initializer: Identifier | None = "orthogonal",
        bias_initializer: Identifier | None = "zeros",
        kernel_regularizer: Identifier | None = None,
        recurrent_regularizer: Identifier | None = None,
        bias_regularizer: Identifier | None = None,
        kernel_constraint: Identifier | None = None,
        recurrent_constraint: Identifier | None = None,
        bias_constraint: Identifier | None = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.use_bias = int(units), use_bias
        self.dropout, self.recurrent_dropout = (min(1.0, max(0.0, r)) for r in (dropout, recurrent_dropout))
        self._set_options(
            activation=activation,
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            recurrent_regularizer=recurrent_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint,
            recurrent_constraint=recurrent_constraint,
            bias_constraint=bias_constraint,
        )
        self.bias: Any = None
        self._masks: dict[Any, Any] = {}

    @property
    def state_size(self) -> int | list[int]:
        """The number of units."""
        return self.units

    @property
    def output_size(self) -> int:
        """The number of units."""
        return self.units

    def build(self, input_shape: ShapeLike) -> None:
        width = tf.TensorShape(input_shape).as_list()[-1]
        self.kernel = self._weight("kernel", (width, self.gates * self.units))
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel",
            (self.units, self.gates * self.units),
            initializer=self.recurrent_initializer,
            regularizer=self.recurrent_regularizer,
            constraint=self.recurrent_constraint,
        )
        if self.use_bias:
            self.bias = self._make_bias()

    def _make_bias(self) -> Variable:
        return self._weight("bias", (self.gates * self.units,))

    def get_initial_state(
        self,
        inputs: Any = None,
        batch_size: Any = None,
        dtype: DTypeLike | None = None,
    ) -> list[Any]:
        """Returns states of zeros for the batch of `inputs`, or of the given size."""
        return zero_states(self, tf.shape(inputs)[0] if inputs is not None else batch_size, dtype or inputs.dtype)

    def prepare_dropout(self, inputs: TensorOrVariable, states: Sequence[Any], training: TrainingFlag | None) -> None:
        """Draws the masks that all time steps share, for a layer's inputs [batch, time, ...]."""
        self._masks = {}
        for key, rate, like in (("in", self.dropout, inputs[:, 0]), ("state", self.recurrent_dropout, states[0])):
            if rate:
                self._masks[key] = [self._drawn(like, rate, training) for _ in range(self.gates)]

    def _drawn(self, like: Tensor, rate: float, training: TrainingFlag | None) -> Any:
        ones = tf.ones_like(like)
        return nn.in_train_phase(lambda: tf.nn.dropout(ones, rate=rate), lambda: tf.identity(ones), training)

    def _products(self, x: Tensor, kernel: TensorOrVariable, key: str, parts: int | None = None) -> list[Any]:
        """Returns x @ kernel for each gate, with the dropout of this key."""
        parts = parts or self.gates
        masks = self._masks.get(key)
        if masks is None:
            return list(tf.split(tf.matmul(x, kernel), parts, 1)) if parts > 1 else [tf.matmul(x, kernel)]
        kernels = tf.split(kernel, parts, 1) if parts > 1 else [kernel]
        return [tf.matmul(x * m, k) for m, k in zip(masks, kernels, strict=False)]


@register()
class SimpleRNNCell(_Cell):
    """Computes activation(inputs @ kernel + state @ recurrent_kernel + bias)."""

    def call(  # type: ignore[override]
        self, inputs: Tensor, states: Sequence[Tensor], training: TrainingFlag | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        y = self._products(inputs, self.kernel, "in")[0]
        if self.bias is not None:
            y = tf.nn.bias_add(y, self.bias)
        y = self.activation(y + self._products(states[0], self.recurrent_kernel, "state")[0])
        return y, [y]


@register()
class GRUCell(_Cell):
    """A gated recurrent unit; `reset_after` applies the reset gate after the product, as cuDNN does."""

    gates = 3
    fields: tuple[str, ...] = (*_Cell.fields, "recurrent_activation", "implementation", "reset_after")

    def __init__(
        self,
        units: int,
        activation: Identifier | None = "tanh",
        recurrent_activation: Identifier | None = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Identifier | None = "glorot_uniform",
        recurrent_initializer: Identifier | None = "orthogonal",
        bias_initializer: Identifier | None = "zeros",
        kernel_regularizer: Identifier | None = None,
        recurrent_regularizer: Identifier | None = None,
        bias_regularizer: Identifier | None = None,
        kernel_constraint: Identifier | None = None,
        recurrent_constraint: Identifier | None = None,
        bias_constraint: Identifier | None = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 1,
        reset_after: bool = False,
        **kwargs: Any,
    ) -> None:
        weights = (kernel_initializer, recurrent_initializer, bias_initializer, kernel_regularizer)
        rest = (recurrent_regularizer, bias_regularizer, kernel_constraint, recurrent_constraint, bias_constraint)
        super().__init__(units, activation, use_bias, *weights, *rest, dropout, recurrent_dropout, **kwargs)
        self.implementation, self.reset_after = implementation, reset_after
        self._set_options(recurrent_activation=recurrent_activation)

    def _make_bias(self) -> Variable:
        shape = (2, 3 * self.units) if self.reset_after else (3 * self.units,)
        return self._weight("bias", shape)

    def call(  # type: ignore[override]
        self, inputs: Tensor, states: Sequence[Tensor], training: TrainingFlag | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        h = states[0]
        first, second = self.bias, None
        if self.bias is not None and self.reset_after:
            first, second = tf.unstack(self.bias.value())
        x_z, x_r, x_h = self._products(inputs, self.kernel, "in")
        if first is not None:
            b_z, b_r, b_h = tf.split(tf.convert_to_tensor(first), 3)
            x_z, x_r, x_h = x_z + b_z, x_r + b_r, x_h + b_h
        if self.reset_after:
            h_z, h_r, h_h = self._products(h, self.recurrent_kernel, "state")
            if second is not None:
                c_z, c_r, c_h = tf.split(second, 3)
                h_z, h_r, h_h = h_z + c_z, h_r + c_r, h_h + c_h
            z, r = self.recurrent_activation(x_z + h_z), self.recurrent_activation(x_r + h_r)
            candidate = self.activation(x_h + r * h_h)
        else:
            gates = self.recurrent_kernel[:, : 2 * self.units]
            h_z, h_r = self._products(h, gates, "state", 2)
            z, r = self.recurrent_activation(x_z + h_z), self.recurrent_activation(x_r + h_r)
            masks = self._masks.get("state")
            state = r * (h if masks is None else h * masks[2])
            candidate = self.activation(x_h + tf.matmul(state, self.recurrent_kernel[:, 2 * self.units :]))
        y = z * h + (1 - z) * candidate
        return y, [y]


@register()
class LSTMCell(_Cell):
    """A long short-term memory; `unit_forget_bias` begins the forget gate's bias with 1."""

    gates = 4
    fields: tuple[str, ...] = (*_Cell.fields, "recurrent_activation", "unit_forget_bias", "implementation")

    def __init__(
        self,
        units: int,
        activation: Identifier | None = "tanh",
        recurrent_activation: Identifier | None = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Identifier | None = "glorot_uniform",
        recurrent_initializer: Identifier | None = "orthogonal",
        bias_initializer: Identifier | None = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Identifier | None = None,
        recurrent_regularizer: Identifier | None = None,
        bias_regularizer: Identifier | None = None,
        kernel_constraint: Identifier | None = None,
        recurrent_constraint: Identifier | None = None,
        bias_constraint: Identifier | None = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        weights = (kernel_initializer, recurrent_initializer, bias_initializer, kernel_regularizer)
        rest = (recurrent_regularizer, bias_regularizer, kernel_constraint, recurrent_constraint, bias_constraint)
        super().__init__(units, activation, use_bias, *weights, *rest, dropout, recurrent_dropout, **kwargs)
        self.implementation, self.unit_forget_bias = implementation, unit_forget_bias
        self._set_options(recurrent_activation=recurrent_activation)

    @property
    def state_size(self) -> list[int]:
        """The sizes of h and c."""
        return [self.units, self.units]

    def _make_bias(self) -> Variable:
        if not self.unit_forget_bias:
            return super()._make_bias()

        def initial(shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: object = None) -> Tensor:
            n, make = self.units, self.bias_initializer
            return tf.concat([make([n], dtype=dtype), tf.ones([n], dtype), make([2 * n], dtype=dtype)], 0)

        return self.add_weight(
            "bias",
            (4 * self.units,),
            initializer=initial,
            regularizer=self.bias_regularizer,
            constraint=self.bias_constraint,
        )

    def call(  # type: ignore[override]
        self, inputs: Tensor, states: Sequence[Tensor], training: TrainingFlag | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        h, c = states[:2]
        parts = self._products(inputs, self.kernel, "in")
        recurrent = self._products(h, self.recurrent_kernel, "state")
        sums = [a + b for a, b in zip(parts, recurrent, strict=True)]
        if self.bias is not None:
            sums = self._with_bias(sums)
        return self._combined(sums, c)

    def _with_bias(self, sums: Sequence[Any]) -> list[Any]:
        return [s + b for s, b in zip(sums, tf.split(self.bias.value(), 4), strict=True)]

    def _combined(self, sums: Sequence[Any], c: Tensor) -> tuple[Tensor, list[Tensor]]:
        i, f, o = (self.recurrent_activation(sums[k]) for k in (0, 1, 3))
        c = f * c + i * self.activation(sums[2])
        h = o * self.activation(c)
        return h, [h, c]


@register()
class PeepholeLSTMCell(LSTMCell):
    """An LSTM whose gates also see the cell state."""

    def build(self, input_shape: ShapeLike) -> None:
        super().build(input_shape)
        names = ("input_gate_peephole_weights", "forget_gate_peephole_weights", "output_gate_peephole_weights")
        self._peepholes = [self.add_weight(n, (self.units,), initializer=self.kernel_initializer) for n in names]

    def _combined(self, sums: Sequence[Any], c: Tensor) -> tuple[Tensor, list[Tensor]]:
        to_i, to_f, to_o = self._peepholes
        i = self.recurrent_activation(sums[0] + to_i * c)
        f = self.recurrent_activation(sums[1] + to_f * c)
        new = f * c + i * self.activation(sums[2])
        h = self.recurrent_activation(sums[3] + to_o * new) * self.activation(new)
        return h, [h, new]


@register()
class StackedRNNCells(Layer):
    """Cells one above another, as one cell."""

    def __init__(self, cells: Sequence[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cells = list(cells)

    @property
    def state_size(self) -> tuple[Any, ...]:
        """The sizes of the states of each cell."""
        return tuple(cell.state_size for cell in self.cells)

    @property
    def output_size(self) -> Any:
        """The size of the last cell's output."""
        last = self.cells[-1]
        return getattr(last, "output_size", None) or sizes_of(last)[0]

    def get_initial_state(
        self,
        inputs: Any = None,
        batch_size: Any = None,
        dtype: DTypeLike | None = None,
    ) -> list[Any]:
        """Returns states of zeros for the batch of `inputs`, or of the given size."""
        return zero_states(self, tf.shape(inputs)[0] if inputs is not None else batch_size, dtype or inputs.dtype)

    def prepare_dropout(self, inputs: TensorOrVariable, states: Sequence[Any], training: TrainingFlag | None) -> None:
        """Does nothing: cells of a stack have no dropout that time steps share."""

    def build(self, input_shape: ShapeLike) -> None:
        shape = tf.TensorShape(input_shape).as_list()
        for cell in self.cells:
            with get_default_graph().name_scope(cell.name):
                cell.build(tf.TensorShape(shape))
            cell.built = True
            shape = [shape[0], getattr(cell, "output_size", None) or sizes_of(cell)[0]]

    def call(self, inputs: Tensor, states: Sequence[Tensor], **kwargs: Any) -> tuple[Any, list[Any]]:  # type: ignore[override]
        new: list[Any] = []
        x, at = inputs, 0
        for cell in self.cells:
            n = len(sizes_of(cell))
            x, mine = cell.call(x, list(states[at : at + n]))
            new, at = [*new, *mine], at + n
        return x, new

    def get_config(self) -> dict[str, Any]:
        cells = [{"class_name": type(c).__name__, "config": c.get_config()} for c in self.cells]
        return {**super().get_config(), "cells": cells}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Returns the stack of a configuration."""
        config = dict(config)
        return cls([deserialize(c, custom_objects) for c in config.pop("cells")], **config)
