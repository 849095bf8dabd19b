"""Loops without a propagator: a loop whose nodes all finish at once runs as a list of steps (OSDI'16, section 3.4).

A plan's outermost loop becomes one node. Its iterations run one after the other: the steps of the condition, then
those of the body, in a fixed order over numbered registers; only behind a branch's Switch may tokens be dead.
Invariant: results are those of the propagator, which runs the loops that do not fit (asynchronous nodes, other
shapes of loops).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tfnb.runtime.frames import DEAD
from tfnb.runtime.kernels import reraise
from tfnb.runtime.loop_steps import CALL, COPY, LOOP, MERGE, SWITCH, TRIGGER, LoopStep
from tfnb.runtime.plan import ROOT, Plan, PlanError, PlanKind, PlanNode, build_plan
from tfnb.runtime.scalar_loop import ScalarLoop
from tfnb.runtime.scalars import ScalarKernel
from tfnb.runtime.values import index_value, truth
from tfnb.runtime.written_loop import write_loop

__all__ = ["LoopKernel", "linearize"]

_K = PlanKind
_ALLOWED = frozenset(
    (_K.CLUSTER, _K.HOST, _K.NO_OP, _K.SWITCH, _K.MERGE, _K.ENTER, _K.EXIT, _K.NEXT_ITERATION,
     _K.LOOP_COND, _K.CONTROL_TRIGGER)
)  # fmt: skip


class _Unfit(Exception):
    """The loop is not of the form that runs here."""


@dataclass(slots=True)
class LoopKernel:
    """A loop as one kernel: its inputs are those of `enters`, its outputs the values of `exits`."""

    node: Any
    name: str
    enters: tuple[int, ...]
    exits: tuple[int, ...]
    n_registers: int = 0
    constants: tuple[tuple[int, int], ...] = ()  # (place among inputs, register)
    begin: tuple[tuple[int, int], ...] = ()  # (place among inputs, register of a Merge)
    before: tuple[LoopStep, ...] = ()  # the condition
    pred: int = 0
    taken: tuple[tuple[int, int], ...] = ()  # (register, register on the taken side of the loop's Switch)
    body: tuple[LoopStep, ...] = ()
    following: tuple[tuple[int, int], ...] = ()  # (register, register of a Merge in the next iteration)
    results: tuple[int, ...] = ()  # registers, in the order of `exits`
    nodes: dict[int, Any] = field(default_factory=dict)  # plan node -> graph node, for messages
    scalars: Any = None  # the loop as a `ScalarLoop`, and the dtypes of its results
    written: Any = None  # the loop as one function, once it has run; False where it cannot be one
    expensive: bool = False

    def run(
        self, inputs: Sequence[Any], recorder: Any = None, check: Callable[[], None] | None = None
    ) -> list[Any]:
        """The whole loop. `check` raises when the step shall stop."""
        if self.scalars is not None:
            return self._run_scalars(inputs, check)
        if recorder is None and self.written is not False:
            if self.written is None:
                self.written = write_loop(self) or False
            if self.written:
                return self.written(inputs, check)
        values: list[Any] = [None] * self.n_registers
        for k, r in self.constants:
            values[r] = inputs[k]
        for k, r in self.begin:
            values[r] = inputs[k]
        taken, following, pred = self.taken, self.following, self.pred
        while True:
            if check is not None:
                check()
            self._steps(self.before, values, recorder, check)
            if not truth(values[pred]):
                return [values[r] for r in self.results]
            for source, target in taken:
                values[target] = values[source]
            self._steps(self.body, values, recorder, check)
            moved = [values[source] for source, _ in following]
            for (_, target), value in zip(following, moved, strict=True):
                values[target] = value

    def _run_scalars(self, inputs: Sequence[Any], check: Callable[[], None] | None) -> list[Any]:
        loop, dtypes = self.scalars
        found = loop.run([inputs[k] for k, _ in (*self.constants, *self.begin)], check)
        return [np.array(x, d) for x, d in zip(found, dtypes, strict=True)]

    def _steps(self, steps: Sequence[LoopStep], values: list[Any], recorder: Any, check: Any) -> None:
        step = None
        try:
            for step in steps:
                inputs = [values[r] for r in step.inputs]
                if step.flag >= 0:
                    values[step.flag] = None
                if step.risky and step.code != MERGE and _is_dead(step, inputs, values):
                    _kill(step, values)
                elif step.code == CALL:
                    for r, value in zip(step.outputs, step.run(inputs, recorder), strict=False):
                        values[r] = value
                else:
                    _OTHERS[step.code](step, inputs, values, recorder, check)
                for r in step.last:
                    values[r] = None
        except Exception as e:
            assert step is not None
            reraise(e, self.nodes.get(step.node) or self.node)


def _is_dead(step: LoopStep, inputs: list[Any], values: list[Any]) -> bool:
    if step.code == TRIGGER:
        return False
    return any(v is DEAD for v in inputs) or any(values[r] is DEAD for r in step.control)


def _kill(step: LoopStep, values: list[Any]) -> None:
    for r in step.outputs:
        values[r] = DEAD
    if step.flag >= 0:
        values[step.flag] = DEAD


def _switch(step: LoopStep, inputs: list[Any], values: list[Any], recorder: Any, check: Any) -> None:
    value, pred = inputs
    taken = truth(pred)
    when_false, when_true = step.outputs
    values[when_false], values[when_true] = (DEAD, value) if taken else (value, DEAD)


def _merge(step: LoopStep, inputs: list[Any], values: list[Any], recorder: Any, check: Any) -> None:
    for k, value in enumerate(inputs):
        if value is not DEAD:
            values[step.outputs[0]] = value
            values[step.outputs[1]] = index_value(k)
            return
    _kill(step, values)


def _copy(step: LoopStep, inputs: list[Any], values: list[Any], recorder: Any, check: Any) -> None:
    for r, value in zip(step.outputs, inputs, strict=False):
        values[r] = value


def _trigger(step: LoopStep, inputs: list[Any], values: list[Any], recorder: Any, check: Any) -> None:
    return


def _loop(step: LoopStep, inputs: list[Any], values: list[Any], recorder: Any, check: Any) -> None:
    for r, value in zip(step.outputs, step.run(inputs, recorder, check), strict=False):
        values[r] = value


_OTHERS: dict[int, Callable[..., None]] = {
    SWITCH: _switch, MERGE: _merge, COPY: _copy, TRIGGER: _trigger, LOOP: _loop,
}  # fmt: skip


# ---- from a plan ---------------------------------------------------------------------------------


def linearize(plan: Plan, payloads: Sequence[Any]) -> tuple[Plan, tuple[Any, ...]]:
    """The plan with one node for each outermost loop that fits, and its payloads."""
    loops: dict[int, LoopKernel] = {}
    for table in plan.frames:
        if table.parent == ROOT:
            try:
                loops[table.index] = _Frame(plan, payloads, table.index).kernel()
            except _Unfit:
                continue
    if not loops:
        return plan, tuple(payloads)
    gone = {n for n in range(len(plan.nodes)) if _outermost(plan, n) in loops}
    kept = [n for n in range(len(plan.nodes)) if n not in gone]
    number = {n: i for i, n in enumerate(kept)}
    where = {f: len(kept) + i for i, f in enumerate(loops)}
    exits = {n: (where[f], k) for f, loop in loops.items() for k, n in enumerate(loop.exits)}

    def edge(source: int, slot: int) -> tuple[int, int]:
        return exits[source] if source in exits else (number[source], slot)

    def moved(node: PlanNode) -> PlanNode:
        inputs = tuple(edge(*e) for e in node.inputs)
        control = tuple(dict.fromkeys(edge(c, 0)[0] for c in node.control))
        return replace(node, inputs=inputs, control=control)

    nodes = [moved(plan.nodes[n]) for n in kept]
    for loop in loops.values():
        inputs = tuple(plan.nodes[e].inputs[0] for e in loop.enters)
        control = tuple(c for e in loop.enters for c in plan.nodes[e].control)
        nodes.append(moved(PlanNode(_K.HOST, len(loop.exits), inputs, control, loop.name)))
    fetches = tuple(edge(*f) for f in plan.fetches)
    try:
        made = build_plan(nodes, fetches)
    except PlanError:  # something between a loop's Exit and one of its own Enters
        return plan, tuple(payloads)
    return made, (*(payloads[n] for n in kept), *loops.values())


def _outermost(plan: Plan, n: int) -> int:
    """The loop below the root that a node belongs to, Enters included; the root for others."""
    frame = plan.out_frame[n] if plan.nodes[n].kind == _K.ENTER else plan.place[n][0]
    while frame != ROOT and plan.frames[frame].parent != ROOT:
        frame = plan.frames[frame].parent
    return frame


class _Frame:
    """Lays out one frame of a plan as a `LoopKernel`. Raises `_Unfit`."""

    def __init__(self, plan: Plan, payloads: Sequence[Any], frame: int) -> None:
        self.plan, self.payloads, self.frame = plan, payloads, frame
        self.table = plan.frames[frame]
        self.members = set(self.table.nodes)
        for n in self.members:
            if plan.nodes[n].kind not in _ALLOWED:
                raise _Unfit
            if getattr(payloads[n], "expensive", False):  # a deadline could not end it
                raise _Unfit
        self.enters = tuple(
            n for n, node in enumerate(plan.nodes) if node.kind == _K.ENTER and plan.out_frame[n] == frame
        )
        self.exits = tuple(self.table.nodes[n] for n in self.table.exits)
        self.registers: dict[tuple[int, int], int] = {}
        self.inner: dict[int, LoopKernel] = {}  # frame -> its kernel
        for table in plan.frames:
            if table.parent == frame:
                self.inner[table.index] = _Frame(plan, payloads, table.index).kernel()
        self.opens = {e: f for f, loop in self.inner.items() for e in loop.enters}
        self.leaves = {e: (f, k) for f, loop in self.inner.items() for k, e in enumerate(loop.exits)}

    def register(self, node: int, slot: int) -> int:
        """Where output `slot` of a node is kept; an inner Exit is an output of its loop."""
        return self.registers.setdefault((node, slot), len(self.registers))

    def kernel(self) -> LoopKernel:
        plan = self.plan
        conds = [n for n in self.members if plan.nodes[n].kind == _K.LOOP_COND]
        if len(conds) != 1 or len(plan.nodes[conds[0]].inputs) != 1:
            raise _Unfit
        loop_cond = conds[0]
        doors = {n for n in self.members if self._is_door(n, loop_cond)}
        merges = self._loop_merges()
        order = self._order(merges)
        behind = self._behind(order, doors)
        if any(n in behind for n in (loop_cond, *merges)) or not self._guarded(doors, behind):
            raise _Unfit
        steps = self._all_steps(order, doors, merges, loop_cond)
        self.steps = {n: s for n, s in steps if n >= 0}
        before = [s for n, s in steps if n not in behind]
        body = [s for n, s in steps if n in behind]
        back = [plan.nodes[m].inputs[1] for m in merges]
        following = tuple(
            (self._input(*plan.nodes[source].inputs[0]), self.register(m, 0))
            for (source, _), m in zip(back, merges, strict=True)
        )
        taken = tuple((self._input(*plan.nodes[d].inputs[0]), self.register(d, 1)) for d in sorted(doors))
        results = tuple(self._result(e, doors) for e in self.exits)
        places = {e: k for k, e in enumerate(self.enters)}
        constants = tuple(
            (k, self.register(e, 0)) for e, k in places.items() if plan.nodes[e].is_constant
        )
        begin = tuple((places[plan.nodes[m].inputs[0][0]], self.register(m, 0)) for m in merges)
        pred = self._input(*plan.nodes[loop_cond].inputs[0])
        keep = {r for _, r in (*constants, *begin)} | {r for r, _ in (*taken, *following)} | {*results, pred}
        _free(body, keep)
        named = {n: getattr(self.payloads[n], "node", None) for n in self.members}
        kernel = LoopKernel(
            None, self.table.name, self.enters, self.exits, len(self.registers), constants, begin,
            tuple(before), pred, taken, tuple(body), following, results, named,
        )  # fmt: skip
        kernel.scalars = _as_scalars(kernel, self.scalar_dtypes(merges, results))
        return kernel

    def scalar_dtypes(self, merges: Sequence[int], results: Sequence[int]) -> list[Any]:
        """The dtypes of the results of a loop over scalars; None where they are not known so."""
        known: dict[int, Any] = {}
        for step in (*self.steps.values(),):
            if isinstance(kernel := self.payloads[step.node], ScalarKernel):
                known.update(zip(step.outputs, (s.dtype.np for s in kernel.node.specs), strict=False))
        for m in merges:
            source, _ = self.plan.nodes[m].inputs[1]
            known[self.register(m, 0)] = known.get(self._input(*self.plan.nodes[source].inputs[0]))
        return [known.get(r) for r in results]

    def _guarded(self, doors: set[int], behind: set[int]) -> bool:
        """Do the loop's Switches hand on what is known before the body, and their false sides lead out only?"""
        if any(s in behind for d in doors for s in self.waits[d]):
            return False
        for n in self.members:
            node = self.plan.nodes[n]
            if any(c in doors for c in node.control):
                return False
            if node.kind != _K.EXIT and any(s in doors and slot == 0 for s, slot in node.inputs):
                return False
        return True

    def _is_door(self, n: int, loop_cond: int) -> bool:
        node = self.plan.nodes[n]
        return node.kind == _K.SWITCH and node.inputs[1] == (loop_cond, 0)

    def _loop_merges(self) -> list[int]:
        """The Merges of loop variables: an Enter and a NextIteration."""
        found = []
        for n in sorted(self.members):
            node = self.plan.nodes[n]
            if node.kind != _K.MERGE:
                continue
            kinds = [self.plan.nodes[source].kind for source, _ in node.inputs]
            if _K.NEXT_ITERATION in kinds or _K.ENTER in kinds:
                if kinds != [_K.ENTER, _K.NEXT_ITERATION] or node.control:
                    raise _Unfit
                found.append(n)
        return found

    def _result(self, exit_: int, doors: set[int]) -> int:
        source, slot = self.plan.nodes[exit_].inputs[0]
        if source not in doors or slot != 0:
            raise _Unfit
        return self._input(*self.plan.nodes[source].inputs[0])

    def _sources(self, n: int) -> list[int]:
        """What a member waits for: members, or inner frames as -1 - frame. A constant Enter is always there."""
        node = self.plan.nodes[n]
        return self._resolve([*(s for s, _ in node.inputs), *node.control])

    def _resolve(self, sources: Sequence[int]) -> list[int]:
        found = []
        for s in sources:
            if s in self.leaves:
                found.append(-1 - self.leaves[s][0])
            elif self.plan.nodes[s].kind == _K.ENTER and self.plan.out_frame[s] == self.frame:
                continue
            elif self.plan.place[s][0] == self.frame and s not in self.opens:
                found.append(s)
            else:
                raise _Unfit
        return found

    def _order(self, merges: Sequence[int]) -> list[int]:
        """Members and inner loops, each after what it waits for."""
        skip = {_K.EXIT, _K.NEXT_ITERATION}
        waits: dict[int, list[int]] = {}
        for n in self.members:
            if n in self.opens or self.plan.nodes[n].kind in skip:
                continue
            waits[n] = [] if n in merges else self._sources(n)
        for f, loop in self.inner.items():
            sources = [s for e in loop.enters for s, _ in self.plan.nodes[e].inputs]
            sources += [c for e in loop.enters for c in self.plan.nodes[e].control]
            waits[-1 - f] = self._resolve(sources)
        order: list[int] = []
        done: set[int] = set()
        for start in sorted(waits, key=abs):
            stack = [(start, iter(waits[start]))]
            path = {start}
            while stack:
                n, rest = stack[-1]
                following = next((s for s in rest if s not in done), None)
                if following is None:
                    stack.pop()
                    path.discard(n)
                    if n not in done:
                        done.add(n)
                        order.append(n)
                elif following not in waits or following in path:
                    raise _Unfit
                else:
                    path.add(following)
                    stack.append((following, iter(waits[following])))
        self.waits = waits
        return order

    def _behind(self, order: Sequence[int], doors: set[int]) -> set[int]:
        """What runs only when the loop goes on."""
        found: set[int] = set()
        for n in order:
            if n not in doors and any(s in doors or s in found for s in self.waits[n]):
                found.add(n)
        return found

    def _all_steps(
        self, order: Sequence[int], doors: set[int], merges: Sequence[int], loop_cond: int
    ) -> list[tuple[int, LoopStep]]:
        risky: set[int] = set()  # nodes whose outputs can be dead
        steps = []
        for n in order:
            if n in doors or n in merges or n == loop_cond:
                continue
            step = self._inner_step(n) if n < 0 else self._step(n)
            sources = self.waits[n]
            step.risky = any(s in risky for s in sources)
            if n >= 0 and step.code == MERGE:
                data = self._resolve([s for s, _ in self.plan.nodes[n].inputs])
                step.risky = len(data) == len(step.inputs) and all(s in risky for s in data)
            if step.risky or step.code == SWITCH:
                risky.add(n)
            if step.code == TRIGGER:
                risky.discard(n)
            steps.append((n, step))
        control: dict[int, int] = {}
        for n, step in steps:
            if step.risky and n >= 0 and step.code != TRIGGER:
                node = self.plan.nodes[n]
                step.control = tuple(self._flag(c, control) for c in self._control(node) if c in risky)
            elif step.risky and n < 0:
                enters = self.inner[-1 - n].enters
                cs = [c for e in enters for c in self._control(self.plan.nodes[e])]
                step.control = tuple(self._flag(c, control) for c in cs if c in risky)
        for n, step in steps:
            step.flag = control.get(n, -1)
        return steps

    def _control(self, node: PlanNode) -> list[int]:
        return self._resolve(node.control)

    def _flag(self, n: int, known: dict[int, int]) -> int:
        """A register that is dead exactly when the node is."""
        if n not in known:
            known[n] = self.register(n, -1)
        return known[n]

    def _step(self, n: int) -> LoopStep:
        node = self.plan.nodes[n]
        inputs = tuple(self._input(*e) for e in node.inputs)
        outputs = tuple(self.register(n, k) for k in range(node.n_outputs))
        if node.kind in (_K.CLUSTER, _K.HOST):
            return LoopStep(CALL, n, inputs, outputs, self.payloads[n].run)
        codes = {_K.SWITCH: SWITCH, _K.MERGE: MERGE, _K.CONTROL_TRIGGER: TRIGGER}
        return LoopStep(codes.get(node.kind, COPY), n, inputs, outputs)

    def _input(self, source: int, slot: int) -> int:
        if source in self.leaves:
            frame, k = self.leaves[source]
            return self.register(-1 - frame, k)
        return self.register(source, slot)

    def _inner_step(self, n: int) -> LoopStep:
        loop = self.inner[-1 - n]
        inputs = tuple(self._input(*self.plan.nodes[e].inputs[0]) for e in loop.enters)
        outputs = tuple(self.register(n, k) for k in range(len(loop.exits)))
        return LoopStep(LOOP, self.exits[0] if self.exits else 0, inputs, outputs, loop.run)


def _as_scalars(loop: LoopKernel, dtypes: Sequence[Any]) -> Any:
    """The loop as one function, if all it does is arithmetic of scalars."""
    steps = (*loop.before, *loop.body)
    kernels = [getattr(s.run, "__self__", None) for s in steps]
    plain = all(isinstance(k, ScalarKernel) for k in kernels) and not any(s.risky for s in steps)
    if not plain or any(d is None for d in dtypes) or not loop.following:
        return None
    entered = [r for _, r in (*loop.constants, *loop.begin)]
    if len(set(entered)) != len(entered):
        return None
    before, body = (
        [(s.run.__self__, s.inputs, s.outputs) for s in part] for part in (loop.before, loop.body)
    )
    made = ScalarLoop(entered, before, loop.pred, loop.taken, body, loop.following, loop.results)
    return made, dtypes


def _free(steps: Sequence[LoopStep], keep: set[int]) -> None:
    """Notes after which step nobody reads a register any more."""
    seen = set(keep)
    for step in reversed(steps):
        touched = dict.fromkeys((*step.inputs, *step.control, *step.outputs))
        step.last = tuple(r for r in touched if r not in seen)
        seen.update(touched)
