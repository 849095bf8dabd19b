"""The common parts of all ops with sliding windows: attributes and image layouts (white paper, Table 1).

Kernels and shape functions handle one form: channels last, and float32 or float64. `ImageArgs` converts every other
form (channels first, 16-bit floats) to it. Invariant: an attribute is checked here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError, UnimplementedError
from tfnb.ir.opdef import HostCall, Infer
from tfnb.ir.operation import Operation
from tfnb.ir.record import Attrs
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.gather import GATHER
from tfnb.ops.array.transpose_pad_tile import TRANSPOSE
from tfnb.ops.conv_pool.conv_reference import Axis
from tfnb.ops.math.cast import cast_to
from tfnb.types import Shape, float32

__all__ = [
    "ImageArgs",
    "attrs_of",
    "channels_first",
    "check_padding",
    "from_last",
    "integers",
    "last_channels",
    "pads",
    "settle",
    "sizes_in",
    "to_last",
    "window_count",
]

LAYOUTS = {4: ("NHWC", "NCHW"), 5: ("NDHWC", "NCDHW")}
_PER_DIMENSION = ("strides", "dilations", "ksize", "rates")


def integers(values: TensorLike, count: int, what: str) -> tuple[int, ...]:
    """Returns a tuple of `count` integers of at least 1. Raises `InvalidArgumentError` for anything else."""
    numbers = tuple(int(v) for v in values) if isinstance(values, (list, tuple, np.ndarray)) else ()
    if len(numbers) != count or min(numbers) < 1:
        number = {4: "four", 5: "five"}.get(count, str(count))
        raise InvalidArgumentError(f"{what} must be {number} integers of at least 1, got {values!r}")
    return numbers


def channels_first(data_format: str | None, rank: int = 4) -> bool:
    """Returns whether channels are the second dimension. Raises `InvalidArgumentError` for an unknown layout."""
    last, first = LAYOUTS[rank]
    if data_format not in (None, last, first):
        raise InvalidArgumentError(f'data_format must be "{last}" or "{first}", got {data_format!r}')
    return bool(data_format == first)


def check_padding(padding: str, explicit: Sequence[int] | None = None) -> str:
    """Returns the padding rule: "SAME", "VALID" or, for an op with explicit paddings, "EXPLICIT".

    Raises `InvalidArgumentError` for another rule.
    """
    text = padding.decode() if isinstance(padding, bytes) else padding
    if text not in ("SAME", "VALID") and not (text == "EXPLICIT" and explicit):
        raise InvalidArgumentError(f'padding must be "SAME" or "VALID", got {padding!r}')
    return str(text)


class PaddedWindows(Protocol):
    """The attributes of an op on the windows of images or volumes."""

    @property
    def padding(self) -> str: ...


def settle(attrs: PaddedWindows, rank: int = 4) -> None:
    """Checks the attributes of an op on images of the given rank, and converts lists to tuples.

    Raises `InvalidArgumentError` for strides, sizes or dilations that are not positive integers or not 1 for batch
    and channels (`UnimplementedError` for pooling), and for an unknown padding or layout.
    """
    first = channels_first(getattr(attrs, "data_format", None), rank)
    for name in _PER_DIMENSION:
        if hasattr(attrs, name):
            values = integers(getattr(attrs, name), rank, name)
            object.__setattr__(attrs, name, values)
            if {values[0], values[1 if first else -1]} != {1}:
                if hasattr(attrs, "ksize"):
                    raise UnimplementedError(
                        f"Pooling is not yet supported on the batch dimension, nor on channels here: {name} {values}"
                    )
                raise InvalidArgumentError(
                    f"Current implementation does not support {name} in the batch and depth "
                    f"dimensions: {name} {values} "
                    "must be 1 for batch and channels"
                )
    explicit = tuple(int(p) for p in getattr(attrs, "explicit_paddings", ()))
    if hasattr(attrs, "explicit_paddings"):
        object.__setattr__(attrs, "explicit_paddings", explicit)
    padding = check_padding(attrs.padding, explicit)
    object.__setattr__(attrs, "padding", padding)
    if explicit:
        outer = (*explicit[:2], *explicit[2:4]) if first else (*explicit[:2], *explicit[-2:])
        if padding != "EXPLICIT" or len(explicit) != 2 * rank or min(explicit) < 0 or any(outer):
            raise InvalidArgumentError(
                f"explicit_paddings {explicit} with padding {padding!r}: needed {2 * rank} integers of at least 0 "
                'for padding "EXPLICIT", 0 for batch and channels'
            )


def pads(attrs: Any) -> Any:
    """Returns the padding of each spatial axis in the form that `Axis.of` takes.

    This is the name of the rule, or the numbers of pixels before and after.
    """
    if attrs.padding != "EXPLICIT":
        return (attrs.padding,) * (len(attrs.strides) - 2)
    e = attrs.explicit_paddings
    start = 4 if channels_first(attrs.data_format, len(attrs.strides)) else 2
    return tuple((e[start + 2 * i], e[start + 2 * i + 1]) for i in range(len(attrs.strides) - 2))


def window_count(limit: int | None, size: int | None, stride: int, dilation: int, padding: str) -> int | None:
    """Returns the number of windows along an axis of length `limit`, or None if it is not known statically."""
    if limit is None or (size is None and padding != "SAME"):
        return None
    reach = ((size or 1) - 1) * dilation + 1
    if padding == "VALID" and limit < reach:
        raise ShapeError(f"Negative dimension size caused by subtracting {reach} from {limit}: the window is too large")
    return Axis.of(limit, size or 1, stride, dilation, padding).count


def sizes_in(c: Infer, i: int, rank: int = 4) -> Shape:
    """Returns the shape that integer input i contains.

    Raises `ShapeError` for another rank than `rank`, or a negative size.
    """
    shape, value = c.as_shape(i), c.value(i)
    if value is not None and (value < 0).any():
        raise ShapeError(f"{c.op_name}: input {i} must hold sizes, got {value.tolist()}")
    if shape.ndims not in (None, rank):
        raise ShapeError(f"{c.op_name}: input {i} must hold {rank} dimensions, got {shape}")
    return Shape((None,) * rank) if shape.sizes is None else shape


def last_channels(values: Sequence[Any], first: bool) -> tuple[Any, ...]:
    """Per-dimension values reordered so that the value for the channels is the last one."""
    v = tuple(values)
    return (v[0], *v[2:], v[1]) if first else v


def _back(values: Sequence[Any], first: bool) -> tuple[Any, ...]:
    v = tuple(values)
    return (v[0], v[-1], *v[1:-1]) if first else v


def to_last(x: TensorLike, first: bool, rank: int = 4) -> Any:
    """Images converted to the layout with channels last."""
    return TRANSPOSE(x, np.asarray([0, *range(2, rank), 1], np.int32)) if first else x


def from_last(x: TensorLike, first: bool, rank: int = 4, name: str | None = None) -> Any:
    """Images with channels last converted back to the layout of the caller."""
    return TRANSPOSE(x, np.asarray([0, rank - 1, *range(1, rank - 1)], np.int32), name=name) if first else x


def attrs_of(attrs: Attrs) -> dict[str, Any]:
    """Returns the attributes of an op as keyword arguments for another op of its family."""
    return {f.name: getattr(attrs, f.name) for f in fields(attrs)}


def _plain(attrs: Attrs, rank: int) -> Any:
    """The same attributes for images with channels last."""
    plain: dict[str, Any] = {n: last_channels(getattr(attrs, n), True) for n in _PER_DIMENSION if hasattr(attrs, n)}
    explicit = getattr(attrs, "explicit_paddings", ())
    if explicit:
        pairs = [explicit[i : i + 2] for i in range(0, 2 * rank, 2)]
        plain["explicit_paddings"] = tuple(p for pair in last_channels(pairs, True) for p in pair)
    return replace(attrs, data_format=LAYOUTS[rank][0], **plain)


@dataclass(frozen=True)
class ImageArgs:
    """Describes which arguments of an op are images.

    images: the numbers of the inputs that are images. sizes: the numbers of the integer inputs that hold the dimensions
    of an image. returns_image: output 0 is an image. rank: the rank of the images.
    """

    images: tuple[int, ...] = (0,)
    sizes: tuple[int, ...] = ()
    returns_image: bool = True
    rank: int = 4

    def _first(self, attrs: Attrs) -> bool:
        return channels_first(getattr(attrs, "data_format", None), self.rank)

    def infer(self, rule: Callable[[Infer], Shape]) -> Callable[[Infer], Shape]:
        """Makes a shape function from a rule for images with channels last."""

        def moved(s: Shape) -> Shape:
            fits = s.sizes is not None and len(s.sizes) == self.rank
            return Shape(last_channels(s.sizes, True)) if fits and s.sizes else s

        def infer(c: Infer) -> Shape:
            if not self._first(c.attrs):
                return rule(c)
            shapes = tuple(moved(s) if i in self.images else s for i, s in enumerate(c.shapes))
            plain = replace(
                c,
                shapes=shapes,
                attrs=_plain(c.attrs, self.rank),
                as_shape=lambda i: moved(c.as_shape(i)) if i in self.sizes else c.as_shape(i),
            )
            output = rule(plain)
            return Shape(_back(output.sizes, True)) if self.returns_image and output.sizes is not None else output

        return infer

    def host(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Makes a host kernel from one for images with channels last and 32 or 64 bits."""

        def run(call: HostCall, *inputs: np.ndarray) -> np.ndarray:
            dtype = call.outputs[0].dtype.np
            small = np.dtype(dtype).itemsize == 2
            arguments = [x.astype(np.float32) if small and x.dtype == dtype else x for x in inputs]
            first = self._first(call.attrs)
            if first:
                call = replace(call, attrs=_plain(call.attrs, self.rank))
                for i in self.images:
                    arguments[i] = np.moveaxis(arguments[i], 1, -1)
                for i in self.sizes:
                    arguments[i] = arguments[i][[0, *range(2, self.rank), 1]]
            with np.errstate(all="ignore"):  # BLAS sets flags for lanes that it does not use
                result = np.asarray(kernel(call, *arguments))
            result = np.moveaxis(result, -1, 1) if first and self.returns_image else result
            return result.astype(dtype, copy=False)

        return run

    def expand(self, op: Operation, *inputs: Tensor) -> Any:
        """Expands to the op for channels last and 32 or 64 bits plus conversions; None if the op has this form."""
        first = self._first(op.attrs)
        dtype = op.types["T"]
        small = dtype.size == 2
        if not first and not small:
            return None
        arguments = [cast_to(x, float32) if small and x.dtype is dtype else x for x in inputs]
        attrs = op.attrs
        if first:
            attrs = _plain(attrs, self.rank)
            for i in self.images:
                arguments[i] = to_last(arguments[i], True, self.rank)
            order = np.asarray([0, *range(2, self.rank), 1], np.int32)
            for i in self.sizes:
                arguments[i] = GATHER(arguments[i], order)
        result = op.opdef(*arguments, **attrs_of(attrs))
        result = from_last(result, first and self.returns_image, self.rank)
        return cast_to(result, dtype) if small else result
