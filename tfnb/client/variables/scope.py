"""Variable scopes: variables are shared by name (`tf.variable_scope`, `tf.get_variable`).

A variable scope prefixes names and carries defaults: initialiser, regulariser, reuse, dtype. Invariant: each thread has
its own stack of open scopes, whose bottom is the root scope of the graph.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

from tfnb.client.argument_types import (
    CollectionNames,
    Constraint,
    DeviceLike,
    InitializerLike,
    Partitioner,
    Regularizer,
)
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.replication import VariableAggregation, VariableSynchronization, is_trainable
from tfnb.client.variables.variable_store import (
    AUTO_REUSE,
    AutoReuse,
    Reuse,
    ScopeDefaults,
    compose_getters,
    create_or_share,
)
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.function import owner
from tfnb.ir.tensor import GraphLike
from tfnb.types import DType, DTypeLike, ShapeLike, as_dtype, float32

__all__ = [
    "API",
    "AUTO_REUSE",
    "Reuse",
    "ScopeLike",
    "VariableScope",
    "get_variable",
    "get_variable_scope",
    "pure_variable_scope",
    "thread_scopes",
    "variable_scope",
]

_STATE = "variable_scopes"


class VariableScope:
    """An open or captured variable scope: the prefix of names, and the defaults of the variables created in it."""

    def __init__(
        self,
        reuse: Reuse | None = None,
        name: str = "",
        initializer: InitializerLike | None = None,
        regularizer: Regularizer | None = None,
        caching_device: DeviceLike | None = None,
        partitioner: Partitioner | None = None,
        custom_getter: Callable[..., Any] | None = None,
        name_scope: str = "",
        dtype: DTypeLike = float32,
        use_resource: bool | None = None,
        constraint: Constraint | None = None,
    ) -> None:
        self._graph = get_default_graph()
        self._d = ScopeDefaults(
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
    def _of(cls, graph: GraphLike, defaults: ScopeDefaults) -> VariableScope:
        scope = cls.__new__(cls)
        scope._graph, scope._d = graph, defaults
        return scope

    @property
    def name(self) -> str:
        """The full name, which prefixes the names of variables."""
        return self._d.name

    @property
    def original_name_scope(self) -> str:
        """The name scope that was opened together with this scope, with a final "/"."""
        return self._d.original_name_scope

    @property
    def reuse(self) -> AutoReuse | bool:
        """Returns whether `get_variable` shares existing variables: True, False or `tf.AUTO_REUSE`."""
        return self._d.reuse

    @property
    def initializer(self) -> Any:
        """The default initialiser, or None."""
        return self._d.initializer

    @property
    def regularizer(self) -> Any:
        """The default regulariser, or None."""
        return self._d.regularizer

    @property
    def dtype(self) -> DType:
        """The default dtype."""
        return self._d.dtype

    @property
    def partitioner(self) -> Any:
        """The default partitioner, or None."""
        return self._d.partitioner

    @property
    def custom_getter(self) -> Any:
        """The function through which `get_variable` gets variables, or None."""
        return self._d.custom_getter

    @property
    def caching_device(self) -> Any:
        """The device to which the values of variables are read by default, or None."""
        return self._d.caching_device

    @property
    def constraint(self) -> Any:
        """The default constraint of variables, or None."""
        return self._d.constraint

    def reuse_variables(self) -> None:
        """Makes `get_variable` inside this scope share existing variables and create none, from now on."""
        self._d = replace(self._d, reuse=True)

    def set_initializer(self, initializer: InitializerLike) -> None:
        """Sets the default initialiser for variables created from now on."""
        self._d = replace(self._d, initializer=initializer)

    def set_regularizer(self, regularizer: Regularizer) -> None:
        """Sets the default regulariser for variables created from now on."""
        self._d = replace(self._d, regularizer=regularizer)

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Sets the default dtype for variables created from now on."""
        self._d = replace(self._d, dtype=as_dtype(dtype))

    def set_partitioner(self, partitioner: Partitioner | None) -> None:
        """Sets the default partitioner for variables created from now on; None cuts no variable."""
        self._d = replace(self._d, partitioner=partitioner)

    def set_custom_getter(self, custom_getter: Callable[..., Any]) -> None:
        """Sets the function through which `get_variable` gets variables."""
        self._d = replace(self._d, custom_getter=custom_getter)

    def set_caching_device(self, caching_device: DeviceLike | None) -> None:
        """Sets the device to which the values of variables created from now on are read by default."""
        self._d = replace(self._d, caching_device=caching_device)

    def get_collection(self, name: str) -> list[Any]:
        """Returns the members of the collection `name` whose names begin with the name of this scope."""
        return self._graph.get_collection(name, self._d.name + "/" if self._d.name else None)

    def trainable_variables(self) -> list[Any]:
        """Returns the trainable variables of this scope and the scopes in it."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """Returns the global variables of this scope and the scopes in it."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """Returns the variables of this process of this scope and the scopes in it."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(self, name: str, **kwargs: object) -> Any:
        """Returns the variable `name` of this scope; `kwargs` are the other arguments of `tf.get_variable`."""
        return create_or_share(self._graph, self._d, name, **kwargs)

    def __repr__(self) -> str:
        return f"<tf.VariableScope {self._d.name!r} reuse={self._d.reuse}>"


