"""The check of the folder of compiled kernels: writable, with room, without damaged entries.

A process that cannot use it compiles everything again, or ends with an error; a damaged entry counts as absent, and
only takes space and time. Invariant: nothing is written there but a file without a name, unless `fix` is set.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from tfnb.devices.opencl.kernel_folder import LARGEST_FILE, largest_file, try_place
from tfnb.disk_cache import DiskCache
from tfnb.doctor.records import Record, megabytes
from tfnb.settings import load_settings

__all__ = ["check"]

_LARGE = 4 << 30  # bytes
# The folders below it that hold entries with a checksum.
_ENTRIES = ("kernels", "programs", "charts")


def check(fix: bool) -> Iterator[Record]:
    """Yields records on the folder, on what may be written there, and on its entries."""
    settings = load_settings()
    folder = settings.cache_path
    limit = largest_file()
    if limit is not None and limit < LARGEST_FILE:
        yield Record(
            "cache",
            "wrong",
            f"a file may have {limit:,} bytes; compiling a kernel needs {LARGEST_FILE:,}",
            "ulimit -f unlimited",
        )
    if not os.path.lexists(folder):
        yield from _missing(folder, bool(settings.cache_dir), fix)
    if not os.path.lexists(folder):
        return
    try:
        try_place(folder)
    except OSError as error:
        yield Record("cache", "wrong", f"{folder} cannot be used: {error.strerror or error}", _remedy(folder))
    else:
        yield Record("cache", "ok", f"{folder} can be written; {megabytes(_free(folder))} of the disk are free")
    if os.access(folder, os.R_OK | os.X_OK) and folder.is_dir():
        yield from _entries(folder, fix)


def _missing(folder: Path, is_chosen: bool, fix: bool) -> Iterator[Record]:
    """A folder that is not there is made by the first step, where its parents may be written; fix: makes it."""
    command = shlex.join(["mkdir", "-p", str(folder)])
    parent = next((p for p in folder.parents if os.path.lexists(p)), folder)
    if not (parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)):
        why = "cannot be written" if parent.is_dir() else "is no folder"
        yield Record("cache", "wrong", f"{folder} is not there and cannot be made: {parent} {why}", _remedy(parent))
    elif not is_chosen:
        yield Record("cache", "ok", f"{folder} is not there yet; the first step makes it")
    elif not fix:
        yield Record("cache", "warning", f"TFNB_CACHE_DIR names {folder}, which is not there", command)
    else:
        folder.mkdir(parents=True)
        yield Record("cache", "mended", f"{folder} has been made", command)


def _remedy(path: Path) -> str:
    """The command after which a folder can be used."""
    if not path.is_dir():
        return shlex.join(["mv", str(path), f"{path}.old"])
    mode = path.stat()
    if hasattr(os, "getuid") and mode.st_uid != os.getuid() and os.getuid() != 0:
        return f"sudo chown -R $(id -u) {shlex.quote(str(path))}"
    if not mode.st_mode & 0o200 or not mode.st_mode & 0o100:
        return shlex.join(["chmod", "u+rwx", str(path)])
    return "export TFNB_CACHE_DIR=FOLDER, a folder with room that can be written"


def _entries(folder: Path, fix: bool) -> Iterator[Record]:
    entries = [entry for name in _ENTRIES for entry in DiskCache(folder / name).entries()]
    size = sum(entry.nbytes for entry in entries)
    damaged = [entry.path for entry in entries if not entry.is_whole]
    if size > _LARGE:
        command = shlex.join(["rm", "-r", *(str(folder / name) for name in _ENTRIES)])
        yield Record(
            "cache", "warning", f"{len(entries)} entries take {megabytes(size)}; they can be made again", command
        )
    if not damaged:
        yield Record("cache", "ok", f"{len(entries)} entries in {megabytes(size)}, none damaged")
        return
    names = shlex.join(["rm", *map(str, damaged[:3])]) if len(damaged) <= 3 else "tfnb doctor --fix cache"
    if not fix:
        yield Record("cache", "warning", f"{len(damaged)} of {len(entries)} entries are damaged", names)
        return
    for path in damaged:
        path.unlink(missing_ok=True)
    yield Record("cache", "mended", f"{len(damaged)} damaged entries have been removed", names)


def _free(folder: Path) -> int:
    stats = os.statvfs(folder)
    return stats.f_bavail * stats.f_frsize
