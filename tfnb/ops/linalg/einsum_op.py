"""`Einsum`, by which later graphs name an Einstein summation of one or two tensors.

OpenCL devices compute it as the matrix products of `einsum`; diagonals and axes of "..." that are broadcast are the
host's. Invariant: the gradient of an operand is a summation of the result's gradient with the other operand, repeated
along the axes that only this operand has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError, UnimplementedError
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import broadcast_shapes
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import ONES_LIKE
from tfnb.ops.array.shape_ops import EXPAND_DIMS, SQUEEZE
from tfnb.ops.linalg.einsum import einsum, with_letters
from tfnb.ops.math.complex_numbers import CONJ
from tfnb.ops.math.reduce_sum import SUM
from tfnb.types import NUMBERS, Shape, unknown_shape

__all__ = ["OPS"]


@record
class EinsumAttrs:
    """`equation`: the letters of the axes of each input and of the result, such as "ij,jk->ik"."""

    equation: str


def _terms(op_name: str, equation: str, shapes: Sequence[Shape]) -> tuple[list[str], str] | None:
    """Returns the letters of the inputs and of the result, those of "..." too; None if a rank is not known."""
    given, arrow, out = equation.replace(" ", "").partition("->")
    terms = given.split(",")
    if not arrow:
        raise InvalidArgumentError(f"{op_name}: Expecting exactly one '->' in einsum equation: {equation}")
    if len(terms) != len(shapes):
        raise InvalidArgumentError(f"{op_name}: {equation!r} has {len(terms)} terms, got {len(shapes)} inputs")
    if len(set(out.replace("...", ""))) != len(out.replace("...", "")):
        raise InvalidArgumentError(f"{op_name}: the result of {equation!r} has a letter several times")
    ranks = [None if s.sizes is None else len(s.sizes) for s in shapes]
    if None in ranks and "..." in given:
        return None
    *filled, out = _lettered(f"{given}->{out}", shapes).replace("->", ",").split(",")
    for term, rank in zip(filled, ranks, strict=True):
        if rank not in (None, len(term)):
            raise ShapeError(f"{op_name}: {equation!r} does not fit a tensor of rank {rank}")
    return filled, out


class _Ranked:
    """Stands for a tensor whose shape is known."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape


def _lettered(equation: str, shapes: Sequence[Shape]) -> str:
    return with_letters(equation, [_Ranked(s) for s in shapes])


def _sizes(op_name: str, terms: Sequence[str], shapes: Sequence[Shape], equation: str) -> dict[str, Any]:
    """Returns the sizes of the axes; those of "..." are broadcast. Raises `ShapeError` where others differ."""
    named = set(equation) - set("., ->")
    sizes: dict[str, Any] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, n in zip(term, (None,) * len(term) if shape.sizes is None else shape.sizes, strict=True):
            former = sizes.get(letter)
            if letter in named and None not in (former, n) and former != n:
                raise ShapeError(f"{op_name}: axis {letter!r} of {equation!r} has sizes {former} and {n}")
            if letter in named or former is None:
                sizes[letter] = n if former is None else former
            else:
                sizes[letter] = broadcast_shapes(Shape((former,)), Shape((n,))).known()[0]
    return sizes


def _infer(c: Infer) -> Shape:
    found = _terms(c.op_name, c.attrs.equation, c.shapes)
    if found is None:
        return unknown_shape
    terms, out = found
    sizes = _sizes(c.op_name, terms, c.shapes, c.attrs.equation)
    if set(out) - sizes.keys():
        raise InvalidArgumentError(f"{c.op_name}: the result of {c.attrs.equation!r} has a letter that no input has")
    return Shape(tuple(sizes[letter] for letter in out))


def _host(call: HostCall, *inputs: np.ndarray) -> np.ndarray:
    dtype = inputs[0].dtype
    wide = [x.astype(np.float32) if dtype.itemsize == 2 and dtype.kind not in "iu" else x for x in inputs]
    return np.asarray(np.einsum(call.attrs.equation.replace(" ", ""), *wide, optimize=len(wide) > 1)).astype(dtype)


def _expand(op: Operation, *inputs: Any) -> Any:
    shapes = [x.shape for x in inputs]
    found = _terms(op.type, op.attrs.equation, shapes)
    if found is None:
        return None
    terms, out = found
    if any(len(set(t)) != len(t) for t in terms) or any(s.sizes is None for s in shapes):
        return None
    sizes = [dict(zip(t, s.sizes, strict=True)) for t, s in zip(terms, shapes, strict=True)]
    alike = all(first.get(c, n) == n for first in sizes for other in sizes for c, n in other.items())
    return einsum(f"{','.join(terms)}->{out}", *inputs) if alike else None


def _grad(op: Operation, dy: Tensor) -> Any:
    found = _terms(op.type, op.attrs.equation, [x.shape for x in op.inputs])
    if found is None or any(len(set(t)) != len(t) for t in found[0]):
        raise UnimplementedError(f"the gradient of Einsum {op.attrs.equation!r} needs known ranks and no diagonals", op)
    terms, out = found
    sizes = dict(zip(out, op.outputs[0].shape.sizes or (), strict=False))
    grads = []
    for k, (term, x) in enumerate(zip(terms, op.inputs, strict=True)):
        others = [_unbroadcast(t, y, sizes) for i, (t, y) in enumerate(zip(terms, op.inputs, strict=True)) if i != k]
        known = set(out).union(*(t for t, _ in others))
        kept = "".join(c for c in term if c in known)
        tensors = [dy, *(CONJ(y) if y.dtype.is_complex else y for _, y in others)]
        g = EINSUM(tensors, equation=f"{','.join([out, *(t for t, _ in others)])}->{kept}")
        for axis, letter in enumerate(term):
            if letter not in known:
                g = EXPAND_DIMS(g, np.int32(axis))
        grads.append(_fitted(g, x, repeats=len(kept) < len(term)))
    return tuple(grads)


def _unbroadcast(term: str, y: Tensor, sizes: Mapping[str, Any]) -> tuple[str, Any]:
    """Returns a term and its tensor without the axes of size 1 that have another size in the result."""
    axes = enumerate(zip(term, y.shape.sizes or (), strict=False))
    ones = [i for i, (c, n) in axes if n == 1 and sizes.get(c, 1) != 1]
    if not ones:
        return term, y
    return "".join(c for i, c in enumerate(term) if i not in ones), SQUEEZE(y, squeeze_dims=ones)


def _fitted(g: Tensor, x: Tensor, repeats: bool) -> Any:
    """Returns the gradient in the shape of `x`: summed where `x` was broadcast, repeated along axes of its own."""
    axes = enumerate(zip(x.shape.sizes or (), g.shape.sizes or (), strict=False))
    ones = [i for i, (n, m) in axes if n == 1 and m != 1]
    if ones:
        g = SUM(g, np.asarray(ones, np.int32), keep_dims=True)
    return g * ONES_LIKE(x) if repeats else g


EINSUM: OpDef[Tensor] = OpDef(
    "Einsum",
    "inputs: N*T",
    "output: T",
    """The sum of products that `equation` describes.

    inputs: one or two tensors of a number type. A letter is an axis, "..." stands for the axes without letters, which
    are broadcast; a letter twice in an input takes the diagonal. output: the axes after "->". Errors: sizes or ranks
    that do not fit the equation.""",
    types={"T": NUMBERS},
    attrs=EinsumAttrs,
    infer=_infer,
    host=_host,
    expand=_expand,
    grad=_grad,
)

OPS: tuple[OpDef, ...] = (EINSUM,)
