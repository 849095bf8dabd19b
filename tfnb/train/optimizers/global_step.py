"""The global step: an integer variable that counts the training steps of a graph.

Invariant: a graph has at most one, which is in the collection GLOBAL_STEP.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.initializers import Zeros
from tfnb.client.variables.scope import get_variable
from tfnb.client.variables.variable import Variable
from tfnb.errors import DTypeError, GraphError, NotFoundError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import GraphLike, Tensor
from tfnb.session.session import Session
from tfnb.types import int64

__all__ = ["API", "get_global_step", "get_or_create_global_step"]


def get_global_step(graph: GraphLike | None = None) -> Any:
    """Returns the global step of `graph`, by default the default graph, or None if there is none.

    Raises `DTypeError` when it is not an integer scalar.
    """
    step = find_global_step(graph or get_default_graph())
    if step is not None:
        assert_global_step(step)
    return step


def find_global_step(graph: GraphLike) -> Any:
    """Returns the global step of the graph, of any dtype and shape, or None if there is none."""
    steps = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if steps:
        return steps[-1]
    named = [v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if v.op.name == "global_step"]
    return named[0] if named else None


def create_global_step(graph: GraphLike | None = None) -> Any:
    """Creates the global step, an int64 variable. Raises `GraphError` when there is one."""
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise GraphError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=int64,
            initializer=Zeros(int64),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph: GraphLike | None = None) -> Any:
    """Returns the global step, which is created if it does not exist."""
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def assert_global_step(global_step_tensor: Variable | Tensor) -> None:
    """Raises `DTypeError` unless `global_step_tensor` is an integer scalar."""
    is_integer = global_step_tensor.dtype.is_integer
    if not is_integer or global_step_tensor.get_shape().ndims not in (0, None):
        what = "is not scalar" if is_integer else "does not have integer type"
        raise DTypeError(
            f"The 'global_step' tensor {what}: it must be an integer scalar, {global_step_tensor.name} is "
            f"{global_step_tensor.dtype.name} of shape {global_step_tensor.get_shape()}"
        )


def assert_or_get_global_step(
    graph: GraphLike | None = None, global_step_tensor: Variable | Tensor | None = None
) -> Any:
    """Returns `global_step_tensor`, by default the global step of the graph. Raises `DTypeError` as
    `assert_global_step` does.
    """
    if global_step_tensor is None:
        return get_global_step(graph)
    assert_global_step(global_step_tensor)
    return global_step_tensor


def global_step(sess: Session, global_step_tensor: Variable | Tensor) -> int:
    """Returns the value of the global step in the session `sess`, an int."""
    value = sess.run(global_step_tensor)
    if value is None:
        raise NotFoundError("the global step has no value")
    return int(value)


API = {
    "train.get_global_step": get_global_step,
    "train.create_global_step": create_global_step,
    "train.get_or_create_global_step": get_or_create_global_step,
    "train.assert_global_step": assert_global_step,
    "train.global_step": global_step,
    "contrib.framework.get_or_create_global_step": get_or_create_global_step,
    "contrib.framework.assert_or_get_global_step": assert_or_get_global_step,
    "contrib.framework.get_global_step": get_global_step,
    "contrib.slim.get_or_create_global_step": get_or_create_global_step,
}
