"""Seldom used data sets: earlier forms and other names of present ones, files by patterns, random numbers, waiting.

Invariant: a renamed operation has the inputs, attributes and elements of the present one.
"""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

import numpy as np

from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ir.opdef import LOCAL, NOT_DIFFERENTIABLE, HostCall, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.dataset import batches, sources, transforms
from tfnb.ops.dataset.choices import DIRECTED_INTERLEAVE, TAKE_WHILE, UNIQUE
from tfnb.ops.dataset.definition import GraphFunction, dataset_op, element_function, int_of, source_of, text_of
from tfnb.ops.dataset.shuffle import Shuffled
from tfnb.ops.dataset.sources import Element, Rows, Source
from tfnb.ops.dataset.transform_ops import GROUP_BY_WINDOW, IGNORE_ERRORS, MAP, PARALLEL_INTERLEAVE, SCAN, UNBATCH
from tfnb.ops.dataset.transforms import Over, Steps, each
from tfnb.ops.io.csv_files import CSV_DATASET
from tfnb.ops.io.record_files import FixedLengthFile
from tfnb.types import ANY, Shape

__all__ = ["OPS", "SINGLE_ELEMENT"]

_RENAMED: dict[str, OpDef] = {
    "TakeWhileDataset": TAKE_WHILE,
    "UniqueDataset": UNIQUE,
    "DirectedInterleaveDataset": DIRECTED_INTERLEAVE,
    "ExperimentalCSVDataset": CSV_DATASET,
    "ExperimentalGroupByWindowDataset": GROUP_BY_WINDOW,
    "ExperimentalIgnoreErrorsDataset": IGNORE_ERRORS,
    "ExperimentalMapDataset": MAP,
    "ExperimentalScanDataset": SCAN,
    "ExperimentalUnbatchDataset": UNBATCH,
    "ParallelInterleaveDataset": PARALLEL_INTERLEAVE,
}


def _batch(call: HostCall, source: np.ndarray, n: np.ndarray) -> Source:
    return batches.Batched(source_of(source, call), int_of(n), False, call.attrs.output_types)


def _padded(call: HostCall, source: np.ndarray, n: np.ndarray, *rest: np.ndarray) -> Source:
    dtypes = call.types["Toutput_types"]
    k = len(dtypes)
    shapes = [Shape(tuple(None if d < 0 else int(d) for d in x)) for x in rest[:k]]
    return batches.Padded(source_of(source, call), int_of(n), False, dtypes, shapes, [x.item() for x in rest[k:]])


def _fixed(
    call: HostCall,
    names: np.ndarray,
    header: np.ndarray,
    record: np.ndarray,
    footer: np.ndarray,
    size: np.ndarray,
    kind: np.ndarray,
) -> Source:
    length = int_of(record)
    if length <= 0:
        raise InvalidArgumentError(f"record_bytes must be > 0, got {length}", call.op)
    if text_of(kind):
        raise UnimplementedError(f"records of fixed length are not read from {text_of(kind)} files", call.op)
    paths = [bytes(n) for n in names.reshape(-1)]
    return sources.Files(paths, lambda n: FixedLengthFile(n, length, int_of(header), int_of(footer), exact=True))


def _matching(call: HostCall, patterns: np.ndarray) -> Source:
    found: set[bytes] = set()
    for pattern in patterns.reshape(-1):
        found.update(os.fsencode(n) for n in glob.glob(os.fsdecode(bytes(pattern))) if os.path.isfile(n))
    names = np.empty(len(found), object)
    names[:] = sorted(found)
    return sources.Slices([names])


class _Random(Source):
    """Endless random numbers in [0, 2^32), the same for the same seeds."""

    def __init__(self, seed: int, seed2: int) -> None:
        self._seeds = (seed & (2**64 - 1), seed2 & (2**64 - 1))

    def rows(self) -> Rows:
        generator = np.random.default_rng(self._seeds if any(self._seeds) else None)

        def steps() -> Iterator[Element]:
            while True:
                yield (np.asarray(generator.integers(0, 2**32), np.int64),)

        return Steps(steps())


