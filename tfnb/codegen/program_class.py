"""Program classes: one compiled program for all shapes of a class (OSDI'16, section 3.3: specialisation to shapes).

The sizes in the program of a class are formulas. For the shapes of a run they are evaluated, the recipes of library
kernels are asked for their launches, and the memory plan is made. Many steps take less time than that would take step
by step, so it is prepared once for the class: the numbers, tensors and arguments of all kernels stand in tables without
repetition, and a template of each step has the places of its own. For a run's shapes each table is filled in one pass.
Invariant: the program for some shapes is the one that a compilation for these shapes alone would give, so no result
depends on which shapes came before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from tfnb.caches import remembered
from tfnb.codegen.memory import NO_BLOCK, Block, place_bytes, plan_arena
from tfnb.codegen.program import Copy, Launch, Module, Program, Slot, Step
from tfnb.codegen.schedules.chain import joined
from tfnb.errors import InternalError, OpError
from tfnb.ir.bounds import Bound, Check
from tfnb.ir.kernelcall import F32, F64, I32, BiasIn, In, KernelCall, KernelSite, Out, Temp, TensorInfo
from tfnb.ir.step_graph.graph import Node
from tfnb.size_trace import SizeTrace
from tfnb.sizes import AnySize, Size
from tfnb.types import DType

__all__ = ["Call", "Chain", "Choice", "ClassStep", "ProgramClass"]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """The launches of library kernels for `node`, for which `recipe` is asked when sizes are numbers.

    `ins`, `outs` and `bias` are the memory of the operands.
    """

    node: Node
    nodes: tuple[int, ...]
    label: str
    recipe: Callable[[KernelSite], Sequence[KernelCall]]
    site: KernelSite
    ins: tuple[Slot, ...]
    outs: tuple[Slot, ...]
    bias: Slot | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Two ways of computing the same values: `launch` runs, or the step `otherwise` if the size `when` is 0."""

    when: int
    launch: Launch
    otherwise: ClassStep


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Small kernels that follow each other: `whole` runs instead of `parts` if each part has a single work-item.

    Else `parts` are launches of the same kernel, and those of neighbours with a single work-item are joined.
    """

    whole: Launch
    parts: tuple[ClassStep, ...]


ClassStep = Launch | Copy | Call | Choice | Chain


# Programs for many shapes have the same small numbers, and fewer objects mean shorter pauses of Python's collector.
_i32 = remembered("integers in kernel arguments", 1 << 14)(I32)

Numbers = tuple[int, ...]
"""The values of all sizes of a class for the shapes of a run."""

Picker = Callable[[Sequence[Any]], tuple[Any, ...]]
"""A function from a table to some of its elements."""


class ProgramClass:
    """The program of a cluster for all shapes that fulfil the conditions of `trace`.

    `steps` are those of the class, and `program` has everything else. Slots of the arena have the numbers of their
    `blocks` instead of offsets, and each block lives from its first to its last step. Not for use by several threads at
    once.
    """

    def __init__(self, program: Program, steps: Sequence[ClassStep], blocks: Sequence[Block], trace: SizeTrace) -> None:
        tables = _Tables()
        self._program, self._tables = program, tables
        self._templates = [tables.template(k, s) for k, s in enumerate(steps)]
        places = {b.key: k for k, b in enumerate(blocks)}
        self._blocks = [
            (k, tables.number(b.nbytes), b.first, b.last, tuple([places[key] for key in b.reuse]))
            for k, b in enumerate(blocks)
        ]
        self._inputs = _picker(map(tables.info, program.inputs))
        self._outputs = _picker(map(tables.info, program.outputs))
        self._variables = [(v, tables.info(v.info) if _is_sized(v.info) else None) for v in program.variables]
        self._checks = [_check_of(c, tables) for c in program.checks]
        self._plan: tuple[list[tuple[int, int, int]], Mapping[Any, int], int] | None = None  # the latest memory plan
        self._evaluate = trace.function(tables.sizes)
        trace.forget_results()

    def program(self, values: Sequence[int]) -> Program | None:
        """Returns the program for these values of the symbols, or None if the class does not serve them.

        Raises the errors of recipes with the node to blame.
        """
        numbers = self._evaluate(values)
        if numbers is None:
            return None
        infos = self._tables.infos_of(numbers)
        chosen: list[_Template] = []
        for template in self._templates:
            template.choose(numbers, chosen)
        blocks = [Block(key, numbers[n], first, last, reuse) for key, n, first, last, reuse in self._blocks]
        calls: list[tuple[Sequence[KernelCall], dict[str, Block]]] = []
        for template in chosen:
            if isinstance(template, _CallTemplate):
                calls.append(template.ask(numbers, infos, blocks))
        offsets, total = self._planned(blocks)
        steps, modules = self._placed(chosen, calls, numbers, {NO_BLOCK: 0, **offsets})
        p = self._program
        return Program(
            p.name,
            modules,
            steps,
            self._inputs(infos),
            self._outputs(infos),
            tuple([v if k is None else replace(v, info=infos[k]) for v, k in self._variables]),
            p.consts,
            p.random,
            total,
            p.info,
            p.reads,
            tuple([check(numbers) for check in self._checks]),
        )

    def _planned(self, blocks: Sequence[Block]) -> tuple[Mapping[Any, int], int]:
        """Returns the memory plan of blocks; small ones often need the same place for several shapes."""
        places = [(place_bytes(b.nbytes), b.first, b.last) for b in blocks]
        if self._plan is None or self._plan[0] != places:
            self._plan = (places, *plan_arena(blocks))
        return self._plan[1:]

    def _placed(
        self,
        chosen: Sequence[_Template],
        calls: Iterable[tuple[Sequence[KernelCall], dict[str, Block]]],
        numbers: Numbers,
        offsets: Mapping[Any, int],
    ) -> tuple[tuple[Step, ...], tuple[Module, ...]]:
        """Returns the steps and the modules of a program, when the places of all blocks are known.

        `calls` has for each call among the templates the answer of the recipe and the blocks of its temporary memory.
        """
        arguments = self._tables.arguments_of(numbers, offsets)
        modules = {m: k for k, m in enumerate(self._program.modules)}
        steps: list[Step] = []
        chain: Launch | None = None  # the chain of which the step before is a part
        answers = iter(calls)
        for template in chosen:
            if isinstance(template, _CallTemplate):
                launches, temps = next(answers)
                slots = {key: Slot("arena", 0, offsets[t.key], t.nbytes) for key, t in temps.items()}
                steps += template.launches(launches, arguments, slots, modules)
                chain = None
                continue
            step = template.step(numbers, arguments)
            its_chain = template.chain if isinstance(template, _LaunchTemplate) else None
            both = joined(chain, steps[-1], step) if chain is not None and chain is its_chain else None
            if both is None:
                steps.append(step)
            else:
                steps[-1] = both
            chain = its_chain
        return tuple(steps), tuple(modules)


def _check_of(check: Check, tables: _Tables) -> Callable[[Numbers], Check]:
    """Returns a function from the numbers to the check with numbers for sizes."""
    position, bound, node = check.position, check.bound, check.node
    highs = bound.high if isinstance(bound.high, tuple) else (bound.high,)
    if not any(isinstance(n, Size) for n in (bound.low, *highs)):
        return lambda numbers: check
    low, high = tables.value(bound.low), tables.value(bound.high)
    return lambda numbers: Check(position, Bound(bound.input, high(numbers), low(numbers), bound.what), node)


def _picker(places: Iterable[int]) -> Picker:
    """Returns a function that picks the elements at these places."""
    chosen = tuple(places)
    if len(chosen) > 1:
        return itemgetter(*chosen)
    return (lambda table: (table[chosen[0]],)) if chosen else (lambda table: ())


def _is_sized(info: TensorInfo) -> bool:
    return any(isinstance(n, Size) for n in info.shape)


class _Tables:
    """The numbers, tensors and arguments that the steps of a class use, each once.

    `sizes` are the numbers, as formulas or plain. The methods that return a place enter what is not there yet.
    """

    def __init__(self) -> None:
        self.sizes: list[AnySize | Size] = []
        self._places: dict[tuple[Any, ...], int] = {}
        self._infos: list[TensorInfo] = []
        self._sized_infos: list[tuple[int, DType, Picker]] = []
        self._arguments: list[Slot | I32 | F32 | F64] = []
        self._numbers: list[tuple[int, type[I32 | F32 | F64], int]] = []  # place, type, and place of the number
        self._slots: list[tuple[int, Slot, int]] = []  # place, slot, and place of its bytes
        self._arena: list[tuple[int, int, int]] = []  # place, block, and place of its bytes
        self._sites: dict[tuple[Any, ...], _Site] = {}

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
            return _picker(map(self.number, n))
        return itemgetter(self.number(n)) if isinstance(n, Size) else lambda numbers: n

    def info(self, info: TensorInfo) -> int:
        """Returns the place of a tensor."""
        dims = tuple(map(self.number, info.shape))
        key = ("info", info.dtype, dims)
        if key not in self._places:
            place = self._places[key] = len(self._infos)
            self._infos.append(info)
            if _is_sized(info):
                self._sized_infos.append((place, info.dtype, _picker(dims)))
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

    def site(self, recipe: Callable[[KernelSite], Sequence[KernelCall]], site: KernelSite) -> _Site:
        """Returns the recipe's site; equal sites of several nodes are one."""
        inputs, outputs = tuple(map(self.info, site.inputs)), tuple(map(self.info, site.outputs))
        bias = None if site.epilogue.bias is None else self.info(site.epilogue.bias)
        values = {i: _picker(map(self.number, v.flat)) for i, v in site.values.items() if v.dtype == object}
        dims = {self.number(n) for k in {*inputs, *outputs} for n in self._infos[k].shape}
        if bias is not None:
            dims |= {self.number(n) for n in self._infos[bias].shape}
        dims |= {self.number(n) for v in site.values.values() if v.dtype == object for n in v.flat}
        new_site = _Site(recipe, site, _picker(inputs), _picker(outputs), bias, values, _picker(sorted(dims)))
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
    ) -> _Template | _ChoiceTemplate | _ChainTemplate:
        """Returns the template of step number `k`, or of a part of `chain`."""
        if isinstance(step, Launch):
            args, groups, local = (
                map(self.argument, step.args),
                map(self.number, step.groups),
                map(self.number, step.local),
            )
            return _LaunchTemplate(step, _picker(args), _picker(groups), _picker(local), chain)
        if isinstance(step, Copy):
            return _CopyTemplate(
                self.argument(step.source), self.argument(step.target), self.number(step.nbytes), step.nodes
            )
        if isinstance(step, Call):
            slots = [*step.ins, *step.outs, *([] if step.bias is None else [step.bias])]
            places = list(map(self.argument, slots))
            n, m = len(step.ins), len(step.ins) + len(step.outs)
            site = self.site(step.recipe, step.site)
            return _CallTemplate(k, step, site, places[:n], places[n:m], places[m] if places[m:] else None)
        if isinstance(step, Choice):
            launch, otherwise = self.template(k, step.launch, chain), self.template(k, step.otherwise, chain)
            return _ChoiceTemplate(self.number(step.when), launch, otherwise)
        choices = [p for p in step.parts if isinstance(p, Choice)]
        launches = [p.launch if isinstance(p, Choice) else p for p in step.parts]
        return _ChainTemplate(
            self.template(k, step.whole),
            [self.template(k, p, step.whole) for p in step.parts],
            [self.number(p.groups[0]) for p in launches if isinstance(p, Launch)],
            [self.number(p.when) for p in choices],
            all(isinstance(p, Launch) for p in launches),
        )

    # the shapes of a run

    def infos_of(self, numbers: Numbers) -> list[TensorInfo]:
        """Returns all tensors with numbers for sizes."""
        infos = self._infos.copy()
        for place, dtype, dims in self._sized_infos:
            infos[place] = TensorInfo(dtype, dims(numbers))
        return infos

    def arguments_of(self, numbers: Numbers, offsets: Mapping[Any, int]) -> list[Any]:
        """Returns all arguments with numbers for sizes, and offsets in the arena for blocks."""
        arguments = self._arguments.copy()
        for place, number, n in self._numbers:
            arguments[place] = _i32(numbers[n]) if number is I32 else number(numbers[n])
        for place, slot, n in self._slots:
            arguments[place] = Slot(slot.kind, slot.index, slot.offset, numbers[n])
        for place, block, n in self._arena:
            arguments[place] = Slot("arena", 0, offsets[block], numbers[n])
        return arguments


