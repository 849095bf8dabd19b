"""Decorators of `tensorflow.python.framework.test_util`, which run a test in the modes of TensorFlow.

Invariant: graphs are the only mode here, so a test that TensorFlow runs in two modes runs once, in a graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tfnb.session.config import ConfigProto

__all__ = [
    "run_all_in_graph_and_eager_modes",
    "run_in_graph_and_eager_modes",
    "run_only_in_graph",
    "unchanged",
    "unconditionally",
]


class SupportsTestSession(Protocol):
    """A test case, as `tf.test.TestCase`."""

    def test_session(self, *, use_gpu: bool, config: ConfigProto | None) -> AbstractContextManager[Any]: ...


def run_in_graph_and_eager_modes(
    func: Callable[..., Any] | None = None,
    config: ConfigProto | None = None,
    use_gpu: bool = True,
    reset_test: bool = True,
    assert_no_eager_garbage: bool = False,
) -> Any:
    """Decorates a method of `tf.test.TestCase`, which then runs in a session of the test's graph.

    config: that of the session. The other arguments, which are about the second mode, have no effect.
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def run(self: SupportsTestSession, *args: object, **kwargs: object) -> None:
            with self.test_session(use_gpu=use_gpu, config=config):
                method(self, *args, **kwargs)

        return run

    return decorate if func is None else decorate(func)


def run_all_in_graph_and_eager_modes(cls: type) -> Any:
    """Decorates each test of a class, of which it returns the class, as `run_in_graph_and_eager_modes` does."""
    for name in dir(cls):
        value = getattr(cls, name)
        if callable(value) and name.startswith("test") and name != "test_session":
            setattr(cls, name, run_in_graph_and_eager_modes(value))
    return cls


def run_only_in_graph(func: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the test `func`, or the class of tests, which runs in a graph as it is."""
    return func


def unchanged(value: object) -> Any:
    """Returns `value`: a decorator for what tfnb has no need of, such as a check of another mode's garbage."""
    return value


def unconditionally(*_: object, **__: object) -> Any:
    """Returns a decorator that leaves a test as it is."""
    return unchanged
