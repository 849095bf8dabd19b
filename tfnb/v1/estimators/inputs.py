"""`tf.estimator.inputs`: arrays in memory as the batches of an estimator.

Invariant: each call of an input function starts at the first example; the end of the data is an `OutOfRangeError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tfnb.errors import InvalidArgumentError, OutOfRangeError
from tfnb.ops.control_flow.python_function import py_func
from tfnb.types import as_dtype

__all__ = ["numpy_input_fn", "pandas_input_fn"]


def numpy_input_fn(
    x: ArrayLike | Mapping[str, ArrayLike],
    y: ArrayLike | Mapping[str, ArrayLike] | None = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    seed: int | None = None,
) -> Callable[[], Any]:
    """Returns an input function, which returns (features, labels) of the next batch, or features alone without `y`.

    x: an array, or a dict of arrays, all with the same length; y: likewise. The last batch of the data may be smaller.
    num_epochs: how often the data is repeated; None means without end. shuffle: True or False. seed: makes the order
    repeatable. The queue arguments have no effect. Raises `InvalidArgumentError` for other values.
    """
    if not isinstance(shuffle, bool):
        raise InvalidArgumentError(f"numpy_input_fn: shuffle must be True or False, got {shuffle!r}")
    features = {k: np.asarray(v) for k, v in (x if isinstance(x, Mapping) else {"": x}).items()}
    labels = {} if y is None else {k: np.asarray(v) for k, v in (y if isinstance(y, Mapping) else {"": y}).items()}
    arrays = [*features.values(), *labels.values()]
    lengths = {len(a) for a in arrays}
    if len(lengths) != 1 or not features:
        raise InvalidArgumentError(f"numpy_input_fn: needed arrays of one length, got lengths {sorted(lengths)}")

    def batches() -> Iterator[list[np.ndarray]]:
        rng, n, done = np.random.default_rng(seed), lengths.copy().pop(), 0
        pending = np.zeros(0, np.int64)
        while num_epochs is None or done < num_epochs:
            pending = np.concatenate([pending, rng.permutation(n) if shuffle else np.arange(n)])
            done += 1
            while len(pending) >= batch_size:
                yield [a[pending[:batch_size]] for a in arrays]
                pending = pending[batch_size:]
        if len(pending):
            yield [a[pending] for a in arrays]

    def input_fn() -> Any:
        source = batches()

        def following() -> list[np.ndarray]:
            for batch in source:
                return batch
            raise OutOfRangeError("numpy_input_fn: the data is at its end")

        tensors = py_func(following, [], [as_dtype(a.dtype) for a in arrays], name="numpy_input")
        for tensor, array in zip(tensors, arrays, strict=True):
            tensor.set_shape([None, *array.shape[1:]])
        feature_tensors = dict(zip(features, tensors, strict=False))
        label_tensors = dict(zip(labels, tensors[len(features) :], strict=True))
        parts = [
            t if isinstance(s, Mapping) else t[""]
            for s, t in ((x, feature_tensors), (y, label_tensors))
            if s is not None
        ]
        return parts[0] if y is None else tuple(parts)

    return input_fn


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Callable[[], Any]:
    """Returns an input function of the columns of the DataFrame `x`, and of the index, which is called "index".

    y: a Series or DataFrame of labels with the same index; the labels of a DataFrame are a dict of its columns.
    target_column: must not be a column of `x` when `y` is a Series. For the rest see `numpy_input_fn`. Raises
    `InvalidArgumentError` for another index, or a column of that name.
    """
    features = {"index": np.asarray(x.index), **{str(name): x[name].to_numpy() for name in x.columns}}
    labels: Any = None
    if y is not None:
        if not np.array_equal(x.index, y.index):
            raise InvalidArgumentError("pandas_input_fn: Index for x and y are mismatched.")
        frame = hasattr(y, "columns")
        if not frame and target_column in x.columns:
            raise InvalidArgumentError(
                f"Cannot use name {target_column} for target column: DataFrame already has a column with that name"
            )
        labels = {str(name): y[name].to_numpy() for name in y.columns} if frame else y.to_numpy()
    arrays: Any = {k: v.astype(object) if v.dtype.kind in "OU" else v for k, v in features.items()}
    return numpy_input_fn(arrays, labels, batch_size, num_epochs, shuffle, queue_capacity, num_threads)
