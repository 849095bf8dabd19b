"""map_fn, foldl, foldr, scan: a function of each element along the first axis, as a loop (white paper, section 4.4).

Invariant: the elements are read in order and each result is written once, so gradients pass from element to element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.control_flow.tensor_array import TensorArray
from tfnb.client.control_flow.while_loop import while_loop
from tfnb.client.graph.nest import flatten, pack, same_structure
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.array.shape_ops import shape_of
from tfnb.types import Shape, as_dtype

__all__ = ["API", "foldl", "foldr", "map_fn", "scan"]


def _unlike(result: object, structure: object, wanted: str) -> InvalidArgumentError:
    """Returns the error for a result of the function of another structure."""
    text = f"the function returned {result!r}, {wanted}"
    if len(flatten(result)) == len(flatten(structure)):
        return DTypeError(f"The two structures don't have the same sequence type: {text}")
    return InvalidArgumentError(f"The two structures don't have the same number of elements: {text}")


def map_fn(
    fn: Callable[..., Any],
    elems: object,
    dtype: object = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """Returns the results of `fn` for each element of `elems` along the first axis, stacked along a new first axis.

    `elems` is a tensor, or a structure of tensors of the same first dimension; `fn` takes one element in that
    structure. `dtype` gives the dtypes of the results, in their structure, where they differ from those of `elems`.
    Raises `DTypeError` for a function that is not callable, `ShapeError` for scalars, and `InvalidArgumentError` for
    results other than `dtype` says.
    """
    arrays, n, static = _unstacked(fn, elems, "map_fn")
    graph = graph_of(flatten(elems))
    with graph.as_default(), graph.name_scope(name or "map"):
        inputs = _read_from(arrays)
        result_dtypes = pack(elems, inputs.dtypes) if dtype is None else dtype
        targets = [TensorArray(as_dtype(d), size=n, infer_shape=infer_shape) for d in flatten(result_dtypes)]

        def body(i: Tensor, written: Sequence[TensorArray]) -> tuple[Tensor, list[TensorArray]]:
            result = fn(pack(elems, inputs.at(i)))
            if not same_structure(result_dtypes, result):
                raise _unlike(result, result_dtypes, f"announced was {result_dtypes!r}; give dtype")
            parts = [a.write(i, x) for a, x in zip(written, flatten(result), strict=True)]
            return i + 1, parts

        _, done = _loop(n, body, (graph.to_tensor(0), targets), parallel_iterations, back_prop, swap_memory)
        return pack(result_dtypes, [_with_length(a.stack(), static) for a in done])


def foldl(
    fn: Callable[..., Any],
    elems: object,
    initializer: object = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Returns `fn(...fn(fn(initializer, e0), e1)..., en)` for the elements of `elems` along the first axis.

    Without an `initializer` the fold begins with the first element. Raises the errors of `map_fn`.
    """
    return _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name or "foldl", False)


