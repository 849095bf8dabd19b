"""DType, Shape and TensorSpec: the static properties of a tensor, known before it has a value (white paper, section 2).

Invariant: all are immutable and hashable; a `Shape` with `dims is None` has unknown rank, and a
dimension of None is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast, overload

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tfnb.dimension import Dimension, size_of
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.upcalls import upcall

__all__ = [
    "DType",
    "DTypeLike",
    "Dimension",
    "Shape",
    "ShapeLike",
    "TensorSpec",
    "as_dtype",
    "as_shape",
    "bracketed",
    "scalar",
    "unknown_shape",
    "sizes_array",
]


class _DTypes(type):
    """Calls of `DType` with the number of a type in TensorFlow's protobufs give the one object of that type."""

    def __call__(cls, *args: object, **kwargs: object) -> DType:
        number = kwargs.get("type_enum", args[0] if len(args) == 1 else None)
        return super().__call__(*args, **kwargs) if number is None else as_dtype(number)


class DType(metaclass=_DTypes):
    """The type of a tensor's elements.

    `np` is the NumPy dtype, `cl` the OpenCL C scalar type ("" if tensors of this type exist on the host only), and
    `enum` the number of the type in TensorFlow's protobufs.
    """

    __slots__ = ("_limits", "cl", "enum", "kind", "name", "np", "size")

    def __init__(self, name: str, np_type: npt.DTypeLike, cl: str, enum: int, kind: str) -> None:
        self.name = name
        self.np: np.dtype[Any] = np.dtype(np_type)
        self.cl = cl
        self.enum = enum
        self.kind = kind
        self.size = self.np.itemsize
        self._limits = _limits(self.np, kind)

    @property
    def is_floating(self) -> bool:
        """Returns whether the elements are floats, of 16, 32 or 64 bits."""
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        """Returns whether the elements are integers, but not quantised ones."""
        return self.kind in "iu"

    @property
    def is_unsigned(self) -> bool:
        """Returns whether the elements are unsigned integers."""
        return self.kind == "u"

    @property
    def is_bool(self) -> bool:
        """Returns whether the elements are bools."""
        return self.kind == "b"

    @property
    def is_complex(self) -> bool:
        """Returns whether the elements are complex numbers."""
        return self.kind == "c"

    @property
    def is_string(self) -> bool:
        """Returns whether the elements are strings."""
        return self.kind == "s"

    @property
    def is_quantized(self) -> bool:
        """Returns whether the elements are integers that represent quantised floats."""
        return self.kind == "q"

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy scalar type of the elements, such as `numpy.float32`."""
        return self.np.type

    @property
    def as_datatype_enum(self) -> int:
        """The number of the type in TensorFlow's protobufs."""
        return self.enum

    @property
    def base_dtype(self) -> DType:
        """The dtype itself; in TensorFlow, the dtype without the mark of a reference."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The dtype of the real part of complex numbers; else the dtype itself."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @property
    def min(self) -> Any:
        """The smallest value. Raises `DTypeError` unless it is an integer or a float."""
        return self._within()[0]

    @property
    def max(self) -> Any:
        """The largest value. Raises `DTypeError` unless it is an integer or a float."""
        return self._within()[1]

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range of an image's elements: 0 and the largest integer, or 0 and 1. Raises `DTypeError` for others."""
        if self.is_bool:
            return False, True
        top = self._within()[1]
        return 0, 1 if self.is_floating else top

    def _within(self) -> tuple[Any, Any]:
        if self._limits is None:
            raise DTypeError(f"{self.name} has no smallest and largest value")
        return self._limits

    def is_compatible_with(self, other: object) -> bool:
        """Returns whether `other`, anything that `as_dtype` takes, is this dtype."""
        return as_dtype(other) is self

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other
        if other is int or other is str:  # taken for int32 and string where a dtype is wanted, but they are not equal
            return False
        try:
            return as_dtype(other) is self
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> Any:
        return (as_dtype, (self.name,))

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"


def _limits(dtype: np.dtype[Any], kind: str) -> tuple[Any, Any] | None:
    """Returns the smallest and the largest value of an integer or a float; None for other dtypes."""
    if kind in "iu":
        integers = np.iinfo(dtype)
        return integers.min, integers.max
    if kind != "f":
        return None
    finfo: Any = ml_dtypes.finfo  # has no annotations
    floats = finfo(dtype)
    return floats.min, floats.max


