"""Lowering: each outermost loop of a plan becomes one node if none of its nodes finishes later (OSDI'16, section 3.4).

A suitable loop has a Merge of an Enter and a NextIteration for each variable, one LoopCond, and Switches with the
LoopCond as predicate, which pass the variables to the body or out of the loop. Its iterations run one after the other
in a fixed order, and only values that depend on the Switch of a branch may be dead. Invariant: the results equal those
of the propagator, which runs all other loops (with asynchronous nodes, or of another form).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from tfnb.ir.step_graph.order import topological
from tfnb.runtime.loops.form import ImmediateKernel, LoopForm, LoopStep, LoopVariable
from tfnb.runtime.loops.kernel import LoopKernel
from tfnb.runtime.part import Payload
from tfnb.runtime.plan import CONTROL, ROOT, Plan, PlanError, PlanKind, PlanNode, build_plan

__all__ = ["lower_loops"]

_K = PlanKind
_ALLOWED = frozenset(
    (
        _K.CLUSTER,
        _K.HOST,
        _K.NO_OP,
        _K.SWITCH,
        _K.MERGE,
        _K.ENTER,
        _K.EXIT,
        _K.NEXT_ITERATION,
        _K.LOOP_COND,
        _K.CONTROL_TRIGGER,
    )
)


class _Unfit(Exception):
    """The loop does not have the form that runs without a propagator."""


def lower_loops(plan: Plan, payloads: Sequence[Payload]) -> tuple[Plan, tuple[Payload, ...]]:
    """Replaces each suitable outermost loop of a plan by one node; returns the new plan and its payloads."""
    loops: dict[int, _Frame] = {}
    kernels = []
    for table in plan.frames:
        if table.parent == ROOT:
            try:
                frame = _Frame(plan, payloads, table.index)
                kernels.append(LoopKernel(frame.form()))
            except _Unfit:
                continue
            loops[table.index] = frame
    if not loops:
        return plan, tuple(payloads)
    remaining = [n for n in range(len(plan.nodes)) if _outermost(plan, n) not in loops]
    number = {n: i for i, n in enumerate(remaining)}
    exits = {e: (len(remaining) + i, k) for i, loop in enumerate(loops.values()) for k, e in enumerate(loop.exits)}

    def edge(source: int, slot: int) -> tuple[int, int]:
        return exits[source] if source in exits else (number[source], slot)

    def moved(node: PlanNode) -> PlanNode:
        inputs = tuple(edge(*e) for e in node.inputs)
        control = tuple(dict.fromkeys(edge(c, 0)[0] for c in node.control))
        return replace(node, inputs=inputs, control=control)

    nodes = [moved(plan.nodes[n]) for n in remaining]
    for loop in loops.values():
        inputs = tuple(plan.nodes[e].inputs[0] for e in loop.enters)
        control = tuple(c for e in loop.enters for c in plan.nodes[e].control)
        nodes.append(moved(PlanNode(_K.LOOP, len(loop.exits), inputs, control, loop.table.name)))
    fetches = tuple(edge(*f) for f in plan.fetches)
    try:
        lowered = build_plan(nodes, fetches)
    except PlanError:  # a path leads from an Exit of a loop to one of its own Enters
        return plan, tuple(payloads)
    return lowered, (*(payloads[n] for n in remaining), *kernels)


def _outermost(plan: Plan, n: int) -> int:
    """The frame of the outermost loop that has node `n`, or the root. An Enter belongs to the loop that it enters."""
    frame = plan.out_frame[n] if plan.nodes[n].kind == _K.ENTER else plan.place[n][0]
    while frame != ROOT and plan.frames[frame].parent != ROOT:
        frame = plan.frames[frame].parent
    return frame


class _Frame:
    """Converts one frame of a plan to a `LoopForm`. Raises `_Unfit` for an unsuitable frame.

    A *unit* becomes one step. It is a node, or a whole inner loop, which is identified by its first Enter.
    """

    def __init__(self, plan: Plan, payloads: Sequence[Payload], frame: int) -> None:
        self.plan, self.payloads, self.frame = plan, payloads, frame
        self.table = plan.frames[frame]
        self.members = self.table.nodes
        for n in self.members:
            if plan.nodes[n].kind not in _ALLOWED:
                raise _Unfit
            if getattr(payloads[n], "expensive", False):  # a deadline could not interrupt it
                raise _Unfit
        self.enters = tuple(
            n for n, node in enumerate(plan.nodes) if node.kind == _K.ENTER and plan.out_frame[n] == frame
        )
        self.exits = tuple(self.table.nodes[n] for n in self.table.exits)
        self.registers: dict[tuple[int, int], int] = {}
        self.inner: dict[int, _Frame] = {}  # unit -> the loop inside
        self.unit_of: dict[int, int] = {}  # Enter or Exit of a loop inside -> its unit
        for table in plan.frames:
            if table.parent == frame:
                inner = _Frame(plan, payloads, table.index)
                self.inner[inner.enters[0]] = inner
                self.unit_of.update(dict.fromkeys((*inner.enters, *inner.exits), inner.enters[0]))
        self.loop_cond = self._loop_cond()
        self.loop_switches = {n for n in self.members if self._is_loop_switch(n)}
        self.loop_merges = self._loop_merges()

    def form(self) -> LoopForm:
        """The form of the loop. Raises `_Unfit`."""
        plan = self.plan
        order = self._order()
        body = self._body(order)
        if self.loop_cond in body or body.intersection(self.loop_merges) or not self._is_guarded(body):
            raise _Unfit
        steps = self._steps(order)
        places = {e: k for k, e in enumerate(self.enters)}
        variables = []
        constants = [(k, self._register(e, 0)) for e, k in places.items() if plan.nodes[e].is_constant]
        for m in self.loop_merges:
            (enter, _), (next_iteration, _) = plan.nodes[m].inputs
            variable = LoopVariable(places[enter], self._register(m, 0), self._input(next_iteration))
            if variable.register == variable.next_iteration:
                constants.append((variable.place, variable.register))
            else:
                variables.append(variable)
        results = tuple(self._result(e) for e in self.exits)
        predicate = self._register(self.loop_cond, 0)
        nodes = {n: node for n in self.members if (node := getattr(self.payloads[n], "node", None)) is not None}
        return LoopForm(
            self.table.name,
            len(self.registers),
            tuple(constants),
            tuple(variables),
            tuple(s for n, s in steps if n not in body),
            predicate,
            tuple(s for n, s in steps if n in body),
            results,
            nodes,
        )

    # ---- suitable loops --------------------------------------------------------------------

    def _loop_cond(self) -> int:
        conds = [n for n in self.members if self.plan.nodes[n].kind == _K.LOOP_COND]
        if len(conds) != 1:
            raise _Unfit
        return conds[0]

    def _is_loop_switch(self, n: int) -> bool:
        node = self.plan.nodes[n]
        return node.kind == _K.SWITCH and node.inputs[1] == (self.loop_cond, 0)

    def _loop_merges(self) -> tuple[int, ...]:
        """The Merges of the loop variables. Raises `_Unfit` unless each has an Enter and a NextIteration as inputs."""
        merges = []
        for n in self.members:
            node = self.plan.nodes[n]
            if node.kind != _K.MERGE:
                continue
            kinds = [self.plan.nodes[source].kind for source, _ in node.inputs]
            if _K.NEXT_ITERATION in kinds or _K.ENTER in kinds:
                if kinds != [_K.ENTER, _K.NEXT_ITERATION] or node.control:
                    raise _Unfit
                merges.append(n)
        return tuple(merges)

    def _is_guarded(self, body: set[int]) -> bool:
        """Returns whether no Switch of the loop needs a unit of the body, and only Exits read their false outputs."""
        switches = self.loop_switches
        if any(s in body for n in switches for s in self.waits[n]):
            return False
        for n in self.members:
            node = self.plan.nodes[n]
            if any(c in switches for c in node.control):
                return False
            if node.kind != _K.EXIT and any(s in switches and slot == 0 for s, slot in node.inputs):
                return False
        return True

    def _result(self, exit_: int) -> int:
        source, slot = self.plan.nodes[exit_].inputs[0]
        if source not in self.loop_switches or slot != 0:
            raise _Unfit
        return self._input(source)

    # ---- order -----------------------------------------------------------------------------

    def _units(self, sources: Sequence[int]) -> list[int]:
        """The units of some source nodes. The loop's own Enters are left out, because their values are always there."""
        units = []
        for s in sources:
            if self.plan.nodes[s].kind == _K.ENTER and self.plan.out_frame[s] == self.frame:
                continue
            if s in self.unit_of and self.plan.nodes[s].kind == _K.EXIT:
                units.append(self.unit_of[s])
            elif self.plan.place[s][0] == self.frame and s not in self.unit_of:
                units.append(s)
            else:
                raise _Unfit
        return units

    def _order(self) -> list[int]:
        """The units in a topological order. Stores in `waits` the units for which each unit waits."""
        nodes = self.plan.nodes
        waits: dict[int, list[int]] = {}
        for n in self.members:
            if n not in self.unit_of and nodes[n].kind not in (_K.EXIT, _K.NEXT_ITERATION):
                sources = [] if n in self.loop_merges else [*(s for s, _ in nodes[n].inputs), *nodes[n].control]
                waits[n] = self._units(sources)
        for unit, loop in self.inner.items():
            sources = [s for e in loop.enters for s in (nodes[e].inputs[0][0], *nodes[e].control)]
            waits[unit] = self._units(sources)
        if any(s not in waits for sources in waits.values() for s in sources):
            raise _Unfit
        order, stuck = topological(waits)
        if stuck:
            raise _Unfit
        self.waits = waits
        return order

    def _body(self, order: Sequence[int]) -> set[int]:
        """The units that run only if the loop continues: those that depend on its Switches."""
        body: set[int] = set()
        for n in order:
            if n not in self.loop_switches and any(s in self.loop_switches or s in body for s in self.waits[n]):
                body.add(n)
        return body

    # ---- steps -----------------------------------------------------------------------------

    def _register(self, node: int, slot: int) -> int:
        """The register of output `slot` of a node. A node that only passes a value on has the register of its input."""
        kind = self.plan.nodes[node].kind
        if kind == _K.LOOP_COND or (slot == 1 and node in self.loop_switches):
            return self._input(node)
        return self.registers.setdefault((node, slot), len(self.registers))

    def _input(self, n: int) -> int:
        """The register of a node's first input."""
        return self._register(*self.plan.nodes[n].inputs[0])

    def _steps(self, order: Sequence[int]) -> list[tuple[int, LoopStep]]:
        can_die: set[int] = set()  # units whose outputs can be dead
        steps = []
        for n in order:
            if n in self.loop_switches or n in self.loop_merges or n == self.loop_cond:
                continue
            step = self._inner_step(n) if n in self.inner else self._step(n)
            step.may_be_dead = self._may_be_dead(n, step, can_die)
            if step.may_be_dead or step.kind == _K.SWITCH:
                can_die.add(n)
            steps.append((n, step))
        flags: dict[int, int] = {}  # unit -> the register that is dead exactly when the unit is
        for n, step in steps:
            if step.may_be_dead:
                control_units = [c for c in self._units(self._control(n)) if c in can_die]
                step.control = tuple(flags.setdefault(c, self._register(c, CONTROL)) for c in control_units)
        for n, step in steps:
            step.flag = flags.get(n, -1)
        return steps

    def _may_be_dead(self, n: int, step: LoopStep, can_die: set[int]) -> bool:
        if step.kind == _K.CONTROL_TRIGGER:
            return False
        if step.kind == _K.MERGE:  # an input from a constant Enter is never dead
            data = self._units([s for s, _ in self.plan.nodes[n].inputs])
            return len(data) == len(step.inputs) and all(s in can_die for s in data)
        return any(s in can_die for s in self.waits[n])

    def _control(self, n: int) -> Sequence[int]:
        if n not in self.inner:
            return self.plan.nodes[n].control
        return [c for e in self.inner[n].enters for c in self.plan.nodes[e].control]

    def _step(self, n: int) -> LoopStep:
        node = self.plan.nodes[n]
        inputs = tuple(self._register(*e) for e in node.inputs)
        outputs = tuple(self._register(n, k) for k in range(node.n_outputs))
        kernel = cast(ImmediateKernel, self.payloads[n]) if node.kind in (_K.CLUSTER, _K.HOST) else None
        return LoopStep(node.kind, n, inputs, outputs, kernel)

    def _inner_step(self, n: int) -> LoopStep:
        loop = self.inner[n]
        inputs = tuple(self._input(e) for e in loop.enters)
        outputs = tuple(self._register(e, 0) for e in loop.exits)
        return LoopStep(_K.LOOP, n, inputs, outputs, loop=LoopKernel(loop.form()))
