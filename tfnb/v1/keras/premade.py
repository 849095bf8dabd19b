"""Models that are made already: `LinearModel`, and `WideDeepModel` of a linear and a deep part.

Invariant: both are models that are defined by `call`; their weights are created by the first data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.v1.keras import activations, initializers, regularizers
from tfnb.v1.keras.argument_types import Identifier, Masks, TrainingFlag
from tfnb.v1.keras.engine.structure import flat
from tfnb.v1.keras.engine.training import Model
from tfnb.v1.keras.layers.core import Dense
from tfnb.v1.keras.optimizers import lookup as optimizers
from tfnb.v1.keras.serialization import has_arg

__all__ = ["LinearModel", "WideDeepModel"]


class LinearModel(Model):
    """Computes activation(inputs @ kernels + bias), where each of the inputs has a kernel.

    units: the width of the output. use_bias: whether there is a bias. The inputs are a matrix, a list of them, or a
    dictionary.
    """

    def __init__(
        self,
        units: int = 1,
        activation: Identifier | None = None,
        use_bias: bool = True,
        kernel_initializer: Identifier = "glorot_uniform",
        bias_initializer: Identifier = "zeros",
        kernel_regularizer: Identifier | None = None,
        bias_regularizer: Identifier | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.use_bias = units, use_bias
        self.activation = activations.get(activation)
        self._of_kernel = {
            "kernel_initializer": initializers.get(kernel_initializer),
            "kernel_regularizer": regularizers.get(kernel_regularizer),
        }
        self._of_bias = {
            "initializer": initializers.get(bias_initializer),
            "regularizer": regularizers.get(bias_regularizer),
        }
        self._parts: list[Any] = []
        self._offset: Any = None

    def call(  # type: ignore[override]
        self, inputs: TensorLike | Mapping[str, Any], training: TrainingFlag | None = None, mask: Masks | None = None
    ) -> Tensor:
        """Returns the outputs of the inputs."""
        tensors = flat(inputs)
        while len(self._parts) < len(tensors):
            part = Dense(self.units, use_bias=False, **self._of_kernel)
            self._parts.append(part)
            self._remember(part)
        if self.use_bias and self._offset is None:
            self._offset = self.add_weight("bias", (self.units,), **self._of_bias)
        result = self._parts[0](tensors[0])
        for part, tensor in zip(self._parts[1:], tensors[1:], strict=True):
            result = result + part(tensor)
        return self.activation(result if self._offset is None else result + self._offset.value())


class WideDeepModel(Model):
    """The sum of a linear and a deep model, through an activation.

    Both get the inputs, or each its own part of a pair. `compile` takes one optimizer, or a pair for the two parts.
    """

    def __init__(
        self, linear_model: Model, dnn_model: Model, activation: Identifier | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.linear_model, self.dnn_model = linear_model, dnn_model
        self.activation = activations.get(activation)
        self._pair: Any = None

    def call(  # type: ignore[override]
        self, inputs: Any, training: TrainingFlag | None = None, mask: Masks | None = None
    ) -> Tensor:
        """Returns the outputs of the inputs."""
        paired = isinstance(inputs, (list, tuple)) and len(inputs) == 2
        wide, deep = inputs if paired else (inputs, inputs)
        options = {"training": training} if has_arg(self.dnn_model.call, "training") else {}
        return self.activation(self.linear_model(wide) + self.dnn_model(deep, **options))

    def compile(self, optimizer: object = "rmsprop", *args: Any, **kwargs: Any) -> None:
        """Sets the optimizer, or the optimizers of the linear and of the deep part, and the rest as `Model.compile`."""
        pair = optimizer if isinstance(optimizer, (list, tuple)) else None
        self._pair = None if pair is None else [optimizers.get(one) for one in pair]
        super().compile(self._pair[0] if self._pair else optimizer, *args, **kwargs)

    def _make_train_op(self) -> list[Any]:
        if self._pair is None:
            return super()._make_train_op()
        if self._train_op is None:
            training, graph = self._compiled(), self._graph()
            updates: list[Any] = []
            with graph.as_default(), get_default_graph().name_scope("training"):
                for optimizer, part in zip(self._pair, (self.linear_model, self.dnn_model), strict=True):
                    updates += optimizer.get_updates(loss=training.total_loss, params=part.trainable_weights)
            self._train_op = [*updates, *training.updates()]
        return self._train_op
