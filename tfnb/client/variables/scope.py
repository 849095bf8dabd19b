"""Variable scopes: sharing variables by name (`tf.variable_scope`, `tf.get_variable`).

A variable scope prefixes names and carries defaults: initialiser, regulariser, reuse, dtype. Invariant: a full name
stands for one variable of a graph; making it twice or reusing what is not there is an error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.initializers import default_initializer
from tfnb.client.variables.partitioned import PartitionedVariable, create_parts, partitions_of
from tfnb.client.variables.variable import Variable
from tfnb.errors import (
    AlreadyExistsError,
    DTypeError,
    InvalidArgumentError,
    NotFoundError,
    ShapeError,
)
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.types import DType, Shape, as_dtype, as_shape, float32

__all__ = [
    "API",
    "AUTO_REUSE",
    "VariableScope",
    "get_variable",
    "get_variable_scope",
    "variable_scope",
]


class _AutoReuse:
    def __repr__(self) -> str:
        return "tf.AUTO_REUSE"


AUTO_REUSE = _AutoReuse()
_STATE = "variable_scopes"


class VariableExistsError(AlreadyExistsError, ValueError):
    """A variable of this name exists and reuse was not asked for."""


class VariableMissingError(NotFoundError, ValueError):
    """Reuse was asked for, but there is no variable of this name."""


@dataclass(frozen=True)
class _Defaults:
    """What a scope gives to the variables made inside it."""

    name: str = ""
    reuse: Any = False
    initializer: Any = None
    regularizer: Any = None
    caching_device: Any = None
    partitioner: Any = None
    custom_getter: Any = None
    constraint: Any = None
    dtype: DType = float32
    original_name_scope: str = ""


class VariableScope:
    """The handle of an open or captured variable scope."""

    def __init__(
        self,
        reuse: Any = None,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: Any = float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        self._graph = get_default_graph()
        self._d = _Defaults(
            name,
            reuse or False,
            initializer,
            regularizer,
            caching_device,
            partitioner,
            custom_getter,
            constraint,
            as_dtype(dtype),
            name_scope,
        )

    @classmethod
    def _of(cls, graph: Any, defaults: _Defaults) -> VariableScope:
        made = cls.__new__(cls)
        made._graph, made._d = graph, defaults
        return made

    @property
    def name(self) -> str:
        return self._d.name

    @property
    def original_name_scope(self) -> str:
        return self._d.original_name_scope

    @property
    def reuse(self) -> Any:
        return self._d.reuse

    @property
    def initializer(self) -> Any:
        return self._d.initializer

    @property
    def regularizer(self) -> Any:
        return self._d.regularizer

    @property
    def dtype(self) -> DType:
        return self._d.dtype

    @property
    def partitioner(self) -> Any:
        return self._d.partitioner

    @property
    def custom_getter(self) -> Any:
        return self._d.custom_getter

    @property
    def caching_device(self) -> Any:
        return self._d.caching_device

    def reuse_variables(self) -> None:
        """From now on `get_variable` inside this scope shares what exists."""
        self._d = replace(self._d, reuse=True)

    def set_initializer(self, initializer: Any) -> None:
        self._d = replace(self._d, initializer=initializer)

    def set_regularizer(self, regularizer: Any) -> None:
        self._d = replace(self._d, regularizer=regularizer)

    def set_dtype(self, dtype: Any) -> None:
        self._d = replace(self._d, dtype=as_dtype(dtype))

    def set_partitioner(self, partitioner: Any) -> None:
        self._d = replace(self._d, partitioner=partitioner)

    def set_custom_getter(self, custom_getter: Any) -> None:
        self._d = replace(self._d, custom_getter=custom_getter)

    def get_collection(self, name: str) -> list[Any]:
        return self._graph.get_collection(name, self._d.name + "/" if self._d.name else None)

    def trainable_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def get_variable(self, name: str, **kwargs: Any) -> Any:
        return _get(self._graph, self._d, name, **kwargs)

    def __repr__(self) -> str:
        return f"<tf.VariableScope {self._d.name!r} reuse={self._d.reuse}>"


class _Open(threading.local):
    """The scopes that a thread has open, and how often each name was opened since the scope around it was."""

    def __init__(self, root: VariableScope) -> None:
        self.stack: list[VariableScope] = [root]
        self.counts: dict[str, int] = {}

    @contextmanager
    def opening(self, scope: VariableScope, captured: bool) -> Iterator[VariableScope]:
        """Makes `scope` the innermost. Default names inside it are counted anew each time it is opened."""
        before = dict(self.counts)
        self.counts[scope.name] = self.counts.get(scope.name, 0) + 1
        self.stack.append(scope)
        try:
            yield scope
        finally:
            self.stack.pop()
            prefix = f"{scope.name}/"
            kept = {n: k for n, k in self.counts.items() if not n.startswith(prefix)}
            self.counts = before if captured else kept

    def unique(self, default_name: str) -> str:
        """`default_name`, or `default_name_k` with the first k that is free in the current scope."""
        prefix = f"{self.stack[-1].name}/" if self.stack[-1].name else ""
        name, k = default_name, 1
        while self.counts.get(prefix + name):
            name, k = f"{default_name}_{k}", k + 1
        return name


class _Store:
    """The variables of a graph by full name, and the open scopes."""

    def __init__(self, graph: Any) -> None:
        self.variables: dict[str, Variable] = {}
        self.partitioned: dict[str, PartitionedVariable] = {}
        self.open = _Open(VariableScope._of(graph, _Defaults()))


def _store(graph: Any) -> _Store:
    found = graph.client_state.get(_STATE)
    if found is None:
        found = graph.client_state.setdefault(_STATE, _Store(graph))
    return found


def get_variable_scope() -> VariableScope:
    """The innermost open variable scope of the default graph."""
    return _store(get_default_graph()).open.stack[-1]


@contextmanager
def variable_scope(
    name_or_scope: str | VariableScope | None = None,
    default_name: str | None = None,
    values: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Callable[..., Any] | None = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Any = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Opens a variable scope (and a name scope of the same name).

    `name_or_scope`: a name ("" opens no name scope), or a captured scope to reopen; with None, `default_name` made
    unique. `reuse`: True shares existing variables, `tf.AUTO_REUSE` shares or makes them, None inherits. Raises
    `InvalidArgumentError` without any name.
    """
    if isinstance(default_name, bool):  # 0.6: (name_or_scope, reuse)
        default_name, reuse = None, default_name
    graph = graph_of(values or ())
    store = _store(graph)
    outer = store.open.stack[-1]
    captured = name_or_scope if isinstance(name_or_scope, VariableScope) else None
    if captured is not None:
        base, full = captured._d, captured.name
        inner_name = full.rpartition("/")[2]
    else:
        inner_name = _chosen_name(store.open, name_or_scope, default_name, reuse)
        base = outer._d
        full = f"{outer.name}/{inner_name}" if outer.name else inner_name
    changes: dict[str, Any] = {
        "name": full,
        "initializer": initializer,
        "regularizer": regularizer,
        "caching_device": caching_device,
        "partitioner": partitioner,
        "dtype": None if dtype is None else as_dtype(dtype),
        "custom_getter": _compose(custom_getter, base.custom_getter),
        "constraint": constraint,
        "reuse": reuse or base.reuse,
    }
    defaults = replace(base, **{k: v for k, v in changes.items() if v is not None})
    with (
        graph.as_default(),
        graph.name_scope(inner_name if auxiliary_name_scope and inner_name else _current(graph)) as ops,
    ):
        if captured is None or not base.original_name_scope:
            defaults = replace(defaults, original_name_scope=ops)
        with store.open.opening(VariableScope._of(graph, defaults), captured is not None) as scope:
            yield scope


