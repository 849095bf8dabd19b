"""Printer of scalar expressions: the text of an expression in OpenCL C, and declarations of the locals in it.

Every expression is computed once, at the outermost loop level where its operands are known; at the innermost
level it is a vector over the innermost loop. Invariant: a printed name is defined in a scope that encloses its use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from tfnb.codegen.fusion.nest import Nest
from tfnb.codegen.opencl_c.ctypes import constant, mask_like, register_type
from tfnb.codegen.opencl_c.kerneltext import KernelText
from tfnb.codegen.opencl_c.primitives import PrimitiveWriter
from tfnb.codegen.opencl_c.tree import Block, Call, Declare
from tfnb.errors import InternalError
from tfnb.ir.scalar import PRIMITIVES, Expr, Primitive, walk
from tfnb.sizes import plain
from tfnb.types import DType, float32, float64, int32, int64

__all__ = ["Printer"]

INNER = 9  # the level of the innermost, vectorised loop
# Integer constants in these operations are mostly sizes, which get names with this role.
_SIZED = dict.fromkeys("lt le gt ge eq ne max min".split(), "n_limit") | dict.fromkeys(("add", "sub"), "n_offset")
_SIZED["mul"] = "n_factor"
# The names of locals by the operation that computes them; other locals have the name of the operation itself.
_CALLED = {"load": "x", "index": "lane", "philox": "word", "rng": "word"}
_SHORT = 72
_SMALLEST = np.finfo(np.float32).tiny
_INT_MAX = np.iinfo(np.int32).max


class Printer:
    """Prints the expressions of one kernel.

    `levels` gives the loop level of each index variable and local (0: outside all loops); `lanes` is 1 for scalar
    code. `Body.open_inner` begins a new body of the innermost loop.
    """

    def __init__(self, kernel: KernelText, nest: Nest, levels: dict[object, int], lanes: int) -> None:
        self.kernel, self.indexing, self.levels, self.lanes = kernel, nest.indexing, dict(levels), lanes
        self.writer = PrimitiveWriter(kernel, nest.indexing, lanes)
        self.strides = {nest.kept_at: nest.kept_strides(), nest.at: nest.strides()}
        self.scopes: dict[int, Block] = {}
        # The names by level and expression; the key of an array of four random words is (operands, whether vectors).
        self.names: dict[int, dict[object, str]] = {}
        self.locals: dict[object, str] = {}
        self.counts: dict[Expr, int] = {}
        self._level: dict[Expr, int] = {}
        self.inner = ""

    def count(self, roots: Iterable[Expr]) -> None:
        """Counts the uses of each expression, so that one that is used once can be written inside its user."""
        roots = list(roots)
        for e in roots:
            self.counts[e] = self.counts.get(e, 0) + 1
        for e in walk(*roots):
            primitive = PRIMITIVES.get(e.op)
            uses = 2 if primitive is not None and primitive.repeats else 1
            for a in e.args:
                self.counts[a] = self.counts.get(a, 0) + uses

    def open(self, level: int, block: Block) -> None:
        """Declarations of `level` go to `block` from now on."""
        self.scopes[level] = block
        self.names[level] = {}

    def level(self, e: Expr) -> int:
        """Returns the innermost loop level at which one of the variables and locals in `e` is set."""
        levels = self._level
        if e not in levels:
            for x in walk(e):
                if x not in levels:
                    is_variable = x.op in ("index", "local")
                    levels[x] = self.levels[x.value] if is_variable else max((levels[a] for a in x.args), default=0)
        return levels[e]

    def forget(self, name: object, level: int) -> None:
        """Makes a local known at `level`; the levels of expressions are computed anew."""
        self.levels[name] = level
        self._level.clear()

    def vector(self, e: Expr) -> bool:
        """Returns whether the expression is a vector over the innermost loop."""
        return self.lanes > 1 and self.level(e) == INNER

    def typename(self, dtype: DType, vector: bool) -> str:
        """Returns the C type of an element in a register, or of a vector of this kernel's width."""
        return register_type(dtype) + (str(self.lanes) if vector else "")

    def term(self, e: Expr, user: int | None = None) -> str:
        """Returns C text of `e`, usable at level `user` (its own by default)."""
        if e.op == "const":
            return self._constant(e) if plain(e.value) else self._size(e)
        if e.op == "local":
            return self.locals[e.value]
        if e.op == "param":
            return self.kernel.number(e.value)
        if e.op == "index" and not (e.value == self.inner and self.lanes > 1):
            return str(e.value)
        level = self.level(e)
        name = self.names[level].get(e)
        if name is not None:
            return name
        text = self._text(e, level)
        is_inline = self.counts.get(e, 0) <= 1 and (user is None or user == level) and e.op not in ("load", "philox")
        if is_inline and (len(text) <= _SHORT or self.kernel.width(text) <= _SHORT):
            self.names[level][e] = text
            return text
        name = self.kernel.fresh(_CALLED.get(e.op, e.op))
        self.scopes[level].append(Declare(self.typename(e.dtype, self.vector(e)), name, _bare(text)))
        self.names[level][e] = name
        return name

    def broadcast(self, e: Expr, user: int = INNER) -> str:
        """Returns the term as a vector."""
        text = self.term(e, user)
        if self.vector(e) or self.lanes == 1:
            return text
        kind = self.typename(e.dtype, True)
        if e.dtype.is_bool:
            return f"({kind})(-({text}))"
        return f"({kind})({text})"

    # one operation

    def _constant(self, e: Expr) -> str:
        """Returns C text of a constant, which is an argument of the kernel if it is an ordinary float32.

        So kernels that differ in a learning rate have equal texts. By a power of two, the compiler multiplies where the
        text divides.
        """
        if register_type(e.dtype) == "float":
            x = np.float32(e.value)
            if np.isfinite(x) and abs(x) >= _SMALLEST and abs(np.frexp(x)[0]) != 0.5:
                return self.kernel.number(float(x))
        return constant(e.value, e.dtype)

    def _size(self, e: Expr) -> str:
        """Returns C text of a size, which is an argument of the kernel."""
        text = self.kernel.size(e.value, "n_size")
        return text if e.dtype is int32 else f"(({register_type(e.dtype)}){text})"

    def _text(self, e: Expr, level: int) -> str:
        vector = self.vector(e)
        if e.op == "index":
            return self.kernel.lane_index(self.inner, self.lanes)
        if e.op == "load":
            return self._load(e, level, vector)
        if e.op == "rng":
            return f"{self.kernel.rng(e.value[0])}[{e.value[1]}]"
        if e.op == "philox":
            return self._philox(e, level, vector)
        if e.op in ("cast", "bitcast"):
            return self._convert(e, level, vector)
        if e.op == "where":
            return self._where(e, level, vector)
        primitive = PRIMITIVES[e.op]
        args = [self._operand(k, primitive, e, level, vector) for k in range(len(e.args))]
        return self.writer.text(primitive, e, args, vector)

    def _operand(self, k: int, primitive: Primitive, e: Expr, level: int, vector: bool) -> str:
        """Returns C text of an operand.

        A scalar among vectors becomes a vector, unless C's operator accepts a scalar.
        """
        a = e.args[k]
        if a.op == "const" and a.dtype is int32 and e.op in _SIZED:
            text = self.kernel.size(a.value, _SIZED[e.op], (e, k))
            return f"(int{self.lanes})({text})" if vector else text
        if a.op == "const" and a.dtype is int64 and e.op in _SIZED and plain(a.value) and 1 < a.value < _INT_MAX:
            text = f"(long){self.kernel.size(a.value, _SIZED[e.op], (e, k))}"  # such as the number of classes
            return f"(long{self.lanes})({text})" if vector else f"({text})"
        is_mixed = vector and not self.vector(a)
        takes_scalar = primitive.infix and not a.dtype.is_bool and any(self.vector(x) for x in e.args)
        if is_mixed and not (takes_scalar and (a.op != "const" or a.dtype in (float32, float64))):
            return self.broadcast(a, level)
        text = self.term(a, level)
        # In C, constants and the results of "?" are ints at least, for which overloads of smaller types are ambiguous.
        is_wider_in_c = a.op in ("const", "where") and a.dtype.is_integer and a.dtype.size < 4
        return (
            f"({self.typename(a.dtype, False)}){text}" if is_wider_in_c and not vector and not primitive.infix else text
        )

    def _where(self, e: Expr, level: int, vector: bool) -> str:
        condition, a, b = e.args
        if not vector:
            return f"({self.term(condition, level)} ? {self.term(a, level)} : {self.term(b, level)})"
        left, right = self.broadcast(a, level), self.broadcast(b, level)
        if not self.vector(condition):
            return f"({self.term(condition, level)} ? {left} : {right})"
        return f"({mask_like(self.term(condition, level), e.dtype, self.lanes)} ? {left} : {right})"

    def _convert(self, e: Expr, level: int, vector: bool) -> str:
        x, d = e.args[0], e.dtype
        text, target = self.term(x, level), self.typename(e.dtype, vector)
        if e.op == "bitcast":
            return f"as_{target}({text})"
        if d.is_bool:
            zero = constant(0, x.dtype)
            zero = f"({self.typename(x.dtype, True)})({zero})" if vector else zero
            return self.writer.as_mask(f"({text} != {zero})", x.dtype, vector)
        if vector and x.dtype.is_bool:
            text, source = f"({text} & 1)", f"int{self.lanes}"
        else:
            source = self.typename(x.dtype, vector)
        if d.is_floating and d.size == 2 and x.dtype is not d:
            return self.writer.rounded(text if source == target else f"convert_{target}({text})", d, vector)
        if source == target:
            return text
        return f"convert_{target}({text})" if vector else f"({target}){_wrapped(text)}"

    def _philox(self, e: Expr, level: int, vector: bool) -> str:
        keys = any(self.vector(a) for a in e.args[:2])
        are_vectors = (vector and keys, vector and keys, vector, vector)
        args = [
            self.broadcast(a, level) if w else self.term(a, level) for a, w in zip(e.args, are_vectors, strict=True)
        ]
        self.kernel.need("lib/philox.clh", "", self.lanes if vector else 1)
        key = (e.args, vector)
        words = self.names[level].get(key)
        if words is None:
            words = self.kernel.fresh("words")
            kind = f"uint{self.lanes if vector else ''}"
            self.scopes[level].append(Declare(kind, words, length=4))
            self.scopes[level].append(Call("philox_4x32", (*args, words)))
            self.names[level][key] = words
        return f"{words}[{e.value}]"

    # memory

    def _load(self, e: Expr, level: int, vector: bool) -> str:
        pointer, dtype = self.kernel.pointer(e.value), e.dtype
        linear = e.args[0]
        if not vector:
            return self.kernel.read(pointer, self.position(linear, level, pointer), dtype)
        form = self.indexing.affine(linear)
        inner = [(t, c) for t, c in form.terms.items() if t.op == "index" and t.value == self.inner]
        varying_atoms = [t for t in form.terms if t.op != "index" and self.level(t) == INNER]
        if len(inner) == 1 and inner[0][1] == 1 and not varying_atoms:
            return self.kernel.read_vector(pointer, self.position(linear, level, pointer, raw=True), dtype, self.lanes)
        return self.kernel.gather(pointer, self.position(linear, level, pointer), dtype, self.lanes, linear.dtype)

    def position(self, linear: Expr, level: int, of: str, raw: bool = False) -> str:
        """Returns C text of a linear position in the array `of`.

        `raw`: the position of the first lane, in which the innermost variable is a scalar.
        """
        form = self.indexing.affine(linear)
        vector = self.lanes > 1 and not raw and self.level(linear) == INNER
        strides = self.strides.get(linear, {})
        parts = []
        for atom, c in form.terms.items():
            name = str(atom.value) if raw and atom.op == "index" else self.term(atom, level)
            parts.append(name if c == 1 else f"{name} * {self.stride(of, atom, c, strides)}")
        if form.const:
            parts.append(self.kernel.size(form.const, f"{of}_offset"))
        text = " + ".join(parts) or "0"
        if vector and not any(self.vector(a) for a in form.terms):
            raise InternalError("a gather needs a position per lane")
        return text

    def stride(self, of: str, atom: Expr, c: int, known: Mapping[str, str]) -> str:
        """Returns C text of the step in the array `of` along a loop, or along an index that is computed."""
        if atom.op != "index":
            return self.kernel.size(c, f"{of}_s", (of, atom))
        loop = str(atom.value)
        return self.kernel.size(c, known.get(loop) or f"{of}_s{loop[1:]}")


def _wrapped(text: str) -> str:
    return text if text.isidentifier() or text.startswith("(") and text.endswith(")") else f"({text})"


def _bare(text: str) -> str:
    """Returns the text without one enclosing pair of parentheses."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for k, ch in enumerate(text):
        depth += (ch == "(") - (ch == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1]
