"""Parsing of tf.Example and tf.SequenceExample messages into tensors.

A dense feature has a fixed number of values in each example (or is padded to the longest one), a sparse feature any
number. Invariant: a record that is damaged, or does not match the declaration, raises an `InvalidArgumentError` that
names the record and the feature.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.graphdef.message_types import Message
from tfnb.ir.opdef import GRADIENT_MISSING, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.io.example_messages import message
from tfnb.types import INDEX, DType, Shape, as_shape, bracketed, float32, int64, string

__all__ = ["OPS", "PARSE_EXAMPLE", "PARSE_SINGLE_EXAMPLE", "PARSE_SINGLE_SEQUENCE_EXAMPLE"]

_KINDS = {float32: "float_list", int64: "int64_list", string: "bytes_list"}
_ALLOWED = (float32, int64, string)


def _shapes(value: Iterable[Shape | Sequence[int | None]]) -> tuple[Shape, ...]:
    """The shapes from lists in which -1 means an unknown dimension, as in the attributes of a GraphDef."""
    return tuple(s if isinstance(s, Shape) else as_shape([None if d in (-1, None) else d for d in s]) for s in value)


@record
class ParseAttrs:
    """`dense_shapes`: the shape of each dense feature; an unknown first dimension is padded to the longest."""

    dense_shapes: Sequence[Shape] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "dense_shapes", _shapes(self.dense_shapes))


@record
class ParseSingleAttrs:
    """`num_sparse`, `sparse_keys`, `dense_keys`: the features; `dense_shapes`: the shapes of the dense ones."""

    num_sparse: int = 0
    sparse_keys: Sequence[str | bytes] = ()
    dense_keys: Sequence[str | bytes] = ()
    dense_shapes: Sequence[Shape] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "sparse_keys", tuple(self.sparse_keys))
        if len(self.sparse_keys) != self.num_sparse:
            raise InvalidArgumentError(f"num_sparse is {self.num_sparse}, sparse_keys {self.sparse_keys}")
        object.__setattr__(self, "dense_keys", tuple(self.dense_keys))
        object.__setattr__(self, "dense_shapes", _shapes(self.dense_shapes))


@record
class ParseSequenceAttrs:
    """`context_dense_shapes`, `feature_list_dense_shapes`: the shapes of dense features; for a list those of a step."""

    context_dense_shapes: Sequence[Shape] = ()
    feature_list_dense_shapes: Sequence[Shape] = ()

    def __post_init__(self) -> None:
        for name in ("context_dense_shapes", "feature_list_dense_shapes"):
            object.__setattr__(self, name, _shapes(getattr(self, name)))


@record
class ParseAttrsV2:
    """`num_sparse`: the number of sparse keys; `dense_shapes`: those of the dense features."""

    num_sparse: int
    dense_shapes: tuple[Shape, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "dense_shapes", _shapes(self.dense_shapes))


def _parsed(kind: str, data: bytes, where: str) -> Any:
    parsed = message(kind)()
    try:
        parsed.ParseFromString(data)
    except Exception as e:  # DecodeError, or other errors that protobuf raises for untrusted bytes
        raise InvalidArgumentError(f"{where}: {len(data)} bytes that are no {kind}: {e}") from None
    return parsed


def _name(key: str | bytes) -> str:
    return key if isinstance(key, str) else bytes(key).decode("utf-8", "replace")


def _array(values: Sequence[Any], dtype: DType) -> np.ndarray:
    if dtype is not string:
        return np.array(values, dtype.np)
    array = np.empty(len(values), object)
    array[:] = list(values)
    return array


def _values(feature: Message | None, dtype: DType, where: str) -> np.ndarray | None:
    """The values of a feature; None when it is missing. Raises an error when they are of another kind."""
    kind = None if feature is None else feature.WhichOneof("kind")
    if kind is None:
        return None
    if kind != _KINDS[dtype]:
        raise InvalidArgumentError(
            f"{where}.  Data types don't match. Expected type: {dtype.name}  Feature is: {kind}; needed {_KINDS[dtype]}"
        )
    return _array(getattr(feature, kind).value, dtype)


def _of(features: Mapping[str, Any], key: str) -> Any:
    return features.get(key)


_NUMBERS = {"i": "int64", "f": "float"}


def _fixed(values: np.ndarray | None, shape: Shape, default: np.ndarray, where: str, step: str) -> np.ndarray:
    """A dense feature of one example, in its declared shape. `where` and `step` name it in errors."""
    dims = shape.known()
    if values is None:
        if default.size == 0 and shape.num_elements() != 0:
            kind = _NUMBERS.get(default.dtype.kind, "string")
            raise InvalidArgumentError(f"{where} (data type: {kind}) is required but could not be found: shape {shape}")
        return default.reshape(dims)
    if values.size != shape.num_elements():
        raise InvalidArgumentError(
            f"{step}.  Number of {_NUMBERS.get(values.dtype.kind, 'bytes')} values != expected.  values size: "
            f"{values.size} but output shape: {bracketed(dims)}"
        )
    return values.reshape(dims)


def _padded(rows: list[np.ndarray], shape: Shape, default: np.ndarray, dtype: DType) -> np.ndarray:
    """Dense features of different lengths, padded to the longest one."""
    dims = Shape((shape.sizes or ())[1:]).known()
    stride = int(np.prod(dims, dtype=np.int64))
    longest = max((len(r) for r in rows), default=0)
    fill = default.reshape(-1)[0] if default.size else (b"" if dtype is string else 0)
    out = np.full((len(rows), longest), fill, dtype.np)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out.reshape((len(rows), longest // stride if stride else 0, *dims))


def _is_padded(shape: Shape) -> bool:
    return bool(shape.sizes) and shape.sizes is not None and shape.sizes[0] is None


def _sparse(rows: Sequence[np.ndarray], dtype: DType) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns (indices, values, dense shape) of the sparse matrix whose rows are lists of values."""
    if len(rows) == 1:  # as for a data set that parses one example after another
        only = np.zeros((len(rows[0]), 2), np.int64)
        only[:, 1] = np.arange(len(only))
        return only, rows[0].astype(dtype.np, copy=False), np.array([1, len(only)], np.int64)
    lengths = np.array([len(r) for r in rows], np.int64)
    first = np.repeat(np.arange(len(rows)), lengths)
    second = np.arange(len(first)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    values = np.concatenate(rows) if len(rows) else _array((), dtype)
    widest = int(lengths.max()) if len(rows) else 0
    indices = np.stack([first, second], axis=1).astype(np.int64)
    return indices, values.astype(dtype.np), np.array([len(rows), widest], np.int64)


@dataclass(frozen=True)
class _Wanted:
    """The features to read: sparse keys with dtypes; dense keys with dtypes, shapes, defaults."""

    sparse: list[tuple[str, DType]]
    dense: list[tuple[str, DType, Shape, np.ndarray]]


def _columns(
    records: Sequence[Any], wanted: _Wanted, where: Sequence[str]
) -> tuple[list[tuple[np.ndarray, np.ndarray, np.ndarray]], list[np.ndarray]]:
    """Returns (sparse triples, dense arrays) from records given as feature maps."""
    sparse, dense = [], []
    for key, dtype in wanted.sparse:
        rows = []
        for features, place in zip(records, where, strict=True):
            values = _values(_of(features, key), dtype, f"{place}, Feature: {key}")
            rows.append(_array((), dtype) if values is None else values)
        sparse.append(_sparse(rows, dtype))
    for key, dtype, shape, default in wanted.dense:
        rows = []
        for i, (features, place) in enumerate(zip(records, where, strict=True)):
            name, step = f"{place}, Feature: {key}", f"{place}, Key: {key}, Index: {i}"
            values = _values(_of(features, key), dtype, name)
            if _is_padded(shape):
                rows.append(_whole_steps(values, shape, dtype, step))
            else:
                rows.append(_fixed(values, shape, default, name, step))
        if _is_padded(shape):
            dense.append(_padded(rows, shape, default, dtype))
        else:
            empty = np.empty((0, *shape.known()), dtype.np)
            dense.append(np.stack(rows).astype(dtype.np) if rows else empty)
    return sparse, dense


def _whole_steps(values: np.ndarray | None, shape: Shape, dtype: DType, step: str) -> np.ndarray:
    if values is None:
        return _array((), dtype)
    stride = Shape((shape.sizes or ())[1:]).num_elements() or 1
    if values.size % stride:
        raise InvalidArgumentError(
            f"{step}.  Number of {_NUMBERS.get(values.dtype.kind, 'bytes')} values is not a multiple of stride length. "
            f"Saw {values.size} values but output shape is: {shape}"
        )
    return values


def _in_order(sparse: Sequence[Sequence[Any]], dense: Iterable[Any]) -> tuple[np.ndarray, ...]:
    """All indices, all values, all shapes, then the dense values, which is the order of the op's outputs."""
    return (*(s[0] for s in sparse), *(s[1] for s in sparse), *(s[2] for s in sparse), *dense)


def _wanted(
    sparse_keys: Collection[Any], sparse_types: Collection[Any], dense_keys: Collection[Any], *dense: Collection[Any]
) -> _Wanted:
    """Checks that the lists have matching lengths. `dense`: dtypes, shapes, defaults."""
    lengths = {len(dense_keys), *map(len, dense)}
    if len(lengths) != 1 or len(sparse_keys) != len(sparse_types):
        raise InvalidArgumentError(
            f"parsing: {len(sparse_keys)} sparse keys and {len(sparse_types)} types, {len(dense_keys)} dense keys, "
            f"{len(dense[0])} types, {len(dense[1])} shapes, {len(dense[2])} defaults do not fit each other"
        )
    return _Wanted(
        [(_name(k), t) for k, t in zip(sparse_keys, sparse_types, strict=True)],
        [(_name(k), t, s, d) for k, t, s, d in zip(dense_keys, *dense, strict=True)],
    )


def _scalars(arrays: Sequence[np.ndarray]) -> list[Any]:
    return [a.reshape(-1)[0] for a in arrays]


def _take(inputs: Iterator[np.ndarray], count: int) -> list[np.ndarray]:
    return [next(inputs) for _ in range(count)]


def _host_parse(call: HostCall, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    t = call.types
    rest = iter(inputs)
    serialized, names = _take(rest, 2)
    if serialized.ndim != 1:
        raise InvalidArgumentError(f"ParseExample: serialized must be a vector, got shape {serialized.shape}", call.op)
    sparse_keys = _scalars(_take(rest, len(t["sparse_types"])))
    dense_keys = _scalars(_take(rest, len(t["Tdense"])))
    wanted_features = _wanted(
        sparse_keys, t["sparse_types"], dense_keys, t["Tdense"], call.attrs.dense_shapes, list(rest)
    )
    labels = [f"Name: {_name(names[i])}" if i < len(names) else f"example {i}" for i in range(len(serialized))]
    records = [_parsed("Example", bytes(x), w).features.feature for x, w in zip(serialized, labels, strict=True)]
    return _in_order(*_columns(records, wanted_features, labels))


def _host_parse_v2(call: HostCall, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    t, (serialized, names, sparse_keys, dense_keys, ragged_keys, *defaults) = call.types, inputs
    if serialized.ndim > 1 or len(ragged_keys) != len(t["ragged_value_types"]):
        raise InvalidArgumentError(
            f"ParseExampleV2: needed a string or a vector of them and {len(t['ragged_value_types'])} ragged keys, got "
            f"shape {serialized.shape} and {len(ragged_keys)} keys",
            call.op,
        )
    wanted = _wanted(sparse_keys, t["sparse_types"], dense_keys, t["Tdense"], call.attrs.dense_shapes, defaults)
    texts, labels = serialized.reshape(-1), names.reshape(-1)
    where = [f"Name: {_name(labels[i])}" if i < len(labels) else f"example {i}" for i in range(len(texts))]
    records = [_parsed("Example", bytes(x), w).features.feature for x, w in zip(texts, where, strict=True)]
    values, splits = [], []
    ragged = zip(map(_name, ragged_keys), t["ragged_value_types"], t["ragged_split_types"], strict=True)
    for key, dtype, split_dtype in ragged:
        found = [_values(_of(r, key), dtype, f"{w}, Feature: {key}") for r, w in zip(records, where, strict=True)]
        rows = [_array((), dtype) if v is None else v for v in found]
        values.append(np.concatenate(rows) if rows else _array((), dtype))
        ends = np.cumsum([0, *map(len, rows)], dtype=split_dtype.np)
        splits.append(ends if serialized.ndim else ends[:0])
    fixed = _in_order(*_columns(records, wanted, where)) if serialized.ndim else _single(records[0], wanted)
    return (*fixed, *values, *splits)


def _host_single(call: HostCall, serialized: np.ndarray, *defaults: np.ndarray) -> tuple[np.ndarray, ...]:
    a, t = call.attrs, call.types
    features = _wanted(a.sparse_keys, t["sparse_types"], a.dense_keys, t["Tdense"], a.dense_shapes, defaults)
    record = _parsed("Example", _one(serialized, call), "the example").features.feature
    return _single(record, features)


def _one(serialized: np.ndarray, call: HostCall) -> bytes:
    if serialized.ndim:
        raise InvalidArgumentError(
            f"{call.op.type}: serialized must be one string, got shape {serialized.shape}", call.op
        )
    return bytes(serialized[()])


def _single(record: Mapping[str, Any], wanted: _Wanted) -> tuple[np.ndarray, ...]:
    """The features of one record: those of a batch of one, without the batch dimension."""
    sparse, dense = _columns([record], wanted, ["the example"])
    flat = [(indices[:, 1:], values, shape[1:]) for indices, values, shape in sparse]
    return _in_order(flat, [d[0] for d in dense])


def _host_sequence(call: HostCall, serialized: np.ndarray, *inputs: np.ndarray) -> Any:
    a, t = call.attrs, call.types
    rest = iter(inputs)
    may_lack = {_name(k) for k in next(rest).reshape(-1)}
    counts = (
        "context_sparse_types",
        "Tcontext_dense",
        "feature_list_sparse_types",
        "feature_list_dense_types",
    )
    keys = [_scalars(_take(rest, len(t[c]))) for c in counts]
    defaults = _take(rest, len(t["Tcontext_dense"]))
    label = _name(next(rest).reshape(-1)[0])
    where = f"Name: {label}" if label else "The sequence example"
    record = _parsed("SequenceExample", _one(serialized, call), where)
    context_features = _wanted(keys[0], t[counts[0]], keys[1], t[counts[1]], a.context_dense_shapes, defaults)
    lists = record.feature_lists.feature_list
    sparse = []
    for key, dtype in zip(map(_name, keys[2]), t[counts[2]], strict=True):
        steps = list(lists[key].feature) if key in lists else []
        rows = [_values(f, dtype, f"{where}, Feature list: {key}, Index: {i}") for i, f in enumerate(steps)]
        sparse.append(_sparse([_array((), dtype) if r is None else r for r in rows], dtype))
    dense = []
    for key, dtype, shape in zip(map(_name, keys[3]), t[counts[3]], a.feature_list_dense_shapes, strict=True):
        if key not in lists and key not in may_lack:
            raise InvalidArgumentError(
                f"{where}, Feature list '{key}' is required but could not be found.  Did you mean to include it in "
                "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?"
            )
        steps = list(lists[key].feature) if key in lists else []
        none = _array((), dtype)
        parts: list[np.ndarray] = []
        for i, feature in enumerate(steps):
            name = f"{where}, Feature list: {key}, Index: {i}"
            values = _values(feature, dtype, name)
            step = f"{where}, Key: {key}, Index: {i}"
            parts.append(_fixed(none if values is None else values, shape, none, name, step))
        empty = np.empty((0, *shape.known()), dtype.np)
        dense.append(np.stack(parts) if parts else empty)
    return (*_single(record.context.feature, context_features), *_in_order(sparse, dense))


def _sparse_shapes(count: int, rank: int) -> tuple[Shape, ...]:
    return (
        *[Shape((None, rank))] * count,
        *[Shape((None,))] * count,
        *[Shape((rank,))] * count,
    )


def _infer_parse(c: Infer) -> tuple[Shape, ...]:
    rows = c.shapes[0].sizes[0] if c.shapes[0].sizes else None
    dense = tuple(Shape((rows,)).concatenate(s) for s in c.attrs.dense_shapes)
    return (*_sparse_shapes(len(c.types["sparse_types"]), 2), *dense)


def _infer_parse_v2(c: Infer) -> tuple[Shape, ...]:
    batch, vector = c.shapes[0], Shape((None,))
    rank = None if batch.sizes is None else len(batch.sizes) + 1
    count = len(c.types["sparse_types"])
    sparse = (*[Shape((None, rank))] * count, *[vector] * count, *[Shape((rank,))] * count)
    dense = (batch.concatenate(s) for s in c.attrs.dense_shapes)
    return (*sparse, *dense, *[vector] * 2 * len(c.types["ragged_value_types"]))


def _infer_single(c: Infer) -> tuple[Shape, ...]:
    return (*_sparse_shapes(len(c.types["sparse_types"]), 1), *c.attrs.dense_shapes)


def _infer_sequence(c: Infer) -> tuple[Shape, ...]:
    steps = tuple(Shape((None,)).concatenate(s) for s in c.attrs.feature_list_dense_shapes)
    return (
        *_sparse_shapes(len(c.types["context_sparse_types"]), 1),
        *c.attrs.context_dense_shapes,
        *_sparse_shapes(len(c.types["feature_list_sparse_types"]), 2),
        *steps,
    )


_RULES = """Errors, with record and feature: damaged bytes, another kind of list, another number of values, or a
    missing required feature. Runs on the host."""

Tensors: TypeAlias = list[Tensor]  # one for each feature of a kind

PARSE_EXAMPLE: OpDef[tuple[Tensors, Tensors, Tensors, Tensors]] = OpDef(
    "ParseExample",
    "serialized: string, names: string, sparse_keys: Nsparse*string, dense_keys: Ndense*string,"
    " dense_defaults: [Tdense]",
    "sparse_indices: Nsparse*int64, sparse_values: [sparse_types], sparse_shapes: Nsparse*int64,"
    " dense_values: [Tdense]",
    f"""The features of a batch of serialised tf.Example messages.

    serialized: a vector of strings. names: as many strings, used in messages, or none. sparse_keys, dense_keys: one
    string each. dense_defaults: a value for examples without the feature, empty where it is required. Outputs: a sparse
    matrix for each sparse key, (batch, *dense_shapes[i]) for each dense key. {_RULES}""",
    types={"sparse_types": _ALLOWED, "Tdense": _ALLOWED},
    attrs=ParseAttrs,
    infer=_infer_parse,
    host=_host_parse,
    grad=GRADIENT_MISSING,
    dynamic=True,
)

PARSE_EXAMPLE_V2: OpDef[tuple[Tensors, Tensors, Tensors, Tensors, Tensors, Tensors]] = OpDef(
    "ParseExampleV2",
    "serialized: string, names: string, sparse_keys: string, dense_keys: string, ragged_keys: string,"
    " dense_defaults: [Tdense]",
    "sparse_indices: num_sparse*int64, sparse_values: [sparse_types], sparse_shapes: num_sparse*int64,"
    " dense_values: [Tdense], ragged_values: [ragged_value_types], ragged_row_splits: [ragged_split_types]",
    f"""The features of serialised tf.Example messages, as graphs of TensorFlow 2 parse them.

    serialized: a vector of strings, or one string, for which the results have no dimension of the batch. names: strings
    that messages use, or none. The keys are vectors. dense_defaults: as in ParseExample. Ragged features are their
    values, and where those of each example begin and end. {_RULES}""",
    types={
        "Tdense": _ALLOWED,
        "sparse_types": _ALLOWED,
        "ragged_value_types": _ALLOWED,
        "ragged_split_types": INDEX,
    },
    attrs=ParseAttrsV2,
    infer=_infer_parse_v2,
    host=_host_parse_v2,
    grad=GRADIENT_MISSING,
    dynamic=True,
)

PARSE_SINGLE_EXAMPLE: OpDef[tuple[Tensors, Tensors, Tensors, Tensors]] = OpDef(
    "ParseSingleExample",
    "serialized: string, dense_defaults: [Tdense]",
    "sparse_indices: num_sparse*int64, sparse_values: [sparse_types], sparse_shapes: num_sparse*int64,"
    " dense_values: [Tdense]",
    f"""The features of one serialised tf.Example message.

    serialized: one string. dense_defaults: values for missing features, empty where they are required. Outputs: a
    sparse vector for each sparse key, dense_shapes[i] for each dense key. {_RULES}""",
    types={"sparse_types": _ALLOWED, "Tdense": _ALLOWED},
    attrs=ParseSingleAttrs,
    infer=_infer_single,
    host=_host_single,
    grad=GRADIENT_MISSING,
    dynamic=True,
)

OfSequence: TypeAlias = tuple[Tensors, Tensors, Tensors, Tensors, Tensors, Tensors, Tensors, Tensors]

PARSE_SINGLE_SEQUENCE_EXAMPLE: OpDef[OfSequence] = OpDef(
    "ParseSingleSequenceExample",
    "serialized: string, feature_list_dense_missing_assumed_empty: string, context_sparse_keys: Ncontext_sparse*string,"
    " context_dense_keys: Ncontext_dense*string, feature_list_sparse_keys: Nfeature_list_sparse*string,"
    " feature_list_dense_keys: Nfeature_list_dense*string, context_dense_defaults: [Tcontext_dense],"
    " debug_name: string",
    "context_sparse_indices: Ncontext_sparse*int64, context_sparse_values: [context_sparse_types],"
    " context_sparse_shapes: Ncontext_sparse*int64, context_dense_values: [Tcontext_dense],"
    " feature_list_sparse_indices: Nfeature_list_sparse*int64, feature_list_sparse_values: [feature_list_sparse_types],"
    " feature_list_sparse_shapes: Nfeature_list_sparse*int64, feature_list_dense_values: [feature_list_dense_types]",
    f"""The features of one serialised tf.SequenceExample message: a context, and lists with one feature per step.

    Inputs: keys as one string each; defaults of the context's dense features, empty where they are required; the names
    of dense lists that may be missing. Outputs: the context as in ParseSingleExample; a sparse matrix for each sparse
    list; (steps, *shape) for each dense list. {_RULES}""",
    types={
        "context_sparse_types": _ALLOWED,
        "Tcontext_dense": _ALLOWED,
        "feature_list_dense_types": _ALLOWED,
        "feature_list_sparse_types": _ALLOWED,
    },
    attrs=ParseSequenceAttrs,
    infer=_infer_sequence,
    host=_host_sequence,
    grad=GRADIENT_MISSING,
    dynamic=True,
)

OPS: tuple[OpDef, ...] = (PARSE_EXAMPLE, PARSE_EXAMPLE_V2, PARSE_SINGLE_EXAMPLE, PARSE_SINGLE_SEQUENCE_EXAMPLE)