class _LaunchTemplate(NamedTuple):
    launch: Launch
    args: Picker
    groups: Picker
    local: Picker
    chain: Launch | None

    def choose(self, numbers: Numbers, chosen: list[_Template]) -> None:
        """Adds those templates to `chosen` that make the step for these numbers."""
        chosen.append(self)

    def step(self, numbers: Numbers, arguments: Sequence[Any]) -> Launch:
        """Returns the step."""
        launch, args, groups, local, _ = self
        module, entry, _, _, _, nodes, label, nbytes = launch
        return Launch(module, entry, args(arguments), groups(numbers), local(numbers), nodes, label, nbytes)


class _CopyTemplate(NamedTuple):
    source: int
    target: int
    nbytes: int
    nodes: tuple[int, ...]

    def choose(self, numbers: Numbers, chosen: list[_Template]) -> None:
        chosen.append(self)

    def step(self, numbers: Numbers, arguments: Sequence[Any]) -> Copy:
        return Copy(arguments[self.source], arguments[self.target], numbers[self.nbytes], self.nodes)


class _CallTemplate(NamedTuple):
    k: int
    call: Call
    site: _Site
    ins: list[int]
    outs: list[int]
    bias: int | None

    def choose(self, numbers: Numbers, chosen: list[_Template]) -> None:
        chosen.append(self)

    def ask(
        self, numbers: Numbers, infos: Sequence[TensorInfo], blocks: list[Block]
    ) -> tuple[Sequence[KernelCall], dict[str, Block]]:
        """Returns the answer of the recipe, and the blocks of its temporary memory, which it adds to `blocks`."""
        try:
            launches = self.site.launches(numbers, infos)
        except OpError as e:
            raise e.with_op(self.call.node) from None
        sizes: dict[str, int] = {}
        for launch in launches:
            for a in launch.args:
                if isinstance(a, Temp):
                    sizes[a.key] = max(a.nbytes, sizes.get(a.key, 0))
        temps = {}
        for key, nbytes in sizes.items():
            temps[key] = Block(len(blocks), nbytes, self.k, self.k)
            blocks.append(temps[key])
        return launches, temps

    def launches(
        self,
        calls: Sequence[KernelCall],
        arguments: Sequence[Any],
        temps: Mapping[str, Slot],
        modules: dict[Module, int],
    ) -> list[Launch]:
        """Returns the launches for the answer of the recipe."""
        nodes, label = self.call.nodes, self.call.label
        launches = []
        for c in calls:
            args: list[Any] = []
            for a in c.args:
                if isinstance(a, I32):
                    args.append(a)
                elif isinstance(a, In):
                    args.append(arguments[self.ins[a.index]])
                elif isinstance(a, Out):
                    args.append(arguments[self.outs[a.index]])
                elif isinstance(a, Temp):
                    args.append(temps[a.key])
                elif not isinstance(a, BiasIn):
                    args.append(a)
                elif self.bias is not None:
                    args.append(arguments[self.bias])
                else:
                    raise InternalError(f"{label}: the recipe uses a bias, and the call has none")
            module = modules.setdefault(Module(c.source, c.file, c.defines), len(modules))
            launches.append(Launch(module, c.entry, tuple(args), c.groups, c.local, nodes, label, c.nbytes))
        return launches