float32 = DType("float32", np.float32, "float", 1, "f")
float64 = DType("float64", np.float64, "double", 2, "f")
int32 = DType("int32", np.int32, "int", 3, "i")
uint8 = DType("uint8", np.uint8, "uchar", 4, "u")
int16 = DType("int16", np.int16, "short", 5, "i")
int8 = DType("int8", np.int8, "char", 6, "i")
string = DType("string", np.object_, "", 7, "s")
complex64 = DType("complex64", np.complex64, "", 8, "c")
int64 = DType("int64", np.int64, "long", 9, "i")
bool_ = DType("bool", np.bool_, "uchar", 10, "b")
bfloat16 = DType("bfloat16", ml_dtypes.bfloat16, "ushort", 14, "f")
uint16 = DType("uint16", np.uint16, "ushort", 17, "u")
complex128 = DType("complex128", np.complex128, "", 18, "c")
float16 = DType("float16", np.float16, "half", 19, "f")
# integers that represent quantized floats; stored and fetched as plain integers
qint8 = DType("qint8", np.int8, "", 11, "q")
quint8 = DType("quint8", np.uint8, "", 12, "q")
qint32 = DType("qint32", np.int32, "", 13, "q")
qint16 = DType("qint16", np.int16, "", 15, "q")
quint16 = DType("quint16", np.uint16, "", 16, "q")
resource = DType("resource", np.object_, "", 20, "r")  # a scalar that holds the queue, reader, ... itself
variant = DType("variant", np.object_, "", 21, "r")  # any other Python object (a lock, a data set)
uint32 = DType("uint32", np.uint32, "uint", 22, "u")
uint64 = DType("uint64", np.uint64, "ulong", 23, "u")

ALL = (
    float32,
    float64,
    int32,
    uint8,
    int16,
    int8,
    string,
    complex64,
    int64,
    bool_,
    bfloat16,
    uint16,
    complex128,
    float16,
    uint32,
    uint64,
)
QUANTIZED = (qint8, quint8, qint32, qint16, quint16)
ALL_AND_QUANTIZED = (*ALL, *QUANTIZED)  # types whose values are moved; quantised ones run on the host
ANY = (*ALL_AND_QUANTIZED, resource, variant)  # types whose values are passed from node to node and not computed with
FLOATS = (float32, float64, float16, bfloat16)
COMPLEX = (complex64, complex128)
SIGNED_INTS = (int32, int64, int16, int8)
INTS = (*SIGNED_INTS, uint8, uint16, uint32, uint64)
REALS = (*FLOATS, *INTS)
NUMBERS = (*REALS, *COMPLEX)
INDEX = (int32, int64)
FIXED_SIZE = (*NUMBERS, bool_)
# types that OpenCL kernels compute with; 16-bit floats are stored as such and computed in float32
DEVICE_FLOATS = (float32, float64)

_OLD = {"half": float16, "float": float32, "double": float64, "str": string}
OLD_NAMES = {d: name for name, d in _OLD.items() if name != "str"}  # the names in the messages of TensorFlow's kernels
_BY_NAME = {d.name: d for d in ANY} | _OLD
_BY_NUMPY = {d.np: d for d in ALL if d is not string}
_BY_ENUM = {d.enum: d for d in ANY}
_PYTHON = {float: float32, int: int32, bool: bool_, complex: complex128, str: string, bytes: string}


# A specification of a dtype: a `DType`, its name, a NumPy dtype, a Python type, or its number in protobufs.
DTypeLike: TypeAlias = DType | str | int | type | np.dtype[Any]


def as_dtype(type_value: object) -> DType:
    """Returns the `DType` that a DType, name, NumPy dtype, Python type or protobuf number specifies. Raises
    `DTypeError` for others.
    """
    if isinstance(type_value, DType):
        return type_value
    dtype: DType | None = None
    if isinstance(type_value, str):
        dtype = _BY_NAME.get(type_value.removesuffix("_ref"))
    elif isinstance(type_value, int) and not isinstance(type_value, bool):
        dtype = _BY_ENUM.get(type_value % 100)
    elif isinstance(type_value, type) and type_value in _PYTHON:
        dtype = _PYTHON[type_value]
    if dtype is None and type_value is not None:  # which NumPy would convert to float64
        try:
            np_type = np.dtype(type_value)  # type: ignore[call-overload]
        except Exception:  # NumPy parses a text, and raises SyntaxError, ValueError and others for a wrong one
            np_type = None
        if np_type is not None:
            dtype = string if np_type.kind in "SUOT" else _BY_NUMPY.get(np_type)
    if dtype is None:
        raise DTypeError(f"{type_value!r} is not a dtype; needed one of {', '.join(d.name for d in ALL)}")
    return dtype


