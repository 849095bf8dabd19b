"""The devices of this machine as `tf.config.experimental` names them.

Invariant: the lists name the devices on which a session without a configuration can place operations.
"""

from __future__ import annotations

from typing import NamedTuple

from tfnb.session.api import list_local_devices

__all__ = ["experimental_list_devices", "list_logical_devices", "list_physical_devices"]


class PhysicalDevice(NamedTuple):
    """A device of the machine: its name, "/physical_device:CPU:0", and its type."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device of a session: its name, "/device:CPU:0", and its type."""

    name: str
    device_type: str


def _named(device_type: str | None) -> list[tuple[str, str]]:
    """Returns names and types, such as ("CPU:0", "CPU")."""
    found = [(d.name.rpartition("device:")[2], str(d.device_type)) for d in list_local_devices()]
    return [(name, kind) for name, kind in found if device_type in (None, kind)]


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices of the machine, or those of the type "CPU" or "GPU"."""
    return [PhysicalDevice(f"/physical_device:{name}", kind) for name, kind in _named(device_type)]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Returns the devices of a session, or those of the type "CPU" or "GPU"."""
    return [LogicalDevice(f"/device:{name}", kind) for name, kind in _named(device_type)]


def experimental_list_devices() -> list[str]:
    """Returns the full names of the devices of a session."""
    return [f"/job:localhost/replica:0/task:0/device:{name}" for name, _ in _named(None)]
