"""What JupyterLab's side panel shows of a kernel."""

from __future__ import annotations

from typing import TypedDict


class Device(TypedDict):
    name: str
    hardware: str
    platform: str
    units: int
    memory: int


class OpenSession(TypedDict):
    nodes: int
    devices: list[str]
    in_use: int


class Report(TypedDict):
    devices: list[Device]
    sessions: list[OpenSession]
    more: int
    """How many further sessions are open."""
    fault: str
    """Why the devices are not known, or ""."""
