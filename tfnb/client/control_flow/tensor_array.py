"""tf.TensorArray: an array whose elements are written one by one, most often in loops (white paper, section 4.4).

An object holds a handle of an array that exists during the step, and the flow, a scalar that orders reads after writes:
each write returns a new `TensorArray` with a new flow. Invariant: a read sees all writes on the way to its flow.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.argument_types import ScalarLike
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.const import constant_value
from tfnb.ir.default import graph_of
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import range_
from tfnb.ops.array.shape_ops import IDENTITY, shape_of
from tfnb.ops.math.cast import cast
from tfnb.ops.state.tensor_array import (
    TENSOR_ARRAY,
    TENSOR_ARRAY_CLOSE,
    TENSOR_ARRAY_CONCAT,
    TENSOR_ARRAY_GATHER,
    TENSOR_ARRAY_GRAD,
    TENSOR_ARRAY_READ,
    TENSOR_ARRAY_SCATTER,
    TENSOR_ARRAY_SIZE,
    TENSOR_ARRAY_SPLIT,
    TENSOR_ARRAY_WRITE,
)
from tfnb.types import DType, DTypeLike, Shape, ShapeLike, as_dtype, as_shape, int32, int64

__all__ = ["API", "TensorArray"]


class _ElementShape:
    """The known shape of the elements, shared by all references to an array.

    With `infer` all elements have one shape, so each write can add to what is known.
    """

    def __init__(self, shape: Shape, infer: bool) -> None:
        self.shape = shape
        self.infer = infer

    @property
    def attr(self) -> Shape | None:
        """The shape as an attribute of the operations: None where not even the rank is known."""
        return None if self.shape.sizes is None else self.shape

    def learn(self, shape: Shape) -> None:
        """Merges the shape of an element into what is known. Raises `ShapeError` if it does not fit."""
        if not self.infer:
            return
        if not self.shape.is_compatible_with(shape):
            raise ShapeError(
                f"TensorArray: an element of shape {shape}, where elements have shape {self.shape} (consider "
                "infer_shape=False)"
            )
        self.shape = self.shape.merge_with(shape)


_KERNEL_NAMES = {"float16": "half", "float32": "float", "float64": "double"}  # of dtypes, in messages of kernels


class TensorArray:
    """An array of `size` tensors of `dtype`, each written once; with `dynamic_size` it grows.

    `clear_after_read` frees an element when it is read; `infer_shape` demands that all have one shape; `element_shape`
    is what is known of it. `handle` and `flow` refer to an array that exists already. Raises `InvalidArgumentError`
    when neither a size nor a handle is given, or both.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: ScalarLike | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: ShapeLike | None = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if (handle is None) == (size is None):
            raise InvalidArgumentError("TensorArray needs a size or a handle, and not both")
        if handle is not None and (tensor_array_name or dynamic_size is not None or clear_after_read is not None):
            raise InvalidArgumentError(
                "TensorArray: tensor_array_name, dynamic_size and clear_after_read are for new arrays, not for a handle"
            )
        if handle is not None and flow is None:
            raise InvalidArgumentError("TensorArray: a handle needs its flow")
        self._dtype = as_dtype(dtype).base_dtype
        self._element = _ElementShape(as_shape(element_shape), infer_shape or element_shape is not None)
        self._size = None if size is None else size
        self._dynamic = bool(dynamic_size)
        self._handle: Tensor
        self._flow: Tensor
        if handle is not None and flow is not None:
            self._handle, self._flow = handle, flow
            return
        graph = graph_of([size])
        clear = True if clear_after_read is None else bool(clear_after_read)
        with graph.as_default(), graph.name_scope(name or "TensorArray") as scope:
            self._handle, self._flow = TENSOR_ARRAY(
                graph.to_tensor(size, int32),
                dtype=self._dtype,
                element_shape=self._element.attr,
                dynamic_size=self._dynamic,
                clear_after_read=clear,
                identical_element_shapes=infer_shape,
                tensor_array_name=tensor_array_name or "",
                name=scope,
            )

    # properties

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def handle(self) -> Tensor:
        """The resource handle, which all references to the array share."""
        return self._handle

    @property
    def flow(self) -> Tensor:
        """The float32 scalar that orders operations on the array."""
        return self._flow

    @property
    def graph(self) -> Any:
        """The graph of the array."""
        return self._flow.graph

    @property
    def op(self) -> Any:
        """The operation that created the array."""
        return self._handle.op

    @property
    def element_shape(self) -> Shape:
        """The shape of every element, as far as it is known."""
        return self._element.shape

    @property
    def dynamic_size(self) -> bool:
        """Returns whether the array grows when an element beyond its size is written."""
        return self._dynamic

    def with_flow(self, flow: Tensor) -> TensorArray:
        """Returns a reference to the same array after the operations that `flow` depends on."""
        array = TensorArray.__new__(TensorArray)
        array.__dict__.update(self.__dict__)
        array._flow = flow
        return array

    def identity(self) -> TensorArray:
        """Returns the same array; reads of it wait for the control dependencies in force."""
        return self.with_flow(IDENTITY(self._flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """Returns the array that collects the gradients of this one's elements; `source` names the gradient
        computation.
        """
        handle, grad_flow = TENSOR_ARRAY_GRAD(
            self._handle, self._flow if flow is None else flow, source=source, name=name
        )
        array = TensorArray(
            self._dtype,
            handle=handle,
            flow=grad_flow,
            infer_shape=self._element.infer,
            element_shape=self._element.attr,
        )
        return array

    # elements

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """Returns the element `index`, an int32 scalar."""
        value: Tensor = TENSOR_ARRAY_READ(self._handle, index, self._flow, dtype=self._dtype, name=name)
        value.set_shape(self._element.shape)
        return value

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Returns the array with `value` as element `index`. Raises `DTypeError` or `ShapeError` if it does not fit."""
        value = self._tensor(value)
        self._element.learn(value.shape)
        return self.with_flow(TENSOR_ARRAY_WRITE(self._handle, index, value, self._flow, name=name))

    def stack(self, name: str | None = None) -> Tensor:
        """Returns all elements along a new first axis: shape (size, ...)."""
        graph = self.graph
        with graph.as_default(), graph.name_scope(name or "TensorArrayStack"):
            result = self.gather(range_(0, self.size()))
            static = None if self._dynamic else self._static_size()
            if static is not None and self._element.shape.sizes is not None:
                result.set_shape(Shape((static, *self._element.shape.sizes)))
            return result

    pack = stack

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Returns the elements `indices`, an int32 vector, along a new first axis."""
        result: Tensor = TENSOR_ARRAY_GATHER(
            self._handle, indices, self._flow, dtype=self._dtype, element_shape=self._element.attr, name=name
        )
        return result

    def concat(self, name: str | None = None) -> Tensor:
        """Returns all elements joined along their first axis, in which they may differ in length."""
        dims = self._element.shape.sizes
        result: Tensor = TENSOR_ARRAY_CONCAT(
            self._handle,
            self._flow,
            dtype=self._dtype,
            element_shape_except0=None if dims is None else Shape(dims[1:]),
            name=name,
        )[0]
        return result

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Returns the array whose elements are the parts of `value` along its first axis."""
        graph = self.graph
        with graph.as_default(), graph.name_scope(name or "TensorArrayUnstack"):
            value = self._tensor(value)
            rows = value.shape.sizes[0] if value.shape.sizes else None
            return self.scatter(range_(0, shape_of(value)[0] if rows is None else rows), value)

    unpack = unstack

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Returns the array in which part i of `value` along its first axis is element `indices[i]`."""
        value = self._tensor(value)
        if value.shape.sizes is not None:
            if not value.shape.sizes:
                raise ShapeError("TensorArray.scatter: the value must have at least one dimension", value.op)
            self._element.learn(Shape(value.shape.sizes[1:]))
        return self.with_flow(TENSOR_ARRAY_SCATTER(self._handle, indices, value, self._flow, name=name))

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Returns the array whose elements are consecutive pieces of `value`, of `lengths` rows each (an int64
        vector).
        """
        value = self._tensor(value)
        sizes: Tensor = cast(lengths, int64) if isinstance(lengths, Tensor) else self.graph.to_tensor(lengths, int64)
        static_lengths = constant_value(sizes)
        dims = value.shape.sizes
        if self._element.infer and static_lengths is not None and dims is not None and static_lengths.size:
            is_common = bool((static_lengths == static_lengths[0]).all())
            if is_common:  # otherwise nothing is known, as in TensorFlow
                self._element.learn(Shape((int(static_lengths[0]), *dims[1:])))
        return self.with_flow(TENSOR_ARRAY_SPLIT(self._handle, value, sizes, self._flow, name=name))

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements, an int32 scalar."""
        static = None if self._dynamic else self._static_size()
        if static is not None:
            return self.graph.to_tensor(static, int32)
        result: Tensor = TENSOR_ARRAY_SIZE(self._handle, self._flow, name=name)
        return result

    def mark_used(self) -> None:
        """Does nothing: TensorFlow complains of arrays that were made and not used, unless this is called."""

    def close(self, name: str | None = None) -> Operation:
        """Returns the operation that frees the elements."""
        return TENSOR_ARRAY_CLOSE(self._handle, name=name)

    def _static_size(self) -> int | None:
        if self._size is None:
            return None
        static = constant_value(self._size) if isinstance(self._size, Tensor) else self._size
        return None if static is None else int(static)

    def _tensor(self, value: TensorLike) -> Tensor:
        wanted = _KERNEL_NAMES.get(self._dtype.name, self._dtype.name)
        try:
            tensor: Tensor = self.graph.to_tensor(value, self._dtype)
        except DTypeError as error:
            other = self.graph.to_tensor(value).dtype.name
            words = f"TensorArray dtype is {wanted} but Op is trying to write dtype {other}: {error.message}"
            raise DTypeError(words) from None
        if tensor.dtype is not self._dtype:
            words = f"TensorArray dtype is {wanted} but Op is trying to write dtype {tensor.dtype.name}"
            raise DTypeError(f"{words}: {tensor.name}", tensor.op)
        return tensor

    def __repr__(self) -> str:
        return f"<tf.TensorArray '{self._handle.name}' dtype={self._dtype.name} element_shape={self._element.shape}>"


API: dict[str, Any] = {"TensorArray": TensorArray}
