"""The default-session stack of each thread."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Protocol

from tfnb.errors import NestingError, NoSessionError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor

__all__ = ["evaluate", "get_default_session", "leave", "pop", "push", "run_operation"]


class DefaultSession(Protocol):
    """The part of a session's interface that `Tensor.eval` and `Operation.run` use."""

    @property
    def graph(self) -> GraphBuilder: ...

    def run(self, fetches: object, feed_dict: Mapping[Any, Any] | None = None) -> Any: ...


class _Stack(threading.local):
    def __init__(self) -> None:
        self.sessions: list[DefaultSession] = []


_stack = _Stack()


def push(session: DefaultSession) -> None:
    """Makes `session` the default session of this thread."""
    _stack.sessions.append(session)


def pop(session: DefaultSession) -> None:
    """Removes the topmost entry of `session` from the stack of this thread. Does nothing if it is not there."""
    if session in _stack.sessions:
        del _stack.sessions[len(_stack.sessions) - 1 - _stack.sessions[::-1].index(session)]


def leave(session: DefaultSession) -> None:
    """Removes `session`, which must be the innermost default session. Raises `NestingError` if another one is."""
    if session in _stack.sessions and _stack.sessions[-1] is not session:
        raise NestingError(f"Nesting violated for default stack of {type(session).__name__} objects")
    pop(session)


def get_default_session() -> DefaultSession | None:
    """The session of the innermost `with` block of this thread, or None."""
    return _stack.sessions[-1] if _stack.sessions else None


def _session_for(element: Tensor | Operation, session: DefaultSession | None) -> DefaultSession:
    chosen_session = session if session is not None else get_default_session()
    if chosen_session is None:
        raise NoSessionError(
            f"Cannot evaluate {element.name}: No default session is registered, there is no default session; "
            "use `with tf.Session():`, tf.InteractiveSession(), or pass session=..."
        )
    if chosen_session.graph is not element.graph:
        raise NoSessionError(
            f"Cannot use the given session to evaluate {element.name}: the tensor's graph is different from the "
            "session's graph"
        )
    return chosen_session


def evaluate(tensor: Tensor, feed_dict: Mapping[Any, Any] | None, session: DefaultSession | None) -> Any:
    """Implements `Tensor.eval`: runs the tensor in `session`, or in the default session. Raises
    `NoSessionError` if there is none, or if it runs another graph."""
    return _session_for(tensor, session).run(tensor, feed_dict)


def run_operation(op: Operation, feed_dict: Mapping[Any, Any] | None, session: DefaultSession | None) -> None:
    """Implements `Operation.run`, with the errors of `evaluate`."""
    _session_for(op, session).run(op, feed_dict)