class _Sampled(Over):
    """Each element with the probability `rate`."""

    def __init__(self, source: Source, rate: float, seeds: tuple[int, int]) -> None:
        super().__init__(source)
        self._rate, self._seeds = rate, tuple(seed & (2**64 - 1) for seed in seeds)

    def rows(self) -> Rows:
        rows, generator = self.source.rows(), np.random.default_rng(self._seeds if any(self._seeds) else None)
        return Steps((element for element in each(rows) if generator.random() < self._rate), rows)


class _Slow(Over):
    """The elements, each after a pause."""

    def __init__(self, source: Source, microseconds: int) -> None:
        super().__init__(source)
        self._pause = max(0, microseconds) / 1e6

    def rows(self) -> Rows:
        rows = self.source.rows()

        def steps() -> Iterator[Element]:
            for element in each(rows):
                time.sleep(self._pause)
                yield element

        return Steps(steps(), rows)


class _SlidingWindow(Over):
    """Windows of elements as their rows: `size` elements `stride` apart, the next window `shift` elements later."""

    def __init__(self, call: HostCall, source: Source, sizes: Sequence[int]) -> None:
        super().__init__(source)
        size, shift, stride = sizes
        for name, value in (("window_size", size), ("window_shift", shift), ("window_stride", stride)):
            if value <= 0:
                raise InvalidArgumentError(f"{name} must be greater than zero, got {value}", call.op)
        self._size, self._shift, self._stride = size, shift, stride
        self._types = call.attrs.output_types

    def rows(self) -> Rows:
        rows, reach = self.source.rows(), (self._size - 1) * self._stride + 1

        def steps() -> Iterator[Element]:
            held: list[Element] = []
            left_out = 0
            for element in each(rows):
                if left_out:
                    left_out -= 1
                    continue
                held.append(element)
                if len(held) == reach:
                    window = list(zip(*held[:: self._stride], strict=True))
                    pairs = zip(window, self._types, strict=True)
                    yield tuple(batches.stack_rows(column, dtype, i) for i, (column, dtype) in enumerate(pairs))
                    left_out = max(0, self._shift - reach)
                    held = held[self._shift :]

        return Steps(steps(), rows)


def _shuffled(call: HostCall, source: np.ndarray, *rest: np.ndarray) -> Source:
    size, seed, seed2, count = map(int_of, rest)
    mixed = None if seed == 0 and seed2 == 0 else (seed << 32) ^ seed2
    return transforms.Repeated(Shuffled(source_of(source, call), size, mixed), count)


def _last_is_true(*element: np.ndarray) -> list[np.ndarray]:
    return [np.asarray(element[-1])]


def _by_last(call: HostCall, source: np.ndarray) -> Source:
    kept = transforms.Filtered(source_of(source, call), _last_is_true)
    return transforms.Mapped(kept, lambda *element: list(element[:-1]))


SAMPLING = dataset_op(
    "SamplingDataset",
    "input_dataset: variant, rate: float32, seed: int64, seed2: int64",
    lambda call, d, rate, a, b: _Sampled(source_of(d, call), float(rate), (int_of(a), int_of(b))),
    "Each element with the probability `rate`; equal seeds give equal choices, and two zeros another one each time.",
)


@record
class SingleAttrs:
    """`output_shapes`: the static shapes of the components of the element."""

    output_shapes: tuple[Shape, ...] = ()


def _only(call: HostCall, dataset: np.ndarray) -> tuple[np.ndarray, ...]:
    rows = source_of(dataset, call).rows()
    try:
        first = rows.take(1)
        if not first:
            raise InvalidArgumentError("Dataset was empty.", call.op)
        if rows.take(1):
            raise InvalidArgumentError("Dataset had more than one element.", call.op)
    finally:
        rows.close()
    return tuple(np.asarray(x, d.np) for x, d in zip(first[0], call.types["output_types"], strict=True))


SINGLE_ELEMENT: OpDef[list[Tensor]] = OpDef(
    "DatasetToSingleElement",
    "dataset: variant",
    "components: [output_types]",
    """The components of the only element of a data set.

    Errors: the data set is empty, or has more elements. Host only.""",
    types={"output_types": ANY},
    attrs=SingleAttrs,
    infer=lambda c: tuple(c.attrs.output_shapes) or (Shape(None),) * len(c.types["output_types"]),
    host=_only,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    blocking=True,
    dynamic=True,
)


