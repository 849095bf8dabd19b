"""Tasks that belong to one session: `ConfigProto.isolate_session_state` and `cluster_def`.

The processes of a cluster host them beside their own tasks, which they do not touch. Invariant: each has devices and
state of its own, and its process closes it when the master of the session is gone.

A request to such a task carries the task's key over the comm of its process.
"""

from __future__ import annotations

from collections.abc import Callable

from tfnb.session.config import ConfigProto
from tfnb.session.dask.membership.membership import Membership
from tfnb.session.dask.membership.rpc_service import private_address, split_address

__all__ = ["PrivateTasks", "has_private_tasks"]


def has_private_tasks(config: ConfigProto) -> bool:
    """Whether a session on a cluster with this configuration has tasks of its own."""
    return config.isolate_session_state or config.cluster_def is not None


class PrivateTasks:
    """Finds the tasks of one session, which are made when they are first looked for.

    `locate(task, silent)` returns the address of the process that will host a task, as `Membership` needs it. The owner
    sets `membership` before the first call.
    """

    membership: Membership

    def __init__(self, locate: Callable[[str, str | None], str]) -> None:
        self._locate = locate

    def locate(self, name: str, silent: str | None) -> str:
        """Makes the task in its process and returns its address. Raises `UnavailableError` if the process is not there.

        `silent` is an address at which the task did not answer, or None.
        """
        address = self._locate(name, None if silent is None else split_address(silent)[0])
        return private_address(address, self.membership.call_address(address, "host", name=name))
