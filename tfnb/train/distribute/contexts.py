"""Which strategy and which replica a piece of a graph is built for (`tf.distribute.get_replica_context` and others).

A block of a strategy's scope is cross-replica: it speaks of all replicas. A function that the strategy calls for each
replica is in a replica's context. Invariant: each thread has its own stack of contexts; below all is the default
strategy, of one replica on no particular device.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, SupportsInt

from tfnb.client.losses_metrics.losses import LAST_REDUCTION, Reduction
from tfnb.errors import FailedPreconditionError
from tfnb.ir.default import get_default_graph
from tfnb.train.distribute.reduction import ReduceOp, ReduceOpLike
from tfnb.upcalls import upcall

__all__ = [
    "ReplicaContext",
    "current",
    "entered",
    "experimental_set_strategy",
    "get_loss_reduction",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
    "replica_of_several",
    "require_replica_context",
]


class StrategyLike(Protocol):
    """A strategy, as the functions use it that build for its replicas."""

    @property
    def extended(self) -> Any: ...

    @property
    def num_replicas_in_sync(self) -> int: ...


class ReplicaContext:
    """What a function knows of the replica that it is called for.

    strategy: the strategy. replica_id_in_sync_group: the number of the replica.
    """

    def __init__(self, strategy: StrategyLike, replica_id_in_sync_group: SupportsInt = 0) -> None:
        self.strategy, self.replica_id_in_sync_group = strategy, replica_id_in_sync_group
        self.merge: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any] | None = None

    @property
    def distribution_strategy(self) -> Any:
        """The strategy."""
        return self.strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas."""
        return int(self.strategy.num_replicas_in_sync)

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of the replica."""
        return (self.strategy.extended.worker_devices[int(self.replica_id_in_sync_group)],)

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Returns merge_fn(strategy, *args, **kwargs), called once when all replicas have come here.

        An argument that differs between the replicas is a `PerReplica` there.
        """
        if self.merge is not None:
            return self.merge(merge_fn, tuple(args), dict(kwargs or {}))
        with entered(self.strategy, None):
            return merge_fn(self.strategy, *args, **dict(kwargs or {}))

    def all_reduce(self, reduce_op: ReduceOpLike, value: object) -> Any:
        """Returns the sum or mean (`reduce_op`) of `value`, a tensor or a structure of them, over all replicas."""
        if isinstance(value, (list, tuple)):
            return type(value)(self.all_reduce(reduce_op, part) for part in value)
        if isinstance(value, Mapping):
            return {key: self.all_reduce(reduce_op, value[key]) for key in value}
        return self.merge_call(lambda strategy, v: strategy.reduce(reduce_op, v, None), (value,))


class _Contexts(threading.local):
    def __init__(self) -> None:
        self.stack: list[tuple[Any, ReplicaContext | None]] = []


_CONTEXTS = _Contexts()
_chosen: list[Any] = []  # the strategy that experimental_set_strategy gave, if any


def _default() -> Any:
    return upcall("default_strategy")


def current() -> tuple[Any, ReplicaContext | None]:
    """Returns the strategy in force and the replica's context, None where all replicas are spoken of."""
    if _CONTEXTS.stack:
        return _CONTEXTS.stack[-1]
    return (_chosen[0], None) if _chosen else (_default(), ReplicaContext(_default()))


@contextmanager
def entered(strategy: StrategyLike, replica: ReplicaContext | None) -> Iterator[None]:
    """Puts a strategy in force inside the block, for one replica or, with None, for all."""
    _CONTEXTS.stack.append((strategy, replica))
    try:
        yield
    finally:
        _CONTEXTS.stack.pop()


def get_strategy() -> Any:
    """Returns the strategy in force, by default one of one replica."""
    return current()[0]


def has_strategy() -> bool:
    """Returns whether a strategy other than the default one is in force."""
    return current()[0] is not _default()


def get_replica_context() -> ReplicaContext | None:
    """Returns the context of the replica, or None in a strategy's scope, outside of functions called for a replica."""
    return current()[1]


def in_cross_replica_context() -> bool:
    """Returns whether all replicas are spoken of."""
    return current()[1] is None


def require_replica_context(replica_ctx: ReplicaContext) -> None:
    """Raises `FailedPreconditionError` unless `replica_ctx` is in force."""
    found = get_replica_context()
    if found is not replica_ctx and getattr(found, "strategy", None) is not replica_ctx.strategy:
        raise FailedPreconditionError(f"Needed the context of replica {replica_ctx.replica_id_in_sync_group}")


def replica_of_several() -> ReplicaContext | None:
    """Returns the context of the replica when it is one of several, else None."""
    replica = current()[1]
    return replica if replica is not None and replica.num_replicas_in_sync > 1 else None


def experimental_set_strategy(strategy: StrategyLike | None) -> None:
    """Puts a strategy in force from now on; None restores the default one.

    Raises `FailedPreconditionError` in the scope of another strategy.
    """
    if _CONTEXTS.stack:
        raise FailedPreconditionError("experimental_set_strategy: it must not be called in the scope of a strategy")
    _chosen[:] = [] if strategy is None else [strategy]


def get_loss_reduction() -> ReduceOp:
    """Returns how losses of replicas become one: the mean in an estimator, unless the last loss was a sum.

    Everywhere else it is the sum.
    """
    if not get_strategy().scales_losses:
        return ReduceOp.SUM
    last = get_default_graph().client_state.get(LAST_REDUCTION)
    return ReduceOp.SUM if last == Reduction.SUM else ReduceOp.MEAN
