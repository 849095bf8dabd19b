"""KernelText: parameters, library parts and lines of one generated kernel.

Names of parameters count up in order of first use and sizes are arguments, so kernels that do the same to other
tensors have the same text and become one entry. Invariant: the text names no tensor, only the arguments do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tfnb.codegen.ctypes import memory_type
from tfnb.codegen.nest import Loop
from tfnb.codegen.tree import Store
from tfnb.codegen.values import Value
from tfnb.types import DType, int64

__all__ = ["KernelText", "Param", "Scratch", "wrapped"]


@dataclass(frozen=True, slots=True)
class Scratch:
    """Memory that a kernel needs while it runs; `key` tells the scratches of a kernel, or of a pair of them, apart."""

    key: str
    nbytes: int


@dataclass(slots=True, eq=False)
class Param:
    """A pointer parameter: `target` is a value, a scratch or the id of a random node."""

    name: str
    ctype: str
    target: Value | Scratch | int
    written: bool = False

    def declared(self) -> str:
        return f"__global {'' if self.written else 'const '}{self.ctype} *{self.name}"


@dataclass(slots=True, eq=False)
class KernelText:
    """Collects a kernel. `wide`: sizes do not fit an int and stand in the text. `sizes`: the names of the arguments, by
    key and number."""

    wide: bool = False
    params: dict[object, Param] = field(default_factory=dict)
    sizes: dict[tuple[object, int], str] = field(default_factory=dict)
    numbers: dict[float, str] = field(default_factory=dict)
    needs: dict[tuple[str, str, int], None] = field(default_factory=dict)
    names: int = 0
    roles: Counter[str] = field(default_factory=Counter)

    @property
    def index_type(self) -> str:
        """The C type of sizes, indices and loop variables."""
        return "long" if self.wide else "int"

    def fresh(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def need(self, file: str, ctype: str, lanes: int) -> None:
        """The kernel uses the library template `file` for this type and width."""
        self.needs[(file, ctype, lanes)] = None

    def size(self, n: int, role: str, key: object = None) -> str:
        """A number of elements or rows, or a stride: an argument, unless it is so small that it is structure.

        `role` says what the number is, and becomes the argument's name. Two sizes share an argument where they have the
        same `key` (the role, where none is given), not because their numbers happen to be equal: the text then is the
        same for shapes in which they differ. One role with several numbers has several arguments.
        """
        if -2 < n < 2 or self.wide:
            text = f"{n}L" if self.wide else str(n)
            return text if n >= 0 else f"({text})"
        name = self.sizes.get((key or role, n))
        if name is None:
            self.roles[role] += 1
            name = role if self.roles[role] == 1 else f"{role}_{self.roles[role]}"
            self.sizes[key or role, n] = name
        return name

    def extent(self, loop: Loop) -> str:
        """The extent of a loop: n0 that of i0."""
        return self.size(loop.extent, loop.size)

    def number(self, x: float) -> str:
        """A float that follows from shapes: an argument."""
        return self.numbers.setdefault(x, f"x{len(self.numbers)}")

    def pointer(self, value: Value, written: bool = False) -> str:
        key = ("variable", value.index) if value.kind == "variable" else value
        param = self.params.get(key)
        if param is None:
            param = Param(f"p{len(self.params)}", memory_type(value.info.dtype), value)
            self.params[key] = param
        param.written |= written
        return param.name

    def scratch(self, key: str, ctype: str, elements: int) -> str:
        """A pointer to memory for so many elements."""
        param = self.params.get(("scratch", key))
        if param is None:
            target = Scratch(key, elements * (8 if ctype in ("double", "long", "ulong") else 4))
            param = self.params[("scratch", key)] = Param(f"p{len(self.params)}", ctype, target, True)
        return param.name

    def rng(self, node: int) -> str:
        param = self.params.get(("rng", node))
        if param is None:
            param = self.params[("rng", node)] = Param(f"p{len(self.params)}", "uint", node)
        return param.name

    # accesses

    def read(self, pointer: str, at: str, dtype: DType) -> str:
        if dtype.is_bool:
            return f"({pointer}[{at}] != 0)"
        if dtype.name == "float16":
            return f"vload_half({at}, {pointer})"
        if dtype.name == "bfloat16":
            return f"as_float((uint){pointer}[{at}] << 16)"
        return f"{pointer}[{at}]"

    def read_vector(self, pointer: str, at: str, dtype: DType, lanes: int) -> str:
        address = pointer if at == "0" else f"{pointer} + {at}"
        if dtype.is_bool:
            return f"convert_int{lanes}(vload{lanes}(0, {address}) != (uchar{lanes})(0))"
        if dtype.name == "float16":
            return f"vload_half{lanes}(0, {address})"
        if dtype.name == "bfloat16":
            return f"as_float{lanes}(convert_uint{lanes}(vload{lanes}(0, {address})) << 16)"
        return f"vload{lanes}(0, {address})"

    def gather(self, pointer: str, at: str, dtype: DType, lanes: int, index: DType) -> str:
        if index is int64:
            at = f"convert_long{lanes}({at})"
        kind = "half" if dtype.name == "float16" else memory_type(dtype)
        self.need("fused/gather.clh", kind, lanes)
        found = f"gather({pointer}, {at})"
        if dtype.is_bool:
            return f"convert_int{lanes}({found} != (uchar{lanes})(0))"
        if dtype.name == "bfloat16":
            return f"as_float{lanes}(convert_uint{lanes}({found}) << 16)"
        return found

    def write(self, pointer: str, at: str, text: str, dtype: DType, lanes: int = 1, live: str = "") -> Store:
        """A store of one element, or of the first `live` lanes of a vector."""
        kind = memory_type(dtype)
        if dtype.is_bool and lanes > 1:
            text = f"convert_uchar{lanes}({text} & 1)"
        if dtype.name == "bfloat16":
            self.need("fused/bfloat16.clh", "", lanes)
            text = f"to_bfloat16({text})"
        if lanes > 1:
            self.need("fused/put.clh", kind, lanes)
        return Store(pointer, at, text, kind, lanes, live)

    def lane_index(self, name: str, lanes: int) -> str:
        """The innermost loop variable of each lane; lanes past the end repeat the last element."""
        return f"lane_index{'_long' if self.wide else ''}{lanes}({name}, live)"

    def signature(self, name: str) -> str:
        """The kernel's head; pointers first, then sizes and numbers."""
        return f"__kernel void {name}(\n" + wrapped(self.parameters())

    def parameters(self) -> list[str]:
        """Their declarations, in the order of the arguments."""
        kind = self.index_type
        parts = [p.declared() for p in self.params.values()]
        return parts + [f"{kind} {n}" for n in self.sizes.values()] + [f"float {x}" for x in self.numbers.values()]


def wrapped(parts: list[str]) -> str:
    """A list in parentheses, the first of which is open, over as many lines as it needs."""
    lines, line = [], "   "
    for k, part in enumerate(parts):
        text = part + ("," if k + 1 < len(parts) else ")")
        if len(line) + len(text) > 96 and line.strip():
            lines.append(line)
            line = "   "
        line += " " + text
    return "\n".join([*lines, line])
