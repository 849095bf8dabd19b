"""Variants of the LSTM: coupled gates, layer normalisation, groups, open phases, and the cell that a search found.

Invariant: variables have TensorFlow's names and layouts, so that checkpoints load.
"""

from __future__ import annotations

import math
from typing import Any

from tfnb.client.argument_types import Activation, InitializerLike, ScalarLike
from tfnb.client.rnn.cells import LSTMStateTuple, RNNCell
from tfnb.client.rnn.linear_map import linear_map
from tfnb.client.variables.initializers import Constant, Zeros
from tfnb.client.variables.scope import Reuse, get_variable, get_variable_scope, variable_scope
from tfnb.errors import ShapeError
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import concat, split
from tfnb.ops.array.shape_ops import STOP_GRADIENT
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.binary import FLOOR_MOD
from tfnb.ops.math.cast import cast
from tfnb.ops.math.clip import clip_by_value
from tfnb.ops.math.compare import SELECT
from tfnb.ops.math.unary import EXP, SIGMOID, TANH
from tfnb.ops.nn.activations import RELU
from tfnb.ops.nn.bias_dropout_moments import bias_add, dropout
from tfnb.ops.random.functions import random_uniform
from tfnb.types import DTypeLike, Shape, float32
from tfnb.v1.contrib.rnn_cells.parts import normalized, row_shards, split_gates

__all__ = ["CoupledInputForgetGateLSTMCell", "GLSTMCell", "LayerNormBasicLSTMCell", "NASCell", "PhasedLSTMCell"]


def _pair(c: Tensor, h: Tensor, as_tuple: bool = True) -> LSTMStateTuple | Tensor:
    return LSTMStateTuple(c, h) if as_tuple else concat([c, h], 1)


class CoupledInputForgetGateLSTMCell(RNNCell):
    """An LSTM whose input gate is one minus its forget gate (Greff et al. 2015).

    `use_peepholes`, `num_proj` and `proj_clip` are as in `LSTMCell`; `layer_norm` normalises the gates and the state,
    with gains that begin at `norm_gain` and shifts at `norm_shift`. `num_unit_shards` and `num_proj_shards` are the
    numbers of variables of the kernel and of the projection. `initializer` is not read, as in TensorFlow.
    """

    default_name = "coupled_input_forget_gate_lstm_cell"

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: InitializerLike | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Activation = TANH,
        reuse: Reuse | None = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._peeps, self._num_proj, self._clip = num_units, use_peepholes, num_proj, proj_clip
        self._shards, self._forget_bias = (num_unit_shards, num_proj_shards), forget_bias
        self._as_tuple, self._activation = state_is_tuple, activation
        self._normalizes, self._norm = layer_norm, (norm_gain, norm_shift)

    @property
    def state_size(self) -> LSTMStateTuple | int:
        """The sizes of c and h as an `LSTMStateTuple`, or their sum without `state_is_tuple`."""
        sizes = (self._num_units, self.output_size)
        return LSTMStateTuple(*sizes) if self._as_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        """The size of h: `num_proj`, or else `num_units`."""
        return self._num_proj or self._num_units

    def _normal(self, x: Tensor, scope: str) -> Tensor:
        return normalized(x, scope, *self._norm) if self._normalizes else x

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, LSTMStateTuple | Tensor]:
        n, dtype = self._num_units, inputs.dtype
        c, h = state if self._as_tuple else split(state, [n, self.output_size], 1)
        kernel = row_shards("W", [self._columns(inputs.shape) + self.output_size, 3 * n], dtype, self._shards[0])
        bias = get_variable("B", [3 * n], dtype, Zeros())
        gates = matmul(concat([inputs, h], 1), kernel)
        gates = gates if self._normalizes else bias_add(gates, bias)
        j, f, o = split_gates(gates, 3)
        j, f, o = self._normal(j, "transform"), self._normal(f, "forget"), self._normal(o, "output")
        if self._peeps:
            f = f + get_variable("W_F_diag", [n], dtype) * c
            output_peep = get_variable("W_O_diag", [n], dtype)
        keep = SIGMOID(f + self._forget_bias)
        new_c = self._normal(keep * c + (1.0 - keep) * self._activation(j), "state")
        o = o + output_peep * new_c if self._peeps else o
        new_h = SIGMOID(o) * self._activation(new_c)
        if self._num_proj is not None:
            new_h = matmul(new_h, row_shards("W_P", [n, self._num_proj], dtype, self._shards[1]))
            new_h = new_h if self._clip is None else clip_by_value(new_h, -self._clip, self._clip)
        return new_h, _pair(new_c, new_h, self._as_tuple)