@dataclass(frozen=True, slots=True, repr=False, init=False)
class Shape:
    """A static shape, public as `tf.TensorShape`: `sizes` is a tuple of int or None, or None if the rank is unknown.

    `dims` are the same sizes as `Dimension` objects, for programs.
    """

    sizes: tuple[int | None, ...] | None

    def __init__(self, dims: object = None) -> None:
        if type(dims) is tuple:
            for d in dims:
                if d is not None and (type(d) is not int or d < 0):
                    break
            else:
                object.__setattr__(self, "sizes", dims)
                return
        unknown = dims is None or getattr(dims, "unknown_rank", False) or getattr(dims, "sizes", ()) is None
        object.__setattr__(self, "sizes", None if unknown else tuple([size_of(d) for d in _iterate(dims)]))

    @property
    def dims(self) -> list[Dimension] | None:
        """The dimensions, or None if the rank is unknown."""
        return None if self.sizes is None else [Dimension(d) for d in self.sizes]

    _dims = dims  # the name in TensorFlow's source, which copies of Keras' backend use

    @property
    def ndims(self) -> int | None:
        """The number of dimensions, or None if it is unknown."""
        return None if self.sizes is None else len(self.sizes)

    rank = ndims

    def is_fully_defined(self) -> bool:
        """Returns whether the rank and all dimensions are known."""
        return self.sizes is not None and None not in self.sizes

    def num_elements(self) -> int | None:
        """Returns the number of elements, or None if a dimension is unknown."""
        if not self.is_fully_defined():
            return None
        n = 1
        for d in self.known():
            n *= d
        return n

    def known(self) -> tuple[int, ...]:
        """Returns the dimensions as integers. Raises `ShapeError` if one is unknown."""
        if self.sizes is None or None in self.sizes:
            raise ShapeError(f"the shape {self} is only partially known, it is not fully defined")
        return self.sizes  # type: ignore[return-value]

    def as_list(self) -> list[int | None]:
        """Returns the dimensions as a list of int or None. Raises `ShapeError` if the rank is unknown."""
        if self.sizes is None:
            raise ShapeError("as_list() is not defined on an unknown TensorShape, a shape of unknown rank")
        return list(self.sizes)

    def is_compatible_with(self, other: object) -> bool:
        """Returns whether a tensor can have both shapes."""
        other = as_shape(other)
        if self.sizes is None or other.sizes is None or self.sizes == other.sizes:
            return True
        return len(self.sizes) == len(other.sizes) and all(
            a is None or b is None or a == b for a, b in zip(self.sizes, other.sizes, strict=True)
        )

    def merge_with(self, other: object) -> Shape:
        """Returns the shape of a tensor that has both shapes. A dimension of the result is known if one of the two
        shapes knows it. Raises `ShapeError` if no tensor can have both shapes.
        """
        other = as_shape(other)
        if not self.is_compatible_with(other):
            raise ShapeError(f"Shapes {self} and {other} are not compatible")
        if self.sizes is None:
            return other
        if other.sizes is None:
            return self
        return Shape(tuple(b if a is None else a for a, b in zip(self.sizes, other.sizes, strict=True)))

    def assert_is_compatible_with(self, other: object) -> None:
        """Raises `ShapeError` unless a tensor can have both this shape and `other`."""
        if not self.is_compatible_with(other):
            raise ShapeError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def assert_has_rank(self, rank: int) -> None:
        """Raises `ShapeError` unless the shape can have the rank."""
        self.with_rank(rank)

    def assert_same_rank(self, other: object) -> None:
        """Raises `ShapeError` if the ranks of this shape and of `other` are known and differ."""
        other = as_shape(other)
        if self.sizes is not None and other.sizes is not None and len(self.sizes) != len(other.sizes):
            raise ShapeError(f"Shapes {self} and {other} must have the same rank")

    def assert_is_fully_defined(self) -> None:
        """Raises `ShapeError` unless the rank and all dimensions are known."""
        if not self.is_fully_defined():
            raise ShapeError(f"Shape {self} is not fully defined")

    def with_rank(self, rank: int) -> Shape:
        """Returns the shape with this rank. Raises `ShapeError` if it has another one."""
        if self.sizes is not None and len(self.sizes) != rank:
            raise ShapeError(f"Shape {self} must have rank {rank}")
        return Shape((None,) * rank) if self.sizes is None else self

    def with_rank_at_least(self, rank: int) -> Shape:
        """Returns the shape. Raises `ShapeError` if it is known to have fewer dimensions than `rank`."""
        if self.sizes is not None and len(self.sizes) < rank:
            raise ShapeError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> Shape:
        """Returns the shape. Raises `ShapeError` if it is known to have more dimensions than `rank`."""
        if self.sizes is not None and len(self.sizes) > rank:
            raise ShapeError(f"Shape {self} must have rank at most {rank}")
        return self

    def most_specific_compatible_shape(self, other: object) -> Shape:
        """Returns the most specific shape with which both shapes are compatible: what they disagree on is unknown."""
        other = as_shape(other)
        if self.sizes is None or other.sizes is None or len(self.sizes) != len(other.sizes):
            return unknown_shape
        return Shape(tuple(a if a == b else None for a, b in zip(self.sizes, other.sizes, strict=True)))

    def concatenate(self, other: object) -> Shape:
        """Returns the dimensions of this shape followed by those of `other`, of unknown rank if one of them is."""
        other = Shape((other,)) if isinstance(other, Dimension) else as_shape(other)
        if self.sizes is None or other.sizes is None:
            return unknown_shape
        return Shape(self.sizes + other.sizes)

    def as_proto(self) -> Any:
        """Returns the shape as a TensorShapeProto, a message of TensorFlow's GraphDefs."""
        return upcall("shape_message", self)

    def __len__(self) -> int:
        if self.sizes is None:
            raise ShapeError("a shape of unknown rank has no length")
        return len(self.sizes)

    def __bool__(self) -> bool:
        return self.sizes is not None

    def __iter__(self) -> Iterator[Dimension]:
        return (Dimension(d) for d in self.as_list())

    @overload
    def __getitem__(self, key: slice) -> Shape: ...
    @overload
    def __getitem__(self, key: int) -> Dimension: ...
    def __getitem__(self, key: int | slice) -> Dimension | Shape:
        if isinstance(key, slice):
            return unknown_shape if self.sizes is None else Shape(self.sizes[key])
        return Dimension(None if self.sizes is None else self.sizes[key])

    def __eq__(self, other: object) -> bool:
        try:
            return self.sizes == as_shape(other).sizes
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.sizes)

    def __str__(self) -> str:
        if self.sizes is None:
            return "<unknown>"
        inner = ", ".join("?" if d is None else str(d) for d in self.sizes)
        return f"({inner},)" if len(self.sizes) == 1 else f"({inner})"

    def __repr__(self) -> str:
        return f"TensorShape({None if self.sizes is None else list(self.sizes)})"


