"""Functions inside `tensorflow.python` that optimizers and loops of programs' own are built from.

Slots, sparse gradients without repeated rows, the check of a ready op, the saver of a graph, and resources. Invariant:
each does what the function of that name in TensorFlow 1.15 does, by the parts that tfnb's own training has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import add_to_collection, get_collection, name_scope
from tfnb.client.platform import tf_logging as logging
from tfnb.client.variables.variable import Variable, group
from tfnb.errors import OpError
from tfnb.ir.default import get_default_graph
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import stack
from tfnb.ops.array.constants import constant
from tfnb.ops.array.where_partition import boolean_mask
from tfnb.ops.math.compare import LOGICAL_NOT
from tfnb.session.session import Session
from tfnb.train.optimizers import slots
from tfnb.train.optimizers.sparse_gradients import deduplicated
from tfnb.train.saving.saver import Saver
from tfnb.train.sessions.scaffold import collected_saver
from tfnb.train.sessions.session_manager import SessionManager
from tfnb.types import DType, DTypeLike, Shape, string

__all__ = ["API"]

# ---- slots -------------------------------------------------------------------------------------------


def create_slot(primary: Variable | Tensor, val: Tensor, name: str, colocate_with_primary: bool = True) -> Variable:
    """Returns a slot of the variable `primary`, called `name`, whose initial value is the tensor `val`.

    A slot is always colocated with its variable, which changes no result.
    """
    del colocate_with_primary
    return slots.create_slot(primary, val, name)


def create_slot_with_initializer(
    primary: Variable | Tensor,
    initializer: Callable[..., Any],
    shape: Shape,
    dtype: DType,
    name: str,
    colocate_with_primary: bool = True,
) -> Variable:
    """Returns a slot of the variable `primary`, called `name`, of a shape and dtype, with the initializer's values."""
    del colocate_with_primary
    return slots.create_slot(primary, lambda: initializer(shape.as_list(), dtype=dtype), name, dtype)


def create_zeros_slot(
    primary: Variable | Tensor, name: str, dtype: DTypeLike | None = None, colocate_with_primary: bool = True
) -> Variable:
    """Returns a slot of the variable `primary`, called `name`, with zeros in its shape; `dtype` is by default its."""
    del colocate_with_primary
    return slots.create_zeros_slot(primary, name, dtype)


# ---- parts of training -------------------------------------------------------------------------------


def deduplicate_indexed_slices(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Returns (the sums of the rows of `values` that have the same index, the different indices)."""
    found = deduplicated(IndexedSlices(values, indices))
    return found.values, found.indices


def ready(op: Tensor | None, sess: Session, msg: str) -> tuple[bool, str | None]:
    """Returns (whether the strings of `op`, which name what is not ready, are none; a text of them, or None).

    msg: begins the warning of an error of the step, which is raised.
    """
    try:
        problem = SessionManager._not_ready(sess, op)
    except OpError as e:
        logging.warning("%s : error [%s]", msg, e)
        raise
    return not problem, problem or None


def saver_or_default() -> Saver:
    """Returns the saver in the default graph's collection SAVERS, where one of all variables is added if it has
    none."""
    saver = collected_saver()
    if saver is None:
        saver = Saver(sharded=True, allow_empty=True)
        get_default_graph().add_to_collection(GraphKeys.SAVERS, saver)
    return saver


# ---- resources ---------------------------------------------------------------------------------------


class Resource(NamedTuple):
    """A resource, the operation that creates it, and a tensor that says whether it has been created."""

    handle: Any
    create: Any
    is_initialized: Any


def register_resource(handle: object, create_op: object, is_initialized_op: object, is_shared: bool = True) -> None:
    """Adds the resource `handle` to the collection of those that tasks share, or of those of this task.

    create_op: the operation that creates it. is_initialized_op: a boolean scalar, whether it has been created.
    """
    key = GraphKeys.RESOURCES if is_shared else GraphKeys.LOCAL_RESOURCES
    add_to_collection(key, Resource(handle, create_op, is_initialized_op))


def shared_resources() -> list[Resource]:
    """Returns the resources that tasks share."""
    return get_collection(GraphKeys.RESOURCES)


def local_resources() -> list[Resource]:
    """Returns the resources of this task."""
    return get_collection(GraphKeys.LOCAL_RESOURCES)


def report_uninitialized_resources(
    resource_list: Sequence[Resource] | None = None, name: str = "report_uninitialized_resources"
) -> Tensor:
    """Returns a tensor of the names of the resources that have not been created; by default of all resources."""
    found = shared_resources() + local_resources() if resource_list is None else resource_list
    with name_scope(name):
        names = constant([r.handle.name for r in found], string)
        if not found:
            return names
        result: Tensor = boolean_mask(names, LOGICAL_NOT(stack([r.is_initialized for r in found])))
        return result


def initialize_resources(resource_list: Sequence[Resource], name: str = "init") -> Operation:
    """Returns an operation that creates the resources."""
    return group(*(r.create for r in resource_list), name=name)


_SLOTS = (create_slot, create_slot_with_initializer, create_zeros_slot)
_RESOURCES = (
    register_resource,
    shared_resources,
    local_resources,
    report_uninitialized_resources,
    initialize_resources,
)
API: dict[str, Any] = {
    **{f"python.training.slot_creator.{f.__name__}": f for f in _SLOTS},
    **{f"python.ops.resources.{f.__name__}": f for f in _RESOURCES},
    "python.training.optimizer._deduplicate_indexed_slices": deduplicate_indexed_slices,
    "python.training.session_manager._ready": ready,
    "python.training.saver._get_saver_or_default": saver_or_default,
}
