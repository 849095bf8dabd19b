"""Dask's comm for clusters: TCP and TLS on which both sides show the cluster's secret first.

Dask knows a comm by the scheme of an address: "tfnb://" is over TCP, "tfnbs://" over TLS. Everything else of these
comms is Dask's own. Invariant: no byte of a peer is decoded, let alone unpickled, before it has shown the secret.

The secret is shown as `handshake.py` says, and found as `secret.py` says. Beyond loopback there is TLS as well, in
which each side shows a certificate of the cluster's authority. A stranger has five seconds, and gets a random number.
No request contains values that Dask would unpickle, and a `Server` unpickles none. The channel of the tensors
(`channel.py`) asks for a password, which travels over this comm. Its messages are parsed, checked against their head
before memory is taken, and refused above a limit. The scheduler and workers of a Dask cluster that the user has made
listen as Dask does it, and whoever connects to them can run code; docs/cluster.md says what to do on a machine with
other users.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable
from typing import Any, Protocol

from distributed.comm.core import FatalCommClosedError
from distributed.comm.registry import Backend, backends
from distributed.comm.tcp import (
    TCP,
    TLS,
    TCPBackend,
    TCPConnector,
    TCPListener,
    TLSBackend,
    TLSConnector,
    TLSListener,
)

from tfnb.session.dask.transport.handshake import (
    ANSWER,
    CHALLENGE,
    GREETING_SECONDS,
    REPLY,
    Answer,
    challenge,
    is_proof,
    reply,
)
from tfnb.session.dask.transport.secret import cluster_secret

__all__ = ["SEALED", "SECRET", "SealedBackend", "SecretBackend", "WrongSecretError", "offer_schemes"]

SECRET, SEALED = "tfnb", "tfnbs"
_log = logging.getLogger("tfnb")


class _Stream(Protocol):
    """What is used of the stream under a comm of Dask; its errors are `OSError`s."""

    socket: socket.socket

    def read_bytes(self, count: int) -> Awaitable[bytes]: ...

    def write(self, data: bytes) -> Awaitable[None]: ...

    def close(self) -> None: ...


class WrongSecretError(FatalCommClosedError):
    """The other side does not know this side's secret. Dask does not try again."""


async def show_secret(stream: _Stream, secret: bytes) -> None:
    """Shows the server at the other end the secret, and demands it of the server.

    Raises `WrongSecretError` if it does not know the secret, or is no task, and `OSError` if it ends the connection: a
    task that refuses a secret says so, and one whose process ends says nothing, so Dask tries again.
    """
    try:
        answer = Answer(secret, _endpoint(stream.socket.getpeername()), await stream.read_bytes(CHALLENGE))
    except ValueError as e:
        raise WrongSecretError(f"no task of a cluster answers there: {e}") from e
    await stream.write(answer.text)
    if not answer.is_reply(await stream.read_bytes(REPLY)):
        raise WrongSecretError("it has another secret")


async def demand_secret(stream: _Stream, secret: bytes) -> bool:
    """Demands the secret of a client, and shows it. Returns whether the client knows it, within a few seconds."""

    async def greet() -> bool:
        sent, endpoint = challenge(), _endpoint(stream.socket.getsockname())
        await stream.write(sent)
        answer = await stream.read_bytes(ANSWER)
        is_known = is_proof(secret, endpoint, sent, answer)
        await stream.write(reply(secret if is_known else None, endpoint, sent, answer))
        return is_known

    try:
        is_known = await asyncio.wait_for(greet(), GREETING_SECONDS)
    except (OSError, asyncio.TimeoutError):
        is_known = False
    return is_known


def _endpoint(name: tuple[Any, ...]) -> str:
    """The address of a server, by which an answer to it is none to another one."""
    return f"{name[0]} {name[1]}"


class _Shown:
    """Makes a connector show the secret on each connection."""

    async def connect(self, address: str, deserialize: bool = True, **arguments: object) -> TCP:
        secret = cluster_secret()
        comm: TCP = await super().connect(address, deserialize, **arguments)  # type: ignore[misc]
        try:
            await show_secret(comm.stream, secret)
        except BaseException:
            comm.abort()
            raise
        return comm


class _Demanded:
    """Makes a listener demand the secret of each connection."""

    prefix: str

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)
        self._secret, self._has_warned = cluster_secret(), False

    async def _prepare_stream(self, stream: _Stream, address: str) -> _Stream | None:
        prepare = super()._prepare_stream(stream, address)  # type: ignore[misc]
        try:
            prepared: _Stream | None = await asyncio.wait_for(prepare, GREETING_SECONDS)  # TLS has its own greeting
        except asyncio.TimeoutError:
            prepared = None
        if prepared is not None and await demand_secret(prepared, self._secret):
            return prepared
        stream.close()
        if not self._has_warned:  # once: others must not be able to fill the log
            self._has_warned = True
            peer = address.removeprefix(self.prefix)
            _log.warning("%s was refused: it did not show the cluster's secret; later ones are not logged", peer)
        return None


class _SecretConnector(_Shown, TCPConnector):
    prefix, comm_class = f"{SECRET}://", TCP


class _SealedConnector(_Shown, TLSConnector):
    prefix, comm_class = f"{SEALED}://", TLS


class _SecretListener(_Demanded, TCPListener):
    prefix, comm_class = f"{SECRET}://", TCP


class _SealedListener(_Demanded, TLSListener):
    prefix, comm_class = f"{SEALED}://", TLS


class SecretBackend(TCPBackend):
    """What Dask finds under the scheme "tfnb"."""

    _connector_class, _listener_class = _SecretConnector, _SecretListener


class SealedBackend(TLSBackend):
    """What Dask finds under the scheme "tfnbs"."""

    _connector_class, _listener_class = _SealedConnector, _SealedListener


def offer_schemes() -> None:
    """Lets Dask find both schemes in this process, also where the package is not installed."""
    offered: dict[str, type[Backend]] = {SECRET: SecretBackend, SEALED: SealedBackend}
    for scheme, backend in offered.items():
        if scheme not in backends:
            backends[scheme] = backend()
