"""Initial values that depend on other variables, which may not have a value yet.

The initial value of a variable may be computed from other variables. Then their `initialized_value` is used, so the
order in which variables are initialised does not matter. Invariant: an initial value that depends on no variable is
returned as it is, and the operations that exist already are not changed.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor

__all__ = ["guarded"]

_VARIABLES = ("Variable", "VariableV2")
# Where the search ends: a check of a variable, and values that control flow chooses.
_ENDS = frozenset("IsVariableInitialized Merge RefMerge Switch RefSwitch Enter RefEnter Exit RefExit".split())


def guarded(initial: Tensor, variable_name: str) -> Tensor:
    """Returns `initial`, computed from the initialized values of the variables on which it depends.

    Operations on the way from them are added once more, with `variable_name` at the end of their names.
    """
    ancestors = _ancestors(initial.op)
    if not any(op.type in _VARIABLES for op in ancestors):
        return initial
    graph = initial.graph
    known: dict[Any, Any] = {}
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        known.update((v.op, v) for v in graph.get_collection(key) if hasattr(v, "initialized_value"))
    replaced: dict[Tensor, Tensor] = {}
    suffix = variable_name.replace(":", "_")
    for op in sorted(ancestors, key=lambda op: op.id):  # the inputs of an operation are older than it
        if op in known:
            replaced[op.outputs[0]] = known[op].initialized_value()
        elif not any(t in replaced for t in op.inputs) or _takes_reference(op):
            continue
        else:
            inputs = [replaced.get(t, t) for t in op.inputs]
            copy = graph.add_node(op.opdef, inputs, op.attrs, op.types, f"{op.name}_{suffix}/")
            replaced.update(zip(op.outputs, copy.outputs, strict=True))
    return replaced.get(initial, initial)


def _ancestors(op: Operation) -> set[Operation]:
    """Returns the operations that `op` depends on, and `op`; not those beyond variables and control flow."""
    found, stack = {op}, [op]
    while stack:
        current = stack.pop()
        if current.type in _VARIABLES or current.type in _ENDS:
            continue
        for t in current.inputs:
            if t.op not in found:
                found.add(t.op)
                stack.append(t.op)
    return found


def _takes_reference(op: Operation) -> bool:
    """Returns whether an operation, such as an assignment, needs the variable itself where it would get a value."""
    return bool(op.opdef.writes) or any(t.spec.ref for t in op.outputs)