def foldr(
    fn: Callable[..., Any],
    elems: object,
    initializer: object = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Does what `foldl` does, from the last element to the first."""
    return _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name or "foldr", True)


def scan(
    fn: Callable[..., Any],
    elems: object,
    initializer: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Does what `foldl` does, but returns all intermediate results, stacked along a new first axis.

    `fn(accumulated, element)` returns the structure of `initializer`; without an initializer, that of `elems`, and the
    first element is the first result. `reverse` goes from the last element to the first. Raises the errors of `map_fn`.
    """
    arrays, n, static = _unstacked(fn, elems, "scan")
    graph = graph_of(flatten(elems))
    with graph.as_default(), graph.name_scope(name or "scan"):
        inputs = _read_from(arrays)
        start, done = _begin(graph, inputs, elems, initializer, n, reverse)
        structure = elems if initializer is None else initializer
        targets = [TensorArray(a.dtype, size=n, infer_shape=infer_shape) for a in flatten(start)]
        at = (n - 1 if reverse else 0) if done else None
        if at is not None:
            targets = [t.write(at, a) for t, a in zip(targets, flatten(start), strict=True)]

        def body(k: Tensor, accumulated: object, written: Sequence[TensorArray]) -> Any:
            i = n - 1 - k if reverse else k
            result = fn(accumulated, pack(elems, inputs.at(i)))
            if not same_structure(structure, result):
                raise _unlike(result, structure, f"the initializer is {structure!r}")
            result = pack(structure, [graph.to_tensor(x) for x in flatten(result)])
            parts = [t.write(i, x) for t, x in zip(written, flatten(result), strict=True)]
            return k + 1, result, parts

        variables = (graph.to_tensor(int(done)), start, targets)
        _, _, written = _loop(n, body, variables, parallel_iterations, back_prop, swap_memory)
        return pack(structure, [_with_length(t.stack(), static) for t in written])


def _fold(
    fn: Callable[..., Any],
    elems: object,
    initializer: object,
    parallel_iterations: int | None,
    back_prop: bool,
    swap_memory: bool,
    name: str,
    backwards: bool,
) -> Any:
    arrays, n, _ = _unstacked(fn, elems, name)
    graph = graph_of(flatten(elems))
    with graph.as_default(), graph.name_scope(name):
        inputs = _read_from(arrays)
        start, done = _begin(graph, inputs, elems, initializer, n, backwards)

        def body(k: Tensor, accumulated: object) -> Any:
            i = n - 1 - k if backwards else k
            return k + 1, fn(accumulated, pack(elems, inputs.at(i)))

        variables = (graph.to_tensor(int(done)), start)
        return _loop(n, body, variables, parallel_iterations, back_prop, swap_memory)[1]


class _Inputs:
    """The elements as tensor arrays, which are read one by one."""

    def __init__(self, arrays: list[TensorArray]) -> None:
        self.arrays = arrays
        self.dtypes = [a.dtype for a in arrays]

    def at(self, i: TensorLike) -> list[Tensor]:
        """Returns the tensors of element `i`, an int32 scalar."""
        return [a.read(i) for a in self.arrays]


def _unstacked(fn: Callable[..., Any], elems: object, what: str) -> tuple[list[Tensor], Any, int | None]:
    """Returns the tensors of `elems`, their number of elements as a tensor, and that number as an int if it is
    known.
    """
    if not callable(fn):
        raise DTypeError(f"{what}: fn must be callable, got {fn!r}")
    if isinstance(elems, SparseTensor):
        raise DTypeError(
            f"{what}: elems must not be a sparse tensor. To go over its values, take `elems.values`; to go over its "
            "rows, take tf.sparse_tensor_to_dense(elems)"
        )
    flat = flatten(elems)
    graph = graph_of(flat)
    with graph.as_default():
        tensors = [graph.to_tensor(x) for x in flat]
        if not tensors:
            raise InvalidArgumentError(f"{what}: there are no elements")
        first = Shape((None,))
        for t in tensors:
            if t.shape.sizes is not None:
                if not t.shape.sizes:
                    raise ShapeError(f"{what}: elements must have at least one dimension, got a scalar", t.op)
                first = first.merge_with(Shape(t.shape.sizes[:1]))
        static = first.known()[0] if first.is_fully_defined() else None
        n = shape_of(tensors[0])[0] if static is None else graph.to_tensor(static)
    return tensors, n, static


def _read_from(tensors: list[Tensor]) -> _Inputs:
    n = [shape_of(t)[0] if not t.shape.sizes or t.shape.sizes[0] is None else t.shape.sizes[0] for t in tensors]
    return _Inputs(
        [TensorArray(t.dtype, size=k, clear_after_read=False).unstack(t) for t, k in zip(tensors, n, strict=True)]
    )


def _begin(
    graph: GraphLike, inputs: _Inputs, elems: object, initializer: object, n: Tensor, backwards: bool
) -> tuple[Any, bool]:
    """Returns the accumulated value before the loop, and whether it is an element."""
    if initializer is None:
        return pack(elems, inputs.at(n - 1 if backwards else 0)), True
    return pack(initializer, [graph.to_tensor(x) for x in flatten(initializer)]), False


def _loop(
    n: Tensor, body: Callable[..., Any], variables: Sequence[Any], parallel: int | None, back_prop: bool, swap: bool
) -> Any:
    return while_loop(
        lambda i, *_: i < n,
        body,
        variables,
        parallel_iterations=10 if parallel is None else parallel,
        back_prop=back_prop,
        swap_memory=swap,
        maximum_iterations=None,
    )


def _with_length(t: Tensor, n: int | None) -> Tensor:
    if t.shape.sizes is not None:
        t.set_shape(Shape((n, *t.shape.sizes[1:])))
    return t


API: dict[str, Any] = {"map_fn": map_fn, "foldl": foldl, "foldr": foldr, "scan": scan}
