"""Variables cut into parts along one dimension, so that each part can live on another device (OSDI'16, section 4.2).

Each part is a variable that knows its slice of the whole. A checkpoint holds the whole, so it can be restored into
another number of parts. Invariant: the parts cover the whole, in order, without gaps or overlaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from tfnb.client.argument_types import InitializerLike
from tfnb.client.variables.reads import implicit_read, read_here
from tfnb.client.variables.save_slices import SaveSliceInfo
from tfnb.client.variables.variable import Variable
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError, UnimplementedError
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.concat import split as split_tensor
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.array.transpose_pad_tile import SLICE
from tfnb.types import DType, DTypeLike, Shape, ShapeLike, as_dtype, as_shape

__all__ = ["API", "PartitionInfo", "PartitionedVariable", "create_parts", "partitions_of"]


@dataclass(frozen=True)
class PartitionInfo:
    """What an initialiser needs to know of the part that it fills: the shape of the whole and the offset of the
    part.
    """

    full_shape: list[int]
    var_offset: list[int]


def partitions_of(partitioner: Callable[..., Any] | None, shape: Shape, dtype: DType, name: str) -> list[int]:
    """Calls a partitioner and checks its result: the number of parts along each dimension.

    Raises `ShapeError` for a shape that is not fully known or has no dimensions, `DTypeError` for a partitioner that is
    not callable, and `InvalidArgumentError` for a result that does not fit the shape.
    """
    if not callable(partitioner):
        raise DTypeError(f"the partitioner of {name!r} must be callable, got {partitioner!r}")
    if not shape.is_fully_defined() or not shape.ndims:
        raise ShapeError(f"a partitioned variable needs a known shape of rank 1 or more; {name!r} has {shape}")
    partitions = partitioner(shape=shape, dtype=dtype)
    if not isinstance(partitions, Sequence) or len(partitions) != shape.ndims or any(p < 1 for p in partitions):
        raise InvalidArgumentError(
            f"the partitioner of {name!r}, of shape {shape}, must give a number of parts (1 or more) for each "
            f"dimension, got {partitions!r}"
        )
    for parts, size in zip(partitions, shape.known(), strict=True):
        if parts > max(size, 1):
            raise InvalidArgumentError(f"{name!r}: cannot cut {size} elements into {parts} parts; its shape is {shape}")
    if sum(p > 1 for p in partitions) > 1:
        raise InvalidArgumentError(f"{name!r}: can only partition along one dimension, got {list(partitions)}")
    return [int(p) for p in partitions]


def axis_of(partitions: Sequence[int]) -> int:
    """Returns the dimension that is cut; 0 if none is."""
    return next((k for k, p in enumerate(partitions) if p > 1), 0)


def slices(shape: Sequence[int], partitions: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Yields (offset, shape) of each part; the first parts are longer by one where the size does not divide evenly."""
    axis = axis_of(partitions)
    base_size, extra = divmod(shape[axis], partitions[axis])
    begin = 0
    for k in range(partitions[axis]):
        offset, part = [0] * len(shape), list(shape)
        offset[axis], part[axis] = begin, base_size + (k < extra)
        begin += part[axis]
        yield offset, part


Make = Callable[[str, Any, Any, PartitionInfo], Variable]


def create_parts(
    graph: GraphLike,
    name: str,
    shape: Shape,
    dtype: DType,
    partitions: list[int],
    initializer: InitializerLike | None,
    make: Make,
) -> PartitionedVariable:
    """Creates a partitioned variable. `make(name, shape or None, initializer, info)` creates the variable of one part.

    `initializer` is None, a callable that fills one part after the other, or a value of the whole shape.
    """
    parts = []
    full_dims = list(shape.known())
    for k, (offset, size) in enumerate(slices(full_dims, partitions)):
        part_name, part_initializer = f"{name}/part_{k}", initializer
        part_shape: list[int] | None = size
        if initializer is not None and not callable(initializer):
            with graph.name_scope(None), graph.name_scope(f"{part_name}/PartitionedInitializer"):
                value = initializer if isinstance(initializer, Tensor) else graph.to_tensor(initializer, dtype)
                part_initializer, part_shape = SLICE(value, offset, size), None
        part = make(part_name, part_shape, part_initializer, PartitionInfo(full_dims, offset))
        part.save_slice_info = SaveSliceInfo(name, full_dims, offset, size)
        parts.append(part)
    return PartitionedVariable(name, shape, parts[0].dtype, parts, partitions)


