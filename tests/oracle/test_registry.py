"""Our ops against TensorFlow's registry: names of inputs and outputs, attributes, defaults.

A graph file names all of them, so a difference here is a graph that one of the two cannot read.
"""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

from tfnb.ir.graphdef.attrs import numbers_of
from tfnb.ops import CATALOG, renamed_ops
from tfnb.types import as_dtype

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("tensorflow")
    from tensorflow.python.framework import op_def_registry

_RULES = (
    "Adadelta Adagrad CenteredRMSProp Ftrl Momentum ProximalAdagrad ProximalGradientDescent RMSProp"  # sparse rules
)
_SUMMED = [f"SparseApply{rule}Summed" for rule in _RULES.split()]
# Ops of our own that TensorFlow lacks, and why.
OURS = {
    "BytesInUse": "of the library of tf.contrib.memory_stats, which TensorFlow loads when it is imported",
    "BytesLimit": "as BytesInUse",
    "MaxBytesInUse": "as BytesInUse",
    "ApplyAdamWithAmsgrad": "TensorFlow has it on resource variables alone",
    "ApplyKerasMomentum": "as ApplyAdamWithAmsgrad",
    "SparseApplyKerasMomentum": "as ApplyAdamWithAmsgrad",
    "LabelTerm": "a step of the expansion of SparseSoftmaxCrossEntropyWithLogits",
    "LoopProducts": "state of while_loop's gradient: a sum of products",
    "LoopProductsAdd": "as LoopProducts",
    "LoopProductsSum": "as LoopProducts",
    "LoopStack": "state of while_loop's gradient; TensorFlow has StackV2 on resources",
    "CompareAndBitpack": "later versions of TensorFlow dropped it",
    "GatherTree": "TensorFlow has it in contrib alone",
    "LoopStackPush": "as LoopStack",
    "LoopStackPop": "as LoopStack",
    "PartitionRows": "a step of the expansion of DynamicPartition",
    "StitchRows": "a step of the expansion of DynamicStitch",
    "TakeRows": "a step of the expansions of DynamicPartition and DynamicStitch",
    **dict.fromkeys(_SUMMED, "a sparse update that sums the gradients of equal rows itself"),
    "ReaderNumRecordsSkipped": "how many damaged records a reader left out",
    "ResizeAreaGrad": "TensorFlow has no gradient of ResizeArea",
    "ResizeLines": "a step of the expansion of the image resizing ops",
    "ResizeTaps": "as ResizeLines",
    "ScatterRows": "a step of the expansion of ScatterNd",
    "VariantAddN": "AddN of variants, which TensorFlow's AddN takes too",
    "VariantZerosLike": "ZerosLike of variants, which TensorFlow's ZerosLike takes too",
    "WindowSum": "a step of the expansion of LRN",
}
_STRING_HANDLES = [op.name for op in renamed_ops.OPS if "handle: resource" in op.inputs + op.outputs]
# (op, attribute or argument): why it differs.
DIFFERENT = {
    ("TopKV2", "k"): "Tk and index_type came with TensorFlow 2; here both are int32, their default",
    **{(f"PriorityQueue{v}", "component_types"): "one class for all queues; files always have it" for v in ("", "V2")},
    ("ScatterNdUpdate", "use_locking"): "without effect here; the function's default is theirs",
    **{
        (name, "k"): "its handle is a reference to strings in TensorFlow; here a resource, as of the dense ones"
        for name in (
            "SparseConditionalAccumulator",
            "SparseAccumulatorApplyGradient",
            "SparseAccumulatorTakeGradient",
            "Barrier",
            "BarrierInsertMany",
            "BarrierTakeMany",
            "BarrierClose",
            "BarrierReadySize",
            "BarrierIncompleteSize",
        )
    },
    **{(name, "k"): "its handle is a reference to strings in TensorFlow; here a resource" for name in _STRING_HANDLES},
    **{(f"QuantizeAndDequantize{v}", "axis"): "ranges of single slices came with TensorFlow 2" for v in ("V2", "V3")},
    ("ImageSummary", "bad_color"): "a tensor: red, as theirs",
}

THEIRS = {name: op_def_registry.get(name) for name in CATALOG}
# Ops of tf.data hold Python functions and graphs, which live in this process: they stand in no file.
LOCAL = {n for n, op in CATALOG.items() if op.attrs.__module__.startswith("tfnb.ops.dataset")}
SHARED = sorted(n for n, d in THEIRS.items() if d is not None and n not in LOCAL)


def our_args(args):
    return [(a.name, a.type, a.number, a.type_list, a.ref) for a in args]


def their_args(args):
    found = []
    for a in args:
        kind = a.type_list_attr or a.type_attr or as_dtype(a.type % 100).name
        found.append((a.name, kind, a.number_attr or None, bool(a.type_list_attr), a.is_ref))
    return found


def test_every_op_is_tensorflows_or_says_why_not():
    assert {n for n, d in THEIRS.items() if d is None and not n.startswith("_")} == set(OURS)


@pytest.mark.parametrize("name", SHARED)
def test_signature(name):
    ours, theirs = CATALOG[name], THEIRS[name]
    if (name, "k") in DIFFERENT:
        return
    assert our_args(ours.input_args) == their_args(theirs.input_arg)
    assert our_args(ours.output_args) == their_args(theirs.output_arg)


def plain(value):
    """A default of theirs as Python has it; None where an attribute must be given."""
    which = value.WhichOneof("value")
    if which is None:
        return None
    if which == "list":
        fields = value.list.ListFields()
        return tuple(_one(fields[0][0].name, v) for v in fields[0][1]) if fields else ()
    return _one(which, getattr(value, which))


def _one(which, value):
    if which == "type":
        return as_dtype(value)
    if which == "s":
        return value.decode()
    if which == "f":
        return float(str(np.float32(value)))
    if which == "shape":
        return None if value.unknown_rank else tuple(d.size for d in value.dim)
    return value


@pytest.mark.parametrize("name", SHARED)
def test_attributes(name):
    ours, theirs = CATALOG[name], THEIRS[name]
    fields = {f.name: f for f in dataclasses.fields(ours.attrs) if not f.metadata.keys() & {"local", "ours"}}
    known = {a.name for a in theirs.attr}
    wrong = [f for f in (*fields, *ours.types) if f not in known]
    for a in theirs.attr:
        if (name, a.name) in DIFFERENT:
            continue
        default = plain(a.default_value)
        if a.name in fields:
            f = fields[a.name]
            mine = f.default if f.default is not dataclasses.MISSING else None
            if a.HasField("default_value") and default is not None and mine != default:
                wrong.append(f"{a.name}: default {mine!r}, TensorFlow's {default!r}")
        elif a.name in ours.types and default != ():
            inferred = any(x.type == a.name for x in ours.input_args)
            if default is not None and not inferred and ours.defaults.get(a.name) != default:
                wrong.append(f"{a.name}: needs the default {default}")
        elif a.name not in {*ours.types, *numbers_of(ours)} and default and ours.defaults.get(a.name) != default:
            wrong.append(f"{a.name}: has the default {default!r}, and is not served")
        elif a.name not in {*ours.types, *numbers_of(ours)} and not a.HasField("default_value"):
            wrong.append(f"{a.name}: must be given")
    assert not wrong, f"{name}: {wrong}"
