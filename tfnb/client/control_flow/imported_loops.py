"""Loops of imported graphs: their contexts are derived from the structure of the graph (white paper, section 4.4).

A file holds Enter, Merge, Switch, NextIteration and Exit nodes, but not the objects that gradients need. This module
creates them from the nodes. Invariant: a loop whose nodes allow more than one reading gets no context but the reason,
which becomes the error message when a program differentiates the loop.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from tfnb.client.control_flow.control_context import CONTEXT, Context, Detached, context_of
from tfnb.client.control_flow.while_context import LOOP, WhileContext
from tfnb.client.gradients.backward_loop import SAVED, BackwardLoop, unswitched
from tfnb.ir.builder import GraphBuilder, claim_frame
from tfnb.ir.opdef import Kind
from tfnb.ir.operation import Operation
from tfnb.ir.operation_keys import PIVOT
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.control_flow.loop_stack import LOOP_STACK, LOOP_STACK_POP, LOOP_STACK_PUSH
from tfnb.ops.control_flow.switch_merge import CONTROL_TRIGGER, EXIT, SWITCH

__all__ = ["UNCLEAR", "restore_loops"]

UNCLEAR = "unclear"  # key in Operation.extra of the Exits of a loop without context: the reason why it has none
_ROUNDS = 100  # nested loops that are connected only by control edges need one round for each level


class _Unclear(Exception):
    """The nodes of a frame do not determine the loop."""


def restore_loops(graph: GraphBuilder, ops: Sequence[Operation]) -> list[WhileContext]:
    """Creates the contexts of the loops among newly added operations, for those loops that the nodes determine.

    Each operation in `ops` comes after its inputs, except for the edges that close loops.
    """
    enters = [op for op in ops if op.opdef.kind is Kind.ENTER and LOOP not in op.extra]
    if not enters:
        return []
    frames = _Frames(ops)
    loops: dict[str, WhileContext] = {}
    enclosing = graph.scopes.control_flow
    for name in frames.outermost_first():
        _name_apart(graph, name, frames.enters[name])
        loop_ops = [op for op in ops if frames.inside.get(op) == name]
        outer = loops.get(frames.parents[name], enclosing)
        try:
            if frames.parents[name] and frames.parents[name] not in loops:
                raise _Unclear("it lies in a loop that is not clear")
            loops[name] = _restored(graph, outer, frames.enters[name], loop_ops)
        except _Unclear as problem:
            for op in loop_ops:
                op.extra.pop(CONTEXT, None)
                for reader in (c for t in op.outputs for c in t.consumers() if c.opdef.kind is Kind.EXIT):
                    reader.extra[UNCLEAR] = f"the loop of the frame {name!r} was imported, and {problem}"
    _restore_stacks(ops)
    return list(loops.values())


class _Frames:
    """The frame in which each operation runs ("" is the outermost), and the frame around each frame."""

    def __init__(self, ops: Sequence[Operation]) -> None:
        self.inside: dict[Operation, str] = {}
        self.into = {op: op.attrs.frame_name for op in ops if op.opdef.kind is Kind.ENTER}
        self.parents: dict[str, str] = dict.fromkeys(self.into.values(), "")
        self.enters = {name: [op for op, frame in self.into.items() if frame == name] for name in self.parents}
        for _ in range(_ROUNDS):
            if not self._spread(ops):
                break

    def _spread(self, ops: Sequence[Operation]) -> bool:
        changed = False
        for op in ops:
            sources = [self._of_output(source) for source in (*(t.op for t in op.inputs), *op.control_inputs)]
            frame = max(sources, key=self.depth, default="")
            if op.opdef.kind is Kind.EXIT:
                frame = self.parents.get(frame, "")
            if self.depth(frame) > self.depth(self.inside.get(op, "")):
                self.inside[op] = frame
                changed = True
            if op.opdef.kind is Kind.ENTER:
                outer_frame = self.inside.get(op, "")
                name = self.into[op]
                if self.depth(outer_frame) > self.depth(self.parents[name]) and outer_frame != name:
                    self.parents[name] = outer_frame
                    changed = True
        return changed

    def _of_output(self, op: Operation) -> str:
        """Returns the frame in which the outputs of an operation are."""
        return self.into.get(op) or self.inside.get(op, "")

    def depth(self, name: str) -> int:
        """Returns how many frames there are around the contents of a frame, itself included."""
        level = 0
        while name and level <= len(self.parents):
            name, level = self.parents[name], level + 1
        return level

    def outermost_first(self) -> list[str]:
        """Returns the names of the frames; each comes after the frame around it."""
        return sorted(self.parents, key=self.depth)


def _name_apart(graph: GraphBuilder, name: str, enters: Sequence[Operation]) -> None:
    """Renames the frame where the graph has one of this name already, because two loops of one frame would run as
    one.
    """
    unique = claim_frame(graph, name)
    if unique != name:
        for op in enters:
            op.attrs = dataclasses.replace(op.attrs, frame_name=unique)


def _restored(
    graph: GraphBuilder, outer: Context | None, enters: Sequence[Operation], own: Sequence[Operation]
) -> WhileContext:
    loop_conds = [op for op in own if op.opdef.kind is Kind.LOOP_COND]
    if len(loop_conds) != 1:
        raise _Unclear(f"it has {len(loop_conds)} LoopCond nodes where a loop has one")
    variables, constants = [], []
    for enter in enters:
        merges = [c for c in enter.y.consumers() if c.opdef.kind is Kind.MERGE and _closes(c)]
        if len(merges) > 1 or (merges and len(enter.y.consumers()) > 1):
            raise _Unclear(f"its {enter.name!r} begins more than one loop variable")
        if merges:
            variables.append((enter, merges[0]))
        else:
            constants.append(enter)
    takes_saved = any(op.opdef is LOOP_STACK_POP for op in own)
    loop = _blank(BackwardLoop if takes_saved else WhileContext, graph, outer, enters[0])
    loop.pred = loop_conds[0].y
    for op in own:
        op.extra[CONTEXT] = loop
    for enter, merge in variables:
        _add_variable(loop, enter, merge)
    for enter in constants:
        outside = enter.inputs[0] if enter.inputs[0] not in loop.entered else enter.y
        loop.entered[outside] = enter.y
        loop.made_outside.add(enter.y)
        loop._constants.add(enter.y)
    if not loop.inputs:
        raise _Unclear("it has no loop variable")
    loop.pivot = loop.inputs[0]
    condition = _computing(loop.pred.op, set(own))
    for op in own:
        op.extra[PIVOT] = (loop.merges[0] if op in condition else loop.pivot).op
    for op in (*enters, *(t.op for t in loop.exits)):
        op.extra[LOOP] = loop
    return loop


def _computing(pred: Operation, own: set[Operation]) -> set[Operation]:
    """Returns the operations of a loop that compute its condition."""
    predicate_ops: set[Operation] = set()
    stack = [pred]
    while stack:
        op = stack.pop()
        if op in own and op not in predicate_ops and op.opdef.kind is not Kind.MERGE:
            predicate_ops.add(op)
            stack += [t.op for t in op.inputs]
    return predicate_ops


def _blank(kind: type[Any], graph: GraphBuilder, outer: Context | None, enter: Operation) -> Any:
    """Returns a context without loop variables, for the frame into which `enter` leads."""
    loop: Any = object.__new__(kind)
    WhileContext.__init__(loop, graph, enter.attrs.parallel_iterations, name="imported")
    loop.name = enter.attrs.frame_name
    loop.outer = outer
    return loop


def _closes(merge: Operation) -> bool:
    return len(merge.inputs) == 2 and any(t.op.opdef.kind is Kind.NEXT_ITERATION for t in merge.inputs)


def _add_variable(loop: WhileContext, enter: Operation, merge: Operation) -> None:
    """Adds a loop variable to the context. A Switch or Exit that the file lacks, because nothing reads it, is
    created.
    """
    value = merge.outputs[0]
    switches = [c for c in value.consumers() if c.opdef.kind is Kind.SWITCH and c.inputs[1] == loop.pred]
    if len(switches) > 1 or (switches and switches[0].inputs[0] != value):
        raise _Unclear(f"more than one Switch takes its loop variable {merge.name!r}")
    with Detached(loop.graph, loop):
        exit_value, body_value = switches[0].outputs if switches else SWITCH(value, loop.pred, name="Switch")
        readers = body_value.consumers()
        if len(readers) == 1 and readers[0].opdef is IDENTITY:
            body_value = readers[0].y
    exits = [c for c in exit_value.consumers() if c.opdef.kind is Kind.EXIT]
    if len(exits) > 1:
        raise _Unclear(f"its loop variable {merge.name!r} has more than one Exit")
    with Detached(loop.graph, loop.outer):
        loop.exits.append(exits[0].y if exits else EXIT(exit_value, name="Exit"))
    next_iteration = next(t.op for t in merge.inputs if t.op.opdef.kind is Kind.NEXT_ITERATION)
    loop.enters.append(enter.y)
    loop.made_outside.add(enter.y)
    loop.merges.append(value)
    loop.inputs.append(body_value)
    loop.results[len(loop.merges) - 1] = next_iteration.inputs[0]


def _restore_stacks(ops: Sequence[Operation]) -> None:
    """Pairs the operations that save and that read each tensor of a forward loop, if the file holds backward loops
    too.
    """
    pushes: dict[tuple[Operation, int], Operation] = {}
    remaining = [op for op in ops if op.opdef in (LOOP_STACK_PUSH, LOOP_STACK_POP)]
    while remaining:
        deferred = []
        for op in remaining:
            stack = _stack_of(op.inputs[0])
            push = op if op.opdef is LOOP_STACK_PUSH else pushes.get((stack, op.attrs.slot))
            if stack is None or push is None:
                deferred.append(op)  # the handle itself was saved on another stack
            elif push is op:
                pushes[stack, op.attrs.slot] = op
            else:
                _connect(stack, push, op)
        if len(deferred) == len(remaining):
            return
        remaining = deferred


def _stack_of(handle: Tensor) -> Any:
    """Returns the LoopStack operation of a handle, or None where it is not known yet."""
    while handle.op.opdef is not LOOP_STACK:
        if handle.op.opdef is LOOP_STACK_POP:
            if SAVED not in handle.op.extra:
                return None
            handle = handle.op.extra[SAVED].push.inputs[2]
        elif handle.op.inputs:
            handle = handle.op.inputs[0]
        else:
            return None
    return handle.op


def _connect(stack: Operation, push: Operation, pop: Operation) -> None:
    forward, backward = _loop_of(push), _loop_of(pop)
    if forward is None or not isinstance(backward, BackwardLoop):
        return
    trigger = next((op for op in _trigger_readers(push, forward)), None)
    if trigger is None:
        return
    backward.resume(forward, stack.y, trigger, push, pop)


def _loop_of(op: Operation) -> Any:
    context = context_of(op)
    while context is not None and not context.is_loop:
        context = context.outer
    return context


def _trigger_readers(push: Operation, forward: WhileContext) -> list[Operation]:
    """Returns the operations that count the iterations of the forward loop only where its values are saved."""
    counts = [c for c in unswitched(push.inputs[1]).consumers() if c.opdef.kind is not Kind.EXIT and forward.holds(c)]
    return [t for c in counts for t in c.control_inputs if t.opdef is CONTROL_TRIGGER and push in t.control_inputs]
