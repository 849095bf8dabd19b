"""Printing, assertions and checks of numbers while a step runs (white paper, section 6 "Debugging").

All run on the host and are stateful, so no pass folds or merges them. Invariant: an error contains the checked values
and the node, so the user sees which value was wrong and where its node was created.
"""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import LOCAL, NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import unchanged
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.types import ALL_AND_QUANTIZED, FLOATS, scalar

__all__ = ["API", "ASSERT", "CHECK_NUMERICS", "OPS", "PRINT", "PRINT_V2", "assert_that", "summary"]


@dataclass(frozen=True, eq=False)
class PrintAttrs:
    """`message`: printed first; `first_n`: the number of times to print (-1: always); `summarize`: elements per tensor.

    `turns` counts how often the op has printed.
    """

    message: str = ""
    first_n: int = -1
    summarize: int = 3
    turns: Iterator[int] = field(default_factory=itertools.count, init=False, repr=False, metadata=LOCAL)


_STREAMS = ("stderr", "stdout", "log(info)", "log(warning)", "log(error)")


@record
class PrintV2Attrs:
    """`output_stream`: "stderr", "stdout", "log(info)", "log(warning)", "log(error)" or "file://" and a path; `end`:
    printed last."""

    output_stream: str = "stderr"
    end: str = "\n"

    def __post_init__(self) -> None:
        if self.output_stream not in _STREAMS and not self.output_stream.startswith("file://"):
            raise InvalidArgumentError(
                f"PrintV2: output_stream must be one of {_STREAMS} or file:// and a path, got {self.output_stream!r}"
            )


@record
class AssertAttrs:
    """`summarize`: the number of elements of each tensor that the error shows."""

    summarize: int = 3


@record
class CheckAttrs:
    """`message`: the beginning of the error's text."""

    message: str = ""


# What TensorFlow escapes in strings that it prints.
_ESCAPES = str.maketrans({c: repr(c)[1:-1] for c in "\n\r\t\\"} | {c: "\\" + c for c in "\"'"})


def _element(x: object) -> str:
    if isinstance(x, bytes):
        return x.decode("utf-8", "replace").translate(_ESCAPES)
    if isinstance(x, np.bool_):
        return str(int(x))
    if isinstance(x, (np.float32, np.float64)):
        short, long = (6, 9) if isinstance(x, np.float32) else (15, 17)
        text = f"{x:.{short}g}"
        return text if type(x)(text) == x or np.isnan(x) else f"{x:.{long}g}"
    return str(x)


def _nested(x: np.ndarray, left: int, outer: bool = True) -> tuple[str, int]:
    """The text of the first `left` elements, with brackets around inner rows, and how many more may be shown."""
    if x.ndim == 1:
        line = " ".join(_element(v) for v in x[:left])
        return line + ("..." if x.size > left and not outer else ""), left - min(left, x.size)
    parts = []
    for row in x:
        if left <= 0:
            break
        text, left = _nested(row, left, False)
        parts.append(f"[{text}]")
    return "".join(parts), left


def summary(x: np.ndarray, summarize: int) -> str:
    """Returns the first elements of an array in brackets, in TensorFlow's format: `[[1 2][3...]...]`."""
    limit = x.size if summarize < 0 else min(summarize, x.size)
    text = _nested(x.reshape(-1) if x.ndim == 0 else x, limit)[0] if limit else ""
    if x.size <= limit:
        return f"[{text}]"
    return f"[{text}...]"


def _print(call: HostCall, value: np.ndarray, *data: np.ndarray) -> np.ndarray:
    a = call.attrs
    if a.first_n < 0 or next(a.turns) < a.first_n:
        text = a.message + "".join(summary(x, a.summarize) for x in data)
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    return value


def _print_text(call: HostCall, text: np.ndarray) -> tuple[()]:
    stream = call.attrs.output_stream
    line = text.item().decode("utf-8", "replace")
    if stream.startswith("log("):
        logging.getLogger("tfnb").log(getattr(logging, stream[4:-1].upper()), line)
    elif stream.startswith("file://"):
        with open(stream.removeprefix("file://"), "a", encoding="utf-8") as file:
            file.write(line + call.attrs.end)
    else:
        print(line, end=call.attrs.end, file=getattr(sys, stream), flush=True)
    return ()


def _infer_text(c: Infer) -> tuple[()]:
    if not c.shapes[0].is_compatible_with(scalar):
        raise ShapeError(f"PrintV2: the text must be a scalar, got shape {c.shapes[0]}")
    return ()


def _infer_condition(c: Infer) -> tuple[()]:
    if not c.shapes[0].is_compatible_with(scalar):
        raise ShapeError(f"Assert: the condition must be a scalar, got shape {c.shapes[0]}")
    return ()