class LayerNormBasicLSTMCell(RNNCell):
    """An LSTM with layer normalisation (Ba et al. 2016) and dropout of what is written (Semeniuta et al. 2016).

    The gains of the normalisations begin at `norm_gain`, the shifts at `norm_shift`; `layer_norm=False` leaves them
    out. `dropout_keep_prob` is a number or a scalar tensor. `input_size` is deprecated and not read, as in TensorFlow.
    """

    default_name = "layer_norm_basic_lstm_cell"

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: int | None = None,
        activation: Activation = TANH,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: ScalarLike = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: Reuse | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._forget_bias, self._activation = num_units, forget_bias, activation
        self._normalizes, self._norm = layer_norm, (norm_gain, norm_shift)
        self._keep, self._seed = dropout_keep_prob, dropout_prob_seed

    state_size = property(lambda self: LSTMStateTuple(self._num_units, self._num_units), doc="The sizes of c and h.")
    output_size = property(lambda self: self._num_units, doc="The number of units.")

    def _normal(self, x: Tensor, scope: str) -> Tensor:
        return normalized(x, scope, *self._norm) if self._normalizes else x

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, LSTMStateTuple]:
        c, h = state
        x = concat([inputs, h], 1)
        kernel = get_variable("kernel", [self._columns(x.shape), 4 * self._num_units], x.dtype)
        gates = matmul(x, kernel)
        if not self._normalizes:
            gates = bias_add(gates, get_variable("bias", [4 * self._num_units], x.dtype))
        names = ("input", "transform", "forget", "output")
        i, j, f, o = (self._normal(g, name) for g, name in zip(split_gates(gates, 4), names, strict=True))
        g = self._activation(j)
        if not isinstance(self._keep, float) or self._keep < 1:
            g = dropout(g, self._keep, seed=self._seed)
        new_c = self._normal(c * SIGMOID(f + self._forget_bias) + SIGMOID(i) * g, "state")
        new_h = self._activation(new_c) * SIGMOID(o)
        return new_h, LSTMStateTuple(new_c, new_h)


class NASCell(RNNCell):
    """The cell that Zoph and Le (2016) found by a search; `num_proj` projects the output, `use_bias` adds biases."""

    default_name = "nas_cell"

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: Reuse | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias

    state_size = property(lambda self: LSTMStateTuple(self._num_units, self.output_size), doc="The sizes of c and h.")

    @property
    def output_size(self) -> int:
        """The size of h: `num_proj`, or else `num_units`."""
        return self._num_proj or self._num_units

    def build(self, shape: Shape) -> None:
        n = 8 * self._num_units
        self._recurrent = self.add_variable("recurrent_kernel", [self.output_size, n])
        self._kernel = self.add_variable("kernel", [self._columns(shape), n])
        self._bias = self.add_variable("bias", [n], initializer=Zeros()) if self._use_bias else None
        if self._num_proj is not None:
            self._projection = self.add_variable("projection_weights", [self._num_units, self._num_proj])

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, LSTMStateTuple]:
        c, h = state
        from_state = matmul(h, self._recurrent)
        from_state = from_state if self._bias is None else bias_add(from_state, self._bias)
        m, x = split_gates(from_state, 8), split_gates(matmul(inputs, self._kernel), 8)
        first = TANH(SIGMOID(x[0] + m[0]) * RELU(x[1] + m[1]))
        second = TANH(SIGMOID(x[2] + m[2]) + RELU(x[3] * m[3]))
        third = TANH(TANH(x[4] + m[4]) * SIGMOID(x[5] + m[5]))
        fourth = SIGMOID(TANH(x[6] + m[6]) + SIGMOID(x[7] + m[7]))
        new_c = TANH(first + c) * second
        new_h = TANH(new_c * TANH(third + fourth))
        new_h = new_h if self._num_proj is None else matmul(new_h, self._projection)
        return new_h, LSTMStateTuple(new_c, new_h)


