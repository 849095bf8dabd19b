"""Modules: the generated kernels of a program, distributed over the texts that a device builds.

A kernel that an earlier program has is not compiled again: its module is used as it is, and only new kernels form a
module of their own. Invariant: what a kernel computes follows from its text, not from the module that contains it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from tfnb.caches import Cache
from tfnb.codegen.opencl_c.emission import NAME, Generated, LocalMemory
from tfnb.codegen.opencl_c.functions import EACH_ROUNDS, WORK_ITEMS, as_function, calling_kernel, part_name
from tfnb.codegen.program import DeviceFacts, Module
from tfnb.codegen.schedules.chain import chain_name, chain_text

__all__ = ["KernelTable", "Modules"]

ALONE = "alone"  # the name of a kernel that is alone in its module

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

    It may be used by several threads. If two of them compile the same kernel at once, it is built twice, without harm.
    """

    def __init__(self, limit: int = 4096) -> None:
        self.places: Cache[KernelKey, tuple[Module, str]] = Cache("generated kernels", limit)


class Modules:
    """Collects the kernels of one program. With `apart`, each kernel is alone in its module."""

    def __init__(self, facts: DeviceFacts, table: KernelTable, apart: bool) -> None:
        self._facts, self._table, self._apart = facts, table, apart
        self._names: dict[KernelKey, str] = {}

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
        self._names.setdefault(key, self._names[parts[0]])
        return key

    def places(self, launched: Container[KernelKey | None]) -> dict[KernelKey, tuple[Module, str]]:
        """Returns the module and the name of each kernel that is launched, and not just called by a chain."""
        launched_keys = [key for key in self._names if key in launched]
        if self._apart:
            return {
                key: (Module(source=self._source([self._kernel(key, ALONE)], key.needs)), ALONE)
                for key in launched_keys
            }
        places = {key: place for key in launched_keys if (place := self._table.places.get(key)) is not None}
        new_keys = [key for key in launched_keys if key not in places]
        places |= self._together([key for key in new_keys if not key.is_chain])
        # Sizes decide whether a chain is used, so chains are in a module of their own.
        places |= self._chains([key for key in new_keys if key.is_chain])
        for key in new_keys:
            self._table.places.put(key, places[key])
        return places

    def _together(self, keys: Sequence[KernelKey]) -> dict[KernelKey, tuple[Module, str]]:
        if not keys:
            return {}
        names = {key: f"k{k}_{self._names[key]}" for k, key in enumerate(keys)}
        texts = [self._kernel(key, name) for key, name in names.items()]
        module = Module(source=self._source(texts, {n for key in keys for n in key.needs}))
        return {key: (module, name) for key, name in names.items()}

    def _chains(self, keys: Sequence[KernelKey]) -> dict[KernelKey, tuple[Module, str]]:
        if not keys:
            return {}
        numbers = {text: f"k{k}" for k, text in enumerate(dict.fromkeys(t for key in keys for t in key.texts))}
        entries = [
            [f"{numbers[t]}_{self._names[key]}" if k == 0 else numbers[t] for k, t in enumerate(key.texts)]
            for key in keys
        ]
        parts = [as_function(text, part_name(number)) for text, number in numbers.items()]
        names = [chain_name(e) for e in entries]
        chains = [
            chain_text(name, list(zip([numbers[t] for t in key.texts], key.parameters, strict=True)))
            for key, name in zip(keys, names, strict=True)
        ]
        needs = {n for key in keys for n in key.needs}
        module = Module(source=self._source([*parts, *chains], needs))
        return {key: (module, name) for key, name in zip(keys, names, strict=True)}

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


def _slug(label: str) -> str:
    """Returns a name for profiles, from the last part of the name of the kernel's first node."""
    name = re.sub(r"\W+", "_", label.rsplit("/", 1)[-1]).strip("_").lower()
    return re.sub(r"_?\d+$", "", name) or "kernel"
