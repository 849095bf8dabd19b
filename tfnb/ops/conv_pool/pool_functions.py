"""The public pooling functions, in one to three dimensions.

Arguments have the order of TensorFlow 0.x and 1.x; renamed arguments are accepted under both names. Invariant: each
function adds one pooling op, and otherwise only reshapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import OpDef
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import CONCAT
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE, SHAPE, SQUEEZE
from tfnb.ops.conv_pool.conv_functions import padding_of, spread
from tfnb.ops.conv_pool.pool import AVG_POOL, MAX_POOL
from tfnb.ops.conv_pool.pool3d import AVG_POOL_3D, MAX_POOL_3D
from tfnb.ops.conv_pool.windows import LAYOUTS, channels_first
from tfnb.ops.math.reduce import MAX
from tfnb.ops.nn.losses import scope
from tfnb.types import int32

__all__ = ["API", "OPS", "avg_pool", "avg_pool3d", "max_pool", "max_pool3d", "pool1d"]


def _pool(
    op: OpDef,
    value: TensorLike | None,
    ksize: int | Sequence[int] | None,
    strides: int | Sequence[int] | None,
    padding: str | Sequence[Any] | None,
    data_format: str | None,
    name: str | None,
    axes: int,
) -> Any:
    if ksize is None or strides is None or padding is None:
        raise InvalidArgumentError(f"{op.name} needs ksize, strides and padding")
    layout = data_format or LAYOUTS[axes + 2][0]
    first = channels_first(layout, axes + 2)
    return op(
        value,
        ksize=spread(ksize, axes, first, "ksize"),
        strides=spread(strides, axes, first, "strides"),
        data_format=layout,
        name=name,
        **padding_of(padding),
    )


def _over_channels(
    value: TensorLike | None, ksize: Sequence[int], strides: int | Sequence[int] | None, name: str | None
) -> Tensor:
    """The largest of each `ksize[3]` neighbouring channels."""
    k = ksize[3]
    if list(ksize[:3]) != [1, 1, 1]:
        raise UnimplementedError("MaxPooling supports exactly one of pooling across depth or across width and height")
    if not isinstance(strides, (list, tuple)) or list(strides) != list(ksize):
        raise UnimplementedError(
            f"Depthwise max pooling requires the depth window to equal the depth stride: ksize {list(ksize)}, strides "
            f"{strides}"
        )
    with scope(name, "max_pool", value):
        x = graph_of((value,)).to_tensor(value)
        channels = x.shape.with_rank(4).as_list()[3]
        if channels is None or channels % k:
            raise UnimplementedError(
                f"Depthwise max pooling requires the depth window to evenly divide the input depth: {k} and {channels}"
            )
        sizes = CONCAT(np.int32(0), [SHAPE(x, out_type=int32)[:3], np.asarray([channels // k, k], np.int32)])
        return MAX(RESHAPE(x, sizes), np.asarray([4], np.int32))


def max_pool(
    value: TensorLike | None = None,
    ksize: int | Sequence[int] | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Any] | None = None,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> Any:
    """Returns the largest pixel of each window, channel by channel.

    value: (batch, height, width, channels), or channels second for `data_format="NCHW"`. ksize, strides: one, two or
    four integers, four in the order of data_format. padding: "SAME", "VALID" or four pairs of pixel counts, which are
    smaller than the window. A window over k channels, [1, 1, 1, k], has the same stride. Raises `InvalidArgumentError`
    for invalid windows or padding, and `UnimplementedError` for other windows over channels.
    """
    x = input if value is None else value
    if isinstance(ksize, (list, tuple)) and len(ksize) == 4 and ksize[-1] != 1 and data_format in (None, "NHWC"):
        return _over_channels(x, ksize, strides, name)
    return _pool(MAX_POOL, x, ksize, strides, padding, data_format, name, 2)


def avg_pool(
    value: TensorLike | None = None,
    ksize: int | Sequence[int] | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Any] | None = None,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> Any:
    """Returns the mean of the pixels of each window that lie in the image, channel by channel.

    The arguments and errors are those of `max_pool`; padding is "SAME" or "VALID".
    """
    x = input if value is None else value
    return _pool(AVG_POOL, x, ksize, strides, padding, data_format, name, 2)


def max_pool3d(
    input: TensorLike | None = None,
    ksize: int | Sequence[int] | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Any] | None = None,
    data_format: str | None = "NDHWC",
    name: str | None = None,
    value: TensorLike | None = None,
) -> Any:
    """Returns the largest voxel of each window, channel by channel.

    input: (batch, depth, height, width, channels), or channels second for "NCDHW". ksize, strides: one, three or five
    integers. padding: "SAME" or "VALID". Raises `InvalidArgumentError` for invalid windows or padding.
    """
    x = value if input is None else input
    return _pool(MAX_POOL_3D, x, ksize, strides, padding, data_format, name, 3)


def avg_pool3d(
    value: TensorLike | None = None,
    ksize: int | Sequence[int] | None = None,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Any] | None = None,
    data_format: str | None = "NDHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> Any:
    """Returns the mean of the voxels of each window that lie in the volume, channel by channel.

    The arguments and errors are those of `max_pool3d`.
    """
    x = input if value is None else value
    return _pool(AVG_POOL_3D, x, ksize, strides, padding, data_format, name, 3)


def pool1d(
    op: OpDef,
    x: TensorLike,
    ksize: int | Sequence[int] | None,
    strides: int | Sequence[int] | None,
    padding: str | Sequence[Any],
    data_format: str | None,
    name: str | None,
) -> Tensor:
    """Pools (batch, width, channels), or (batch, channels, width) for "NCW", by the op MaxPool or AvgPool."""
    if data_format not in (None, "NWC", "NCW"):
        raise InvalidArgumentError(f'data_format must be "NWC" or "NCW", got {data_format!r}')
    first = data_format == "NCW"
    axis = 2 if first else 1
    size, step = (spread(v, 1, False, argument)[1] for v, argument in ((ksize, "ksize"), (strides, "strides")))
    with scope(name, op.name, x):
        image = EXPAND_DIMS(graph_of((x,)).to_tensor(x), axis)
        layout = LAYOUTS[4][first]
        y = _pool(op, image, [1, size], [1, step], padding, layout, None, 2)
        return SQUEEZE(y, squeeze_dims=[axis])


def max_pool1d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NWC",
    name: str | None = None,
) -> Any:
    """Returns the largest element of each window along one axis, channel by channel.

    input: (batch, width, channels), or (batch, channels, width) for "NCW". ksize, strides: one integer, or three in the
    order of data_format. padding: "SAME" or "VALID". Raises `InvalidArgumentError` for an unknown data_format, invalid
    windows or invalid padding.
    """
    return pool1d(MAX_POOL, input, ksize, strides, padding, data_format, name)


def avg_pool1d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NWC",
    name: str | None = None,
) -> Any:
    """Returns the mean of the elements of each window that lie inside the input, channel by channel.

    The arguments and errors are those of `max_pool1d`.
    """
    return pool1d(AVG_POOL, input, ksize, strides, padding, data_format, name)


OPS: tuple[OpDef, ...] = ()
API: dict[str, Any] = {
    "nn.max_pool": max_pool,
    "nn.max_pool2d": max_pool,
    "nn.avg_pool": avg_pool,
    "nn.avg_pool2d": avg_pool,
    "nn.max_pool3d": max_pool3d,
    "nn.avg_pool3d": avg_pool3d,
    "nn.max_pool1d": max_pool1d,
    "nn.avg_pool1d": avg_pool1d,
}
