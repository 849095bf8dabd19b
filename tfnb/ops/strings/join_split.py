"""Joining, substrings, splitting and case conversion of string tensors.

Strings are arbitrary bytes; they are treated as UTF-8 only where an attribute requests it. Invariant: all ops run on
the host, element by element, and none changes its inputs.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError, UnimplementedError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.shapes import broadcast, normalize_axis, reduced
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import CONCAT_V2
from tfnb.ops.array.constants import range_
from tfnb.ops.array.searchsorted import UNRAVEL_INDEX
from tfnb.ops.array.shape_ops import RANK, RESHAPE, SHAPE
from tfnb.ops.array.transpose_pad_tile import TRANSPOSE
from tfnb.ops.strings.elementwise import clipped, mapped, text_op
from tfnb.types import INDEX, Shape, int64, scalar, string, unknown_shape

__all__ = ["API", "OPS"]


@record
class JoinAttrs:
    """`separator`: the text between the joined strings."""

    separator: str | bytes = ""


@record
class ReduceJoinAttrs:
    """`keep_dims`: keep reduced dimensions with size 1; `separator`: the text between the joined strings."""

    keep_dims: bool = False
    separator: str | bytes = ""


@record
class UnitAttrs:
    """`unit`: positions and lengths count bytes ("BYTE") or UTF-8 characters ("UTF8_CHAR")."""

    unit: str = "BYTE"

    def __post_init__(self) -> None:
        if self.unit not in ("BYTE", "UTF8_CHAR"):
            raise InvalidArgumentError(f'unit must be "BYTE" or "UTF8_CHAR", got {self.unit!r}')


@record
class EncodingAttrs:
    """`encoding`: "" changes ASCII letters only, "utf-8" changes all letters."""

    encoding: str = ""

    def __post_init__(self) -> None:
        if self.encoding not in ("", "utf-8"):
            raise InvalidArgumentError(f'encoding must be "" or "utf-8", got {self.encoding!r}')


@record
class SplitAttrs:
    """`skip_empty`: leave out empty parts."""

    skip_empty: bool = True


@record
class SplitV2Attrs:
    """`maxsplit`: the largest number of splits per string; -1 means no limit."""

    maxsplit: int = -1


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _join_shape(c: Infer) -> Shape:
    shape = scalar
    for i, s in enumerate(c.shapes):
        if s.sizes is None:
            shape = unknown_shape if shape.sizes == () else shape
        elif s.sizes:
            try:
                shape = s if shape.sizes == () else shape.merge_with(s)
            except ShapeError:
                raise ShapeError(
                    f"StringJoin: input {i} has shape {s}, others {shape}; only scalars broadcast"
                ) from None
    return shape


def _host_join(call: HostCall, *parts: np.ndarray) -> np.ndarray:
    if len({p.shape for p in parts if p.ndim}) > 1:
        raise InvalidArgumentError(
            f"StringJoin: shapes {[p.shape for p in parts]}; all but scalars must be equal", call.op
        )
    between = _bytes(call.attrs.separator)
    if not parts:
        return np.array(b"", object)
    return mapped(call, lambda *texts: between.join(texts), *parts)


STRING_JOIN: OpDef[Tensor] = OpDef(
    "StringJoin",
    "inputs: N*string",
    "output: string",
    """Joins strings element by element: output[i] = inputs[0][i] + separator + inputs[1][i] + ...

    inputs: strings; each has the common shape or is a scalar. output: that shape. Errors: the shapes differ. Runs on
    the host.""",
    attrs=JoinAttrs,
    infer=_join_shape,
    host=_host_join,
    grad=NOT_DIFFERENTIABLE,
    api="string_join strings.join",
)


def _joined_axes(axes: np.ndarray, rank: int) -> list[int]:
    """Returns the axes as numbers from 0 on. Raises `InvalidArgumentError` if one is out of range or stands twice."""
    order = [normalize_axis(int(a), rank, "Invalid reduction dimension") for a in axes.reshape(-1)]
    for a in order:
        if order.count(a) > 1:
            raise InvalidArgumentError(
                f"Duplicate reduction dimension {a} (Duplicate reduction index {a}): {axes.tolist()}"
            )
    return order


def _reduced_shape(c: Infer) -> Shape:
    value, x = c.value(1), c.shapes[0]
    if value is not None and x.sizes is not None:
        _joined_axes(value, len(x.sizes))
    return reduced(c, c.attrs.keep_dims)


def _host_reduce_join(call: HostCall, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    order = _joined_axes(axes, x.ndim)
    remaining = [a for a in range(x.ndim) if a not in order]
    # the first axis in the list varies fastest
    rows = x.transpose(remaining + order[::-1]).reshape([x.shape[a] for a in remaining] + [-1 if x.size else 0])
    between = _bytes(call.attrs.separator)
    out = np.empty(rows.shape[:-1], object)
    for at in np.ndindex(out.shape):
        out[at] = between.join(rows[at])
    if call.attrs.keep_dims:
        return out.reshape([1 if a in order else d for a, d in enumerate(x.shape)])
    return out


REDUCE_JOIN: OpDef[Tensor] = OpDef(
    "ReduceJoin",
    "inputs: string, reduction_indices: int32",
    "output: string",
    """Joins the strings along dimensions, in the order of reduction_indices.

    inputs: strings of any shape. reduction_indices: distinct axes; the first one varies fastest. output: the shape
    without them, or with size 1 there if `keep_dims`. Errors: an axis is out of range or repeated. Runs on the
    host.""",
    attrs=ReduceJoinAttrs,
    infer=_reduced_shape,
    host=_host_reduce_join,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(1,),
)


def _starts(text: bytes) -> list[int]:
    """The byte offsets of the UTF-8 characters, and the length in bytes."""
    return [i for i, b in enumerate(text) if b & 0xC0 != 0x80] + [len(text)]


def _cut(text: bytes, pos: int, length: int, characters: bool) -> bytes:
    starts = _starts(text) if characters else range(len(text) + 1)
    n = len(starts) - 1
    first = pos + n if pos < 0 else pos
    if not 0 <= first <= n:
        raise InvalidArgumentError(f"pos {pos} is out of range for the string {clipped(text)}")
    if length < 0:  # TensorFlow treats the two units differently here
        return b"" if characters else text[starts[first] :]
    last = min(first + length, n)
    return text[starts[first] : starts[last]]


def _host_substr(call: HostCall, x: np.ndarray, pos: np.ndarray, length: np.ndarray) -> np.ndarray:
    characters = call.attrs.unit == "UTF8_CHAR"
    if pos.shape != length.shape:
        raise InvalidArgumentError(
            f"Substr: pos and len must have the same shape, got {pos.shape} and {length.shape}",
            call.op,
        )
    return mapped(call, lambda t, p, n: _cut(t, int(p), int(n), characters), x, pos, length)


def _substr_shape(c: Infer) -> Shape:
    if not c.shapes[1].is_compatible_with(c.shapes[2]):
        raise ShapeError(f"Substr: pos and len must have the same shape, got {c.shapes[1]} and {c.shapes[2]}")
    return broadcast(c)


SUBSTR: OpDef[Tensor] = OpDef(
    "Substr",
    "input: string, pos: T, len: T",
    "output: string",
    """A substring of each string: `len` units from `pos` on. A negative `len` means all bytes, but no characters.

    input: strings. pos (negative: counted from the end), len: integers of one shape that broadcasts with input's.
    output: the broadcast shape. Errors: pos is beyond the string's end. Runs on the host.""",
    types={"T": INDEX},
    attrs=UnitAttrs,
    infer=_substr_shape,
    host=_host_substr,
    grad=NOT_DIFFERENTIABLE,
    api="substr strings.substr",
)


