"""`tf.data.Dataset`: chains of transformations over elements.

A data set is a variant tensor and what is known of its elements: their structure, dtypes and shapes. Elements are
tensors, sparse tensors, or tuples and dicts of them. Invariant: a transformation never changes the data set that it is
called on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.dataset.elements import (
    SparseType,
    mapped,
    normal,
    parts,
    type_of,
    value_dtype,
    wired,
)
from tfnb.client.dataset.functions import Traced, call_with, trace
from tfnb.client.dataset.iterators import Iterator, flat_shapes, type_structure, wire_specs
from tfnb.client.graph.nest import flatten, pack, same_structure
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.bind import to_bytes
from tfnb.ir.const import constant_value
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.dataset import dataset_ops as ops
from tfnb.ops.io.files import MATCHING_FILES
from tfnb.ops.io.serialized_tensors import serialize_many_sparse
from tfnb.ops.math.cast import cast
from tfnb.ops.random.functions import seeds_for
from tfnb.types import DType, Shape, as_shape, bool_, int32, int64, string, variant

__all__ = ["Dataset"]


def long(value: Any) -> Tensor:
    """An int64 scalar."""
    if is_tensor_like(value):
        t: Tensor = graph_of([value]).to_tensor(value)
        return t if t.dtype is int64 else cast(t, int64)
    return get_default_graph().to_tensor(np.int64(value), int64)


class Dataset:
    """A sequence of elements, each of the same structure of tensors."""

    def __init__(self, variant: Tensor, types: Any, shapes: Sequence[Shape]) -> None:
        self.variant = variant
        self._types = types
        self.flat_shapes = list(shapes)
        self._skipped: list[ops.SkipCount] = []

    # ---- what it is -------------------------------------------------------------------------

    @property
    def output_types(self) -> Any:
        return mapped(self._types, value_dtype)

    @property
    def output_shapes(self) -> Any:
        return pack(self._types, self.flat_shapes)

    @property
    def output_classes(self) -> Any:
        return mapped(self._types, lambda t: SparseTensor if isinstance(t, SparseType) else Tensor)

    @property
    def skipped(self) -> int:
        """How many damaged records and failed elements were left out so far, here and in what it is made of."""
        return sum(s.total for s in self._skipped)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} shapes: {self.output_shapes}, types: {self.output_types}>"

    # ---- where elements come from -----------------------------------------------------------

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset:
        """One element: a tensor or a structure of tensors, sparse ones too."""
        value = normal(tensors)
        flat = parts(value)
        return _made("TensorDataset", [[wired(t) for t in flat]], value, [t.shape for t in flat])

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset:
        """The rows of tensors, which must agree in their first dimension. Raises `ShapeError`."""
        value = normal(tensors)
        flat = parts(value)
        for t in flat:
            if t.shape.ndims == 0 or (t.shape.ndims == 1 and isinstance(t, SparseTensor)):
                raise ShapeError(f"from_tensor_slices: {t.name} of shape {t.shape} has no rows of its kind", t.op)
            t.shape[:1].merge_with(flat[0].shape[:1])
        return _made("TensorSliceDataset", [[_rows(t) for t in flat]], value, [t.shape[1:] for t in flat])

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: Any) -> Dataset:
        """The rows of a sparse tensor of rank 2 or more, as (indices, values, dense_shape) of dense tensors.

        Its indices must be in order. Raises `DTypeError` for what is not sparse.
        """
        if not isinstance(sparse_tensor, (SparseTensor, SparseTensorValue)):
            raise DTypeError(f"needed a SparseTensor, got {type(sparse_tensor).__name__}")
        given = SparseTensor.from_value(sparse_tensor)
        rank = None if given.shape.ndims is None else given.shape.ndims - 1
        shapes = [Shape((None, rank)), Shape((None,)), Shape((rank,))]
        inputs = [given.indices, given.values, given.dense_shape]
        return _made("SparseTensorSliceDataset", inputs, (int64, given.dtype, int64), shapes)

    @staticmethod
    def from_generator(
        generator: Callable[..., Any], output_types: Any, output_shapes: Any = None, args: Sequence[Any] | None = None
    ) -> Dataset:
        """What `generator(*args)` yields: values, or structures of them like `output_types`.

        The function runs in this process, once per walk. A value that fits no type or shape is an
        `InvalidArgumentError` of the step.
        """
        if not callable(generator):
            raise DTypeError("`generator` must be callable.")
        types, dtypes, shapes = type_structure(output_types, output_shapes)
        given = [get_default_graph().to_tensor(a) for a in args or ()]

        def convert(value: Tensor) -> tuple[Any, ...]:
            return _converted(value, types, dtypes, shapes)

        return _made("GeneratorDataset", [given], types, shapes, generator=generator, convert=convert)

    @staticmethod
    def range(*args: Any) -> Dataset:
        """The int64 numbers of `range(stop)`, `range(start, stop)` or `range(start, stop, step)`."""
        bounds = {1: (0, *args, 1), 2: (*args, 1), 3: args}.get(len(args))
        if bounds is None:
            raise InvalidArgumentError(f"range takes 1 to 3 numbers, got {len(args)}")
        return _made("RangeDataset", [long(b) for b in bounds], int64, [as_shape([])])

    @staticmethod
    def list_files(file_pattern: Any, shuffle: bool | None = None, seed: int | None = None) -> Dataset:
        """The names of the files that match a pattern (or several), in a random order unless `shuffle` is False."""
        names = Dataset.from_tensor_slices(MATCHING_FILES(file_pattern))
        if shuffle is False:
            return names
        return names.shuffle(1 << 20, seed)

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        """Elements of a structure of data sets side by side, as many as the shortest has."""
        flat = flatten(datasets)
        if isinstance(datasets, list) or not all(isinstance(d, Dataset) for d in flat):
            raise DTypeError("zip needed a tuple or dict of data sets")
        types = pack(datasets, [d._types for d in flat])
        shapes = [s for d in flat for s in d.flat_shapes]
        return _made("ZipDataset", [[d.variant for d in flat]], types, shapes, below=flat)

    # ---- transformations --------------------------------------------------------------------

    def concatenate(self, dataset: Dataset) -> Dataset:
        """These elements, then those of `dataset`, which must have the same types."""
        if not same_structure(self._types, dataset._types) or flatten(self._types) != flatten(dataset._types):
            raise DTypeError(f"cannot concatenate data sets of types {self._types} and {dataset._types}")
        shapes = [_common(a, b) for a, b in zip(self.flat_shapes, dataset.flat_shapes, strict=True)]
        return self._then("ConcatenateDataset", [dataset.variant], shapes=shapes, also=[dataset])

    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None) -> Dataset:
        """`map_func` of each element (a tuple's parts are its arguments), traced once into a graph of its own.

        num_parallel_calls: how many are computed at once; the order stays.
        """
        f = self._trace(map_func, "map")
        rest = [f.captured]
        if num_parallel_calls is not None:
            rest.append(get_default_graph().to_tensor(num_parallel_calls, int32))
        shapes = [x.shape for x in parts(f.result)]
        name = "MapDataset" if num_parallel_calls is None else "ParallelMapDataset"
        return self._then(name, rest, f.result, shapes, f=f.function)

    def flat_map(self, map_func: Callable[..., Any]) -> Dataset:
        """The elements of the data sets that `map_func` makes of each element, one after the other."""
        f, inner = self._trace_dataset(map_func, "flat_map")
        return self._then("FlatMapDataset", [f.captured], inner._types, inner.flat_shapes, f=f.function)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: int = 1,
        block_length: int = 1,
        num_parallel_calls: Any = None,
    ) -> Dataset:
        """As `flat_map`, of `cycle_length` data sets in turn, `block_length` elements at a time."""
        f, inner = self._trace_dataset(map_func, "interleave")
        rest = [f.captured, long(cycle_length), long(block_length)]
        return self._then("InterleaveDataset", rest, inner._types, inner.flat_shapes, f=f.function)

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """The elements for which `predicate`, a bool scalar tensor of them, is true."""
        f = self._trace(predicate, "filter")
        (found,) = f.function.outputs if len(f.function.outputs) == 1 else (None,)
        if found is None or found.dtype is not bool_ or not found.shape.is_compatible_with(as_shape([])):
            raise DTypeError("`predicate` must return a scalar boolean tensor.")
        return self._then("FilterDataset", [f.captured], f=f.function)

    def shuffle(
        self, buffer_size: TensorLike, seed: int | None = None, reshuffle_each_iteration: bool | None = None
    ) -> Dataset:
        """The elements in another order: each is a random one of a buffer of the next `buffer_size`.

        A seed makes it repeatable; each walk mixes anew unless `reshuffle_each_iteration` is False.
        """
        seeds = seeds_for(get_default_graph(), seed)
        again = True if reshuffle_each_iteration is None else bool(reshuffle_each_iteration)
        rest = [long(buffer_size), long(seeds["seed"]), long(seeds["seed2"])]
        return self._then("ShuffleDataset", rest, reshuffle_each_iteration=again)

    def repeat(self, count: Any = None) -> Dataset:
        """All elements `count` times; None or -1: for ever."""
        return self._then("RepeatDataset", [long(-1 if count is None else count)])

    def batch(self, batch_size: TensorLike, drop_remainder: bool = False) -> Dataset:
        """Elements stacked, `batch_size` at a time; at the end fewer, unless `drop_remainder`."""
        size, drop = long(batch_size), get_default_graph().to_tensor(drop_remainder, bool_)
        first = _first(size, drop)
        shapes = [s if s.dims is None else Shape((first, *s.dims)) for s in self.flat_shapes]
        return self._then("BatchDatasetV2", [size, drop], shapes=shapes)

    def padded_batch(
        self,
        batch_size: TensorLike,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
    ) -> Dataset:
        """As `batch`, of elements padded to `padded_shapes`; where a dimension is None or -1, to the longest.

        padding_values: a structure of scalars; zeros and empty strings by default. Raises `DTypeError` for elements
        with sparse tensors, which need no padding: see `batch`.
        """
        dtypes = flatten(self._types)
        if any(isinstance(d, SparseType) for d in dtypes):
            raise DTypeError("Batching of padded sparse tensors is not supported: use batch")
        wanted = self.flat_shapes if padded_shapes is None else flat_shapes(self._types, padded_shapes)
        pads = [None] * len(dtypes) if padding_values is None else flatten(padding_values)
        size, drop = long(batch_size), get_default_graph().to_tensor(drop_remainder, bool_)
        graph = get_default_graph()
        vectors = [graph.to_tensor(_as_vector(s), int64) for s in wanted]
        values = [graph.to_tensor(_zero(d) if p is None else p, d) for p, d in zip(pads, dtypes, strict=True)]
        first = _first(size, drop)
        shapes = [Shape(None) if s.dims is None else Shape((first, *s.dims)) for s in wanted]
        return self._then("PaddedBatchDatasetV2", [size, vectors, values, drop], shapes=shapes)

    def prefetch(self, buffer_size: TensorLike) -> Dataset:
        """The same elements, up to `buffer_size` of them made ahead by a thread while steps compute."""
        return self._then("PrefetchDataset", [long(buffer_size)])

    def take(self, count: Any) -> Dataset:
        """The first `count` elements; -1: all."""
        return self._then("TakeDataset", [long(count)])

    def skip(self, count: Any) -> Dataset:
        """All but the first `count` elements; -1: none."""
        return self._then("SkipDataset", [long(count)])

    def shard(self, num_shards: Any, index: Any) -> Dataset:
        """Every `num_shards`-th element, from number `index` on."""
        return self._then("ShardDataset", [long(num_shards), long(index)])

    def cache(self, filename: TensorLike = "") -> Dataset:
        """The same elements, kept by the first complete walk: in memory, or in a file for later programs too."""
        return self._then("CacheDataset", [get_default_graph().to_tensor(filename, string)])

    def window(self, size: TensorLike, shift: Any = None, stride: int = 1, drop_remainder: bool = False) -> Dataset:
        """Data sets of `size` elements, `stride` apart, one every `shift` (default: `size`) elements.

        An element is a data set, or a structure of data sets, one per component; for `flat_map` and the like.
        """
        drop = get_default_graph().to_tensor(drop_remainder, bool_)
        rest = [long(size), long(size if shift is None else shift), long(stride), drop]
        return nested(self, "WindowDataset", rest)

    def unbatch(self) -> Dataset:
        """The rows of each element."""
        shapes, source = [s[1:] for s in self.flat_shapes], self
        if any(isinstance(t, SparseType) for t in flatten(self._types)):
            source = self.map(lambda *e: mapped(e if isinstance(self._types, tuple) else e[0], _rows))
        return source._then("UnbatchDataset", [], self._types, shapes)

    def ignore_errors(self) -> Dataset:
        """Leaves out elements whose making fails; `skipped` counts them."""
        count = ops.SkipCount()
        made = self._then("IgnoreErrorsDataset", [], skipped=count)
        made._skipped.append(count)
        return made

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """`transformation_func(self)`, for chains."""
        found = transformation_func(self)
        if not isinstance(found, Dataset):
            raise DTypeError("`transformation_func` must return a Dataset.")
        return found

    # ---- walking ----------------------------------------------------------------------------

    def make_one_shot_iterator(self) -> Iterator:
        """An iterator that needs no initialisation and walks once, in each session."""
        factory = ops.GraphFunction((), (self.variant,))
        handle = ops.ONE_SHOT(dataset_factory=factory, graph=self.variant.graph, **self._wire_specs())
        return Iterator(handle, None, self._types, self.flat_shapes)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator whose `initializer` begins a walk, with the values of placeholders fed to it."""
        handle = ops.ITERATOR(
            shared_name=shared_name or "", name="Iterator", graph=self.variant.graph, **self._wire_specs()
        )
        begin = ops.MAKE_ITERATOR(self.variant, handle)
        return Iterator(handle, begin, self._types, self.flat_shapes)

    # ---- making them ------------------------------------------------------------------------

    def _wire_specs(self) -> dict[str, Any]:
        return wire_specs(self._types, self.flat_shapes)

    def _trace(self, fn: Callable[..., Any], what: str) -> Traced:
        return trace(fn, self._types, flatten(self._types), self.flat_shapes, normal, what)

    def _trace_dataset(self, fn: Callable[..., Any], what: str) -> tuple[Traced, Dataset]:
        made: list[Dataset] = []

        def finish(found: Any) -> Any:
            if not isinstance(found, Dataset):
                raise DTypeError("`map_func` must return a Dataset object.")
            made.append(found)
            return found.variant

        f = trace(fn, self._types, flatten(self._types), self.flat_shapes, finish, what)
        return f, made[0]

    def _then(
        self,
        name: str,
        inputs: Sequence[Any],
        types: Any = None,
        shapes: Sequence[Shape] | None = None,
        also: Sequence[Dataset] = (),
        **attrs: Any,
    ) -> Dataset:
        """The data set that the op `name` makes of this one."""
        return _made(
            name,
            [self.variant, *inputs],
            self._types if types is None else types,
            self.flat_shapes if shapes is None else shapes,
            below=(self, *also),
            **attrs,
        )


class _Nested(Dataset):
    """A data set of data sets: `inner` are the types and shapes of the elements of each component."""

    inner: list[tuple[Any, list[Shape]]]

    def _trace(self, fn: Callable[..., Any], what: str) -> Traced:
        return super()._trace(self._with_datasets(fn), what)

    def _trace_dataset(self, fn: Callable[..., Any], what: str) -> tuple[Traced, Dataset]:
        return super()._trace_dataset(self._with_datasets(fn), what)

    def _with_datasets(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        def call(*parts: Any) -> Any:
            variants = flatten(parts if isinstance(self._types, tuple) else parts[0])
            datasets = [Dataset(v, types, shapes) for v, (types, shapes) in zip(variants, self.inner, strict=True)]
            return call_with(fn, pack(self._types, datasets))

        return call


def nested(dataset: Dataset, name: str, inputs: Sequence[Any]) -> Dataset:
    """What the op `name` makes of a data set: data sets of its components."""
    dtypes = flatten(dataset._types)
    shapes = [as_shape([])] * len(dtypes)
    types = pack(dataset._types, [variant] * len(dtypes))
    plain = _made(name, [dataset.variant, *inputs], types, shapes, (dataset,))
    found = _Nested(plain.variant, plain.output_types, shapes)
    found._skipped = plain._skipped
    found.inner = [(d, [s]) for d, s in zip(dtypes, dataset.flat_shapes, strict=True)]
    return found


def _made(
    name: str, inputs: Sequence[Any], types: Any, shapes: Sequence[Shape], below: Sequence[Dataset] = (), **attrs: Any
) -> Dataset:
    """A data set of elements like `types`, a structure of types or of tensors."""
    structure = mapped(types, type_of)
    graph = graph_of([t for x in inputs for t in (x if isinstance(x, list) else [x])])
    handle = ops.BY_NAME[name](*inputs, graph=graph, **wire_specs(structure, shapes), **attrs)
    found = Dataset(handle, structure, shapes)
    found._skipped = [s for d in below for s in d._skipped]
    return found


def _rows(component: Any) -> Tensor:
    """The rows of a component, as they are inside."""
    found: Tensor = serialize_many_sparse(component) if isinstance(component, SparseTensor) else component
    return found


def _first(size: Tensor, drop: Tensor) -> int | None:
    """The static first dimension of batches."""
    n, exact = constant_value(size), constant_value(drop)
    return int(n) if n is not None and exact is not None and bool(exact) else None


def _common(a: Shape, b: Shape) -> Shape:
    """What two shapes have in common."""
    if a.dims is None or b.dims is None or len(a.dims) != len(b.dims):
        return Shape(None)
    return Shape(tuple(x if x == y else None for x, y in zip(a.dims, b.dims, strict=True)))


def _as_vector(shape: Shape) -> np.ndarray:
    if shape.dims is None:
        raise ShapeError("padded_batch: the rank of every component must be known; give `padded_shapes`")
    return np.array([-1 if d is None else d for d in shape.dims], np.int64)


def _zero(dtype: DType) -> Any:
    return b"" if dtype is string else np.zeros((), dtype.np)


def _converted(value: Tensor, types: Any, dtypes: Sequence[DType], shapes: Sequence[Shape]) -> tuple[Any, ...]:
    """What a generator yielded as an element."""
    parts = _leaves(value, types)
    found = []
    for part, dtype, shape in zip(parts, dtypes, shapes, strict=True):
        try:
            array = np.asarray(part)
            if dtype.is_string:
                array = to_bytes(array)
            elif array.dtype.kind in ("SUO" if dtype.is_floating or dtype.is_complex else "SUOfc"):
                raise TypeError(f"it is {array.dtype}")
            else:
                array = array.astype(dtype.np)
        except (TypeError, ValueError) as e:
            raise InvalidArgumentError(
                f"`generator` yielded an element that could not be converted to the expected type. The expected type "
                f"was {dtype.name}, but the yielded element was {str(part)[:80]!r}: {e}"
            ) from None
        if not shape.is_compatible_with(array.shape):
            raise InvalidArgumentError(
                f"`generator` yielded an element of shape {array.shape} where an element of shape {shape} was expected."
            )
        found.append(array)
    return tuple(found)


def _leaves(value: Tensor, types: Any) -> list[Any]:
    """The parts of a value that a generator yielded, which must have the structure of `types`."""
    if isinstance(types, Mapping):
        if isinstance(value, Mapping) and set(value) == set(types):
            return [leaf for key in sorted(types) for leaf in _leaves(value[key], types[key])]
    elif isinstance(types, tuple):
        if isinstance(value, (tuple, list)) and len(value) == len(types):
            return [leaf for v, t in zip(value, types, strict=True) for leaf in _leaves(v, t)]
    elif not isinstance(value, Mapping):
        return [value]
    raise InvalidArgumentError(
        "`generator` yielded an element that did not match the expected structure. The expected structure was "
        f"{types!r}, but the yielded element was {str(value)[:80]!r}."
    )
