"""Unicode: code points and encodings; and string ops of late TensorFlow 1.x (replacing, formatting, joining).

The ops run on the host. Invariant: bytes that are invalid in the encoding are handled according to `errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.shapes import scalar_shape, unchanged
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.strings.convert import REGEX_REPLACE
from tfnb.ops.strings.elementwise import clipped, mapped
from tfnb.types import ANY, INDEX, DType, Shape, int64, unknown_shape

__all__ = ["API", "OPS"]

# TensorFlow's names of encodings -> Python's
_ENCODINGS = {
    "UTF-8": "utf-8",
    "UTF-16-BE": "utf-16-be",
    "UTF-32-BE": "utf-32-be",
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
}
_OUTPUTS = ("UTF-8", "UTF-16-BE", "UTF-32-BE")


@record
class DecodeAttrs:
    """`errors`: the treatment of invalid bytes: "strict", "replace" (by `replacement_char`) or "ignore".

    `replace_control_characters`: also replace control characters below 0x20.
    """

    input_encoding: str
    errors: str = "replace"
    replacement_char: int = 65533
    replace_control_characters: bool = False


@record
class EncodeAttrs:
    """`errors`: the treatment of invalid code points: "strict", "replace" (by `replacement_char`) or "ignore"."""

    output_encoding: str
    errors: str = "replace"
    replacement_char: int = 65533


@record
class TranscodeAttrs:
    """`input_encoding`, `output_encoding`: the two encodings; the others are those of DecodeAttrs."""

    input_encoding: str
    output_encoding: str
    errors: str = "replace"
    replacement_char: int = 65533
    replace_control_characters: bool = False


@record
class ReplaceAttrs:
    """`pattern`, `rewrite`: see `RegexReplace`; `replace_global`: replace all matches instead of the first one."""

    pattern: str
    rewrite: str
    replace_global: bool = True


@record
class FormatAttrs:
    """`template`: a text in which each occurrence of `placeholder` is replaced by an input.

    `summarize`: the number of elements to show at either end of a dimension, -1 for all.
    """

    template: str = "%s"
    placeholder: str = "%s"
    summarize: int = 3


@record
class JoinAttrs:
    """`separator`: the text between the strings of a segment."""

    separator: str = ""


def _python_name(call: HostCall, name: str) -> str:
    codec = _ENCODINGS.get(name.upper())
    if codec is None:
        raise InvalidArgumentError(f"{call.op.type}: the encoding must be one of {sorted(_ENCODINGS)}, got {name!r}")
    return codec


def _characters(call: HostCall, text: bytes) -> list[tuple[int, int]]:
    """Returns (code point, byte offset) of each character."""
    a = call.attrs
    name = _python_name(call, a.input_encoding)
    characters: list[tuple[int, int]] = []
    at = 0
    while at < len(text):
        try:
            part, bad_span = text[at:].decode(name), None
        except UnicodeDecodeError as e:
            part, bad_span = text[at : at + e.start].decode(name), (at + e.start, at + e.end)
        for c in part:
            characters.append((_checked(call, ord(c)), at))
            at += len(c.encode(name))
        if bad_span is None:
            break
        if a.errors == "strict":
            raise InvalidArgumentError(f"{call.op.type}: {clipped(text)} is not valid {a.input_encoding}", call.op)
        if a.errors == "replace":
            characters.append((a.replacement_char, bad_span[0]))
        at = bad_span[1]
    if a.errors == "ignore" and a.replace_control_characters:
        characters = [c for c in characters if c[0] >= 0]
    return characters


def _checked(call: HostCall, point: int) -> int:
    if call.attrs.replace_control_characters and point < 0x20:
        return -1 if call.attrs.errors == "ignore" else call.attrs.replacement_char
    return point


def _encoded(call: HostCall, points: Iterable[int]) -> bytes:
    a = call.attrs
    if a.output_encoding not in _OUTPUTS:
        raise InvalidArgumentError(f"{call.op.type}: output_encoding must be one of {_OUTPUTS}", call.op)
    characters: list[str] = []
    for point in points:
        valid = 0 <= point <= 0x10FFFF and not 0xD800 <= point < 0xE000
        if valid:
            characters.append(chr(point))
        elif a.errors == "strict":
            raise InvalidArgumentError(f"{call.op.type}: {int(point)} is no character", call.op)
        elif a.errors == "replace":
            characters.append(chr(a.replacement_char))
    return "".join(characters).encode(_ENCODINGS[a.output_encoding])


def _check_errors(call: HostCall) -> None:
    if call.attrs.errors not in ("strict", "replace", "ignore"):
        raise InvalidArgumentError(f"{call.op.type}: errors must be strict, replace or ignore", call.op)


def _decode(call: HostCall, x: np.ndarray) -> tuple[np.ndarray, ...]:
    _check_errors(call)
    rows = [_characters(call, t) for t in x.reshape(-1)]
    splits = np.cumsum([0, *map(len, rows)]).astype(call.types["Tsplits"].np)
    flat = [c for row in rows for c in row]
    points = np.array([p for p, _ in flat], np.int32)
    if call.op.type == "UnicodeDecode":
        return splits, points
    return splits, points, np.array([at for _, at in flat], np.int64)


def _encode(call: HostCall, values: np.ndarray, splits: np.ndarray) -> np.ndarray:
    _check_errors(call)
    limits = splits.tolist()
    if not limits or limits[0] != 0 or limits[-1] != len(values) or (np.diff(splits) < 0).any():
        raise InvalidArgumentError(f"UnicodeEncode: splits {limits[:9]} do not divide {len(values)} values", call.op)
    out = np.empty(len(limits) - 1, object)
    for i, (a, b) in enumerate(zip(limits, limits[1:], strict=False)):
        out[i] = _encoded(call, values[a:b].tolist())
    return out


def _transcode(call: HostCall, x: np.ndarray) -> np.ndarray:
    _check_errors(call)
    return mapped(call, lambda t: _encoded(call, [p for p, _ in _characters(call, t)]), x)


def _splits_shape(c: Infer) -> tuple[Shape, ...]:
    count = c.shapes[0].num_elements()
    first = Shape((None if count is None else count + 1,))
    return (first, *(Shape((None,)),) * (1 if c.op_name == "UnicodeDecode" else 2))


def _encode_shape(c: Infer) -> Shape:
    dims = c.shapes[1].sizes
    return Shape((None if dims is None or dims[0] is None else dims[0] - 1,))


def _static_replace(call: HostCall, x: np.ndarray) -> np.ndarray:
    pattern, rewrite = (np.array(t.encode(), object) for t in (call.attrs.pattern, call.attrs.rewrite))
    texts: np.ndarray = REGEX_REPLACE.host(call, x, pattern, rewrite)  # type: ignore[misc]
    return texts


def _shortest(x: np.ndarray) -> str:
    """The digits of a number: those guaranteed for its type, or the few more that identify it."""
    is_double = x.dtype == np.float64
    value = float(x)
    for digits in (15, 17) if is_double else (6, 9):
        text = f"{value:.{digits}g}"
        if np.isnan(value) or x.dtype.type(text) == x:
            break
    return text


def _shown(x: object, most: int, depth: int = 0) -> str:
    """A tensor in TensorFlow's print format, with the first and last `most` elements of each dimension."""
    x = np.array(x, object) if isinstance(x, bytes) else np.asarray(x)
    if x.ndim == 0:
        item = x.item()
        if isinstance(item, bytes):
            return f'"{item.decode("utf-8", "replace")}"'
        return f"{int(item)}" if x.dtype.kind in "iub" else _shortest(x) if x.dtype.kind == "f" else str(item)
    n = len(x)
    cut = most >= 0 and n > 2 * most
    parts = [_shown(v, most, depth + 1) for v in (x[:most] if cut else x)]
    if cut:
        parts += ["...", *(_shown(v, most, depth + 1) for v in x[n - most :])]
    between = " " if x.ndim == 1 else "\n" * (x.ndim - 1) + " " * (depth + 1)
    return f"[{between.join(parts)}]"


