"""What PoCL needs to be told before it starts, and on processors that its compiler does not know.

PoCL reads its environment once, when a process first asks for its devices; its compiled kernels then live in its own
cache, which we put below ours. Invariant: the process's environment is the same after `environment` as before.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
import threading
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["INLINE_NAMES", "Pins", "environment", "is_pocl", "teach_avx512"]

# The driver that runs kernels in the caller's thread, by its names before and since PoCL 4.
INLINE_NAMES = ("basic", "cpu-minimal")

_AVX512 = frozenset(("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"))
_TARGET = re.compile(r"HSTR: \S+?-((?:x86_64|amd64)-\S+)-([^-\s]+)$")
_KNOWS_NO_AVX512 = re.compile(r"znver[123]|generic|x86-64(-v[23])?")
_CPU = b"skylake-avx512\0"
_DEVICE_STRUCT_BYTES = 4096  # at most; the next device may begin within, so the first match counts
_kept: list[Any] = []  # the driver keeps a pointer into it for ever


def is_pocl(platform: Any) -> bool:
    return "Portable Computing Language" in platform.name or "pocl" in platform.name.lower()


@contextmanager
def environment(platform: Any, cache: Path) -> Iterator[None]:
    """Around the first look at PoCL's devices: asks for both CPU drivers and for our cache folder.

    A user's own POCL_DEVICES stays; a POCL_CACHE_DIR gets a folder of ours inside. PoCL's threads are tied to a core
    each where that is possible and the user says nothing else: two of them often woke on one core and took turns,
    which doubled the time of a matrix product of a tenth of a millisecond.
    """
    version = re.search(r"PoCL (\d+)", platform.version, re.IGNORECASE)
    modern = version is not None and int(version.group(1)) >= 4
    base = Path(os.environ.get("POCL_CACHE_DIR") or cache)
    # Kernels for a processor that was renamed (see below) must not meet others under the same key.
    folder = base / ("pocl-avx512" if _cpu_flags() >= _AVX512 else "pocl")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {"POCL_CACHE_DIR": str(folder)}
    if "POCL_DEVICES" not in os.environ:
        wanted["POCL_DEVICES"] = "cpu cpu-minimal" if modern else "pthread basic"
    if "POCL_AFFINITY" not in os.environ and _may_pin():
        wanted["POCL_AFFINITY"] = "1"
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, text in before.items():
            if text is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = text


def _may_pin() -> bool:
    """PoCL ties thread i to core i, and ends the process if it may not; a share of the cores is not tied."""
    allowed = getattr(os, "sched_getaffinity", lambda _: set())(0)
    whole = allowed == set(range(os.cpu_count() or 0))
    return whole and "POCL_MAX_PTHREAD_COUNT" not in os.environ


def _cpu_flags() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    found = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return frozenset(found.group(1).split()) if found else frozenset()


def teach_avx512(device: Any) -> bool:
    """Tells a PoCL device that its processor has AVX-512 when the compiler inside is too old to know it.

    LLVM 14 calls Zen 4 a Zen 3, without AVX-512, while PoCL picks its AVX-512 builtin library: every vector builtin
    of 16 floats then aborts the process. The name of the processor is a `char *` beside that of the target in
    the driver's device object; both stand in the device's version text, so the place is found by content,
    through a file so that a wrong guess cannot crash. Returns whether the name was changed; before any build.
    """
    target = _TARGET.search(device.version.strip())
    if (
        target is None
        or not _KNOWS_NO_AVX512.fullmatch(target.group(2))
        or not _cpu_flags() >= _AVX512
    ):
        return False
    triple, cpu = (text.encode() + b"\0" for text in target.groups())
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY)
    except OSError:
        return False
    try:
        at = _find_pair(memory, device.int_ptr, triple, cpu)
    finally:
        os.close(memory)
    if at is None:
        return False
    if not _kept:
        _kept.append(ctypes.create_string_buffer(_CPU))
    ctypes.c_void_p.from_address(at).value = ctypes.addressof(_kept[0])
    return True


def _find_pair(memory: int, start: int, first: bytes, second: bytes) -> int | None:
    """Address of the first pointer to `second` that follows a pointer to `first`."""
    data = _read(memory, start, _DEVICE_STRUCT_BYTES)
    words = struct.unpack(f"<{len(data) // 8}Q", data[: len(data) // 8 * 8])
    for i, (a, b) in enumerate(zip(words, words[1:], strict=False)):
        if _read(memory, a, len(first)) == first and _read(memory, b, len(second)) == second:
            return start + 8 * (i + 1)
    return None


def _read(memory: int, address: int, nbytes: int) -> bytes:
    if not 4096 <= address < 1 << 47:
        return b""
    try:
        return os.pread(memory, nbytes, address)
    except OSError:
        return b""


class Pins:
    """Keeps compiled kernels in the process when PoCL would not.

    PoCL holds the libraries of 128 kernels, each for one work-group size; where more are in use it closes and opens
    one at every launch, 60 to 140 us instead of 3. A library that somebody else has opened too stays mapped: 10 us.
    """

    _MANY = 112  # some belong to others

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kernels: set[Hashable] = set()
        self._libraries: dict[str, ctypes.CDLL] = {}

    def launched(self, kernels: Iterable[Hashable]) -> None:
        """Notes kernels that have just run, and pins their libraries if there are many."""
        with self._lock:
            self._kernels.update(kernels)
            if len(self._kernels) > self._MANY:
                for path in _mapped_kernels():
                    if path not in self._libraries:
                        self._libraries[path] = ctypes.CDLL(path)

    def __len__(self) -> int:
        return len(self._libraries)


def _mapped_kernels() -> list[str]:
    """Paths of the compiled kernels that are in the process now: <cache>/pocl*/../<kernel>/<sizes>/<kernel>.so"""
    try:
        text = Path("/proc/self/maps").read_text()
    except OSError:
        return []
    found = dict.fromkeys(
        re.findall(
            r"/\S*/pocl(?:-avx512)?/\w\w/\w+/[^/\n]+/[^/\n]+/[^/\n]+\.so$", text, re.MULTILINE
        )
    )
    return [path for path in found if os.path.exists(path)]
