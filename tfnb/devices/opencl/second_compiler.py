"""A second process that compiles kernels without which this process can do for a while, so that no step waits for them.

PoCL compiles at the first launch of a kernel and holds a lock meanwhile, which every other launch of the process needs.
The second process (`compiling_process.py`) leaves what it has compiled in the archives of `kernel_folder.py`, where
this one finds it. It starts with the first request, gets one request at a time, and ends with this process, or by
itself when no request has come for a while. Invariant: no request is ever needed: without the second process all works
as well.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
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
    """Kernels of a module to compile. `kernels` has the name of each, and a letter for each of its arguments.

    A letter is "p" for a pointer, or the letter of `struct` for a number. The kernels are compiled for the unit with
    this fingerprint, or for its companion that runs in the caller's thread, and for one work-item, by a launch: either
    `on_nothing`, where all arguments are 0, and the kernel must do nothing then; or where all numbers are 1 and the
    pointers point to memory.
    """

    unit: str
    inline: bool
    source: str
    kernels: Sequence[tuple[str, str]]
    on_nothing: bool

    def encoded(self) -> bytes:
        """Returns the request as a line."""
        return base64.b64encode(zlib.compress(json.dumps(self._asdict()).encode(), 1)) + b"\n"

    @staticmethod
    def decoded(line: bytes) -> Request:
        """Returns the request of a line. Raises ValueError and zlib.error for other lines."""
        return Request(**json.loads(zlib.decompress(base64.b64decode(line))))


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

    def ask(self, key: str, request: Request, has: Callable[[str], bool]) -> bool:
        """Requests kernels, unless the process is busy; then the caller asks again.

        `has(key)` says whether the kernels of the request with this key are there. Returns False if it is of no use to
        ask for these kernels again.
        """
        if os.getpid() != self._pid:  # a fork has no second process of its own
            return False
        with self._lock:
            is_lost = time.monotonic() >= self._since + _PATIENCE
            if self._key and not has(self._key) and not is_lost:
                return True
            data = request.encoded()
            if len(data) > _MOST_BYTES or self._asked[key] == _MOST_OFTEN:
                return False
            self._key, self._since = key, time.monotonic()
            self._asked[key] += 1
            if self._process is None or self._process.poll() is not None:
                self._process = start_child(_MODULE, environment={"TFNB_CACHE_DIR": str(self._cache)})
            if self._process is not None and self._process.stdin is not None:
                with suppress(OSError):  # it has just ended
                    self._process.stdin.write(data)
        return True


_compilers: dict[Path, SecondCompiler] = {}


def second_compiler(cache: Path) -> SecondCompiler:
    """Returns the second process of all devices whose kernels are kept in the folder `cache`."""
    return _compilers.setdefault(cache, SecondCompiler(cache))
