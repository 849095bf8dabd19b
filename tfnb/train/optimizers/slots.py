"""Slots: additional variables that an optimizer keeps for each variable that it trains.

Invariant: the slot `Adam` of `W` is named `W/Adam`, or `s/W/Adam` if it is created within the variable scope `s`;
it has the shape of W and is colocated with it. The slot of a part of a partitioned variable is the same slice of the
slot of the whole.
"""

from __future__ import annotations

from collections.abc import Callable

from tfnb.client.variables.scope import get_variable_scope
from tfnb.client.variables.variable import Variable
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import zeros
from tfnb.ops.array.shape_ops import shape
from tfnb.types import DTypeLike

__all__ = ["create_slot", "create_zeros_slot"]


def create_slot(
    primary: Variable | Tensor,
    initial_value: TensorLike | Callable[[], Tensor],
    name: str,
    dtype: DTypeLike | None = None,
) -> Variable:
    """Returns a slot of the variable `primary`, called `name`; its initial value is a tensor, a value or a callable."""
    graph = primary.graph
    with graph.as_default():
        scope = get_variable_scope().name
    prefix = f"{scope}/{primary.op.name}/" if scope else f"{primary.op.name}/"
    with (
        graph.as_default(),
        graph.control_dependencies(None),
        graph.name_scope(None),
        graph.colocate_with(primary),
    ):
        known = not isinstance(initial_value, Tensor) or initial_value.shape.is_fully_defined()
        slot = Variable(initial_value, False, name=f"{prefix}{name}", dtype=dtype, validate_shape=known)
    part, rank = getattr(primary, "save_slice_info", None), slot.shape.ndims
    if part is not None and rank != 0:
        slot.save_slice_info = part.of_slot(slot.op.name.removeprefix(prefix), rank)
    return slot


def create_zeros_slot(primary: Variable | Tensor, name: str, dtype: DTypeLike | None = None) -> Variable:
    """Returns a slot of the variable `primary`, called `name`, with zeros in the shape of `primary`."""
    slot_dtype = primary.dtype if dtype is None else dtype
    if not primary.shape.is_fully_defined():
        sizes = shape(primary.initialized_value() if isinstance(primary, Variable) else primary)
        return create_slot(primary, zeros(sizes, slot_dtype), name, slot_dtype)
    return create_slot(primary, lambda: zeros(primary.shape.known(), slot_dtype), name, slot_dtype)
