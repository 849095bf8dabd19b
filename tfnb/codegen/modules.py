"""Modules: the generated kernels of a program, distributed over the texts that a device builds.

A kernel that an earlier program has is not compiled again, be it one of another session or of an earlier process: its
module is used as it is, and only new kernels form a module of their own. A chain is a module by itself, which names the
modules of its parts, so that a device may run these until it has built the chain.
Invariant: what a kernel computes follows from its text, not from the module that contains it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tfnb.caches import Cache
from tfnb.codegen.interpreter.reader import is_interpretable
from tfnb.codegen.opencl_c.emission import NAME, Generated, LocalMemory
from tfnb.codegen.opencl_c.functions import EACH_ROUNDS, WORK_ITEMS, as_function, calling_kernel, part_name
from tfnb.codegen.program import DeviceFacts, Module, Part
from tfnb.codegen.schedules.chain import chain_text
from tfnb.disk_cache import DiskCache

__all__ = ["KernelTable", "Modules", "kernels_of_machine", "text_of"]

ALONE = "alone"  # the name of a kernel that is alone in its module
CHAIN = "chain"  # the name of a chain in its module
# The beginning of a kernel in the text of a module, or of the function that does its work.
_BEGIN = re.compile(r"(?:static )?PART void part_(\w+)\(|__kernel void (\w+)\(")

Needs = tuple[tuple[str, str, int], ...]
"""The parts of the kernel library that a text uses: file, type and width."""


@dataclass(frozen=True, slots=True)
class KernelKey:
    """A generated kernel, identified by its text; a chain by the texts of its parts.

    `parameters` are the declarations of the parameters of each text.
    """

    texts: tuple[str, ...]
    needs: Needs
    parameters: tuple[tuple[str, ...], ...]
    is_chain: bool = False
    local: LocalMemory | None = None


class KernelTable:
    """The modules and names of the kernels of earlier programs, of which the latest `limit` are known.

    With `folder`, those of earlier processes are known too: the folder has a file for each kernel that is in a module.
    The table may be used by several threads. If two of them compile the same kernel at once, it is built twice, without
    harm.
    """

    def __init__(self, folder: Path | None = None, limit: int = 4096) -> None:
        self._places: Cache[tuple[str, KernelKey], tuple[Module, str]] = Cache("generated kernels", limit)
        self._disk = None if folder is None else DiskCache(folder)

    def find(self, kind: str, key: KernelKey, alone: Callable[[KernelKey], str]) -> tuple[Module, str] | None:
        """Returns the module and the name of a kernel for devices of this kind; None if there is none.

        `alone` makes the text of a module with a kernel alone.
        """
        place = self._places.find((kind, key))
        if place is None and self._disk is not None:
            name, _, source = (self._disk.get(_digest(alone(key))) or b"").decode(errors="replace").partition("\n")
            if f"__kernel void {name}(" in source:
                place = self._places.put((kind, key), (Module(source), name))
        return place

    def put(self, kind: str, key: KernelKey, alone: Callable[[KernelKey], str], place: tuple[Module, str]) -> None:
        """Notes where a kernel is."""
        self._places.put((kind, key), place)
        if self._disk is not None:
            self._disk.put(_digest(alone(key)), f"{place[1]}\n{place[0].source}".encode())


_tables: dict[Path, KernelTable] = {}


def kernels_of_machine(cache: Path) -> KernelTable:
    """Returns the table of all sessions whose kernels are kept in the folder `cache`."""
    table = _tables.get(cache)
    return _tables.setdefault(cache, KernelTable(cache / "generated")) if table is None else table


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Modules:
    """Collects the kernels of one program. With `apart`, each kernel is alone in its module."""

    def __init__(self, facts: DeviceFacts, table: KernelTable, apart: bool) -> None:
        self._facts, self._table, self._apart = facts, table, apart
        self._names: dict[KernelKey, str] = {}
        self._parts: dict[KernelKey, tuple[KernelKey, ...]] = {}  # of each chain

    def kernel(self, kernel: Generated, label: str) -> KernelKey:
        """Adds a kernel. `label` becomes a part of its name, for profiles."""
        key = KernelKey((kernel.text,), kernel.needs, (kernel.parameters,), local=kernel.local)
        self._names.setdefault(key, _slug(label))
        return key

    def chain(self, parts: Sequence[KernelKey], parameters: Sequence[tuple[str, ...]]) -> KernelKey:
        """Adds the chain that runs kernels with these parameters one after the other."""
        texts = tuple(p.texts[0] for p in parts)
        needs = tuple(sorted({n for p in parts for n in p.needs}))
        key = KernelKey(texts, needs, tuple(parameters), is_chain=True)
        self._names.setdefault(key, CHAIN)
        self._parts[key] = tuple(parts)
        return key

    def places(self, launched: Container[KernelKey | None]) -> dict[KernelKey, tuple[Module, str]]:
        """Returns the module and the name of each kernel that is launched, and not just a part of a chain."""
        chains = [key for key in self._names if key in launched and key.is_chain]
        called = {part for chain in chains for part in self._parts[chain]}
        keys = [key for key in self._names if not key.is_chain and (key in launched or key in called)]
        if self._apart:
            return {key: (Module(self._alone(key)), ALONE) for key in keys}
        kind, table = self._facts.kind, self._table
        places = {key: place for key in keys if (place := table.find(kind, key, self._alone)) is not None}
        interpretable: list[KernelKey] = []  # apart from others, so that they do not wait for the compiler
        others: list[KernelKey] = []
        for key in keys:
            if key not in places:
                is_other = self._facts.kind == "gpu" or not is_interpretable(key.texts[0])
                (others if is_other else interpretable).append(key)
        new_places = self._together(interpretable) | self._together(others)
        for key, place in new_places.items():
            table.put(kind, key, self._alone, place)
        places |= new_places
        for chain in chains:
            parts = zip(self._parts[chain], chain.parameters, strict=True)
            module = Module(self._chain(chain), parts=tuple(Part(*places[p], len(names)) for p, names in parts))
            places[chain] = module, CHAIN
        return {key: places[key] for key in self._names if key in launched}

    def _alone(self, key: KernelKey) -> str:
        """Returns the text of a module with one kernel."""
        return self._source([self._kernel(key, ALONE)], key.needs)

    def _together(self, keys: Sequence[KernelKey]) -> dict[KernelKey, tuple[Module, str]]:
        if not keys:
            return {}
        names = {key: f"k{k}_{self._names[key]}" for k, key in enumerate(keys)}
        texts = [self._kernel(key, name) for key, name in names.items()]
        module = Module(source=self._source(texts, {n for key in keys for n in key.needs}))
        return {key: (module, name) for key, name in names.items()}

    def _chain(self, key: KernelKey) -> str:
        """Returns the text of a module with a chain; equal parts are one function."""
        names = {text: f"k{k}" for k, text in enumerate(dict.fromkeys(key.texts))}
        functions = [as_function(text, part_name(name)) for text, name in names.items()]
        parts = [(names[text], parameters) for text, parameters in zip(key.texts, key.parameters, strict=True)]
        return self._source([*functions, chain_text(CHAIN, parts)], key.needs)

    def _kernel(self, key: KernelKey, name: str) -> str:
        """Returns the text of a kernel that is no chain."""
        if self._facts.kind == "gpu":
            return key.texts[0].replace(NAME, name)
        work = as_function(key.texts[0], part_name(name), key.local)
        return f"{work}\n\n{calling_kernel(name, key.parameters[0], key.local)}"

    def _source(self, kernels: Iterable[str], needs: Iterable[tuple[str, str, int]]) -> str:
        parts = ['#include "lib/types.clh"']
        if self._facts.kind == "gpu":
            parts.insert(0, "#define TFNB_GPU 1")
        parts.append('#include "lib/index.clh"')
        for file, ctype, lanes in sorted(needs):
            width = str(lanes) if lanes > 1 else ""
            parts += [f"#define T {ctype}" if ctype else "", f"#define W {width}", f'#include "{file}"']
        if self._facts.kind != "gpu":
            parts.append(WORK_ITEMS)
        parts.append(EACH_ROUNDS)
        return "\n".join(p for p in parts if p) + "\n\n" + "\n\n".join(kernels) + "\n"


def text_of(source: str, entries: Container[str]) -> str:
    """Returns the text of a module as far as these of its kernels need it, for people who read it.

    A module may have kernels of other programs, too.
    """
    pieces = []
    for piece in source.split("\n\n"):
        begin = _BEGIN.match(piece)
        if begin is None or (begin[1] or begin[2]) in entries or CHAIN in entries:
            pieces.append(piece)
    return "\n\n".join(pieces)


def _slug(label: str) -> str:
    """Returns a name for profiles, from the last part of the name of the kernel's first node."""
    name = re.sub(r"\W+", "_", label.rsplit("/", 1)[-1]).strip("_").lower()
    return re.sub(r"_?\d+$", "", name) or "kernel"
