"""Emission: the geometry of launches, and the record of a finished kernel, for all kinds of generated kernels.

Invariant: a `Generated` is complete: text with a placeholder name, arguments in the order of the parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tfnb.codegen.fusion.values import Value
from tfnb.codegen.opencl_c.kerneltext import KernelText, Scratch
from tfnb.codegen.opencl_c.render import render
from tfnb.codegen.opencl_c.tree import Block
from tfnb.codegen.program import DeviceFacts
from tfnb.sizes import AnySize, largest, smallest

__all__ = ["NAME", "Generated", "Geometry", "LocalMemory", "assemble", "geometry"]

NAME = "KERNEL_NAME"
GPU_ITEMS, GPU_GROUPS = 128, 16  # work-items of a group, and groups of a compute unit that can be at work at a time
SMALL = 48 * 1024  # the cheap operations that one core does before a second core would have started


@dataclass(frozen=True, slots=True)
class Geometry:
    """The size of a launch: `groups` work-groups of `local` work-items."""

    groups: AnySize
    local: int

    @property
    def items(self) -> AnySize:
        """The number of work-items."""
        return self.groups * self.local


@dataclass(frozen=True, slots=True)
class LocalMemory:
    """The local memory of a kernel: the statement that declares it, and the declarations of what it declares."""

    statement: str
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Generated:
    """A kernel and its arguments: values, scratches, random nodes (ids), then sizes, then numbers."""

    text: str
    pointers: tuple[Value | Scratch | int, ...]
    written: tuple[bool, ...]
    sizes: tuple[AnySize, ...]
    numbers: tuple[float, ...]
    needs: tuple[tuple[str, str, int], ...]
    geometry: Geometry
    aligned: frozenset[Value] = frozenset()  # values that are read only at the element that is written
    parameters: tuple[str, ...] = ()  # the declarations of all parameters
    local: LocalMemory | None = None  # on CPUs; only a kernel may declare it, not a function
    touched: Mapping[Value, int] = field(
        default_factory=dict
    )  # the largest number of bytes read of each value that is not read as a whole


def geometry(facts: DeviceFacts, tasks: AnySize, work: AnySize) -> Geometry:
    """Returns the geometry for `tasks` equal parts of `work` cheap operations in all."""
    if facts.kind == "gpu":
        return Geometry(largest(1, smallest(GPU_GROUPS * facts.units, -(-tasks // GPU_ITEMS))), GPU_ITEMS)
    return Geometry(largest(1, smallest(tasks, 4 * facts.units, 1 + work // SMALL)), 1)


def assemble(
    kernel: KernelText,
    body: Block,
    shape: Geometry,
    aligned: frozenset[Value] = frozenset(),
    local: LocalMemory | None = None,
) -> Generated:
    """Returns the finished kernel."""
    text = "\n".join([kernel.signature(NAME), "{", *render(body, 1), "}"])
    params = list(kernel.params.values())
    return Generated(
        text,
        tuple(p.target for p in params),
        tuple(p.written for p in params),
        tuple(n for _, n in kernel.sizes),
        tuple(kernel.numbers),
        tuple(kernel.needs),
        shape,
        aligned,
        tuple(kernel.parameters()),
        local,
    )
