"""Arrays, generators, sequences and data sets as batches of a model.

Invariant: a batch is (inputs, targets, sample weights), each a list of arrays in the model's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tfnb.errors import InvalidArgumentError, OutOfRangeError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor
from tfnb.v1.keras.backend.values import get_session, initialize

__all__ = ["Batch", "arrays", "batch_of", "dataset_batches", "is_dataset", "length", "rows", "split", "weights_of"]


class Batch(NamedTuple):
    """The arrays of one step."""

    inputs: list[Any]
    targets: list[Any]
    weights: list[Any]


def is_dataset(value: object) -> bool:
    """Returns whether a value is a data set or an iterator of tf.data."""
    return hasattr(value, "make_one_shot_iterator") or (hasattr(value, "get_next") and hasattr(value, "initializer"))


def arrays(data: Any, names: Sequence[str], tensors: Sequence[Any], what: str) -> list[Any]:
    """Returns one array per name, from an array, a list, or a dictionary.

    Vectors become columns where the model has a matrix. Raises `InvalidArgumentError` for missing entries, another
    number of arrays, and shapes that do not fit.
    """
    if data is None:
        return []
    if isinstance(data, Mapping):
        missing = [n for n in names if n not in data]
        if missing:
            raise InvalidArgumentError(f'No data provided for "{missing[0]}". Need data for each key in: {list(names)}')
        values = [data[n] for n in names]
    elif isinstance(data, (list, tuple)) and not (len(names) == 1 and (not data or np.ndim(data[0]) == 0)):
        values = list(data)
        if len(names) == 1 and len(values) > 1 and all(np.ndim(v) > 0 for v in values):
            first = tensors[0].shape.ndims if tensors[0] is not None else None
            if first is not None and np.ndim(values[0]) == first - 1:
                values = [np.asarray(data)]
    else:
        values = [data]
    if len(values) != len(names):
        raise InvalidArgumentError(
            f"Error when checking model {what}: the list of Numpy arrays that you are passing to your model is not the "
            f"size the model expected. Expected to see {len(names)} array(s), but instead got {len(values)}."
        )
    return [_fitting(v, t, n, what) for v, t, n in zip(values, tensors, names, strict=True)]


def _fitting(value: Any, tensor: Tensor | None, name: str, what: str) -> Any:
    if tensor is None:
        return value
    if type(value).__module__.startswith("pandas"):
        value = value.to_numpy()  # an extension array of pandas has no `values`
    if type(value).__module__.startswith("scipy.sparse"):
        value = value.toarray()
    array = np.asarray(value)
    shape = tensor.shape
    if shape.ndims is None:
        return array
    if array.ndim == 1 and shape.ndims == 2:
        array = array[:, None]
    sizes = shape.as_list()
    if array.ndim != len(sizes):
        raise InvalidArgumentError(
            f"Error when checking {what}: expected {name} to have {len(sizes)} dimensions, but got array with shape "
            f"{array.shape}"
        )
    for wanted, got in zip(sizes[1:], array.shape[1:], strict=True):
        if wanted is not None and wanted != got:
            raise InvalidArgumentError(
                f"Error when checking {what}: expected {name} to have shape {tuple(sizes[1:])} but got an array of "
                f"{array.shape[1:]}"
            )
    return array


def length(values: Sequence[Any]) -> int:
    """Returns the number of rows of arrays. Raises `InvalidArgumentError` unless it is the same for all."""
    sizes = {int(np.shape(v)[0]) for v in values if v is not None}
    if len(sizes) > 1:
        raise InvalidArgumentError(
            f"All input arrays (x) and target arrays (y) should have the same number of samples. Got {sorted(sizes)}"
        )
    return sizes.pop() if sizes else 0


def rows(batch: Batch, index: slice | np.ndarray) -> Batch:
    """Returns the rows of a batch with the given numbers."""

    def take(values: Sequence[Any]) -> list[Any]:
        return [None if v is None else v[index] for v in values]

    return Batch(take(batch.inputs), take(batch.targets), take(batch.weights))


def split(batch: Batch, fraction: float) -> tuple[Batch, Batch]:
    """Returns the first rows, and the last share of them. Raises `InvalidArgumentError` when one part is empty."""
    n = length(batch.inputs)
    at = int(n * (1.0 - fraction))
    if not 0 < at < n:
        raise InvalidArgumentError(f"validation_split={fraction} of {n} samples leaves one part empty")
    return rows(batch, slice(0, at)), rows(batch, slice(at, n))


def weights_of(sample_weight: object, class_weight: object, targets: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Returns the weights of the rows for each output, from weights of samples and of classes, or None.

    Raises `InvalidArgumentError` for a class without weight.
    """
    if isinstance(sample_weight, Mapping):
        given: list[Any] = [sample_weight.get(name) for name in names]
    elif isinstance(sample_weight, (list, tuple)) and len(sample_weight) == len(names) and len(names) > 1:
        given = list(sample_weight)
    else:
        given = [sample_weight] * len(names)
    if class_weight is None:
        classes: list[Any] = [None] * len(names)
    elif isinstance(class_weight, Mapping) and any(isinstance(k, str) for k in class_weight):
        classes = [class_weight.get(name) for name in names]
    else:
        classes = list(class_weight) if isinstance(class_weight, (list, tuple)) else [class_weight] * len(names)
    return [_row_weights(w, c, t) for w, c, t in zip(given, classes, targets, strict=True)] if targets else []


