"""Cells around cells: dropout, residual connections, embeddings, projections, devices (`tf.nn.rnn_cell`).

Invariant: the state of a wrapper is that of the inner cell; wrappers without variables (dropout, residual, device) do
not change the names of the inner cell's variables.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

from tfnb.client.argument_types import Activation, DeviceLike, InitializerLike
from tfnb.client.graph import nest
from tfnb.client.rnn.cells import CellLike, LSTMStateTuple, RNNCell, like_cell
from tfnb.client.rnn.linear_map import linear_map
from tfnb.client.variables.embedding import embedding_lookup
from tfnb.client.variables.initializers import RandomUniform
from tfnb.client.variables.scope import Reuse, ScopeLike, get_variable, get_variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.shape_ops import RESHAPE
from tfnb.ops.math.unary import FLOOR
from tfnb.ops.nn.bias_dropout_moments import dropout
from tfnb.ops.random.functions import random_uniform
from tfnb.types import DTypeLike, as_dtype, as_shape, float32

__all__ = [
    "API",
    "DeviceWrapper",
    "DropoutWrapper",
    "EmbeddingWrapper",
    "InputProjectionWrapper",
    "OutputProjectionWrapper",
    "ResidualWrapper",
]


class _Wrapper(RNNCell):
    """A cell around another one, with the same sizes."""

    def __init__(self, cell: CellLike, **kw: Any) -> None:
        if not like_cell(cell):
            raise InvalidArgumentError(f"{type(self).__name__}: {cell!r} is not a cell")
        super().__init__(**kw)
        self._cell = cell

    def clone(self) -> RNNCell:
        """Returns a copy of the wrapper around a copy of the inner cell, with variables of their own."""
        copy: Any = super().clone()
        copy._cell = self._cell.clone() if isinstance(self._cell, RNNCell) else self._cell
        return copy

    wrapped_cell = property(lambda self: self._cell, doc="The inner cell.")
    state_size = property(lambda self: self._cell.state_size, doc="The size of the inner cell's state.")
    output_size = property(lambda self: self._cell.output_size, doc="The size of the inner cell's output.")

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns the inner cell's zero state for `batch_size` rows."""
        if hasattr(self._cell, "zero_state"):
            return self._cell.zero_state(batch_size, dtype)
        return super().zero_state(batch_size, dtype)


class TransparentWrapper(_Wrapper):
    """A wrapper without a variable scope of its own."""

    # The setter does nothing: the base class sets an empty list.
    variables = property(
        lambda self: self._cell.variables, lambda self, value: None, doc="The variables of the inner cell."
    )

    def __call__(
        self, inputs: TensorLike, state: TensorLike | None = None, scope: ScopeLike | None = None, **kwargs: object
    ) -> Any:
        return self.wrapped(lambda x, s: self._cell(x, s, scope=scope, **kwargs), inputs, state)

    def wrapped(self, step: Callable[[Any, Any], Any], inputs: TensorLike, state: TensorLike | None) -> Any:
        """Returns (output, new state) of the wrapper; `step(inputs, state)` calls the inner cell."""
        return step(inputs, state)


class ResidualWrapper(TransparentWrapper):
    """output = inputs + cell(inputs), or `residual_fn(inputs, outputs)`.

    Raises `ShapeError` if inputs and outputs do not have the same shape.
    """

    def __init__(self, cell: CellLike, residual_fn: Callable[[Any, Any], Any] | None = None, **kw: object) -> None:
        super().__init__(cell, **kw)
        self._residual_fn = residual_fn

    def wrapped(self, step: Callable[[Any, Any], Any], inputs: TensorLike, state: TensorLike | None) -> Any:
        outputs, new = step(inputs, state)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, outputs), new
        ins, outs = nest.flatten(inputs), nest.flatten(outputs)
        for x, y in zip(ins, outs, strict=True):
            if not x.shape.is_compatible_with(y.shape):
                raise ShapeError(
                    f"ResidualWrapper: inputs of shape {x.shape} and outputs of shape {y.shape} cannot be added"
                )
        sums = [x + y for x, y in zip(ins, outs, strict=True)]
        return nest.pack(outputs, sums), new


