"""`tf.contrib.staging.StagingArea`: values that one step puts aside and a later one takes, in their order.

Invariant: it is a queue whose `put` waits only when the capacity is reached, and whose `get` waits for a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.client.control_flow.while_loop import while_loop
from tfnb.client.graph.default_graph import control_dependencies, name_scope
from tfnb.client.sync.queues import FIFOQueue
from tfnb.errors import InvalidArgumentError, refuse_given
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import constant
from tfnb.types import DTypeLike, as_dtype

__all__ = ["StagingArea"]

_UNBOUNDED = 2**31 - 1


class StagingArea:
    """A place for values of `dtypes`.

    shapes: static shapes, of which all values must be, or None. names: makes values dictionaries. shared_name: areas of
    one session with the same name are one. capacity: the most values, 0 for any number. memory_limit: is refused.
    Raises `InvalidArgumentError` for lists of different lengths.
    """

    def __init__(
        self,
        dtypes: DTypeLike | Sequence[Any],
        shapes: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        refuse_given("StagingArea", "give a capacity", memory_limit=memory_limit or None)
        self._dtypes = [as_dtype(d) for d in (dtypes if isinstance(dtypes, (list, tuple)) else [dtypes])]
        self._names = None if names is None else list(names)
        for what, given in (("shapes", shapes), ("names", names)):
            if given is not None and len(given) != len(self._dtypes):
                raise InvalidArgumentError(f"StagingArea: {len(self._dtypes)} dtypes and {len(given)} {what}")
        self._shapes = None if shapes is None else list(shapes)
        self._capacity = capacity
        self._queue = FIFOQueue(
            capacity or _UNBOUNDED, self._dtypes, self._shapes, self._names, shared_name, "StagingArea"
        )

    @property
    def name(self) -> str:
        """The name of the node."""
        return str(self._queue.name)

    @property
    def dtypes(self) -> list[Any]:
        """The dtypes of a value's parts."""
        return list(self._dtypes)

    @property
    def shapes(self) -> list[Any] | None:
        """The static shapes of a value's parts, or None."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of a value's parts, or None."""
        return self._names

    @property
    def capacity(self) -> int:
        """The most values, 0 for any number."""
        return self._capacity

    def put(self, values: Any, name: str | None = None) -> Operation:
        """Returns the operation that puts a value: a tensor, a list of them, or a dictionary if there are names."""
        if self._names is not None and not isinstance(values, Mapping):
            raise InvalidArgumentError(f"StagingArea: needed a dictionary with the names {self._names}, got {values!r}")
        return self._queue.enqueue(values, name)

    def get(self, name: str | None = None) -> Any:
        """Returns the oldest value, taken out: a tensor, a list of them, or a dictionary."""
        return self._queue.dequeue(name)

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of values, int32."""
        return self._queue.size(name)

    def clear(self, name: str | None = None) -> Operation:
        """Returns the operation that takes out all values that are there when it begins."""
        with name_scope(name or "clear"):
            count = self._queue.size()

            def body(i: Tensor) -> Tensor:
                taken = self._queue.dequeue()
                first = taken if isinstance(taken, Tensor) else next(iter(taken.values() if self._names else taken))
                with control_dependencies([first]):
                    return i + 1

            return while_loop(lambda i: i < count, body, [constant(0)], parallel_iterations=1).op
