"""WhileContextDef and CondContextDef: TensorFlow's messages with what gradients need to know of loops and branches.

A MetaGraphDef holds them in two collections. Invariant: the message types have TensorFlow's field numbers and are in a
descriptor pool of their own, so that TensorFlow may be imported in the same process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from tfnb.client.control_flow.control_context import CondContext, context_of
from tfnb.client.control_flow.while_context import LOOP, WhileContext
from tfnb.client.gradients.backward_loop import BackwardLoop
from tfnb.errors import DataLossError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.graphdef.message_types import Message, Repeated
from tfnb.ir.tensor import Tensor

__all__ = ["context_messages", "restored_loops"]

# type and number of each field; "*" marks a list
_MESSAGES = {
    "Pair": {"key": ("string", 1), "value": ("string", 2)},  # an entry of a map
    "ValuesDef": {"values": ("string*", 1), "external_values": ("Pair*", 2)},
    "ControlFlowContextDef": {"cond_ctxt": ("CondContextDef", 1), "while_ctxt": ("WhileContextDef", 2)},
    "CondContextDef": {
        "context_name": ("string", 1),
        "pred_name": ("string", 2),
        "pivot_name": ("string", 3),
        "branch": ("int32", 4),
        "values_def": ("ValuesDef", 5),
        "nested_contexts": ("ControlFlowContextDef*", 6),
    },
    "WhileContextDef": {
        "context_name": ("string", 1),
        "parallel_iterations": ("int32", 2),
        "back_prop": ("bool", 3),
        "swap_memory": ("bool", 4),
        "pivot_name": ("string", 5),
        "pivot_for_pred_name": ("string", 6),
        "pivot_for_body_name": ("string", 7),
        "loop_exit_names": ("string*", 8),
        "values_def": ("ValuesDef", 9),
        "loop_enter_names": ("string*", 10),
        "maximum_iterations_name": ("string", 11),
        "nested_contexts": ("ControlFlowContextDef*", 12),
    },
}


class ValuesDef(Protocol):
    """The names of the tensors of a context, and those outside that have another name in it."""

    values: MutableSequence[str]
    external_values: Repeated[Any]


class ContextDef(Message, Protocol):
    """A branch or a loop, with those in it."""

    nested_contexts: Repeated[Message]


def _message(name: str) -> Any:
    """Returns the message class of this name."""
    descriptor = _pool().FindMessageTypeByName(f"tfnb.{name}")
    return import_module("google.protobuf.message_factory").GetMessageClass(descriptor)


@cache
def _pool() -> Any:
    descriptor_pb2 = import_module("google.protobuf.descriptor_pb2")
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="tfnb/control_flow.proto", package="tfnb", syntax="proto3")
    for message, fields in _MESSAGES.items():
        message_type = file.message_type.add(name=message)
        for field, (kind, number) in fields.items():
            base_kind = kind.rstrip("*")
            added = message_type.field.add(name=field, number=number)
            added.label = kinds.LABEL_REPEATED if kind.endswith("*") else kinds.LABEL_OPTIONAL
            if base_kind in _MESSAGES:
                added.type, added.type_name = kinds.TYPE_MESSAGE, f".tfnb.{base_kind}"
            else:
                added.type = getattr(kinds, f"TYPE_{base_kind.upper()}")
    pool = import_module("google.protobuf.descriptor_pool").DescriptorPool()
    pool.Add(file)
    return pool


# writing


def context_messages(contexts: Iterable[Any], scope: str = "") -> list[Any]:
    """Returns the messages of contexts; a context in another context becomes a part of the other's message.

    scope: only contexts below this scope are written, and their names are without it.
    """
    outermost = [c for c in contexts if c.outer is None]
    if not outermost:
        return []
    inner: dict[Any, dict[Any, None]] = {}
    tensors: dict[Any, list[Tensor]] = {}
    for op in outermost[0].graph.get_operations():
        context = context_of(op)
        tensors.setdefault(context, []).extend(op.outputs)
        while context is not None:
            inner.setdefault(context.outer, {})[context] = None
            context = context.outer
    writing = _Writing(scope, inner, tensors)
    return [writing.message(c) for c in outermost if c.pred.op.name.startswith(scope)]


def _name(context: Any) -> str:
    return str(context.name if context.is_loop else context.pivot.op.name)


class _Writing:
    """Writes messages. `inner` are the contexts directly in each context, `tensors` the tensors created directly in
    it.
    """

    def __init__(self, scope: str, inner: dict[Any, Any], tensors: dict[Any, list[Tensor]]) -> None:
        self.scope = scope
        self.inner = inner
        self.tensors = tensors

    def message(self, context: Any) -> Any:
        """Returns the WhileContextDef or CondContextDef of a context."""
        result = self._loop(context) if context.is_loop else self._branch(context)
        result.context_name = self.named(_name(context))
        self._values(result.values_def, context)
        for c in self.inner.get(context, ()):
            if not isinstance(c, BackwardLoop):
                field = "while_ctxt" if c.is_loop else "cond_ctxt"
                getattr(result.nested_contexts.add(), field).CopyFrom(self.message(c))
        return result

    def named(self, name: str) -> str:
        """Returns the name without the prefix of the scope."""
        return name.removeprefix(self.scope)

    def _loop(self, loop: WhileContext) -> Any:
        return _message("WhileContextDef")(
            parallel_iterations=loop.parallel_iterations,
            back_prop=loop.back_prop,
            swap_memory=loop.swap_memory,
            pivot_name=self.named(loop.pred.name),
            pivot_for_pred_name=self.named(loop.merges[0].name),
            pivot_for_body_name=self.named(loop.inputs[0].name),
            loop_exit_names=[self.named(t.name) for t in loop.exits],
            loop_enter_names=[self.named(t.name) for t in loop.enters],
        )

    def _branch(self, branch: CondContext) -> Any:
        return _message("CondContextDef")(
            pred_name=self.named(branch.pred.name), pivot_name=self.named(branch.pivot.name), branch=branch.branch
        )

    def _values(self, into: ValuesDef, context: Any) -> None:
        boundary = [*context.enters, *context.exits] if context.is_loop else [context.pivot]
        entered = {t.name: inner.name for t, inner in context.entered.items() if t != inner}
        tensor_names = [t.name for t in (*boundary, *self.tensors.get(context, ()))]
        into.values.extend(self.named(n) for n in dict.fromkeys([*tensor_names, *entered, *entered.values()]))
        for outside, inner in entered.items():
            into.external_values.add(key=self.named(outside), value=self.named(inner))


# reading


def restored_loops(graph: GraphBuilder, kind: str, contents: Sequence[bytes], scope: str) -> list[WhileContext]:
    """Returns the loops of messages (`kind`: WhileContextDef or CondContextDef) and sets what only the messages say.

    Raises `NotFoundError` when a message names a node that is not in the graph, and `DataLossError` for bytes that are
    not a message.
    """
    loops: dict[WhileContext, None] = {}
    for content in contents:
        message = _message(kind)()
        try:
            message.ParseFromString(content)
        except Exception as e:  # the class of protobuf's error depends on its implementation
            raise DataLossError(f"{len(content)} bytes that are no {kind}: {e}") from None
        for context in _all(message):
            for name in context.loop_enter_names:
                loop = graph.get_tensor_by_name(scope + name).op.extra.get(LOOP)
                if loop is not None:
                    loop.back_prop, loop.swap_memory = context.back_prop, context.swap_memory
                    loops[loop] = None
    return list(loops)


def _all(message: ContextDef) -> Iterator[Any]:
    """Returns the loops of a message: its own, and those nested in it at any depth."""
    stack = [message]
    while stack:
        context = stack.pop()
        if context.DESCRIPTOR.name == "WhileContextDef":
            yield context
        for nested in context.nested_contexts:
            stack += [getattr(nested, f) for f in ("while_ctxt", "cond_ctxt") if nested.HasField(f)]
