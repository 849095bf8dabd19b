"""The state of one step for each frame and iteration, and the tokens that stand in place of values.

The frames and tags of OSDI'16 section 3.4. These classes only hold state; the `Propagator` changes it.
Invariant: a frame belongs to exactly one iteration of its enclosing frame, and the iterations that it
holds are consecutive.
"""

from __future__ import annotations

from typing import Any, Final

from tfnb.runtime.plan import ROOT, FrameTable


class Token:
    """A marker that stands in place of a value. Tokens are compared by identity."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


DEAD: Final = Token("DEAD")
"""Stands for the output of a node on an untaken branch."""

EMPTY: Final = Token("EMPTY")  # stands for an input or a fetch whose value has not arrived yet


class Iteration:
    """The state of one iteration of one frame. Indices of nodes are local to the frame's table."""

    __slots__ = (
        "children",
        "closed",
        "counts",
        "dead",
        "frame",
        "inputs",
        "left",
        "number",
        "table",
    )

    def __init__(self, frame: Frame, number: int) -> None:
        table = frame.table
        self.frame = frame
        self.table = table
        self.number = number
        self.counts = list(table.next_counts if number else table.first_counts)
        self.inputs: list[Any] = [EMPTY] * table.n_slots
        self.dead: set[int] = set()  # nodes with a dead input
        self.left = len(table.nodes) + table.n_children  # nodes that have not fired, child frames that have not ended
        self.children: dict[int, Frame] = {}
        self.closed: set[int] = set()  # child frames that have ended

    def tag(self) -> str:
        """The name of the iteration, which is unique within the step; see `Ready.tag`."""
        outer = self.frame.outer
        if outer is None:
            return ""
        own_part = f"{self.table.name}:{self.number}"
        return f"{outer.tag()}/{own_part}" if outer.frame.outer is not None else own_part


class Frame:
    """One activation of a loop: its iterations, oldest first, and the values that wait for the next iteration."""

    __slots__ = (
        "enters_left",
        "exited",
        "held",
        "invariants",
        "iterations",
        "newest",
        "outer",
        "table",
        "wants_next",
    )

    def __init__(self, table: FrameTable, outer: Iteration | None) -> None:
        self.table = table
        self.outer = outer  # the iteration of the enclosing frame
        self.enters_left = table.n_enters
        self.invariants: list[tuple[int, Any]] = []  # values of constant Enters, by index in the outer table
        self.held: list[tuple[int, Any]] = []  # values of NextIterations of the newest iteration, by index
        self.wants_next = False  # one of these values is not dead
        self.exited: set[int] = set()  # Exits through which a value has left the loop
        self.newest = 0
        self.iterations: dict[int, Iteration] = {0: Iteration(self, 0)}


class Ready:
    """A node that may run now. The caller passes it to `Propagator.done` together with its outputs.

    `node` is the index of the node in the plan, and `inputs` are its data inputs in order. `is_dead`
    can be true for SEND and RECV only; such a node has `DEAD` for every dead input. The propagator uses
    `owner`, the iteration, and `place`, the local index. A node without an owner is in the root frame.
    """

    __slots__ = ("inputs", "is_dead", "node", "owner", "place")

    def __init__(
        self, node: int, inputs: tuple[Any, ...], is_dead: bool, owner: Iteration | None = None, place: int = -1
    ) -> None:
        self.node = node
        self.inputs = inputs
        self.is_dead = is_dead
        self.owner = owner
        self.place = place

    @property
    def frame(self) -> str:
        """The name of the frame, "" for the root."""
        owner = self.owner
        return owner.table.name if owner is not None and owner.table.index != ROOT else ""

    @property
    def iteration(self) -> int:
        """The number of the iteration within its frame, 0 in the root."""
        return 0 if self.owner is None else self.owner.number

    @property
    def tag(self) -> str:
        """A name of the frame and iteration that is unique within the step.

        It is "" in the root. For example, "outer:2/inner:7" is iteration 7 of the loop "inner" that runs within
        iteration 2 of the loop "outer".
        """
        return "" if self.owner is None else self.owner.tag()

    def __repr__(self) -> str:
        dead = ", dead" if self.is_dead else ""
        return f"Ready(node={self.node}, tag={self.tag!r}{dead})"
