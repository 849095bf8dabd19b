"""ConvLSTM2D: an LSTM over images, whose products of matrices are convolutions.

Shi et al. 2015. Invariant: kernels are [rows, columns, channels, 4 * filters], the gates in the order i, f, c, o.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.argument_types import WindowSize
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.types import ShapeLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.argument_types import Identifier
from tfnb.v1.keras.backend import nn
from tfnb.v1.keras.backend.settings import data_format_of
from tfnb.v1.keras.engine.calls import InputSpec
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.layer_registry import register
from tfnb.v1.keras.layers.cells import WEIGHTS, LSTMCell
from tfnb.v1.keras.layers.convolution import length_after
from tfnb.v1.keras.layers.recurrent import OneCell

_PARTS = ("filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate", "activation")


@register()
class ConvLSTM2DCell(LSTMCell):
    """The cell of ConvLSTM2D: its inputs and states are images."""

    fields: tuple[str, ...] = (
        *_PARTS,
        "use_bias",
        *WEIGHTS,
        "dropout",
        "recurrent_dropout",
        "recurrent_activation",
        "unit_forget_bias",
    )

    def __init__(
        self,
        filters: int,
        kernel_size: WindowSize,
        strides: WindowSize = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: WindowSize = (1, 1),
        **kwargs: Any,
    ) -> None:
        super().__init__(filters, **kwargs)
        self.filters = self.units
        self.kernel_size, self.strides = nn.window(kernel_size, 2, "kernel_size"), nn.window(strides, 2, "strides")
        self.dilation_rate = nn.window(dilation_rate, 2, "dilation_rate")
        self.padding, self.data_format = padding.lower(), data_format_of(data_format)
        if self.padding not in ("valid", "same"):
            raise InvalidArgumentError(f"ConvLSTM2D: padding={padding!r}; needed valid or same")
        self._state_shape: Any = self.filters

    @property
    def first(self) -> bool:
        """Whether channels come before rows and columns."""
        return self.data_format == "channels_first"

    @property
    def state_size(self) -> list[Any]:
        """The shapes of h and c; before the cell is built, their channels."""
        return [self._state_shape, self._state_shape]

    def build(self, input_shape: ShapeLike) -> None:
        sizes = tf.TensorShape(input_shape).as_list()
        channels = sizes[1 if self.first else 3]
        if channels is None:
            raise InvalidArgumentError(f"The channel dimension of the inputs should be defined, got {sizes}")
        outer = sizes[2:] if self.first else sizes[1:3]
        parts = zip(outer, self.kernel_size, self.strides, self.dilation_rate, strict=True)
        inner = [length_after(n, k, self.padding, s, d) for n, k, s, d in parts]
        shape = [self.filters, *inner] if self.first else [*inner, self.filters]
        self._state_shape = tf.TensorShape(shape)
        self.kernel = self._weight("kernel", (*self.kernel_size, channels, 4 * self.filters))
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel",
            (*self.kernel_size, self.filters, 4 * self.filters),
            initializer=self.recurrent_initializer,
            regularizer=self.recurrent_regularizer,
            constraint=self.recurrent_constraint,
        )
        if self.use_bias:
            self.bias = self._make_bias()

    def first_states(self, images: Tensor) -> list[Any]:
        """Returns states of zeros for the batch of `images`, whose height and width need not be known."""
        kernel = tf.zeros(
            [*self.kernel_size, images.shape.as_list()[1 if self.first else 3], self.filters], images.dtype
        )
        zeros = self._convolved(tf.zeros_like(images), kernel, "in")
        return [zeros, zeros]

    def _convolved(self, x: Tensor, kernel: TensorOrVariable, key: str) -> Tensor:
        if key == "state":
            return nn.convolution(x, kernel, 1, "same", self.data_format, 1, 2)
        return nn.convolution(x, kernel, self.strides, self.padding, self.data_format, self.dilation_rate, 2)

    def _products(self, x: Tensor, kernel: TensorOrVariable, key: str, parts: int | None = None) -> list[Any]:
        """Returns the convolution of `x` for each gate, with the dropout of this key."""
        masks, parts = self._masks.get(key), parts or self.gates
        if masks is None:
            return list(tf.split(self._convolved(x, kernel, key), parts, 1 if self.first else 3))
        kernels = tf.split(kernel, parts, 3)
        return [self._convolved(x * m, k, key) for m, k in zip(masks, kernels, strict=True)]

    def _with_bias(self, sums: Sequence[Any]) -> list[Any]:
        biases = tf.split(self.bias.value(), 4)
        return [nn.bias_add(s, b, self.data_format) for s, b in zip(sums, biases, strict=True)]


@register()
class ConvLSTM2D(OneCell):
    """An LSTM over sequences of images, [batch, time, rows, columns, channels]."""

    cell_class = ConvLSTM2DCell

    def __init__(
        self,
        filters: int,
        kernel_size: WindowSize,
        strides: WindowSize = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: WindowSize = (1, 1),
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
        activity_regularizer: Identifier | None = None,
        kernel_constraint: Identifier | None = None,
        recurrent_constraint: Identifier | None = None,
        bias_constraint: Identifier | None = None,
        return_sequences: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        return_state = kwargs.pop("return_state", False)
        self._start(locals())
        self.input_spec = InputSpec(ndim=5)

    def _first_states(self, inputs: Tensor) -> list[Any]:
        return super()._first_states(inputs) if self.stateful else self.cell.first_states(inputs[:, 0])

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        return {key: value for key, value in config.items() if key not in ("unroll", "time_major")}
