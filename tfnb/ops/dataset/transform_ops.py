"""Operations that make a data set of other data sets (`tf.data`): map, shuffle, batch, group and the like.

Each describes its result by the sources of its inputs. Invariant: the description of an input is never changed.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import LOCAL, HostCall, OpDef
from tfnb.ir.record import record
from tfnb.ops.dataset import batches
from tfnb.ops.dataset import sources as s
from tfnb.ops.dataset import transforms as t
from tfnb.ops.dataset.cache import Cached, FileCached
from tfnb.ops.dataset.definition import (
    FunctionAttrs,
    GraphFunction,
    PredicateAttrs,
    SkippingAttrs,
    dataset_op,
    element_function,
    function_of,
    int_of,
    source_of,
    text_of,
)
from tfnb.ops.dataset.groups import Grouped, Scanned, Windowed
from tfnb.ops.dataset.iterator import Prefetched
from tfnb.ops.dataset.shuffle import Shuffled
from tfnb.types import DType, Shape

__all__ = ["API", "OPS"]


@record
class ScanAttrs:
    """The attributes of `DatasetAttrs`; `f`: a function of state and element."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    f: GraphFunction | None = field(default=None, repr=False, metadata=LOCAL)


@record
class GroupAttrs:
    """The attributes of `DatasetAttrs`, and three functions.

    `key_func` maps an element to its key, `reduce_func` a key and a data set to a data set, `window_size_func` a key
    to a size.
    """

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    key_func: GraphFunction | None = field(default=None, repr=False, metadata=LOCAL)
    reduce_func: GraphFunction | None = field(default=None, repr=False, metadata=LOCAL)
    window_size_func: GraphFunction | None = field(default=None, repr=False, metadata=LOCAL)


