"""RNN, SimpleRNN, GRU and LSTM: cells over the time axis.

Invariant: weights are named after the layer ("lstm/kernel"), as in TensorFlow 1.15, and belong to the layer's `cell`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.types import ShapeLike
from tfnb.v1.keras import regularizers
from tfnb.v1.keras.argument_types import Identifier, LayerInputs, Masks, TrainingFlag
from tfnb.v1.keras.backend.recurrent import rnn
from tfnb.v1.keras.backend.values import batch_set_value
from tfnb.v1.keras.engine.base_layer import Layer
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.layer_registry import deserialize, register
from tfnb.v1.keras.layers.cells import GRUCell, LSTMCell, SimpleRNNCell, StackedRNNCells, sizes_of, zero_states
from tfnb.v1.keras.serialization import has_arg


@register()
class RNN(Layer):
    """Runs a cell, or a list of cells, over the time axis of [batch, time, ...].

    return_sequences: the output of every step instead of the last one. return_state: also the final states.
    stateful: states are kept from batch to batch; the batch's size must be known.
    """

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        **kwargs: Any,
    ) -> None:
        cell = StackedRNNCells(cell) if isinstance(cell, (list, tuple)) else cell
        if not hasattr(cell, "call") or not hasattr(cell, "state_size"):
            raise InvalidArgumentError("`cell` should have a `call` method and an attribute `state_size`")
        self._zeroed = kwargs.pop("zero_output_for_mask", False)
        super().__init__(**kwargs)
        self.cell, self.return_sequences, self.return_state = cell, return_sequences, return_state
        self.go_backwards, self.stateful, self.unroll, self.time_major = go_backwards, stateful, unroll, time_major
        self.supports_masking = True
        self._states: list[Any] | None = None

    @property
    def states(self) -> list[Any] | None:
        """The states that a stateful layer keeps, variables, or None."""
        return self._states

    def __call__(
        self,
        inputs: LayerInputs,
        initial_state: TensorLike | None = None,
        constants: TensorLike | None = None,
        **kwargs: Any,
    ) -> Any:
        """Returns the outputs; `initial_state` and `constants` are tensors, or lists of them."""
        if isinstance(inputs, (list, tuple)):
            inputs, *more = inputs
            count = len(sizes_of(self.cell))
            initial_state, constants = more[:count] or initial_state, more[count:] or constants
        if initial_state is not None:
            kwargs["initial_state"] = initial_state if isinstance(initial_state, (list, tuple)) else [initial_state]
        if constants is not None:
            kwargs["constants"] = constants if isinstance(constants, (list, tuple)) else [constants]
        return super().__call__(inputs, **kwargs)

    def build(self, input_shape: ShapeLike) -> None:
        sizes = tf.TensorShape(input_shape).as_list()
        step = tf.TensorShape([sizes[0], *sizes[2:]])
        if isinstance(self.cell, Layer) and not self.cell.built:
            if self.cell._dtype is None:
                self.cell._dtype = self.dtype
            self.cell.build(step)
            self.cell.built = True
        if self.stateful:
            self._make_states(sizes)

    def _make_states(self, sizes: Sequence[Any]) -> None:
        batch = sizes[1 if self.time_major else 0]
        if batch is None:
            raise InvalidArgumentError(
                "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input tensors "
                "by `batch_input_shape` or `batch_shape`."
            )
        shapes = [n.as_list() if hasattr(n, "as_list") else [int(n)] for n in sizes_of(self.cell)]
        kind = tf.as_dtype(self.dtype)
        self._states = [
            tf.Variable(np.zeros([batch, *s], kind.as_numpy_dtype), trainable=False, name="Variable") for s in shapes
        ]

    def call(  # type: ignore[override]
        self,
        inputs: Any,
        mask: Any = None,
        training: TrainingFlag | None = None,
        initial_state: Sequence[Any] | None = None,
        constants: Sequence[Any] | None = None,
    ) -> Tensor | list[Any]:
        if isinstance(mask, list):
            mask = mask[0]
        states = list(initial_state) if initial_state is not None else self._first_states(inputs)
        by_batch = inputs if not self.time_major else tf.transpose(inputs, [1, 0, *range(2, inputs.shape.ndims)])
        if hasattr(self.cell, "prepare_dropout"):
            self.cell.prepare_dropout(by_batch, states, training)
        options: dict[str, Any] = {"training": training} if has_arg(self.cell.call, "training") else {}
        count = len(states)

        def step(x: Tensor, all_states: list[Any]) -> tuple[Any, list[Any]]:
            given = {**options, **({"constants": all_states[count:]} if constants else {})}
            y, new = self.cell.call(x, all_states[:count], **given)
            return y, list(new) if isinstance(new, (list, tuple)) else [new]

        last, outputs, final = rnn(
            step,
            inputs,
            states,
            go_backwards=self.go_backwards,
            mask=mask,
            constants=constants,
            unroll=self.unroll,
            time_major=self.time_major,
            zero_output_for_mask=self._zeroed,
        )
        if self.stateful:
            self._updates += [(tf.assign(old, new), True) for old, new in zip(self._states or (), final, strict=True)]
        result = outputs if self.return_sequences else last
        return [result, *final] if self.return_state else result

    def _first_states(self, inputs: Tensor) -> list[Any]:
        if self.stateful:
            return [v.value() for v in self._states or ()]
        batch = tf.shape(inputs)[1 if self.time_major else 0]
        if hasattr(self.cell, "get_initial_state"):
            made = self.cell.get_initial_state(inputs=None, batch_size=batch, dtype=inputs.dtype)
            return list(made) if isinstance(made, (list, tuple)) else [made]
        return zero_states(self.cell, batch, inputs.dtype)

    def compute_mask(self, inputs: Any, mask: Masks | None = None) -> Any:
        mask = mask[0] if isinstance(mask, list) else mask
        mask = mask if self.return_sequences else None
        return [mask] + [None] * len(sizes_of(self.cell)) if self.return_state else mask

    def reset_states(self, states: Sequence[ArrayLike] | None = None) -> None:
        """Sets the states of a stateful layer to zero, or to the given arrays."""
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        mine = self._states or []
        values = [np.zeros(v.shape.as_list()) for v in mine] if states is None else list(states)
        batch_set_value(zip(mine, values, strict=True))

    def get_config(self) -> dict[str, Any]:
        own = {
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "go_backwards": self.go_backwards,
            "stateful": self.stateful,
            "unroll": self.unroll,
            "time_major": self.time_major,
        }
        cell = {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}
        return {**super().get_config(), **own, "cell": cell}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Returns the layer of a configuration."""
        config = dict(config)
        return cls(deserialize(config.pop("cell"), custom_objects), **config)


