"""Combining: the accumulators of a reduction in vector and scalar code.

A reduction has one state; argmax and argmin have two, the best value and its index. Long sums of floats are added up
in blocks, so that their error grows with the fourth root of the length. Invariant: max and min of values with a NaN
are NaN; argmax and argmin of equal values are the first index.
"""

from __future__ import annotations

from dataclasses import dataclass

from tfnb.codegen.opencl_c.ctypes import (
    constant,
    mask_like,
    mask_type,
    register_size,
    register_type,
    wrapped,
)
from tfnb.codegen.opencl_c.kerneltext import KernelText
from tfnb.codegen.opencl_c.tree import Assign, Block, Call, Declare, If
from tfnb.types import DType, int32, int64

__all__ = ["Combine"]

# The index in an accumulator until a value that is better than the neutral one has been combined into it.
FIRST_NONE = {int32: "INT_MAX", int64: "LONG_MAX"}


@dataclass(frozen=True, slots=True)
class Combine:
    """The code of one reduction of elements of `dtype`, whose result has the dtype `result`."""

    name: str
    dtype: DType
    result: DType

    @property
    def arg(self) -> bool:
        """Whether the result is a position (argmax or argmin)."""
        return self.name.startswith("arg")

    @property
    def states(self) -> tuple[DType, ...]:
        """The dtypes of the accumulators."""
        return (self.dtype, self.result) if self.arg else (self.dtype,)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the accumulators."""
        return (self.name, f"{self.name}_at") if self.arg else (self.name,)

    def neutral(self, state: int, vector: bool = False) -> str:
        """Returns C text of the value with which an accumulator starts."""
        if state == 1:
            return FIRST_NONE[self.result]
        if self.name in ("any", "all"):
            return "0" if self.name == "any" else "-1" if vector else "1"
        if self.name in ("sum", "prod"):
            return constant(self.name == "prod", self.dtype)
        is_max = self.name in ("max", "argmax")
        if self.dtype.is_floating:
            return "-INFINITY" if is_max else "INFINITY"
        limit = self.dtype.min if is_max else self.dtype.max
        return constant(limit, self.dtype)

    def masked(self, x: str, lanes: int) -> str:
        """Returns C text of `x` with neutral values in the lanes past the end."""
        kind = register_type(self.dtype) + str(lanes)
        keep = mask_like(f"lanes{lanes}() < (int{lanes})(live)", self.dtype, lanes)
        keep = keep if keep.startswith("convert") else f"({keep})"
        return f"{keep} ? {x} : ({kind})({self.neutral(0, True)})"

    def update(self, kernel: KernelText, acc: tuple[str, ...], x: tuple[str, ...], lanes: int) -> Block:
        """Statements that combine the states `x` into the accumulators `acc`."""
        a = acc[0]
        if self.name in ("sum", "prod"):
            symbol = "+" if self.name == "sum" else "*"
            if self.dtype.is_integer and lanes == 1:
                return [Assign(a, wrapped(symbol, (a, x[0]), self.dtype))]
            return [Assign(a, f"{a} {symbol} {x[0]}")]
        if self.name in ("any", "all"):
            return [Assign(a, x[0], "|" if self.name == "any" else "&")]
        sign = ">" if self.name in ("max", "argmax") else "<"
        better = f"({x[0]} {sign} {a})"
        if not self.arg:
            if self.dtype.is_floating:
                better = f"({better} | ({x[0]} != {x[0]}))"
            return [Assign(a, f"{better} ? {x[0]} : {a}")]
        return self._update_arg(kernel, acc, x, lanes, better)

    def _update_arg(
        self, kernel: KernelText, acc: tuple[str, ...], x: tuple[str, ...], lanes: int, better: str
    ) -> Block:
        a, at = acc
        if self.dtype.is_floating:
            better = f"({better} | (({x[0]} != {x[0]}) & ({a} == {a})))"
        tie = f"(({x[0]} == {a}) & {self._mask(f'({x[1]} < {at})', lanes, self.result, self.dtype)})"
        is_better = kernel.fresh("better")
        kind = f"{mask_type(self.dtype)}{lanes}" if lanes > 1 else "int"
        return [
            Declare(kind, is_better, f"{better} | {tie}"),
            Assign(a, f"{is_better} ? {x[0]} : {a}"),
            Assign(at, f"{self._mask(is_better, lanes, self.dtype, self.result)} ? {x[1]} : {at}"),
        ]

    @staticmethod
    def _mask(text: str, lanes: int, of: DType, to: DType) -> str:
        """Returns C text that converts a mask from the lane width of the dtype `of` to that of the dtype `to`."""
        if lanes == 1 or register_size(of) == register_size(to):
            return text
        return f"convert_{mask_type(to)}{lanes}({text})"

    def shown(self, index: str, lanes: int = 1) -> Assign:
        """Returns the assignment that replaces the index of an accumulator that has met no better value by 0."""
        none, zero = FIRST_NONE[self.result], "0"
        if lanes > 1:
            kind = f"({register_type(self.result)}{lanes})"
            none, zero = f"{kind}({none})", f"{kind}(0)"
        return Assign(index, f"{index} == {none} ? {zero} : {index}")

    def across(self, kernel: KernelText, acc: tuple[str, ...], lanes: int) -> tuple[Block, tuple[str, ...]]:
        """Statements that combine the lanes, and the names of the scalar states."""
        kind = register_type(self.dtype)
        kernel.need("lib/reduce.clh", "int" if self.dtype.is_bool else kind, lanes)
        if self.arg:
            value, at = (kernel.fresh(name) for name in self.names)
            return [
                Declare(kind, value),
                Declare(register_type(self.result), at),
                Call(f"across_{self.name}", (*acc, f"&{value}", f"&{at}")),
            ], (value, at)
        name = kernel.fresh(self.name)
        return [Declare(kind, name, f"across_{self.name}({acc[0]})")], (name,)

    def team(self, kernel: KernelText, states: tuple[str, ...], size: int) -> tuple[Block, Block, tuple[str, ...]]:
        """Combines the scalar states of the `size` work-items of a group, a power of 2.

        Returns declarations of local memory for the top of the kernel, the statements, and the names of the states,
        which all work-items know afterwards. The local `team` is the number of the work-item in its group.
        """
        kinds = [register_type(d) for d in self.states]
        shared = [kernel.fresh(f"{name}_team") for name in self.names]
        mine = tuple(f"{s}[team]" for s in shared)
        barrier = Call("barrier", ("CLK_LOCAL_MEM_FENCE",))
        room: Block = [Declare(f"__local {c}", s, length=size) for c, s in zip(kinds, shared, strict=True)]
        block: Block = [barrier, *(Assign(m, s) for m, s in zip(mine, states, strict=True)), barrier]
        while size > 1:
            size //= 2
            other = tuple(kernel.fresh(f"{name}_other") for name in self.names)
            loads = [Declare(c, o, f"{s}[team + {size}]") for c, o, s in zip(kinds, other, shared, strict=True)]
            block += [If(f"team < {size}", [*loads, *self.update(kernel, mine, other, 1)]), barrier]
        results = tuple(kernel.fresh(name) for name in self.names)
        block += [Declare(c, r, f"{s}[0]") for c, r, s in zip(kinds, results, shared, strict=True)]
        return room, block, results

    def outcome(self, states: tuple[str, ...]) -> str:
        """Returns C text of the result, given the scalar or vector states."""
        return states[0] if not self.arg else states[1]
