"""The steps of a program class, whose sizes may be formulas.

Invariant: a step says everything about itself except the numbers for its sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tfnb.codegen.program import Copy, Launch, Slot
from tfnb.ir.kernelcall import KernelCall, KernelSite
from tfnb.ir.step_graph.graph import Node

__all__ = ["Call", "Chain", "Choice", "ClassStep"]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """The launches of library kernels for `node`, for which `recipe` is asked when sizes are numbers.

    `ins`, `outs` and `bias` are the memory of the operands.
    """

    node: Node
    nodes: tuple[int, ...]
    label: str
    recipe: Callable[[KernelSite], Sequence[KernelCall]]
    site: KernelSite
    ins: tuple[Slot, ...]
    outs: tuple[Slot, ...]
    bias: Slot | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Two ways of computing the same values: `launch` runs, or the step `otherwise` if the size `when` is 0."""

    when: int
    launch: Launch
    otherwise: ClassStep


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Small kernels that follow each other: `whole` runs instead of `parts` if each part has a single work-item.

    Else `parts` are launches of the same kernel, and those of neighbours with a single work-item are joined.
    """

    whole: Launch
    parts: tuple[ClassStep, ...]


ClassStep = Launch | Copy | Call | Choice | Chain