def _row_weights(
    sample: ArrayLike | None, by_class: Mapping[int, float] | None, target: np.ndarray | None
) -> np.ndarray | None:
    weight = None if sample is None else np.asarray(sample, np.float32)
    if by_class is None or target is None:
        return weight
    labels = np.argmax(target, 1) if target.ndim > 1 and target.shape[1] > 1 else np.reshape(target, [-1])
    missing = sorted({int(c) for c in labels} - {int(c) for c in by_class})
    if missing:
        raise InvalidArgumentError(
            f"`class_weight` must contain all classes in the data. The classes {missing} exist in the data but not in "
            "`class_weight`."
        )
    factors = np.asarray([by_class[int(c)] for c in labels], np.float32)
    return factors if weight is None else weight * factors


def batch_of(model: Any, item: object, with_targets: bool, class_weight: object = None) -> Batch:
    """Returns what a generator or a data set gave as arrays: x, (x, y) or (x, y, weights).

    Raises `InvalidArgumentError` for anything else.
    """
    if not isinstance(item, tuple) or len(item) == 1:
        x, y, w = item[0] if isinstance(item, tuple) else item, None, None
    elif len(item) in (2, 3):
        x, y, w = (*item, None)[:3]
    else:
        raise InvalidArgumentError(f"needed tuples (x, y) or (x, y, sample_weight), got one of {len(item)} values")
    inputs = arrays(x, model.input_names, model.inputs, "input")
    if not with_targets:
        return Batch(inputs, [], [])
    return model._labelled(inputs, y, w, class_weight)


def dataset_batches(dataset: Any) -> Iterator[Any]:
    """Yields the elements of a data set, or of an iterator of one, as arrays, to its end."""
    iterator = dataset
    if hasattr(dataset, "make_one_shot_iterator"):
        nodes = get_default_graph().client_state.setdefault("keras data sets", {})
        if id(dataset) not in nodes:
            made = dataset.make_initializable_iterator()
            nodes[id(dataset)] = (dataset, made, made.get_next())
        _, iterator, element = nodes[id(dataset)]
        session = get_session()
        initialize(session)
        session.run(iterator.initializer)
    else:
        session, element = get_session(), iterator.get_next()
    while True:
        try:
            yield session.run(element)
        except OutOfRangeError:
            return
