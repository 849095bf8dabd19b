"""Inputs that belong together: what a forward operation gave, the shape of what flows back, the ends of a range.

Changing sizes and values at random breaks them apart. Invariant: `together` changes only inputs that the others
determine; where the forward operation refuses its own, the case stays as it is.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from building import CATALOG, build
from cases import Case
from evaluate import evaluate

from tfnb.errors import OpError

__all__ = ["ALWAYS", "FORWARD", "together"]

# op -> the forward operation, its inputs (an input's name, or the name of one that holds its shape), what takes the
# place of its outputs, and what has the shape of its first output or of its input
FORWARD: dict[str, tuple[str, str, str, str]] = {
    "AvgPoolGrad": ("AvgPool", "shape:orig_input_shape", "", "grad"),
    "AvgPool3DGrad": ("AvgPool3D", "shape:orig_input_shape", "", "grad"),
    "LRNGrad": ("LRN", "input_image", "output_image", "input_grads"),
    "MaxPoolGrad": ("MaxPool", "orig_input", "orig_output", "grad"),
    "MaxPoolGradGrad": ("MaxPool", "orig_input", "orig_output", "input:grad"),
    "MaxPool3DGrad": ("MaxPool3D", "orig_input", "orig_output", "grad"),
    "MaxPool3DGradGrad": ("MaxPool3D", "orig_input", "orig_output", "input:grad"),
    "MaxPoolGradWithArgmax": ("MaxPoolWithArgmax", "input", "- argmax", "grad"),
    "MaxPoolGradGradWithArgmax": ("MaxPoolWithArgmax", "input", "- argmax", "input:grad"),
    "Conv2DBackpropInput": ("Conv2D", "shape:input_sizes filter", "", "out_backprop"),
    "Conv2DBackpropFilter": ("Conv2D", "input shape:filter_sizes", "", "out_backprop"),
    "Conv3DBackpropInput": ("Conv3D", "input filter", "", "out_backprop"),
    "Conv3DBackpropFilter": ("Conv3D", "input filter", "", "out_backprop"),
    "Conv3DBackpropInputV2": ("Conv3D", "shape:input_sizes filter", "", "out_backprop"),
    "Conv3DBackpropFilterV2": ("Conv3D", "input shape:filter_sizes", "", "out_backprop"),
    "DepthwiseConv2dNativeBackpropInput": (
        "DepthwiseConv2dNative",
        "shape:input_sizes filter",
        "",
        "out_backprop",
    ),
    "DepthwiseConv2dNativeBackpropFilter": (
        "DepthwiseConv2dNative",
        "input shape:filter_sizes",
        "",
        "out_backprop",
    ),
    "Dilation2DBackpropInput": ("Dilation2D", "input filter", "", "out_backprop"),
    "Dilation2DBackpropFilter": ("Dilation2D", "input filter", "", "out_backprop"),
}
# TensorFlow ends the process, or reads beyond its memory, when these do not belong together
ALWAYS = frozenset(n for n in FORWARD if "Argmax" in n or "Backprop" in n or "Avg" in n)


def _named(case: Case) -> dict[str, np.ndarray]:
    names = [a.name for a in CATALOG[case.op].input_args]
    return {n: x if isinstance(x, list) else np.asarray(x) for n, x in zip(names, case.inputs, strict=True)}


def _filled(rng: Any, like: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return like if like.shape == shape else rng.uniform(-2, 2, shape).astype(like.dtype)


def _forward(case: Case, rng: Any) -> Case:
    op, takes, gives, follows = FORWARD[case.op]
    given = _named(case)
    floats = next(a for a in given.values() if a.dtype.kind == "f" or a.dtype.itemsize == 2)
    inputs = []
    for name in takes.split():
        kind, _, source = name.rpartition(":")
        shape = given[source]
        if kind and (shape.ndim != 1 or (shape < 0).any() or np.prod(shape.astype(float)) > 1e5):
            return case
        inputs.append(np.zeros(shape.tolist(), floats.dtype) if kind else shape)
    wanted = {f.name for f in fields(CATALOG[op].attrs)}
    attrs = {k: v for k, v in case.attrs.items() if k in wanted}
    if "argmax" in given:
        attrs["Targmax"] = given["argmax"].dtype.name
    try:
        built = build(Case(op, tuple(inputs), attrs))
        outputs = evaluate(built.outputs, built.feeds())
    except OpError:
        return case
    for name, value in zip(gives.split(), outputs, strict=False):
        if name in given:
            given[name] = np.asarray(value)
    kind, _, name = follows.rpartition(":")
    given[name] = _filled(rng, given[name], np.shape(inputs[0] if kind else outputs[0]))
    return replace(case, inputs=tuple(given.values()))


def _moments(case: Case, rng: Any) -> Case:
    """The batch's own mean and variance, which a gradient in training takes for granted."""
    given = _named(case)
    x = given["x"]
    if x.ndim != 4:
        return case
    first = case.attrs.get("data_format") == "NCHW"
    axes = (0, 2, 3) if first else (0, 1, 2)
    channels = (x.shape[1 if first else 3],)
    for name in ("scale", "reserve_space_1", "reserve_space_2"):
        given[name] = np.abs(_filled(rng, given[name], channels)) + given[name].dtype.type(0.1)
    if case.attrs.get("is_training", True) and x.size:
        wide = x.astype(np.float64)
        given["reserve_space_1"] = wide.mean(axes).astype(given["reserve_space_1"].dtype)
        given["reserve_space_2"] = wide.var(axes).astype(given["reserve_space_2"].dtype)
    given["y_backprop"] = _filled(rng, given["y_backprop"], x.shape)
    return replace(case, inputs=tuple(given.values()))


def _ranges(case: Case) -> Case:
    """Minima below maxima."""
    given = _named(case)
    for low in [n for n in given if "min" in n and n.replace("min", "max") in given]:
        high = low.replace("min", "max")
        if given[low].shape == given[high].shape:
            given[low], given[high] = (f(given[low], given[high]) for f in (np.minimum, np.maximum))
    return replace(case, inputs=tuple(given.values()))


def together(case: Case, rng: Any) -> Case:
    """The case with inputs that belong together."""
    if case.op in FORWARD:
        return _forward(case, rng)
    if case.op.startswith("FusedBatchNormGrad"):
        return _moments(case, rng)
    return _ranges(case)
