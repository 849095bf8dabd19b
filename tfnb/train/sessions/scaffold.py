"""The operations that a monitored training needs in its graph, and the creators of its session.

Invariant: after `finalize` every part of a scaffold is set, and no node can be added to the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.logging.summaries import merge_all
from tfnb.client.variables.variable import (
    global_variables,
    global_variables_initializer,
    group,
    local_variables_initializer,
    report_uninitialized_variables,
)
from tfnb.errors import DTypeError, FailedPreconditionError
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Tensor
from tfnb.session.api import ConfigProto
from tfnb.session.session import Session
from tfnb.train.saving.checkpoint_state import FilePath
from tfnb.train.saving.saver import Saver
from tfnb.train.sessions.session_manager import SessionManager

__all__ = ["API", "ChiefSessionCreator", "Scaffold", "SessionCreator", "WorkerSessionCreator", "collected_saver"]


class SeveralItemsError(FailedPreconditionError, RuntimeError):
    """A collection has several members where one is wanted."""


def _at_most_one(members: Sequence[Any], key: str, argument: str) -> None:
    if len(members) > 1:
        raise SeveralItemsError(
            f"More than one item in the collection {key!r}: {len(members)}; say which one is meant by "
            f"tf.train.Scaffold({argument}=...)"
        )


class Scaffold:
    """The operations around a training; a missing one is taken from the graph's collections or created.

    init_op (with init_feed_dict and init_fn(scaffold, session)): sets the initial values. ready_op,
    ready_for_local_init_op: string tensors that are empty when the model is ready. local_init_op (with
    local_init_feed_dict): runs in every session. summary_op: the summaries. saver: a `tf.train.Saver`.
    copy_from_scaffold: another scaffold, which provides the missing parts. Raises `DTypeError` for anything else.
    """

    def __init__(
        self,
        init_op: Operation | Tensor | None = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: Callable[[Scaffold, Any], None] | None = None,
        ready_op: Tensor | None = None,
        ready_for_local_init_op: Tensor | None = None,
        local_init_op: Operation | Tensor | None = None,
        summary_op: Tensor | None = None,
        saver: Saver | None = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: Mapping[Any, Any] | None = None,
    ) -> None:
        if not isinstance(copy_from_scaffold, Scaffold | None):
            raise DTypeError(f"copy_from_scaffold is not a Scaffold instance, but {copy_from_scaffold!r}")
        from_: Any = copy_from_scaffold
        self.init_op = _first(init_op, from_ and from_.init_op)
        self.init_feed_dict = _first(init_feed_dict, from_ and from_.init_feed_dict)
        self._given_init_fn = _first(init_fn, from_ and from_._given_init_fn)
        self.ready_op = _first(ready_op, from_ and from_.ready_op)
        self.ready_for_local_init_op = _first(ready_for_local_init_op, from_ and from_.ready_for_local_init_op)
        self.local_init_op = _first(local_init_op, from_ and from_.local_init_op)
        self.local_init_feed_dict = _first(local_init_feed_dict, from_ and from_.local_init_feed_dict)
        self.summary_op = _first(summary_op, from_ and from_.summary_op)
        self.saver = _first(saver, from_ and from_.saver)

    @property
    def init_fn(self) -> Callable[[Any], None] | None:
        """The user's `init_fn`, as a function of the session alone, or None."""
        user_init_fn = self._given_init_fn
        return None if user_init_fn is None else lambda session: user_init_fn(self, session)

    def finalize(self) -> Scaffold:
        """Creates the missing parts and finalizes the graph."""
        graph = get_default_graph()
        if self.init_op is None:
            self.init_op = self.get_or_default("init_op", GraphKeys.INIT_OP, global_variables_initializer)
        if self.ready_op is None:
            self.ready_op = self.get_or_default("ready_op", GraphKeys.READY_OP, report_uninitialized_variables)
        if self.ready_for_local_init_op is None:
            self.ready_for_local_init_op = self.get_or_default(
                "ready_for_local_init_op",
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: report_uninitialized_variables(global_variables()),
            )
        if self.local_init_op is None:
            self.local_init_op = self.get_or_default(
                "local_init_op", GraphKeys.LOCAL_INIT_OP, self.default_local_init_op
            )
        if self.summary_op is None:
            self.summary_op = self.get_or_default("summary_op", GraphKeys.SUMMARY_OP, merge_all)
        if self.saver is None:
            _at_most_one(graph.get_collection_ref(GraphKeys.SAVERS), GraphKeys.SAVERS, "saver")
            self.saver = collected_saver() or self.get_or_default(
                "saver", GraphKeys.SAVERS, lambda: Saver(sharded=True, allow_empty=True)
            )
        self.saver.build()
        graph.finalize()
        return self

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """Returns the one member of the collection `collection_key`, or else the value of `default_constructor()`.

        That value is added to the collection. Raises `SeveralItemsError` when the collection has several members; the
        message says that `arg_name` must be given to the scaffold.
        """
        graph = get_default_graph()
        members = graph.get_collection(collection_key)
        _at_most_one(members, collection_key, arg_name)
        if members:
            return members[0]
        default = default_constructor()
        if default is not None:
            graph.add_to_collection(collection_key, default)
        return default

    @staticmethod
    def default_local_init_op() -> Operation:
        """Returns an operation that initializes local variables and tables."""
        tables = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
        return group(local_variables_initializer(), *tables)


