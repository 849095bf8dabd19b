"""Parts of `tf.metrics` that programs use for metrics of their own: variables, and inputs of equal ranks.

Invariant: only static ranks are compared; a tensor of an unknown rank stays as it is.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.compat.source_functions import remove_squeezable_dimensions
from tfnb.client.losses_metrics.metrics import counter
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.array.shape_ops import EXPAND_DIMS, squeeze
from tfnb.types import DTypeLike, ShapeLike, as_dtype, as_shape

__all__ = ["API"]


def metric_variable(shape: ShapeLike, dtype: DTypeLike, validate_shape: bool = True, name: str | None = None) -> Any:
    """Returns a variable of zeros in LOCAL_VARIABLES and METRIC_VARIABLES; `validate_shape` has no effect."""
    return counter(name or "Variable", as_shape(shape).as_list(), as_dtype(dtype))


def inputs_of_equal_ranks(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Returns the inputs of a metric as tensors, None for those that are None.

    Labels and predictions lose a last dimension of 1 if the others lack it; weights lose or get one, unless they are a
    scalar, so that their rank is that of the predictions.
    """
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is None:
        return predictions, labels, None
    weights = convert_to_tensor(weights)
    rank, wanted = weights.shape.ndims, predictions.shape.ndims
    if rank and wanted is not None and abs(rank - wanted) == 1:
        weights = squeeze(weights, [-1]) if rank > wanted else EXPAND_DIMS(weights, -1)
    return predictions, labels, weights


API: dict[str, Any] = {
    "python.ops.metrics_impl.metric_variable": metric_variable,
    "python.ops.metrics_impl._remove_squeezable_dimensions": inputs_of_equal_ranks,
}
