"""The tables of a program class: the numbers, tensors and arguments that its steps use, each once.

The templates of steps have the places of what they use in these tables (`step_templates.py`). For the shapes of a run
only the rows are renewed that use numbers which differ from those of the latest run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from tfnb.codegen.class_steps import Call, Choice, ClassStep
from tfnb.codegen.program import Copy, Launch, Module, Slot
from tfnb.codegen.step_templates import (
    CallTemplate,
    ChainTemplate,
    ChoiceTemplate,
    CopyTemplate,
    LaunchTemplate,
    Numbers,
    Picker,
    Site,
    Template,
    picker,
)
from tfnb.ir.kernelcall import F32, F64, I32, KernelCall, KernelSite, TensorInfo, i32
from tfnb.sizes import AnySize, Size
from tfnb.types import DType

__all__ = ["InfoRow", "Rows", "Tables", "is_sized"]

_NOWHERE = -1  # the offset of a slot in the arena before the first program

_new = tuple.__new__  # the function that makes a named tuple takes twice as long

InfoRow = tuple[int, DType, Picker]
"""The place of a tensor, its dtype, and what picks its dimensions from the numbers."""

NumberRow = tuple[int, type[I32 | F32 | F64], int]
"""The place of an argument, its type, and the place of its number."""

SlotRow = tuple[int, Slot, int]
"""The place of an argument, the slot, and the place of the number of its bytes."""

ArenaRow = tuple[int, int, int]
"""The place of an argument in the arena, its block, and the place of the number of its bytes."""


class Rows(NamedTuple):
    """Rows of arguments: those that are numbers, those that point to sized memory, and those in the arena."""

    numbers: list[NumberRow]
    slots: list[SlotRow]
    arena: list[ArenaRow]


def is_sized(info: TensorInfo) -> bool:
    """Returns whether a dimension of the tensor is a formula."""
    return any(isinstance(n, Size) for n in info.shape)


class Tables:
    """The numbers, tensors and arguments that the steps of a class use, each once.

    `sizes` are the numbers, as formulas or plain. The methods that return a place enter what is not there yet.
    """

    def __init__(self, modules: Sequence[Module]) -> None:
        self._modules = modules
        self.sizes: list[AnySize | Size] = []
        self._places: dict[tuple[Any, ...], int] = {}
        self._infos: list[TensorInfo] = []
        self._sized_infos: list[tuple[InfoRow, frozenset[int]]] = []  # with the places of their numbers
        self._arguments: list[Slot | I32 | F32 | F64] = []
        self._numbers: list[NumberRow] = []
        self._slots: list[SlotRow] = []
        self._arena: list[ArenaRow] = []
        self._sites: dict[tuple[Any, ...], Site] = {}

    def number(self, n: AnySize | Size) -> int:
        """Returns the place of a number."""
        key = ("size" if isinstance(n, Size) else "number", n)
        if key not in self._places:
            self._places[key] = len(self.sizes)
            self.sizes.append(n)
        return self._places[key]

    def value(self, n: Any) -> Callable[[Numbers], Any]:
        """Returns a function from the numbers to the value of `n`: a size, a tuple with sizes, or anything else."""
        if isinstance(n, tuple):
            return picker(map(self.number, n))
        return itemgetter(self.number(n)) if isinstance(n, Size) else lambda numbers: n

    def info(self, info: TensorInfo) -> int:
        """Returns the place of a tensor."""
        dims = tuple(map(self.number, info.shape))
        key = ("info", info.dtype, dims)
        if key not in self._places:
            place = self._places[key] = len(self._infos)
            self._infos.append(info)
            if is_sized(info):
                self._sized_infos.append(((place, info.dtype, picker(dims)), frozenset(dims)))
        return self._places[key]

    def argument(self, a: Slot | I32 | F32 | F64) -> int:
        """Returns the place of an argument of a kernel."""
        if isinstance(a, Slot):
            n = self.number(a.nbytes)
            key: tuple[Any, ...] = ("slot", a.kind, a.index, a.offset, n)
            if key not in self._places:
                self._places[key] = len(self._arguments)
                self._arguments.append(a)
                if a.kind == "arena":
                    self._arena.append((self._places[key], a.index, n))
                elif isinstance(a.nbytes, Size):
                    self._slots.append((self._places[key], a, n))
            return self._places[key]
        key = ("argument", type(a), a.value) if isinstance(a.value, Size) else ("constant", len(self._arguments))
        if key not in self._places:
            self._places[key] = len(self._arguments)
            self._arguments.append(a)
            if isinstance(a.value, Size):
                self._numbers.append((self._places[key], type(a), self.number(a.value)))
        return self._places[key]

    def site(self, recipe: Callable[[KernelSite], Sequence[KernelCall]], site: KernelSite) -> Site:
        """Returns the recipe's site; equal sites of several nodes are one."""
        inputs, outputs = tuple(map(self.info, site.inputs)), tuple(map(self.info, site.outputs))
        bias = None if site.epilogue.bias is None else self.info(site.epilogue.bias)
        values = {i: picker(map(self.number, v.flat)) for i, v in site.values.items() if v.dtype == object}
        dims = {self.number(n) for k in {*inputs, *outputs} for n in self._infos[k].shape}
        if bias is not None:
            dims |= {self.number(n) for n in self._infos[bias].shape}
        dims |= {self.number(n) for v in site.values.values() if v.dtype == object for n in v.flat}
        new_site = Site(recipe, site, picker(inputs), picker(outputs), bias, values, frozenset(dims))
        if site.values:
            return new_site
        # Equal attributes may differ: 0.0 and -0.0, 1 and True.
        attributes = type(site.attrs), repr(site.attrs)
        key = (recipe, site.op, inputs, outputs, attributes, bias, site.epilogue.activation, site.updated)
        try:
            return self._sites.setdefault((*key, site.attrs), new_site)
        except TypeError:  # an attribute is an array
            return new_site

    def template(
        self, k: int, step: ClassStep, chain: Launch | None = None
    ) -> Template | ChoiceTemplate | ChainTemplate:
        """Returns the template of step number `k`, or of a part of `chain`."""
        if isinstance(step, Launch):
            args = list(map(self.argument, step.args))
            groups, local = list(map(self.number, step.groups)), list(map(self.number, step.local))
            uses = frozenset([*args, *(~n for n in (*groups, *local))])
            nbytes = self._accessed_bytes(step)
            return LaunchTemplate(step, args, picker(args), picker(groups), picker(local), nbytes, chain, uses)
        if isinstance(step, Copy):
            source, target, n = self.argument(step.source), self.argument(step.target), self.number(step.nbytes)
            return CopyTemplate(source, target, n, step.nodes, frozenset((source, target, ~n)))
        if isinstance(step, Call):
            slots = [*step.ins, *step.outs, *([] if step.bias is None else [step.bias])]
            places = list(map(self.argument, slots))
            n, m = len(step.ins), len(step.ins) + len(step.outs)
            site = self.site(step.recipe, step.site)
            bias = places[m] if places[m:] else None
            return CallTemplate(k, step, site, frozenset(places), picker(places), places[:n], places[n:m], bias, [])
        if isinstance(step, Choice):
            launch, otherwise = self.template(k, step.launch, chain), self.template(k, step.otherwise, chain)
            return ChoiceTemplate(self.number(step.when), launch, otherwise)
        choices = [p for p in step.parts if isinstance(p, Choice)]
        launches = [p.launch if isinstance(p, Choice) else p for p in step.parts]
        return ChainTemplate(
            self.template(k, step.whole),
            [self.template(k, p, step.whole) for p in step.parts],
            [self.number(p.groups[0]) for p in launches if isinstance(p, Launch)],
            [self.number(p.when) for p in choices],
            all(isinstance(p, Launch) for p in launches),
        )

    def _accessed_bytes(self, launch: Launch) -> int | None:
        """Returns the place of the number of bytes that a launch accesses; None if that is not known beforehand."""
        if launch.nbytes is not None:
            return self.number(launch.nbytes)
        if self._modules[launch.module].file:
            return None
        total: Any = 0
        for a in launch.args:
            if isinstance(a, Slot):
                total = total + a.nbytes
        return self.number(total)

    # the shapes of a run

    def unsized(self) -> tuple[list[TensorInfo], list[Any]]:
        """Returns all tensors and arguments; those that have sizes, or are in the arena, are to be replaced."""
        arguments = list[Any](self._arguments)
        for place, _, _ in self._arena:
            arguments[place] = Slot("arena", 0, _NOWHERE, arguments[place].nbytes)
        return self._infos.copy(), arguments

    def using(self, numbers: frozenset[int]) -> tuple[list[InfoRow], Rows]:
        """Returns the rows of all tables that use any of these numbers."""
        return [row for row, dims in self._sized_infos if not dims.isdisjoint(numbers)], Rows(
            [row for row in self._numbers if row[2] in numbers],
            [row for row in self._slots if row[2] in numbers],
            [row for row in self._arena if row[2] in numbers],
        )

    def renew(
        self, arguments: list[Any], rows: Rows, numbers: Numbers, offsets: Mapping[Any, int], has_moved: bool
    ) -> Collection[int]:
        """Replaces the arguments of `rows`, and returns the places of those that only lie elsewhere in the arena.

        `has_moved` says that blocks may have other offsets than before.
        """
        for place, number, n in rows.numbers:
            arguments[place] = i32(numbers[n]) if number is I32 else number(numbers[n])
        for place, slot, n in rows.slots:
            arguments[place] = _new(Slot, (slot.kind, slot.index, slot.offset, numbers[n]))
        for place, block, n in rows.arena:
            arguments[place] = _new(Slot, ("arena", 0, offsets[block], numbers[n]))
        if not has_moved:
            return ()
        moved = [(place, block, n) for place, block, n in self._arena if arguments[place].offset != offsets[block]]
        for place, block, n in moved:
            arguments[place] = _new(Slot, ("arena", 0, offsets[block], numbers[n]))
        return {place for place, _, _ in moved}
