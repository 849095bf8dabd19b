"""The base of the layers of `tf.layers`: a function of tensors that creates its variables in a scope of its own.

A layer is a part of the graph: its variables are in its variable scope, its operations in its name scope. Invariant:
names are TensorFlow's (`dense/kernel`, `dense/bias`, `dense_1/kernel`), so checkpoints and collections fit.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from inspect import Parameter, Signature, signature
from typing import Any

from tfnb.client.argument_types import CollectionNames, InitializerLike, Regularizer
from tfnb.client.graph import nest
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.layers.input_spec import check_inputs
from tfnb.client.layers.recorded_calls import RecordedCalls
from tfnb.client.variables.partitioned import PartitionedVariable
from tfnb.client.variables.scope import Reuse, ScopeLike, VariableScope, get_variable, variable_scope
from tfnb.errors import GraphError, InvalidArgumentError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.operation import Operation
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.array.placeholder import placeholder, sparse_placeholder
from tfnb.suggestions import bound_arguments
from tfnb.types import DType, DTypeLike, Shape, ShapeLike, as_dtype, as_shape, float32

__all__ = ["API", "Input", "Layer", "functional", "snake_case"]


def snake_case(name: str) -> str:
    """Converts a class name to a variable scope's: BasicLSTMCell becomes basic_lstm_cell."""
    words = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", words).lower()


_SHARED = (Tensor, Operation, GraphBuilder, VariableScope, DType)  # what a copy of a layer has in common with it