def _chosen_name(opened: _Open, name: Any, default_name: str | None, reuse: Any) -> str:
    if name is not None and not isinstance(name, str):
        raise DTypeError(f"variable_scope: needed a name or a scope, got {type(name).__name__}")
    if name is not None:  # "" too: the scope around, under the name that TensorFlow gives it
        return name
    if not default_name:
        raise InvalidArgumentError("variable_scope needs a name, a scope or a default_name")
    if reuse is True:
        raise InvalidArgumentError("variable_scope: reuse=True needs a name, not only a default_name")
    return opened.unique(default_name)


def _current(graph: Any) -> str | None:
    return graph.scopes.name + "/" if graph.scopes.name else None


def _compose(inner: Any, outer: Any) -> Any:
    """A scope's getter wraps that of the scope around it."""
    if inner is None or outer is None:
        return inner
    return lambda getter, *args, **kwargs: inner(lambda *a, **k: outer(getter, *a, **k), *args, **kwargs)


@contextmanager
def variable_op_scope(values: Any, name_or_scope: Any, default_name: str | None = None, **kwargs: Any) -> Iterator[Any]:
    """The 0.x order of arguments of `variable_scope`."""
    with variable_scope(name_or_scope, default_name, values, **kwargs) as scope:
        yield scope


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
) -> Any:
    """The variable `name` of the current scope: made, or shared under reuse.

    `shape`: fully defined unless `initializer` is a tensor or value; `initializer`: a callable
    `(shape, dtype=..., partition_info=None)`, or a value; default: the scope's, else Glorot uniform for floats, zeros
    for the rest. With a `partitioner`, given or of the scope, it is a `PartitionedVariable`, unless a scalar. Raises
    `ValueError` subclasses when it exists without reuse, is missing with reuse, or differs.
    """
    scope = get_variable_scope()
    kwargs = {
        "shape": shape,
        "dtype": dtype,
        "initializer": initializer,
        "regularizer": regularizer,
        "trainable": trainable,
        "collections": collections,
        "validate_shape": validate_shape,
        "constraint": constraint,
        "caching_device": caching_device,
        "partitioner": partitioner,
        "use_resource": use_resource,
    }
    defaults = (
        scope._d
        if custom_getter is None
        else replace(scope._d, custom_getter=_compose(custom_getter, scope._d.custom_getter))
    )
    return _get(get_default_graph(), defaults, name, **kwargs)


