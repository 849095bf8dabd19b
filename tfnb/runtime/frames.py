"""What one step keeps per frame and iteration, and the tokens that have no value.

The frames and tags of OSDI'16 section 3.4. These classes only hold state; the rules that change it
are the `Propagator`'s. Invariant: a frame lives in exactly one iteration of its enclosing frame,
and the iterations it holds are consecutive.
"""

from __future__ import annotations

from typing import Any, Final

from tfnb.runtime.plan import ROOT, FrameTable


class Token:
    """A value that is no value; compared by identity."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


DEAD: Final = Token("DEAD")
"""Stands for the output of a node on an untaken branch."""

EMPTY: Final = Token("EMPTY")  # an input that has not come, a fetch that is not there yet


class Iteration:
    """State of one iteration of one frame; `n` indices are local to the frame's table."""

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
        self.dead: set[int] = set()  # nodes that have got a dead input
        self.left = len(table.nodes) + table.n_children  # nodes to fire, child frames to end
        self.children: dict[int, Frame] = {}
        self.closed: set[int] = set()  # child frames that have ended

    def tag(self) -> str:
        """Unique within the step; see `Ready.tag`."""
        outer = self.frame.outer
        if outer is None:
            return ""
        mine = f"{self.table.name}:{self.number}"
        return f"{outer.tag()}/{mine}" if outer.frame.outer is not None else mine


class Frame:
    """One activation of a loop: its iterations, oldest first, and what waits to enter the next."""

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
        self.invariants: list[tuple[int, Any]] = []  # constant Enters (index in the outer table)
        self.held: list[tuple[int, Any]] = []  # NextIterations out of the newest iteration
        self.wants_next = False  # a live one is among them
        self.exited: set[int] = set()  # Exits that let a value out
        self.newest = 0
        self.iterations: dict[int, Iteration] = {0: Iteration(self, 0)}


class Ready:
    """A node that may run now: hand it back to `Propagator.done` with its outputs.

    `node` indexes the plan's nodes, `inputs` are its data inputs in order. `is_dead` can be true
    for SEND and RECV only; a dead one has `DEAD` for every dead input. `owner` and `place` are the
    propagator's; without an owner, the node is in the root.
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
        """Name of the frame, "" for the root."""
        owner = self.owner
        return owner.table.name if owner is not None and owner.table.index != ROOT else ""

    @property
    def iteration(self) -> int:
        return 0 if self.owner is None else self.owner.number

    @property
    def tag(self) -> str:
        """Names frame and iteration uniquely within the step: "" in the root, else for example

        "outer:2/inner:7", iteration 7 of the loop that runs within iteration 2 of another.
        """
        return "" if self.owner is None else self.owner.tag()

    def __repr__(self) -> str:
        dead = ", dead" if self.is_dead else ""
        return f"Ready(node={self.node}, tag={self.tag!r}{dead})"