class Layer(RecordedCalls):
    """Base class of layers: the first call creates the variables, in a scope of its own; later calls share them.

    `activity_regularizer` is a function of the outputs whose result is added to the losses. The attribute `input_spec`,
    a `tf.layers.InputSpec` or a list of them, says what the inputs must be.
    """

    default_name = "layer"
    # Whether layers of one given name are meant to have one scope, as calls of functions are; else a second layer of
    # a name gets a number.
    shares_name = False
    updates_collection: Any = GraphKeys.UPDATE_OPS

    def __init__(
        self,
        name: str | None = None,
        trainable: bool = True,
        activity_regularizer: Regularizer | None = None,
        dtype: DTypeLike | None = None,
        _scope: ScopeLike | None = None,
        _reuse: Reuse | None = None,
    ) -> None:
        super().__init__()
        self._given_name = name
        self.trainable = trainable
        self.activity_regularizer = activity_regularizer
        self.dtype: DType | None = None if dtype is None else as_dtype(dtype)
        self._reuse = _reuse
        self._scope: Any = _scope
        self._graph: GraphLike | None = None
        self.input_spec: Any = None
        self.built = False
        # Programs append to these two lists.
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._losses: list[tuple[Any, Any]] = []
        self._updates: list[tuple[Any, Any]] = []

    def __init_subclass__(cls, **kw: object) -> None:
        super().__init_subclass__(**kw)
        if "default_name" not in cls.__dict__ and not cls.__name__.startswith("_"):
            cls.default_name = snake_case(cls.__name__)

    @property
    def scope_name(self) -> str:
        """The full name of the layer's variable scope, which is known after the first call; "" before."""
        return self._scope.name if isinstance(self._scope, VariableScope) else ""

    @property
    def name(self) -> str:  # type: ignore[override]
        """The last part of the scope's name; before the first call the name that was given."""
        return self.scope_name.rpartition("/")[2] or self._given_name or self.default_name

    @property
    def _base_name(self) -> str:
        """The name in the messages of cells that are written after TensorFlow's wrappers."""
        return self._given_name or self.default_name

    @property
    def graph(self) -> GraphLike:
        """The graph in which the layer was called; before that the default graph."""
        return self._graph or get_default_graph()

    @property
    def variables(self) -> list[Any]:
        """All variables of the layer: first those that an optimizer changes."""
        return [*self._trainable_weights, *self._non_trainable_weights]

    @variables.setter
    def variables(self, variables: Sequence[Any]) -> None:
        self._trainable_weights = [v for v in variables if v.trainable]
        self._non_trainable_weights = [v for v in variables if not v.trainable]

    @property
    def trainable_variables(self) -> list[Any]:
        """The variables that an optimizer changes."""
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The variables that an optimizer does not change."""
        return list(self._non_trainable_weights) if self.trainable else self.variables

    @property
    def losses(self) -> list[Any]:
        """The penalties on the activity and on the variables of this layer."""
        added = {id(loss) for loss, _ in self._losses}
        if not self.variables and not added:
            return []
        collected = self.graph.get_collection(GraphKeys.REGULARIZATION_LOSSES)
        own = f"{self.scope_name}/"
        return [t for t in collected if id(t) in added or (isinstance(t, Tensor) and t.op.name.startswith(own))]

    @property
    def updates(self) -> list[Any]:
        """The operations that update the state of this layer, such as moving averages; run them while you train."""
        return [update for update, _ in self._updates]

    def add_loss(self, losses: TensorLike | None, inputs: object = None) -> None:
        """Adds a loss, or a list of losses, to the layer and to the collection REGULARIZATION_LOSSES.

        inputs: the tensors that the losses depend on, by which `get_losses_for` finds them; None for losses that
        depend on variables only.
        """
        self._add(self._losses, losses, inputs, GraphKeys.REGULARIZATION_LOSSES)

    def add_update(self, updates: Operation | TensorLike | None, inputs: object = None) -> None:
        """Adds an operation, or a list of them, to the updates of the layer and to the collection UPDATE_OPS.

        inputs: the tensors that the updates depend on, by which `get_updates_for` finds them.
        """
        self._add(self._updates, updates, inputs, self.updates_collection)

    def _add(
        self,
        to: list[tuple[Any, Any]],
        values: Operation | TensorLike | None,
        inputs: object,
        collection: CollectionNames | None,
    ) -> None:
        each = list(values) if isinstance(values, (list, tuple)) else [values]
        to.extend((value, inputs) for value in each if value is not None)
        if collection is not None:
            for value in each:
                getattr(value, "graph", self.graph).add_to_collections(collection, value)

    def get_losses_for(self, inputs: object) -> list[Any]:
        """Returns the losses that were added for these inputs; for None those that depend on variables only."""
        if inputs is not None:
            return _of_inputs(self._losses, inputs)
        return [t for t in self.losses if not any(t is loss for loss, of in self._losses if of is not None)]

    def get_updates_for(self, inputs: object) -> list[Any]:
        """Returns the updates that were added for these inputs; for None those that depend on no input."""
        return _of_inputs(self._updates, inputs)

    def count_params(self) -> int:
        """Returns the number of elements of all variables. Raises `InvalidArgumentError` before the layer is built."""
        if not self.built:
            raise InvalidArgumentError(f"{self.name} is not built: call it first")
        return sum(v.shape.num_elements() for v in self.variables)

    weights = property(lambda self: self.variables, doc="All variables of the layer.")
    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables

    def use_scope(self, scope: VariableScope) -> None:
        """Makes the layer create its variables in this open variable scope instead of a scope of its own."""
        self._scope = scope
        self._reuse = scope.reuse

    def build(self, shape: Shape) -> None:
        """Creates the variables for inputs of this static shape. Subclasses implement it."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs from the tensor `inputs`. Subclasses implement it; this one returns the inputs."""
        return inputs

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        """Returns the static shape of the outputs for inputs of a shape. Raises `ShapeError` where a call would."""
        new = copy.copy(self)
        with GraphBuilder().as_default():
            new._scope, new._graph, new.built, new.variables = None, None, False, []
            new._losses, new._updates, new._calls = [], [], []
            outputs = new(placeholder(self.dtype or float32, as_shape(input_shape)))
        return outputs.shape if isinstance(outputs, Tensor) else [t.shape for t in nest.flatten(outputs)]

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs from `inputs`, a tensor or a structure of tensors; the first call creates the variables.

        The other arguments are those of `call`; `scope` is the variable scope of a first call. Raises `ShapeError` for
        inputs that are not as `input_spec` says, and `GraphError` for those of another graph than before.
        """
        x, graph = self._taken(inputs)
        each = nest.flatten(x)
        with graph.as_default(), self._open(kwargs.pop("scope", None)):
            check_inputs(self.name, self.input_spec, each)
            if self.dtype is None:
                self.dtype = next((t.dtype for t in each if t.dtype.is_floating), None)
            if not self.built:
                one = isinstance(x, (Tensor, SparseTensor))
                self.build(x.get_shape() if one else nest.pack(x, [t.shape for t in each]))
                check_inputs(self.name, self.input_spec, each)  # building may have said more about them
            outputs = self.call(x, *args, **kwargs)
            if self.activity_regularizer is not None:
                for y in nest.flatten(outputs):
                    self.add_loss(self.activity_regularizer(y), inputs)
            self.built = True
        self._calls.append((x, outputs))
        return outputs

    def _taken(self, inputs: object) -> tuple[Any, GraphLike]:
        """Returns the inputs as tensors, and their graph, which must be that of earlier calls."""
        leaves = nest.flatten(inputs)
        graph = graph_of(leaves)
        if self._graph is not None and graph is not self._graph and any(hasattr(t, "graph") for t in leaves):
            raise GraphError(f"Input graph and Layer graph are not the same: {self.name} was called in another graph")
        if isinstance(inputs, (Tensor, SparseTensor)):
            return inputs, graph
        if isinstance(inputs, dict) or (isinstance(inputs, (list, tuple)) and any(hasattr(t, "graph") for t in leaves)):
            return nest.pack(inputs, [graph.to_tensor(t) for t in leaves]), graph
        return graph.to_tensor(inputs), graph

    apply = __call__

    @contextmanager
    def _open(self, scope: ScopeLike | None = None) -> Iterator[VariableScope]:
        """Opens the layer's variable scope, which the first time is `scope` or a new one, and its name scope."""
        if not isinstance(self._scope, VariableScope):
            with self._new_scope(self._scope or scope) as captured:
                self._scope = captured
        if self._graph is None:
            self._graph = get_default_graph()
        reuse = True if self.built else self._reuse
        with (
            variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as opened,
            self._graph.name_scope(self._scope.original_name_scope or None),
        ):
            yield opened

    def _new_scope(self, scope: ScopeLike | None) -> AbstractContextManager[VariableScope]:
        name = self._given_name or self.default_name
        if scope is not None:
            return variable_scope(scope)
        if self._reuse or (self.shares_name and self._given_name):
            return variable_scope(name)
        return variable_scope(None, name)

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
        """Returns a variable in the layer's scope, of the layer's dtype unless another is given.

        One that exists already, because the scope is reused, does not become a variable of the layer.
        """
        with self._open():
            reuses = self.built or self._reuse
            known = {id(v) for v in self.graph.get_collection(GraphKeys.GLOBAL_VARIABLES)} if reuses else ()
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
        parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
        self.variables += [v for v in parts if id(v) not in known]
        return variable

    add_weight = add_variable

    def __deepcopy__(self, memo: dict[int, Any]) -> Layer:
        """A layer with the same scope, variables and tensors; everything else is copied."""
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        for attribute, value in self.__dict__.items():
            new.__dict__[attribute] = value if _is_shared(value) else copy.deepcopy(value, memo)
        return new


