"""The exchange between an open document and Jupyter's server, which replaces the kernel for documents."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

DocumentKind = Literal["events", "graph", "trace"]


class ServedRequest(TypedDict):
    """A request of the browser."""

    state: dict[str, Any]
    messages: list[Any]
    first: bool
    """Whether the document is opened, or reloaded."""


class ServedMessage(TypedDict):
    content: Any
    buffers: list[bytes]


class ServedReply(TypedDict):
    """The server's reply."""

    state: dict[str, Any]
    messages: list[ServedMessage]
    again: float
    """Seconds until the browser should ask again; 0: never."""
    renewed: bool
    """Whether the server had closed the document in the meantime and has opened it again."""
