"""Dilated windows by rearranging images: `with_space_to_batch` and `pool` (`tf.nn`).

Pixels that are `rate` apart are collected in separate images. An op with dense windows, applied to those, computes what
an op with dilated windows would compute on the original image. Invariant: with rate 1 along all axes the op is applied
to the input itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.const import constant_value
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.shape_ops import shape_of
from tfnb.ops.array.space_batch import BATCH_TO_SPACE_ND, SPACE_TO_BATCH_ND
from tfnb.ops.conv_pool.pool import AVG_POOL, MAX_POOL
from tfnb.ops.conv_pool.pool_functions import avg_pool, avg_pool3d, max_pool, max_pool3d, pool1d
from tfnb.ops.conv_pool.windows import check_padding
from tfnb.ops.nn.losses import scope

__all__ = ["API", "pool", "with_space_to_batch"]

Windowed = Callable[[Any, int, str], Any]


def _known(values: TensorLike, what: str) -> list[int]:
    static = constant_value(cast(Tensor, values)) if is_tensor_like(values) else np.asarray(values)
    if static is None:
        raise InvalidArgumentError(f"{what} must be known when the graph is built")
    return [int(v) for v in np.asarray(static).reshape(-1)]


def with_space_to_batch(
    input: TensorLike,
    dilation_rate: TensorLike,
    padding: str,
    op: Windowed,
    filter_shape: Any = None,
    spatial_dims: Sequence[int] | None = None,
    data_format: str | None = None,
) -> Any:
    """`op(input, number of spatial axes, padding)` with windows whose taps are `dilation_rate` apart.

    input: (batch, spatial axes..., channels), or channels second for a data_format that begins with "NC".
    dilation_rate: one integer for each of `spatial_dims` (by default all spatial axes). filter_shape: the sizes of the
    windows, needed for "SAME". Raises `InvalidArgumentError` when filter_shape is missing, for rates below 1, and for
    spatial_dims that do not increase.
    """
    rates = _known(dilation_rate, "dilation_rate")
    if min(rates, default=1) < 1:
        raise InvalidArgumentError(f"dilation_rate must be at least 1, got {rates}")
    first = data_format is not None and data_format.startswith("NC")
    axes = list(spatial_dims or range(1 + first, len(rates) + 1 + first))
    if len(axes) != len(rates) or sorted(set(axes)) != axes or axes[:1] < [1]:
        raise InvalidArgumentError(f"spatial_dims must be {len(rates)} increasing axes after the batch, got {axes}")
    padding = check_padding(padding)
    x = graph_of((input,)).to_tensor(input)
    if max(rates, default=1) == 1:
        return op(x, len(rates), padding)
    if padding == "SAME" and filter_shape is None:
        raise InvalidArgumentError('with_space_to_batch needs filter_shape for padding "SAME"')
    sizes = _known(filter_shape, "filter_shape")[: len(rates)] if padding == "SAME" else [1] * len(rates)
    if x.shape.ndims is None:
        raise ShapeError("with_space_to_batch needs an input of known rank")
    blocks, pads, crops = _blocks(x, axes, rates, sizes)
    graph = x.graph
    apart = SPACE_TO_BATCH_ND(x, graph.to_tensor(blocks), graph.to_tensor(pads))
    return BATCH_TO_SPACE_ND(op(apart, len(rates), "VALID"), graph.to_tensor(blocks), graph.to_tensor(crops))


def _blocks(
    x: Any, axes: list[int], rates: list[int], sizes: list[int]
) -> tuple[list[int], list[list[Any]], list[list[Any]]]:
    """The block size, the padding and the crops for each axis up to the last spatial one."""
    blocks, pads, crops = [], [], []
    for axis in range(1, axes[-1] + 1):
        i = axes.index(axis) if axis in axes else None
        rate, size = (1, 1) if i is None else (rates[i], sizes[i])
        reach = (size - 1) * rate
        length = x.shape.sizes[axis]
        length = shape_of(x)[axis] if length is None else length
        extra = (rate - (length + reach) % rate) % rate
        blocks.append(rate)
        pads.append([reach // 2, reach - reach // 2 + extra])
        crops.append([0, extra])
    return blocks, pads, crops


def _pooling(kind: str, axes: int, window: list[int], steps: list[int], layout: str | None, name: str) -> Windowed:
    """Returns the pooling of a kind; over two or three axes its operation is called `name`."""
    ops: dict[tuple[str, int], Callable[..., Any]] = {
        ("MAX", 2): max_pool,
        ("AVG", 2): avg_pool,
        ("MAX", 3): max_pool3d,
        ("AVG", 3): avg_pool3d,
    }
    if axes == 1:
        op = MAX_POOL if kind == "MAX" else AVG_POOL
        return lambda x, _, padding: pool1d(op, x, window, steps, padding, layout, None)
    return lambda x, _, padding: ops[kind, axes](x, window, steps, padding, layout, name=name)


def pool(
    input: TensorLike,
    window_shape: TensorLike,
    pooling_type: str,
    padding: str,
    dilation_rate: TensorLike | None = None,
    strides: TensorLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: TensorLike | None = None,
) -> Any:
    """Pooling over one, two or three spatial axes, with strides or dilation.

    input: (batch, spatial axes..., channels), or channels second for a data_format that begins with "NC". window_shape,
    dilation_rate (`dilations`), strides: one integer per spatial axis. pooling_type: "MAX" or "AVG". Raises
    `InvalidArgumentError` for dilation together with strides or "SAME", and for another pooling_type.
    """
    window = _known(window_shape, "window_shape")
    axes = len(window)
    dilation = dilations if dilation_rate is None else dilation_rate
    rates = [1] * axes if dilation is None else _known(dilation, "dilation_rate")
    steps = [1] * axes if strides is None else _known(strides, "strides")
    if pooling_type not in ("MAX", "AVG") or not 1 <= axes <= 3:
        raise InvalidArgumentError(f'pool takes "MAX" or "AVG" over 1 to 3 axes, got {pooling_type!r} over {axes}')
    if max(rates) > 1 and (max(steps) > 1 or padding != "VALID"):
        raise InvalidArgumentError(
            f'pool with dilation {rates} takes no strides and padding "VALID", got {steps} and {padding!r}'
        )
    with scope(name, f"{pooling_type.lower()}_pool", input) as full_name:
        op = _pooling(pooling_type, axes, window, steps, data_format, full_name)
        return with_space_to_batch(input, rates, padding, op, data_format=data_format)


OPS = ()
API: dict[str, Any] = {"nn.pool": pool, "nn.with_space_to_batch": with_space_to_batch}
