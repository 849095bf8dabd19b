"""A second process that compiles kernels of which this process has no need yet, so that no step waits for them.

PoCL compiles at the first launch of a kernel and holds a lock meanwhile, which every other launch of the process needs.
The second process (`compiling_process.py`) leaves what it has compiled in the archives of `kernel_folder.py`, where
this one finds it. It starts with the first request, gets one request at a time, and ends with this process, or by
itself when no request has come for a while. Invariant: no request is ever needed: without the second process all works
as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tfnb.system.children import start_child

__all__ = ["Request", "SecondCompiler", "second_compiler"]

_MODULE = "tfnb.devices.opencl.compiling_process"
_MOST_BYTES = 60_000  # of a request, so that a pipe takes it at once
_PATIENCE = 30.0  # seconds after which a request counts as lost
_MOST_OFTEN = 3  # times that a request is made: where the cache cannot be written, what is compiled never comes


class Request(NamedTuple):
    """A kernel to compile: `source` is its module, `entry` its name, `kinds` has a letter for each argument.

    A letter is "p" for a pointer, or the letter of `struct` for a number. The kernel is compiled for the unit with this
    fingerprint, or for its companion that runs in the caller's thread, and for one work-item. It must do nothing when
    all arguments are 0.
    """

    unit: str
    inline: bool
    source: str
    entry: str
    kinds: str


class SecondCompiler:
    """The second process, which keeps its kernels in the folder `cache`. All methods may be called from any thread."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pid = os.getpid()
        self._key = ""  # of the request that the process has
        self._since = 0.0
        self._asked: Counter[str] = Counter()  # how often each request was made

    def ask(self, key: str, request: Request, has: Callable[[str], bool]) -> None:
        """Requests a kernel, unless the process is busy; then the caller asks again.

        `has(key)` says whether the kernel of the request with this key is there.
        """
        if os.getpid() != self._pid:  # a fork has no second process of its own
            return
        data = json.dumps(request._asdict()).encode() + b"\n"
        with self._lock:
            is_busy = self._key and not has(self._key) and time.monotonic() < self._since + _PATIENCE
            if is_busy or len(data) > _MOST_BYTES or self._asked[key] == _MOST_OFTEN:
                return
            self._key, self._since = key, time.monotonic()
            self._asked[key] += 1
            if self._process is None or self._process.poll() is not None:
                self._process = start_child(_MODULE, environment={"TFNB_CACHE_DIR": str(self._cache)})
            if self._process is not None and self._process.stdin is not None:
                with suppress(OSError):  # it has just ended
                    self._process.stdin.write(data)


_compilers: dict[Path, SecondCompiler] = {}


def second_compiler(cache: Path) -> SecondCompiler:
    """Returns the second process of all devices whose kernels are kept in the folder `cache`."""
    return _compilers.setdefault(cache, SecondCompiler(cache))
