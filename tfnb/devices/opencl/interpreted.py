"""Kernels that are interpreted, because nobody has compiled them yet.

The interpreter (`tfnb/codegen/interpreter`) is one kernel, which a machine compiles once. Invariant: it computes the
same bits as the kernel for which it stands, and writes nothing else.
"""

from __future__ import annotations

from tfnb.codegen.interpreter.instructions import MOST_NUMBERS, MOST_POINTERS, interpreter_source
from tfnb.codegen.program import Launch, Module, Slot
from tfnb.ir.kernelcall import I32

__all__ = ["INTERPRETER", "INTERPRETER_KERNEL", "interpreted"]

INTERPRETER = Module(interpreter_source())
INTERPRETER_KERNEL = ("interpret", "p" * (1 + MOST_POINTERS) + "i" * MOST_NUMBERS)
"""Its name and the letters of its arguments, see `second_compiler.Request`."""
_NO_POINTERS, _NO_NUMBERS = (Slot("none"),) * MOST_POINTERS, (I32(0),) * MOST_NUMBERS


def interpreted(step: Launch, module: int, code: Slot) -> Launch:
    """Returns the launch of the interpreter that does the same as the launch of a kernel.

    `module` is the number of the interpreter's module, `code` the code of the kernel.
    """
    pointers = tuple([a for a in step.args if type(a) is Slot])
    numbers = tuple([a for a in step.args if type(a) is not Slot])
    args = (code, *pointers, *_NO_POINTERS[len(pointers) :], *numbers, *_NO_NUMBERS[len(numbers) :])
    return step._replace(module=module, entry=INTERPRETER_KERNEL[0], args=args, label=step.label or step.entry)