def _format(call: HostCall, *inputs: np.ndarray) -> np.ndarray:
    a = call.attrs
    parts = a.template.split(a.placeholder) if a.placeholder else [a.template]
    if len(parts) != len(inputs) + 1:
        raise InvalidArgumentError(
            f"StringFormat: {len(parts) - 1} placeholders in the template for {len(inputs)} inputs", call.op
        )
    text = parts[0]
    for x, rest in zip(inputs, parts[1:], strict=True):
        text += _shown(x, a.summarize) + rest
    return np.array(text.encode(), object)


def _segment_join(call: HostCall, x: np.ndarray, ids: np.ndarray, count: np.ndarray) -> np.ndarray:
    n = int(count)
    if x.shape[: ids.ndim] != ids.shape or ids.ndim == 0 or n < 0:
        raise InvalidArgumentError(f"UnsortedSegmentJoin: segments {ids.shape} of strings {x.shape}", call.op)
    tail = x.shape[ids.ndim :]
    lists: list[list[bytes]] = [[] for _ in range(n * int(np.prod(tail, dtype=np.int64)))]
    width = int(np.prod(tail, dtype=np.int64))
    for i, row in zip(ids.reshape(-1).tolist(), x.reshape(ids.size, width), strict=True):
        if i >= n:
            raise InvalidArgumentError(f"UnsortedSegmentJoin: the segment {i} is not below {n}", call.op)
        if i >= 0:
            for k, text in enumerate(row):
                lists[i * width + k].append(text)
    out = np.empty(len(lists), object)
    out[:] = [call.attrs.separator.encode().join(parts) for parts in lists]
    return out.reshape(n, *tail)


