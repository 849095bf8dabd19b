"""Scalar primitives written as OpenCL C: the text of one operation, given the texts of its operands.

The table of `ir/scalar/primitives.py` has the form of each primitive; this module adapts it to types and widths.
Invariant: the value is that of the primitive's host function up to rounding; integers wrap at the ends of their type.
"""

from __future__ import annotations

from tfnb.codegen.fusion.indexing import Indexing
from tfnb.codegen.opencl_c.ctypes import register_type, wrapped
from tfnb.codegen.opencl_c.kerneltext import KernelText
from tfnb.errors import UnimplementedError
from tfnb.ir.scalar import CForm, Expr, Library, Primitive
from tfnb.types import DType, float64

__all__ = ["PrimitiveWriter"]

# Comparisons that order their operands. In vectors the bool true is -1, which would be less than false.
_ORDERS = frozenset(("lt", "le", "gt", "ge"))
# C's own operators for quotients and remainders of integers, for divisors with which C defines the value.
_DIVISIONS = {"div": "/", "floordiv": "/", "truncmod": "%", "floormod": "%"}
_SHIFTS = {"shl": "<<", "shr": ">>"}


class PrimitiveWriter:
    """Writes the primitives of one kernel.

    `indexing` knows the bounds of index expressions; `lanes` is the width of the kernel's vectors. In all methods
    `vector` says whether the value is a vector or one element.
    """

    def __init__(self, kernel: KernelText, indexing: Indexing, lanes: int) -> None:
        self.kernel, self.indexing, self.lanes = kernel, indexing, lanes

    def text(self, primitive: Primitive, e: Expr, args: list[str], vector: bool) -> str:
        """Returns C text of `e`, a primitive over operands whose texts are `args`.

        Raises `UnimplementedError` for a primitive that has no form for the dtype.
        """
        dtype = e.args[0].dtype
        if primitive.unsigned and not vector and self._may_overflow(e):
            return wrapped(primitive.unsigned, ["0", *args][-2:], dtype)
        if primitive.infix:
            if vector and dtype.is_bool and e.op in _ORDERS:
                args = [f"({a} & 1)" for a in args]
            text = f"({args[0]} {primitive.infix} {args[1]})"
        else:
            special = self._by_constant(primitive, e) if dtype.is_floating else self._by_divisor(e)
            form = special or self._form(primitive, dtype, vector)
            if isinstance(form, Library):
                self.kernel.need(form.file, register_type(dtype), self.lanes if vector else 1)
                text = f"t_{primitive.name}({', '.join(args)})"
                if dtype.is_integer:
                    return text  # the function gives the type itself
            else:
                text = form.format(*args)
        if e.dtype.is_bool:
            return self.as_mask(text, dtype, vector)
        return self._narrowed(e.dtype, text, vector)

    def as_mask(self, text: str, dtype: DType, vector: bool) -> str:
        """Returns the result of comparing elements of `dtype` as a bool: in vectors a mask of ints."""
        is_int_mask = dtype.is_bool or dtype.size == 4 or dtype.is_floating and dtype.size == 2
        return text if not vector or is_int_mask else f"convert_int{self.lanes}{text}"

    def rounded(self, text: str, dtype: DType, vector: bool) -> str:
        """Returns a float rounded to the 16-bit type `dtype`."""
        self.kernel.need(f"fused/{dtype.name}.clh", "", self.lanes if vector else 1)
        return f"round_{dtype.name}({text})"

    def _may_overflow(self, e: Expr) -> bool:
        """Returns whether an integer expression needs arithmetic that wraps explicitly.

        Unsigned types of 32 and 64 bits wrap in C, and expressions with known bounds, such as indices, stay in range.
        """
        d = e.dtype
        if not d.is_integer or d.is_unsigned and d.size >= 4:
            return False
        return self.indexing.bounds(e) is None

    def _form(self, primitive: Primitive, dtype: DType, vector: bool) -> CForm:
        """Returns the form for elements of `dtype`."""
        form = primitive.floats if dtype.is_floating else primitive.integers
        if form is None:
            raise UnimplementedError(f"no OpenCL form of {primitive.name} for {dtype.name}")
        if dtype is float64:
            return primitive.doubles or form
        return primitive.vectors or form if vector and dtype.size < 8 else form

    def _by_constant(self, primitive: Primitive, e: Expr) -> str | None:
        """Returns the special form for this constant as the second operand of floats, if there is one."""
        second = e.args[-1]
        if not primitive.by_constant or second.op != "const" or second.value != second.value:
            return None
        return primitive.by_constant.get(second.value) or primitive.by_constant.get(None)

    def _by_divisor(self, e: Expr) -> str | None:
        """C's own operator as the form of a quotient, remainder or shift of integers, if C defines the value."""
        second = e.args[-1]
        if second.op != "const":
            return None
        divisor = second.value
        if e.op in _SHIFTS:
            return f"({{0}} {_SHIFTS[e.op]} {divisor})" if 0 <= divisor < 8 * e.dtype.size else None
        if e.op not in _DIVISIONS or divisor in (0, -1):
            return None
        if e.op in ("floordiv", "floormod") and not e.dtype.is_unsigned:  # C rounds to zero, these round down
            first = e.args[0]
            low, _ = self.indexing.pure(first) and self.indexing.bounds(first) or (-1, 0)
            if low < 0 or divisor < 0:
                return None
        return f"({{0}} {_DIVISIONS[e.op]} {{1}})"

    def _narrowed(self, dtype: DType, text: str, vector: bool) -> str:
        """Converts a value back to its type: C widens small integers, and 16-bit floats are computed with 32 bits."""
        if dtype.is_floating and dtype.size == 2:
            return self.rounded(text, dtype, vector)
        if not vector and dtype.is_integer and dtype.size < 4:
            return f"(({dtype.cl}){text})"
        return text
