"""`tf.contrib.framework.arg_scope`: defaults for the arguments of layers, within a block of the program.

A stack holds mappings from a layer to its defaults, the innermost on top. Invariant: an argument that the caller gives
takes precedence over every scope, and leaving a scope restores the stack even when the block raises.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tfnb.errors import InvalidArgumentError

__all__ = ["API", "add_arg_scope", "arg_scope"]

Defaults = dict[Any, dict[str, Any]]


class _Stack(threading.local):
    def __init__(self) -> None:
        self.scopes: list[Defaults] = [{}]


_stack = _Stack()


def add_arg_scope(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates `func` so that `arg_scope` can set defaults of its keyword arguments."""

    @functools.wraps(func)
    def scoped(*args: object, **kwargs: object) -> Any:
        defaults = _stack.scopes[-1].get(scoped)
        return func(*args, **({**defaults, **kwargs} if defaults else kwargs))

    scoped.__dict__["_takes_arg_scope"] = True
    return scoped


def has_arg_scope(func: Callable[..., Any]) -> bool:
    """Returns whether `func` was decorated with `add_arg_scope`."""
    return bool(getattr(func, "_takes_arg_scope", False))


@contextmanager
def arg_scope(list_ops_or_scope: Sequence[Any] | Mapping[Any, Any], **kwargs: object) -> Generator[Defaults]:
    """Within the block each function of the list is called with `kwargs`, unless the call gives its own arguments.

    `list_ops_or_scope` are functions decorated with `add_arg_scope`, as the layers of `tf.contrib.layers` are, or the
    scope of an earlier `with arg_scope(...) as scope`, which then holds again and alone. Raises `InvalidArgumentError`
    for other functions, and for `kwargs` together with an earlier scope.
    """
    if isinstance(list_ops_or_scope, Mapping):
        if kwargs:
            raise InvalidArgumentError(f"an earlier arg_scope takes no more arguments, got {sorted(kwargs)}")
        scope = {op: dict(defaults) for op, defaults in list_ops_or_scope.items()}
    else:
        scope = {op: dict(defaults) for op, defaults in _stack.scopes[-1].items()}
        for op in list_ops_or_scope:
            if not has_arg_scope(op):
                raise InvalidArgumentError(f"arg_scope: {op!r} is not decorated with @add_arg_scope")
            scope[op] = {**scope.get(op, {}), **kwargs}
    _stack.scopes.append(scope)
    try:
        yield scope
    finally:
        _stack.scopes.pop()


def current_arg_scope() -> Defaults:
    """Returns the defaults that hold now: {function: {argument: value}}."""
    return _stack.scopes[-1]


def arg_scoped_arguments(func: Callable[..., Any]) -> tuple[str, ...]:
    """Returns the names of the arguments of `func` that have defaults, which `arg_scope` can set.

    Raises `InvalidArgumentError` for a function that was not decorated with `add_arg_scope`.
    """
    if not has_arg_scope(func):
        raise InvalidArgumentError(f"arg_scoped_arguments: {func!r} is not decorated with @add_arg_scope")
    return tuple(p.name for p in inspect.signature(func).parameters.values() if p.default is not p.empty)


def arg_scope_func_key(op: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the key of the function `op` in the scopes of `arg_scope`, which is the function."""
    return op


API: dict[str, Any] = {
    "contrib.framework.arg_scoped_arguments": arg_scoped_arguments,
    "contrib.slim.arg_scope_func_key": arg_scope_func_key,
    "contrib.framework.arg_scope": arg_scope,
    "contrib.framework.add_arg_scope": add_arg_scope,
    "contrib.framework.has_arg_scope": has_arg_scope,
    "contrib.framework.current_arg_scope": current_arg_scope,
}
