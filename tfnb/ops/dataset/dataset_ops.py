"""Data set and iterator operations (`tf.data`).

A data set node makes a description (`Source`) of its inputs' and hands it on as a variant; an iterator is a resource
that walks over one. Functions of elements are graphs of their own, compiled once per session. All run on the host.
Invariant: building a data set reads nothing; walking starts when an iterator is initialised or first asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, NotFoundError
from tfnb.ir.opdef import LOCAL, NOT_DIFFERENTIABLE, AsyncCall, HostCall, Infer, Kind, OpDef
from tfnb.ir.record import record
from tfnb.ops.dataset import batches
from tfnb.ops.dataset import sources as s
from tfnb.ops.dataset import transforms as t
from tfnb.ops.dataset.cache import Cached, FileCached
from tfnb.ops.dataset.groups import Grouped, Scanned, Windowed
from tfnb.ops.dataset.iterator import DatasetIterator, Prefetched
from tfnb.ops.dataset.shuffle import Shuffled
from tfnb.ops.io.record_files import FixedLengthFile, TextFile, TFRecordFile
from tfnb.ops.state.handles import make_handle, named_resource, resource_of
from tfnb.types import ALL, ANY, DType, Shape, scalar

__all__ = ["API", "OPS", "GraphFunction", "SkipCount"]


@dataclass(frozen=True, eq=False)
class GraphFunction:
    """A graph as a function: from the placeholders `inputs` (arguments, then captured values) to `outputs`."""

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


class SkipCount:
    """How many damaged records or failed elements a data set has left out."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, n: int) -> None:
        self.total += n


@record
class DatasetAttrs:
    """`output_types`, `output_shapes`: of the components of an element."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()


@record
class FunctionAttrs:
    """`f`: the function of an element; the rest as DatasetAttrs."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    f: GraphFunction | None = field(default=None, repr=False, metadata=LOCAL)


@record
class ScanAttrs:
    """`f`: the function of state and element; `n_state`: components of the state; the rest as DatasetAttrs."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    f: GraphFunction | None = field(default=None, repr=False, metadata=LOCAL)
    n_state: int = field(default=0, metadata=LOCAL)


@record
class GroupAttrs:
    """`key_func`, `reduce_func`, `window_size_func`: of an element, of a key and a data set, of a key; `n_captured`:
    how many arguments each takes beside; the rest as DatasetAttrs."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    key_func: GraphFunction | None = field(default=None, repr=False, metadata=LOCAL)
    reduce_func: GraphFunction | None = field(default=None, repr=False, metadata=LOCAL)
    window_size_func: GraphFunction | None = field(default=None, repr=False, metadata=LOCAL)
    n_captured: tuple[int, ...] = field(default=(), metadata=LOCAL)


@record
class GeneratorAttrs:
    """`generator`: the Python function; `convert`: from what it yields to an element; the rest as DatasetAttrs."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    generator: Callable[..., Any] | None = field(default=None, repr=False, metadata=LOCAL)
    convert: Callable[..., Any] | None = field(default=None, repr=False, metadata=LOCAL)


@record
class ShuffleAttrs:
    """`reshuffle_each_iteration`: mix anew in every walk; the rest as DatasetAttrs."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    reshuffle_each_iteration: bool = True


@record
class SkippingAttrs:
    """`skip_corrupt`: leave damaged records out; `skipped` counts them; the rest as DatasetAttrs."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    skip_corrupt: bool = field(default=False, metadata=LOCAL)
    skipped: SkipCount | None = field(default=None, repr=False, metadata=LOCAL)


@record
class IteratorAttrs:
    """`output_types`, `output_shapes` of an element; `container`, `shared_name`: where it lives, under which name."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    container: str = ""
    shared_name: str = ""


@record
class OneShotAttrs:
    """As IteratorAttrs; `dataset_factory`: the function without arguments that gives the data set."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    container: str = ""
    shared_name: str = ""
    dataset_factory: GraphFunction | None = field(default=None, repr=False, metadata=LOCAL)


def _source(x: np.ndarray, call: HostCall) -> s.Source:
    return resource_of(x, s.Source, call.op)


def _function(call: HostCall, captured: Sequence[np.ndarray]) -> t.Function:
    """The node's function of one element, with what it captured from outside."""
    return _runs(call, call.attrs.f, captured)


