"""Program: a specialised cluster as pure data, which code generation hands to a device.

A device builds the modules, binds the slots to memory once, and replays `steps` at every run.
Invariant: a Program depends only on the cluster, the shapes and the device facts, so it can be cached by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tfnb.codegen.whynot import WhyNot
from tfnb.ir.bounds import Check
from tfnb.ir.kernelcall import F32, F64, I32, TensorInfo

__all__ = [
    "Copy",
    "DeviceFacts",
    "Launch",
    "Module",
    "Part",
    "Program",
    "Read",
    "Resized",
    "Slot",
    "Step",
    "VariableUse",
]


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """The facts about a device on which generated code depends.

    `kind` is "cpu" or "gpu", `units` the number of compute units; `fp64` says whether float64 is supported.
    """

    kind: str = "cpu"
    units: int = 2
    fp64: bool = True


class Slot(NamedTuple):
    """The memory that a pointer argument points to; `nbytes` is the largest number of bytes that are used of it.

    `kind` is one of: input (cluster input `index`), output (cluster output `index`), variable
    (`Program.variables[index]`), const (`Program.consts[index]`), arena (`offset` bytes into the program's scratch
    memory), rng (row `index` of the uint32[n, 4] table of random states), none (a null pointer).
    """

    kind: str
    index: int = 0  # type: ignore[assignment]
    offset: int = 0
    nbytes: int = 0


class Module(NamedTuple):
    """A text that is built: the generated `source`, or the library `file` under kernels_cl with `defines`.

    `parts` are the kernels that do the same as the kernel of a chain, one after the other; see `schedules/chain.py`.
    """

    source: str = ""
    file: str = ""
    defines: tuple[tuple[str, str], ...] = ()
    parts: tuple[Part, ...] = ()


class Part(NamedTuple):
    """A kernel that does what a part of a chain does, and which takes as many arguments."""

    module: Module
    entry: str
    n_args: int


class Launch(NamedTuple):
    """One kernel launch of `groups` work-groups with `local` work-items; `nodes` are the graph nodes it computes.

    `nbytes` is that of the `KernelCall` for a library kernel; None: the work is in proportion to the arguments' bytes.
    """

    module: int
    entry: str
    args: tuple[Slot | I32 | F32 | F64, ...]
    groups: tuple[int, int, int] = (1, 1, 1)
    local: tuple[int, int, int] = (1, 1, 1)
    nodes: tuple[int, ...] = ()
    label: str = ""
    nbytes: int | None = None


class Copy(NamedTuple):
    """Copies `nbytes` from one slot to another (a fetched variable, a fed value that is fetched)."""

    source: Slot
    target: Slot
    nbytes: int
    nodes: tuple[int, ...] = ()


Step = Launch | Copy


@dataclass(frozen=True, slots=True)
class VariableUse:
    """The use of a variable by a program.

    `node` is the id of the Variable node; `reads` says that the program reads the value from before the run, `writes`
    that it writes the variable; `info` has the dtype and shape after the run.
    """

    node: int
    info: TensorInfo
    reads: bool
    writes: bool


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """An output that is the value of `Program.variables[variable]`, perhaps in another shape, or some of its rows.

    `rows` holds the numbers of these rows, or the index of the input that holds them; it is None for the whole value.
    For a number that no row has, the output is zero.
    """

    variable: int
    rows: np.ndarray | int | None = None


class Resized(NamedTuple):
    """How a program differs from one that was made before it and has the steps `former`: in nothing but sizes.

    `steps` are the numbers of those steps that may be other objects. For each of them `arguments` has the places of
    arguments that are other numbers, and of those that point to another number of bytes at the same place in scratch
    memory; or None if that is not known.
    """

    former: tuple[Step, ...]
    steps: Sequence[int]
    arguments: Sequence[tuple[Sequence[int], Sequence[int]] | None]


@dataclass(slots=True, eq=False)  # nobody changes one, but a frozen class would take three times as long to make
class Program:
    """A specialised cluster, ready to be loaded by a device.

    `outputs[i]` is the dtype and shape of cluster output i; every output that has elements is written by some step.
    `info` has the fusions that were not done, with reasons. `reads` describes each
    output if the steps do nothing but read variables, and is empty otherwise. `checks` are the inputs whose numbers
    must lie within bounds; numbers that the host holds are compared with their bounds before the program runs.
    `resized` says how the program differs from one before it, if the two differ in nothing but sizes.
    """

    name: str
    modules: tuple[Module, ...]
    steps: tuple[Step, ...]
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    variables: tuple[VariableUse, ...]
    consts: tuple[np.ndarray, ...]
    random: tuple[int, ...]
    arena_nbytes: int
    info: tuple[WhyNot, ...] = ()
    reads: tuple[Read, ...] = ()
    checks: tuple[Check, ...] = ()
    resized: Resized | None = None

    def scratch_arrays(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yields the bytes of each array in scratch memory, and the nodes of the step that writes it first."""
        found: set[tuple[int, int]] = set()
        for step in self.steps:
            arguments = step.args if isinstance(step, Launch) else (step.source, step.target)
            for slot in arguments:
                if isinstance(slot, Slot) and slot.kind == "arena" and (slot.offset, slot.nbytes) not in found:
                    found.add((slot.offset, slot.nbytes))
                    yield slot.nbytes, step.nodes
