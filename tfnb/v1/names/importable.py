"""Names of refused parts that programs import before they know whether they need them.

`from tensorflow.python.debug import LocalCLIDebugWrapperSession` stands at the top of a program that uses it with a
flag alone. Invariant: such a name can be imported and be the base of a class; calling it raises the reason.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tfnb.client.namespace import Lazy
from tfnb.errors import UnimplementedError
from tfnb.v1.names.refused import advice

__all__ = ["API", "refused_class"]

_DEBUGGER = (
    "DebugDumpDir DumpingDebugHook DumpingDebugWrapperSession GrpcDebugHook GrpcDebugWrapperSession LocalCLIDebugHook "
    "LocalCLIDebugWrapperSession TensorBoardDebugHook TensorBoardDebugWrapperSession"
).split()
_NAMES = {
    **{f"python.debug.{name}": "python.debug" for name in _DEBUGGER},
    "python.debug.wrappers.local_cli_wrapper.LocalCLIDebugWrapperSession": "python.debug",
    "python.debug.wrappers.hooks.LocalCLIDebugHook": "python.debug",
}


def refused_class(place: str, reason_of: str) -> type:
    """Returns a class that raises `UnimplementedError` when it is called.

    place: the dotted name below `tf`; reason_of: the refused place whose reason the message says.
    """

    def __init__(self: object, *args: object, **kwargs: object) -> None:
        raise UnimplementedError(f"tfnb does not have tf.{place} and will not have it; {advice(reason_of)}")

    return type(place.rpartition(".")[2], (), {"__init__": __init__, "__doc__": f"tf.{place}, which is refused."})


API: dict[str, Any] = {
    **{name: Lazy(partial(refused_class, name, reason)) for name, reason in _NAMES.items()},
}