def _runs(call: HostCall, f: GraphFunction | None, captured: Sequence[np.ndarray]) -> t.Function:
    if f is None or call.resources is None:
        raise InvalidArgumentError(f"{call.op.type}: its function is not in this process", call.op)
    run = call.resources.function(f.outputs, f.inputs)
    # an iterator that is initialised again gets the same numbers of random ops that have a seed
    call.resources.random.restart(op.name for t in f.outputs[:1] for op in t.graph.get_operations())
    kinds = [x.dtype.np for x in f.inputs[: len(f.inputs) - len(captured)]]

    def apply(*element: Any) -> Sequence[Any]:
        values = [np.asarray(x, d) for x, d in zip(element, kinds, strict=True)]
        return run(*values, *captured)

    return apply


def _int(x: np.ndarray) -> int:
    return int(x.item())


def _text(x: np.ndarray) -> str:
    return bytes(x.item()).decode()


def _seed(seed: np.ndarray, seed2: np.ndarray) -> int | None:
    a, b = _int(seed), _int(seed2)
    return None if a == 0 and b == 0 else (a << 32) ^ b


def _names(x: np.ndarray) -> list[bytes]:
    return [bytes(n) for n in x.reshape(-1)]


def _dataset(
    name: str, inputs: str, make: Callable[..., s.Source], doc: str, attrs: type = DatasetAttrs, values: str = ""
) -> OpDef:
    return OpDef(
        name,
        inputs,
        "handle: variant",
        doc + "\n\nhandle: the data set, a scalar. Host only.",
        types=dict.fromkeys(re.findall(r"\[(T\w+)\]", inputs), ANY) | ({values: ALL} if values else {}),
        attrs=attrs,
        infer=lambda c: scalar,
        host=lambda call, *arrays: make_handle(make(call, *arrays)),
        grad=NOT_DIFFERENTIABLE,
        stateful=True,
    )


def _range(call: HostCall, *bounds: np.ndarray) -> s.Source:
    return s.Ranges(*map(_int, bounds))


def _text_lines(call: HostCall, names: np.ndarray, kind: np.ndarray, size: np.ndarray) -> s.Source:
    return s.Files(_names(names), lambda n: TextFile(n, 0, _text(kind)))


def _records(call: HostCall, names: np.ndarray, kind: np.ndarray, size: np.ndarray) -> s.Source:
    a = call.attrs
    count = a.skipped.add if a.skipped is not None else lambda n: None
    return s.Files(_names(names), lambda n: TFRecordFile(n, _text(kind), a.skip_corrupt), count)


def _fixed(
    call: HostCall, names: np.ndarray, header: np.ndarray, record: np.ndarray, footer: np.ndarray, size: np.ndarray
) -> s.Source:
    length = _int(record)
    if length <= 0:
        raise InvalidArgumentError(f"record_bytes must be > 0, got {length}", call.op)
    return s.Files(_names(names), lambda n: FixedLengthFile(n, length, _int(header), _int(footer), exact=True))


def _generator(call: HostCall, *args: np.ndarray) -> s.Source:
    a = call.attrs
    if a.generator is None or a.convert is None:
        raise InvalidArgumentError("the generator is not in this process", call.op)
    return s.Generator(a.generator, args, a.convert)


def _map(call: HostCall, source: np.ndarray, *captured: np.ndarray) -> s.Source:
    return t.Mapped(_source(source, call), _function(call, captured))


def _parallel_map(call: HostCall, source: np.ndarray, *rest: np.ndarray) -> s.Source:
    return t.Mapped(_source(source, call), _function(call, rest[:-1]), _int(rest[-1]))


def _filter(call: HostCall, source: np.ndarray, *captured: np.ndarray) -> s.Source:
    return t.Filtered(_source(source, call), _function(call, captured))


def _flat_map(call: HostCall, source: np.ndarray, *captured: np.ndarray) -> s.Source:
    return t.Interleaved(_source(source, call), _function(call, captured))


def _interleave(call: HostCall, source: np.ndarray, *rest: np.ndarray) -> s.Source:
    *captured, cycle, block = rest
    return t.Interleaved(_source(source, call), _function(call, captured), _int(cycle), _int(block))