_Template = _LaunchTemplate | _CopyTemplate | _CallTemplate


class _ChoiceTemplate(NamedTuple):
    when: int
    launch: Any
    otherwise: Any

    def choose(self, numbers: Numbers, chosen: list[_Template]) -> None:
        (self.launch if numbers[self.when] else self.otherwise).choose(numbers, chosen)


class _ChainTemplate(NamedTuple):
    """`groups` are the numbers of work-groups of the parts, `choices` the sizes on which parts depend."""

    whole: Any
    parts: list[Any]
    groups: list[int]
    choices: list[int]
    has_launches_only: bool

    def choose(self, numbers: Numbers, chosen: list[_Template]) -> None:
        is_single = self.has_launches_only and all(numbers[k] == 1 for k in self.groups)
        if is_single and all(numbers[k] for k in self.choices):
            self.whole.choose(numbers, chosen)
        else:
            for part in self.parts:
                part.choose(numbers, chosen)


class _Site:
    """A site whose tensors and values have sizes; it keeps the recipe's last answer, which depends on these alone."""

    def __init__(
        self,
        recipe: Callable[[KernelSite], Sequence[KernelCall]],
        site: KernelSite,
        inputs: Picker,
        outputs: Picker,
        bias: int | None,
        values: Mapping[int, Picker],
        dims: Picker,
    ) -> None:
        self._recipe, self._site = recipe, site
        self._inputs, self._outputs, self._bias, self._values, self._dims = inputs, outputs, bias, values, dims
        self._last: tuple[Numbers, Sequence[KernelCall]] | None = None

    def launches(self, numbers: Numbers, infos: Sequence[TensorInfo]) -> Sequence[KernelCall]:
        """Returns the answer of the recipe. Raises its errors."""
        dims = self._dims(numbers)
        if self._last is None or self._last[0] != dims:
            self._last = dims, self._recipe(self._with_numbers(numbers, infos))
        return self._last[1]

    def _with_numbers(self, numbers: Numbers, infos: Sequence[TensorInfo]) -> KernelSite:
        s = self._site
        values = s.values
        for i, picker in self._values.items():
            array = np.asarray(picker(numbers), s.inputs[i].dtype.np).reshape(s.values[i].shape)
            values = {**values, i: array}
        epilogue = s.epilogue if self._bias is None else replace(s.epilogue, bias=infos[self._bias])
        return KernelSite(
            s.op, self._inputs(infos), self._outputs(infos), s.attrs, values, s.units, s.kind, epilogue, s.updated
        )
