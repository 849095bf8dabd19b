"""Tensors serialised as strings: one TensorProto for a dense tensor, three for a sparse one.

A sparse tensor may also become three variants, the arrays themselves, which never leave the process. The ops run on the
host. Invariant: a string is checked before memory is allocated for what it claims to contain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import DTypeError, InvalidArgumentError, OpError, ShapeError
from tfnb.ir.graphdef.tensor_proto import decode_array, encode_shape
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.protos import proto
from tfnb.ir.shapes import scalar_shape
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.sparse.arithmetic import check_places
from tfnb.ops.strings.elementwise import unquoted
from tfnb.types import (
    ALL,
    ALL_AND_QUANTIZED,
    DType,
    DTypeLike,
    Shape,
    as_dtype,
    bracketed,
    string,
    unknown_shape,
    variant,
)

__all__ = ["API", "OPS"]


def _text(array: np.ndarray) -> bytes:
    """The TensorProto of an array, with numbers always stored as bytes, as TensorFlow writes them."""
    array = np.asarray(array)
    message = proto("tensor").TensorProto(dtype=as_dtype(array.dtype).enum)
    message.tensor_shape.CopyFrom(encode_shape(Shape(array.shape)))
    if array.dtype.hasobject:
        message.string_val.extend(array.reshape(-1).tolist())
    else:
        message.tensor_content = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
    return bytes(message.SerializeToString())


def _array(call: HostCall, text: bytes, dtype: DType, name: str = "", kind: str = "") -> np.ndarray:
    """The tensor in a string, which errors call `name`, and its sparse tensor `kind`.

    Raises `InvalidArgumentError` when there is none, or it has another dtype.
    """
    try:
        array = decode_array(proto("tensor").TensorProto.FromString(text))
    except OpError as e:
        raise InvalidArgumentError(f"{call.op.type}: {e.message}", call.op) from None
    except Exception as e:  # protobuf has its own error classes
        name = name or ("`serialized`" if call.op.type == "ParseTensor" else call.op.type)
        raise InvalidArgumentError(f"Could not parse {name} as TensorProto: '{unquoted(text)}': {e}", call.op) from None
    if array.dtype != dtype.np:
        words = f"Type mismatch between parsed tensor ({array.dtype}) and dtype ({dtype.name})"
        if kind:
            words = f"Requested SparseTensor of type {dtype.name} but {kind}.values.dtype() == {array.dtype}; {words}"
        raise InvalidArgumentError(f"{call.op.type}: {words}", call.op)
    return array


def _parse(call: HostCall, x: np.ndarray) -> np.ndarray:
    if x.ndim:
        raise InvalidArgumentError(f"Expected `serialized` to be a scalar, got shape: {bracketed(x.shape)}", call.op)
    return _array(call, x.item(), call.types["out_type"])


def _three(call: HostCall, *parts: np.ndarray) -> np.ndarray:
    """Returns a vector of variants or of strings, as the operation wants, with one for each array."""
    out = np.empty(len(parts), object)
    as_variants = call.types["out_type"] is variant
    for k, part in enumerate(parts):
        out[k] = part if as_variants else _text(part)
    return out


def _one_sparse(call: HostCall, indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> np.ndarray:
    check_places(call, indices, shape)
    return _three(call, indices, values, shape)


def _many_sparse(call: HostCall, indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> np.ndarray:
    check_places(call, indices, shape)
    if shape.size < 2:
        raise InvalidArgumentError(f"{call.op.type}: the rank must be above 1, got shape {shape.tolist()}", call.op)
    if (np.diff(indices[:, 0]) < 0).any():
        raise InvalidArgumentError(f"{call.op.type}: the rows are out of order", call.op)
    out = np.empty((int(shape[0]), 3), object)
    limits = np.searchsorted(indices[:, 0], np.arange(shape[0] + 1))
    for row in range(int(shape[0])):
        part = slice(limits[row], limits[row + 1])
        out[row] = _three(call, indices[part, 1:], values[part], shape[1:])
    return out


def _parsed(call: HostCall, texts: np.ndarray, row: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the indices, values and shape in three strings, after all checks."""
    int64 = as_dtype("int64")
    indices, data, shape = (
        _array(call, t, d, f"serialized_sparse[{row}, {k}]", f"SparseTensor[{row}]")
        for k, (t, d) in enumerate(zip(texts, (int64, call.types["dtype"], int64), strict=True))
    )
    if shape.ndim != 1 or indices.shape != (len(data), shape.size) or data.ndim != 1:
        raise InvalidArgumentError(
            f"{call.op.type}: indices {indices.shape}, values {data.shape} and shape {shape.shape} do not fit",
            call.op,
        )
    check_places(call, indices, shape)
    return indices, data, shape


