"""Program: a specialised cluster as pure data; what code generation gives to a device.

A device builds the modules, binds the slots to memory once, and replays `steps` at every run.
Invariant: a Program depends only on the cluster, the shapes and the device facts, so it can be cached by them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfnb.codegen.whynot import WhyNot
from tfnb.ir.bounds import Check
from tfnb.ir.kernelcall import F32, F64, I32, TensorInfo

__all__ = ["Copy", "DeviceFacts", "Launch", "Module", "Program", "Read", "Slot", "Step", "VariableUse"]


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """What code generation knows of a device: `kind` "cpu" or "gpu", `units` compute units, `fp64` double support."""

    kind: str = "cpu"
    units: int = 2
    fp64: bool = True


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a pointer points: `kind` is

    input (cluster input `index`), output (cluster output `index`), variable (`Program.variables[index]`),
    const (`Program.consts[index]`), arena (`offset` bytes into the program's scratch), rng (the uint32[n, 4]
    table of random states, row `index`; the pointer is to the row). `nbytes`: of it, those that are used at most.
    """

    kind: str
    index: int = 0
    offset: int = 0
    nbytes: int = 0


@dataclass(frozen=True, slots=True)
class Module:
    """A program text to build: generated `source`, or the library `file` under kernels_cl with `defines`."""

    source: str = ""
    file: str = ""
    defines: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch of `groups` work-groups with `local` work-items; `nodes` are the graph nodes it computes."""

    module: int
    entry: str
    args: tuple[Slot | I32 | F32 | F64, ...]
    groups: tuple[int, int, int] = (1, 1, 1)
    local: tuple[int, int, int] = (1, 1, 1)
    nodes: tuple[int, ...] = ()
    label: str = ""


@dataclass(frozen=True, slots=True)
class Copy:
    """Copies `nbytes` from one slot to another (a fetched variable, a fed value that is fetched)."""

    source: Slot
    target: Slot
    nbytes: int
    nodes: tuple[int, ...] = ()


Step = Launch | Copy


@dataclass(frozen=True, slots=True)
class VariableUse:
    """How a program uses a variable: `node` is the Variable node's id; `reads` its value from before the
    run, `writes` it; `info` is dtype and shape after the run."""

    node: int
    info: TensorInfo
    reads: bool
    writes: bool


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """An output that is the value of `Program.variables[variable]`, perhaps of another shape, or rows of it: those with
    these numbers, or with the numbers that come as an input. A number that no row has gives zeros."""

    variable: int
    rows: np.ndarray | int | None = None


@dataclass(frozen=True, eq=False)
class Program:
    """`outputs[i]` is the dtype and shape of cluster output i. Every output slot is written by some step
    (those without elements by none). `info` says what was not fused, and why. `reads`: where all that the steps do is
    to read variables, each output as such; else nothing. `checks`: inputs whose numbers must lie in bounds; those
    that the host holds are compared before the program runs."""

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
