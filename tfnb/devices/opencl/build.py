"""The build of program sources: once in a process, and library kernels once on a machine.

For drivers without a cache, tfnb keeps the binaries. PoCL compiles a kernel at its first launch and stores it in the
folder of `kernel_folder.py`. Marks on disk tell which kernels this machine has compiled, so that a wait is announced.
Invariant: the key of a program covers its text with all includes, its options, the device and the driver.
"""

from __future__ import annotations

import hashlib
import linecache
import os
import re
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import pyopencl as cl

from tfnb.caches import Cache
from tfnb.codegen.program import Module
from tfnb.devices.opencl import builtins, pocl
from tfnb.devices.opencl.builtin_library import BuiltinLibrary, reading_whole
from tfnb.devices.opencl.error_counts import without_counts
from tfnb.devices.opencl.platforms import Unit
from tfnb.devices.opencl.second_compiler import Request, second_compiler
from tfnb.disk_cache import DiskCache, write_atomically
from tfnb.errors import InternalError, KernelBuildError
from tfnb.settings import Settings
from tfnb.system import progress
from tfnb.system.background import Background
from tfnb.system.group_signals import kept_from_children
from tfnb.system.interrupts import raise_if_held

__all__ = ["Built", "ProgramLibrary", "kernels_root"]

# Subnormal numbers are flushed to zero, as in TensorFlow. On many processors each of them costs over a hundred cycles,
# and the optimizer state of a trained model has many.
_FLUSH = "-cl-denorms-are-zero"
_NO_WARNINGS = "-w"
_GENERATED = '#include "lib/types.clh"'  # with which each text begins that tfnb has made
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)
_MESSAGE = re.compile(
    r"^(?:error: )?(?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)?(?: <Spelling=.*?>)?: (?P<text>[^\n]+)$",
    re.MULTILINE,
)

_MISSING = re.compile(r"Cannot find symbol \S+ in kernel library")

_NARROW = 1 << 16
_MAX_LIBRARY = 4096
_MAX_GENERATED = 256  # a program takes several megabytes in the compiler
_MAX_NOTED = 1024  # launches of one program that are noted as compiled
_pins = pocl.Pins()
_background = Background("tfnb-build")
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pins.after_fork)
    os.register_at_fork(after_in_child=_background.after_fork)


def kernels_root() -> Path:
    """Returns the folder of the OpenCL sources: inside the package in a wheel, next to it in a checkout."""
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "kernels_cl", package.parent / "kernels_cl"):
        if folder.is_dir():
            return folder
    raise InternalError(f"the OpenCL sources are missing: no kernels_cl in {package} or {package.parent}")


@dataclass(frozen=True, eq=False)
class Built:
    """A built program. `key` identifies it (see the invariant of this module); `title` is the library file, or ""."""

    program: cl._cl._Program
    key: str
    title: str
    _noted: set[tuple[Any, ...]] = field(default_factory=set, repr=False)

    def is_noted(self, launch: tuple[Any, ...]) -> bool:
        """Returns whether `note` was called with this launch."""
        return launch in self._noted

    def note(self, launch: tuple[Any, ...]) -> None:
        """Notes a launch, its entry and sizes, for which PoCL has compiled the kernel."""
        if len(self._noted) >= _MAX_NOTED:
            self._noted.clear()
        self._noted.add(launch)


class _Identity(NamedTuple):
    key: str
    options: tuple[str, ...]
    declared: str