def _shuffle(call: HostCall, source: np.ndarray, size: np.ndarray, seed: np.ndarray, seed2: np.ndarray) -> s.Source:
    again = call.attrs.reshuffle_each_iteration
    return Shuffled(_source(source, call), _int(size), _seed(seed, seed2), again)


def _batch(call: HostCall, source: np.ndarray, n: np.ndarray, drop: np.ndarray) -> s.Source:
    return batches.Batched(_source(source, call), _int(n), bool(drop), call.attrs.output_types)


def _padded(call: HostCall, source: np.ndarray, n: np.ndarray, *rest: np.ndarray) -> s.Source:
    dtypes = call.attrs.output_types
    k = len(dtypes)
    shapes = [Shape(tuple(None if d < 0 else int(d) for d in x)) for x in rest[:k]]
    pads = [x.item() for x in rest[k : 2 * k]]
    return batches.Padded(_source(source, call), _int(n), bool(rest[2 * k]), dtypes, shapes, pads)


def _cache(call: HostCall, source: np.ndarray, filename: np.ndarray) -> s.Source:
    path = _text(filename)
    below = _source(source, call)
    return FileCached(below, path, call.attrs.output_types) if path else Cached(below)


def _grouped(call: HostCall, source: np.ndarray, *captured: np.ndarray) -> s.Source:
    a = call.attrs
    i, k = a.n_captured[0], a.n_captured[0] + a.n_captured[1]
    return Grouped(
        _source(source, call),
        _runs(call, a.key_func, captured[:i]),
        _runs(call, a.reduce_func, captured[i:k]),
        _runs(call, a.window_size_func, captured[k:]),
    )


def _forgiving(call: HostCall, source: np.ndarray) -> s.Source:
    count = call.attrs.skipped
    return t.Forgiving(_source(source, call), count.add if count is not None else lambda n: None)


_FUNCTION = "input_dataset: variant, other_arguments: [Targuments]"

