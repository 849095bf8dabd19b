"""Programs that only read small variables, as a parameter server's part of a step does (white paper, section 2).

NumPy copies a few bytes in a tenth of the time that a launch takes. Invariant: it is used only where no work that was
enqueued still writes the variable, so what it reads is what a launch would have read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfnb.codegen.program import Copy, Program
from tfnb.devices.buffers import Cell

__all__ = ["SmallReads"]

_MOST = 1 << 12  # bytes of one variable


class SmallReads:
    """Gives copies of whole variables as a program's outputs."""

    @classmethod
    def of(cls, program: Program) -> SmallReads | None:
        """None for a program that does anything else."""
        if program.inputs or program.random or len(program.steps) != len(program.outputs):
            return None
        found: dict[int, int] = {}
        for step in program.steps:
            if not isinstance(step, Copy) or (step.source.kind, step.target.kind) != ("variable", "output"):
                return None
            variable, output = program.variables[step.source.index], program.outputs[step.target.index]
            fits = variable.info.dtype == output.dtype and variable.info.nbytes == output.nbytes == step.nbytes
            if not fits or variable.writes or step.nbytes > _MOST or step.source.offset or step.target.offset:
                return None
            found[step.target.index] = step.source.index
        places = [(found[k], info.shape) for k, info in enumerate(program.outputs) if k in found]
        return cls(places) if len(places) == len(program.outputs) else None

    def __init__(self, places: Sequence[tuple[int, tuple[int, ...]]]) -> None:
        self._places = places

    def copies(self, cells: Sequence[Cell]) -> list[np.ndarray] | None:
        """The outputs; None where a launch must make them. With the device's lock."""
        found = []
        for place, shape in self._places:
            tensor = cells[place].tensor
            if tensor is None or (array := tensor.array) is None:
                return None
            ticket = tensor.ticket
            if ticket is not None and not ticket.done and not ticket.poll():
                return None
            found.append(array.copy() if array.shape == shape else array.reshape(shape).copy())
        return found