class ProgramLibrary:
    """The built programs of one unit. All methods may be called from any thread."""

    def __init__(self, unit: Unit, settings: Settings, own_cache: bool | None = None) -> None:
        self._unit = unit
        self._settings = settings
        self._own_cache = not unit.is_pocl if own_cache is None else own_cache
        self._cache = DiskCache(settings.cache_path / "programs")
        self._lock = threading.RLock()
        # The programs of kernels_cl, and the generated programs, of which every new shape needs some.
        self._library: Cache[tuple[Module, bool], Built] = Cache("library programs", _MAX_LIBRARY)
        self._generated: Cache[tuple[Module, bool], Built] = Cache("generated programs", _MAX_GENERATED)
        self._texts: dict[str, str] = {}
        self._compiled: set[str] = set()
        self._folder = pocl.used_folder() if unit.is_pocl else None
        self._builtins = BuiltinLibrary(unit, self._compiled_for)
        self._declares = unit.is_pocl and pocl.has_known_header(unit.device)
        # The device that runs kernels in the caller's thread needs no compilation of what the main device has compiled.
        self._shares_code = unit.inline is not None and pocl.have_same_target(unit.device, unit.inline)
        self._coming: set[tuple[Module, bool]] = set()  # what is to be built in the background
        self._keys: Cache[tuple[Module, bool], _Identity] = Cache("keys of programs", _MAX_GENERATED)

    def get(self, module: Module, inline: bool = False) -> Built:
        """Returns the program of a module, for the unit's device or its inline companion. Raises `KernelBuildError`."""
        cache = self._library if module.file else self._generated
        built = cache.find((module, inline))
        if built is None:
            with self._lock:
                built = cache.find((module, inline))
                if built is None:
                    raise_if_held()  # what was built before stays in the cache
                    with cache.timed(), progress.compiling(module.file or "generated kernels"):
                        built = cache.put((module, inline), self._build(module, inline))
        return built

    def has(self, modules: Iterable[Module], inline: bool) -> bool:
        """Returns whether all these modules are built for the unit's device, or for its inline companion."""
        return all((m, inline) in (self._library if m.file else self._generated) for m in modules)

    def build_soon(self, modules: Iterable[Module], inline: bool) -> None:
        """Builds modules in the background. What fails is not built; `get` then raises the error."""
        for module in modules:
            key = module, inline
            if key not in self._coming and not self.has((module,), inline):
                self._coming.add(key)
                _background.add(partial(self._build_late, key))

    def _build_late(self, key: tuple[Module, bool]) -> None:
        module, inline = key
        cache = self._library if module.file else self._generated
        with self._lock:
            if key not in cache:
                with suppress(Exception), cache.timed():  # whatever it was, `get` meets it again and raises it
                    cache.put(key, self._build(module, inline))
        self._coming.discard(key)

    @property
    def compiles_at_launch(self) -> bool:
        """Whether the first launch of a kernel compiles it, so that a second process can do so before."""
        return self._folder is not None and not self._own_cache

    def has_archived(self, module: Module, inline: bool) -> bool:
        """Returns whether kernels of this module were compiled, by this process or another one, and are kept."""
        return self._folder is not None and self._folder.has(self._identity(module, inline).key)

    def compile_elsewhere(
        self, module: Module, inline: bool, kernels: Sequence[tuple[str, str]], on_nothing: bool
    ) -> bool:
        """Asks the second process for kernels, see `Request`; `has_archived` tells when they are there.

        Returns False if it is of no use to ask for them again.
        """
        if self._folder is None:
            return False
        request = Request(self._unit.fingerprint(), inline, module.source, kernels, on_nothing)
        key = self._identity(module, inline).key
        return second_compiler(self._settings.cache_path).ask(key, request, self._folder.has)

    @property
    def interprets(self) -> bool:
        """Whether kernels that nobody has compiled may be interpreted, see `interpreted.py`."""
        return self._settings.interpret and self.compiles_at_launch and self._unit.kind == "cpu"

    def caches(self) -> tuple[Cache[Any, Any], ...]:
        """The caches of built programs. Their `seconds` include what PoCL compiles at first launches."""
        return self._generated, self._library

    def is_compiled(self, built: Built, entry: str, local: tuple[int, ...]) -> bool:
        """Returns whether the first launch of this kernel compiles nothing."""
        if not built.title or self._own_cache:
            return True
        mark = self._mark(built, entry, local)
        is_stored = self._folder is None or self._folder.was_restored(built.key)
        if mark not in self._compiled and is_stored and self._cache.has_mark(mark):
            self._compiled.add(mark)
        return mark in self._compiled

    @contextmanager
    def first_launch(self, built: Built, entry: str, local: tuple[int, ...]) -> Iterator[bool]:
        """A context for the first launch of a kernel, in which PoCL compiles it; the value is that of `is_compiled`.

        The time counts as time of building the program. A library kernel is marked as compiled on this machine.
        """
        is_compiled = self.is_compiled(built, entry, local)
        start = time.perf_counter()
        with kept_from_children():
            yield is_compiled
        (self._library if built.title else self._generated).add_seconds(time.perf_counter() - start)
        progress.advance("kernel")
        if not is_compiled:
            mark = self._mark(built, entry, local)
            self._compiled.add(mark)
            self._cache.mark(mark)

    def room(self) -> AbstractContextManager[None]:
        """A context for first launches, in which PoCL compiles. Raises `ResourceExhaustedError` if no disk has enough
        space."""
        return nullcontext() if self._folder is None else self._folder.compiling()

    def has_launched(self, built: Built, entry: str, sizes: tuple[int, ...], local: tuple[int, ...]) -> bool:
        """Returns whether a launch of these global and local sizes compiles nothing, because one like it has run.

        PoCL compiles an entry again for other local sizes, and once for wide grids.
        """
        return built.is_noted((entry, _is_narrow(sizes), local))

    def launched(self, launches: Iterable[tuple[Built, str, tuple[int, ...], tuple[int, ...]]]) -> None:
        """Notes launches that have run for the first time; see `pocl.Pins`.

        Each launch consists of a program, an entry, the global sizes and the local sizes. For launches that are noted,
        PoCL's folder is not read again.
        """
        new_launches = [launch for launch in launches if not self.has_launched(*launch)]
        if not new_launches:
            return
        for built, entry, sizes, local in new_launches:
            built.note((entry, _is_narrow(sizes), local))
        if self._folder is None:
            return
        for key in dict.fromkeys(built.key for built, *_ in new_launches):
            self._folder.seal(key)
        _pins.launched(tuple((built.key, entry, local) for built, entry, _, local in new_launches), self._folder)

    def _mark(self, built: Built, entry: str, local: tuple[int, ...]) -> str:
        return hashlib.sha256(f"{built.key} {entry} {local}".encode()).hexdigest()

    # ---- building --------------------------------------------------------------------------

    def _identity(self, module: Module, inline: bool) -> _Identity:
        """Returns the key of a module's program, the options of its build, and what its text declares."""
        identity = self._keys.find((module, inline))
        if identity is None:
            options = self._options(module)
            text = self._expanded(module)
            declared = builtins.declarations((text, *options)) if self._declares else ""
            name = self._unit.device_of(inline).name
            parts = self._unit.fingerprint(), name, str(pocl.is_renamed()), *options, declared, text
            key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
            identity = self._keys.put((module, inline), _Identity(key, options, declared))
        return identity

    def _build(self, module: Module, inline: bool) -> Built:
        device = self._unit.device_of(inline)
        key, options, declared = self._identity(module, inline)
        self._keep_source(module, key)
        program: cl._cl._Program | None
        if not self._own_cache:
            if self._folder is None:
                return Built(self._from_source(module, options, device, key, declared), key, module.file)
            for unused_key in self._folder.drop_unused():
                _pins.release(unused_key)
            if not self._folder.has(key):
                self._builtins.prepare(device)
            with self._folder.building(key):
                built = Built(self._from_source(module, options, device, key, declared), key, module.file)
            self._folder.use(key, built)
            twin = (self._library if module.file else self._generated).get((module, not inline))
            if twin is not None and self._shares_code:
                self._folder.share(twin.key, key)
            return built
        binary = self._cache.get(key)
        if binary is not None:
            program = self._from_binary(binary, device)
            if program is not None:
                return Built(program, key, module.file)
        if module.file:
            with progress.compiling(f"{module.file} (once per machine)"):
                program = self._from_source(module, options, device, key)
        else:
            program = self._from_source(module, options, device, key)
        self._store(program, device, key)
        return Built(program, key, module.file)

    def _options(self, module: Module) -> tuple[str, ...]:
        defines = tuple(f"-D{name}={value}" for name, value in module.defines)
        if self._unit.kind == "gpu" and module.file:  # generated sources define TFNB_GPU themselves
            defines = ("-DTFNB_GPU=1", *defines)
        root = str(kernels_root())
        return (_FLUSH, *defines) if " " in root else (_FLUSH, "-I", root, *defines)

    def _source(self, module: Module) -> str:
        """Returns the source to build.

        Compilers split options at spaces, so the root of the sources cannot be an option if its path contains one. The
        includes are then put into the source.
        """
        source = module.source
        if module.file:
            try:
                source = (kernels_root() / module.file).read_text(encoding="utf-8")
            except OSError as e:
                raise KernelBuildError(f"cannot read the library kernels {module.file}: {e}") from None
        return self._with_includes(source) if " " in str(kernels_root()) else source

    def _with_includes(self, source: str) -> str:
        lines = []
        for number, line in enumerate(source.splitlines(), 1):
            match = _INCLUDE.match(line)
            if match is None:
                lines.append(line)
            else:
                inner = self._with_includes(self._included(match[1]))
                lines.append(f"{inner}\n#line {number + 1}")
        return "\n".join(lines) + "\n"

    def _expanded(self, module: Module) -> str:
        """Returns the text of which the key is computed: the source, followed by each of its includes once."""
        parts, seen, pending = [], set(), [self._source(module)]
        while pending:
            text = pending.pop()
            parts.append(text)
            for name in _INCLUDE.findall(text):
                if name not in seen:
                    seen.add(name)
                    pending.append(self._included(name))
        return "\0".join(parts)

    def _included(self, name: str) -> str:
        if name not in self._texts:
            path = kernels_root() / name
            self._texts[name] = path.read_text(encoding="utf-8") if path.is_file() else ""
        return self._texts[name]

    def _from_source(
        self, module: Module, options: tuple[str, ...], device: cl.Device, key: str, declared: str = ""
    ) -> cl._cl._Program:
        """Builds a module. `declared` are declarations that replace the compiler's header of built-in functions.

        A source that uses other functions of that header, as one of a user may, is built again with the header itself.
        """
        with nullcontext() if module.file or _GENERATED in module.source else without_counts():
            return self._from_text(module, options, device, key, declared)

    def _from_text(
        self, module: Module, options: tuple[str, ...], device: cl.Device, key: str, declared: str
    ) -> cl._cl._Program:
        source = self._source(module)
        if declared:
            with suppress(cl.Error):
                return self._compiled_for(declared + source, (*options, builtins.SKIP), device)
        program = cl._cl._Program(self._unit.context, source)
        try:
            with self._builtins.read_by(device):
                _compile(program, options, device)
        except cl.Error as e:
            log = str(program.get_build_info(device, cl.program_build_info.LOG) or e)
            whole = self._with_whole_library(source, options, device) if _MISSING.search(log) else None
            if whole is None:
                raise self._failure(module, source, log, key) from None
            return whole
        return program

    def _compiled_for(self, source: str, options: tuple[str, ...], device: cl.Device) -> cl._cl._Program:
        program = cl._cl._Program(self._unit.context, source)
        with self._builtins.read_by(device):
            _compile(program, options, device)
        return program

    def _with_whole_library(self, source: str, options: tuple[str, ...], device: cl.Device) -> cl._cl._Program | None:
        """Builds a source with functions that the small library lacks, for the twin of a device.

        PoCL reads its whole library for the twin; its binary is one for the device too. Returns None if that fails.
        """
        twin = self._unit.twins.get(device)
        if twin is None:
            return None
        program = cl._cl._Program(cl.Context([twin]), source)
        with suppress(cl.Error), reading_whole():
            _compile(program, options, twin)
            (binary,) = cast(list[bytes], program.get_info(cl.program_info.BINARIES))
            return self._from_binary(binary, device)
        return None

    def _from_binary(self, binary: bytes, device: cl.Device) -> cl._cl._Program | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program = cl._cl._Program(self._unit.context, [device], [binary])
                program._build(options=_FLUSH.encode(), devices=[device])  # not part of a binary
        except (cl.Error, ValueError):
            return None  # a binary of another driver, or damaged
        return program

    def _store(self, program: cl._cl._Program, device: cl.Device, key: str) -> None:
        try:
            binaries = [b for b in cast(list[bytes], program.get_info(cl.program_info.BINARIES)) if b]
        except cl.Error:
            return
        if len(binaries) == 1:
            self._cache.put(key, binaries[0])

    def _keep_source(self, module: Module, key: str) -> None:
        if self._settings.keep_source and not module.file:
            write_atomically(Path(self._settings.keep_source) / f"{key[:16]}.cl", module.source.encode())

    def _failure(self, module: Module, source: str, log: str, key: str) -> KernelBuildError:
        path = self._settings.cache_path / "failed" / f"{key[:16]}.cl"
        try:
            write_atomically(path, source.encode())
            source_path = str(path)
        except OSError as e:
            source_path = f"nowhere: {e}"
        title = f"the library kernels {module.file}" if module.file else "a generated program"
        lines = [
            f"OpenCL cannot build {title} on {self._unit.device.name.strip()}",
            f"  source kept in {source_path}",
        ]
        match = _MESSAGE.search(log)
        if match:
            number = int(match["line"])
            lines.insert(1, f"  {_named(match['file'], source_path)}:{number}: {match['text']}")
            source_line = _line(match["file"], source, number)
            if source_line:
                lines.insert(2, f"    {source_line}")
        else:
            lines.append(log.strip()[:2000])
        return KernelBuildError("\n".join(lines), log=log, source_path=source_path)


def _compile(program: cl._cl._Program, options: tuple[str, ...], device: cl.Device) -> None:
    # `pyopencl.Program.build` would warn of every remark in the compiler's log, and cache programs by pickle. Without
    # -w many drivers, PoCL among them, print how many warnings there were, although nobody sees the warnings.
    with kept_from_children():
        program._build(options=" ".join((_NO_WARNINGS, *options)).encode(), devices=[device])


def _is_narrow(sizes: tuple[int, ...]) -> bool:
    """Returns whether PoCL compiles the kernel of a launch for grids whose indices have 16 bits."""
    return max(sizes) < _NARROW


def _named(file: str, kept: str) -> str:
    """Returns the name of the file or notebook cell to which a compiler's message refers.

    For the source of the program itself, which compilers give a temporary name, this is `kept`.
    """
    return file if file.endswith(".clh") or linecache.getlines(file) else kept


def _line(file: str, source: str, number: int) -> str:
    if linecache.getlines(file):  # the source of a user's operation names its own file
        return linecache.getline(file, number).strip()
    text = source
    if file.endswith(".clh"):
        try:
            text = Path(file).read_text(encoding="utf-8")
        except OSError:
            return ""
    lines = text.splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""
