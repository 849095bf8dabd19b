"""Input of `tf.contrib.slim`: queues that fetch ahead, parallel readers, and data sets with their decoders.

Invariant: what runs in threads is a queue runner of the graph, which the program's session starts and stops.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import get_collection, name_scope
from tfnb.client.io.readers import ReaderBase
from tfnb.client.platform.gfile import Glob
from tfnb.client.sync.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from tfnb.errors import DTypeError, InvalidArgumentError, NotFoundError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.math.binary import add_n
from tfnb.session.session import Session
from tfnb.train.input.producers import add_fill_summary, string_input_producer
from tfnb.train.input.queue_runner import QueueRunner, add_queue_runner
from tfnb.train.sessions.coordinator import Coordinator
from tfnb.types import string

__all__ = ["Dataset", "DatasetDataProvider", "ParallelReader", "parallel_read", "prefetch_queue"]


class NestedQueueRunnerError(Exception):
    """`QueueRunners` was entered inside another one."""


_running = threading.Lock()


@contextmanager
def QueueRunners(session: Session) -> Iterator[None]:
    """Within the block the threads of all queue runners of the graph run in `session`.

    Raises `NestedQueueRunnerError` inside another such block.
    """
    if not _running.acquire(blocking=False):
        raise NestedQueueRunnerError("QueueRunners cannot be nested")
    coordinator = Coordinator()
    threads: list[Any] = []
    for runner in get_collection(GraphKeys.QUEUE_RUNNERS):
        threads += runner.create_threads(session, coord=coordinator, daemon=True, start=True)
    try:
        yield
    finally:
        coordinator.request_stop()
        try:
            coordinator.join(threads, stop_grace_period_secs=120)
        except RuntimeError:
            session.close()
        _running.release()


def prefetch_queue(
    tensors: Any,
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """Returns a queue of at most `capacity` elements, which `num_threads` threads fill with the values of `tensors`.

    tensors: a list, or a dict, of tensors; `dequeue` returns the same. dynamic_pad: the shapes may have unknown
    dimensions. Batches are computed ahead in this way.
    """
    names = sorted(tensors) if isinstance(tensors, Mapping) else None
    values = [convert_to_tensor(t) for t in ([tensors[n] for n in names] if names else tensors)]
    with name_scope(name, "prefetch_queue", values):
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue = kind(
            capacity, [t.dtype for t in values], [t.shape for t in values], names=names, shared_name=shared_name
        )
        enqueue = queue.enqueue(dict(zip(names, values, strict=True)) if names else values)
        add_queue_runner(QueueRunner(queue, [enqueue] * num_threads))
        add_fill_summary(queue, f"fraction_of_{capacity}_full", capacity)
        return queue


class ParallelReader:
    """Several readers of files, whose records go into one queue.

    reader_class: a class as `tf.TFRecordReader`, with the arguments `reader_kwargs`. common_queue: a queue of pairs of
    strings, key and value. Raises `DTypeError` for another queue.
    """

    def __init__(
        self,
        reader_class: Callable[..., ReaderBase],
        common_queue: QueueBase,
        num_readers: int = 4,
        reader_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if list(common_queue.dtypes) != [string, string]:
            raise DTypeError(f"ParallelReader: common_queue must have two strings, got {common_queue.dtypes}")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._queue = common_queue

    @property
    def num_readers(self) -> int:
        """The number of readers."""
        return len(self._readers)

    @property
    def common_queue(self) -> QueueBase:
        """The queue of the records."""
        return self._queue

    def read(self, queue: QueueBase, name: str | None = None) -> Any:
        """Returns (key, value) of the next record, two string scalars; names of files come from `queue`."""
        self._fill_from(queue)
        return self._queue.dequeue(name=name)

    def read_up_to(self, queue: QueueBase, num_records: TensorLike, name: str | None = None) -> Any:
        """Returns (keys, values) of the next records, at most `num_records`: two string vectors."""
        self._fill_from(queue)
        return self._queue.dequeue_up_to(num_records, name)

    def _fill_from(self, queue: QueueBase) -> None:
        enqueues = [self._queue.enqueue(reader.read(queue)) for reader in self._readers]
        add_queue_runner(QueueRunner(self._queue, enqueues))

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Returns the number of records that all readers have read, an int64 scalar."""
        return add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Returns the number of files that were read to their end, an int64 scalar."""
        return add_n([reader.num_work_units_completed() for reader in self._readers], name=name)


def get_data_files(data_sources: str | list[Any] | tuple[Any, ...]) -> list[str]:
    """Returns the files that `data_sources` names: a path, a pattern with "*", "?" or "[", or a list of these.

    Raises `NotFoundError` when there are none.
    """
    if isinstance(data_sources, (list, tuple)):
        files = [file for source in data_sources for file in get_data_files(source)]
    elif any(c in data_sources for c in "*?["):
        files = list(Glob(data_sources))
    else:
        files = [data_sources]
    if not files:
        raise NotFoundError(f"No data files found in {data_sources}")
    return files


def parallel_read(
    data_sources: str | list[Any] | tuple[Any, ...],
    reader_class: Callable[..., ReaderBase],
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Mapping[str, Any] | None = None,
    shuffle: bool = True,
    dtypes: Sequence[Any] | None = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """Returns (key, value) of the next record of files that `num_readers` readers read, two string scalars.

    data_sources: see `get_data_files`. With `shuffle` the order of the files and of the records is random; at least
    `min_after_dequeue` records are mixed, at most `capacity` are kept.
    """
    files = get_data_files(data_sources)
    with name_scope(scope, "parallel_read"):
        names = string_input_producer(files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames")
        kinds = dtypes or [string, string]
        queue: QueueBase = (
            RandomShuffleQueue(capacity, min_after_dequeue, kinds, seed=seed, name="common_queue")
            if shuffle
            else FIFOQueue(capacity, kinds, name="common_queue")
        )
        add_fill_summary(queue, f"fraction_of_{capacity}_full", capacity)
        return ParallelReader(reader_class, queue, num_readers, reader_kwargs).read(names)


def single_pass_read(
    data_sources: str | list[Any] | tuple[Any, ...],
    reader_class: Callable[..., ReaderBase],
    reader_kwargs: Mapping[str, Any] | None = None,
    scope: str | None = None,
) -> Any:
    """Returns (key, value) of the next record of files that one reader reads once, in order: two string scalars."""
    files = get_data_files(data_sources)
    with name_scope(scope, "single_pass_read"):
        names = string_input_producer(files, num_epochs=1, shuffle=False, capacity=1, name="filenames")
        return reader_class(**(reader_kwargs or {})).read(names)


class Dataset:
    """A description of data: its files, their reader and decoder, the number of samples, what the items are.

    All arguments become attributes of the same name, those in `kwargs` too.
    """

    def __init__(
        self,
        data_sources: object,
        reader: object,
        decoder: object,
        num_samples: int | None,
        items_to_descriptions: Mapping[str, str],
        **kwargs: object,
    ) -> None:
        values = {"data_sources": data_sources, "reader": reader, "decoder": decoder, "num_samples": num_samples}
        self.__dict__.update(kwargs, items_to_descriptions=items_to_descriptions, **values)


class DataProvider:
    """Tensors of one sample by the names of its items: `items_to_tensors`, and the number of samples."""

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: int | None) -> None:
        self._tensors, self._num_samples = dict(items_to_tensors), num_samples

    def get(self, items: Sequence[str]) -> list[Any]:
        """Returns the tensors of `items`. Raises `InvalidArgumentError` for another type, and for unknown items."""
        if not isinstance(items, (list, tuple)):
            raise InvalidArgumentError(f"items must be a list or tuple, got {items!r}")
        unknown = [item for item in items if item not in self._tensors]
        if unknown:
            raise InvalidArgumentError(f"items {unknown} are not valid; there are {sorted(self._tensors)}")
        return [self._tensors[item] for item in items]

    def list_items(self) -> list[str]:
        """Returns the names of the items."""
        return list(self._tensors)

    def num_samples(self) -> int | None:
        """Returns the number of samples."""
        return self._num_samples


class DatasetDataProvider(DataProvider):
    """The items of a `Dataset`, read by parallel readers and decoded; see `parallel_read` for the arguments.

    record_key: the name of the item that is the record's key. Raises `InvalidArgumentError` when the decoder has an
    item of that name.
    """

    def __init__(
        self,
        dataset: Any,
        num_readers: int = 1,
        reader_kwargs: Mapping[str, Any] | None = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        key, data = parallel_read(
            dataset.data_sources,
            dataset.reader,
            num_epochs,
            num_readers,
            reader_kwargs,
            shuffle,
            None,
            common_queue_capacity,
            common_queue_min,
            seed,
            scope,
        )
        items = dataset.decoder.list_items()
        tensors = dict(zip(items, dataset.decoder.decode(data, items), strict=True))
        if record_key in tensors:
            raise InvalidArgumentError(f"the decoder has an item {record_key!r}, which is the name of the record's key")
        super().__init__({**tensors, record_key: key}, dataset.num_samples)
