"""`tf.contrib.learn.io`: arrays, tables and files as the batches of an estimator.

Invariant: a function that reads files adds queues to the graph, whose runners fill them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.graph.default_graph import name_scope
from tfnb.client.io.readers import TFRecordReader
from tfnb.client.platform.gfile import Glob
from tfnb.client.sync.queues import FIFOQueue
from tfnb.errors import InvalidArgumentError, refuse_given
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import constant
from tfnb.ops.io.example_functions import parse_example
from tfnb.train.input.batching import batch_join, shuffle_batch_join
from tfnb.train.input.producers import string_input_producer
from tfnb.train.input.queue_runner import QueueRunner, add_queue_runner
from tfnb.v1.estimators import inputs as core_inputs

__all__ = [
    "extract_dask_data",
    "extract_dask_labels",
    "extract_pandas_data",
    "extract_pandas_labels",
    "extract_pandas_matrix",
    "generator_input_fn",
    "numpy_input_fn",
    "pandas_input_fn",
    "queue_parsed_features",
    "read_batch_examples",
    "read_batch_features",
    "read_batch_record_features",
    "read_keyed_batch_examples",
    "read_keyed_batch_examples_shared_queue",
    "read_keyed_batch_features",
    "read_keyed_batch_features_shared_queue",
]


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool = True,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """Returns the input function of the arrays `x` and `y`; see `tf.estimator.inputs.numpy_input_fn`."""
    return core_inputs.numpy_input_fn(x, y, batch_size, num_epochs, shuffle, queue_capacity, num_threads)


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool = True,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Callable[[], Any]:
    """Returns the input function of the tables `x` and `y`; see `tf.estimator.inputs.pandas_input_fn`."""
    return core_inputs.pandas_input_fn(
        x, y, batch_size, num_epochs, shuffle, queue_capacity, num_threads, target_column
    )


def generator_input_fn(
    x: Callable[[], Iterator[Any]],
    target_key: str | Sequence[str] | None = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool = True,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    pad_value: object = None,
) -> Callable[[], Any]:
    """Returns the input function of the dicts that the generator function `x` yields, all of the same arrays.

    target_key: the key, or keys, that are the labels. pad_value: refused. Raises `InvalidArgumentError` for another key
    or no examples. For the rest see `tf.estimator.inputs.numpy_input_fn`.
    """
    refuse_given("generator_input_fn", "give arrays of one shape", pad_value=pad_value)
    rows = list(x())
    if not rows:
        raise InvalidArgumentError("generator_input_fn: the generator gives nothing")
    columns: Any = {k: np.stack([np.asarray(r[k]) for r in rows]) for k in rows[0]}
    keys = [] if target_key is None else list(target_key) if isinstance(target_key, (list, tuple)) else [target_key]
    for key in keys:
        if key not in columns:
            raise InvalidArgumentError(f"target_key {key!r} is not in {sorted(columns)}")
    labels = {k: columns.pop(k) for k in keys}
    single: Any = (
        next(iter(labels.values()))
        if len(labels) == 1 and not isinstance(target_key, (list, tuple))
        else labels or None
    )
    return core_inputs.numpy_input_fn(columns, single, batch_size, num_epochs, shuffle, queue_capacity, num_threads)


def _table(data: Any) -> bool:
    return hasattr(data, "dtypes") and hasattr(data, "columns")


def extract_pandas_data(data: Any) -> Any:
    """Returns the DataFrame `data` as a float array; anything else stays as it is.

    Raises `InvalidArgumentError` for columns that are no numbers.
    """
    if not _table(data):
        return data
    wrong = [
        str(name) for name, dtype in zip(data.columns, data.dtypes, strict=True) if np.dtype(dtype).kind not in "iufb"
    ]
    if wrong:
        raise InvalidArgumentError(f"Data types for extracting pandas data must be int, float, or bool. Found: {wrong}")
    return data.to_numpy().astype(float)


def extract_pandas_matrix(data: Any) -> Any:
    """Returns the DataFrame `data` as an array; anything else stays as it is."""
    return data.to_numpy() if _table(data) else data


def extract_pandas_labels(labels: Any) -> Any:
    """Returns the Series or DataFrame of one column `labels` as an array; anything else stays as it is.

    Raises `InvalidArgumentError` for several columns.
    """
    if _table(labels):
        if len(labels.columns) > 1:
            raise InvalidArgumentError("Only one column for labels is allowed.")
        return labels.to_numpy()
    return labels.to_numpy() if hasattr(labels, "to_numpy") else labels


def extract_dask_data(data: object) -> Any:
    """Returns the table of Dask `data` as that of pandas; anything else stays as it is."""
    return data.compute() if hasattr(data, "compute") else data


def extract_dask_labels(labels: Any) -> Any:
    """Returns the labels of Dask `labels` as those of pandas; anything else stays as it is.

    Raises `InvalidArgumentError` for several columns.
    """
    if hasattr(labels, "columns") and len(labels.columns) > 1:
        raise InvalidArgumentError("Only one column for labels is allowed.")
    return extract_dask_data(labels)


def _files(file_pattern: Any) -> list[str]:
    patterns = [file_pattern] if isinstance(file_pattern, (str, bytes)) else list(file_pattern)
    found = [f for p in patterns for f in Glob(os.fsdecode(p))]
    if not found:
        raise InvalidArgumentError(f"No files match {file_pattern}.")
    return found


def read_keyed_batch_examples(
    file_pattern: str | bytes | Sequence[str | bytes],
    batch_size: int,
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    num_threads: int = 1,
    read_batch_size: int = 1,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> tuple[Any, Any]:
    """Returns (keys, examples) of the next `batch_size` records of files, string vectors, or what `parse_fn` makes.

    file_pattern: a pattern or a list of them. reader: makes the reader. randomize_input: whether files and records come
    in random order, which `seed` determines. num_epochs: how often the files are read, None for ever. queue_capacity,
    num_threads: of the queue of examples. read_batch_size: how many records are read at once. Raises
    `InvalidArgumentError` without files, or for a capacity below the size of a batch.
    """
    if queue_capacity is None or queue_capacity <= batch_size:
        raise InvalidArgumentError(f"Invalid batch_size {batch_size}, with queue_capacity {queue_capacity}.")
    with name_scope(name or "read_batch_examples"):
        names = string_input_producer(
            constant(_files(file_pattern)), num_epochs=num_epochs, shuffle=randomize_input, seed=seed
        )
        pairs = []
        for _ in range(num_threads):
            if read_batch_size > 1:
                keys, records = reader().read_up_to(names, read_batch_size)
            else:
                keys, records = reader().read(names)
            pairs.append((keys, records if parse_fn is None else parse_fn(records)))
        many, last = read_batch_size > 1, num_epochs is not None
        if randomize_input:
            least = max(1, queue_capacity - max(3 * batch_size, batch_size))
            found = shuffle_batch_join(
                pairs,
                batch_size,
                queue_capacity,
                min(least, queue_capacity // 2),
                seed,
                enqueue_many=many,
                allow_smaller_final_batch=last,
            )
        else:
            found = batch_join(pairs, batch_size, queue_capacity, enqueue_many=many, allow_smaller_final_batch=last)
        return found[0], found[1]


def read_batch_examples(
    file_pattern: str | bytes | Sequence[str | bytes],
    batch_size: int,
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    num_threads: int = 1,
    read_batch_size: int = 1,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """Returns the next `batch_size` records of files; see `read_keyed_batch_examples`."""
    return read_keyed_batch_examples(
        file_pattern,
        batch_size,
        reader,
        randomize_input,
        num_epochs,
        queue_capacity,
        num_threads,
        read_batch_size,
        parse_fn,
        name,
        seed,
    )[1]


read_keyed_batch_examples_shared_queue = read_keyed_batch_examples


def queue_parsed_features(
    parsed_features: Mapping[str, Any],
    keys: Tensor | None = None,
    feature_queue_capacity: int = 100,
    num_enqueue_threads: int = 2,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns (keys, features) from a queue of `feature_queue_capacity` batches, which threads fill while steps run.

    parsed_features: tensors by name. keys: a tensor beside them, or None. num_enqueue_threads: how many threads.
    """
    given = dict(parsed_features)
    if keys is not None:
        given["__keys__"] = keys
    with name_scope(name or "parsed_features"):
        order = sorted(given)
        queue = FIFOQueue(feature_queue_capacity, [given[k].dtype for k in order])
        enqueue = queue.enqueue([given[k] for k in order])
        add_queue_runner(QueueRunner(queue, [enqueue] * num_enqueue_threads))
        taken = queue.dequeue()
        values = dict(zip(order, taken if isinstance(taken, (list, tuple)) else [taken], strict=True))
        for key, tensor in values.items():
            tensor.set_shape(given[key].shape)
        return values.pop("__keys__", None), values


