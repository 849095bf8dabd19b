"""Resource variables of later TensorFlow 1.x graphs, read as reference variables.

A `VarHandleOp` names its variable as `VariableV2` does, and each op on the handle has one on the reference. Invariant:
a rewritten node has the name, inputs and control inputs that it had, so everything around it stays.
"""

from __future__ import annotations

from typing import Any

from tfnb.ir.protos import proto

__all__ = ["as_reference"]

_DTYPE_AS_T = {"dtype": "T"}
_SAME: dict[str, str] = {}
# op -> (op on references, which attributes it takes under which names)
_OPS: dict[str, tuple[str, dict[str, str]]] = {
    "VarHandleOp": ("VariableV2", {k: k for k in ("dtype", "shape", "container", "shared_name")}),
    "ReadVariableOp": ("Identity", _DTYPE_AS_T),
    "AssignVariableOp": ("Assign", _DTYPE_AS_T),
    "AssignAddVariableOp": ("AssignAdd", _DTYPE_AS_T),
    "AssignSubVariableOp": ("AssignSub", _DTYPE_AS_T),
    "VarIsInitializedOp": ("IsVariableInitialized", _SAME),
    "VariableShape": ("Shape", {"out_type": "out_type"}),
    "ResourceGather": ("Gather", {"dtype": "Tparams", "Tindices": "Tindices"}),
    "ResourceGatherNd": ("GatherNd", {"dtype": "Tparams", "Tindices": "Tindices"}),
}


def as_reference(node: Any) -> Any:
    """A NodeDef of an op on resource variables as one on references; any other is given back."""
    if node.op in _OPS:
        op, names = _OPS[node.op]
    elif node.op.startswith(("ResourceScatter", "ResourceApply", "ResourceSparseApply")):
        op = node.op.removeprefix("Resource")
        scatter = op.startswith("Scatter") and not op.startswith("ScatterNd")
        names = {k: "T" if scatter and k == "dtype" else k for k in node.attr}
    else:
        return node
    found = proto("node_def").NodeDef(name=node.name, op=op, device=node.device)
    found.input.extend(node.input)
    for old, new in names.items():
        if old in node.attr:
            found.attr[new].CopyFrom(node.attr[old])
    if "_class" in node.attr:
        found.attr["_class"].CopyFrom(node.attr["_class"])
    return found