class DeviceWrapper(TransparentWrapper):
    """A cell whose operations are placed on a device."""

    def __init__(self, cell: CellLike, device: DeviceLike, **kw: object) -> None:
        super().__init__(cell, **kw)
        self._device = device

    def wrapped(self, step: Callable[[Any, Any], Any], inputs: TensorLike, state: TensorLike | None) -> Any:
        with get_default_graph().device(self._device):
            return step(inputs, state)


def _dropped(keep: Any) -> bool:
    return is_tensor_like(keep) or float(keep) < 1.0


class DropoutWrapper(TransparentWrapper):
    """Dropout on inputs, outputs and state of a cell; each keep probability is a number or a scalar tensor.

    The memory `c` of an LSTM is not dropped. `variational_recurrent` uses the same mask in every step; it needs
    `dtype`, and `input_size` where inputs are dropped. Raises `InvalidArgumentError` for probabilities outside (0, 1].
    """

    def __init__(
        self,
        cell: CellLike,
        input_keep_prob: TensorLike = 1.0,
        output_keep_prob: TensorLike = 1.0,
        state_keep_prob: TensorLike = 1.0,
        variational_recurrent: bool = False,
        input_size: object = None,
        dtype: DTypeLike | None = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
        **kw: object,
    ) -> None:
        super().__init__(cell, **kw)
        keep_probs: dict[str, Any] = {"input": input_keep_prob, "output": output_keep_prob, "state": state_keep_prob}
        for part, probability in keep_probs.items():
            if not is_tensor_like(probability) and not 0.0 < float(probability) <= 1.0:
                raise InvalidArgumentError(f"DropoutWrapper: {part}_keep_prob must be in (0, 1], got {probability}")
        self._keeps, self._seed = keep_probs, seed
        self._spare = dropout_state_filter_visitor or _spares_memory
        self._masks: dict[str, list[Any]] | None = None
        if variational_recurrent:
            if dtype is None or (input_size is None and _dropped(input_keep_prob)):
                raise InvalidArgumentError(
                    "DropoutWrapper: variational_recurrent needs dtype, and input_size for dropped inputs"
                )
            sizes = {
                "input": input_size,
                "output": cell.output_size,
                "state": cell.state_size,
            }
            self._masks = {part: self._noise(part, sizes[part], dtype) for part in keep_probs}

    def _seed_for(self, what: str, k: int) -> int | None:
        if self._seed is None:
            return None
        text = f"{self._seed}{what}_{k}".encode()
        return int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _noise(self, what: str, sizes: TensorLike, dtype: DTypeLike) -> list[Any]:
        return [
            random_uniform([1, *as_shape(size).known()], dtype=as_dtype(dtype), seed=self._seed_for(what, k))
            for k, size in enumerate(nest.flatten(sizes))
            if size is not None
        ]

    def _drop(self, what: str, values: TensorLike, keep_flags: list[bool] | None = None) -> Any:
        keep_prob = self._keeps[what]
        if not _dropped(keep_prob):
            return values
        results = []
        for k, x in enumerate(nest.flatten(values)):
            if keep_flags is not None and not keep_flags[k]:
                results.append(x)
            elif self._masks is not None:
                results.append(x / keep_prob * FLOOR(self._masks[what][k] + keep_prob))
            else:
                results.append(dropout(x, keep_prob, seed=self._seed_for(what, k)))
        return nest.pack(values, results)

    def wrapped(self, step: Callable[[Any, Any], Any], inputs: TensorLike, state: TensorLike | None) -> Any:
        output, new = step(self._drop("input", inputs), state)
        return self._drop("output", output), self._drop("state", new, _flags(new, self._spare))


def _spares_memory(state: Tensor) -> bool:
    """Returns which parts of the state may be dropped: all but the memory `c` of an LSTM."""
    return LSTMStateTuple(False, True) if isinstance(state, LSTMStateTuple) else True


