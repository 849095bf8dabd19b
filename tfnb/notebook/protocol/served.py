"""One exchange between an open document and Jupyter's server, which feeds it where there is no kernel."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

DocumentKind = Literal["events", "graph", "trace"]


class ServedRequest(TypedDict):
    """What the browser sends."""

    state: dict[str, Any]
    messages: list[Any]
    first: bool
    """The document starts anew."""


class ServedMessage(TypedDict):
    content: Any
    buffers: list[bytes]


class ServedReply(TypedDict):
    """What the server answers."""

    state: dict[str, Any]
    messages: list[ServedMessage]
    again: float
    """Seconds until there may be news; 0: never."""
    renewed: bool
    """The server had forgotten the document, and has opened it again."""
