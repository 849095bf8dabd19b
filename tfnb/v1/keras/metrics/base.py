"""The base of metrics and those that sum or average (`tf.keras.metrics.Metric`, `Mean`, `Sum`, `MeanTensor`).

Invariant: calling a metric updates its state, and the result is read afterwards; `reset_states` sets the state to zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.types import DTypeLike, ShapeLike
from tfnb.v1.keras import initializers, losses
from tfnb.v1.keras.argument_types import Identifier
from tfnb.v1.keras.backend.values import batch_set_value
from tfnb.v1.keras.engine.base_layer import Layer
from tfnb.v1.keras.graph_api import tf

__all__ = ["Mean", "MeanMetricWrapper", "MeanTensor", "Metric", "Sum"]


class Metric(Layer):
    """The base of metrics: subclasses add weights, and define `update_state` and `result`."""

    def __init__(self, name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=dtype or "float32", **kwargs)
        self.stateful = self.built = True

    def add_weight(  # type: ignore[override]
        self,
        name: str,
        shape: ShapeLike = (),
        aggregation: object = None,
        synchronization: object = None,
        initializer: Identifier = "zeros",
        dtype: DTypeLike | None = None,
    ) -> Variable:
        """Returns a variable of the metric's state, which is not saved with models."""
        del aggregation, synchronization
        kind = tf.as_dtype(dtype or self.dtype)
        make = initializers.get(initializer)
        keys = [tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES]
        with get_default_graph().control_dependencies(None):
            variable = tf.Variable(
                lambda: make(shape, dtype=kind), trainable=False, name=name, dtype=kind, collections=keys
            )
        self._non_trainable_weights.append(variable)
        return variable

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        """Returns the result after the update of the state with the arguments."""
        with get_default_graph().name_scope(self.name):
            update = self.update_state(*args, **kwargs)
            with get_default_graph().control_dependencies([u for u in [update] if u is not None]):
                return tf.identity(self.result())

    def reset_states(self) -> None:
        """Sets the state to zero."""
        batch_set_value([(v, np.zeros(v.shape.as_list())) for v in self._non_trainable_weights])

    def update_state(self, *args: Any, **kwargs: Any) -> Operation:
        """Returns the operation that takes a batch into the state. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define `update_state`")

    def result(self) -> Tensor:
        """Returns the metric's value, a tensor. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define `result`")

    def get_config(self) -> dict[str, Any]:
        """Returns the name and dtype."""
        return {"name": self.name, "dtype": self.dtype}


class _Reduce(Metric):
    """A sum of values and of their weights."""

    averages = True

    def __init__(self, name: str | None = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(name=name, dtype=dtype)
        with get_default_graph().name_scope(self.name):
            self.total = self.add_weight("total")
            if self.averages:
                self.count = self.add_weight("count")

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> Operation:
        """Returns the operation that adds the values, times their weights."""
        values = tf.cast(tf.convert_to_tensor(values), tf.as_dtype(self.dtype))
        weighted = losses.weighted(values, sample_weight)
        added = tf.assign_add(self.total, tf.reduce_sum(weighted)).op
        if not self.averages:
            return added
        if sample_weight is None:
            n = tf.cast(tf.size(values), values.dtype)
        else:
            n = tf.reduce_sum(losses.weighted(tf.ones_like(values), sample_weight))
        return tf.group(added, tf.assign_add(self.count, n).op)

    def result(self) -> Tensor:
        """Returns the sum, or the average."""
        return tf.div_no_nan(self.total.value(), self.count.value()) if self.averages else tf.identity(self.total)


class Mean(_Reduce):
    """The weighted average of all values."""

    def __init__(self, name: str = "mean", dtype: DTypeLike | None = None) -> None:
        super().__init__(name=name, dtype=dtype)


class Sum(_Reduce):
    """The weighted sum of all values."""

    averages = False

    def __init__(self, name: str = "sum", dtype: DTypeLike | None = None) -> None:
        super().__init__(name=name, dtype=dtype)


class MeanMetricWrapper(Mean):
    """The average of a function of labels and predictions."""

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any
    ) -> None:
        super().__init__(name=str(name or getattr(fn, "__name__", "mean")), dtype=dtype)
        self._fn, self._fn_kwargs = fn, kwargs

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Operation:
        """Returns the operation that takes a batch of labels and predictions into the average."""
        y_true = tf.cast(tf.convert_to_tensor(y_true), tf.as_dtype(self.dtype))
        y_pred = tf.cast(tf.convert_to_tensor(y_pred), tf.as_dtype(self.dtype))
        y_true, y_pred = losses.squeezed(y_true, y_pred, self._fn)
        return super().update_state(self._fn(y_true, y_pred, **self._fn_kwargs), sample_weight)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._fn_kwargs}


class MeanTensor(Metric):
    """The weighted average of each element of tensors of one shape."""

    def __init__(self, name: str = "mean_tensor", dtype: DTypeLike | None = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.total: Any = None
        self.count: Any = None

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> Operation:
        """Returns the operation that adds the values. Raises `InvalidArgumentError` for another shape than before."""
        values = tf.cast(tf.convert_to_tensor(values), tf.as_dtype(self.dtype))
        if self.total is None:
            self.total = self.add_weight("total", shape=values.shape.as_list())
            self.count = self.add_weight("count", shape=values.shape.as_list())
        if self.total.shape.as_list() != values.shape.as_list():
            raise InvalidArgumentError(
                f"MeanTensor values must always have the same shape. Expected {self.total.shape}, got {values.shape}"
            )
        n = losses.weighted(tf.ones_like(values), sample_weight)
        added = tf.assign_add(self.total, losses.weighted(values, sample_weight)).op
        return tf.group(added, tf.assign_add(self.count, n).op)

    def result(self) -> Tensor:
        """Returns the averages. Raises `InvalidArgumentError` before the first update."""
        if self.total is None:
            raise InvalidArgumentError("MeanTensor does not have any result yet; call `update_state` first")
        return tf.div_no_nan(self.total.value(), self.count.value())
