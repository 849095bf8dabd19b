"""Resource handles: tensors that connect the op that names a queue, reader or lock with the ops that use it.

White paper, section 4.7. The value of a handle is a scalar that contains the resource object, so it passes through
conditionals and loops like any tensor. Invariant: in every step that needs it, the node that names the resource creates
the handle; the resource itself persists between steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from tfnb.errors import InvalidArgumentError, NotFoundError
from tfnb.ir.opdef import HostCall
from tfnb.ir.operation import Operation

__all__ = ["make_handle", "named_resource", "resource_name", "resource_of"]

R = TypeVar("R")


def make_handle(resource: object) -> np.ndarray:
    """Returns a scalar tensor that contains the object."""
    handle = np.empty((), object)
    handle[()] = resource
    return handle


def resource_of(handle: np.ndarray, kind: type[R], op: Operation | None = None) -> R:
    """Returns the object in a handle. Raises `InvalidArgumentError` when it is not an instance of `kind`."""
    resource = handle.item()
    if isinstance(resource, kind):
        return resource
    raise InvalidArgumentError(f"Expected a handle of a {kind.__name__}, found {type(resource).__name__}", op)


def resource_name(call: HostCall) -> str:
    """Returns the name under which a node's resource is stored: `shared_name`, or the name of the node."""
    return call.attrs.shared_name or str(call.op.name)


def named_resource(call: HostCall, kind: type[R], make: Callable[[str], R]) -> R:
    """Returns the resource that a node names; if it does not exist, `make(name)` creates it.

    Raises `InvalidArgumentError` when a resource of another kind has that name.
    """
    if call.resources is None:
        raise NotFoundError("a resource exists only in a session", call.op)
    name = resource_name(call)
    resource = call.resources.get(call.attrs.container, name, lambda: make(name))
    if type(resource) is not kind:
        raise InvalidArgumentError(
            f"Expected {kind.__name__}, found {type(resource).__name__} under the name '{name}'", call.op
        )
    return resource
