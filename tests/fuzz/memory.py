"""The memory of this process, and the most that it was since the last look."""

from __future__ import annotations

import os
import re
import resource

_STATUS = "/proc/self/status"


class PeakMemory:
    """Measures by how much the resident memory grows between `begin` and `growth`.

    Linux resets the peak when "5" is written to /proc/self/clear_refs. Where that may not be written, the peak of the
    whole life of the process is taken, which shows only inputs that need more than all before them.
    """

    def __init__(self) -> None:
        try:
            self._reset = os.open("/proc/self/clear_refs", os.O_WRONLY)
            os.write(self._reset, b"5")
        except OSError:
            self._reset = -1
        self._status = os.open(_STATUS, os.O_RDONLY) if os.path.exists(_STATUS) else -1
        self._before = 0

    def resident(self) -> int:
        """Bytes that the process has now."""
        return self._field(rb"VmRSS:\s+(\d+)")

    def _field(self, pattern: bytes) -> int:
        if self._status < 0:
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        found = re.search(pattern, os.pread(self._status, 4096, 0))
        return int(found.group(1)) * 1024 if found else 0

    def begin(self) -> None:
        if self._reset >= 0:
            os.write(self._reset, b"5")
        self._before = self._field(rb"VmHWM:\s+(\d+)")

    def growth(self) -> int:
        """Bytes by which the peak since `begin` is above what the process had then."""
        return self._field(rb"VmHWM:\s+(\d+)") - self._before


def limit_address_space(more: int) -> None:
    """An allocation beyond `more` bytes from now on fails with MemoryError, so that a bomb does not take the machine."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = now + more
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))
