"""Convolutional LSTMs (Shi et al. 2015): the gates are convolutions of the inputs and the output.

Invariant: a state has the shape of an input, with `output_channels` channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.rnn.cells import LSTMStateTuple, RNNCell
from tfnb.client.variables.initializers import Zeros
from tfnb.client.variables.scope import get_variable
from tfnb.errors import ShapeError
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import concat, split
from tfnb.ops.conv_pool.conv_functions import convolution as convolution_op
from tfnb.ops.math.unary import SIGMOID, TANH
from tfnb.types import Shape, as_shape

__all__ = ["Conv1DLSTMCell", "Conv2DLSTMCell", "Conv3DLSTMCell", "ConvLSTMCell"]


class ConvLSTMCell(RNNCell):
    """A convolutional LSTM over `conv_ndims` axes, for inputs of `input_shape`, without the batch.

    kernel_shape: the size of the kernel along each axis. use_bias: adds biases. skip_connection: the output has the
    inputs beside it. `initializers` is not read, as in TensorFlow. Raises `ShapeError` when the shape has
    another number of axes.
    """

    default_name = "conv_lstm_cell"

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Sequence[int],
        output_channels: int,
        kernel_shape: Sequence[int],
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: object = None,
        name: str | None = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ShapeError(
                f"ConvLSTMCell: input_shape {list(input_shape)} has not {conv_ndims} axes and the channels"
            )
        self._axes, self._input_shape, self._kernel_shape = conv_ndims, list(input_shape), list(kernel_shape)
        self._channels, self._use_bias = output_channels, use_bias
        self._skips, self._forget_bias = skip_connection, forget_bias

    @property
    def state_size(self) -> LSTMStateTuple:
        """The shapes of c and h, without the batch."""
        size = as_shape([*self._input_shape[:-1], self._channels])
        return LSTMStateTuple(size, size)

    @property
    def output_size(self) -> Shape:
        """The shape of the output, without the batch."""
        more = self._input_shape[-1] if self._skips else 0
        return as_shape([*self._input_shape[:-1], self._channels + more])

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, LSTMStateTuple]:
        c, h = state
        x = concat([inputs, h], self._axes + 1)
        size = 4 * self._channels
        kernel = get_variable("kernel", [*self._kernel_shape, self._columns(x.shape), size], x.dtype)
        gates = convolution_op(x, kernel, "SAME")
        if self._use_bias:
            gates = gates + get_variable("biases", [size], x.dtype, Zeros())
        i, j, f, o = split(gates, 4, self._axes + 1)
        new_c = SIGMOID(f + self._forget_bias) * c + SIGMOID(i) * TANH(j)
        new_h = TANH(new_c) * SIGMOID(o)
        if self._skips:
            new_h = concat([new_h, inputs], -1)
        return new_h, LSTMStateTuple(new_c, new_h)


class Conv1DLSTMCell(ConvLSTMCell):
    """A convolutional LSTM over one axis; see `ConvLSTMCell`."""

    def __init__(self, name: str | None = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """A convolutional LSTM over two axes; see `ConvLSTMCell`."""

    def __init__(self, name: str | None = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(2, name=name, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """A convolutional LSTM over three axes; see `ConvLSTMCell`."""

    def __init__(self, name: str | None = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(3, name=name, **kwargs)
