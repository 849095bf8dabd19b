"""Calls a function for each replica, each in a thread, one after another, up to where all must come together.

The first replica's thread runs until it merges or ends, then the second's, and so on; then the function of the merge is
called in the caller's thread, and all go on. Invariant: only one thread builds at a time, with the scopes of the
caller, so a graph does not depend on how threads are scheduled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from tfnb.client.variables.creators import open_creators, variable_creator_scope
from tfnb.client.variables.scope import get_variable_scope, thread_scopes, variable_scope
from tfnb.errors import FailedPreconditionError
from tfnb.ir.default import get_default_graph
from tfnb.train.distribute.contexts import ReplicaContext, StrategyLike, entered
from tfnb.train.distribute.shared_variables import SharedVariables
from tfnb.train.distribute.values import joined, of_replica

__all__ = ["call_for_each"]


class _Replica:
    """The thread of a replica, and what it waits for."""

    def __init__(self, context: ReplicaContext, function: Callable[[], Any]) -> None:
        self.context, self._function = context, function
        context.merge = self._merge
        self.request: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | None = None
        self.answer: Any = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.ended = self._cancelled = False
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True, name="replica")

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self._cancelled:
                self.result = self._function()
        except BaseException as error:
            self.error = error
        finally:
            self.ended = True
            self._stopped.release()

    def _merge(self, merge_fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.request = (merge_fn, args, kwargs)
        self._stopped.release()
        self._go.acquire()
        if self._cancelled:
            raise FailedPreconditionError("another replica has failed")
        return self.answer

    def start(self) -> None:
        self._thread.start()

    def advance(self) -> None:
        """Lets the thread run until it merges or ends. Raises the error that it ended with."""
        self.request = None
        self._go.release()
        self._stopped.acquire()
        if self.error is not None:
            raise self.error

    def cancel(self) -> None:
        """Ends the thread, which waits for a merge or has not begun."""
        while not self.ended:
            self._cancelled = True
            self._go.release()
            self._stopped.acquire()


def call_for_each(
    strategy: StrategyLike,
    devices: Sequence[str],
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> list[Any]:
    """Returns what `function` returns for each replica; `PerReplica` arguments are divided.

    Raises the error of the first replica that fails, and `FailedPreconditionError` when only some of them merge.
    """
    if len(devices) == 1:
        with ExitStack() as stack:
            if devices[0]:
                stack.enter_context(get_default_graph().device(devices[0]))
            stack.enter_context(entered(strategy, ReplicaContext(strategy, 0)))
            return [function(*of_replica(tuple(args), 0), **of_replica(dict(kwargs), 0))]
    variables = SharedVariables(strategy)
    replicas = [_prepared(strategy, i, device, variables, function, args, kwargs) for i, device in enumerate(devices)]
    for replica in replicas:
        replica.start()
    try:
        while not all(replica.ended for replica in replicas):
            for replica in replicas:
                replica.advance()
            if all(replica.ended for replica in replicas):
                break
            if any(replica.ended for replica in replicas):
                raise FailedPreconditionError("some replicas call merge_call, and others have ended")
            _answer(strategy, replicas)
    finally:
        for replica in replicas:
            replica.cancel()
    return [replica.result for replica in replicas]


def _answer(strategy: StrategyLike, replicas: Sequence[_Replica]) -> None:
    requests = [replica.request for replica in replicas if replica.request is not None]
    merge_fn = requests[0][0]
    args, kwargs = joined([r[1] for r in requests]), joined([r[2] for r in requests])
    with entered(strategy, None):
        answer = merge_fn(strategy, *args, **kwargs)
    for i, replica in enumerate(replicas):
        replica.answer = of_replica(answer, i)


def _prepared(
    strategy: StrategyLike,
    number: int,
    device: str,
    variables: SharedVariables,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> _Replica:
    """Returns the replica of a number, whose thread will build in the scopes in which this is called."""
    graph, context = get_default_graph(), ReplicaContext(strategy, number)
    scopes, variable_scopes = dict(vars(graph.scopes)), dict(vars(thread_scopes(graph)))
    scopes = {key: list(value) if isinstance(value, list) else value for key, value in scopes.items()}
    variable_scopes = {"stack": list(variable_scopes["stack"]), "counts": dict(variable_scopes["counts"])}
    outer_creators, captured = list(open_creators()), get_variable_scope()

    def run() -> Any:
        with ExitStack() as stack:
            stack.enter_context(graph.as_default())
            vars(graph.scopes).update(scopes)
            vars(thread_scopes(graph)).update(variable_scopes)
            for creator in outer_creators:
                stack.enter_context(variable_creator_scope(creator))
            stack.enter_context(variable_creator_scope(variables.creator(number)))
            if number:
                stack.enter_context(graph.name_scope(f"replica_{number}"))
                stack.enter_context(variable_scope(captured, reuse=True, auxiliary_name_scope=False))
            stack.enter_context(graph.device(device))
            stack.enter_context(entered(strategy, context))
            return function(*of_replica(tuple(args), number), **of_replica(dict(kwargs), number))

    return _Replica(context, run)
