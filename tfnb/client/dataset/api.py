"""The names of `tf.data` and `tf.contrib.data`: data sets of files, and transformations for `Dataset.apply`.

Invariant: a file is opened when an iterator reaches it, not when the data set is created.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from tfnb.client.dataset.dataset import Dataset
from tfnb.client.dataset.element_spec import ElementSpec
from tfnb.client.dataset.groups import bucket_by_sequence_length, group_by_window, scan
from tfnb.client.dataset.iterators import Iterator
from tfnb.client.dataset.transformations import long
from tfnb.client.io.records import TFRecordOptions
from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ir.default import get_default_graph
from tfnb.ir.opdef import OpDef
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import RESHAPE
from tfnb.ops.dataset import source_ops
from tfnb.ops.dataset.definition import SkipCount
from tfnb.types import scalar, string

__all__ = ["API", "Compression", "FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset", "compression"]

Transformation = Callable[[Dataset], Dataset]
Compression: TypeAlias = TensorLike | TFRecordOptions | None


_STRINGS = ElementSpec(string, (scalar,))


def _interleaved(
    reader: Callable[[TensorLike], Dataset], filenames: TensorLike, num_parallel_reads: TensorLike
) -> Tensor:
    """Returns the variant of the records of `num_parallel_reads` files at a time, one of each in turn."""
    graph = get_default_graph()
    names = graph.to_tensor(filenames, None if hasattr(filenames, "dtype") else string)
    files = Dataset.from_tensor_slices(RESHAPE(names, [-1]))
    return files.interleave(reader, num_parallel_reads, 1).variant


def _records(op: OpDef, filenames: TensorLike, *rest: TensorLike, **attrs: bool | SkipCount) -> Tensor:
    """Returns the variant scalar of a data set that holds the records of files, one string scalar each."""
    graph = get_default_graph()
    names = graph.to_tensor(filenames, None if hasattr(filenames, "dtype") else string)
    handle: Tensor = op(names, *rest, graph=graph, **(_STRINGS.wire_attrs() | attrs))
    return handle


def compression(kind: Compression) -> TensorLike:
    """Returns the op's input for a compression type: a tensor unchanged, "" for None, else the name of the type.

    Raises `InvalidArgumentError` for an unknown type.
    """
    if kind is not None and not isinstance(kind, TFRecordOptions) and hasattr(kind, "dtype"):
        return kind
    return TFRecordOptions.get_compression_type_string(cast("TFRecordOptions | str | None", kind))


class TextLineDataset(Dataset):
    """The lines of text files, without line ends, as string scalars.

    filenames: a string scalar or vector. compression_type: None or "" (none), "GZIP" or "ZLIB". buffer_size: bytes that
    are read at once. num_parallel_reads: the number of files that are read at a time, a line of each in turn; None for
    one file after the other.
    """

    def __init__(
        self,
        filenames: TensorLike,
        compression_type: Compression = None,
        buffer_size: TensorLike | None = None,
        num_parallel_reads: TensorLike | None = None,
    ) -> None:
        kind, size = compression(compression_type), long(buffer_size or 0)
        if num_parallel_reads is None:
            super().__init__(_records(source_ops.TEXT_LINE, filenames, kind, size), _STRINGS)
            return

        def reader(name: TensorLike) -> Dataset:
            return TextLineDataset(name, compression_type, buffer_size)

        super().__init__(_interleaved(reader, filenames, num_parallel_reads), _STRINGS)


class TFRecordDataset(Dataset):
    """The records of TFRecord files, as string scalars.

    The arguments are those of `TextLineDataset`. A step raises `DataLossError` with file and offset for a damaged
    record. With `skip_corrupt` damaged records are skipped, and `skipped` counts them.
    """

    def __init__(
        self,
        filenames: TensorLike,
        compression_type: Compression = None,
        buffer_size: TensorLike | None = None,
        num_parallel_reads: TensorLike | None = None,
        skip_corrupt: bool = False,
    ) -> None:
        if num_parallel_reads is not None:
            if skip_corrupt:
                raise InvalidArgumentError("TFRecordDataset: skip_corrupt is for one file after the other")

            def reader(name: TensorLike) -> Dataset:
                return TFRecordDataset(name, compression_type, buffer_size)

            super().__init__(_interleaved(reader, filenames, num_parallel_reads), _STRINGS)
            return
        count = SkipCount()
        kind, size = compression(compression_type), long(buffer_size or 0)
        handle = _records(source_ops.TF_RECORD, filenames, kind, size, skip_corrupt=skip_corrupt, skipped=count)
        super().__init__(handle, _STRINGS, [count])


class FixedLengthRecordDataset(Dataset):
    """The records of `record_bytes` bytes each of files, as string scalars.

    filenames: a string scalar or vector. header_bytes, footer_bytes: bytes at the start and at the end of each file
    that belong to no record. num_parallel_reads: as of `TextLineDataset`. A step raises an error when the rest is no
    whole number of records. Raises `UnimplementedError` for a `compression_type`.
    """

    def __init__(
        self,
        filenames: TensorLike,
        record_bytes: TensorLike,
        header_bytes: TensorLike | None = None,
        footer_bytes: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        compression_type: Compression = None,
        num_parallel_reads: TensorLike | None = None,
    ) -> None:
        if compression(compression_type) != "":
            raise UnimplementedError("records of fixed length are not read from compressed files")
        if num_parallel_reads is not None:

            def reader(name: TensorLike) -> Dataset:
                return FixedLengthRecordDataset(name, record_bytes, header_bytes, footer_bytes, buffer_size)

            super().__init__(_interleaved(reader, filenames, num_parallel_reads), _STRINGS)
            return
        sizes = (header_bytes or 0, record_bytes, footer_bytes or 0, buffer_size or 0)
        handle = _records(source_ops.FIXED_LENGTH_RECORD, filenames, *(long(n) for n in sizes))
        super().__init__(handle, _STRINGS)


def batch_and_drop_remainder(batch_size: TensorLike) -> Transformation:
    """Returns a transformation like `Dataset.batch` with `batch_size` that drops a last batch with fewer elements."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: TensorLike, padded_shapes: object, padding_values: object = None
) -> Transformation:
    """Returns a transformation like `Dataset.padded_batch` that drops a last batch with fewer elements."""
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


