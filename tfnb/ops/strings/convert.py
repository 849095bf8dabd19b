"""Conversion between strings and numbers, regular expressions, and base64.

Numbers are read and written as by C's `printf` and TensorFlow. Regular expressions are RE2's, whose running time is
linear in the text, so no pattern can block a step. Invariant: a text that is not a number is rejected, never guessed.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.caches import remembered
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.shapes import unchanged
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.lazy_library import library
from tfnb.ops.strings.elementwise import clipped, mapped, text_op, unquoted
from tfnb.types import NUMBERS, DType, DTypeLike, Shape, bool_, float32, float64, int32, int64

__all__ = ["API", "OPS", "number_from"]


@record
class AsStringAttrs:
    """`precision`: digits after the point (-1: 6); `scientific`: with an exponent; `shortest`: the shorter of the two
    forms; `width`: the least number of characters; `fill`: "0", " ", "+" or "-" as in C's printf."""

    precision: int = -1
    scientific: bool = False
    shortest: bool = False
    width: int = -1
    fill: str = ""

    def __post_init__(self) -> None:
        if self.fill not in ("", "0", " ", "+", "-"):
            raise InvalidArgumentError(
                f'Fill string must be one or fewer characters of "0", " ", "+", "-", got {self.fill!r}'
            )
        if self.scientific and self.shortest:
            raise InvalidArgumentError("Cannot select both scientific and shortest notation")
        if self.width > 4096 or self.precision > 4096:
            raise InvalidArgumentError("width and precision must be at most 4096")


@record
class ReplaceAttrs:
    """`replace_global`: replace all matches instead of the first one."""

    replace_global: bool = True


@record
class PadAttrs:
    """`pad`: fill the text with "=" to a multiple of four characters."""

    pad: bool = False


def _whole_format(attrs: AsStringAttrs, dtype: DType) -> str:
    if attrs.precision > -1 or attrs.scientific or attrs.shortest:
        given = "precision" if attrs.precision > -1 else "scientific and shortest format"
        raise InvalidArgumentError(f"AsString: {given} not supported for datatype {dtype.name}, only for floats")
    return "%" + attrs.fill + (str(attrs.width) if attrs.width > -1 else "") + "d"


def _point_format(attrs: AsStringAttrs) -> str:
    width = str(attrs.width) if attrs.width > -1 else ""
    precision = f".{attrs.precision}" if attrs.precision > -1 else ""
    letter = "e" if attrs.scientific else "g" if attrs.shortest else "f"
    return "%" + attrs.fill + width + precision + letter


def _writer(attrs: AsStringAttrs, dtype: DType) -> Callable[[Any], bytes]:
    if dtype is bool_:
        _whole_format(attrs, dtype)
        return lambda x: b"true" if x else b"false"
    if dtype.is_integer:
        pattern = _whole_format(attrs, dtype)
        return lambda x: (pattern % int(x)).encode()
    spec = _point_format(attrs)
    unpadded = spec.replace("%0", "%", 1)  # C pads infinities and NaN with spaces

    def real(x: float | np.floating[Any]) -> str:
        return (spec if np.isfinite(x) else unpadded) % float(x)

    if dtype.is_complex:
        return lambda x: f"({real(x.real)},{real(x.imag)})".encode()
    return lambda x: real(x).encode()


def _all_written(attrs: AsStringAttrs, dtype: DType, x: np.ndarray) -> np.ndarray | None:
    """Formats real numbers by one format for all of them; None if one of them needs another format."""
    if dtype.is_complex or dtype is bool_:
        return None
    if dtype.is_integer:
        spec, numbers = _whole_format(attrs, dtype), x
    else:
        spec, numbers = _point_format(attrs), x.astype(np.float64)
        if attrs.fill == "0" and not np.isfinite(numbers).all():
            return None
    text = "\n".join([spec] * x.size) % tuple(numbers.reshape(-1).tolist())
    out = np.empty(x.size, object)
    out[:] = text.encode().split(b"\n") if x.size else []
    return out.reshape(x.shape)