def get_local_variable(name: str, *args: Any, **kwargs: Any) -> Any:
    """As `get_variable`, for a variable of this process only: in LOCAL_VARIABLES and not trained."""
    return get_variable(name, *args, **{"collections": [GraphKeys.LOCAL_VARIABLES], "trainable": False, **kwargs})


def _get(graph: Any, scope: _Defaults, name: str, **kwargs: Any) -> Any:
    if scope.custom_getter is None:
        return _shared_or_new(graph, scope, name, **kwargs)
    full = _full(scope, name)

    def getter(full_name: str, **inner: Any) -> Any:
        plain = replace(scope, custom_getter=None, name="")
        inner.pop("reuse", None)
        return _shared_or_new(graph, plain, full_name, **inner)

    given = dict(kwargs)
    for key in ("initializer", "regularizer", "dtype", "constraint", "partitioner"):
        given[key] = kwargs[key] if kwargs.get(key) is not None else getattr(scope, key)
    return scope.custom_getter(getter, full, reuse=scope.reuse, **given)


def _shared_or_new(
    graph: Any,
    scope: _Defaults,
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    validate_shape: bool = True,
    constraint: Any = None,
    partitioner: Any = None,
    caching_device: Any = None,
    use_resource: bool | None = None,
    partition_info: Any = None,
) -> Any:
    full = _full(scope, name)
    store = _store(graph)
    wanted = as_dtype(dtype) if dtype is not None else None
    cut = partitioner if partitioner is not None else scope.partitioner
    if (cut is not None and not _is_scalar(shape, initializer)) or full in store.partitioned:
        rest = {
            "regularizer": regularizer,
            "trainable": trainable,
            "collections": collections,
            "validate_shape": validate_shape,
            "constraint": constraint,
            "caching_device": caching_device,
        }
        return _partitioned(graph, scope, full, shape, wanted, initializer, cut, rest)
    found = store.variables.get(full)
    if found is not None:
        if scope.reuse is False or scope.reuse is None:
            raise VariableExistsError(
                f"the variable {full!r} exists already (source: {found.op.origin}); "
                "to share it, set reuse=True or reuse=tf.AUTO_REUSE in the variable scope"
            )
        return _checked(found, full, shape, wanted)
    if scope.reuse is True:
        raise _missing(full)
    initial = _initial(full, scope, shape, wanted or scope.dtype, initializer, partition_info)
    with graph.control_dependencies(None), graph.name_scope(None):
        variable = Variable(
            initial,
            trainable=trainable,
            collections=collections,
            name=full,
            validate_shape=validate_shape,
            dtype=(wanted or scope.dtype) if callable(initial) else wanted,
            constraint=constraint if constraint is not None else scope.constraint,
            caching_device=caching_device if caching_device is not None else scope.caching_device,
        )
    store.variables[full] = variable
    regularizer = regularizer if regularizer is not None else scope.regularizer
    if regularizer is not None:
        with graph.name_scope(f"{full}/Regularizer/"):
            loss = regularizer(variable)
        if loss is not None:
            graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return variable


