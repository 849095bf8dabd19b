"""Functions inside `tensorflow.python` that programs use which extend a part of TensorFlow, or carry a copy of it.

Shapes, nested structures up to a depth, the scopes of names, and the parts of `tf.nn.dynamic_rnn` and of metrics.
Invariant: each does what the function of that name in TensorFlow 1.15 does; shapes and structures make no node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tfnb.client.control_flow.tensor_array import TensorArray
from tfnb.client.graph.nest_functions import flatten, is_nested, map_structure, pack_sequence_as
from tfnb.client.losses_metrics.metrics import counted_confusion, counter
from tfnb.client.rnn.cells import like_cell
from tfnb.client.variables.variable import Variable
from tfnb.dimension import Dimension
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.const import constant_shape
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import convert_to_tensor, zeros
from tfnb.ops.array.shape_ops import EXPAND_DIMS, squeeze
from tfnb.ops.math.compare import GREATER_EQUAL, SELECT
from tfnb.types import DType, DTypeLike, Shape, ShapeLike, as_dtype, as_shape, int32
from tfnb.v1.contrib.framework.shapes import of_expected_ranks

__all__ = ["API", "rnn_step"]

# ---- shapes ------------------------------------------------------------------------------------------


def unknown_shape(ndims: int | None = None, **kwargs: int | None) -> Shape:
    """Returns a shape of `ndims` unknown dimensions, or of an unknown number of them; `rank` is the later name."""
    rank = kwargs.pop("rank", ndims)
    if kwargs:
        raise DTypeError(f"Unknown argument: {kwargs}")
    return Shape(None if rank is None else [None] * rank)


def scalar() -> Shape:
    """Returns the shape of a scalar."""
    return Shape([])


def vector(length: int | None) -> Shape:
    """Returns the shape of a vector; None is an unknown length."""
    return Shape([length])


def matrix(rows: int | None, cols: int | None) -> Shape:
    """Returns the shape of a matrix; None is an unknown size."""
    return Shape([rows, cols])


def as_dimension(value: int | Dimension | None) -> Dimension:
    """Returns `value`, an integer, a dimension or None, as a dimension."""
    dims: Any = Shape([value]).dims
    return dims[0]


def constant_value_as_shape(tensor: Tensor) -> Shape:
    """Returns the shape that a tensor of sizes gives, as far as it is known when the graph is built."""
    return constant_shape(tensor)


def reduced_length(graph: GraphLike, part: Any) -> tuple[Any, Shape]:
    """Returns (the vector of sizes of a part of a shape, or None; what is known of it)."""
    if isinstance(part, Tensor):
        if part.shape.ndims not in (0, 1):
            raise InvalidArgumentError(f"prefix and suffix must be a scalar or a vector, got {part}")
        sizes = EXPAND_DIMS(part, 0) if part.shape.ndims == 0 else part
        return sizes, constant_value_as_shape(sizes)
    shape = Shape([part]) if isinstance(part, int) else as_shape(part)
    return (graph.to_tensor(shape.as_list(), int32) if shape.is_fully_defined() else None), shape


def joined_sizes(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """Returns the sizes of two parts of a shape, each a size, a shape or a tensor: a tensor, or with `static` a list.

    Raises `InvalidArgumentError` when the tensor is asked for and a size is unknown.
    """
    graph = graph_of((prefix, suffix))
    (first, first_shape), (last, last_shape) = reduced_length(graph, prefix), reduced_length(graph, suffix)
    if static:
        whole = first_shape.concatenate(last_shape)
        return whole.as_list() if whole.ndims is not None else None
    if first is None or last is None:
        raise InvalidArgumentError(f"Provided a prefix or suffix of None: {prefix} and {suffix}")
    return concat([first, last], 0)


# ---- nested structures up to the depth of another ----------------------------------------------------


def _parts(structure: Any) -> list[Any]:
    if isinstance(structure, Mapping):
        return [structure[key] for key in sorted(structure)]
    return list(structure)


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Raises `DTypeError` or `InvalidArgumentError` unless `input_tree` has the form of `shallow_tree` as far as that
    goes."""
    if not is_nested(shallow_tree):
        return
    if not is_nested(input_tree):
        raise DTypeError(
            f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(input_tree)}."
        )
    both_maps = isinstance(shallow_tree, Mapping) and isinstance(input_tree, Mapping)
    if check_types and not both_maps and type(shallow_tree) is not type(input_tree):
        raise DTypeError(
            f"The two structures don't have the same sequence type. Input structure has type {type(input_tree)}, while "
            f"shallow structure has type {type(shallow_tree)}."
        )
    if len(shallow_tree) != len(input_tree):
        raise InvalidArgumentError(
            f"The two structures don't have the same sequence length. Input structure has length {len(input_tree)}, "
            f"while shallow structure has length {len(shallow_tree)}."
        )
    if both_maps and set(shallow_tree) != set(input_tree):
        raise InvalidArgumentError(
            f"The two structures don't have the same keys. Input structure has keys {sorted(input_tree)}, while "
            f"shallow structure has keys {sorted(shallow_tree)}."
        )
    for a, b in zip(_parts(shallow_tree), _parts(input_tree), strict=True):
        assert_shallow_structure(a, b, check_types)


