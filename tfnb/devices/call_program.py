"""Programs that consist of library kernels, with which host operations update variables on a device.

White paper, section 5. Invariant: the program writes one tensor, that of the cell with which it is run, in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.codegen.program import Launch, Module, Program, Slot, Step, VariableUse
from tfnb.ir.kernelcall import F32, F64, I32, In, KernelCall, KernelSite, Temp

__all__ = ["update_program"]

_APART = 256  # the alignment of scratch buffers, in bytes


def update_program(site: KernelSite[Any], calls: Sequence[KernelCall], reads: bool) -> Program:
    """Returns the program of `calls`, whose only output is the cell. `reads` says that they also read the cell."""
    modules: dict[Module, int] = {}
    scratch: dict[str, Slot] = {}
    arena_nbytes = 0
    steps: list[Step] = []
    for call in calls:
        args: list[Slot | I32 | F32 | F64] = []
        for a in call.args:
            if isinstance(a, In):
                args.append(Slot("input", a.index, 0, site.inputs[a.index].nbytes))
            elif isinstance(a, Temp):
                if a.key not in scratch:
                    scratch[a.key] = Slot("arena", 0, arena_nbytes, a.nbytes)
                    arena_nbytes += -(-a.nbytes // _APART) * _APART
                args.append(scratch[a.key])
            elif isinstance(a, (I32, F32, F64)):
                args.append(a)
            else:  # the output, or a bias that is never read
                args.append(Slot("variable", 0, 0, site.outputs[0].nbytes))
        module = modules.setdefault(Module(call.source, call.file, call.defines), len(modules))
        steps.append(Launch(module, call.entry, tuple(args), call.groups, call.local, (), site.op))
    use = VariableUse(0, site.outputs[0], reads, True)
    return Program(f"update_{site.op}", tuple(modules), tuple(steps), site.inputs, (), (use,), (), (), arena_nbytes)