def collected_saver() -> Saver | None:
    """Returns the saver in the default graph's collection SAVERS, which may come from a MetaGraph; None if there is
    none. The first of several is taken.
    """
    savers = get_default_graph().get_collection_ref(GraphKeys.SAVERS)
    if not savers:
        return None
    if isinstance(savers[0], bytes):
        savers[0] = Saver.from_proto(proto("saver").SaverDef.FromString(savers[0]))
    saver: Saver = savers[0]
    return saver


def _first(given: object, other: object) -> Any:
    return given if given is not None else other


class SessionCreator:
    """The interface of objects that create sessions."""

    def create_session(self) -> Any:
        """Creates a session in which the model is ready."""
        raise TypeError(f"{type(self).__name__} must define create_session")


class ChiefSessionCreator(SessionCreator):
    """Creates sessions that restore the latest checkpoint, or initialize the variables if there is none."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        checkpoint_dir: FilePath | None = None,
        checkpoint_filename_with_path: FilePath | None = None,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master, self._config = master, config
        self._dir, self._path = checkpoint_dir, checkpoint_filename_with_path

    def create_session(self) -> Session:
        """Creates a session and restores or initializes its variables.

        Raises the errors of `SessionManager.prepare_session`.
        """
        s = self._scaffold
        s.finalize()
        return _manager(s).prepare_session(
            self._master,
            saver=s.saver,
            checkpoint_dir=self._dir,
            checkpoint_filename_with_path=self._path,
            config=self._config,
            init_op=s.init_op,
            init_feed_dict=s.init_feed_dict,
            init_fn=s.init_fn,
        )


class WorkerSessionCreator(SessionCreator):
    """Creates sessions that wait until the chief has made the model ready."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master, self._config, self._max_wait = master, config, max_wait_secs

    def create_session(self) -> Session:
        """Creates a session and waits until the model is ready.

        Raises `DeadlineExceededError` after `max_wait_secs` seconds.
        """
        self._scaffold.finalize()
        manager = _manager(self._scaffold)
        return manager.wait_for_session(self._master, config=self._config, max_wait_secs=self._max_wait)


def _manager(s: Scaffold) -> SessionManager:
    return SessionManager(
        local_init_op=s.local_init_op,
        ready_op=s.ready_op,
        ready_for_local_init_op=s.ready_for_local_init_op,
        local_init_feed_dict=s.local_init_feed_dict,
        graph=get_default_graph(),
    )


API: dict[str, Any] = {
    "train.Scaffold": Scaffold,
    "train.SessionCreator": SessionCreator,
    "train.ChiefSessionCreator": ChiefSessionCreator,
    "train.WorkerSessionCreator": WorkerSessionCreator,
}
