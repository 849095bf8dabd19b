"""The report on a kernel that JupyterLab's side panel shows: devices, open sessions and caches."""

from __future__ import annotations

from typing import TypedDict


class Device(TypedDict):
    name: str
    hardware: str
    platform: str
    units: int
    memory: int
    """In bytes."""


class OpenSession(TypedDict):
    nodes: int
    devices: list[str]
    in_use: int
    """Bytes of device memory that the session holds."""


class CacheUse(TypedDict):
    """All caches of one name together, as `tf.list_caches()` counts them."""

    name: str
    caches: int
    entries: int
    limit: int
    """The largest number of entries; a cache that is full drops its oldest entry."""
    hits: int
    """Lookups that found an entry."""
    misses: int
    """Entries that had to be computed."""
    seconds: float | None
    """How long computing them took; None where it is not measured."""


class Report(TypedDict):
    devices: list[Device]
    sessions: list[OpenSession]
    more: int
    """The number of open sessions that `sessions` leaves out."""
    caches: list[CacheUse]
    fault: str
    """Why the devices are not known, or ""."""
