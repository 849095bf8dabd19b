"""Decorators that warn of the use of functions and arguments, once for each place of use.

Invariant: a decorated function does what it did; the warning says since when, and what to use instead.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tfnb.client.platform import tf_logging
from tfnb.errors import InvalidArgumentError

__all__ = ["deprecated", "deprecated_arg_values", "deprecated_args", "experimental", "silence"]

_told: set[tuple[str, str]] = set()
_silent = ContextVar("silent", default=False)


@contextmanager
def silence() -> Iterator[None]:
    """Within the block, the use of what is deprecated logs nothing."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def _warn(what: str, date: str | None, instructions: str, once: bool = True) -> None:
    if _silent.get():
        return
    caller = sys._getframe(2)
    place = f"{caller.f_code.co_filename}:{caller.f_lineno}"
    if once and (what, place) in _told:
        return
    _told.add((what, place))
    when = "in a future version" if date is None else f"after {date}"
    tf_logging.warning(
        f"From {place}: {what} is deprecated and will be removed {when}. Instructions for updating: {instructions}"
    )


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[[Any], Any]:
    """Returns a decorator of functions and classes whose use logs that they go after `date`, and the `instructions`.

    date: a text "YYYY-MM-DD", or None for a time that is not known. Raises `InvalidArgumentError` for another form, and
    without instructions.
    """
    _check(date, instructions)

    def decorate(function: Any) -> Any:
        if isinstance(function, type):
            original: Any = vars(function).get("__init__", function.__init__)  # type: ignore[misc]

            @functools.wraps(original)
            def init(self: Any, *args: Any, **kwargs: Any) -> None:
                _warn(function.__name__, date, instructions, warn_once)
                original(self, *args, **kwargs)

            function.__init__ = init  # type: ignore[misc]
            return function

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            _warn(f"{function.__name__} (from {function.__module__})", date, instructions, warn_once)
            return function(*args, **kwargs)

        note = "" if date is None else f" It goes after {date}."
        call.__doc__ = f"{function.__doc__ or function.__name__}\n\n    Deprecated.{note} {instructions}"
        return call

    return decorate


def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Callable[[Any], Any]:
    """Returns a decorator of functions for which giving one of the named arguments logs the `instructions`.

    deprecated_arg_names_or_tuples: names, or pairs of a name and the value that does not count. kwargs: `warn_once`.
    Raises `InvalidArgumentError` for a name that the function lacks.
    """
    _check(date, instructions)
    once = kwargs.pop("warn_once", True)
    if kwargs or not deprecated_arg_names_or_tuples:
        raise InvalidArgumentError(f"deprecated_args needs names of arguments, got {sorted(kwargs)} beside them")
    pairs = [(a, (b,)) for a, *b in (x if isinstance(x, tuple) else (x,) for x in deprecated_arg_names_or_tuples)]
    usual = {name: rest[0][0] for name, rest in pairs if rest[0]}

    def decorate(function: Any) -> Any:
        form = inspect.signature(function)
        missing = [name for name, _ in pairs if name not in form.parameters]
        if missing:
            raise InvalidArgumentError(f"deprecated_args: {function.__name__} has no arguments {missing}")

        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            given = form.bind(*args, **named).arguments
            for name, _ in pairs:
                if name in given and not (name in usual and given[name] is usual[name]):
                    _warn(f"calling {function.__name__} with {name}", date, instructions, once)
            return function(*args, **named)

        return call

    return decorate


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable[[Any], Any]:
    """Returns a decorator of functions for which giving an argument one of these values logs the `instructions`."""
    _check(date, instructions)
    if not deprecated_kwargs:
        raise InvalidArgumentError("deprecated_arg_values needs names and values of arguments")

    def decorate(function: Any) -> Any:
        form = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            given = form.bind(*args, **named).arguments
            for name, value in deprecated_kwargs.items():
                if name in given and given[name] == value:
                    _warn(f"calling {function.__name__} with {name}={value}", date, instructions, warn_once)
            return function(*args, **named)

        return call

    return decorate


def experimental(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates the function `func` so that its use logs that it may change."""

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        tf_logging.warning(f"{func.__name__} (from {func.__module__}) is experimental and may change or be removed.")
        return func(*args, **kwargs)

    call.__doc__ = f"{func.__doc__ or func.__name__}\n\n    Experimental: it may change or be removed."
    return call


def _check(date: str | None, instructions: str) -> None:
    if date is not None and not re.fullmatch(r"20\d\d-[01]\d-[0123]\d", date):
        raise InvalidArgumentError(f"a date of deprecation must be YYYY-MM-DD, got {date!r}")
    if not instructions:
        raise InvalidArgumentError("a deprecation needs instructions what to use instead")