def _held(call: HostCall, arrays: np.ndarray, row: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the indices, values and shape that SerializeSparse has put into three variants."""
    indices, data, shape = arrays
    wanted = call.types["dtype"]
    if not all(isinstance(part, np.ndarray) for part in arrays) or data.dtype != wanted.np:
        kinds = [getattr(part, "dtype", type(part).__name__) for part in arrays]
        raise InvalidArgumentError(
            f"{call.op.type}: SparseTensor[{row}] needs values of {wanted.name}, got variants of {kinds}", call.op
        )
    return indices, data, shape


def _together(call: HostCall, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Combines sparse tensors into one, with the dimensions of the strings in front; its size is the largest."""
    if x.ndim < 1 or x.shape[-1] != 3:
        raise InvalidArgumentError(f"{call.op.type}: needed rows of 3 strings, got shape {x.shape}", call.op)
    parts_of = _held if call.types.get("Tserialized") is variant else _parsed
    rows: list[np.ndarray] = []
    values: list[np.ndarray] = []
    sizes: np.ndarray | None = None
    for place in np.ndindex(*x.shape[:-1]):
        row = ",".join(map(str, place))
        indices, data, shape = parts_of(call, x[place], row)
        if sizes is not None and sizes.shape != shape.shape:
            # The op of 1.0 counts the dimensions of a part, the later one those of the result.
            what, more = ("shape", 0) if call.op.type == "DeserializeManySparse" else ("rank", len(place))
            raise InvalidArgumentError(
                f"Inconsistent {what} across SparseTensors: rank prior to SparseTensor[{row}] was: "
                f"{sizes.size + more} but rank of SparseTensor[{row}] is: {shape.size + more}",
                call.op,
            )
        sizes = shape if sizes is None else np.maximum(sizes, shape)
        rows.append(indices)
        values.append(data)
    if sizes is None:
        raise InvalidArgumentError(f"{call.op.type}: no sparse tensor, so its rank is not known", call.op)
    places = np.array([*np.ndindex(*x.shape[:-1])], np.int64).reshape(len(rows), x.ndim - 1)
    prefixes = np.repeat(places, [len(data) for data in values], axis=0)
    joined = np.concatenate([prefixes, np.concatenate(rows)], 1)
    return joined, np.concatenate(values), np.array([*x.shape[:-1], *sizes], np.int64)


def _sparse_shapes(c: Infer) -> tuple[Shape, Shape, Shape]:
    x = c.shapes[0]
    many = c.op_name == "DeserializeManySparse"
    if x.sizes is not None and (len(x.sizes) < 1 or x.sizes[-1] not in (3, None) or (many and len(x.sizes) != 2)):
        raise ShapeError(f"{c.op_name}: needed rows of 3 strings, got shape {x}")
    return Shape((None, None)), Shape((None,)), Shape((None,))


SERIALIZE_TENSOR: OpDef[Tensor] = OpDef(
    "SerializeTensor",
    "tensor: T",
    "serialized: string",
    "Serialises a tensor to the bytes of a TensorProto: a scalar string. `tensor` has any dtype and shape. Runs on the"
    " host.",
    types={"T": ALL},
    infer=scalar_shape,
    host=lambda call, x: np.array(_text(x), object),
    grad=NOT_DIFFERENTIABLE,
)
PARSE_TENSOR: OpDef[Tensor] = OpDef(
    "ParseTensor",
    "serialized: string",
    "output: out_type",
    "Parses the bytes of a TensorProto to a tensor of dtype `out_type`.\n\n"
    "serialized: a scalar. Errors: the bytes contain no tensor, or one of another dtype. Runs on the host.",
    types={"out_type": ALL_AND_QUANTIZED},
    infer=lambda c: unknown_shape,
    host=_parse,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)
SERIALIZE_SPARSE: OpDef[Tensor] = OpDef(
    "SerializeSparse",
    "sparse_indices: int64, sparse_values: T, sparse_shape: int64",
    "serialized_sparse: out_type",
    "A sparse tensor as a vector of 3 strings or variants: its indices, values and shape. Errors: an index is outside "
    "the shape. Runs on the host.",
    types={"T": ALL_AND_QUANTIZED, "out_type": (string, variant)},
    defaults={"out_type": string},
    infer=lambda c: Shape((3,)),
    host=_one_sparse,
    grad=NOT_DIFFERENTIABLE,
)
SERIALIZE_MANY_SPARSE: OpDef[Tensor] = OpDef(
    "SerializeManySparse",
    "sparse_indices: int64, sparse_values: T, sparse_shape: int64",
    "serialized_sparse: out_type",
    "A sparse tensor of rank 2 or more as a matrix of strings or variants: a row of 3 for each part along dimension 0."
    "\n\nErrors: an index is outside the shape, or rows are out of order. Runs on the host.",
    types={"T": ALL, "out_type": (string, variant)},
    defaults={"out_type": string},
    infer=lambda c: Shape(((c.as_shape(2).sizes or (None,))[0], 3)),
    host=_many_sparse,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)
_TOGETHER = """Combines sparse tensors of equal rank, given as rows of 3 strings, into one with additional dimensions.

Its size is that of the largest. Errors: the strings contain no tensors of these dtypes, or these do not match each
other. Runs on the host."""
DESERIALIZE_MANY_SPARSE: OpDef[tuple[Tensor, Tensor, Tensor]] = OpDef(
    "DeserializeManySparse",
    "serialized_sparse: string",
    "sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
    _TOGETHER,
    types={"dtype": ALL_AND_QUANTIZED},
    infer=_sparse_shapes,
    host=_together,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)
DESERIALIZE_SPARSE: OpDef[tuple[Tensor, Tensor, Tensor]] = OpDef(
    "DeserializeSparse",
    "serialized_sparse: Tserialized",
    "sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
    _TOGETHER,
    types={"dtype": ALL_AND_QUANTIZED, "Tserialized": (string, variant)},
    defaults={"Tserialized": string},
    infer=_sparse_shapes,
    host=_together,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)


def _parts(value: SparseTensor | SparseTensorValue, what: str) -> tuple[Any, Any, Any]:
    if not isinstance(value, (SparseTensor, SparseTensorValue)):
        raise DTypeError(f"{what}: needed a SparseTensor, got {type(value).__name__}")
    sparse = SparseTensor.from_value(value)
    return sparse.indices, sparse.values, sparse.dense_shape


def serialize_sparse(
    sp_input: SparseTensor | SparseTensorValue, name: str | None = None, out_type: DTypeLike = string
) -> Tensor:
    """Serialises a SparseTensor to a vector of 3 strings (indices, values, shape), for `deserialize_many_sparse`.

    out_type: `tf.string`, or `tf.variant` for variants that hold the arrays themselves and never leave the process.
    """
    return SERIALIZE_SPARSE(*_parts(sp_input, "serialize_sparse"), out_type=out_type, name=name)


def serialize_many_sparse(
    sp_input: SparseTensor | SparseTensorValue, name: str | None = None, out_type: DTypeLike = string
) -> Tensor:
    """Serialises a SparseTensor of rank 2 or more to a row of 3 strings for each part along its first dimension.

    out_type: as for `serialize_sparse`.
    """
    return SERIALIZE_MANY_SPARSE(*_parts(sp_input, "serialize_many_sparse"), out_type=out_type, name=name)


def deserialize_many_sparse(
    serialized_sparse: TensorLike, dtype: DTypeLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Combines SparseTensors of one rank, given as rows of 3 strings, into one with an additional first dimension.

    serialized_sparse: strings (N, 3), as `serialize_many_sparse` returns them. dtype: the dtype of the values. rank:
    the rank of each part, if it is known. Errors at run time: a string is damaged or holds another dtype.
    """
    indices, values, shape = DESERIALIZE_MANY_SPARSE(serialized_sparse, dtype=as_dtype(dtype), name=name)
    if rank is not None:
        indices.set_shape([None, rank + 1])
        shape.set_shape([rank + 1])
    return SparseTensor(indices, values, shape)


def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Serialises a tensor to a scalar string: see the op SerializeTensor."""
    return SERIALIZE_TENSOR(tensor, name=name)


def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """Parses a string, as `serialize_tensor` returns it, to a tensor of dtype `out_type`: see the op ParseTensor.

    Errors at run time: the string is damaged, or holds another dtype.
    """
    return PARSE_TENSOR(serialized, out_type=as_dtype(out_type), name=name)


OPS: tuple[OpDef, ...] = (
    SERIALIZE_TENSOR,
    PARSE_TENSOR,
    SERIALIZE_SPARSE,
    SERIALIZE_MANY_SPARSE,
    DESERIALIZE_MANY_SPARSE,
    DESERIALIZE_SPARSE,
)
API: dict[str, Any] = {}
for _fn in (serialize_sparse, serialize_many_sparse, deserialize_many_sparse, serialize_tensor, parse_tensor):
    API[_fn.__name__] = API[f"io.{_fn.__name__}"] = _fn
