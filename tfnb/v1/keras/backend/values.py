"""Variables, their values in the session of Keras, and functions that run the graph (`tf.keras.backend`).

Invariant: a variable is initialised by the session that first needs it, once; `set_value` builds one node a variable.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.argument_types import Constraint
from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph, reset_default_graph
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.session.api import Session
from tfnb.session.default import DefaultSession, get_default_session
from tfnb.types import DTypeLike, ShapeLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.backend.settings import floatx
from tfnb.v1.keras.graph_api import graph_state, tf

__all__ = [
    "batch_get_value",
    "batch_set_value",
    "clear_session",
    "constant",
    "count_params",
    "eval",
    "function",
    "get_session",
    "get_value",
    "initialize",
    "manual_variable_initialization",
    "placeholder",
    "set_session",
    "set_value",
    "update",
    "update_add",
    "update_sub",
    "variable",
]

_STATE: dict[str, Any] = {"session": None, "manual": False}
_READY: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()


def manual_variable_initialization(value: bool) -> None:
    """Sets whether the program initialises variables itself, so that `get_session` does not."""
    _STATE["manual"] = bool(value)


def set_session(session: Session) -> None:
    """Makes `session` the one that Keras uses where no session is the default one."""
    _STATE["session"] = session


def get_session(op_input_list: Sequence[Any] = ()) -> DefaultSession:
    """Returns the default session, or else the session of Keras for the default graph, with variables initialised."""
    session = _session()
    if not _STATE["manual"]:
        initialize(session)
    return session


def _session() -> DefaultSession:
    default = get_default_session()
    if default is not None:
        return default
    graph, session = get_default_graph(), _STATE["session"]
    if session is None or session.graph is not graph:
        session = _STATE["session"] = Session(graph=graph)
    return session


def initialize(session: DefaultSession) -> None:
    """Initialises those variables of the session's graph that have no value in it, and its tables."""
    graph = session.graph
    ready = _READY.setdefault(session, set())
    keys = tf.GraphKeys
    collected = (*graph.get_collection(keys.GLOBAL_VARIABLES), *graph.get_collection(keys.LOCAL_VARIABLES))
    tables = [op for op in graph.get_collection(keys.TABLE_INITIALIZERS) if op.name not in ready]
    if tables:
        session.run(tables)
        ready.update(op.name for op in tables)
    new = {v.name: v for v in collected if v.name not in ready and hasattr(v, "initializer")}
    if not new:
        return
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope(None):
        checks = [_is_initialized(v) for v in new.values()]
    states = session.run(checks)
    missing = [v.initializer for v, there in zip(new.values(), states, strict=True) if not there]
    if missing:
        session.run(missing)
    ready.update(new)


def _is_initialized(variable: Variable) -> Tensor:
    nodes = graph_state("initialized", dict)
    if variable.name not in nodes:
        nodes[variable.name] = tf.is_variable_initialized(variable)
    return nodes[variable.name]


def clear_session() -> None:
    """Begins a new default graph, and closes the session of Keras."""
    session, _STATE["session"] = _STATE["session"], None
    if session is not None:
        session.close()
    reset_default_graph()


def variable(
    value: TensorLike | Callable[[], Any],
    dtype: DTypeLike | None = None,
    name: str | None = None,
    constraint: Constraint | None = None,
) -> Variable:
    """Returns a variable that begins with `value`, an array or a tensor."""
    dtype = dtype or floatx()
    if not hasattr(value, "graph") and not callable(value):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        value = value.astype(tf.as_dtype(dtype).as_numpy_dtype)
    return tf.Variable(value, dtype=tf.as_dtype(dtype), name=name, constraint=constraint)


def constant(
    value: TensorLike, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None
) -> Tensor:
    """Returns a constant tensor of the default dtype, or of `dtype`."""
    return tf.constant(value, dtype=tf.as_dtype(dtype or floatx()), shape=shape, name=name or "Const")