def _joined_shape(c: Infer) -> Shape:
    x, ids = c.shapes[0].sizes, c.shapes[1].sizes
    if x is None or ids is None:
        return unknown_shape
    if len(ids) > len(x):
        raise ShapeError(f"UnsortedSegmentJoin: segments {c.shapes[1]} of strings {c.shapes[0]}")
    n = c.value(2)
    return Shape((None if n is None else int(n), *x[len(ids) :]))


def _op(
    name: str,
    inputs: str,
    outputs: str,
    doc: str,
    attrs: type,
    infer: Callable[[Infer], Any] | None,
    host: Callable[..., Any],
    types: Mapping[str, tuple[DType, ...]] | None = None,
    **more: Any,
) -> OpDef:
    return OpDef(
        name,
        inputs,
        outputs,
        doc + " Runs on the host.",
        types=types or {},
        attrs=attrs,
        infer=infer,
        host=host,
        grad=NOT_DIFFERENTIABLE,
        **more,
    )


_SPLITS: Any = {"types": {"Tsplits": INDEX}, "defaults": {"Tsplits": int64}}
_KNOWN = f"Encodings: {', '.join(_ENCODINGS)}."
UNICODE_DECODE: OpDef[tuple[Tensor, Tensor]] = _op(
    "UnicodeDecode",
    "input: string",
    "row_splits: Tsplits, char_values: int32",
    "The code points of strings of any shape.\n\nchar_values: the code points of all strings; those of string i are at"
    f" row_splits[i] to row_splits[i + 1]. {_KNOWN} Errors: with errors='strict', a text is invalid.",
    DecodeAttrs,
    _splits_shape,
    _decode,
    dynamic=True,
    **_SPLITS,
)
UNICODE_DECODE_WITH_OFFSETS: OpDef[tuple[Tensor, Tensor, Tensor]] = _op(
    "UnicodeDecodeWithOffsets",
    "input: string",
    "row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64",
    "The code points of strings, as `UnicodeDecode`, and the byte offset of each in its string.",
    DecodeAttrs,
    _splits_shape,
    _decode,
    dynamic=True,
    **_SPLITS,
)
UNICODE_ENCODE: OpDef[Tensor] = _op(
    "UnicodeEncode",
    "input_values: int32, input_splits: Tsplits",
    "output: string",
    "Encodes code points as strings, the inverse of `UnicodeDecode`: a vector.\n\nErrors: the splits do not divide the"
    " values; with errors='strict', a number is not a code point.",
    EncodeAttrs,
    _encode_shape,
    _encode,
    **_SPLITS,
)
UNICODE_TRANSCODE: OpDef[Tensor] = _op(
    "UnicodeTranscode",
    "input: string",
    "output: string",
    f"Converts strings of any shape to another encoding. {_KNOWN} Errors: with errors='strict', a text is invalid.",
    TranscodeAttrs,
    unchanged,
    _transcode,
)
STATIC_REGEX_REPLACE: OpDef[Tensor] = _op(
    "StaticRegexReplace",
    "input: string",
    "output: string",
    "Replaces the matches of a regular expression: `RegexReplace` with pattern and rewrite as attributes.",
    ReplaceAttrs,
    unchanged,
    _static_replace,
)
STRING_FORMAT: OpDef[Tensor] = _op(
    "StringFormat",
    "inputs: [T]",
    "output: string",
    "The template with its placeholders replaced by the printed inputs, of any dtypes and shapes: a scalar.\n\n"
    "Errors: the number of placeholders is not the number of inputs.",
    FormatAttrs,
    scalar_shape,
    _format,
    types={"T": ANY},
)
UNSORTED_SEGMENT_JOIN: OpDef[Tensor] = _op(
    "UnsortedSegmentJoin",
    "inputs: string, segment_ids: Tindices, num_segments: Tnumsegments",
    "output: string",
    "Joins the strings of each segment in their order.\n\nsegment_ids: the first dimensions of inputs; negative ids are"
    " left out. output: (num_segments, the other dimensions). Errors: an id is not below num_segments.",
    JoinAttrs,
    _joined_shape,
    _segment_join,
    types={"Tindices": INDEX, "Tnumsegments": INDEX},
    shape_inputs=(2,),
)


