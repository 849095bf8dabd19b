"""`tf.data.experimental`: counters, mixtures of data sets, unique elements, single elements, examples in batches.

Invariant: each function returns a data set, or a function of a data set for `Dataset.apply`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.client.dataset.api import TFRecordDataset, Transformation
from tfnb.client.dataset.dataset import Dataset, derive
from tfnb.client.dataset.element_spec import ElementSpec
from tfnb.client.dataset.elements import normal
from tfnb.client.dataset.functions import trace
from tfnb.client.dataset.groups import scan
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import constant
from tfnb.ops.array.shape_ops import EXPAND_DIMS
from tfnb.ops.dataset.choices import DIRECTED_INTERLEAVE, TAKE_WHILE, UNIQUE
from tfnb.ops.io.example_functions import parse_example
from tfnb.ops.math.unary import LOG
from tfnb.ops.random.functions import multinomial, random_uniform
from tfnb.types import DTypeLike, as_dtype, as_shape, bool_, int32, int64, string

__all__ = [
    "AUTOTUNE",
    "Counter",
    "RandomDataset",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "choose_from_datasets",
    "enumerate_dataset",
    "make_batched_features_dataset",
    "parse_example_dataset",
    "sample_from_datasets",
    "take_while",
    "unique",
]

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


def Counter(start: int = 0, step: int = 1, dtype: DTypeLike = int64) -> Dataset:
    """Returns the endless data set start, start + step, start + 2 step and so on, scalars of `dtype`."""
    kind = as_dtype(dtype)
    first, width = constant(start, kind), constant(step, kind)
    endless = Dataset.from_tensors(0).repeat(None)
    return endless.apply(scan(first, lambda number, _: (number + width, number)))


def RandomDataset(seed: int | None = None) -> Dataset:
    """Returns an endless data set of random int64 numbers in [0, 2^32). seed: that of the numbers."""
    low, high = np.int64(0), np.int64(2**32)
    endless = Dataset.from_tensors(0).repeat(None)
    return endless.map(lambda _: random_uniform([], low, high, dtype=int64, seed=seed))


def enumerate_dataset(start: int = 0) -> Transformation:
    """Returns the transformation of elements into pairs of their number, from `start` on, and the element."""
    return lambda dataset: dataset.enumerate(start)


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """Returns the transformation that ends at the first element for which `predicate`, a bool scalar, is false.

    Raises `DTypeError` when the function returns anything else.
    """

    def apply(dataset: Dataset) -> Dataset:
        f = trace(predicate, dataset.element_spec, normal, "take_while")
        outputs = f.function.outputs
        if len(outputs) != 1 or outputs[0].dtype is not bool_ or not outputs[0].shape.is_compatible_with(as_shape([])):
            raise DTypeError("`predicate` must return a scalar boolean tensor.")
        return derive(dataset, TAKE_WHILE, [f.captured], dataset.element_spec, predicate=f.function)

    return apply


def unique() -> Transformation:
    """Returns the transformation that leaves out elements that have occurred before.

    Raises `DTypeError` unless the elements are int32, int64 or string scalars.
    """

    def apply(dataset: Dataset) -> Dataset:
        kind = dataset.output_types
        if kind not in (int32, int64, string) or not dataset.element_spec.shapes[0].is_compatible_with(as_shape([])):
            raise DTypeError(f"`tf.data.experimental.unique()` needs int32, int64 or string scalars, got {kind}")
        return derive(dataset, UNIQUE, [], dataset.element_spec)

    return apply


def _directed(selector: Dataset, datasets: Sequence[Dataset]) -> Dataset:
    if not datasets or not all(isinstance(d, Dataset) for d in datasets):
        raise InvalidArgumentError("needed a list of one or more data sets")
    first = datasets[0].element_spec
    for other in datasets[1:]:
        if other.output_types != datasets[0].output_types:
            raise DTypeError("the data sets must have elements of the same types")
    shapes = [
        a if all(a == d.element_spec.shapes[i] for d in datasets) else as_shape(None)
        for i, a in enumerate(first.shapes)
    ]
    spec = ElementSpec(first.types, tuple(shapes))
    return derive(selector, DIRECTED_INTERLEAVE, [[d.variant for d in datasets]], spec)


def choose_from_datasets(datasets: Sequence[Dataset], choice_dataset: Dataset) -> Dataset:
    """Returns the next element of the data set whose number `choice_dataset`, of int64 scalars, gives each time.

    Raises `DTypeError` for choices of another type, or data sets of different types.
    """
    if choice_dataset.output_types is not int64:
        raise DTypeError(f"choice_dataset must have int64 scalars, got {choice_dataset.output_types}")
    return _directed(choice_dataset, datasets)


def sample_from_datasets(
    datasets: Sequence[Dataset], weights: Dataset | Sequence[float] | np.ndarray | None = None, seed: int | None = None
) -> Dataset:
    """Returns elements of data sets that are drawn at random each time, until all have ended.

    weights: the probabilities of the data sets, by default equal, or a data set of such vectors. seed: that of the
    draws. Raises `InvalidArgumentError` unless there are as many weights as data sets, `DTypeError` for other types.
    """
    if isinstance(weights, Dataset):
        return _directed(weights.map(lambda w: _draw(w, seed)), datasets)
    values = np.full(len(datasets), 1.0 / max(1, len(datasets))) if weights is None else np.asarray(weights, np.float64)
    if values.shape != (len(datasets),):
        raise InvalidArgumentError(f"{len(datasets)} data sets need as many weights, got shape {values.shape}")
    selector = Dataset.from_tensors(values).repeat(None).map(lambda w: _draw(w, seed))
    return _directed(selector, datasets)


def _draw(weights: Tensor, seed: int | None) -> Any:
    """The number of a data set, drawn by the weights."""
    return multinomial(EXPAND_DIMS(LOG(weights), np.int32(0)), 1, seed=seed)[0, 0]


def parse_example_dataset(features: dict[str, Any], num_parallel_calls: int = 1) -> Transformation:
    """Returns the transformation of vectors of serialized `tf.Example` messages into dicts of tensors.

    features: see `tf.io.parse_example`. num_parallel_calls: how many vectors are parsed at once.
    """
    return lambda dataset: dataset.map(lambda texts: parse_example(texts, features), num_parallel_calls)


def make_batched_features_dataset(
    file_pattern: TensorLike,
    batch_size: int,
    features: dict[str, Any],
    reader: Callable[..., Dataset] = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int = 1,
    reader_num_threads: int = 1,
    parser_num_threads: int = 2,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Returns batches of parsed `tf.Example` messages of files, as dicts, or pairs (dict, label) with `label_key`.

    file_pattern: a pattern or a list of them. reader: makes a data set of a file's name and `reader_args`. num_epochs:
    None for no end. reader_num_threads: the number of files that are read in turn. The order is always the same,
    whether or not `sloppy_ordering` permits another one.
    """
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    records = files.interleave(lambda name: reader(name, *(reader_args or ())), cycle_length=reader_num_threads)
    if shuffle:
        records = records.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        records = records.repeat(num_epochs)
    endless_or_dropped = drop_final_batch or num_epochs is None
    batches = records.batch(batch_size, drop_remainder=endless_or_dropped)
    parsed = batches.apply(parse_example_dataset(features, parser_num_threads))
    if label_key is not None:
        if label_key not in features:
            raise InvalidArgumentError(f"The `label_key` {label_key!r} must be one of the features {sorted(features)}")
        parsed = parsed.map(lambda values: ({k: v for k, v in values.items() if k != label_key}, values[label_key]))
    return parsed.prefetch(prefetch_buffer_size)
