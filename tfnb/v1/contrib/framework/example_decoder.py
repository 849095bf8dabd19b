"""Decoders of records: `tf.contrib.slim.tfexample_decoder`, which makes items of tf.Example messages.

A handler makes one item of the parsed features that it names by its keys. Invariant: an item is a tensor, sparse only
where its handler says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfnb.client.control_flow.cond import cond
from tfnb.client.control_flow.map_fold_scan import map_fn
from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ir.sparse import SparseTensor as Sparse
from tfnb.ir.tensor import TensorLike
from tfnb.ops.array.concat import concat, stack
from tfnb.ops.array.shape_ops import RESHAPE, size
from tfnb.ops.image.codecs import decode_image
from tfnb.ops.io.example_functions import FixedLenFeature, parse_single_example
from tfnb.ops.io.files import decode_raw
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL, LOGICAL_OR
from tfnb.ops.sparse.functions import sparse_reshape, sparse_tensor_to_dense
from tfnb.types import DTypeLike, ShapeLike, as_dtype, int64, uint8

__all__ = ["BoundingBox", "DataDecoder", "Image", "ItemHandler", "TFExampleDecoder"]


class DataDecoder:
    """The base class of decoders. A subclass has `decode(data, items)` and `list_items()`."""

    def decode(self, data: TensorLike, items: Sequence[str]) -> list[Any]:
        """Returns the tensors of `items` of the record `data`. Subclasses implement it."""
        raise UnimplementedError(f"{type(self).__name__} has no decode(data, items)")

    def list_items(self) -> list[str]:
        """Returns the names of the items. Subclasses implement it."""
        raise UnimplementedError(f"{type(self).__name__} has no list_items()")


class ItemHandler:
    """The base class of handlers: makes an item of the features with the names `keys`."""

    def __init__(self, keys: str | list[str] | tuple[str, ...]) -> None:
        self._keys = list(keys) if isinstance(keys, (list, tuple)) else [keys]

    @property
    def keys(self) -> list[str]:
        """The names of the features."""
        return self._keys

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Returns the item for a dict of the features' tensors. Subclasses implement it."""
        raise UnimplementedError(f"{type(self).__name__} has no tensors_to_item(keys_to_tensors)")


