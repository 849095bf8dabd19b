"""KernelText: parameters, library parts and lines of one generated kernel.

Kernels that do the same work on other tensors have the same text, and so are compiled once. That is why no name comes
from the graph: arrays have names by their use in the kernel (in_1, out_1), locals by the operation that computes them
(exp_2), sizes by their role (n_rows), each with a number in order of first use. The record of a launch has the nodes
that it computes (`program.Launch`). Invariant: equal work gives equal text, whatever the names of the nodes are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tfnb.codegen.fusion.nest import Loop
from tfnb.codegen.fusion.values import Value
from tfnb.codegen.opencl_c.ctypes import memory_type
from tfnb.codegen.opencl_c.tree import Store
from tfnb.sizes import plain
from tfnb.types import DType, int64

__all__ = ["KernelText", "Param", "Scratch", "wrapped"]

_WORD = re.compile(r"[a-z]\w*")


@dataclass(frozen=True, slots=True)
class Scratch:
    """Memory that a kernel needs while it runs; `key` identifies it within the kernels of one group."""

    key: str
    nbytes: int


@dataclass(slots=True, eq=False)
class Param:
    """A pointer parameter: `target` is a value, a scratch or the id of a random node."""

    name: str
    ctype: str
    target: Value | Scratch | int
    written: bool

    def declared(self) -> str:
        """Returns the declaration in the kernel's head."""
        return f"__global {'' if self.written else 'const '}{self.ctype} *{self.name}"


