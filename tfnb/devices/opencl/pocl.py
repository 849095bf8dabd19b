"""What PoCL needs to be told before it starts, and on processors that its compiler does not know.

PoCL reads its environment once, when a process first asks for its devices; its compiled kernels then live in its own
cache, which we put below ours. Invariant: the process's environment is the same after `environment` as before.
"""

from __future__ import annotations

import _ctypes  # `ctypes.CDLL` never closes a library
import ctypes
import os
import re
import struct
import threading
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyopencl as cl

from tfnb.devices.opencl.kernel_folder import KernelFolder

__all__ = [
    "INLINE_NAMES",
    "Pins",
    "environment",
    "is_pocl",
    "is_renamed",
    "kernel_folder",
    "teach_avx512",
    "used_folder",
]

# The driver that runs kernels in the caller's thread, by its names before and since PoCL 4.
INLINE_NAMES = ("basic", "cpu-minimal")

_AVX512 = frozenset(("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"))
_TARGET = re.compile(r"HSTR: \S+?-((?:x86_64|amd64)-\S+)-([^-\s]+)$")
_KNOWS_NO_AVX512 = re.compile(r"znver[123]|generic|x86-64(-v[23])?")
_CPU = b"skylake-avx512\0"
_DEVICE_STRUCT_BYTES = 4096  # at most; the next device may begin within, so the first match counts
_folders: list[KernelFolder] = []
_folder_lock = threading.Lock()
_kept: list[Any] = []  # the driver keeps a pointer into it for ever


def is_pocl(platform: cl.Platform) -> bool:
    return "Portable Computing Language" in platform.name or "pocl" in platform.name.lower()


@contextmanager
def environment(platform: cl.Platform, cache: Path) -> Iterator[None]:
    """Around the first look at PoCL's devices: asks for both CPU drivers and for our cache folder.

    A user's own POCL_DEVICES stays; a POCL_CACHE_DIR gets a folder of ours inside. PoCL's threads are tied to a core
    each where that is possible and the user says nothing else: two of them often woke on one core and took turns,
    which doubled the time of a matrix product of a tenth of a millisecond.
    """
    version = re.search(r"PoCL (\d+)", platform.version, re.IGNORECASE)
    modern = version is not None and int(version.group(1)) >= 4
    base = Path(os.environ.get("POCL_CACHE_DIR") or cache)
    wanted = {"POCL_CACHE_DIR": str(kernel_folder(base).link)}
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


def _after_fork() -> None:
    for folder in _folders:
        folder.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def kernel_folder(cache: Path) -> KernelFolder:
    """The folder of compiled kernels of this process; PoCL takes its name once, so the first call decides."""
    with _folder_lock:
        if not _folders:
            _folders.append(KernelFolder(cache, "pocl-avx512" if is_renamed() else "pocl"))
        return _folders[0]


def used_folder() -> KernelFolder | None:
    """The folder of compiled kernels, if PoCL has been started."""
    return _folders[0] if _folders else None


def is_renamed() -> bool:
    """Is this a processor that PoCL is told another name of? Its kernels must not meet others under the same key."""
    return _cpu_flags() >= _AVX512


def _may_pin() -> bool:
    """PoCL ties thread i to core i, and ends the process if it may not; a share of the cores is not tied."""
    allowed: set[int] = getattr(os, "sched_getaffinity", lambda _: set())(0)
    whole = allowed == set(range(os.cpu_count() or 0))
    return whole and "POCL_MAX_PTHREAD_COUNT" not in os.environ


def _cpu_flags() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    found = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return frozenset(found.group(1).split()) if found else frozenset()


def teach_avx512(device: cl.Device) -> bool:
    """Tells a PoCL device that its processor has AVX-512 when the compiler inside is too old to know it.

    LLVM 14 calls Zen 4 a Zen 3, without AVX-512, while PoCL picks its AVX-512 builtin library: every vector builtin
    of 16 floats then aborts the process. The name of the processor is a `char *` beside that of the target in
    the driver's device object; both stand in the device's version text, so the place is found by content,
    through a file so that a wrong guess cannot crash. Returns whether the name was changed; before any build.
    """
    target = _TARGET.search(device.version.strip())
    if target is None or not _KNOWS_NO_AVX512.fullmatch(target.group(2)) or not _cpu_flags() >= _AVX512:
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
        self._kernels: dict[str, set[Hashable]] = {}  # by the key of their program
        self._libraries: dict[str, dict[str, int]] = {}  # key -> path -> handle

    def launched(self, kernels: Iterable[tuple[str, str, tuple[int, ...]]], folder: KernelFolder) -> None:
        """Notes kernels that have just run, and pins their libraries if there are many."""
        with self._lock:
            for kernel in kernels:
                self._kernels.setdefault(kernel[0], set()).add(kernel)
            if sum(map(len, self._kernels.values())) <= self._MANY:
                return
            for key, launched in self._kernels.items():
                pinned = self._libraries.setdefault(key, {})
                if len(pinned) < len(launched):
                    for path in folder.libraries(key):
                        if path not in pinned:
                            pinned[path] = _ctypes.dlopen(path, os.RTLD_NOW)

    def release(self, key: str) -> None:
        """A program is not in use any more."""
        with self._lock:
            self._kernels.pop(key, None)
            for handle in self._libraries.pop(key, {}).values():
                _ctypes.dlclose(handle)

    def after_fork(self) -> None:
        """In the new process, where nobody will release the lock that a thread may hold."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum(map(len, self._libraries.values()))
