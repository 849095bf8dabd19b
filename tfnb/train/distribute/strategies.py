"""`tf.distribute.Strategy`: replicas of a model on several devices that share their variables.

A replica's operations are placed on its device. Variables have one copy, on the device of the first replica or the one
that a strategy names; partitioning carries their values to the replicas and the gradients back. Invariant: a step of
several replicas changes variables as one replica would with the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from tfnb.client.dataset.dataset import Dataset
from tfnb.client.dataset.iterators import Iterator as DatasetIterator
from tfnb.client.variables.variable import Variable, group
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import TensorLike
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.math.cast import cast
from tfnb.ops.math.reduce_functions import reduce_sum
from tfnb.train.distribute.contexts import (
    StrategyLike,
    entered,
    get_loss_reduction,
    get_strategy,
    in_cross_replica_context,
)
from tfnb.train.distribute.inputs import (
    DistributedDataset,
    DistributedIterator,
    InputContext,
    InputReplicationMode,
)
from tfnb.train.distribute.reduction import CrossDeviceOps, ReduceOp, ReduceOpLike, ReductionToOneDevice, reduction_of
from tfnb.train.distribute.replica_threads import call_for_each
from tfnb.train.distribute.values import PerReplica, joined, of_replica, parts

__all__ = [
    "Strategy",
    "StrategyExtended",
    "default_strategy",
    "devices_of",
    "get_cross_replica_context",
    "loss_divisor",
]


class StrategyExtended:
    """The parts of a strategy for libraries. container_strategy: the strategy that it belongs to."""

    def __init__(
        self,
        container_strategy: StrategyLike,
        devices: Sequence[str] = ("",),
        cross_device_ops: CrossDeviceOps | None = None,
        variable_device: str | None = None,
    ) -> None:
        self._strategy = container_strategy
        self.worker_devices = tuple(devices)
        self.cross_device_ops = cross_device_ops or ReductionToOneDevice()
        self.variable_device = (devices[0] if variable_device is None else variable_device) or None

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices of variables."""
        return (self.variable_device or "",)

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        """Returns where the state of an optimizer that belongs to no variable is made: beside the first variable."""
        return min(var_list, key=lambda v: v.name)

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Returns what fn(*args, **kwargs) returns for each replica, with `PerReplica` values where that differs."""
        results = self.results_of_replicas(fn, args, kwargs)
        return joined(results) if len(results) > 1 else results[0]

    def results_of_replicas(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Returns the list of what fn(*args, **kwargs) returns for each replica."""
        return call_for_each(self._strategy, self.worker_devices, fn, args, dict(kwargs or {}))

    def reduce_to(self, reduce_op: ReduceOpLike, value: object, destinations: object) -> Any:
        """Returns the sum or mean of the values of replicas on the device of `destinations`."""
        if len(self.worker_devices) == 1:
            return parts(value)[0]
        return self.cross_device_ops.reduce(reduce_op, value, destinations)

    def batch_reduce_to(self, reduce_op: ReduceOpLike, value_destination_pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        """Returns the sum or mean of each of a list of pairs (value, destinations)."""
        if len(self.worker_devices) == 1:
            return [parts(value)[0] for value, _ in value_destination_pairs]
        return self.cross_device_ops.batch_reduce(reduce_op, value_destination_pairs)

    def broadcast_to(self, tensor: TensorLike, destinations: object) -> Any:
        """Returns `tensor` for all replicas."""
        return self.cross_device_ops.broadcast(tensor, destinations)

    def update(
        self,
        var: Variable,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        group: bool = True,
    ) -> Any:
        """Returns fn(var, *args, **kwargs), called beside the variable: an operation, or with `group=False` a list."""
        with get_default_graph().colocate_with(var.op):
            result = fn(var, *of_replica(tuple(args), 0), **of_replica(dict(kwargs or {}), 0))
        return result if group else [result]

    def update_non_slot(
        self,
        colocate_with: Variable,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        group: bool = True,
    ) -> Any:
        """Returns fn(*args, **kwargs), called beside the variable `colocate_with`."""
        with get_default_graph().colocate_with(colocate_with.op):
            result = fn(*of_replica(tuple(args), 0), **of_replica(dict(kwargs or {}), 0))
        return result if group else [result]

    def colocate_vars_with(self, colocate_with_variable: Variable) -> Any:
        """Returns a block in which variables are made beside another one."""
        return get_default_graph().colocate_with(colocate_with_variable.op)

    def variable_created_in_scope(self, v: Variable) -> bool:
        """Returns whether a variable belongs to the strategy's graph, since every strategy shares variables."""
        return bool(v.graph is get_default_graph())

    def value_container(self, value: object) -> Any:
        """Returns the variable that a value belongs to: itself."""
        return value

    def read_var(self, v: Variable) -> Any:
        """Returns the value of a variable."""
        return v.value()


class Strategy:
    """The base of strategies. extended: its parts for libraries, by default those of one replica."""

    scales_losses = False  # whether losses are divided by the number of replicas, as in an estimator
    divides_batches = True  # whether a batch of a data set is divided, or each replica gets one

    def __init__(self, extended: StrategyExtended | None = None) -> None:
        self._extended = StrategyExtended(self) if extended is None else extended

    @property
    def extended(self) -> StrategyExtended:
        """The parts for libraries."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas."""
        return len(self.extended.worker_devices)

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Puts the strategy in force inside the block, for all replicas; variables are made on its device."""
        with ExitStack() as stack:
            if self.extended.variable_device is not None:
                stack.enter_context(get_default_graph().device(self.extended.variable_device))
            stack.enter_context(entered(self, None))
            yield self

    @contextmanager
    def scaling_losses(self) -> Iterator[None]:
        """Inside the block, optimizers divide losses by the number of replicas, unless the last loss was a sum."""
        before, self.scales_losses = self.scales_losses, True
        try:
            yield
        finally:
            self.scales_losses = before

    # running

    def experimental_run_v2(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Returns what fn(*args, **kwargs) returns for each replica, with `PerReplica` values where that differs."""
        with self.scope():
            return self.extended.call_for_each_replica(fn, args, kwargs)

    def experimental_run(
        self, fn: Callable[..., Any], input_iterator: DistributedIterator | DatasetIterator | None = None
    ) -> Any:
        """Returns what `fn` of the next element of `input_iterator`, or fn() without one, returns for each replica."""
        with self.scope():
            args = () if input_iterator is None else (input_iterator.get_next(),)
        return self.experimental_run_v2(fn, args)

    def reduce(self, reduce_op: ReduceOpLike, value: object, axis: int | None = None) -> Any:
        """Returns the sum or mean (`reduce_op`) of `value` over all replicas, and over its dimension `axis` if given.

        Raises `InvalidArgumentError` for the sum of a value that is not per replica.
        """
        kind = reduction_of(reduce_op)
        if axis is None:
            return self.extended.reduce_to(kind, value, self.extended.variable_device)
        tensors = [get_default_graph().to_tensor(v) for v in parts(value)]
        if len(tensors) != self.num_replicas_in_sync:
            raise InvalidArgumentError(f"reduce over axis {axis}: needed a value per replica, got {value!r}")
        total = self.extended.reduce_to(ReduceOp.SUM, PerReplica([reduce_sum(t, axis) for t in tensors]), None)
        if kind is ReduceOp.SUM:
            return total
        counts = [cast(shape_op(t)[axis], t.dtype) for t in tensors]
        return total / self.extended.reduce_to(ReduceOp.SUM, PerReplica(counts), None)

    def group(self, value: object, name: str | None = None) -> Operation:
        """Returns an operation that runs those of all replicas."""
        return group(*parts(value), name=name or "group_deps")

    def experimental_local_results(self, value: object) -> tuple[Any, ...]:
        """Returns the values of all replicas."""
        return parts(value)

    unwrap = experimental_local_results

    # data

    def experimental_distribute_dataset(self, dataset: Dataset) -> DistributedDataset:
        """Returns a data set whose batches are divided among the replicas."""
        return DistributedDataset(dataset, self.extended.worker_devices)

    def make_dataset_iterator(self, dataset: Dataset) -> DistributedIterator:
        """Returns an iterator over a data set of batches for all replicas, which is to be initialised."""
        iterator = dataset.make_initializable_iterator()
        return DistributedIterator(iterator, self.extended.worker_devices, self.divides_batches)

    def make_input_fn_iterator(
        self,
        input_fn: Callable[[InputContext], Any],
        replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
    ) -> DistributedIterator:
        """Returns an iterator over the data set of input_fn(context), of which each replica gets a batch of its own.

        Raises `InvalidArgumentError` for another mode than PER_WORKER, or when the function returns no data set.
        """
        if replication_mode is not InputReplicationMode.PER_WORKER:
            raise InvalidArgumentError(f"Input replication mode not supported: {replication_mode}")
        dataset = input_fn(InputContext(num_replicas_in_sync=self.num_replicas_in_sync))
        if not hasattr(dataset, "make_initializable_iterator"):
            raise InvalidArgumentError(
                f"dataset_fn() must return a tf.data.Dataset when using a tf.distribute.Strategy, got {dataset!r}"
            )
        return DistributedIterator(dataset.make_initializable_iterator(), self.extended.worker_devices, False)

    def experimental_make_numpy_dataset(self, numpy_input: object) -> Dataset:
        """Returns the data set of the rows of the arrays `numpy_input`."""
        return Dataset.from_tensor_slices(numpy_input)

    def update_config_proto(self, config_proto: object) -> Any:
        """Returns the configuration of sessions `config_proto` as it is."""
        return config_proto


def devices_of(given: str | Iterable[str] | None, otherwise: Sequence[str]) -> tuple[str, ...]:
    """Returns the devices of a name or a list of them. Raises `InvalidArgumentError` for one that is there twice."""
    names = (given,) if isinstance(given, str) else tuple(given if given is not None else otherwise)
    if not names:
        raise InvalidArgumentError("Got an empty `devices` list, needed at least one device")
    if len(set(names)) < len(names) and len(names) > 1:
        raise InvalidArgumentError(f"devices={list(names)}: a device is given twice")
    return names


def get_cross_replica_context() -> Strategy | None:
    """Returns the strategy in force in a block that speaks of all replicas, else None."""
    return get_strategy() if in_cross_replica_context() else None


def loss_divisor() -> int:
    """Returns by what the loss of a replica is divided before the gradients of all are added."""
    count: int = get_strategy().num_replicas_in_sync
    return count if count > 1 and get_loss_reduction() is ReduceOp.MEAN else 1


_DEFAULT = Strategy()


def default_strategy() -> Strategy:
    """Returns the strategy that is below all others, always the same one."""
    return _DEFAULT