# A scope by its name, or the scope itself.
ScopeLike: TypeAlias = str | VariableScope


class _Open(threading.local):
    """The open scopes of a thread, and how often each name was opened since the scope around it was opened."""

    def __init__(self, root: VariableScope) -> None:
        self.stack: list[VariableScope] = [root]
        self.counts: dict[str, int] = {}

    @contextmanager
    def opening(self, scope: VariableScope, captured: bool) -> Iterator[VariableScope]:
        """Within the block `scope` is the innermost. Default names inside it are counted anew each time it is
        opened.
        """
        old_counts = dict(self.counts)
        self.counts[scope.name] = self.counts.get(scope.name, 0) + 1
        self.stack.append(scope)
        try:
            yield scope
        finally:
            self.stack.pop()
            prefix = f"{scope.name}/"
            outer_counts = {n: k for n, k in self.counts.items() if not n.startswith(prefix)}
            self.counts = old_counts if captured else outer_counts

    def unique(self, default_name: str) -> str:
        """Returns `default_name`, or `default_name_k` with the first k that is free in the current scope."""
        prefix = f"{self.stack[-1].name}/" if self.stack[-1].name else ""
        name, k = default_name, 1
        while self.counts.get(prefix + name):
            name, k = f"{default_name}_{k}", k + 1
        return name


def thread_scopes(graph: GraphLike) -> _Open:
    """Returns the open variable scopes of this thread. Those of a function's body are in that of the graph around."""
    state = graph.client_state.get(_STATE)
    if state is None:
        around = owner(graph)
        root = VariableScope._of(graph, ScopeDefaults()) if around is graph else thread_scopes(around).stack[-1]
        state = graph.client_state.setdefault(_STATE, _Open(root))
    return state


def get_variable_scope() -> VariableScope:
    """Returns the innermost open variable scope of the default graph."""
    return thread_scopes(get_default_graph()).stack[-1]