def _host_as_string(call: HostCall, x: np.ndarray) -> np.ndarray:
    texts = _all_written(call.attrs, call.types["T"], x)
    if texts is not None:
        return texts
    return mapped(call, _writer(call.attrs, call.types["T"]), x)


def _infer_as_string(c: Infer) -> Shape:
    _writer(c.attrs, c.dtypes[0])
    return c.shapes[0]


AS_STRING: OpDef[Tensor] = OpDef(
    "AsString",
    "input: T",
    "output: string",
    """Formats numbers as C's printf does; booleans become "true" and "false".

    input: numbers or booleans of any shape. output: that shape. Errors: an attribute for floats is used with integers.
    Runs on the host.""",
    types={"T": (*NUMBERS, bool_)},
    attrs=AsStringAttrs,
    infer=_infer_as_string,
    host=_host_as_string,
    grad=NOT_DIFFERENTIABLE,
    api="as_string dtypes.as_string strings.as_string",
)

_WHOLE = re.compile(rb"\s*[+-]?[0-9]+\s*")
_POINT = re.compile(
    rb"\s*[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan|(?P<hex>0x[0-9a-f]+))\s*",
    re.I,
)


def number_from(text: bytes, dtype: DType) -> Any:
    """Returns the number that `text` represents, or None if it does not represent one of `dtype`.

    White space around the number is ignored.
    """
    if len(text) > 4096:
        return None
    if dtype.is_integer:
        if not _WHOLE.fullmatch(text):
            return None
        integer, limits = int(text), np.iinfo(dtype.np)
        return integer if limits.min <= integer <= limits.max else None
    match = _POINT.fullmatch(text)
    if not match:
        return None
    with np.errstate(all="ignore"):
        if match.group("hex"):
            return dtype.np.type(float.fromhex(text.strip().decode()))
        return dtype.np.type(text.strip().decode())


_PLAIN = b"0123456789.eE+-"  # characters of texts that Python parses exactly as `number_from` does


def _plain_numbers(x: np.ndarray, dtype: DType) -> np.ndarray | None:
    """The numbers in texts without spaces, names or hexadecimal digits; None if a text is not of this kind."""
    texts = x.reshape(-1).tolist()
    joined_text = b"".join(texts)
    if joined_text.translate(None, _PLAIN) or len(max(texts, key=len, default=b"")) > 4096:
        return None
    try:
        with np.errstate(all="ignore"):
            if not dtype.is_integer:
                return x.astype(np.float64).astype(dtype.np)
            numbers = [*map(int, texts)]
            if numbers and not dtype.min <= min(numbers) <= max(numbers) <= dtype.max:
                return None  # NumPy 1 would wrap these around
            return np.array(numbers, dtype.np).reshape(x.shape)
    except (ValueError, OverflowError):
        return None


def _host_to_number(call: HostCall, x: np.ndarray) -> np.ndarray:
    dtype = call.types["out_type"]
    numbers = _plain_numbers(x, dtype)
    if numbers is not None:
        return numbers

    def read(text: bytes) -> Any:
        numbers = number_from(text, dtype)
        if numbers is None:
            raise InvalidArgumentError(
                f"StringToNumberOp could not correctly convert string: {unquoted(text)} is not a valid {dtype.name}"
            )
        return numbers

    return mapped(call, read, x, dtype=dtype.np)


STRING_TO_NUMBER: OpDef[Tensor] = OpDef(
    "StringToNumber",
    "string_tensor: string",
    "output: out_type",
    """Parses texts as numbers.

    string_tensor: strings of any shape. output: that shape, of the dtype `out_type`. Errors: a text is not a number of
    that dtype; the message contains the index of the element. Runs on the host.""",
    types={"out_type": (float32, float64, int32, int64)},
    infer=unchanged,
    host=_host_to_number,
    grad=NOT_DIFFERENTIABLE,
    defaults={"out_type": float32},
)


