"""Small functions of `tensorflow.python` that programs copied with the code around them: inspection, exports, shapes.

Invariant: none of them makes a node, and each does what the function of that name in TensorFlow 1.15 does.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NamedTuple, TypeVar

from tfnb.errors import DTypeError, InvalidArgumentError

__all__ = ["API"]

F = TypeVar("F")
_numbers = itertools.count(1)


def uid() -> int:
    """Returns a number that no earlier call has returned."""
    return next(_numbers)


def in_graph_mode() -> bool:
    """Returns True: operations are added to a graph."""
    return True


def in_eager_mode() -> bool:
    """Returns False: operations are added to a graph."""
    return False


class ArgSpec(NamedTuple):
    """The arguments of a function: their names, `*args`, `**kwargs` and the defaults of the last ones."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getargspec(target: Callable[..., Any]) -> ArgSpec:
    """Returns the names and defaults of the arguments of a function, with those of what it decorates."""
    found = inspect.getfullargspec(inspect.unwrap(target))
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)


class tf_export:
    """A decorator that gives a function public names in TensorFlow's own build; here it returns the function."""

    def __init__(self, *names: str, v1: Sequence[str] | None = None, allow_multiple_exports: bool = False) -> None:
        self._names = (*names, *(v1 or ()))
        if not self._names and not allow_multiple_exports:
            raise InvalidArgumentError("tf_export needs the public names of what it decorates")

    def __call__(self, function: F) -> F:
        """Returns the function as it is."""
        return function


