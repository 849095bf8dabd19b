"""Kernels of Send and Recv, and what a value becomes on its way (white paper, sections 3.2.2 and 5.5).

A Send hands its value over as it is, without waiting until it is computed; the Recv's side waits, and moves it to its
device's memory. Invariant: a key names a tensor, both devices and the iteration, so it is sent once in a step.
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
    """What is sent: from `source` to `target` (full names of devices), in the iteration that `tag` names ("" outside
    of loops; see `Ready.tag`)."""

    source: str
    target: str
    tensor: str
    tag: str


def truncate(array: np.ndarray) -> np.ndarray:
    """The upper 16 bits of float32 values, as uint16: sign, exponent and 7 bits of the fraction (bfloat16)."""
    return (np.ascontiguousarray(array).view(np.uint32) >> np.uint32(16)).astype(np.uint16).reshape(array.shape)


def expand(array: np.ndarray) -> np.ndarray:
    """float32 values from their upper 16 bits, the lower ones zero."""
    return (array.astype(np.uint32) << np.uint32(16)).view(np.float32).reshape(array.shape)


def _key(node: Node) -> Key:
    """Outside of loops."""
    a = node.attrs
    return Key(a.send_device, a.recv_device, a.tensor_name, "")


class SendKernel:
    """Hands its input, or a constant, to the rendezvous; a dead token too."""

    def __init__(self, node: Node, constant: np.ndarray | None = None) -> None:
        self.node = node
        self.key = _key(node)
        self._constant = constant
        self._truncate: bool = node.attrs.truncate

    def send(self, inputs: Sequence[Value], is_dead: bool, tag: str, step: StepContext) -> None:
        value = None if is_dead else self.value(inputs)
        step.rendezvous.send(self.key._replace(tag=tag) if tag else self.key, value, is_dead)

    def value(self, inputs: Sequence[Value]) -> Value:
        """What it hands over."""
        value = inputs[0] if self._constant is None else self._constant
        return truncate(to_host(value)) if self._truncate else value


class RecvKernel:
    """Waits for what the Send of the same tensor hands over. `device` wants it in its memory (None: the host)."""

    def __init__(self, node: Node, device: Device | None = None) -> None:
        self.node = node
        self._key = _key(node)
        self._device = device if device is not None and device.facts.kind != "cpu" else None
        self._truncate: bool = node.attrs.truncate

    def recv(self, tag: str, step: StepContext, done: Callable[[Received | None, BaseException | None], None]) -> None:
        step.rendezvous.recv_async(self._key._replace(tag=tag) if tag else self._key, done)

    def take(self, value: Value, recorder: StepStats | None = None) -> Value:
        """The value that came, where the receiver can use it; waits until it is computed."""
        start = recorder.now_us() if recorder is not None else 0.0
        if type(value) is DeviceTensor and value.ticket is not None and not value.ticket.done:
            value.wait()
        moved = recorder.now_us() if recorder is not None else 0.0
        size = nbytes_of(value)
        array = expand(to_host(value)) if self._truncate else to_host(value)
        found: Value = array if self._device is None else self._device.from_numpy(array)
        if recorder is not None:
            source, target, name, _ = self._key
            what = f"{name}: {_short(source)} to {_short(target)}"
            recorder.span(TRANSFER, what, moved, size, f"waited {moved - start:.0f} us", (self.node.id,), "transfer")
        return found


def _short(device: str) -> str:
    """ "CPU:0" of this machine's devices, "worker:1 CPU:0" of those of other tasks."""
    task, _, unit = device.rpartition("/device:")
    parts = task.strip("/").split("/")
    job, number = parts[0].removeprefix("job:"), parts[-1].removeprefix("task:")
    return unit.removeprefix("device:") if job in ("", "localhost") else f"{job}:{number} {unit}"
