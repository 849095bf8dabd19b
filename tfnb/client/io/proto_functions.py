"""`tf.io.encode_proto` and `tf.io.decode_proto`: protobuf messages and the tensors of their fields.

Invariant: a field that is asked for twice gives two equal tensors, and results stand in the order of `field_names`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.io.proto_messages import DECODE_PROTO, ENCODE_PROTO
from tfnb.types import DTypeLike, as_dtype

__all__ = ["DecodedProto", "decode_proto", "encode_proto"]


class DecodedProto(NamedTuple):
    """`sizes`: the number of values of each field of each message; `values`: a tensor for each field."""

    sizes: Tensor
    values: list[Tensor]


def decode_proto(
    bytes: TensorLike,
    message_type: str,
    field_names: Sequence[str],
    output_types: Sequence[DTypeLike],
    descriptor_source: str | bytes = "local://",
    message_format: str = "binary",
    sanitize: bool = False,
    name: str | None = None,
) -> DecodedProto:
    """Returns (sizes, values) of the fields of protobuf messages; see the op DecodeProtoV2.

    bytes: strings of any shape. message_type: a name with its package. field_names, output_types: equally many names
    and dtypes. descriptor_source: a file, "bytes://" and a FileDescriptorSet, or "local://". message_format: "binary"
    or "text". Unknown fields are skipped with and without `sanitize`.
    """
    out = DECODE_PROTO(
        bytes,
        message_type=message_type,
        field_names=tuple(field_names),
        output_types=tuple(as_dtype(d) for d in output_types),
        descriptor_source=descriptor_source,
        message_format=message_format,
        name=name,
    )
    sizes, values = out
    return DecodedProto(sizes, list(values))


def encode_proto(
    sizes: TensorLike,
    values: Sequence[TensorLike],
    field_names: Sequence[str],
    message_type: str,
    descriptor_source: str | bytes = "local://",
    name: str | None = None,
) -> Tensor:
    """Returns protobuf messages of the values of their fields; see the op EncodeProto.

    sizes: int32, the shape of the batch and a column for each field. values: a tensor for each field, the shape of the
    batch and at least as many columns as sizes say. The others are as for `decode_proto`.
    """
    names, given = tuple(field_names), list(values)
    made: Tensor = ENCODE_PROTO(
        sizes,
        given,
        field_names=names,
        message_type=message_type,
        descriptor_source=descriptor_source,
        name=name,
    )
    return made
