"""`pytest --overwrite`: after every step all that passed between user and tfnb is overwritten with garbage.

What a user feeds, gets back, returns from a function or makes a constant of is his, so he may change it when the call
is over. Here every call of a test gets copies of the test's arrays, and gives copies to the test; the arrays that tfnb
itself has seen or handed out are overwritten at once. Kernels of ours get arrays that they cannot write. Invariant: a
test that passes without the option passes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from tfnb.client.graph import register_op
from tfnb.ir.builder import GraphBuilder
from tfnb.ops.control_flow import python_function
from tfnb.ops.dataset import sources
from tfnb.runtime.kernels import HostKernel
from tfnb.session.session import Session
from tfnb.session.tensor_handle import TensorHandle
from tfnb.train.saving.checkpoint_reader import CheckpointReader

__all__ = ["duplicate", "overwrite", "overwriting"]


def duplicate(value: Any) -> Any:
    """A copy of a value or structure, with copies of its arrays."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if isinstance(value, tuple):
        parts = [duplicate(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if type(value) is list:
        return [duplicate(v) for v in value]
    if type(value) is dict:
        return {k: duplicate(v) for k, v in value.items()}
    return value


def overwrite(value: Any) -> None:
    """Writes garbage into the arrays of a structure."""
    if isinstance(value, np.ndarray):
        _spoil(value)
    elif isinstance(value, (list, tuple)):
        for part in value:
            overwrite(part)
    elif isinstance(value, Mapping):
        for part in value.values():
            overwrite(part)


def _spoil(array: np.ndarray) -> None:
    if not array.flags.writeable:
        return
    kind = array.dtype.kind
    if kind == "b":
        np.logical_not(array, out=array)
    elif kind in "iu":
        array[...] = np.iinfo(array.dtype).max // 3
    elif kind in "fcV":  # V: the small floats of ml_dtypes
        array[...] = np.nan
    elif kind == "O" and all(isinstance(x, (bytes, str)) for x in array.flat):
        array[...] = b"overwritten"


def _run(run: Callable[..., Any]) -> Callable[..., Any]:
    """`Session.run`, or a method with the same first arguments, whose feeds and results change afterwards."""

    def wrapped(session: Session, fetches: Any, feed_dict: Any = None, *args: Any, **kwargs: Any) -> Any:
        feeds = {k: duplicate(v) for k, v in feed_dict.items()} if isinstance(feed_dict, Mapping) else feed_dict
        return _afterwards(lambda: run(session, fetches, feeds, *args, **kwargs), feeds)

    return wrapped


def _afterwards(call: Callable[[], Any], given: Any) -> Any:
    """A copy of what a call returns. Then that and what was given to it are overwritten."""
    try:
        result = call()
        kept = duplicate(result)
        overwrite(result)
    finally:
        overwrite(given)
    return kept


def _partial_run(partial_run: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(session: Session, handle: str, fetches: Any, feed_dict: Any = None) -> Any:
        feeds = {k: duplicate(v) for k, v in (feed_dict or {}).items()}
        return _afterwards(lambda: partial_run(session, handle, fetches, feeds), feeds)

    return wrapped


def _make_callable(make_callable: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(session: Session, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        function = make_callable(session, *args, **kwargs)

        def call(*values: Any, **options: Any) -> Any:
            given = duplicate(values)
            return _afterwards(lambda: function(*given, **options), given)

        return call

    return wrapped


def _getter(get: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: _afterwards(lambda: get(*args), ())


def _user_function(function: Callable[..., Any], returned: list[Any]) -> Callable[..., Any]:
    """The function, whose arguments and results change when it has returned; results do once they were taken."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            result = duplicate(function(*duplicate(args), **kwargs))
        finally:
            overwrite(args)
        returned.append(result)
        return result

    return wrapped


def _py_func(host: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(call: Any, *inputs: np.ndarray) -> Any:
        function, returned = call.attrs.function, []
        if function is not None:
            attrs = type(call.attrs)(token=call.attrs.token, function=_user_function(function, returned))
            call = replace(call, attrs=attrs)
        outputs = host(call, *inputs)
        overwrite(returned)
        return outputs

    return wrapped


def _registered(run: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(kernel: Callable[..., Any], call: Any, arrays: Any) -> Any:
        returned: list[Any] = []
        outputs = run(_user_function(kernel, returned), call, arrays)
        overwrite(returned)
        return outputs

    return wrapped


def _generator(convert_next: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(converted: Any) -> Any:
        convert, yielded = converted._convert, []

        def changed(value: Any) -> Any:
            yielded.append(duplicate(value))
            return convert(yielded[-1])

        converted._convert = changed
        try:
            return convert_next(converted)
        finally:
            converted._convert = convert
            overwrite(yielded)

    return wrapped


def _to_tensor(to_tensor: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(graph: GraphBuilder, value: Any, *args: Any, **kwargs: Any) -> Any:
        given = duplicate(value) if isinstance(value, np.ndarray) else value
        try:
            return to_tensor(graph, given, *args, **kwargs)
        finally:
            if isinstance(value, np.ndarray):
                overwrite(given)

    return wrapped


def _read_only(arrays: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """The inputs of a kernel of ours, which it cannot change: other nodes, or the user, have them too."""

    def wrapped(kernel: HostKernel, inputs: Any) -> list[Any]:
        found = arrays(kernel, inputs)
        if not kernel.node.opdef.calls_user:
            for i, array in enumerate(found):
                if isinstance(array, np.ndarray) and i not in kernel._cells:  # of a variable it has a copy
                    found[i] = array.view()
                    found[i].flags.writeable = False
        return found

    return wrapped


@contextmanager
def overwriting() -> Iterator[None]:
    """In this block everything that passes between user and tfnb is overwritten afterwards."""
    with ExitStack() as stack:
        for owner, name, change in (
            (Session, "run", _run),
            (Session, "partial_run", _partial_run),
            (Session, "make_callable", _make_callable),
            (TensorHandle, "eval", _getter),
            (CheckpointReader, "get_tensor", _getter),
            (GraphBuilder, "to_tensor", _to_tensor),
            (HostKernel, "arrays", _read_only),
            (register_op, "_run", _registered),
            (sources._Converted, "__next__", _generator),
        ):
            stack.enter_context(patch.object(owner, name, change(getattr(owner, name))))
        for op in (python_function.PY_FUNC, python_function.PY_FUNC_STATELESS):  # frozen, so not by patch
            host = op.host
            object.__setattr__(op, "host", _py_func(host))
            stack.callback(object.__setattr__, op, "host", host)
        yield