class GLSTMCell(RNNCell):
    """The group LSTM of Kuchaiev and Ginsburg (2017): inputs and state are cut into groups with kernels of their own.

    Raises `ShapeError` when the units, the projection or the inputs do not divide into `number_of_groups`.
    """

    default_name = "glstm_cell"

    def __init__(
        self,
        num_units: int,
        initializer: InitializerLike | None = None,
        num_proj: int | None = None,
        number_of_groups: int = 1,
        forget_bias: float = 1.0,
        activation: Activation = TANH,
        reuse: Reuse | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._num_proj, self._groups = num_units, num_proj, number_of_groups
        self._initializer, self._forget_bias, self._activation = initializer, forget_bias, activation
        self._divided("num_units", num_units)
        self._divided("num_proj", num_proj or 0)

    def _divided(self, what: str, size: int) -> int:
        if size % self._groups:
            raise ShapeError(f"GLSTMCell: {what}={size} must be divisible by number_of_groups={self._groups}")
        return size // self._groups

    state_size = property(lambda self: LSTMStateTuple(self._num_units, self.output_size), doc="The sizes of c and h.")

    @property
    def output_size(self) -> int:
        """The size of h: `num_proj`, or else `num_units`."""
        return self._num_proj or self._num_units

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, LSTMStateTuple]:
        c, h = state
        self._divided("the size of the inputs", self._columns(inputs.shape))
        xs, hs = split_gates(inputs, self._groups), split_gates(h, self._groups)
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            gates: list[list[Any]] = []
            for k, pair in enumerate(zip(xs, hs, strict=True)):
                with variable_scope(f"group{k}"):
                    size = 4 * self._divided("num_units", self._num_units)
                    gates.append(split_gates(linear_map(concat(list(pair), 1), size, bias=False), 4))
            i, j, f, o = (
                bias_add(concat(list(parts), 1), get_variable(f"bias_{n}", [self._num_units], inputs.dtype, Zeros()))
                for n, parts in zip("ijfo", zip(*gates, strict=True), strict=True)
            )
        new_c = SIGMOID(f + self._forget_bias) * c + SIGMOID(i) * TANH(j)
        new_h = SIGMOID(o) * self._activation(new_c)
        if self._num_proj is not None:
            with variable_scope("projection"):
                new_h = linear_map(new_h, self._num_proj, bias=False)
        return new_h, LSTMStateTuple(new_c, new_h)


class PhasedLSTMCell(RNNCell):
    """The phased LSTM of Neil et al. (2016), whose units are open in a part of a period of their own.

    The inputs are a pair: the times (batch, 1), and (batch, n). Periods begin between `period_init_min` and
    `period_init_max`, their open part is `ratio_on`; a closed unit leaks by `leak`.
    """

    default_name = "phased_lstm_cell"

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        leak: float = 0.001,
        ratio_on: float = 0.1,
        trainable_ratio_on: bool = True,
        period_init_min: float = 1.0,
        period_init_max: float = 1000.0,
        reuse: Reuse | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._peeps, self._leak = num_units, use_peepholes, leak
        self._ratio, self._trains_ratio = ratio_on, trainable_ratio_on
        self._bounds = (math.log(period_init_min), math.log(period_init_max))

    state_size = property(lambda self: LSTMStateTuple(self._num_units, self._num_units), doc="The sizes of c and h.")
    output_size = property(lambda self: self._num_units, doc="The number of units.")

    def call(self, inputs: Any, state: Any = None) -> tuple[Tensor, LSTMStateTuple]:
        n = self._num_units
        c, h = state
        time, x = inputs
        with variable_scope("mask_gates"):
            i, f = split_gates(SIGMOID(linear_map([x, h, *([c] if self._peeps else [])], 2 * n)), 2)
        with variable_scope("new_input"):
            written = TANH(linear_map([x, h], n))
        new_c = c * f + i * written
        with variable_scope("output_gate"):
            o = SIGMOID(linear_map([x, h, *([new_c] if self._peeps else [])], n))
        new_h = TANH(new_c) * o
        openness = self._openness(time)
        new_c = openness * new_c + (1.0 - openness) * c
        new_h = openness * new_h + (1.0 - openness) * h
        return new_h, LSTMStateTuple(new_c, new_h)

    def _openness(self, time: Tensor) -> Tensor:
        """Returns how far each unit is open at the times (batch, 1): (batch, units)."""
        low, high = self._bounds

        def periods(shape: Any, dtype: DTypeLike = float32, partition_info: object = None) -> Tensor:
            return EXP(random_uniform(shape, low, high, dtype))

        period = get_variable("period", [self._num_units], initializer=periods)

        def phases(shape: Any, dtype: DTypeLike = float32, partition_info: object = None) -> Tensor:
            return random_uniform(shape, 0.0, 1.0, dtype) * period.initialized_value()

        phase = get_variable("phase", [self._num_units], initializer=phases)
        ratio = get_variable(
            "ratio_on", [self._num_units], initializer=Constant(self._ratio), trainable=self._trains_ratio
        )
        shifted, length = time - cast(phase, time.dtype), cast(period, time.dtype)
        cycle = cast((STOP_GRADIENT(FLOOR_MOD(shifted, length) - shifted) + shifted) / length, float32)
        rising = 2.0 * cycle / ratio
        closed = SELECT(cycle < ratio, 2.0 - rising, self._leak * cycle)
        return SELECT(cycle < 0.5 * ratio, rising, closed)