def yield_flattened_up_to(shallow_tree: Any, input_tree: Any) -> Iterator[Any]:
    """Yields the parts of `input_tree` that stand where `shallow_tree` has leaves."""
    if not is_nested(shallow_tree):
        yield input_tree
        return
    for a, b in zip(_parts(shallow_tree), _parts(input_tree), strict=True):
        yield from yield_flattened_up_to(a, b)


def flatten_up_to(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> list[Any]:
    """Returns the parts of `input_tree` that stand where `shallow_tree` has leaves.

    Raises as `assert_shallow_structure`.
    """
    assert_shallow_structure(shallow_tree, input_tree, check_types)
    return list(yield_flattened_up_to(shallow_tree, input_tree))


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: object, check_types: bool = True) -> Any:
    """Returns the results of `func` for the parts that stand where `shallow_tree` has leaves, in its form.

    Raises `InvalidArgumentError` without a structure, and as `assert_shallow_structure`.
    """
    if not inputs:
        raise InvalidArgumentError("Cannot map over no sequences")
    flat = [flatten_up_to(shallow_tree, tree, check_types) for tree in inputs]
    return pack_sequence_as(shallow_tree, [func(*parts) for parts in zip(*flat, strict=True)])


def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """Returns a dict of leaves, where a key or a value may be a structure of as many leaves as the other.

    Raises `InvalidArgumentError` when their numbers differ or a key comes twice, and `DTypeError` for no dict.
    """
    if not isinstance(dictionary, Mapping):
        raise DTypeError("input must be a dictionary")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        keys = flatten(key) if is_nested(key) else [key]
        values = flatten(value) if is_nested(key) else [value]
        if len(keys) != len(values):
            raise InvalidArgumentError(
                f"Could not flatten dictionary. Key had {len(keys)} elements, but value had {len(values)} elements."
            )
        for one, other in zip(keys, values, strict=True):
            if one in flat:
                raise InvalidArgumentError(f"Could not flatten dictionary: key {one} is not unique.")
            flat[one] = other
    return flat


# ---- names and tensors ---------------------------------------------------------------------------------


def name_from_scope_name(name: str) -> str:
    """Returns the name of an operation that a scope's name asks for: without the "/" at its end."""
    return name.removesuffix("/")


def convert_n_to_tensor(
    values: Sequence[TensorLike],
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: DTypeLike | None = None,
) -> list[Any]:
    """Returns a list of tensors of the values. Their names are `name` and a number."""
    if not isinstance(values, Sequence):
        raise DTypeError("values must be iterable.")
    names = (None if name is None else f"{name}_{i}" for i in range(len(values)))
    return [convert_to_tensor(v, dtype, n, preferred_dtype) for v, n in zip(values, names, strict=True)]


def assert_float_dtype(dtype: DType) -> DType:
    """Returns `dtype`. Raises `DTypeError` unless it is a type of floats."""
    if not dtype.is_floating:
        raise DTypeError(f"Expected floating point type, got {dtype}.")
    return dtype


# ---- recurrent networks -----------------------------------------------------------------------------


def assert_like_rnncell(cell_name: str, cell: object) -> None:
    """Raises `DTypeError`, which calls it `cell_name`, unless `cell` can be called and has its sizes."""
    if not like_cell(cell):
        raise DTypeError(f"The argument {cell_name!r} ({cell}) is not an RNNCell")


def infer_state_dtype(explicit_dtype: DType | None, state: Any) -> DType:
    """Returns `explicit_dtype`, or the one dtype of all tensors of `state`.

    Raises `InvalidArgumentError` for a state without tensors, or with several dtypes.
    """
    if explicit_dtype is not None:
        return explicit_dtype
    if not is_nested(state):
        dtype: DType = state.dtype
        return dtype
    dtypes = [part.dtype for part in flatten(state)]
    if not dtypes:
        raise InvalidArgumentError("Unable to infer dtype from empty state.")
    if any(d != dtypes[0] for d in dtypes):
        raise InvalidArgumentError("State has tensors of different inferred_dtypes. Unable to infer a single one.")
    return dtypes[0]


def maybe_tensor_shape_from_tensor(shape: object) -> Any:
    """Returns the shape that a tensor of sizes gives, as far as it is known; anything else as it is."""
    return constant_value_as_shape(shape) if isinstance(shape, Tensor) else shape


