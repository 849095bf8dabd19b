"""The folder in which PoCL stores compiled kernels: one for each process, filled from archives with checksums.

PoCL loads the files of its folder without checking them, so a file that a power failure or a full disk has truncated
crashes this process and every later one. Therefore no two processes share a folder: each process creates one, unpacks
the archives with a correct checksum (`DiskCache`) into it, and archives the kernels that it has compiled. The folder is
removed at the end of the process; a lock shows other processes whether it is still alive. LLVM aborts the process when
it cannot write a file, so free space and the limit on the size of files are checked before each compilation.

The folder lies below the cache. Where that cannot be written or has less than 32 MB left, it lies in the system's
folder for temporary files, and one warning says so; it moves there, too, when the disk fills up later. Where the
process may not write files as large as the compiler's (`ulimit -f`), a step that has to compile is an error. Folders of
processes that were killed no longer hold their lock, and the next process removes them.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import shutil
import tempfile
import threading
import warnings
import weakref
import zipfile
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

from tfnb.disk_cache import DiskCache, write_atomically
from tfnb.errors import ResourceExhaustedError
from tfnb.system import process_end

try:
    import resource
except ImportError:  # not a POSIX system, which has no limit on the size of files
    resource = None  # type: ignore[assignment]
try:
    import fcntl
except ImportError:  # not a POSIX system, so folders of dead processes are not removed
    fcntl = None  # type: ignore[assignment]

__all__ = ["LARGEST_FILE", "KernelFolder", "largest_file", "try_place"]

_ROOM = 32 << 20  # bytes that must be free on the disk that a process chooses for its folder
_LEAST = 4 << 20  # bytes that must be free before each program
# Bytes. 99 of 100 kernels are below 190,000; the small library of functions, 1.2 million, is not made where files may
# not be so large.
LARGEST_FILE = 256_000
_NAME = re.compile(r"tfnb-\d+-\w{8}")  # the folders below `processes` that this module creates and removes
_LOCK = "lock"
_CURRENT = "current"  # a link to the folder that PoCL uses, so that the folder can move to another disk


class KernelFolder:
    """The folder of this process. `link` is the path that PoCL is given. All methods may be called from any thread."""

    def __init__(self, cache: Path, name: str) -> None:
        self._archives = DiskCache(cache / "kernels")
        self._name = name
        self._lock = threading.RLock()
        self._busy = 0  # the number of running compilations
        self._owned: list[tuple[str, int]] = []  # the created folders, each with its open lock file
        self._programs: dict[str, str] = {}  # the folder of each key, relative to PoCL's folder
        self._sealed: dict[str, frozenset[str]] = {}  # the files in the archive of each key
        self._seen: dict[str, frozenset[str]] = {}  # the names of PoCL's program folders, by their first two letters
        self._users: Counter[str] = Counter()  # the number of programs of this process by key
        self._gone: deque[str] = deque()  # keys of programs that were garbage collected
        self._pid = os.getpid()
        base, reason = _place(cache)
        if reason:
            _warn(cache, reason, base)
        self._folder = self._make(base)
        self.link = self._folder.parent / _CURRENT
        os.symlink(self._folder, self.link)
        process_end.call_last(_Removal(self._owned))

    # ---- places ----------------------------------------------------------------------------

    def _make(self, base: Path) -> Path:
        """Creates a folder below `base`, which is locked as long as this process or a fork of it lives."""
        while True:
            own_folder = Path(tempfile.mkdtemp(prefix=f"tfnb-{self._pid}-", dir=base))
            handle = os.open(own_folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            if fcntl is not None:
                with contextlib.suppress(OSError):  # the file system has no locks
                    fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if (own_folder / _LOCK).exists():  # else another process has removed the folder before it was locked
                break
            os.close(handle)
        self._owned.append((str(own_folder), handle))
        folder = own_folder / self._name
        folder.mkdir()
        return folder

    def _move(self) -> None:
        """Moves the folder with its content to another disk, because the disk is full."""
        used_bases = {Path(own_folder).parent for own_folder, _ in self._owned}
        base, reason = _place(None, used_bases)
        folder = self._make(base)
        shutil.copytree(self.link, folder, dirs_exist_ok=True)
        new_link = self.link.with_name(f"{_CURRENT}-{len(self._owned)}")
        try:
            os.symlink(folder, new_link)
            os.replace(new_link, self.link)
        except OSError as e:
            raise ResourceExhaustedError(_full(self._folder, str(e))) from None
        _warn(self._folder, reason or "the disk is full", base)
        self._folder = folder

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """A context in which PoCL compiles.

        Raises `ResourceExhaustedError` if no disk has enough space, or the process may not write files that are as
        large as PoCL's.
        """
        limit = largest_file()
        if limit is not None and limit < LARGEST_FILE:
            raise ResourceExhaustedError(
                f"compiling a kernel writes files of up to {LARGEST_FILE:,} bytes, but the process may write no file "
                f"of more than {limit:,} (RLIMIT_FSIZE; `ulimit -f` in a shell). Raise this limit"
            )
        with self._lock:
            if _free(self._folder) < _LEAST:
                if self._busy:
                    raise ResourceExhaustedError(_full(self._folder, "other kernels are being compiled there"))
                self._move()
            self._busy += 1
        try:
            yield
        finally:
            with self._lock:
                self._busy -= 1

    def after_fork(self) -> None:
        """Replaces the lock in a forked process, where no thread would release it. The fork shares the folder."""
        self._lock = threading.RLock()
        self._busy = 0

    # ---- programs --------------------------------------------------------------------------

    @contextlib.contextmanager
    def building(self, key: str) -> Iterator[None]:
        """A context in which a program is built.

        It first unpacks the kernels that were compiled for the program earlier, and afterwards notes its folder.
        """
        with self._lock, self.compiling():
            is_restored = self._restore(key)
            self._new_programs()  # restored ones, and those of other code and of interrupted builds, are not this one
            yield
            if not is_restored:
                new_folders = self._new_programs()
                if len(new_folders) == 1:
                    self._programs[key] = new_folders[0]

    def has(self, key: str) -> bool:
        """Returns whether the kernels of a program were archived, by this process or an earlier one."""
        return self._archives.path(key).exists()

    def unpacked(self, key: str) -> Path | None:
        """Unpacks what an earlier process has compiled for a program; returns its folder, or None if there is none."""
        with self._lock:
            if not self._restore(key):
                return None
            self._new_programs()
            return self._folder / self._programs[key]

    def was_restored(self, key: str) -> bool:
        """Returns whether kernels of this program, compiled by an earlier process, were unpacked or archived."""
        return key in self._sealed

    def share(self, source: str, target: str) -> None:
        """Gives the program `target` the compiled kernels of the program `source`, which has the same machine code.

        Where the disk has no room for them, PoCL compiles them again.
        """
        with self._lock, contextlib.suppress(OSError):
            if source not in self._programs or target not in self._programs:
                return
            folder = self._folder / self._programs[source]
            for path in folder.rglob("*.so"):
                copy = self._folder / self._programs[target] / path.relative_to(folder)
                if not copy.exists():  # PoCL may have loaded it
                    write_atomically(copy, path.read_bytes())

    def seal(self, key: str) -> None:
        """Archives the kernels of a program if some are new. No kernel of the program may be compiling meanwhile."""
        with self._lock:
            place = self._programs.get(key)
            if place is None:
                return
            folder = self._folder / place
            files = sorted(p for p in folder.rglob("*") if p.suffix in (".so", ".bc") and p.is_file())
            names = frozenset(str(p.relative_to(self._folder)) for p in files)
            if names == self._sealed.get(key):
                return
            data = io.BytesIO()
            with zipfile.ZipFile(data, "w") as archive:
                for p in files:
                    archive.write(p, p.relative_to(self._folder))
            self._archives.put(key, data.getvalue())
            self._sealed[key] = names

    def use(self, key: str, program: object) -> None:
        """Keeps a program's files as long as `program` lives."""
        with self._lock:
            self._users[key] += 1
        # The program may be collected in any thread at any time, so `drop_unused` does the rest.
        weakref.finalize(program, self._gone.append, key).atexit = False

    def drop_unused(self) -> list[str]:
        """Removes the files of programs that are not used any more, and returns their keys. Archives are kept."""
        keys = []
        with self._lock:
            while self._gone:
                key = self._gone.popleft()
                self._users[key] -= 1
                if not self._users[key]:
                    del self._users[key]
                    self._forget(key)
                    keys.append(key)
        return keys

    def _forget(self, key: str) -> None:
        with self._lock:
            self._sealed.pop(key, None)
            place = self._programs.pop(key, None)
            if place is not None and place not in self._programs.values() and os.getpid() == self._pid:
                shutil.rmtree(self._folder / place, ignore_errors=True)

    def libraries(self, key: str) -> list[str]:
        """Returns the real paths of the compiled kernels of a program."""
        with self._lock:
            place = self._programs.get(key)
            if place is None:
                return []
            return [os.path.realpath(p) for p in (self._folder / place).rglob("*.so")]

    def _restore(self, key: str) -> bool:
        data = self._archives.get(key)
        if data is None:
            return False
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                names = archive.namelist()
                for name in names:
                    place = self._folder / name
                    if place.exists():  # this process may have loaded it, so it is never overwritten
                        continue
                    write_atomically(place, archive.read(name))
        except (zipfile.BadZipFile, OSError):
            return False
        self._programs[key] = str(Path(*Path(names[0]).parts[:2]))
        self._sealed[key] = frozenset(names)
        return True

    def _new_programs(self) -> list[str]:
        """Returns the program folders of PoCL that are new since the last call."""
        folders = []
        for entry in os.scandir(self._folder):
            if len(entry.name) != 2:
                continue
            names = frozenset(os.listdir(entry.path))
            folders += [f"{entry.name}/{n}" for n in names - self._seen.get(entry.name, frozenset())]
            self._seen[entry.name] = names
        return folders