def _rows(call: HostCall, x: np.ndarray, separator: np.ndarray) -> bytes:
    if x.ndim != 1:
        raise InvalidArgumentError(f"{call.op.type}: needed a vector, got shape {x.shape}", call.op)
    if separator.shape != ((1,) if call.op.type == "StringSplitV2" and separator.ndim else ()):
        raise InvalidArgumentError(
            f"{call.op.type}: the separator must be one string, got shape {separator.shape}",
            call.op,
        )
    text = separator.reshape(())[()]
    return text if isinstance(text, bytes) else bytes(text)


def _ragged(parts: Sequence[Sequence[bytes]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns (indices, values, dense shape) of a sparse matrix whose rows are the given sequences."""
    at = [(i, k) for i, row in enumerate(parts) for k in range(len(row))]
    values = np.empty(len(at), object)
    values[:] = list(itertools.chain.from_iterable(parts))
    width = max(map(len, parts), default=0)
    indices = np.array(at, np.int64).reshape(-1, 2)
    return indices, values, np.array([len(parts), width], np.int64)


def _host_split(call: HostCall, x: np.ndarray, delimiter: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    separators = _rows(call, x, delimiter)
    pattern = re.compile(b"[" + re.escape(separators) + b"]") if separators else None
    rows = []
    for text in x:
        row = pattern.split(text) if pattern else [text[i : i + 1] for i in range(len(text))]
        row = row if text else []
        rows.append([p for p in row if p] if call.attrs.skip_empty else row)
    return _ragged(rows)


def _host_split_v2(call: HostCall, x: np.ndarray, sep: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    separator = _rows(call, x, sep)
    limit = max(call.attrs.maxsplit, -1)
    rows = []
    for text in x:
        row = text.split(separator or None, limit) if limit else [text]
        # after the last permitted split follows the rest, even if it is empty
        rows.append([*row, b""] if not separator and limit > 0 and len(row) == limit else row)
    return _ragged(rows)


def _split_shapes(c: Infer) -> tuple[Shape, Shape, Shape]:
    if c.shapes[0].ndims not in (None, 1):
        raise ShapeError(f"{c.op_name}: needed a vector of strings, got shape {c.shapes[0]}")
    return Shape((None, 2)), Shape((None,)), Shape((2,))


STRING_SPLIT: OpDef[tuple[Tensor, Tensor, Tensor]] = OpDef(
    "StringSplit",
    "input: string, delimiter: string",
    "indices: int64, values: string, shape: int64",
    """Splits the strings of a vector at any byte of `delimiter`; an empty delimiter separates all bytes.

    input: a vector of strings. delimiter: one string. indices, values, shape: the parts as a sparse matrix, whose row i
    holds those of string i. Errors: input is not a vector. Runs on the host.""",
    attrs=SplitAttrs,
    infer=_split_shapes,
    host=_host_split,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)

STRING_SPLIT_V2: OpDef[tuple[Tensor, Tensor, Tensor]] = OpDef(
    "StringSplitV2",
    "input: string, sep: string",
    "indices: int64, values: string, shape: int64",
    """Splits the strings of a vector at the separator; an empty separator means runs of white space.

    input: a vector of strings. sep: one string. indices, values, shape: the parts as a sparse matrix. Errors:
    input is not a vector. Runs on the host.""",
    attrs=SplitV2Attrs,
    infer=_split_shapes,
    host=_host_split_v2,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)


def _with_case(attrs: EncodingAttrs, text: bytes, upper: bool) -> bytes:
    if not attrs.encoding:
        return text.upper() if upper else text.lower()
    words = text.decode("utf-8", "replace")
    return (words.upper() if upper else words.lower()).encode()


STRING_STRIP = text_op(
    "StringStrip",
    lambda a, t: t.strip(),
    "Removes white space at both ends of each string.\n\ninput: strings of any shape. output: the same shape.",
    api="string_strip strings.strip",
)
STRING_LOWER = text_op(
    "StringLower",
    lambda a, t: _with_case(a, t, False),
    "Converts each string to lower case.\n\ninput: strings of any shape. output: the same shape.",
    attrs=EncodingAttrs,
    api="strings.lower string_lower",
)
STRING_UPPER = text_op(
    "StringUpper",
    lambda a, t: _with_case(a, t, True),
    "Converts each string to upper case.\n\ninput: strings of any shape. output: the same shape.",
    attrs=EncodingAttrs,
    api="strings.upper string_upper",
)
STRING_LENGTH = text_op(
    "StringLength",
    lambda a, t: len(t) if a.unit == "BYTE" else len(_starts(t)) - 1,
    "The number of bytes (or UTF-8 characters) of each string.\n\ninput: strings of any shape. output: int32.",
    outputs="output: int32",
    attrs=UnitAttrs,
    dtype=np.int32,
)


def string_length(input: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Returns the length of each string as int32, in the shape of `input`.

    unit: "BYTE" counts bytes, "UTF8_CHAR" counts UTF-8 characters.
    """
    return STRING_LENGTH(input, unit=unit, name=name)


def reduce_join(
    inputs: TensorLike,
    axis: TensorLike | None = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Joins the strings along dimensions, by default along all of them (the last one varies fastest).

    inputs: strings. axis: one or several axes, joined in the given order. The result has the shape without them.
    Errors: an axis is out of range or repeated.
    """
    axis = reduction_indices if axis is None else axis
    graph = graph_of((inputs, axis))
    x = graph.to_tensor(inputs)
    if axis is None:
        rank = x.shape.ndims
        axis = range_(RANK(x) - 1, -1, -1) if rank is None else np.arange(rank, dtype=np.int32)[::-1]
    keep = keepdims if keepdims is not None else keep_dims
    return REDUCE_JOIN(x, axis, keep_dims=bool(keep), separator=separator, name=name)


def string_split(
    source: TensorLike | None = None,
    delimiter: str = " ",
    skip_empty: bool = True,
    name: str | None = None,
    sep: TensorLike | None = None,
    input: TensorLike | None = None,
) -> SparseTensor:
    """Splits the strings of a vector at any byte of `delimiter`; an empty delimiter separates all bytes.

    The result is a SparseTensor of strings whose row i holds the parts of string i, without empty ones if `skip_empty`.
    """
    texts = input if source is None else source
    graph = graph_of((texts, delimiter, sep))
    separator = graph.to_tensor(delimiter if sep is None else sep, string)
    if separator.shape.ndims not in (None, 0):
        raise ShapeError(f"string_split: Shape must be rank 0: the delimiter is one string, got {separator.shape}")
    return SparseTensor(*STRING_SPLIT(texts, separator, skip_empty=skip_empty, name=name))


def strings_split(
    input: TensorLike | None = None,
    sep: TensorLike | None = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: TensorLike | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Splits strings at `sep`, by default at white space, at most `maxsplit` times if that is >= 0.

    The strings are a tensor of rank N >= 1, `input` or `source`; one of unknown rank counts as a vector. The result is
    a SparseTensor of strings of rank N + 1, whose last dimension holds the parts of a string. Raises
    `InvalidArgumentError` for another `result_type` than "SparseTensor", and for both names of the strings at once, and
    `ShapeError` for a scalar.
    """
    if (input is None) == (source is None):
        raise InvalidArgumentError("strings.split: needed the strings as 'input' or as 'source', and not as both")
    if result_type == "RaggedTensor":
        raise UnimplementedError("strings.split: there are no RaggedTensors in tfnb; result_type='SparseTensor' is")
    if result_type != "SparseTensor":
        raise InvalidArgumentError(
            f"strings.split: result_type must be 'RaggedTensor' or 'SparseTensor', got {result_type!r}"
        )
    given = source if input is None else input
    texts = graph_of((given, sep)).to_tensor(given, string)
    separator = "" if sep is None else sep
    if texts.shape.ndims == 0:
        raise ShapeError("strings.split: needed strings of rank 1 or more, got a scalar", texts.op)
    if texts.shape.ndims in (None, 1):
        return SparseTensor(*STRING_SPLIT_V2(texts, separator, maxsplit=maxsplit, name=name))
    indices, values, shape = STRING_SPLIT_V2(RESHAPE(texts, [-1]), separator, maxsplit=maxsplit, name=name)
    sizes = SHAPE(texts, out_type=int64)
    places = TRANSPOSE(UNRAVEL_INDEX(indices[:, 0], sizes), [1, 0])
    return SparseTensor(CONCAT_V2([places, indices[:, 1:]], 1), values, CONCAT_V2([sizes, shape[1:]], 0))


OPS: tuple[OpDef, ...] = (
    STRING_JOIN,
    REDUCE_JOIN,
    SUBSTR,
    STRING_SPLIT,
    STRING_SPLIT_V2,
    STRING_STRIP,
    STRING_LOWER,
    STRING_UPPER,
    STRING_LENGTH,
)
API: dict[str, Any] = {
    "string_split": string_split,
    "strings.split": strings_split,
    "reduce_join": reduce_join,
    "strings.reduce_join": reduce_join,
    "strings.length": string_length,
    "string_length": string_length,
}
