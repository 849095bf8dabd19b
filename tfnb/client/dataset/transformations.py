"""The transformations of a data set into another one (`tf.data.Dataset`): map, filter, shuffle, batch and the like.

`Transformations` is a part of the class `Dataset` and is generic in it, so that every method returns a `Dataset`.
Invariant: a transformation never changes the data set that it is called on.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from tfnb.client.dataset.element_sequence import ElementSequence
from tfnb.client.dataset.element_spec import ElementSpec, shape_leaves, static_shape
from tfnb.client.dataset.elements import SparseType, mapped, normal, parts
from tfnb.client.dataset.functions import Traced, call_with, trace
from tfnb.client.graph.nest import flatten, pack
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.const import constant_value
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.opdef import OpDef
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.dataset import transform_ops as ops
from tfnb.ops.dataset.definition import SkipCount
from tfnb.ops.io.serialized_tensors import serialize_many_sparse
from tfnb.ops.math.cast import cast
from tfnb.ops.random.functions import seeds_for
from tfnb.types import DType, Shape, as_shape, bool_, int32, int64, scalar, string, variant

__all__ = ["Transformations", "long", "rows"]

DatasetT = TypeVar("DatasetT", bound="Transformations[Any]")


class Transformations(Generic[DatasetT]):
    """The methods of a data set that return another data set, of the class `DatasetT`."""

    variant: Tensor
    element_spec: ElementSpec
    inner: tuple[ElementSpec, ...]

    @abstractmethod
    def _create(self, variant: Tensor, spec: ElementSpec) -> DatasetT:
        """Returns the data set that a variant scalar describes. `Dataset` defines this method."""

    @abstractmethod
    def _derive(
        self,
        op: OpDef,
        inputs: Sequence[Any],
        spec: ElementSpec | None = None,
        also: Sequence[DatasetT] = (),
        skip_counts: Sequence[SkipCount] = (),
        inner: Sequence[ElementSpec] = (),
        **attrs: Any,
    ) -> DatasetT:
        """Returns the data set that `op` computes from this one and from further inputs. `Dataset` defines this method.

        spec: describes its elements; None if they are like those of this data set. also: further data sets among the
        inputs. attrs: attributes of the op.
        """

    def concatenate(self, dataset: DatasetT) -> DatasetT:
        """Returns a data set of the elements of this one, then those of `dataset`. Raises `DTypeError` when their types
        differ.
        """
        own_spec, other_spec = self.element_spec, dataset.element_spec
        if not own_spec.has_types_of(other_spec):
            alike = len(own_spec.shapes) == len(other_spec.shapes)
            what = "have different types" if alike else "don't have the same number of elements"
            raise DTypeError(f"Two datasets to concatenate {what}: {own_spec.types} and {other_spec.types}")
        pairs = zip(own_spec.shapes, other_spec.shapes, strict=True)
        shapes = [a.most_specific_compatible_shape(b) for a, b in pairs]
        return self._derive(ops.CONCATENATE, [dataset.variant], ElementSpec.of(own_spec.types, shapes), also=[dataset])

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: TensorLike | None = None,
        *,
        num_threads: TensorLike | None = None,
        output_buffer_size: TensorLike | None = None,
    ) -> DatasetT:
        """Returns a data set of the elements `map_func(element)`. The items of a tuple are passed as separate
        arguments.

        The function is called once, with symbolic tensors, and may return a tensor or a structure of tensors; a list is
        a tuple here, and a named tuple is passed as one argument. What it does to variables and queues it does for each
        element; they must be of the task that computes the data set.
        num_parallel_calls: the number of elements that are computed at once, an int32 scalar; the order is kept.
        num_threads, output_buffer_size: TensorFlow 1.2's `tf.contrib.data.Dataset` had these for `num_parallel_calls`
        and for a `prefetch` of the result.
        """
        if num_threads is not None or output_buffer_size is not None:
            mapped = self.map(map_func, num_threads if num_parallel_calls is None else num_parallel_calls)
            return mapped if output_buffer_size is None else mapped.prefetch(output_buffer_size)
        f = trace(self._on_elements(map_func), self.element_spec, _mapped_element, "map")
        spec = ElementSpec.of(f.result, [x.shape for x in parts(f.result)])
        if num_parallel_calls is None:
            return self._derive(ops.MAP, [f.captured], spec, f=f.function)
        calls = get_default_graph().to_tensor(num_parallel_calls, int32)
        return self._derive(ops.PARALLEL_MAP, [f.captured, calls], spec, f=f.function)

    def map_with_legacy_function(
        self, map_func: Callable[..., Any], num_parallel_calls: TensorLike | None = None
    ) -> DatasetT:
        """Returns what `map` returns: functions of both kinds of TensorFlow's graphs are one kind here."""
        return self.map(map_func, num_parallel_calls)

    def flat_map(self, map_func: Callable[..., Any]) -> DatasetT:
        """Returns a data set of the elements of the data sets that `map_func` returns for each element, one data set
        after the other.

        Raises `DTypeError` when it returns anything else.
        """
        f, spec = self._trace_dataset(map_func, "flat_map")
        return self._derive(ops.FLAT_MAP, [f.captured], spec, f=f.function)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: TensorLike = 1,
        block_length: TensorLike = 1,
        num_parallel_calls: TensorLike | None = None,
    ) -> DatasetT:
        """Returns a data set of the elements of the data sets that `map_func` returns for each element, interleaved.

        `block_length` elements are taken in turn from each of `cycle_length` data sets. The elements are computed
        one after the other, whatever `num_parallel_calls` is. Raises `DTypeError` when `map_func` returns no data set.
        """
        f, spec = self._trace_dataset(map_func, "interleave")
        inputs = [f.captured, long(cycle_length), long(block_length)]
        return self._derive(ops.INTERLEAVE, inputs, spec, f=f.function)

    def filter(self, predicate: Callable[..., Any]) -> DatasetT:
        """Returns a data set of the elements for which `predicate(element)`, a bool scalar tensor, is true.

        Raises `DTypeError` when it returns anything else.
        """
        f = self._trace(predicate, "filter")
        (predicate_result,) = f.function.outputs if len(f.function.outputs) == 1 else (None,)
        if (
            predicate_result is None
            or predicate_result.dtype is not bool_
            or not predicate_result.shape.is_compatible_with(as_shape([]))
        ):
            raise DTypeError("`predicate` must return a scalar boolean tensor.")
        return self._derive(ops.FILTER, [f.captured], predicate=f.function)

    def shuffle(
        self, buffer_size: TensorLike, seed: int | None = None, reshuffle_each_iteration: bool | None = None
    ) -> DatasetT:
        """Returns a data set of the elements in random order. Each is drawn from a buffer of the next `buffer_size`
        elements.

        A seed makes the order repeatable. Every iteration has another order unless `reshuffle_each_iteration` is False.
        """
        if is_tensor_like(seed):
            seeds: dict[str, Any] = {"seed": get_default_graph().seed or 0, "seed2": seed}
        else:
            seeds = seeds_for(get_default_graph(), seed)
        reshuffle = True if reshuffle_each_iteration is None else bool(reshuffle_each_iteration)
        inputs = [long(buffer_size), long(seeds["seed"]), long(seeds["seed2"])]
        return self._derive(ops.SHUFFLE, inputs, reshuffle_each_iteration=reshuffle)

    def repeat(self, count: TensorLike | None = None) -> DatasetT:
        """Returns a data set of all elements `count` times, an int64 scalar. None or -1 means without end."""
        return self._derive(ops.REPEAT, [long(-1 if count is None else count)])

    def batch(self, batch_size: TensorLike, drop_remainder: TensorLike = False) -> DatasetT:
        """Batches of `batch_size` consecutive elements, stacked along a new first axis.

        The last batch may be smaller; `drop_remainder` drops it then. A step raises `InvalidArgumentError` when the
        shapes of the elements of a batch differ.
        """
        size, drop = long(batch_size), get_default_graph().to_tensor(drop_remainder, bool_)
        first = _first(size, drop)
        spec = self.element_spec
        shapes = [s if s.sizes is None else Shape((first, *s.sizes)) for s in spec.shapes]
        return self._derive(ops.BATCH, [size, drop], ElementSpec.of(spec.types, shapes))

    def padded_batch(
        self,
        batch_size: TensorLike,
        padded_shapes: object = None,
        padding_values: object = None,
        drop_remainder: TensorLike = False,
    ) -> DatasetT:
        """Batches of `batch_size` consecutive elements, each padded at its end to the shape `padded_shapes`.

        padded_shapes: a structure of shapes or of integer vectors, by default the static shapes; a dimension that is
        None or -1 becomes that of the longest element of the batch. padding_values: a structure of scalars, zeros by
        default, and empty strings.
        Raises `DTypeError` for elements with sparse components, which `batch` stacks without padding, and `ShapeError`
        when the rank of a component is unknown.
        """
        spec, dtypes = self.element_spec, [d for d in self.element_spec.flat_types if not isinstance(d, SparseType)]
        if len(dtypes) < len(spec.shapes):
            raise DTypeError("Batching of padded sparse tensors is not supported: use batch")
        leaves = spec.shapes if padded_shapes is None else shape_leaves(spec.types, padded_shapes)
        target_shapes = [static_shape(leaf) for leaf in leaves]
        pads = [None] * len(dtypes) if padding_values is None else flatten(padding_values)
        size, drop = long(batch_size), get_default_graph().to_tensor(drop_remainder, bool_)
        graph = get_default_graph()
        vectors = [
            cast(graph.to_tensor(leaf), int64) if is_tensor_like(leaf) else graph.to_tensor(_as_vector(s), int64)
            for leaf, s in zip(leaves, target_shapes, strict=True)
        ]
        values = [graph.to_tensor(_zero(d) if p is None else p, d) for p, d in zip(pads, dtypes, strict=True)]
        first = _first(size, drop)
        shapes = [Shape(None) if s.sizes is None else Shape((first, *s.sizes)) for s in target_shapes]
        return self._derive(ops.PADDED_BATCH, [size, vectors, values, drop], ElementSpec.of(spec.types, shapes))

    def prefetch(self, buffer_size: TensorLike | None) -> DatasetT:
        """Returns a data set of the same elements. A thread computes up to `buffer_size` of them ahead, while steps
        run; None means a number that it chooses.
        """
        return self._derive(ops.PREFETCH, [long(-1 if buffer_size is None else buffer_size)])

    def take(self, count: TensorLike) -> DatasetT:
        """Returns a data set of the first `count` elements, an int64 scalar. -1 means all."""
        return self._derive(ops.TAKE, [long(count)])

    def skip(self, count: TensorLike) -> DatasetT:
        """Returns a data set of all elements but the first `count`, an int64 scalar. -1 skips all of them."""
        return self._derive(ops.SKIP, [long(count)])

    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> DatasetT:
        """Returns what `filter` returns: functions of both kinds of TensorFlow's graphs are one kind here."""
        return self.filter(predicate)

    def shard(self, num_shards: TensorLike, index: TensorLike) -> DatasetT:
        """Returns a data set of the elements whose position modulo `num_shards` is `index`, one of `num_shards` parts
        of this data set. Raises `InvalidArgumentError` when there is no such part.
        """
        n, k = (c if isinstance(c, int) else None for c in (num_shards, index))
        if n is not None and (n < 1 or (k is not None and not 0 <= k < n)):
            raise InvalidArgumentError(f"shard: num_shards must be >= 1 and index in [0, num_shards), got {n} and {k}")
        return self._derive(ops.SHARD, [long(num_shards), long(index)])

    def cache(self, filename: TensorLike = "") -> DatasetT:
        """Returns a data set of the same elements, which the first complete iteration stores.

        They are stored in memory, or in the file `filename`, which later programs read, if it is not empty.
        """
        return self._derive(ops.CACHE, [get_default_graph().to_tensor(filename, string)])

    def window(
        self, size: TensorLike, shift: TensorLike | None = None, stride: TensorLike = 1, drop_remainder: bool = False
    ) -> DatasetT:
        """Windows of `size` elements that are `stride` apart.

        A window starts every `shift` elements, by default every `size`. Each component of a window is a data
        set of that component, for `flat_map` and the like. The last windows may have fewer elements;
        `drop_remainder` drops them then.
        """
        drop = get_default_graph().to_tensor(drop_remainder, bool_)
        inputs = [long(size), long(size if shift is None else shift), long(stride), drop]
        spec = self.element_spec
        dtypes = spec.flat_types
        datasets = ElementSpec.of(pack(spec.types, [variant] * len(dtypes)), [scalar] * len(dtypes))
        inner = [ElementSpec(d, (s,)) for d, s in zip(dtypes, spec.shapes, strict=True)]
        return self._derive(ops.WINDOW, inputs, datasets, inner=inner)

    def unbatch(self) -> DatasetT:
        """Returns a data set of the rows of each element along its first axis, as separate elements."""
        spec = self.element_spec
        split = ElementSpec.of(spec.types, [s[1:] for s in spec.shapes])
        if any(isinstance(t, SparseType) for t in spec.flat_types):
            wired_dataset = self.map(lambda *e: mapped(e if type(spec.types) is tuple else e[0], rows))
            result: DatasetT = wired_dataset._derive(ops.UNBATCH, [], split)
            return result
        return self._derive(ops.UNBATCH, [], split)

    def ignore_errors(self) -> DatasetT:
        """Returns a data set of the elements that can be computed. Elements whose computation fails are skipped;
        `skipped` counts them.
        """
        count = SkipCount()
        return self._derive(ops.IGNORE_ERRORS, [], skip_counts=[count], skipped=count)

    def apply(self, transformation_func: Callable[[Any], DatasetT]) -> DatasetT:
        """Returns `transformation_func(self)`, so that other transformations can be used in a chain of methods.

        Raises `DTypeError` when the function returns no data set.
        """
        result = transformation_func(self)
        if not isinstance(result, ElementSequence):
            raise DTypeError("`transformation_func` must return a Dataset.")
        return result

    def _trace(self, fn: Callable[..., Any], what: str) -> Traced:
        return trace(self._on_elements(fn), self.element_spec, normal, what)

    def _trace_dataset(self, fn: Callable[..., Any], what: str) -> tuple[Traced, ElementSpec]:
        """Traces a function that returns a data set; also the specification of that data set's elements."""
        results: list[ElementSequence] = []

        def finish(dataset: object) -> Tensor:
            if not isinstance(dataset, ElementSequence):
                raise DTypeError("`map_func` must return a Dataset object.")
            results.append(dataset)
            return dataset.variant

        f = trace(self._on_elements(fn), self.element_spec, finish, what)
        return f, results[0].element_spec

    def _on_elements(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Returns `fn` as a function of the components. In a data set of data sets, each component is passed as a data
        set.
        """
        if not self.inner:
            return fn
        types = self.element_spec.types

        def call(*components: object) -> Any:
            variants = flatten(components if type(types) is tuple else components[0])
            datasets = [self._create(v, spec) for v, spec in zip(variants, self.inner, strict=True)]
            return call_with(fn, pack(types, datasets))

        return call


def _mapped_element(returned: object) -> Any:
    """Returns the element that `map_func` has returned. A list, as of `tf.py_func`, is a tuple of components."""
    return normal(tuple(returned) if isinstance(returned, list) else returned)


def long(value: TensorLike) -> Tensor:
    """Returns an int64 scalar tensor for an integer or a tensor of integers."""
    if is_tensor_like(value):
        t: Tensor = graph_of([value]).to_tensor(value)
        return t if t.dtype is int64 else cast(t, int64)
    return get_default_graph().to_tensor(np.int64(value), int64)  # type: ignore[arg-type]


def rows(component: Tensor | SparseTensor) -> Tensor:
    """Returns the tensor whose rows carry the rows of a component."""
    if not isinstance(component, SparseTensor):
        return component
    tensor: Tensor = serialize_many_sparse(component, out_type=variant)
    return tensor


def _first(size: Tensor, drop: Tensor) -> int | None:
    """Returns the static first dimension of batches: the batch size, if it is constant and no batch is smaller."""
    n, drops_remainder = constant_value(size), constant_value(drop)
    return int(n) if n is not None and drops_remainder is not None and bool(drops_remainder) else None


def _as_vector(shape: Shape) -> np.ndarray:
    if shape.sizes is None:
        raise ShapeError("padded_batch: the rank of every component must be known; give `padded_shapes`")
    return np.array([-1 if d is None else d for d in shape.sizes], np.int64)


def _zero(dtype: DType) -> bytes | np.ndarray:
    return b"" if dtype is string else np.zeros((), dtype.np)