@remembered("regular expressions", 256)
def _compiled(pattern: bytes) -> Any:
    re2 = library("re2", "google-re2", "a regular expression")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as e:
        reason = e.args[0] if e.args else ""
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise InvalidArgumentError(f"invalid pattern {clipped(pattern)}: {text}") from None


_ESCAPE = re.compile(rb"\\(.?)", re.S)


def _rewriter(rewrite: bytes, groups: int) -> Callable[[Any], bytes]:
    """The replacement of a match: `rewrite`, in which \\0 .. \\9 are groups and \\\\ is a backslash."""
    parts: list[bytes | int] = []
    at = 0
    for escape in _ESCAPE.finditer(rewrite):
        parts.append(rewrite[at : escape.start()])
        at, sign = escape.end(), escape.group(1)
        if sign == b"\\":
            parts.append(b"\\")
        elif sign.isdigit() and int(sign) <= groups:
            parts.append(int(sign))
        else:
            raise InvalidArgumentError(
                f"the rewrite {clipped(rewrite)} asks for {escape.group()!r}; the pattern has {groups} groups"
            )
    parts.append(rewrite[at:])

    def replacement(match: re.Match[bytes]) -> bytes:
        return b"".join(p if isinstance(p, bytes) else match.group(p) or b"" for p in parts)

    return replacement


def _replaced(pattern: re.Pattern[bytes], replacement: Callable[[Any], bytes], text: bytes, every: bool) -> bytes:
    """Replaces matches from left to right; an empty match directly after another match is skipped."""
    parts: list[bytes] = []
    at, end = 0, -1
    while at <= len(text) and (match := pattern.search(text, at)):
        parts.append(text[at : match.start()])
        at = match.start()
        if match.end() == end:
            step = 1
            while at + step < len(text) and text[at + step] & 0xC0 == 0x80:
                step += 1
            parts.append(text[at : at + step])
            at += step
            continue
        parts.append(replacement(match))
        at = end = match.end()
        if not every:
            break
    return b"".join(parts) + text[at:]


def _host_replace(call: HostCall, x: np.ndarray, pattern: np.ndarray, rewrite: np.ndarray) -> np.ndarray:
    regex = _compiled(_one(call, pattern))
    replacement = _rewriter(_one(call, rewrite), regex.groups)
    every = call.attrs.replace_global
    return mapped(call, lambda t: _replaced(regex, replacement, t, every), x)


def _one(call: HostCall, x: np.ndarray) -> bytes:
    if x.ndim:
        raise InvalidArgumentError(f"{call.op.type}: needed a scalar, got shape {x.shape}", call.op)
    return bytes(x[()])


def _first_unchanged(c: Infer) -> Shape:
    for i, s in enumerate(c.shapes[1:], 1):
        if s.ndims not in (None, 0):
            raise ShapeError(f"{c.op_name}: input {i} must be a scalar, got shape {s}")
    return c.shapes[0]


REGEX_REPLACE: OpDef[Tensor] = OpDef(
    "RegexReplace",
    "input: string, pattern: string, rewrite: string",
    "output: string",
    """Replaces the matches of a regular expression (RE2).

    input: strings of any shape. pattern, rewrite: scalars; \\\\1 .. \\\\9 in rewrite stand for groups, \\\\0 for the
    match. output: input's shape. Errors: the pattern is invalid, or lacks a group of rewrite. Runs on the host.""",
    attrs=ReplaceAttrs,
    infer=_first_unchanged,
    host=_host_replace,
    grad=NOT_DIFFERENTIABLE,
)


