"""Operations and tensors of a graph under construction, by name and by their readers.

Many threads may add operations, under one lock; `version` counts them, so that a session knows which ones are new
(Session.Extend, white paper, section 2). Invariant: an operation's id is its place in the order of adding.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Literal, overload

from tfnb.errors import DTypeError, GraphError, InvalidArgumentError, NotFoundError
from tfnb.ir.graphdef.message_types import AttrValue
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.suggestions import did_you_mean
from tfnb.types import DTypeLike
from tfnb.upcalls import upcall

__all__ = ["GraphElements"]

_MOST_COMPARED = 1000  # names, which takes some milliseconds


class GraphElements:
    """The part of a graph that holds its operations, and finds operations and tensors by their names."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._operations: list[Operation] = []
        self._by_name: dict[str, Operation] = {}
        self._consumers: dict[tuple[int, int], list[Operation]] = {}

    @property
    def version(self) -> int:
        """The number of operations, which grows with each operation that is added."""
        return len(self._operations)

    def _add(self, op: Operation) -> None:
        """Gives an operation its id and enters it. The caller holds the lock."""
        op.id = len(self._operations)
        self._operations.append(op)
        self._by_name[op.name] = op
        for t in op.inputs:
            self._consumers.setdefault((t.op.id, t.index), []).append(op)

    def get_operations(self) -> list[Operation]:
        """Returns all operations, in the order in which they were added."""
        with self._lock:
            return list(self._operations)

    def get_operation_by_name(self, name: str) -> Operation:
        """Returns the operation of this name. Raises `NotFoundError` if there is none."""
        return self.as_graph_element(name, allow_tensor=False)

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Returns the tensor "operation:output". Raises `NotFoundError` if there is none."""
        return self.as_graph_element(name, allow_operation=False)

    @overload
    def as_graph_element(
        self, obj: object, allow_tensor: bool = True, *, allow_operation: Literal[False]
    ) -> Tensor: ...
    @overload
    def as_graph_element(
        self, obj: object, allow_tensor: Literal[False], allow_operation: Literal[True] = True
    ) -> Operation: ...
    @overload
    def as_graph_element(
        self, obj: object, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Tensor | Operation: ...
    def as_graph_element(
        self, obj: object, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Tensor | Operation:
        """Returns the Tensor or Operation of this graph for `obj`: a tensor, an operation, a variable, or a name.

        Raises `NotFoundError` for an unknown name, `GraphError` for an element of another graph, `DTypeError`
        for anything else.
        """
        element: object
        if isinstance(obj, (str, bytes)):
            element = self._named(obj if isinstance(obj, str) else obj.decode(), allow_operation)
        elif hasattr(obj, "__tensor__"):
            element = obj.__tensor__(as_ref=True)
        else:
            element = obj
        if (isinstance(element, Tensor) and allow_tensor) or (isinstance(element, Operation) and allow_operation):
            if element.graph is not self:
                raise GraphError(f"{element.name} is not an element of this graph; it is an element of another graph")
            return element
        expected = " or ".join([w for w, ok in (("Tensor", allow_tensor), ("Operation", allow_operation)) if ok])
        raise DTypeError(f"cannot take {type(obj).__name__} {str(obj)[:80]!r} for a {expected}")

    def _named(self, name: str, allow_operation: bool) -> Tensor | Operation:
        op_name, colon, port = name.partition(":")
        op = self._by_name.get(op_name)
        if op is None:
            raise NotFoundError(
                f"Operation not in the graph: the name {name!r} refers to an operation that is not in the graph"
                + did_you_mean(op_name, self._likely(op_name))
            )
        if not colon:
            if not allow_operation:
                raise InvalidArgumentError(f"{name!r} names an operation; a tensor's name is like '{name}:0'")
            return op
        if not port.isdigit() or int(port) >= len(op.outputs):
            raise NotFoundError(f"{name!r}: the operation {op_name!r} has {len(op.outputs)} outputs")
        return op.outputs[int(port)]

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        dtypes: Sequence[DTypeLike] | None = None,
        input_types: Sequence[DTypeLike] | None = None,
        name: str | None = None,
        attrs: Mapping[str, AttrValue] | None = None,
        op_def: object = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Adds an operation of the op named `op_type` and returns it.

        inputs: all its input tensors, one after another. attrs: AttrValue messages by name; type variables that
        determine inputs may be left out, lengths of lists may not. dtypes, input_types: those that outputs and inputs
        must have. op_def: a message that must describe this op. compute_device: apply the device scopes. Shapes are
        always computed, whatever `compute_shapes` is. Raises `GraphError` for an op that does not exist, `DTypeError`
        for an input that is no tensor and for other dtypes, and the errors of the op.
        """
        return upcall("create_op", self, op_type, inputs, dtypes, input_types, name, attrs, op_def, compute_device)

    def _likely(self, name: str) -> list[str]:
        """The names among which one is looked for that `name` was meant as: all, or in a large graph some."""
        with self._lock:
            names = list(self._by_name)
        if len(names) > _MOST_COMPARED:
            last = name.rpartition("/")[2].lower()
            names = [n for n in names if n.rpartition("/")[2].lower().startswith(last[:4])][:_MOST_COMPARED]
        return names

    def consumers(self, tensor: Tensor) -> list[Operation]:
        """Returns the operations that read `tensor`."""
        with self._lock:
            return list(self._consumers.get((tensor.op.id, tensor.index), ()))
