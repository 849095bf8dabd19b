"""`tf.variable_creator_scope`: functions through which every new variable goes, the innermost first.

A call of the class of variables is a call of the innermost creator with the function of the next one, and in the end of
the class itself. Invariant: each thread has its own creators, and without any a variable is made as always.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

__all__ = ["API", "CreatedThroughScopes", "open_creators", "variable_creator_scope"]

Creator = Callable[..., Any]


class _Open(threading.local):
    def __init__(self) -> None:
        self.creators: list[Creator] = []


_OPEN = _Open()


def open_creators() -> list[Creator]:
    """Returns the creators of this thread, the outermost first."""
    return _OPEN.creators


class CreatedThroughScopes(type):
    """The class of a class whose objects are made through the creators of `variable_creator_scope`."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """The parameters of a call, for notebooks, the builder and `help`."""
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        make: Callable[..., Any] = super().__call__
        if not _OPEN.creators or kwargs.get("variable_def") is not None:
            return make(*args, **kwargs)
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
        given = dict(list(signature.bind(None, *args, **kwargs).arguments.items())[1:])
        for creator in _OPEN.creators:
            make = partial(creator, make)
        return make(**given)


@contextmanager
def variable_creator_scope(variable_creator: Creator) -> Iterator[None]:
    """Makes variables of the block through variable_creator(next_creator, **kwargs), which returns a variable.

    next_creator takes the arguments of `tf.Variable` by name. Of several scopes the innermost is called first.
    """
    _OPEN.creators = [*_OPEN.creators, variable_creator]
    try:
        yield
    finally:
        _OPEN.creators = _OPEN.creators[:-1]


API: dict[str, Any] = {"variable_creator_scope": variable_creator_scope}
