"""tf.Example messages as JSON (the mapping of proto3), turned into the bytes that `ParseExample` reads.

The op runs on the host. Invariant: what is not such an Example is refused with the place in the text.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, OpDef
from tfnb.ir.shapes import unchanged
from tfnb.ir.tensor import Tensor
from tfnb.ops.io.example_messages import message
from tfnb.ops.lazy_library import library

__all__ = ["API", "OPS", "example_of_json"]

LONGEST = 64 << 20  # bytes of one text, whose values need several times as much memory while it is read


def example_of_json(text: bytes) -> bytes:
    """The serialised Example that a JSON text describes. Raises `InvalidArgumentError` for another text."""
    if len(text) > LONGEST:
        raise InvalidArgumentError(f"Error while parsing JSON: {len(text)} bytes; at most {LONGEST} are read")
    json_format = library("google.protobuf.json_format", "protobuf", "tf.Example in JSON")
    try:
        record = json_format.Parse(text, message("Example")())
    except (json_format.Error, ValueError, RecursionError) as e:  # ValueError: text that is not UTF-8
        raise InvalidArgumentError(f"Error while parsing JSON: {str(e)[:200]}: {text[:60]!r}") from None
    return bytes(record.SerializeToString())


def _host(call: HostCall, examples: np.ndarray) -> np.ndarray:
    out = np.empty(examples.shape, object)
    for place in np.ndindex(*examples.shape):
        out[place] = example_of_json(examples[place])
    return out


DECODE_JSON_EXAMPLE: OpDef[Tensor] = OpDef(
    "DecodeJSONExample",
    inputs="json_examples: string",
    outputs="binary_examples: string",
    doc="""Turns tf.Example messages that are written as JSON into the bytes that `ParseExample` reads.

    json_examples: texts of the JSON mapping of proto3, any shape. binary_examples: the same shape. Errors: a text is
    no such JSON. Runs on the host.""",
    infer=unchanged,
    host=_host,
    grad=NOT_DIFFERENTIABLE,
    api="decode_json_example io.decode_json_example",
)

OPS: tuple[OpDef, ...] = (DECODE_JSON_EXAMPLE,)
API: dict[str, Any] = {}
