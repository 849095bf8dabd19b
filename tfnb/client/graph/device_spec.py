"""`tf.DeviceSpec`: a device name whose parts a program reads, sets and merges.

Invariant: the name itself, an immutable `tfnb/ir/device_spec.py:DeviceSpec`, does all the parsing and writing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tfnb.ir import device_spec

__all__ = ["API", "DeviceSpec"]


class DeviceSpec:
    """A (partial) device name for `tf.device`. Its parts, None where they are open, are attributes that can be set."""

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self.job, self.replica, self.task = job, replica, task
        self.device_type = device_type
        self.device_index = device_index

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """Returns the parts of a text such as "/job:worker/task:0/device:GPU:1". Raises `InvalidArgumentError` if the
        text is not a device name.
        """
        return cls().parse_from_string(spec)

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Takes all parts from a text, and returns itself. Raises `InvalidArgumentError` if the text is not a device
        name.
        """
        return self._take(device_spec.DeviceSpec.from_string(spec))

    def merge_from(self, dev: DeviceSpec) -> None:
        """Takes the parts that `dev` gives; those that are open in `dev` stay as they are."""
        self._take(dev._name().merged(self._name()))

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Returns a new spec with the parts that `dev` gives, and the others from this one."""
        return DeviceSpec()._take(dev._name().merged(self._name()))

    def replace(self, **kwargs: Any) -> DeviceSpec:
        """Returns a new spec with other values for the named parts."""
        return DeviceSpec()._take(replace(self._name(), **kwargs))

    def to_string(self) -> str:
        """Returns the device in TensorFlow's form, "/job:worker/task:1/device:CPU:0", with the parts that are given."""
        return self._name().to_string()

    __str__ = to_string

    def __repr__(self) -> str:
        return f"DeviceSpec({self.to_string()!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self._name() == other._name()

    def __hash__(self) -> int:
        return hash(self._name())

    def _name(self) -> device_spec.DeviceSpec:
        return device_spec.DeviceSpec(self.job, self.replica, self.task, self.device_type, self.device_index)

    def _take(self, name: device_spec.DeviceSpec) -> DeviceSpec:
        self.job, self.replica, self.task = name.job, name.replica, name.task
        self.device_type, self.device_index = name.device_type, name.device_index
        return self


API: dict[str, Any] = {"DeviceSpec": DeviceSpec}
