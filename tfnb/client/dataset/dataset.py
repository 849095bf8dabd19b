"""`tf.data.Dataset`: the class that users see, with the sources of elements as its static methods.

The class unites three parts: sources (here), transformations and iteration (`ElementSequence`). Elements are tensors,
sparse tensors, or nested tuples and dicts of them. Invariant: every source and transformation returns a new data set.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.client.dataset.element_sequence import ElementSequence
from tfnb.client.dataset.element_spec import ElementSpec
from tfnb.client.dataset.elements import normal, parts, wired
from tfnb.client.dataset.generators import converted
from tfnb.client.dataset.options import Options
from tfnb.client.dataset.transformations import Transformations, long, rows
from tfnb.client.graph.nest import flatten, pack
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.opdef import OpDef
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.dataset import source_ops, transform_ops
from tfnb.ops.dataset.definition import SkipCount
from tfnb.ops.io.files import MATCHING_FILES
from tfnb.types import Shape, int64, scalar

__all__ = ["Dataset", "derive"]


class Dataset(Transformations["Dataset"], ElementSequence):
    """A sequence of elements, each of the same structure of tensors.

    A static method `from_...` creates one, methods such as `map` and `batch` derive another one from it, and
    `make_one_shot_iterator` or `make_initializable_iterator` return an iterator over its elements.
    """

    @staticmethod
    def from_tensors(tensors: object) -> Dataset:
        """Returns a data set of one element: a tensor, a sparse tensor, or a nested tuple or dict of them."""
        value = normal(tensors)
        flat = parts(value)
        return _computed(source_ops.TENSOR, [[wired(t) for t in flat]], ElementSpec.of(value, [t.shape for t in flat]))

    @staticmethod
    def from_tensor_slices(tensors: object) -> Dataset:
        """Returns a data set of the rows of tensors along their first axis, in the structure of `tensors`.

        Raises `ShapeError` for a tensor without rows, and when the tensors have different numbers of rows.
        """
        value = normal(tensors)
        flat = parts(value)
        for t in flat:
            if t.shape.ndims == 0 or (t.shape.ndims == 1 and isinstance(t, SparseTensor)):
                raise ShapeError(f"from_tensor_slices: {t.name} of shape {t.shape} has no rows of its kind", t.op)
            t.shape[:1].merge_with(flat[0].shape[:1])
        spec = ElementSpec.of(value, [t.shape[1:] for t in flat])
        return _computed(source_ops.TENSOR_SLICE, [[rows(t) for t in flat]], spec)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: SparseTensor | SparseTensorValue) -> Dataset:
        """Returns a data set of the rows of a sparse tensor of rank 2 or more, each as the dense tensors (indices,
        values, dense_shape).

        The indices must be in row-major order; a step raises `InvalidArgumentError` otherwise. Raises `DTypeError` for
        an argument that is not sparse.
        """
        if not isinstance(sparse_tensor, (SparseTensor, SparseTensorValue)):
            raise DTypeError(f"needed a SparseTensor, got {type(sparse_tensor).__name__}")
        sparse = SparseTensor.from_value(sparse_tensor)
        rank = None if sparse.shape.ndims is None else sparse.shape.ndims - 1
        shapes = [Shape((None, rank)), Shape((None,)), Shape((rank,))]
        inputs = [sparse.indices, sparse.values, sparse.dense_shape]
        return _computed(source_ops.SPARSE_TENSOR_SLICE, inputs, ElementSpec.of((int64, sparse.dtype, int64), shapes))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: object,
        output_shapes: object = None,
        args: Sequence[TensorLike] | None = None,
    ) -> Dataset:
        """Returns a data set of the values that the generator `generator(*args)` yields, each a value or a structure
        like `output_types`.

        output_types, output_shapes: structures of dtypes and static shapes; None means unknown shapes. args: tensors
        whose values the generator gets as NumPy arrays. The generator runs in this process, once per iteration.
        Raises `DTypeError` when it cannot be called. A step raises `InvalidArgumentError` when a value does not have
        the structure, a dtype or a shape that was declared.
        """
        if not callable(generator):
            raise DTypeError("`generator` must be callable.")
        spec = ElementSpec.declared(output_types, output_shapes)
        arg_tensors = [get_default_graph().to_tensor(a) for a in args or ()]

        def convert(value: object) -> tuple[Any, ...]:
            return converted(value, spec)

        return _computed(source_ops.GENERATOR, [arg_tensors], spec, generator=generator, convert=convert)

    @staticmethod
    def range(*args: TensorLike) -> Dataset:
        """Returns a data set of the int64 numbers of Python's `range(stop)`, `range(start, stop)` or `range(start,
        stop, step)`.

        Raises `InvalidArgumentError` unless there are 1 to 3 arguments.
        """
        bounds = {1: (0, *args, 1), 2: (*args, 1), 3: args}.get(len(args))
        if bounds is None:
            raise InvalidArgumentError(f"range takes 1 to 3 numbers, got {len(args)}")
        return _computed(source_ops.RANGE, [long(b) for b in bounds], ElementSpec(int64, (scalar,)))

    @staticmethod
    def list_files(file_pattern: TensorLike, shuffle: bool | None = None, seed: int | None = None) -> Dataset:
        """Returns a data set of the names of the files that match a glob pattern, or one of several, as string scalars.

        They are in random order, which `seed` makes repeatable; if `shuffle` is False they are sorted.
        """
        names = Dataset.from_tensor_slices(MATCHING_FILES(file_pattern))
        if shuffle is False:
            return names
        return names.shuffle(1 << 20, seed)

    @staticmethod
    def zip(datasets: object) -> Dataset:
        """Elements with the structure of `datasets`, a nested tuple or dict of data sets, with one element of each.

        There are as many as the shortest data set has. Raises `DTypeError` for anything other than data sets.
        """
        flat = flatten(datasets)
        if isinstance(datasets, list) or not all(isinstance(d, Dataset) for d in flat):
            raise DTypeError("zip needed a tuple or dict of data sets")
        types = pack(datasets, [d.element_spec.types for d in flat])
        spec = ElementSpec.of(types, [s for d in flat for s in d.element_spec.shapes])
        return _computed(transform_ops.ZIP, [[d.variant for d in flat]], spec, below=flat)

    def enumerate(self, start: TensorLike = 0) -> Dataset:
        """Returns a data set of pairs: the number of the element, int64, from `start` on, and the element."""
        return Dataset.zip((Dataset.range(start, np.iinfo(np.int64).max), self))

    def with_options(self, options: Options) -> Dataset:
        """Returns a data set of the same elements in the same order, with these options beside those it has.

        Raises `DTypeError` for anything but a `tf.data.Options`, and `InvalidArgumentError` where two options differ.
        """
        if not isinstance(options, Options):
            raise DTypeError(f"Incompatible options type: {type(options)} vs {Options}")
        merged = self.options().merge(options)
        return Dataset(self.variant, self.element_spec, self.skip_counts, self.inner, merged)

    def _create(self, variant: Tensor, spec: ElementSpec) -> Dataset:
        return Dataset(variant, spec)

    def _derive(
        self,
        op: OpDef,
        inputs: Sequence[Any],
        spec: ElementSpec | None = None,
        also: Sequence[Dataset] = (),
        skip_counts: Sequence[SkipCount] = (),
        inner: Sequence[ElementSpec] = (),
        **attrs: Any,
    ) -> Dataset:
        of = self.element_spec if spec is None else spec
        return _computed(op, [self.variant, *inputs], of, (self, *also), skip_counts, inner, **attrs)


def derive(dataset: Dataset, op: OpDef, inputs: Sequence[Any], spec: ElementSpec, **attrs: Any) -> Dataset:
    """Returns the data set that `op` computes from `dataset` and further inputs; `spec` describes its elements."""
    return _computed(op, [dataset.variant, *inputs], spec, (dataset,), **attrs)


def _computed(
    op: OpDef,
    inputs: Sequence[Any],
    spec: ElementSpec,
    below: Sequence[Dataset] = (),
    skip_counts: Sequence[SkipCount] = (),
    inner: Sequence[ElementSpec] = (),
    **attrs: Any,
) -> Dataset:
    """Returns the data set that `op` computes; `below` are the data sets among its inputs."""
    graph = graph_of([t for x in inputs for t in (x if isinstance(x, list) else [x])])
    handle = op(*inputs, graph=graph, **spec.wire_attrs(), **attrs)
    counts = [*(count for d in below for count in d.skip_counts), *skip_counts]
    given = [d._options for d in below if d._options is not None]
    return Dataset(handle, spec, counts, inner, functools.reduce(Options.merge, given) if given else None)
