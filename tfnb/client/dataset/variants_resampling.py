"""Seldom used functions of `tf.data`: single elements, data sets as variants, resampling by class.

Invariant: a data set is known by its variant scalar and the specification of its elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.client.dataset.api import Transformation, map_and_batch
from tfnb.client.dataset.dataset import Dataset
from tfnb.client.dataset.element_spec import ElementSpec
from tfnb.client.dataset.functions import call_with
from tfnb.client.dataset.groups import scan
from tfnb.client.dataset.iterators import Iterator
from tfnb.client.dataset.type_specs import SparseTensorSpec, TensorSpec, TypeSpec
from tfnb.client.graph.nest import flatten, pack
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.device_spec import DeviceSpec
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.gather import gather
from tfnb.ops.dataset.data_set_forms import SINGLE_ELEMENT
from tfnb.ops.linalg.diag import one_hot
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import LESS
from tfnb.ops.math.reduce_functions import reduce_max, reduce_sum
from tfnb.ops.random.functions import random_uniform
from tfnb.types import ShapeLike, as_shape, float32, scalar, variant

__all__ = [
    "DatasetSpec",
    "copy_to_device",
    "from_variant",
    "get_output_classes",
    "get_single_element",
    "map_and_batch_with_legacy_function",
    "rejection_resample",
    "to_variant",
]


class DatasetSpec(TypeSpec):
    """The specification of a data set: those of its elements, and the shape of a tensor of data sets."""

    value_type = Dataset

    def __init__(self, element_spec: object, dataset_shape: ShapeLike = ()) -> None:
        self.element_spec = element_spec
        self.dataset_shape = as_shape(dataset_shape)

    def _contents(self) -> tuple[Any, ...]:
        return self.element_spec, self.dataset_shape


def get_single_element(dataset: Dataset) -> Any:
    """Returns the tensors of the only element of a data set, in the structure of an element.

    A step raises `InvalidArgumentError` for an empty data set, and for one with more elements. Raises `DTypeError`
    for anything but a data set.
    """
    if not isinstance(dataset, Dataset):
        raise DTypeError("`dataset` must be a `tf.data.Dataset` object.")
    spec = dataset.element_spec
    outputs = SINGLE_ELEMENT(dataset.variant, **spec.wire_attrs())
    return spec.unwired(outputs if isinstance(outputs, list) else [outputs])


def get_output_classes(dataset_or_iterator: Dataset | Iterator) -> Any:
    """Returns `tf.Tensor` or `tf.SparseTensor` for each component of an element, in the structure of an element."""
    return dataset_or_iterator.output_classes


def to_variant(dataset: Dataset) -> Tensor:
    """Returns the variant scalar that stands for a data set."""
    return dataset.variant


def from_variant(variant: TensorLike, structure: object) -> Dataset:
    """Returns the data set that a variant scalar stands for.

    structure: `tf.TensorSpec` or `tf.SparseTensorSpec` for each component, in the structure of an element. Raises
    `DTypeError` for another tensor or another specification.
    """
    handle = get_default_graph().to_tensor(variant)
    if handle.dtype is not _VARIANT or not handle.shape.is_compatible_with(scalar):
        raise DTypeError(f"from_variant: needed a variant scalar, got {handle.dtype.name}, shape {handle.shape}")
    specs = flatten(structure)
    if not all(isinstance(s, (TensorSpec, SparseTensorSpec)) for s in specs):
        raise DTypeError(f"from_variant: needed a structure of TensorSpec or SparseTensorSpec, got {structure}")
    classes = [SparseTensor if isinstance(s, SparseTensorSpec) else Tensor for s in specs]
    types, shapes = ([getattr(s, of) for s in specs] for of in ("dtype", "shape"))
    declared = ElementSpec.declared(*(pack(structure, part) for part in (types, shapes, classes)))
    return Dataset(handle, declared)


_VARIANT = variant


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """Returns the transformation that leaves a data set as it is: a step copies elements to the device that uses them.

    target_device, source_device: names of devices. Raises an error for what is no name of a device.
    """
    for name in (target_device, source_device):
        DeviceSpec.from_string(name)
    return lambda dataset: dataset


def map_and_batch_with_legacy_function(
    map_func: Callable[..., Any],
    batch_size: int,
    num_parallel_batches: int | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: int | None = None,
) -> Transformation:
    """Returns `tf.data.experimental.map_and_batch` of the same arguments: functions have one form here."""
    return map_and_batch(map_func, batch_size, num_parallel_batches, drop_remainder, num_parallel_calls)


def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: TensorLike,
    initial_dist: TensorLike | None = None,
    seed: int | None = None,
) -> Transformation:
    """Returns the transformation into pairs (class, element) whose classes are distributed as `target_dist`.

    class_func: gives the class of an element, an int32 scalar. target_dist: the probabilities of the classes.
    initial_dist: those in the data set, by which elements are left out; None: they are counted, beginning with one of
    each. seed: that of the choice. Raises `InvalidArgumentError` when the two have different lengths.
    """

    def apply(dataset: Dataset) -> Dataset:
        target = get_default_graph().to_tensor(target_dist, float32)
        count = target.shape.num_elements()
        if count is None:
            raise InvalidArgumentError("rejection_resample: the number of classes in target_dist must be known")
        known = None if initial_dist is None else get_default_graph().to_tensor(initial_dist, float32)
        if known is not None and not known.shape.is_compatible_with((count,)):
            raise InvalidArgumentError(f"rejection_resample: {count} classes, initial_dist of shape {known.shape}")

        def with_class(*element: object) -> tuple[Any, Any]:
            whole = element if len(element) > 1 else element[0]
            return call_with(class_func, whole), whole

        def kept(number: TensorLike, distribution: TensorLike) -> Tensor:
            ratios = get_default_graph().to_tensor(target) / get_default_graph().to_tensor(distribution)
            chance = gather(ratios / reduce_max(ratios), number)
            return LESS(random_uniform([], dtype=float32, seed=seed), chance)

        pairs = dataset.map(with_class)
        if known is not None:
            return pairs.filter(lambda number, element: kept(number, known))

        def counted(counts: Tensor, pair: tuple[Tensor, Any]) -> tuple[Any, Any]:
            after = counts + cast(one_hot(pair[0], count), float32)
            return after, (pair[0], pair[1], after / reduce_sum(after))

        ones = np.ones(count, np.float32)
        estimated = pairs.apply(scan(ones, counted))
        chosen = estimated.filter(lambda number, element, distribution: kept(number, distribution))
        return chosen.map(lambda number, element, distribution: (number, element))

    return apply
