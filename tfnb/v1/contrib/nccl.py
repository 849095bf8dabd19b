"""`tf.contrib.nccl`: sums and other reductions of a tensor over devices, by tfnb's own transfers between devices.

Invariant: the result for a tensor is on the device of that tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.math.binary import MAXIMUM, MINIMUM, MUL, add_n

__all__ = ["all_max", "all_min", "all_prod", "all_sum", "broadcast", "reduce_sum"]


def _checked(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns the tensors as a list. Raises `InvalidArgumentError` unless there are some, each with a device."""
    given = list(tensors)
    if not given:
        raise InvalidArgumentError("Must pass >0 tensors to all reduce operations")
    for t in given:
        if not t.op.device:
            raise InvalidArgumentError(f"Device assignment required for nccl collective ops: {t.name} has none")
    return given


def _everywhere(total: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
    copies = []
    for t in tensors:
        with t.graph.device(t.op.device):
            copies.append(IDENTITY(total))
    return copies


def _all(tensors: Sequence[Tensor], combine: Callable[[Sequence[Tensor]], Tensor]) -> list[Tensor]:
    given = _checked(tensors)
    with graph_of(given).device(given[0].op.device):
        total = combine(given)
    return _everywhere(total, given)


def all_sum(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns the sum of the tensors, once for each of them on its device. Raises as `reduce_sum` does."""
    return _all(tensors, add_n)


def all_prod(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns the product of the tensors, once for each of them on its device. Raises as `reduce_sum` does."""
    return _all(tensors, lambda given: reduce(MUL, given))


def all_min(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns the element-wise least of the tensors, once for each on its device. Raises as `reduce_sum` does."""
    return _all(tensors, lambda given: reduce(MINIMUM, given))


def all_max(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns the element-wise greatest of the tensors, once for each on its device. Raises as `reduce_sum` does."""
    return _all(tensors, lambda given: reduce(MAXIMUM, given))


def reduce_sum(tensors: Sequence[Tensor]) -> Tensor:
    """Returns the sum of the tensors, on the device of the operation.

    tensors: of one shape and dtype, each on a device that its operation names. Raises `InvalidArgumentError` where an
    operation names no device, and for an empty list.
    """
    total: Tensor = add_n(_checked(tensors))
    return total


def broadcast(tensor: Tensor) -> Tensor:
    """Returns the tensor, for readers on any device. Raises as `reduce_sum` does."""
    (given,) = _checked([tensor])
    copy: Tensor = IDENTITY(given)
    return copy
