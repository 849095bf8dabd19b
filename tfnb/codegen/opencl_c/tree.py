"""Trees: the statements of a kernel as nodes, which `render` writes as OpenCL C.

Loops, locals and stores are nodes; the expressions in them are C text, which the printer of scalar expressions
(clexpr.py) makes. There is no node for barriers, because no generated kernel shares work between work-items of a group.
Invariant: a node says all that its text needs, so that the renderer looks at no other node.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "Assign",
    "Block",
    "Call",
    "Declare",
    "For",
    "If",
    "Range",
    "Return",
    "Statement",
    "Store",
    "live_lanes",
    "vector_loop",
]


@dataclass(slots=True, eq=False)
class Declare:
    """A local variable, with its first value or without; `length`: an array of so many elements."""

    ctype: str
    name: str
    value: str = ""
    length: int = 0


@dataclass(slots=True, eq=False)
class Assign:
    """A local gets another value, or with `op` one that is combined with the one it has."""

    name: str
    value: str
    op: str = ""


@dataclass(slots=True, eq=False)
class Store:
    """`value` goes to element `at` of `pointer`, whose elements are of `ctype` in memory.

    With more than one lane the value is a vector, which goes to the elements from `at` on; of these only the first
    `live` are written where `live` is given.
    """

    pointer: str
    at: str
    value: str
    ctype: str
    lanes: int = 1
    live: str = ""


@dataclass(slots=True, eq=False)
class Call:
    """A function or a macro of the kernel library, called for what it does; a macro without operands has None."""

    name: str
    args: tuple[str, ...] | None


@dataclass(slots=True, eq=False)
class Return:
    """The work-item has nothing to do, or is done."""


@dataclass(slots=True, eq=False)
class If:
    """The body runs where the condition holds."""

    condition: str
    body: Block


@dataclass(slots=True, eq=False)
class For:
    """A loop of every work-item from `begin` to before `end`."""

    ctype: str
    name: str
    begin: str
    end: str
    step: str
    body: Block


@dataclass(slots=True, eq=False)
class Range:
    """A loop from 0 to before `end` that all work-items share, each taking a part in whole steps."""

    ctype: str
    name: str
    end: str
    step: int
    body: Block


Statement = Declare | Assign | Store | Call | Return | If | For | Range
Block = list[Statement]


def vector_loop(ctype: str, name: str, begin: str, end: str, lanes: int, body: Block) -> For:
    """A loop over vectors; `live` is how many lanes of the vector at hand lie before the end."""
    return For(ctype, name, begin, end, str(lanes), [live_lanes(name, end, lanes), *body])


def live_lanes(name: str, end: str, lanes: int) -> Declare:
    """The declaration of `live` in a loop over vectors."""
    return Declare("int", "live", f"LIVE({end} - {name}, {lanes})")