class ItemHandlerCallback(ItemHandler):
    """Makes an item by the function `func` of a dict of the features' tensors."""

    def __init__(self, keys: str | list[str] | tuple[str, ...], func: Callable[[Mapping[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Makes boxes (n, 4) of four features with n numbers each, "ymin", "xmin", "ymax", "xmax" behind the `prefix`."""

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        sides = ["ymin", "xmin", "ymax", "xmax"] if keys is None else list(keys)
        if len(sides) != 4:
            raise InvalidArgumentError(f"BoundingBox expects 4 keys but got {len(sides)}")
        super().__init__([prefix + side for side in sides])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        sides = [keys_to_tensors[key] for key in self.keys]
        return stack([s.values if isinstance(s, Sparse) else s for s in sides], 1)


class Tensor(ItemHandler):
    """Makes a tensor of one feature, of the given `shape`, or that which the features `shape_keys` hold.

    A sparse feature becomes dense, with `default_value` where it has no element. Raises `InvalidArgumentError` for both
    a shape and keys.
    """

    def __init__(
        self,
        tensor_key: str,
        shape_keys: str | Sequence[str] | None = None,
        shape: Any = None,
        default_value: TensorLike = 0,
    ) -> None:
        if shape_keys and shape is not None:
            raise InvalidArgumentError("a handler of a tensor takes shape_keys or shape, not both")
        self._shape_keys = [shape_keys] if isinstance(shape_keys, str) else list(shape_keys or ())
        self._key, self._shape, self._default = tensor_key, shape, default_value
        super().__init__([tensor_key, *self._shape_keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        tensor, shape = keys_to_tensors[self._key], self._shape
        if self._shape_keys:
            dims = [keys_to_tensors[key] for key in self._shape_keys]
            shape = RESHAPE(stack([_dense(d) for d in dims]), [-1])
        if isinstance(tensor, Sparse):
            sparse: Any = tensor
            sparse = sparse if shape is None else sparse_reshape(sparse, shape)
            return sparse_tensor_to_dense(sparse, self._default)
        return tensor if shape is None else RESHAPE(tensor, shape)


def _dense(value: Any) -> Any:
    return sparse_tensor_to_dense(value) if isinstance(value, Sparse) else value


class LookupTensor(Tensor):
    """Makes a tensor as `Tensor` does, and looks its elements up in `table`."""

    def __init__(
        self,
        tensor_key: str,
        table: Any,
        shape_keys: str | Sequence[str] | None = None,
        shape: ShapeLike = None,
        default_value: TensorLike = "",
    ) -> None:
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """Makes an item by `handler`, or by `backup` where that is empty. Raises `InvalidArgumentError` for other types."""

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for one in (handler, backup):
            if not isinstance(one, ItemHandler):
                raise InvalidArgumentError(f"BackupHandler needs two handlers, got {one!r}")
        self._handler, self._backup = handler, backup
        super().__init__([*handler.keys, *backup.keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        item = self._handler.tensors_to_item(keys_to_tensors)
        return cond(EQUAL(size(item), 0), lambda: self._backup.tensors_to_item(keys_to_tensors), lambda: item)


class SparseTensor(ItemHandler):
    """Makes a sparse tensor of two sparse features: the last indices and the values; with `densify` a dense one.

    The dense shape is `shape`, or the feature `shape_key`, or that of the feature of the indices.
    """

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: ShapeLike = None,
        densify: bool = False,
        default_value: TensorLike = 0,
    ) -> None:
        self._indices, self._values = indices_key or "indices", values_key or "values"
        self._shape_key, self._shape = shape_key, shape
        self._densify, self._default = densify, default_value
        super().__init__([self._indices, self._values, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        indices, values = keys_to_tensors[self._indices], keys_to_tensors[self._values]
        shape = indices.dense_shape if self._shape is None else self._shape
        if self._shape_key:
            shape = _dense(keys_to_tensors[self._shape_key])
        last = RESHAPE(cast(indices.values, int64), [-1, 1])
        places = concat([indices.indices[:, :-1], last], 1)
        result = Sparse(places, values.values, cast(shape, int64))
        return sparse_tensor_to_dense(result, self._default) if self._densify else result


class Image(ItemHandler):
    """Decodes an image of the feature `image_key`: JPEG, PNG, GIF or BMP, or bytes where `format_key` is "raw".

    shape: the shape of the image, or None. repeated: the feature has several images of one size. The image has
    `channels` channels and the dtype `dtype`, without scaling.
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: ShapeLike = None,
        channels: int = 3,
        dtype: DTypeLike = uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        self._image, self._format = image_key or "image/encoded", format_key or "image/format"
        self._shape, self._channels, self._dtype = shape, channels, as_dtype(dtype)
        self._repeated = repeated
        super().__init__([self._image, self._format])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        data, kind = keys_to_tensors[self._image], keys_to_tensors[self._format]
        if self._repeated:
            return map_fn(lambda one: self._decoded(one, kind), data, dtype=self._dtype)
        return self._decoded(data, kind)

    def _decoded(self, data: TensorLike, kind: Any) -> Any:
        raw = LOGICAL_OR(EQUAL(kind, "raw"), EQUAL(kind, "RAW"))
        image = cond(raw, lambda: decode_raw(data, self._dtype), lambda: self._encoded(data))
        if self._shape is not None:
            return RESHAPE(image, self._shape)
        image.set_shape([None, None, self._channels])
        return image

    def _encoded(self, data: TensorLike) -> Any:
        return cast(decode_image(data, self._channels), self._dtype)


class TFExampleDecoder(DataDecoder):
    """Decodes tf.Example messages: features by `keys_to_features`, and items of them by `items_to_handlers`."""

    def __init__(self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]) -> None:
        self._features, self._handlers = dict(keys_to_features), dict(items_to_handlers)

    def list_items(self) -> list[str]:
        """Returns the names of the items."""
        return list(self._handlers)

    def decode(self, serialized_example: TensorLike, items: Sequence[str] | None = None) -> list[Any]:
        """Returns the tensors of `items`, by default of all, of a serialized message, a string scalar."""
        example = dict(parse_single_example(serialized_example, self._features))
        for key, feature in self._features.items():
            if isinstance(feature, FixedLenFeature):
                example[key] = RESHAPE(example[key], feature.shape)
        handlers = [self._handlers[item] for item in (items or self._handlers)]
        return [h.tensors_to_item({key: example[key] for key in h.keys}) for h in handlers]