@dataclass(slots=True, eq=False)
class KernelText:
    """Collects the parameters and library parts of a kernel.

    `wide` says that sizes do not fit an int and are written into the text. `outputs` is the memory that the kernel
    writes (`Value.memory`). `sizes` has the names of the size arguments, by key and number."""

    wide: bool = False
    outputs: frozenset[object] = frozenset()
    params: dict[object, Param] = field(default_factory=dict)
    sizes: dict[tuple[object, int], str] = field(default_factory=dict)
    numbers: dict[float, str] = field(default_factory=dict)
    needs: dict[tuple[str, str, int], None] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    locals: int = 0
    surplus: dict[str, int] = field(default_factory=dict)

    @property
    def index_type(self) -> str:
        """The C type of sizes, indices and loop variables."""
        return "long" if self.wide else "int"

    def fresh(self, what: str) -> str:
        """Returns a new name for a local."""
        self.locals += 1
        return self.named(what, self.locals)

    def named(self, what: str, number: int) -> str:
        """Returns a new name; `width` counts it as one letter and the number, however long it is."""
        count = self.names[what] = self.names.get(what, 0) + 1
        name = f"{what}_{count}"
        self.surplus[name] = len(name) - len(str(number)) - 1
        return name

    def width(self, text: str) -> int:
        """Returns the length of an expression, in which a name counts as one letter and a number, however long it is.

        An expression that is too wide becomes a local, so that the text must not depend on the lengths of names.
        """
        return len(text) - sum(self.surplus.get(word, 0) for word in _WORD.findall(text))

    def need(self, file: str, ctype: str, lanes: int) -> None:
        """Notes that the kernel uses the library template `file` for this type and width."""
        self.needs[(file, ctype, lanes)] = None

    def size(self, n: int, role: str, key: object = None) -> str:
        """Returns C text of a size or a stride: an argument, or for the numbers -1, 0 and 1 the number itself.

        `role` says what the number is, and becomes the argument's name. Two equal sizes share an argument only if they
        have the same `key` (by default the role), so that the text stays the same for shapes in which they differ. A
        role with several numbers has several arguments.
        """
        if plain(n) and -2 < n < 2 or self.wide:
            text = f"{n}L" if self.wide else str(n)
            return text if n >= 0 else f"({text})"
        name = self.sizes.get((key or role, n))
        if name is None:
            count = self.names[role] = self.names.get(role, 0) + 1
            name = role if count == 1 else f"{role}_{count}"
            self.surplus[name] = len(name) - len(str(len(self.sizes))) - 1
            self.sizes[key or role, n] = name
        return name

    def extent(self, loop: Loop) -> str:
        """Returns C text of the extent of a loop: n0 for i0."""
        return self.size(loop.extent, loop.size)

    def number(self, x: float) -> str:
        """Returns the name of an argument for a float that follows from the shapes."""
        return self.numbers.setdefault(x, f"x{len(self.numbers)}")

    def pointer(self, value: Value) -> str:
        """Returns the name of an array."""
        written = value.memory in self.outputs
        return self._param(value.memory, "out" if written else "in", memory_type(value.info.dtype), value, written)

    def scratch(self, what: str, key: object, ctype: str, elements: int) -> str:
        """Returns the name of scratch memory for `elements` elements; `what` and `key` identify it."""
        target = Scratch(f"{what} {key}", elements * (8 if ctype in ("double", "long", "ulong") else 4))
        return self._param(("scratch", target.key), what, ctype, target, True)

    def rng(self, node: int) -> str:
        """Returns the name of the state of a random node."""
        return self._param(("rng", node), "random", "uint", node, False)

    def _param(self, key: object, what: str, ctype: str, target: Value | Scratch | int, written: bool) -> str:
        param = self.params.get(key)
        if param is None:
            param = self.params[key] = Param(self.named(what, len(self.params)), ctype, target, written)
        return param.name

    # accesses

    def read(self, pointer: str, at: str, dtype: DType) -> str:
        """Returns C text that reads the element at `at` into a register."""
        if dtype.is_bool:
            return f"({pointer}[{at}] != 0)"
        if dtype.name == "float16":
            return f"vload_half({at}, {pointer})"
        if dtype.name == "bfloat16":
            return f"as_float((uint){pointer}[{at}] << 16)"
        return f"{pointer}[{at}]"

    def read_vector(self, pointer: str, at: str, dtype: DType, lanes: int) -> str:
        """Returns C text that reads `lanes` elements from `at` on."""
        address = pointer if at == "0" else f"{pointer} + {at}"
        if dtype.is_bool:
            return f"convert_int{lanes}(LOAD(uchar, {lanes}, {address}) != (uchar{lanes})(0))"
        if dtype.name == "float16":
            return f"vload_half{lanes}(0, {address})"
        if dtype.name == "bfloat16":
            return f"as_float{lanes}(convert_uint{lanes}(LOAD(ushort, {lanes}, {address})) << 16)"
        return f"LOAD({memory_type(dtype)}, {lanes}, {address})"

    def gather(self, pointer: str, at: str, dtype: DType, lanes: int, index: DType) -> str:
        """Returns C text that reads one element for each lane of the vector `at`, whose dtype is `index`."""
        if index is int64:
            at = f"convert_long{lanes}({at})"
        kind = "half" if dtype.name == "float16" else memory_type(dtype)
        self.need("fused/gather.clh", kind, lanes)
        elements = f"gather({pointer}, {at})"
        if dtype.is_bool:
            return f"convert_int{lanes}({elements} != (uchar{lanes})(0))"
        if dtype.name == "bfloat16":
            return f"as_float{lanes}(convert_uint{lanes}({elements}) << 16)"
        return elements

    def write(self, pointer: str, at: str, text: str, dtype: DType, lanes: int = 1, live: str = "") -> Store:
        """Returns a store of one element, or of the first `live` lanes of a vector."""
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
        """Returns C text of the innermost loop variable in each lane; lanes past the end repeat the last element."""
        return f"lane_index{'_long' if self.wide else ''}{lanes}({name}, live)"

    def signature(self, name: str) -> str:
        """Returns the head of the kernel: pointers, then sizes, then numbers."""
        return f"__kernel void {name}(\n" + wrapped(self.parameters())

    def parameters(self) -> list[str]:
        """Returns the declarations of the parameters, in the order of the arguments."""
        kind = self.index_type
        parts = [p.declared() for p in self.params.values()]
        return parts + [f"{kind} {n}" for n in self.sizes.values()] + [f"float {x}" for x in self.numbers.values()]


def wrapped(parts: Sequence[str], indent: int = 4) -> str:
    """Returns the rest of a list after its opening parenthesis, broken into lines."""
    margin = " " * (indent - 1)
    lines, line = [], margin
    for k, part in enumerate(parts):
        text = part + ("," if k + 1 < len(parts) else ")")
        if len(line) + len(text) > 96 and line.strip():
            lines.append(line)
            line = margin
        line += " " + text
    return "\n".join([*lines, line])
