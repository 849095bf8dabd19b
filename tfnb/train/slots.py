"""Slots: the extra variables that an optimizer keeps beside each variable it trains.

Invariant: the slot `Adam` of variable `W` is the variable named `W/Adam`, of W's shape, colocated with it.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.variables import Variable
from tfnb.ops.constants import zeros

__all__ = ["create_slot", "create_zeros_slot"]


def create_slot(primary: Any, initial_value: Any, name: str, dtype: Any = None) -> Variable:
    """A variable named after `primary` and `name` with the initial value (a tensor, value, or callable)."""
    graph = primary.graph
    with (
        graph.as_default(),
        graph.control_dependencies(None),
        graph.name_scope(None),
        graph.colocate_with(primary),
    ):
        return Variable(
            initial_value, trainable=False, name=f"{primary.op.name}/{name}", dtype=dtype
        )


def create_zeros_slot(primary: Any, name: str, dtype: Any = None) -> Variable:
    """A slot of zeros of the primary's shape."""
    wanted = primary.dtype if dtype is None else dtype
    return create_slot(primary, lambda: zeros(primary.shape.known(), wanted), name, wanted)
