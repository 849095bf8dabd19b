"""What the side panel of JupyterLab shows of a kernel: its devices and open sessions, as JSON.

The panel asks by an expression that is evaluated in the kernel when it is idle; a kernel that has not imported tfnb is
not made to. Invariant: telling changes nothing, and a fault is part of what is told.
"""

from __future__ import annotations

import json
from typing import Any

from tfnb.errors import OpError
from tfnb.notebook.protocol import status as messages
from tfnb.notebook.protocol.status import Device, OpenSession
from tfnb.session.api import list_devices
from tfnb.session.session import Session, open_sessions

__all__ = ["Report", "report"]

MOST_SESSIONS = 50


class Report(str):
    """Text that is its own `repr`, as the answer to an expression is sent."""

    def __repr__(self) -> str:
        return str(self)


def report() -> Report:
    """The report of tfnb/notebook/protocol/status.py as JSON."""
    fault = ""
    devices: list[Device] = []
    try:
        devices = [_device(found) for found in list_devices()]
    except OpError as error:
        fault = error.message[:400]
    found = open_sessions()
    sessions = [_session(session) for session in found[:MOST_SESSIONS]]
    more = max(len(found) - MOST_SESSIONS, 0)
    message: messages.Report = {"devices": devices, "sessions": sessions, "more": more, "fault": fault}
    return Report(json.dumps(message))


def _device(found: dict[str, Any]) -> Device:
    return {
        "name": str(found.get("name", "")),
        "hardware": str(found.get("device", "")),
        "platform": str(found.get("platform", "")),
        "units": int(found.get("units") or 0),
        "memory": int(found.get("memory") or 0),
    }


def _session(session: Session) -> OpenSession:
    devices = session.list_devices()
    return {
        "nodes": len(session.graph.get_operations()),
        "devices": [str(device.name) for device in devices],
        "in_use": sum(int(device.details.get("in_use") or 0) for device in devices),
    }