def make_decorator(target: Callable[..., Any], decorator_func: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `decorator_func` with the name and the text of `target`, which it calls."""
    for attribute in ("__name__", "__doc__", "__module__"):
        setattr(decorator_func, attribute, getattr(target, attribute, None))
    decorator_func.__wrapped__ = target  # type: ignore[attr-defined]
    return decorator_func


def unwrap(maybe_decorated: Any) -> tuple[list[Any], Any]:
    """Returns the decorators around a function, from the outermost on, and the function itself."""
    decorators = []
    while hasattr(maybe_decorated, "__wrapped__"):
        decorators.append(maybe_decorated)
        maybe_decorated = maybe_decorated.__wrapped__
    return decorators, maybe_decorated


def _plain_function(function: Any) -> Any:
    """Returns the method `__call__` of an object that can be called; any other function as it is."""
    return function.__call__ if inspect.ismethod(getattr(function, "__call__", None)) else function  # noqa: B004


def fn_args(fn: Any) -> tuple[str, ...]:
    """Returns the names of the arguments of a function, a method, a callable object, or a partial function.

    Those that a partial function has given, and the object of a method, are left out.
    """
    if isinstance(fn, functools.partial):
        left = fn_args(fn.func)[len(fn.args) :]
        return tuple(name for name in left if name not in fn.keywords)
    function = _plain_function(fn)
    names = inspect.getfullargspec(inspect.unwrap(function)).args
    bound = getattr(inspect.unwrap(function), "__self__", None) is not None and inspect.ismethod(
        inspect.unwrap(function)
    )
    return tuple(names[1:] if bound else names)


def has_kwargs(fn: Any) -> bool:
    """Returns whether a function, a callable object or a partial function takes any keyword.

    Raises `DTypeError` for what can't be called.
    """
    function = fn.func if isinstance(fn, functools.partial) else _plain_function(fn)
    if not callable(function):
        raise DTypeError(f"fn should be a function-like object, but is of type {type(fn)}.")
    return inspect.getfullargspec(inspect.unwrap(function)).varkw is not None


def get_func_name(func: object) -> str:
    """Returns the name of a function, or "Class.name" of a method, or the text of the type of a callable object.

    Raises `InvalidArgumentError` for what can't be called.
    """
    function = unwrap(func)[1]
    if not callable(function):
        raise InvalidArgumentError("Argument must be callable")
    if inspect.isfunction(function):
        return function.__name__
    if inspect.ismethod(function):
        return f"{type(function.__self__).__name__}.{function.__func__.__name__}"
    return str(type(function))


def get_func_code(func: object) -> CodeType | None:
    """Returns the code of a function, a method or a callable object, or None where it has none.

    Raises `InvalidArgumentError` for what can't be called.
    """
    function = unwrap(func)[1]
    if not callable(function):
        raise InvalidArgumentError("Argument must be callable")
    found = getattr(function, "__code__", None)
    return found if found is not None else getattr(getattr(function, "__call__", None), "__code__", None)  # noqa: B004


def normalize_tuple(value: int | Sequence[int], n: int, name: str) -> tuple[int, ...]:
    """Returns the `n` integers of `value`, or one integer `n` times.

    Raises `InvalidArgumentError`, which calls the argument `name`, for another number of them.
    """
    if isinstance(value, int):
        return (value,) * n
    try:
        values = tuple(int(v) for v in value)
    except (TypeError, ValueError):
        values = ()
    if len(values) != n:
        raise InvalidArgumentError(f"The `{name}` argument must be a tuple of {n} integers. Received: {value!r}")
    return values


def normalize_padding(value: str) -> str:
    """Returns the padding `value` in lower case. Raises `InvalidArgumentError` unless it is "valid" or "same"."""
    if value.lower() not in ("valid", "same"):
        raise InvalidArgumentError(f'The `padding` argument must be one of "valid", "same". Received: {value!r}')
    return value.lower()


def convert_data_format(data_format: str, ndim: int) -> str:
    """Returns the order of the axes that `data_format` means for tensors of `ndim` dimensions: 3, 4 or 5.

    That is "NHWC" and its like for "channels_last", and "NCHW" and its like for "channels_first". Raises
    `InvalidArgumentError` for anything else.
    """
    spatial = {3: "W", 4: "HW", 5: "DHW"}.get(ndim)
    forms = {"channels_last": f"N{spatial}C", "channels_first": f"NC{spatial}"}
    if spatial is None or data_format not in forms:
        raise InvalidArgumentError(f"Invalid data_format {data_format!r} or number of dimensions {ndim!r}")
    return forms[data_format]


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """Returns the length of a convolution's result along one axis, or None if `input_length` is None.

    The filter has `filter_size` elements, `dilation` apart, and moves by `stride`; `padding` is "same", "valid" or
    "full". Raises `InvalidArgumentError` for another padding.
    """
    if input_length is None:
        return None
    wide = filter_size + (filter_size - 1) * (dilation - 1)
    grown = {"same": 0, "valid": 1 - wide, "full": wide - 1}
    if padding not in grown:
        raise InvalidArgumentError(f'padding must be "same", "valid" or "full", got {padding!r}')
    return -(-(input_length + grown[padding]) // stride)


def deconv_output_length(input_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """Returns the length of a transposed convolution's result along one axis, or None if `input_length` is None.

    The filter has `filter_size` elements and moves by `stride`; `padding` is "same", "valid" or "full". Raises
    `InvalidArgumentError` for another padding.
    """
    if input_length is None:
        return None
    grown = {"same": 0, "valid": max(filter_size - stride, 0), "full": -(stride + filter_size - 2)}
    if padding not in grown:
        raise InvalidArgumentError(f'padding must be "same", "valid" or "full", got {padding!r}')
    return input_length * stride + grown[padding]


_INSPECTION = (
    "currentframe getcallargs getdoc getfile getfullargspec getmembers getmodule getmro getsource isclass isfunction "
    "isgenerator isgeneratorfunction ismethod ismodule isroutine stack"
)
API: dict[str, Any] = {
    "python.framework.ops.uid": uid,
    "python.eager.context.in_graph_mode": in_graph_mode,
    "python.eager.context.in_eager_mode": in_eager_mode,
    "python.eager.context.graph_mode": contextlib.nullcontext,
    "contrib.eager.in_graph_mode": in_graph_mode,
    "contrib.eager.in_eager_mode": in_eager_mode,
    "python.util.tf_inspect.ArgSpec": ArgSpec,
    "python.util.tf_inspect.getargspec": getargspec,
    **{f"python.util.tf_inspect.{name}": getattr(inspect, name) for name in _INSPECTION.split()},
    **{f"python.util.tf_export.{name}_export": tf_export for name in ("tf", "keras", "estimator")},
    "python.util.tf_decorator.make_decorator": make_decorator,
    "python.util.tf_decorator.unwrap": unwrap,
    **{f"python.util.function_utils.{f.__name__}": f for f in (fn_args, has_kwargs, get_func_name, get_func_code)},
    "python.estimator.util.fn_args": fn_args,
    "python.estimator.model_fn.LOSS_METRIC_KEY": "loss",
    "python.estimator.model_fn.AVERAGE_LOSS_METRIC_KEY": "average_loss",
    "python.util.tf_contextlib.contextmanager": contextlib.contextmanager,
    "python.tf2.enabled": in_eager_mode,
    **{
        f"python.layers.utils.{function.__name__}": function
        for function in (
            normalize_tuple,
            normalize_padding,
            convert_data_format,
            conv_output_length,
            deconv_output_length,
        )
    },
}
