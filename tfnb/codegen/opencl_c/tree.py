"""Trees: the statements of a kernel as nodes, which `render` writes as OpenCL C.

Loops, locals and stores are nodes; the expressions in them are C text, which the printer of scalar expressions
(clexpr.py) makes. Invariant: a node says all that its text needs, so that the renderer looks at no other node.

Names in a kernel say what an array, a local or a size is there, and never what the user's graph calls it. So kernels
that do equal work have equal text and are compiled once.
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
    """The declaration of a local, perhaps with its first value; with `length` an array of `length` elements."""

    ctype: str
    name: str
    value: str = ""
    length: int = 0


@dataclass(slots=True, eq=False)
class Assign:
    """The assignment of a value to a local; with `op`, as in `+=`, the value is combined with the former one."""

    name: str
    value: str
    op: str = ""


@dataclass(slots=True, eq=False)
class Store:
    """The store of `value` at element `at` of `pointer`, whose elements are of `ctype` in memory.

    With more than one lane the value is a vector, which is written to the elements from `at` on. If `live` is given,
    only the first `live` lanes are written.
    """

    pointer: str
    at: str
    value: str
    ctype: str
    lanes: int = 1
    live: str = ""


@dataclass(slots=True, eq=False)
class Call:
    """The call of a function or macro of the kernel library; for a macro without operands `args` is None."""

    name: str
    args: tuple[str, ...] | None


@dataclass(slots=True, eq=False)
class Return:
    """The end of a work-item that has nothing to do, or nothing more."""


@dataclass(slots=True, eq=False)
class If:
    """A condition and the body that runs if it holds."""

    condition: str
    body: Block


@dataclass(slots=True, eq=False)
class For:
    """A loop from `begin` up to, but without, `end`, which each work-item runs as a whole."""

    ctype: str
    name: str
    begin: str
    end: str
    step: str
    body: Block


@dataclass(slots=True, eq=False)
class Range:
    """A loop from 0 up to, but without, `end`, whose steps are divided among all work-items."""

    ctype: str
    name: str
    end: str
    step: int
    body: Block


Statement = Declare | Assign | Store | Call | Return | If | For | Range
Block = list[Statement]


def vector_loop(ctype: str, name: str, begin: str, end: str, lanes: int, body: Block) -> For:
    """Returns a loop over vectors, in which the local `live` is the number of lanes that lie before the end."""
    return For(ctype, name, begin, end, str(lanes), [live_lanes(name, end, lanes), *body])


def live_lanes(name: str, end: str, lanes: int) -> Declare:
    """Returns the declaration of `live` in a loop over vectors."""
    return Declare("int", "live", f"LIVE({end} - {name}, {lanes})")
