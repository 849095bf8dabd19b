"""`tf.ConditionalAccumulator`, `tf.SparseConditionalAccumulator`, and `CriticalSection` (OSDI'16, section 4.4).

Accumulators collect the gradients of synchronous training; a critical section keeps two steps from running the same
part of a graph at once. Invariant: an accumulator averages only gradients of its own step or later ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfnb.client.graph.nest import flatten, pack
from tfnb.errors import InvalidArgumentError, refuse_given
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.opdef import OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.math.cast import cast
from tfnb.ops.sync import accumulators as ops
from tfnb.types import DType, DTypeLike, Shape, ShapeLike, as_dtype, as_shape, int32, int64

__all__ = ["API", "ConditionalAccumulator", "CriticalSection", "SparseConditionalAccumulator"]


def _int64(value: TensorLike, graph: GraphBuilder) -> Tensor:
    t: Tensor = graph.to_tensor(value, None if hasattr(value, "dtype") else int64)
    return t if t.dtype is int64 else cast(t, int64)


class ConditionalAccumulatorBase:
    """The common part of dense and sparse accumulators."""

    def __init__(
        self,
        op: OpDef,
        dtype: DTypeLike | None,
        shape: ShapeLike | None,
        shared_name: str | None,
        name: str,
        reduction_type: str,
    ) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = as_shape(shape) if shape is not None else Shape(None)
        self._handle = op(
            dtype=self._dtype,
            shape=self._shape,
            shared_name=shared_name or "",
            reduction_type=reduction_type,
            name=name,
            graph=get_default_graph(),
        )

    @property
    def accumulator_ref(self) -> Tensor:
        """The tensor that is the handle of the accumulator."""
        return self._handle

    @property
    def name(self) -> str:
        """The name of the operation that creates the accumulator."""
        return str(self._handle.op.name)

    @property
    def dtype(self) -> DType:
        """The dtype of the gradients."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """Returns the number of gradients in the accumulator, an int32 scalar."""
        return ops.NUM_ACCUMULATED(self._handle, name=name)

    def set_global_step(self, new_global_step: TensorLike, name: str | None = None) -> Operation:
        """Returns an operation that sets the accumulator's step; gradients with a smaller `local_step` are then
        dropped.
        """
        step = _int64(new_global_step, self._handle.graph)
        op: Operation = ops.SET_STEP(self._handle, step, name=name)
        return op


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Sums gradients of `dtype` and `shape`; `take_grad(n)` waits for n of them and returns their mean (or sum)."""

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        super().__init__(ops.DENSE, dtype, shape, shared_name, name, reduction_type)

    def apply_grad(self, grad: TensorLike, local_step: int = 0, name: str | None = None) -> Operation:
        """Returns an operation that adds `grad`, unless `local_step` is smaller than the accumulator's step."""
        graph = self._handle.graph
        t = graph.to_tensor(grad, None if hasattr(grad, "dtype") else self._dtype)
        t.shape.merge_with(self._shape)
        op: Operation = ops.APPLY(self._handle, _int64(local_step, graph), t, name=name)
        return op

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> Tensor:
        """Returns the average of the gradients and empties the accumulator; waits for `num_required` gradients."""
        average: Tensor = ops.TAKE(
            self._handle, self._handle.graph.to_tensor(num_required, int32), dtype=self._dtype, name=name
        )
        average.set_shape(self._shape)
        return average


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Accumulates sparse gradients; each row is averaged over those gradients that contain it."""

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        super().__init__(ops.SPARSE, dtype, shape, shared_name, name, reduction_type)

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: TensorLike = 0, name: str | None = None
    ) -> Operation:
        """Returns an operation that adds `grad`, IndexedSlices, unless `local_step` is smaller than the
        accumulator's step.
        """
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: TensorLike,
        grad_values: TensorLike,
        grad_shape: ShapeLike | Tensor | None = None,
        local_step: TensorLike = 0,
        name: str | None = None,
    ) -> Operation:
        """Returns an operation that adds rows, unless `local_step` is smaller than the accumulator's step.

        `grad_values` [n, ...] are the rows, `grad_indices` [n] their numbers, and `grad_shape` is the dense shape.
        """
        graph = self._handle.graph
        values = graph.to_tensor(grad_values, None if hasattr(grad_values, "dtype") else self._dtype)
        shape = _int64([] if grad_shape is None else grad_shape, graph)
        op: Operation = ops.SPARSE_APPLY(
            self._handle,
            _int64(local_step, graph),
            _int64(grad_indices, graph),
            values,
            shape,
            has_known_shape=grad_shape is not None,
            name=name,
        )
        return op

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Returns (indices, values, shape) of the average; waits for `num_required` gradients."""
        n = self._handle.graph.to_tensor(num_required, int32)
        return ops.SPARSE_TAKE(self._handle, n, dtype=self._dtype, name=name)

    def take_indexed_slices_grad(self, num_required: TensorLike, name: str | None = None) -> IndexedSlices:
        """Returns the average as IndexedSlices; waits for `num_required` gradients."""
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)


class CriticalSection:
    """A part of a graph that only one step at a time runs, in this process.

    shared_name: sections of one name and container exclude each other. critical_section_def, import_scope: of a section
    that was written to a file; sections are not, so they are refused.
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: object = None,
        import_scope: str | None = None,
    ) -> None:
        why = "sections are not written to files; make the section again"
        refuse_given("CriticalSection", why, critical_section_def=critical_section_def, import_scope=import_scope)
        self._handle = ops.MUTEX(
            shared_name=shared_name or "", name=name or "critical_section", graph=get_default_graph()
        )

    @property
    def name(self) -> str:
        """The name of the operation that creates the lock."""
        return str(self._handle.op.name)

    def execute(self, fn: Callable[..., Any], *args: object, name: str | None = None, **kwargs: object) -> Any:
        """Returns what `fn(*args, **kwargs)` returns; the operations of `fn` run while the section is locked.

        Raises `InvalidArgumentError` when `fn` returns None.
        """
        graph = self._handle.graph
        with graph.as_default(), graph.name_scope(name or "critical_section_execute"):
            lock = ops.MUTEX_LOCK(self._handle)
            old_ops = graph.get_operations()
            with graph.control_dependencies([lock.op]):
                result = fn(*args, **kwargs)
            if result is None:
                raise InvalidArgumentError("the function of a critical section must return tensors or operations")
            flat = flatten(result)
            new_ops = graph.get_operations()[len(old_ops) :]
            with graph.control_dependencies([*new_ops, *(t for t in flat if isinstance(t, Operation))]):
                release = ops.CONSUME_LOCK(lock)
            with graph.control_dependencies([release]):
                values = [release if isinstance(t, Operation) else IDENTITY(graph.to_tensor(t)) for t in flat]
            return pack(result, values)


API: dict[str, Any] = {
    "ConditionalAccumulatorBase": ConditionalAccumulatorBase,
    "ConditionalAccumulator": ConditionalAccumulator,
    "SparseConditionalAccumulator": SparseConditionalAccumulator,
    "CriticalSection": CriticalSection,
    "contrib.framework.CriticalSection": CriticalSection,
}
