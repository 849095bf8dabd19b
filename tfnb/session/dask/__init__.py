"""Tasks on Dask workers: Dask starts processes, carries control requests and detects failures; tensors have sockets of
their own.

Each folder imports only those above it in this list:

    transport/      message format, connections, the poller that reads them
    observability/  clock offsets, times of a step, transfer counts
    task/           one process: registered parts of steps, running steps, values that are sent to other tasks
    membership/     control requests, the tasks that a master watches, health reports
    master/         a session's steps: registered once, started with one message for each task
    server, cluster one process as a task; the workers of a Dask cluster as tasks

The names in `__all__` are loaded when they are first used, because importing a session must not import Dask.

The tasks' parts of a step are registered once (`master`). From then on a step takes one message to each task and one
answer from it, on a connection that the step leases from a pool (`transport/connection_pool.py`). At the task, the
thread that reads this connection runs the part and answers. At the master, the thread that called `run` reads the
connections of all tasks while it waits (`transport/poller.py`). So no message has to wake a second thread. All other
values are pushed from task to task, on one connection for each pair (`transport/channel.py`). A part that only reads
variables is answered without a rendezvous (`task/read_only_part.py`), and NumPy copies up to 64 KB of a variable or of
its rows without a launch. Sockets are plain on loopback, where a password is asked for; elsewhere they use TLS with the
certificates of Dask's comm.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfnb.session.dask.cluster import DaskCluster
    from tfnb.session.dask.server import Server, connect, default_config

__all__ = ["DaskCluster", "Server", "connect", "default_config"]

_MODULE_OF = {"DaskCluster": "cluster", "Server": "server", "connect": "server", "default_config": "server"}


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"tfnb.session.dask.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
