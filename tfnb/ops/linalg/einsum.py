"""Einstein summation: products of several tensors with sums over shared axes, as matrix products.

Operands are combined in pairs from the left; axes that no later operand or the result needs are summed first.
Invariant: each pair costs one (batched) matrix product and at most three transposes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from string import ascii_letters
from typing import Any

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import OpDef
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import RESHAPE, shape_of
from tfnb.ops.array.transpose_pad_tile import TRANSPOSE
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.reduce_sum import SUM

__all__ = ["API", "OPS", "einsum", "with_letters"]

_FORM = re.compile(r"^([a-zA-Z]*(?:,[a-zA-Z]*)*)(?:->([a-zA-Z]*))?$")


def einsum(equation: str, *inputs: TensorLike, name: str | None = None, **others: object) -> Any:
    """Returns the sum of products that `equation` describes, such as "ij,jk->ik".

    inputs: tensors of the same dtype and of known rank, one per term; each letter denotes an axis, and has the same
    size wherever it occurs; "..." stands for the other axes of a term. Without "->" the result has those of "...", then
    the letters that occur once, in alphabetical order. Errors: the equation is malformed, repeats a letter in a term,
    or does not match the ranks or sizes of the inputs, which are not broadcast.
    """
    if others:
        raise DTypeError(f"einsum: invalid keyword arguments for this function: {', '.join(sorted(others))}")
    graph = graph_of(inputs)
    tensors: list[Any] = []
    for x in inputs:
        tensors.append(graph.to_tensor(x, tensors[0].dtype if tensors else None))
    terms, out = _parsed(with_letters(equation.replace(" ", ""), tensors), tensors)
    with graph.name_scope(name or "einsum"):
        left, labels = _without(tensors[0], terms[0], out + "".join(terms[1:]))
        for k in range(1, len(tensors)):
            remaining = out + "".join(terms[k + 1 :])
            right, other = _without(tensors[k], terms[k], remaining + labels)
            left, labels = _pair(left, labels, right, other, remaining)
        return _permuted(left, labels, out)


def with_letters(equation: str, tensors: list[Any]) -> str:
    """Returns the equation with a letter for each axis that "..." stands for, by the ranks of the inputs.

    The axes of several "..." correspond from the last one on; the result has those of the longest.
    """
    if "..." not in equation:
        return equation
    given, arrow, out = equation.partition("->")
    terms = given.split(",")
    counts = []
    for term, t in zip(terms, tensors, strict=False):
        letters = term.replace("...", "", 1)
        counts.append(0 if letters == term or t.shape.ndims is None else t.shape.ndims - len(letters))
    if min(counts) < 0:
        raise ShapeError(f"einsum: a term of {equation!r} has more letters than its input has axes")
    free = "".join(c for c in ascii_letters if c not in equation)[: max(counts)]
    if len(free) < max(counts):
        raise InvalidArgumentError(f"einsum: {equation!r} needs more letters than there are")
    terms = [term.replace("...", free[len(free) - n :], 1) for term, n in zip(terms, counts, strict=False)]
    everything = given.replace("...", "")
    if not arrow:
        out = "..." + "".join(sorted(c for c in set(everything) - {","} if everything.count(c) == 1))
    return ",".join(terms) + "->" + out.replace("...", free, 1)


def _parsed(equation: str, tensors: list[Any]) -> tuple[list[str], str]:
    form = _FORM.match(equation.replace(" ", ""))
    if form is None:
        raise InvalidArgumentError(f"einsum: {equation!r} is not of the form 'ij,jk->ik'")
    terms = form.group(1).split(",")
    everything = "".join(terms)
    out = form.group(2)
    if out is None:
        out = "".join(sorted(c for c in set(everything) if everything.count(c) == 1))
    if len(terms) != len(tensors):
        raise InvalidArgumentError(f"einsum: {equation!r} has {len(terms)} terms, got {len(tensors)} inputs")
    if set(out) - set(everything) or any(len(set(t)) != len(t) for t in (*terms, out)):
        raise InvalidArgumentError(
            f"einsum: {equation!r} repeats a letter in a term, or its result has a letter that no term has"
        )
    sizes: dict[str, int] = {}
    for term, t in zip(terms, tensors, strict=True):
        if t.shape.ndims != len(term):
            raise ShapeError(f"einsum: {term!r} of {equation!r} does not fit shape {t.shape}")
        for c, n in zip(term, t.shape.sizes, strict=True):
            if n is not None and sizes.setdefault(c, n) != n:
                raise ShapeError(f"einsum: axis {c!r} of {equation!r} has sizes {sizes[c]} and {n}")
    return terms, out


def _without(x: Tensor, labels: str, needed: str) -> tuple[Any, str]:
    """x summed over the axes whose labels are not needed, and the remaining labels."""
    summed = [i for i, c in enumerate(labels) if c not in needed]
    if not summed:
        return x, labels
    return SUM(x, np.asarray(summed, np.int32), keep_dims=False), "".join(c for c in labels if c in needed)


def _permuted(x: Tensor, labels: str, wanted: str) -> Tensor:
    if labels == wanted:
        return x
    return TRANSPOSE(x, np.asarray([labels.index(c) for c in wanted], np.int32))


def _pair(a: Tensor, la: str, b: Tensor, lb: str, needed: str) -> tuple[Any, str]:
    """The product of two operands, summed over the axes that no other operand or the result needs."""
    common = [c for c in la if c in lb]
    batch = "".join(c for c in common if c in needed)
    summed = "".join(c for c in common if c not in needed)
    rows = "".join(c for c in la if c not in lb)
    columns = "".join(c for c in lb if c not in la)
    sizes = dict(zip(lb, _sizes(b), strict=True)) | dict(zip(la, _sizes(a), strict=True))

    def folded(x: Tensor, labels: str, *groups: str) -> Any:
        x = _permuted(x, labels, "".join(groups))
        return _reshaped(x, [*(sizes[c] for c in groups[0]), *(_times(sizes[c] for c in g) for g in groups[1:])])

    product = matmul(folded(a, la, batch, rows, summed), folded(b, lb, batch, summed, columns))
    out = batch + rows + columns
    return _reshaped(product, [sizes[c] for c in out]), out


def _sizes(x: Any) -> list[Any]:
    shape = shape_of(x)
    return [d if d is not None else shape[i] for i, d in enumerate(x.shape.sizes)]


def _times(sizes: Iterable[int | Tensor]) -> Any:
    total: Any = 1
    for n in sizes:
        total = n if isinstance(total, int) and total == 1 else total * n
    return total


def _reshaped(x: Tensor, dims: list[Any]) -> Tensor:
    if all(isinstance(d, (int, np.integer)) for d in dims):
        return RESHAPE(x, np.asarray(dims, np.int32))
    return RESHAPE(x, dims)


OPS: tuple[OpDef, ...] = ()
API: dict[str, Any] = {"einsum": einsum, "linalg.einsum": einsum}