def _is_shared(value: object) -> bool:
    if isinstance(value, (list, tuple, dict)):
        return bool(value) and any(map(_is_shared, value.values() if isinstance(value, dict) else value))
    return isinstance(value, _SHARED) or hasattr(value, "__tensor__")


def _of_inputs(added: Sequence[tuple[Any, Any]], inputs: object) -> list[Any]:
    wanted = [id(t) for t in nest.flatten(inputs)] if inputs is not None else None
    return [value for value, of in added if (of if of is None else [id(t) for t in nest.flatten(of)]) == wanted]


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
        arguments = bound_arguments(call_signature, layer.default_name, args, options)
        x = arguments.pop("inputs")
        made = layer(_reuse=arguments.pop("reuse", None), **arguments)
        made.shares_name = True
        return made(x)

    call.__name__ = call.__qualname__ = layer.default_name
    call.__doc__ = f"{layer.__doc__}\n\n    Applies a new layer `{layer.__name__}` to `inputs`."
    call.__signature__ = call_signature  # type: ignore[attr-defined]
    return call


def Input(
    shape: ShapeLike = None,
    batch_size: int | None = None,
    name: str | None = None,
    dtype: DTypeLike = float32,
    sparse: bool = False,
    tensor: Tensor | None = None,
) -> Tensor | SparseTensor:
    """Returns a placeholder of shape [batch_size, *shape] for a model of layers, or `tensor` if it is given.

    sparse: a placeholder of a SparseTensor. Raises `InvalidArgumentError` when neither shape nor tensor is given.
    """
    if tensor is not None:
        return tensor
    if shape is None:
        raise InvalidArgumentError("Please provide to Input either a `shape` or a `tensor` argument")
    make = sparse_placeholder if sparse else placeholder
    return make(dtype, [batch_size, *as_shape(shape).as_list()], name)


API: dict[str, Any] = {"layers.Layer": Layer, "layers.Input": Input, "python.layers.network.Input": Input}
