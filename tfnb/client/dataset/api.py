"""The names of `tf.data` and `tf.contrib.data`: data sets of files, and transformations for `Dataset.apply`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfnb.client.dataset.dataset import Dataset, long
from tfnb.client.dataset.groups import bucket_by_sequence_length, group_by_window, scan
from tfnb.client.dataset.iterators import Iterator
from tfnb.client.io.records import TFRecordOptions
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import TensorLike
from tfnb.ops.dataset import dataset_ops as ops
from tfnb.types import as_shape, string

__all__ = ["API", "FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset"]

Transformation = Callable[[Dataset], Dataset]


class _FileDataset(Dataset):
    """Records of files, one string scalar each."""

    def __init__(self, name: str, filenames: Any, *rest: Any, **attrs: Any) -> None:
        graph = get_default_graph()
        handle = ops.BY_NAME[name](
            graph.to_tensor(filenames, None if hasattr(filenames, "dtype") else string),
            *rest,
            output_types=(string,),
            output_shapes=(as_shape([]),),
            graph=graph,
            **attrs,
        )
        super().__init__(handle, string, [as_shape([])])


def compression(kind: Any) -> Any:
    if hasattr(kind, "dtype"):
        return kind
    if kind is None:
        return ""
    return TFRecordOptions.get_compression_type_string(kind)


class TextLineDataset(_FileDataset):
    """The lines of files, without their ends. compression_type: None, "GZIP" or "ZLIB"."""

    def __init__(self, filenames: Any, compression_type: Any = None, buffer_size: Any = None) -> None:
        super().__init__("TextLineDataset", filenames, compression(compression_type), long(buffer_size or 0))


class TFRecordDataset(_FileDataset):
    """The records of TFRecord files. compression_type: None, "GZIP" or "ZLIB".

    A damaged record is a `DataLossError` with file and offset, or left out with `skip_corrupt`; `skipped` counts them.
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, skip_corrupt: bool = False
    ) -> None:
        count = ops.SkipCount()
        super().__init__(
            "TFRecordDataset",
            filenames,
            compression(compression_type),
            long(buffer_size or 0),
            skip_corrupt=skip_corrupt,
            skipped=count,
        )
        self._skipped = [count]


class FixedLengthRecordDataset(_FileDataset):
    """The records of `record_bytes` of files, between a header and a footer."""

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
    ) -> None:
        super().__init__(
            "FixedLengthRecordDataset",
            filenames,
            long(header_bytes or 0),
            long(record_bytes),
            long(footer_bytes or 0),
            long(buffer_size or 0),
        )


def batch_and_drop_remainder(batch_size: TensorLike) -> Transformation:
    """`batch` without a smaller one at the end."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def shuffle_and_repeat(buffer_size: TensorLike, count: Any = None, seed: int | None = None) -> Transformation:
    """`shuffle`, then `repeat`."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: TensorLike,
    num_parallel_batches: Any = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """`map`, then `batch`."""
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise InvalidArgumentError("map_and_batch: num_parallel_batches and num_parallel_calls exclude each other")
    calls = num_parallel_calls
    if num_parallel_batches is not None:
        calls = num_parallel_batches * batch_size
    return lambda dataset: dataset.map(map_func, calls).batch(batch_size, drop_remainder)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: int = 1,
    sloppy: bool = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """`interleave`, always in the same order."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def ignore_errors() -> Transformation:
    """Leaves out elements whose making fails."""
    return lambda dataset: dataset.ignore_errors()


def unbatch() -> Transformation:
    """The rows of each element."""
    return lambda dataset: dataset.unbatch()


def prefetch_to_device(device: Any, buffer_size: TensorLike | None = None) -> Transformation:
    """`prefetch`; elements are copied to their device when a step reads them."""
    return lambda dataset: dataset.prefetch(buffer_size or 1)


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """`dataset.make_one_shot_iterator()`."""
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """`dataset.make_initializable_iterator(shared_name)`."""
    return dataset.make_initializable_iterator(shared_name)


def get_output_types(dataset_or_iterator: Any) -> Any:
    """The dtypes of the elements of a data set or iterator, in their structure."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The static shapes of the elements of a data set or iterator, in their structure."""
    return dataset_or_iterator.output_shapes


_DATA: dict[str, Any] = {
    "make_one_shot_iterator": make_one_shot_iterator,
    "make_initializable_iterator": make_initializable_iterator,
    "get_output_types": get_output_types,
    "get_output_shapes": get_output_shapes,
    "Dataset": Dataset,
    "Iterator": Iterator,
    "TFRecordDataset": TFRecordDataset,
    "TextLineDataset": TextLineDataset,
    "FixedLengthRecordDataset": FixedLengthRecordDataset,
}
_MORE: dict[str, Any] = {
    "batch_and_drop_remainder": batch_and_drop_remainder,
    "bucket_by_sequence_length": bucket_by_sequence_length,
    "group_by_window": group_by_window,
    "scan": scan,
    "shuffle_and_repeat": shuffle_and_repeat,
    "map_and_batch": map_and_batch,
    "parallel_interleave": parallel_interleave,
    "ignore_errors": ignore_errors,
    "unbatch": unbatch,
    "prefetch_to_device": prefetch_to_device,
}
API: dict[str, Any] = {f"data.{name}": value for name, value in _DATA.items()}
API |= {f"contrib.data.{name}": value for name, value in (_DATA | _MORE).items()}
API |= {f"data.experimental.{name}": value for name, value in _MORE.items()}
