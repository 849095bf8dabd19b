"""Device names, complete and partial: `/job:worker/task:3/device:GPU:0`, `/cpu:0`, `/gpu:*` (white paper, section 3).

Invariant: a spec is immutable; merging fills only what is open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tfnb.errors import InvalidArgumentError

__all__ = ["DeviceSpec"]

_PART = re.compile(r"(job|replica|task|device|cpu|gpu):([^/]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """A device name; parts that are None are open."""

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    @staticmethod
    def from_string(text: str) -> DeviceSpec:
        """Returns the spec of a text. Raises `InvalidArgumentError` if the text is not a device name."""
        fields: dict[str, Any] = {}
        for part in filter(None, text.split("/")):
            match = _PART.fullmatch(part)
            try:
                if match is None:
                    raise ValueError
                read = _read(match.group(1).lower(), match.group(2))
            except ValueError:
                raise InvalidArgumentError(
                    f"{text!r} is not a device name: {part!r} not understood; "
                    "needed something like '/job:worker/task:0/device:CPU:0', '/cpu:0' or '/gpu:1'"
                ) from None
            if "device_type" in fields and "device_type" in read:
                raise InvalidArgumentError(f"Cannot specify multiple device types: {text!r}")
            fields.update(read)
        return DeviceSpec(**fields)

    def matches(self, full: DeviceSpec) -> bool:
        """Returns whether the complete name `full` agrees with this spec."""
        pairs = (
            (self.job, full.job),
            (self.replica, full.replica),
            (self.task, full.task),
            (self.device_type, full.device_type),
            (self.device_index, full.device_index),
        )
        return all(own_part is None or own_part == full_part for own_part, full_part in pairs)

    def merged(self, outer: DeviceSpec) -> DeviceSpec:
        """This spec with its open parts taken from `outer`."""
        pairs = {f: getattr(self, f) if getattr(self, f) is not None else getattr(outer, f) for f in self.__slots__}
        if self.device_type is not None and self.device_index is None and outer.device_type != self.device_type:
            pairs["device_index"] = None
        return DeviceSpec(**pairs)

    def to_string(self) -> str:
        """Returns the device in TensorFlow's form, `/job:worker/task:1/device:CPU:0`, with the parts that are given."""
        text = "" if self.job is None else f"/job:{self.job}"
        text += "" if self.replica is None else f"/replica:{self.replica}"
        text += "" if self.task is None else f"/task:{self.task}"
        if self.device_type is not None:
            text += f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}"
        return text


def _read(key: str, value: str) -> dict[str, Any]:
    if key == "job":
        return {"job": value}
    if key in ("replica", "task"):
        return {key: int(value)}
    if key == "device":
        kind, _, index = value.partition(":")
        kind = kind.upper() if kind.upper() in ("CPU", "GPU") else kind
        return {"device_type": kind, "device_index": None if index in ("", "*") else int(index)}
    return {"device_type": key.upper(), "device_index": None if value == "*" else int(value)}
