"""The report on a kernel in JupyterLab's side panel: its devices, open sessions and caches, as JSON.

When the kernel is idle, the panel lets it evaluate an expression that calls `report` or `clear`; the panel never
imports tfnb into a kernel that has not done so itself. Invariant: a report changes nothing in the kernel, and an error
of a device becomes a part of the report.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tfnb.caches import CacheInfo, clear_caches, list_caches
from tfnb.errors import OpError
from tfnb.notebook.protocol import status as messages
from tfnb.notebook.protocol.status import CacheUse, Device, OpenSession
from tfnb.session.api import list_devices
from tfnb.session.session import Session, open_sessions

__all__ = ["Report", "clear", "report"]

MOST_SESSIONS = 50


class Report(str):
    """JSON text that is its own `repr`, because Jupyter answers an expression with the `repr` of its value."""

    def __repr__(self) -> str:
        return str(self)


def report() -> Report:
    """Returns the `Report` of tfnb/notebook/protocol/status.py as JSON."""
    fault = ""
    devices: list[Device] = []
    try:
        devices = [_device(description) for description in list_devices()]
    except OpError as error:
        fault = error.message[:400]
    sessions = open_sessions()
    message: messages.Report = {
        "devices": devices,
        "sessions": [_session(session) for session in sessions[:MOST_SESSIONS]],
        "more": max(len(sessions) - MOST_SESSIONS, 0),
        "caches": [_cache(info) for info in list_caches()],
        "fault": fault,
    }
    return Report(json.dumps(message))


def clear(name: str | None = None) -> Report:
    """Empties the caches of this name, or all caches if `name` is None, and reports what is left."""
    clear_caches(name)
    return report()


def _device(description: Mapping[str, object]) -> Device:
    def number(key: str) -> int:
        value = description.get(key)
        return value if isinstance(value, int) else 0

    return {
        "name": str(description.get("name", "")),
        "hardware": str(description.get("device", "")),
        "platform": str(description.get("platform", "")),
        "units": number("units"),
        "memory": number("memory"),
    }


def _session(session: Session) -> OpenSession:
    devices = session.list_devices()
    return {
        "nodes": len(session.graph.get_operations()),
        "devices": [str(device.name) for device in devices],
        "in_use": sum(int(device.details.get("in_use") or 0) for device in devices),
    }


def _cache(info: CacheInfo) -> CacheUse:
    return {
        "name": info.name,
        "caches": info.caches,
        "entries": info.entries,
        "limit": info.limit,
        "hits": info.hits,
        "misses": info.misses,
        "seconds": info.seconds,
    }
