"""The data of replicas: one data set, whose batches are divided among them or given to one after the other.

Invariant: every element of the data set goes to one replica, in order.
"""

from __future__ import annotations

import enum
from typing import Any

from tfnb.client.dataset.dataset import Dataset
from tfnb.client.dataset.iterators import Iterator
from tfnb.client.graph.default_graph import device
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.sparse import SparseTensor
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.train.distribute.values import PerReplica, joined

__all__ = ["DistributedDataset", "DistributedIterator", "InputContext", "InputReplicationMode", "divided"]


class InputReplicationMode(enum.Enum):
    """How data is read: once by each worker."""

    PER_WORKER = "PER_WORKER"


class InputContext:
    """Which part of the data an input function makes.

    num_input_pipelines: the number of parts, of which this is `input_pipeline_id`. num_replicas_in_sync: the replicas.
    """

    def __init__(self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1) -> None:
        self.num_input_pipelines, self.input_pipeline_id = num_input_pipelines, input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Returns the batch of a replica. Raises `InvalidArgumentError` when `global_batch_size` is no multiple."""
        if global_batch_size % self.num_replicas_in_sync:
            raise InvalidArgumentError(
                f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                f"{self.num_replicas_in_sync}"
            )
        return global_batch_size // self.num_replicas_in_sync


def divided(batch: object, devices: tuple[str, ...]) -> Any:
    """Returns a structure of tensors whose rows are divided among the replicas, as evenly as they can be.

    Raises `InvalidArgumentError` for a sparse tensor.
    """
    if isinstance(batch, dict):
        return {key: divided(value, devices) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        made = [divided(part, devices) for part in batch]
        return type(batch)(*made) if hasattr(batch, "_fields") else type(batch)(made)
    count = len(devices)
    if count == 1:
        return batch
    if isinstance(batch, SparseTensor):
        raise InvalidArgumentError("a batch of SparseTensors cannot be divided among replicas; make them dense before")
    tensor = get_default_graph().to_tensor(batch)
    rows = shape_op(tensor)[0]
    values = []
    for i, place in enumerate(devices):
        with device(place or None):
            values.append(tensor[rows * i // count : rows * (i + 1) // count])
    return PerReplica(values)


class DistributedIterator:
    """An iterator over the data of all replicas.

    global_batch: whether a batch is divided among the replicas, or each replica gets a batch of its own.
    """

    def __init__(self, iterator: Iterator, devices: tuple[str, ...], global_batch: bool) -> None:
        self._iterator, self._devices, self._global = iterator, devices, global_batch

    def initialize(self) -> list[Any]:
        """Returns the operations that begin the data."""
        return [self._iterator.initializer]

    @property
    def initializer(self) -> Any:
        """The operation that begins the data."""
        return self._iterator.initializer

    def get_next(self, name: str | None = None) -> Any:
        """Returns the next element, in which `PerReplica` values differ between replicas."""
        if self._global:
            return divided(self._iterator.get_next(name), self._devices)
        elements = [self._iterator.get_next(name) for _ in self._devices]
        return joined(elements) if len(elements) > 1 else elements[0]

    __next__ = get_next


class DistributedDataset:
    """A data set whose batches are divided among the replicas."""

    def __init__(self, dataset: Dataset, devices: tuple[str, ...]) -> None:
        self._dataset, self._devices = dataset, devices

    def make_initializable_iterator(self, shared_name: str | None = None) -> DistributedIterator:
        """Returns an iterator that is to be initialised."""
        return DistributedIterator(self._dataset.make_initializable_iterator(shared_name), self._devices, True)

    def make_one_shot_iterator(self) -> DistributedIterator:
        """Returns an iterator that begins by itself."""
        return DistributedIterator(self._dataset.make_one_shot_iterator(), self._devices, True)

    def __iter__(self) -> DistributedIterator:
        return self.make_one_shot_iterator()
