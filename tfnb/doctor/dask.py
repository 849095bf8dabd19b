"""The check of Dask: a task goes to a worker and back, on loopback, and the cluster's secret is kept safe.

Invariant: of the file with the secret only its owner and its mode are looked at.
"""

from __future__ import annotations

import os
import shlex
import socket
import stat
from collections.abc import Iterator

from tfnb.doctor.records import Record
from tfnb.session.dask.round_trip import VERSION, round_trip
from tfnb.settings import load_settings

__all__ = ["check"]

_LOOPBACK = "127.0.0.1"


def check(fix: bool) -> Iterator[Record]:
    """Yields records on loopback, on the round trip, and on the file with the cluster's secret."""
    try:
        _connect()
    except OSError as error:
        command = "sudo ip link set lo up"
        yield Record("dask", "wrong", f"no process can reach another one at {_LOOPBACK}: {error}", command)
    else:
        seconds = round_trip()
        text = f"Dask {VERSION}: a task went to a worker on loopback and back in {1000 * seconds:.0f} ms"
        yield Record("dask", "ok", text)
    yield from _secret_file(fix)


def _connect() -> None:
    """Connects two sockets at loopback. Raises `OSError`."""
    with socket.create_server((_LOOPBACK, 0)) as server, socket.create_connection(server.getsockname(), timeout=10.0):
        pass


def _secret_file(fix: bool) -> Iterator[Record]:
    path = load_settings().user_path / "cluster-secret"
    try:
        info = os.lstat(path)
    except OSError:
        return  # the next cluster makes it
    if stat.S_ISREG(info.st_mode) and not info.st_mode & 0o077 and info.st_uid == os.getuid():
        return
    command = shlex.join(["rm", str(path)])
    text = f"{path} is not yours alone (owner {info.st_uid}, mode {info.st_mode & 0o7777:o}): no cluster uses it"
    if not fix or not stat.S_ISREG(info.st_mode) or info.st_uid != os.getuid():
        yield Record("dask", "wrong", text, command)
        return
    path.unlink()
    yield Record(
        "dask", "mended", f"{path}, which others could read, has been removed; the next cluster makes another", command
    )
