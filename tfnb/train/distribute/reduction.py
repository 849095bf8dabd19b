"""How the values of replicas become one: sums and means over devices (`tf.distribute.CrossDeviceOps`).

A variable has one copy here, so a reduction ends on one device, that of the variable or the first replica's. Invariant:
sparse gradients stay sparse.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tfnb.client.graph.default_graph import device
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.tensor import TensorLike
from tfnb.ops.array.concat import concat, split, stack
from tfnb.ops.array.shape_ops import RESHAPE, size
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.math.binary import add_n
from tfnb.train.distribute.values import PerReplica

__all__ = [
    "CrossDeviceOps",
    "HierarchicalCopyAllReduce",
    "ReduceOp",
    "ReduceOpLike",
    "ReductionToOneDevice",
    "reduced",
    "reduction_of",
]


class ReduceOp(enum.Enum):
    """How the values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: ReduceOpLike) -> ReduceOp:
        """Returns the reduction that the `VariableAggregation` `aggregation` means, which must be SUM or MEAN."""
        return reduction_of(getattr(aggregation, "name", aggregation))


# A `ReduceOp`, another enumeration whose member has the name of one, or that name.
ReduceOpLike: TypeAlias = enum.Enum | str


def reduction_of(given: ReduceOpLike) -> ReduceOp:
    """Returns the reduction of a name or a `ReduceOp`. Raises `InvalidArgumentError` for anything else."""
    name = given.name if isinstance(given, enum.Enum) else str(given).upper()
    if name not in ReduceOp.__members__:
        raise InvalidArgumentError(f"needed tf.distribute.ReduceOp.SUM or MEAN, got {given!r}")
    return ReduceOp[name]


def reduced(kind: ReduceOp, values: Sequence[Any], accumulate: Callable[[Sequence[Any]], Any] = add_n) -> Any:
    """Returns the sum or mean of tensors, or of `IndexedSlices`, which are joined."""
    graph, count = get_default_graph(), len(values)
    if any(isinstance(v, IndexedSlices) for v in values):
        slices = [v for v in values if isinstance(v, IndexedSlices)]
        if len(slices) < count:
            return reduced(kind, [graph.to_tensor(v) for v in values], accumulate)
        rows = concat([v.values for v in slices], 0)
        rows = rows / count if kind is ReduceOp.MEAN else rows
        return IndexedSlices(rows, concat([v.indices for v in slices], 0), slices[0].dense_shape)
    total = accumulate([graph.to_tensor(v) for v in values])
    return total / count if kind is ReduceOp.MEAN else total


def _place(destinations: object) -> Any:
    """Returns a block in which operations are on a device, given by its name, or by a variable that is there."""
    if destinations is None or isinstance(destinations, str):
        return device(destinations)
    graph = get_default_graph()
    if isinstance(destinations, (list, tuple)):
        return _place(destinations[0] if destinations else None)
    return graph.colocate_with(destinations.op if hasattr(destinations, "op") else destinations)


