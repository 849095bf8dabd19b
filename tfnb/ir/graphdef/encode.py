"""Graphs as GraphDef messages.

Node names, inputs ("x", "x:1", "^x"), attributes and devices are TensorFlow's. Invariant: a graph of standard ops
loads in TensorFlow; attributes that live in this process only are left out.
"""

from __future__ import annotations

from typing import Any

from tfnb.ir.graphdef.attrs import encode_attrs, encode_value
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Tensor

__all__ = ["PRODUCER", "as_graph_def", "input_name", "node_def"]

PRODUCER = 27  # the version of GraphDef that TensorFlow 1.12 writes


def input_name(tensor: Tensor) -> str:
    """A tensor as NodeDefs name it: the first output goes without a number."""
    return tensor.op.name if tensor.index == 0 else f"{tensor.op.name}:{tensor.index}"


def node_def(op: Any, add_shapes: bool = False) -> Any:
    """The NodeDef of an operation; with `add_shapes` the static shapes as its attribute "_output_shapes"."""
    found = proto("node_def").NodeDef(name=op.name, op=op.type, device=op.device)
    found.input.extend(input_name(t) for t in op.inputs)
    found.input.extend(f"^{c.name}" for c in op.control_inputs)
    encode_attrs(op.opdef, op.types, op.attrs, found.attr)
    if op.colocation:
        found.attr["_class"].CopyFrom(encode_value("s", True, op.colocation))
    if op.gradient_type is not None:
        found.attr["_gradient_op_type"].CopyFrom(encode_value("s", False, op.gradient_type))
    if add_shapes and op.specs:
        shapes = [s.shape for s in op.specs]
        found.attr["_output_shapes"].CopyFrom(encode_value("shape", True, shapes))
    return found


def as_graph_def(graph: Any, from_version: int | None = None, add_shapes: bool = False) -> Any:
    """The GraphDef of a graph: all operations, or those added since `graph.version` was `from_version`."""
    found = proto("graph").GraphDef()
    found.versions.producer = PRODUCER
    for op in graph.get_operations()[from_version or 0 :]:
        found.node.append(node_def(op, add_shapes))
    return found
