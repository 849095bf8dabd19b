"""Slots: the extra variables that an optimizer keeps beside each variable it trains.

Invariant: the slot `Adam` of variable `W` is the variable named `W/Adam`, of W's shape, colocated with it; the slot of
a part of a partitioned variable is the same slice of the whole's slot.
"""

from __future__ import annotations

from collections.abc import Callable

from tfnb.client.variables.variable import Variable
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import zeros
from tfnb.types import DTypeLike

__all__ = ["create_slot", "create_zeros_slot"]


def create_slot(
    primary: Variable | Tensor,
    initial_value: TensorLike | Callable[[], Tensor],
    name: str,
    dtype: DTypeLike | None = None,
) -> Variable:
    """A variable named after `primary` and `name` with the initial value (a tensor, value, or callable)."""
    graph = primary.graph
    with (
        graph.as_default(),
        graph.control_dependencies(None),
        graph.name_scope(None),
        graph.colocate_with(primary),
    ):
        slot = Variable(initial_value, trainable=False, name=f"{primary.op.name}/{name}", dtype=dtype)
    part, rank = getattr(primary, "save_slice_info", None), slot.shape.ndims
    if part is not None and rank != 0:
        slot.save_slice_info = part.of_slot(slot.op.name.removeprefix(f"{primary.op.name}/"), rank)
    return slot


def create_zeros_slot(primary: Variable | Tensor, name: str, dtype: DTypeLike | None = None) -> Variable:
    """A slot of zeros of the primary's shape."""
    wanted = primary.dtype if dtype is None else dtype
    return create_slot(primary, lambda: zeros(primary.shape.known(), wanted), name, wanted)
