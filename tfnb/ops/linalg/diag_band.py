"""Bands of diagonals of matrices, packed as rows, as in late TensorFlow graphs (white paper, Table 1).

Diagonal d holds the elements (i, i + d). A band from k[0] to k[1] is packed with the uppermost diagonal first; `align`
states whether each diagonal starts at the left or ends at the right of its row. Invariant: extracting and setting a
band are each other's gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.opdef import HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.scalar.host import evaluate
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.types import FIXED_SIZE, Shape, int32, unknown_shape

__all__ = ["MATRIX_DIAG_PART_V3", "MATRIX_DIAG_V3", "MATRIX_SET_DIAG_V3", "OPS"]

_ALIGNS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


@record
class AlignAttrs:
    """`align`: the side of the row for diagonals above the main one, then the side for those below."""

    align: str = "RIGHT_LEFT"


@record
class _Band:
    """The diagonals low..high of a rows x columns matrix, packed into rows of `width`."""

    low: int
    high: int
    rows: int
    columns: int
    above_left: bool
    below_left: bool

    @property
    def width(self) -> int:
        return min(self.rows + min(self.high, 0), self.columns - max(self.low, 0))

    def offset(self, d: Expr) -> Expr:
        """Returns the position in its row at which diagonal d begins."""
        length = s.minimum(s.minimum(d, 0) + self.rows, s.sub(self.columns, s.maximum(d, 0)))
        shift = s.sub(self.width, length)
        zero = s.const(0, int32)
        above = zero if self.above_left else shift
        below = zero if self.below_left else shift
        middle = zero if self.above_left or self.below_left else shift
        return s.where(s.gt(d, 0), above, s.where(s.lt(d, 0), below, middle))

    def place(self, i: Expr, j: Expr, single: bool) -> tuple[Expr, tuple[Expr, ...]]:
        """Returns (whether element (i, j) lies in the band, its index in the packed band)."""
        d = j - i
        inside = s.and_(s.ge(d, self.low), s.le(d, self.high))
        nearest = s.minimum(s.maximum(d, self.low), self.high)
        at = s.minimum(s.maximum(j - s.maximum(d, 0) + self.offset(nearest), 0), self.width - 1)
        return inside, (at,) if single else (s.sub(self.high, nearest), at)

    def packed(self, m: Expr, n: Expr) -> tuple[Expr, Expr, Expr]:
        """For a position in the packed band: (whether it belongs to a diagonal, its row, its column)."""
        d = s.sub(self.high, m)
        k = n - self.offset(d)
        i, j = k - s.minimum(d, 0), k + s.maximum(d, 0)
        inside = s.and_(s.ge(k, 0), s.and_(s.lt(i, self.rows), s.lt(j, self.columns)))
        return (
            inside,
            s.minimum(s.maximum(i, 0), self.rows - 1),
            s.minimum(s.maximum(j, 0), self.columns - 1),
        )


def _limits(name: str, k: np.ndarray) -> tuple[int, int]:
    numbers = [int(v) for v in k.reshape(-1)]
    if len(numbers) not in (1, 2) or numbers[0] > numbers[-1]:
        raise InvalidArgumentError(f"{name}: k must be one diagonal or (lowest, highest), got {numbers}")
    return numbers[0], numbers[-1]


def _band(name: str, attrs: AlignAttrs, k: np.ndarray, rows: int, columns: int, empty: bool = False) -> _Band:
    """The band of diagonals k. Raises for diagonals outside the matrix, unless it is `empty`."""
    low, high = _limits(name, k)
    if attrs.align not in _ALIGNS:
        raise InvalidArgumentError(f"{name}: align {attrs.align!r}; needed one of {_ALIGNS}")
    if not empty and any(d and not -rows < d < columns for d in (low, high)):
        raise InvalidArgumentError(f"{name}: a {rows} x {columns} matrix has no diagonals {low}..{high}")
    return _Band(low, high, rows, columns, attrs.align.startswith("LEFT"), attrs.align.endswith("LEFT"))


def _sizes(name: str, k: np.ndarray, width: int, rows: int, columns: int) -> tuple[int, int]:
    """The numbers of rows and columns; -1 means the smallest that fits, and a square matrix if both are -1."""
    low, high = _limits(name, k)
    fit = width - min(high, 0), width + max(low, 0)
    if rows == -1 and columns == -1:
        return max(fit), max(fit)
    rows, columns = fit[0] if rows == -1 else rows, fit[1] if columns == -1 else columns
    if rows < fit[0] or columns < fit[1]:
        raise InvalidArgumentError(f"{name}: {rows} x {columns} is too small for diagonals of {width} elements")
    if rows > fit[0] and columns > fit[1]:
        raise InvalidArgumentError(f"{name}: diagonals of {width} elements do not reach across {rows} x {columns}")
    return rows, columns


def _grid(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    i, j = np.indices((rows, columns))
    return i, j


def _numeric(e: Expr, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    return np.asarray(evaluate(e, lambda leaf: (i if leaf.value == 0 else j).astype(np.int32)))


_I, _J = s.arg(0, int32), s.arg(1, int32)


def _spread(band: _Band, diagonal: np.ndarray, rest: np.ndarray, single: bool) -> np.ndarray:
    """Matrices with the packed diagonals in the band, and the elements of `rest` elsewhere."""
    i, j = _grid(band.rows, band.columns)
    inside, at = band.place(_I, _J, single)
    index: Any = (..., *(_numeric(e, i, j) for e in at))
    return np.where(_numeric(inside, i, j), diagonal[index], rest).astype(diagonal.dtype)


def _diag_dims(c: Infer) -> Shape:
    d, k, rows, columns = c.shapes[0], c.value(1), c.value(2), c.value(3)
    if d.sizes is None or k is None:
        return unknown_shape
    low, high = _limits(c.op_name, k)
    lead = _batch(c.op_name, d, low, high)
    if d.sizes[-1] is None or rows is None or columns is None:
        return Shape((*lead, None, None))
    return Shape((*lead, *_sizes(c.op_name, k, d.sizes[-1], int(rows), int(columns))))


def _batch(name: str, diagonal: Shape, low: int, high: int) -> tuple[int | None, ...]:
    """The leading dimensions of the packed diagonals."""
    dims = diagonal.as_list()
    band_dims: tuple[int | None, ...] = (None,) if low == high else (high - low + 1, None)
    if len(dims) < len(band_dims) or not Shape(tuple(dims[-len(band_dims) :])).is_compatible_with(Shape(band_dims)):
        raise ShapeError(f"{name}: {high - low + 1} diagonals are needed, got shape {diagonal}")
    return tuple(dims[: -len(band_dims)])


def _host_diag(
    call: HostCall,
    diagonal: np.ndarray,
    k: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    padding: np.ndarray,
) -> np.ndarray:
    lead = _batch("MatrixDiagV3", Shape(diagonal.shape), *_limits("MatrixDiagV3", k))
    sizes = _sizes("MatrixDiagV3", k, diagonal.shape[-1], int(rows), int(columns))
    band = _band("MatrixDiagV3", call.attrs, k, *sizes, empty=diagonal.shape[-1] == 0)
    if not diagonal.size:
        return np.full(Shape((*lead, *sizes)).known(), padding, diagonal.dtype)
    return _spread(band, diagonal, padding, band.low == band.high)


def _matrix(shape: Sequence[int]) -> tuple[int, int]:
    """The numbers of rows and columns of the matrices of a tensor of this shape."""
    return shape[-2], shape[-1]


def _lower_diag(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    if 0 in site.inputs[0].shape:
        return site.load(4, ())
    band = _band("MatrixDiagV3", site.attrs, site.value(1), *_matrix(site.outputs[0].shape))
    inside, at = band.place(idx[-2], idx[-1], band.low == band.high)
    return s.where(inside, site.load(0, (*idx[:-2], *at)), site.load(4, ()))


def _zero(x: Tensor) -> Any:
    return x.dtype.np.type(0)


def _grad_diag(op: Operation, dy: Tensor) -> tuple[Tensor, None, None, None, None]:
    d_diagonal = MATRIX_DIAG_PART_V3(dy, op.inputs[1], _zero(dy), align=op.attrs.align)
    return d_diagonal, None, None, None, None


MATRIX_DIAG_V3: OpDef[Tensor] = OpDef(
    "MatrixDiagV3",
    inputs="diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T",
    outputs="output: T",
    types={"T": FIXED_SIZE},
    attrs=AlignAttrs,
    doc="""Matrices with packed diagonals in a band, and `padding_value` elsewhere.

    diagonal: a number type or bool, shape (..., n), or (..., diagonals, n) for a band. k: one diagonal, or the
    lowest and the highest one. num_rows, num_cols: scalars, -1 for the smallest that fits. padding_value: a scalar.
    output: (..., num_rows, num_cols). Errors: a size is too small, or a diagonal does not exist.""",
    infer=_diag_dims,
    host=_host_diag,
    lower=_lower_diag,
    grad=_grad_diag,
    shape_inputs=(1, 2, 3),
)


def _packed(name: str, attrs: AlignAttrs, x: Shape, k: np.ndarray | None) -> Shape:
    """The static shape of the packed band of diagonals of matrices."""
    if x.sizes is None or k is None:
        return unknown_shape
    if len(x.sizes) < 2:
        raise ShapeError(f"{name}: needs matrices, got shape {x}")
    low, high = _limits(name, k)
    rows, columns = x.sizes[-2:]
    width = None if rows is None or columns is None else _band(name, attrs, k, rows, columns).width
    return Shape((*x.sizes[:-2], *([] if low == high else [high - low + 1]), width))


def _host_part(call: HostCall, x: np.ndarray, k: np.ndarray, padding: np.ndarray) -> np.ndarray:
    band = _band("MatrixDiagPartV3", call.attrs, k, *x.shape[-2:])
    m, n = _grid(band.high - band.low + 1, band.width)
    inside, i, j = (_numeric(e, m, n) for e in band.packed(_I, _J))
    diagonals = np.where(inside, x[..., i, j], padding).astype(x.dtype)
    return diagonals[..., 0, :] if band.low == band.high else diagonals


def _lower_part(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    band = _band("MatrixDiagPartV3", site.attrs, site.value(1), *_matrix(site.inputs[0].shape))
    if 0 in site.inputs[0].shape:
        return site.load(2, ())
    is_single = band.low == band.high
    lead, m = (idx[:-1], s.const(0, int32)) if is_single else (idx[:-2], idx[-2])
    inside, i, j = band.packed(m, idx[-1])
    return s.where(inside, site.load(0, (*lead, i, j)), site.load(2, ()))


def _grad_part(op: Operation, dy: Tensor) -> tuple[Tensor, None, None]:
    d_input = MATRIX_SET_DIAG_V3(ZEROS_LIKE(op.inputs[0]), dy, op.inputs[1], align=op.attrs.align)
    return d_input, None, None


MATRIX_DIAG_PART_V3: OpDef[Tensor] = OpDef(
    "MatrixDiagPartV3",
    inputs="input: T, k: int32, padding_value: T",
    outputs="diagonal: T",
    types={"T": FIXED_SIZE},
    attrs=AlignAttrs,
    doc="""A band of diagonals of matrices, packed as rows; shorter diagonals are filled up with `padding_value`.

    input: a number type or bool, shape (..., m, n). k: one diagonal, or the lowest and the highest one.
    padding_value: a scalar. diagonal: (..., longest), or (..., diagonals, longest) for a band. Errors: a diagonal does
    not exist.""",
    infer=lambda c: _packed(c.op_name, c.attrs, c.shapes[0], c.value(1)),
    host=_host_part,
    lower=_lower_part,
    grad=_grad_part,
    shape_inputs=(1,),
)


def _check_packed(attrs: AlignAttrs, x: Shape, diagonal: Shape, k: np.ndarray | None) -> None:
    expected = _packed("MatrixSetDiagV3", attrs, x, k)
    if not expected.is_compatible_with(diagonal):
        raise ShapeError(f"MatrixSetDiagV3: matrices of shape {x} need diagonals of shape {expected}, got {diagonal}")


def _set_shape(c: Infer) -> Shape:
    _check_packed(c.attrs, c.shapes[0], c.shapes[1], c.value(2))
    return c.shapes[0]


def _host_set(call: HostCall, x: np.ndarray, diagonal: np.ndarray, k: np.ndarray) -> np.ndarray:
    _check_packed(call.attrs, Shape(x.shape), Shape(diagonal.shape), k)
    band = _band("MatrixSetDiagV3", call.attrs, k, *x.shape[-2:])
    return _spread(band, diagonal, x, band.low == band.high)


def _lower_set(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    band = _band("MatrixSetDiagV3", site.attrs, site.value(2), *_matrix(site.inputs[0].shape))
    if 0 in site.inputs[1].shape:
        return site.load(0, idx)
    inside, at = band.place(idx[-2], idx[-1], band.low == band.high)
    return s.where(inside, site.load(1, (*idx[:-2], *at)), site.load(0, idx))


def _grad_set(op: Operation, dy: Tensor) -> tuple[Tensor, Tensor, None]:
    k, align = op.inputs[2], op.attrs.align
    d_input = MATRIX_SET_DIAG_V3(dy, ZEROS_LIKE(op.inputs[1]), k, align=align)
    return d_input, MATRIX_DIAG_PART_V3(dy, k, _zero(dy), align=align), None


MATRIX_SET_DIAG_V3: OpDef[Tensor] = OpDef(
    "MatrixSetDiagV3",
    inputs="input: T, diagonal: T, k: int32",
    outputs="output: T",
    types={"T": FIXED_SIZE},
    attrs=AlignAttrs,
    doc="""Replaces the diagonals in a band of matrices.

    input: a number type or bool, shape (..., m, n). diagonal: the same dtype, packed as in the output of
    `MatrixDiagPartV3`. k: one diagonal, or the lowest and the highest one. output: shape of input. Errors: the shapes
    do not match.""",
    infer=_set_shape,
    host=_host_set,
    lower=_lower_set,
    grad=_grad_set,
    shape_inputs=(2,),
)

OPS: tuple[OpDef, ...] = (MATRIX_DIAG_V3, MATRIX_DIAG_PART_V3, MATRIX_SET_DIAG_V3)
API: dict[str, Any] = {}