def bracketed(dims: Iterable[Any] | None) -> str:
    """Returns dimensions in the form in which TensorFlow's kernels print them, such as "[2,?,3]"; "<unknown>" for None.

    Programs and tests look for this form in the messages of errors.
    """
    return "<unknown>" if dims is None else f"[{','.join('?' if d is None else str(d) for d in dims)}]"


def _iterate(dims: object) -> Iterable[Any]:
    if isinstance(dims, Shape):
        return dims.sizes or ()
    if hasattr(dims, "unknown_rank"):  # a TensorShapeProto, in which -1 is unknown
        message: Any = dims
        return tuple(None if d.size == -1 else d.size for d in message.dim)
    try:
        return tuple(cast("Iterable[Any]", dims))
    except TypeError:
        return (dims,)


unknown_shape = Shape(None)
scalar = Shape(())


# A specification of a static shape: a `Shape`, its dimensions, one dimension, or None if the rank is unknown.
ShapeLike: TypeAlias = Shape | Sequence[Any] | np.ndarray | int | None


def sizes_array(sizes: Sequence[int] | np.ndarray | int) -> np.ndarray:
    """Returns sizes as an array of int32, or of int64 where one is too large."""
    array = np.asarray(sizes, np.int64)
    return array if array.size and array.max() > np.iinfo(np.int32).max else array.astype(np.int32)


def as_shape(value: object) -> Shape:
    """Returns the `Shape` that a Shape, a sequence of dimensions, one integer, or None (unknown rank) specifies. Raises
    `DTypeError` or `InvalidArgumentError` for other values, `ShapeError` for a negative dimension.
    """
    if isinstance(value, Shape):
        return value
    if value is None or getattr(value, "unknown_rank", False):
        return unknown_shape
    if isinstance(value, (str, bytes)):
        raise InvalidArgumentError(f"{value!r} is not a shape")
    return Shape(_iterate(value))


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """The static properties of a tensor: dtype, shape, and whether it is a reference to mutable state."""

    dtype: DType
    shape: Shape = unknown_shape
    ref: bool = False

    def __str__(self) -> str:
        return f"{self.dtype.name}{'&' if self.ref else ''}{self.shape}"
