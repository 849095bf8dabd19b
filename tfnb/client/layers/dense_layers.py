"""Layers: `tf.layers`, functions and classes that create variables and the operations on them.

A layer is a part of the graph: its variables are in its variable scope, its operations in its name scope. Invariant:
names are TensorFlow's (`dense/kernel`, `dense/bias`, `dense_1/kernel`), so checkpoints and collections fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature, signature
from typing import Any

from tfnb.client.argument_types import Constraint, InitializerLike, Regularizer
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.initializers import Zeros
from tfnb.client.variables.partitioned import PartitionedVariable
from tfnb.client.variables.scope import Reuse, ScopeLike, VariableScope, get_variable, variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import RESHAPE, shape_of
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.linalg.matmul import matmul, tensordot
from tfnb.ops.nn.bias_dropout_moments import bias_add
from tfnb.types import DType, DTypeLike, Shape, ShapeLike, as_dtype

__all__ = [
    "API",
    "Dense",
    "Flatten",
    "Layer",
    "dense",
    "flatten",
    "functional",
]


class Layer:
    """Base class of layers: the first call creates the variables, in a scope of its own; later calls share them.

    `activity_regularizer` is a function of the outputs whose result is added to the losses.
    """

    default_name = "layer"
    # Whether layers of one given name are meant to have one scope, as calls of functions are; else a second layer of
    # a name gets a number.
    shares_name = False

    def __init__(
        self,
        name: str | None = None,
        trainable: bool = True,
        activity_regularizer: Regularizer | None = None,
        dtype: DTypeLike | None = None,
        _scope: ScopeLike | None = None,
        _reuse: Reuse | None = None,
    ) -> None:
        self._given_name = name
        self.trainable = trainable
        self.activity_regularizer = activity_regularizer
        self.dtype: DType | None = None if dtype is None else as_dtype(dtype)
        self._reuse = _reuse
        self._scope: Any = _scope
        self.built = False
        self.variables: list[Any] = []
        self._losses: list[Any] = []

    @property
    def scope_name(self) -> str:
        """The full name of the layer's variable scope, which is known after the first call; "" before."""
        return self._scope.name if self._scope is not None else ""

    @property
    def name(self) -> str:
        """The last part of the scope's name; before the first call the name that was given."""
        return self.scope_name.rpartition("/")[2] or self._given_name or self.default_name

    @property
    def trainable_variables(self) -> list[Any]:
        """The variables that an optimizer changes."""
        return [v for v in self.variables if v.trainable]

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The variables that an optimizer does not change."""
        return [v for v in self.variables if not v.trainable]

    @property
    def losses(self) -> list[Any]:
        """The penalties on the activity and on the variables of this layer."""
        scope = self.scope_name
        if not self.variables and not self._losses:
            return []
        graph = self.variables[0].graph if self.variables else self._losses[0].graph
        collected = graph.get_collection(GraphKeys.REGULARIZATION_LOSSES)
        return [t for t in collected if t in self._losses or t.op.name.startswith(f"{scope}/")]

    def add_loss(self, losses: Tensor | Sequence[Tensor] | None, inputs: TensorLike | None = None) -> None:
        """Adds a loss, or a list of losses, to the layer and to the collection REGULARIZATION_LOSSES."""
        loss_list: Sequence[Any] = losses if isinstance(losses, (list, tuple)) else [losses]
        for loss in loss_list:
            self._losses.append(loss)
            loss.graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    def count_params(self) -> int:
        """Returns the number of elements of all variables. Raises `InvalidArgumentError` before the layer is built."""
        if not self.built:
            raise InvalidArgumentError(f"{self.name} is not built: call it first")
        return sum(v.shape.num_elements() for v in self.variables)

    weights = property(lambda self: self.variables, doc="All variables of the layer.")
    trainable_weights = trainable_variables

    def use_scope(self, scope: VariableScope) -> None:
        """Makes the layer create its variables in this open variable scope instead of a scope of its own."""
        self._scope = scope
        self._reuse = scope.reuse

    def build(self, shape: Shape) -> None:
        """Creates the variables for inputs of this static shape. Subclasses implement it."""
        self.built = True

    def call(self, inputs: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Computes the outputs from the tensor `inputs`. Subclasses implement it."""
        raise InvalidArgumentError(f"{type(self).__name__} has no call")

    def __call__(self, inputs: TensorLike, **kwargs: Any) -> Tensor:
        """Computes the outputs from `inputs`; the first call creates the variables. `kwargs` are those of `call`."""
        x: Tensor = graph_of([inputs]).to_tensor(inputs)
        with x.graph.as_default(), self._open() as scope:
            self._scope = self._scope or scope
            if self.dtype is None and x.dtype.is_floating:
                self.dtype = x.dtype
            if not self.built:
                self.build(x.shape)
                self.built = True
            outputs = self.call(x, **kwargs)
            if self.activity_regularizer is not None:
                self.add_loss(self.activity_regularizer(outputs))
        return outputs

    apply = __call__

    def _open(self) -> Any:
        if self._scope is not None:
            return variable_scope(self._scope, reuse=True if self.built else self._reuse)
        if self._reuse:  # also without a name of its own it shares the variables of the first layer of its class
            return variable_scope(self._given_name or self.default_name, reuse=self._reuse)
        if self.shares_name:
            return variable_scope(self._given_name, self.default_name)
        return variable_scope(None, self._given_name or self.default_name)

    def add_variable(
        self,
        name: str,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        initializer: InitializerLike | None = None,
        regularizer: Callable[[Tensor], Any] | None = None,
        trainable: bool = True,
        constraint: Callable[[Tensor], Any] | None = None,
        partitioner: Callable[..., Any] | None = None,
    ) -> Any:
        """Returns a variable in the layer's scope, of the layer's dtype unless another is given."""
        variable = get_variable(
            name,
            shape,
            dtype or self.dtype,
            initializer,
            regularizer,
            trainable and self.trainable,
            constraint=constraint,
            partitioner=partitioner,
        )
        self.variables += variable if isinstance(variable, PartitionedVariable) else [variable]
        return variable

    add_weight = add_variable


