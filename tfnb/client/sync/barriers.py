"""`Barrier`: elements whose components arrive one by one, under a key (white paper, section 4.6).

Invariant: the components that leave a barrier have the dtypes and shapes that were declared for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.sync.queues import shape_list, type_list
from tfnb.errors import ShapeError
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.sync import barriers as ops
from tfnb.types import DType, Shape, ShapeLike, int32, string

__all__ = ["API", "Barrier"]


class Barrier:
    """A barrier: `insert_many` adds components of elements under keys, `take_many` returns complete elements.

    types, shapes: the dtypes and the fully known shapes (or None) of the components, which are not empty.
    shared_name: barriers with the same name and container are the same.
    """

    def __init__(
        self,
        types: Sequence[Any],
        shapes: Sequence[ShapeLike] | None = None,
        shared_name: str | None = None,
        name: str = "barrier",
    ) -> None:
        self._types = type_list(types)
        self._shapes = shape_list(shapes, self._types)
        for i, shape in enumerate(self._shapes):
            if 0 in shape.known():
                raise ShapeError(f"Empty tensors are not supported, but received shape '{shape}' at index {i}")
        self._ref: Tensor = ops.BARRIER(
            component_types=self._types,
            shapes=self._shapes,
            shared_name=shared_name or "",
            name=name,
            graph=get_default_graph(),
        )

    @property
    def barrier_ref(self) -> Tensor:
        """The tensor that is the handle of the barrier."""
        return self._ref

    @property
    def name(self) -> str:
        """The name of the operation that creates the barrier."""
        return str(self._ref.op.name)

    @property
    def types(self) -> list[DType]:
        """The dtypes of the components."""
        return list(self._types)

    def insert_many(
        self, component_index: int, keys: TensorLike, values: TensorLike, name: str | None = None
    ) -> Operation:
        """Returns an operation that adds one component of the elements with `keys` [n]: a row of `values` [n, ...]
        each.
        """
        graph = self._ref.graph
        rows = graph.to_tensor(values, None if hasattr(values, "dtype") else self._types[component_index])
        op: Operation = ops.INSERT_MANY(
            self._ref, graph.to_tensor(keys, string), rows, component_index=component_index, name=name
        )
        return op

    def take_many(
        self,
        num_elements: TensorLike,
        allow_small_batch: bool = False,
        timeout: int | None = None,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Returns (indices [n], keys [n], components, each [n, ...]) of complete elements; waits for `num_elements`.

        allow_small_batch: return what is left, at least one element, once the barrier is closed. The step raises
        `OutOfRangeError` when the barrier is closed and too few elements can still become complete. Raises
        `InvalidArgumentError` for a timeout, which steps have (`tf.RunOptions`).
        """
        n = self._ref.graph.to_tensor(num_elements, int32)
        outputs = ops.TAKE_MANY(
            self._ref,
            n,
            component_types=self._types,
            allow_small_batch=allow_small_batch,
            timeout_ms=-1 if timeout is None else int(timeout),
            name=name,
        )
        indices, keys, values = outputs
        for t, shape in zip(values, self._shapes, strict=False):
            t.set_shape(Shape((*indices.shape.as_list(), *(shape.sizes or ()))))
        return indices, keys, values

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Returns an operation after which no new keys can come; `cancel_pending_enqueues` also drops incomplete
        elements.
        """
        op: Operation = ops.CLOSE(self._ref, cancel_pending_enqueues=bool(cancel_pending_enqueues), name=name)
        return op

    def ready_size(self, name: str | None = None) -> Tensor:
        """Returns the number of complete elements, an int32 scalar."""
        size: Tensor = ops.READY_SIZE(self._ref, name=name)
        return size

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements that lack components, an int32 scalar."""
        size: Tensor = ops.INCOMPLETE_SIZE(self._ref, name=name)
        return size


API: dict[str, Any] = {"Barrier": Barrier}