def _assert(call: HostCall, condition: np.ndarray, *data: np.ndarray) -> tuple[()]:
    if not bool(condition):
        text = " ".join(summary(x, call.attrs.summarize) for x in data)
        raise InvalidArgumentError(f"assertion failed: {text}", call.op)
    return ()


def _check(call: HostCall, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        finite = np.isfinite(x.astype(np.float32) if x.dtype.itemsize == 2 else x)
    if finite.all():
        return x
    nan, inf = bool(np.isnan(x).any()), bool(np.isinf(x).any())
    kinds = " and ".join([word for word, occurs in (("Inf", inf), ("NaN", nan)) if occurs])
    raise InvalidArgumentError(f"{call.attrs.message} : Tensor had {kinds} values", call.op)


def _grad_check(op: Operation, dy: Tensor) -> Tensor:
    return CHECK_NUMERICS(
        dy,
        message=f"Not a number (NaN) or infinity (Inf) values in the gradient. {op.attrs.message}",
    )


PRINT: OpDef[Tensor] = OpDef(
    "Print",
    "input: T, data: [U]",
    "output: T",
    """Returns `input`, and prints `message` and the first `summarize` elements of each tensor in `data` to stderr.

    input: any dtype and shape, which output has. data: tensors of any dtypes. Only the first `first_n` runs print,
    unless it is negative.""",
    types={"T": ALL_AND_QUANTIZED, "U": ALL_AND_QUANTIZED},
    attrs=PrintAttrs,
    infer=unchanged,
    host=_print,
    grad=lambda op, dy: (dy, *([None] * (len(op.inputs) - 1))),
    stateful=True,
)

ASSERT: OpDef[Operation] = OpDef(
    "Assert",
    "condition: bool, data: [T]",
    "",
    """Fails with `InvalidArgumentError` when the scalar bool `condition` is false; the error shows `data`.

    data: tensors of any dtypes; `summarize` elements of each are shown.""",
    types={"T": ALL_AND_QUANTIZED},
    attrs=AssertAttrs,
    infer=_infer_condition,
    host=_assert,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)

CHECK_NUMERICS: OpDef[Tensor] = OpDef(
    "CheckNumerics",
    "tensor: T",
    "output: T",
    """Returns `tensor`, or fails with `InvalidArgumentError` when it contains a NaN or an infinity.

    tensor: a float type, any shape. The text of the error begins with `message`.""",
    types={"T": FLOATS},
    attrs=CheckAttrs,
    infer=unchanged,
    host=_check,
    grad=_grad_check,
    stateful=True,
    api="check_numerics debugging.check_numerics",
)


def print_(
    input_: TensorLike,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns `input_`; each time it is computed, `message` and `data` are printed to stderr.

    data: a list of tensors. first_n: how many times to print. summarize: elements printed per tensor (by default 3).
    """
    return PRINT(
        input_,
        list(data),
        message=message or "",
        first_n=-1 if first_n is None else int(first_n),
        summarize=3 if summarize is None else int(summarize),
        name=name,
    )


def assert_that(
    condition: TensorLike, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> Operation:
    """Returns an operation that fails with `InvalidArgumentError`, showing `data`, when `condition` is false.

    condition: a scalar bool. data: a list of tensors. summarize: elements shown per tensor, by default 3. Make other
    ops depend on it by `tf.control_dependencies`.
    """
    graph = graph_of((condition, data))
    with graph.as_default():
        return ASSERT(
            condition,
            list(data),
            summarize=3 if summarize is None else int(summarize),
            name=name,
            graph=graph,
        )


def verify_tensor_all_finite(
    t: TensorLike | None = None,
    msg: str | None = None,
    name: str | None = None,
    x: TensorLike | None = None,
    message: str | None = None,
) -> Tensor:
    """Returns the float tensor `t` (`x`); a step fails with the message `msg` (`message`) when it contains a NaN or an
    infinity.

    Raises `InvalidArgumentError` unless each is given by one of its names.
    """
    if (t is None) == (x is None) or (msg is None) == (message is None):
        raise InvalidArgumentError("verify_tensor_all_finite: needed one of t and x, and one of msg and message")
    return CHECK_NUMERICS(x if t is None else t, message=message if msg is None else msg, name=name)


PRINT_V2: OpDef[Operation] = OpDef(
    "PrintV2",
    "input: string",
    "",
    """Prints a text when it runs.

    input: a string scalar. Errors: `output_stream` is none that there is, the input is no scalar.""",
    attrs=PrintV2Attrs,
    infer=_infer_text,
    host=_print_text,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)

OPS: tuple[OpDef, ...] = (PRINT, ASSERT, CHECK_NUMERICS, PRINT_V2)
API: dict[str, Any] = {
    "Print": print_,
    "Assert": assert_that,
    "debugging.Assert": assert_that,
    "verify_tensor_all_finite": verify_tensor_all_finite,
    "assert_all_finite": verify_tensor_all_finite,
}
