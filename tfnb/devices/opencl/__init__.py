"""OpenCL devices: PoCL on any CPU, and GPUs with an OpenCL driver. Only this package imports pyopencl.

Its names are loaded when they are first used, because importing the session must not import OpenCL.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tfnb.devices.opencl.advice import with_advice
from tfnb.errors import DeviceNotFoundError

if TYPE_CHECKING:
    from tfnb.devices.opencl.device import OpenCLDevice, list_devices, make_devices

__all__ = ["OpenCLDevice", "list_devices", "make_devices"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        try:
            return getattr(importlib.import_module("tfnb.devices.opencl.device"), name)
        except ImportError as e:
            if (e.name or "").startswith("tfnb"):
                raise
            raise DeviceNotFoundError(with_advice(f"OpenCL cannot be used: {e}")) from e
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