class _Removal:
    """Removes the folders of this process when everything else has ended: the last `__del__` may compile a kernel.

    If a fork of the process still lives, its folders stay, and a later process removes them. No module can be used by
    then, not even pathlib, so the object has the functions in C that it needs.
    """

    def __init__(self, owned: list[tuple[str, int]]) -> None:
        self._owned, self._pid = owned, os.getpid()
        self._getpid, self._close, self._open = os.getpid, os.close, os.open
        self._scan, self._unlink, self._rmdir = os.scandir, os.unlink, os.rmdir
        self._flags = os.O_RDWR
        self._lock = None if fcntl is None else (fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def __call__(self) -> None:
        if self._getpid() != self._pid or self._lock is None:
            return
        flock, exclusively = self._lock
        for folder, shared in self._owned:
            self._close(shared)
            try:
                handle = self._open(f"{folder}/lock", self._flags)
            except OSError:
                continue
            try:
                flock(handle, exclusively)
                self._remove(folder)
            except OSError:
                pass  # a fork lives
            finally:
                self._close(handle)

    def _remove(self, folder: str) -> None:
        try:
            with self._scan(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        self._remove(entry.path)
                    else:
                        self._unlink(entry.path)
            self._rmdir(folder)
        except OSError:
            return  # a later process removes the rest


def _place(cache: Path | None, taken: set[Path] | None = None) -> tuple[Path, str]:
    """Returns a folder in which a process can compile, and the reason why it is not below the cache ("" if it is).

    Raises `ResourceExhaustedError` if there is no such folder.
    """
    reasons = []
    cache_bases = [] if cache is None else [cache / "processes"]
    for base in (*cache_bases, *_folder_of_temporary_files(), Path("/dev/shm")):
        if taken and base in taken:
            continue
        try:
            if base in cache_bases:
                base.mkdir(parents=True, exist_ok=True)
                _sweep(base)
            try_place(base)
        except OSError as e:
            reasons.append(f"{base}: {e.strerror or e}")
            continue
        return base, "; ".join(reasons)
    limit = largest_file()
    if limit is not None and limit < LARGEST_FILE:
        reasons.append(f"no file may have more than {limit:,} bytes, which RLIMIT_FSIZE says, `ulimit -f` in a shell")
    raise ResourceExhaustedError(
        f"there is no folder to compile kernels in: {'; '.join(reasons)}. Free some space, or set TFNB_CACHE_DIR to a "
        "folder that can be written and has room"
    )


def try_place(folder: Path) -> None:
    """Raises `OSError` if kernels cannot be compiled in a folder: it cannot be written, is full, or runs nothing."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"\0" * 4096)
    if _free(folder) < _ROOM:
        raise OSError(errno.ENOSPC, f"less than {_ROOM >> 20} MB are free")
    if os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0):
        raise OSError(errno.EACCES, "programs may not be executed there")


def largest_file() -> int | None:
    """Returns how many bytes a file of this process may have; None without a limit."""
    if resource is None:
        return None
    limit: int = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _folder_of_temporary_files() -> list[Path]:
    try:
        return [Path(tempfile.gettempdir())]
    except OSError:  # Python has tried several, and could write into none
        return []


def _warn(where: Path, why: str, instead: Path) -> None:
    warnings.warn(
        f"compiled kernels cannot be kept below {where} ({why}); this process compiles into {instead}, and others will "
        "compile again. Free some space, or set TFNB_CACHE_DIR to a folder that can be written and has room",
        RuntimeWarning,
        stacklevel=2,
    )


def _full(folder: Path, why: str) -> str:
    return (
        f"the disk of {folder} has less than {_LEAST >> 20} MB left, which compiling a kernel needs ({why}). Free some "
        "space, or set TFNB_CACHE_DIR to a folder on another disk and start again"
    )


def _free(folder: Path) -> int:
    stats = os.statvfs(folder)
    return stats.f_bavail * stats.f_frsize


def _sweep(base: Path) -> None:
    """Removes the folders of processes that have ended without removing them."""
    for folder in base.iterdir():
        if _NAME.fullmatch(folder.name):
            _remove_if_dead(folder)


def _remove_if_dead(own: Path) -> None:
    if fcntl is None:
        return
    try:
        handle = os.open(own / _LOCK, os.O_RDWR)
    except OSError:
        return  # another process is creating or removing it
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(own, ignore_errors=True)
    except OSError:
        pass  # its process is alive
    finally:
        os.close(handle)