def unicode_transcode(
    input: TensorLike,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Converts strings of any shape to another encoding: see the op UnicodeTranscode."""
    return UNICODE_TRANSCODE(
        input,
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
        name=name,
    )


def string_format(
    template: str, inputs: TensorLike, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """Returns the template with its placeholders replaced by printed tensors, as a scalar string.

    inputs: a tensor or a list of tensors, one for each occurrence of `placeholder`. summarize: the number of elements
    shown at either end of a dimension, -1 for all.
    """
    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    graph = graph_of(values)
    tensors = [graph.to_tensor(x) for x in values]
    return STRING_FORMAT(
        tensors, template=template, placeholder=placeholder, summarize=summarize, name=name, graph=graph
    )


def unsorted_segment_join(
    inputs: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, separator: str = "", name: str | None = None
) -> Tensor:
    """Joins the strings of each segment, with `separator` between them: see the op UnsortedSegmentJoin."""
    return UNSORTED_SEGMENT_JOIN(inputs, segment_ids, num_segments, separator=separator, name=name)


OPS: tuple[OpDef, ...] = (
    UNICODE_DECODE,
    UNICODE_DECODE_WITH_OFFSETS,
    UNICODE_ENCODE,
    UNICODE_TRANSCODE,
    STATIC_REGEX_REPLACE,
    STRING_FORMAT,
    UNSORTED_SEGMENT_JOIN,
)
API: dict[str, Any] = {
    "strings.unicode_transcode": unicode_transcode,
    "strings.format": string_format,
    "strings.unsorted_segment_join": unsorted_segment_join,
    "unsorted_segment_join": unsorted_segment_join,
}
