"""What of a graph is worth drawing: boxes nested by name scope, and the edges between them.

Large graphs are summarised (white paper, section 9.1): a scope is one box until there is room to
open it, smallest first; constants leave when room is short; a box that reads from or writes to nearly
everything is set aside. Invariant: each operation of the graph is counted in exactly one leaf box,
or among the constants left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ROOM", "Box", "Wire", "summarise"]

# So many boxes are still read at a glance; a box set aside has at least so many neighbours.
ROOM = 36
CROWDED = 6
VARIABLES = frozenset({"Variable", "VariableV2", "VarHandleOp"})
INPUTS = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault"})
UPDATES = ("Apply", "SparseApply", "ResourceApply")
VALUES = ("variable", "input")
FLOW = frozenset({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "RefSwitch"})


@dataclass(slots=True)
class Wire:
    """Tensors that go from one box to another; without any it is a control edge."""

    tensors: list[Any] = field(default_factory=list)

    @property
    def control(self) -> bool:
        return not self.tensors


@dataclass(slots=True, eq=False)
class Box:
    """A scope, or a unit of one or more operations that is drawn as one.

    `op` is the operation that gives a unit its name, None for a scope; `ops` all operations inside.
    An `opened` scope shows `inside`, and `wires` between these by their numbers; -1 is the outside.
    """

    name: str
    label: str = ""
    op: Any = None
    ops: list[Any] = field(default_factory=list)
    parts: dict[str, Box] = field(default_factory=dict)
    opened: bool = False
    inside: list[Box] = field(default_factory=list)
    aside: list[Box] = field(default_factory=list)
    wires: dict[tuple[int, int], Wire] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """One of scope, variable, input, constant, flow, operation."""
        if self.op is None:
            return "scope"
        named = (
            ("variable", VARIABLES),
            ("input", INPUTS),
            ("flow", FLOW),
            ("constant", {"Const"}),
        )
        return next((kind for kind, types in named if self.op.type in types), "operation")


def summarise(operations: Iterable[Any], room: int = ROOM) -> Box:
    """The root box of a drawing with about `room` boxes; what was left out is in the root's `aside`."""
    ops = list(operations)
    root = _tree(ops)
    _collect(root)
    _absorb_initial_values(root, ops)
    units = list(_units(root))
    if len(units) > room:
        _remove(root, {box.op for box in units if box.kind == "constant"})
    _unwrap(root)
    _open(root, room)
    home = {op: box for box in _leaves(root) for op in box.ops}
    _wire(root, home)
    return root


def _tree(ops: Sequence[Any]) -> Box:
    root = Box("")
    for op in ops:
        box, path = root, ""
        for part in op.name.split("/"):
            path = f"{path}/{part}" if path else part
            box = box.parts.setdefault(part, Box(path, part))
        box.op = op
    return root


def _collect(box: Box) -> list[Any]:
    """Fills `ops`."""
    for part in box.parts.values():
        _collect(part)
    box.ops = [op for part in box.parts.values() for op in part.ops]
    if box.op is not None:
        box.ops.insert(0, box.op)
    return box.ops


def _unwrap(box: Box) -> None:
    """A scope with a single part gives way to that part, which takes its name in."""
    for name, part in box.parts.items():
        _unwrap(part)
        if part.op is None and len(part.parts) == 1:
            (only,) = part.parts.values()
            only.label = f"{part.label}/{only.label}"
            box.parts[name] = only


def _absorb_initial_values(root: Box, ops: Sequence[Any]) -> None:
    """What only computes a variable's initial value becomes part of the variable's box."""
    readers: dict[Any, list[Any]] = {}
    for op in ops:
        for before in _before(op):
            readers.setdefault(before, []).append(op)
    taken: dict[Any, Box] = {}
    for box in _units(root):
        if box.kind == "variable":
            own = set(box.ops)
            todo = [before for op in box.ops for before in _before(op) if before not in own]
            while todo:
                op = todo.pop()
                if op not in own and own.issuperset(readers[op]) and op.type not in INPUTS:
                    own.add(op)
                    taken[op] = box
                    todo += _before(op)
    for op, box in taken.items():
        box.ops.append(op)
    _remove(root, set(taken))


def _units(box: Box) -> Iterator[Box]:
    if _is_unit(box):
        yield box
    else:
        for part in box.parts.values():
            yield from _units(part)


