"""`Graph.create_op`: a node by the name of its op and AttrValue messages, as in a GraphDef (white paper, section 2).

Invariant: the node is read like one of a file, so that its attributes have the declared kinds and defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from tfnb.client.graph.graph_def import find_op
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.builder import GraphBuilder, all_or_nothing
from tfnb.ir.graphdef.decode import add_nodes
from tfnb.ir.graphdef.message_types import AttrValue, OpDefMessage
from tfnb.ir.graphdef.parse import Link
from tfnb.ir.operation import Operation
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Tensor
from tfnb.types import DTypeLike, as_dtype

__all__ = ["OPERATORS"]


def create_op(
    graph: GraphBuilder,
    op_type: str,
    inputs: Sequence[Tensor],
    dtypes: Sequence[DTypeLike] | None,
    input_types: Sequence[DTypeLike] | None,
    name: str | None,
    attrs: Mapping[str, AttrValue] | None,
    op_def: OpDefMessage | None,
    compute_device: bool,
) -> Operation:
    """Adds an operation to `graph`; see `GraphElements.create_op`."""
    for k, t in enumerate(inputs):
        if not isinstance(t, Tensor):
            raise DTypeError(f"Graph.create_op({op_type!r}): Input #{k} is not a tensor: {t!r}")
    if op_def is not None and op_def.name != op_type:
        raise InvalidArgumentError(f"Graph.create_op({op_type!r}): op_def describes {op_def.name!r}")
    if input_types is not None:
        _compare(op_type, "input_types", input_types, inputs)
    node = proto("node_def").NodeDef(op=op_type, input=[t.name for t in inputs])
    for key, value in (attrs or {}).items():
        node.attr[key].CopyFrom(value)
    links = {Link(t.op.name, t.value_index): t for t in inputs}
    title = name or op_type
    with all_or_nothing(graph), nullcontext() if compute_device else graph.device(None):
        node.name = title[:-1] if title.endswith("/") else graph.unique_name(title)
        made: Operation = add_nodes(graph, [node], find_op, links)(node.name)
        if dtypes is not None:
            _compare(op_type, "dtypes", dtypes, made.outputs)
    return made


def _compare(op_type: str, what: str, wanted: Sequence[DTypeLike], found: Sequence[Tensor]) -> None:
    names = [as_dtype(d).base_dtype.name for d in wanted]
    actual = [t.dtype.name for t in found]
    if names != actual:
        raise DTypeError(f"Graph.create_op({op_type!r}): {what} are {names}, but its tensors are of {actual}")


OPERATORS: dict[str, Any] = {"create_op": create_op}
"""What the class of graphs calls, which is in a lower layer."""