def _full(scope: _Defaults, name: str) -> str:
    return "/".join(part for part in (scope.name, name) if part)


def _missing(full: str) -> VariableMissingError:
    return VariableMissingError(
        f"there is no variable {full!r} to reuse, or it was not made with tf.get_variable; "
        "did you mean reuse=tf.AUTO_REUSE?"
    )


def _is_scalar(shape: Any, initializer: Any) -> bool:
    """Is a variable to be made that has nothing to cut?"""
    if shape is not None:
        return as_shape(shape).ndims == 0
    return not callable(initializer) and _value_shape(initializer).ndims == 0


def _value_shape(value: Any) -> Shape:
    return as_shape(value.shape if hasattr(value, "shape") else np.shape(value))


def _partitioned(
    graph: Any,
    scope: _Defaults,
    full: str,
    shape: Any,
    dtype: DType | None,
    initializer: Any,
    cut: Any,
    rest: dict[str, Any],
) -> PartitionedVariable:
    """The partitioned variable `full`: made, or shared under reuse."""
    store = _store(graph)
    found, dims = store.partitioned.get(full), as_shape(shape)
    if full in store.variables:
        raise VariableExistsError(f"the variable {full!r} exists already, and is not partitioned")
    init = initializer if initializer is not None else scope.initializer
    if init is not None and not callable(init):
        dims = dims.merge_with(_value_shape(init))
    if found is not None:
        if not scope.reuse:
            raise VariableExistsError(f"the partitioned variable {full!r} exists already; to share it, set reuse")
        _checked(found, full, dims, dtype)
        wanted = found.partitions if cut is None else partitions_of(cut, found.shape, found.dtype, full)
        if wanted != found.partitions:
            raise InvalidArgumentError(f"{full!r} has {found.partitions} parts, the partitioner says {wanted}")
        return found
    if scope.reuse is True:
        raise _missing(full)
    kind = dtype or scope.dtype
    alone = replace(scope, name="", partitioner=None)

    def make(name: str, shape: Any, initializer: Any, info: Any) -> Variable:
        made: Variable = _shared_or_new(graph, alone, name, shape, dtype, initializer, partition_info=info, **rest)
        return made

    made = create_parts(graph, full, dims, kind, partitions_of(cut, dims, kind, full), init, make)
    store.partitioned[full] = made
    return made


def _checked(found: Any, full: str, shape: Any, dtype: DType | None) -> Any:
    if shape is not None and not as_shape(shape).is_compatible_with(found.shape):
        raise ShapeError(f"the shared variable {full!r} has shape {found.shape}, asked for was {as_shape(shape)}")
    if dtype is not None and dtype is not found.dtype:
        raise DTypeError(f"the shared variable {full!r} is {found.dtype.name}, asked for was {dtype.name}")
    return found


def _initial(full: str, scope: _Defaults, shape: Any, dtype: DType, initializer: Any, info: Any) -> Any:
    """The initial value: a given one, or a callable that makes it inside the variable's own scope."""
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
    if not dims.is_fully_defined():
        raise ShapeError(f"the new variable {full!r} needs a fully defined shape, got {dims}")
    return lambda: _call_initializer(init, dims.as_list(), dtype, info)


def _call_initializer(init: Any, shape: list[Any], dtype: DType, info: Any) -> Any:
    try:
        return init(shape, dtype=dtype, partition_info=info)
    except TypeError:
        return init(shape, dtype=dtype)


API = {
    "AUTO_REUSE": AUTO_REUSE,
    "VariableScope": VariableScope,
    "variable_scope": variable_scope,
    "variable_op_scope": variable_op_scope,
    "get_variable": get_variable,
    "get_local_variable": get_local_variable,
    "get_variable_scope": get_variable_scope,
}
