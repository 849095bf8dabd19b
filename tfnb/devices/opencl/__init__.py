"""OpenCL devices: PoCL on any CPU, GPUs where there is a driver; the one place that imports pyopencl."""

from tfnb.devices.opencl.device import OpenCLDevice, list_devices, make_devices

__all__ = ["OpenCLDevice", "list_devices", "make_devices"]
