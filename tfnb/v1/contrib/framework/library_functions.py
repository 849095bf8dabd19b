"""Functions inside `tensorflow.python` that libraries beside TensorFlow import: about modules, shapes and checks.

Invariant: each does what the function of that name in TensorFlow 1.15 does, in a graph; there is no other mode here.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from types import ModuleType
from typing import Any

from tfnb.client.losses_metrics.weights import fits
from tfnb.client.variables.variable_reference import VariableReference
from tfnb.errors import InvalidArgumentError
from tfnb.ir.operation import Operation
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import convert_to_tensor, ones_like
from tfnb.ops.array.shape_ops import RANK, SHAPE, SIZE, rank, shape, size
from tfnb.ops.control_flow.switch_merge import NO_OP
from tfnb.ops.conv_pool.conv_functions import convolution
from tfnb.types import DTypeLike, ShapeLike, as_shape, int32

__all__ = [
    "Convolution",
    "LazyLoader",
    "assert_broadcastable",
    "broadcast_weights",
    "convert_to_tensor_v2",
    "deprecated_argument_lookup",
    "internal_convert_to_tensor",
    "make_all",
    "normalize_data_format",
    "rank_internal",
    "register_symbolic_tensor_type",
    "remove_undocumented",
    "shape_internal",
    "size_internal",
]

# ---- modules and functions -----------------------------------------------------------------------------------


def make_all(module_name: str, doc_string_modules: Sequence[ModuleType] | None = None) -> list[str]:
    """Returns the names of the module that a line "@@name" of a docstring lists.

    doc_string_modules: the modules whose docstrings are read, by default the module itself.
    """
    module = sys.modules[module_name]
    listed = {n for m in doc_string_modules or [module] for n in re.findall(r"^@@(\w+)$", m.__doc__ or "", re.M)}
    return sorted(n for n in listed if hasattr(module, n))


def remove_undocumented(
    module_name: str,
    allowed_exception_list: Sequence[str] | None = None,
    doc_string_modules: Sequence[ModuleType] | None = None,
) -> None:
    """Deletes the public names of the module that `make_all` does not return and the list of exceptions has not."""
    module = sys.modules[module_name]
    kept = {*make_all(module_name, doc_string_modules), *(allowed_exception_list or ())}
    for name in set(dir(module)) - kept:
        if not name.startswith("_"):
            delattr(module, name)


class LazyLoader(ModuleType):
    """The module `name`, imported when an attribute is first used, and then also in `parent_module_globals`."""

    def __init__(self, local_name: str, parent_module_globals: MutableMapping[str, Any], name: str) -> None:
        super().__init__(name)
        self._local_name, self._parent_module_globals = local_name, parent_module_globals

    def _load(self) -> ModuleType:
        module = importlib.import_module(self.__name__)
        self._parent_module_globals[self._local_name] = module
        self.__dict__.update(module.__dict__)
        return module

    def __getattr__(self, item: str) -> Any:
        return getattr(self._load(), item)

    def __dir__(self) -> list[str]:
        return dir(self._load())


def deprecated_argument_lookup(new_name: str, new_value: object, old_name: str, old_value: object) -> Any:
    """Returns the value of an argument that has two names. Raises `InvalidArgumentError` if both are given."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise InvalidArgumentError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value


# ---- shapes, weights, operators ------------------------------------------------------------------------------


def _of_value(
    known: Callable[..., Any], op: Callable[..., Any], value: TensorLike, optimize: bool, options: Mapping[str, Any]
) -> Tensor:
    if optimize or isinstance(value, (SparseTensor, SparseTensorValue)):
        return known(value, **options)
    return op(convert_to_tensor(value), **options)


def shape_internal(
    input: TensorLike, name: str | None = None, optimize: bool = True, out_type: DTypeLike = int32
) -> Tensor:
    """Returns the shape of a tensor, an integer vector; with `optimize` a constant if it is known statically."""
    return _of_value(shape, SHAPE, input, optimize, {"name": name, "out_type": out_type})