def functional(layer: type[Layer]) -> Callable[..., Tensor]:
    """Returns the function of a layer class: `f(inputs, ..., reuse=None)` creates a layer and applies it to the
    inputs.
    """
    inputs, reuse = (
        Parameter("inputs", Parameter.POSITIONAL_OR_KEYWORD),
        Parameter("reuse", Parameter.POSITIONAL_OR_KEYWORD, default=None),
    )
    layer_parameters = [p for p in signature(layer).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    call_signature = Signature([inputs, *layer_parameters, reuse])

    def call(*args: object, **options: object) -> Tensor:
        arguments = call_signature.bind(*args, **options).arguments
        x = arguments.pop("inputs")
        made = layer(_reuse=arguments.pop("reuse", None), **arguments)
        made.shares_name = True
        return made(x)

    call.__name__ = call.__qualname__ = layer.default_name
    call.__doc__ = f"{layer.__doc__}\n\n    Applies a new layer `{layer.__name__}` to `inputs`."
    call.__signature__ = call_signature  # type: ignore[attr-defined]
    return call


class Dense(Layer):
    """Computes activation(inputs @ kernel + bias), of `units` columns, over the last dimension of the inputs.

    Raises `ShapeError` when the size of that dimension is not known.
    """

    default_name = "dense"

    def __init__(
        self,
        units: int,
        activation: Callable[[Any], Any] | None = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        kernel_regularizer: Regularizer | None = None,
        bias_regularizer: Regularizer | None = None,
        activity_regularizer: Regularizer | None = None,
        kernel_constraint: Constraint | None = None,
        bias_constraint: Constraint | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kw: Any,
    ) -> None:
        super().__init__(name, trainable, activity_regularizer, **kw)
        self.units, self.activation, self.use_bias = int(units), activation, use_bias
        self.kernel_options = (kernel_initializer, kernel_regularizer, True, kernel_constraint)
        self.bias_options = (bias_initializer or Zeros(), bias_regularizer, True, bias_constraint)

    def build(self, shape: Shape) -> None:
        n = shape.dims[-1] if shape.dims else None
        if n is None:
            raise ShapeError(f"dense: the last dimension of the inputs must be known, got shape {shape}")
        self.kernel = self.add_variable("kernel", [n, self.units], None, *self.kernel_options)
        self.bias = self.add_variable("bias", [self.units], None, *self.bias_options) if self.use_bias else None

    def call(self, inputs: Tensor) -> Tensor:
        rank = inputs.shape.ndims
        if rank is not None and rank > 2:
            y = tensordot(inputs, self.kernel, [[rank - 1], [0]])
        else:
            y = matmul(inputs, self.kernel)
        y = y if self.bias is None else bias_add(y, self.bias)
        return y if self.activation is None else self.activation(y)


class Flatten(Layer):
    """Joins all dimensions of the inputs but the first into one.

    data_format: with "channels_first", shape (batch, channels, ...), the channels come last in the result, so that it
    does not depend on the format. Raises `InvalidArgumentError` for others.
    """

    default_name = "flatten"

    def __init__(
        self, name: str | None = None, data_format: str = "channels_last", trainable: bool = True, **kw: Any
    ) -> None:
        super().__init__(name, trainable, **kw)
        if data_format not in ("channels_last", "channels_first"):
            raise InvalidArgumentError(
                f"Flatten: data_format must be channels_last or channels_first, got {data_format!r}"
            )
        self.data_format = data_format

    def call(self, inputs: Tensor) -> Tensor:
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 2:
            inputs = transpose(inputs, [0, *range(2, rank), 1])
        dims = inputs.shape.dims
        size = None if not dims else Shape(dims[1:]).num_elements()
        if not dims or size is None:
            rows = shape_of(inputs)[0] if not dims or dims[0] is None else dims[0]
            flat = RESHAPE(inputs, inputs.graph.to_tensor([rows, -1]))
            flat.set_shape([dims[0] if dims else None, size])
            return flat
        return RESHAPE(inputs, [-1 if dims[0] is None else dims[0], size])


dense, flatten = functional(Dense), functional(Flatten)
API: dict[str, Any] = {
    "layers.Layer": Layer,
    "layers.Dense": Dense,
    "layers.Flatten": Flatten,
    "layers.dense": dense,
    "layers.flatten": flatten,
    "python.layers.core.Dense": Dense,
}
