"""The assembler: it gives values registers and writes instructions.

A value lives in the register that its instruction sets. Temporary values end with the statement that computes them,
locals with their block. Invariant: a register is free only when no later instruction reads its value.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tfnb.codegen.interpreter.instructions import (
    CONSTANTS,
    FIXED_VECTORS,
    INSTRUCTIONS,
    MOST_NUMBERS,
    MOST_POINTERS,
    NUMBERS,
    POINTERS,
    VECTORS,
)

__all__ = ["Assembler", "Label", "NotInterpretedError", "Value"]


class NotInterpretedError(Exception):
    """The text has something for which there is no instruction, or it needs too many registers."""


class Value(NamedTuple):
    """A value in a register. `kind` is "f" for float, "i" for int, "u" for uint and "b" for uchar.

    `is_fixed` says that the register keeps this value to the end: it is an argument or a constant.
    """

    kind: str
    is_vector: bool
    register: int
    is_fixed: bool = False

    def as_kind(self, kind: str) -> Value:
        """Returns the same bits as another type."""
        return self._replace(kind=kind)


class Label:
    """A place in the code; `position` is the number of the instruction after it."""

    position = -1


@dataclass(slots=True)
class _Registers:
    free: list[int]
    temporary: set[int] = field(default_factory=set)

    def take(self) -> int:
        if not self.free:
            raise NotInterpretedError("too many registers")
        register = self.free.pop()
        self.temporary.add(register)
        return register

    def give(self, registers: Iterable[int]) -> None:
        self.free += registers


class Assembler:
    """Collects the code of one kernel."""

    def __init__(self) -> None:
        self._code: list[tuple[str, int | Label, int, int, int]] = []
        self._first: list[tuple[str, int | Label, int, int, int]] = []  # what runs once, before the rest
        self._constants: dict[int, int] = {}  # the registers of constants, by their bits
        self._spread: dict[int, int] = {}  # the vectors with a fixed number in all lanes
        self._last: Value | None = None  # what the last instruction has computed, unless something else holds it
        self._numbers = _Registers([*range(NUMBERS - 1, MOST_NUMBERS - 1, -1)])
        self._vectors = _Registers([*range(VECTORS - 1, -1, -1)])
        self._pointers = _Registers([*range(POINTERS - 1, MOST_POINTERS - 1, -1)])

    # ---- registers

    def new(self, kind: str, is_vector: bool) -> Value:
        """Returns a temporary value that nothing has set."""
        registers = self._vectors if is_vector else self._numbers
        return Value(kind, is_vector, registers.take())

    def new_row(self, n: int, is_vector: bool) -> int:
        """Returns the first of `n` temporary registers that follow each other."""
        registers = self._vectors if is_vector else self._numbers
        free = set(registers.free)
        for first in sorted(free):
            row = range(first, first + n)
            if free.issuperset(row):
                registers.free = [r for r in registers.free if r not in row]
                registers.temporary.update(row)
                return first
        raise NotInterpretedError("too many registers")

    def new_pointer(self) -> int:
        """Returns a register for a pointer, until the end."""
        register = self._pointers.take()
        self._pointers.temporary.clear()
        return register

    def keep(self, value: Value, block: list[Value], n: int = 1) -> None:
        """Makes a temporary value one of a block; with `n`, so many registers from it on."""
        registers = self._vectors if value.is_vector else self._numbers
        for register in range(value.register, value.register + n):
            registers.temporary.discard(register)
            block.append(value._replace(register=register))

    def end_statement(self) -> None:
        """Ends the temporary values."""
        for registers in (self._vectors, self._numbers):
            registers.give(registers.temporary)
            registers.temporary.clear()

    def end_block(self, block: Iterable[Value]) -> None:
        """Ends the values of a block."""
        for value in block:
            (self._vectors if value.is_vector else self._numbers).give([value.register])

    def constant(self, kind: str, x: float) -> Value:
        """Returns a constant of one element."""
        (bits,) = struct.unpack("i", struct.pack("f", x) if kind == "f" else struct.pack("I", int(x) & 0xFFFFFFFF))
        number = self._constants.setdefault(bits, len(self._constants))
        if number >= CONSTANTS:
            raise NotInterpretedError("too many constants")
        return Value(kind, False, NUMBERS + number, is_fixed=True)

    # ---- instructions

    def emit(self, name: str, d: int | Label = 0, a: int = 0, b: int = 0, c: int = 0) -> None:
        """Adds an instruction. Raises `NotInterpretedError` if there is none of this name."""
        if name not in INSTRUCTIONS:
            raise NotInterpretedError(name)
        self._code.append((name, d, a, b, c))
        self._last = None

    def compute(self, name: str, kind: str, is_vector: bool, *operands: int) -> Value:
        """Adds an instruction that computes a value from the registers of its operands, and returns that."""
        value = self.new(kind, is_vector)
        self.emit(name, value.register, *operands)
        self._last = value
        return value

    def operation(self, name: str, operands: list[Value], result: str) -> Value:
        """Adds the operation on operands of one type and one width; `result` is the type of the result."""
        first = operands[0]
        suffix = "16" if first.is_vector else ""
        registers = [o.register for o in operands]
        return self.compute(f"{name}.{first.kind}{suffix}", result, first.is_vector, *registers)

    def place(self, label: Label) -> None:
        """Puts a label here."""
        label.position = len(self._code)
        self._last = None

    def vector(self, value: Value) -> Value:
        """Returns the value as a vector: a number in all lanes."""
        if value.is_vector:
            return value
        is_spread = value.register in self._spread
        if not value.is_fixed or len(self._spread) == FIXED_VECTORS and not is_spread:
            return self.compute("splat", value.kind, True, value.register)
        register = self._spread.setdefault(value.register, VECTORS + len(self._spread))
        if not is_spread:
            self._first.append(("splat", register, value.register, 0, 0))
        return Value(value.kind, True, register, is_fixed=True)

    def alike(self, value: Value, other: Value) -> Value:
        """Returns the value as a vector if the other one is one."""
        return self.vector(value) if other.is_vector else value

    def converted(self, value: Value, kind: str) -> Value:
        """Returns the number or vector converted to another type."""
        if value.kind == kind:
            return value
        if kind == "b" and value.kind == "i":
            return self.operation("&", [value, self.alike(self.constant("i", 255), value)], "b")
        if "f" not in (value.kind, kind):
            return value.as_kind(kind)
        if kind not in "fi":
            raise NotInterpretedError("a float as an unsigned number")
        source = "i" if value.kind == "b" else value.kind
        suffix = "16" if value.is_vector else ""
        return self.compute(f"convert.{source}{kind}{suffix}", kind, value.is_vector, value.register)

    def set(self, target: Value, value: Value) -> None:
        """Sets the register of a local to a value of the same type and width."""
        last = self._last
        if last is not None and (last.is_vector, last.register) == (value.is_vector, value.register):
            name, _, a, b, c = self._code[-1]
            self._code[-1] = (name, target.register, a, b, c)
            self._last = None
        elif value.register != target.register:
            self.emit("copy16" if target.is_vector else "copy", target.register, value.register)

    def code(self) -> np.ndarray:
        """Returns the finished code: the number of constants, they, and the instructions."""
        self.emit("stop")
        shift = len(self._first)
        ints = [len(self._constants), *self._constants]
        for name, d, a, b, c in [*self._first, *self._code]:
            ints += [INSTRUCTIONS[name].number, d.position + shift if isinstance(d, Label) else d, a, b, c]
        return np.array(ints, np.int32)
