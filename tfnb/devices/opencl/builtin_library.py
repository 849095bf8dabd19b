"""A small library of built-in functions for PoCL 3, which takes a third of a second to read its own before a build.

Once per machine a program that calls each function of `builtins.py` is built. The code that PoCL stores for it contains
these functions, so it can serve as a library, which is read in a sixth of the time. PoCL looks for its library in a
folder beside its own file, whose name it asks the dynamic linker for. While it reads a library for a device, the name
in the linker's table is therefore that of a folder with the small one.
Invariant: the functions are those of PoCL's own library, so the code of a program is the same with either. Only devices
that have a twin read the small one; other code of the process uses the twins.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pyopencl as cl

from tfnb.devices.opencl import builtins, pocl
from tfnb.devices.opencl.kernel_folder import largest_file
from tfnb.devices.opencl.platforms import Unit
from tfnb.system import progress

__all__ = ["BuiltinLibrary", "reading_whole"]

# Where PoCL's library and headers are, seen from the folder of its own file.
_DATA = "../../pocl_binary_distribution/.libs/share/pocl"
_FILE = "program.bc"  # the code of a program in its folder
_OPTIONS = (builtins.SKIP,)
_NEEDED = 4 << 20  # bytes that a file must be allowed, since LLVM ends the process if it cannot write one
_ENTRY_OF_HANDLE = 2  # a request of `dlinfo`
# Held while a name in the linker's table is another one. No other lock of ours is taken meanwhile.
_lock = threading.RLock()
_have_read: set[int] = set()  # the devices for which PoCL has read a library


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

Build = Callable[[str, tuple[str, ...], cl.Device], object]


class _Entry(ctypes.Structure):
    """An entry of the dynamic linker's table of loaded files (`struct link_map` in link.h)."""


_Entry._fields_ = [
    ("address", ctypes.c_void_p),
    ("name", ctypes.c_void_p),
    ("dynamic", ctypes.c_void_p),
    ("next", ctypes.POINTER(_Entry)),
]


class BuiltinLibrary:
    """The library that PoCL reads for the devices of `unit`.

    `build(source, options, device)` builds a program for the unit's context, or raises `cl.Error`. A PoCL that is not
    known here reads its own library.
    """

    def __init__(self, unit: Unit, build: Build) -> None:
        self._unit = unit
        self._build = build
        self._folder = pocl.used_folder() if unit.twins and pocl.has_known_header(unit.device) else None
        self._entry = None if self._folder is None else _entry_of_pocl()
        own_folder = "" if self._entry is None else os.path.dirname(_name_of(self._entry))
        self._whole = Path(os.path.normpath(os.path.join(own_folder, _DATA)))
        self._file_name: bytes | None = None  # what PoCL is to take for the name of its file

    def prepare(self, device: cl.Device) -> None:
        """Prepares for a build for a device. Makes the small library if this machine has none."""
        if self._folder is None or self._entry is None or device.int_ptr in _have_read:
            return
        libraries = sorted(self._whole.glob("kernel-*.bc"))
        if self._file_name is not None or not libraries:
            return
        sizes = [f"{path.name} {path.stat().st_size}" for path in libraries]
        source = builtins.calls()
        text = "\0".join((self._unit.fingerprint(), str(pocl.is_renamed()), *sizes, *_OPTIONS, source))
        key = hashlib.sha256(text.encode()).hexdigest()
        program = self._folder.unpacked(key)
        if program is not None:
            self._file_name = self._linked(program / _FILE, libraries)
            return
        limit = largest_file()
        if limit is not None and limit < _NEEDED:
            return
        title = "PoCL's built-in functions (once per machine)"
        with suppress(cl.Error):  # without a small library everything works as well
            with self._folder.building(key), progress.compiling(title):
                self._build(source, _OPTIONS, device)
            self._folder.seal(key)
        _have_read.add(device.int_ptr)

    def _linked(self, code: Path, libraries: list[Path]) -> bytes | None:
        """Makes a folder as PoCL expects it beside its file, in which `code` stands for each of its libraries.

        Returns the name that PoCL's file would have; None if the disk has no room.
        """
        assert self._folder is not None
        folder = self._folder.link.parent / "builtins" / code.parent.name / "of" / "pocl"
        data = Path(os.path.normpath(folder / _DATA))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            data.mkdir(parents=True, exist_ok=True)
            for path in self._whole.iterdir():
                link = data / path.name
                if not link.is_symlink():
                    link.symlink_to(code if path in libraries else path)
        except OSError:
            return None
        return os.fsencode(folder / "libpocl.so")

    @contextmanager
    def read_by(self, device: cl.Device) -> Iterator[None]:
        """A context for a build. If PoCL has read no library for this device yet, it reads the small one."""
        if self._file_name is None or self._entry is None or device.int_ptr in _have_read:
            yield
            return
        with _lock, _renamed(self._entry, self._file_name):
            yield
            _have_read.add(device.int_ptr)  # if the build has not failed before


def reading_whole() -> AbstractContextManager[object]:
    """A context for a build for a twin: meanwhile, PoCL reads no small library."""
    return _lock


@contextmanager
def _renamed(entry: _Entry, name: bytes) -> Iterator[None]:
    """A context in which a loaded file has another name in the table."""
    text = ctypes.create_string_buffer(name)
    former, entry.name = entry.name, ctypes.addressof(text)
    try:
        yield
    finally:
        entry.name = former


def _name_of(entry: _Entry) -> str:
    return os.fsdecode(ctypes.string_at(entry.name)) if entry.name else ""


def _entry_of_pocl() -> _Entry | None:
    """Returns the entry of PoCL's file in the dynamic linker's table, or None on a system without such a table."""
    try:
        process = ctypes.CDLL(None)
        find = process.dlinfo
    except (OSError, AttributeError):
        return None
    first = ctypes.POINTER(_Entry)()
    if find(ctypes.c_void_p(process._handle), ctypes.c_int(_ENTRY_OF_HANDLE), ctypes.byref(first)):
        return None
    entry = first
    while entry:
        if os.path.basename(_name_of(entry.contents)).startswith("libpocl"):
            return entry.contents
        entry = entry.contents.next
    return None
