"""The variables that `tf.get_variable` makes: one for each full name of a graph, created once and then shared.

`create_or_share` decides, from the defaults of the variable scope, whether a name stands for a new variable, one that
exists, or a partitioned one. Invariant: a full name stands for one variable of a graph; creating it twice, or reusing
a name that has no variable, is an error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from tfnb.client.argument_types import (
    CollectionNames,
    Constraint,
    DeviceLike,
    InitializerLike,
    Partitioner,
    Regularizer,
)
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.initializers import default_initializer
from tfnb.client.variables.partitioned import PartitionedVariable, PartitionInfo, create_parts, partitions_of
from tfnb.client.variables.replication import VariableAggregation, VariableSynchronization, is_trainable
from tfnb.client.variables.variable import Variable
from tfnb.errors import AlreadyExistsError, DTypeError, InvalidArgumentError, NotFoundError, ShapeError
from tfnb.ir.function import owner
from tfnb.ir.tensor import GraphLike
from tfnb.types import DType, DTypeLike, Shape, ShapeLike, as_dtype, as_shape, float32

__all__ = [
    "AUTO_REUSE",
    "AutoReuse",
    "Reuse",
    "ScopeDefaults",
    "compose_getters",
    "create_or_share",
    "variables_by_name",
]


class AutoReuse:
    """The type of `tf.AUTO_REUSE`."""

    def __repr__(self) -> str:
        return "tf.AUTO_REUSE"


AUTO_REUSE = AutoReuse()
# Whether `get_variable` shares a variable that exists: True, False, or `tf.AUTO_REUSE`, which creates a missing one.
Reuse: TypeAlias = bool | AutoReuse
_STATE = "variables"


class VariableExistsError(AlreadyExistsError, ValueError):
    """The variable exists already, and the scope does not reuse variables."""


class VariableMissingError(NotFoundError, ValueError):
    """The scope reuses variables, but there is none of this name."""


@dataclass(frozen=True)
class ScopeDefaults:
    """The defaults that a scope has for the variables created in it."""

    name: str = ""
    reuse: Reuse = False
    initializer: InitializerLike | None = None
    regularizer: Regularizer | None = None
    caching_device: DeviceLike | None = None
    partitioner: Partitioner | None = None
    custom_getter: Callable[..., Any] | None = None
    constraint: Constraint | None = None
    dtype: DType = float32
    original_name_scope: str = ""


class _Store:
    """The variables of a graph by full name."""

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self.partitioned: dict[str, PartitionedVariable] = {}


def _store(graph: GraphLike) -> _Store:
    store = graph.client_state.get(_STATE)
    if store is None:
        store = graph.client_state.setdefault(_STATE, _Store())
    return store


def variables_by_name(graph: GraphLike) -> dict[str, Variable]:
    """Returns the variables of a graph that `get_variable` made, by their full names."""
    return _store(graph).variables


def compose_getters(inner: Callable[..., Any] | None, outer: Callable[..., Any] | None) -> Any:
    """Returns a getter that calls the custom getter `inner`, whose own getter is that of the scope around, `outer`."""
    if inner is None or outer is None:
        return inner
    return lambda getter, *args, **kwargs: inner(lambda *a, **k: outer(getter, *a, **k), *args, **kwargs)


def create_or_share(graph: GraphLike, scope: ScopeDefaults, name: str, **kwargs: Any) -> Any:
    """Returns the variable `name` of a scope of `graph`; one that the body of a function asks for is of the graph
    around it.
    """
    graph = owner(graph)
    with graph.as_default():
        return _through_getter(graph, scope, name, **kwargs)


# What a getter is told, and may pass on, of the copies of a variable on replicas
_REPLICAS: Mapping[str, Any] = {
    "synchronization": VariableSynchronization.AUTO,
    "aggregation": VariableAggregation.NONE,
}


# the arguments of the getter that a custom getter gets, in their order, behind the name
_ARGUMENTS = (
    "shape dtype initializer regularizer reuse trainable collections caching_device partitioner validate_shape "
    "use_resource constraint synchronization aggregation"
).split()


def _through_getter(graph: GraphLike, scope: ScopeDefaults, name: str, **kwargs: Any) -> Any:
    if scope.custom_getter is not None and not callable(scope.custom_getter):
        raise InvalidArgumentError(f"custom_getter in {scope.name!r} is not callable: {scope.custom_getter!r}")
    if scope.custom_getter is None:
        return _shared_or_new(graph, scope, name, **kwargs)
    full = _full(scope, name)

    def getter(name: str, *positional: object, **inner: Any) -> Any:
        inner.update(zip(_ARGUMENTS, positional, strict=False))
        plain_scope = replace(scope, custom_getter=None, name="")
        inner.pop("reuse", None)
        replicas = {key: inner.pop(key, value) for key, value in _REPLICAS.items()}
        inner["trainable"] = is_trainable(inner.get("trainable"), **replicas)
        return _shared_or_new(graph, plain_scope, name, **inner)

    arguments = {**kwargs, **_REPLICAS}
    for key in ("initializer", "regularizer", "dtype", "constraint", "partitioner"):
        arguments[key] = kwargs[key] if kwargs.get(key) is not None else getattr(scope, key)
    with graph.name_scope(None):
        return scope.custom_getter(getter, full, reuse=scope.reuse, **arguments)


def _shared_or_new(
    graph: GraphLike,
    scope: ScopeDefaults,
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool = True,
    collections: CollectionNames | None = None,
    validate_shape: bool = True,
    constraint: Constraint | None = None,
    partitioner: Partitioner | None = None,
    caching_device: DeviceLike | None = None,
    use_resource: bool | None = None,
    partition_info: PartitionInfo | None = None,
) -> Any:
    full = _full(scope, name)
    store = _store(graph)
    requested_dtype = as_dtype(dtype) if dtype is not None else None
    chosen_partitioner = partitioner if partitioner is not None else scope.partitioner
    if (chosen_partitioner is not None and not _is_scalar(shape, initializer)) or full in store.partitioned:
        rest = {
            "regularizer": regularizer,
            "trainable": trainable,
            "collections": collections,
            "validate_shape": validate_shape,
            "constraint": constraint,
            "caching_device": caching_device,
        }
        return _partitioned(graph, scope, full, shape, requested_dtype, initializer, chosen_partitioner, rest)
    given = initializer if initializer is not None else scope.initializer
    if partition_info is None and shape is not None and given is not None and not callable(given):
        raise ShapeError(f"Variable {full}: If initializer is a constant, do not specify shape.")
    existing = store.variables.get(full)
    if existing is not None:
        if scope.reuse is False or scope.reuse is None:
            raise _exists(full, existing)
        return _checked(existing, full, shape, requested_dtype)
    if scope.reuse is True:
        raise _missing(full)
    initial = _initial(full, scope, shape, requested_dtype or scope.dtype, initializer, partition_info)
    with graph.control_dependencies(None), graph.name_scope(None):
        variable = Variable(
            initial,
            trainable=trainable,
            collections=collections,
            name=full,
            validate_shape=validate_shape,
            dtype=(requested_dtype or scope.dtype) if callable(initial) else requested_dtype,
            constraint=constraint if constraint is not None else scope.constraint,
            caching_device=caching_device if caching_device is not None else scope.caching_device,
            use_resource=use_resource,
        )
    store.variables[full] = variable
    penalty = regularizer if regularizer is not None else scope.regularizer
    if penalty:  # an empty dict of regularisers is none
        _add_penalty(graph, variable, full, penalty)
    return variable


def _add_penalty(graph: GraphLike, variable: Variable, full: str, regularizer: Regularizer) -> None:
    """Adds what the regulariser returns for the new variable to the collection REGULARIZATION_LOSSES."""
    with graph.name_scope(f"{full}/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


def _full(scope: ScopeDefaults, name: str) -> str:
    return "/".join(part for part in (scope.name, name) if part)


def _exists(full: str, variable: Variable) -> VariableExistsError:
    return VariableExistsError(
        f"Variable {full} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in "
        f"VarScope? It exists already (source: {variable.op.origin})"
    )


def _missing(full: str) -> VariableMissingError:
    return VariableMissingError(
        f"Variable {full} does not exist, or was not created with tf.get_variable(). Did you mean to set "
        "reuse=tf.AUTO_REUSE in VarScope?"
    )


def _is_scalar(shape: ShapeLike, initializer: InitializerLike | None) -> bool:
    """Returns whether the variable to be created is a scalar, which no partitioner can cut."""
    if shape is not None:
        return as_shape(shape).ndims == 0
    return not callable(initializer) and _value_shape(initializer).ndims == 0


def _value_shape(value: Any) -> Shape:
    return as_shape(value.shape if hasattr(value, "shape") else np.shape(value))


def _partitioned(
    graph: GraphLike,
    scope: ScopeDefaults,
    full: str,
    shape: ShapeLike | None,
    dtype: DType | None,
    initializer: InitializerLike | None,
    cut: Partitioner | None,
    rest: dict[str, Any],
) -> PartitionedVariable:
    """Returns the partitioned variable `full`, which is created, or shared under reuse."""
    store = _store(graph)
    existing, dims = store.partitioned.get(full), as_shape(shape)
    if full in store.variables:
        raise VariableExistsError(f"the variable {full!r} exists already, and is not partitioned")
    init = initializer if initializer is not None else scope.initializer
    if init is not None and not callable(init):
        dims = dims.merge_with(_value_shape(init))
    if existing is not None:
        if not scope.reuse:
            raise VariableExistsError(f"the partitioned variable {full!r} exists already; to share it, set reuse")
        _checked(existing, full, dims, dtype)
        partitions = existing.partitions if cut is None else partitions_of(cut, existing.shape, existing.dtype, full)
        if partitions != existing.partitions:
            raise InvalidArgumentError(
                f"Trying to reuse partitioned variable {full!r}, but specified partitions {partitions} and found "
                f"partitions {existing.partitions}"
            )
        return existing
    if scope.reuse is True:
        raise _missing(full)
    kind = dtype or scope.dtype
    part_scope = replace(scope, name="", partitioner=None)

    def make(name: str, shape: ShapeLike | None, initializer: InitializerLike | None, info: PartitionInfo) -> Variable:
        variable: Variable = _shared_or_new(
            graph, part_scope, name, shape, dtype, initializer, partition_info=info, **rest
        )
        return variable

    variable = create_parts(graph, full, dims, kind, partitions_of(cut, dims, kind, full), init, make)
    store.partitioned[full] = variable
    return variable


def _checked(
    variable: Variable | PartitionedVariable, full: str, shape: ShapeLike, dtype: DType | None
) -> PartitionedVariable | Variable:
    if shape is not None and not as_shape(shape).is_compatible_with(variable.shape):
        raise ShapeError(f"the shared variable {full!r} has shape {variable.shape}, asked for was {as_shape(shape)}")
    if dtype is not None and dtype is not variable.dtype:
        raise DTypeError(f"the shared variable {full!r} has dtype {variable.dtype.name}, asked for was {dtype.name}")
    return variable


def _initial(
    full: str,
    scope: ScopeDefaults,
    shape: ShapeLike | None,
    dtype: DType,
    initializer: InitializerLike | None,
    info: PartitionInfo | None,
) -> Any:
    """Returns the initial value, or a callable that creates it inside the variable's own name scope."""
    init = initializer if initializer is not None else scope.initializer
    if init is None:
        init = default_initializer(dtype)
    if isinstance(init, type):
        init = init()
    if not callable(init):
        if shape is not None and hasattr(init, "shape") and not as_shape(shape).is_compatible_with(init.shape):
            raise ShapeError(f"the variable {full!r}: initializer of shape {init.shape} for shape {as_shape(shape)}")
        return init
    dims = as_shape(shape)
    if dims.ndims is None and not _takes_arguments(init):
        return init
    if not dims.is_fully_defined():
        raise ShapeError(f"the new variable {full!r} needs a fully defined shape, got {dims}")
    return lambda: _call_initializer(init, dims.as_list(), dtype, info)


def _takes_arguments(initializer: Callable[..., Any]) -> bool:
    """Returns whether an initialiser takes a shape; one without arguments makes its value of its own shape."""
    try:
        return bool(inspect.signature(initializer).parameters)
    except (TypeError, ValueError):
        return True


def _call_initializer(init: Callable[..., Any], shape: list[Any], dtype: DType, info: PartitionInfo | None) -> Any:
    try:
        return init(shape, dtype=dtype, partition_info=info)
    except TypeError:
        return init(shape, dtype=dtype)