@record
class ReduceAttrs:
    """`output_shapes`: of the components of a state; `f`: a function of state and element."""

    output_shapes: tuple[Shape, ...] = ()
    f: GraphFunction | None = field(default=None, repr=False, metadata=LOCAL)


def _folded(call: HostCall, dataset: np.ndarray, *rest: np.ndarray) -> tuple[np.ndarray, ...]:
    n = len(call.types["Tstate"])
    function, state = element_function(call, rest[n:]), rest[:n]
    elements = source_of(dataset, call).rows()
    try:
        for element in each(elements):
            state = tuple(function(*state, *element))
    finally:
        elements.close()
    return tuple(np.asarray(x, d.np) for x, d in zip(state, call.types["output_types"], strict=True))


REDUCE: OpDef[list[Tensor]] = OpDef(
    "ReduceDataset",
    "input_dataset: variant, initial_state: [Tstate], other_arguments: [Targuments]",
    "components: [output_types]",
    """The state after a function of the state and an element was applied to each element in turn.

    Host only.""",
    types={"output_types": ANY, "Tstate": ANY, "Targuments": ANY},
    attrs=ReduceAttrs,
    infer=lambda c: tuple(c.attrs.output_shapes) or (Shape(None),) * len(c.types["output_types"]),
    host=_folded,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    blocking=True,
    dynamic=True,
    defaults={"use_inter_op_parallelism": None},
)


def _both(name: str, op: OpDef) -> list[OpDef]:
    """The operation under its name, and under the one it had while it was new."""
    return [op, replace(op, name=f"Experimental{name}")]


def _slow(name: str) -> OpDef:
    return dataset_op(
        name,
        "input_dataset: variant, sleep_microseconds: int64",
        lambda call, d, n: _Slow(source_of(d, call), int_of(n)),
        "The elements, each after a pause of `sleep_microseconds`.",
    )


OPS: tuple[OpDef, ...] = (
    *(replace(op, name=name, doc=f"{op.name} under another name.\n\n{op.doc}") for name, op in _RENAMED.items()),
    dataset_op(
        "BatchDataset",
        "input_dataset: variant, batch_size: int64",
        _batch,
        "Elements stacked, `batch_size` at a time; the last batch may have fewer.",
    ),
    dataset_op(
        "PaddedBatchDataset",
        "input_dataset: variant, batch_size: int64, padded_shapes: N*int64, padding_values: [Toutput_types]",
        _padded,
        "Elements padded and stacked, `batch_size` at a time; the last batch may have fewer.",
    ),
    dataset_op(
        "FixedLengthRecordDatasetV2",
        "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64,"
        " compression_type: string",
        _fixed,
        "The records of `record_bytes` bytes each of files; `compression_type` must be empty.",
    ),
    *_both(
        "MatchingFilesDataset",
        dataset_op(
            "MatchingFilesDataset",
            "patterns: string",
            _matching,
            "The names of the files that match one of the shell patterns, sorted.",
        ),
    ),
    *_both(
        "RandomDataset",
        dataset_op(
            "RandomDataset",
            "seed: int64, seed2: int64",
            lambda call, a, b: _Random(int_of(a), int_of(b)),
            "Endless random int64 numbers in [0, 2^32); equal seeds give equal numbers.",
        ),
    ),
    *_both("SleepDataset", _slow("SleepDataset")),
    *_both(
        "SlidingWindowDataset",
        dataset_op(
            "SlidingWindowDataset",
            "input_dataset: variant, window_size: int64, window_shift: int64, window_stride: int64",
            lambda call, d, *n: _SlidingWindow(call, source_of(d, call), [int_of(x) for x in n]),
            "Windows of `window_size` elements `window_stride` apart, stacked, one every `window_shift` elements.",
        ),
    ),
    dataset_op(
        "ShuffleAndRepeatDataset",
        "input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, count: int64",
        _shuffled,
        "The elements in random order, `count` times (negative: without end), each time in another order.",
    ),
    dataset_op(
        "FilterByLastComponentDataset",
        "input_dataset: variant",
        _by_last,
        "The elements whose last component, a bool, is true, without that component.",
    ),
    SAMPLING,
    SINGLE_ELEMENT,
    REDUCE,
)
