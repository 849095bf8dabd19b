"""What a function takes: which parameters are tensors, which are numbers, shapes, dtypes, names to choose from.

It is read from the definition of the op that the function makes, or else from the function's annotations and defaults.
Invariant: the order is that of the function's own signature, so positions in a call and in it agree.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from tfnb.caches import remembered
from tfnb.ir.opdef import OpDef
from tfnb.ops import API as OP_API
from tfnb.ops import CATALOG
from tfnb.types import DType

__all__ = ["Formal", "Signature", "opdef_of", "signature_of"]

Kind = Literal["bool", "int", "float", "string", "shape", "dtype", "choice", "python"]

# Tensors by their type that programs nearly always write as numbers: they are edited in the form.
_SETTINGS = frozenset(
    "shape axis axes dim dims perm multiples paddings begin size strides reduction_indices seed seed2 depth num "
    "num_or_size_splits output_shape ksize k on_value off_value start limit delta dtype block_shape crops "
    "split_dim concat_dim expected_shape noise_shape keep_prob rate mean stddev minval maxval learning_rate momentum "
    "decay_steps decay_rate staircase epsilon beta1 beta2 rho".split()
)
_OLD_NAMES = frozenset("reduction_indices keep_dims concat_dim split_dim num_split squeeze_dims keepdims_".split())
_OLD_OF = {"expand_dims": {"dim"}, "softmax_cross_entropy_with_logits": {"dim"}}
_LISTS = frozenset("values inputs tensors".split())
_LIST_FUNCTIONS = frozenset(
    "concat stack pack add_n accumulate_n parallel_stack tuple identity_n merge merge_summary group shape_n".split()
)
# Arguments that only the two orders of 0.x and 1.x make optional.
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "concat": ("values", "axis"),
    "dropout": ("keep_prob",),
    "split": ("value", "num_or_size_splits"),
    "expand_dims": ("axis",),
    "conv2d": ("input", "filter", "strides", "padding"),
    "depthwise_conv2d": ("input", "filter", "strides", "padding"),
    "max_pool": ("value", "ksize", "strides", "padding"),
    "avg_pool": ("value", "ksize", "strides", "padding"),
    "softmax_cross_entropy_with_logits": ("logits", "labels"),
    "sparse_softmax_cross_entropy_with_logits": ("logits", "labels"),
    "sigmoid_cross_entropy_with_logits": ("logits", "labels"),
}
_ACTIVATIONS = ("None", "tf.nn.relu", "tf.nn.relu6", "tf.nn.elu", "tf.sigmoid", "tf.tanh", "tf.nn.softmax")
_INITIALIZERS = (
    "None",
    "tf.zeros_initializer()",
    "tf.ones_initializer()",
    "tf.random_normal_initializer(stddev=0.1)",
    "tf.truncated_normal_initializer(stddev=0.1)",
    "tf.glorot_uniform_initializer()",
    "tf.variance_scaling_initializer()",
)


@dataclass(frozen=True)
class Formal:
    """One parameter of a function. `default` is Python text, "" where an argument is needed."""

    name: str
    is_tensor: bool
    is_list: bool
    is_needed: bool
    is_variadic: bool
    is_keyword_only: bool
    is_old: bool
    kind: Kind
    default: str
    choices: tuple[str, ...]
    doc: str


@dataclass(frozen=True)
class Signature:
    """The parameters of a function; `opdef` is the op that it makes if it makes exactly one, else None."""

    formals: tuple[Formal, ...]
    opdef: OpDef | None
    doc: str

    def formal(self, name: str) -> Formal | None:
        """Returns the parameter of this name, or None."""
        return next((f for f in self.formals if f.name == name), None)

    @property
    def takes_any_keyword(self) -> bool:
        return any(f.name == "**" for f in self.formals)


@cache
def _opdefs() -> Mapping[int, OpDef]:
    """The ops by the identity of the functions that were derived from them; the catalogue keeps the functions."""
    by_function: dict[int, OpDef] = {}
    for op in CATALOG.values():
        for name in op.api.split():
            if name in OP_API and getattr(OP_API[name], "__module__", "") == "tfnb.ops.catalog":
                by_function[id(OP_API[name])] = op
    return by_function


def opdef_of(function: Callable[..., Any]) -> OpDef | None:
    """Returns the op whose derived function this is, as `tf.nn.relu` and `tf.raw_ops.Relu` are, or None."""
    op = _opdefs().get(id(function))
    if op is None and getattr(function, "__module__", "") == "tfnb.client.graph.raw_ops":
        op = CATALOG[function.__name__]
    return op


def signature_of(function: Callable[..., Any]) -> Signature | None:
    """Returns what a function or class takes; None if Python does not know its parameters."""
    try:
        return _signature(function)
    except TypeError:  # not hashable
        return None


@remembered("signatures of functions", 4096)
def _signature(function: Callable[..., Any]) -> Signature | None:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    op = opdef_of(function)
    doc = inspect.getdoc(function) or ""
    short = getattr(function, "__name__", "")
    return Signature(tuple(_formal(p, op, short, doc) for p in parameters), op, doc)


def _formal(p: inspect.Parameter, op: OpDef | None, function: str, doc: str) -> Formal:
    annotation = "" if p.annotation is p.empty else str(p.annotation)
    is_list = p.kind is p.VAR_POSITIONAL
    if op is not None and any(a.name == p.name for a in op.input_args):
        arg = next(a for a in op.input_args if a.name == p.name)
        is_list = arg.number is not None or arg.type_list
        is_tensor = p.name not in _SETTINGS
    else:
        is_list = is_list or (function in _LIST_FUNCTIONS and p.name in _LISTS)
        is_tensor = p.name not in _SETTINGS and _takes_tensor(p.name, annotation)
    is_needed = p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    is_needed = is_needed or (p.default is None and p.name in _NEEDED.get(function, ()))
    is_old = p.name in _OLD_NAMES or p.name in _OLD_OF.get(function, ())
    is_old = is_old or (p.name == "filters" and "TensorLike" in annotation)  # a second name of `filter`
    is_old = is_old or (p.name == "input" and function in ("max_pool", "avg_pool"))
    kind, choices = _kind(p, annotation, op, function)
    return Formal(
        "**" if p.kind is p.VAR_KEYWORD else p.name,
        is_tensor and p.kind is not p.VAR_KEYWORD,
        is_list,
        is_needed and not is_old,
        p.kind is p.VAR_POSITIONAL,
        p.kind is p.KEYWORD_ONLY,
        is_old or p.kind is p.VAR_KEYWORD,
        kind,
        "" if p.default is p.empty else _text(p.default),
        choices,
        _sentence(doc, p.name),
    )


@cache
def _input_names() -> frozenset[str]:
    """The names of the inputs of all ops, which functions in Python use for their tensors, too."""
    return frozenset(a.name for op in CATALOG.values() for a in op.input_args) | {"inputs", "loss", "predictions", "xs"}


def _takes_tensor(name: str, annotation: str) -> bool:
    if "Tensor" in annotation:
        return True
    return annotation.strip("'\"") in ("", "Any") and name in _input_names()


def _kind(p: inspect.Parameter, annotation: str, op: OpDef | None, function: str) -> tuple[Kind, tuple[str, ...]]:
    name, default = p.name, p.default
    if name == "padding":
        if function and (default is p.empty or not str(default).islower()):
            return "choice", ("'SAME'", "'VALID'")
        return "choice", ("'same'", "'valid'")
    if name == "data_format" and isinstance(default, str):
        return "choice", ("'NHWC'", "'NCHW'") if default.isupper() else ("'channels_last'", "'channels_first'")
    if op is not None and name in op.types:
        return "dtype", tuple(f"tf.{d.name}" for d in op.types[name])
    if name in ("dtype", "out_type", "output_type", "DstT", "SrcT") or "DType" in annotation:
        return "dtype", tuple(f"tf.{n}" for n in "float32 float64 int32 int64 bool string uint8 float16".split())
    if name == "activation" or name.endswith(("_activation", "activation_fn")):
        return "choice", _ACTIVATIONS
    if "initializer" in name:
        return "choice", _INITIALIZERS
    if isinstance(default, bool) or annotation.strip("'\"") in ("bool", "bool | None"):
        return "bool", ()
    if (
        name == "shape"
        or "Shape" in annotation
        or name in ("strides", "ksize", "kernel_size", "pool_size", "dilations")
    ):
        return "shape", ()
    base = annotation.strip("'\"").removesuffix(" | None")
    if isinstance(default, int) or base == "int":
        return "int", ()
    if isinstance(default, float) or base in ("float", "Hyper"):
        return "float", ()
    if name == "name" or isinstance(default, str) or base == "str":
        return "string", ()
    return "python", ()


def _text(default: object) -> str:
    """Returns the Python text of a default."""
    if isinstance(default, DType):
        return f"tf.{default.name}"
    text = repr(default)
    return text if len(text) < 60 and "<" not in text else "..."


def _sentence(doc: str, name: str) -> str:
    """Returns the sentence of a docstring that explains the parameter, or ""."""
    for pattern in (rf"`{re.escape(name)}`[^.]*\.", rf"\b{re.escape(name)}\s*(?:[:=])[^.]*\."):
        m = re.search(pattern, doc)
        if m is not None:
            return re.sub(r"\s+", " ", m.group())[:300]
    return ""