def read_keyed_batch_features(
    file_pattern: str | bytes | Sequence[str | bytes],
    batch_size: int,
    features: Mapping[str, Any],
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    feature_queue_capacity: int = 100,
    num_enqueue_threads: int = 2,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    read_batch_size: int = 1,
) -> tuple[Any, Any]:
    """Returns (keys, features) of the next `batch_size` tf.Examples of files, parsed by the specification `features`.

    A capacity of a feature queue of 0 leaves that queue out. For the rest see `read_keyed_batch_examples`.
    """
    with name_scope(name or "read_batch_features"):
        keys, examples = read_keyed_batch_examples(
            file_pattern,
            batch_size,
            reader,
            randomize_input,
            num_epochs,
            queue_capacity,
            reader_num_threads,
            read_batch_size,
            parse_fn,
        )
        parsed = parse_example(examples, dict(features))
        if not feature_queue_capacity or any(isinstance(v, SparseTensor) for v in parsed.values()):
            return keys, parsed
        return queue_parsed_features(parsed, keys, feature_queue_capacity, num_enqueue_threads)


def read_batch_features(
    file_pattern: str | bytes | Sequence[str | bytes],
    batch_size: int,
    features: Mapping[str, Any],
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    feature_queue_capacity: int = 100,
    reader_num_threads: int = 1,
    num_enqueue_threads: int = 2,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    read_batch_size: int = 1,
) -> Any:
    """Returns the features of the next `batch_size` tf.Examples of files; see `read_keyed_batch_features`."""
    return read_keyed_batch_features(
        file_pattern,
        batch_size,
        features,
        reader,
        randomize_input,
        num_epochs,
        queue_capacity,
        reader_num_threads,
        feature_queue_capacity,
        num_enqueue_threads,
        parse_fn,
        name,
        read_batch_size,
    )[1]


def read_keyed_batch_features_shared_queue(
    file_pattern: str | bytes | Sequence[str | bytes],
    batch_size: int,
    features: Mapping[str, Any],
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    feature_queue_capacity: int = 100,
    num_queue_runners: int = 2,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns (keys, features) of the next `batch_size` tf.Examples of files; see `read_keyed_batch_features`."""
    return read_keyed_batch_features(
        file_pattern,
        batch_size,
        features,
        reader,
        randomize_input,
        num_epochs,
        queue_capacity,
        reader_num_threads,
        feature_queue_capacity,
        num_queue_runners,
        parse_fn,
        name,
    )


def read_batch_record_features(
    file_pattern: str | bytes | Sequence[str | bytes],
    batch_size: int,
    features: Mapping[str, Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    name: str = "dequeue_record_examples",
) -> Any:
    """Returns the features of the next `batch_size` tf.Examples of TFRecord files; see `read_keyed_batch_features`."""
    return read_batch_features(
        file_pattern,
        batch_size,
        features,
        TFRecordReader,
        randomize_input,
        num_epochs,
        queue_capacity,
        reader_num_threads=reader_num_threads,
        name=name,
    )