def _remove(box: Box, gone: set[Any]) -> None:
    """Takes operations out of all scopes, and parts that are left empty."""
    for name, part in list(box.parts.items()):
        if _is_unit(part):
            if part.op in gone:
                del box.parts[name]
        else:
            _remove(part, gone)
            if not part.parts:
                del box.parts[name]
    box.ops = [op for part in box.parts.values() for op in part.ops]


def _is_unit(box: Box) -> bool:
    # A variable's Assign and read, or an operation's own constants, stand under its name.
    return box.op is not None or not box.parts


def _open(root: Box, room: int) -> None:
    root.opened = True
    root.inside = list(root.parts.values())
    _set_aside(root)
    shown = len(root.inside)
    closed = [box for box in root.inside if not _is_unit(box)]
    while closed:
        smallest = min(closed, key=lambda box: len(box.parts))
        closed.remove(smallest)
        if shown + len(smallest.parts) > room:
            break
        smallest.opened = True
        smallest.inside = list(smallest.parts.values())
        shown += len(smallest.parts)
        closed += [box for box in smallest.inside if not _is_unit(box)]


def _set_aside(root: Box) -> None:
    """Takes boxes out whose edges would cover the drawing: the gradients, the optimizer, `init`.

    With them goes what is then connected to nothing else (slots, powers of the decay rates).
    """
    near = _neighbours(root.inside)
    out = {box for box in root.inside if _is_beside_the_model(box)}

    def degree(box: Box) -> int:
        return len(near[box] - out)

    while True:
        left = [box for box in root.inside if box not in out and box.kind not in VALUES]
        crowded = max(left, key=degree, default=None)
        if crowded is None or degree(crowded) < max(CROWDED, (len(root.inside) - len(out)) // 2):
            break
        out.add(crowded)
    if len(out) < len(root.inside):
        lonely = [box for box in root.inside if near[box] and near[box] <= out]
        out.update(box for box in lonely if box.kind != "input")
    root.aside = [box for box in root.inside if box in out]
    root.inside = [box for box in root.inside if box not in out]


def _is_beside_the_model(box: Box) -> bool:
    if box.kind in VALUES:
        return False
    if any(op.type.startswith(UPDATES) for op in box.ops) or box.label.startswith("gradients"):
        return True
    # A target that only waits for others, like `init`.
    return _is_unit(box) and len(box.op.control_inputs) > 1 and not box.op.outputs


def _neighbours(boxes: Sequence[Box]) -> dict[Box, set[Box]]:
    home = {op: box for box in boxes for op in box.ops}
    near: dict[Box, set[Box]] = {box: set() for box in boxes}
    for op, box in home.items():
        for other in (home.get(before, box) for before in _before(op)):
            if other is not box:
                near[box].add(other)
                near[other].add(box)
    return near


def _before(op: Any) -> Iterator[Any]:
    yield from (t.op for t in op.inputs)
    yield from op.control_inputs


def _leaves(box: Box) -> Iterator[Box]:
    if not box.opened:
        yield box
    for part in box.inside:
        yield from _leaves(part)


def _wire(root: Box, home: dict[Any, Box]) -> None:
    path: dict[Box, list[tuple[Box, int]]] = {}

    def walk(box: Box, trail: list[tuple[Box, int]]) -> None:
        path[box] = trail
        for i, part in enumerate(box.inside):
            walk(part, [*trail, (box, i)])

    walk(root, [])
    for op, box in home.items():
        for tensor in op.inputs:
            if tensor.op in home:
                _connect(path[home[tensor.op]], path[box], tensor)
        for before in op.control_inputs:
            if before in home:
                _connect(path[home[before]], path[box], None)


def _connect(start: list[tuple[Box, int]], end: list[tuple[Box, int]], tensor: Any) -> None:
    """Adds the wire in the scope that both ends share, and the pieces from its boxes' borders inwards."""
    depth = 0
    while depth < min(len(start), len(end)) and start[depth] == end[depth]:
        depth += 1
    if depth == min(len(start), len(end)):
        return  # both ends in one leaf
    pieces = [(start[depth][0], start[depth][1], end[depth][1])]
    pieces += [(scope, i, -1) for scope, i in start[depth + 1 :]]
    pieces += [(scope, -1, i) for scope, i in end[depth + 1 :]]
    for scope, a, b in pieces:
        wire = scope.wires.setdefault((a, b), Wire())
        if tensor is not None and tensor not in wire.tensors:
            wire.tensors.append(tensor)


def kinds(root: Box) -> Counter[str]:
    """How many boxes of each kind are drawn; opened scopes do not count."""
    return Counter(box.kind for box in _leaves(root))