def _host_full_match(call: HostCall, x: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    regex = _compiled(_one(call, pattern))
    return mapped(call, lambda t: regex.fullmatch(t) is not None, x, dtype=np.bool_)


REGEX_FULL_MATCH: OpDef[Tensor] = OpDef(
    "RegexFullMatch",
    "input: string, pattern: string",
    "output: bool",
    """Tests whether a regular expression (RE2) matches the whole string.

    input: strings of any shape. pattern: a scalar. output: booleans of that shape. Errors: the pattern is invalid. Runs
    on the host.""",
    infer=_first_unchanged,
    host=_host_full_match,
    grad=NOT_DIFFERENTIABLE,
    api="regex_full_match strings.regex_full_match",
)


@record
class PatternAttrs:
    """`pattern`: a regular expression (RE2)."""

    pattern: str = ""


def _host_static_match(call: HostCall, x: np.ndarray) -> np.ndarray:
    regex = _compiled(call.attrs.pattern.encode())
    return mapped(call, lambda t: regex.fullmatch(t) is not None, x, dtype=np.bool_)


STATIC_REGEX_FULL_MATCH: OpDef[Tensor] = OpDef(
    "StaticRegexFullMatch",
    "input: string",
    "output: bool",
    """Tests whether the regular expression (RE2) `pattern` matches the whole string.

    input: strings of any shape. output: booleans of that shape. Errors: the pattern is invalid. Runs on the host.""",
    attrs=PatternAttrs,
    infer=unchanged,
    host=_host_static_match,
    grad=NOT_DIFFERENTIABLE,
)

_BASE64 = re.compile(rb"([A-Za-z0-9_-]*)(={0,2})")


def _encoded(attrs: PadAttrs, text: bytes) -> bytes:
    encoded = base64.urlsafe_b64encode(text)
    return encoded if attrs.pad else encoded.rstrip(b"=")


def _decoded(attrs: PadAttrs, text: bytes) -> bytes:
    match = _BASE64.fullmatch(text)
    if match is not None and len(match.group(1)) % 4 == 1:
        raise InvalidArgumentError(f"Base64 string length cannot be 1 modulo 4: {clipped(text)}")
    if match is None or (match.group(2) and len(text) % 4):
        raise InvalidArgumentError(f"{clipped(text)} is not base64 in its web-safe form")
    body = match.group(1)
    return base64.urlsafe_b64decode(body + b"=" * (-len(body) % 4))


ENCODE_BASE64 = text_op(
    "EncodeBase64",
    _encoded,
    "Encodes each string in web-safe base64 (with - and _).\n\ninput: strings of any shape. output: the same shape.",
    attrs=PadAttrs,
    api="encode_base64 io.encode_base64",
)
DECODE_BASE64 = text_op(
    "DecodeBase64",
    _decoded,
    "Decodes web-safe base64, with or without padding.\n\ninput: strings of any shape. output: the same shape.\n"
    "Errors: a text is not base64.",
    api="decode_base64 io.decode_base64",
)


def regex_replace(
    input: TensorLike,
    pattern: TensorLike,
    rewrite: TensorLike,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    """Replaces the matches of the regular expression `pattern` (RE2) in each string by `rewrite`.

    input: strings of any shape, which the result has too. Errors: the pattern is invalid, or lacks a group of rewrite.
    """
    return REGEX_REPLACE(input, pattern, rewrite, replace_global=replace_global, name=name)


def string_to_number(
    string_tensor: TensorLike | None = None,
    out_type: DTypeLike = float32,
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Parses texts as numbers of float32, float64, int32 or int64; the result has the shape of `string_tensor`.

    Raises `InvalidArgumentError` at run time for a text that is not such a number.
    """
    texts = input if string_tensor is None else string_tensor
    return STRING_TO_NUMBER(texts, out_type=out_type, name=name)


OPS: tuple[OpDef, ...] = (
    AS_STRING,
    STRING_TO_NUMBER,
    REGEX_REPLACE,
    REGEX_FULL_MATCH,
    STATIC_REGEX_FULL_MATCH,
    ENCODE_BASE64,
    DECODE_BASE64,
)
API: dict[str, Any] = {
    "regex_replace": regex_replace,
    "strings.regex_replace": regex_replace,
    "string_to_number": string_to_number,
    "strings.to_number": string_to_number,
}