_LAYER = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "time_major")


class OneCell(RNN):
    """A layer of one cell of a fixed class, whose options are the layer's."""

    cell_class: Any = None
    is_recurrent_layer = True

    def _start(self, given: dict[str, Any]) -> None:
        """Creates the cell and the layer from the arguments of a constructor, `locals()`."""
        of_layer = {k: v for k, v in given.items() if k in _LAYER}
        further = dict(given["kwargs"])
        of_cell = {k: v for k, v in given.items() if k not in (*_LAYER, "self", "kwargs", "__class__")}
        activity = of_cell.pop("activity_regularizer")
        dtype = {"dtype": further["dtype"]} if "dtype" in further else {}
        RNN.__init__(self, self.cell_class(**of_cell, **dtype), **of_layer, **further)
        self._activity_regularizer = regularizers.get(activity)

    def __getattr__(self, name: str) -> Any:
        cell = self.__dict__.get("cell")
        if cell is None or name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(cell, name)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        inner = config.pop("cell")["config"]
        own = {k: v for k, v in inner.items() if k not in ("name", "trainable", "dtype", "batch_input_shape")}
        return {**config, **own, "activity_regularizer": regularizers.serialize(self._activity_regularizer)}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Returns the layer of a configuration."""
        return cls(**config)


@register()
class SimpleRNN(OneCell):
    """A fully connected recurrent layer."""

    cell_class = SimpleRNNCell

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
        activity_regularizer: Identifier | None = None,
        kernel_constraint: Identifier | None = None,
        recurrent_constraint: Identifier | None = None,
        bias_constraint: Identifier | None = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **kwargs: Any,
    ) -> None:
        self._start(locals())


@register()
class GRU(OneCell):
    """A layer of gated recurrent units."""

    cell_class = GRUCell

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
        activity_regularizer: Identifier | None = None,
        kernel_constraint: Identifier | None = None,
        recurrent_constraint: Identifier | None = None,
        bias_constraint: Identifier | None = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 1,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        reset_after: bool = False,
        **kwargs: Any,
    ) -> None:
        self._start(locals())


@register()
class LSTM(OneCell):
    """A layer of long short-term memories."""

    cell_class = LSTMCell

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
        activity_regularizer: Identifier | None = None,
        kernel_constraint: Identifier | None = None,
        recurrent_constraint: Identifier | None = None,
        bias_constraint: Identifier | None = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 1,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        **kwargs: Any,
    ) -> None:
        self._start(locals())


@register()
class CuDNNGRU(OneCell):
    """The layer that cuDNN computes: the gates are sigmoids. It runs on every device, by the graph's operations."""

    cell_class = GRUCell

    def __init__(
        self,
        units: int,
        kernel_initializer: Identifier | None = "glorot_uniform",
        recurrent_initializer: Identifier | None = "orthogonal",
        bias_initializer: Identifier | None = "zeros",
        kernel_regularizer: Identifier | None = None,
        recurrent_regularizer: Identifier | None = None,
        bias_regularizer: Identifier | None = None,
        activity_regularizer: Identifier | None = None,
        kernel_constraint: Identifier | None = None,
        recurrent_constraint: Identifier | None = None,
        bias_constraint: Identifier | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        **kwargs: Any,
    ) -> None:
        self._start({**locals(), "recurrent_activation": "sigmoid", "reset_after": True})


@register()
class CuDNNLSTM(OneCell):
    """The layer that cuDNN computes: the gates are sigmoids. It runs on every device, by the graph's operations."""

    cell_class = LSTMCell

    def __init__(
        self,
        units: int,
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
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        **kwargs: Any,
    ) -> None:
        self._start({**locals(), "recurrent_activation": "sigmoid"})
