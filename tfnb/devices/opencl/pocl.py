"""The set-up of PoCL, and corrections for processors that its compiler does not know.

PoCL reads its environment variables once, when a process first lists its devices, and stores compiled kernels in a
cache of its own, whose folder is set here. Invariant: `environment` restores the environment variables of the process.
"""

from __future__ import annotations

import _ctypes  # since `ctypes.CDLL` never closes a library
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
    "has_known_header",
    "have_same_target",
    "is_pocl",
    "is_renamed",
    "kernel_folder",
    "teach_avx512",
    "used_folder",
]

# The names, before and since PoCL 4, of the driver that runs kernels in the caller's thread.
INLINE_NAMES = ("basic", "cpu-minimal")

_AVX512 = frozenset(("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"))
_TARGET = re.compile(r"HSTR: \S+?-((?:x86_64|amd64)-\S+)-([^-\s]+)$")
_KNOWS_NO_AVX512 = re.compile(r"znver[123]|generic|x86-64(-v[23])?")
_CPU = b"skylake-avx512\0"
_DEVICE_STRUCT_BYTES = 4096  # at most; the next device may begin inside, so the first match is used
_folders: list[KernelFolder] = []
_folder_lock = threading.Lock()
_kept: list[Any] = []  # never freed, because the driver keeps a pointer to it


def is_pocl(platform: cl.Platform) -> bool:
    return "Portable Computing Language" in platform.name or "pocl" in platform.name.lower()


def has_known_header(device: cl.Device) -> bool:
    """Returns whether the declarations of `builtins.py` are those of the header that PoCL reads for this device."""
    extensions = device.extensions.split()
    is_known = re.match(r"OpenCL \S+ PoCL 3\.", device.platform.version) is not None
    return is_known and "cl_khr_fp64" in extensions and "cl_khr_fp16" not in extensions


def have_same_target(one: cl.Device, other: cl.Device) -> bool:
    """Returns whether PoCL compiles kernels for two devices to the same machine code."""
    targets = [_TARGET.search(d.version.strip()) for d in (one, other)]
    return None not in targets and len({t.groups() for t in targets if t is not None}) == 1


@contextmanager
def environment(platform: cl.Platform, cache: Path) -> Iterator[None]:
    """A context for the first listing of PoCL's devices, which requests both CPU drivers and the cache folder of tfnb.

    PoCL 3 is asked for two devices of each, because `builtin_library.py` needs twins.
    A POCL_DEVICES of the user is kept, and in a POCL_CACHE_DIR of the user a folder is created. Each thread of PoCL is
    pinned to a core if that is possible and the user has not set POCL_AFFINITY. Without it, two threads often ran on
    the same core, which doubled the time of a matrix product of a tenth of a millisecond.
    """
    version = re.search(r"PoCL (\d+)", platform.version, re.IGNORECASE)
    is_modern = version is not None and int(version.group(1)) >= 4
    base = Path(os.environ.get("POCL_CACHE_DIR") or cache)
    variables = {"POCL_CACHE_DIR": str(kernel_folder(base).link)}
    if "POCL_DEVICES" not in os.environ:
        variables["POCL_DEVICES"] = "cpu cpu-minimal" if is_modern else "pthread basic pthread basic"
    if "POCL_AFFINITY" not in os.environ and _may_pin():
        variables["POCL_AFFINITY"] = "1"
    former_values = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, text in former_values.items():
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
    """Returns the folder of compiled kernels of this process.

    PoCL reads its name once, so the first call determines it.
    """
    with _folder_lock:
        if not _folders:
            _folders.append(KernelFolder(cache, "pocl-avx512" if is_renamed() else "pocl"))
        return _folders[0]


def used_folder() -> KernelFolder | None:
    """Returns the folder of compiled kernels, if PoCL has been started."""
    return _folders[0] if _folders else None


def is_renamed() -> bool:
    """Returns whether PoCL gets another name for this processor; the keys of its kernels must then differ, too."""
    return _cpu_flags() >= _AVX512


def _may_pin() -> bool:
    """Returns whether PoCL may pin its threads.

    PoCL pins thread i to core i and aborts if that is forbidden, so this process must be allowed to use all cores.
    """
    allowed_cores: set[int] = getattr(os, "sched_getaffinity", lambda _: set())(0)
    has_all_cores = allowed_cores == set(range(os.cpu_count() or 0))
    return has_all_cores and "POCL_MAX_PTHREAD_COUNT" not in os.environ


def _cpu_flags() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    match = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return frozenset(match.group(1).split()) if match else frozenset()


def teach_avx512(device: cl.Device) -> bool:
    """Renames the processor of a PoCL device to one with AVX-512 if PoCL's compiler is too old to know the processor.

    LLVM 14 takes Zen 4 for Zen 3, which has no AVX-512, while PoCL selects its AVX-512 builtin library; every vector
    builtin of 16 floats then aborts the process. The name of the processor is a `char *` next to that of the target in
    the driver's device object. Both names are part of the device's version, so the pointers are found by content. The
    memory is read through a file, so that a wrong address cannot crash the process. Call it before any build; returns
    whether the name was changed.
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
    """Returns the address of the first pointer to `second` that follows a pointer to `first`."""
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
    """Keeps the libraries of compiled kernels mapped when PoCL would unload them.

    PoCL keeps the libraries of 128 kernels open, each for one work-group size. If more are in use, it closes and opens
    one at each launch, which takes 60 to 140 us instead of 3. A library that is also opened here stays mapped, and the
    launch takes 10 us.
    """

    _MANY = 112  # fewer than 128, because other code may use PoCL too

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kernels: dict[str, set[Hashable]] = {}  # by the key of their program
        self._libraries: dict[str, dict[str, int]] = {}  # the handle of each path, by key

    def launched(self, kernels: Iterable[tuple[str, str, tuple[int, ...]]], folder: KernelFolder) -> None:
        """Notes kernels that have run, and opens their libraries if there are many."""
        with self._lock:
            for kernel in kernels:
                self._kernels.setdefault(kernel[0], set()).add(kernel)
            if sum(map(len, self._kernels.values())) <= self._MANY:
                return
            for key, kernels_of_program in self._kernels.items():
                pinned = self._libraries.setdefault(key, {})
                if len(pinned) < len(kernels_of_program):
                    for path in folder.libraries(key):
                        if path not in pinned:
                            pinned[path] = _ctypes.dlopen(path, os.RTLD_NOW)

    def release(self, key: str) -> None:
        """Closes the libraries of a program that is not used any more."""
        with self._lock:
            self._kernels.pop(key, None)
            for handle in self._libraries.pop(key, {}).values():
                _ctypes.dlclose(handle)

    def after_fork(self) -> None:
        """Replaces the lock in a forked process, where no thread would release it."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum(map(len, self._libraries.values()))