DATASETS = (
    _dataset("TensorDataset", "components: [Toutput_types]", lambda call, *c: s.Tensors(c), "One element."),
    _dataset(
        "TensorSliceDataset",
        "components: [Toutput_types]",
        lambda call, *c: s.Slices(c),
        "The rows of tensors that agree in their first dimension.",
    ),
    _dataset(
        "SparseTensorSliceDataset",
        "indices: int64, values: Tvalues, dense_shape: int64",
        lambda call, *parts: s.SparseSlices(*parts),
        "The rows of a sparse tensor: indices, values and shape of each. Errors: rows out of order.",
        values="Tvalues",
    ),
    _dataset("RangeDataset", "start: int64, stop: int64, step: int64", _range, "The int64 numbers of a range."),
    _dataset(
        "TextLineDataset",
        "filenames: string, compression_type: string, buffer_size: int64",
        _text_lines,
        "The lines of files, without their ends.",
    ),
    _dataset(
        "TFRecordDataset",
        "filenames: string, compression_type: string, buffer_size: int64",
        _records,
        "The records of TFRecord files. Errors when walked: DataLossError with file and offset.",
        SkippingAttrs,
    ),
    _dataset(
        "FixedLengthRecordDataset",
        "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64",
        _fixed,
        "The records of fixed length of files.",
    ),
    _dataset("GeneratorDataset", "args: [Targuments]", _generator, "What a Python generator yields.", GeneratorAttrs),
    _dataset(
        "ZipDataset",
        "input_datasets: N*variant",
        lambda call, *d: t.Zipped([_source(x, call) for x in d]),
        "Elements of several data sets side by side, as many as the shortest has.",
    ),
    _dataset(
        "ConcatenateDataset",
        "input_dataset: variant, another_dataset: variant",
        lambda call, a, b: t.Concatenated(_source(a, call), _source(b, call)),
        "One data set after the other.",
    ),
    _dataset("MapDataset", _FUNCTION, _map, "A function of each element.", FunctionAttrs),
    _dataset(
        "ParallelMapDataset",
        _FUNCTION + ", num_parallel_calls: int32",
        _parallel_map,
        "A function of each element, of several at once; the order stays.",
        FunctionAttrs,
    ),
    _dataset("FilterDataset", _FUNCTION, _filter, "The elements for which a function gives true.", FunctionAttrs),
    _dataset(
        "FlatMapDataset", _FUNCTION, _flat_map, "The elements of the data sets that a function makes.", FunctionAttrs
    ),
    _dataset(
        "InterleaveDataset",
        _FUNCTION + ", cycle_length: int64, block_length: int64",
        _interleave,
        "As FlatMapDataset, from `cycle_length` of them in turn, `block_length` elements at a time.",
        FunctionAttrs,
    ),
    _dataset(
        "ShuffleDataset",
        "input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64",
        _shuffle,
        "The elements in another order: each a random one of a buffer of the next ones.",
        ShuffleAttrs,
    ),
    _dataset(
        "RepeatDataset",
        "input_dataset: variant, count: int64",
        lambda call, d, n: t.Repeated(_source(d, call), _int(n)),
        "All elements `count` times (negative: for ever).",
    ),
    _dataset(
        "BatchDatasetV2",
        "input_dataset: variant, batch_size: int64, drop_remainder: bool",
        _batch,
        "Elements stacked, `batch_size` at a time. Errors when walked: InvalidArgumentError for other shapes.",
    ),
    _dataset(
        "PaddedBatchDatasetV2",
        "input_dataset: variant, batch_size: int64, padded_shapes: [Tshapes], padding_values: [Toutput_types], "
        "drop_remainder: bool",
        _padded,
        "Elements padded and stacked, `batch_size` at a time.",
    ),
    _dataset(
        "UnbatchDataset",
        "input_dataset: variant",
        lambda call, d: batches.Unbatched(_source(d, call)),
        "The rows of each element.",
    ),
    _dataset(
        "PrefetchDataset",
        "input_dataset: variant, buffer_size: int64",
        lambda call, d, n: Prefetched(_source(d, call), _int(n)),
        "The same elements, up to `buffer_size` of them made ahead by a thread.",
    ),
    _dataset(
        "TakeDataset",
        "input_dataset: variant, count: int64",
        lambda call, d, n: t.Taken(_source(d, call), _int(n)),
        "The first `count` elements (negative: all).",
    ),
    _dataset(
        "SkipDataset",
        "input_dataset: variant, count: int64",
        lambda call, d, n: t.Skipped(_source(d, call), _int(n)),
        "All but the first `count` elements.",
    ),
    _dataset(
        "ShardDataset",
        "input_dataset: variant, num_shards: int64, index: int64",
        lambda call, d, n, i: t.Sharded(_source(d, call), _int(n), _int(i)),
        "Every `num_shards`-th element, from `index` on.",
    ),
    _dataset(
        "CacheDataset",
        "input_dataset: variant, filename: string",
        _cache,
        "The same elements, kept for the next walk: in memory, or in a file if one is named.",
    ),
    _dataset(
        "WindowDataset",
        "input_dataset: variant, size: int64, shift: int64, stride: int64, drop_remainder: bool",
        lambda call, d, size, shift, stride, drop: Windowed(
            _source(d, call), _int(size), _int(shift), _int(stride), bool(drop)
        ),
        "Data sets of `size` elements, one per component, every `shift` elements.",
    ),
    _dataset(
        "GroupByWindowDataset",
        "input_dataset: variant, key_func_other_arguments: [Tkey_func_other_arguments], "
        "reduce_func_other_arguments: [Treduce_func_other_arguments], "
        "window_size_func_other_arguments: [Twindow_size_func_other_arguments]",
        _grouped,
        "The elements of the data sets that a function makes of elements with the same key.",
        GroupAttrs,
    ),
    _dataset(
        "ScanDataset",
        "input_dataset: variant, initial_state: [Tstate], other_arguments: [Targuments]",
        lambda call, d, *rest: Scanned(
            _source(d, call), rest[: call.attrs.n_state], _function(call, rest[call.attrs.n_state :])
        ),
        "A function of the state so far and each element; it gives the next state and an element.",
        ScanAttrs,
    ),
    _dataset(
        "IgnoreErrorsDataset",
        "input_dataset: variant",
        _forgiving,
        "The elements that can be made; others are left out and counted.",
        SkippingAttrs,
    ),
)


# ---- iterators -----------------------------------------------------------------------------------


def _iterator(call: HostCall) -> DatasetIterator:
    a = call.attrs
    return named_resource(call, DatasetIterator, lambda name: DatasetIterator(name, a.output_types, a.output_shapes))


