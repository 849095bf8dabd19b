"""The public names of this package."""

from __future__ import annotations

from typing import Any

from tfnb.devices import opencl
from tfnb.session.chrome_trace import Timeline
from tfnb.session.config import ConfigProto, GPUOptions, GraphOptions, OptimizerOptions, RunMetadata, RunOptions
from tfnb.session.default import get_default_session
from tfnb.session.profile import profile
from tfnb.session.session import InteractiveSession, Session
from tfnb.settings import load_settings

__all__ = [
    "ConfigProto",
    "GPUOptions",
    "GraphOptions",
    "InteractiveSession",
    "OptimizerOptions",
    "RunMetadata",
    "RunOptions",
    "Session",
    "Timeline",
    "get_default_session",
    "list_devices",
    "list_local_devices",
    "profile",
]


def list_devices() -> list[dict[str, Any]]:
    """The descriptions of the devices that TFNB_DEVICES selects for sessions. Raises `DeviceNotFoundError` if there is
    none."""
    return opencl.list_devices(load_settings())


def list_local_devices(session_config: ConfigProto | None = None) -> list[Any]:
    """The devices that a session of this configuration would have, as `Session.list_devices` describes them."""
    with Session(config=session_config) as session:
        return session.list_devices()