def size_internal(
    input: TensorLike, name: str | None = None, optimize: bool = True, out_type: DTypeLike = int32
) -> Tensor:
    """Returns the number of elements of a tensor, a scalar; with `optimize` a constant if it is known statically."""
    return _of_value(size, SIZE, input, optimize, {"name": name, "out_type": out_type})


def rank_internal(input: TensorLike, name: str | None = None, optimize: bool = True) -> Tensor:
    """Returns the number of dimensions of a tensor; with `optimize` a constant if it is known statically."""
    return _of_value(rank, RANK, input, optimize, {"name": name})


def assert_broadcastable(weights: TensorLike, values: TensorLike) -> Operation:
    """Returns an operation that checks in a step whether weights fit. Raises `ShapeError` if it is known they do not.

    Weights are a scalar, or of the rank of `values`, with dimensions of 1 or those of `values`.
    """
    tensor = convert_to_tensor(values)
    checks = fits(tensor, convert_to_tensor(weights))
    return checks[0] if checks else NO_OP(name="static_dims_check_success", graph=tensor.graph)


def broadcast_weights(weights: TensorLike, values: TensorLike) -> Tensor:
    """Returns weights of the shape of `values`. Raises `ShapeError` for weights that do not fit."""
    tensor = convert_to_tensor(values)
    given = convert_to_tensor(weights, dtype=tensor.dtype)
    with tensor.graph.control_dependencies(fits(tensor, given)):
        same = given.shape.is_fully_defined() and given.shape == tensor.shape
        return given if same else given * ones_like(tensor)


def convert_to_tensor_v2(
    value: TensorLike, dtype: DTypeLike | None = None, dtype_hint: DTypeLike | None = None, name: str | None = None
) -> Tensor:
    """Returns `value` as a tensor; see `tf.convert_to_tensor`, whose arguments have another order."""
    return convert_to_tensor(value, dtype, name, dtype_hint)


def internal_convert_to_tensor(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    as_ref: bool = False,
    preferred_dtype: DTypeLike | None = None,
) -> Tensor:
    """Returns `tf.convert_to_tensor` of the value; with `as_ref` of a variable the output that holds it."""
    if as_ref and isinstance(value, VariableReference):
        return value._ref()
    return convert_to_tensor(value, dtype, name, preferred_dtype)


def normalize_data_format(data_format: str) -> str:
    """Returns the data format in small letters. Raises `InvalidArgumentError` for an unknown one."""
    lowered = data_format.lower()
    if lowered not in ("channels_first", "channels_last"):
        raise InvalidArgumentError(
            'The `data_format` argument must be one of "channels_first", "channels_last". Received: ' + str(lowered)
        )
    return lowered


class Convolution:
    """A convolution of inputs of one shape: `Convolution(input_shape, filter_shape, "SAME")(inputs, filters)`.

    input_shape, filter_shape: the static shapes. The other arguments are those of `tf.nn.convolution`.
    """

    def __init__(
        self,
        input_shape: ShapeLike,
        filter_shape: ShapeLike,
        padding: str,
        strides: Sequence[int] | None = None,
        dilation_rate: Sequence[int] | None = None,
        name: str | None = None,
        data_format: str | None = None,
    ) -> None:
        self.input_shape, self.filter_shape = as_shape(input_shape), as_shape(filter_shape)
        self.padding, self.strides, self.dilation_rate = padding, strides, dilation_rate
        self.name, self.data_format = name, data_format

    def __call__(self, inp: TensorLike, filter: TensorLike) -> Tensor:
        """Returns the convolution of `inp` with `filter`. Raises `ShapeError` for other shapes than given before."""
        x, w = convert_to_tensor(inp), convert_to_tensor(filter)
        x.shape.assert_is_compatible_with(self.input_shape)
        w.shape.assert_is_compatible_with(self.filter_shape)
        return convolution(
            x, w, self.padding, self.strides, self.dilation_rate, name=self.name, data_format=self.data_format
        )


def register_symbolic_tensor_type(cls: type) -> None:
    """Does nothing: a layer of Keras takes objects of every class that can be converted to tensors."""