def sliding_window_batch(
    window_size: TensorLike,
    stride: TensorLike | None = None,
    window_shift: TensorLike | None = None,
    window_stride: TensorLike = 1,
) -> Transformation:
    """Returns a transformation that makes a batch of each window of `window_size` elements, `window_stride` apart.

    A window starts every `window_shift` elements (`stride` is its old name), by default at each; windows that the
    last elements do not fill are dropped. Raises `InvalidArgumentError` for both names.
    """
    if stride is not None and window_shift is not None:
        raise InvalidArgumentError("Cannot specify both `stride` and `window_shift`")
    shift = window_shift if stride is None else stride

    def windows(dataset: Dataset) -> Dataset:
        made = dataset.window(window_size, 1 if shift is None else shift, window_stride, drop_remainder=True)
        return made.flat_map(_batched(window_size))

    return windows


def _batched(size: TensorLike) -> Callable[..., Dataset]:
    """Returns the function that makes one batch of a window, whose components are data sets."""

    def batched(*components: object) -> Dataset:
        window = components[0] if len(components) == 1 else components
        return Dataset.zip(window).batch(size)

    return batched


def shuffle_and_repeat(
    buffer_size: TensorLike, count: TensorLike | None = None, seed: int | None = None
) -> Transformation:
    """Returns the transformation `Dataset.shuffle` with `buffer_size` and `seed`, then `Dataset.repeat` with
    `count`.
    """
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: int,
    num_parallel_batches: int | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: int | None = None,
) -> Transformation:
    """Returns the transformation `Dataset.map` with `map_func`, then `Dataset.batch` with `batch_size` and
    `drop_remainder`.

    num_parallel_batches, num_parallel_calls: how many batches or elements are computed at once. Raises
    `InvalidArgumentError` when both are given.
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise InvalidArgumentError("map_and_batch: num_parallel_batches and num_parallel_calls exclude each other")
    calls = num_parallel_calls
    if num_parallel_batches is not None:
        calls = num_parallel_batches * batch_size
    return lambda dataset: dataset.map(map_func, calls).batch(batch_size, drop_remainder)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: TensorLike,
    block_length: TensorLike = 1,
    sloppy: bool = False,
    buffer_output_elements: TensorLike | None = None,
    prefetch_input_elements: TensorLike | None = None,
) -> Transformation:
    """Returns the transformation `Dataset.interleave` with `map_func`, `cycle_length` and `block_length`. The order is
    always the same.

    `sloppy` and the numbers of buffered elements have no effect.
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def ignore_errors() -> Transformation:
    """Returns the transformation `Dataset.ignore_errors`, which skips the elements whose computation fails."""
    return lambda dataset: dataset.ignore_errors()


def unbatch() -> Transformation:
    """Returns the transformation `Dataset.unbatch`, which makes the rows of each element separate elements."""
    return lambda dataset: dataset.unbatch()


def prefetch_to_device(device: object, buffer_size: TensorLike | None = None) -> Transformation:
    """Returns the transformation `Dataset.prefetch` with `buffer_size`, by default 1.

    A step copies elements to the device that needs them, so `device` has no effect.
    """
    return lambda dataset: dataset.prefetch(buffer_size or 1)


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """Returns `dataset.make_one_shot_iterator()`."""
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """Returns `dataset.make_initializable_iterator(shared_name)`."""
    return dataset.make_initializable_iterator(shared_name)


def get_output_types(dataset_or_iterator: Dataset | Iterator) -> Any:
    """Returns the dtypes of the elements of a data set or iterator, in the structure of an element."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Dataset | Iterator) -> Any:
    """Returns the static shapes of the elements of a data set or iterator, in the structure of an element."""
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
    "padded_batch_and_drop_remainder": padded_batch_and_drop_remainder,
    "sliding_window_batch": sliding_window_batch,
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