def _flags(state: Tensor, visitor: Callable[[Any], Any]) -> list[bool]:
    flags = visitor(state)
    if flags is True and isinstance(state, (tuple, list)):
        return [flag for part in state for flag in _flags(part, visitor)]
    return [bool(flag) for flag in nest.flatten(flags)]


class InputProjectionWrapper(_Wrapper):
    """A cell that is applied to inputs @ kernel + bias, of `num_proj` columns."""

    def __init__(
        self,
        cell: CellLike,
        num_proj: int,
        activation: Activation | None = None,
        input_size: int | None = None,
        reuse: Reuse | None = None,
    ) -> None:
        super().__init__(cell, _reuse=reuse)
        self._num_proj, self._activation = int(num_proj), activation

    def call(self, inputs: Tensor, state: TensorLike | None = None) -> Any:
        """Returns (output, new state) of the inner cell for the projected inputs [batch, n]."""
        projection = linear_map(inputs, self._num_proj)
        if self._activation is not None:
            projection = self._activation(projection)
        return self._cell(projection, state)


class OutputProjectionWrapper(_Wrapper):
    """A cell whose output is multiplied by a kernel: output @ kernel + bias, of `output_size` columns."""

    def __init__(
        self, cell: CellLike, output_size: int, activation: Activation | None = None, reuse: Reuse | None = None
    ) -> None:
        super().__init__(cell, _reuse=reuse)
        self._size, self._activation = int(output_size), activation

    output_size = property(lambda self: self._size, doc="The number of columns of the projected output.")

    def call(self, inputs: Tensor, state: TensorLike | None = None) -> Any:
        """Returns (projected output, new state) for inputs [batch, n]; the state is not projected."""
        output, new = self._cell(inputs, state)
        projection = linear_map(output, self._size)
        return projection if self._activation is None else self._activation(projection), new


class EmbeddingWrapper(_Wrapper):
    """A cell that is applied to the embeddings of integer inputs [batch] or [batch, 1].

    The embeddings are a variable [embedding_classes, embedding_size]. Raises `InvalidArgumentError` for sizes that are
    not positive.
    """

    def __init__(
        self,
        cell: CellLike,
        embedding_classes: int,
        embedding_size: int,
        initializer: InitializerLike | None = None,
        reuse: Reuse | None = None,
    ) -> None:
        if embedding_classes <= 0 or embedding_size <= 0:
            raise InvalidArgumentError(
                f"EmbeddingWrapper: classes and size must be positive, got {embedding_classes}, {embedding_size}"
            )
        super().__init__(cell, _reuse=reuse)
        self._shape, self._initializer = [embedding_classes, embedding_size], initializer

    def call(self, inputs: Tensor, state: TensorLike | None = None) -> Any:
        # the values of this initialiser have variance one
        """Returns (output, new state) of the inner cell for the embeddings of the integers `inputs`."""
        default = get_variable_scope().initializer or RandomUniform(-math.sqrt(3), math.sqrt(3))
        parts = nest.flatten(state)
        dtype = parts[0].dtype if parts else float32
        table = get_variable("embedding", self._shape, dtype, self._initializer or default)
        return self._cell(embedding_lookup(table, RESHAPE(inputs, [-1])), state)


_WRAPPERS: dict[str, Any] = {
    "DropoutWrapper": DropoutWrapper,
    "ResidualWrapper": ResidualWrapper,
    "DeviceWrapper": DeviceWrapper,
    "InputProjectionWrapper": InputProjectionWrapper,
    "OutputProjectionWrapper": OutputProjectionWrapper,
    "EmbeddingWrapper": EmbeddingWrapper,
}
API: dict[str, Any] = {
    f"{place}.{name}": wrapper
    for place in ("nn.rnn_cell", "contrib.rnn", "models.rnn.rnn_cell", "python.ops.rnn_cell")
    for name, wrapper in _WRAPPERS.items()
}