def placeholder(
    shape: ShapeLike = None,
    ndim: int | None = None,
    dtype: DTypeLike | None = None,
    sparse: bool = False,
    name: str | None = None,
    ragged: bool = False,
) -> Tensor | SparseTensor:
    """Returns a placeholder of the shape, or with `ndim` dimensions of unknown sizes."""
    if ragged:
        raise InvalidArgumentError("placeholder: ragged tensors are not in tfnb; pad the rows, and mask the padding")
    if shape is None and ndim:
        shape = (None,) * ndim
    make = tf.sparse_placeholder if sparse else tf.placeholder
    return make(tf.as_dtype(dtype or floatx()), shape=shape, name=name)


def count_params(x: Any) -> int:
    """Returns the number of elements of a variable or tensor of known shape."""
    return int(np.prod([int(n) for n in x.shape.as_list()], dtype=np.int64))


def get_value(x: TensorOrVariable) -> np.ndarray:
    """Returns the value of a variable as an array."""
    return np.asarray(get_session().run(x))


def batch_get_value(tensors: Sequence[Any]) -> list[np.ndarray]:
    """Returns the values of several variables, read in one step."""
    return [np.asarray(v) for v in get_session().run(list(tensors))] if tensors else []


def eval(x: TensorOrVariable) -> np.ndarray:
    """Returns the value of a tensor or variable as an array."""
    return np.asarray(get_session().run(x))


def set_value(x: Variable, value: TensorLike) -> None:
    """Sets a variable's value from an array of its shape."""
    batch_set_value([(x, value)])


def batch_set_value(tuples: Iterable[tuple[Any, Any]]) -> None:
    """Sets the values of several variables, from pairs (variable, array), in one step."""
    ops, feeds = [], {}
    for x, value in tuples:
        nodes = x.graph.client_state.setdefault("keras assignments", {})
        if x.name not in nodes:
            with x.graph.as_default(), x.graph.control_dependencies(None), x.graph.name_scope(None):
                given = tf.placeholder(x.dtype.base_dtype, shape=x.shape, name="keras_value")
                nodes[x.name] = (given, tf.assign(x, given))
        given, assign = nodes[x.name]
        feeds[given] = np.asarray(value, dtype=x.dtype.base_dtype.as_numpy_dtype)
        ops.append(assign.op)
    if ops:
        get_session().run(ops, feed_dict=feeds)


def update(x: Variable, new_x: TensorLike) -> Tensor:
    """Returns the operation that sets the variable `x` to `new_x`."""
    return tf.assign(x, new_x)


def update_add(x: Variable, increment: TensorLike) -> Tensor:
    """Returns the operation that adds `increment` to the variable `x`."""
    return tf.assign_add(x, increment)


def update_sub(x: Variable, decrement: TensorLike) -> Tensor:
    """Returns the operation that subtracts `decrement` from the variable `x`."""
    return tf.assign_sub(x, decrement)


class _GraphFunction:
    """Calls a part of the graph with arrays; see `function`."""

    def __init__(
        self, inputs: Sequence[Any], outputs: object, updates: Sequence[Any], feeds: Mapping[Any, Any]
    ) -> None:
        self.inputs, self.outputs, self._feeds = list(inputs), outputs, dict(feeds)
        self._updates = [u if not isinstance(u, tuple) else tf.assign(*u) for u in updates]
        self._updates = [u.op if isinstance(u, Tensor) else u for u in self._updates]

    def __call__(self, inputs: Sequence[Any]) -> Any:
        feeds = {k: v for k, v in zip(self.inputs, inputs, strict=False) if v is not None and not _is_number(k)}
        return get_session().run([self.outputs, self._updates], feed_dict={**self._feeds, **feeds})[0]


def _is_number(value: object) -> bool:
    return isinstance(value, (bool, int))


def function(
    inputs: Sequence[Any],
    outputs: object,
    updates: Sequence[Any] | None = None,
    name: str | None = None,
    feed_dict: Mapping[Any, Any] | None = None,
) -> _GraphFunction:
    """Returns a callable that feeds a list of arrays to `inputs`, runs `updates` and returns the `outputs` as arrays.

    updates: operations, or pairs (variable, new value). feed_dict: further feeds of each call.
    """
    return _GraphFunction(inputs, outputs, list(updates or ()), feed_dict or {})