def _one_shot(call: HostCall) -> np.ndarray:
    found = _iterator(call)
    if not found.started:
        factory = call.attrs.dataset_factory
        if factory is None or call.resources is None:
            raise InvalidArgumentError("the data set is not in this process", call.op)
        found.start_once(lambda: _source(call.resources.function(factory.outputs, ())()[0], call))
    return make_handle(found)


def _make_iterator(call: HostCall, dataset: np.ndarray, iterator: np.ndarray) -> tuple[()]:
    resource_of(iterator, DatasetIterator, call.op).start(_source(dataset, call))
    return ()


def _get_next(call: AsyncCall, iterator: np.ndarray) -> Callable[[], str] | None:
    found = resource_of(iterator, DatasetIterator, call.host.op)
    if found.dtypes != tuple(call.host.types["output_types"]):
        have, want = ([d.name for d in x] for x in (found.dtypes, call.host.types["output_types"]))
        raise InvalidArgumentError(f"the iterator '{found.name}' gives {have}, asked for {want}")
    return found.get_next(call)


def _from_string(call: HostCall, text: np.ndarray) -> np.ndarray:
    container, _, name = bytes(text.item()).decode("utf-8", "replace").partition("/")
    found = None if call.resources is None else call.resources.find(container, name)
    if not isinstance(found, DatasetIterator):
        raise NotFoundError(f"no iterator is known under the handle {text.item()!r}", call.op)
    if call.attrs.output_types and found.dtypes != call.attrs.output_types:
        have, want = ([d.name for d in x] for x in (found.dtypes, call.attrs.output_types))
        raise InvalidArgumentError(f"the iterator '{found.name}' gives {have}, needed {want}", call.op)
    return make_handle(found)


def _next_shapes(c: Infer) -> tuple[Shape, ...]:
    return tuple(c.attrs.output_shapes) or (Shape(None),) * len(c.types["output_types"])


@record
class NextAttrs:
    """`output_shapes`: of the components of an element."""

    output_shapes: tuple[Shape, ...] = ()


def _resource(name: str, host: Callable[..., Any], doc: str, attrs: type) -> OpDef:
    return OpDef(
        name,
        "",
        "handle: resource",
        doc + "\n\nhandle: the iterator, a scalar. Host only.",
        attrs=attrs,
        infer=lambda c: scalar,
        host=host,
        grad=NOT_DIFFERENTIABLE,
        stateful=True,
    )


ITERATOR = _resource(
    "IteratorV2",
    lambda call: make_handle(_iterator(call)),
    "An iterator, which MakeIterator gives a data set to walk over.",
    IteratorAttrs,
)
ONE_SHOT = _resource(
    "OneShotIterator", _one_shot, "An iterator over one data set, which needs no initialisation.", OneShotAttrs
)
MAKE_ITERATOR = OpDef(
    "MakeIterator",
    "dataset: variant, iterator: resource",
    "",
    "Begins a walk of the iterator over a data set; the walk before ends. Host only.",
    host=_make_iterator,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    blocking=True,
)
GET_NEXT = OpDef(
    "IteratorGetNext",
    "iterator: resource",
    "components: [output_types]",
    "The components of the next element. Errors: OutOfRangeError after the last one, FailedPreconditionError before "
    "the iterator is initialised, and what making the element raises. Host only.",
    types={"output_types": ANY},
    attrs=NextAttrs,
    infer=_next_shapes,
    start=_get_next,
    kind=Kind.ASYNC,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
TO_STRING = OpDef(
    "IteratorToStringHandle",
    "resource_handle: resource",
    "string_handle: string",
    "A string by which IteratorFromStringHandleV2 finds the iterator in the same session. Host only.",
    infer=lambda c: scalar,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    host=lambda call, x: f"/{resource_of(x, DatasetIterator, call.op).name}".encode(),
)
FROM_STRING = OpDef(
    "IteratorFromStringHandleV2",
    "string_handle: string",
    "resource_handle: resource",
    "The iterator that IteratorToStringHandle named. Errors: NotFoundError when there is none. Host only.",
    attrs=DatasetAttrs,
    infer=lambda c: scalar,
    host=_from_string,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)

BY_NAME = {op.name: op for op in DATASETS}
OPS: tuple[OpDef, ...] = (
    *DATASETS,
    ITERATOR,
    ONE_SHOT,
    MAKE_ITERATOR,
    GET_NEXT,
    TO_STRING,
    FROM_STRING,
)
API: dict[str, Any] = {}