@record
class ShuffleAttrs:
    """The attributes of `DatasetAttrs`; `reshuffle_each_iteration`: use another order in every iteration."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    reshuffle_each_iteration: bool = True


def _seed(seed: np.ndarray, seed2: np.ndarray) -> int | None:
    a, b = int_of(seed), int_of(seed2)
    return None if a == 0 and b == 0 else (a << 32) ^ b


def _map(call: HostCall, source: np.ndarray, *captured: np.ndarray) -> s.Source:
    return t.Mapped(source_of(source, call), element_function(call, captured), waits=call.attrs.f.waits)


def _parallel_map(call: HostCall, source: np.ndarray, *rest: np.ndarray) -> s.Source:
    function = element_function(call, rest[:-1])
    return t.Mapped(source_of(source, call), function, int_of(rest[-1]), call.attrs.f.waits)


def _filter(call: HostCall, source: np.ndarray, *captured: np.ndarray) -> s.Source:
    predicate = call.attrs.predicate
    return t.Filtered(source_of(source, call), function_of(call, predicate, captured), predicate.waits)


def _map_and_batch(call: HostCall, source: np.ndarray, *rest: np.ndarray) -> s.Source:
    *captured, size, calls, drop = rest
    mapped = t.Mapped(source_of(source, call), element_function(call, captured), int_of(calls), call.attrs.f.waits)
    return batches.Batched(mapped, int_of(size), bool(drop), call.attrs.output_types)


def _parallel_interleave(call: HostCall, source: np.ndarray, *rest: np.ndarray) -> s.Source:
    return _interleave(call, source, *rest[:-1])


def _flat_map(call: HostCall, source: np.ndarray, *captured: np.ndarray) -> s.Source:
    return t.Interleaved(source_of(source, call), element_function(call, captured))


def _interleave(call: HostCall, source: np.ndarray, *rest: np.ndarray) -> s.Source:
    *captured, cycle, block = rest
    return t.Interleaved(source_of(source, call), element_function(call, captured), int_of(cycle), int_of(block))


def _shuffle(call: HostCall, source: np.ndarray, size: np.ndarray, seed: np.ndarray, seed2: np.ndarray) -> s.Source:
    again = call.attrs.reshuffle_each_iteration
    return Shuffled(source_of(source, call), int_of(size), _seed(seed, seed2), again)


def _batch(call: HostCall, source: np.ndarray, n: np.ndarray, drop: np.ndarray) -> s.Source:
    return batches.Batched(source_of(source, call), int_of(n), bool(drop), call.attrs.output_types)


def _padded(call: HostCall, source: np.ndarray, n: np.ndarray, *rest: np.ndarray) -> s.Source:
    dtypes = call.types["Toutput_types"]
    k = len(dtypes)
    shapes = [Shape(tuple(None if d < 0 else int(d) for d in x)) for x in rest[:k]]
    pads = [x.item() for x in rest[k : 2 * k]]
    return batches.Padded(source_of(source, call), int_of(n), bool(rest[2 * k]), dtypes, shapes, pads)


def _cache(call: HostCall, source: np.ndarray, filename: np.ndarray) -> s.Source:
    path = text_of(filename)
    below = source_of(source, call)
    return FileCached(below, path, call.attrs.output_types) if path else Cached(below)


def _grouped(call: HostCall, source: np.ndarray, *captured: np.ndarray) -> s.Source:
    a = call.attrs
    i = len(call.types["Tkey_func_other_arguments"])
    k = i + len(call.types["Treduce_func_other_arguments"])
    return Grouped(
        source_of(source, call),
        function_of(call, a.key_func, captured[:i]),
        function_of(call, a.reduce_func, captured[i:k]),
        function_of(call, a.window_size_func, captured[k:]),
    )


def _forgiving(call: HostCall, source: np.ndarray) -> s.Source:
    count = call.attrs.skipped
    return t.Forgiving(source_of(source, call), count.add if count is not None else lambda n: None)


# Attributes of TensorFlow's data sets that say how elements are computed, and change none of them.
_HINTS = {"use_inter_op_parallelism": None, "preserve_cardinality": None}
_COPY, _ORDER = {"parallel_copy": None}, {"sloppy": False}
_FUNCTION = "input_dataset: variant, other_arguments: [Targuments]"

ZIP = dataset_op(
    "ZipDataset",
    "input_datasets: N*variant",
    lambda call, *d: t.Zipped([source_of(x, call) for x in d]),
    "Elements of several data sets side by side, as many as the shortest has.",
)
CONCATENATE = dataset_op(
    "ConcatenateDataset",
    "input_dataset: variant, another_dataset: variant",
    lambda call, a, b: t.Concatenated(source_of(a, call), source_of(b, call)),
    "One data set after the other.",
)
MAP = dataset_op("MapDataset", _FUNCTION, _map, "A function of each element.", FunctionAttrs, defaults=_HINTS)
PARALLEL_MAP = dataset_op(
    "ParallelMapDataset",
    _FUNCTION + ", num_parallel_calls: int32",
    _parallel_map,
    "A function of each element, computed for several elements at once; their order is kept.",
    FunctionAttrs,
    defaults=_HINTS | _ORDER,
)
PARALLEL_MAP_V2 = dataset_op(
    "ParallelMapDatasetV2",
    _FUNCTION + ", num_parallel_calls: int64",
    _parallel_map,
    "ParallelMapDataset of TensorFlow 2, with a number of 64 bits.",
    FunctionAttrs,
    defaults=_HINTS | {"deterministic": None},
)
MAP_AND_BATCH = dataset_op(
    "MapAndBatchDataset",
    _FUNCTION + ", batch_size: int64, num_parallel_calls: int64, drop_remainder: bool",
    _map_and_batch,
    "A function of each element, and the results stacked, `batch_size` at a time.",
    FunctionAttrs,
    defaults=_HINTS,
)
FILTER = dataset_op(
    "FilterDataset", _FUNCTION, _filter, "The elements for which a function returns true.", PredicateAttrs
)
FLAT_MAP = dataset_op(
    "FlatMapDataset",
    _FUNCTION,
    _flat_map,
    "The elements of the data sets that a function returns for each element, one data set after the other.",
    FunctionAttrs,
)
INTERLEAVE = dataset_op(
    "InterleaveDataset",
    _FUNCTION + ", cycle_length: int64, block_length: int64",
    _interleave,
    "Like FlatMapDataset, but `block_length` elements in turn from each of `cycle_length` data sets.",
    FunctionAttrs,
)
PARALLEL_INTERLEAVE_V2 = dataset_op(
    "ParallelInterleaveDatasetV2",
    _FUNCTION + ", cycle_length: int64, block_length: int64, num_parallel_calls: int64",
    _parallel_interleave,
    "InterleaveDataset, in whose order elements come however many calls are made at once.",
    FunctionAttrs,
    defaults=_ORDER,
)
PARALLEL_INTERLEAVE = dataset_op(
    "ExperimentalParallelInterleaveDataset",
    _FUNCTION + ", cycle_length: int64, block_length: int64, sloppy: bool, buffer_output_elements: int64,"
    " prefetch_input_elements: int64",
    lambda call, source, *rest: _interleave(call, source, *rest[:-3]),
    "InterleaveDataset, in whose order elements come whether `sloppy` allows others or not.",
    FunctionAttrs,
)
OPTIMIZE = dataset_op(
    "OptimizeDataset",
    "input_dataset: variant, optimizations: string",
    lambda call, d, names: source_of(d, call),
    "The same elements; the names of optimizations, which change how they are computed, are without effect.",
    defaults={"optimization_configs": None},
)
MODEL = dataset_op(
    "ModelDataset",
    "input_dataset: variant",
    lambda call, d: source_of(d, call),
    "The same elements; in TensorFlow it chooses how many calls are made at once.",
    defaults={"cpu_budget": None, "algorithm": None, "ram_budget": None},
)
SHUFFLE = dataset_op(
    "ShuffleDataset",
    "input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64",
    _shuffle,
    "The elements in random order: each is drawn from a buffer of the next `buffer_size` elements.",
    ShuffleAttrs,
)
REPEAT = dataset_op(
    "RepeatDataset",
    "input_dataset: variant, count: int64",
    lambda call, d, n: t.Repeated(source_of(d, call), int_of(n)),
    "All elements `count` times (negative: without end).",
)
BATCH = dataset_op(
    "BatchDatasetV2",
    "input_dataset: variant, batch_size: int64, drop_remainder: bool",
    _batch,
    "Elements stacked, `batch_size` at a time. Errors during iteration: InvalidArgumentError for "
    "elements of different shapes.",
    defaults=_COPY,
)
PADDED_BATCH = dataset_op(
    "PaddedBatchDatasetV2",
    "input_dataset: variant, batch_size: int64, padded_shapes: N*int64, padding_values: [Toutput_types], "
    "drop_remainder: bool",
    _padded,
    "Elements padded and stacked, `batch_size` at a time.",
    defaults=_COPY,
)
UNBATCH = dataset_op(
    "UnbatchDataset",
    "input_dataset: variant",
    lambda call, d: batches.Unbatched(source_of(d, call)),
    "The rows of each element.",
)


def _prefetched(call: HostCall, dataset: np.ndarray, buffer_size: np.ndarray) -> Prefetched:
    size = int_of(buffer_size)
    if size < -1:
        raise InvalidArgumentError(f"buffer_size must be >= 0, or -1 for a size that is chosen, got {size}", call.op)
    return Prefetched(source_of(dataset, call), size)


PREFETCH = dataset_op(
    "PrefetchDataset",
    "input_dataset: variant, buffer_size: int64",
    _prefetched,
    "The same elements, up to `buffer_size` of them computed ahead by a thread (-1: as many as fit).",
    defaults={"slack_period": None, "legacy_autotune": None},
)
TAKE = dataset_op(
    "TakeDataset",
    "input_dataset: variant, count: int64",
    lambda call, d, n: t.Taken(source_of(d, call), int_of(n)),
    "The first `count` elements (negative: all).",
)
SKIP = dataset_op(
    "SkipDataset",
    "input_dataset: variant, count: int64",
    lambda call, d, n: t.Skipped(source_of(d, call), int_of(n)),
    "All but the first `count` elements.",
)
SHARD = dataset_op(
    "ShardDataset",
    "input_dataset: variant, num_shards: int64, index: int64",
    lambda call, d, n, i: t.Sharded(source_of(d, call), int_of(n), int_of(i)),
    "Every `num_shards`-th element, from `index` on.",
    defaults={"require_non_empty": False},
)
CACHE = dataset_op(
    "CacheDataset",
    "input_dataset: variant, filename: string",
    _cache,
    "The same elements, stored for the next iteration: in memory, or in a file if `filename` is not empty.",
)
WINDOW = dataset_op(
    "WindowDataset",
    "input_dataset: variant, size: int64, shift: int64, stride: int64, drop_remainder: bool",
    lambda call, d, size, shift, stride, drop: Windowed(
        source_of(d, call), int_of(size), int_of(shift), int_of(stride), bool(drop)
    ),
    "Windows of `size` elements, one every `shift` elements; each component is a data set.",
)
GROUP_BY_WINDOW = dataset_op(
    "GroupByWindowDataset",
    "input_dataset: variant, key_func_other_arguments: [Tkey_func_other_arguments], "
    "reduce_func_other_arguments: [Treduce_func_other_arguments], "
    "window_size_func_other_arguments: [Twindow_size_func_other_arguments]",
    _grouped,
    "The elements of the data sets that a function returns for groups of elements with the same key.",
    GroupAttrs,
)
SCAN = dataset_op(
    "ScanDataset",
    "input_dataset: variant, initial_state: [Tstate], other_arguments: [Targuments]",
    lambda call, d, *rest: Scanned(
        source_of(d, call),
        rest[: len(call.types["Tstate"])],
        element_function(call, rest[len(call.types["Tstate"]) :]),
    ),
    "A function of the state and each element, which returns the next state and an element of the result.",
    ScanAttrs,
    defaults={"preserve_cardinality": None, "use_default_device": None},
)
IGNORE_ERRORS = dataset_op(
    "IgnoreErrorsDataset",
    "input_dataset: variant",
    _forgiving,
    "The elements that can be computed; those whose computation fails are skipped and counted.",
    SkippingAttrs,
)

OPS: tuple[OpDef, ...] = (
    ZIP,
    CONCATENATE,
    MAP,
    PARALLEL_MAP,
    PARALLEL_MAP_V2,
    MAP_AND_BATCH,
    PARALLEL_INTERLEAVE,
    PARALLEL_INTERLEAVE_V2,
    OPTIMIZE,
    MODEL,
    FILTER,
    FLAT_MAP,
    INTERLEAVE,
    SHUFFLE,
    REPEAT,
    BATCH,
    PADDED_BATCH,
    UNBATCH,
    PREFETCH,
    TAKE,
    SKIP,
    SHARD,
    CACHE,
    WINDOW,
    GROUP_BY_WINDOW,
    SCAN,
    IGNORE_ERRORS,
)
API: dict[str, Any] = {}
