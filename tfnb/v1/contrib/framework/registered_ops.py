"""What libraries ask TensorFlow's own modules about: the operations that are registered, and the shards of a TPU.

Invariant: nothing here makes a node; what is asked is answered as TensorFlow without a TPU answers it.
"""

from __future__ import annotations

from tfnb.caches import remembered
from tfnb.client.variables.variable_reference import VariableReference
from tfnb.errors import UnimplementedError
from tfnb.ir.graphdef.message_types import OpDefMessage
from tfnb.ir.graphdef.op_def import op_def_message
from tfnb.ops import CATALOG

__all__ = ["get_registered_ops", "get_tpu_context", "is_resource_variable"]


@remembered("definitions of all operations", 1)
def get_registered_ops() -> dict[str, OpDefMessage]:
    """Returns the OpDef message of each operation by its name; it is the same dict each time."""
    return {name: op_def_message(op) for name, op in CATALOG.items()}


def is_resource_variable(var: object) -> bool:
    """Returns whether a variable is read through a handle: none is here, each has the operation that holds it."""
    return isinstance(var, VariableReference) and var.op.type == "VarHandleOp"


class TpuContext:
    """The TPU on which a graph is built: there is none, so its number of shards is None."""

    @property
    def number_of_shards(self) -> int | None:
        """None."""
        return None

    def set_number_of_shards(self, number_of_shards: object) -> None:
        """Raises `UnimplementedError`, except for None."""
        if number_of_shards is not None:
            raise UnimplementedError(f"set_number_of_shards({number_of_shards}): there are no TPUs")


_CONTEXT = TpuContext()


def get_tpu_context() -> TpuContext:
    """Returns the one `TpuContext`."""
    return _CONTEXT