class CrossDeviceOps:
    """The base of reductions over devices. Subclasses define `reduce_implementation`."""

    def reduce(self, reduce_op: ReduceOpLike, per_replica_value: object, destinations: object) -> Any:
        """Returns the sum or mean of a `PerReplica` value on the device of `destinations`, a name or a variable.

        A value that is the same in all replicas is its own mean. Raises `InvalidArgumentError` for the sum of one.
        """
        kind = reduction_of(reduce_op)
        if not isinstance(per_replica_value, PerReplica):
            if kind is ReduceOp.SUM:
                raise InvalidArgumentError(
                    f"A value that is not per replica, {per_replica_value!r}, cannot be reduced by {kind}"
                )
            return per_replica_value
        return self.reduce_implementation(kind, per_replica_value, destinations)

    def batch_reduce(self, reduce_op: ReduceOpLike, value_destination_pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        """Returns the sum or mean of each value of a list of pairs (value, destinations)."""
        return self.batch_reduce_implementation(reduction_of(reduce_op), list(value_destination_pairs))

    def broadcast(self, tensor: TensorLike, destinations: object) -> Any:
        """Returns `tensor`: what needs it on another device gets it there."""
        return self.broadcast_implementation(tensor, destinations)

    def reduce_implementation(self, reduce_op: ReduceOp, per_replica_value: PerReplica, destinations: object) -> Any:
        """Returns the sum or mean of the values. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define `reduce_implementation`")

    def batch_reduce_implementation(self, reduce_op: ReduceOp, value_destination_pairs: list[tuple[Any, Any]]) -> Any:
        """Returns the sum or mean of each value."""
        return [self.reduce(reduce_op, value, places) for value, places in value_destination_pairs]

    def broadcast_implementation(self, tensor: TensorLike, destinations: object) -> Any:
        """Returns `tensor` on the device of `destinations`."""
        with _place(destinations):
            return get_default_graph().to_tensor(tensor)


class ReductionToOneDevice(CrossDeviceOps):
    """Copies all values to one device and adds them there.

    reduce_to_device: the device, by default that of the destination. accumulation_fn: adds a list of tensors.
    """

    def __init__(self, reduce_to_device: str | None = None, accumulation_fn: Callable[..., Any] | None = None) -> None:
        self.reduce_to_device, self.accumulation_fn = reduce_to_device, accumulation_fn or add_n

    def reduce_implementation(self, reduce_op: ReduceOp, per_replica_value: PerReplica, destinations: object) -> Any:
        """Returns the sum or mean of the values."""
        with _place(self.reduce_to_device or destinations):
            return reduced(reduce_op, per_replica_value.values, self.accumulation_fn)


class HierarchicalCopyAllReduce(ReductionToOneDevice):
    """Adds dense values in `num_packs` packs, each of which travels at once; 0 packs none.

    Raises `InvalidArgumentError` for a negative number.
    """

    def __init__(self, num_packs: int = 1) -> None:
        super().__init__()
        if num_packs < 0:
            raise InvalidArgumentError(f"HierarchicalCopyAllReduce: num_packs must be at least 0, got {num_packs}")
        self.num_packs = num_packs

    def batch_reduce_implementation(self, reduce_op: ReduceOp, value_destination_pairs: list[tuple[Any, Any]]) -> Any:
        """Returns the sum or mean of each value."""
        pairs = value_destination_pairs
        results: list[Any] = [None] * len(pairs)
        by_dtype: dict[Any, list[int]] = {}
        for i, (value, places) in enumerate(pairs):
            dense = isinstance(value, PerReplica) and not any(isinstance(v, IndexedSlices) for v in value.values)
            if dense and self.num_packs:
                by_dtype.setdefault(value.values[0].dtype, []).append(i)
            else:
                results[i] = self.reduce(reduce_op, value, places)
        for numbers in by_dtype.values():
            step = -(-len(numbers) // self.num_packs)
            for start in range(0, len(numbers), step):
                pack = numbers[start : start + step]
                for i, total in zip(pack, self._packed(reduce_op, [pairs[i] for i in pack]), strict=True):
                    results[i] = total
        return results

    def _packed(self, kind: ReduceOp, pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        flat = []
        for tensors in zip(*(value.values for value, _ in pairs), strict=True):
            with device(tensors[0].device or None):
                flat.append(concat([RESHAPE(t, [-1]) for t in tensors], 0))
        firsts = [value.values[0] for value, _ in pairs]
        with _place(pairs[0][1]):
            total = reduced(kind, flat)
            pieces = split(total, stack([size(t) for t in firsts]), 0, num=len(firsts))
            results = [RESHAPE(p, shape_op(t)) for p, t in zip(pieces, firsts, strict=True)]
        for result, first in zip(results, firsts, strict=True):
            result.set_shape(first.shape)
        return results


class AllReduceCrossDeviceOps(HierarchicalCopyAllReduce):
    """The sums of `tf.contrib.distribute`.

    all_reduce_alg: "hierarchical_copy"; "nccl" needs hardware of one vendor. num_packs: as in
    `HierarchicalCopyAllReduce`. agg_small_grads_max_bytes, agg_small_grads_max_group: another way of packing, refused.
    Raises `InvalidArgumentError` for other words.
    """

    def __init__(
        self,
        all_reduce_alg: str = "hierarchical_copy",
        num_packs: int = 1,
        agg_small_grads_max_bytes: int = 0,
        agg_small_grads_max_group: int = 10,
    ) -> None:
        if all_reduce_alg != "hierarchical_copy" or agg_small_grads_max_bytes > 0 or agg_small_grads_max_group != 10:
            raise InvalidArgumentError(
                f"AllReduceCrossDeviceOps: all_reduce_alg={all_reduce_alg!r}, agg_small_grads_max_bytes="
                f"{agg_small_grads_max_bytes}, agg_small_grads_max_group={agg_small_grads_max_group}; needed "
                "hierarchical_copy without aggregation, which num_packs does"
            )
        super().__init__(num_packs)
