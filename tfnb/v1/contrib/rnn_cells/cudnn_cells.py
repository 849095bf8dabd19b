"""Cells with the variables that canonical checkpoints of cuDNN's recurrent layers have, for every device.

Invariant: a model that `CudnnLSTM` or `CudnnGRU` trained and saved is restored into a stack of these cells by name.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.argument_types import InitializerLike
from tfnb.client.rnn.cells import GRUCell
from tfnb.client.variables.initializers import Constant, Zeros
from tfnb.client.variables.scope import Reuse
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import concat, split
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.unary import SIGMOID
from tfnb.ops.nn.bias_dropout_moments import bias_add
from tfnb.types import Shape
from tfnb.v1.contrib.rnn_cells.fused import LSTMBlockCell

__all__ = ["CudnnCompatibleGRUCell", "CudnnCompatibleLSTMCell"]


class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """An LSTM as cuDNN computes it: nothing is added to the forget gate."""

    default_name = "cudnn_compatible_lstm_cell"

    def __init__(self, num_units: int, reuse: Reuse | None = None) -> None:
        super().__init__(num_units, forget_bias=0.0, reuse=reuse, name="cudnn_compatible_lstm_cell")


class CudnnCompatibleGRUCell(GRUCell):
    """A GRU as cuDNN computes it: the reset gate multiplies the projection of the state, not the state.

    state = u * state + (1 - u) * tanh(inputs @ W + b + r * (state @ U + c)).
    """

    default_name = "cudnn_compatible_gru_cell"

    def __init__(
        self, num_units: int, reuse: Reuse | None = None, kernel_initializer: InitializerLike | None = None
    ) -> None:
        super().__init__(num_units, None, reuse, kernel_initializer)

    def build(self, shape: Shape) -> None:
        n, columns = self._num_units, self._columns(shape)
        kernel = self._initializers[0]
        self._gates = (
            self.add_variable("gates/kernel", [columns + n, 2 * n], initializer=kernel),
            self.add_variable("gates/bias", [2 * n], initializer=Constant(1.0)),
        )
        self._projections = [
            (
                self.add_variable(f"candidate/{part}_projection/kernel", [rows, n], initializer=kernel),
                self.add_variable(f"candidate/{part}_projection/bias", [n], initializer=Zeros()),
            )
            for part, rows in (("hidden", n), ("input", columns))
        ]

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, Tensor]:
        kernel, bias = self._gates
        r, u = split(SIGMOID(bias_add(matmul(concat([inputs, state], 1), kernel), bias)), 2, 1)
        hidden, entered = (
            bias_add(matmul(x, w), b) for x, (w, b) in zip((state, inputs), self._projections, strict=True)
        )
        new = u * state + (1.0 - u) * self._activation(entered + r * hidden)
        return new, new
