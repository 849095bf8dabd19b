"""TensorProto: a tensor's value as a protobuf message.

A value is written as bytes in `tensor_content`, or as a list in its dtype's field; missing elements repeat the last.
Invariant: decoding allocates what the message itself holds and at most `MAX_REPEATED` bytes of repeated elements more;
a constant of one repeated element is a view of stride 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfnb.dimension import Dimension
from tfnb.errors import DTypeError, InvalidArgumentError, ResourceExhaustedError, ShapeError
from tfnb.ir.bind import to_numpy
from tfnb.ir.const import MAX_RANK
from tfnb.ir.graphdef.message_types import TensorProto, TensorShapeProto
from tfnb.ir.protos import proto
from tfnb.types import DType, DTypeLike, Shape, as_dtype, as_shape

__all__ = [
    "MAX_BYTES",
    "MAX_REPEATED",
    "decode_array",
    "decode_dtype",
    "decode_shape",
    "encode_array",
    "encode_shape",
    "make_ndarray",
    "make_tensor_proto",
    "repeated_bytes",
]

MAX_BYTES = 1 << 31  # the most bytes of one constant, which are those of one protobuf message
# Bytes that one constant may gain because its last element is repeated behind other elements. A constant of a single
# repeated element is a view of stride 0 and gains nothing, whatever its shape.
MAX_REPEATED = 1 << 25

# dtype -> the field that lists its elements; 16-bit floats as the integers of their bits
_FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "int32": "int_val",
    "uint8": "int_val",
    "int16": "int_val",
    "int8": "int_val",
    "uint16": "int_val",
    "string": "string_val",
    "complex64": "scomplex_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "bfloat16": "half_val",
    "float16": "half_val",
    "complex128": "dcomplex_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
}


def decode_dtype(enum: int) -> DType:
    """Returns the dtype of a DataType number; for a reference, the dtype to which it refers.

    Raises `DTypeError` for an unknown number.
    """
    base = enum - 100 if enum > 100 else enum
    try:
        return as_dtype(base)
    except DTypeError:
        raise DTypeError(f"the data type number {enum} is not served") from None


def _held(dtype: DType) -> DType:
    """Returns the dtype of the array that holds a tensor; quantised numbers are stored as plain integers."""
    return as_dtype(dtype.np) if dtype.is_quantized else dtype


def encode_shape(shape: Shape) -> TensorShapeProto:
    """Returns the TensorShapeProto of a static shape."""
    message: TensorShapeProto = proto("tensor_shape").TensorShapeProto()
    if shape.sizes is None:
        message.unknown_rank = True
    else:
        for d in shape.sizes:
            message.dim.add(size=-1 if d is None else d)
    return message


def decode_shape(message: TensorShapeProto) -> Shape:
    """Returns a static shape. Raises `ShapeError` for a dimension below -1, or more than `MAX_RANK` dimensions."""
    if message.unknown_rank:
        return Shape(None)
    if len(message.dim) > MAX_RANK:
        raise ShapeError(f"a shape of {len(message.dim)} dimensions; at most {MAX_RANK} are served")
    sizes = [d.size for d in message.dim]
    if any(n < -1 for n in sizes):
        raise ShapeError(f"a shape with the dimension {min(sizes)}")
    return Shape(tuple(None if n == -1 else n for n in sizes))


def encode_array(
    array: np.ndarray | np.generic, into: TensorProto | None = None, declared: DType | None = None
) -> TensorProto:
    """Returns the TensorProto of an array.

    Texts, and a single or repeated element, are in the field of their dtype; other elements are written as bytes.

    The message `into` is filled if it is given, so that large values are copied only once. `declared` is the
    quantised dtype of the array's integers, which NumPy does not know.
    """
    dtype = as_dtype(array.dtype)
    message: TensorProto = proto("tensor").TensorProto() if into is None else into
    message.dtype = dtype.enum if declared is None else declared.enum
    message.tensor_shape.CopyFrom(encode_shape(Shape(array.shape)))
    if dtype.is_string:
        message.string_val.extend(x.encode() if isinstance(x, str) else bytes(x) for x in array.flat)
    elif array.size == 1 or (array.size and not any(array.strides)):
        getattr(message, _FIELDS[dtype.name]).extend(_numbers(array.reshape(-1)[:1], dtype))
    else:
        message.tensor_content = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return message


def _numbers(flat: np.ndarray, dtype: DType) -> list[Any]:
    if dtype.is_complex:
        return [part for x in flat.tolist() for part in (x.real, x.imag)]
    if dtype.is_floating and dtype.size == 2:
        return list(flat.view(np.uint16).tolist())
    return list(flat.tolist())


def decode_array(message: TensorProto) -> np.ndarray:
    """Returns the read-only array of a TensorProto; a view of stride 0 if it has a single, repeated element.

    Raises `DTypeError` or `ShapeError` for a dtype or shape that is not served, `ResourceExhaustedError` beyond
    `MAX_BYTES` and `MAX_REPEATED`, and `InvalidArgumentError` for elements that do not fit the shape.
    """
    dtype = _held(decode_dtype(message.dtype))
    if dtype.name not in _FIELDS:
        raise DTypeError(f"a constant of {dtype.name}, which stands for an object of a process and is in no file")
    dims = decode_shape(message.tensor_shape).known()
    if math.prod(max(d, 1) for d in dims) * dtype.size > MAX_BYTES:
        raise ResourceExhaustedError(
            f"a constant of shape {Shape(dims)} and dtype {dtype.name} has more than {MAX_BYTES} bytes"
        )
    count = math.prod(dims)
    flat = _content(message, dtype, count) if message.tensor_content else _listed(message, dtype, count)
    if flat.size not in (count, 1) and count:
        if (count - flat.size) * dtype.size > MAX_REPEATED:
            raise ResourceExhaustedError(
                f"a constant of shape {Shape(dims)} and dtype {dtype.name} lists {flat.size} elements and repeats the "
                f"last one to {count * dtype.size} bytes; at most {MAX_REPEATED} bytes of repeated elements are served"
            )
        flat = np.concatenate([flat, np.broadcast_to(flat[-1:], (count - flat.size,))])
    array = flat[:count].reshape(dims) if flat.size >= count else np.broadcast_to(flat.reshape(()), dims)
    array.flags.writeable = False
    return array


def repeated_bytes(message: TensorProto, array: np.ndarray) -> int:
    """Returns how many bytes of `array`, decoded from `message`, are copies of the last element in the message."""
    if message.tensor_content or not array.size or not any(array.strides):
        return 0
    dtype = _held(decode_dtype(message.dtype))
    n_listed = len(getattr(message, _FIELDS[dtype.name])) // (2 if dtype.is_complex else 1)
    return max(array.size - n_listed, 0) * dtype.size


def _content(message: TensorProto, dtype: DType, count: int) -> np.ndarray:
    content = message.tensor_content
    if dtype.is_string or len(content) != count * dtype.size:
        raise InvalidArgumentError(
            f"a constant of {count} elements of {dtype.name} with a content of {len(content)} bytes"
        )
    if dtype.is_bool and set(content) - {0, 1}:
        raise InvalidArgumentError("a constant of bool whose bytes are not all 0 or 1")
    return np.frombuffer(content, dtype.np.newbyteorder("<")).astype(dtype.np, copy=False)


def _listed(message: TensorProto, dtype: DType, count: int) -> np.ndarray:
    values = getattr(message, _FIELDS[dtype.name])
    size = len(values) // 2 if dtype.is_complex else len(values)
    if size > count:
        raise InvalidArgumentError(f"a constant of {count} elements with {size} values of {dtype.name}")
    if not size:
        zero = np.zeros((1,), dtype.np)
        zero[0] = b"" if dtype.is_string else 0
        return zero
    if dtype.is_complex:
        if len(values) % 2:
            raise InvalidArgumentError("a complex constant with an odd number of parts")
        parts = np.array(values, dtype.real_dtype.np)
        return parts.view(dtype.np)
    if dtype.is_string:
        texts = np.empty((size,), object)
        texts[:] = list(values)
        return texts
    if dtype.is_floating and dtype.size == 2:
        return np.array(values, np.int64).astype(np.uint16).view(dtype.np)
    is_small = dtype.is_integer and dtype.size < 8
    return np.array(values, np.int64 if is_small else dtype.np).astype(dtype.np)


def make_tensor_proto(
    values: object, dtype: DTypeLike | None = None, shape: object | None = None, verify_shape: bool = False
) -> TensorProto:
    """Returns the TensorProto of a Python or NumPy value, converted as for `tf.constant`.

    If `shape` is given, the elements are laid out in it, and the last one is repeated if there are too few, unless
    `verify_shape`. Raises `DTypeError` for a value not of `dtype`, `ShapeError` for more elements than the shape has.
    """
    message_class: Any = proto("tensor").TensorProto
    if isinstance(values, message_class):
        message: TensorProto = values
        return message
    requested_dtype = None if dtype is None else as_dtype(dtype)
    array = to_numpy(_plain(values), requested_dtype)
    dims = array.shape if shape is None else as_shape(shape).known()
    count = int(np.prod(dims, dtype=np.int64))
    if array.shape != dims and verify_shape:
        raise DTypeError(f"Expected Tensor's shape: {dims}, got {array.shape}.")
    if array.size > count or (array.size == 0 < count):
        raise ShapeError(
            f"Too many elements provided. Needed at most {count}, but received {array.size} of shape {array.shape}"
        )
    kept = as_dtype(array.dtype)
    if array.size == count and not kept.is_complex and not (kept.is_floating and kept.size == 2):
        return encode_array(array.reshape(dims), declared=requested_dtype)
    # TensorFlow lists the elements of 16-bit floats and complex numbers, and those of a value that is repeated
    message = encode_array(array.reshape(-1)[:1], declared=requested_dtype)
    message.tensor_shape.CopyFrom(encode_shape(Shape(dims)))
    if array.size > 1:
        field = getattr(message, _FIELDS[kept.name])
        del field[:]
        field.extend(array.reshape(-1) if kept.is_string else _numbers(array.reshape(-1), kept))
    return message


def _plain(values: object) -> Any:
    """Returns a value with integers in place of dimensions and of tuples of one integer, which stand for quantised
    numbers.
    """
    if isinstance(values, Dimension):
        return int(values)
    if isinstance(values, tuple) and len(values) == 1 and isinstance(values[0], int):
        return values[0]
    if isinstance(values, list):
        return [_plain(v) for v in values]
    if hasattr(values, "__array__") and not isinstance(values, (np.ndarray, np.generic)):
        return np.asarray(values.__array__())
    return values


def make_ndarray(tensor: TensorProto) -> np.ndarray:
    """Returns the value of `tensor`, a TensorProto, as a new array. Raises the errors of `decode_array`."""
    return np.array(decode_array(tensor))