class PartitionedVariable:
    """Several variables that together are one variable of shape `shape`; as a tensor it is their concatenation.

    variable_list: the parts, each with a `save_slice_info`. partitions: the number of parts along each dimension.
    Iterating gives the parts in order, for `embedding_lookup` and the like. Raises `DTypeError` when `variable_list` is
    not a list, and `InvalidArgumentError` for parts that do not belong together.
    """

    def __init__(
        self, name: str, shape: ShapeLike, dtype: DTypeLike, variable_list: Sequence[Any], partitions: Sequence[int]
    ) -> None:
        for argument, value in (("variable_list", variable_list), ("partitions", partitions)):
            if not isinstance(value, (list, tuple)):
                raise DTypeError(f"PartitionedVariable: {argument} must be a list, got {value!r}")
        self._shape = as_shape(shape)
        subject = f"PartitionedVariable {name!r} of shape {self._shape}"
        if not variable_list:
            raise InvalidArgumentError(f"{subject}: variable_list may not be empty")
        for v in variable_list:
            info = getattr(v, "save_slice_info", None)
            if info is None:
                raise InvalidArgumentError(f"{subject}: each variable must have a save_slice_info, not so {v!r}")
            if tuple(info.full_shape) != tuple(self._shape.known()):
                raise InvalidArgumentError(f"{subject}: all full shapes must match, {v!r} is of {info.full_shape}")
        if any(p < 1 for p in partitions) or len(partitions) != self._shape.ndims:
            raise InvalidArgumentError(
                f"{subject}: partition values must be positive, one for each dimension, got {list(partitions)}"
            )
        self._parts: list[Any] = sorted(variable_list, key=lambda v: v.save_slice_info.var_offset)
        self._name, self._dtype, self._partitions = name, as_dtype(dtype), list(partitions)

    @property
    def name(self) -> str:
        """The name, without the ":0" that the name of a `Variable` has."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype of all parts."""
        return self._dtype

    @property
    def shape(self) -> Shape:
        """The static shape of the whole."""
        return self._shape

    def get_shape(self) -> Shape:
        """Returns the static shape of the whole."""
        return self._shape

    @property
    def graph(self) -> Any:
        """The graph that holds the parts."""
        return self._parts[0].graph

    @property
    def partitions(self) -> list[int]:
        """The number of parts along each dimension."""
        return list(self._partitions)

    def _get_variable_list(self) -> list[Any]:
        return self._parts

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parts)

    def __len__(self) -> int:
        self._axis()
        return len(self._parts)

    def _axis(self) -> int:
        if sum(p > 1 for p in self._partitions) > 1:
            raise UnimplementedError(f"{self._name} is cut along several dimensions: {self._partitions}")
        return axis_of(self._partitions)

    def as_tensor(self) -> Tensor:
        """Returns the concatenation of the parts' values at the place of this call; see `Variable.value`."""
        with self.graph.as_default(), self.graph.control_dependencies(None), self.graph.name_scope(None):
            tensor = self._concatenated([v.value() for v in self._parts], f"{self._name}/ConcatPartitions/")

        def again() -> Tensor:
            return self._concatenated([v.read_value() for v in self._parts], f"{self._name}/ConcatPartitions")

        return read_here(implicit_read(tensor, frozenset(v.op for v in self._parts), again))

    def _concatenated(self, values: list[Tensor], scope: str) -> Tensor:
        value: Any = values[0]
        if len(values) > 1:
            with self.graph.name_scope(scope):
                value = concat(values, self._axis())
        tensor: Tensor = IDENTITY(value, name=self._name)
        return tensor

    def __tensor__(self, dtype: DType | None = None, as_ref: bool = False) -> Tensor:
        if as_ref:
            raise UnimplementedError(f"the parts of {self._name} are variables, the whole is none")
        if dtype is not None and dtype is not self._dtype:
            raise DTypeError(f"{self._name} is {self._dtype.name}, needed {dtype.name}; use tf.cast")
        return self.as_tensor()

    # updates

    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Assigns `value`, a tensor of the whole shape, a list or a partitioned variable, to the parts.

        Returns a list of the parts' new values, or of operations with `read_value=False`, in the name scope `name`.
        """
        return self._each("assign", value, use_locking, name, read_value)

    def assign_add(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Adds the parts of `value` to the parts; see `assign`."""
        return self._each("assign_add", value, use_locking, name, read_value)

    def assign_sub(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtracts the parts of `value` from the parts; see `assign`."""
        return self._each("assign_sub", value, use_locking, name, read_value)

    def _each(self, method: str, value: TensorLike, use_locking: bool, name: str | None, read_value: bool) -> list[Any]:
        with self.graph.name_scope(name) if name else nullcontext():
            return self._update(method, value, use_locking, read_value)

    def _update(self, method: str, value: TensorLike, use_locking: bool, read_value: bool) -> list[Any]:
        axis = self._axis()
        if isinstance(value, (list, PartitionedVariable)):
            values = list(value)
        else:
            sizes = [int(v.shape.known()[axis]) for v in self._parts]
            values = split_tensor(self.graph.to_tensor(value, self._dtype), sizes, axis)
        if len(values) != len(self._parts):
            raise InvalidArgumentError(f"{self._name} has {len(self._parts)} parts, got {len(values)} values")
        updates = [getattr(v, method)(x, use_locking) for v, x in zip(self._parts, values, strict=True)]
        return updates if read_value else [t.op for t in updates]

    def __repr__(self) -> str:
        return f"<tf.PartitionedVariable '{self._name}' shape={self._shape} parts={len(self._parts)}>"


API: dict[str, Any] = {"PartitionedVariable": PartitionedVariable}