@contextmanager
def variable_scope(
    name_or_scope: str | VariableScope | None = None,
    default_name: str | None = None,
    values: Iterable[Any] | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Regularizer | None = None,
    caching_device: DeviceLike | None = None,
    partitioner: Partitioner | None = None,
    custom_getter: Callable[..., Any] | None = None,
    reuse: Reuse | None = None,
    dtype: DTypeLike | None = None,
    use_resource: bool | None = None,
    constraint: Constraint | None = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Opens a variable scope and, unless `auxiliary_name_scope` is False, a name scope of the same name.

    `name_or_scope` is a name ("" opens no name scope) or a captured scope that is opened again. Where it is None,
    `default_name` is made unique in the current scope, among variable scopes and, by itself, among name scopes.
    `reuse`: True shares existing variables, `tf.AUTO_REUSE` shares existing ones and creates missing ones, None
    inherits from the scope around. The graph is that of `values`, else the default graph. The other arguments are
    defaults for `tf.get_variable`. Raises `InvalidArgumentError` without any name, and `DTypeError` for a name that is
    not text, or an auxiliary_name_scope that is not bool.
    """
    if not isinstance(auxiliary_name_scope, bool):
        raise DTypeError(f"The auxiliary_name_scope must be `True` or `False`, got {auxiliary_name_scope!r}")
    if isinstance(default_name, bool):  # the order of arguments of 0.6: (name_or_scope, reuse)
        default_name, reuse = None, default_name
    graph = graph_of(values or ())
    open_scopes = thread_scopes(graph)
    captured = name_or_scope if isinstance(name_or_scope, VariableScope) else None
    if captured is not None:
        base, full = captured._d, captured.name
        inner_name = full.rpartition("/")[2]
    else:
        chosen = _chosen_name(open_scopes, name_or_scope, default_name, reuse)
        base = open_scopes.stack[-1]._d
        full = f"{base.name}/{chosen}" if base.name else chosen
        # The names of operations are counted for themselves: there may be more scopes of a name than variables' scopes.
        inner_name = chosen if name_or_scope is not None or default_name is None else default_name
    changes: dict[str, Any] = {
        "name": full,
        "initializer": initializer,
        "regularizer": regularizer,
        "caching_device": caching_device,
        "partitioner": partitioner,
        "dtype": None if dtype is None else as_dtype(dtype),
        "custom_getter": compose_getters(custom_getter, base.custom_getter),
        "constraint": constraint,
        "reuse": reuse or base.reuse,
    }
    defaults = replace(base, **{k: v for k, v in changes.items() if v is not None})
    with (
        graph.as_default(),
        graph.name_scope(inner_name if auxiliary_name_scope and inner_name else _current(graph)) as ops,
    ):
        if captured is None or (auxiliary_name_scope and not base.original_name_scope):
            defaults = replace(defaults, original_name_scope=ops)
        with open_scopes.opening(VariableScope._of(owner(graph), defaults), captured is not None) as scope:
            yield scope


@contextmanager
def pure_variable_scope(
    name_or_scope: ScopeLike,
    reuse: Reuse | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Regularizer | None = None,
    caching_device: DeviceLike | None = None,
    partitioner: Partitioner | None = None,
    custom_getter: Callable[..., Any] | None = None,
    old_name_scope: str | None = None,
    dtype: DTypeLike | None = None,
    use_resource: bool | None = None,
    constraint: Constraint | None = None,
) -> Iterator[VariableScope]:
    """Opens a variable scope whose `original_name_scope` is `old_name_scope`, and opens no name scope.

    Where `old_name_scope` is None, the scope has that of the captured scope, or its name. The other arguments are those
    of `variable_scope`.
    """
    name_scope = name_or_scope.original_name_scope if isinstance(name_or_scope, VariableScope) else name_or_scope
    with variable_scope(
        name_or_scope,
        reuse=reuse,
        initializer=initializer,
        regularizer=regularizer,
        caching_device=caching_device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        dtype=dtype,
        use_resource=use_resource,
        constraint=constraint,
        auxiliary_name_scope=False,
    ) as scope:
        scope._d = replace(scope._d, original_name_scope=name_scope if old_name_scope is None else old_name_scope)
        yield scope


def _chosen_name(opened: _Open, name: object, default_name: str | None, reuse: Reuse | None) -> str:
    if name is not None and not isinstance(name, str):
        raise DTypeError(f"variable_scope: needed a name or a scope, got {type(name).__name__}")
    if name is not None:  # also "", which stands for the scope around, as in TensorFlow
        return name
    if not default_name:
        raise InvalidArgumentError("variable_scope needs a name, a scope or a default_name")
    if reuse is True:
        raise InvalidArgumentError("variable_scope: reuse=True needs a name, not only a default_name")
    return opened.unique(default_name)


def _current(graph: GraphLike) -> str | None:
    return graph.scopes.name + "/" if graph.scopes.name else None


@contextmanager
def variable_op_scope(
    values: Iterable[Any] | None, name_or_scope: ScopeLike | None, default_name: str | None = None, **kwargs: Any
) -> Iterator[Any]:
    """Opens a variable scope with the order of arguments of 0.x: `variable_scope(name_or_scope, default_name,
    values)`.
    """
    with variable_scope(name_or_scope, default_name, values, **kwargs) as scope:
        yield scope


def get_variable(
    name: str,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool | None = None,
    collections: CollectionNames | None = None,
    caching_device: DeviceLike | None = None,
    partitioner: Partitioner | None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Callable[..., Any] | None = None,
    constraint: Constraint | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """Returns the variable `name` of the current scope, which is created, or shared where the scope says `reuse`.

    `shape` must be fully defined, and not be given where `initializer` is a tensor or a value. `initializer` is a
    callable `(shape, dtype=..., partition_info=None)` or a value; the default is the scope's, else Glorot's uniform for
    floats and zeros for the rest. With a `partitioner`, given or of the scope, the result is a `PartitionedVariable`,
    except for a scalar. `collections` is GLOBAL_VARIABLES by default. Raises subclasses of `ValueError` when the
    variable exists and is not to be reused, when it is missing and is to be reused, or when the existing one has
    another shape or dtype.
    """
    scope = get_variable_scope()
    kwargs = {
        "shape": shape,
        "dtype": dtype,
        "initializer": initializer,
        "regularizer": regularizer,
        "trainable": is_trainable(trainable, synchronization, aggregation),
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
        else replace(scope._d, custom_getter=compose_getters(custom_getter, scope._d.custom_getter))
    )
    return create_or_share(get_default_graph(), defaults, name, **kwargs)


def get_local_variable(name: str, *args: Any, **kwargs: Any) -> Any:
    """Does what `get_variable` does, for a variable of this process: it is in LOCAL_VARIABLES and not trained.

    It is in LOCAL_VARIABLES besides the given `collections`.
    """
    keys = [*(kwargs.pop("collections", None) or ()), GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, *args, **{"trainable": False, **kwargs, "collections": list(dict.fromkeys(keys))})


API = {
    "AUTO_REUSE": AUTO_REUSE,
    "VariableScope": VariableScope,
    "variable_scope": variable_scope,
    "variable_op_scope": variable_op_scope,
    "get_variable": get_variable,
    "get_local_variable": get_local_variable,
    "get_variable_scope": get_variable_scope,
    "python.ops.variable_scope._pure_variable_scope": pure_variable_scope,
}
