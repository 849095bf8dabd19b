"""The kernels of Send and Recv, and the conversion of a value on its way (white paper, sections 3.2.2 and 5.5).

A Send passes its value on without waiting until the value is computed. The Recv waits, and copies the value to the
memory of its device. Invariant: a key names a tensor, both devices and the iteration, so each key is sent once in a
step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tfnb.devices.buffers import DeviceTensor
from tfnb.devices.interface import Device
from tfnb.ir.step_graph.graph import Node
from tfnb.runtime.kernels import StepContext
from tfnb.runtime.rendezvous import Received
from tfnb.runtime.stats import TRANSFER, StepStats
from tfnb.runtime.values import Value, nbytes_of, to_host

__all__ = ["Key", "RecvKernel", "SendKernel", "expand", "truncate"]


class Key(NamedTuple):
    """The key of a transfer: the tensor named `tensor` goes from the device `source` to the device `target`.

    Devices are given by their full names. `tag` names the iteration (see `Ready.tag`), and is "" outside of loops.
    """

    source: str
    target: str
    tensor: str
    tag: str


def truncate(array: np.ndarray) -> np.ndarray:
    """The upper 16 bits of float32 values as uint16: sign, exponent and 7 bits of the fraction (bfloat16)."""
    return (np.ascontiguousarray(array).view(np.uint32) >> np.uint32(16)).astype(np.uint16).reshape(array.shape)


def expand(array: np.ndarray) -> np.ndarray:
    """The float32 values whose upper 16 bits are the uint16 values of `array` and whose lower bits are zero."""
    return (array.astype(np.uint32) << np.uint32(16)).view(np.float32).reshape(array.shape)


def _key(node: Node) -> Key:
    """The key of a Send or Recv outside of loops."""
    a = node.attrs
    return Key(a.send_device, a.recv_device, a.tensor_name, "")


class SendKernel:
    """Passes its input, a constant or a dead token to the rendezvous."""

    def __init__(self, node: Node, constant: np.ndarray | None = None) -> None:
        self.node = node
        self.key = _key(node)
        self._constant = constant
        self._truncate: bool = node.attrs.truncate

    def send(self, inputs: Sequence[Value], is_dead: bool, tag: str, step: StepContext) -> None:
        """Sends the value, or a dead token if `is_dead`, in the iteration `tag`. Raises as `Rendezvous.send`."""
        value = None if is_dead else self.value(inputs)
        step.rendezvous.send(self.key._replace(tag=tag) if tag else self.key, value, is_dead)

    def value(self, inputs: Sequence[Value]) -> Value:
        """The value that the kernel sends."""
        value = inputs[0] if self._constant is None else self._constant
        return truncate(to_host(value)) if self._truncate else value


class RecvKernel:
    """Waits for the value of the Send with the same key, and copies it to the memory of `device` (None: the host)."""

    def __init__(self, node: Node, device: Device | None = None) -> None:
        self.node = node
        self._key = _key(node)
        self._device = device if device is not None and device.facts.kind != "cpu" else None
        self._truncate: bool = node.attrs.truncate

    @property
    def key(self) -> Key:
        """The key of its value, outside of loops."""
        return self._key

    def recv(self, tag: str, step: StepContext, done: Callable[[Received | None, BaseException | None], None]) -> None:
        """Calls `done` with the value of the iteration `tag` once it was sent; see `Rendezvous.recv_async`."""
        step.rendezvous.recv_async(self._key._replace(tag=tag) if tag else self._key, done)

    def take(self, value: Value, recorder: StepStats | None = None) -> Value:
        """Waits until a received value is computed, and returns it in the memory of the receiver's device."""
        start = recorder.now_us() if recorder is not None else 0.0
        if type(value) is DeviceTensor and value.ticket is not None and not value.ticket.done:
            value.wait()
        copy_start = recorder.now_us() if recorder is not None else 0.0
        size = nbytes_of(value)
        array = expand(to_host(value)) if self._truncate else to_host(value)
        result: Value = array if self._device is None else self._device.from_numpy(array)
        if recorder is not None:
            source, target, name, _ = self._key
            label = f"{name}: {_short(source)} to {_short(target)}"
            recorder.span(
                TRANSFER, label, copy_start, size, f"waited {copy_start - start:.0f} us", (self.node.id,), "transfer"
            )
        return result


def _short(device: str) -> str:
    """A short name of a device: "CPU:0" for one of this machine, "worker:1 CPU:0" for one of another task."""
    task, _, unit = device.rpartition("/device:")
    parts = task.strip("/").split("/")
    job, number = parts[0].removeprefix("job:"), parts[-1].removeprefix("task:")
    return unit.removeprefix("device:") if job in ("", "localhost") else f"{job}:{number} {unit}"