def rnn_step(
    time: Tensor,
    sequence_length: Tensor | None,
    min_sequence_length: Tensor | None,
    max_sequence_length: Tensor | None,
    zero_output: object,
    state: object,
    call_cell: Callable[[], tuple[Any, Any]],
    state_size: object,
    skip_conditionals: bool = False,
) -> tuple[Any, Any]:
    """Returns (output, state) of one step: rows whose sequence has ended give `zero_output` and keep their state.

    The lengths min and max say in TensorFlow when the cell or the choice can be skipped, which changes no result, and
    so does `skip_conditionals`; here the rows are always chosen. state_size: the form of the state.
    """
    del min_sequence_length, max_sequence_length, skip_conditionals
    output, new_state = call_cell()
    if sequence_length is None:
        return output, new_state
    over = GREATER_EQUAL(time, sequence_length)

    def chosen(old: Any, new: Any) -> Any:
        if isinstance(old, TensorArray) or new.shape.ndims == 0:
            return new
        result = SELECT(over, old, new)
        result.set_shape(new.shape)
        return result

    outputs = [chosen(*pair) for pair in zip(flatten(zero_output), flatten(output), strict=True)]
    states = [chosen(*pair) for pair in zip(flatten(state), flatten(new_state), strict=True)]
    form = state if is_nested(state) else state_size
    return (
        pack_sequence_as(zero_output, outputs),
        pack_sequence_as(state, states) if is_nested(form) else states[0],
    )


def zero_state_tensors(state_size: object, batch_size: TensorLike, dtype: DTypeLike) -> Any:
    """Returns zeros [batch_size, size] of a dtype for each size of the structure `state_size`, in its form."""

    def zeros_of(size: TensorLike | None) -> Tensor:
        made = zeros(joined_sizes(batch_size, size), dtype)
        made.set_shape(joined_sizes(batch_size, size, static=True))
        return made

    return map_structure(zeros_of, state_size)


_NEST = (assert_shallow_structure, yield_flattened_up_to, flatten_up_to, map_structure_up_to, flatten_dict_items)


def in_xla_context(graph: object) -> bool:
    """Returns whether the graph is one of a computation by XLA: there is none in tfnb."""
    return False


def containing_xla_context(ctxt: object) -> None:
    """Returns the context of a computation by XLA around the control-flow context `ctxt`: there is none in tfnb."""


def remove_squeezable_dimensions(
    labels: TensorLike, predictions: TensorLike, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Any, Any]:
    """Returns both tensors, the one whose rank is too great by one without its last dimension, which must be 1.

    expected_rank_diff: the rank of the predictions less that of the labels.
    """
    predicted, labelled = of_expected_ranks(predictions, labels, expected_rank_diff, name)
    return labelled, predicted


def metric_variable(
    shape: ShapeLike, dtype: DTypeLike, validate_shape: bool = True, name: str | None = None
) -> Variable:
    """Returns a variable of zeros in LOCAL_VARIABLES and METRIC_VARIABLES; `validate_shape` has no effect."""
    return counter(name or "Variable", as_shape(shape).known(), as_dtype(dtype))


def streaming_confusion_matrix(
    labels: TensorLike, predictions: TensorLike, num_classes: int, weights: TensorLike | None = None
) -> tuple[Any, Tensor]:
    """Returns a local confusion matrix, float64 with a row for each label, and the operation that adds a batch."""
    weighed = None if weights is None else convert_to_tensor(weights)
    total, update = counted_confusion(convert_to_tensor(labels), convert_to_tensor(predictions), num_classes, weighed)
    return total, update


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
    "python.ops.metrics_impl._streaming_confusion_matrix": streaming_confusion_matrix,
    "python.ops.metrics_impl._remove_squeezable_dimensions": inputs_of_equal_ranks,
    "python.ops.confusion_matrix.remove_squeezable_dimensions": remove_squeezable_dimensions,
    "python.ops.control_flow_util.GetContainingXLAContext": containing_xla_context,
    "python.ops.control_flow_util.GraphOrParentsInXlaContext": in_xla_context,
    **{f"python.framework.tensor_shape.{f.__name__}": f for f in (unknown_shape, scalar, vector, matrix, as_dimension)},
    "python.framework.tensor_shape.as_shape": as_shape,
    "python.framework.tensor_util.constant_value_as_shape": constant_value_as_shape,
    **{f"{place}.nest.{f.__name__}": f for place in ("contrib.framework", "python.util") for f in _NEST},
    "python.ops.init_ops._assert_float_dtype": assert_float_dtype,
    "python.framework.ops.name_from_scope_name": name_from_scope_name,
    "python.framework.ops.convert_n_to_tensor": convert_n_to_tensor,
    "python.framework.ops.convert_n_to_tensor_or_indexed_slices": convert_n_to_tensor,
    "python.ops.rnn_cell_impl._concat": joined_sizes,
    "python.ops.rnn._concat": joined_sizes,
    "python.ops.rnn_cell_impl.assert_like_rnncell": assert_like_rnncell,
    "python.ops.rnn_cell_impl._like_rnncell": like_cell,
    "python.ops.rnn_cell_impl._zero_state_tensors": zero_state_tensors,
    "python.ops.rnn_cell_impl._WEIGHTS_VARIABLE_NAME": "kernel",
    "python.ops.rnn_cell_impl._BIAS_VARIABLE_NAME": "bias",
    "python.ops.rnn._infer_state_dtype": infer_state_dtype,
    "python.ops.rnn._maybe_tensor_shape_from_tensor": maybe_tensor_shape_from_tensor,
    "python.ops.rnn._rnn_step": rnn_step,
}
